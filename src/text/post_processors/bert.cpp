// SPDX-License-Identifier: GPL-3.0-or-later
// BertProcessing ([CLS] A [SEP] B [SEP]) and RobertaProcessing (<s> A </s></s> B </s>).
#include "text/post_processors/post_processor.h"

namespace headlight::text {
namespace {

std::int32_t named_id(const Field& pair, const VocabView& vocab) {
    const auto items = pair.items();
    if (items.size() != 2) pair.fail_expected("[\"token\", id]");
    items[0].string();
    return checked_id(items[1], vocab);
}

class BertProcessing final : public PostProcessor {
public:
    BertProcessing(std::int32_t cls, std::int32_t sep) : cls_(cls), sep_(sep) {}
    bool is_template() const noexcept override { return true; }
    void process(std::vector<Segment>& segments, bool add_special_tokens, const VocabView&) const override {
        if (!add_special_tokens) return;
        std::vector<Segment> out;
        out.push_back(special_segment({cls_}, 0));
        for (std::size_t i = 0; i < segments.size(); ++i) {
            out.push_back(std::move(segments[i]));
            out.push_back(special_segment({sep_}, i == 0 ? 0 : 1));
        }
        segments = std::move(out);
    }

private:
    std::int32_t cls_;
    std::int32_t sep_;
};

class RobertaProcessing final : public PostProcessor {
public:
    RobertaProcessing(std::int32_t cls, std::int32_t sep, bool trim, bool add_prefix_space)
        : cls_(cls), sep_(sep), trim_(trim), add_prefix_space_(add_prefix_space) {}
    bool is_template() const noexcept override { return true; }
    void process(std::vector<Segment>& segments, bool add_special_tokens, const VocabView& vocab) const override {
        for (Segment& s : segments) {
            if (trim_) trim_offsets(s, add_prefix_space_, vocab);
            s.type_id = 0;
        }
        if (!add_special_tokens) return;
        std::vector<Segment> out;
        for (std::size_t i = 0; i < segments.size(); ++i) {
            out.push_back(special_segment({i == 0 ? cls_ : sep_}, 0));
            out.push_back(std::move(segments[i]));
            out.push_back(special_segment({sep_}, 0));
        }
        segments = std::move(out);
    }

private:
    std::int32_t cls_;
    std::int32_t sep_;
    bool trim_;
    bool add_prefix_space_;
};

}  // namespace

PostProcessorPtr make_bert_processing(const Field& f, const VocabView& vocab) {
    return std::make_unique<BertProcessing>(named_id(f.at("cls"), vocab), named_id(f.at("sep"), vocab));
}

PostProcessorPtr make_roberta_processing(const Field& f, const VocabView& vocab) {
    return std::make_unique<RobertaProcessing>(named_id(f.at("cls"), vocab), named_id(f.at("sep"), vocab),
                                               f.boolean_or("trim_offsets", true), f.boolean_or("add_prefix_space", true));
}

}  // namespace headlight::text
