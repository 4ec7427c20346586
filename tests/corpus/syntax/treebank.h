// SPDX-License-Identifier: GPL-3.0-or-later
// The treebank of the tests, run through the built-in model once for a test program.
#pragma once

#include "headlight/corpus/reading/conllu.h"
#include "tests/corpus/runs.h"

#include <nlohmann/json.hpp>

#include <fstream>
#include <string>

namespace headlight::corpus {

inline const Runs& treebank_runs() {
    static const Runs* const runs = [] {
        auto* made = new Runs(built_in_model());
        for (const Text& text : read_conllu(std::string(HEADLIGHT_SOURCE_DIR) + "/tests/fixtures/treebank/ewt-excerpt.conllu"))
            made->run_text(text, {.text = text.text});
        return made;
    }();
    return *runs;
}

inline nlohmann::json syntax_golden() {
    std::ifstream in(std::string(HEADLIGHT_SOURCE_DIR) + "/tests/golden/corpus/syntax.json");
    return nlohmann::json::parse(in);
}

}  // namespace headlight::corpus
