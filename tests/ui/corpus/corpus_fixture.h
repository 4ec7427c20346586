// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "tests/ui/window_fixture.h"
#include "ui/corpus/corpus_form.h"
#include "ui/corpus/corpus_window.h"

#include <QSignalSpy>

#include <map>
#include <optional>
#include <string>

namespace headlight::ui {

/// The options of a mark, all of which are numbers.
inline std::map<std::string, std::int64_t> places_of(const figure::Hit& hit) {
    std::map<std::string, std::int64_t> places;
    for (const auto& [name, number] : hit.options) places[name] = std::stoll(number);
    return places;
}

/// The page of a corpus beside the window.
class CorpusTest : public WindowTest {
protected:
    void SetUp() override {
        ASSERT_NO_FATAL_FAILURE(WindowTest::SetUp());
        window.action(Command::corpus).trigger();
        ASSERT_TRUE(window.corpus());
        ASSERT_TRUE(QTest::qWaitForWindowExposed(window.corpus(), longest_wait_ms));
    }
    CorpusWindow& page() { return *window.corpus(); }
    /// Until the figure that the page asks for is there.
    bool shown() {
        return wait_for([&] {
            return page().stored() && window.jobs().idle() && !document().probe().pending() && page().canvas().shown() &&
                   !page().canvas().outdated();
        });
    }
    bool choose(const char* view) {
        page().choose_view(QString::fromUtf8(view));
        return shown();
    }
    void click_page(QPoint at) { QTest::mouseClick(page().canvas().viewport(), Qt::LeftButton, {}, at); }
    /// Clicks an example and waits until the window shows it; none: it does not.
    std::optional<TextExample> open_example(QPoint at) {
        QSignalSpy chosen(&page(), &CorpusWindow::example_chosen);
        click_page(at);
        if (!wait_for([&] { return chosen.count() == 1; }) || !settle()) return std::nullopt;
        return chosen[0][0].value<TextExample>();
    }

    QTemporaryDir folder;
};

}  // namespace headlight::ui
