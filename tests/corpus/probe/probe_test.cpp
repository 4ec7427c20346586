// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/corpus/probe/probe.h"
#include "headlight/trace/tensors.h"
#include "tests/corpus/probe/probed_store.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace headlight::corpus {
namespace {

TEST(OnlineCode, IsTheSumOverPortions) {
    // 10 labels of 4 classes at 2 bits, 40 at p = 0.5, 50 at p = 0.8.
    const std::vector<double> later{40, 50 * -std::log2(0.8)};
    const CodeLength code = online_code(100, 10, 4, later);
    EXPECT_NEAR(code.bits, 76.09640, 5e-6);
    EXPECT_NEAR(code.compression, 2.628245, 5e-7);
}

TEST(OnlineCode, PortionsOfFewExamplesAreNotEmpty) {
    EXPECT_EQ(code_portions(1000), (std::vector<std::int64_t>{1, 2, 4, 8, 16, 32, 62, 125, 250, 500, 1000}));
    EXPECT_EQ(code_portions(20), (std::vector<std::int64_t>{1, 2, 5, 10, 20}));
}

TEST(MacroF1, IsTheMeanOverTheClassesThatOccur) {
    // Class 0: 2 of 3 found, 1 wrong: F1 2/3; class 1: 1 of 2, 1 wrong: 1/2; class 2 occurs nowhere.
    EXPECT_NEAR(macro_f1(std::vector<std::int32_t>{0, 0, 0, 1, 1}, std::vector<std::int32_t>{0, 0, 1, 1, 0}, 3),
                (2.0 / 3 + 0.5) / 2, 1e-12);
}

/// Words "w0" to "w199", each ten times, two thirds of them with label 0.
LabelledExamples many_words() {
    LabelledExamples of{.task = "toy", .classes = {"a", "b", "c"}, .examples = {}};
    for (int i = 0; i < 2000; ++i)
        of.examples.push_back({.label = i % 6 < 4 ? 0 : i % 6 - 3, .text = i / 10, .type = "w" + std::to_string((i * 7) % 200)});
    return of;
}

TEST(ControlTask, GivesEveryTypeOneLabelOfTheTrainingDistribution) {
    const LabelledExamples of = many_words();
    std::vector<std::size_t> training;
    for (std::size_t e = 0; e < 1500; ++e) training.push_back(e);
    const std::vector<std::int32_t> labels = control_labels(of, training, 3);
    std::map<std::string, std::set<std::int32_t>> by_type;
    std::map<std::int32_t, int> types;
    for (std::size_t e = 0; e < labels.size(); ++e) by_type[of.examples[e].type].insert(labels[e]);
    EXPECT_EQ(by_type.size(), 200u);
    for (const auto& [type, of_type] : by_type) {
        EXPECT_EQ(of_type.size(), 1u) << type;
        ++types[*of_type.begin()];
    }
    EXPECT_NEAR(types[0], 200 * 2 / 3., 25);
    EXPECT_NEAR(types[1], 200 / 6., 20);
    EXPECT_NE(labels, control_labels(of, training, 4));
    const std::vector<std::int32_t> random = random_labels(of, training, 3);
    EXPECT_NEAR(std::ranges::count(random, 0), 2000 * 2 / 3., 90);
    std::set<std::int32_t> of_one_type;
    for (std::size_t e = 0; e < random.size(); ++e)
        if (of.examples[e].type == "w7") of_one_type.insert(random[e]);
    EXPECT_GT(of_one_type.size(), 1u);
}

/// 60 sentences of a treebank, run once.
class ProbeStore : public testing::Test {
protected:
    static AddTexts sentences(const test::TempFolder& folder) {
        std::ofstream file(folder / "bank.conllu");
        // The tag follows from the word, so a probe finds it; the number of the subject is a feature.
        const char* const nouns[] = {"dog", "cat", "king", "house", "door", "night"};
        const char* const verbs[] = {"sleeps", "waits", "falls", "sings"};
        for (int s = 0; s < 60; ++s) {
            const std::string noun = nouns[s % 6], verb = verbs[s / 6 % 4];
            const std::string text = "The " + noun + " " + verb + " .";
            file << "# sent_id = s" << s << "\n# text = " << text << "\n1\tThe\tthe\tDET\tDT\t_\t2\tdet\t_\t_\n2\t" << noun
                 << "\t_\tNOUN\tNN\tNumber=Sing|Case=" << (s % 6 < 3 ? "Nom" : "Acc") << "\t3\tnsubj:pass\t_\t_\n3\t" << verb
                 << "\t_\tVERB\tVBZ\t_\t0\troot\t_\t_\n4\t.\t.\tPUNCT\t.\t_\t3\tpunct\t_\t_\n\n";
        }
        return {.from = folder / "bank.conllu"};
    }
    static const ProbedStore& made() {
        static const ProbedStore store(sentences);
        return store;
    }
    static StatesOptions states() { return made().states(); }
    static LabelledExamples labels(const std::string& of) { return made().labels(of); }
    static std::string label_error(const std::string& of) {
        return error_of([&] { labels(of); });
    }
};

TEST_F(ProbeStore, ReadsEveryKindOfLabel) {
    const LabelledExamples upos = labels("upos");
    EXPECT_EQ(upos.classes, (std::vector<std::string>{"DET", "NOUN", "PUNCT", "VERB"}));
    ASSERT_EQ(upos.examples.size(), 240u);
    EXPECT_EQ(upos.examples[1].type, "dog");
    EXPECT_EQ(upos.examples[1].label, 1);
    EXPECT_EQ(labels("relation").classes, (std::vector<std::string>{"det", "nsubj", "punct", "root"}));
    EXPECT_EQ(labels("depth").classes, (std::vector<std::string>{"0", "1", "2"}));
    const LabelledExamples cases = labels("feature:Case");
    EXPECT_EQ(cases.classes, (std::vector<std::string>{"Acc", "Nom"}));
    EXPECT_EQ(cases.examples.size(), 60u);
    EXPECT_EQ(cases.unlabelled, 180);
    const LabelledExamples arcs = labels("arc");
    EXPECT_EQ(arcs.classes, (std::vector<std::string>{"det", "nsubj", "punct"}));
    EXPECT_EQ(arcs.examples[0].type, "The → dog");
    EXPECT_EQ(arcs.examples[0].other.chunk, 0);
}

TEST_F(ProbeStore, ReadsTheUsersOwnSpans) {
    std::ofstream(made().folder / "own.tsv") << "text\tbegin\tend\tlabel\ns0\t4\t7\tanimal\ns3\t4\t9\tthing\ns1\t4\t7\tanimal\n";
    const LabelledExamples own = labels(made().folder / "own.tsv");
    EXPECT_EQ(own.task, "own");
    EXPECT_EQ(own.classes, (std::vector<std::string>{"animal", "thing"}));
    ASSERT_EQ(own.examples.size(), 3u);
    EXPECT_EQ(own.examples[0].type, "dog");
    EXPECT_EQ(own.examples[2].type, "house");
    const LabelledExamples words = labels("upos");
    EXPECT_EQ(own.examples[0].span.begin, words.examples[1].span.begin);
    EXPECT_EQ(own.examples[0].span.end, words.examples[1].span.end);
    std::ofstream(made().folder / "texts.tsv") << "label\ttext\r\none\ts0\r\ntwo\ts1\r\n";
    EXPECT_EQ(labels(made().folder / "texts.tsv").examples[1].type, "The cat sleeps .");
}

TEST_F(ProbeStore, SaysWhatIsWrongWithLabels) {
    EXPECT_NE(label_error("uppos").find("Did you mean upos?"), std::string::npos) << label_error("uppos");
    EXPECT_NE(label_error("feature:Number").find("1 class (Sing)"), std::string::npos) << label_error("feature:Number");
    EXPECT_NE(label_error("field:author").find("at least two classes"), std::string::npos) << label_error("field:author");
    const auto of_file = [&](const std::string& content) {
        std::ofstream(made().folder / "bad.tsv") << content;
        return label_error(made().folder / "bad.tsv");
    };
    EXPECT_NE(of_file("text\tlabel\ns0\ta\nno-such\tb\n").find("bad.tsv:3"), std::string::npos);
    EXPECT_NE(of_file("text\tlabel\tbegin\ns0\ta\t0\n").find("begin and end"), std::string::npos);
    EXPECT_NE(of_file("text\tbegin\tend\tlabel\ns0\t4\t99\ta\n").find("found 99"), std::string::npos)
        << of_file("text\tbegin\tend\tlabel\ns0\t4\t99\ta\n");
    EXPECT_NE(of_file("text\tbegin\tend\tlabel\ns0\t4\t4\ta\n").find("more than 4"), std::string::npos);
    EXPECT_NE(of_file("text\tlabel\ns0\n").find("columns"), std::string::npos);
    EXPECT_NE(of_file("text\tlabel\ns0\ta\n").find("at least two classes"), std::string::npos);
}

TEST_F(ProbeStore, StatesAreThoseOfTheRun) {
    const LabelledExamples of = labels("upos");
    const auto trace = trace::run(made().setup.model, made().setup.tokenizer, {.text = "The house sleeps ."},
                                  {.globs = {"blocks.*.hook_resid*"}});
    std::int64_t seen = 0;
    for (const std::int64_t budget : {std::int64_t{4} << 30, std::int64_t{1}}) {
        StatesOptions options = states();
        options.disk_budget = budget;
        std::filesystem::remove_all(options.store / "states");
        seen = 0;
        for_each_layer(made().manifest, options, [&](std::int64_t layer, const LayerStates& states) {
            EXPECT_EQ(layer, seen++);
            const ProbeRows rows = states.pooled(std::span(of.examples).subspan(12, 4));  // sentence s3
            const std::int64_t blocks = made().setup.model->config().n_layers;
            const at::Tensor expected =
                trace::tensor(*trace, layer < blocks ? model::HookPoint{model::Hook::resid_pre, Layer(layer)}
                                                     : model::HookPoint{model::Hook::resid_post, Layer(blocks - 1)});
            for (std::size_t w = 0; w < 4; ++w) {
                const TokenSpan span = of.examples[12 + w].span;
                const at::Tensor mean = expected.narrow(0, span.begin, span.end - span.begin).mean(0).contiguous();
                // The large features of a stream carry the rounding of the others.
                const double tolerance = 2e-6 * mean.abs().max().item<double>();
                for (std::int64_t f = 0; f < mean.numel(); ++f)
                    ASSERT_NEAR(rows(static_cast<Eigen::Index>(w), f), mean.data_ptr<float>()[f], tolerance) << layer << " " << w;
            }
        });
        EXPECT_EQ(seen, made().setup.model->config().n_layers + 1);
        EXPECT_EQ(std::filesystem::exists(options.store / "states"), budget > 1) << "layers that do not fit leave nothing";
    }
}

TEST_F(ProbeStore, FindsWhatTheStatesHoldAndReadsItBack) {
    const LabelledExamples of = labels("upos");
    ProbeOptions options;
    options.seed = 1;
    const ProbeResult found = run_probe(made().manifest, states(), of, options);
    ASSERT_EQ(std::ssize(found.layers), made().setup.model->config().n_layers + 1);
    EXPECT_EQ(found.n_train + found.n_development + std::ssize(found.tested), 240);
    EXPECT_NEAR(found.majority, 0.25, 1e-9) << "all four tags are as frequent";
    EXPECT_NEAR(found.most_frequent_label, 1, 1e-9) << "a word has one tag";
    for (const LayerProbe& layer : found.layers) {
        EXPECT_EQ(layer.accuracy.mean, 1) << layer.layer;
        EXPECT_EQ(layer.macro_f1, 1);
        EXPECT_EQ(layer.confusion.diagonal().sum(), std::ssize(found.tested));
        EXPECT_LT(layer.random_label, 0.6);
        EXPECT_GT(layer.code.compression, 2);
    }
    write_probe(made().setup.store, made().manifest, found);
    EXPECT_EQ(probe_tasks(made().setup.store), std::vector<std::string>{"upos"});
    const ProbeResult again = read_probe(made().setup.store, made().manifest, "upos");
    EXPECT_EQ(analyze::csv_text(table_of(again)), analyze::csv_text(table_of(found)));
    EXPECT_EQ(json_members(again), json_members(found));
    EXPECT_THROW(read_probe(made().setup.store, made().manifest, "xpos"), Error);
}

TEST_F(ProbeStore, ACancelledProbeLeavesNoHalfFiles) {
    StatesOptions options = states();
    std::filesystem::remove_all(options.store / "states");
    const CancelToken cancel;
    const auto at_the_start = [&](const ProgressStep& step) {
        if (step.what == "Running texts") cancel.cancel();
    };
    EXPECT_THROW(for_each_layer(
                     made().manifest, options, [](std::int64_t, const LayerStates&) {}, cancel, at_the_start),
                 Cancelled);
    EXPECT_FALSE(std::filesystem::exists(options.store / "states"));
    options.model = nullptr;
    EXPECT_EQ(state_layers(made().manifest, options), 0);
    EXPECT_THROW(for_each_layer(made().manifest, options, [](std::int64_t, const LayerStates&) {}), Error);
}

}  // namespace
}  // namespace headlight::corpus
