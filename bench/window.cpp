// SPDX-License-Identifier: GPL-3.0-or-later
// The real window on a long text, off screen: frames of every view and panel, and how long its thread is away.
#include "bench/bench.h"
#include "headlight/base/error.h"
#include "headlight/base/job.h"
#include "headlight/base/memory.h"
#include "headlight/base/memory_account.h"
#include "headlight/figure/core/c_locale.h"
#include "tests/support/event_gaps.h"
#include "ui/style/appearance.h"
#include "ui/window/main_window.h"

#include <QApplication>
#include <QMouseEvent>
#include <QScrollBar>
#include <QTemporaryDir>

#include <algorithm>
#include <cmath>
#include <functional>

namespace headlight::bench {
namespace {

using ui::MainWindow;

constexpr int kFrames = 24;

/// Paragraphs of a hundred words.
QString in_paragraphs(const std::string& text) {
    constexpr int kParagraphWords = 100;
    QString out = QString::fromStdString(text);
    int words = 0;
    for (QChar& c : out)
        if (c == u' ' && ++words % kParagraphWords == 0) c = u'\n';
    return out;
}

class Window {
public:
    explicit Window(const Subject& s) : s_(s), tokens_(s.lengths({30'000}).front()) {
        window_.resize(1440, 900);
        ui::PromptText prompt;
        prompt.text = in_paragraphs(s.prompt(tokens_).text);
        window_.document().set_prompt(prompt);
        window_.show();
        window_.open(QString::fromStdString(s.folder.string()));
        settle();
        // A long text is not run unasked; where it was, running it again would only take as long once more.
        if (!window_.document().up_to_date()) window_.document().run_now();
        settle();
        if (!window_.document().trace()) throw Error("The text was not run");
        tokens_ = window_.document().trace()->tokens();
    }

    /// What has been measured when the benchmark is cancelled counts too: a long text takes minutes.
    Results run() {
        try {
            if (s_.views.empty()) panels();
            for (const figure::ViewSpec& spec : figure::view_specs())
                if (s_.views.empty() || std::ranges::find(s_.views, spec.id) != s_.views.end()) view(spec.id);
        } catch (const Cancelled&) {
            if (out_.empty()) throw;
        }
        return std::move(out_);
    }

private:
    void settle() {
        do {
            s_.cancel.throw_if_cancelled();
            // Without a deadline, with which it would not wait but take a core from the work; the gaps' timer wakes it.
            QCoreApplication::processEvents(QEventLoop::AllEvents | QEventLoop::WaitForMoreEvents);
        } while (!window_.jobs().idle() || (!window_.document().up_to_date() && !window_.document().model().model));
        QCoreApplication::processEvents();
    }
    void found(const std::string& what, double value, const char* unit = "ms") { out_.push_back({tokens_, what, value, unit}); }
    /// Each step with the paint of what it changes, as frames; then the longest gap until all that they started is done.
    void frames(const std::string& what, QWidget& painted, const std::function<void(int)>& step) {
        std::vector<double> ms;
        gaps_.begin();
        for (int i = 0; i < kFrames; ++i) {
            const double before = own_.ms();
            step(i);
            painted.repaint();
            ms.push_back(own_.ms() - before);
            QCoreApplication::processEvents();
        }
        settle();
        found(what + ", frame", median(ms));
        found(what + ", worst frame", *std::max_element(ms.begin(), ms.end()));
        found(what + ", longest gap", gaps_.longest());
    }
    /// What the program has, and what the budget knows of.
    void memory(const std::string& where) {
        std::int64_t known = 0;
        for (const auto& row : memory_uses) known += memory_in_use(row.value);
        found(where + ": memory", static_cast<double>(own_memory()) / 1e9, "GB");
        found(where + ": memory, accounted", static_cast<double>(known) / 1e9, "GB");
    }
    Position somewhere(int i) const { return Position((tokens_ - 1) * (i + 1) / kFrames); }

    void panels() {
        ui::TokenStrip& strip = window_.prompt_bar().tokens();
        frames("token strip: scroll", *strip.viewport(),
               [&](int i) { strip.horizontalScrollBar()->setValue(strip.horizontalScrollBar()->maximum() / kFrames * i); });
        frames("ruler: another pin", window_.prompt_bar().ruler(),
               [&](int i) { window_.document().selection().pin_query(somewhere(i), false); });
        window_.action(ui::Command::search_tokens).trigger();
        auto* palette = window_.findChild<ui::CommandPalette*>();
        const QString typed = window_.document().prompt().text.left(kFrames);
        frames("search: type", *palette, [&](int i) { palette->field().setText(typed.left(i + 1)); });
        palette->close();
        QLineEdit& finder = window_.heads_panel().finder();
        const QString expression = QStringLiteral("entropy < 1 and previous > 0.2");
        frames("finder: type", window_.heads_panel(), [&](int i) { finder.setText(expression.left(i + 1)); });
        finder.clear();
        settle();
        ui::PromptEdit& text = window_.prompt_bar().text();
        text.setFocus();
        QTextCursor middle(text.document());
        middle.setPosition(text.document()->characterCount() / 2);
        text.setTextCursor(middle);
        frames("prompt: type", text, [&](int) {
            text.insertPlainText(QStringLiteral("a"));
            window_.document().stop();  // what running the text again costs is measured elsewhere
        });
        window_.document().run_now();
        settle();
    }

    void view(const std::string& id) {
        gaps_.begin();
        const double drawn = milliseconds([&] {
            window_.show_view(id);
            settle();
        });
        ui::FigureCanvas& canvas = window_.left_pane().canvas();
        if (!window_.left_pane().shown() || !canvas.shown()) return;  // not for this model
        found(id + ": until drawn", drawn / 1e3, "s");
        found(id + ": opening, longest gap", gaps_.longest());
        QWidget& seen = *canvas.viewport();
        const QPointF middle = QRectF(seen.rect()).center();
        if (canvas.shown()->zoomable()) {
            const double each = std::pow(canvas.shown()->max_zoom(), 1.0 / kFrames);
            frames(id + ": zoom", seen, [&](int) { canvas.zoom_by(each, middle); });
            canvas.zoom_by(0.25, middle);
        }
        QScrollBar& bar = canvas.verticalScrollBar()->maximum() > 0 ? *canvas.verticalScrollBar() : *canvas.horizontalScrollBar();
        if (bar.maximum() > 0) {
            constexpr int kWheel = 60;
            const int from = bar.maximum() / 3;
            frames(id + ": scroll", seen, [&](int i) { bar.setValue(from + kWheel * i); });
            frames(id + ": drag the scroll bar", seen, [&](int i) { bar.setValue(bar.maximum() / kFrames * i); });
        }
        frames(id + ": hover", seen, [&](int i) {
            const double t = (i + 0.5) / kFrames;
            const QPointF at(seen.width() * t, seen.height() * t);
            QMouseEvent move(QEvent::MouseMove, at, seen.mapToGlobal(at), Qt::NoButton, Qt::NoButton, Qt::NoModifier);
            QCoreApplication::sendEvent(&seen, &move);
        });
        window_.document().selection().clear_hover();
        frames(id + ": select", seen,
               [&](int i) { window_.document().selection().pin_query(somewhere(kFrames - 1 - i), false); });
        frames(id + ": select keys", seen, [&](int i) { window_.document().selection().pin_key(somewhere(i / 2), false); });
        memory(id);
    }

    const Subject& s_;
    std::int64_t tokens_;
    MainWindow window_;
    test::EventGaps gaps_;
    test::OwnTime own_;
    Results out_;
};

}  // namespace

Results window(const Subject& s) {
    ::setenv("QT_QPA_PLATFORM", "offscreen", 1);
    const QTemporaryDir home;  // nobody's settings count
    for (const char* variable : {"XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"})
        ::setenv(variable, home.path().toUtf8(), 1);
    int argc = 1;
    char name[] = "headlight_bench", *argv[] = {name, nullptr};
    QApplication application(argc, argv);
    figure::use_c_locale();
    ui::Appearance::instance().start();
    return Window(s).run();
}

}  // namespace headlight::bench
