// SPDX-License-Identifier: GPL-3.0-or-later
// The treebank of the tests, run through the built-in model once for a test program.
#pragma once

#include "headlight/corpus/reading/conllu.h"
#include "headlight/corpus/syntax/word_index.h"
#include "tests/corpus/runs.h"

namespace headlight::corpus {

inline const Runs& treebank_runs() {
    static const Runs* const runs = [] {
        auto* made = new Runs(built_in_model());
        for (const Text& text : read_conllu(treebank_file())) made->run_text(text, {.text = text.text});
        return made;
    }();
    return *runs;
}

inline nlohmann::json syntax_golden() { return golden_json("corpus/syntax.json"); }

inline WordIndex treebank_index() { return treebank_runs().filled(WordIndex(6, 8, true)); }

}  // namespace headlight::corpus
