// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/heads/measure_groups.h"

#include "headlight/analyze/heads/head_table.h"

#include <gtest/gtest.h>

#include <map>

namespace headlight::analyze {
namespace measure_groups_test {

TEST(MeasureGroups, HaveEveryMeasureOnce) {
    std::map<std::string, int> times;
    for (const MeasureGroup& group : measure_groups()) {
        EXPECT_LE(group.ids.size(), 10u) << group.title << " is too long for a menu";
        for (const std::string& id : group.ids) ++times[id];
    }
    for (const MeasureInfo& measure : head_measures()) EXPECT_EQ(times[measure.id], 1) << measure.id;
    EXPECT_EQ(times.size(), head_measures().size()) << "a group names a measure that there is not";
}

}  // namespace measure_groups_test
}  // namespace headlight::analyze
