// SPDX-License-Identifier: GPL-3.0-or-later
#include "trace/saved/saved_parts.h"

#include "headlight/base/error.h"
#include "headlight/model/hook_name.h"
#include "model/load/weight_source.h"
#include "trace/head_kernels.h"

#include <ATen/Parallel.h>

#include <cmath>
#include <utility>

namespace headlight::trace {

namespace fs = std::filesystem;
using model::Hook;

namespace {

constexpr double kRowTolerance = 2e-3;  ///< of a row's sum: float16 and bfloat16 files are rounded

}  // namespace

void fail_saved(const fs::path& file, const std::string& problem, const std::string& item, const std::string& expected,
                const std::string& found, const std::string& hint) {
    throw Error(
        ErrorFacts{.problem = problem, .file = file.string(), .item = item, .expected = expected, .found = found, .hint = hint});
}

at::Tensor tensor_of(const io::TensorView& view) {
    const at::ScalarType type = model::scalar_type(view.dtype);
    if (!at::isFloatingType(type))
        fail_saved(view.file, "an array of the wrong type", view.name, "floating-point numbers",
                   std::string(io::name_of(view.dtype)));
    bool mapped = false;
    return model::to_tensor(view, type, at::kCPU, mapped);
}

void check_pattern(const fs::path& file, const std::string& name, std::int64_t layer, const at::Tensor& pattern, RowCheck& rows) {
    const at::Tensor wide = pattern.to(at::kFloat).contiguous();
    const std::int64_t heads = wide.size(0), tokens = wide.size(1), keys = wide.size(2);
    const float* at = wide.data_ptr<float>();
    for (std::int64_t h = 0; h < heads; ++h)
        for (std::int64_t q = 0; q < tokens; ++q, at += keys) {
            double sum = 0;
            for (std::int64_t k = 0; k < keys; ++k) {
                const float p = at[k];
                if (!(p >= -1e-6F && p <= 1.0F + 1e-2F))
                    fail_saved(file, "A number that is no attention weight",
                               name + ", layer " + std::to_string(layer) + ", head " + std::to_string(h) + ", query " +
                                   std::to_string(q) + ", key " + std::to_string(k),
                               "0 to 1", std::to_string(p), "Save what the softmax gives, not the scores before it");
                sum += p;
            }
            ++rows.rows;
            if (std::abs(sum - 1) <= kRowTolerance) continue;
            if (rows.wrong_rows++ == 0)
                rows.first = "layer " + std::to_string(layer) + ", head " + std::to_string(h) + ", query " + std::to_string(q) +
                             ": " + std::to_string(sum);
        }
}

bool looks_ahead(const at::Tensor& pattern) { return pattern.triu(1).ne(0).any().item<bool>(); }

namespace {

void add_overview(Trace::Internals& t, const CancelToken& cancel, const Progress& progress) {
    const model::ModelConfig& c = t.model->config();
    const text::Encoding& keys = t.source ? *t.source : t.encoding;
    const PatternFacts facts(
        {.queries = t.encoding.size(), .keys = keys.size(), .across = t.source.has_value(), .causal = !t.source && c.causal},
        *t.tokenizer, keys, {});
    const auto heads = static_cast<std::size_t>(c.n_layers * c.n_heads);
    t.overview = {};
    t.pooled.resize(heads);
    t.head_numbers.resize(heads);
    for (std::int64_t layer = 0; layer < c.n_layers; ++layer) {
        cancel.throw_if_cancelled();
        if (progress) progress({"Reading", "layer", layer, c.n_layers});
        const at::Tensor pattern = t.stored.at({Hook::pattern, Layer(layer)}).to(at::kFloat).contiguous();
        const std::int64_t rows = pattern.size(1), columns = pattern.size(2);
        const float* data = pattern.data_ptr<float>();
        at::parallel_for(0, c.n_heads, 1, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t h = begin; h < end; ++h) {
                const auto index = static_cast<std::size_t>(layer * c.n_heads + h);
                HeadAccumulator(facts, t.pooled[index], t.head_numbers[index])
                    .add_rows(data + h * rows * columns, 0, rows, columns, columns);
            }
        });
    }
}

}  // namespace

void add_row_warning(const RowCheck& rows, RunInfo& info) {
    if (rows.wrong_rows == 0) return;
    info.warnings.push_back(std::to_string(rows.wrong_rows) + " of " + std::to_string(rows.rows) +
                            " rows do not sum to one (the first: " + rows.first + "): shares and entropies are of what is there");
}

model::ModelConfig plain_config(std::int64_t layers, std::int64_t heads, std::int64_t tokens) {
    model::ModelConfig c;
    c.n_layers = layers;
    c.n_heads = c.n_kv_heads = heads;
    c.context_length = tokens;
    c.has_unembedding = false;
    c.positions = model::Positions::none;
    return c;
}

std::shared_ptr<const Trace> finish_saved(std::unique_ptr<Trace::Internals> t, const CancelToken& cancel,
                                          const Progress& progress) {
    t->labels = text::token_labels(*t->tokenizer, t->encoding);
    if (t->source) t->source_labels = text::token_labels(*t->tokenizer, *t->source);
    add_overview(*t, cancel, progress);
    for (const auto& [point, tensor] : t->stored) {
        t->kept.push_back(point);
        t->bytes += static_cast<std::int64_t>(tensor.nbytes());
    }
    return std::make_shared<const Trace>(std::move(t));
}

}  // namespace headlight::trace
