// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/corpus/probe/states.h"
#include "tests/corpus/runs.h"

namespace headlight::corpus {

/// A store that the built-in model has run, with what probes read of it.
struct ProbedStore {
    test::TempFolder folder;
    RunSetup setup;
    Manifest manifest;

    /// `texts` may write them to the folder.
    explicit ProbedStore(const std::function<AddTexts(const test::TempFolder&)>& texts)
        : setup(run_setup(folder / "store", {}, {"heads"})) {
        setup.texts = texts(folder);
        manifest = run_store(setup);
    }
    StatesOptions states() const { return {.store = setup.store, .model = setup.model, .tokenizer = setup.tokenizer}; }
    TextStore texts() const { return TextStore(setup.store, manifest); }
    LabelledExamples labels(const std::string& of) const {
        TextStore read = texts();
        return read_labels(read, of);
    }
};

}  // namespace headlight::corpus
