// SPDX-License-Identifier: GPL-3.0-or-later
// Fixtures made linear behind an edit, where attribution is exact and a mean effect the effect of the mean.
#include "headlight/io/json_file.h"
#include "headlight/io/safetensors.h"
#include "tests/intervention/sweep/whole_passes.h"
#include "tests/support/temp_folder.h"

#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <span>

namespace headlight::intervention {
namespace linear_model_test {

using testing_support::kTests;
using testing_support::some_pair;
using ModelOf = std::shared_ptr<const model::Model>;

struct Shape {
    const char *name, *epsilon, *norm;  ///< `norm` is in the name of every weight of a norm
    /// Parts of names that are set to 0: an MLP's output, and queries, the first of `queries_of` columns of c_attn.
    const char *mlp, *query;
    std::int64_t queries_of;
};
constexpr Shape shapes[] = {{"gpt2", "layer_norm_epsilon", "ln_", "mlp.c_proj", "c_attn", 3},
                            {"llama-kv2", "rms_norm_eps", "norm", "down_proj", "q_proj", 1}};

/// The fixture without MLPs, with norms whose scale is 1e6 whatever they read, and, in layers from `constant` on, with scores of
/// 0, so that their patterns are constant too.
ModelOf linear(const Shape& shape, std::int64_t constant) {
    const std::filesystem::path from = kTests / "fixtures/models" / shape.name;
    const test::TempFolder folder;
    nlohmann::json config = io::read_json(from / "config.json");
    config[shape.epsilon] = 1e12;
    folder.write("config.json", config.dump());
    const io::TensorStore store = io::TensorStore::open_folder(from);
    std::deque<std::vector<float>> data;
    std::vector<io::ArrayRef> arrays;
    for (const auto& [name, view] : store.tensors()) {
        std::vector<float>& values = data.emplace_back(static_cast<std::size_t>(view.numel()));
        std::memcpy(values.data(), view.bytes.data(), view.bytes.size());
        const auto has = [&name = name](const std::string& part) { return name.find(part) != std::string::npos; };
        if (has(shape.norm) && has("weight"))
            for (float& v : values) v *= 1e6F;
        if (has(shape.mlp)) std::ranges::fill(values, 0.0F);
        for (std::int64_t layer = constant; layer < 2; ++layer) {
            if (!has("." + std::to_string(layer) + ".") || !has(shape.query)) continue;
            const std::int64_t columns = shape.queries_of > 1 ? view.shape.back() : 1;
            for (std::int64_t i = 0; i < view.numel(); ++i)
                if (i % columns * shape.queries_of < columns) values[static_cast<std::size_t>(i)] = 0;
        }
        arrays.push_back({name, io::DType::F32, view.shape, std::as_bytes(std::span(values))});
    }
    io::write_safetensors(folder / "model.safetensors", arrays, {});
    return model::Model::load(folder.path(), {.dtype = model::ComputeType::float64});
}

class LinearTail : public testing::TestWithParam<Shape> {};

/// The largest effect of a sweep, and the largest error of its estimates.
std::pair<double, double> effect_and_error(const SweepResult& r) {
    double effect = 0, error = 0;
    for (const SweepCellResult& cell : r.results) {
        effect = std::max(effect, std::abs(cell.effect));
        error = std::max(error, std::abs(cell.estimate - cell.effect));
    }
    return {effect, error};
}

TEST_P(LinearTail, AttributionIsThePatchedEffect) {
    const ModelOf whole = linear(GetParam(), 0), after = linear(GetParam(), 1),
                  fixture = testing_support::fixture(std::string("models/") + GetParam().name);
    const SweepPair pair = some_pair(*whole);
    const auto errors = [&](const ModelOf& model, const SweepOptions& o) {
        return effect_and_error(run_sweep(model, {pair}, o));
    };
    for (const Direction direction : {Direction::denoise, Direction::noise})
        for (const Grid grid : {Grid::resid_pre, Grid::attn_out, Grid::z, Grid::z_by_position, Grid::v, Grid::v_by_position}) {
            const SweepOptions o{.grid = grid, .direction = direction, .method = Method::both};
            const auto [effect, error] = errors(whole, o);
            EXPECT_GT(effect, 1e-3) << enum_word(grid);
            EXPECT_LT(error, 1e-8 * effect) << enum_word(grid);
            const auto [other_effect, other_error] = errors(fixture, o);
            EXPECT_GT(other_error, 1e-5 * other_effect) << enum_word(grid) << ", where the tail is not linear";
        }
    // In layer 0 the softmax is what queries and keys go through, and nothing behind it bends: the corrections of AtP* are exact.
    for (const Grid grid : {Grid::q, Grid::k, Grid::q_by_position, Grid::k_by_position, Grid::pattern, Grid::pattern_by_edge}) {
        const auto [effect, error] = errors(after, {.grid = grid, .method = Method::both, .layers = {0}});
        EXPECT_GT(effect, 1e-4) << enum_word(grid);
        EXPECT_LT(error, 1e-8 * effect) << enum_word(grid);
    }
    const auto [effect, error] =
        errors(after, {.grid = Grid::pattern_by_edge, .ablation = Ablation::knockout, .method = Method::both, .layers = {0}});
    EXPECT_GT(effect, 1e-4);
    EXPECT_LT(error, 1e-8 * effect) << "a row renormalised in closed form";
}

/// Where the effect is linear in the tensor, the mean over all donors is the effect of their mean.
TEST_P(LinearTail, ResamplingFromAllDonorsIsTheirMean) {
    const ModelOf whole = linear(GetParam(), 0);
    const SweepPair pair = some_pair(*whole);
    const auto donors = std::make_shared<std::vector<SweepText>>();
    for (const std::int64_t shift : {40, 90, 150}) donors->push_back(some_pair(*whole, shift).clean);
    const auto sweep = [&](const ModelOf& model, Grid grid, Ablation ablation) {
        return run_sweep(model, {pair},
                         {.grid = grid, .ablation = ablation, .over = donors, .per_position = ablation == Ablation::mean});
    };
    for (const Grid grid : {Grid::resid_pre, Grid::z, Grid::v_by_position}) {
        const SweepResult drawn = sweep(whole, grid, Ablation::resample), mean = sweep(whole, grid, Ablation::mean);
        double effect = 0;
        for (std::size_t i = 0; i < drawn.results.size(); ++i) {
            EXPECT_NEAR(drawn.results[i].effect, mean.results[i].effect, 1e-9) << enum_word(grid) << " " << i;
            effect = std::max(effect, std::abs(mean.results[i].effect));
        }
        EXPECT_GT(effect, 1e-3) << enum_word(grid);
    }
    const ModelOf fixture = testing_support::fixture(std::string("models/") + GetParam().name);
    EXPECT_GT(std::abs(sweep(fixture, Grid::z, Ablation::resample).results[0].effect -
                       sweep(fixture, Grid::z, Ablation::mean).results[0].effect),
              1e-9)
        << "where the tail is not linear";
}

INSTANTIATE_TEST_SUITE_P(Shapes, LinearTail, testing::ValuesIn(shapes),
                         [](const auto& each) { return std::string(each.param.name) == "gpt2" ? "gpt2" : "llama"; });

}  // namespace linear_model_test
}  // namespace headlight::intervention
