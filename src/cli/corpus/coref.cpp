// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/corpus/corpus.h"
#include "cli/corpus/store_argument.h"
#include "cli/options.h"
#include "cli/result_file.h"
#include "headlight/base/numbers.h"
#include "headlight/corpus/coreference/coreference.h"
#include "headlight/corpus/store/text_store.h"

namespace headlight::cli {
namespace {

struct CorefArguments {
    std::string store;
    ResultFile out;
    corpus::BootstrapOptions bootstrap;
    std::int64_t examples = 0;
};

int coref(const CorefArguments& arguments, const Console& console) {
    arguments.out.check();
    const StorePtr store = corpus::read_store(arguments.store);
    store->require("mentions");
    Result result;
    add_facts(result, *store, console);
    const corpus::MentionIndex index = corpus::MentionIndex::read(store->merged.arrays);
    corpus::TextStore texts(store->folder, store->manifest);
    const corpus::CoreferenceTable table = corpus::coreference_table(index, store->text_of_chunk, arguments.bootstrap);
    std::vector<std::string> notes;
    for (const auto& [score, word, title, note] : corpus::coreference_scores) {
        if (score == corpus::CoreferenceScore::winobias_difference) continue;
        const auto& counts = index.counts(static_cast<corpus::MentionTask>(score));
        if (counts.texts == 0) continue;
        std::int64_t asked = 0;
        for (const auto& row : table.rows)
            if (row.score == score) asked = row.n;
        std::string line = std::string(title) + ": " + counted(counts.texts, "text") + ", " + counted(counts.cases, "case");
        if (const std::int64_t lost = counts.cases - asked; lost > 0)
            line += ", of which " + with_commas(lost) + (lost == 1 ? " has " : " have ") +
                    (score == corpus::CoreferenceScore::chains
                         ? "no earlier mention in " + std::string(lost == 1 ? "its" : "their") + " chunk"
                     : index.causal() ? "a name after the pronoun or beyond the chunk"
                                      : "a name beyond the chunk");
        if (counts.neither > 0)
            line += "; " + counted(counts.neither, "pronoun") +
                    (counts.neither == 1 ? " refers to neither name and is left out" : " refer to neither name and are left out");
        notes.push_back(line);
    }
    result.notes(notes, console);
    result.table =
        arguments.examples > 0 ? corpus::examples_of(index, table, arguments.examples, texts) : corpus::table_of(table);
    add_bootstrap_facts(result, arguments.bootstrap, console);
    arguments.out.write(result, console);
    return 0;
}

}  // namespace

Action define_corpus_coref(Definition& definition, const Frontend&) {
    auto options = std::make_shared<CorefArguments>();
    add_store_argument(definition, options->store);
    options->out.add(definition);
    add_bootstrap_options(definition, options->bootstrap);
    add_index(definition, "--examples", options->examples,
              "list N hits and N misses of the best head of each score instead of the heads");
    return [options, console = definition.console] { return coref(*options, *console); };
}

}  // namespace headlight::cli
