// SPDX-License-Identifier: GPL-3.0-or-later
#include "text/models/model.h"

namespace headlight::text {

ModelPtr make_model(const Field& f) {
    if (!f.has("type")) {
        // Files written before the key existed: only BPE has merges, only WordPiece the limit of a word's length.
        if (f.has("merges")) return make_bpe(f);
        if (f.has("max_input_chars_per_word")) return make_word_piece(f);
    }
    const std::string type = f.type({"BPE", "WordPiece", "Unigram", "WordLevel"}, "tokenizer model");
    if (type == "BPE") return make_bpe(f);
    if (type == "Unigram") return make_unigram(f);
    if (type == "WordLevel") return make_word_level(f);
    return make_word_piece(f);
}

}  // namespace headlight::text
