// SPDX-License-Identifier: GPL-3.0-or-later
// Factories of the figures of a corpus, from values that have been computed.
#pragma once

#include "headlight/analyze/heads/head_table.h"
#include "headlight/analyze/prediction/mlp.h"
#include "headlight/corpus/accumulate/examples.h"
#include "headlight/corpus/coreference/coreference.h"
#include "headlight/corpus/heads/head_means.h"
#include "headlight/corpus/heads/head_snippets.h"
#include "headlight/corpus/neurons/agreement.h"
#include "headlight/corpus/neurons/neurons.h"
#include "headlight/corpus/neurons/removal.h"
#include "headlight/corpus/neurons/token_neurons.h"
#include "headlight/corpus/probe/arc_run.h"
#include "headlight/corpus/probe/mix_run.h"
#include "headlight/corpus/probe/probe.h"
#include "headlight/corpus/probe/structural_run.h"
#include "headlight/corpus/store/text_store.h"
#include "headlight/corpus/syntax/relations.h"
#include "headlight/corpus/syntax/tag_attention.h"
#include "headlight/corpus/syntax/word_query.h"
#include "headlight/figure/core/figure.h"

#include <Eigen/Core>

#include <memory>
#include <string>
#include <vector>

namespace headlight::figure {

/// `words` in all of these: the source of the numbers, "novella-7m over 2,001 texts".

// syntax_figures.cpp
std::unique_ptr<Figure> relations_figure(const corpus::RelationTable&, const QString& words);
/// The most frequent parts of speech as keys.
std::unique_ptr<Figure> tags_figure(const std::vector<corpus::TagShare>&, const QString& words);
std::unique_ptr<Figure> alignment_figure(const std::vector<corpus::HeadAlignment>&, const QString& words);
/// Heads that match a question, and cases of one of them: hits, misses and counter-examples. An empty question shows the
/// syntax.
std::unique_ptr<Figure> question_figure(const corpus::WordIndex&, const std::string& question, HeadId chosen,
                                        const QString& words);

// head_figures.cpp
/// The means of one measure with their intervals, heads sorted by it.
std::unique_ptr<Figure> interval_figure(const corpus::HeadMeans&, const std::string& measure, const QString& words);
/// Attention by distance: a line for each layer's mean and one for the chosen head. `weights`: [layer * head, bin].
std::unique_ptr<Figure> distance_figure(const Eigen::MatrixXd& weights, std::int64_t layers, HeadId, const QString& words);
/// Heads in the plane by metric scaling of their divergences, with Clark's markers. `table` may be empty.
std::unique_ptr<Figure> map_figure(const Eigen::MatrixXd& divergences, const analyze::HeadTable&, const QString& words);

/// Examples as lists of texts with the places marked.
struct ExampleList {
    QString title, note;
    std::vector<corpus::Example> examples;  ///< key -1: one place
    bool sorted = true;                     ///< by value; false: drawn at random
};
/// `texts` reads the text around them.
std::unique_ptr<Figure> examples_figure(const std::vector<ExampleList>&, corpus::TextStore& texts, const char* view,
                                        const QString& title, const QString& description);

// snippet_figure.cpp
struct SnippetList {
    QString title;
    std::vector<corpus::HeadSnippet> snippets;
};
/// Small head views: queries to the left, keys to the right, the example's own pair marked.
std::unique_ptr<Figure> snippet_figure(std::vector<SnippetList>, HeadId, const QString& description);

// probe_figure.cpp
/// `label` and `predicted`: the classes of the cell of the confusion matrix whose words are listed; empty: none, and in place of
/// `predicted` the label itself. Error for a class that does not exist.
std::unique_ptr<Figure> probe_figure(const corpus::ProbeResult&, const std::string& label, const std::string& predicted,
                                     const QString& words);

// tree_probe_figures.cpp
std::unique_ptr<Figure> structural_figure(const corpus::StructuralResult&, const QString& words);
std::unique_ptr<Figure> mix_figure(const corpus::MixResult&, const QString& words);
std::unique_ptr<Figure> arc_figure(const corpus::ArcResult&, const QString& words);

// coreference_figure.cpp
/// Cases of `chosen`; a head that does not exist stands for the best one of each score.
std::unique_ptr<Figure> coreference_figure(const corpus::MentionIndex&, const corpus::CoreferenceTable&, HeadId chosen,
                                           corpus::TextStore& texts, const QString& words);

// value_figures.cpp
std::unique_ptr<Figure> values_figure(const corpus::ValueAgreement&, const QString& words);
/// The tokens that a neuron's value promotes, and how many of its triggers they follow.
std::unique_ptr<Figure> value_figure(const corpus::Neurons&, analyze::NeuronId, const analyze::Promoted&, const text::Tokenizer&);

// neuron_figures.cpp
/// The parts of a neuron's card that need the model; null: without.
struct NeuronParts {
    std::unique_ptr<Figure> value;
    std::unique_ptr<corpus::NeuronRemoval> removed;
};
std::unique_ptr<Figure> neuron_figure(const corpus::Neurons&, analyze::NeuronId, NeuronParts, corpus::TextStore& texts,
                                      const QString& words);
/// Neurons with the token among their triggers, by the share of these.
std::unique_ptr<Figure> token_neurons_figure(const corpus::TokenNeurons&, const QString& words);
std::unique_ptr<Figure> removal_figure(const std::vector<corpus::LayerRemoval>&, const QString& words);
std::unique_ptr<Figure> agreement_figure(const std::vector<corpus::LayerAgreement>&, const QString& words);

}  // namespace headlight::figure
