// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/model/picture.h"

#include "headlight/base/error.h"
#include "headlight/io/json_file.h"
#include "headlight/model/locate.h"
#include "model/load/config_reader.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace headlight::model {
namespace {

constexpr std::int64_t kMaxPictureSide = 1 << 15;

// ---- preprocessor_config.json

/// Defaults of transformers' processors.
PicturePlan defaults_of(const std::string& processor, const ModelConfig& c) {
    PicturePlan plan;
    if (processor.starts_with("CLIP") || processor.starts_with("Bit")) {
        plan.shortest_edge = plan.crop_height = plan.crop_width = 224;
        plan.resample = Resample::bicubic;
        std::ranges::copy(std::initializer_list<double>{0.48145466, 0.4578275, 0.40821073}, plan.mean);
        std::ranges::copy(std::initializer_list<double>{0.26862954, 0.26130258, 0.27577711}, plan.deviation);
    } else if (processor.starts_with("DeiT")) {
        plan.height = plan.width = 256;
        plan.crop_height = plan.crop_width = 224;
        plan.resample = Resample::bicubic;
    } else if (processor.starts_with("DINOv3")) {
        plan.height = plan.width = 224;
        plan.rescale_first = true;
        std::ranges::copy(std::initializer_list<double>{0.485, 0.456, 0.406}, plan.mean);
        std::ranges::copy(std::initializer_list<double>{0.229, 0.224, 0.225}, plan.deviation);
    } else {
        plan.height = c.image_height, plan.width = c.image_width;
        if (processor.starts_with("Siglip")) plan.resample = Resample::bicubic;
    }
    return plan;
}

/// A whole number, or an object {"height", "width"}; {"shortest_edge"} where that is allowed.
void read_size(const ConfigReader& json, std::string_view field, bool number_is_shortest, std::int64_t& height,
               std::int64_t& width, std::int64_t* shortest) {
    if (!json.has(field)) return;
    if (const auto object = json.object_of_kind(field)) {
        if (shortest && object->has("shortest_edge")) {
            *shortest = object->size({"shortest_edge"}, kMaxPictureSide);
            height = width = 0;
            return;
        }
        height = object->size({"height"}, kMaxPictureSide), width = object->size({"width"}, kMaxPictureSide);
    } else {
        const std::int64_t side = json.size({field}, kMaxPictureSide);
        if (shortest && number_is_shortest) {
            *shortest = side;
            height = width = 0;
            return;
        }
        height = width = side;
    }
    if (shortest) *shortest = 0;
}

void read_colours(const ConfigReader& json, std::string_view field, double (&values)[3]) {
    if (!json.has(field)) return;
    const nlohmann::json& list = json.raw(field);
    const bool fits = list.is_array() && list.size() == 3 && std::ranges::all_of(list, [](const nlohmann::json& x) {
                          return x.is_number() && std::isfinite(x.get<double>());
                      });
    if (!fits) json.wrong(field, "3 numbers", list.dump().substr(0, 80));
    for (std::size_t i = 0; i < 3; ++i) values[i] = list[i].get<double>();
}

}  // namespace

PicturePlan picture_plan(const std::filesystem::path& model, const ModelConfig& c, std::string_view family) {
    const std::filesystem::path file = folder_of(model) / "preprocessor_config.json";
    std::error_code none;
    if (!std::filesystem::exists(file, none)) {
        PicturePlan plan = defaults_of("", c);
        plan.warning = "There is no preprocessor_config.json: the picture is scaled to " + std::to_string(c.image_width) + " x " +
                       std::to_string(c.image_height) + " pixels, mean and deviation are taken for 0.5";
        return plan;
    }
    const ConfigReader json(file, io::read_json(file));
    if (family.empty()) family = c.family;
    const std::string by_family = family == "clip-vision"        ? "CLIP"
                                  : family == "deit"             ? "DeiT"
                                  : family == "siglip-vision"    ? "Siglip"
                                  : family.starts_with("dinov2") ? "Bit"
                                  : family == "dinov3_vit"       ? "DINOv3"
                                                                 : "";
    const std::string processor = json.text({"image_processor_type", "feature_extractor_type"}, by_family);
    PicturePlan plan = defaults_of(processor, c);
    const bool clip = processor.starts_with("CLIP") || processor.starts_with("Bit");
    plan.resize = json.flag("do_resize", true);
    read_size(json, "size", clip, plan.height, plan.width, &plan.shortest_edge);
    if (json.has("resample")) {
        const double filter = json.signed_number({"resample"}, 2);
        if (filter < 0 || filter > 5 || filter != std::floor(filter)) json.wrong("resample", "0 to 5", std::to_string(filter));
        plan.resample = static_cast<Resample>(static_cast<int>(filter));
        if (plan.rescale_first && plan.resample != Resample::bilinear && plan.resample != Resample::bicubic)
            json.unsupported("resample", "2 or 3, bilinear or bicubic, with " + processor);
    }
    read_size(json, "crop_size", false, plan.crop_height, plan.crop_width, nullptr);
    if (!json.flag("do_center_crop", plan.crop_height > 0 && (clip || processor.starts_with("DeiT"))))
        plan.crop_height = plan.crop_width = 0;
    plan.rescale = json.flag("do_rescale", true) ? json.number({"rescale_factor"}, 1.0 / 255) : 1.0;
    read_colours(json, "image_mean", plan.mean);
    read_colours(json, "image_std", plan.deviation);
    if (!json.flag("do_normalize", true)) {
        std::ranges::fill(plan.mean, 0.0);
        std::ranges::fill(plan.deviation, 1.0);
    }
    for (const double deviation : plan.deviation)
        if (deviation <= 0) json.wrong("image_std", "numbers above 0", std::to_string(deviation));
    return plan;
}

// ---- resampling

namespace {

double sinc(double x) { return x == 0 ? 1.0 : std::sin(std::numbers::pi * x) / (std::numbers::pi * x); }

struct Filter {
    double support;
    double (*at)(double);
};

Filter filter_of(Resample resample) {
    switch (resample) {
        case Resample::box: return {0.5, [](double x) { return x > -0.5 && x <= 0.5 ? 1.0 : 0.0; }};
        case Resample::hamming:
            return {1.0, [](double x) {
                        x = std::abs(x);
                        return x >= 1 ? 0.0 : sinc(x) * (0.54 + 0.46 * std::cos(std::numbers::pi * x));
                    }};
        case Resample::bicubic:
            return {2.0, [](double x) {
                        constexpr double a = -0.5;
                        x = std::abs(x);
                        if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
                        return x < 2 ? (((x - 5) * x + 8) * x - 4) * a : 0.0;
                    }};
        case Resample::lanczos: return {3.0, [](double x) { return x >= -3 && x < 3 ? sinc(x) * sinc(x / 3) : 0.0; }};
        default: return {1.0, [](double x) { return std::max(0.0, 1 - std::abs(x)); }};
    }
}

/// Inputs of one output and their weights, in units of 2^-kBits as in Pillow.
constexpr int kBits = 32 - 8 - 2;
struct Taps {
    std::int64_t first = 0;
    std::vector<std::int32_t> weights;
};

std::vector<Taps> taps_of(std::int64_t in, std::int64_t out, Resample resample) {
    const double scale = static_cast<double>(in) / static_cast<double>(out);
    std::vector<Taps> all(static_cast<std::size_t>(out));
    if (resample == Resample::nearest) {
        for (std::int64_t i = 0; i < out; ++i)
            all[static_cast<std::size_t>(i)] = {static_cast<std::int64_t>((static_cast<double>(i) + 0.5) * scale), {1 << kBits}};
        return all;
    }
    const Filter filter = filter_of(resample);
    const double wide = std::max(scale, 1.0), support = filter.support * wide;
    for (std::int64_t i = 0; i < out; ++i) {
        const double centre = (static_cast<double>(i) + 0.5) * scale;
        const std::int64_t first = std::max<std::int64_t>(0, static_cast<std::int64_t>(centre - support + 0.5));
        const std::int64_t last = std::min(in, static_cast<std::int64_t>(centre + support + 0.5));
        std::vector<double> weights;
        double sum = 0;
        for (std::int64_t j = first; j < last; ++j) {
            weights.push_back(filter.at((static_cast<double>(j) - centre + 0.5) * (1.0 / wide)));
            sum += weights.back();
        }
        Taps& taps = all[static_cast<std::size_t>(i)];
        taps.first = first;
        for (const double weight : weights) {
            const double fixed = (sum != 0 ? weight / sum : weight) * (1 << kBits);
            taps.weights.push_back(static_cast<std::int32_t>(fixed < 0 ? fixed - 0.5 : fixed + 0.5));
        }
    }
    return all;
}

/// One pass: `length` numbers of each line, `step` bytes apart, become taps.size().
void resample_line(const std::uint8_t* in, std::int64_t step, const std::vector<Taps>& taps, std::uint8_t* out,
                   std::int64_t out_step) {
    for (const Taps& tap : taps) {
        std::int64_t sum = std::int64_t{1} << (kBits - 1);
        const std::uint8_t* from = in + tap.first * step;
        for (const std::int32_t weight : tap.weights) {
            sum += *from * static_cast<std::int64_t>(weight);
            from += step;
        }
        *out = static_cast<std::uint8_t>(std::clamp<std::int64_t>(sum >> kBits, 0, 255));
        out += out_step;
    }
}

}  // namespace

Picture resized(const Picture& in, std::int64_t width, std::int64_t height, Resample resample) {
    Picture flat{width, in.height, std::vector<std::uint8_t>(static_cast<std::size_t>(width * in.height * kColours))};
    const std::vector<Taps> columns = taps_of(in.width, width, resample);
    for (std::int64_t row = 0; row < in.height; ++row)
        for (std::int64_t colour = 0; colour < kColours; ++colour)
            resample_line(in.rgb.data() + row * in.width * kColours + colour, kColours, columns,
                          flat.rgb.data() + row * width * kColours + colour, kColours);
    if (in.height == height) return flat;
    Picture out{width, height, std::vector<std::uint8_t>(static_cast<std::size_t>(width * height * kColours))};
    const std::vector<Taps> rows = taps_of(in.height, height, resample);
    for (std::int64_t column = 0; column < width * kColours; ++column)
        resample_line(flat.rgb.data() + column, width * kColours, rows, out.rgb.data() + column, width * kColours);
    return out;
}

namespace {

/// The colours of the scaled picture times the plan's factor: [colour, row, column] float32.
at::Tensor scaled_colours(const Picture& picture, const PicturePlan& plan, std::int64_t width, std::int64_t height) {
    const auto colours = [](const Picture& of) {
        return at::from_blob(const_cast<std::uint8_t*>(of.rgb.data()), {of.height, of.width, kColours}, at::kByte)
            .permute({2, 0, 1});
    };
    const bool same = width == picture.width && height == picture.height;
    if (!plan.rescale_first) {
        const Picture scaled = same ? picture : resized(picture, width, height, plan.resample);
        return (colours(scaled).to(at::kDouble) * plan.rescale).to(at::kFloat).contiguous();
    }
    const at::Tensor whole = (colours(picture).to(at::kFloat) * plan.rescale).unsqueeze(0).contiguous();
    if (same) return whole.squeeze(0);
    const std::vector<std::int64_t> to = {height, width};
    return (plan.resample == Resample::bicubic ? at::_upsample_bicubic2d_aa(whole, to, false)
                                               : at::_upsample_bilinear2d_aa(whole, to, false))
        .squeeze(0)
        .contiguous();
}

}  // namespace

PictureInput prepare(const Picture& picture, const PicturePlan& plan, const ModelConfig& c) {
    if (picture.width < 1 || picture.height < 1 ||
        picture.rgb.size() != static_cast<std::size_t>(picture.width * picture.height * kColours))
        throw Error("The picture has no pixels");
    std::int64_t width = picture.width, height = picture.height;
    if (plan.resize && plan.shortest_edge > 0) {
        const std::int64_t longer = plan.shortest_edge * std::max(width, height) / std::min(width, height);
        const bool upright = width <= height;
        width = upright ? plan.shortest_edge : longer;
        height = upright ? longer : plan.shortest_edge;
    } else if (plan.resize) {
        width = plan.width, height = plan.height;
    }
    const bool crop = plan.crop_height > 0;
    const std::int64_t cut_width = crop ? plan.crop_width : width, cut_height = crop ? plan.crop_height : height;
    const auto size_text = [](std::int64_t w, std::int64_t h) {
        return std::to_string(w) + " x " + std::to_string(h) + " pixels";
    };
    if (cut_width != c.image_width || cut_height != c.image_height)
        throw Error({.problem = "Preprocessing does not give the picture the model's input size",
                     .item = "preprocessor_config.json",
                     .expected = size_text(c.image_width, c.image_height),
                     .found = size_text(cut_width, cut_height)});
    if (width < cut_width || height < cut_height || width > kMaxPictureSide || height > kMaxPictureSide)
        throw Error({.problem = width > kMaxPictureSide || height > kMaxPictureSide ? "The picture is too long and narrow"
                                                                                    : "The picture is too small",
                     .expected = "at least " + size_text(cut_width, cut_height),
                     .found = size_text(width, height)});

    const at::Tensor scaled = scaled_colours(picture, plan, width, height);
    const std::int64_t left = (width - cut_width) / 2, top = (height - cut_height) / 2;
    const double sx = static_cast<double>(picture.width) / static_cast<double>(width),
                 sy = static_cast<double>(picture.height) / static_cast<double>(height);
    PictureInput out;
    out.seen = {static_cast<double>(left) * sx, static_cast<double>(top) * sy,
                static_cast<double>(patch_columns(c) * c.patch_size) * sx,
                static_cast<double>(patch_rows(c) * c.patch_size) * sy};
    out.pixels.reserve(static_cast<std::size_t>(kColours * cut_width * cut_height));
    for (std::int64_t colour = 0; colour < kColours; ++colour) {
        // In float32 as NumPy does it there.
        const auto mean = static_cast<float>(plan.mean[colour]), deviation = static_cast<float>(plan.deviation[colour]);
        for (std::int64_t row = top; row < top + cut_height; ++row)
            for (std::int64_t column = left; column < left + cut_width; ++column) {
                const float value = scaled.data_ptr<float>()[(colour * height + row) * width + column];
                out.pixels.push_back((value - mean) / deviation);
            }
    }
    return out;
}

}  // namespace headlight::model
