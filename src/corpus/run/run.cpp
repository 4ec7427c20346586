// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/corpus/run/run.h"

#include "headlight/base/error.h"
#include "headlight/base/numbers.h"
#include "headlight/corpus/run/pack.h"
#include "headlight/corpus/store/stored_corpus.h"
#include "headlight/io/file_lock.h"
#include "headlight/model/runtime.h"
#include "headlight/model/same_products.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <set>
#include <utility>

namespace headlight::corpus {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::int64_t kLargestGrowth = std::int64_t{256} << 20;  // of a file that is rewritten repeatedly

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

std::string duration_text(double seconds) {
    char text[40];
    if (seconds < 90)
        std::snprintf(text, sizeof text, "%.0f s", seconds);
    else if (seconds < 5400)
        std::snprintf(text, sizeof text, "%.0f min", seconds / 60);
    else
        std::snprintf(text, sizeof text, "%.1f h", seconds / 3600);
    return text;
}

std::string megabytes(double bytes) { return significant(bytes / 1e6) + " MB"; }

/// The current segment of a run: finished blocks and their results.
class OpenSegment {
public:
    OpenSegment(const RunSetup& setup, const Manifest& manifest, const Gathered& empty, const std::string& name)
        : store_(setup.store), manifest_(manifest), machine_(this_machine(*setup.model)), empty_(empty), name_(name) {}

    void add(std::int64_t block, const Gathered& gathered) {
        // A block that is not full grows when texts are appended: it gets its own segment, so that no other block is rerun with
        // it.
        const bool full = manifest_.chunks_of(block) == manifest_.options.block;
        if (!full) close();
        if (!all_) all_ = empty_.fresh();
        all_->merge(gathered);
        blocks_.push_back(block);
        unsaved_ = true;
        if (!full) close();
    }
    void write() {
        if (!unsaved_) return;
        check_unchanged(store_, manifest_, blocks_);
        if (file_.empty()) file_ = next_segment_file(store_, name_);
        write_segment(file_, manifest_, blocks_, *all_, machine_);
        unsaved_ = false;
        std::error_code code;
        const auto size = static_cast<std::int64_t>(fs::file_size(file_, code));
        if (first_size_ == 0) first_size_ = size;
        if (size - first_size_ > kLargestGrowth) close();
    }
    std::int64_t bytes() const {
        Arrays arrays;
        if (all_) all_->save(arrays);
        return arrays.bytes();
    }

private:
    void close() {
        write();
        file_.clear();
        blocks_.clear();
        all_.reset();
        first_size_ = 0;
    }

    fs::path store_, file_;
    const Manifest& manifest_;
    Machine machine_;
    const Gathered& empty_;
    std::string name_;
    std::vector<std::int64_t> blocks_;
    std::optional<Gathered> all_;
    std::int64_t first_size_ = 0;  ///< of the file
    bool unsaved_ = false;
};

/// Forecasts a run's time, memory and disk space from its first blocks.
class Forecast {
public:
    Forecast(std::int64_t chunks, const fs::path& store, const Note& note) : chunks_(chunks), store_(store), note_(note) {}
    void after(const RunProgress& done, const OpenSegment& segment) {
        if (told_ || !note_ || done.chunks == 0) return;
        if (done.blocks == 1) {
            first_bytes_ = segment.bytes();
            first_chunks_ = done.chunks;
        }
        if (done.blocks < 2 || done.seconds < 2) return;
        told_ = true;
        const auto rest = static_cast<double>(chunks_ - done.chunks);
        const double grown =
            static_cast<double>(segment.bytes() - first_bytes_) / static_cast<double>(done.chunks - first_chunks_);
        const double bytes =
            static_cast<double>(first_bytes_) + std::max(0.0, grown) * static_cast<double>(chunks_ - first_chunks_);
        struct rusage usage {};
        ::getrusage(RUSAGE_SELF, &usage);
        std::error_code code;
        const fs::space_info space = fs::space(store_, code);
        note_(with_commas(chunks_) + " chunks: about " + duration_text(rest * done.seconds / static_cast<double>(done.chunks)) +
              " left at " + with_commas(static_cast<std::int64_t>(static_cast<double>(done.tokens) / done.seconds)) +
              " tokens/s; " + megabytes(static_cast<double>(usage.ru_maxrss) * 1024) +
              " memory now; segments and merged file need about " + megabytes(2 * bytes) + " of disk" +
              (!code && static_cast<double>(space.available) < 2 * bytes
                   ? ", and only " + megabytes(static_cast<double>(space.available)) + " are free"
                   : ""));
    }

private:
    std::int64_t chunks_, first_bytes_ = 0, first_chunks_ = 0;
    fs::path store_;
    const Note& note_;
    bool told_ = false;
};

std::string segment_prefix(const CorpusRun& run) {
    return run.parts == 1 ? "" : std::to_string(run.part) + "of" + std::to_string(run.parts) + "-";
}

}  // namespace

RunProgress run_blocks(const RunSetup& setup, const Manifest& manifest, const BlockPlan& blocks, const CancelToken& cancel,
                       const Progress& progress, const Note& note) {
    const Gathered empty(manifest.options.measures, context_of(manifest, setup.model->config(), *setup.tokenizer));
    const trace::CapturePlan plan = empty.plan();
    TextStore texts(setup.store, manifest, setup.tokenizer.get());
    OpenSegment segment(setup, manifest, empty, blocks.name);
    Forecast forecast(blocks.chunks, setup.store, note);
    PackOfChunks pack(setup.model, setup.tokenizer, plan);
    const model::KeepMemory keep;  // or the memory of every pack would be mapped afresh for the next
    const model::SameProducts same;
    RunProgress done;
    const auto started = Clock::now();
    auto written = started;
    try {
        for (std::int64_t block = blocks.next(); block >= 0; block = blocks.next()) {
            Gathered gathered = empty.fresh();
            const std::int64_t first = block * manifest.options.block, count = manifest.chunks_of(block);
            std::int64_t tokens = 0, at = first;  // the next chunk that is added
            const auto report = [&] {
                cancel.throw_if_cancelled();
                if (progress) progress({"Running", "chunk", done.chunks + at - first, blocks.chunks});
            };
            const auto run_pack = [&] {
                const auto one_more = [&] {
                    report();
                    ++at;
                };
                pack.run(
                    gathered, cancel, [&](const ProgressStep&) { report(); }, one_more);
            };
            std::shared_ptr<const Text> text;
            for (std::int64_t number = first, of_text = -1; number < first + count; ++number) {
                Chunk chunk = texts.chunk(number);
                if (std::exchange(of_text, chunk.text) != chunk.text || !text)
                    text = std::make_shared<const Text>(texts.text(chunk.text));
                tokens += chunk.encoding.size();
                if (!pack.has_room_for(chunk)) run_pack();
                pack.put(std::move(chunk), text);
            }
            run_pack();
            segment.add(block, gathered);
            ++done.blocks;
            done.chunks += count;
            done.tokens += tokens;
            done.seconds = seconds_since(started);
            forecast.after(done, segment);
            if (seconds_since(written) >= 60 * blocks.segment_minutes) {
                segment.write();
                written = Clock::now();
                if (blocks.enough && blocks.enough()) break;
            }
        }
    } catch (...) {
        segment.write();
        throw;
    }
    segment.write();
    done.seconds = seconds_since(started);
    return done;
}

namespace {

/// Locks the store's run or its texts for this process.
class StoreLock {
public:
    StoreLock(const fs::path& store, const std::string& name, io::FileLock::Kind kind, const CancelToken& cancel,
              const Note& note)
        : lock_(lock_file(store, name), kind, "Choose another folder for --out", cancel, [&] {
              if (!std::exchange(noted_, true) && note) note("waiting: another process runs this store");
          }) {}
    bool take_alone() noexcept { return lock_.take_alone(); }

private:
    bool noted_ = false;
    io::FileLock lock_;
};

/// What a run makes that fails before the first texts of a new store are written is removed again, unless another part runs in
/// it: `whole` is the lock of them all. Made before the locks, which make the folder.
class NewStore {
public:
    explicit NewStore(fs::path store) : store_(std::move(store)), new_(!is_store(store_)) {}
    void remove_if_empty(StoreLock& whole) const {
        std::error_code ignored;
        if (!new_ || fs::exists(store_ / part_name(0), ignored) || !whole.take_alone()) return;
        fs::remove(store_ / "manifest.json", ignored);
        fs::remove(store_ / "texts", ignored);  // these two only if nothing is in them
        fs::remove_all(store_ / ".locks", ignored);
        fs::remove(store_, ignored);
    }

private:
    fs::path store_;
    bool new_;
};

Manifest open_new_store(const NewStore& fresh, StoreLock& whole, const CorpusRun& run, const CancelToken& cancel,
                        const Progress& progress, const Note& note) {
    try {
        return open_store(run.setup, cancel, progress, note);
    } catch (...) {
        fresh.remove_if_empty(whole);
        throw;
    }
}

/// Blocks of a part that no segment has.
std::vector<std::int64_t> blocks_to_run(const CorpusRun& run, const Manifest& manifest) {
    std::set<std::int64_t> finished;
    for (const Segment& segment : segments_of(run.setup.store, manifest, run.parts == 1)) {
        (void)gathered_in(segment, manifest);  // a damaged one is found now, and not after hours
        finished.insert(segment.blocks.begin(), segment.blocks.end());
    }
    std::vector<std::int64_t> todo;
    for (std::int64_t block = 0; block < manifest.blocks(); ++block)
        if (block % run.parts == run.part - 1 && !finished.contains(block)) todo.push_back(block);
    return todo;
}

/// The number of blocks that no segment has.
std::int64_t merge_what_is_there(const CorpusRun& run, const Manifest& manifest, const CancelToken& cancel, const Note& note) {
    check_unchanged(run.setup.store, manifest, {});
    const StoreLock texts(run.setup.store, "texts", io::FileLock::Kind::exclusive, cancel, note);
    const std::vector<Segment> segments = segments_of(run.setup.store, manifest);
    std::int64_t blocks = 0;
    for (const Segment& segment : segments) blocks += std::ssize(segment.blocks);
    write_merged(run.setup.store, manifest, segments,
                 Gathered(manifest.options.measures, context_of(manifest, run.setup.model->config(), *run.setup.tokenizer)));
    return manifest.blocks() - blocks;
}

/// Whether the segments give a measure with enough precision; reports the precision.
class Precision {
public:
    Precision(const CorpusRun& run, const Manifest& manifest, const Note& note) : run_(run), manifest_(manifest), note_(note) {}
    bool enough() {
        const auto stored =
            read_finished(run_.setup.store, context_of(manifest_, run_.setup.model->config(), *run_.setup.tokenizer));
        const auto widest = stored ? widest_interval(*stored, run_.stop_at->measure) : std::nullopt;
        if (!widest) return false;
        words_ = "the widest interval of " + run_.stop_at->measure + " is ± " + significant(widest->half_width) + " (L" +
                 std::to_string(widest->head.layer.value) + "H" + std::to_string(widest->head.head.value) + "), over " +
                 with_commas(widest->texts) + " texts";
        const bool enough = widest->half_width <= run_.stop_at->half_width;
        if (note_) note_((enough ? "stopped: " : "") + words_);
        return enough;
    }
    const std::string& words() const { return words_; }

private:
    const CorpusRun& run_;
    const Manifest& manifest_;
    const Note& note_;
    std::string words_;
};

[[noreturn]] void fail_stop_at_of_parts() {
    throw Error({.problem = "--stop-at needs a single process that runs all texts",
                 .item = "--stop-at",
                 .hint = "Leave out --part, and run without MPI"});
}

}  // namespace

CorpusResult run_corpus(const CorpusRun& run, const CancelToken& cancel, const Progress& progress, const Note& note) {
    using Kind = io::FileLock::Kind;
    if (run.parts < 1 || run.part < 1 || run.part > run.parts)
        throw Error({.problem = "There is no such part",
                     .item = "--part",
                     .expected = "I/N with I from 1 to N",
                     .found = std::to_string(run.part) + "/" + std::to_string(run.parts)});
    if (run.stop_at && run.parts > 1) fail_stop_at_of_parts();
    const fs::path& store = run.setup.store;
    const NewStore fresh(store);
    StoreLock whole(store, "run", run.parts == 1 ? Kind::exclusive : Kind::shared, cancel, note);
    const StoreLock part(store, "part-" + std::to_string(run.part) + "-of-" + std::to_string(run.parts), Kind::exclusive, cancel,
                         note);
    CorpusResult result{.manifest = open_new_store(fresh, whole, run, cancel, progress, note), .done = {}, .missing_blocks = 0};
    std::vector<std::int64_t> todo = blocks_to_run(run, result.manifest);
    std::optional<Precision> precision;
    bool stopped = false;
    if (run.stop_at) {
        check(*run.stop_at, result.manifest);
        shuffle_blocks(todo, result.manifest.options.seed);
        precision.emplace(run, result.manifest, note);
        stopped = std::ssize(todo) < result.manifest.blocks() && precision->enough();  // judged by the segments of an earlier run
        if (stopped) todo.clear();
    }
    std::size_t at = 0;
    BlockPlan plan{.next = [&] { return at < todo.size() ? todo[at++] : -1; },
                   .chunks = result.manifest.chunks_of(todo),
                   .segment_minutes = run.segment_minutes,
                   .name = segment_prefix(run)};
    if (precision) plan.enough = [&] { return stopped = precision->enough(); };
    try {
        result.done = run_blocks(run.setup, result.manifest, plan, cancel, progress, note);
    } catch (const Cancelled&) {
        merge_what_is_there(run, result.manifest, {}, note);  // the finished part can be queried
        throw;
    }
    result.missing_blocks = merge_what_is_there(run, result.manifest, cancel, note);
    if (stopped) result.stopped = precision->words();
    return result;
}

CorpusResult run_corpus(const CorpusRun& asked, Team& team, const CancelToken& cancel, const Progress& progress,
                        const Note& note) {
    if (asked.stop_at) fail_stop_at_of_parts();
    CorpusRun run = asked;
    run.part = run.parts = 1;
    CorpusResult result;
    std::optional<StoreLock> lock;
    BlockPlan plan{.next = [&] { return team.next(); },
                   .chunks = 0,
                   .segment_minutes = run.segment_minutes,
                   .name = "r" + std::to_string(team.rank()) + "-"};
    if (team.rank() == 0) {
        const NewStore fresh(run.setup.store);
        lock.emplace(run.setup.store, "run", io::FileLock::Kind::exclusive, cancel, note);
        result.manifest = open_new_store(fresh, *lock, run, cancel, progress, note);
        std::vector<std::int64_t> todo = blocks_to_run(run, result.manifest);
        plan.chunks = result.manifest.chunks_of(todo) / team.size();
        team.give_out(std::move(todo));
    }
    team.barrier();
    if (team.rank() > 0) {
        if (!is_store(run.setup.store))
            throw Error({.problem = "Process " + std::to_string(team.rank()) + " does not see the store that process 0 has made",
                         .file = fs::absolute(run.setup.store).string(),
                         .hint = "Name a folder with --out that all nodes share; without one run parts with --part, each into a "
                                 "store of its own, and join these with headlight corpus merge"});
        run.setup.texts = {};
        result.manifest = open_store(run.setup, cancel, {}, note);
    }
    const auto between = [&](const ProgressStep& step) {
        if (team.rank() == 0) team.answer();
        if (progress) progress(step);
    };
    result.done = run_blocks(run.setup, result.manifest, plan, cancel, between, note);
    if (team.rank() == 0) team.answer_all();
    team.barrier();
    if (team.rank() == 0) result.missing_blocks = merge_what_is_there(run, result.manifest, cancel, note);
    return result;
}

}  // namespace headlight::corpus
