// SPDX-License-Identifier: GPL-3.0-or-later
// A text under a recipe.
#pragma once

#include "headlight/base/job.h"
#include "headlight/intervention/recipe/recipe.h"
#include "headlight/model/generate.h"
#include "headlight/trace/edits.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace headlight::intervention {

/// The text that is edited, and what edits refer to beside it: its unedited run, other texts, means, directions. What was
/// computed is kept, so that a changed recipe computes only what is new. Used by one thread at a time.
class Sources {
public:
    Sources(std::shared_ptr<const model::Model>, std::shared_ptr<const text::Tokenizer>, trace::Prompt);
    ~Sources();
    Sources(const Sources&) = delete;
    Sources& operator=(const Sources&) = delete;

    /// The unedited run where it exists; otherwise it is made when an edit needs it.
    void set_unedited(std::shared_ptr<const trace::Trace>);
    /// Turns the file that `patch … from "FILE"` names into a prompt, for models that read pictures.
    void set_picture_reader(std::function<trace::Prompt(const std::string& file)>);

    struct Internals;  ///< src/intervention/recipe/sources.h
    Internals& internals() noexcept { return *internals_; }

private:
    std::unique_ptr<Internals> internals_;
};

/// The run under the recipe's edits that are on; trace::edits_of() it are their words with named positions resolved, and what is
/// not defined or remarkable (an empty row, a masked key that is written to) is among its warnings. Errors name the edit: a
/// layer, head, neuron or position that is not there, a site that no block reads, a vector of the wrong width or with NaN, a text
/// of another length, a token that is several.
std::shared_ptr<const trace::Trace> run_recipe(Sources&, const Recipe&, const trace::CapturePlan& = {}, const CancelToken& = {},
                                               const Progress& = {});

/// A continuation under the recipe. Positions are those of the prompt; edits of all positions act on every new token too.
struct EditedContinuation {
    model::Generated made;
    std::vector<std::string> words, notes;
};
EditedContinuation generate_under(Sources&, const Recipe&, const std::vector<std::int64_t>& prompt, const model::GenerateOptions&,
                                  const CancelToken& = {}, const Progress& = {});

/// Names with which the recipe's positions are resolved: the edit as it stands in a command of its own.
Edit resolved(const Edit&, const Recipe&);

/// Error naming both models where the recipe was made for another one.
void check_model(const Recipe&, const model::Model&);

}  // namespace headlight::intervention
