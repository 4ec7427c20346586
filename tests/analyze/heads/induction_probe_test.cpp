// SPDX-License-Identifier: GPL-3.0-or-later
// The random-token probe, on a two-layer model whose heads are what the probe must find.
#include "headlight/analyze/heads/induction_probe.h"
#include "headlight/analyze/heads/head_table.h"
#include "headlight/analyze/heads/model_probe.h"
#include "headlight/base/error.h"
#include "headlight/io/safetensors.h"
#include "headlight/trace/tensors.h"
#include "tests/analyze/traces.h"
#include "tests/support/temp_folder.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <deque>
#include <fstream>
#include <set>

namespace headlight::analyze {
namespace induction_probe_test {

constexpr std::int64_t kPlaces = 64, kWords = 60, kWidth = kPlaces + 2 * kWords;

/// GPT-2 without a working MLP. The stream has three parts: where a token stands, which token it is, and which one
/// stands before it; each is one-hot. Layer 0 attends to the previous place and copies the token there into the third
/// part; layer 1 looks from a token at the places behind its earlier copies.
class Circuit {
public:
    Circuit() {
        add("wte.weight", {kWords, kWidth}, [](auto& w) {
            for (std::int64_t t = 0; t < kWords; ++t) w(t, kPlaces + t) = 1;
        });
        add("wpe.weight", {kPlaces, kWidth}, [](auto& w) {
            for (std::int64_t p = 0; p < kPlaces; ++p) w(p, p) = 1;
        });
        for (const std::int64_t layer : {0, 1}) add_layer(layer);
        add_norm("ln_f");
        io::write_safetensors(folder_ / "model.safetensors", arrays_, {});
        folder_.write("config.json", nlohmann::json{{"architectures", {"GPT2LMHeadModel"}},
                                                    {"model_type", "gpt2"},
                                                    {"activation_function", "gelu_new"},
                                                    {"n_layer", 2},
                                                    {"n_head", 1},
                                                    {"n_embd", kWidth},
                                                    {"n_inner", 1},
                                                    {"n_positions", kPlaces},
                                                    {"vocab_size", kWords},
                                                    {"layer_norm_epsilon", 1e-5},
                                                    {"tie_word_embeddings", true}}
                                         .dump());
        folder_.write("tokenizer.json", tokenizer().dump());
    }
    const std::filesystem::path& path() const { return folder_.path(); }

private:
    struct Entries {
        std::vector<float>& values;
        std::int64_t columns;
        float& operator()(std::int64_t row, std::int64_t column) {
            return values[static_cast<std::size_t>(row * columns + column)];
        }
    };
    template <class Fill>
    void add(const std::string& name, std::vector<std::int64_t> shape, Fill fill) {
        std::int64_t count = 1;
        for (const std::int64_t side : shape) count *= side;
        std::vector<float>& values = data_.emplace_back(static_cast<std::size_t>(count), 0.0F);
        Entries entries{values, shape.back()};
        fill(entries);
        arrays_.push_back({"transformer." + name, io::DType::F32, shape, std::as_bytes(std::span(values))});
    }
    void add_norm(const std::string& name) {
        add(name + ".weight", {kWidth}, [](auto& w) { std::fill(w.values.begin(), w.values.end(), 1.0F); });
        add(name + ".bias", {kWidth}, [](auto&) {});
    }
    void add_layer(std::int64_t layer) {
        const std::string block = "h." + std::to_string(layer) + ".";
        add_norm(block + "ln_1");
        add(block + "attn.c_attn.weight", {kWidth, 3 * kWidth}, [&](auto& w) {
            constexpr float sharp = 100;
            if (layer == 0) {
                for (std::int64_t p = 0; p < kPlaces; ++p) {
                    w(p, p) = sharp;                                // query: my place
                    if (p + 1 < kPlaces) w(p, kWidth + p + 1) = 1;  // key: the place behind me
                }
                for (std::int64_t t = 0; t < kWords; ++t) w(kPlaces + t, 2 * kWidth + t) = 1;  // value: my token
            } else {
                for (std::int64_t t = 0; t < kWords; ++t) {
                    w(kPlaces + t, t) = sharp;                // query: my token
                    w(kPlaces + kWords + t, kWidth + t) = 1;  // key: the token before me
                }
            }
        });
        add(block + "attn.c_attn.bias", {3 * kWidth}, [](auto&) {});
        add(block + "attn.c_proj.weight", {kWidth, kWidth}, [&](auto& w) {
            for (std::int64_t t = 0; t < kWords && layer == 0; ++t) w(t, kPlaces + kWords + t) = 1;
        });
        add(block + "attn.c_proj.bias", {kWidth}, [](auto&) {});
        add_norm(block + "ln_2");
        add(block + "mlp.c_fc.weight", {kWidth, 1}, [](auto&) {});
        add(block + "mlp.c_fc.bias", {1}, [](auto&) {});
        add(block + "mlp.c_proj.weight", {1, kWidth}, [](auto&) {});
        add(block + "mlp.c_proj.bias", {kWidth}, [](auto&) {});
    }
    static nlohmann::json tokenizer() {
        nlohmann::json vocabulary = {{"<s>", 0}};
        for (std::int64_t t = 1; t < kWords; ++t) vocabulary["w" + std::to_string(t)] = t;
        const nlohmann::json start = {{"id", 0},         {"content", "<s>"},    {"single_word", false}, {"lstrip", false},
                                      {"rstrip", false}, {"normalized", false}, {"special", true}};
        const nlohmann::json special = {{"SpecialToken", {{"id", "<s>"}, {"type_id", 0}}}};
        const auto sequence = [](const char* id) { return nlohmann::json{{"Sequence", {{"id", id}, {"type_id", 0}}}}; };
        return {{"version", "1.0"},
                {"added_tokens", nlohmann::json::array({start})},
                {"normalizer", nullptr},
                {"pre_tokenizer", {{"type", "Whitespace"}}},
                {"post_processor",
                 {{"type", "TemplateProcessing"},
                  {"single", nlohmann::json::array({special, sequence("A")})},
                  {"pair", nlohmann::json::array({special, sequence("A"), sequence("B")})},
                  {"special_tokens",
                   {{"<s>", {{"id", "<s>"}, {"ids", nlohmann::json::array({0})}, {"tokens", nlohmann::json::array({"<s>"})}}}}}}},
                {"model",
                 {{"type", "WordPiece"},
                  {"unk_token", "<s>"},
                  {"continuing_subword_prefix", "##"},
                  {"max_input_chars_per_word", 100},
                  {"vocab", vocabulary}}}};
    }

    test::TempFolder folder_;
    std::deque<std::vector<float>> data_;
    std::vector<io::ArrayRef> arrays_;
};

TEST(InductionProbe, FindsTheHeadsOfAHandBuiltCircuit) {
    const Circuit circuit;
    const auto model = model::Model::load(circuit.path());
    const auto tokenizer = text::Tokenizer::load(circuit.path());
    const InductionProbe probe = induction_probe(model, tokenizer, {.n = 25, .batch = 3, .seed = 1});
    EXPECT_GE(probe.previous(0, 0), 0.99);
    EXPECT_GE(probe.induction(1, 0), 0.99);
    EXPECT_LE(probe.induction(0, 0), 0.05);
    EXPECT_LE(probe.duplicate.maxCoeff(), 0.05);

    // The same circuit on a text, and the measures of the text.
    const auto trace = trace::run(model, tokenizer, {.text = "w7 w3 w9 w7 w3 w9 w7", .pair = {}});
    const HeadTable table = head_table(*trace);
    EXPECT_GE((*table.find("previous_token"))(0, 0), 0.99);
    EXPECT_GE((*table.find("induction"))(1, 0), 0.99);
}

TEST(InductionProbe, DrawsTheSameTokensForTheSameSeed) {
    const auto tokenizer = text::Tokenizer::load(source_folder() / "models/novella-7m");
    const auto draw = [&](std::uint64_t seed) { return probe_ids(*tokenizer, 8192, {.n = 50, .batch = 4, .seed = seed}); };
    const auto first = draw(5);
    EXPECT_EQ(first, draw(5));
    EXPECT_NE(first, draw(6));
    ASSERT_EQ(first.size(), 4U);
    for (const auto& sequence : first) {
        EXPECT_EQ(std::set<std::int64_t>(sequence.begin(), sequence.end()).size(), 50U) << "each token once";
        for (const std::int64_t id : sequence) EXPECT_FALSE(tokenizer->is_special(id));
    }
    // Every token has its turn: with as many as there are, all are drawn.
    const auto tiny = text::Tokenizer::load(source_folder() / "tests/fixtures/models/bert");
    const std::int64_t all = tiny->vocab_size();
    EXPECT_EQ(error_facts([&] { probe_ids(*tiny, all, {.n = all + 1}); }).item, "n");
    EXPECT_THROW(probe_ids(*tiny, all, {.n = 1}), Error);
    EXPECT_THROW(probe_ids(*tiny, all, {.n = 5, .batch = 0}), Error);
}

/// Against the patterns themselves, in every family: with what the tokenizer puts around.
TEST(InductionProbe, IsTheMeanOverThePatternsInEveryFamily) {
    for (const auto& folder : model_folders()) {
        SCOPED_TRACE(folder.filename().string());
        const auto model = model::Model::load(folder);
        const auto tokenizer = text::Tokenizer::load(folder);
        const ProbeOptions options{.n = 8, .batch = 2, .seed = 3};
        const InductionProbe probe = induction_probe(model, tokenizer, options);
        const std::int64_t layer = model->config().n_layers - 1, head = model->config().n_heads - 1;
        double induction = 0, previous = 0, duplicate = 0, rows = 0;
        for (std::vector<std::int64_t> ids : probe.ids) {
            const std::vector<std::int64_t> once = ids;
            ids.insert(ids.end(), once.begin(), once.end());
            const auto trace = trace::run(model, tokenizer, {.text = {}, .pair = {}, .ids = ids});
            const auto& all = trace->encoding().ids;
            const auto first = std::search(all.begin(), all.end(), ids.begin(), ids.end()) - all.begin();
            const at::Tensor p = trace::tensor(*trace, {model::Hook::pattern, Layer(layer)})[head];
            for (std::int64_t q = std::max<std::int64_t>(1, first); q < first + 16; ++q, rows += 1) {
                previous += p[q][q - 1].item<double>();
                if (q < first + 8) continue;
                induction += p[q][q - 7].item<double>() / 16;
                duplicate += p[q][q - 8].item<double>() / 16;
            }
        }
        EXPECT_NEAR(probe.induction(layer, head), induction, 1e-6);
        EXPECT_NEAR(probe.duplicate(layer, head), duplicate, 1e-6);
        EXPECT_NEAR(probe.previous(layer, head), previous / rows, 1e-6);
    }
}

TEST(InductionProbe, ModelsThatLookBothWaysAreAskedWithMasks) {
    const auto folder = source_folder() / "tests/fixtures/models/bert-mlm";
    const auto model = model::Model::load(folder);
    const auto tokenizer = text::Tokenizer::load(folder);
    ASSERT_TRUE(tokenizer->mask_id());
    const InductionProbe probe = induction_probe(model, tokenizer, {.n = 9, .batch = 1, .seed = 2});
    std::vector<std::int64_t> ids = probe.ids[0];
    ids.insert(ids.end(), probe.ids[0].begin(), probe.ids[0].end());
    ids[9 + 2] = ids[9 + 7] = *tokenizer->mask_id();
    const auto trace = trace::run(model, tokenizer, {.text = {}, .pair = {}, .ids = ids});
    const at::Tensor p = trace::tensor(*trace, {model::Hook::pattern, Layer(1)})[0];
    const auto at = [&](std::int64_t query, std::int64_t key) { return p[query + 1][key + 1].item<double>(); };  // [CLS]
    EXPECT_NEAR(probe.masked_copy(1, 0), (at(11, 2) + at(16, 7)) / 2, 1e-6);
    EXPECT_NEAR(probe.masked_before(1, 0), (at(11, 1) + at(16, 6)) / 2, 1e-6);
    EXPECT_NEAR(probe.masked_after(1, 0), (at(11, 3) + at(16, 8)) / 2, 1e-6);
    const auto novella = source_folder() / "models/novella-7m";
    EXPECT_EQ(
        induction_probe(model::Model::load(novella), text::Tokenizer::load(novella), {.n = 9, .batch = 1}).masked_copy.size(), 0);
}

/// $XDG_CACHE_HOME is an empty folder while it lives.
class OwnCache {
public:
    OwnCache() : before_(std::getenv("XDG_CACHE_HOME") ? std::getenv("XDG_CACHE_HOME") : "") {
        ::setenv("XDG_CACHE_HOME", folder.path().c_str(), 1);
    }
    ~OwnCache() { before_.empty() ? ::unsetenv("XDG_CACHE_HOME") : ::setenv("XDG_CACHE_HOME", before_.c_str(), 1); }
    std::vector<std::filesystem::path> files() const {
        std::vector<std::filesystem::path> found;
        for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path()))
            if (entry.is_regular_file()) found.push_back(entry.path());
        return found;
    }
    test::TempFolder folder;

private:
    std::string before_;
};

TEST(ModelProbe, IsRunOnceKeptByTheWeightsAndReadAgain) {
    const OwnCache cache;
    const Circuit circuit;
    const auto tokenizer = text::Tokenizer::load(circuit.path());
    const auto model = model::Model::load(circuit.path());
    const std::optional<ProbeOptions> plan = probe_plan(*model, *tokenizer);
    ASSERT_TRUE(plan);
    EXPECT_EQ(plan->n, 31) << "64 places, one of them for <s>";
    EXPECT_EQ(known_probe(*model), nullptr);
    EXPECT_EQ(kept_probe(*model, *tokenizer, *plan), nullptr);
    const auto probe = model_probe(model, tokenizer);
    EXPECT_GE(probe->induction(1, 0), 0.99);
    EXPECT_EQ(known_probe(*model), probe);
    EXPECT_EQ(model_probe(model, tokenizer), probe) << "not again";

    // Every table of the model has it now, whatever the text.
    const auto trace = trace::run(model, tokenizer, {.text = "w7 w3 w9", .pair = {}});
    EXPECT_EQ(*head_table(*trace).find("probe_induction"), probe->induction);

    // Another process: the same weights, whose file says the same to the last bit.
    const std::vector<std::filesystem::path> files = cache.files();
    ASSERT_EQ(files.size(), 1u);
    EXPECT_NE(files[0].string().find(model->hash()), std::string::npos);
    const auto again = model::Model::load(circuit.path());
    EXPECT_EQ(known_probe(*again), nullptr);
    const auto kept = kept_probe(*again, *tokenizer, *plan);
    ASSERT_TRUE(kept);
    EXPECT_EQ(kept->induction, probe->induction);
    EXPECT_EQ(kept->previous, probe->previous);
    EXPECT_EQ(kept->duplicate, probe->duplicate);

    // What is broken, or of another plan, is run again and replaced.
    for (const char* broken : {"{", "{\"plan\": 1}", "[]"}) {
        std::ofstream(files[0]) << broken;
        const auto other = model::Model::load(circuit.path());
        EXPECT_EQ(kept_probe(*other, *tokenizer, *plan), nullptr) << broken;
        EXPECT_EQ(model_probe(other, tokenizer)->induction, probe->induction);
        EXPECT_NE(kept_probe(*model::Model::load(circuit.path()), *tokenizer, *plan), nullptr) << broken;
    }
    const auto third = model::Model::load(circuit.path());
    EXPECT_EQ(kept_probe(*third, *tokenizer, {.n = 9, .batch = 1}), nullptr);
}

TEST(ModelProbe, ACancelledOneLeavesNothing) {
    const OwnCache cache;
    const Circuit circuit;
    const auto tokenizer = text::Tokenizer::load(circuit.path());
    const auto model = model::Model::load(circuit.path());
    const CancelToken cancel;
    EXPECT_THROW(model_probe(model, tokenizer, cancel,
                             [&](const ProgressStep& step) {
                                 if (step.done == 2) cancel.cancel();
                             }),
                 Cancelled);
    EXPECT_EQ(known_probe(*model), nullptr);
    EXPECT_TRUE(cache.files().empty());
}

TEST(ModelProbe, PlansWhatTheModelTakesOrNothing) {
    const auto plan_of = [](const std::filesystem::path& folder) {
        return probe_plan(*model::Model::load(folder), *trace::load_tokenizer(folder));
    };
    const auto novella = plan_of(source_folder() / "models/novella-7m");
    ASSERT_TRUE(novella);
    EXPECT_EQ(novella->n, 50);
    EXPECT_EQ(novella->batch, 4);
    const auto fixtures = source_folder() / "tests/fixtures/models";
    const auto short_text = plan_of(fixtures / "gpt2");  // takes 41 tokens or so
    ASSERT_TRUE(short_text);
    EXPECT_LT(short_text->n, 50);
    EXPECT_FALSE(plan_of(fixtures / "vit"));
}

TEST(InductionProbe, TooLongForTheModelNamesN) {
    const auto folder = source_folder() / "tests/fixtures/models/gpt2";
    const ErrorFacts facts =
        error_facts([&] { induction_probe(model::Model::load(folder), text::Tokenizer::load(folder), {.n = 30}); });
    EXPECT_EQ(facts.item, "n");
    EXPECT_EQ(facts.expected, "at most 20 random tokens");
}

}  // namespace induction_probe_test
}  // namespace headlight::analyze
