// SPDX-License-Identifier: GPL-3.0-or-later
// Figures of a store, without its model. The command line and the window's page both read this list: a new figure only needs a
// row here.
#pragma once

#include "headlight/analyze/contribution/neuron_id.h"
#include "headlight/base/ids.h"
#include "headlight/base/job.h"
#include "headlight/corpus/probe/probe_kind.h"
#include "headlight/corpus/store/stored_corpus.h"
#include "headlight/figure/core/figure.h"
#include "headlight/model/model.h"
#include "headlight/text/tokenizer.h"

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headlight::figure {

/// The options of a figure of a store.
struct CorpusRequest {
    std::string view = "corpus-heads";               ///< id of a row of corpus_views()
    std::string measure = "induction";               ///< views of one measure of heads
    std::string x = "mean_distance", y = "entropy";  ///< of the scatter
    std::string labels{};                            ///< of a probe: "upos"; empty: the first one of the store
    std::string label{}, predicted{};                ///< of a probe's confusion matrix: the cell whose words are listed
    std::string question{};                          ///< "heads where VERB attends to its nsubj > 60 %"
    std::string token{};                             ///< whose neurons are listed: " Mr"
    HeadId head{};                                   ///< views of one head; {-1, -1}: the best one, where head_optional
    analyze::NeuronId neuron{};                      ///< views of one neuron
    /// The model that ran the store's texts, for views with_model; null: there is none at hand.
    std::shared_ptr<const model::Model> model{};
    std::shared_ptr<const text::Tokenizer> tokenizer{};
    bool operator==(const CorpusRequest&) const = default;
};

using StorePtr = std::shared_ptr<const corpus::StoredCorpus>;

struct CorpusView {
    std::string id;          ///< "corpus-relations"
    std::string title;       ///< "Relations"
    std::string group;       ///< "Heads", "Words", "Neurons"
    std::string gathered{};  ///< the kind of accumulator that it needs: "words"; empty: none
    bool of_measure = false, of_axes = false, of_head = false, of_neuron = false, of_question = false,
         of_token = false;                     ///< which options of the request apply
    bool head_optional = false;                ///< cases of the best head are shown unless one is named
    std::optional<corpus::ProbeKind> probe{};  ///< it shows what such a probe has left in the store
    bool of_labels() const noexcept { return probe && corpus::learns_labels(*probe); }
    bool of_classes = false;  ///< label and predicted apply
    std::string in_window{};  ///< view of a text that can take the measures of its axes
    /// It runs texts again or reads weights where the request has the model: corpus-removal and corpus-values need it, others
    /// show more with it.
    bool with_model = false;
    /// May be slow. Errors: the store did not gather the data; a measure, head or neuron that does not exist.
    std::function<std::unique_ptr<Figure>(const StorePtr&, const CorpusRequest&, const CancelToken&)> make;
};

std::span<const CorpusView> corpus_views();
/// Error names the nearest.
const CorpusView& corpus_view(std::string_view id);
/// Errors: the store lacks data for the view (explains how to gather it); a view that runs texts has no model, or not the
/// store's.
std::unique_ptr<Figure> corpus_figure(const StorePtr&, const CorpusRequest&, const CancelToken& = {});
/// Names of the measures of heads that the store has.
std::vector<std::string> corpus_measure_ids(const corpus::StoredCorpus&);

/// Numbers of layers, heads and neurons to choose from; 0 if the store has gathered nothing about them.
struct CorpusShape {
    std::int64_t layers = 0, heads = 0;
    std::vector<std::int64_t> neurons{};  ///< of each layer
};
CorpusShape corpus_shape(const corpus::StoredCorpus&);

/// For footer and metadata of exports.
Provenance corpus_provenance(const corpus::StoredCorpus&, const CorpusRequest&);

}  // namespace headlight::figure
