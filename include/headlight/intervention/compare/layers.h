// SPDX-License-Identifier: GPL-3.0-or-later
// How alike the residual streams of two runs are, layer by layer.
#pragma once

#include "headlight/intervention/compare/comparison.h"

#include "headlight/base/enum_table.h"

#include <Eigen/Core>

#include <string>
#include <vector>

namespace headlight::intervention {

/// Linear CKA of two representations of the same rows, [row, feature] (Kornblith et al. 2019): |Y'X|^2 / (|X'X| |Y'Y|) of centred
/// columns, by n x n Gram matrices. Tends to 1 as rows become fewer than features.
double cka(const Eigen::MatrixXd& x, const Eigen::MatrixXd& y);
/// The same with the unbiased estimate of HSIC (Song et al. 2012; Nguyen et al. 2021). NaN below 4 rows.
double unbiased_cka(const Eigen::MatrixXd& x, const Eigen::MatrixXd& y);
/// Spearman's rho of the rows' dissimilarities 1 - cosine in x and in y (representational similarity analysis, Kriegeskorte et
/// al. 2008). NaN below 3 rows.
double rsa(const Eigen::MatrixXd& x, const Eigen::MatrixXd& y);

enum class Similarity { cka, unbiased_cka, rsa };
inline constexpr EnumRow<Similarity> similarities[] = {{Similarity::cka, "cka", "CKA"},
                                                       {Similarity::unbiased_cka, "cka-unbiased", "CKA, unbiased"},
                                                       {Similarity::rsa, "rsa", "RSA"}};
constexpr const auto& enum_rows(Similarity) { return similarities; }

struct LayerOptions {
    Similarity kind = Similarity::cka;
    bool with_first = false;    ///< position 0, whose norm is often many times that of the others and decides alone then
    bool within_first = false;  ///< A with A instead of A with B
    bool operator==(const LayerOptions&) const = default;
};
void describe(Describes<LayerOptions> auto& r, const auto& field) {
    field(Field{"similarity", "Similarity", "how streams are compared"}, r.kind);
    field(Field{"with-first", "With position 0", "include position 0"}, r.with_first);
    field(Field{"within-first", "A with itself", "compare A with itself"}, r.within_first);
}
struct LayerSimilarity {
    Eigen::MatrixXd values;  ///< [state of a, state of b]: before layer 0, then after each layer
    std::int64_t rows = 0;   ///< positions compared
    LayerOptions options;
};
/// At positions that have a partner. Error: no streams were kept; a cross attention, which has none.
LayerSimilarity layer_similarity(const RunPair&, const LayerOptions& = {}, const CancelToken& = {}, const Progress& = {});
/// state, other_state ("embed", "L0" …) and the value.
analyze::Table table_of(const LayerSimilarity&);
std::string state_name(std::int64_t state);

/// |W_B - W_A| / |W_A| (Frobenius) and the cosine of each matrix of two models of one architecture, and of each head's QK and OV
/// product.
struct WeightDifference {
    std::string matrix;  ///< "W_E", "W_Q" … "W_out", "W_U", "QK", "OV"
    std::int64_t layer = -1, head = -1;
    double relative = kNaN, cosine = kNaN;
};
/// Error: a matrix that has another shape in the other model.
std::vector<WeightDifference> weight_differences(const model::Model& a, const model::Model& b, const CancelToken& = {},
                                                 const Progress& = {});
/// matrix, layer, head, relative_l2, cosine.
analyze::Table table_of(const std::vector<WeightDifference>&);

}  // namespace headlight::intervention
