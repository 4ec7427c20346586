// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <memory>

class QGuiApplication;

namespace headlight::cli {

/// Qt's fonts and painters without a display: no window system is asked for, whatever the session has. Beside another
/// application of Qt it does nothing.
class Offscreen {
public:
    Offscreen();
    ~Offscreen();
    Offscreen(const Offscreen&) = delete;
    Offscreen& operator=(const Offscreen&) = delete;

private:
    int argc_ = 1;
    char name_[10] = "headlight";
    char* argv_[2] = {name_, nullptr};
    std::unique_ptr<QGuiApplication> application_;
};

}  // namespace headlight::cli
