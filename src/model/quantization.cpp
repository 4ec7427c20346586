// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/quantization.h"

#include "headlight/base/error.h"

#include <array>
#include <utility>

namespace headlight::model {
namespace {

constexpr const char* kHint = "Use the original checkpoint, or one converted to float16 or bfloat16";

std::string title_of(const std::string& method, const std::optional<ConfigReader>& quantization) {
    static constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kTitles{
        {{"gptq", "GPTQ"},
         {"awq", "AWQ"},
         {"bitsandbytes", "bitsandbytes"},
         {"fp8", "fp8"},
         {"mxfp4", "MXFP4"},
         {"hqq", "HQQ"}}};
    std::string title = method;
    for (const auto& [name, text] : kTitles)
        if (method == name) title = text;
    if (quantization->has("bits")) title += ", " + std::to_string(quantization->size({"bits"}, 64)) + " bits";
    return title;
}

}  // namespace

void check_quantization(const ConfigReader& config, const io::TensorStore& store) {
    if (const auto quantization = config.object("quantization_config")) {
        const std::string method = quantization->text({"quant_method"}, "an unnamed method");
        throw Error(ErrorFacts{.problem = "the weights are quantised in a way that is not read",
                               .file = config.file().string(),
                               .item = "quantization_config",
                               .expected = "floating-point weights",
                               .found = title_of(method, quantization),
                               .hint = kHint});
    }
    // Names that the packages give to what stands beside quantised numbers.
    static constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kMarks{
        {{".qweight", "GPTQ or AWQ"},
         {".qzeros", "GPTQ or AWQ"},
         {".weight_scale_inv", "fp8 with block scales"},
         {".weight.absmax", "bitsandbytes, 4 bits"},
         {".SCB", "bitsandbytes, 8 bits"}}};
    for (const auto& [name, view] : store.tensors())
        for (const auto& [mark, title] : kMarks)
            if (name.ends_with(mark))
                throw Error(ErrorFacts{.problem = "the weights are quantised in a way that is not read",
                                       .file = view.file.string(),
                                       .item = "tensor " + name,
                                       .expected = "floating-point weights",
                                       .found = std::string(title),
                                       .hint = kHint});
}

}  // namespace headlight::model
