// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/base/job.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace headlight::model {

/// One tensor of a model's files and the distribution of its numbers.
struct TensorStats {
    std::string name{};
    std::string dtype{};  ///< as stored: "F16", "Q4_1"
    std::vector<std::int64_t> shape{};
    std::filesystem::path file{};
    std::int64_t elements = 0;
    std::int64_t nan = 0, infinite = 0;  ///< counts; everything below is over the finite numbers
    double min = 0, max = 0, mean = 0;   ///< NaN where no number is finite
    double deviation = 0;                ///< population standard deviation
    std::vector<double> edges{};         ///< bins of equal width from min to max; one more than counts
    std::vector<std::int64_t> counts{};  ///< the last bin includes its upper edge; empty if no number is finite
};

/// Names of all tensors in the model's files.
std::vector<std::string> tensor_names(const std::filesystem::path& model);

/// Reads only this tensor, twice, in parts, dequantised if necessary. Equal numbers get one bin of width 1 around them.
/// Errors: no such tensor, an unsupported quantisation.
TensorStats tensor_stats(const std::filesystem::path& model, const std::string& name, int bins = 40, const CancelToken& = {},
                         const Progress& = {});

}  // namespace headlight::model
