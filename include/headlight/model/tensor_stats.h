// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/base/job.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace headlight::model {

/// One tensor of a model's files: what it is, and how its numbers are spread.
struct TensorStats {
    std::string name{};
    std::string dtype{};  ///< as stored: "F16", "Q4_1"
    std::vector<std::int64_t> shape{};
    std::filesystem::path file{};
    std::int64_t elements = 0;
    std::int64_t nan = 0, infinite = 0;  ///< how many; all that follows is of the finite numbers
    double min = 0, max = 0, mean = 0;   ///< NaN where no number is finite
    double deviation = 0;                ///< standard deviation of all of them: divided by their number
    std::vector<double> edges{};         ///< of bins of equal width from min to max, one more than counts
    std::vector<std::int64_t> counts{};  ///< the last bin takes its upper edge too; empty where no number is finite
};

/// Names of all tensors in the model's files.
std::vector<std::string> tensor_names(const std::filesystem::path& model);

/// Reads the tensor twice, a part at a time, as the file has it (quantised numbers as the numbers they stand for) and
/// without the rest of the model. One number, or equal ones, have one bin of width 1 around them. Errors: no such
/// tensor, a quantisation that cannot be read.
TensorStats tensor_stats(const std::filesystem::path& model, const std::string& name, int bins = 40, const CancelToken& = {},
                         const Progress& = {});

}  // namespace headlight::model
