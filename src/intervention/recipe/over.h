// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/base/job.h"
#include "headlight/model/config.h"

#include <filesystem>
#include <string>
#include <vector>

namespace headlight::intervention {

/// What `over FILE` names: the texts of a file, as a corpus has them (docs/corpus.md); for a model that reads pictures the files
/// of pictures that a list names, one a line, from the list's folder. Error: none.
std::vector<std::string> texts_of_file(const std::filesystem::path&, const model::ModelConfig&, const CancelToken&);

}  // namespace headlight::intervention
