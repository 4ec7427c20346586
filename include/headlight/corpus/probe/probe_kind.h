// SPDX-License-Identifier: GPL-3.0-or-later
// The kinds of probes of a store. Their results stay in its folder "probes", so that figures need neither the model nor the time.
#pragma once

#include "headlight/base/enum_table.h"

#include <filesystem>
#include <string>
#include <vector>

namespace headlight::corpus {

enum class ProbeKind { linear, structural, mix, edge, attention };
inline constexpr EnumRow<ProbeKind> probe_kinds[] = {
    {ProbeKind::linear, "linear", "Probes of labels", "a linear classifier of the states of each layer, with controls"},
    {ProbeKind::structural, "structural", "Structural probe",
     "trees as distances and lengths of the states of each layer (Hewitt & Manning 2019)"},
    {ProbeKind::mix, "mix", "Mixed layers", "a linear classifier of a learnt mixture of layers 0 to l (Tenney et al. 2019)"},
    {ProbeKind::edge, "edge", "Edge probe",
     "the same with edge probing's classifier of the tokens of spans, which has a hidden layer (Tenney et al. 2019)"},
    {ProbeKind::attention, "attention", "Attention probe",
     "the head of each word from the attention of all heads (Clark et al. 2019, section 5)"}};
constexpr const auto& enum_rows(ProbeKind) { return probe_kinds; }

/// Whether a kind of probe learns labels, and not trees.
constexpr bool learns_labels(ProbeKind kind) noexcept {
    return kind == ProbeKind::linear || kind == ProbeKind::mix || kind == ProbeKind::edge;
}

/// Labels whose results the store has, sorted. Kinds that learn trees have one name for all: kTreeTask.
std::vector<std::string> probe_tasks(const std::filesystem::path& store, ProbeKind = ProbeKind::linear);
inline constexpr const char* kTreeTask = "trees";

}  // namespace headlight::corpus
