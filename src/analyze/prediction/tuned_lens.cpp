// SPDX-License-Identifier: GPL-3.0-or-later
#include "analyze/prediction/tuned_lens.h"

#include "headlight/base/error.h"
#include "headlight/base/numbers.h"
#include "headlight/io/safetensors.h"

#include <cstring>

namespace headlight::analyze {
namespace {

at::Tensor tensor_of(const io::TensorView& view) {
    at::ScalarType type = at::kFloat;
    switch (view.dtype) {
        case io::DType::F64: type = at::kDouble; break;
        case io::DType::F32: type = at::kFloat; break;
        case io::DType::F16: type = at::kHalf; break;
        case io::DType::BF16: type = at::kBFloat16; break;
        default:
            throw Error({.problem = "A tuned lens holds floating-point numbers",
                         .file = view.file.string(),
                         .item = view.name,
                         .expected = "F32, F16, BF16 or F64"});
    }
    at::Tensor out = at::empty(view.shape, at::TensorOptions(type));
    std::memcpy(out.data_ptr(), view.bytes.data(), view.bytes.size());
    return type == at::kDouble ? out : out.to(at::kFloat);
}

/// The tensor of that name, checked; nullptr when it is not there.
const io::TensorView* find(const io::TensorStore& store, const std::string& name, const std::vector<std::int64_t>& shape) {
    const io::TensorView* view = store.find(name);
    if (!view) return nullptr;
    if (view->shape != shape)
        throw Error({.problem = "This tuned lens was made for a model of another width",
                     .file = view->file.string(),
                     .item = name,
                     .expected = shape_text(shape),
                     .found = shape_text(view->shape)});
    return view;
}

/// Translator of one layer into `out`; false when the file has none.
bool read_layer(const io::TensorStore& store, std::int64_t layer, std::int64_t d, TunedLens::Internals& out) {
    const std::string n = std::to_string(layer);
    const std::vector<std::int64_t> square{d, d}, vector{d};
    if (const io::TensorView* a = find(store, n + ".A", square)) {
        const io::TensorView* b = find(store, n + ".b", vector);
        out.weight.push_back(tensor_of(*a));
        out.bias.push_back(b ? tensor_of(*b) : at::zeros({d}, at::kFloat));
        return true;
    }
    for (const char* prefix : {"", "layer_translators."})
        if (const io::TensorView* w = find(store, prefix + n + ".weight", square)) {
            const io::TensorView* b = find(store, prefix + n + ".bias", vector);
            const at::Tensor change = tensor_of(*w);
            out.weight.push_back(change + at::eye(d, change.options()));
            out.bias.push_back(b ? tensor_of(*b) : at::zeros({d}, at::kFloat));
            return true;
        }
    return false;
}

StreamPlace place_of(const io::TensorStore& store, const std::filesystem::path& file) {
    const auto found = store.metadata().find("at");
    if (found == store.metadata().end()) return StreamPlace::resid_pre;
    for (const StreamPlace place : {StreamPlace::resid_pre, StreamPlace::resid_mid, StreamPlace::resid_post})
        if (found->second == name_of(place)) return place;
    throw Error({.problem = "A tuned lens says it was made for an unknown state",
                 .file = file.string(),
                 .item = "metadata \"at\"",
                 .expected = "resid_pre, resid_mid or resid_post",
                 .found = found->second});
}

}  // namespace

TunedLens::TunedLens(std::unique_ptr<Internals> internals) : internals_(std::move(internals)) {}
TunedLens::~TunedLens() = default;
StreamPlace TunedLens::made_for() const noexcept { return internals_->made_for; }
const std::filesystem::path& TunedLens::file() const noexcept { return internals_->file; }

std::shared_ptr<const TunedLens> TunedLens::load(const std::filesystem::path& file, const model::ModelConfig& config) {
    const io::TensorStore store = io::TensorStore::open_file(file);
    auto out = std::make_unique<Internals>();
    out->file = file;
    out->made_for = place_of(store, file);
    std::int64_t layers = 0;
    while (layers < config.n_layers && read_layer(store, layers, config.d_model, *out)) ++layers;
    if (layers < config.n_layers)
        throw Error({.problem = layers == 0 ? "This is not a tuned lens" : "This tuned lens was made for a model of fewer layers",
                     .file = file.string(),
                     .item = std::to_string(layers) + ".weight",
                     .expected = "a translator for each of " + std::to_string(config.n_layers) + " layers",
                     .found = std::to_string(layers),
                     .hint = "Layer N has the tensors N.A and N.b, or N.weight and N.bias as the tuned-lens package names "
                             "them; its params.pt can be saved as safetensors"});
    Internals beyond;
    if (read_layer(store, layers, config.d_model, beyond))
        throw Error({.problem = "This tuned lens was made for a model of more layers",
                     .file = file.string(),
                     .item = "layer " + std::to_string(layers),
                     .expected = std::to_string(config.n_layers) + " layers"});
    return std::shared_ptr<const TunedLens>(new TunedLens(std::move(out)));
}

void check_place(const TunedLens& lens, StreamPlace at) {
    const bool mid = lens.made_for() == StreamPlace::resid_mid;
    if (mid == (at == StreamPlace::resid_mid)) return;
    throw Error({.problem = "This tuned lens was made for another state of the layers",
                 .file = lens.file().string(),
                 .expected = mid ? "resid_mid" : "resid_pre or resid_post",
                 .found = name_of(at),
                 .hint = "Choose that state of each layer (option at)"});
}

at::Tensor translate(const TunedLens& lens, StreamPlace at, std::int64_t layer, const at::Tensor& states) {
    const TunedLens::Internals& i = lens.internals();
    if (at == StreamPlace::resid_post && i.made_for == StreamPlace::resid_pre) ++layer;
    if (at == StreamPlace::resid_pre && i.made_for == StreamPlace::resid_post) --layer;
    if (layer < 0 || layer >= static_cast<std::int64_t>(i.weight.size())) return states;
    const auto l = static_cast<std::size_t>(layer);
    const auto type = states.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
    return at::addmm(i.bias[l].to(type), states.to(type), i.weight[l].to(type).t());
}

}  // namespace headlight::analyze
