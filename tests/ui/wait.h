// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QTest>

#include <utility>

namespace headlight::ui {

/// ms, so long that only what never comes fails on a slow and busy machine.
inline constexpr int longest_wait_ms = 120'000;

/// Turns the event loop until `condition` holds.
template <class Condition>
[[nodiscard]] bool wait_for(Condition&& condition) {
    return QTest::qWaitFor(std::forward<Condition>(condition), longest_wait_ms);
}

}  // namespace headlight::ui
