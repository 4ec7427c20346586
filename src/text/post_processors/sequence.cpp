// SPDX-License-Identifier: GPL-3.0-or-later
#include "text/post_processors/post_processor.h"

namespace headlight::text {
namespace {

class PostProcessorSequence final : public PostProcessor {
public:
    explicit PostProcessorSequence(std::vector<PostProcessorPtr> parts) : parts_(std::move(parts)) {}
    void process(std::vector<Segment>& segments, bool add_special_tokens, const VocabView& vocab) const override {
        for (const auto& part : parts_) part->process(segments, add_special_tokens, vocab);
    }
    bool is_template() const noexcept override {
        for (const auto& part : parts_) {
            if (part->is_template()) return true;
        }
        return false;
    }

private:
    std::vector<PostProcessorPtr> parts_;
};

}  // namespace

PostProcessorPtr make_post_processor_sequence(const Field& f, const VocabView& vocab) {
    std::vector<PostProcessorPtr> parts;
    bool has_template = false;
    for (const Field& item : f.at("processors").items()) {
        parts.push_back(make_post_processor(item, vocab));
        if (parts.back()->is_template() && has_template) item.fail("A sequence can have only one template");
        has_template = has_template || parts.back()->is_template();
    }
    return std::make_unique<PostProcessorSequence>(std::move(parts));
}

}  // namespace headlight::text
