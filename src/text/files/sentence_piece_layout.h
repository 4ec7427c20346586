// SPDX-License-Identifier: GPL-3.0-or-later
// Models whose ids are not the places of the pieces in their SentencePiece file: those of fairseq (XLM-R, CamemBERT, mBART),
// Pegasus and DeBERTa. The same numbers as transformers' converters give (convert_slow_tokenizer.py).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace headlight::text {

struct SentencePieceLayout {
    enum class Type { control, unknown };
    struct Token {
        std::string content;
        Type type = Type::control;
        bool takes_space = false;  ///< the space before it belongs to it (<mask>)
    };
    std::vector<Token> front;  ///< the first ids
    std::size_t skip = 0;      ///< so many pieces of the file give way to them
    std::vector<Token> back;   ///< ids after the pieces
    /// What stands around one text and a pair: "$A", "$B", or a token.
    std::vector<std::string> single, pair;
    bool pair_types = false;  ///< the second text and what follows has token type 1
};

/// Value of a token's field in tokenizer_config.json ("mask_token"), or the fallback.
using TokenField = std::function<std::string(const char* key, const std::string& fallback)>;

/// `kind` is the tokenizer's class or the model type in lower case. Empty where ids are places in the file.
std::optional<SentencePieceLayout> sentence_piece_layout(const std::string& kind, const TokenField&, std::int64_t pegasus_offset);

}  // namespace headlight::text
