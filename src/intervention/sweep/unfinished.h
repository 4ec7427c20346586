// SPDX-License-Identifier: GPL-3.0-or-later
// What a sweep has, as lines: one that says which sweep it is, then one for every pair that has begun and one for every pass. A
// file of them is written as the sweep runs, so that a process that dies loses one pass; a session keeps them whole.
#pragma once

#include "headlight/intervention/sweep/sweep.h"
#include "headlight/io/file_lock.h"

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace headlight::intervention {

/// The sum of the effects of a cell's first `taken` variants, `of` in all (several: the donors of resampling).
struct CellSum {
    std::size_t cell = 0;
    double sum = 0;
    std::size_t taken = 0, of = 1;
};

/// A pair that has begun.
struct BegunPair {
    double base = kNaN, other = kNaN;
    bool shifted = false;
    std::vector<double> beside{};     ///< [cell] estimates by attribution, or direct effects
    std::vector<CellState> states{};  ///< [cell], once all is done
};

struct SweepContent {
    std::int64_t memory = 0;  ///< of a pass: the numbers depend on which cells share one, in their last digits
    std::vector<std::pair<std::size_t, BegunPair>> pairs{};
    std::vector<std::pair<std::size_t, CellSum>> sums{};  ///< with their pair, in the order of their passes
};

/// Lines, each with its end.
std::string header_line(const SweepFacts&, std::int64_t memory);
std::string pair_line(std::size_t pair, const BegunPair&);
std::string pass_line(std::size_t pair, const std::vector<CellSum>&);

/// Where lines come from, and what helps if they cannot be read or are another sweep's.
struct LinesFrom {
    std::string file, unreadable, other;
};
/// Errors: the lines are those of another sweep, or of none.
SweepContent content_of(std::string_view lines, const SweepFacts&, std::size_t pairs, std::size_t cells, const LinesFrom&);

/// The file of a sweep that has not finished, which one process computes at a time: FILE.lock is locked meanwhile.
class UnfinishedSweep {
public:
    /// Errors: as content_of(); another process has the file.
    UnfinishedSweep(std::filesystem::path, SweepFacts, std::int64_t memory, std::size_t pairs, std::size_t cells);
    const SweepContent& content() const noexcept { return content_; }

    void begin(std::size_t pair, const BegunPair&);
    void add(std::size_t pair, const CellSum&);
    /// Writes what was added since the last pass. Error: the disk is full.
    void end_pass();

private:
    void write(const std::string& lines);

    class Lock {
    public:
        explicit Lock(const std::filesystem::path& of);
        ~Lock();

    private:
        std::filesystem::path file_;
        io::FileLock lock_;
    };
    struct Close {
        void operator()(std::FILE* f) const noexcept { std::fclose(f); }
    };
    std::filesystem::path path_;
    Lock lock_;
    SweepFacts facts_;
    SweepContent content_;
    std::unique_ptr<std::FILE, Close> out_{};
    std::string begun_{};  ///< lines of pairs, written with their first pass
    bool beside_ = false;  ///< they hold numbers beside the cells, which are worth a file of their own
    std::size_t pair_ = 0;
    std::vector<CellSum> pass_{};
};

}  // namespace headlight::intervention
