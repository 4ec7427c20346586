// SPDX-License-Identifier: GPL-3.0-or-later
// The attention-only probe over a store: all heads together, and the heads of each layer alone.
#pragma once

#include "headlight/analyze/table.h"
#include "headlight/corpus/probe/attention_arcs.h"
#include "headlight/corpus/probe/states.h"

#include <cstdint>
#include <filesystem>
#include <vector>

namespace headlight::corpus {

/// A probe of the heads of layers first_layer to last_layer.
struct ArcRow {
    std::int64_t first_layer = 0, last_layer = 0;
    Interval
        accuracy{};  ///< UAS: share of the test part's words without punctuation whose head is found; the interval is over texts
    double loss = kNaN;  ///< ArcProbe::loss
    std::int64_t iterations = 0;
    bool converged = false;
};

struct ArcResult {
    std::vector<ArcRow> rows;  ///< all layers together, then each layer
    ArcProbe probe;            ///< of all layers
    std::int64_t heads_per_layer = 1;
    std::int64_t offset = 0;               ///< best_arc_offset() of the training part
    Interval baseline{};                   ///< its hits on the same words
    std::int64_t n_train = 0, n_test = 0;  ///< sentences; n_words: words that are scored
    std::int64_t n_words = 0;
    std::int64_t left_out = 0;  ///< sentences: as StoredTrees::left_out, and those of texts with several sentences
};

struct ArcRunOptions {
    ArcOptions fit;
    BootstrapOptions bootstrap;
    std::uint64_t seed = 0;  ///< of the parts
};

/// Runs the texts again: needs the model. Learns from the training and the development part, since nothing is chosen. Errors: as
/// read_trees() and gather_word_attention(); another model or tokenizer than the store's.
ArcResult run_arcs(const Manifest&, const StatesOptions&, const ArcRunOptions&, const CancelToken& = {}, const Progress& = {});
analyze::Table table_of(const ArcResult&);
/// to_head and from_head [layer, head]: the weights of all heads.
std::vector<analyze::NamedArray> arrays_of(const ArcResult&);
std::string json_members(const ArcResult&);

void write_arcs(const std::filesystem::path& store, const Manifest&, const ArcResult&);
/// Errors: as read_probe().
ArcResult read_arcs(const std::filesystem::path& store, const Manifest&);

}  // namespace headlight::corpus
