// SPDX-License-Identifier: GPL-3.0-or-later
#include "text/post_processors/post_processor.h"

#include <algorithm>

namespace headlight::text {
namespace {

struct Piece {
    int sequence = -1;              ///< 0 = A, 1 = B, -1: the ids
    std::vector<std::int32_t> ids;  ///< special tokens
    std::int64_t type_id = 0;
};

class TemplateProcessing final : public PostProcessor {
public:
    TemplateProcessing(std::vector<Piece> single, std::vector<Piece> pair) : single_(std::move(single)), pair_(std::move(pair)) {}
    bool is_template() const noexcept override { return true; }
    void process(std::vector<Segment>& segments, bool add_special_tokens, const VocabView&) const override {
        std::vector<Segment> out;
        for (const Piece& piece : segments.size() > 1 ? pair_ : single_) {
            if (piece.sequence >= 0) {
                out.push_back(segments[static_cast<std::size_t>(piece.sequence)]);
                out.back().type_id = piece.type_id;
            } else if (add_special_tokens) {
                out.push_back(special_segment(piece.ids, piece.type_id));
            }
        }
        segments = std::move(out);
    }

private:
    std::vector<Piece> single_;
    std::vector<Piece> pair_;
};

std::vector<Piece> read_template(const Field& f, const Field& special, bool pair, const VocabView& vocab) {
    std::vector<Piece> out;
    bool used[2] = {false, false};
    for (const Field& item : f.items()) {
        Piece piece;
        const auto sequence = item.find("Sequence");
        const Field body = sequence ? *sequence : item.at("SpecialToken");
        piece.type_id = body.has("type_id") ? body.at("type_id").integer(0, 1'000'000) : 0;
        const std::string& id = body.at("id").string();
        if (sequence) {
            if (id != "A" && !(pair && id == "B")) body.at("id").fail_expected(pair ? "\"A\" or \"B\"" : "\"A\"");
            piece.sequence = id == "A" ? 0 : 1;
            used[piece.sequence] = true;
        } else {
            if (!special.has(id.c_str())) {
                body.at("id").fail("The template names a special token that is not in special_tokens", "", id);
            }
            for (const Field& token : special.at(id.c_str()).at("ids").items()) {
                piece.ids.push_back(checked_id(token, vocab));
            }
        }
        out.push_back(std::move(piece));
    }
    if (!used[0] || (pair && !used[1])) f.fail("The template leaves out a sentence", pair ? "A and B" : "A");
    return out;
}

}  // namespace

PostProcessorPtr make_template_processing(const Field& f, const VocabView& vocab) {
    const Field special = f.at("special_tokens");
    return std::make_unique<TemplateProcessing>(read_template(f.at("single"), special, false, vocab),
                                                read_template(f.at("pair"), special, true, vocab));
}

}  // namespace headlight::text
