// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/sparsity/sparsity.h"

#include "headlight/base/error.h"
#include "headlight/io/json_file.h"
#include "tests/analyze/traces.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace headlight::analyze {
namespace sparsity_test {

SparsityOptions options_of(const nlohmann::json& from) {
    SparsityOptions o{.scheme = *enum_value<SparseScheme>(from.at("scheme").get<std::string>())};
    for (auto [name, field] : {std::pair{"block", &o.block},
                               {"stride", &o.stride},
                               {"select", &o.select},
                               {"top", &o.top},
                               {"window", &o.window},
                               {"sinks", &o.sinks},
                               {"budget", &o.budget}})
        if (from.contains(name)) *field = from[name];
    return o;
}

class SparsityGolden : public testing::TestWithParam<std::filesystem::path> {};

/// tests/golden/make_sparsity_golden.py: masks over the whole maps of transformers, in float64.
TEST_P(SparsityGolden, EveryHeadKeepsWhatTheMasksOfTheReferenceKeep) {
    const auto golden = io::read_json(source_folder() / "tests/golden/sparsity" / (GetParam().filename().string() + ".json"));
    const TracePtr trace = run_model(GetParam(), golden["text"].get<std::string>());
    ASSERT_EQ(trace->encoding().ids, golden["ids"].get<std::vector<std::int64_t>>());
    for (const auto& one : golden["cases"]) {
        const Table table = table_of(*sparsity(*trace, options_of(one["options"])));
        SCOPED_TRACE(one["options"].dump());
        std::size_t row = 0;
        for (const auto& layer : one["heads"])
            for (const auto& head : layer) {
                const auto& cells = table.rows.at(row++);
                for (std::size_t i = 0; i < head.size(); ++i) {
                    const Table::Cell& cell = cells.at(i + 3);
                    EXPECT_NEAR(std::holds_alternative<double>(cell) ? std::get<double>(cell) : 0, head[i].get<double>(), 2e-5)
                        << table.columns[i + 3] << " of row " << row - 1;
                }
            }
        EXPECT_EQ(row, table.rows.size());
    }
}

INSTANTIATE_TEST_SUITE_P(Models, SparsityGolden, testing::ValuesIn(folders_with_golden("sparsity")), model_name);

TEST(Sparsity, AFullBudgetKeepsAllAndTheCurvesEndThere) {
    const TracePtr trace = built_in(doctor);
    for (const auto& row : sparse_schemes) {
        const auto full = sparsity(
            *trace, {.scheme = row.value, .block = 2, .stride = 1, .select = 2, .top = 1000, .window = 1000, .budget = 1000});
        const auto part = sparsity(
            *trace, {.scheme = row.value, .block = 2, .stride = 1, .select = 2, .top = 4, .window = 2, .sinks = 1, .budget = 16});
        for (std::size_t h = 0; h < full->heads.size(); ++h) {
            EXPECT_NEAR(full->heads[h].mean.kept, 1, 1e-12) << row.word;
            const HeadSparsity& head = part->heads[h];
            EXPECT_NEAR(head.by_budget.back(), 1, 1e-12) << row.word;
            for (std::size_t b = 1; b < head.by_budget.size(); ++b) EXPECT_GE(head.by_budget[b], head.by_budget[b - 1] - 1e-12);
        }
    }
    // The budget that the option has is a point of the curve.
    const auto nsa = sparsity(*trace, {.select = 2, .top = 4, .window = 2});
    const auto top = sparsity(*trace, {.scheme = SparseScheme::topk, .budget = 16});
    for (std::size_t h = 0; h < nsa->heads.size(); ++h) {
        EXPECT_NEAR(nsa->heads[h].by_budget[0], nsa->heads[h].mean.kept, 1e-12);
        EXPECT_NEAR(top->heads[h].by_budget[0], top->heads[h].mean.kept, 1e-12);
    }
}

TEST(Sparsity, AMapOfCellsHoldsTheSameKeysAsTheRows) {
    const TracePtr trace = built_in(doctor);
    const SparsityOptions o{.block = 4, .stride = 2, .select = 2, .top = 3, .window = 3};
    const auto heads = sparsity(*trace, o, true);
    const std::int64_t n = trace->tokens();
    const HeadId id = head_id(4, 5);
    const Matrix weights = pattern(*trace, id, {});
    const SparseMap fine = sparse_map(*trace, id, o, 1000);
    ASSERT_EQ(fine.cells, n);
    for (std::int64_t i = 1; i < n; ++i) {
        double kept = 0;
        for (std::int64_t j = 0; j <= i; ++j) {
            EXPECT_EQ(fine.weight(i, j), weights(i, j));
            if (fine.selected(i, j) + fine.window(i, j) > 0) kept += static_cast<double>(weights(i, j));
        }
        EXPECT_TRUE(i == n - 1 || std::isnan(fine.weight(i, i + 1)));
        EXPECT_NEAR(kept, static_cast<double>(heads->of(id).rows[static_cast<std::size_t>(i)]), 1e-6);
        EXPECT_NEAR(kept, fine.rows[static_cast<std::size_t>(i)].kept, 1e-6);
    }
    // Coarse cells hold the largest weight and the share of their pairs.
    const SparseMap coarse = sparse_map(*trace, id, o, 5);
    float largest = 0, read = 0, legal = 0;
    for (std::int64_t i = coarse.first(3); i < coarse.first(4); ++i)
        for (std::int64_t j = coarse.first(3); j < std::min(coarse.first(4), i + 1); ++j) {
            largest = std::max(largest, weights(i, j));
            read += fine.window(i, j);
            ++legal;
        }
    EXPECT_EQ(coarse.weight(3, 3), largest);
    EXPECT_FLOAT_EQ(coarse.window(3, 3), read / legal);
}

/// Every pair by the definition of Beltagy et al. 2020, of a model that looks both ways and of a causal one.
TEST(Sparsity, LongformerReadsAWindowToBothSidesWithGapsAndGlobalTokens) {
    const SparsityOptions o{.scheme = SparseScheme::longformer, .dilation = 2, .global_tokens = {5, 0}, .layer_windows = {4, 7}};
    for (const char* name : {"bert", "llama-mha"}) {
        SCOPED_TRACE(name);
        const TracePtr trace = run_model(source_folder() / "tests/fixtures/models" / name, "the cat, the hat: the cat");
        const std::int64_t n = trace->tokens();
        const bool causal = trace->config().causal;
        const auto found = sparsity(*trace, o, true);
        for (std::int64_t l = 0; l < 2; ++l) {
            const HeadId id = head_id(l, 1);
            const Matrix weights = pattern(*trace, id, {});
            const SparseMap map = sparse_map(*trace, id, o, 1000);
            double pairs = 0, legal = 0;
            for (std::int64_t i = 0; i < n; ++i) {
                double kept = 0, global = 0;
                for (std::int64_t j = 0; j < (causal ? i + 1 : n); ++j) {
                    const std::int64_t distance = std::abs(i - j), half = l == 0 ? 2 : 3;
                    const bool everywhere = i == 0 || i == 5, near = !everywhere && distance % 2 == 0 && distance / 2 <= half;
                    const bool read = everywhere || near || j == 0 || j == 5;
                    const auto weight = static_cast<double>(weights(i, j));
                    kept += read ? weight : 0, global += read && !near ? weight : 0;
                    pairs += read, ++legal;
                    EXPECT_EQ(map.window(i, j), near ? 1 : 0) << i << ", " << j;
                    EXPECT_EQ(map.selected(i, j), read && !near ? 1 : 0) << i << ", " << j;
                }
                EXPECT_NEAR(static_cast<double>(found->of(id).rows[static_cast<std::size_t>(i)]), kept, 1e-6);
                EXPECT_NEAR(map.rows[static_cast<std::size_t>(i)].selected, global, 1e-6);
            }
            EXPECT_NEAR(found->of(id).pairs_share, pairs / legal, 1e-12);
        }
    }
}

/// A Longformer's own windows are the scheme's: it keeps all, and what the layers keep of another model follows one option.
TEST(Sparsity, ALongformerHasAWindowOfItsOwnInEachLayer) {
    const TracePtr trace = run_model(source_folder() / "tests/fixtures/models/longformer", "the cat, the hat: the cat");
    const SparsityOptions o{.scheme = SparseScheme::longformer, .window = 2};
    EXPECT_EQ(options_in(o, trace->config(), Layer(0)).window, 4);
    EXPECT_EQ(options_in(o, trace->config(), Layer(1)).window, 8);
    const auto found = sparsity(*trace, o);
    for (const HeadSparsity& head : found->heads) {
        EXPECT_NEAR(head.mean.kept, 1, 1e-6);
        EXPECT_NEAR(head.mean.window, 1, 1e-6);
        EXPECT_EQ(head.pairs_share, 1);
    }
    EXPECT_EQ(options_in(o, run_model(source_folder() / "tests/fixtures/models/bert", "the cat")->config(), Layer(0)).window, 2);
}

TEST(Sparsity, ErrorsNameTheOption) {
    const TracePtr trace = built_in("The cats asked.");
    EXPECT_THROW(sparsity(*trace, {.block = 4, .stride = 8}), Error);
    EXPECT_THROW(sparsity(*trace, {.top = 2}), Error);
    EXPECT_THROW(sparsity(*trace, {.window = 0}), Error);
    EXPECT_THROW(sparsity(*run_model(source_folder() / "tests/fixtures/models/bert", "The cats asked.")), Error);
    constexpr auto far = SparseScheme::longformer;
    EXPECT_THROW(sparsity(*trace, {.scheme = far, .dilation = 0}), Error);
    EXPECT_THROW(sparsity(*trace, {.scheme = far, .global_tokens = {trace->tokens()}}), Error);
    EXPECT_THROW(sparsity(*trace, {.scheme = far, .layer_windows = {4}}), Error);
    CancelToken cancel;
    cancel.cancel();
    EXPECT_THROW(sparsity(*trace, {.window = 7}, false, cancel), Cancelled);
}

}  // namespace sparsity_test
}  // namespace headlight::analyze
