// SPDX-License-Identifier: GPL-3.0-or-later
// The fields of a sweep's request, once for its command, session files and undo.
#pragma once

#include "headlight/intervention/sweep/pairs.h"

#include <string>
#include <utility>
#include <vector>

namespace headlight::intervention {

/// Calls field(name, value) of each, in the order of the command line, whose names these are.
template <class Request, class Field>
void visit_fields(Request& r, const Field& field) {
    auto& o = r.options;
    field("clean", r.clean);
    field("corrupt", r.corrupt);
    field("target", r.target);
    field("pairs", r.pairs);
    field("site", o.grid);
    field("metric", o.metric);
    field("answer", r.answers);
    field("wrong", r.wrong);
    field("position", r.position);
    field("direction", o.direction);
    field("ablate", o.ablation);
    field("attention", o.attention);
    field("to", o.to);
    field("effect", o.effect);
    field("method", o.method);
    field("window", o.window);
    field("at", r.places);
    field("by-name", o.by_name);
    field("layers", o.layers);
    field("heads", o.heads);
    field("noise", o.noise);
    field("noise-scale", o.noise_scale);
    field("noise-draws", o.noise_draws);
    field("over", r.over);
    field("per-position", o.per_position);
    field("donors", o.donors);
    field("draws", o.bootstrap.draws);
    field("seed", o.bootstrap.seed);
}

struct FieldWords {
    std::string name;
    std::vector<std::string>
        values;  ///< as the command line takes them; none: empty, or a flag that is off; a flag that is on: ""
    bool operator==(const FieldWords&) const = default;
};
std::vector<FieldWords> field_words(const SweepRequest&);

}  // namespace headlight::intervention
