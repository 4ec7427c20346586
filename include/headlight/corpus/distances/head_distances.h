// SPDX-License-Identifier: GPL-3.0-or-later
// The distance between two heads (Clark et al. 2019, section 6): the Jensen-Shannon divergence of their weights at the same
// queries of a corpus.
#pragma once

#include "headlight/corpus/accumulate/fixed_sum.h"
#include "headlight/corpus/accumulate/stored.h"

#include <Eigen/Core>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace headlight::corpus {

/// JS(p, q) = H((p + q) / 2) - (H(p) + H(q)) / 2 in nats: 0 for the same weights, ln 2 if no key has weight in both. Clark's
/// code smooths the weights (0.999 p + 0.001 / n); this does not, since with 0 ln 0 = 0 none is needed. scipy's jensenshannon()
/// is its root.
double jensen_shannon(std::span<const float> p, std::span<const float> q);

struct HeadDistancesOptions {
    std::int64_t queries = 16;  ///< drawn from each chunk; 0: all
    std::int64_t kept = 32;     ///< queries whose weights are kept in full
    std::uint64_t seed = 0;
};

/// A query of the corpus with the weights of every head at it.
struct KeptQuery {
    std::uint64_t draw = 0;
    std::int64_t text = 0;      ///< number of the chunk in the store
    std::int64_t position = 0;  ///< of the query in it
    std::int64_t keys = 0;
    std::vector<float> weights;  ///< [head, key]
    std::span<const float> of(std::int64_t head) const {
        return std::span(weights).subspan(static_cast<std::size_t>(head * keys), static_cast<std::size_t>(keys));
    }
};

/// The mean divergence of each pair of heads over all queries: exact for `queries` 0, else an estimate with a standard error,
/// in which a chunk's drawn queries represent all of its queries. In causal models a chunk's first query is left out: in every
/// head it attends only to itself. Time grows with the square of the number of heads: 3 ms per query of 256 keys for GPT-2's
/// 144, 0.13 s for 1,024. Memory and file: 48 bytes per pair, and the kept weights (at 512 keys 9 MB for 144 heads, 67 MB for
/// 1,024).
class HeadDistances : public Stored<HeadDistances> {
public:
    explicit HeadDistances(const model::ModelConfig&, const HeadDistancesOptions& = {});
    /// Reads the arrays of a file. Errors as Arrays::get().
    explicit HeadDistances(const Arrays& arrays) { load(arrays); }
    std::unique_ptr<TextPatterns> patterns_of(const TextRun&) const override;
    void add(const TextRun&, TextPatterns*) override;

    /// Heads are numbered layer by layer: L1H0 comes after the last head of layer 0.
    std::int64_t heads() const noexcept { return layers_ * heads_of_layer_; }
    HeadId head(std::int64_t number) const noexcept { return {Layer(number / heads_of_layer_), Head(number % heads_of_layer_)}; }
    std::int64_t chunks() const noexcept { return chunks_; }    ///< that had a query
    std::int64_t drawn() const noexcept { return compared_; }   ///< queries at which heads were compared
    std::int64_t queries() const noexcept { return queries_; }  ///< that these represent

    /// The compared queries with the smallest draws: the same ones for two models that read the same tokens, so that heads of
    /// one can be compared with heads of the other (compare/match.h).
    const std::vector<KeptQuery>& kept() const noexcept { return kept_; }

    Eigen::MatrixXd means() const;  ///< [head, head] mean divergence; NaN without queries, the diagonal is 0
    /// [head, head] standard errors of the means, as ratios of sums over chunks, since queries of one chunk are not independent
    /// (Cochran 1977, 6.3); NaN below two chunks. Chunks of one text are correlated, so for texts with several chunks this
    /// underestimates the error.
    Eigen::MatrixXd standard_errors() const;

private:
    void stored(Archive&) override;
    class DrawnRows;
    enum Sum {
        kSum,       ///< over chunks, of s_c: a chunk's mean divergence over its drawn queries, times its n_c queries
        kSquares,   ///< s_c^2
        kProducts,  ///< s_c n_c
        kSums
    };
    std::int64_t pairs() const noexcept { return heads() * (heads() - 1) / 2; }
    template <class Fn>
    Eigen::MatrixXd matrix(double diagonal, Fn) const;

    HeadDistancesOptions options_;
    std::int64_t layers_ = 0, heads_of_layer_ = 0;
    bool causal_ = true;
    std::vector<FixedSum> sums_;  ///< [pair, Sum], a < b, by a and then b
    std::int64_t chunks_ = 0, compared_ = 0, queries_ = 0, squares_of_queries_ = 0;

    std::vector<KeptQuery> kept_;  ///< by draw
};

AccumulatorKind distances_kind();

}  // namespace headlight::corpus
