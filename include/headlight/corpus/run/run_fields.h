// SPDX-License-Identifier: GPL-3.0-or-later
// The fields of a corpus run's options (base/fields.h), once for its command and form.
#pragma once

#include "headlight/base/fields.h"
#include "headlight/corpus/run/run.h"

namespace headlight::corpus {

/// What --measure takes, kind by kind.
inline const std::string& measures_help() {
    static const std::string help = [] {
        std::string text = "what to gather, separated by commas (default: the usual ones)";
        for (const AccumulatorKind& kind : accumulator_kinds())
            text += std::string("; ") + kind.id + ": " + kind.note + (kind.usual ? " (usual)" : "");
        return text;
    }();
    return help;
}

/// 0 and what is not given: that of the store, or the default of a new one.
void describe(Describes<AskedOptions> auto& r, const auto& field) {
    field(Field{"unit", "One text is", "the unit of a plain file that makes one text (default: line)"}, r.unit);
    field(Field{"field", "Field of a record", "the field of a record that holds the text (default: text)"}
              .called("NAME")
              .or_if_empty("text"),
          r.field);
    field(Field{"context", "Tokens of a chunk", "maximum tokens per chunk (default: 512, or the model's limit)"}
              .within(0, 1 << 24)
              .or_if_empty("512, or the model’s limit"),
          r.context);
    field(Field{"stride", "Tokens between chunks",
                "tokens from the start of one chunk to the next; shared tokens serve only as context (default: no overlap)"}
              .within(0, 1 << 24)
              .or_if_empty("no overlap"),
          r.stride);
    field(Field{"block", "Chunks of a block", "chunks that are finished together, the most an interruption loses (default: 64)"}
              .within(0, 1 << 20)
              .or_if_empty("64"),
          r.block);
    field(Field{"measure", "Gather", measures_help()}.as(FieldKind::names).called("A,B"), r.measures);
    field(Field{"seed", "Seed", "seed of the samples (default: 0)"}
              .within(0, 9007199254740991)
              .or_if_empty("0, or that of the store"),
          r.seed);
}

}  // namespace headlight::corpus
