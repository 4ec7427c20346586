// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/corpus/corpus.h"
#include "cli/corpus/store_argument.h"
#include "headlight/corpus/compare/compare_heads.h"
#include "headlight/corpus/compare/match.h"
#include "headlight/corpus/distances/head_distances.h"
#include "headlight/corpus/heads/head_texts.h"
#include "headlight/corpus/store/text_store.h"

namespace headlight::cli {
namespace {

enum class CompareRows { measures, heads };
constexpr EnumRow<CompareRows> compare_rows[] = {{CompareRows::measures, "measures", "Differences of every measure"},
                                                 {CompareRows::heads, "heads", "Matched heads"}};
constexpr const auto& enum_rows(CompareRows) { return compare_rows; }

struct CompareArguments {
    std::string first, second;
    CompareRows rows = CompareRows::measures;
    bool matched = false;
    corpus::BootstrapOptions bootstrap;
    ResultFile out;
};

std::vector<corpus::HeadMatch> matches_of(const corpus::StoredCorpus& a, const corpus::StoredCorpus& b) {
    a.require("distances");
    b.require("distances");
    return corpus::match_heads(corpus::HeadDistances(a.merged.arrays), corpus::HeadDistances(b.merged.arrays));
}

int compare(const CompareArguments& arguments, const Console& console) {
    arguments.out.check();
    const StorePtr a = corpus::read_store(arguments.first), b = corpus::read_store(arguments.second);
    corpus::TextStore texts_a(a->folder, a->manifest), texts_b(b->folder, b->manifest);
    corpus::check_same_texts(texts_a, texts_b);
    Result result{.table = {}, .facts = {}};
    if (arguments.rows == CompareRows::heads) {
        result.table = corpus::table_of(matches_of(*a, *b));
    } else {
        a->require("heads");
        b->require("heads");
        const corpus::HeadTexts heads_a(a->merged.arrays, a->text_of_chunk), heads_b(b->merged.arrays, b->text_of_chunk);
        corpus::HeadPairs pairs;
        if (arguments.matched) {
            for (const corpus::HeadMatch& match : matches_of(*a, *b))
                if (match.matched) pairs.emplace_back(match.head, match.partner);
        } else {
            pairs = corpus::same_heads(heads_a, heads_b);
        }
        result.table = corpus::table_of(corpus::compare_heads(heads_a, heads_b, pairs, arguments.bootstrap));
        add_bootstrap_facts(result, arguments.bootstrap, console);
    }
    add_facts(result, *a, console);
    add_facts(result, *b, console, "second");
    arguments.out.write(result, console);
    return 0;
}

}  // namespace

Action define_corpus_compare(Definition& definition, const Frontend&) {
    auto options = std::make_shared<CompareArguments>();
    add_store_argument(definition, options->first);
    add_store_argument(definition, options->second, "SECOND", "another model's store of the same texts");
    definition.add_enum(
        "--rows", options->rows,
        "measures: differences (first - second) of each measure and head; heads: each head's partner in the second "
        "model");
    definition.app->add_flag("--matched", options->matched,
                             "compare heads that attend alike instead of heads with the same number");
    add_bootstrap_options(definition, options->bootstrap);
    options->out.add(definition);
    return [options, console = definition.console] { return compare(*options, *console); };
}

}  // namespace headlight::cli
