// SPDX-License-Identifier: GPL-3.0-or-later
// Sweeps against TransformerLens' patching.py, against a model in plain Python, and identities that hold in every family.
#include "headlight/base/error.h"
#include "headlight/io/json_file.h"
#include "tests/intervention/sweep/whole_passes.h"
#include "tests/support/case_name.h"
#include "tests/support/error_of.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headlight::intervention {
namespace sweep_test {

namespace fs = std::filesystem;
using testing_support::kTests;
using testing_support::result_at;
using testing_support::some_pair;

std::shared_ptr<const model::Model> fixture(const std::string& name) { return testing_support::fixture("models/" + name); }

SweepText text_of(std::vector<std::int64_t> ids, std::int64_t end = -1) {
    SweepText text{.ids = std::move(ids)};
    text.end = end < 0 ? std::ssize(text.ids) - 1 : end;
    return text;
}

SweepPair pair_of(const nlohmann::json& json) {
    return {.clean = text_of(json["clean"].get<std::vector<std::int64_t>>()),
            .corrupt = text_of(json["corrupt"].get<std::vector<std::int64_t>>()),
            .answers = {json["answer"].get<std::int64_t>()},
            .wrong = {json["wrong"].get<std::int64_t>()}};
}

std::vector<double> values_of(const SweepResult& r) {
    std::vector<double> values;
    for (const SweepCellResult& cell : r.results) values.push_back(cell.value);
    return values;
}

std::vector<double> effects_of(const SweepResult& r) {
    std::vector<double> values;
    for (const SweepCellResult& cell : r.results) values.push_back(cell.effect);
    return values;
}

class AgainstTransformerLens : public testing::TestWithParam<std::string> {};

TEST_P(AgainstTransformerLens, EveryGrid) {
    const nlohmann::json golden = io::read_json(kTests / "golden/sweep" / (GetParam() + ".json"));
    const auto model = fixture(GetParam());
    const SweepPair pair = pair_of(golden);
    std::size_t grids = 0;
    for (const auto& [name, expected] : golden["grids"].items()) {
        SCOPED_TRACE(name);
        const SweepResult found = run_sweep(model, {pair}, {.grid = enum_value<Grid>(name).value()});
        EXPECT_NEAR(found.clean.front(), golden["clean_metric"].get<double>(), 1e-5);
        EXPECT_NEAR(found.corrupt.front(), golden["corrupt_metric"].get<double>(), 1e-5);
        std::vector<double> values = expected["values"].get<std::vector<double>>();
        if (name == "pattern_by_edge") {  // theirs has the masked edges too: patching them changes nothing
            const auto tokens = std::ssize(pair.clean.ids);
            std::vector<double> visible;
            for (std::int64_t i = 0; i < std::ssize(values); ++i)
                if (i % tokens <= i / tokens % tokens) {
                    visible.push_back(values[static_cast<std::size_t>(i)]);
                } else {
                    EXPECT_NEAR(values[static_cast<std::size_t>(i)], found.corrupt.front(), 1e-5);
                }
            values = visible;
        }
        EXPECT_THAT(values_of(found), testing::Pointwise(testing::DoubleNear(1e-5), values));
        ++grids;
    }
    EXPECT_EQ(grids, model->config().parallel ? 17u : 18u);
}

INSTANTIATE_TEST_SUITE_P(Shapes, AgainstTransformerLens, testing::Values("gpt2", "llama-mha", "gpt-neox"),
                         [](const auto& each) { return test::case_name(each.param); });

TEST(Sweep, TheToyCellByCellInBothDirections) {
    const nlohmann::json golden = io::read_json(kTests / "golden/sweep/toy/cells.json");
    const auto model = model::Model::load(kTests / "golden/sweep/toy", {.dtype = model::ComputeType::float64});
    const SweepPair pair = pair_of(golden);
    for (const Direction direction : {Direction::denoise, Direction::noise}) {
        const nlohmann::json& cells = golden[std::string(enum_word(direction))];
        EXPECT_EQ(cells.size(), 16u);
        for (const auto& [name, expected] : cells.items()) {
            SCOPED_TRACE(name);
            SweepOptions options{.grid = enum_value<Grid>(name).value(), .direction = direction};
            if (name == "neuron") options.layers = {0, 1, 2};
            const SweepResult found = run_sweep(model, {pair}, options);
            EXPECT_THAT(values_of(found), testing::Pointwise(testing::DoubleNear(1e-9), expected.get<std::vector<double>>()));
            const double gap = golden["clean_metric"].get<double>() - golden["corrupt_metric"].get<double>();
            for (const SweepCellResult& cell : found.results)
                EXPECT_NEAR(cell.normalized, (direction == Direction::denoise ? 1 : -1) * cell.effect / gap, 1e-12);
        }
    }
}

class EveryFamilySweep : public testing::TestWithParam<fs::path> {
protected:
    std::shared_ptr<const model::Model> model_ = model::Model::load(GetParam(), {.dtype = model::ComputeType::float64});
    bool skipped() const { return !model_->config().has_unembedding; }
    double scale(const SweepResult& r) const {
        return 1e-6 * std::max({1.0, std::abs(r.clean.front()), std::abs(r.corrupt.front())});
    }
    std::vector<Grid> grids() const {
        std::vector<Grid> all;
        for (const EnumRow<Grid>& row : enum_rows(Grid{}))
            if (!(row.value == Grid::resid_mid && model_->config().parallel) &&
                !(row.value == Grid::expert && model_->config().experts.count == 0))
                all.push_back(row.value);
        return all;
    }
};

TEST_P(EveryFamilySweep, CleanIntoCleanChangesNothing) {
    if (skipped()) return;
    SweepPair pair = some_pair(*model_);
    pair.corrupt = pair.clean;
    pair.corrupt.ids.back() = pair.clean.ids.back();
    for (const Grid grid : grids()) {
        SCOPED_TRACE(std::string(enum_word(grid)));
        const SweepResult r = run_sweep(model_, {pair}, {.grid = grid, .layers = {0, model_->config().n_layers - 1}});
        for (const double effect : effects_of(r)) EXPECT_NEAR(effect, 0, scale(r));
        for (const SweepCellResult& cell : r.results) EXPECT_TRUE(std::isnan(cell.normalized)) << "the gap is 0";
        EXPECT_FALSE(r.notes.empty());
    }
}

TEST_P(EveryFamilySweep, ADonorThatIsTheTextItselfChangesNothing) {
    if (skipped()) return;
    // The same numbers as above, but computed: no token of a resampled text is known to be the same.
    const SweepPair pair = some_pair(*model_);
    for (const Grid grid : grids()) {
        SCOPED_TRACE(std::string(enum_word(grid)));
        const SweepResult r = run_sweep(
            model_, {pair, pair}, {.grid = grid, .ablation = Ablation::resample, .layers = {0, model_->config().n_layers - 1}});
        EXPECT_GT(r.computed, 0);
        for (const double effect : effects_of(r)) EXPECT_NEAR(effect, 0, 1e-6 * std::max(1.0, std::abs(r.clean.front())));
    }
}

TEST_P(EveryFamilySweep, TheStreamAtAllPositionsIsTheOtherRun) {
    if (skipped() || has_convolution(model_->config(), 0)) return;
    // All differing positions named as one place: the whole stream of a layer.
    SweepPair pair = some_pair(*model_), longer = pair;
    for (SweepText* text : {&pair.clean, &pair.corrupt}) text->places["all"] = {0, 1, 2, 3, 4, 5, 6, 7, 8};
    for (SweepText* text : {&longer.clean, &longer.corrupt}) {
        text->ids.push_back(7);
        text->end = 9;
        text->places["all"] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
    }
    for (const Direction direction : {Direction::denoise, Direction::noise}) {
        const SweepResult r =
            run_sweep(model_, {pair, longer}, {.grid = Grid::resid_pre, .direction = direction, .least_gap = 1e-9});
        ASSERT_EQ(std::ssize(r.cells), model_->config().n_layers);
        for (std::size_t n = 0; n < 2; ++n) {
            const double gap = (r.clean[n] - r.corrupt[n]) * (direction == Direction::denoise ? 1 : -1);
            for (const double effect : r.effects[n]) EXPECT_NEAR(effect, gap, scale(r));
        }
        for (const SweepCellResult& cell : r.results) EXPECT_NEAR(cell.normalized, 1, 1e-5);
    }
}

TEST_P(EveryFamilySweep, TheFirstStreamKnowsOnlyTheTokensThatDiffer) {
    if (skipped()) return;
    SweepPair pair = some_pair(*model_);
    pair.corrupt.ids[6] = pair.clean.ids[6];  // only token 3 differs
    const SweepResult r = run_sweep(model_, {pair}, {.grid = Grid::resid_pre, .layers = {0}});
    if (has_convolution(model_->config(), 0)) return;
    for (std::int64_t p = 0; p < 9; ++p)
        EXPECT_NEAR(result_at(r, {Site::resid_pre, 0, -1, p}).effect, p == 3 ? r.clean.front() - r.corrupt.front() : 0, scale(r))
            << p;
}

TEST_P(EveryFamilySweep, EffectsThatCausalityForbidsAreExactlyZero) {
    if (skipped()) return;
    SweepPair pair = some_pair(*model_);
    pair.clean.end = pair.corrupt.end = 7;
    const std::int64_t last = model_->config().n_layers - 1;
    for (const Grid grid : {Grid::resid_pre, Grid::z_by_position, Grid::mlp_out, Grid::k_by_position}) {
        const SweepResult r = run_sweep(model_, {pair}, {.grid = grid});
        std::int64_t nonzero = 0;
        for (std::size_t i = 0; i < r.cells.size(); ++i) {
            const SweepCell& cell = r.cells[i];
            const bool mixes = grid == Grid::resid_pre || grid == Grid::k_by_position;
            const bool causal = model_->config().causal && (cell.position == 8 || cell.position < 3);
            if (causal || (cell.layer == last && !mixes && cell.position != 7 && !has_convolution(model_->config(), last))) {
                EXPECT_EQ(r.results[i].effect, 0);
                EXPECT_EQ(r.results[i].state, CellState::certain);
            } else {
                nonzero += r.results[i].effect != 0 ? 1 : 0;
            }
        }
        EXPECT_GT(nonzero, 0) << std::string(enum_word(grid));
    }
}

INSTANTIATE_TEST_SUITE_P(Models, EveryFamilySweep, testing::ValuesIn(testing_support::family_folders()),
                         [](const auto& each) { return test::case_name(each.param.filename()); });

TEST(Sweep, MetricsAreThoseOfTheLogits) {
    const auto model = fixture("gpt2");
    SweepPair pair = some_pair(*model);
    pair.answers = {3, 5};
    const auto metric_of = [&](Metric metric) { return run_sweep(model, {pair}, {.metric = metric}).clean.front(); };
    const double log_mean = metric_of(Metric::logprob);
    SweepPair first = pair, second = pair;
    first.answers = {3};
    second.answers = {5};
    const auto single = [&](const SweepPair& of, Metric metric) {
        return run_sweep(model, {of}, {.metric = metric}).clean.front();
    };
    EXPECT_NEAR(log_mean, (single(first, Metric::logprob) + single(second, Metric::logprob)) / 2, 1e-12);
    EXPECT_NEAR(metric_of(Metric::prob), std::exp(single(first, Metric::logprob)) + std::exp(single(second, Metric::logprob)),
                1e-12);
    EXPECT_EQ(metric_of(Metric::kl), 0);
    // The rest by hand, from the logits of two whole passes.
    const at::Tensor of_clean = trace::replay(*model, {pair.clean.ids, {}}),
                     of_corrupt = trace::replay(*model, {pair.corrupt.ids, {}});
    const auto logs = [](const at::Tensor& logits, std::int64_t row, std::int64_t id) {
        return (logits[row][id] - logits[row].exp().sum().log()).item<double>();
    };
    double kl = 0, loss = 0, loss_of_corrupt = 0, rank = 0;
    for (std::int64_t id = 0; id < of_clean.size(1); ++id)
        kl += std::exp(logs(of_clean, 8, id)) * (logs(of_clean, 8, id) - logs(of_corrupt, 8, id));
    for (std::int64_t i = 0; i < 8; ++i) {
        const std::int64_t next = pair.clean.ids[static_cast<std::size_t>(i) + 1];
        loss -= logs(of_clean, i, next) / 8;
        loss_of_corrupt -= logs(of_corrupt, i, next) / 8;
    }
    for (const std::int64_t answer : pair.answers)
        for (std::int64_t id = 0; id < of_clean.size(1); ++id)
            rank += ((of_clean[8][id] > of_clean[8][answer]).item<bool>() ? 0.5 : 0) + (id == answer ? 0.5 : 0);
    const auto run = [&](Metric metric) { return run_sweep(model, {pair}, {.metric = metric}); };
    EXPECT_NEAR(run(Metric::kl).corrupt.front(), kl, 1e-10);
    EXPECT_NEAR(run(Metric::loss).clean.front(), loss, 1e-10);
    EXPECT_NEAR(run(Metric::loss).corrupt.front(), loss_of_corrupt, 1e-10) << "of the clean text's tokens";
    EXPECT_EQ(run(Metric::rank).clean.front(), rank);
    EXPECT_NEAR(single(first, Metric::logprob), logs(of_clean, 8, 3), 1e-10);
    // log p of one token minus log p of another is their logit difference.
    EXPECT_NEAR(single(first, Metric::logprob) - single(second, Metric::logprob),
                run_sweep(model, {{pair.clean, pair.corrupt, {3}, {5}}}, {}).clean.front(), 1e-12);
}

TEST(Sweep, AblationsAreThoseOfWholePasses) {
    const auto model = fixture("llama-kv2");
    const model::ModelConfig& c = model->config();
    std::vector<SweepPair> pairs(2, some_pair(*model));
    for (const std::size_t i : {1, 4}) pairs[1].clean.ids[i] = (pairs[1].clean.ids[i] + 40) % c.vocab_size;
    std::vector<model::HookPoint> outputs;
    for (std::int64_t l = 0; l < c.n_layers; ++l) outputs.push_back({model::Hook::z, Layer(l)});
    std::vector<std::map<model::HookPoint, at::Tensor>> usual;
    for (const SweepPair& pair : pairs) usual.push_back(trace::tensors_of(*model, {pair.clean.ids, {}}, outputs));
    const auto head_of = [&](std::size_t pair, const SweepCell& cell) {
        return usual[pair].at({model::Hook::z, Layer(cell.layer)}).select(1, cell.head);
    };
    const auto with = [&](const SweepPair& pair, const SweepCell& cell, const at::Tensor& put) {
        const auto replace = [&](model::HookPoint, const at::Tensor& z) {
            at::Tensor changed = z.clone();
            changed.select(1, cell.head).copy_(put);
            return changed;
        };
        const at::Tensor last = trace::replay(*model, {pair.clean.ids, {}},
                                              {{name_of(model::HookPoint{model::Hook::z, Layer(cell.layer)}, c), replace}})[8];
        return (last[3] - last[11]).item<double>();
    };
    for (const Ablation ablation : {Ablation::zero, Ablation::mean, Ablation::resample}) {
        SCOPED_TRACE(std::string(enum_word(ablation)));
        const SweepResult r = run_sweep(model, pairs, {.ablation = ablation});
        for (std::size_t i = 0; i < r.cells.size(); ++i)
            for (const std::size_t n : {0, 1}) {
                const at::Tensor own = head_of(n, r.cells[i]), other = head_of(1 - n, r.cells[i]);
                const at::Tensor put = ablation == Ablation::zero   ? at::zeros_like(own)
                                       : ablation == Ablation::mean ? (own + other) / 2
                                                                    : other;
                EXPECT_NEAR(r.effects[n][i], with(pairs[n], r.cells[i], put) - r.clean[n], 1e-9);
            }
        EXPECT_GT(std::abs(r.effects[0][1]), 1e-6);
    }
    const SweepResult alone = run_sweep(model, {pairs[0]}, {.ablation = Ablation::mean});
    for (std::size_t i = 0; i < alone.cells.size(); ++i) {
        const at::Tensor own = head_of(0, alone.cells[i]);
        EXPECT_NEAR(alone.results[i].value, with(pairs[0], alone.cells[i], own.mean(0, true).expand_as(own)), 1e-9);
    }
}

TEST(Sweep, KnockingOutAMaskedOrEveryKeyIsDefined) {
    const auto model = fixture("gpt2");
    const SweepPair pair = some_pair(*model);
    const SweepResult r = run_sweep(model, {pair}, {.grid = Grid::pattern_by_edge, .ablation = Ablation::knockout});
    for (const double effect : effects_of(r)) EXPECT_TRUE(std::isfinite(effect));
    // The only key of row 0: the row is empty, and not NaN.
    EXPECT_NE(result_at(r, {Site::pattern, 0, 0, 0, 0}).effect, 0);
    EXPECT_THROW(run_sweep(model, {pair}, {.grid = Grid::z, .ablation = Ablation::knockout}), Error);
}

TEST(Sweep, EdgesBetweenNamedGroupsAreCutInAllHeadsOfAWindow) {
    // Against scores of -inf before the softmax, in passes of their own.
    const auto model = fixture("llama-kv2");
    SweepPair pair = some_pair(*model);
    pair.clean.places = {{"subject", {1, 2, 3}}, {"END", {8}}};
    const SweepResult r =
        run_sweep(model, {pair}, {.grid = Grid::edge, .ablation = Ablation::knockout, .window = 2, .by_name = true});
    ASSERT_EQ(r.position_names, (std::vector<std::string>{"subject", "END"}));
    EXPECT_EQ(std::ssize(r.cells), 4 * model->config().n_layers);
    const auto cut = [&](std::vector<std::int64_t> queries, std::vector<std::int64_t> keys, std::vector<std::int64_t> layers) {
        const auto without = [&](model::HookPoint point, const at::Tensor& scores) {
            at::Tensor changed = scores.clone();
            if (std::ranges::find(layers, point.layer.value) != layers.end())
                for (const std::int64_t i : queries)
                    for (const std::int64_t j : keys) changed.select(1, i).select(1, j).fill_(-INFINITY);
            return changed;
        };
        const at::Tensor last = trace::replay(*model, {pair.clean.ids, {}}, {{"blocks.*.attn.hook_attn_scores", without}})[8];
        return (last[3] - last[11]).item<double>();
    };
    // Of two layers, the window of layer 0 is layer 0, that of layer 1 both.
    EXPECT_NEAR(result_at(r, {Site::pattern, 1, -1, 1, 0}).value, cut({8}, {1, 2, 3}, {0, 1}), 1e-9);
    EXPECT_NEAR(result_at(r, {Site::pattern, 0, -1, 1, 0}).value, cut({8}, {1, 2, 3}, {0}), 1e-9);
    EXPECT_NEAR(result_at(r, {Site::pattern, 1, -1, 1, 1}).value, cut({8}, {8}, {0, 1}), 1e-9);
    EXPECT_EQ(result_at(r, {Site::pattern, 1, -1, 0, 1}).effect, 0) << "a masked edge";
    EXPECT_GT(std::abs(result_at(r, {Site::pattern, 1, -1, 1, 0}).effect), 1e-4);
}

TEST(Sweep, AWindowIsTheLayersAroundEach) {
    const auto model = model::Model::load(kTests / "golden/sweep/toy", {.dtype = model::ComputeType::float64});
    const SweepPair pair{.clean = text_of({1, 2, 3, 4}), .corrupt = text_of({1, 5, 3, 4}), .answers = {2}, .wrong = {5}};
    const SweepResult wide = run_sweep(model, {pair}, {.grid = Grid::resid_pre, .window = 9}),
                      one = run_sweep(model, {pair}, {.grid = Grid::resid_pre});
    // Every layer's window begins with layer 0 here; a stream patched later at the same position replaces an earlier patch.
    for (std::int64_t p = 0; p < 4; ++p)
        EXPECT_NEAR(result_at(wide, {Site::resid_pre, 0, -1, p}).value, result_at(wide, {Site::resid_pre, 2, -1, p}).value,
                    1e-12);
    EXPECT_GT(std::abs(result_at(wide, {Site::resid_pre, 1, -1, 1}).effect - result_at(one, {Site::resid_pre, 1, -1, 1}).effect),
              1e-6);
}

TEST(Sweep, IntervalsOfPairs) {
    const auto model = fixture("gpt2");
    const std::int64_t vocab = model->config().vocab_size;
    std::vector<SweepPair> pairs;
    for (std::int64_t n = 0; n < 6; ++n) {
        SweepPair& pair = pairs.emplace_back(some_pair(*model));
        for (SweepText* text : {&pair.clean, &pair.corrupt}) text->ids[1] = (5 + 31 * n) % vocab;
    }
    const SweepOptions options{.grid = Grid::z, .bootstrap = {.draws = 400, .seed = 3}};
    const SweepResult r = run_sweep(model, pairs, options), again = run_sweep(model, pairs, options);
    double gap = 0, effect = 0;
    for (std::size_t n = 0; n < 6; ++n) {
        gap += r.clean[n] - r.corrupt[n];
        effect += r.effects[n][1];
    }
    EXPECT_NEAR(r.results[1].normalized, effect / gap, 1e-12) << "a ratio of means";
    double square = 0;
    std::int64_t agreeing = 0;
    for (const auto& effects : r.effects) {
        square += (effects[1] - effect / 6) * (effects[1] - effect / 6);
        agreeing += effects[1] * effect > 0 ? 1 : 0;
    }
    EXPECT_NEAR(r.results[1].stderr_, std::sqrt(square / 5 / 6), 1e-12);
    EXPECT_EQ(r.results[1].agreeing, agreeing);
    // In 95 % of the resamples no cell leaves the band.
    corpus::Bootstrap::Columns sums(6, std::ssize(r.cells)), ones = corpus::Bootstrap::Columns::Ones(6, std::ssize(r.cells));
    for (Eigen::Index n = 0; n < 6; ++n)
        for (Eigen::Index i = 0; i < sums.cols(); ++i)
            sums(n, i) = r.effects[static_cast<std::size_t>(n)][static_cast<std::size_t>(i)];
    const auto drawn = corpus::Bootstrap(6, options.bootstrap).drawn_means(sums, ones);
    int within = 0;
    for (Eigen::Index d = 0; d < drawn.rows(); ++d) {
        bool all = true;
        for (Eigen::Index i = 0; i < drawn.cols(); ++i) {
            const SweepCellResult& cell = r.results[static_cast<std::size_t>(i)];
            all = all && drawn(d, i) >= cell.band_low - 1e-12 && drawn(d, i) <= cell.band_high + 1e-12;
        }
        within += all;
    }
    EXPECT_GE(within, 380);
    EXPECT_LE(within, 390) << "equal draws at the end of the band";
    for (std::size_t i = 0; i < r.cells.size(); ++i) {
        const SweepCellResult& cell = r.results[i];
        EXPECT_EQ(cell.low, again.results[i].low);
        EXPECT_LE(cell.low, cell.effect);
        EXPECT_GE(cell.high, cell.effect);
        EXPECT_LE(cell.band_low, cell.low + 1e-12) << "the band holds for all cells";
        EXPECT_GE(cell.band_high, cell.high - 1e-12);
        EXPECT_EQ(cell.pairs, 6);
        EXPECT_GE(cell.agreeing, 1);
    }
    // The same pair again and again: no spread, and as one group no interval at all.
    std::vector<SweepPair> same(5, pairs.front());
    const SweepResult constant = run_sweep(model, same, options);
    EXPECT_NEAR(constant.results[1].high - constant.results[1].low, 0, 1e-12);
    EXPECT_EQ(constant.results[1].agreeing, 5);
    for (SweepPair& pair : same) pair.group = "one";
    EXPECT_TRUE(std::isnan(run_sweep(model, same, options).results[1].low));
}

TEST(Sweep, UnequalLengthsLeaveOutWhatIsNotAligned) {
    const auto model = fixture("llama-kv2");
    SweepPair pair = some_pair(*model);
    pair.corrupt.ids.insert(pair.corrupt.ids.begin() + 5, 200);  // one token more
    pair.corrupt.end = 9;
    const SweepResult r = run_sweep(model, {pair}, {.grid = Grid::resid_pre, .layers = {0}});
    ASSERT_EQ(std::ssize(r.cells), 10);
    EXPECT_EQ(r.results[5].state, CellState::missing);
    EXPECT_TRUE(std::isnan(r.results[5].effect));
    EXPECT_EQ(r.results[0].state, CellState::certain);
    EXPECT_EQ(r.results[7].state, CellState::computed);
    EXPECT_NE(r.results[7].effect, 0);
    const SweepResult rows = run_sweep(model, {pair}, {.grid = Grid::pattern_by_destination});
    for (std::size_t i = 0; i < rows.cells.size(); ++i)
        EXPECT_EQ(std::isnan(rows.results[i].effect), rows.cells[i].position == 5) << i;
}

/// Texts that end in different tokens, of different numbers: END is where both answers are read.
TEST(Sweep, EndIsAlignedWithEnd) {
    const auto model = fixture("llama-kv2");
    SweepPair pair = some_pair(*model);
    pair.corrupt.ids = pair.clean.ids;
    pair.corrupt.ids.back() = 200;
    pair.corrupt.ids.push_back(201);
    pair.corrupt.end = 9;
    for (const Direction direction : {Direction::denoise, Direction::noise}) {
        const SweepResult r = run_sweep(model, {pair}, {.grid = Grid::mlp_out, .direction = direction, .layers = {1}});
        const std::int64_t end = direction == Direction::denoise ? 9 : 8;
        EXPECT_EQ(result_at(r, {Site::mlp_out, 1, -1, end}).state, CellState::computed);
        EXPECT_EQ(result_at(r, {Site::mlp_out, 1, -1, 3}).state, CellState::certain) << "the same until there";
        const SweepResult heads = run_sweep(model, {pair}, {.grid = Grid::z, .direction = direction});
        for (const SweepCellResult& cell : heads.results) {
            EXPECT_EQ(cell.state, CellState::computed);
            EXPECT_NE(cell.effect, 0);
        }
        const auto note = testing::Contains(testing::HasSubstr("1 of 10 tokens of the corrupt text without a partner"));
        EXPECT_EQ(testing::Value(heads.notes, note), direction == Direction::denoise);
    }
    const SweepResult stream = run_sweep(model, {pair}, {.grid = Grid::resid_pre});
    EXPECT_EQ(result_at(stream, {Site::resid_pre, 0, -1, 8}).state, CellState::missing);
}

/// What stands behind the answer of one text alone moves nothing; another position of the answer moves its partner.
TEST(Sweep, TheNoteOnLearnedPositionsIsForPartnersAtOtherPositions) {
    const auto model = fixture("gpt2");
    const auto note = testing::Contains(testing::HasSubstr("learned positions along"));
    SweepPair longer = some_pair(*model);
    longer.clean.ids.push_back(200);
    EXPECT_THAT(run_sweep(model, {longer}, {.grid = Grid::resid_pre, .layers = {0}}).notes, testing::Not(note));
    SweepPair moved = some_pair(*model);
    moved.corrupt.end = 7;
    const SweepResult r = run_sweep(model, {moved}, {.grid = Grid::resid_pre, .layers = {0}});
    EXPECT_THAT(r.notes, note);
    EXPECT_THAT(r.notes, testing::Not(testing::Contains(testing::HasSubstr("unequal"))));
}

/// A place one of whose positions has no partner is not known to change nothing.
TEST(Sweep, APlaceWithAPositionWithoutAPartnerIsMissing) {
    const auto model = fixture("llama-kv2");
    SweepPair pair = some_pair(*model);
    pair.corrupt.ids.insert(pair.corrupt.ids.begin() + 5, 200);
    pair.corrupt.end = 9;
    for (SweepText* text : {&pair.clean, &pair.corrupt}) text->places = {{"who", {1, 5}}, {"before", {1, 2}}};
    const SweepResult r = run_sweep(model, {pair}, {.grid = Grid::resid_pre, .layers = {0}, .by_name = true});
    ASSERT_EQ(r.position_names.size(), 2u);
    for (std::size_t i = 0; i < 2; ++i)
        EXPECT_EQ(r.results[i].state, r.position_names[i] == "who" ? CellState::missing : CellState::certain);
    EXPECT_THAT(r.notes, testing::Contains(testing::HasSubstr("depends on them: 1; missing")));
}

TEST(Sweep, TwoEqualTextsAndTwoEqualAnswersAreNamed) {
    const auto model = fixture("gpt2");
    SweepPair pair = some_pair(*model);
    pair.corrupt = pair.clean;
    const SweepResult r = run_sweep(model, {pair}, {.grid = Grid::z});
    EXPECT_THAT(r.notes, testing::Contains("The clean and the corrupt text are the same"));
    pair.wrong = {7, 3};
    EXPECT_THAT(test::error_of([&] {
                    run_sweep(model, {some_pair(*model), pair}, {});
                }),
                testing::AllOf(testing::HasSubstr("same token"), testing::HasSubstr("pair 2"), testing::HasSubstr("3")));
    EXPECT_NO_THROW(run_sweep(model, {pair}, {.grid = Grid::z, .metric = Metric::prob}));
}

/// A token stands for a position only where all pairs have it.
TEST(Sweep, LabelsOfManyPairsAreThoseThatAllShare) {
    const auto model = fixture("gpt2");
    std::vector<SweepPair> pairs(2, some_pair(*model));
    pairs[1].clean.ids[2] = pairs[1].corrupt.ids[2] = 7;
    pairs[1].clean.ids[4] = pairs[1].corrupt.ids[4] = 7;
    for (SweepPair& pair : pairs)
        for (SweepText* text : {&pair.clean, &pair.corrupt}) {
            for (const std::int64_t id : text->ids) text->labels.emplace_back().text = "t" + std::to_string(id);
            text->places = {{"noun", {4}}, {"both", {2, 3}}};
        }
    const auto names = [&](const std::vector<SweepPair>& of) {
        std::vector<std::string> out;
        for (const text::TokenLabel& label : run_sweep(model, of, {.grid = Grid::resid_pre, .layers = {0}}).labels)
            out.push_back(label.text);
        return out;
    };
    const std::vector<std::string> one = names({pairs[0]}), two = names(pairs);
    for (std::size_t p = 0; p < 9; ++p) {
        EXPECT_EQ(one[p], "t" + std::to_string(pairs[0].corrupt.ids[p]));
        EXPECT_EQ(two[p], p == 2 ? "" : p == 4 ? "noun" : one[p]) << p;
    }
    const analyze::Table table = table_of(run_sweep(model, pairs, {.grid = Grid::resid_pre, .layers = {0}}));
    const auto column = std::ranges::find(table.columns, "token") - table.columns.begin();
    EXPECT_EQ(std::get<std::string>(table.rows.at(4).at(static_cast<std::size_t>(column))), "noun");
    EXPECT_EQ(std::get<std::string>(table.rows.at(2).at(static_cast<std::size_t>(column))), "");
}

/// A pattern has no mean over positions: the other sites of the grid are swept all the same.
TEST(Sweep, MeansOfEverySiteLeaveOutPatterns) {
    const auto model = fixture("gpt2");
    const SweepPair pair = some_pair(*model);
    for (const Method method : {Method::exact, Method::both}) {
        const SweepResult every =
            run_sweep(model, {pair}, {.grid = Grid::head_every, .ablation = Ablation::mean, .method = method});
        EXPECT_THAT(every.notes, testing::Contains(testing::HasSubstr("Patterns are left out")));
        for (const Grid grid : {Grid::z, Grid::k}) {
            const SweepResult alone = run_sweep(model, {pair}, {.grid = grid, .ablation = Ablation::mean, .method = method});
            for (const SweepCell& cell : alone.cells)
                EXPECT_NEAR(result_at(every, cell).effect, result_at(alone, cell).effect, 1e-9);
        }
        EXPECT_TRUE(std::ranges::none_of(every.cells, [](const SweepCell& cell) { return cell.site == Site::pattern; }));
    }
    EXPECT_THROW(run_sweep(model, {pair}, {.grid = Grid::pattern, .ablation = Ablation::mean}), Error);
}

TEST(Sweep, KeysAndValuesOfGroupsAreColumnsOfTheirOwn) {
    const auto model = fixture("llama-kv2");
    const SweepResult r = run_sweep(model, {some_pair(*model)}, {.grid = Grid::k});
    EXPECT_EQ(std::ssize(r.cells), 2 * model->config().n_layers);
    EXPECT_THROW(run_sweep(model, {some_pair(*model)}, {.grid = Grid::k, .heads = {2}}), Error) << "there are two";
    // Beside queries a head is a query head, and keys and values are of its group.
    const SweepResult every =
        run_sweep(model, {some_pair(*model)}, {.grid = Grid::head_every, .layers = {0}, .heads = {model->config().n_heads - 1}});
    ASSERT_EQ(every.cells.size(), 5u);
    for (const SweepCell& cell : every.cells)
        EXPECT_EQ(cell.head, cell.site == Site::k || cell.site == Site::v ? 1 : model->config().n_heads - 1);
}

TEST(Sweep, ErrorsNameWhatIsWrong) {
    const auto model = fixture("gpt2");
    SweepPair pair = some_pair(*model);
    const auto message = [&](const std::vector<SweepPair>& pairs, const SweepOptions& options) {
        return test::error_of([&] { run_sweep(model, pairs, options); });
    };
    EXPECT_THAT(message({}, {}), testing::HasSubstr("no pair"));
    EXPECT_THAT(message({pair}, {.grid = Grid::neuron}), testing::HasSubstr("layers"));
    EXPECT_THAT(message({pair}, {.layers = {7}}), testing::AllOf(testing::HasSubstr("0 to 1"), testing::HasSubstr("7")));
    EXPECT_THAT(message({pair}, {.ablation = Ablation::resample}), testing::HasSubstr("two pairs"));
    SweepPair without = pair;
    without.wrong.clear();
    EXPECT_THAT(message({without}, {}), testing::HasSubstr("wrong answer"));
    without.answers = {1'000'000};
    EXPECT_THAT(message({without}, {.metric = Metric::logprob}), testing::HasSubstr("1000000"));
    SweepPair behind = pair;
    behind.clean.end = 12;
    EXPECT_THAT(message({behind}, {}), testing::AllOf(testing::HasSubstr("0 to 8"), testing::HasSubstr("12")));
    SweepPair longer = pair;
    for (SweepText* text : {&longer.clean, &longer.corrupt}) text->ids.push_back(4);
    EXPECT_THAT(message({pair, longer}, {.grid = Grid::resid_pre}), testing::HasSubstr("unequal length"));
    EXPECT_THAT(test::error_of([&] { run_sweep(fixture("gpt-neox"), {pair}, {.grid = Grid::resid_mid}); }),
                testing::HasSubstr("No block of this model reads"));
    const auto masked = fixture("bert-mlm");
    EXPECT_THROW(run_sweep(masked, {some_pair(*masked)}, {.metric = Metric::loss}), Error);
    CancelToken cancel;
    cancel.cancel();
    EXPECT_THROW(run_sweep(model, {pair}, {}, cancel), Cancelled);
}

TEST(Sweep, ForecastCountsWhatWillBeComputed) {
    const auto model = fixture("gpt2");
    const SweepPair pair = some_pair(*model);
    const SweepOptions options{.grid = Grid::z_by_position};
    const SweepForecast forecast = forecast_sweep(model, {pair}, options);
    const SweepResult r = run_sweep(model, {pair}, options);
    EXPECT_EQ(forecast.cells, std::ssize(r.cells));
    EXPECT_EQ(forecast.computed, r.computed);
    EXPECT_GT(forecast.bytes, 0);
    EXPECT_THAT(forecast.text(), testing::HasSubstr(" computed), "));
}

}  // namespace sweep_test
}  // namespace headlight::intervention
