// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/base/error.h"
#include "headlight/io/gguf.h"
#include "headlight/io/json_file.h"
#include "headlight/io/mapped_file.h"
#include "headlight/io/safetensors.h"
#include "headlight/model/locate.h"
#include "headlight/model/model.h"
#include "headlight/model/peek.h"
#include "model/arithmetic/device.h"
#include "model/gguf/source.h"
#include "model/internals.h"
#include "model/load/config_reader.h"
#include "model/load/load_parts.h"
#include "model/load/quantization.h"
#include "model/load/tower.h"
#include "model/load/weight_source.h"

#include <ATen/Parallel.h>

#include <chrono>
#include <cstring>

namespace headlight::model {
namespace {

at::ScalarType scalar_type(ComputeType type) {
    switch (type) {
        case ComputeType::bfloat16: return at::kBFloat16;
        case ComputeType::float64: return at::kDouble;
        default: return at::kFloat;
    }
}

/// Where the tensor of a slot is kept: in this layer, or in the whole model.
at::Tensor& slot_tensor(Model::Internals& m, Slot slot, std::int64_t layer) {
    LayerWeights& l = m.layers[static_cast<std::size_t>(layer)];
    switch (slot) {
#define HEADLIGHT_SLOT(slot, member, name) \
    case Slot::slot:                       \
        return member;
#define HEADLIGHT_FUSED(slot, name)
#include "model/families/slots.def"
        default: throw Error("A fused matrix has no tensor of its own");
    }
}

/// Fused matrices that the pass does not read fused become views of their parts; Falcon's interleaved ones copies.
void place(Model::Internals& m, Slot slot, std::int64_t layer, const at::Tensor& tensor) {
    const ModelConfig& c = m.config;
    switch (slot) {  // stored with the axes of a convolution and of a batch
        case Slot::patch_weight:
        case Slot::conv_weight: slot_tensor(m, slot, layer) = tensor.flatten(1).t(); return;
        case Slot::class_embed:
        case Slot::distill_embed: slot_tensor(m, slot, layer) = tensor.flatten(); return;
        case Slot::pos_embed: m.pos_embed = tensor.dim() == 3 ? tensor.squeeze(0) : tensor; return;
        default: break;
    }
    const std::int64_t last = tensor.dim() - 1;
    if (slot == Slot::mlp_gate_up_weight || slot == Slot::mlp_gate_up_bias) {
        const bool weight = slot == Slot::mlp_gate_up_weight;
        slot_tensor(m, weight ? Slot::mlp_in_weight : Slot::mlp_in_bias, layer) = tensor.narrow(last, 0, c.d_mlp);
        slot_tensor(m, weight ? Slot::mlp_up_weight : Slot::mlp_up_bias, layer) = tensor.narrow(last, c.d_mlp, c.d_mlp);
        return;
    }
    if (slot == Slot::experts_gate_up_weight || slot == Slot::experts_gate_up_bias) {
        const bool weight = slot == Slot::experts_gate_up_weight;
        const auto units = [&](std::int64_t which) {  // an expert's hidden units are rows in memory, as place_units() has them
            const at::Tensor part = tensor.slice(last, which, tensor.size(last), 2);
            return weight ? part.transpose(1, 2).reshape({-1, c.d_model}).t() : part.reshape({-1});
        };
        slot_tensor(m, weight ? Slot::mlp_in_weight : Slot::mlp_in_bias, layer) = units(0);
        slot_tensor(m, weight ? Slot::mlp_up_weight : Slot::mlp_up_bias, layer) = units(1);
        return;
    }
    if (slot == Slot::experts_out_weight) {
        slot_tensor(m, Slot::mlp_out_weight, layer) = tensor.reshape({-1, c.d_model});
        return;
    }
    if (slot == Slot::sinks) {
        slot_tensor(m, slot, layer) = tensor.to(at::kCPU, at::kDouble);
        return;
    }
    const bool weight = slot == Slot::qkv_weight;
    if (!(weight || slot == Slot::qkv_bias) || (m.qkv_layout != QkvLayout::blocks && m.qkv_layout != QkvLayout::grouped)) {
        slot_tensor(m, slot, layer) = tensor;
        return;
    }
    const std::int64_t group = c.n_heads / c.n_kv_heads, d = c.d_head;
    const auto part = [&](std::int64_t first, std::int64_t heads, std::int64_t all_heads) {
        if (m.qkv_layout == QkvLayout::blocks) return tensor.narrow(last, all_heads * d, heads * d * c.n_kv_heads);
        const std::vector<std::int64_t> split = {c.n_kv_heads, group + 2, d};
        return tensor.unflatten(last, split).narrow(last + 1, first, heads).flatten(last, last + 2).contiguous();
    };
    slot_tensor(m, weight ? Slot::q_weight : Slot::q_bias, layer) = part(0, group, 0);
    slot_tensor(m, weight ? Slot::k_weight : Slot::k_bias, layer) = part(group, 1, c.n_heads);
    slot_tensor(m, weight ? Slot::v_weight : Slot::v_bias, layer) = part(group + 1, 1, c.n_heads + c.n_kv_heads);
}

/// The hidden units of one expert, or one head's gains: copied to their place among the layer's. A unit's numbers lie side by
/// side there, so that an expert is a piece of memory and not a strip of every row.
void place_units(Model::Internals& m, const ResolvedRow& r, const at::Tensor& tensor) {
    at::Tensor& whole = slot_tensor(m, r.row->slot, r.layer);
    if (tensor.dim() == 1) {  // a norm of each head
        if (!whole.defined()) whole = at::empty({r.row->experts, tensor.size(0)}, tensor.options());
        whole.select(0, r.expert).copy_(tensor);
        return;
    }
    const bool out = r.row->slot == Slot::mlp_out_weight;
    if (!whole.defined()) {
        whole = at::empty({mlp_width(m.config, r.layer), m.config.d_model}, tensor.options());
        if (!out) whole = whole.t();
    }
    const std::int64_t dim = out ? 0 : 1, width = tensor.size(dim);
    whole.narrow(dim, r.row->unit + r.expert * width, width).copy_(tensor);
}

/// Configuration and tensors, whatever files they come from.
struct Source {
    ConfigReader config;
    io::TensorStore store;
    std::map<std::string, Fp8Scale> fp8;     ///< by name
    std::map<std::string, StoredAs> stored;  ///< of tensors that were something else in their file
    std::vector<std::string> used_up;
};

Source open_source(const std::filesystem::path& path, at::ScalarType dtype, const CancelToken& cancel, const Progress& progress) {
    if (const auto gguf = io::gguf_file_of(path)) {
        GgufSource source = read_gguf(*gguf, dtype, cancel, progress);
        return {std::move(source.config), std::move(source.store), {}, std::move(source.stored), std::move(source.used_up)};
    }
    // The path may be a file of weights with config.json beside it.
    const std::filesystem::path folder = folder_of(path);
    std::error_code none;
    if (!std::filesystem::is_directory(folder, none))
        throw Error(ErrorFacts{.problem = "No model folder",
                               .file = folder.string(),
                               .expected = "a folder with config.json and model.safetensors, or a .gguf file"});
    ConfigReader config(folder / "config.json", config_of_tower(io::read_json(folder / "config.json"), path));
    family_for(config);  // report an unknown architecture before missing weights
    QuantizedStore read = read_quantization(config, io::TensorStore::open(without_tower(path)));
    return {std::move(config), std::move(read.store), std::move(read.fp8), {}, std::move(read.used_up)};
}

/// Gives the report the tensor names of the file.
void name_as_stored(LoadReport& report, const Source& source) {
    for (std::vector<std::string>* list : {&report.unused, &report.ignored})
        for (std::string& name : *list)
            if (const auto stored = source.stored.find(name); stored != source.stored.end()) name = stored->second.tensor;
    report.ignored.insert(report.ignored.end(), source.used_up.begin(), source.used_up.end());
}

void fill(Model::Internals& m, const std::vector<ResolvedRow>& rows, const Source& source, const CancelToken& cancel,
          const Progress& progress) {
    const auto total = static_cast<std::int64_t>(rows.size());
    for (std::int64_t i = 0; i < total; ++i) {
        cancel.throw_if_cancelled();
        if (progress) progress({"Loading", "tensor", i, total});
        const ResolvedRow& resolved = rows[static_cast<std::size_t>(i)];
        const auto& [row, layer, view, expert] = resolved;
        bool mapped = false;
        // What decides between experts is not rounded, as in the reference.
        const at::ScalarType dtype = row->slot == Slot::router_correction && m.dtype == at::kBFloat16 ? at::kFloat : m.dtype;
        const auto scale = source.fp8.find(view->name);
        at::Tensor tensor = view->dtype != io::DType::F8_E4M3
                                ? to_tensor(*view, dtype, m.device, mapped)
                                : dequantize_fp8(*view, scale == source.fp8.end() ? nullptr : &scale->second, dtype).to(m.device);
        LoadedParameter loaded{
            parameter_name(resolved),   view->name, view->file.string(), view->shape, std::string(io::name_of(view->dtype)),
            mapped && row->experts == 0};
        auto bytes = static_cast<std::int64_t>(view->bytes.size());
        if (const auto stored = source.stored.find(view->name); stored != source.stored.end()) {
            const StoredAs& as = stored->second;
            loaded.tensor = as.tensor, loaded.shape = as.shape, loaded.stored_dtype = as.dtype;
            loaded.mapped = mapped && as.mapped;
            bytes = as.bytes;
        }
        (loaded.mapped ? m.report.bytes_mapped : m.report.bytes_copied) += bytes;
        m.report.loaded.push_back(std::move(loaded));
        if (row->times != 1) tensor = tensor * row->times;
        if (row->plus != 0) tensor = tensor + row->plus;
        // A copy was made: the file's pages would count beside it, half as much again for a model in half precision.
        if (!mapped) io::MappedFile::release(view->bytes);
        if (row->layout == Layout::out_in) tensor = tensor.t();
        row->experts > 0 ? place_units(m, resolved, tensor) : place(m, row->slot, layer, tensor);
    }
}

bool same_numbers(const io::TensorView& a, const io::TensorView& b) {
    return a.dtype == b.dtype && a.shape == b.shape && std::memcmp(a.bytes.data(), b.bytes.data(), a.bytes.size()) == 0;
}

/// The family's map. An unembedding that lies in the files with other numbers than the embedding is not tied to it,
/// whatever config.json says: many an old config.json leaves the field out, and transformers reads it so.
WeightMap map_of(const Family& family, ModelConfig& c, const io::TensorStore& store) {
    WeightMap map = family.weight_map(c);
    add_prefixes_in_the_wild(map, store);
    if (!c.tied_unembedding) return map;
    ModelConfig untied = c;
    untied.tied_unembedding = false;
    WeightMap other = family.weight_map(untied);
    other.prefixes = map.prefixes;
    const io::TensorView* own = find(other, Slot::unembed, store);
    const io::TensorView* embedding = find(map, Slot::embed, store);
    if (!own || !embedding || same_numbers(*own, *embedding)) return map;
    c = untied;
    return other;
}

/// Vaswani et al. 2017, section 3.5, all sines before all cosines; rounded to float32 whatever the model's type, as the
/// reference does. [context, d_model]
at::Tensor sinusoids(const ModelConfig& c) {
    const std::int64_t half = (c.d_model + 1) / 2;
    const auto angles = [&](std::int64_t count) {
        const at::Tensor frequency = at::pow(10000.0, at::arange(count, at::kDouble) * (-2.0 / static_cast<double>(c.d_model)));
        return at::arange(c.context_length, at::kDouble).unsqueeze(1) * frequency;
    };
    return at::cat({angles(half).sin(), angles(c.d_model - half).cos()}, 1).to(at::kFloat);
}

/// What follows from the loaded tensors: the tied unembedding, ALiBi's slopes.
void derive(Model::Internals& m, bool head_absent) {
    ModelConfig& c = m.config;
    if (head_absent) {
        c.has_unembedding = false;
        c.mlm_head = false;
        c.labels.clear();
    }
    if (c.has_unembedding && c.tied_unembedding) m.unembed.weight = m.embed.t();
    if (c.d_factored > 0) {  // one product each here instead of two in every pass
        if (c.has_unembedding) m.unembed.weight = at::mm(m.projection.weight, m.unembed.weight);
        m.embed = at::mm(m.embed, m.embed_projection.weight);
    }
    if (c.positions == Positions::alibi && c.alibi != Alibi::falcon) m.alibi_slopes = alibi_slopes(c).to(m.device);
    if (c.disentangled.normed && m.relative_embed.defined())
        m.relative_embed =
            at::layer_norm(m.relative_embed, {c.d_model}, m.relative_norm.gain, m.relative_norm.bias, c.norm_epsilon);
    if (!c.norm_gain) {
        const NormWeights plain{at::ones({c.d_model}, at::TensorOptions(m.dtype).device(m.device)), {}};
        for (LayerWeights& l : m.layers) l.ln1 = l.ln2 = plain;
        m.final_norm = plain;
    }
    if (m.unembed.bias.defined()) m.unembed.bias = m.unembed.bias.reshape({-1});  // [1, vocab] in BART's files
    if (c.sinusoidal) m.pos_embed = sinusoids(c).to(m.device, m.dtype);
}

/// The encoder of a model whose decoder is `m`; they share the embedding where the files have one for both.
std::shared_ptr<const Model> load_encoder(Model::Internals& m, const Family& family, const WeightMap& decoder_map,
                                          const Source& source, const CancelToken& cancel, const Progress& progress) {
    auto e = std::make_unique<Model::Internals>();
    e->folder = m.folder;
    e->compute = m.compute;
    e->dtype = m.dtype;
    e->device = m.device;
    e->config = family.encoder_config(source.config);
    e->config.architecture = m.config.architecture;
    e->config.family = m.config.family;
    e->config.name = m.config.name;
    WeightMap map = family.weight_map(e->config);
    map.prefixes = decoder_map.prefixes;
    e->layers.resize(static_cast<std::size_t>(e->config.n_layers));
    bool no_head = false;
    std::vector<ResolvedRow> rows = resolve(map, e->config.n_layers, source.store, m.folder, e->report, no_head);
    const io::TensorView* shared = find(decoder_map, Slot::embed, source.store);
    if (std::erase_if(rows, [&](const ResolvedRow& r) { return r.row->slot == Slot::embed && r.view == shared; }) > 0)
        e->embed = m.embed;
    check_finite(rows, cancel, progress);
    fill(*e, rows, source, cancel, progress);
    derive(*e, no_head);
    e->spec = family.spec(e->config);
    e->report.files = m.report.files;
    return Model::Internals::model_of(std::move(e));
}

}  // namespace

std::shared_ptr<const Model> Model::load(const std::filesystem::path& path, const LoadOptions& options, const CancelToken& cancel,
                                         const Progress& progress) {
    const auto start = std::chrono::steady_clock::now();
    at::internal::lazy_init_num_threads();
    auto m = std::make_unique<Internals>();
    m->folder = path;
    m->compute = options.dtype;
    m->dtype = scalar_type(options.dtype);
    m->device = choose_device(options.device);

    const Source source = open_source(path, m->dtype, cancel, progress);
    const ConfigReader& config = source.config;
    const Family& family = family_for(config);
    m->config = family.parse_config(config);
    m->config.architecture = config.architecture();
    m->config.family = family.name;
    m->config.name = name_of_model(path);

    const io::TensorStore& store = source.store;
    const WeightMap map = map_of(family, m->config, store);
    m->qkv_layout = map.qkv;
    m->layers.resize(static_cast<std::size_t>(m->config.n_layers));
    bool head_absent = false;
    const std::vector<ResolvedRow> rows = resolve(map, m->config.n_layers, store, path, m->report, head_absent);
    check_finite(rows, cancel, progress);
    fill(*m, rows, source, cancel, progress);
    name_as_stored(m->report, source);
    if (m->qkv_layout == QkvLayout::blocks || m->qkv_layout == QkvLayout::grouped) m->qkv_layout = QkvLayout::separate;
    derive(*m, head_absent);
    m->spec = family.spec(m->config);

    for (const auto& file : store.files()) m->report.files.push_back(file.string());
    if (family.encoder_config) {
        m->encoder = load_encoder(*m, family, map, source, cancel, progress);
        m->cross = Internals::model_of(cross_attentions_of(*m));
        add_report_of_encoder(m->report, m->encoder->report());
    }
    m->report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return std::shared_ptr<const Model>(new Model(std::move(m)));
}

}  // namespace headlight::model
