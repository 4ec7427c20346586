// SPDX-License-Identifier: GPL-3.0-or-later
// The classes of a model whose logits are not of tokens: of texts, tokens, answers or pictures.
#pragma once

#include "headlight/model/config.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headlight::model {

/// The row of the logits that is the model's output: of a picture that of [CLS]; of a text the one its head reads
/// (reads_mean: every row is the output, 0). nullopt where every row is one, and for language models.
std::optional<std::int64_t> class_position(const ModelConfig&, const std::vector<std::int64_t>& ids);

/// The same of classifiers with a ClassHead: what another row of theirs would give is no output of the model. Where a picture's
/// [CLS] is read, its other rows may be asked about.
std::optional<std::int64_t> text_class_position(const ModelConfig&, const std::vector<std::int64_t>& ids);

/// Error where the head of a classifier of texts does not read this row; `option` names what asked for it. The mean of all rows
/// is read at none of them: an error only where an option asks for one.
void require_class_position(const ModelConfig&, const std::vector<std::int64_t>& ids, std::int64_t position,
                            const std::string& option = {});

/// A row that a head of several reads: the logits are b_U and the sum over these of share * row . W_U[part d_model ...].
struct ReadRow {
    std::int64_t row = 0;
    double share = 1;
    std::int64_t part = 0;  ///< below head_parts()
};
/// The rows of a model whose reads_mean(), of so many tokens.
std::vector<ReadRow> rows_read(const ModelConfig&, std::int64_t tokens);

/// "read at the first token", "read from the mean of all tokens".
std::string rows_text(const ModelConfig&);

/// "NEGATIVE, NEUTRAL, POSITIVE", with "and N more" behind the first twelve.
std::string class_list(const ModelConfig&);

/// A class by its name, in any case where only one has it so, or its number. Error with the list of classes; `option` names what
/// was asked: "--token".
std::int64_t class_of(const ModelConfig&, std::string_view typed, const std::string& option);

/// "sequence classifier of 3 classes (NEGATIVE, NEUTRAL, POSITIVE), read at the first token"; "language model".
std::string head_text(const ModelConfig&);

/// Why a model has no logits: "the head of this model (score.weight) is not supported".
std::string why_no_logits(const ModelConfig&);

}  // namespace headlight::model
