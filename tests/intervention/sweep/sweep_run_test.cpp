// SPDX-License-Identifier: GPL-3.0-or-later
// Sweeps that stop and go on, and cells as lines of a recipe.
#include "headlight/base/error.h"
#include "headlight/intervention/sweep/cell_edit.h"
#include "intervention/sweep/plan.h"
#include "tests/intervention/recipe/edited.h"
#include "tests/support/error_of.h"
#include "tests/support/temp_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace headlight::intervention {
namespace sweep_run_test {

using testing_support::Fixture;
using testing_support::kOther;
using testing_support::kText;

std::shared_ptr<const model::Picture> read_picture(const std::filesystem::path& typed) {
    return testing_support::picture(typed.filename() == kText ? 0 : 90).picture;
}

SweepPair pair_in(const Fixture& f, SweepRequest asked) {
    asked.clean = kText;
    asked.corrupt = kOther;
    SweepPair pair = pairs_of(asked, *f.model, *f.tokenizer, read_picture).front();
    propose_answers(f.model, *f.tokenizer, pair, asked.options.metric);
    return pair;
}

TEST(SweepRequest, OfAPictureNeedsClassesAndNamesThem) {
    const Fixture f("models/vit"), plain("models/vit-base");
    const auto why_not = [](const Fixture& of, const SweepRequest& asked) {
        return test::error_of([&] { pairs_of(asked, *of.model, *of.tokenizer, read_picture); });
    };
    using testing::HasSubstr;
    const SweepRequest asked{.clean = kText, .answers = {"golden retriver"}, .options = {.ablation = Ablation::zero}};
    EXPECT_THAT(why_not(plain, asked), HasSubstr("no class logits"));
    EXPECT_THAT(why_not(f, asked),
                testing::AllOf(HasSubstr("no such class"), HasSubstr("0 to 6"), HasSubstr("\"golden retriever\"?")));
    SweepRequest placed{.clean = kText, .answers = {"dog", "2"}, .places = {"who=r2c3"}, .options = asked.options};
    const SweepPair pair = pairs_of(placed, *f.model, *f.tokenizer, read_picture).front();
    EXPECT_EQ(pair.clean.places.at("who"), std::vector<std::int64_t>{7}) << "[CLS], and four patches a row";
    EXPECT_EQ(pair.clean.end, 0) << "where the class is read";
    EXPECT_EQ(pair.answers[1], 2);
    placed.places = {"who=r9c9"};
    EXPECT_THAT(why_not(f, placed), HasSubstr("no patch"));
}

/// The clean text's position 2 is x; the corrupt text's end is x too, with another end than the clean text's.
TEST(SweepRequest, APositionIsAlignedByTheTokensWhereverTheTextsEnd) {
    const Fixture f("models/gpt2");
    const SweepRequest asked{
        .clean = "vwxyz", .corrupt = "vwqx", .position = "2", .answers = {"a"}, .wrong = {"b"}, .places = {"w=1", "z=4"}};
    const SweepPair pair = pairs_of(asked, *f.model, *f.tokenizer).front();
    ASSERT_EQ(pair.clean.ids.size(), 5U);
    EXPECT_EQ(pair.corrupt.end, 3);
    using Rows = std::vector<std::int64_t>;
    EXPECT_EQ(pair.corrupt.places, (std::map<std::string, Rows>{{"END", {3}}, {"w", {1}}, {"z", {}}}));
    EXPECT_EQ(partners_in(pair.corrupt, pair.clean), (Rows{0, 1, -1, 2}));
    SweepRequest far = asked;
    far.position = "5";
    EXPECT_THAT(test::error_of([&] { pairs_of(far, *f.model, *f.tokenizer); }),
                testing::AllOf(testing::HasSubstr("not in the text"), testing::HasSubstr("0 to 4")));
}

/// Texts of one length, in which the word stands at two places.
TEST(SweepRequest, ANamedPositionIsReadAtItsWordsInBothTexts) {
    const Fixture f("models/gpt2");
    const SweepRequest asked{
        .clean = "vwxyq", .corrupt = "xvwyq", .position = "who", .answers = {"a"}, .wrong = {"b"}, .places = {"who=x"}};
    const SweepPair pair = pairs_of(asked, *f.model, *f.tokenizer).front();
    EXPECT_EQ(pair.clean.end, 2);
    EXPECT_EQ(pair.corrupt.end, 0);
    EXPECT_EQ(pair.corrupt.places.at("END"), std::vector<std::int64_t>{0});
}

/// What the page proposes as an answer can be given to the command line: also a byte alone, and the second of two like names.
TEST(SweepRequest, EveryTokenHasAWordThatIsReadAsIt) {
    for (const char* name : {"models/gpt2", "models/llama-kv2", "models/bert", "models/vit"}) {
        SCOPED_TRACE(name);
        const Fixture f(name);
        std::int64_t named = 0;
        for (std::int64_t id = 0; id < f.config().vocab_size; ++id) {
            const std::string word = answer_text(*f.model, *f.tokenizer, id);
            SCOPED_TRACE(word);
            const SweepRequest asked{.clean = kText, .answers = {word}, .options = {.ablation = Ablation::zero}};
            const SweepPair pair = pairs_of(asked, *f.model, *f.tokenizer, read_picture).front();
            EXPECT_EQ(pair.answers, std::vector{id});
            named += word != f.tokenizer->bytes_of(id);
        }
        EXPECT_EQ(named > 0, name != std::string("models/vit")) << "bytes alone, and continuations of words";
    }
}

TEST(SweepRequest, ATargetThatNothingReadsIsRefused) {
    const SweepRequest asked{.clean = kText, .corrupt = kOther, .target = "the nurse", .answers = {"0"}, .wrong = {"1"}};
    for (const char* name : {"class_heads/bart", "models/gpt2"}) {
        const Fixture f(name);
        EXPECT_THAT(test::error_of([&] { pairs_of(asked, *f.model, *f.tokenizer); }), testing::HasSubstr("no second text"))
            << name;
    }
    const Fixture reads("encoder_decoders/t5");
    EXPECT_NO_THROW(pairs_of(asked, *reads.model, *reads.tokenizer));
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
        EXPECT_EQ(std::isnan(last.results[i].low), std::isnan(whole.results[i].low));
        EXPECT_EQ(last.results[i].state, whole.results[i].state);
    }
}

/// Runs some of the cells of a sweep as lines of a recipe; returns how many have one.
int check_lines(Fixture& f, const SweepOptions& options, const std::string& over = "") {
    SweepRequest asked;
    asked.clean = kText;
    asked.options = options;
    asked.over = over;
    if (f.encodes()) asked.target = f.text(kText).pair;
    if (options.ablation == Ablation::none) asked.corrupt = kOther;
    if (!over.empty()) asked.options.over = texts_over(asked, *f.model, *f.tokenizer, read_picture);
    std::vector<SweepPair> pairs = pairs_of(asked, *f.model, *f.tokenizer, read_picture);
    propose_answers(f.model, *f.tokenizer, pairs.front(), options.metric);
    const SweepResult r = run_sweep(f.model, pairs, asked.options);
    f.prompt = f.text(text_that_runs(asked));
    int lines = 0;
    for (std::size_t i = 0; i < r.cells.size(); i += 1 + r.cells.size() / 7) {
        const CellEdit edit = edit_of(asked, pairs.front(), r, r.cells[i]);
        if (edit.words.empty()) {
            EXPECT_FALSE(edit.why_not.empty());
            continue;
        }
        SCOPED_TRACE(edit.words);
        const at::Tensor logits = testing_support::output_of(f.edited({edit.words}))[pairs.front().clean.end];
        const double found = (logits[pairs.front().answers.front()] - logits[pairs.front().wrong.front()]).item<double>();
        EXPECT_NEAR(found, r.results[i].value, 1e-9);
        ++lines;
    }
    return lines;
}

TEST(SweepRun, ACellIsTheRunUnderItsLineOfARecipe) {
    for (const char* name : {"models/gpt2", "models/llama-kv2"}) {
        Fixture f(name);
        const auto check = [&](const SweepOptions& options) { return check_lines(f, options); };
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

TEST(SweepRun, SoAreCellsOfCrossAttention) {
    for (const char* name : {"encoder_decoders/t5", "encoder_decoders/bart"}) {
        SCOPED_TRACE(name);
        Fixture f(name);
        for (const Grid grid :
             {Grid::attn_out, Grid::z, Grid::q, Grid::k, Grid::v, Grid::pattern, Grid::z_by_position, Grid::k_by_position,
              Grid::v_by_position, Grid::pattern_by_destination, Grid::pattern_by_edge, Grid::edge}) {
            SCOPED_TRACE(std::string(enum_word(grid)));
            const bool of_pattern = sites_of(grid).front() == Site::pattern;
            const bool single = grid == Grid::pattern_by_edge || grid == Grid::edge;
            const auto check = [&](SweepOptions options) {
                options.grid = grid;
                options.attention = model::Stack::cross;
                return check_lines(f, options);
            };
            EXPECT_GT(check({.ablation = of_pattern ? Ablation::knockout : Ablation::mean}), 0);
            EXPECT_GT(check({.ablation = Ablation::zero}), 0);
            for (const Direction direction : {Direction::denoise, Direction::noise})
                EXPECT_EQ(check({.direction = direction}) > 0, !single);
        }
    }
}

TEST(SweepRun, SoAreCellsOfPictures) {
    for (const char* name : {"models/vit", "models/deit"}) {
        SCOPED_TRACE(name);
        Fixture f(name);
        for (const Grid grid : {Grid::resid_pre, Grid::resid_mid, Grid::attn_out, Grid::mlp_out, Grid::z, Grid::k, Grid::pattern,
                                Grid::q_by_position, Grid::v_by_position, Grid::pattern_by_destination, Grid::neuron}) {
            SCOPED_TRACE(std::string(enum_word(grid)));
            const bool of_pattern = sites_of(grid).front() == Site::pattern;
            for (const Direction direction : {Direction::denoise, Direction::noise})
                EXPECT_GT(check_lines(f, {.grid = grid, .direction = direction, .layers = {0, 1}}), 0);
            EXPECT_GT(check_lines(f, {.grid = grid, .ablation = Ablation::zero, .layers = {0, 1}}), 0);
            EXPECT_GT(check_lines(f, {.grid = grid, .ablation = of_pattern ? Ablation::knockout : Ablation::mean, .layers = {1}}),
                      0);
        }
        // What a patch is in the first layer is all that the picture is: patched everywhere it is the other picture.
        SweepRequest asked{.clean = kText,
                           .corrupt = kOther,
                           .places = {"all=0-" + std::to_string(f.config().context_length - 1)},
                           .options = {.grid = Grid::resid_pre, .by_name = true}};
        std::vector<SweepPair> pairs = pairs_of(asked, *f.model, *f.tokenizer, read_picture);
        propose_answers(f.model, *f.tokenizer, pairs.front(), Metric::logit_diff);
        const SweepResult r = run_sweep(f.model, pairs, asked.options);
        for (std::size_t i = 0; i < r.cells.size(); ++i)
            if (r.position_names[static_cast<std::size_t>(r.cells[i].position)] == "all") {
                EXPECT_NEAR(r.results[i].normalized, 1, 1e-6);
            }
    }
}

TEST(SweepRun, SoAreExperts) {
    for (const char* name : {"models/mixtral", "models/qwen2-moe-step", "models/gpt-oss", "models/deepseek-v3"}) {
        SCOPED_TRACE(name);
        Fixture f(name);
        for (const Ablation ablation : {Ablation::none, Ablation::forbid, Ablation::force, Ablation::mean}) {
            SCOPED_TRACE(std::string(enum_word(ablation)));
            EXPECT_GT(check_lines(f, {.grid = Grid::expert, .ablation = ablation}), 0);
        }
    }
}

TEST(SweepRun, SoAreMeansOverAFile) {
    const test::TempFolder folder;
    const std::string any = folder.write("any.txt", "the old nurse\nthe nurse asked the old nurse of the old\nasked\n"),
                      same = folder.write("same.txt", std::string(kOther) + "\n" + kText + "\n");
    for (const char* name : {"models/gpt2", "models/llama-kv2"}) {
        Fixture f(name);
        for (const Grid grid : {Grid::z, Grid::mlp_out, Grid::k_by_position, Grid::neuron}) {
            SCOPED_TRACE(std::string(enum_word(grid)));
            EXPECT_GT(check_lines(f, {.grid = grid, .ablation = Ablation::mean, .layers = {1}}, any), 0);
            EXPECT_GT(check_lines(f, {.grid = grid, .ablation = Ablation::mean, .layers = {1}, .per_position = true}, same), 0);
        }
        SweepRequest asked;
        const std::vector pairs{pair_in(f, asked)};
        SweepOptions options{.ablation = Ablation::mean, .per_position = true};
        options.over = texts_over({.over = any}, *f.model, *f.tokenizer);
        EXPECT_THROW(run_sweep(f.model, pairs, options), Error) << "texts of other lengths";
        options.ablation = Ablation::zero;
        EXPECT_THROW(run_sweep(f.model, pairs, options), Error);
    }
    // A list of pictures, from its folder.
    const std::string both = folder.write("pictures.txt", std::string(kOther) + "\n" + kText + "\n");
    Fixture vit("models/vit");
    for (const bool per_position : {false, true})
        EXPECT_GT(
            check_lines(vit, {.grid = Grid::z, .ablation = Ablation::mean, .layers = {1}, .per_position = per_position}, both),
            0);
    // The one other picture is the donor: its z stands in this one's place.
    SweepRequest drawn{.clean = kText, .over = both, .options = {.grid = Grid::z, .ablation = Ablation::resample}};
    drawn.options.over = texts_over(drawn, *vit.model, *vit.tokenizer, read_picture);
    SweepRequest patched{.clean = kText, .corrupt = kOther, .options = {.grid = Grid::z, .direction = Direction::noise}};
    std::vector<SweepPair> pairs = pairs_of(patched, *vit.model, *vit.tokenizer, read_picture);
    propose_answers(vit.model, *vit.tokenizer, pairs.front(), Metric::logit_diff);
    const SweepResult noised = run_sweep(vit.model, pairs, patched.options);
    pairs.front().corrupt = {};
    const SweepResult resampled = run_sweep(vit.model, pairs, drawn.options);
    double most = 0;
    for (std::size_t i = 0; i < noised.cells.size(); ++i) {
        EXPECT_NEAR(resampled.results[i].effect, noised.results[i].effect, 1e-9);
        most = std::max(most, std::abs(noised.results[i].effect));
    }
    EXPECT_GT(most, 1e-6);
    Fixture f("encoder_decoders/t5");
    EXPECT_GT(check_lines(f, {.grid = Grid::k, .ablation = Ablation::mean, .attention = model::Stack::cross}, any), 0);
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
