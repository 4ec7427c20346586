// SPDX-License-Identifier: GPL-3.0-or-later
// How the layers of a model arrive at its predictions over a corpus (Geva et al. 2021, sections 4 and 5). r is the stream
// before an MLP, y its output, o the stream after it; top(.) is the likeliest token after unembedding one of them.
#pragma once

#include "headlight/analyze/prediction/refinement.h"
#include "headlight/analyze/table.h"
#include "headlight/base/job.h"
#include "headlight/corpus/accumulate/stored.h"
#include "headlight/corpus/neurons/neurons.h"
#include "headlight/corpus/statistics/bootstrap.h"
#include "headlight/corpus/statistics/quantile.h"

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

namespace headlight::corpus {

/// The readout of one layer at a token of the corpus.
struct AgreementReading {
    std::int32_t before = 0, update = 0, after = 0;  ///< top(r), top(y), top(o)
    float final_probability = 0;                     ///< in r, of the model's own prediction
    std::int32_t active = 0;                         ///< memories with m > 0
    bool active_agrees = false;                      ///< the value of one of those has top(y)
    bool any_agrees = false;                         ///< the value of some memory has, active or not
};

struct AgreementExample {
    std::int64_t text = 0;      ///< number of the chunk in the store
    std::int32_t position = 0;  ///< of the token in it
    std::vector<AgreementReading> layers;
    std::int32_t final() const { return layers.back().after; }  ///< the model's prediction
};

struct AgreementOptions {
    std::int64_t examples = 4;  ///< tokens drawn from each chunk (the paper: one)
    std::uint64_t seed = 0;
    analyze::ReadOut read_out = analyze::ReadOut::model;
};

/// Keeps the readouts at the drawn tokens, from which every figure of the paper follows. A chunk's first token and tokens
/// counted by an earlier chunk are left out. Each example costs three unembeddings per layer (for GPT-2 small, four examples
/// take as long as 45 tokens of the run); the likeliest token of every value of the model is computed once (2.9 TFLOP there).
class Agreement : public Stored<Agreement> {
public:
    /// Error as analyze::require_refinement(): a model without unembedding, or with a masked-word head.
    explicit Agreement(const model::ModelConfig&, const AgreementOptions& = {});
    /// Reads the arrays of a file. Errors as Arrays::get().
    explicit Agreement(const Arrays& arrays) { load(arrays); }
    std::vector<std::string> hooks() const override;
    void add(const TextRun&, TextPatterns*) override;

    const std::vector<AgreementExample>& examples() const noexcept { return examples_; }  ///< by chunk and position
    const std::vector<std::int64_t>& widths() const noexcept { return widths_; }          ///< [layer] memories

private:
    void stored(Archive&) override;

    AgreementOptions options_;
    std::vector<std::int64_t> widths_;
    std::vector<AgreementExample> examples_;
};

/// Shares of the examples, with intervals over texts: the examples of one text are drawn together, whatever chunks they are in.
struct LayerAgreement {
    Interval active;                ///< mean share of memories with m > 0 (Fig. 6)
    Box active_box{};               ///< of the examples' shares
    Interval zero_agreement;        ///< no active memory's value has top(y) (Fig. 8)
    Interval zero_agreement_any;    ///< no memory's value has
    Interval residual_final;        ///< top(r) is the model's prediction (Fig. 9)
    Interval residual_probability;  ///< of that prediction, in r (Fig. 10)
    Box residual_probability_box{};
    std::array<Interval, 4> parts;  ///< by analyze::Breakdown (Fig. 11)
};
/// `text_of_chunk`: TextStore::text_of_chunk(). Error for a chunk beyond it.
std::vector<LayerAgreement> layer_agreement(const Agreement&, const std::vector<std::int64_t>& text_of_chunk,
                                            const BootstrapOptions& = {});
/// One row per layer: every number of LayerAgreement, intervals as NAME, NAME_low, NAME_high.
analyze::Table table_of(const std::vector<LayerAgreement>&);

/// Compares values with the tokens that follow their triggers. A memory's trigger is the chunk with its largest positive
/// coefficient at a token that has a next one; memories without any are left out.
struct LayerValues {
    std::int64_t neurons = 0, triggered = 0;
    std::int64_t agreeing = 0;  ///< the value's likeliest token followed its trigger (Fig. 4)
    Box rank{};                 ///< of the token after the trigger in the value's distribution, 0: the likeliest (Fig. 5)
    Interval rate() const noexcept { return share_interval(agreeing, triggered); }
};

/// A value with a confident token, and how often that token followed its triggers.
struct SureValue {
    Layer layer;
    Neuron neuron;
    std::int64_t token = 0;
    double probability = 0;
    bool agrees = false;                      ///< it followed the strongest one
    std::int64_t followed = 0, triggers = 0;  ///< of the recorded triggers that have a next token
};

/// A tenth of the model's triggered memories, by the probability of their value's likeliest token.
struct ProbabilityTenth {
    double lowest = kNaN, highest = kNaN;
    std::int64_t triggered = 0, agreeing = 0;
    Interval rate() const noexcept { return share_interval(agreeing, triggered); }
};

struct ValueAgreement {
    std::vector<LayerValues> layers;
    std::array<ProbabilityTenth, 10> by_probability;  ///< from the least confident values to the most confident (Fig. 7)
    std::vector<SureValue> surest;                    ///< by probability
};

struct ValueAgreementOptions {
    bool gain = true;           ///< values go through the final norm's gain, as analyze::ReadOut::model reads them
    std::int64_t surest = 100;  ///< values to list
};

/// Reads every value of the model: GPT-2 small 2.9 TFLOP. Error if the neurons are of another model.
ValueAgreement value_agreement(const Neurons&, const model::Model&, const ValueAgreementOptions& = {}, const CancelToken& = {},
                               const Progress& = {});
/// One row per layer.
analyze::Table table_of(const ValueAgreement&);
/// One row per tenth.
analyze::Table probability_table(const ValueAgreement&);
/// One row per value of `surest`.
analyze::Table sure_values_table(const ValueAgreement&, const text::Tokenizer&);

AccumulatorKind agreement_kind();

}  // namespace headlight::corpus
