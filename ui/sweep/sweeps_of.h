// SPDX-License-Identifier: GPL-3.0-or-later
// The sweeps that one thing in the window offers.
#pragma once

#include "headlight/base/ids.h"
#include "headlight/intervention/sweep/grid.h"
#include "headlight/model/config.h"

#include <QString>

#include <cstdint>
#include <vector>

namespace headlight::ui {

/// What a sweep goes over; texts, answers and the edit stay those of the page.
struct SweepAsk {
    intervention::Grid grid = intervention::Grid::z;
    std::vector<std::int64_t> layers{}, heads{};
};
struct OfferedSweep {
    QString title;  ///< "Queries of L4H5 by position"
    SweepAsk ask;
};

/// Of one head, its layer and the model. With grouped queries keys and values are those of the group that the head reads.
std::vector<OfferedSweep> sweeps_of(HeadId, const model::ModelConfig&);

}  // namespace headlight::ui
