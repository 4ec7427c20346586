// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QTest>

#include <utility>

namespace headlight::ui {

/// Turns the event loop until `condition` holds, for so long that only what never comes fails on a slow and busy machine.
template <class Condition>
[[nodiscard]] bool wait_for(Condition&& condition, int ms = 120'000) {
    return QTest::qWaitFor(std::forward<Condition>(condition), ms);
}

}  // namespace headlight::ui
