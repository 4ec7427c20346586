// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/corpus/heads/corpus_heads.h"

#include "headlight/base/error.h"
#include "headlight/corpus/heads/head_means.h"
#include "headlight/corpus/syntax/word_query.h"

namespace headlight::corpus {

std::shared_ptr<const CorpusHeads> heads_of_corpus(const StoredCorpus& stored) {
    CorpusHeads out{.folder = stored.folder,
                    .name = stored.folder.filename().string(),
                    .words = corpus_words(stored),
                    .model_hash = stored.manifest.model_hash,
                    .table = {},
                    .index = nullptr};
    if (out.name.empty()) out.name = stored.folder.parent_path().filename().string();  // "store/"
    if (stored.manifest.treebank && stored.has("words")) {
        out.index = std::make_shared<const WordIndex>(WordIndex::read(stored.merged.arrays));
        out.table.n_layers = out.index->n_layers();
        out.table.n_heads = out.index->n_heads();
    }
    if (stored.has("heads")) {
        out.table = head_table_of(head_means(stored.merged.arrays, stored.text_of_chunk, {.draws = 1}));
        for (analyze::MeasureInfo& measure : out.table.measures) {
            measure.id = std::string(analyze::corpus_prefix) + measure.id;
            measure.title = "corpus " + measure.title;
            measure.definition += " Mean over " + out.words + ".";
            measure.group.clear();  // of the menu of measures of the text
        }
    } else if (!out.index) {
        throw Error({.problem = "The store has no measures of heads and no words of a treebank",
                     .file = stored.folder.string(),
                     .hint = "Run the corpus into a new store with --measure heads"});
    }
    return std::make_shared<const CorpusHeads>(std::move(out));
}

analyze::HeadTable with_corpus(const analyze::HeadTable& of_text, const CorpusHeads* corpus) {
    analyze::HeadTable out = of_text;
    for (std::size_t m = out.measures.size(); m-- > 0;)
        if (analyze::is_of_corpus(out.measures[m].id)) {
            out.measures.erase(out.measures.begin() + static_cast<std::ptrdiff_t>(m));
            out.values.erase(out.values.begin() + static_cast<std::ptrdiff_t>(m));
        }
    if (!corpus) return out;
    const analyze::HeadTable& more = corpus->table;
    if (more.n_layers != out.n_layers || more.n_heads != out.n_heads)
        throw Error({.problem = "The corpus is of a model with other heads",
                     .file = corpus->folder.string(),
                     .expected = std::to_string(out.n_layers) + " layers of " + std::to_string(out.n_heads) + " heads",
                     .found = std::to_string(more.n_layers) + " of " + std::to_string(more.n_heads)});
    out.measures.insert(out.measures.end(), more.measures.begin(), more.measures.end());
    out.values.insert(out.values.end(), more.values.begin(), more.values.end());
    return out;
}

HeadQuestion head_question(std::string_view expression, const analyze::HeadTable& measures, const trace::Trace* trace,
                           const CorpusHeads* corpus) {
    if (!corpus || !corpus->index) return {analyze::HeadQuery::parse(expression, measures, trace), measures};
    const WordQuery words(expression, *corpus->index, &measures, trace);
    return {words.question(), words.measures()};
}

}  // namespace headlight::corpus
