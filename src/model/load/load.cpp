// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/base/error.h"
#include "headlight/base/memory.h"
#include "headlight/base/working_for.h"
#include "headlight/io/mapped_file.h"
#include "headlight/model/blas_kernels.h"
#include "headlight/model/model.h"
#include "headlight/model/peek.h"
#include "model/arithmetic/device.h"
#include "model/families/class_heads.h"
#include "model/internals.h"
#include "model/load/as_used.h"
#include "model/load/load_parts.h"
#include "model/load/place.h"
#include "model/load/source.h"
#include "model/load/weight_source.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

namespace headlight::model {
namespace {

at::ScalarType scalar_type_of(ComputeType type) {
    switch (type) {
        case ComputeType::bfloat16: return at::kBFloat16;
        case ComputeType::float64: return at::kDouble;
        default: return at::kFloat;
    }
}

/// Bytes of all weights at once; 0 for files that cannot be read, which opening them reports.
std::int64_t bytes_of_weights(const std::filesystem::path& path, at::ScalarType type) {
    std::int64_t numbers = 0;
    try {
        const io::TensorStore store = outline_of(path);
        for (const auto& [name, view] : store.tensors()) numbers += view.numel();
    } catch (const Error&) {
        return 0;
    }
    return numbers * static_cast<std::int64_t>(at::elementSize(type));
}

Placement device_for(const LoadOptions& options, const std::filesystem::path& path) {
    if (!has_bfloat16_products(options.dtype)) {
        const at::Device chosen = choose_device(options.device);
        if (chosen.is_cpu()) return {chosen, {}};
        return device_with_room(chosen, options.device, bytes_of_weights(path, scalar_type_of(options.dtype)),
                                free_memory(chosen));
    }
    const std::string type(enum_word(options.dtype));
    if (options.device == "cuda")
        throw Error(ErrorFacts{.problem = "Products of bfloat16 in a float32 pass are computed on the CPU alone",
                               .item = type,
                               .hint = "Take another type, or the device cpu"});
    if (!computes_bfloat16_products())
        throw Error(ErrorFacts{.problem = "This processor has no units for products of bfloat16",
                               .item = type,
                               .expected = "AVX-512 BF16 or AMX",
                               .hint = "Take the type float32"});
    return {at::kCPU, {}};
}

/// Bytes that all weights may take at once, and that those which are converted as they are used may keep.
struct Room {
    std::int64_t whole, kept;
};

/// Rows that are read while the model is opened.
std::vector<ResolvedRow> used_at_once(std::vector<ResolvedRow> rows, const Source& source, const Model::Internals& m) {
    std::erase_if(rows, [&](const ResolvedRow& r) { return is_deferred(source, r, m); });
    return rows;
}

/// Gives the report the tensor names of the file.
void name_as_stored(LoadReport& report, const Source& source) {
    for (std::vector<std::string>* list : {&report.unused, &report.ignored})
        for (std::string& name : *list)
            if (const auto stored = source.stored.find(name); stored != source.stored.end()) name = stored->second.tensor;
    report.ignored.insert(report.ignored.end(), source.used_up.begin(), source.used_up.end());
}

/// Tensors of a vision-language model that are no part of its language model.
void leave_out_other_parts(LoadReport& report) {
    constexpr std::string_view kParts[] = {"vision", "visual.", "projector", "connector", "image_newline", "mlp1."};
    const auto others = std::ranges::stable_partition(report.unused, [&](const std::string& name) {
        return std::ranges::none_of(kParts, [&](std::string_view part) { return name.find(part) != std::string::npos; });
    });
    report.ignored.insert(report.ignored.end(), others.begin(), others.end());
    report.unused.erase(others.begin(), others.end());
}

/// How the report speaks of a row's tensor.
LoadedParameter reported(const Source& source, const ResolvedRow& r, std::int64_t& bytes) {
    const io::TensorView& view = *r.view;
    LoadedParameter loaded{parameter_name(r),  view.name, view.file.string(), view.shape, std::string(io::name_of(view.dtype)),
                           r.row->experts == 0};
    bytes = static_cast<std::int64_t>(view.bytes.size());
    if (const auto stored = source.stored.find(view.name); stored != source.stored.end()) {
        const StoredAs& as = stored->second;
        loaded.tensor = as.tensor, loaded.shape = as.shape, loaded.stored_dtype = as.dtype;
        loaded.mapped = loaded.mapped && as.mapped;
        bytes = as.bytes;
    }
    return loaded;
}

/// `deferred`: rows of which only an outline is placed.
void fill(Model::Internals& m, const std::vector<ResolvedRow>& rows, const Source& source, std::vector<ResolvedRow>& deferred,
          const CancelToken& cancel, const Progress& progress) {
    const auto total = static_cast<std::int64_t>(rows.size());
    for (std::int64_t i = 0; i < total; ++i) {
        cancel.throw_if_cancelled();
        if (progress) progress({"Loading", "tensor", i, total});
        const ResolvedRow& row = rows[static_cast<std::size_t>(i)];
        LayerWeights& layer = m.layers[static_cast<std::size_t>(row.layer)];
        std::int64_t bytes = 0;
        LoadedParameter loaded = reported(source, row, bytes);
        if (m.config.class_head.any() && loaded.parameter.starts_with("mlm_head.")) loaded.parameter.replace(0, 3, "class");
        if (is_deferred(source, row, m)) {
            loaded.mapped = false;
            m.bytes_as_used += bytes;
            deferred.push_back(row);
            place(m, layer, row, at::empty(row.view->shape, at::TensorOptions(m.dtype).device(at::kMeta)));
        } else {
            bool mapped = false;
            const at::Tensor tensor = numbers_of(source, row, m.dtype, m.device, mapped);
            if (place(m, layer, row, tensor)) mapped = false;
            loaded.mapped = loaded.mapped && mapped;
            (loaded.mapped ? m.report.bytes_mapped : m.report.bytes_copied) += bytes;
            // A copy was made: the file's pages would count beside it, half as much again for a model in half precision.
            if (!mapped) io::MappedFile::release(row.view->bytes);
            if (!loaded.mapped) m.bytes_converted += static_cast<std::int64_t>(tensor.nbytes());
        }
        m.report.loaded.push_back(std::move(loaded));
    }
}

/// The family's map. An unembedding that lies in the files with other numbers than the embedding is not tied to it,
/// whatever config.json says: many an old config.json leaves the field out, and transformers reads it so.
WeightMap map_of(const Family& family, ModelConfig& c, const Source& source) {
    const io::TensorStore& store = source.store;
    find_other_head(c, store);
    WeightMap map = rows_of(family, c);
    add_prefixes_in_the_wild(map, store);
    if (!c.tied_unembedding) return map;
    ModelConfig untied = c;
    untied.tied_unembedding = false;
    WeightMap other = rows_of(family, untied);
    other.prefixes = map.prefixes;
    const io::TensorView* own = find(other, Slot::unembed, store);
    const io::TensorView* embedding = find(map, Slot::embed, store);
    if (!own || !embedding || same_numbers(source, *own, *embedding)) return map;
    c = untied;
    return other;
}

/// Experts that lie in one tensor become tensors of their own.
void split_experts(Source& source, const WeightMap& map, std::int64_t n_layers) {
    if (std::ranges::all_of(map.rows, [](const WeightRow& row) { return row.piece.of.empty(); })) return;
    source.store = with_pieces(map, n_layers, source.store, [&](const io::TensorView& piece, const io::TensorView& whole) {
        source.stored[piece.name] = {whole.name, std::string(io::name_of(whole.dtype)), piece.shape,
                                     static_cast<std::int64_t>(piece.bytes.size()), true};
    });
}

/// M2M-100's: the last frequency is 1/10000, and the row of padding is 0. [context + offset, d_model]
at::Tensor sines_to_end(const ModelConfig& c, at::ScalarType type) {
    const std::int64_t n = c.d_model / 2, rows = c.context_length + c.position_offset;
    const at::Tensor frequency = at::exp(at::arange(n, type) * (-std::log(10000.0) / static_cast<double>(n - 1)));
    const at::Tensor angle = at::arange(rows, type).unsqueeze(1) * frequency;
    at::Tensor table = at::cat({angle.sin(), angle.cos(), at::zeros({rows, c.d_model - 2 * n}, type)}, 1);
    table.select(0, c.position_offset - 1).zero_();
    return table;
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

/// The patches' positions as of another number of rows and columns, in float32 at least as the reference does it; registers
/// have none. [context, d_model]
at::Tensor fitted_positions(const ModelConfig& c, const at::Tensor& stored) {
    at::Tensor patches = stored.narrow(0, 1, stored.size(0) - 1);
    if (c.table_side > 0) {
        const at::ScalarType wide = stored.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
        const std::vector<std::int64_t> shape = {1, c.d_model, c.table_side, c.table_side},
                                        to = {patch_rows(c), patch_columns(c)};
        const at::Tensor grid = patches.to(wide).t().reshape(shape);
        patches = (c.smooth_table ? at::_upsample_bicubic2d_aa(grid, to, false) : at::upsample_bicubic2d(grid, to, false))
                      .reshape({c.d_model, to[0] * to[1]})
                      .t()
                      .to(stored.scalar_type());
    }
    return at::cat({stored.narrow(0, 0, 1), at::zeros({c.registers, c.d_model}, stored.options()), patches}).contiguous();
}

/// Frequencies that a file keeps, rounded as it keeps them, are factors of those that the base gives.
void take_frequencies(ModelConfig& c, const at::Tensor& stored) {
    const at::Tensor power = at::arange(0, c.rope_dims, 2, at::kDouble) / static_cast<double>(c.rope_dims);
    const at::Tensor factors = (1 / at::pow(c.rope.theta, power) / stored.to(at::kCPU, at::kDouble)).contiguous();
    constexpr double rounding = 2e-7;
    if ((factors - 1).abs().max().item<double>() <= rounding) return;
    const double* first = factors.data_ptr<double>();
    c.rope.scaling = RopeScaling::longrope;
    c.rope.short_factors = c.rope.long_factors = {first, first + factors.numel()};
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
    if (m.rope_frequencies.defined()) take_frequencies(c, m.rope_frequencies);
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
    if (m.pos_embed.defined() && (c.table_side > 0 || c.registers > 0)) m.pos_embed = fitted_positions(c, m.pos_embed);
    if (m.pos_embed.defined()) c.sinusoidal = false;  // Pegasus's files may hold the table
    if (c.sinusoidal) {
        const at::ScalarType wide = m.dtype == at::kDouble ? at::kDouble : at::kFloat;
        m.pos_embed = (c.sines_to_end ? sines_to_end(c, wide) : sinusoids(c)).to(m.device, m.dtype);
    }
}

/// The encoder of a model whose decoder is `m`; they share the embedding where the files have one for both.
std::shared_ptr<const Model> load_encoder(Model::Internals& m, const Family& family,
                                          const std::shared_ptr<const WeightMap>& decoder_map,
                                          const std::shared_ptr<const Source>& from, const Room& room, const CancelToken& cancel,
                                          const Progress& progress) {
    const Source& source = *from;
    auto e = std::make_unique<Model::Internals>();
    e->folder = m.folder;
    e->compute = m.compute;
    e->dtype = m.dtype;
    e->device = m.device;
    e->config = family.encoder_config(source.config);
    e->config.architecture = m.config.architecture;
    e->config.family = m.config.family;
    e->config.name = m.config.name;
    WeightMap own_map = family.weight_map(e->config);
    own_map.prefixes = decoder_map->prefixes;
    const auto map = std::make_shared<const WeightMap>(std::move(own_map));
    e->layers.resize(static_cast<std::size_t>(e->config.n_layers));
    bool no_head = false;
    std::vector<ResolvedRow> rows = resolve(*map, e->config.n_layers, source.store, m.folder, e->report, no_head);
    const io::TensorView* shared = find(*decoder_map, Slot::embed, source.store);
    std::vector<ResolvedRow> deferred;
    const auto is_shared = [&](const ResolvedRow& r) { return r.row->slot == Slot::embed && r.view == shared; };
    if (const auto embed = std::ranges::find_if(rows, is_shared); embed != rows.end()) {
        if (is_deferred(source, *embed, *e)) deferred.push_back(*embed);
        rows.erase(embed);
        e->embed = m.embed;
    }
    check_finite(used_at_once(rows, source, *e), cancel, progress);
    fill(*e, rows, source, deferred, cancel, progress);
    derive(*e, no_head);
    if (source.as_used) e->as_used = std::make_shared<WeightsAsUsed>(from, map, std::move(deferred), *e, room.kept);
    e->spec = family.spec(e->config);
    e->report.files = m.report.files;
    return Model::Internals::model_of(std::move(e));
}

}  // namespace

std::shared_ptr<const Model> Model::load(const std::filesystem::path& path, const LoadOptions& options, const CancelToken& cancel,
                                         const Progress& progress) {
    const auto start = std::chrono::steady_clock::now();
    const WorkingFor here(cancel);
    at::internal::lazy_init_num_threads();
    auto m = std::make_unique<Internals>();
    m->folder = path;
    m->compute = options.dtype;
    m->dtype = scalar_type_of(options.dtype);
    const Placement placement = device_for(options, path);
    m->device = placement.device;
    m->report.why_cpu = placement.why_cpu;

    // Weights on another device are all there; the others may take three quarters of what the program may.
    const std::int64_t budget = memory_budget();
    Room room{m->device.is_cpu() ? budget / 4 * 3 : std::numeric_limits<std::int64_t>::max(), budget / 2};
    const auto source = std::make_shared<Source>(open_source(path, m->dtype, room.whole, cancel, progress));
    const ConfigReader& config = source->config;
    const Family& family = family_for(config);
    m->config = config_of(family, config);
    const bool has_encoder = m->config.stack == Stack::decoder;
    if (has_encoder) room.kept /= 2;  // for each of the two stacks
    m->config.name = name_of_model(path);

    const auto map = std::make_shared<const WeightMap>(map_of(family, m->config, *source));
    split_experts(*source, *map, m->config.n_layers);
    const io::TensorStore& store = source->store;
    m->qkv_layout = map->qkv;
    m->layers.resize(static_cast<std::size_t>(m->config.n_layers));
    bool head_absent = false;
    const std::vector<ResolvedRow> rows = resolve(*map, m->config.n_layers, store, path, m->report, head_absent);
    check_finite(used_at_once(rows, *source, *m), cancel, progress);
    std::vector<ResolvedRow> deferred;
    fill(*m, rows, *source, deferred, cancel, progress);
    name_as_stored(m->report, *source);
    m->report.notes = source->notes;
    if (!source->notes.empty() && !reads_pictures(m->config)) leave_out_other_parts(m->report);
    if (m->qkv_layout == QkvLayout::blocks || m->qkv_layout == QkvLayout::grouped) m->qkv_layout = QkvLayout::separate;
    derive(*m, head_absent);
    if (source->as_used) m->as_used = std::make_shared<WeightsAsUsed>(source, map, std::move(deferred), *m, room.kept);
    m->spec = spec_of(family, m->config);

    for (const auto& file : store.files()) m->report.files.push_back(file.string());
    if (has_encoder) {
        m->encoder = load_encoder(*m, family, map, source, room, cancel, progress);
        m->cross = Internals::model_of(cross_attentions_of(*m));
        add_report_of_encoder(m->report, m->encoder->report());
    }
    m->report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return std::shared_ptr<const Model>(new Model(std::move(m)));
}

}  // namespace headlight::model
