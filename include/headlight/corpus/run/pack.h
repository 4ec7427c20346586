// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/corpus/store/chunks.h"
#include "headlight/corpus/store/segments.h"
#include "headlight/trace/encoded.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace headlight::corpus {

/// Tokens of a pack at most, unless a single chunk has more: a pass over fewer is slower, one over more needs more memory.
constexpr std::int64_t kPackedTokens = 1024;

/// Runs chunks through the model in one pass without padding, and into accumulators: the same bytes as one by one.
class PackOfChunks {
public:
    PackOfChunks(std::shared_ptr<const model::Model>, std::shared_ptr<const headlight::text::Tokenizer>, trace::CapturePlan,
                 std::int64_t most_tokens = kPackedTokens);

    bool has_room_for(const Chunk&) const noexcept;  ///< an empty one for any
    void put(Chunk, std::shared_ptr<const Text>);
    /// Empties it. `layers` is called at each layer of the pass, `before_each` before each chunk is added. Errors name the text.
    void run(Gathered& into, const CancelToken& = {}, const Progress& layers = {}, const std::function<void()>& before_each = {});

private:
    struct Member {
        Chunk chunk;
        std::shared_ptr<const Text> text;
        TextRun run() const;
        trace::EncodedText encoded() const;
        void name_in_errors_of(const std::function<void()>& work) const;
    };
    using Traces = std::vector<std::shared_ptr<const trace::Trace>>;
    Traces pass_of(std::span<const Member>, std::span<Gathered::OfText>, const CancelToken&, const Progress&) const;
    Traces pass(std::vector<Gathered::OfText>&, const CancelToken&, const Progress&) const;

    std::shared_ptr<const model::Model> model_;
    std::shared_ptr<const headlight::text::Tokenizer> tokenizer_;
    trace::CapturePlan plan_;
    std::int64_t most_tokens_, tokens_ = 0;
    std::vector<Member> members_;
};

}  // namespace headlight::corpus
