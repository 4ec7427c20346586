// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/figure/core/c_locale.h"

#include <QGuiApplication>

#include <gtest/gtest.h>

int main(int argc, char** argv) {
    qputenv("QT_QPA_PLATFORM", "offscreen");
    testing::InitGoogleTest(&argc, argv);
    QGuiApplication app(argc, argv);
    headlight::figure::use_c_locale();
    return RUN_ALL_TESTS();
}
