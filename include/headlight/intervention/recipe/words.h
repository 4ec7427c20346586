// SPDX-License-Identifier: GPL-3.0-or-later
// An edit as a person types it: "zero L9H6", "knockout L9H6 12<-4", "patch L9H6.z from \"TEXT\" @12". Grammar: docs/recipe.md.
#pragma once

#include "headlight/intervention/recipe/recipe.h"

#include <string>
#include <string_view>

namespace headlight::intervention {

/// Error names the column (1-based, in bytes), what is expected there, and the nearest right word. "off zero L9H6" is switched
/// off.
Edit parse_edit(std::string_view words);
/// What parse_edit() reads as the same edit.
std::string words_of(const Edit&);

/// "L7-8H0,3", "encoder.L1H0.q", "L3.mlp_out": where and site.
std::string place_text(const Edit&);
/// "12", "4-7", "END", "S2+1, punctuation"; "" for all.
std::string positions_text(const Positions&);

}  // namespace headlight::intervention
