// SPDX-License-Identifier: GPL-3.0-or-later
// The triggers of every neuron of a model over a corpus (Geva et al. 2021, section 3): the chunks with its largest and smallest
// coefficients, how its coefficients are distributed, and a random sample of tokens of every level of activity.
#pragma once

#include "headlight/corpus/accumulate/stored.h"

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace headlight::corpus {

/// A token of the corpus at which a neuron had a coefficient (mlp.hook_post).
struct Trigger {
    float value = 0;
    std::int32_t text = -1;      ///< number of the chunk in the store
    std::int32_t position = -1;  ///< of the token in it
    std::int32_t next = -1;      ///< id of the next token; -1: it is the chunk's last
    bool operator==(const Trigger&) const = default;
};

/// Coefficients are counted in logarithmic bins: first 64 for m <= 0 (by |m|, from small to large), then 64 for m > 0. A power
/// of two has four bins, of equal width in m; the first bin goes from 0 to 1.25 / 256, the last from 224 to infinity. So the
/// middle of a bin between them (coefficient_of()) is off by at most 1/9 of a coefficient.
inline constexpr std::int64_t kCoefficientBins = 128;
std::int64_t coefficient_bin(float m) noexcept;
/// 2 a b / (a + b) of the bin's edges a and b; the finite edge for the two open bins.
double coefficient_of(std::int64_t bin) noexcept;
/// A level of activity is eight bins, two powers of two, from which tokens are sampled.
inline constexpr std::int64_t kActivityLevels = 16;
inline constexpr std::int64_t kBinsOfLevel = kCoefficientBins / kActivityLevels;
/// The coefficients of a level, smaller first; infinite for an open end.
std::pair<double, double> level_range(std::int64_t level) noexcept;

struct NeuronsOptions {
    std::int64_t triggers = 50;  ///< kept per neuron and sign
    std::int64_t samples = 4;    ///< kept per level of activity
    std::uint64_t seed = 0;
};

/// Covers every neuron of a model. A chunk's first token (an attention sink, whose coefficients dwarf all others) and tokens
/// counted by an earlier chunk are left out. Memory, and a file of many texts: 3.3 kB per neuron with the default options (GPT-2
/// small 120 MB, Llama-2-7B 1.15 GB).
class Neurons : public Stored<Neurons> {
public:
    explicit Neurons(const model::ModelConfig&, const NeuronsOptions& = {});
    /// Reads the arrays of a file. The seed matters only for merging with others. Errors as Arrays::get().
    explicit Neurons(const Arrays&, std::uint64_t seed = 0);
    std::unique_ptr<Accumulator> fresh() const override;
    std::vector<std::string> hooks() const override { return {"blocks.*.mlp.hook_post"}; }
    /// Errors: a coefficient that is not finite, naming the text and the layer; a text beyond the 2^31st.
    void add(const TextRun&, TextPatterns*) override;
    void merge(const Accumulator&) override;

    std::int64_t layers() const noexcept { return std::ssize(first_) - 1; }
    std::int64_t width(Layer) const;               ///< neurons of a layer
    std::int64_t texts() const { return texts_; }  ///< chunks that were added
    std::int64_t tokens() const { return tokens_; }

    // Errors of these four name the valid layers and neurons.
    /// The chunks with the largest positive coefficients, each represented by its largest: best first. A longer text has
    /// several chunks.
    std::vector<Trigger> largest(Layer, Neuron) const;
    /// The chunks with the most negative ones.
    std::vector<Trigger> smallest(Layer, Neuron) const;
    /// Tokens of a level of activity, drawn uniformly.
    std::vector<Trigger> samples(Layer, Neuron, std::int64_t level) const;
    /// Tokens in each bin; counts saturate at 2^31 - 1.
    std::span<const std::int32_t> histogram(Layer, Neuron) const;
    /// Tokens with m > 0.
    std::int64_t active(Layer, Neuron) const;

private:
    void stored(Archive&) override;
    struct Ends;
    struct Extremes {
        bool larger;                         ///< the largest are the best
        std::vector<Trigger> triggers{};     ///< [row, triggers], heaps with the worst first
        std::vector<std::uint8_t> in_use{};  ///< [row] how many
    };
    std::int64_t row(Layer, Neuron) const;
    std::int64_t neurons() const { return first_.back(); }
    void resize();
    void add_layer(const TextRun&, std::int64_t layer, std::int64_t first);
    void add_block(const float* m, std::int64_t count, std::int64_t width, std::int64_t begin, std::int64_t end, std::int64_t row,
                   const Ends&);
    void offer_trigger(Extremes&, std::int64_t row, const Trigger&) const;
    void offer_sample(std::int64_t slot, std::uint64_t draw, const Trigger&);
    std::uint64_t sample_draw(std::int64_t row, const Trigger&) const;
    std::vector<Trigger> samples_in(std::int64_t slot) const;              ///< [row, level]
    std::vector<Trigger> listed(const Extremes&, std::int64_t row) const;  ///< best first

    NeuronsOptions options_;
    std::vector<std::int64_t> first_;  ///< [layer + 1] row of a layer's first neuron
    std::int64_t texts_ = 0, tokens_ = 0;
    Extremes largest_{.larger = true}, smallest_{.larger = false};
    std::vector<std::int32_t> histogram_;      ///< [row, bin]
    std::vector<Trigger> samples_;             ///< [row, level, samples], by draw; text -1: not in use
    std::vector<std::uint64_t> largest_draw_;  ///< [row, level] a sample must have a smaller draw to enter
};

/// A row of the table of kinds.
AccumulatorKind neurons_kind();

}  // namespace headlight::corpus
