// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/corpus/run/pack.h"

#include "headlight/base/error.h"
#include "headlight/model/same_products.h"

#include <ATen/Parallel.h>

#include <utility>

namespace headlight::corpus {

PackOfChunks::PackOfChunks(std::shared_ptr<const model::Model> model, std::shared_ptr<const headlight::text::Tokenizer> tokenizer,
                           trace::CapturePlan plan, std::int64_t most_tokens)
    : model_(std::move(model)), tokenizer_(std::move(tokenizer)), plan_(std::move(plan)), most_tokens_(most_tokens) {}

TextRun PackOfChunks::Member::run() const {
    return {.number = chunk.number,
            .text = *text,
            .first_byte = chunk.first_byte,
            .first_query = chunk.first_query,
            .begins = chunk.begins,
            .whole = chunk.whole,
            .encoding = chunk.encoding};
}

trace::EncodedText PackOfChunks::Member::encoded() const {
    return {.text = bytes_of(chunk, *text), .encoding = chunk.encoding, .first_counted = chunk.first_query};
}

void PackOfChunks::Member::name_in_errors_of(const std::function<void()>& work) const {
    try {
        work();
    } catch (const Error& error) {
        ErrorFacts facts = error.facts();
        facts.item =
            "text " + text->id + " (chunk " + std::to_string(chunk.number) + ")" + (facts.item.empty() ? "" : ", " + facts.item);
        throw Error(facts);
    }
}

bool PackOfChunks::has_room_for(const Chunk& chunk) const noexcept {
    return members_.empty() || tokens_ + chunk.encoding.size() <= most_tokens_;
}

void PackOfChunks::put(Chunk chunk, std::shared_ptr<const Text> text) {
    tokens_ += chunk.encoding.size();
    members_.push_back({std::move(chunk), std::move(text)});
}

PackOfChunks::Traces PackOfChunks::pass_of(std::span<const Member> members, std::span<Gathered::OfText> gathered,
                                           const CancelToken& cancel, const Progress& layers) const {
    const model::SameProducts rows(model::SameProducts::Of::row);
    std::vector<trace::PackedText> texts;
    for (std::size_t i = 0; i < members.size(); ++i)
        texts.push_back({members[i].encoded(), gathered[i].reads() ? &gathered[i] : nullptr});
    return trace::run_packed(model_, tokenizer_, std::move(texts), plan_, cancel, layers);
}

PackOfChunks::Traces PackOfChunks::pass(std::vector<Gathered::OfText>& gathered, const CancelToken& cancel,
                                        const Progress& layers) const {
    try {
        return pass_of(members_, gathered, cancel, layers);
    } catch (const Error&) {
        // One by one: this names the failing text, and texts that need too much memory together may fit separately.
    }
    Traces traces;
    for (std::size_t i = 0; i < members_.size(); ++i)
        members_[i].name_in_errors_of([&] {
            gathered[i].forget();
            traces.push_back(
                pass_of(std::span(members_).subspan(i, 1), std::span(gathered).subspan(i, 1), cancel, layers).front());
        });
    return traces;
}

void PackOfChunks::run(Gathered& into, const CancelToken& cancel, const Progress& layers,
                       const std::function<void()>& before_each) {
    std::vector<Gathered::OfText> gathered;
    gathered.reserve(members_.size());
    for (const Member& member : members_) gathered.emplace_back(into, member.run());
    const Traces traces = pass(gathered, cancel, layers);
    const auto finish = [&](std::int64_t first, std::int64_t last) {
        const model::SameProducts same;
        for (auto i = static_cast<std::size_t>(first); i < static_cast<std::size_t>(last); ++i)
            members_[i].name_in_errors_of([&] { gathered[i].finish(*traces[i]); });
    };
    // Few texts are long ones, which use all threads one after another.
    const auto texts = std::ssize(members_);
    texts >= 2 * at::get_num_threads() ? at::parallel_for(0, texts, 1, finish) : finish(0, texts);
    const model::SameProducts same;
    for (std::size_t i = 0; i < members_.size(); ++i) {
        if (before_each) before_each();
        members_[i].name_in_errors_of([&] { gathered[i].add(); });
    }
    members_.clear();
    tokens_ = 0;
}

}  // namespace headlight::corpus
