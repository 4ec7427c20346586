// SPDX-License-Identifier: GPL-3.0-or-later
// What the fuzzers throw bytes at. Only success or Error may come of it: anything else (a crash, a hang, another
// exception, a broken promise of the reader) ends the program, which is how a fuzzer hears of it.
#pragma once

#include <string_view>

namespace headlight::test {

void fuzz_gguf(std::string_view bytes);
void fuzz_pickle(std::string_view bytes);     ///< a pickle, and the tensors of an archive that holds it
void fuzz_tokenizer(std::string_view bytes);  ///< tokenizer.json; what it makes of some texts

}  // namespace headlight::test
