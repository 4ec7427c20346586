// SPDX-License-Identifier: GPL-3.0-or-later
#include "text/normalizers/normalizer.h"

namespace headlight::text {

NormalizerPtr make_normalizer(const Field& f) {
    const std::string type = f.type({"Sequence", "Replace", "BertNormalizer", "NFC", "NFD", "NFKC", "NFKD", "Lowercase",
                                     "StripAccents", "Strip", "Prepend", "Precompiled", "Nmt", "SentencePiece", "ByteLevel"},
                                    "normalizer");
    if (type == "Sequence") return make_normalizer_sequence(f);
    if (type == "Replace") return make_replace(f);
    if (type == "BertNormalizer") return make_bert_normalizer(f);
    if (type == "Lowercase") return make_lowercase();
    if (type == "StripAccents") return make_strip_accents();
    if (type == "Strip") return make_strip(f);
    if (type == "Prepend") return make_prepend(f);
    if (type == "Precompiled") return make_precompiled(f);
    if (type == "ByteLevel") return make_byte_level_normalizer();
    if (type == "Nmt") return make_nmt();
    if (type == "SentencePiece") return make_sentence_piece(f);
    return make_unicode_form(type);
}

}  // namespace headlight::text
