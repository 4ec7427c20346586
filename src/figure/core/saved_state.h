// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPainter>

namespace headlight::figure::draw {

/// Restores a painter's state at the end of a scope, also when a cancelled export leaves it with an exception.
class SavedState {
public:
    explicit SavedState(QPainter& painter) : painter_(painter) { painter_.save(); }
    ~SavedState() { painter_.restore(); }
    SavedState(const SavedState&) = delete;
    SavedState& operator=(const SavedState&) = delete;

private:
    QPainter& painter_;
};

}  // namespace headlight::figure::draw
