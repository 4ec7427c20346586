// SPDX-License-Identifier: GPL-3.0-or-later
// Random events: keys, clicks, pastes, views, edits, a second text, sizes down to nothing. The window stays usable, and Qt has
// nothing to complain about. HEADLIGHT_MONKEY_EVENTS makes it longer, HEADLIGHT_MONKEY_SEEDS ("3,4") chooses the seeds; both
// print the longest turn of the event loop and what the memory holds, and a turn that computes for more than two seconds prints
// where it is.
#include "headlight/base/memory.h"
#include "headlight/base/memory_account.h"
#include "tests/support/memory_budget.h"
#include "tests/ui/turn_watch.h"
#include "tests/ui/window_fixture.h"

#include <QApplication>
#include <QClipboard>
#include <QMimeData>

#include <malloc.h>

#include <fstream>
#include <map>
#include <random>
#include <string>

namespace headlight::ui {
namespace monkey_test {

QStringList complaints;
QtMessageHandler handler_before = nullptr;

void take_message(QtMsgType type, const QMessageLogContext& context, const QString& message) {
    static const char* const faults[] = {"QPainter", "QWidget::set", "QLayout", "QObject::", "QImage", "QFont::setP", "QPixmap"};
    for (const char* fault : faults)
        if (message.startsWith(QLatin1String(fault))) complaints << message;
    handler_before(type, context, message);
}

class Monkey {
public:
    Monkey(MainWindow& window, unsigned seed, TurnWatch& watch) : window_(window), watch_(watch), random_(seed) {
        // What opens on top is closed before long, from inside its own loop too.
        QObject::connect(&closer_, &QTimer::timeout, [this] {
            if (QWidget* popup = QApplication::activePopupWidget()) popup->close();
            if (QWidget* modal = QApplication::activeModalWidget()) modal->close();
            if (Tour* tour = window_.tour()) tour->close();
        });
        closer_.start(60);
    }

    void act() {
        using Act = void (Monkey::*)();
        static constexpr std::pair<int, std::pair<const char*, Act>> acts[] = {
            {20, {"keys", &Monkey::type}},      {8, {"paste", &Monkey::paste}},      {25, {"mouse", &Monkey::use_mouse}},
            {12, {"view", &Monkey::show_view}}, {12, {"command", &Monkey::command}}, {8, {"size", &Monkey::resize}},
            {6, {"edit", &Monkey::edit}},       {5, {"compare", &Monkey::compare}},  {6, {"wait", &Monkey::wait}},
            {4, {"palette", &Monkey::palette}}, {6, {"undo", &Monkey::undo}}};
        int all = 0;
        for (const auto& [weight, unused] : acts) all += weight;
        int left = below(all);
        for (const auto& [weight, named] : acts) {
            if ((left -= weight) >= 0) continue;
            name_ = named.first;
            begin("");
            (this->*named.second)();
            break;
        }
        QTest::qWait(below(4) == 0 ? below(200) : below(10));
        if (!window_.isVisible()) window_.show();
    }

private:
    int below(int n) { return std::uniform_int_distribution<int>(0, n - 1)(random_); }
    void begin(const QString& what) { watch_.begin(name_ + " " + what.left(120).toStdString()); }
    template <class List>
    const auto& any_of(const List& list) {
        return list[static_cast<std::size_t>(below(static_cast<int>(std::size(list))))];
    }

    QString some_text() {
        static const QString scripts[] = {
            QStringLiteral("The doctor asked the nurse because she was late. "),
            QString::fromUtf8("\u0928\u092e\u0938\u094d\u0924\u0947 \u0926\u0941\u0928\u093f\u092f\u093e "),
            QString::fromUtf8("\u0645\u0631\u062d\u0628\u0627 \u05e9\u05dc\u05d5\u05dd "),
            QString::fromUtf8("\u4f60\u597d\u4e16\u754c\u3002"),
            QString::fromUtf8("\U0001F469\u200D\U0001F469\u200D\U0001F467\u200D\U0001F466\U0001F1E9\U0001F1EA "),
            QString::fromUtf8("Z\u0300\u0301\u0302\u0303\u0304\u0305\u0306\u0307a\u0328\u0329\u032a\u032blgo "),
            QString::fromUtf8(
                "\u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35 \u1200\u1208\u1210 \u13a3\u13b3\u13a9 \u1780\u1781\u1782 \U00010330\U00010331 "),
            QString::fromUtf8("a\u202eb\u2066c\ufefd\ufffe\u200b "),
            QStringLiteral("x"),
            QStringLiteral("\n"),
            QStringLiteral("\t<b>&amp;</b> %1 %2 "),
            QStringLiteral("12345678901234567890 "),
        };
        QString text;
        const int kinds = 1 + below(4);
        for (int i = 0; i < kinds; ++i) text += any_of(scripts).repeated(1 + (below(4) == 0 ? below(400) : below(8)));
        return text;
    }

    PromptEdit& prompt() { return window_.prompt_bar().text(); }

    void type() {
        QWidget* to = below(3) ? &prompt() : QApplication::focusWidget();
        if (!to) to = &prompt();
        if (below(3) == 0) to->setFocus();
        static constexpr Qt::Key keys[] = {Qt::Key_Backspace, Qt::Key_Delete, Qt::Key_Return, Qt::Key_Escape, Qt::Key_Tab,
                                           Qt::Key_Left,      Qt::Key_Right,  Qt::Key_Up,     Qt::Key_Down,   Qt::Key_Home,
                                           Qt::Key_End,       Qt::Key_PageUp, Qt::Key_Space,  Qt::Key_F6,     Qt::Key_A};
        static constexpr Qt::KeyboardModifiers modifiers[] = {Qt::NoModifier, Qt::NoModifier, Qt::ShiftModifier,
                                                              Qt::ControlModifier};
        if (below(2)) {
            const QString text = QStringLiteral("abc the nurse ,.").mid(below(10), 1 + below(5));
            begin(text);
            return QTest::keyClicks(to, text);
        }
        const Qt::Key key = any_of(keys);
        begin(QString::number(key, 16));
        QTest::keyClick(to, key, any_of(modifiers));
    }

    void paste() {
        auto* mime = new QMimeData;
        const int kind = below(6);
        const QString text = kind == 0   ? some_text().repeated(40)
                             : kind == 1 ? QString(1 << 20, QLatin1Char(below(2) ? 'a' : ' '))
                             : kind == 2 ? some_text() + QChar(0) + QStringLiteral("\x01\x1b[31m") + some_text()
                                         : some_text();
        mime->setText(text);
        if (kind == 3 || kind == 2)
            mime->setHtml(
                QStringLiteral("<table><tr><td style='font-size:900px'>%1</td></tr></table><img src='file:///dev/zero'>")
                    .arg(text.toHtmlEscaped())
                    .repeated(1 + below(20)));
        begin(QStringLiteral("%1: %2 characters").arg(kind).arg(text.size()));
        QApplication::clipboard()->setMimeData(mime);
        if (below(3)) prompt().selectAll();
        prompt().paste();
    }

    void use_mouse() {
        const QPoint at(below(std::max(1, window_.width())), below(std::max(1, window_.height())));
        QWidget* under = window_.childAt(at);
        if (!under) return;
        const QPoint inside = under->mapFrom(&window_, at);
        const int kind = below(10);
        begin(QStringLiteral("%1 on %2").arg(kind).arg(QString::fromLatin1(under->metaObject()->className())));
        const Qt::KeyboardModifiers with = below(4) ? Qt::NoModifier : below(2) ? Qt::ShiftModifier : Qt::ControlModifier;
        if (kind < 3) return QTest::mouseMove(under, inside);
        if (kind < 7) return QTest::mouseClick(under, Qt::LeftButton, with, inside);
        if (kind == 7) return QTest::mouseDClick(under, Qt::LeftButton, with, inside);
        if (kind == 8) {
            QContextMenuEvent event(QContextMenuEvent::Mouse, inside, under->mapToGlobal(inside));
            QApplication::sendEvent(under, &event);
            return;
        }
        QWheelEvent wheel(inside, under->mapToGlobal(inside), {}, {0, (below(2) ? 120 : -120) * (1 + below(5))}, Qt::NoButton,
                          with, Qt::NoScrollPhase, false);
        QApplication::sendEvent(under, &wheel);
    }

    void show_view() {
        const auto& specs = figure::view_specs();
        const std::string& id = any_of(specs).id;
        begin(QString::fromStdString(id));
        window_.show_view(id);
    }

    void command() {
        static const Command commands[] = {Command::tensors,
                                           Command::copy_command,
                                           Command::copy_image,
                                           Command::run,
                                           Command::stop,
                                           Command::generate,
                                           Command::memory,
                                           Command::pair,
                                           Command::compare,
                                           Command::compare_bias,
                                           Command::side_next,
                                           Command::edits,
                                           Command::edit_selected,
                                           Command::edits_switch,
                                           Command::edits_clear,
                                           Command::find_heads,
                                           Command::split,
                                           Command::heads_panel,
                                           Command::inspector,
                                           Command::zoom_in,
                                           Command::zoom_out,
                                           Command::zoom_fit,
                                           Command::transfer,
                                           Command::hide_sinks,
                                           Command::hide_special,
                                           Command::predictions,
                                           Command::words,
                                           Command::ramp_magma,
                                           Command::ramp_ink,
                                           Command::appearance_dark,
                                           Command::appearance_light,
                                           Command::layer_up,
                                           Command::layer_down,
                                           Command::head_left,
                                           Command::head_right,
                                           Command::query_before,
                                           Command::query_after,
                                           Command::all_heads,
                                           Command::clear_pins,
                                           Command::interesting,
                                           Command::what,
                                           Command::keys,
                                           Command::about,
                                           Command::sweep,
                                           Command::map};
        const Command chosen = any_of(commands);
        QAction& action = window_.action(chosen);
        // A text that it asks about before it runs it would take more than a test may.
        if (chosen == Command::run && window_.document().prompt().text.size() > 20'000) return;
        begin(action.text());
        action.trigger();
    }

    void resize() {
        const int width = below(4) == 0 ? 50 + below(80) : 300 + below(1300),
                  height = below(4) == 0 ? 50 + below(80) : 200 + below(900);
        begin(QStringLiteral("%1 x %2").arg(width).arg(height));
        window_.resize(width, height);
    }

    void edit() {
        static const char* const words[] = {"zero L1H2",     "mean L0H*",           "scale L2H3 by 2",
                                            "off zero L3H1", "zero L1 mlp",         "block L2H1 3 -> 1",
                                            "nonsense",      "freeze L4H0 pattern", "zero L5H*"};
        const QString line = QString::fromLatin1(any_of(words));
        begin(line);
        if (below(4) == 0 && !window_.document().edits().lines.empty()) return window_.document().remove_edit(0);
        window_.document().add_edit(line);
    }

    void compare() {
        const QString other = below(3) ? some_text() : window_.document().prompt().text + QStringLiteral(" and the cat");
        begin(other.left(40));
        window_.document().edit_options([&](ViewOptions& o) {
            o.other.on = below(4) != 0;
            o.other.prompt.text = other;
        });
    }

    void wait() {
        begin({});
        std::ignore = QTest::qWaitFor([&] { return window_.jobs().idle(); }, 3000);
    }

    void palette() {
        window_.action(Command::palette).trigger();
        QTest::qWait(20);
        if (QWidget* focus = QApplication::focusWidget()) QTest::keyClicks(focus, QStringLiteral("the").left(1 + below(3)));
    }

    void undo() { window_.action(below(3) ? Command::undo : Command::redo).trigger(); }

    MainWindow& window_;
    TurnWatch& watch_;
    std::mt19937 random_;
    std::string name_;
    QTimer closer_;
};

std::vector<unsigned> seeds() {
    std::vector<unsigned> all;
    for (const QString& word : qEnvironmentVariable("HEADLIGHT_MONKEY_SEEDS", QStringLiteral("1,2")).split(QLatin1Char(',')))
        all.push_back(word.toUInt());
    return all;
}

/// What the process holds: resident memory of files and of none, the heap's used and free bytes, and the program's own account.
std::string memory_text() {
    const auto mib = [](std::int64_t bytes) { return std::to_string(bytes >> 20); };
    std::int64_t heap = 0, mapped = 0, files = 0;
    std::ifstream smaps("/proc/self/smaps");
    bool of_file = false, of_heap = false;
    for (std::string line; std::getline(smaps, line);) {
        if (line.find('-') < line.find(' ') && line.find(':') > line.find(' ')) {
            of_file = line.find('/') != std::string::npos;
            of_heap = line.ends_with("[heap]");
        } else if (line.starts_with("Rss:")) {
            (of_file ? files : of_heap ? heap : mapped) += std::stoll(line.substr(4)) << 10;
        }
    }
    const struct mallinfo2 of = ::mallinfo2();
    std::string text = mib(own_memory()) + " MiB: files " + mib(files) + ", heap " + mib(heap) + ", mapped " + mib(mapped) +
                       "; malloc used " + mib(static_cast<std::int64_t>(of.uordblks)) + ", free " +
                       mib(static_cast<std::int64_t>(of.fordblks)) + ", mapped " + mib(static_cast<std::int64_t>(of.hblkhd)) +
                       "; account";
    for (const auto& row : memory_uses) text += " " + std::string(row.word) + " " + mib(memory_in_use(row.value));
    return text;
}

class MonkeyTest : public WindowTest, public testing::WithParamInterface<unsigned> {};

TEST_P(MonkeyTest, TheWindowStaysUsable) {
    const bool is_long = qEnvironmentVariableIsSet("HEADLIGHT_MONKEY_EVENTS");
    const int events = is_long ? qEnvironmentVariableIntValue("HEADLIGHT_MONKEY_EVENTS") : 80;
    const test::Budget budget(std::int64_t{1} << 30);
    complaints.clear();
    handler_before = qInstallMessageHandler(take_message);
    {
        TurnWatch watch(2);
        {
            Monkey monkey(window, GetParam(), watch);
            for (int i = 0; i < events; ++i) {
                monkey.act();
                if (is_long && i % 100 == 99)
                    std::fprintf(stderr, "seed %u, %d events: longest turn %.2f s in %s; %s\n", GetParam(), i + 1,
                                 watch.longest(), watch.longest_step().c_str(), memory_text().c_str());
            }
        }
        if (watch.too_long() > 0 || is_long)
            std::fprintf(stderr, "seed %u: %d turns of more than 2 s, the longest %.2f s in %s\n", GetParam(), watch.too_long(),
                         watch.longest(), watch.longest_step().c_str());
    }
    window.document().stop();
    window.resize(1440, 900);
    window.document().edit_options([](ViewOptions& o) { o = ViewOptions(); });
    window.document().edit_prompt([](PromptText& p) { p = PromptText(), p.text = QString::fromUtf8(example_sentence); });
    window.document().run_now();
    EXPECT_TRUE(wait_for([&] { return window.jobs().idle() && window.document().up_to_date(); }));
    EXPECT_TRUE(show_view("model"));
    EXPECT_GT(ink(canvas()), 1000);
    if (is_long) std::fprintf(stderr, "seed %u, with a short text again: %s\n", GetParam(), memory_text().c_str());
    qInstallMessageHandler(handler_before);
    EXPECT_TRUE(complaints.isEmpty()) << complaints.size() << ": " << complaints.front().toStdString();
}

INSTANTIATE_TEST_SUITE_P(Seeds, MonkeyTest, testing::ValuesIn(seeds()));

}  // namespace monkey_test
}  // namespace headlight::ui
