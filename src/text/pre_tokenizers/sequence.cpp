// SPDX-License-Identifier: GPL-3.0-or-later
#include "text/pre_tokenizers/pre_tokenizer.h"

namespace headlight::text {

PreTokenizerPtr make_pre_tokenizer_sequence(const Field& f) {
    std::vector<PreTokenizerPtr> parts;
    for (const Field& item : f.at("pretokenizers").items()) parts.push_back(make_pre_tokenizer(item));
    return pre_tokenizer_of([parts = std::move(parts)](Section& s) {
        for (const auto& part : parts) {
            s.write_out_bytes();  // only where a stage follows ByteLevel: it sees the alphabet's characters
            part->split(s);
        }
    });
}

}  // namespace headlight::text
