// SPDX-License-Identifier: GPL-3.0-or-later
#include "intervention/recipe/directions.h"

#include "headlight/analyze/prediction/outputs.h"
#include "headlight/io/npz.h"
#include "headlight/trace/weights.h"

#include <cstring>

namespace headlight::intervention {
namespace {

at::ScalarType type_of(const Edit& edit, io::DType type, const std::string& name) {
    switch (type) {
        case io::DType::F64: return at::kDouble;
        case io::DType::F32: return at::kFloat;
        case io::DType::F16: return at::kHalf;
        case io::DType::BF16: return at::kBFloat16;
        default:
            fail_edit(edit, "A direction must be floating-point", "float16, float32 or float64",
                      std::string(io::name_of(type)) + " in " + name);
    }
}

at::Tensor tensor_of(const Edit& edit, const io::TensorView& view) {
    std::int64_t width = 1;
    for (const std::int64_t size : view.shape) {
        if (size != 1 && width != 1)
            fail_edit(edit, "A direction is one vector", "one axis", std::to_string(view.shape.size()) + " axes of " + view.name);
        width *= size;
    }
    at::Tensor t = at::empty({width}, type_of(edit, view.dtype, view.name));
    std::memcpy(t.data_ptr(), view.bytes.data(), t.nbytes());
    return t.to(at::kDouble);
}

at::Tensor of_file(const Edit& edit) {
    const std::filesystem::path path = edit.source.what;
    const auto arrays =
        path.extension() == ".safetensors" ? io::TensorStore::open_file(path).tensors() : io::read_npz(path).arrays;
    if (arrays.size() != 1)
        fail_edit(edit, "A direction file must hold exactly one array", "1 array",
                  std::to_string(arrays.size()) + " in " + path.string());
    return tensor_of(edit, arrays.begin()->second);
}

/// Layer and unit of a place that names one.
std::pair<std::int64_t, std::int64_t> one_of(const Edit& edit) {
    const Place& place = edit.source.place;
    if (!names_one(place.layers) || !names_one(place.units))
        fail_edit(edit, "A direction must name a single neuron or head", "one", "several");
    return {place.layers.front().first, place.units.front().first};
}

void check_below(const Edit& edit, const char* what, std::int64_t at, std::int64_t count) {
    if (at >= count)
        fail_edit(edit, std::string("There is no such ") + what, "0 to " + std::to_string(count - 1), std::to_string(at));
}

/// Row `index` of V in W_V W_O = U S V^T, through the small matrix R W_O with W_V = Q R.
at::Tensor of_circuit(const Edit& edit, const model::Model& model) {
    const auto [layer, head] = one_of(edit);
    const model::ModelConfig& c = model.config();
    check_below(edit, "layer", layer, c.n_layers);
    check_below(edit, "head", head, c.n_heads);
    check_below(edit, "direction", edit.source.index, std::min(model::value_width(c), c.d_model));
    const trace::AttentionTensors w = trace::attention_weights(model, Layer(layer));
    const auto matrix = [](const at::Tensor& t) { return t.to(at::kCPU, at::kDouble); };
    const at::Tensor v = matrix(w.w_v[head / (c.n_heads / c.n_kv_heads)]), o = matrix(w.w_o[head]);
    const at::Tensor r = std::get<1>(at::linalg_qr(v, "r"));
    const at::Tensor direction = std::get<2>(at::linalg_svd(at::mm(r, o), /*full_matrices=*/false))[edit.source.index];
    // Its sign is free: the largest number is positive.
    return direction * direction[direction.abs().argmax().item<std::int64_t>()].sign();
}

at::Tensor made_of(const Edit& edit, const model::Model& model, const text::Tokenizer& tokenizer) {
    const model::ModelConfig& c = model.config();
    switch (edit.source.from) {
        case From::file: return of_file(edit);
        case From::token: {
            if (c.class_head.dense)
                fail_edit(edit,
                          "A class of this model is no direction of the stream: its head has a dense layer and an activation",
                          "a classifier that reads the stream itself", c.name);
            if (model::head_parts(c) > 1)
                fail_edit(
                    edit,
                    "A class of this model is no direction of the stream: its head reads several states one behind the other",
                    "a classifier that reads one state", c.name);
            const auto token = analyze::choose_output(c, tokenizer, edit.source.what, "edit \"" + edit.source.what + "\"");
            return trace::unembed(model).select(1, token.id);
        }
        case From::neuron: {
            const auto [layer, neuron] = one_of(edit);
            check_below(edit, "layer", layer, c.n_layers);
            check_below(edit, "neuron", neuron, model::mlp_width(c, layer));
            return trace::mlp_weights(model, Layer(layer)).w_out[neuron];
        }
        default: return of_circuit(edit, model);
    }
}

}  // namespace

at::Tensor direction_of(const Edit& edit, const model::Model& model, const text::Tokenizer& tokenizer, std::int64_t width) {
    const at::Tensor v = made_of(edit, model, tokenizer).to(at::kCPU).to(at::kDouble);
    if (v.size(0) != width)
        fail_edit(edit, "The direction has another width than the site", std::to_string(width) + " numbers",
                  std::to_string(v.size(0)));
    const at::Tensor bad = at::isfinite(v).logical_not().nonzero();
    if (bad.size(0) > 0)
        fail_edit(edit, "The direction holds a number that is not finite", "finite numbers",
                  "NaN or Inf at index " + std::to_string(bad[0][0].item<std::int64_t>()));
    return v;
}

}  // namespace headlight::intervention
