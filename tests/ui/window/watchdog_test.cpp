// SPDX-License-Identifier: GPL-3.0-or-later
// The window's thread neither computes for long nor waits for those that do.
#include "tests/ui/watchdog.h"
#include "tests/ui/window_fixture.h"
#include "ui/dialogs/model_chooser.h"

#include <QDir>
#include <QSettings>

#include <algorithm>
#include <limits>

namespace headlight::ui {
namespace watchdog_test {

QString long_text() {
    QString text;
    for (int i = 0; i < 64; ++i) text += QString::fromUtf8(example_sentence) + QStringLiteral(" ");
    return text;
}

/// Cancelled work ends with its layer, which takes longer on a busy machine.
constexpr double longest_closing_ms = 2 * longest_ms;

/// A window with 1,000 tokens on the built-in model.
class CalmWindow : public testing::Test {
protected:
    void SetUp() override {
        make();
        ASSERT_TRUE(window->document().trace());
        ASSERT_GE(window->document().trace()->tokens(), 1000);
    }
    void make() {
        window = std::make_unique<MainWindow>();
        window->resize(1440, 900);
        window->document().edit_prompt([](PromptText& p) { p.text = long_text(); });
        window->show();
        window->open(QStringLiteral("novella-7m"));
        ASSERT_TRUE(settle());
    }
    bool settle() {
        return wait_for([&] { return window->jobs().idle() && window->document().up_to_date(); });
    }
    /// Lets `work` begin and closes the window while it runs. On a busy machine the threads that are to stop may wait for a core:
    /// a wait of the window's own, which takes as long as the work, is there every time.
    void close_during(const std::string& what, const std::function<void()>& work) {
        double shortest = std::numeric_limits<double>::infinity();
        for (int attempt = 0; attempt < 4 && shortest >= longest_closing_ms; ++attempt) {
            if (!window) make();
            work();
            QTest::qWait(60);
            watchdog.begin("closing during " + what);
            window.reset();
            shortest = std::min(shortest, watchdog.longest());
        }
        EXPECT_LT(shortest, longest_closing_ms) << "closing during " << what;
    }

    std::unique_ptr<MainWindow> window;
    Watchdog watchdog;
};

TEST_F(CalmWindow, EveryViewOpensWithoutHoldingTheWindow) {
    int shown = 0;
    for (const figure::ViewSpec& spec : figure::view_specs()) {
        watchdog.begin("opening the view " + spec.id);
        window->show_view(spec.id);
        EXPECT_TRUE(settle()) << spec.id;
        watchdog.expect_calm();
        shown += window->left_pane().shown().has_value();
        watchdog.begin("selecting in the view " + spec.id);
        window->document().selection().focus_head({Layer(2), Head(shown % 8)});
        EXPECT_TRUE(settle()) << spec.id;
        watchdog.expect_calm();
    }
    EXPECT_GT(shown, 15);
    watchdog.begin("an interesting head");
    window->action(Command::interesting).trigger();
    window->show_view("head");
    ASSERT_TRUE(settle());
    watchdog.expect_calm();
    watchdog.begin("a model");
    window->open(QStringLiteral("novella-7m"));
    ASSERT_TRUE(settle());
    watchdog.expect_calm();
}

TEST_F(CalmWindow, ARunOfALongTextDoesNotWaitForTheModelViewBeforeIt) {
    window->show_view("model");
    ASSERT_TRUE(settle());
    FigureCanvas& canvas = window->left_pane().canvas();
    for (int i = 0; i < 4; ++i) {
        canvas.zoom_by(3, QRectF(canvas.viewport()->rect()).center());
        QTest::qWait(30);  // paints, and asks for full patterns
        const std::weak_ptr<const trace::Trace> before = window->document().trace();
        watchdog.begin("running again");
        window->document().edit_prompt([](PromptText& p) { p.text += QStringLiteral(" more"); });
        window->document().run_now();
        ASSERT_TRUE(settle());
        watchdog.expect_calm();
        window->history().clear();
        EXPECT_TRUE(wait_for([&] { return before.expired(); })) << "the old run is dropped";
    }
}

TEST_F(CalmWindow, AModelChooserOfHundredsOfFolders) {
    QTemporaryDir folder;
    for (int i = 0; i < 500; ++i) {
        const QString name = QStringLiteral("%1/model-%2").arg(folder.path()).arg(i);
        ASSERT_TRUE(QDir().mkdir(name));
        ASSERT_TRUE(QFile::copy(QStringLiteral(HEADLIGHT_SOURCE_DIR "/tests/fixtures/models/gpt2/config.json"),
                                name + QStringLiteral("/config.json")));
    }
    QSettings().setValue(QStringLiteral("models/folders"), QStringList(folder.path()));
    watchdog.begin("the list of models");
    ModelChooser chooser(window->jobs(), {});
    chooser.show();
    const auto known = [&] {
        int count = 0;
        for (int row = 0; row < chooser.table().rowCount(); ++row) count += chooser.table().item(row, 5)->text() != u"…";
        return count;
    };
    EXPECT_TRUE(wait_for([&] { return window->jobs().idle() && known() > 500; })) << known();
    watchdog.expect_calm();
    QSettings().remove(QStringLiteral("models/folders"));
}

// Not of an export: a figure is painted to its end once it has begun.
TEST_F(CalmWindow, ClosingWaitsForNothing) {
    QTemporaryDir folder;
    const QString texts = folder.filePath(QStringLiteral("texts.txt"));
    ASSERT_TRUE(write_file(texts, (long_text().toUtf8() + '\n').repeated(40)));
    close_during("opening", [&] { window->open(QStringLiteral("novella-7m")); });
    make();
    close_during("a run", [&] {
        window->document().edit_prompt([&](PromptText& p) { p.text += QStringLiteral(" more"); });
        window->document().run_now();
    });
    make();
    close_during("the texts", [&] { window->document().edit_options([&](ViewOptions& o) { o.batch_file = texts; }); });
    make();
    close_during("generating", [&] { window->action(Command::generate).trigger(); });
    make();
    close_during("predicting", [&] { window->action(Command::predictions).trigger(); });
    make();
    close_during("the list of models", [&] { window->action(Command::open_model).trigger(); });
    for (const figure::ViewSpec& spec : figure::view_specs()) {
        if (!window) make();
        if (!spec.missing || !spec.missing(*window->document().trace()).empty()) continue;
        window->show_view(spec.id);
        std::ignore = QTest::qWaitFor([&] { return window->jobs().idle(); }, 60);
        if (window->jobs().idle()) continue;  // made already
        close_during("the view " + spec.id, [&] { window->show_view(spec.id); });
    }
}

}  // namespace watchdog_test
}  // namespace headlight::ui
