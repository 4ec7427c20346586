// SPDX-License-Identifier: GPL-3.0-or-later
// headlight-mpi, where MPI is there: several processes that do one run together, and the traps of starting them.
#include "headlight/corpus/store/manifest.h"
#include "headlight/corpus/store/segments.h"
#include "tests/cli/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#ifdef HEADLIGHT_MPI

#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

namespace headlight::cli {
namespace corpus_mpi_test {

namespace fs = std::filesystem;
using test::done;
using test::headlight;
using test::in_child;
using test::Outcome;
using test::refused;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const std::string kTexts = test::fixture("text/sentences.txt");
const std::string kMpirun = HEADLIGHT_MPIRUN " --oversubscribe --bind-to none";

/// A shell's command line, in a process of its own.
Outcome shell(const std::string& command, std::map<std::string, std::string> environment = {}) {
    environment.insert({{"OMPI_ALLOW_RUN_AS_ROOT", "1"}, {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"}});
    return in_child(
        [&] {
            ::execl("/bin/sh", "sh", "-c", ("exec " + command).c_str(), nullptr);
            return 127;
        },
        "", environment);
}

std::string run_words(const std::string& texts, const fs::path& store) {
    return " novella-7m --texts " + texts + " --block 3 --measure heads --segment-minutes 0 --out " + store.string();
}

std::string merged_of(const fs::path& store) { return test::slurp(store / "merged.safetensors"); }

TEST(CorpusMpi, ProcessesTogetherGiveTheBytesOfOne) {
    const test::TempFolder folder;
    const std::string few = " --limit 20";
    done(shell(HEADLIGHT_MPI + run_words(kTexts, folder / "once") + few));
    for (const char* processes : {"1", "2", "4"}) {
        done(shell(kMpirun + " -n " + processes + " " HEADLIGHT_MPI + run_words(kTexts, folder / processes) + few));
        EXPECT_TRUE(merged_of(folder / processes) == merged_of(folder / "once")) << processes;
    }
    done(headlight({"corpus", "run", "novella-7m", "--texts", kTexts, "--block", "3", "--measure", "heads", "--limit", "20",
                    "--out", folder / "alone"}));
    EXPECT_TRUE(merged_of(folder / "alone") == merged_of(folder / "once")) << "headlight corpus run";
}

/// Processes of the program whose command line has the words, which no other has.
std::vector<pid_t> processes_with(const std::string& words) {
    std::vector<pid_t> found;
    for (const auto& entry : fs::directory_iterator("/proc")) {
        const std::string name = entry.path().filename();
        if (name.find_first_not_of("0123456789") != std::string::npos) continue;
        std::error_code code;
        if (fs::read_symlink(entry.path() / "exe", code).filename() != fs::path(HEADLIGHT_MPI).filename() || code) continue;
        std::ifstream file(entry.path() / "cmdline", std::ios::binary);
        const std::string line{std::istreambuf_iterator<char>(file), {}};
        if (line.find(words) != std::string::npos) found.push_back(static_cast<pid_t>(std::stol(name)));
    }
    return found;
}

std::size_t finished_blocks(const fs::path& store) {
    std::size_t blocks = 0;
    if (corpus::is_store(store))
        for (const corpus::Segment& segment : corpus::segments_of(store, corpus::read_manifest(store)))
            blocks += segment.blocks.size();
    return blocks;
}

TEST(CorpusMpi, ARankThatIsKilledEndsTheRunAndTheNextOneGoesOn) {
    const test::TempFolder folder;
    std::string lines;
    for (int i = 0; i < 90; ++i)
        lines += "The old doctor asked the nurse number " + std::to_string(i) + " to wait, because he was late again that day.\n";
    const std::string texts = folder.write("texts.txt", lines).string();
    const fs::path store = folder / "killed";
    const std::string command = kMpirun + " -n 2 " HEADLIGHT_MPI + run_words(texts, store);
    Outcome run;
    std::thread job([&] { run = shell(command); });
    const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(2);
    bool killed = false;
    while (!killed && std::chrono::steady_clock::now() < until) {
        const std::vector<pid_t> ranks = processes_with(store.string());
        if (ranks.size() == 2 && finished_blocks(store) >= 2) killed = ::kill(ranks.back(), SIGKILL) == 0;
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    job.join();
    ASSERT_TRUE(killed);
    EXPECT_NE(run.code, 0) << "the other rank does not wait for ever";
    const std::size_t before = finished_blocks(store);
    EXPECT_GE(before, 2u);
    ASSERT_LT(before, 30u) << "it ended before it was killed";
    done(shell(command));
    EXPECT_EQ(finished_blocks(store), 30u);
    done(shell(HEADLIGHT_MPI + run_words(texts, folder / "once")));
    EXPECT_TRUE(merged_of(store) == merged_of(folder / "once"));
}

TEST(CorpusMpi, SaysWhenProcessesAreBoundToOneCoreOrHaveTooManyThreads) {
    const test::TempFolder folder;
    const std::string few = " --limit 3";
    if (std::thread::hardware_concurrency() < 2) GTEST_SKIP() << "one core";
    const Outcome bound = done(shell("taskset -c 0 " HEADLIGHT_MPI + run_words(kTexts, folder / "bound") + few));
    EXPECT_THAT(bound.err, AllOf(HasSubstr("bound to one core of"), HasSubstr("--bind-to none")));
    const Outcome free = done(shell(HEADLIGHT_MPI + run_words(kTexts, folder / "free") + few));
    EXPECT_THAT(free.err, Not(HasSubstr("headlight-mpi:")));
    const std::string threads = std::to_string(std::thread::hardware_concurrency());
    const Outcome crowd =
        shell(kMpirun + " -n 2 " HEADLIGHT_MPI + run_words(kTexts, folder / "crowd") + few + " --threads " + threads);
    EXPECT_THAT(crowd.err, HasSubstr("2 processes of " + threads + " threads share "));
}

TEST(CorpusMpi, ProcessesThatKnowNothingOfEachOtherStop) {
    const test::TempFolder folder;
    for (const char* variable : {"SLURM_NTASKS", "SLURM_STEP_NUM_TASKS", "PMI_SIZE"}) {
        refused(shell(HEADLIGHT_MPI + run_words(kTexts, folder / "none"), {{variable, "8"}}), 1,
                testing::AllOf(HasSubstr(std::string(variable) + " is 8"), HasSubstr("srun --mpi=pmix")));
        EXPECT_FALSE(fs::exists(folder / "none"));
    }
    done(shell(HEADLIGHT_MPI + run_words(kTexts, folder / "one") + " --limit 3", {{"SLURM_NTASKS", "1"}}));
}

TEST(CorpusMpi, AFolderThatNotAllSeeIsNamed) {
    const test::TempFolder folder;
    for (const char* node : {"a", "b"}) fs::create_directories(folder / node);
    const std::string words = " " HEADLIGHT_MPI + run_words(kTexts, "store") + " --limit 9";
    const auto of_node = [&](const char* node) { return " -n 1 -wdir " + (folder / node).string() + words; };
    const Outcome run = shell(kMpirun + of_node("a") + " :" + of_node("b"));
    EXPECT_NE(run.code, 0);
    EXPECT_THAT(run.err, AllOf(HasSubstr("Process 1 does not see the store"), HasSubstr((folder / "b").string()),
                               HasSubstr("headlight corpus merge")));
}

}  // namespace corpus_mpi_test
}  // namespace headlight::cli

#endif
