// SPDX-License-Identifier: GPL-3.0-or-later
#include "analyze/focus/focus_terms.h"

#include "analyze/pattern/head_reader.h"
#include "headlight/base/error.h"
#include "headlight/base/numbers.h"
#include "headlight/trace/tensors.h"
#include "headlight/trace/weights.h"

namespace headlight::analyze {
namespace {

using model::Hook;
using model::Positions;

at::Tensor or_zeros(const at::Tensor& bias, std::int64_t head, std::int64_t width) {
    if (!bias.defined()) return at::zeros({width}, at::kDouble);
    return bias.select(0, head).cpu().to(at::kDouble).contiguous();
}

std::vector<FocusTerm> terms_of(const FocusFacts& facts, const FocusOptions& options) {
    const bool rotary = facts.position_kind == "rotary", alibi = facts.position_kind.starts_with("ALiBi");
    const bool relative = facts.position_kind.starts_with("disentangled");
    const std::string plain = rotary ? " of the vectors before rotation" : "";
    std::string position = "This model has no term of the position alone.";
    if (alibi && options.absolute_positions) position = "ALiBi as transformers adds it: m_h j.";
    if (alibi && !options.absolute_positions) position = "ALiBi: -m_h (i - j), 0 for the token itself.";
    if (rotary) position = "Score with rotation minus score without it.";
    if (relative) position = "Content to position plus position to content: s (q_i.K_r + k_j.Q_r).";
    std::vector<FocusTerm> terms;
    terms.push_back({"position_term", "position", position, alibi || rotary || relative, false});
    if (!options.five_terms) {
        terms.push_back({"bias_term", "query bias", "s b_q.k_j" + plain + ": depends on the target alone.", true, false});
        terms.push_back({"quadratic_term", "content", "s (q_i - b_q).k_j" + plain + ".", true, false});
        return terms;
    }
    terms.push_back({"bias_term", "query bias", "s b_q.(W_k x_j)" + plain + ": depends on the target alone.", true, false});
    terms.push_back({"quadratic_term", "content", "s (W_q x_i).(W_k x_j)" + plain + ".", true, false});
    terms.push_back(
        {"key_bias_term", "key bias", "s (W_q x_i).b_k" + plain + ": the same for every target of a query.", true, true});
    terms.push_back({"constant_term", "both biases", "s b_q.b_k" + plain + ": one number for the head.", true, true});
    return terms;
}

std::vector<std::string> notes_of(const FocusFacts& facts, const FocusOptions& options, bool query_bias, bool key_bias) {
    std::vector<std::string> notes;
    if (facts.position_kind.starts_with("ALiBi"))
        notes.push_back(options.absolute_positions
                            ? "The position term is ALiBi's m_h j, counted from the first token; position term and score are "
                              "m_h i larger than in the relative form, the weights are the same."
                            : "The position term is ALiBi's -m_h (i - j): 0 for the token itself.");
    else if (facts.position_kind == "rotary")
        notes.push_back(
            "The position term is the score with rotation minus the score without: unlike ALiBi's it depends on what "
            "the "
            "tokens are.");
    else if (facts.position_kind.starts_with("disentangled"))
        notes.push_back(
            "The position term is of relative positions: the query against the relative position plus the key against it. Unlike "
            "ALiBi's it depends on what the tokens are.");
    else if (facts.position_kind == "none")
        notes.push_back("This model has no positions, so the score has no position term.");
    else
        notes.push_back(
            "This model adds learned positions to the stream before the first layer, so the score has no separate "
            "position "
            "term.");
    if (!query_bias) notes.push_back("The queries of this model have no bias: the bias term is 0 everywhere.");
    if (options.five_terms && !key_bias)
        notes.push_back("The keys of this model have no bias: the key bias term is 0 everywhere.");
    if (!facts.causal)
        notes.push_back("This model looks both ways: every token is a target of every other, and the first row counts.");
    return notes;
}

}  // namespace

void check_one_model(Traces traces) {
    if (traces.empty()) throw Error(ErrorFacts{.problem = "No text to look at", .expected = "at least one run"});
    const auto& first = traces.front()->model();
    for (const auto& trace : traces) {
        const auto& other = trace->model();
        if (other == first || (other->folder() == first->folder() && other->dtype() == first->dtype())) continue;
        throw Error(ErrorFacts{.problem = "These runs are of different models",
                               .expected = first->config().name,
                               .found = other->config().name,
                               .hint = "Choose runs of one model"});
    }
}

FocusFacts focus_facts(const trace::Trace& trace, HeadId id, const FocusOptions& options) {
    check_head(trace, id);
    require_own_text(trace, "The split of a score");
    const auto& config = trace.config();
    if (model::has_relative_bias(config))
        throw Error(ErrorFacts{.problem = "The split of a score has no term for a bias by distance",
                               .item = config.name,
                               .hint = "The neuron view shows the bias of each key in a column of its own"});
    FocusFacts facts;
    facts.head = id;
    facts.position_kind = position_kind(trace);
    facts.alibi_slope = kNaN;
    if (config.positions == Positions::alibi)
        facts.alibi_slope = trace::alibi_bias(*trace.model(), 2)[id.head.value][1].item<double>();
    facts.scale = model::score_scale_of(config, id.layer.value);
    facts.causal = config.causal;
    facts.terms = terms_of(facts, options);
    const trace::AttentionTensors w = trace::attention_weights(*trace.model(), id.layer);
    const bool in_norm = model::has_qk_norm(config, id.layer.value);
    facts.notes = notes_of(facts, options, w.b_q.defined() && !in_norm, w.b_k.defined() && !in_norm);
    if (config.positions == Positions::alibi && config.alibi == model::Alibi::falcon)
        facts.notes.push_back(
            "ALiBi of this model is rounded to bfloat16 for every key and scaled like the scores: m_h (i - j) up to rounding.");
    if (in_norm)
        facts.notes.push_back(
            "Queries and keys of this model are normalised before they meet: content is of the normalised ones.");
    if (config.score_softcap > 0)
        facts.notes.push_back("Scores of this model are capped: the terms sum to the score before the cap.");
    if (const std::int64_t window = model::window_of(config, id.layer.value); window > 0)
        facts.notes.push_back("This layer sees " + std::to_string(window) +
                              (config.causal ? " tokens back" : " tokens to either side") +
                              ", itself included: farther keys have no score.");
    else if (window < 0)
        facts.notes.push_back("Queries of this layer see the keys of their own chunk of " + std::to_string(-window) +
                              " tokens: others have no score.");
    if (model::rope_of(config, id.layer.value) == model::LayerRope::none && config.positions == Positions::rotary)
        facts.notes.push_back("This layer does not rotate: the position term is 0.");
    facts.first_words = "the first token";
    facts.other_words = config.causal ? "an earlier token" : "another token";
    return facts;
}

ScoreTerms::ScoreTerms(const trace::Trace& trace, HeadId id, const FocusOptions& options)
    : trace_(&trace), facts_(focus_facts(trace, id, options)), five_(options.five_terms) {
    const auto& config = trace.config();
    relative_ = config.disentangled.any();
    absolute_ = options.absolute_positions && config.positions == Positions::alibi;
    if (config.positions == Positions::alibi)
        alibi_ = trace::alibi_bias(*trace.model(), trace.tokens())[id.head.value].contiguous();
    const std::int64_t kv = kv_head(trace, id.head);
    const auto wide = [](const at::Tensor& t) { return t.to(at::kDouble).contiguous(); };
    q_ = wide(trace::before_rotation(trace, id.layer, Hook::q).select(1, id.head.value));
    k_ = wide(trace::before_rotation(trace, id.layer, Hook::k).select(1, kv));
    if (config.positions == Positions::rotary) {
        rot_q_ = wide(head_queries(trace, id));
        rot_k_ = wide(head_keys(trace, id));
    }
    const trace::AttentionTensors w = trace::attention_weights(*trace.model(), id.layer);
    const bool in_norm = model::has_qk_norm(config, id.layer.value);  // a bias inside a norm is no term of the score
    b_q_ = or_zeros(in_norm ? at::Tensor() : w.b_q, id.head.value, config.d_head);
    b_k_ = or_zeros(in_norm ? at::Tensor() : w.b_k, kv, config.d_head);
    // q and k are those of the run, so the terms sum to its scores also where an intervention replaced them.
    q_ = q_ - b_q_;
    if (five_) k_ = k_ - b_k_;
}

at::Tensor ScoreTerms::join(const at::Tensor& position, const at::Tensor& bias, const at::Tensor& quadratic,
                            const at::Tensor& key_bias, const at::Tensor& constant) const {
    std::vector<at::Tensor> terms = {position.defined() ? position : at::full_like(quadratic, kNaN), bias.expand_as(quadratic),
                                     quadratic};
    if (five_) {
        terms.push_back(key_bias.expand_as(quadratic));
        terms.push_back(constant.expand_as(quadratic));
    }
    return at::stack(terms, -1).contiguous();
}

at::Tensor ScoreTerms::pairs(const at::Tensor& queries, const at::Tensor& keys) const {
    const double s = facts_.scale;
    const at::Tensor q = q_.index_select(0, queries), k = k_.index_select(0, keys);
    const at::Tensor quadratic = (q * k).sum(1) * s, bias = at::mv(k, b_q_) * s;
    at::Tensor position;
    if (rot_q_.defined()) {
        const at::Tensor whole_k = five_ ? k + b_k_ : k;
        position =
            (rot_q_.index_select(0, queries) * rot_k_.index_select(0, keys)).sum(1) * s - ((q + b_q_) * whole_k).sum(1) * s;
    } else if (relative_) {
        position = trace::relative_pairs(*trace_, facts_.head.layer, facts_.head.head, queries, keys).to(at::kDouble);
    } else if (alibi_.defined()) {
        position = alibi_.index_select(0, keys);
        if (!absolute_) position = position - alibi_.index_select(0, queries);
    }
    return join(position, bias, quadratic, at::mv(q, b_k_) * s, at::dot(b_q_, b_k_) * s);
}

at::Tensor ScoreTerms::rows(std::int64_t first, std::int64_t count, std::int64_t keys) const {
    const double s = facts_.scale;
    const at::Tensor q = q_.narrow(0, first, count), k = k_.narrow(0, 0, keys);
    const at::Tensor quadratic = at::matmul(q, k.t()) * s, bias = (at::mv(k, b_q_) * s).unsqueeze(0);
    at::Tensor position;
    if (rot_q_.defined()) {
        const at::Tensor whole_k = five_ ? k + b_k_ : k;
        position =
            at::matmul(rot_q_.narrow(0, first, count), rot_k_.narrow(0, 0, keys).t()) * s - at::matmul(q + b_q_, whole_k.t()) * s;
    } else if (relative_) {
        position =
            trace::position_rows(*trace_, facts_.head.layer, facts_.head.head, first, count).narrow(1, 0, keys).to(at::kDouble);
    } else if (alibi_.defined()) {
        position = alibi_.narrow(0, 0, keys).unsqueeze(0).expand_as(quadratic);
        if (!absolute_) position = position - alibi_.narrow(0, first, count).unsqueeze(1);
    }
    return join(position, bias, quadratic, (at::mv(q, b_k_) * s).unsqueeze(1), at::dot(b_q_, b_k_) * s);
}

at::Tensor ScoreTerms::bias_of_keys() const { return at::mv(five_ ? k_ + b_k_ : k_, b_q_) * facts_.scale; }

}  // namespace headlight::analyze
