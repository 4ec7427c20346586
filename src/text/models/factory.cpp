// SPDX-License-Identifier: GPL-3.0-or-later
#include "text/models/model.h"

namespace headlight::text {

ModelPtr make_model(const Field& f) {
    if (!f.has("type")) {
        // Files written before the key existed: only BPE has merges, only WordPiece the limit of a word's length.
        if (f.has("merges")) return make_bpe(f);
        if (f.has("max_input_chars_per_word")) return make_word_piece(f);
    }
    return f.type({"BPE", "WordPiece"}, "tokenizer model") == "BPE" ? make_bpe(f) : make_word_piece(f);
}

}  // namespace headlight::text
