// SPDX-License-Identifier: GPL-3.0-or-later
// Sweeps that go on in another process, from their file.
#include "headlight/base/error.h"
#include "headlight/intervention/sweep/sweep.h"
#include "headlight/io/checksum.h"
#include "tests/intervention/sweep/whole_passes.h"
#include "tests/support/error_of.h"
#include "tests/support/temp_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <filesystem>
#include <fstream>

namespace headlight::intervention {
namespace unfinished_test {

using test::TempFolder;
using testing::AllOf;
using testing::HasSubstr;

std::shared_ptr<const model::Model> fixture(const std::string& name) {
    return testing_support::fixture("models/" + name, model::ComputeType::float32);
}

std::vector<SweepPair> some_pairs(const model::Model& model, std::size_t count) {
    std::vector<SweepPair> pairs;
    for (std::size_t n = 0; n < count; ++n) pairs.push_back(testing_support::some_pair(model, static_cast<std::int64_t>(13 * n)));
    return pairs;
}

/// Runs until so many cells of all are there and some of them are in the file.
void run_some(SweepRun& run, const std::filesystem::path& file, std::int64_t cells) {
    const CancelToken cancel;
    const auto watch = [&](const ProgressStep& step) {
        if (step.done >= cells && std::filesystem::exists(file)) cancel.cancel();
    };
    EXPECT_THROW(run.run(cancel, watch), Cancelled);
}

void expect_same_bits(const SweepResult& a, const SweepResult& b) {
    const auto bits = [](const std::vector<std::vector<double>>& all) {
        std::vector<std::uint64_t> out;
        for (const auto& row : all)
            for (const double value : row) out.push_back(std::bit_cast<std::uint64_t>(value));
        return out;
    };
    EXPECT_EQ(bits(a.effects), bits(b.effects));
    EXPECT_EQ(bits(a.estimates), bits(b.estimates));
    EXPECT_EQ(bits({a.clean, a.corrupt}), bits({b.clean, b.corrupt}));
    EXPECT_EQ(a.complete, b.complete);
    for (std::size_t i = 0; i < a.results.size(); ++i) {
        EXPECT_EQ(a.results[i].state, b.results[i].state);
        EXPECT_EQ(std::bit_cast<std::uint64_t>(a.results[i].low), std::bit_cast<std::uint64_t>(b.results[i].low));
    }
}

TEST(UnfinishedSweep, GoesOnFromItsFileBitForBit) {
    const auto model = fixture("llama-kv2");
    const std::vector<SweepPair> pairs = some_pairs(*model, 4);
    // Passes of a few cells each: what shares a pass decides on the last bits of float32.
    const std::int64_t memory = 60'000;
    const std::vector<SweepOptions> all{
        {.grid = Grid::z_by_position, .memory = memory},
        {.grid = Grid::k_by_position, .ablation = Ablation::resample, .donors = 3, .memory = memory},
        {.grid = Grid::z, .ablation = Ablation::mean, .memory = memory},
        {.grid = Grid::z, .to = {"L1H1.k", "L1H0.q"}, .memory = memory},
        {.grid = Grid::q_by_position, .method = Method::both, .memory = memory},
        {.grid = Grid::mlp_out, .method = Method::attribution, .memory = memory}};
    for (const SweepOptions& options : all) {
        SCOPED_TRACE(std::string(enum_word(options.grid)) + " " + std::string(enum_word(options.ablation)));
        const SweepResult whole = run_sweep(model, pairs, options);
        const auto cells = static_cast<std::int64_t>(whole.cells.size());
        for (const std::int64_t stop : {std::int64_t{5}, cells + cells / 2, 2 * cells + 1}) {
            SCOPED_TRACE(stop);
            const TempFolder folder;
            const std::filesystem::path file = folder / "s.unfinished";
            std::string kept;
            {
                SweepRun run(model, pairs, options);
                EXPECT_EQ(run.keep_in(file, {{"site", "that"}}), 0);
                run_some(run, file, stop);
                kept = run.kept({{"site", "that"}});
            }
            ASSERT_TRUE(std::filesystem::exists(file));
            // A run holds its file until it is gone.
            const auto resumed = [&] {
                SweepRun again(model, pairs, options);
                const std::int64_t cells_there = again.keep_in(file, {{"site", "that"}});
                again.run();
                expect_same_bits(again.result(), whole);
                return cells_there;
            };
            const std::int64_t there = resumed();
            EXPECT_GT(there, 0);
            EXPECT_LT(there, 4 * cells);
            SweepRun from_session(model, pairs, options);
            EXPECT_GE(from_session.take(kept, {{"site", "that"}}, "a session"), there) << "and what needs no pass";
            from_session.run();
            expect_same_bits(from_session.result(), whole);
            SweepRun all_kept(model, pairs, options);
            EXPECT_EQ(all_kept.take(from_session.kept({{"site", "that"}}), {{"site", "that"}}, "a session"), 4 * cells);
            expect_same_bits(all_kept.result(), whole);
            // A process that dies leaves half a line; the pass is computed again.
            std::filesystem::resize_file(file, std::filesystem::file_size(file) * 2 / 3);
            EXPECT_GE(resumed(), 0);
            EXPECT_EQ(resumed(), 4 * cells) << "nothing is left to compute";
        }
    }
}

/// Names of files may hold bytes that are no UTF-8, which JSON cannot keep.
TEST(UnfinishedSweep, KeepsFactsThatAreNoUtf8) {
    const auto model = fixture("gpt2");
    const std::vector<SweepPair> pairs = some_pairs(*model, 1);
    const SweepOptions options{.grid = Grid::z};
    SweepRun run(model, pairs, options);
    run.run();
    const SweepFacts facts{{"over", "caf\xE9.txt"}};
    const std::string kept = run.kept(facts);
    SweepRun again(model, pairs, options);
    EXPECT_GT(again.take(kept, facts, "a session"), 0);
    expect_same_bits(again.result(), run.result());
    EXPECT_THROW(SweepRun(model, pairs, options).take(kept, {{"over", "tea.txt"}}, "a session"), Error);
}

TEST(UnfinishedSweep, IsThatOfOneModelTextsAndOptions) {
    const auto model = fixture("gpt2");
    const std::vector<SweepPair> pairs = some_pairs(*model, 2);
    const TempFolder folder;
    const std::filesystem::path file = folder / "s.unfinished";
    const SweepOptions options{.grid = Grid::z_by_position, .memory = 1};
    {
        SweepRun run(model, pairs, options);
        run.keep_in(file, {{"model", "this"}, {"site", "z_by_position"}});
        run_some(run, file, 20);
    }
    const auto message = [&](const std::vector<SweepPair>& of, const SweepFacts& facts) {
        return test::error_of([&] { SweepRun(model, of, options).keep_in(file, facts); });
    };
    EXPECT_EQ(message(pairs, {{"model", "this"}, {"site", "z_by_position"}}), "no error");
    EXPECT_THAT(message(pairs, {{"model", "that"}, {"site", "z_by_position"}}),
                AllOf(HasSubstr("another sweep"), HasSubstr("s.unfinished"), HasSubstr(", model: "), HasSubstr("expected this"),
                      HasSubstr("found that"), HasSubstr("delete")));
    EXPECT_THAT(message(pairs, {{"model", "this"}}), AllOf(HasSubstr(", site: "), HasSubstr("found none")));
    EXPECT_THAT(message(pairs, {{"model", "this"}, {"site", "z_by_position"}, {"to", "L1H0.k"}}),
                AllOf(HasSubstr(", to: "), HasSubstr("expected none")));
    EXPECT_THAT(message(some_pairs(*model, 3), {{"model", "this"}, {"site", "z_by_position"}}), HasSubstr("of the pairs"));
    const std::string sound = test::slurp(file);
    // A digit that the disk changed is no other effect.
    for (std::size_t at = sound.find('\n'); (at = sound.find_first_of("0123456789", at + 1)) != std::string::npos; at += 5) {
        std::string damaged = sound;
        damaged[at] = damaged[at] == '7' ? '3' : '7';
        folder.write("s.unfinished", damaged);
        ASSERT_THAT(message(pairs, {{"model", "this"}, {"site", "z_by_position"}}),
                    AllOf(HasSubstr("damaged"), HasSubstr("s.unfinished"), HasSubstr("line "), HasSubstr("Delete the file")));
    }
    folder.write("s.unfinished", sound);
    std::ofstream(file, std::ios::app) << io::with_checksum(R"({"pair":0,"pass":[[100000,0.5]]})") << "\n";
    EXPECT_THAT(message(pairs, {{"model", "this"}, {"site", "z_by_position"}}),
                AllOf(HasSubstr("no such cell"), HasSubstr("100000"), HasSubstr("line ")));
    // More runs taken than there are, or none at all, is no mean.
    for (const char* sum : {"[0,0.5,0,0]", "[0,0.5,3,2]", "[0,0.5,1,0]"}) {
        folder.write("s.unfinished", sound);
        std::ofstream(file, std::ios::app) << io::with_checksum(std::string(R"({"pair":0,"pass":[)") + sum + "]}") << "\n";
        EXPECT_THAT(message(pairs, {{"model", "this"}, {"site", "z_by_position"}}),
                    AllOf(HasSubstr("s.unfinished"), HasSubstr("parts"), HasSubstr("line ")));
    }
    for (const std::string& line :
         {std::string("layer,head,value"), std::string(R"({"rows": []})"),
          io::with_checksum(R"({"headlight": "unfinished sweep 2", "memory": 1})"),
          io::with_checksum(R"({"headlight": "unfinished sweep 2", "sweep": {"model": 1}, "memory": 1})")}) {
        std::ofstream(file) << line << "\n";
        EXPECT_THAT(message(pairs, {{"model", "this"}}), AllOf(HasSubstr("not the numbers of a sweep"), HasSubstr("s.unf")));
    }
}

TEST(UnfinishedSweep, IsComputedByOneProcessAtATime) {
    const auto model = fixture("gpt2");
    const std::vector<SweepPair> pairs = some_pairs(*model, 1);
    const TempFolder folder;
    const std::filesystem::path file = folder / "s.unfinished";
    {
        SweepRun first(model, pairs, {.grid = Grid::z});
        EXPECT_EQ(first.keep_in(file, {}), 0);
        const auto second = [&] { SweepRun(model, pairs, {.grid = Grid::z}).keep_in(file, {}); };
        EXPECT_THAT(test::error_of(second), AllOf(HasSubstr("Another process"), HasSubstr("s.unfinished")))
            << "before its first pass";
        first.run();
        EXPECT_THAT(test::error_of(second), HasSubstr("Another process"));
    }
    EXPECT_GT(SweepRun(model, pairs, {.grid = Grid::z}).keep_in(file, {}), 0);
    EXPECT_EQ(folder.count(), 1U) << "no lock is left";
}

}  // namespace unfinished_test
}  // namespace headlight::intervention
