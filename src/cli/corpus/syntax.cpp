// SPDX-License-Identifier: GPL-3.0-or-later
// Results for a treebank from a store: relations, parts of speech, dependency alignment, and questions about words.
#include "cli/corpus/corpus.h"
#include "cli/corpus/store_argument.h"
#include "cli/options.h"
#include "cli/result_file.h"
#include "cli/run_text.h"
#include "headlight/base/numbers.h"
#include "headlight/corpus/statistics/bootstrap.h"
#include "headlight/corpus/store/text_store.h"
#include "headlight/corpus/syntax/exact_weights.h"
#include "headlight/corpus/syntax/relations.h"
#include "headlight/corpus/syntax/tag_attention.h"
#include "headlight/corpus/syntax/word_query.h"
#include "headlight/io/atomic_file.h"

#include <algorithm>
#include <cstdlib>

namespace headlight::cli {
namespace {

struct TreebankArguments {
    std::string store;
    ResultFile out;

    void add(Definition& definition) {
        add_store_argument(definition, store);
        out.add(definition);
    }
};

/// A table from a store, and its facts.
struct Answer {
    StorePtr store;
    Result result{};
    std::vector<std::string> notes{};

    Answer(const TreebankArguments& arguments, const std::string& measure, const Console& console)
        : store(corpus::read_store(arguments.store)) {
        store->require(measure);
        add_facts(result, *store, console);
    }
    void note_words_left_out(const corpus::WordIndex::Counts& counts) {
        if (counts.left_out > 0)
            notes.push_back(counted(counts.left_out, "sentence") + (counts.left_out == 1 ? " is" : " are") +
                            " not whole in any chunk and left out");
        if (counts.unread_words > 0) notes.push_back(with_commas(counts.unread_words) + " words have no token");
        result.fact("tokens_of_several_words", counts.shared_tokens);
    }
    int write(const TreebankArguments& arguments, const Console& console) {
        result.notes(notes, console);
        arguments.out.write(result, console);
        return 0;
    }
};

struct SyntaxArguments : TreebankArguments {
    corpus::RelationOptions options;
    std::string latex;
};

int syntax(const SyntaxArguments& arguments, const Console& console) {
    arguments.out.check();
    if (!arguments.latex.empty()) io::check_writable(arguments.latex);
    Answer answer(arguments, "words", console);
    const corpus::WordIndex index = corpus::WordIndex::read(answer.store->merged.arrays);
    const corpus::RelationTable relations = corpus::relation_table(index, arguments.options);
    answer.note_words_left_out(index.counts());
    if (relations.shared_arcs > 0)
        answer.notes.push_back(with_commas(relations.shared_arcs) +
                               " arcs inside multiword tokens that are not the concatenation of their words are left out");
    if (relations.arcs == 0)
        answer.notes.push_back("no word has a head and a relation (columns HEAD and DEPREL), so there are no rows");
    if (relations.no_trees > 0)
        answer.notes.push_back("the arcs of " + with_commas(relations.no_trees) + " sentences do not form a tree");
    if (relations.unread_arcs > 0)
        answer.notes.push_back(with_commas(relations.unread_arcs) + " arcs of words without a token are left out");
    answer.result.fact("sentences", relations.sentences)
        .fact("arcs", relations.arcs)
        .fact("dependencies", relations.enhanced ? "enhanced (DEPS)" : "basic (HEAD)");
    if (!arguments.latex.empty()) io::write_atomically(arguments.latex, corpus::latex_of(relations));
    answer.result.table = corpus::table_of(relations);
    add_bootstrap_facts(answer.result, arguments.options.bootstrap, console);
    return answer.write(arguments, console);
}

struct TagArguments : TreebankArguments {
    bool pairs = false;
    corpus::BootstrapOptions bootstrap;
};

int tags(const TagArguments& arguments, const Console& console, bool alignment) {
    arguments.out.check();
    Answer answer(arguments, "tags", console);
    const corpus::TagAttention attention = corpus::TagAttention::read(answer.store->merged.arrays);
    if (attention.left_out() > 0)
        answer.notes.push_back(counted(attention.left_out(), "text") + (attention.left_out() == 1 ? " is" : " are") +
                               " longer than --context and left out");
    answer.result.fact("first_row_of_causal_models", "left out").fact("sentences", attention.texts());
    const corpus::TagSides sides = arguments.pairs ? corpus::TagSides::both : corpus::TagSides::one;
    answer.result.table = alignment ? corpus::table_of(corpus::head_alignments(attention, arguments.bootstrap))
                                    : corpus::table_of(corpus::tag_shares(attention, sides, arguments.bootstrap));
    add_bootstrap_facts(answer.result, arguments.bootstrap, console);
    return answer.write(arguments, console);
}

struct QueryArguments : TreebankArguments {
    std::string expression;
    ModelArgument model;
    CLI::Option* model_option = nullptr;
    corpus::BootstrapOptions bootstrap;
    std::int64_t examples = 0;
};

/// Cases of a head, with exact weights where the model is given.
analyze::Table examples(const QueryArguments& arguments, const corpus::WordQuery& query, HeadId head,
                        const corpus::WordIndex& index, const corpus::StoredCorpus& store, const Console& console) {
    if (arguments.model_option->count() == 0) return corpus::examples_of(query, 0, head, arguments.examples, index);
    const CancelToken cancel = interruptible();
    const std::filesystem::path folder = arguments.model.folder();
    const auto model = load_model(folder, {}, cancel, console);
    store.require_model(*model);
    corpus::TextStore texts(store.folder, store.manifest);
    corpus::ExactWeights weights(texts, model, trace::load_tokenizer(folder), head, cancel);
    return corpus::examples_of(query, 0, head, arguments.examples, index,
                               [&](corpus::WordQuery::Case& one) { weights.complete(one, query.targets(0, one)); });
}

int query(const QueryArguments& arguments, const Console& console) {
    arguments.out.check();
    if (arguments.model_option->count() > 0 && arguments.examples == 0)
        throw UsageError("--model: exact weights are those of --examples");
    Answer answer(arguments, "words", console);
    const corpus::WordIndex index = corpus::WordIndex::read(answer.store->merged.arrays);
    const corpus::WordQuery query(arguments.expression, index);
    const std::vector<HeadId> heads = query.heads();
    answer.note_words_left_out(index.counts());
    answer.result.fact("question", arguments.expression);
    for (const corpus::WordQuery::Condition& condition : query.conditions()) {
        std::string note =
            condition.text + ": " + with_commas(condition.cases) + " cases in " + with_commas(condition.texts) + " texts";
        if (condition.cases > 0)
            note += ", of which " + significant(100 * condition.offset_share) + " % have one " +
                    std::to_string(std::abs(condition.offset)) + " word" + (std::abs(condition.offset) == 1 ? "" : "s") +
                    (condition.offset < 0 ? " before" : " behind");
        if (condition.out_of_reach > 0)
            note += "; " + with_commas(condition.out_of_reach) + " words come before their targets and cannot attend to them";
        answer.notes.push_back(note);
    }
    if (heads.empty()) answer.notes.push_back("no head matches: " + query.why_none());
    if (arguments.examples == 0) {
        answer.result.table = corpus::table_of(query, arguments.bootstrap);
        add_bootstrap_facts(answer.result, arguments.bootstrap, console);
    } else {
        if (query.conditions().empty()) throw UsageError("--examples: the question has no condition on words");
        if (heads.empty())
            answer.result.table = corpus::examples_of(query, 0, {}, 0, index);
        else
            answer.result.table = examples(arguments, query, heads.front(), index, *answer.store, console);
        answer.result.fact("weights", arguments.model_option->count() > 0 ? "exact" : "of the index");
    }
    return answer.write(arguments, console);
}

}  // namespace

Action define_corpus_syntax(Definition& definition, const Frontend&) {
    auto options = std::make_shared<SyntaxArguments>();
    options->add(definition);
    definition.app->add_flag("--enhanced", options->options.enhanced,
                             "the graph in the column DEPS: a word may have several heads, and any of them counts");
    definition.app->add_flag("--all", options->options.all_heads, "every head, not the best one of each relation and direction");
    add_bootstrap_options(definition, options->options.bootstrap);
    add_path(definition, "--latex", options->latex, "write the table of the best heads for LaTeX (booktabs)");
    return [options, console = definition.console] { return syntax(*options, *console); };
}

Action define_corpus_pos(Definition& definition, const Frontend&) {
    auto options = std::make_shared<TagArguments>();
    options->add(definition);
    definition.app->add_flag("--pairs", options->pairs, "a row for each pair of parts of speech");
    add_bootstrap_options(definition, options->bootstrap);
    return [options, console = definition.console] { return tags(*options, *console, false); };
}

Action define_corpus_alignment(Definition& definition, const Frontend&) {
    auto options = std::make_shared<TagArguments>();
    options->add(definition);
    add_bootstrap_options(definition, options->bootstrap);
    return [options, console = definition.console] { return tags(*options, *console, true); };
}

Action define_corpus_query(Definition& definition, const Frontend&) {
    auto options = std::make_shared<QueryArguments>();
    add_store_argument(definition, options->store);
    add_value(definition, "EXPR", options->expression, "the question (docs/corpus.md): 'VERB attends to its nsubj > 60 %'", " ")
        ->required();
    options->out.add(definition);
    add_bootstrap_options(definition, options->bootstrap);
    add_index(definition, "--examples", options->examples,
              "list N hits, misses and counter-examples of the best head instead of the heads, for the first condition on words");
    options->model_option =
        add_path(definition, "--model", options->model.typed,
                 "--examples: the model of the store, which runs their sentences again for weights that the index does not hold",
                 "MODEL", ValueKind::model);
    return [options, console = definition.console] { return query(*options, *console); };
}

}  // namespace headlight::cli
