// SPDX-License-Identifier: GPL-3.0-or-later
// Probes of trees, mixed layers and attention over a store, the heads of a direction, and bad input to all of them.
#include "headlight/corpus/probe/arc_run.h"
#include "headlight/corpus/probe/direction_heads.h"
#include "headlight/corpus/probe/mix_run.h"
#include "headlight/corpus/probe/probe.h"
#include "headlight/corpus/probe/structural_run.h"
#include "headlight/corpus/probe/trees.h"
#include "tests/corpus/probe/probed_store.h"

#include <gmock/gmock.h>

#include <cmath>

namespace headlight::corpus {
namespace probe_kinds_test {

using testing::HasSubstr;

/// Sentences of a treebank, run once.
class ProbeKinds : public testing::Test {
protected:
    static const ProbedStore& made() {
        static const ProbedStore store([](const test::TempFolder&) { return AddTexts{.from = treebank_file(), .limit = 80}; });
        return store;
    }
    static std::filesystem::path store() { return made().setup.store; }
    static StatesOptions states() { return made().states(); }
    static LabelledExamples labels(const std::string& of) { return made().labels(of); }
    static StoredTrees trees() {
        TextStore texts = made().texts();
        return read_trees(texts, 0);
    }
};

TEST_F(ProbeKinds, TreesHaveTheWordsAndArcsOfTheirSentences) {
    const StoredTrees all = trees();
    TextStore texts = made().texts();
    ASSERT_GT(all.sentences.size(), 40u);
    EXPECT_EQ(all.count(ProbePart::train) + all.count(ProbePart::development) + all.count(ProbePart::test),
              std::ssize(all.sentences));
    for (std::size_t s = 0; s < all.sentences.size(); ++s) {
        const TreeSentence& sentence = all.sentences[s];
        const Text text = texts.text(all.texts[s]);
        EXPECT_EQ(all.parts[s], part_of_text(text.id, 0));
        ASSERT_EQ(sentence.words(), std::ssize(text.words)) << text.id;
        for (std::int64_t w = 0; w < sentence.words(); ++w) {
            const auto at = static_cast<std::size_t>(w);
            EXPECT_EQ(sentence.heads[at], text.words[at].head);
            EXPECT_EQ(sentence.punctuation[at], text.words[at].relation == "punct");
            const ProbeExample& word = all.words[static_cast<std::size_t>(sentence.first + w)];
            EXPECT_EQ(word.type, text.words[at].form);
            EXPECT_GT(word.span.end, word.span.begin);
        }
    }
}

TEST_F(ProbeKinds, DocumentsAreCutIntoTheirSentencesAndBrokenTreesLeftOut) {
    const test::TempFolder folder;
    std::ofstream file(folder / "d.conllu");
    file << "# global.Entity = eid-head\n";
    for (int d = 0; d < 60; ++d) {
        file << "# newdoc id = doc" << d << "\n";
        file
            << "# text = a b c\n1\ta\t_\tX\t_\t_\t2\tdep\t_\tEntity=(e1-1)\n2\tb\t_\tX\t_\t_\t0\troot\t_\t_\n3\tc\t_\tX\t_\t_\t2\tdep\t_\t_\n\n"
               "# text = d e\n1\td\t_\tX\t_\t_\t0\troot\t_\t_\n2\te\t_\tX\t_\t_\t0\troot\t_\t_\n\n"
               "# text = f g\n1\tf\t_\tX\t_\t_\t2\tdep\t_\t_\n2\tg\t_\tX\t_\t_\t0\troot\t_\t_\n\n";
    }
    file.close();
    const ProbedStore documents([&](const test::TempFolder&) { return AddTexts{.from = folder / "d.conllu"}; });
    TextStore texts = documents.texts();
    const StoredTrees all = read_trees(texts, 0);
    EXPECT_EQ(all.sentences.size(), 120u) << "two trees of each document";
    EXPECT_EQ(all.left_out, 60);
    EXPECT_EQ(all.first_word[0], 0);
    EXPECT_EQ(all.first_word[1], 5);
    EXPECT_EQ(all.sentences[0].heads, (std::vector<std::int32_t>{1, -1, 1}));
    EXPECT_EQ(all.sentences[1].heads, (std::vector<std::int32_t>{1, -1})) << "counted from the sentence's first word";
    EXPECT_THAT(error_of([&] { run_arcs(documents.manifest, documents.states(), {}); }), HasSubstr("texts of one sentence"));
}

TEST_F(ProbeKinds, TheStructuralProbeOfAStoreIsThatOfItsStates) {
    StructuralRunOptions options{.ranks = {8, 4, 1000, 8}, .fit = {}, .bootstrap = {.draws = 50}};
    options.fit.epochs = 3;
    const StructuralResult found = run_structural(made().manifest, states(), options);
    ASSERT_EQ(found.rows.size(), 7u * 3) << "seven layers, ranks 4, 8 and the width";
    EXPECT_EQ(found.rows[2].rank, 256);
    const StoredTrees all = trees();
    std::vector<TreeSentence> train, dev, test;
    for (std::size_t s = 0; s < all.sentences.size(); ++s)
        (all.parts[s] == ProbePart::train ? train : all.parts[s] == ProbePart::test ? test : dev).push_back(all.sentences[s]);
    EXPECT_EQ(found.n_test, std::ssize(test));
    // The same fit by hand at layer 2 and rank 8.
    ProbeRows rows;
    for_each_layer(made().manifest, states(), [&](std::int64_t layer, const LayerStates& of) {
        if (layer == 2) rows = of.pooled(all.words);
    });
    rows /= std::sqrt(static_cast<float>(rows.cast<double>().array().square().mean()));
    const StateRows view(rows.data(), rows.rows(), rows.cols());
    std::vector<TreeScore> distances, depths;
    for (const TreeTarget target : {TreeTarget::distance, TreeTarget::depth}) {
        StructuralOptions fit = options.fit;
        fit.target = target;
        fit.rank = 8;
        const StructuralProbe probe = fit_structural_probe(view, train, dev, fit);
        for (const TreeSentence& sentence : test)
            target == TreeTarget::distance ? distances.push_back(score_distances(sentence, probe.predict(view, sentence)))
                                           : depths.push_back(score_depths(sentence, probe.predict(view, sentence)));
    }
    const StructuralRow& row = found.rows[2 * 3 + 1];
    ASSERT_EQ(row.layer, 2);
    ASSERT_EQ(row.rank, 8);
    EXPECT_NEAR(row.scores.uuas.mean, tree_scores(distances).uuas, 1e-3);
    EXPECT_NEAR(row.scores.distance_spearman.mean, tree_scores(distances).spearman, 1e-3);
    EXPECT_NEAR(row.scores.root_accuracy.mean, tree_scores(depths).root_accuracy, 1e-3);
    EXPECT_NEAR(row.scores.depth_spearman.mean, tree_scores(depths).spearman, 1e-3);
    for (const StructuralRow& each : found.rows)
        for (const Interval& of : {each.scores.uuas, each.scores.distance_spearman, each.scores.depth_spearman}) {
            EXPECT_FALSE(of.low > of.mean);
            EXPECT_FALSE(of.high < of.mean);
        }
    ASSERT_EQ(found.maps.size(), 2u);
    EXPECT_EQ(found.maps[0].shape, (std::vector<std::int64_t>{7, 256, 256}));
    write_structural(store(), made().manifest, found);
    EXPECT_EQ(analyze::csv_text(table_of(read_structural(store(), made().manifest))), analyze::csv_text(table_of(found)));
    EXPECT_EQ(probe_tasks(store(), ProbeKind::structural), std::vector<std::string>{kTreeTask});
}

/// Arcs between neighbours, and sentences whose first word is the root, counted by hand.
TEST_F(ProbeKinds, AChainOfWordsIsTheBaselineOfTrees) {
    const StructuralResult found = [] {
        StructuralRunOptions options{.ranks = {2}, .fit = {}, .bootstrap = {.draws = 10}};
        options.fit.epochs = 1;
        return run_structural(made().manifest, states(), options);
    }();
    const StoredTrees all = trees();
    std::int64_t arcs = 0, beside = 0, roots = 0, first = 0;
    for (std::size_t s = 0; s < all.sentences.size(); ++s) {
        if (all.parts[s] != ProbePart::test) continue;
        const TreeSentence& sentence = all.sentences[s];
        // Without punctuation inside, the tree of neighbours has the pairs of neighbouring words.
        std::vector<std::int32_t> words;
        for (std::int32_t w = 0; w < sentence.words(); ++w)
            if (!sentence.punctuation[static_cast<std::size_t>(w)]) words.push_back(w);
        if (words.empty()) continue;
        ++roots;
        first += sentence.heads[static_cast<std::size_t>(words.front())] == -1;
        arcs += std::ssize(words) - 1;
        for (std::size_t i = 1; i < words.size(); ++i) {
            const auto a = static_cast<std::size_t>(words[i - 1]), b = static_cast<std::size_t>(words[i]);
            beside += sentence.heads[a] == words[i] || sentence.heads[b] == words[i - 1];
        }
    }
    EXPECT_NEAR(found.chain.uuas.mean, static_cast<double>(beside) / static_cast<double>(arcs), 0.02)
        << "arcs through punctuation may differ";
    EXPECT_NEAR(found.chain.root_accuracy.mean, static_cast<double>(first) / static_cast<double>(roots), 1e-9);
}

TEST_F(ProbeKinds, MixedLayersOfAStore) {
    MixRunOptions options{.fit = {.seeds = 2, .epochs = 3}, .bootstrap = {.draws = 100}};
    const LabelledExamples upos = labels("upos");
    const MixResult found = run_layer_mix(made().manifest, states(), upos, options);
    ASSERT_EQ(found.rows.size(), 7u);
    double weights = 0;
    for (const MixRow& row : found.rows) {
        weights += row.weight;
        EXPECT_GT(row.score.mean, found.majority) << row.layer;
        EXPECT_FALSE(row.score.low > row.score.mean);
        EXPECT_FALSE(row.score.high < row.score.mean);
        if (row.layer > 0) {
            EXPECT_NEAR(row.gain.mean, row.score.mean - found.rows[static_cast<std::size_t>(row.layer - 1)].score.mean, 1e-12);
            EXPECT_FALSE(row.gain.low > row.gain.mean + 1e-12);
            EXPECT_FALSE(row.gain.high < row.gain.mean - 1e-12);
        }
    }
    EXPECT_NEAR(weights, 1, 1e-6);
    EXPECT_TRUE(std::isnan(found.rows[0].gain.mean));
    EXPECT_GT(found.centre, 0);
    EXPECT_LT(found.centre, 6);
    write_layer_mix(store(), made().manifest, found);
    EXPECT_EQ(analyze::csv_text(table_of(read_layer_mix(store(), made().manifest, ProbeKind::mix, "upos"))),
              analyze::csv_text(table_of(found)));
    EXPECT_THAT(error_of([] { read_layer_mix(store(), made().manifest, ProbeKind::mix, "depth"); }),
                HasSubstr("--probe mix --labels depth"));
    // Pairs of words: both states side by side.
    EXPECT_TRUE(
        run_layer_mix(made().manifest, states(), labels("arc"), {.fit = {.seeds = 1, .epochs = 1}, .bootstrap = {}}).pairs);
}

TEST_F(ProbeKinds, TheEdgeProbeReadsTheTokensOfSpans) {
    MixRunOptions options{.kind = ProbeKind::edge, .fit = {.seeds = 1, .epochs = 4}, .bootstrap = {.draws = 20}};
    const MixResult found = run_layer_mix(made().manifest, states(), labels("upos"), options);
    for (const MixRow& row : found.rows) EXPECT_GT(row.score.mean, found.majority + 0.2) << row.layer;
    write_layer_mix(store(), made().manifest, found);
    const MixResult kept = read_layer_mix(store(), made().manifest, ProbeKind::edge, "upos");
    EXPECT_EQ(kept.kind, ProbeKind::edge);
    EXPECT_EQ(analyze::csv_text(table_of(kept)), analyze::csv_text(table_of(found)));
    EXPECT_THAT(error_of([] { read_layer_mix(store(), made().manifest, ProbeKind::edge, "depth"); }),
                HasSubstr("--probe edge --labels depth"));
    // Words and their heads, which overlap and stand in any order.
    options.fit.epochs = 1;
    EXPECT_GT(run_layer_mix(made().manifest, states(), labels("arc"), options).rows[6].score.mean, 0.25);
    // The tokens of spans, and their means, are the same states.
    const LabelledExamples upos = labels("upos");
    for_each_layer(made().manifest, states(), [&](std::int64_t, const LayerStates& of) {
        for (std::size_t e = 0; e < 40; ++e) {
            const ProbeRows mean = of.tokens(std::span(&upos.examples[e].span, 1)).colwise().mean();
            EXPECT_EQ(mean, of.pooled(std::span(&upos.examples[e], 1)));
        }
    });
}

TEST_F(ProbeKinds, TheAttentionProbeOfAStoreIsThatOfItsAttention) {
    const ArcResult found = run_arcs(made().manifest, states(), {.fit = {.iterations = 20}, .bootstrap = {.draws = 50}});
    ASSERT_EQ(found.rows.size(), 7u) << "all heads, and those of six layers";
    EXPECT_EQ(found.probe.to_head.size(), 48u);
    // The same by hand.
    TextStore texts = made().texts();
    const StoredTrees all = trees();
    std::vector<std::int64_t> train, test;
    for (std::size_t s = 0; s < all.sentences.size(); ++s)
        (all.parts[s] == ProbePart::test ? test : train).push_back(all.chunks[s]);
    const auto learn = gather_word_attention(texts, train, made().setup.model, made().setup.tokenizer),
               score = gather_word_attention(texts, test, made().setup.model, made().setup.tokenizer);
    const ArcProbe probe = fit_arc_probe(learn, {.iterations = 20});
    double hits = 0, words = 0;
    for (const TextTerm& term : arc_hits(probe, score)) hits += term.sum, words += term.weight;
    EXPECT_DOUBLE_EQ(found.rows[0].accuracy.mean, hits / words);
    EXPECT_EQ(found.n_words, static_cast<std::int64_t>(words));
    EXPECT_EQ(found.offset, best_arc_offset(learn));
    EXPECT_LT(found.rows[0].loss, found.rows[3].loss) << "more heads fit the training words better";
    // The heads of layer 2 alone.
    std::vector<ArcSentence> of_layer;
    for (const ArcSentence& sentence : learn) {
        ArcSentence& own = of_layer.emplace_back(sentence);
        const auto size = 8 * sentence.places() * sentence.places();
        own.attention.assign(sentence.attention.begin() + 2 * size, sentence.attention.begin() + 3 * size);
    }
    EXPECT_DOUBLE_EQ(found.rows[3].loss, fit_arc_probe(of_layer, {.iterations = 20}).loss);
    write_arcs(store(), made().manifest, found);
    const ArcResult again = read_arcs(store(), made().manifest);
    EXPECT_EQ(analyze::csv_text(table_of(again)), analyze::csv_text(table_of(found)));
    EXPECT_EQ(json_members(again), json_members(found));
    StatesOptions without = states();
    without.model = nullptr;
    EXPECT_THAT(error_of([&] { run_arcs(made().manifest, without, {}); }), HasSubstr("--model"));
}

TEST_F(ProbeKinds, HeadsOfADirectionAddUpToTheirBlocks) {
    ProbeOptions options;
    options.controls = false;
    ProbeResult probe = run_probe(made().manifest, states(), labels("upos"), options);
    const LayerProbe& at = probe.layers[3];
    const DirectionHeads heads = direction_heads(made().manifest, states(), probe, at);
    ASSERT_EQ(heads.share.cols(), 3 * 8) << "the blocks below layer 3";
    // By hand: along u of a class, the output of a block's attention is the sum of its heads' and b_O, which all tokens share.
    const auto noun = static_cast<std::int32_t>(std::ranges::find(probe.classes, "NOUN") - probe.classes.begin());
    Eigen::VectorXd u = (at.probe.weights.row(noun) - at.probe.weights.colwise().mean()).transpose();
    u.normalize();
    std::vector<double> own(4), rest(4);  // blocks 0 to 2, then the stream
    double n_own = 0, n_rest = 0;
    TextStore texts = made().texts();
    for (const ProbeExample& example : probe.tested) {
        const auto trace = trace::run(made().setup.model, made().setup.tokenizer, {.text = texts.text(example.text).text},
                                      {.globs = {"blocks.*.hook_attn_out", "blocks.3.hook_resid_pre"}});
        const bool is = example.label == noun;
        (is ? n_own : n_rest) += 1;
        for (std::int64_t part = 0; part < 4; ++part) {
            const at::Tensor state = trace::tensor(*trace, part < 3 ? model::HookPoint{model::Hook::attn_out, Layer(part)}
                                                                    : model::HookPoint{model::Hook::resid_pre, Layer(3)})
                                         .narrow(0, example.span.begin, example.span.end - example.span.begin)
                                         .mean(0)
                                         .to(at::kDouble)
                                         .contiguous();
            (is ? own : rest)[static_cast<std::size_t>(part)] +=
                Eigen::Map<const Eigen::VectorXd>(state.data_ptr<double>(), state.numel()).dot(u);
        }
    }
    const auto difference = [&](std::size_t part) { return own[part] / n_own - rest[part] / n_rest; };
    for (std::int64_t block = 0; block < 3; ++block)
        EXPECT_NEAR(heads.difference.row(noun).segment(8 * block, 8).sum(), difference(static_cast<std::size_t>(block)),
                    1e-4 * std::abs(difference(3)))
            << block;
    EXPECT_NEAR(heads.stream[noun], difference(3), 1e-4 * std::abs(difference(3)));
    EXPECT_GT(heads.stream[noun], 0) << "the direction points to its class";
    EXPECT_NEAR(heads.share(noun, 5), heads.difference(noun, 5) / heads.stream[noun], 1e-12);
    const analyze::Table table = table_of(heads, probe, 2);
    EXPECT_EQ(std::get<std::string>(table.rows[0][0]), "upos");
    probe.heads = heads;
    write_probe(store(), made().manifest, probe);
    const DirectionHeads again = read_probe(store(), made().manifest, "upos").heads;
    EXPECT_EQ(analyze::csv_text(table_of(again, probe, 3)), analyze::csv_text(table_of(heads, probe, 3)));
}

// --- bad input ------------------------------------------------------------------------------------------------------

TEST_F(ProbeKinds, LabelsThatDoNotCoverTheWordsAreCountedAndTheOthersLearnt) {
    TextStore texts = made().texts();
    std::ofstream file(made().folder / "some.tsv");
    file << "text\tbegin\tend\tlabel\n";
    for (std::int64_t t = 0; t < texts.texts(); ++t) {
        const Text& text = texts.text(t);
        for (std::size_t w = 0; w < std::min<std::size_t>(text.words.size(), 3); ++w)
            if (text.words[w].end <= std::ssize(text.text) && text.text.find_first_of("\x80\xC3\xE2") == std::string::npos)
                file << text.id << '\t' << text.words[w].begin << '\t' << text.words[w].end << '\t'
                     << (text.words[w].upos == "PRON" ? "yes" : "no") << '\n';
    }
    file.close();
    const LabelledExamples some = labels(made().folder / "some.tsv");
    EXPECT_LT(some.examples.size(), labels("upos").examples.size());
    ProbeOptions options;
    options.controls = false;
    const ProbeResult found = run_probe(made().manifest, states(), some, options);
    EXPECT_EQ(found.n_train + found.n_development + std::ssize(found.tested), std::ssize(some.examples));
    // A feature that few words have: the others are counted.
    const LabelledExamples number = labels("feature:Tense");
    EXPECT_GT(number.unlabelled, std::ssize(number.examples));
}

TEST_F(ProbeKinds, MoreClassesThanExamplesToLearnFromIsAnError) {
    TextStore texts = made().texts();
    std::ofstream(made().folder / "own-class.tsv") << [&] {
        std::string rows = "text\tlabel\n";
        for (std::int64_t t = 0; t < texts.texts(); ++t) rows += texts.text(t).id + "\tclass" + std::to_string(t) + "\n";
        return rows;
    }();
    const LabelledExamples own = labels(made().folder / "own-class.tsv");
    ASSERT_EQ(own.classes.size(), own.examples.size());
    const std::string said = error_of([&] { run_probe(made().manifest, states(), own, {}); });
    EXPECT_THAT(said, HasSubstr("fewer examples than classes"));
    EXPECT_THAT(said, HasSubstr(std::to_string(own.classes.size()) + " classes"));
    EXPECT_THAT(error_of([&] { run_layer_mix(made().manifest, states(), own, {}); }), HasSubstr("fewer examples than classes"));
}

TEST_F(ProbeKinds, ALayerOfConstantsGivesTheMajority) {
    const LabelledExamples upos = labels("upos");
    TextStore texts = made().texts();
    const ProbeSplit split = split_examples(upos, texts, 0);
    const ProbeRows constant = ProbeRows::Constant(std::ssize(upos.examples), 16, 3.5F);
    const LayerProbe found = probe_layer(0, constant, upos, split, {});
    EXPECT_EQ(found.constant_features, 16);
    EXPECT_DOUBLE_EQ(found.accuracy.mean, split.majority);
    EXPECT_TRUE(std::isfinite(found.control));
    EXPECT_TRUE(std::isfinite(found.code.bits));
    EXPECT_TRUE(found.probe.weights.isZero());
    std::vector<std::int64_t> train(split.train.begin(), split.train.end()),
        dev(split.development.begin(), split.development.end()), test(split.test.begin(), split.test.end());
    std::vector<std::int32_t> of;
    for (const ProbeExample& example : upos.examples) of.push_back(example.label);
    const StateRows view(constant.data(), constant.rows(), constant.cols());
    const LayerMix mix = fit_layer_mix({.layers = {view, view},
                                        .labels = of,
                                        .classes = static_cast<std::int32_t>(upos.classes.size()),
                                        .train = train,
                                        .dev = dev,
                                        .test = test},
                                       {.seeds = 1, .epochs = 5});
    for (const LayerMixStep& step : mix.steps) EXPECT_DOUBLE_EQ(step.score, split.majority);
}

TEST_F(ProbeKinds, AStoreOfAnotherTokenizerOrModelIsNamed) {
    Manifest other = made().manifest;
    other.tokenizer_hash = "0123";
    EXPECT_THAT(error_of([&] { for_each_layer(other, states(), [](std::int64_t, const LayerStates&) {}); }),
                HasSubstr("another tokenizer"));
    EXPECT_THAT(error_of([&] { run_arcs(other, states(), {}); }), HasSubstr("another tokenizer"));
    other = made().manifest;
    other.model_hash = "4567";
    EXPECT_THAT(error_of([&] { run_structural(other, states(), {}); }), HasSubstr("another model"));
}

TEST_F(ProbeKinds, CancelInTheMiddleLosesNothingAndLeavesNoResult) {
    for_each_layer(made().manifest, states(), [](std::int64_t, const LayerStates&) {});  // the states are there
    const LabelledExamples relation = labels("relation");
    const auto cancelled_at = [](const std::string& what, std::int64_t done, const auto& work) {
        const CancelToken cancel;
        bool reached = false;
        EXPECT_THROW(work(cancel,
                          [&](const ProgressStep& step) {
                              if (step.what == what && step.done >= done) reached = true, cancel.cancel();
                          }),
                     Cancelled)
            << what;
        EXPECT_TRUE(reached) << what;
    };
    cancelled_at("Probing", 2, [&](const CancelToken& cancel, const Progress& progress) {
        ProbeOptions options;
        options.controls = false;
        run_probe(made().manifest, states(), relation, options, cancel, progress);
    });
    cancelled_at("Structural probe", 1, [&](const CancelToken& cancel, const Progress& progress) {
        StructuralRunOptions options{.ranks = {2}, .fit = {}, .bootstrap = {.draws = 5}};
        options.fit.epochs = 1;
        run_structural(made().manifest, states(), options, cancel, progress);
    });
    cancelled_at("Mixing layers", 1, [&](const CancelToken& cancel, const Progress& progress) {
        run_layer_mix(made().manifest, states(), relation, {.fit = {.seeds = 1, .epochs = 1}, .bootstrap = {}}, cancel, progress);
    });
    cancelled_at("Mixing layers", 1, [&](const CancelToken& cancel, const Progress& progress) {
        run_layer_mix(made().manifest, states(), relation,
                      {.kind = ProbeKind::edge, .fit = {.seeds = 1, .epochs = 1}, .bootstrap = {}}, cancel, progress);
    });
    cancelled_at("Attention probe", 1, [&](const CancelToken& cancel, const Progress& progress) {
        run_arcs(made().manifest, states(), {.fit = {.iterations = 2}, .bootstrap = {}}, cancel, progress);
    });
    EXPECT_FALSE(std::filesystem::exists(store() / "probes" / "relation.json"));
    EXPECT_GT(state_layers(made().manifest, {.store = store()}), 0) << "the states of the tokens stay";
}

}  // namespace probe_kinds_test
}  // namespace headlight::corpus
