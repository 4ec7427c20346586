// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "tests/ui/wait.h"
#include "ui/window/main_window.h"

#include <gtest/gtest.h>

#include <QTemporaryDir>
#include <QTest>

#include <optional>

namespace headlight::ui {

/// Pixels of a canvas that differ from its ground: none on an empty one.
inline std::int64_t ink(FigureCanvas& canvas) {
    const QImage image = canvas.viewport()->grab().toImage().convertToFormat(QImage::Format_RGB32);
    const QRgb ground = canvas.style_in_use().theme->canvas.rgb();
    std::int64_t count = 0;
    for (int y = 0; y < image.height(); ++y)
        for (int x = 0; x < image.width(); ++x) count += image.pixel(x, y) != ground;
    return count;
}

/// The real window on the built-in model with the example sentence, as a first start shows it.
class WindowTest : public testing::Test {
protected:
    void SetUp() override {
        window.resize(1440, 900);
        window.show();
        window.open(QStringLiteral("novella-7m"));
        ASSERT_TRUE(settle());
        ASSERT_TRUE(window.document().trace());
    }

    /// Until no work is left and the picture is that of the text.
    bool settle() {
        return wait_for([&] {
            return window.jobs().idle() && !window.document().probe().pending() &&
                   (window.document().up_to_date() || window.error_panel().isVisible());
        });
    }

    FigureCanvas& canvas() { return window.left_pane().canvas(); }
    const figure::Selection& selected() { return window.document().selection().get(); }

    /// The first point of the figure on screen whose hit is as wanted, in the viewport.
    template <class Wanted>
    std::optional<QPoint> find(FigureCanvas& where, Wanted wanted) {
        const QSize room = where.viewport()->size();
        for (int y = 3; y < room.height(); y += 3) {
            for (int x = 3; x < room.width(); x += 3) {
                const auto hit = where.shown()->hit_test(where.to_figure(QPointF(x, y)), where.style_in_use(), selected());
                if (wanted(hit)) return QPoint(x, y);
            }
        }
        return std::nullopt;
    }
    std::optional<QPoint> square(std::int64_t head) {
        return find(canvas(), [&](const figure::Hit& h) {
            return h.kind == figure::Hit::Kind::head_square && h.head && h.head->head == Head(head);
        });
    }
    std::optional<QPoint> token(figure::Hit::Kind kind, std::int64_t position) {
        return find(canvas(), [&](const figure::Hit& h) {
            const auto& p = kind == figure::Hit::Kind::query ? h.query : h.key;
            return h.kind == kind && p == Position(position);
        });
    }
    void click(QPoint at, Qt::KeyboardModifiers modifiers = {}) {
        QTest::mouseClick(canvas().viewport(), Qt::LeftButton, modifiers, at);
    }
    /// The click that follows is none of a double click with the one before.
    static void next_click() {
        QApplication::setDoubleClickInterval(1);
        QTest::qSleep(2);
    }
    void move(QPoint at) { QTest::mouseMove(canvas().viewport(), at); }
    void type_text(const QString& text) {
        window.prompt_bar().text().selectAll();
        QTest::keyClicks(&window.prompt_bar().text(), text);
    }

    MainWindow window;
};

}  // namespace headlight::ui
