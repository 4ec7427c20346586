// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/load/quantization.h"

#include "headlight/base/error.h"
#include "headlight/base/numbers.h"
#include "model/load/weight_source.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

namespace headlight::model {
namespace {

constexpr const char* kHint = "Use the original checkpoint, or one converted to float16 or bfloat16";
constexpr std::int64_t kMaxBlock = 1 << 20;

[[noreturn]] void refuse(const std::filesystem::path& file, const std::string& item, const std::string& found) {
    throw Error(ErrorFacts{.problem = "The weights have an unsupported quantisation",
                           .file = file.string(),
                           .item = item,
                           .expected = "floating-point weights, or fp8 (E4M3) with scales",
                           .found = found,
                           .hint = kHint});
}

std::string title_of(const std::string& method, const ConfigReader& quantization) {
    static constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kTitles{
        {{"gptq", "GPTQ"}, {"awq", "AWQ"}, {"bitsandbytes", "bitsandbytes"}, {"mxfp4", "MXFP4"}, {"hqq", "HQQ"}}};
    std::string title = method;
    for (const auto& [name, text] : kTitles)
        if (method == name) title = text;
    if (quantization.has("bits")) title += ", " + std::to_string(quantization.size({"bits"}, 64)) + " bits";
    if (quantization.has("format")) title += ", " + quantization.text({"format"});
    return title;
}

/// The fp8 settings of config.json.
struct Scheme {
    bool fp8 = false;
    std::vector<std::int64_t> block;  ///< rows and columns; empty: no blocks
};

Scheme scheme_of(const ConfigReader& config) {
    const auto quantization = config.object("quantization_config");
    if (!quantization) return {};
    const std::string method = quantization->text({"quant_method"}, "an unnamed method");
    const bool plain = method == "fp8" || method == "fbgemm_fp8";
    // The name that compressed-tensors gives to fp8 weights; its other formats have other tensors.
    const bool compressed = method == "compressed-tensors" && quantization->text({"format"}, "") == "float-quantized";
    if (!plain && !compressed) refuse(config.file(), "quantization_config", title_of(method, *quantization));
    const std::string format = quantization->text({"fmt"}, "e4m3");
    if (format != "e4m3") quantization->unsupported("fmt", "\"e4m3\"");
    Scheme scheme{.fp8 = true, .block = quantization->integers("weight_block_size", 2)};
    for (const std::int64_t side : scheme.block)
        if (side < 1 || side > kMaxBlock)
            quantization->wrong("weight_block_size", "two numbers from 1 to " + std::to_string(kMaxBlock), std::to_string(side));
    return scheme;
}

/// Names that quantisation packages give to the companions of quantised weights.
void refuse_marked(const io::TensorStore& store) {
    static constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kMarks{
        {{".qweight", "GPTQ or AWQ"},
         {".qzeros", "GPTQ or AWQ"},
         {".weight_packed", "compressed-tensors, packed integers"},
         {".weight.absmax", "bitsandbytes, 4 bits"},
         {".SCB", "bitsandbytes, 8 bits"}}};
    for (const auto& [name, view] : store.tensors())
        for (const auto& [mark, title] : kMarks)
            if (name.ends_with(mark)) refuse(view.file, "tensor " + name, std::string(title));
}

/// Scales for activations, keys and values, which only an fp8 run uses.
bool is_of_activations(const std::string& name) {
    for (const char* end : {".input_scale", ".activation_scale", ".k_scale", ".v_scale"})
        if (name.ends_with(end)) return true;
    return false;
}

[[noreturn]] void fail_scale(const io::TensorView& scale, const std::string& problem, const std::string& expected,
                             const std::string& found) {
    throw Error(ErrorFacts{
        .problem = problem, .file = scale.file.string(), .item = "tensor " + scale.name, .expected = expected, .found = found});
}

/// Blocks of `weight` as the shape of its scales says.
Fp8Scale fitted(const io::TensorView& weight, io::TensorView scale, const Scheme& scheme) {
    if (scale.dtype != io::DType::F32 && scale.dtype != io::DType::BF16 && scale.dtype != io::DType::F16)
        fail_scale(scale, "The scales of an fp8 weight have an unsupported type", "F32, BF16 or F16",
                   std::string(io::name_of(scale.dtype)));
    const std::int64_t rows = weight.shape.empty() ? 1 : weight.shape.front(), columns = rows > 0 ? weight.numel() / rows : 1;
    const auto parts = [](std::int64_t all, std::int64_t each) { return (all + each - 1) / each; };
    const auto with = [&](std::int64_t of_rows, std::int64_t of_columns) {
        scale.shape = {parts(rows, of_rows), parts(columns, of_columns)};
        return Fp8Scale{std::move(scale), of_rows, of_columns};
    };
    if (scale.numel() == 1) return with(std::max<std::int64_t>(rows, 1), std::max<std::int64_t>(columns, 1));
    const bool by_row = scale.shape == std::vector{rows} || scale.shape == std::vector<std::int64_t>{rows, 1};
    if (scheme.block.empty() && by_row) return with(1, std::max<std::int64_t>(columns, 1));
    if (scheme.block.empty())
        fail_scale(scale, "The scales of an fp8 weight do not fit it",
                   "one number, or one for each of " + std::to_string(rows) + " rows", shape_text(scale.shape));
    const std::vector<std::int64_t> expected = {parts(rows, scheme.block[0]), parts(columns, scheme.block[1])};
    if (weight.shape.size() != 2 || scale.shape != expected)
        fail_scale(scale, "The scales of an fp8 weight do not fit it",
                   shape_text(expected) + " for blocks of " + shape_text(scheme.block) + " in " + shape_text(weight.shape),
                   shape_text(scale.shape));
    return with(scheme.block[0], scheme.block[1]);
}

/// E4M3 without infinities: sign, 4 bits of exponent (bias 7), 3 of mantissa; all ones is NaN.
std::array<float, 256> e4m3_numbers() {
    std::array<float, 256> out{};
    for (int bits = 0; bits < 256; ++bits) {
        const int exponent = bits >> 3 & 15, mantissa = bits & 7;
        float x = exponent == 0 ? std::ldexp(static_cast<float>(mantissa), -9)
                                : std::ldexp(static_cast<float>(8 + mantissa), exponent - 10);
        if ((bits & 0x7f) == 0x7f) x = std::numeric_limits<float>::quiet_NaN();
        out[static_cast<std::size_t>(bits)] = bits & 0x80 ? -x : x;
    }
    return out;
}

template <class T, class Wide>
void fill_scaled(at::Tensor& out, const io::TensorView& view, const Fp8Scale* scale, const at::Tensor& factors) {
    static const std::array<float, 256> numbers = e4m3_numbers();
    const std::int64_t rows = view.shape.empty() ? 1 : view.shape.front(), columns = rows > 0 ? view.numel() / rows : 0;
    const std::int64_t block_rows = scale ? scale->rows : rows, block_columns = scale ? scale->columns : columns;
    const Wide* factor = factors.data_ptr<Wide>();
    const auto* from = reinterpret_cast<const std::uint8_t*>(view.bytes.data());
    T* to = out.data_ptr<T>();
    at::parallel_for(0, rows, 64, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t r = first; r < last; ++r) {
            const Wide* of_row = scale ? factor + r / block_rows * factors.size(1) : factor;
            for (std::int64_t begin = 0; begin < columns; begin += block_columns, ++of_row) {
                const std::int64_t end = std::min(columns, begin + block_columns);
                for (std::int64_t c = begin; c < end; ++c)
                    to[r * columns + c] = static_cast<T>(static_cast<Wide>(numbers[from[r * columns + c]]) * *of_row);
            }
        }
    });
}

}  // namespace

QuantizedStore read_quantization(const ConfigReader& config, io::TensorStore store) {
    const Scheme scheme = scheme_of(config);
    refuse_marked(store);
    QuantizedStore out;
    std::map<std::string, io::TensorView> kept;
    for (const auto& [name, view] : store.tensors()) {
        const std::string weight = name.ends_with("_scale_inv") ? name.substr(0, name.size() - 10)
                                   : name.ends_with("_scale")   ? name.substr(0, name.size() - 6)
                                                                : std::string();
        const io::TensorView* of = weight.ends_with("weight") ? store.find(weight) : nullptr;
        if (of && of->dtype == io::DType::F8_E4M3) {
            if (!scheme.fp8 && name.ends_with("_scale_inv"))
                refuse(view.file, "tensor " + name,
                       "fp8 with block scales, and no quantization_config in config.json that gives the blocks");
            if (!out.fp8.emplace(weight, fitted(*of, view, scheme)).second)
                fail_scale(view, "An fp8 weight has two tensors of scales", "one",
                           weight + "_scale and " + weight + "_scale_inv");
            out.used_up.push_back(name);
        } else if (scheme.fp8 && is_of_activations(name)) {
            out.used_up.push_back(name);
        } else {
            kept.emplace(name, view);
        }
    }
    for (const auto& [name, view] : kept)
        if (scheme.fp8 && view.dtype == io::DType::F8_E4M3 && !out.fp8.contains(name))
            throw Error(ErrorFacts{.problem = "An fp8 weight has no scales",
                                   .file = view.file.string(),
                                   .item = "tensor " + name,
                                   .expected = name + "_scale_inv or " + name + "_scale"});
    out.store = io::TensorStore::of(std::move(kept), store.files());
    return out;
}

at::Tensor dequantize_fp8(const io::TensorView& view, const Fp8Scale* scale, at::ScalarType dtype) {
    const at::ScalarType wide = dtype == at::kDouble ? at::kDouble : at::kFloat;
    at::Tensor factors = at::ones({1, 1}, at::TensorOptions(wide));
    if (scale) {
        bool mapped = false;
        factors = to_tensor(scale->numbers, wide, at::kCPU, mapped).contiguous();
        if (!at::isfinite(factors).all().item<bool>())
            fail_scale(scale->numbers, "A scale of an fp8 weight is not finite", "finite numbers", "NaN or Inf");
    }
    at::Tensor out = at::empty(view.shape, at::TensorOptions(dtype));
    if (dtype == at::kDouble)
        fill_scaled<double, double>(out, view, scale, factors);
    else if (dtype == at::kBFloat16)
        fill_scaled<at::BFloat16, float>(out, view, scale, factors);
    else
        fill_scaled<float, float>(out, view, scale, factors);
    return out;
}

}  // namespace headlight::model
