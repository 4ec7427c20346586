// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/corpus/probe/probe_kind.h"
#include "headlight/corpus/probe/states.h"

#include <string>

namespace headlight::corpus {

/// Runs a probe with its defaults and keeps its result in the store. `labels`, as read_labels() takes them, only where
/// learns_labels(). Errors: as run_probe(), run_layer_mix(), run_structural(), run_arcs().
void make_probe(ProbeKind, const std::string& labels, const StatesOptions&, const CancelToken& = {}, const Progress& = {});

}  // namespace headlight::corpus
