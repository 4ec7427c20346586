// SPDX-License-Identifier: GPL-3.0-or-later
#include "analyze/focus/focus_terms.h"
#include "analyze/pattern/head_reader.h"
#include "headlight/analyze/focus/focus.h"
#include "headlight/base/numbers.h"
#include "headlight/trace/weights_in_parts.h"

#include <algorithm>
#include <cmath>

namespace headlight::analyze {
namespace {

using model::Hook;

Eigen::VectorXd to_doubles(const at::Tensor& tensor) {
    const at::Tensor plain = tensor.to(at::kDouble).contiguous();
    return Eigen::Map<const Eigen::VectorXd>(plain.data_ptr<double>(), plain.size(0));
}

Eigen::VectorXd lengths(const at::Tensor& rows) { return to_doubles(rows.square().sum(1).sqrt()); }

/// a / b, NaN where b is 0.
Eigen::VectorXd ratio(const Eigen::VectorXd& a, const Eigen::VectorXd& b) {
    return (b.array() > 0).select(a.array() / b.array(), kNaN);
}

/// One entry (a head or b_O) of one text.
struct Entry {
    at::Tensor update;     ///< [token, d_model]
    Eigen::VectorXd size;  ///< [token] what the magnitude measures
};

void write_entry(FocusUpdates& out, Eigen::Index column, Eigen::Index at, const at::Tensor& stream, const Entry& entry) {
    const Eigen::VectorXd base = lengths(stream), size = lengths(entry.update);
    const Eigen::VectorXd product = to_doubles((entry.update * stream).sum(1));
    out.magnitude.block(at, column, base.size(), 1) = ratio(entry.size, base);
    out.orientation.block(at, column, base.size(), 1) = ratio(product, size.cwiseProduct(base));
}

void write_flags(FocusUpdates& out, const trace::Trace& trace, Head head, Eigen::Index at) {
    const HeadId id{out.layer, head};
    const ReadableKeys readable(trace, out.layer);
    for_each_pattern_row(trace, id, 0, trace.tokens(), [&](std::int64_t query, const float* weights) {
        out.on_first(at + query, head.value) = std::max_element(weights, weights + readable(query)) == weights;
    });
}

std::vector<std::string> update_notes(const trace::Trace& trace, const FocusUpdates& updates) {
    std::vector<std::string> notes;
    if (updates.literal) notes.push_back("Magnitude is |z| / |h|, before W_O; orientation is of the update after W_O.");
    if (updates.has_output_bias)
        notes.push_back("The output bias b_O belongs to no head and is an entry of its own.");
    else
        notes.push_back("The output projection of this model has no bias.");
    if (trace.config().post_norm)
        notes.push_back("Blocks of this model end in a norm: what the next one finds is not h plus the updates.");
    return notes;
}

void add_text(FocusUpdates& out, const trace::Trace& trace, Eigen::Index at, const FocusUpdateOptions& options,
              const CancelToken& cancel, const std::function<void(std::int64_t)>& done) {
    const trace::AttentionTensors w = trace::attention_output(*trace.model(), out.layer);
    const at::Tensor stream = trace::tensor(trace, {Hook::resid_pre, out.layer}).to(at::kDouble);
    const at::Tensor z = trace::tensor(trace, {Hook::z, out.layer});
    const auto behind_norm = [&](const at::Tensor& update) { return behind_branch_norm(trace, out.layer, 0, update); };
    for (std::int64_t h = 0; h < out.n_heads; ++h) {
        cancel.throw_if_cancelled();
        const at::Tensor own = z.select(1, h).to(at::kDouble);
        Entry entry{behind_norm(at::matmul(own, w.w_o.select(0, h).cpu().to(at::kDouble))), {}};
        entry.size = lengths(options.literal ? own : entry.update);
        write_entry(out, h, at, stream, entry);
        if (options.on_first) write_flags(out, trace, Head(h), at);
        done(h + 1);
    }
    if (!out.has_output_bias) return;
    Entry bias{behind_norm(w.b_o.cpu().to(at::kDouble).unsqueeze(0).expand_as(stream)), {}};
    bias.size = lengths(bias.update);
    write_entry(out, out.n_heads, at, stream, bias);
}

}  // namespace

std::string FocusUpdates::entry_name(std::int64_t column) const {
    const std::string prefix = "L" + std::to_string(layer.value);
    return column < n_heads ? prefix + "H" + std::to_string(column) : prefix + " b_O";
}

FocusUpdates focus_updates(Traces traces, Layer layer, const FocusUpdateOptions& options, const CancelToken& cancel,
                           const Progress& progress) {
    check_one_model(traces);
    const trace::Trace& first = *traces.front();
    check_head(first, {layer, Head(0)});
    FocusUpdates out;
    out.layer = layer;
    out.n_heads = first.config().n_heads;
    out.literal = options.literal;
    out.has_output_bias = trace::layer_vectors(*first.model(), layer).b_o.defined();
    out.notes = update_notes(first, out);
    for (std::size_t t = 0; t < traces.size(); ++t)
        for (std::int64_t i = 0; i < traces[t]->tokens(); ++i) out.tokens.push_back({static_cast<std::int64_t>(t), Position(i)});
    const auto rows = static_cast<Eigen::Index>(out.tokens.size());
    out.magnitude = out.orientation = Eigen::MatrixXd::Constant(rows, out.entries(), kNaN);
    out.on_first.setConstant(rows, out.n_heads, false);
    Eigen::Index at = 0;
    std::int64_t heads_done = 0;
    const auto total = static_cast<std::int64_t>(traces.size()) * out.n_heads;
    for (const auto& trace : traces) {
        add_text(out, *trace, at, options, cancel, [&](std::int64_t heads) {
            if (progress) progress({"Measuring updates", "head", heads_done + heads, total});
        });
        at += trace->tokens();
        heads_done += out.n_heads;
    }
    return out;
}

}  // namespace headlight::analyze
