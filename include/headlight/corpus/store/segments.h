// SPDX-License-Identifier: GPL-3.0-or-later
// Segments hold the finished part of a run. Each is a set of blocks of chunks with every accumulator over exactly these blocks.
#pragma once

#include "headlight/corpus/accumulate/accumulator.h"
#include "headlight/corpus/store/manifest.h"
#include "headlight/trace/capture.h"

#include <memory>
#include <vector>

namespace headlight::corpus {

/// The accumulators of a run, one of each measure.
class Gathered {
public:
    /// Error for a measure that does not exist.
    Gathered(const std::vector<std::string>& measures, const AccumulatorContext&);
    /// What a file of a run with this seed holds; its model is not needed.
    Gathered(const std::vector<std::string>& measures, const Arrays&, std::uint64_t seed);
    Gathered fresh() const;
    std::size_t kinds() const noexcept { return all_.size(); }
    Gathered fresh(std::size_t kind) const;  ///< one of its accumulators alone, empty
    void merge(const Gathered&);
    void save(Arrays&) const;
    void load(const Arrays&);  ///< into a fresh one
    trace::CapturePlan plan() const;
    /// One text: receives the patterns of a run with plan(). After the run finish() is called, for several texts at once, then
    /// add(), for one text at a time.
    class OfText final : public trace::PatternReader {
    public:
        OfText(Gathered&, const TextRun&);
        bool reads() const noexcept;  ///< patterns
        void forget();                ///< discards the results of the pass so far: it is run again
        bool takes_patterns() const override;
        bool takes_rows() const override;
        void pattern(HeadId, const trace::HeadPattern&) override;
        void rows(HeadId, const trace::HeadRows&) override;
        void finish(const trace::Trace&);
        void add();

    private:
        Gathered& to_;
        TextRun run_;
        std::vector<std::unique_ptr<TextPatterns>> patterns_;  ///< [accumulator], nullptr: reads none
    };

private:
    Gathered() = default;
    std::vector<std::unique_ptr<Accumulator>> all_;
};

/// The machine that ran it: segments of different machines may differ in the last bits.
struct Machine {
    std::string program, cpu, library, device;
    bool operator==(const Machine&) const = default;
    std::string text() const;
};
Machine this_machine(const model::Model&);

struct Segment {
    std::filesystem::path file;
    std::vector<std::int64_t> blocks;
    std::int64_t chunks = 0;  ///< in these blocks
    Machine machine;
};
/// Writes a new file, atomically.
void write_segment(const std::filesystem::path& file, const Manifest&, std::vector<std::int64_t> blocks, const Gathered&,
                   const Machine&);
/// The segments of a store, in the order of their names. A block that has grown since (texts were appended) makes its segment
/// stale: it is not listed, and deleted with `remove_stale`. Errors: a file that is damaged, or not a segment of this store, or
/// of other texts; a block in two segments.
std::vector<Segment> segments_of(const std::filesystem::path& store, const Manifest&, bool remove_stale = false);
/// Error when the store was deleted or replaced since its manifest was read: results of these blocks are of other texts.
void check_unchanged(const std::filesystem::path& store, const Manifest&, const std::vector<std::int64_t>& blocks);
/// Error when a block is in two of them.
void check_disjoint(const std::vector<Segment>&);
/// "segments/NAME0000.safetensors", with the first unused number.
std::filesystem::path next_segment_file(const std::filesystem::path& store, const std::string& name);

struct Merged {
    Arrays arrays{};
    std::vector<std::int64_t> blocks{};
    std::int64_t chunks = 0;  ///< that were run
    bool rebuilt = false;     ///< from the segments: the file was damaged
};
/// What a segment holds; its model is not needed.
Gathered gathered_in(const Segment&, const Manifest&);
/// The combined content of the segments: the same bytes for any segments of the same blocks.
Merged merge_segments(const std::vector<Segment>&, const Manifest&, const Gathered& fresh);
/// Writes merged.safetensors.
void write_merged(const std::filesystem::path& store, const Manifest&, const std::vector<Segment>&, const Gathered& fresh);
/// Blocks that have grown since (texts were appended) cover only the earlier texts. A file that is damaged, or of another run or
/// other texts than the store's, is merged again from the segments. Errors: it is missing, or cannot be rebuilt.
Merged read_merged(const std::filesystem::path& store, const Manifest&);

}  // namespace headlight::corpus
