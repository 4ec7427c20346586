// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/blocks/disentangled.h"

#include "headlight/base/error.h"
#include "model/arithmetic/kernels.h"
#include "model/arithmetic/tiles.h"
#include "model/blocks/pass.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>

namespace headlight::model {

std::int64_t relative_row(const Disentangled& d, std::int64_t distance) noexcept {
    std::int64_t bucket = distance;
    const std::int64_t middle = d.buckets / 2, size = distance < 0 ? -distance : distance;
    if (d.buckets > 0 && size > middle) {
        const double far = std::log(static_cast<double>(size) / static_cast<double>(middle)) /
                           std::log(static_cast<double>(d.max_distance - 1) / static_cast<double>(middle));
        const std::int64_t steps = static_cast<std::int64_t>(std::ceil(far * static_cast<double>(middle - 1))) + middle;
        bucket = distance < 0 ? -steps : steps;
    }
    if (d.by_layer) return std::clamp<std::int64_t>(distance + d.span - 1, 0, 2 * d.span - 2);
    return std::clamp<std::int64_t>(bucket + d.span, 0, 2 * d.span - 1);
}

namespace {

/// One head's table [pos, row]: x [pos, d_head] against the projected relative embeddings, scaled.
template <class T>
void head_table(const at::Tensor& relative, const Linear& projection, std::int64_t head, const at::Tensor& x, double scale,
                at::Tensor out) {
    const std::int64_t rows = relative.size(0), width = relative.size(1), d = x.size(1);
    const at::Tensor stored = projection.weight.t();  // as the file keeps it: the head's part lies together
    at::Tensor vectors = at::empty({rows, d}, x.options());
    T* to = vectors.data_ptr<T>();
    kernels::gemm(relative.data_ptr<T>(), width, stored.data_ptr<T>() + head * d * width, width, true, to, d, rows, d, width);
    const T* bias = projection.bias.defined() ? projection.bias.data_ptr<T>() + head * d : nullptr;
    for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t i = 0; i < d; ++i) to[r * d + i] = (to[r * d + i] + (bias ? bias[i] : T{0})) * static_cast<T>(scale);
    kernels::gemm(x.data_ptr<T>(), d, to, d, true, out.data_ptr<T>(), rows, x.size(0), rows, d);
}

/// [head, pos, row]
at::Tensor table_of(const at::Tensor& relative, const Linear& projection, std::int64_t head0, const at::Tensor& x, double scale) {
    const std::int64_t heads = x.size(0), d = x.size(2);
    if (has_kernels(x) && projection.weight.t().is_contiguous() && relative.is_contiguous()) {
        at::Tensor out = at::empty({heads, x.size(1), relative.size(0)}, x.options());
        at::parallel_for(0, heads, 1, [&](std::int64_t first, std::int64_t last) {
            for (std::int64_t h = first; h < last; ++h)
                x.scalar_type() == at::kFloat ? head_table<float>(relative, projection, head0 + h, x[h], scale, out[h])
                                              : head_table<double>(relative, projection, head0 + h, x[h], scale, out[h]);
        });
        return out;
    }
    const Linear part{projection.weight.narrow(1, head0 * d, heads * d),
                      projection.bias.defined() ? projection.bias.narrow(0, head0 * d, heads * d) : at::Tensor{}};
    const at::ScalarType wide = x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
    const at::Tensor vectors = apply(part, relative).to(wide).view({-1, heads, d}).permute({1, 2, 0});  // [head, d_head, row]
    return (at::matmul(x.to(wide), vectors) * scale).contiguous();
}

template <class T>
void add_terms(const RelativeTables& tables, std::int64_t head, std::int64_t query, KeyRange legal, T* row) {
    const std::int64_t keys = tables.p2c.defined() ? tables.p2c.size(1) : tables.rows.size(0) - tables.c2p.size(1) + 1;
    const std::int64_t* column = tables.rows.data_ptr<std::int64_t>() + query + keys - 1;  // of key 0
    if (tables.c2p.defined()) {
        const T* from = tables.c2p.data_ptr<T>() + (head * tables.c2p.size(1) + query) * tables.c2p.size(2);
        for (std::int64_t j = legal.first; j < legal.last; ++j) row[j - legal.first] += from[column[-j]];
    }
    if (tables.p2c.defined()) {
        const std::int64_t width = tables.p2c.size(2);
        const T* from = tables.p2c.data_ptr<T>() + head * keys * width;
        for (std::int64_t j = legal.first; j < legal.last; ++j) row[j - legal.first] += from[j * width + column[-j]];
    }
}

}  // namespace

RelativeTables relative_tables(const Model::Internals& m, Layer layer, std::int64_t head0, const at::Tensor& q,
                               const at::Tensor& k) {
    const Disentangled& d = m.config.disentangled;
    if (!d.any()) return {};
    const auto held = weights_of(m, layer, LayerPart::attention);
    const LayerWeights& w = *held;
    const std::int64_t queries = q.size(1), keys = k.size(1);
    RelativeTables tables;
    const std::int64_t first = relative_row(d, 1 - keys), last = relative_row(d, queries - 1);
    const auto here = [&](const at::Tensor& t) { return t.defined() ? t.to(q.options()) : t; };
    const at::Tensor relative = here((d.by_layer ? w.relative_rows : m.relative_embed).narrow(0, first, last - first + 1));
    const auto table = [&](const Linear& shared, const Linear& own, const at::Tensor& x) {
        if (d.by_layer) return (at::matmul(x, relative.t()) * score_scale_of(m.config, layer.value)).contiguous();
        const Linear& projection = d.shared_projections ? shared : own;
        return table_of(relative, {here(projection.weight), here(projection.bias)}, head0, x,
                        score_scale_of(m.config, layer.value));
    };
    if (d.content_to_position) tables.c2p = table(w.k, w.relative_k, q);
    if (d.position_to_content) tables.p2c = table(w.q, w.relative_q, k);
    tables.rows = at::empty({queries + keys - 1}, at::kLong);
    for (std::int64_t i = 0; i < queries + keys - 1; ++i)
        tables.rows.data_ptr<std::int64_t>()[i] = relative_row(d, i - keys + 1) - first;
    return tables;
}

void add_relative_terms(const RelativeTables& tables, std::int64_t head, std::int64_t query, KeyRange legal, float* row) {
    add_terms(tables, head, query, legal, row);
}

void add_relative_terms(const RelativeTables& tables, std::int64_t head, std::int64_t query, KeyRange legal, double* row) {
    add_terms(tables, head, query, legal, row);
}

at::Tensor relative_part(const RelativeTables& tables, const at::Tensor& table, const Tile& t) {
    const bool by_query = table.is_same(tables.c2p);
    const std::int64_t keys = by_query ? tables.rows.size(0) - table.size(1) + 1 : table.size(1);
    const at::Tensor distance =
        at::arange(t.row0, t.row0 + t.rows, at::kLong).unsqueeze(1) - at::arange(t.keys, at::kLong).unsqueeze(0);
    const at::Tensor column =
        tables.rows.index_select(0, (distance + (keys - 1)).flatten()).view({t.rows, t.keys}).to(table.device());
    const at::Tensor heads = table.narrow(0, t.head0, t.heads);
    if (by_query) return heads.narrow(1, t.row0, t.rows).gather(2, column.unsqueeze(0).expand({t.heads, t.rows, t.keys}));
    return heads.narrow(1, 0, t.keys).gather(2, column.t().unsqueeze(0).expand({t.heads, t.keys, t.rows})).transpose(1, 2);
}

at::Tensor relative_term(const AttentionInput& in, Hook hook, std::int64_t head0, std::int64_t heads, std::int64_t row0,
                         std::int64_t rows) {
    const at::Tensor& table = hook == Hook::c2p ? in.relative.c2p : in.relative.p2c;
    if (!table.defined())
        throw Error(ErrorFacts{.problem = "This model's scores have no such term", .item = name_of({hook, Layer(0)})});
    return relative_part(in.relative, table, Tile{head0, heads, row0, rows, in.k.size(1)}).contiguous().to(in.q.scalar_type());
}

}  // namespace headlight::model
