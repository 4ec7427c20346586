// SPDX-License-Identifier: GPL-3.0-or-later
// A run gives the same bytes on any number of threads, in any parts, after any interruption.
#include "headlight/corpus/run/run.h"

#include "headlight/base/memory_account.h"
#include "tests/corpus/runs.h"

#include <gmock/gmock.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <numeric>
#include <span>
#include <thread>
#include <utility>

extern char** environ;

namespace headlight::corpus {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

/// Sentences of 4 to 60 words, of which some repeat.
std::string lines(int first, int count) {
    static const char* const words[] = {"the", "doctor", "asked", "nurse", "because", "she", "was", "late", "again", "and"};
    std::string out;
    for (int i = first; i < first + count; ++i) {
        for (int w = 0; w < 4 + i * 7 % 57; ++w) out += std::string(w ? " " : "") + words[(i * 3 + w * w) % 10];
        out += ".\n";
    }
    return out;
}

CorpusRun run_of(const fs::path& store, const fs::path& texts) {
    CorpusRun run{.setup = run_setup(store, texts, {"heads", "neurons"}), .segment_minutes = 0};
    run.setup.options.context = 40;
    run.setup.options.stride = 24;
    run.setup.options.block = 4;
    return run;
}

std::string merged_of(const fs::path& store) { return test::slurp(store / "merged.safetensors"); }

class CorpusRuns : public testing::Test {
protected:
    void SetUp() override {
        texts_ = folder_.write("texts.txt", lines(0, 22));
        run_corpus(run_of(folder_ / "once", texts_));
        once_ = merged_of(folder_ / "once");
        ASSERT_GT(once_.size(), 1000u);
    }
    test::TempFolder folder_;
    fs::path texts_;
    std::string once_;
};

TEST_F(CorpusRuns, AreTheSameBytesOnAnyNumberOfThreads) {
    on_threads(at::get_num_threads() == 1 ? 2 : 1, [&] { return run_corpus(run_of(folder_ / "threads", texts_)); });
    EXPECT_TRUE(merged_of(folder_ / "threads") == once_);
}

TEST_F(CorpusRuns, AreTheSameBytesInPartsOfOneFolderAndOfSeveral) {
    std::vector<fs::path> stores;
    for (const std::int64_t part : {2, 3, 1}) {
        CorpusRun shared = run_of(folder_ / "shared", texts_), own = run_of(folder_ / ("own" + std::to_string(part)), texts_);
        shared.part = own.part = part;
        shared.parts = own.parts = 3;
        const CorpusResult result = run_corpus(shared);
        EXPECT_EQ(result.missing_blocks == 0, part == 1);
        run_corpus(own);
        stores.push_back(own.setup.store);
    }
    EXPECT_TRUE(merged_of(folder_ / "shared") == once_);
    std::vector<std::string> notes;
    const auto note = [&](const std::string& line) { notes.push_back(line); };
    merge_stores(stores, folder_ / "merged", note);
    EXPECT_TRUE(merged_of(folder_ / "merged") == once_);
    EXPECT_THAT(notes, testing::IsEmpty());
    merge_stores({stores[0], stores[1]}, folder_ / "two of three", note);
    EXPECT_THAT(notes, testing::ElementsAre(HasSubstr("blocks are in none of the stores")));
    stores.push_back(folder_ / "own1");
    EXPECT_THAT(error_of([&] { merge_stores(stores, folder_ / "twice"); }), HasSubstr("A block is in two segments"));
}

// A store holds all that its results are merged from: every kind of them, without the model.
TEST_F(CorpusRuns, MergeEveryMeasureWithoutTheModel) {
    const auto asked = [&](const char* store) {
        CorpusRun run = run_of(folder_ / store, treebank_file());
        run.setup.options.measures.clear();
        for (const AccumulatorKind& kind : accumulator_kinds())
            if (!kind.of_mentions) run.setup.options.measures.emplace_back(kind.id);
        run.setup.options.context = 0;
        run.setup.options.seed = 7;
        run.setup.texts.limit = 14;
        return run;
    };
    run_corpus(asked("all"));
    for (const std::int64_t part : {1, 2}) {
        CorpusRun run = asked(part == 1 ? "first" : "second");
        run.part = part;
        run.parts = 2;
        run_corpus(run);
    }
    merge_stores({folder_ / "second", folder_ / "first"}, folder_ / "joined");
    EXPECT_TRUE(merged_of(folder_ / "joined") == merged_of(folder_ / "all"));
}

TEST_F(CorpusRuns, OfAnotherModelOrOptionDoNotMerge) {
    const fs::path once = folder_ / "once";
    CorpusRun other = run_of(folder_ / "other model", texts_);
    const OpenedModel gpt2 = opened(fixture_model("gpt2"));
    other.setup.model = gpt2.model;
    other.setup.tokenizer = gpt2.tokenizer;
    other.setup.options.context = 30;
    other.setup.options.stride = 20;
    run_corpus(other);
    const auto message = [&](const char* store) {
        return error_of([&] { merge_stores({once, folder_ / store}, folder_ / "out"); });
    };
    EXPECT_THAT(message("other model"), testing::AllOf(HasSubstr("The store is of another model"), HasSubstr("other model"),
                                                       HasSubstr("novella-7m"), HasSubstr("gpt2")));
    other = run_of(folder_ / "other seed", texts_);
    other.setup.options.seed = 1;
    run_corpus(other);
    EXPECT_THAT(message("other seed"),
                testing::AllOf(HasSubstr("other seed"), HasSubstr("--seed: expected 0 of"), HasSubstr("found 1")));
    other = run_of(folder_ / "other texts", folder_.write("other.txt", lines(1, 22)));
    run_corpus(other);
    EXPECT_THAT(message("other texts"), testing::AllOf(HasSubstr("The store has other texts"), HasSubstr("22 texts")));
    open_store(run_of(folder_ / "not run", texts_).setup);
    EXPECT_THAT(error_of([&] { merge_stores({folder_ / "not run"}, folder_ / "out"); }),
                HasSubstr("Nothing of the stores is finished"));
    EXPECT_FALSE(fs::exists(folder_ / "out"));
}

TEST_F(CorpusRuns, GoOnWithAppendedTexts) {
    const fs::path first = folder_.write("first.txt", lines(0, 9));
    run_corpus(run_of(folder_ / "grown", first));
    EXPECT_FALSE(merged_of(folder_ / "grown") == once_);
    // The ids of texts are not in the merged file: a longer list that begins alike, and further texts behind.
    CorpusRun append = run_of(folder_ / "grown", folder_.write("more.txt", lines(9, 13)));
    append.setup.texts.append = true;
    run_corpus(append);
    EXPECT_TRUE(merged_of(folder_ / "grown") == once_);
    CorpusRun limited = run_of(folder_ / "limited", texts_);
    limited.setup.texts.limit = 9;
    run_corpus(limited);
    EXPECT_EQ(read_manifest(folder_ / "limited").texts(), 9);
    limited.setup.texts.limit = 0;
    run_corpus(limited);
    EXPECT_TRUE(merged_of(folder_ / "limited") == once_);
}

TEST_F(CorpusRuns, AreCancelledBetweenBlocksAndGoOn) {
    CorpusRun run = run_of(folder_ / "cancelled", texts_);
    const CancelToken cancel;
    EXPECT_THROW(run_corpus(run, cancel,
                            [&](const ProgressStep& step) {
                                if (step.what == "Running" && step.done == 14) cancel.cancel();
                            }),
                 Cancelled);
    const auto segments = segments_of(folder_ / "cancelled", read_manifest(folder_ / "cancelled"));
    ASSERT_EQ(segments.size(), 1u);
    EXPECT_EQ(segments.front().blocks, (std::vector<std::int64_t>{0, 1, 2}));
    EXPECT_EQ(read_merged(folder_ / "cancelled", read_manifest(folder_ / "cancelled")).chunks, 12);
    run.setup.texts.from.clear();
    run.setup.options = {};
    run_corpus(run);
    EXPECT_TRUE(merged_of(folder_ / "cancelled") == once_);
}

TEST_F(CorpusRuns, StopOnceAMeasureIsKnown) {
    const fs::path texts = folder_.write("many.txt", lines(0, 240));
    const auto asked = [&](const char* store, std::optional<double> half_width) {
        CorpusRun run = run_of(folder_ / store, texts);
        run.setup.options.measures = {"heads"};
        run.setup.options.block = 20;
        if (half_width) run.stop_at = StopAt{"entropy", *half_width};
        return run;
    };
    run_corpus(asked("whole", {}));
    const std::int64_t in_use = memory_in_use(MemoryUse::results);
    auto store = read_store(folder_ / "whole");
    EXPECT_GE(memory_in_use(MemoryUse::results) - in_use, store->merged.arrays.bytes());
    const auto whole = widest_interval(*store, "entropy");
    store.reset();
    EXPECT_EQ(memory_in_use(MemoryUse::results), in_use);
    ASSERT_TRUE(whole);
    EXPECT_EQ(whole->texts, 240);

    const double enough = 1.5 * whole->half_width;
    std::vector<std::string> notes;
    const CorpusResult result =
        run_corpus(asked("stopped", enough), {}, {}, [&](const std::string& line) { notes.push_back(line); });
    EXPECT_GT(result.missing_blocks, 0);
    EXPECT_THAT(result.stopped, HasSubstr("the widest interval of entropy is ± "));
    EXPECT_EQ(notes.back(), "stopped: " + result.stopped);
    const auto stored = read_store(folder_ / "stopped");
    EXPECT_LE(widest_interval(*stored, "entropy")->half_width, enough);
    std::vector<std::int64_t> first(stored->merged.blocks.size());
    std::iota(first.begin(), first.end(), 0);
    EXPECT_NE(stored->merged.blocks, first) << "what was run stands for all texts, not for the first ones";

    EXPECT_EQ(run_corpus(asked("stopped", enough)).done.chunks, 0) << "what is there is enough";
    const CorpusResult rest = run_corpus(asked("stopped", {}));
    EXPECT_EQ(rest.missing_blocks, 0);
    EXPECT_TRUE(merged_of(folder_ / "stopped") == merged_of(folder_ / "whole"));
    EXPECT_TRUE(run_corpus(asked("never", 1e-9)).stopped.empty());
    EXPECT_TRUE(merged_of(folder_ / "never") == merged_of(folder_ / "whole"));
}

TEST_F(CorpusRuns, StopAtWhatTheyGatherAlone) {
    const auto message = [&](const StopAt& stop, const std::vector<std::string>& measures, std::int64_t parts = 1) {
        CorpusRun run = run_of(folder_ / ("s" + measures.front()), texts_);
        run.setup.options.measures = measures;
        run.parts = parts;
        run.stop_at = stop;
        return error_of([&] { run_corpus(run); });
    };
    EXPECT_THAT(message({"entrpy", 0.1}, {"heads"}), HasSubstr("Did you mean entropy?"));
    EXPECT_THAT(message({"entropy", 0}, {"heads"}), HasSubstr("a number above 0"));
    EXPECT_THAT(message({"entropy", 0.1}, {"neurons"}), HasSubstr("--measure heads"));
    EXPECT_THAT(message({"entropy", 0.1}, {"heads"}, 2), HasSubstr("--part"));
    // Twenty-two texts are too few to trust their intervals.
    EXPECT_FALSE(widest_interval(*read_store(folder_ / "once"), "entropy"));

    const StopAt percent = parse_stop_at("induction:1.5%"), plain = parse_stop_at("entropy:0.05");
    EXPECT_EQ(percent.measure, "induction");
    EXPECT_DOUBLE_EQ(percent.half_width, 0.015);
    EXPECT_DOUBLE_EQ(plain.half_width, 0.05);
    for (const char* wrong : {"", "entropy", "entropy:", ":0.1", "entropy:much", "entropy:1%%"})
        EXPECT_THAT(error_of([&] { parse_stop_at(wrong); }), HasSubstr("entropy:0.05")) << wrong;
}

/// From now on the kernel ends the process, as SIGKILL does, where it enters one of these calls.
void die_at(std::span<const int> calls) {
    std::vector<sock_filter> filter{BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
    for (const int call : calls) {
        filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(call), 0, 1));
        filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS));
    }
    filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0)
        std::_Exit(77);  // not allowed here
}

/// What writing a file goes through, in order.
const std::vector<std::vector<int>> kCallsOfAWrite = {{SYS_openat},
                                                      {SYS_write, SYS_writev, SYS_pwrite64},
                                                      {SYS_fsync},
                                                      {SYS_close},
#ifdef SYS_rename
                                                      {SYS_rename, SYS_renameat, SYS_renameat2}
#else
                                                      {SYS_renameat, SYS_renameat2}
#endif
};

// Run by the next tests in a process of its own.
TEST(CorpusChild, DISABLED_Runs) {
    const char* die = std::getenv("HEADLIGHT_TEST_DIE_AT");
    bool armed = false;
    run_corpus(run_of(std::getenv("HEADLIGHT_TEST_STORE"), std::getenv("HEADLIGHT_TEST_TEXTS")), {},
               [&](const ProgressStep& step) {
                   if (!die || step.unit != "chunk" || std::exchange(armed, true)) return;
                   die_at(kCallsOfAWrite.at(static_cast<std::size_t>(std::atoi(die))));
               });
}

pid_t start_child(const fs::path& store, const fs::path& texts) {
    ::setenv("HEADLIGHT_TEST_STORE", store.c_str(), 1);
    ::setenv("HEADLIGHT_TEST_TEXTS", texts.c_str(), 1);
    const char* const arguments[] = {"corpus_tests", "--gtest_filter=CorpusChild.*", "--gtest_also_run_disabled_tests",
                                     "--gtest_brief=1", nullptr};
    pid_t child = 0;
    EXPECT_EQ(::posix_spawn(&child, "/proc/self/exe", nullptr, nullptr, const_cast<char* const*>(arguments), environ), 0);
    return child;
}

TEST_F(CorpusRuns, SurviveTheirEndAtEveryCallOfAWrite) {
    const fs::path store = folder_ / "ended";
    for (std::size_t at = 0; at < kCallsOfAWrite.size(); ++at) {
        ::setenv("HEADLIGHT_TEST_DIE_AT", std::to_string(at).c_str(), 1);
        int status = 0;
        ASSERT_GT(::waitpid(start_child(store, texts_), &status, 0), 0);
        ::unsetenv("HEADLIGHT_TEST_DIE_AT");
        if (WIFEXITED(status) && WEXITSTATUS(status) == 77) GTEST_SKIP() << "this system allows no filter of system calls";
        ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS) << at << ": it ended otherwise";
    }
    run_corpus(run_of(store, texts_));
    EXPECT_TRUE(merged_of(store) == once_);
}

TEST_F(CorpusRuns, SurviveBeingKilledAtAnyTime) {
    const fs::path store = folder_ / "killed";
    for (const int segments_first : {0, 2, 3}) {
        const pid_t child = start_child(store, texts_);
        const auto blocks = [&] {
            std::size_t count = 0;
            if (is_store(store))
                for (const Segment& segment : segments_of(store, read_manifest(store))) count += segment.blocks.size();
            return count;
        };
        int status = 0;
        while (::waitpid(child, &status, WNOHANG) == 0) {
            if (blocks() >= static_cast<std::size_t>(segments_first) && is_store(store)) ::kill(child, SIGKILL);
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
        }
        EXPECT_TRUE(WIFSIGNALED(status)) << "it ended before it was killed";
    }
    CorpusRun rest = run_of(store, texts_);
    const CorpusResult result = run_corpus(rest);
    EXPECT_LT(result.done.blocks, result.manifest.blocks()) << "what was finished is not run again";
    EXPECT_TRUE(merged_of(store) == once_);
}

TEST_F(CorpusRuns, LoseNothingThatIsFinishedWhenTheDiskIsFull) {
    CorpusRun run = run_of(folder_ / "full", texts_);
    run.setup.options.measures = {"heads"};
    struct rlimit before {};
    ::getrlimit(RLIMIT_FSIZE, &before);
    const struct rlimit small { 200'000, before.rlim_max };  // a segment grows by 7 kB a chunk
    const auto on_limit = ::signal(SIGXFSZ, SIG_IGN);
    ::setrlimit(RLIMIT_FSIZE, &small);
    const std::string message = error_of([&] { run_corpus(run); });
    ::setrlimit(RLIMIT_FSIZE, &before);
    ::signal(SIGXFSZ, on_limit);
    EXPECT_THAT(message, testing::AllOf(HasSubstr("Cannot write the file"), HasSubstr("Free some space")));
    const auto segments = segments_of(folder_ / "full", read_manifest(folder_ / "full"));
    ASSERT_EQ(segments.size(), 1u);
    EXPECT_GT(segments.front().blocks.size(), 1u);
    run_corpus(run);
    run.setup.store = folder_ / "roomy";
    run_corpus(run);
    EXPECT_TRUE(merged_of(folder_ / "full") == merged_of(folder_ / "roomy"));
}

TEST_F(CorpusRuns, RefuseWhatIsNotTheirs) {
    CorpusRun other = run_of(folder_ / "once", folder_.write("other.txt", "Something else.\n"));
    EXPECT_THAT(error_of([&] { run_corpus(other); }), HasSubstr("The store holds different texts"));
    other = run_of(folder_ / "once", texts_);
    other.setup.options.context = 41;
    EXPECT_THAT(error_of([&] { run_corpus(other); }), HasSubstr("--context: expected 40, found 41"));
    other = run_of(folder_ / "once", texts_);
    other.setup.options.measures = {"haeds"};
    other.setup.store = folder_ / "new";
    EXPECT_THAT(error_of([&] { run_corpus(other); }), HasSubstr("Did you mean heads?"));
    other = run_of(folder_ / "once", texts_);
    other.setup.model = model::Model::load(fixture_model("gpt2"));
    EXPECT_THAT(error_of([&] { run_corpus(other); }), HasSubstr("The store is of another model"));
    EXPECT_THAT(error_of([&] { run_corpus(run_of(folder_ / "none", folder_.write("blank.txt", "\n \n"))); }),
                HasSubstr("There is no text to run"));
    EXPECT_THAT(error_of([&] { run_corpus(run_of(folder_ / "no texts", "")); }), HasSubstr("Give --texts FILE"));
}

TEST_F(CorpusRuns, CountNoQueryTwiceAndNoneLess) {
    TextStore store(folder_ / "once", read_manifest(folder_ / "once"), built_in().tokenizer.get());
    std::int64_t several = 0;
    for (std::int64_t text = 0, chunk = 0; text < store.texts(); ++text) {
        const auto whole = built_in().tokenizer->encode(store.text(text).text);
        std::vector<std::int64_t> counted;
        std::int64_t chunks = 0;
        for (; chunk < store.chunks() && store.chunk(chunk).text == text; ++chunk, ++chunks) {
            const Chunk& c = store.chunk(chunk);
            EXPECT_LE(c.encoding.size(), 40);
            for (std::size_t i = 0; i < c.encoding.ids.size(); ++i) {
                const bool added = c.encoding.special[i];  // every chunk has it; the first one counts it
                const text::ByteRange bytes = {c.encoding.offsets[i].begin + c.first_byte,
                                               c.encoding.offsets[i].end + c.first_byte};
                const auto same = std::ranges::find(whole.offsets, bytes);
                ASSERT_TRUE(added || same != whole.offsets.end());
                EXPECT_TRUE(added || whole.ids[static_cast<std::size_t>(same - whole.offsets.begin())] == c.encoding.ids[i]);
                if (static_cast<std::int64_t>(i) >= c.first_query) counted.push_back(c.encoding.ids[i]);
            }
        }
        EXPECT_EQ(counted, whole.ids);
        several += chunks > 1 ? 1 : 0;
    }
    EXPECT_GT(several, 3);
}

}  // namespace
}  // namespace headlight::corpus
