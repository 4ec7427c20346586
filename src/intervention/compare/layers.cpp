// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/intervention/compare/layers.h"

#include "headlight/analyze/heads/rank_correlation.h"
#include "headlight/base/error.h"
#include "headlight/trace/tensors.h"
#include "intervention/compare/rows.h"

#include <algorithm>
#include <cmath>

namespace headlight::intervention {
namespace {

/// <a, b> / sqrt(<a, a> <b, b>): exactly 1 for a with itself. NaN where one of them is 0 or less.
double normalised(double ab, double aa, double bb) { return aa > 0 && bb > 0 ? ab / std::sqrt(aa * bb) : kNaN; }

Eigen::MatrixXd gram(const Eigen::MatrixXd& rows) { return rows * rows.transpose(); }

Eigen::MatrixXd centred_gram(const Eigen::MatrixXd& x) { return gram(x.rowwise() - x.colwise().mean()); }

double inner(const Eigen::MatrixXd& a, const Eigen::MatrixXd& b) { return a.cwiseProduct(b).sum(); }

Eigen::MatrixXd hollow_gram(const Eigen::MatrixXd& x) {
    Eigen::MatrixXd k = gram(x);
    k.diagonal().setZero();
    return k;
}

/// HSIC_1 of hollow Gram matrices (Song et al. 2012, eq. 5).
double unbiased_hsic(const Eigen::MatrixXd& k, const Eigen::MatrixXd& l) {
    const auto n = static_cast<double>(k.rows());
    const Eigen::VectorXd sums_k = k.rowwise().sum(), sums_l = l.rowwise().sum();
    return (inner(k, l) + sums_k.sum() * sums_l.sum() / ((n - 1) * (n - 2)) - 2 * sums_k.dot(sums_l) / (n - 2)) / (n * (n - 3));
}

/// 1 - cosine of every pair of rows, i < j.
std::vector<double> dissimilarities(const Eigen::MatrixXd& x) {
    const Eigen::MatrixXd k = gram(x);
    std::vector<double> out;
    for (Eigen::Index i = 0; i < k.rows(); ++i)
        for (Eigen::Index j = i + 1; j < k.rows(); ++j) out.push_back(1 - normalised(k(i, j), k(i, i), k(j, j)));
    return out;
}

double of_dissimilarities(const std::vector<double>& x, const std::vector<double>& y) {
    return x.size() < 3 ? kNaN : analyze::spearman(x, y);
}

/// What one state is compared by: a Gram matrix, or dissimilarities.
struct Prepared {
    Eigen::MatrixXd gram;
    std::vector<double> pairs;
};

Prepared prepared(const Eigen::MatrixXd& rows, Similarity kind) {
    switch (kind) {
        case Similarity::cka: return {centred_gram(rows), {}};
        case Similarity::unbiased_cka: return {hollow_gram(rows), {}};
        case Similarity::rsa: return {{}, dissimilarities(rows)};
    }
    return {};
}

double similarity(const Prepared& x, const Prepared& y, Similarity kind) {
    switch (kind) {
        case Similarity::cka: return normalised(inner(x.gram, y.gram), inner(x.gram, x.gram), inner(y.gram, y.gram));
        case Similarity::unbiased_cka:
            if (x.gram.rows() < 4) return kNaN;
            return normalised(unbiased_hsic(x.gram, y.gram), unbiased_hsic(x.gram, x.gram), unbiased_hsic(y.gram, y.gram));
        case Similarity::rsa: return of_dissimilarities(x.pairs, y.pairs);
    }
    return kNaN;
}

double compared(const Eigen::MatrixXd& x, const Eigen::MatrixXd& y, Similarity kind) {
    return similarity(prepared(x, kind), prepared(y, kind), kind);
}

/// The streams before layer 0 and after each layer, on chosen units.
std::vector<Prepared> states(const trace::Trace& trace, const std::vector<TextUnit>& units, Similarity kind,
                             const CancelToken& cancel) {
    std::vector<Prepared> out;
    for (std::int64_t l = -1; l < trace.config().n_layers; ++l) {
        cancel.throw_if_cancelled();
        const model::HookPoint point{l < 0 ? model::Hook::resid_pre : model::Hook::resid_post,
                                     Layer(std::max<std::int64_t>(l, 0))};
        if (!trace.has(point))
            throw Error({.problem = "This run has no residual streams to compare",
                         .item = model::name_of(point, trace.config()),
                         .hint = trace.across_texts() ? "Choose the encoder's or the decoder's own attention"
                                                      : "Run the model with its default hooks"});
        out.push_back(prepared(pooled_rows(trace::tensor(trace, point), units), kind));
    }
    return out;
}

}  // namespace

double cka(const Eigen::MatrixXd& x, const Eigen::MatrixXd& y) { return compared(x, y, Similarity::cka); }
double unbiased_cka(const Eigen::MatrixXd& x, const Eigen::MatrixXd& y) { return compared(x, y, Similarity::unbiased_cka); }
double rsa(const Eigen::MatrixXd& x, const Eigen::MatrixXd& y) { return compared(x, y, Similarity::rsa); }

LayerSimilarity layer_similarity(const RunPair& pair, const LayerOptions& options, const CancelToken& cancel,
                                 const Progress& progress) {
    std::vector<TextUnit> units_a, units_b;
    for (std::size_t u = 0; u < pair.queries.to.size(); ++u) {
        const std::int64_t partner = pair.queries.to[u];
        if (partner < 0) continue;
        const TextUnit a = pair.queries.a[u], b = pair.queries.b[static_cast<std::size_t>(partner)];
        if (!options.with_first && (a.first == 0 || b.first == 0)) continue;
        units_a.push_back(a);
        units_b.push_back(b);
    }
    LayerSimilarity out;
    out.options = options;
    out.rows = std::ssize(units_a);
    const std::vector<Prepared> a = states(*pair.a, units_a, options.kind, cancel),
                                b = options.within_first ? a : states(*pair.b, units_b, options.kind, cancel);
    out.values.resize(std::ssize(a), std::ssize(b));
    for (std::size_t i = 0; i < a.size(); ++i) {
        cancel.throw_if_cancelled();
        if (progress) progress({"Comparing", "layer", static_cast<std::int64_t>(i), std::ssize(a)});
        for (std::size_t j = 0; j < b.size(); ++j)
            out.values(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)) = similarity(a[i], b[j], options.kind);
    }
    return out;
}

std::string state_name(std::int64_t state) { return state == 0 ? "embed" : "L" + std::to_string(state - 1); }

analyze::Table table_of(const LayerSimilarity& similarity) {
    const std::string name(enum_word(similarity.options.kind));
    analyze::Table table{{"state", "other_state", name}, {}};
    table.definitions = {{"state", "residual stream of A: embed is before layer 0, L0 after it, …"},
                         {"other_state", similarity.options.within_first ? "the same of A" : "the same of B"},
                         {name, std::string(enum_row(similarity.options.kind).title) + " over positions that have a partner, " +
                                    (similarity.options.with_first ? "position 0 with them" : "without position 0")}};
    for (Eigen::Index i = 0; i < similarity.values.rows(); ++i)
        for (Eigen::Index j = 0; j < similarity.values.cols(); ++j)
            table.add({state_name(i), state_name(j), similarity.values(i, j)});
    table.arrays.push_back(analyze::named_array("similarity", similarity.values));
    return table;
}

}  // namespace headlight::intervention
