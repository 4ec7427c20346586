// SPDX-License-Identifier: GPL-3.0-or-later
// An option that names a token: an id, or text that is one token.
#pragma once

#include "cli/options.h"
#include "headlight/analyze/prediction/token_choice.h"
#include "headlight/trace/trace.h"

#include <cstdint>
#include <optional>
#include <string>

namespace headlight::cli {

struct TokenArgument {
    std::string name;  ///< "--token"
    std::string typed{};
    CLI::Option* option = nullptr;

    CLI::Option* add(Definition& definition, const std::string& help) {
        option = definition.app->add_option(name, typed, help + ": an id, or text that is one token")->type_name("ID|TEXT");
        return option;
    }
    bool given() const { return option->count() > 0; }
    /// How the text was understood is said as a note.
    std::optional<std::int64_t> id(const text::Tokenizer& tokenizer, const model::ModelConfig& config,
                                   const Console& console) const {
        if (!given()) return std::nullopt;
        const analyze::TokenChoice choice = analyze::choose_token(tokenizer, config.vocab_size, typed, name);
        if (!choice.note.empty()) console.note(name + ": " + choice.note);
        return choice.id;
    }
};

/// Layers, positions and the like: a number from 0.
inline CLI::Option* add_index(Definition& definition, const std::string& flag, std::int64_t& value, const std::string& help) {
    return definition.app->add_option(flag, value, help)->type_name("N")->check(counted_from_zero());
}

}  // namespace headlight::cli
