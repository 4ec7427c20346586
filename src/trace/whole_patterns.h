// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/trace/encoded.h"

#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace headlight::trace {

/// Puts the tiles of a pass together, a head at a time: as many patterns are whole at once as threads work on.
class WholePatterns {
public:
    WholePatterns(std::int64_t queries, std::int64_t keys, PatternReader& reader)
        : queries_(queries), keys_(keys), reader_(reader) {}

    /// Rows [first, first + count) with `width` columns each, `stride` floats apart; columns behind are 0. From several threads,
    /// every row of a head once; the last call of a head gives its pattern to the reader.
    void add_rows(HeadId, const float* rows, std::int64_t first, std::int64_t count, std::int64_t width, std::int64_t stride,
                  std::span<const float> lengths);

private:
    struct Buffer {
        std::vector<float> weights;
        std::vector<std::int64_t> widths;  ///< [query] columns from here on are 0
    };
    struct Open {
        Buffer buffer;
        std::int64_t rows = 0;  ///< that are there
    };
    Buffer& open(HeadId);

    std::int64_t queries_, keys_;
    PatternReader& reader_;
    std::mutex mutex_;
    std::map<HeadId, Open> open_;
    std::vector<Buffer> unused_;
};

}  // namespace headlight::trace
