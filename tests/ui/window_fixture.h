// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "tests/ui/wait.h"
#include "ui/window/main_window.h"

#include <gtest/gtest.h>

#include <QContextMenuEvent>
#include <QFile>
#include <QMenu>
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

/// Makes a file with these bytes; false where that fails.
[[nodiscard]] inline bool write_file(const QString& name, const QByteArray& bytes) {
    QFile file(name);
    return file.open(QIODevice::WriteOnly) && file.write(bytes) == bytes.size();
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
    virtual bool settle() {
        return wait_for([&] {
            return window.jobs().idle() && !window.document().probe().pending() &&
                   (window.document().up_to_date() || window.error_panel().isVisible());
        });
    }

    /// What these do has settled when they return.
    [[nodiscard]] bool show_view(const View& view) {
        window.show_view(view);
        return settle();
    }
    [[nodiscard]] bool trigger(Command command) {
        window.action(command).trigger();
        return settle();
    }
    [[nodiscard]] bool opened(const QString& what) {
        window.open(what);
        return settle();
    }
    [[nodiscard]] bool retype(const QString& text) {
        type_text(text);
        return settle();
    }

    /// Another window has opened this.
    [[nodiscard]] static bool opened_in(MainWindow& other, const QString& what) {
        other.show();
        other.open(what);
        return wait_for([&] { return other.jobs().idle() && other.document().up_to_date(); });
    }

    Document& document() { return window.document(); }
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
    std::optional<QPoint> cell(std::int64_t query, std::int64_t key) {
        return find(canvas(), [&](const figure::Hit& h) {
            return h.kind == figure::Hit::Kind::pair && h.query == Position(query) && h.key == Position(key);
        });
    }
    /// The menu of what is at this point of a widget.
    QMenu* ask(QWidget& where, QPoint at, QContextMenuEvent::Reason reason = QContextMenuEvent::Mouse) {
        QContextMenuEvent event(reason, at, where.mapToGlobal(at));
        QApplication::sendEvent(&where, &event);
        return window.context_menus().open_menu();
    }
    /// The first one that begins so, of the menu itself.
    static QAction* entry(const QMenu* menu, const QString& begins) {
        for (QAction* action : menu->actions())
            if (action->text().startsWith(begins)) return action;
        return nullptr;
    }
    /// The same in the menus inside it too.
    static QAction* entry_within(const QMenu* menu, const QString& begins) {
        for (QAction* action : menu->actions()) {
            if (action->text().startsWith(begins)) return action;
            if (action->menu())
                if (QAction* inside = entry_within(action->menu(), begins)) return inside;
        }
        return nullptr;
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
    /// In place of the prompt's text, without the keyboard.
    void set_text(const QString& text) {
        document().edit_prompt([&](PromptText& p) { p.text = text; });
    }
    void set_texts(const QString& source, const QString& target) {
        document().edit_prompt([&](PromptText& p) { p.text = source, p.pair = target; });
    }
    void set_finder(const QString& expression) {
        document().edit_options([&](ViewOptions& o) { o.finder = expression; });
    }
    void type_text(const QString& text) {
        window.prompt_bar().text().selectAll();
        QTest::keyClicks(&window.prompt_bar().text(), text);
    }

    MainWindow window;
};

}  // namespace headlight::ui
