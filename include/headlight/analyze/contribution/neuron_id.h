// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/base/ids.h"

namespace headlight::analyze {

/// One hidden unit of an MLP.
struct NeuronId {
    Layer layer;
    Neuron neuron;
    constexpr auto operator<=>(const NeuronId&) const = default;
};

}  // namespace headlight::analyze
