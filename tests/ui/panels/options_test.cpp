// SPDX-License-Identifier: GPL-3.0-or-later
// The options of a view: fields, tokens, and where views of a prediction start.
#include "tests/ui/window_fixture.h"
#include "ui/style/real_field.h"
#include "ui/style/token_field.h"

#include "headlight/analyze/prediction/predictions.h"
#include "headlight/figure/core/c_locale.h"

namespace headlight::ui {
namespace options_test {

class OptionsTest : public WindowTest {
protected:
    void SetUp() override {
        WindowTest::SetUp();
        window.activateWindow();  // else that comes later, and closes the popover
        ASSERT_TRUE(QTest::qWaitForWindowActive(&window, longest_wait_ms));
        ASSERT_TRUE(show_view("attribution"));
    }
    /// With its candidates. As a window of its own: that the application has become active comes late here, and closes a popup.
    SubjectPopover& open(Subject subject = Subject::answer) {
        SubjectChips& chips = window.tool_row().subject();
        chips.popover().setWindowFlags(Qt::Tool);
        chips.open(subject);
        EXPECT_TRUE(settle());
        EXPECT_TRUE(chips.popover().isVisible());
        return chips.popover();
    }
    std::string value(const std::string& option) {
        const auto& values = window.document().options().values;
        const auto of = values.find("attribution");
        if (of == values.end()) return {};
        const auto found = of->second.find(option);
        return found == of->second.end() ? std::string() : found->second;
    }
};

TEST_F(OptionsTest, WhatIsTypedIntoAChipIsTaken) {
    SubjectPopover& answer = open();
    EXPECT_FALSE(answer.field().placeholderText().isEmpty());
    QTest::keyClicks(&answer.field(), QStringLiteral(" doctor"));
    QTest::keyClick(&answer.field(), Qt::Key_Return);
    EXPECT_FALSE(answer.isVisible());
    EXPECT_EQ(value("token"), " doctor");
    SubjectPopover& contrast = open(Subject::contrast);
    QTest::keyClicks(&contrast.field(), QStringLiteral(" nurse"));
    QTest::keyClick(&contrast.field(), Qt::Key_Return);
    EXPECT_EQ(value("minus"), " nurse");
    ASSERT_TRUE(settle());
    EXPECT_FALSE(window.error_panel().isVisible());
    EXPECT_TRUE(canvas().shown());
}

TEST_F(OptionsTest, AFieldOffersTheLikeliestTokensAndSaysWhatIsMeant) {
    SubjectPopover& options = open();
    const trace::Trace& trace = *window.document().trace();
    const auto best = analyze::next_tokens(trace, Position(trace.tokens() - 1), 20);
    const auto& offered = options.candidates().likeliest();
    ASSERT_EQ(offered.size(), 20u);
    for (std::size_t i = 0; i < best.size(); ++i) EXPECT_EQ(offered[i].id, best[i].id) << i;
    EXPECT_TRUE(offered[0].chance.endsWith(QStringLiteral("%")));
    for (const auto& entry : offered)
        EXPECT_EQ(options.candidates().read(entry.typed).taken.at(0).id, entry.id) << entry.typed.toStdString();

    auto* field = options.findChildren<TokenField*>().at(0);
    const auto id = [&](const char* token) { return QString::number(*trace.tokenizer()->id_of(token)); };
    field->line().setText(QStringLiteral("doctor"));  // "doctor" alone may be several tokens
    EXPECT_TRUE(field->note().text().contains(id("Ġdoctor"))) << field->note().text().toStdString();
    field->line().setText(QStringLiteral(" a"));
    EXPECT_TRUE(field->note().text().contains(id("Ġa")) && field->note().text().contains(id("a")))
        << field->note().text().toStdString();
    EXPECT_TRUE(field->note().text().contains(QStringLiteral("without a space")));
    field->line().setText(QStringLiteral("doctor nurse"));
    EXPECT_TRUE(field->note().text().contains(QStringLiteral("more than one token"))) << field->note().text().toStdString();
    EXPECT_TRUE(field->note().text().contains(QStringLiteral("<a href")));
    QTest::keyClick(&field->line(), Qt::Key_Return);
    EXPECT_EQ(value("token"), "") << "what names no token is not taken";
    options.close();
}

TEST_F(OptionsTest, TheTargetOfImportanceIsATokenOrTheOneInTheText) {
    ASSERT_TRUE(show_view("importance"));
    SubjectPopover& options = open();
    const trace::Trace& trace = *window.document().trace();
    QLineEdit* line = &options.field();
    auto* field = qobject_cast<TokenField*>(line->parentWidget());
    ASSERT_TRUE(field);
    const auto stored = [&] {
        const auto& values = window.document().options().values;
        return values.contains("importance") ? values.at("importance").at("target") : std::string();
    };
    line->setText(QStringLiteral("next"));
    EXPECT_TRUE(field->note().text().contains(QStringLiteral("No token comes after"))) << field->note().text().toStdString();
    QTest::keyClick(line, Qt::Key_Return);
    EXPECT_EQ(stored(), "") << "of the last position";
    options.close();

    window.document().selection().pin_query(Position(4), false);
    ASSERT_TRUE(settle());
    SubjectPopover& again = open();
    line = &again.field();
    field = qobject_cast<TokenField*>(line->parentWidget());
    line->setText(QStringLiteral("nurse about"));
    EXPECT_TRUE(field->note().text().contains(QStringLiteral("more than one token"))) << field->note().text().toStdString();
    QTest::keyClick(line, Qt::Key_Return);
    EXPECT_EQ(stored(), "") << "what names no token is not taken";
    line->setText(QStringLiteral("next"));
    EXPECT_TRUE(field->note().text().contains(QString::number(trace.encoding().ids[5]))) << field->note().text().toStdString();
    EXPECT_EQ(again.list().item(1)->text(), QStringLiteral("next in the text"));
    QTest::keyClick(line, Qt::Key_Return);
    EXPECT_EQ(stored(), "next");
    again.close();
    ASSERT_TRUE(settle());
    EXPECT_FALSE(window.error_panel().isVisible());
    EXPECT_TRUE(canvas().shown());
    ASSERT_TRUE(retype(QStringLiteral("A wholly different sentence of other words")));
    EXPECT_EQ(stored(), "next") << "each text has its own";
    window.document().edit_options([](ViewOptions& o) { o.values["importance"]["target"] = " nurse"; });
    ASSERT_TRUE(retype(QStringLiteral("Cold rain fell upon grey hills")));
    EXPECT_EQ(stored(), "") << "a token was chosen for its text";
}

TEST_F(OptionsTest, AClosedPopoverKeepsNoOldRun) {
    open().close();
    const std::weak_ptr<const trace::Trace> before = window.document().trace();
    ASSERT_TRUE(retype(QStringLiteral("Another text")));
    window.history().clear();
    EXPECT_TRUE(wait_for([&] { return before.expired(); }));
}

TEST_F(OptionsTest, ViewsOfAPredictionStartAtTheLastTokenUntilOneIsPinned) {
    const std::int64_t last = window.document().trace()->tokens() - 1;
    ASSERT_FALSE(selected().pinned_queries.empty());
    ASSERT_NE(selected().pinned_queries.back().value, last);
    ASSERT_TRUE(selected().found_pins);
    EXPECT_FALSE(window.left_pane().shown()->state.query) << "of the last token";
    EXPECT_FALSE(window.command_for_shown().contains(QStringLiteral("--query")));
    window.document().selection().pin_query(Position(4), false);
    ASSERT_TRUE(settle());
    EXPECT_EQ(window.left_pane().shown()->state.query, Position(4));
    window.history().stack().undo();
    ASSERT_TRUE(settle());
    EXPECT_FALSE(window.left_pane().shown()->state.query) << "undo brings back the pins that were found";
    ASSERT_TRUE(show_view("neuron"));
    EXPECT_TRUE(window.left_pane().shown()->state.query) << "views of attention show the pair that was found";
}

/// On a desktop whose language writes decimals with a comma.
TEST(RealField, PointAndCommaAreDecimalPointsOnAGermanDesktop) {
    QLocale::setDefault(QLocale(QLocale::German));
    figure::use_c_locale();
    for (const double largest : {1.0, 1e6}) {
        RealField field;
        field.setRange(0, largest);
        field.setDecimals(6);
        field.setValue(0.25);
        EXPECT_EQ(field.text(), QStringLiteral("0.25")) << "without zeros that say nothing";
        field.setValue(largest);
        EXPECT_EQ(field.text(), largest == 1 ? QStringLiteral("1") : QStringLiteral("1000000"));
        for (const char* typed : {"0.5", "0,5"}) {
            field.setValue(0.25);
            field.selectAll();
            QTest::keyClicks(&field, QString::fromLatin1(typed));
            QTest::keyClick(&field, Qt::Key_Return);
            EXPECT_EQ(field.value(), 0.5) << typed << " of at most " << largest;
        }
    }
    QSpinBox count;
    count.setRange(0, 1'000'000);
    count.setValue(12'345);
    EXPECT_EQ(count.text(), QStringLiteral("12345"));
}

}  // namespace options_test
}  // namespace headlight::ui
