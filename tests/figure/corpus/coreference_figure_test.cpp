// SPDX-License-Identifier: GPL-3.0-or-later
// The figure of coreference: heads by layer with baselines, and cases whose click carries the tokens of the pair.
#include "headlight/corpus/coreference/coreference.h"
#include "headlight/corpus/run/run.h"
#include "headlight/figure/corpus/corpus_views.h"
#include "headlight/figure/export/export.h"
#include "headlight/trace/trace.h"
#include "tests/support/temp_folder.h"

#include <gtest/gtest.h>

#include <map>

namespace headlight::figure {
namespace coreference_figure_test {

namespace fs = std::filesystem;

TEST(CoreferenceFigure, ShowsEveryHeadAndOpensACaseWithItsPair) {
    const test::TempFolder folder;
    corpus::CorpusRun run;
    run.setup.store = folder / "store";
    run.setup.model = model::Model::load(fs::path(HEADLIGHT_SOURCE_DIR) / "models/novella-7m");
    run.setup.tokenizer = trace::load_tokenizer(fs::path(HEADLIGHT_SOURCE_DIR) / "models/novella-7m");
    run.setup.options.measures = {"mentions"};
    run.setup.texts.from = fs::path(HEADLIGHT_SOURCE_DIR) / "tests/fixtures/coreference";
    corpus::run_corpus(run);
    const StorePtr stored = corpus::read_store(run.setup.store);
    CorpusRequest request{.view = "corpus-coreference"};
    request.head = {Layer(2), Head(3)};
    const auto figure = corpus_figure(stored, request);
    EXPECT_EQ(figure->table().rows.size(), 5u * 48) << "chains, GAP, WinoBias in both versions and their difference";
    EXPECT_NE(corpus_provenance(*stored, request).command.find("--layer 2 --head 3"), std::string::npos);
    for (const Theme* theme : {&Theme::light(), &Theme::dark_theme()}) {
        ExportOptions options;
        options.style.theme = theme;
        options.scale = 1;
        EXPECT_GT(export_image(*figure, {}, corpus_provenance(*stored, request), options).height(), 400);
    }

    const corpus::MentionIndex index = corpus::MentionIndex::read(stored->merged.arrays);
    const QSizeF size = figure->layout({1000, 0}, {}, {});
    std::map<std::string, std::int64_t> first;
    for (double y = 0; y < size.height() && first.empty(); y += 4)
        for (const auto& [name, value] : figure->hit_test({400, y}, {}, {}).options) first[name] = std::stoll(value);
    ASSERT_EQ(first["layer"], 2);
    EXPECT_EQ(first["head"], 3);
    const auto cases = corpus::coreference_examples(index, corpus::CoreferenceScore::chains, request.head, 12);
    ASSERT_FALSE(cases.empty());
    const corpus::IndexedMentions& chunk = index.chunks().at(cases[0].chunk);
    const corpus::IndexedMention &mention = chunk.mentions[static_cast<std::size_t>(cases[0].mention)],
                                 &chosen = chunk.mentions[static_cast<std::size_t>(cases[0].chosen)];
    EXPECT_EQ(first["chunk"], cases[0].chunk);
    EXPECT_EQ(first["query"], mention.first_token);
    EXPECT_EQ(first["query_last"], mention.last_token);
    EXPECT_EQ(first["key"], chosen.first_token);
    EXPECT_EQ(first["key_last"], chosen.last_token);
    // Without a head, the cases are those of the best one.
    request.head = {Layer(-1), Head(-1)};
    EXPECT_EQ(corpus_provenance(*stored, request).command.find("--layer"), std::string::npos);
    EXPECT_GT(corpus_figure(stored, request)->layout({1000, 0}, {}, {}).height(), 400);
}

}  // namespace coreference_figure_test
}  // namespace headlight::figure
