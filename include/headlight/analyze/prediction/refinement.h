// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/analyze/table.h"
#include "headlight/base/fields.h"
#include "headlight/base/ids.h"
#include "headlight/base/job.h"
#include "headlight/trace/trace.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace headlight::analyze {

/// How a vector of the stream is turned into a token (Geva 2021, section 5.2).
enum class ReadOut {
    /// Final norm, its statistics those of the vector itself, and unembedding: the model's own way. Where a norm stands behind
    /// every sub-layer (BART, Marian) r, y and their sum are read by the one behind this sum: of the last layer that is what the
    /// model does, and an MLP that adds nothing leaves r's token standing.
    model,
    unembedding,  ///< the unembedding alone, as in the paper, whose model has no final norm; o is then the sum itself
};

struct RefinementOptions {
    ReadOut read_out = ReadOut::model;
    bool values = true;         ///< zero agreement and agreement rate, which need the top token of every value
    bool all_memories = false;  ///< zero agreement over all memories, not only the active ones
    bool skip_first = true;     ///< leave out each text's first token (an attention sink); a picture's is [CLS], and counts
};

struct RefinementRequest {
    bool unembedding = false, no_values = false, all_memories = false, with_first = false;
    RefinementOptions options() const {
        return {.read_out = unembedding ? ReadOut::unembedding : ReadOut::model,
                .values = !no_values,
                .all_memories = all_memories,
                .skip_first = !with_first};
    }
};
void describe(Describes<RefinementRequest> auto& r, const auto& field) {
    field(Field{"unembedding", "Without the final norm", "read vectors with the unembedding only, without the final norm"},
          r.unembedding);
    field(Field{"no-values", "Without the values", "skip results that need the top token of every value"}, r.no_values);
    field(Field{"all-memories", "Of all memories", "zero agreement over all memories, not only active ones"}, r.all_memories);
    field(Field{"with-first", "Count the first token", "count each text's first token"}, r.with_first);
}

/// One layer of one or many texts (Geva 2021, Figs 4 and 6 to 11; of an encoder-decoder model the target and its decoder, where
/// r has what the layer read from the source). With r the stream before the MLP, y its output and o the
/// stream behind it, top(.) the likeliest token: shares of the looked-at tokens, NaN where there is none.
struct LayerRefinement {
    double active = 0;          ///< mean share of memories with m_i > 0 (Fig. 6)
    double agreement = 0;       ///< top(r) = top(y) = top(o)
    double residual = 0;        ///< top(o) = top(r), not top(y)
    double ffn = 0;             ///< top(o) = top(y), not top(r)
    double composition = 0;     ///< top(o) is neither; also top(r) = top(y) but not top(o). The four sum to 1 (Fig. 11)
    double zero_agreement = 0;  ///< no memory's value has the top token of the layer's output y (Fig. 8); NaN: not asked for
    double residual_final = 0;  ///< top(r) is the top token of the last layer's output (Fig. 9)
    double residual_probability = 0;  ///< mean probability of that token in r (Fig. 10)
    double residual_probability_low = 0, residual_probability_median = 0, residual_probability_high = 0;  ///< its quartiles
    /// Share of the memories whose value's top token is the token behind their strongest trigger in the texts (Fig. 4 with
    /// these texts as the corpus); memories that were never active are left out. NaN: not asked for.
    double value_agreement = 0;
    std::int64_t active_memories = 0;  ///< memories that were active somewhere: what value_agreement is a share of
};

/// A token whose prediction the last MLP changed.
struct LastLayerChange {
    std::int64_t text = 0, position = 0;
    std::int64_t before = 0, after = 0;  ///< top(r) and top(o) of the last layer
};

struct Refinement {
    std::int64_t tokens = 0;  ///< analysed
    std::vector<LayerRefinement> layers;
    std::vector<LastLayerChange> last_layer;
};

/// Of one text, or of several runs of one model. Errors: no runs, runs of different models, a model without unembedding or
/// with a masked-word head (r, y and o are then no sums that the head reads one by one).
Refinement refinement(const std::vector<std::shared_ptr<const trace::Trace>>&, const RefinementOptions& = {},
                      const CancelToken& = {}, const Progress& = {});

/// Error naming what the model lacks for it: an unembedding, or one that reads r, y and o one by one.
void require_refinement(const model::ModelConfig&);

/// What r, y and o of a layer are read as at one token.
struct TokenReading {
    std::int64_t before = 0, update = 0, after = 0;  ///< top(r), top(y), top(o)
    double final_probability = 0;                    ///< in r, of the top token of the last layer's output
};
/// Of chosen tokens of a text: [layer][position]. Errors as refinement(), and positions that do not exist.
std::vector<std::vector<TokenReading>> token_readings(const trace::Trace&, const std::vector<Position>&, ReadOut = ReadOut::model,
                                                      const CancelToken& = {});

/// The four parts of Geva's Fig. 11, as in LayerRefinement.
enum class Breakdown { agreement, residual, ffn, composition };
Breakdown breakdown_of(const TokenReading&);

/// A row a layer, with a column for each field of LayerRefinement.
Table table_of(const Refinement&);
/// text, position, before_id, before, after_id, after.
Table last_layer_table(const Refinement&, const text::Tokenizer&);

}  // namespace headlight::analyze
