// SPDX-License-Identifier: GPL-3.0-or-later
// Sweeps that stop and go on, and cells as lines of a recipe.
#include "headlight/intervention/sweep/cell_edit.h"
#include "tests/intervention/recipe/edited.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace headlight::intervention {
namespace sweep_run_test {

using testing_support::Fixture;
using testing_support::kOther;
using testing_support::kText;

SweepPair pair_in(const Fixture& f, SweepRequest asked) {
    asked.clean = kText;
    asked.corrupt = kOther;
    SweepPair pair = pairs_of(asked, f.config(), *f.tokenizer).front();
    propose_answers(f.model, *f.tokenizer, pair, asked.options.metric);
    return pair;
}

TEST(SweepRun, StopsAndGoesOnWithTheSameNumbers) {
    const Fixture f("models/gpt2");
    SweepRequest asked;
    asked.options = {.grid = Grid::z_by_position, .memory = 1};  // a pass for each cell
    std::vector<SweepPair> pairs(2, pair_in(f, asked));
    std::swap(pairs[1].answers, pairs[1].wrong);
    const SweepResult whole = run_sweep(f.model, pairs, asked.options);
    SweepRun run(f.model, pairs, asked.options);
    const auto cells = std::ssize(whole.cells);
    /// Stops when this pair has begun and so many more cells are there.
    const auto stop_behind = [&](std::int64_t pair, std::int64_t more) {
        const CancelToken cancel;
        std::int64_t begun = -1;
        EXPECT_THROW(run.run(cancel,
                             [&](const ProgressStep& step) {
                                 EXPECT_EQ(step.total, 2 * cells);
                                 if (begun < 0 && step.done >= pair * cells) begun = step.done;
                                 if (begun >= 0 && step.done >= begun + more) cancel.cancel();
                             }),
                     Cancelled);
        return run.result();
    };
    const SweepResult first = stop_behind(0, 3);
    EXPECT_FALSE(first.complete);
    EXPECT_EQ(first.effects.size(), 1u) << "the second pair has not begun";
    std::int64_t there = 0;
    for (std::size_t i = 0; i < first.cells.size(); ++i) {
        if (first.results[i].state != CellState::computed) continue;
        EXPECT_EQ(first.results[i].effect, whole.effects[0][i]);
        ++there;
    }
    EXPECT_EQ(there, first.computed);
    EXPECT_GT(there, 0);
    EXPECT_LT(there, cells);
    const SweepResult second = stop_behind(1, 3);
    EXPECT_EQ(second.effects.size(), 2u);
    EXPECT_GT(second.computed, first.computed);
    for (const SweepCellResult& cell : second.results) EXPECT_TRUE(std::isnan(cell.low)) << "no interval of a part of the pairs";
    run.run();
    const SweepResult last = run.result();
    EXPECT_TRUE(last.complete);
    EXPECT_EQ(last.computed, whole.computed);
    for (std::size_t n = 0; n < 2; ++n) EXPECT_THAT(last.effects[n], testing::ElementsAreArray(whole.effects[n]));
    for (std::size_t i = 0; i < whole.cells.size(); ++i) {
        EXPECT_EQ(last.results[i].low, whole.results[i].low);
        EXPECT_EQ(last.results[i].state, whole.results[i].state);
    }
}

TEST(SweepRun, ACellIsTheRunUnderItsLineOfARecipe) {
    for (const char* name : {"models/gpt2", "models/llama-kv2"}) {
        Fixture f(name);
        const auto check = [&](SweepOptions options) {
            SweepRequest asked;
            asked.clean = kText;
            asked.options = options;
            if (options.ablation == Ablation::none) asked.corrupt = kOther;
            std::vector<SweepPair> pairs = pairs_of(asked, f.config(), *f.tokenizer);
            propose_answers(f.model, *f.tokenizer, pairs.front(), options.metric);
            const SweepResult r = run_sweep(f.model, pairs, options);
            f.prompt = f.text(text_that_runs(asked));
            int lines = 0;
            for (std::size_t i = 0; i < r.cells.size(); i += 1 + r.cells.size() / 7) {
                const CellEdit edit = edit_of(asked, pairs.front(), r, r.cells[i]);
                if (edit.words.empty()) {
                    EXPECT_FALSE(edit.why_not.empty());
                    continue;
                }
                SCOPED_TRACE(edit.words);
                const at::Tensor logits = testing_support::output_of(f.edited({edit.words}))[-1];
                const double found = (logits[pairs.front().answers.front()] - logits[pairs.front().wrong.front()]).item<double>();
                EXPECT_NEAR(found, r.results[i].value, 1e-9);
                ++lines;
            }
            return lines;
        };
        const std::vector<std::int64_t> one{f.config().n_layers - 2};
        for (const Grid grid : {Grid::resid_pre, Grid::resid_mid, Grid::attn_out, Grid::mlp_out, Grid::z, Grid::k, Grid::pattern,
                                Grid::q_by_position, Grid::v_by_position, Grid::pattern_by_destination, Grid::neuron}) {
            SCOPED_TRACE(std::string(enum_word(grid)));
            for (const Direction direction : {Direction::denoise, Direction::noise})
                EXPECT_GT(check({.grid = grid, .direction = direction, .layers = one}), 0);
            EXPECT_GT(check({.grid = grid, .ablation = Ablation::zero, .layers = one}), 0);
            if (sites_of(grid).front() != Site::pattern)
                EXPECT_GT(check({.grid = grid, .ablation = Ablation::mean, .layers = one}), 0);
            else
                EXPECT_GT(check({.grid = grid, .ablation = Ablation::knockout, .layers = one}), 0);
        }
        for (const Grid grid : {Grid::pattern_by_edge, Grid::edge}) {
            for (const Ablation ablation : {Ablation::zero, Ablation::knockout})
                EXPECT_GT(check({.grid = grid, .ablation = ablation, .layers = one}), 0);
            EXPECT_EQ(check({.grid = grid, .layers = one}), 0) << "a single patched weight has no line";
        }
        EXPECT_GT(check({.grid = Grid::z, .ablation = Ablation::zero, .window = 2}), 0);
    }
}

TEST(SweepRun, LackingAnswersAreWhatTheTextsPredict) {
    const Fixture f("models/gpt2");
    SweepRequest asked;
    const SweepPair pair = pair_in(f, asked);
    const auto best = [&](const char* text) {
        return testing_support::output_of(f.plain(text))[-1].argmax().item<std::int64_t>();
    };
    EXPECT_EQ(pair.answers, std::vector{best(kText)});
    ASSERT_EQ(pair.wrong.size(), 1u);
    EXPECT_NE(pair.wrong, pair.answers);
    if (best(kOther) != best(kText)) {
        EXPECT_EQ(pair.wrong, std::vector{best(kOther)});
    }
    EXPECT_EQ(pair.answer_words, std::vector{text::token_label(*f.tokenizer, pair.answers.front())});
    asked.options.metric = Metric::kl;
    EXPECT_TRUE(pair_in(f, asked).answers.empty());
}

}  // namespace sweep_run_test
}  // namespace headlight::intervention
