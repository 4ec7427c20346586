// SPDX-License-Identifier: GPL-3.0-or-later
#include "text/pre_tokenizers/pre_tokenizer.h"

namespace headlight::text {
namespace {

class PreTokenizerSequence final : public PreTokenizer {
public:
    explicit PreTokenizerSequence(std::vector<PreTokenizerPtr> parts) : parts_(std::move(parts)) {}
    void split(Section& s) const override {
        for (const auto& part : parts_) {
            s.write_out_bytes();  // only where a stage follows ByteLevel: it sees the alphabet's characters
            part->split(s);
        }
    }

private:
    std::vector<PreTokenizerPtr> parts_;
};

}  // namespace

PreTokenizerPtr make_pre_tokenizer_sequence(const Field& f) {
    std::vector<PreTokenizerPtr> parts;
    for (const Field& item : f.at("pretokenizers").items()) parts.push_back(make_pre_tokenizer(item));
    return std::make_unique<PreTokenizerSequence>(std::move(parts));
}

}  // namespace headlight::text
