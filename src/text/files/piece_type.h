// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>

namespace headlight::text {

/// What SentencePiece puts in place of a space (U+2581).
inline constexpr const char* kSpace = "▁";

/// ModelProto.SentencePiece.Type; GGUF's tokenizer.ggml.token_type has the same numbers.
enum PieceType : std::uint8_t { normal = 1, unknown, control, user_defined, unused, byte };

}  // namespace headlight::text
