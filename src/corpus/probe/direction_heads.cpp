// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/corpus/probe/direction_heads.h"

#include "headlight/base/error.h"
#include "headlight/corpus/probe/probe.h"
#include "headlight/corpus/run/pack.h"
#include "headlight/trace/encoded.h"
#include "headlight/trace/tensors.h"
#include "headlight/trace/weights.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

namespace headlight::corpus {
namespace {

/// Directions [side, class, d] of a probe; two sides of a pair.
at::Tensor directions_of(const LayerProbe& probe, bool pairs) {
    Eigen::MatrixXd u = probe.probe.weights.rowwise() - probe.probe.weights.colwise().mean();
    for (Eigen::Index c = 0; c < u.rows(); ++c)
        if (const double length = u.row(c).norm(); length > 0) u.row(c) /= length;
    const Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> rows = u.cast<float>();
    const std::int64_t sides = pairs ? 2 : 1;
    return at::from_blob(const_cast<float*>(rows.data()), {rows.rows(), sides, rows.cols() / sides}, at::kFloat)
        .transpose(0, 1)
        .clone(at::MemoryFormat::Contiguous);  // the matrix ends here
}

/// Sums over examples of each class of what heads and stream have along all directions.
class DirectionSums {
public:
    DirectionSums(const model::Model& model, const LayerProbe& probe, bool pairs, std::int64_t classes)
        : blocks_(probe.layer), u_(directions_of(probe, pairs)), sums_(static_cast<std::size_t>(classes)), count_(sums_.size()) {
        // Outputs are only wanted along the directions: z (W_O u) takes d_value products a head and class.
        for (std::int64_t block = 0; block < blocks_; ++block) {
            const at::Tensor w_o = trace::attention_output(model, Layer(block)).w_o.to(at::kCPU, at::kFloat);  // [head, v, d]
            std::vector<at::Tensor> of_side;
            for (std::int64_t side = 0; side < u_.size(0); ++side) of_side.push_back(at::matmul(w_o, u_[side].t()));
            onto_.push_back(std::move(of_side));
        }
    }

    void add(const trace::Trace& trace, const ProbeExample& example) {
        at::Tensor sum;  // [column, class]: heads of all blocks, then the stream
        for (std::int64_t side = 0; side < u_.size(0); ++side) {
            const TokenSpan& span = side == 0 ? example.span : example.other;
            const std::int64_t count = span.end - span.begin;
            std::vector<at::Tensor> columns;
            for (std::int64_t block = 0; block < blocks_; ++block) {
                const at::Tensor z = trace::tensor(trace, {model::Hook::z, Layer(block)})
                                         .narrow(0, span.begin, count)
                                         .to(at::kCPU, at::kFloat)
                                         .mean(0);  // [head, v]
                columns.push_back(
                    at::matmul(z.unsqueeze(1), onto_[static_cast<std::size_t>(block)][static_cast<std::size_t>(side)])
                        .squeeze(1));
            }
            const bool last = blocks_ == trace.config().n_layers;
            const at::Tensor stream = trace::tensor(trace, {last ? model::Hook::resid_post : model::Hook::resid_pre,
                                                            Layer(last ? blocks_ - 1 : blocks_)})
                                          .narrow(0, span.begin, count)
                                          .to(at::kCPU, at::kFloat)
                                          .mean(0);
            columns.push_back(at::matmul(u_[side], stream).unsqueeze(0));
            const at::Tensor all = at::cat(columns).to(at::kDouble);
            sum = side == 0 ? all : sum + all;
        }
        const auto label = static_cast<std::size_t>(example.label);
        sums_[label] = count_[label]++ == 0 ? sum : sums_[label] + sum;
    }

    /// Mean over a class minus mean over the others, [class, column].
    Eigen::MatrixXd differences() const {
        at::Tensor all;
        std::int64_t n = 0;
        for (std::size_t c = 0; c < sums_.size(); ++c) {
            if (count_[c] == 0) continue;
            all = n == 0 ? sums_[c] : all + sums_[c];
            n += count_[c];
        }
        Eigen::MatrixXd out;
        if (n == 0) return out;
        out = Eigen::MatrixXd::Constant(std::ssize(sums_), all.size(0), kNaN);
        for (std::size_t c = 0; c < sums_.size(); ++c) {
            if (count_[c] == 0 || count_[c] == n) continue;
            const auto own = static_cast<double>(count_[c]);
            const at::Tensor difference = (sums_[c] / own - (all - sums_[c]) / (static_cast<double>(n) - own))
                                              .select(1, static_cast<std::int64_t>(c))
                                              .contiguous();
            out.row(static_cast<Eigen::Index>(c)) =
                Eigen::Map<const Eigen::RowVectorXd>(difference.data_ptr<double>(), difference.numel());
        }
        return out;
    }

private:
    std::int64_t blocks_;
    at::Tensor u_;                               ///< [side, class, d]
    std::vector<std::vector<at::Tensor>> onto_;  ///< [block][side] W_O u: [head, v, class]
    std::vector<at::Tensor> sums_;               ///< [class] [column, class]
    std::vector<std::int64_t> count_;            ///< [class]
};

}  // namespace

DirectionHeads direction_heads(const Manifest& manifest, const StatesOptions& source, const ProbeResult& result,
                               const LayerProbe& probe, const CancelToken& cancel, const Progress& progress) {
    if (!source.model)
        throw Error({.problem = "The heads of a direction need the model, which runs the test texts again",
                     .file = source.store.string(),
                     .expected = manifest.model,
                     .hint = "Give --model"});
    check_model(manifest, source);
    const at::NoGradGuard no_grad;
    const model::ModelConfig& config = source.model->config();
    DirectionHeads out{.layer = probe.layer, .n_heads = config.n_heads, .difference = {}, .share = {}, .stream = {}};
    DirectionSums sums(*source.model, probe, result.pairs, std::ssize(result.classes));
    trace::CapturePlan plan{.globs = {}, .overview = trace::no_overview};
    for (std::int64_t block = 0; block < probe.layer; ++block)
        plan.globs.push_back("blocks." + std::to_string(block) + ".attn.hook_z");
    plan.globs.push_back(probe.layer < config.n_layers ? "blocks." + std::to_string(probe.layer) + ".hook_resid_pre"
                                                       : "blocks." + std::to_string(config.n_layers - 1) + ".hook_resid_post");
    std::map<std::int64_t, std::vector<const ProbeExample*>> by_chunk;
    for (const ProbeExample& example : result.tested)
        if (!result.pairs || example.other.chunk == example.span.chunk) by_chunk[example.span.chunk].push_back(&example);
    TextStore texts(source.store, manifest);
    std::vector<trace::PackedText> pack;
    std::vector<const std::vector<const ProbeExample*>*> wanted;
    std::int64_t tokens = 0, done = 0;
    const auto run = [&] {
        if (pack.empty()) return;
        if (progress) progress({"Heads of directions", "chunk", done, std::ssize(by_chunk)});
        done += std::ssize(pack);
        const auto traces = trace::run_packed(source.model, source.tokenizer, std::exchange(pack, {}), plan, cancel);
        for (std::size_t i = 0; i < traces.size(); ++i)
            for (const ProbeExample* example : *wanted[i]) sums.add(*traces[i], *example);
        wanted.clear();
        tokens = 0;
    };
    for (const auto& [number, examples] : by_chunk) {
        const Chunk chunk = texts.chunk(number);
        if (tokens + chunk.encoding.size() > kPackedTokens) run();
        tokens += chunk.encoding.size();
        wanted.push_back(&examples);
        pack.push_back({.text = {.text = bytes_of(chunk, texts.text(chunk.text)),
                                 .encoding = chunk.encoding,
                                 .first_counted = chunk.first_query}});
    }
    run();
    const Eigen::MatrixXd all = sums.differences();
    if (all.size() == 0) return out;
    const Eigen::Index heads = all.cols() - 1;
    out.difference = all.leftCols(heads);
    out.stream = all.rightCols(1);
    out.share = out.difference.array().colwise() / out.stream.array();
    return out;
}

analyze::Table table_of(const DirectionHeads& heads, const ProbeResult& result, std::int64_t n) {
    analyze::Table table;
    table.columns = {"task", "class", "probe_layer", "layer", "head", "difference", "share", "stream"};
    table.definitions = {
        {"probe_layer", "The layer of the probe, the one with the highest accuracy; heads of the blocks before it are listed."},
        {"difference",
         "Mean over the test examples of the class of o . u, minus the mean over the others: o = z W_O^h is what the "
         "head adds to the stream, u = w - mean over classes of w, of length 1, the direction of the class."},
        {"stream", "The same difference of the stream at the probe's layer."},
        {"share", "difference / stream."}};
    for (Eigen::Index c = 0; c < heads.share.rows(); ++c) {
        std::vector<Eigen::Index> order(static_cast<std::size_t>(heads.share.cols()));
        std::iota(order.begin(), order.end(), Eigen::Index{0});
        if (!std::isfinite(heads.stream[c])) continue;
        std::ranges::stable_sort(order, std::greater(), [&](Eigen::Index h) { return heads.share(c, h); });
        order.resize(static_cast<std::size_t>(std::min<std::int64_t>(n, std::ssize(order))));
        for (const Eigen::Index h : order)
            table.add({result.task, result.classes[static_cast<std::size_t>(c)], heads.layer, h / heads.n_heads,
                       h % heads.n_heads, heads.difference(c, h), heads.share(c, h), heads.stream[c]});
    }
    return table;
}

std::vector<analyze::NamedArray> arrays_of(const DirectionHeads& heads) {
    if (heads.empty()) return {};
    std::vector<analyze::NamedArray> out{analyze::named_array("head_difference", heads.difference),
                                         analyze::named_array("head_share", heads.share)};
    for (analyze::NamedArray& array : out) array.shape = {heads.share.rows(), heads.layer, heads.n_heads};
    return out;
}

}  // namespace headlight::corpus
