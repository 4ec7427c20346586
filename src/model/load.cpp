// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/base/error.h"
#include "headlight/io/gguf.h"
#include "headlight/io/json_file.h"
#include "headlight/io/mapped_file.h"
#include "headlight/io/safetensors.h"
#include "headlight/model/locate.h"
#include "headlight/model/model.h"
#include "headlight/model/peek.h"
#include "model/config_reader.h"
#include "model/device.h"
#include "model/gguf/source.h"
#include "model/internals.h"
#include "model/quantization.h"
#include "model/weight_source.h"

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

/// The member a slot of this layer (or of the whole model) is kept in.
at::Tensor& place_of(Model::Internals& m, Slot slot, std::int64_t layer) {
    LayerWeights& l = m.layers[static_cast<std::size_t>(layer)];
    switch (slot) {
        case Slot::embed: return m.embed;
        case Slot::pos_embed: return m.pos_embed;
        case Slot::token_type_embed: return m.token_type_embed;
        case Slot::embed_norm_gain: return m.embed_norm.gain;
        case Slot::embed_norm_bias: return m.embed_norm.bias;
        case Slot::embed_projection_weight: return m.embed_projection.weight;
        case Slot::embed_projection_bias: return m.embed_projection.bias;
        case Slot::q_norm_gain: return l.q_norm.gain;
        case Slot::q_norm_bias: return l.q_norm.bias;
        case Slot::k_norm_gain: return l.k_norm.gain;
        case Slot::k_norm_bias: return l.k_norm.bias;
        case Slot::ln1_post_gain: return l.ln1_post.gain;
        case Slot::ln1_post_bias: return l.ln1_post.bias;
        case Slot::ln2_post_gain: return l.ln2_post.gain;
        case Slot::ln2_post_bias: return l.ln2_post.bias;
        case Slot::ln1_gain: return l.ln1.gain;
        case Slot::ln1_bias: return l.ln1.bias;
        case Slot::q_weight: return l.q.weight;
        case Slot::q_bias: return l.q.bias;
        case Slot::k_weight: return l.k.weight;
        case Slot::k_bias: return l.k.bias;
        case Slot::v_weight: return l.v.weight;
        case Slot::v_bias: return l.v.bias;
        case Slot::qkv_weight: return l.qkv.weight;
        case Slot::qkv_bias: return l.qkv.bias;
        case Slot::o_weight: return l.o.weight;
        case Slot::o_bias: return l.o.bias;
        case Slot::ln2_gain: return l.ln2.gain;
        case Slot::ln2_bias: return l.ln2.bias;
        case Slot::mlp_in_weight: return l.mlp_in.weight;
        case Slot::mlp_in_bias: return l.mlp_in.bias;
        case Slot::mlp_up_weight: return l.mlp_up.weight;
        case Slot::mlp_up_bias: return l.mlp_up.bias;
        case Slot::mlp_out_weight: return l.mlp_out.weight;
        case Slot::mlp_out_bias: return l.mlp_out.bias;
        case Slot::final_norm_gain: return m.final_norm.gain;
        case Slot::final_norm_bias: return m.final_norm.bias;
        case Slot::mlm_weight: return m.mlm.weight;
        case Slot::mlm_bias: return m.mlm.bias;
        case Slot::mlm_norm_gain: return m.mlm_norm.gain;
        case Slot::mlm_norm_bias: return m.mlm_norm.bias;
        case Slot::unembed: return m.unembed.weight;
        case Slot::unembed_bias: return m.unembed.bias;
        case Slot::mlp_gate_up_weight:  // taken apart before
        case Slot::mlp_gate_up_bias:
        case Slot::count: break;
    }
    throw Error("a weight map names a slot that does not exist");
}

/// Fused matrices that the pass does not read fused become views of their parts; Falcon's interleaved ones copies.
void place(Model::Internals& m, Slot slot, std::int64_t layer, const at::Tensor& tensor) {
    const ModelConfig& c = m.config;
    const std::int64_t last = tensor.dim() - 1;
    if (slot == Slot::mlp_gate_up_weight || slot == Slot::mlp_gate_up_bias) {
        const bool weight = slot == Slot::mlp_gate_up_weight;
        place_of(m, weight ? Slot::mlp_in_weight : Slot::mlp_in_bias, layer) = tensor.narrow(last, 0, c.d_mlp);
        place_of(m, weight ? Slot::mlp_up_weight : Slot::mlp_up_bias, layer) = tensor.narrow(last, c.d_mlp, c.d_mlp);
        return;
    }
    const bool weight = slot == Slot::qkv_weight;
    if (!(weight || slot == Slot::qkv_bias) || (m.qkv_layout != QkvLayout::blocks && m.qkv_layout != QkvLayout::grouped)) {
        place_of(m, slot, layer) = tensor;
        return;
    }
    const std::int64_t group = c.n_heads / c.n_kv_heads, d = c.d_head;
    const auto part = [&](std::int64_t first, std::int64_t heads, std::int64_t all_heads) {
        if (m.qkv_layout == QkvLayout::blocks) return tensor.narrow(last, all_heads * d, heads * d * c.n_kv_heads);
        const std::vector<std::int64_t> split = {c.n_kv_heads, group + 2, d};
        return tensor.unflatten(last, split).narrow(last + 1, first, heads).flatten(last, last + 2).contiguous();
    };
    place_of(m, weight ? Slot::q_weight : Slot::q_bias, layer) = part(0, group, 0);
    place_of(m, weight ? Slot::k_weight : Slot::k_bias, layer) = part(group, 1, c.n_heads);
    place_of(m, weight ? Slot::v_weight : Slot::v_bias, layer) = part(group + 1, 1, c.n_heads + c.n_kv_heads);
}

/// Configuration and tensors, whatever files they come from.
struct Source {
    ConfigReader config;
    io::TensorStore store;
    std::map<std::string, StoredAs> stored;  ///< of tensors that were something else in their file
    std::vector<std::string> used_up;
};

Source open_source(const std::filesystem::path& path, at::ScalarType dtype, const CancelToken& cancel,
                   const Progress& progress) {
    if (const auto gguf = io::gguf_file_of(path)) {
        GgufSource source = read_gguf(*gguf, dtype, cancel, progress);
        return {std::move(source.config), std::move(source.store), std::move(source.stored), std::move(source.used_up)};
    }
    // The path may be a file of weights with config.json beside it.
    const std::filesystem::path folder = folder_of(path);
    std::error_code none;
    if (!std::filesystem::is_directory(folder, none))
        throw Error(ErrorFacts{.problem = "no model folder", .file = folder.string(),
                               .expected = "a folder with config.json and model.safetensors, or a .gguf file"});
    ConfigReader config(folder / "config.json", io::read_json(folder / "config.json"));
    family_for(config);  // an architecture that is not known is told before weights that are not there
    return {std::move(config), io::TensorStore::open(path), {}, {}};
}

/// The report in the words of the file.
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
        const auto& [row, layer, view] = rows[static_cast<std::size_t>(i)];
        bool mapped = false;
        at::Tensor tensor = to_tensor(*view, m.dtype, m.device, mapped);
        LoadedParameter loaded{parameter_name(row->slot, layer), view->name, view->file.string(), view->shape,
                               std::string(io::name_of(view->dtype)), mapped};
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
        place(m, row->slot, layer, row->layout == Layout::out_in ? tensor.t() : tensor);
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

/// What follows from the loaded tensors: the tied unembedding, ALiBi's slopes.
void derive(Model::Internals& m, bool head_absent) {
    ModelConfig& c = m.config;
    if (head_absent) {
        c.has_unembedding = false;
        c.mlm_head = false;
    }
    if (c.has_unembedding && c.tied_unembedding) m.unembed.weight = m.embed.t();
    if (c.positions == Positions::alibi) m.alibi_slopes = alibi_slopes(c).to(m.device);
    if (!c.norm_gain) {
        const NormWeights plain{at::ones({c.d_model}, at::TensorOptions(m.dtype).device(m.device)), {}};
        for (LayerWeights& l : m.layers) l.ln1 = l.ln2 = plain;
        m.final_norm = plain;
    }
}

}  // namespace

std::shared_ptr<const Model> Model::load(const std::filesystem::path& path, const LoadOptions& options,
                                         const CancelToken& cancel, const Progress& progress) {
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
    check_quantization(config, store);
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
    m->report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return std::shared_ptr<const Model>(new Model(std::move(m)));
}

}  // namespace headlight::model
