// SPDX-License-Identifier: GPL-3.0-or-later
// Noise on token embeddings, for causal tracing (Meng et al. 2022, arXiv:2202.05262, section 2.1 and appendix B.1).
#pragma once

#include "headlight/intervention/sweep/sweep.h"

#include <memory>
#include <vector>

namespace headlight::intervention {

/// Without SweepOptions::noise the pairs themselves. Else so many pairs for each as there are draws: the clean text, and as the
/// corrupt one the same text with normal noise on the embeddings of the place's tokens, its standard deviation `noise_scale`
/// times that of all numbers of these tokens' embeddings in all pairs. Draws of one text are of one group, if there are several
/// texts. Errors: a place that a text does not have; models that read a source or pictures.
std::vector<SweepPair> with_noise(const std::shared_ptr<const model::Model>&, std::vector<SweepPair>, const SweepOptions&);

}  // namespace headlight::intervention
