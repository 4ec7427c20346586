// SPDX-License-Identifier: GPL-3.0-or-later
// The functions under fuzzing. The only outcomes are success and Error: anything else (a crash, a hang, another
// exception, a broken promise of the reader) ends the program, which is how a fuzzer hears of it.
#pragma once

#include <string_view>

namespace headlight::test {

void fuzz_gguf(std::string_view bytes);
void fuzz_pickle(std::string_view bytes);     ///< a pickle, and the tensors of an archive that holds it
void fuzz_tokenizer(std::string_view bytes);  ///< tokenizer.json, and the tokens of some texts

}  // namespace headlight::test
