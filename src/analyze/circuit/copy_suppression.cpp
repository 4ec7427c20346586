// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/circuit/copy_suppression.h"
#include "headlight/base/numbers.h"

#include "analyze/pattern/head_reader.h"
#include "headlight/analyze/prediction/outputs.h"
#include "headlight/base/error.h"
#include "headlight/trace/edits.h"
#include "headlight/trace/replay.h"
#include "headlight/trace/weights.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace headlight::analyze {
namespace {

using model::Hook;

void check_direct_path(const trace::Trace& trace) {
    require_own_text(trace, "Copy suppression");
    const model::ModelConfig& c = trace.config();
    require_token_logits(c, "Copy suppression");
    if (c.has_unembedding && c.causal && !c.post_norm && !c.mlm_head && c.final_norm && !c.branch_norm) return;
    throw Error({.problem = c.has_unembedding ? "A head of this model has no direct path to the logits"
                                              : "This model has no unembedding, so nothing a head writes is a token",
                 .file = trace.model()->folder().string(),
                 .expected = "a causal model with norms in front of its sub-layers",
                 .hint = "The QK circuit and composition scores work without one"});
}

/// A run, and the attention whose heads are asked about: its own, or a decoder's to its source.
class Asked {
public:
    Asked(const trace::Trace& run, const CopySuppressionOptions& o) : run_(run), attention_(attention_of(run, o.of_source)) {}
    const trace::Trace& run() const { return run_; }
    const trace::Trace& attention() const { return attention_; }
    /// Tokens that are attended to, as an index: [source].
    at::Tensor ids() const { return at::tensor(attention_.key_encoding().ids, at::kLong); }
    std::int64_t sources() const { return attention_.keys(); }
    /// How many of them a destination may look at.
    std::int64_t readable(std::int64_t destination) const { return across() ? sources() : destination + 1; }
    /// Row 0 can only attend to itself, and is left out of means.
    std::int64_t first_row() const { return across() ? 0 : 1; }
    Hook before_head() const { return across() ? Hook::resid_mid : Hook::resid_pre; }
    Hook result() const { return across() ? Hook::cross_result : Hook::result; }

private:
    bool across() const { return attention_.across_texts(); }
    static const trace::Trace& attention_of(const trace::Trace& run, bool of_source) {
        if (!of_source) return run;
        if (const auto& cross = run.part(model::Stack::cross)) return *cross;
        throw Error({.problem = "This model has no attention to a source",
                     .item = run.config().name,
                     .expected = "an encoder-decoder model"});
    }
    const trace::Trace& run_;
    const trace::Trace& attention_;
};

/// Rank of every source's token in the logit lens at every destination before the head, [destination, source]; 0: top.
at::Tensor predicted_ranks(const Asked& asked, Layer layer, const CancelToken& cancel) {
    const trace::Trace& trace = asked.run();
    const at::Tensor stream = trace::tensor(trace, {asked.before_head(), layer});
    const at::Tensor ids = asked.ids();
    const std::int64_t n = trace.tokens(), vocab = trace.config().vocab_size;
    at::Tensor ranks = at::empty({n, asked.sources()}, at::kLong);
    const std::int64_t block = std::clamp<std::int64_t>((16 << 20) / vocab, 1, n);
    for (std::int64_t first = 0; first < n; first += block) {
        cancel.throw_if_cancelled();
        const std::int64_t count = std::min(block, n - first);
        const at::Tensor logits = trace::logits_of(*trace.model(), stream.narrow(0, first, count)).to(at::kCPU).to(at::kFloat);
        // Sorted once a row: the rank of a token is the number of larger logits. A few rows at a time, to heed `cancel`.
        const at::Tensor own = logits.index_select(1, ids).contiguous();
        const std::int64_t few = std::max<std::int64_t>(1, block / 32);
        for (std::int64_t row = 0; row < count; row += few) {
            cancel.throw_if_cancelled();
            const std::int64_t rows = std::min(few, count - row);
            const at::Tensor sorted = std::get<0>(logits.narrow(0, row, rows).sort(1)).contiguous();
            ranks.narrow(0, first + row, rows).copy_(vocab - at::searchsorted(sorted, own.narrow(0, row, rows), false, true));
        }
    }
    return ranks;
}

/// What a head can write for each source, and what it wrote at each destination; float64.
struct HeadParts {
    at::Tensor written;  ///< v W_O [source, d_model]
    at::Tensor update;   ///< z W_O [destination, d_model]
    HeadParts(const Asked& asked, HeadId id) {
        const trace::Trace& trace = asked.attention();
        const at::Tensor w_o =
            trace::attention_output(*trace.model(), id.layer).w_o.select(0, id.head.value).to(at::kCPU).to(at::kDouble);
        written = at::mm(head_values(trace, id).to(at::kCPU).to(at::kDouble), w_o);
        update = at::mm(trace::tensor(trace, {Hook::z, id.layer}).select(1, id.head.value).to(at::kDouble), w_o);
    }
};

/// The final norm as the run had it: what is written at d adds through_norm(x) / scale(d) . W_U to the logits.
class DirectPath {
public:
    explicit DirectPath(const trace::Trace& trace) : centred_(trace.config().norm == model::Norm::layer_norm) {
        scale_ = trace::tensor(trace, {Hook::ln_final_scale, Layer(0)}).to(at::kDouble).reshape(-1).contiguous();
        gain_ = trace::final_norm(*trace.model()).gain.to(at::kCPU).to(at::kDouble);
        w_u_ = trace::unembed(*trace.model()).to(at::kCPU);
    }
    at::Tensor through_norm(const at::Tensor& x) const { return (centred_ ? x - x.mean(1, true) : x) * gain_; }
    double scale(std::int64_t destination) const { return scale_.data_ptr<double>()[destination]; }
    const at::Tensor& scale() const { return scale_; }
    const at::Tensor& w_u() const { return w_u_; }

private:
    bool centred_;
    at::Tensor scale_, gain_, w_u_;
};

std::vector<SuppressedPair> attended_pairs(const Asked& asked, HeadId id, const CopySuppressionOptions& o) {
    std::vector<SuppressedPair> pairs;
    const std::int64_t tokens = asked.run().tokens(), first = o.include_first_query ? 0 : asked.first_row();
    if (tokens <= first) return pairs;
    for_each_pattern_row(asked.attention(), id, first, tokens - first, [&](std::int64_t d, const float* row) {
        for (std::int64_t s = 0; s < asked.readable(d); ++s)
            if (row[s] > o.threshold)
                pairs.push_back({.head = id, .destination = Position(d), .source = Position(s), .attention = row[s]});
    });
    return pairs;
}

/// Fills logits and ranks of one head's pairs; `predicted` as predicted_ranks() gives it.
void set_effects(std::vector<SuppressedPair>& pairs, const Asked& asked, HeadId id, const DirectPath& path,
                 const at::Tensor& predicted, const CancelToken& cancel) {
    const HeadParts head(asked, id);
    const auto& ids = asked.attention().key_encoding().ids;
    const std::int64_t n = asked.sources(), vocab = path.w_u().size(1);
    // What a whole value adds to the logit of its own token, but for the scale of the destination.
    const at::Tensor columns = path.w_u().index_select(1, asked.ids()).t().to(at::kDouble);
    const at::Tensor own_effects = (path.through_norm(head.written) * columns).sum(1).contiguous();
    const std::int64_t* ranks = predicted.data_ptr<std::int64_t>();
    // Pairs come by destination: one row of direct logits for each.
    const std::int64_t block = std::max<std::int64_t>(1, (16 << 20) / vocab);
    for (std::size_t begin = 0; begin < pairs.size();) {
        cancel.throw_if_cancelled();
        std::vector<std::int64_t> destinations;
        std::size_t end = begin;
        for (; end < pairs.size(); ++end) {
            const std::int64_t d = pairs[end].destination.value;
            if (!destinations.empty() && destinations.back() == d) continue;
            if (static_cast<std::int64_t>(destinations.size()) == block) break;
            destinations.push_back(d);
        }
        const at::Tensor rows = at::tensor(destinations, at::kLong);
        const at::Tensor vectors =
            path.through_norm(head.update.index_select(0, rows)) / path.scale().index_select(0, rows).unsqueeze(1);
        const at::Tensor logits = at::mm(vectors.to(path.w_u().scalar_type()), path.w_u()).to(at::kFloat).contiguous();
        const float* row = logits.data_ptr<float>();
        std::size_t at = 0;
        for (; begin < end; ++begin) {
            SuppressedPair& pair = pairs[begin];
            const std::int64_t d = pair.destination.value, s = pair.source.value;
            for (; destinations[at] != d; ++at) row += vocab;
            const float own = row[ids[static_cast<std::size_t>(s)]];
            pair.logit_change = own;
            pair.rank = std::count_if(row, row + vocab, [own](float v) { return v < own; });
            pair.predicted_rank = ranks[d * n + s];
            pair.pair_logit_change = pair.attention * own_effects.data_ptr<double>()[s] / path.scale(d);
        }
    }
}

/// The part of the head's output that is copy suppression: [destination, d_model] float64.
at::Tensor preserved(const Asked& asked, HeadId id, const HeadParts& head, const at::Tensor& predicted,
                     const CopySuppressionOptions& o) {
    const at::Tensor unembedded =  // [source, d_model]
        trace::unembed(*asked.run().model()).to(at::kCPU).index_select(1, asked.ids()).t().to(at::kDouble);
    const at::Tensor sizes = unembedded.square().sum(1).clamp_min(std::numeric_limits<double>::min());
    // (v_s W_O) . u_s / |u_s|^2: the projection of a whole value, to be weighted by attention.
    const at::Tensor share = ((head.written * unembedded).sum(1) / sizes).contiguous();
    const double* along = share.data_ptr<double>();
    const at::Tensor ranks = predicted.contiguous();
    const std::int64_t n = asked.run().tokens(), width = asked.sources();
    at::Tensor coefficients = at::zeros({n, width}, at::kDouble);  // [destination, source]
    for_each_pattern_row(asked.attention(), id, 0, n, [&](std::int64_t d, const float* row) {
        std::vector<std::int64_t> sources(static_cast<std::size_t>(asked.readable(d)));
        std::iota(sources.begin(), sources.end(), 0);
        const std::int64_t* rank = ranks.data_ptr<std::int64_t>() + d * width;
        std::stable_sort(sources.begin(), sources.end(), [&](std::int64_t a, std::int64_t b) { return rank[a] < rank[b]; });
        const auto kept =
            static_cast<std::size_t>(std::max(1.0, std::ceil(o.kept_share * static_cast<double>(sources.size()) - 1e-9)));
        for (std::size_t k = 0; k < std::min(kept, sources.size()); ++k)
            if (along[sources[k]] < 0)
                coefficients.data_ptr<double>()[d * width + sources[k]] = row[sources[k]] * along[sources[k]];
    });
    return at::mm(coefficients, unembedded);
}

/// Mean over positions from `first` of KL(p || q), nats.
double divergence(const at::Tensor& usual, const at::Tensor& other, std::int64_t first) {
    const std::int64_t n = usual.size(0) - first;
    const at::Tensor p = at::log_softmax(usual.narrow(0, first, n).to(at::kDouble), 1);
    const at::Tensor q = at::log_softmax(other.narrow(0, first, n).to(at::kDouble), 1);
    return std::max(0.0, (p.exp() * (p - q)).sum(1).mean().item<double>());
}

}  // namespace

std::vector<SuppressedPair> suppressed_pairs(const trace::Trace& trace, std::optional<HeadId> only,
                                             const CopySuppressionOptions& o, const CancelToken& cancel,
                                             const Progress& progress) {
    check_direct_path(trace);
    if (only) check_head(trace, *only);
    const Asked asked(trace, o);
    const model::ModelConfig& c = trace.config();
    const DirectPath path(trace);
    std::vector<SuppressedPair> all;
    for (std::int64_t l = 0; l < c.n_layers; ++l) {
        if (only && only->layer.value != l) continue;
        if (progress) progress({"Looking for suppressed copies", "layer", l, c.n_layers});
        const at::Tensor predicted = predicted_ranks(asked, Layer(l), cancel);
        for (std::int64_t h = 0; h < c.n_heads; ++h) {
            const HeadId id{Layer(l), Head(h)};
            if (only && *only != id) continue;
            std::vector<SuppressedPair> pairs = attended_pairs(asked, id, o);
            set_effects(pairs, asked, id, path, predicted, cancel);
            all.insert(all.end(), pairs.begin(), pairs.end());
        }
    }
    return all;
}

SuppressionExplained suppression_explained(const trace::Trace& trace, HeadId id, const CopySuppressionOptions& o,
                                           const CancelToken& cancel) {
    const std::vector<SuppressedPair> pairs = suppressed_pairs(trace, id, o, cancel);
    SuppressionExplained out;
    out.head = id;
    out.pairs = static_cast<std::int64_t>(pairs.size());
    const auto share = [&](const auto& holds) {
        return pairs.empty()
                   ? kNaN
                   : static_cast<double>(std::count_if(pairs.begin(), pairs.end(), holds)) / static_cast<double>(pairs.size());
    };
    const std::int64_t lowest = std::max<std::int64_t>(1, trace.config().vocab_size / 20);
    out.share_bottom_10 = share([](const SuppressedPair& p) { return p.rank < 10; });
    out.share_bottom_5pc = share([lowest](const SuppressedPair& p) { return p.rank < lowest; });
    out.mean_logit_change = pairs.empty() ? kNaN : 0;
    for (const SuppressedPair& p : pairs) out.mean_logit_change += p.logit_change / static_cast<double>(pairs.size());

    out.kl_preserved = out.kl_ablated = out.explained = kNaN;
    trace::require_unedited(trace, "The fraction that copy suppression explains");
    const Asked asked(trace, o);
    const std::int64_t first = asked.first_row(), n = trace.tokens() - first;
    if (trace.tokens() < 2) return out;
    const HeadParts head(asked, id);
    const at::Tensor kept = preserved(asked, id, head, predicted_ranks(asked, id.layer, cancel), o);
    const auto mean_of = [&](const at::Tensor& x) {
        return x.narrow(0, first, n).mean(0, true).expand({trace.tokens(), x.size(1)});
    };
    const at::Tensor ablated = mean_of(head.update), preserving = kept + mean_of(head.update - kept);
    trace::TokenIds tokens = trace::ids_of(trace.encoding());
    if (const auto& encoder = trace.part(model::Stack::encoder)) tokens.source = encoder->encoding().ids;
    const auto logits_with = [&](const at::Tensor& output) {
        const auto replace = [&](model::HookPoint, const at::Tensor& result) {
            const at::Tensor changed = result.clone();
            changed.select(1, id.head.value).narrow(0, first, n).copy_(output.narrow(0, first, n));
            return changed;
        };
        const std::string glob = name_of(model::HookPoint{asked.result(), id.layer}, trace.config());
        return trace::replay(*trace.model(), tokens, {{glob, replace}}, cancel);
    };
    const at::Tensor usual = trace::replay(*trace.model(), tokens, {}, cancel);
    out.kl_preserved = divergence(usual, logits_with(preserving), first);
    out.kl_ablated = divergence(usual, logits_with(ablated), first);
    if (out.kl_ablated > 1e-9) out.explained = 1 - out.kl_preserved / out.kl_ablated;
    return out;
}

Table table_of(const std::vector<SuppressedPair>& pairs, const trace::Trace& trace) {
    Table table;
    table.columns = {"layer",        "head",      "destination",    "destination_token", "source", "source_token_id",
                     "source_token", "attention", "predicted_rank", "logit_change",      "rank",   "pair_logit_change"};
    table.definitions = {
        {"attention", "softmax weight from destination to source"},
        {"predicted_rank",
         "rank of the source's token by the logit lens of the stream before the layer (of a head that reads a source: before "
         "that attention); 0: top prediction"},
        {"logit_change", "direct effect of the head at the destination on the logit of the source's token"},
        {"rank", "tokens whose logit the head lowers more there; 0: the source's token is the most suppressed"},
        {"pair_logit_change", "what this source alone adds of logit_change"}};
    const auto id = [](const text::Encoding& of, Position p) { return of.ids[static_cast<std::size_t>(p.value)]; };
    const auto label = [&](std::int64_t token) { return text::token_label(*trace.tokenizer(), token); };
    for (const SuppressedPair& p : pairs)
        table.add({p.head.layer.value, p.head.head.value, p.destination.value, label(id(trace.encoding(), p.destination)),
                   p.source.value, id(trace.key_encoding(), p.source), label(id(trace.key_encoding(), p.source)), p.attention,
                   p.predicted_rank, p.logit_change, p.rank, p.pair_logit_change});
    return table;
}

Table table_of(const std::vector<SuppressionExplained>& heads) {
    Table table;
    table.columns = {"layer",        "head",       "pairs",    "share_bottom_10", "share_bottom_5_percent", "mean_logit_change",
                     "kl_preserved", "kl_ablated", "explained"};
    table.definitions = {
        {"pairs", "pairs with more attention than the threshold"},
        {"share_bottom_10", "of them: source's token among the ten that the head lowers most"},
        {"share_bottom_5_percent", "among the lowest 5 % of the vocabulary"},
        {"kl_preserved", "nats: usual prediction against the one where only copy suppression is left of the head"},
        {"kl_ablated", "nats: against the one with the head's output replaced by its mean"},
        {"explained", "1 - kl_preserved / kl_ablated"}};
    for (const SuppressionExplained& e : heads)
        table.add({e.head.layer.value, e.head.head.value, e.pairs, e.share_bottom_10, e.share_bottom_5pc, e.mean_logit_change,
                   e.kl_preserved, e.kl_ablated, e.explained});
    return table;
}

}  // namespace headlight::analyze
