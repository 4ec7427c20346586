// SPDX-License-Identifier: GPL-3.0-or-later
// From a decoded picture to the input of a vision model.
#pragma once

#include "headlight/model/config.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace headlight::model {

/// A decoded picture: rows from the top, three bytes a pixel (red, green, blue).
struct Picture {
    std::int64_t width = 0, height = 0;
    std::vector<std::uint8_t> rgb;
};

/// A part of a picture, in its pixels.
struct PictureRect {
    double x = 0, y = 0, width = 0, height = 0;
};

enum class Resample { nearest = 0, lanczos = 1, bilinear = 2, bicubic = 3, box = 4, hamming = 5 };

/// The steps of preprocessor_config.json, in order; absent fields have the defaults of transformers' processor.
struct PicturePlan {
    bool resize = true;
    bool rescale_first = false;          ///< scaled as float32, not as bytes (DINOv3)
    std::int64_t height = 0, width = 0;  ///< resized to; 0: shortest_edge says
    std::int64_t shortest_edge = 0;      ///< the shorter side becomes this, the longer keeps the proportions
    Resample resample = Resample::bilinear;
    std::int64_t crop_height = 0, crop_width = 0;  ///< cut from the middle; 0: not
    double rescale = 1.0 / 255;
    double mean[3] = {0.5, 0.5, 0.5}, deviation[3] = {0.5, 0.5, 0.5};
    std::string warning;  ///< if the file is absent: the settings used instead
};
/// Error names the field. Without preprocessor_config.json: the model's size, bilinear, mean and deviation 0.5. A configuration
/// that is being read has no family yet: `family` names it.
PicturePlan picture_plan(const std::filesystem::path& model, const ModelConfig&, std::string_view family = {});

/// Equal to Pillow's resampling of 8-bit pictures, bit for bit: the filter is widened when shrinking (no aliasing), columns
/// first, each pass rounded to bytes.
Picture resized(const Picture&, std::int64_t width, std::int64_t height, Resample);

struct PictureInput {
    std::vector<float> pixels;  ///< [colour, row, column] of the model's size, normalised
    PictureRect seen;           ///< covered by the patches
};
/// Error when the steps do not lead to the model's size, and for a picture without pixels.
PictureInput prepare(const Picture&, const PicturePlan&, const ModelConfig&);

}  // namespace headlight::model
