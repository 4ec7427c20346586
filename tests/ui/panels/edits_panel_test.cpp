// SPDX-License-Identifier: GPL-3.0-or-later
// The list of edits, what can be edited of a mark, and a weight that is dragged.
#include "tests/ui/window_fixture.h"

#include "headlight/intervention/compare/comparison.h"
#include "headlight/intervention/recipe/effects.h"
#include "headlight/intervention/recipe/run.h"
#include "headlight/io/json_file.h"
#include "headlight/trace/edits.h"

#include <fstream>

namespace headlight::ui {
namespace edits_panel_test {

using figure::Side;

class EditsPanelTest : public WindowTest {
protected:
    void SetUp() override {
        WindowTest::SetUp();
        window.action(Command::edits).trigger();
    }
    EditsPanel& panel() { return window.edits_panel(); }
    void type_edit(const QString& words) {
        panel().adding().setFocus();
        QTest::keyClicks(&panel().adding(), words);
        QTest::keyClick(&panel().adding(), Qt::Key_Return);
    }
    bool with_effects() {
        return wait_for([&] { return window.jobs().idle() && (panel().effects().found() || panel().effects().problem()); });
    }
    QMenu* menu_of_token(std::int64_t position) {
        TokenStrip& strip = window.prompt_bar().tokens();
        return ask(*strip.viewport(), strip.chip_rect(Position(position)).center());
    }
    QMenu* menu_of_selected() {
        window.action(Command::edit_selected).trigger();
        return window.context_menus().open_menu();
    }
    static void choose(QMenu* menu, std::initializer_list<const char*> entries) {
        ASSERT_TRUE(menu);
        for (const char* begins : entries) {
            QAction* action = entry_within(menu, QString::fromUtf8(begins));
            ASSERT_TRUE(action) << begins;
            action->trigger();
        }
        menu->close();
    }
    QStringList words() {
        QStringList all;
        for (const EditLine& line : document().edits().lines) all << line.words;
        return all;
    }
};

TEST_F(EditsPanelTest, OpensReadyToType) {
    EXPECT_EQ(window.focusWidget(), &panel().adding());
    window.action(Command::edits).trigger();
    EXPECT_TRUE(panel().isHidden());
}

TEST_F(EditsPanelTest, LinesAreTypedChangedSwitchedAndRemoved) {
    EXPECT_TRUE(panel().empty().isVisible());
    type_edit(QStringLiteral("zero L5H7"));
    type_edit(QStringLiteral("scale L4H5 2"));
    ASSERT_EQ(panel().rows(), 2u);
    EXPECT_FALSE(panel().empty().isVisible());
    EXPECT_TRUE(panel().adding().text().isEmpty());
    EditField& field = panel().row(1).field();
    field.setFocus();
    field.selectAll();
    QTest::keyClicks(&field, QStringLiteral("scale L4H5 3"));
    QTest::keyClick(&field, Qt::Key_Return);
    EXPECT_EQ(words(), (QStringList{"zero L5H7", "scale L4H5 3"}));
    // Wrong words stay, with the place and the nearest right one below them.
    field.selectAll();
    QTest::keyClicks(&field, QStringLiteral("scael L4H5 3"));
    QTest::keyClick(&field, Qt::Key_Return);
    EXPECT_EQ(words().back(), QStringLiteral("scael L4H5 3"));
    EXPECT_TRUE(panel().row(1).message().isVisible());
    EXPECT_TRUE(panel().row(1).message().text().contains(QStringLiteral("column 1")));
    EXPECT_TRUE(panel().row(1).message().text().contains(QStringLiteral("\"scale\"")));
    panel().row(0).box().click();
    EXPECT_FALSE(document().edits().lines[0].on);
    QTest::keyClick(&panel().row(1).field(), Qt::Key_Up, Qt::AltModifier);
    EXPECT_EQ(words(), (QStringList{"scael L4H5 3", "zero L5H7"}));
    panel().row(0).remove_button().click();
    ASSERT_TRUE(wait_for([&] { return panel().rows() == 1; }));
    EXPECT_EQ(words(), QStringList{"zero L5H7"});
    window.action(Command::undo).trigger();
    EXPECT_EQ(panel().rows(), 2u);
    ASSERT_TRUE(settle());
}

TEST_F(EditsPanelTest, TheEffectsAreThoseOfTheAnalysis) {
    type_edit(QStringLiteral("zero L5H7"));
    type_edit(QStringLiteral("off zero L5H4"));
    type_edit(QStringLiteral("zero L4.mlp"));
    ASSERT_TRUE(with_effects());
    const auto& run = document().run_trace();
    intervention::Sources sources(run->model(), run->tokenizer(), {.text = run->text_a()});
    const auto expected = intervention::effects_of(sources, recipe_of(document().edits(), true), Position(run->tokens() - 1), {});
    const auto& found = panel().effects().found();
    ASSERT_TRUE(found);
    EXPECT_EQ(found->effects.token, expected.token);
    EXPECT_EQ(found->effects.edits[2].together->logit, expected.edits[2].together->logit);
    EXPECT_NE(expected.edits[2].together->logit, expected.edits[2].alone->logit);
    const double change = expected.edits[0].alone->log_probability - expected.unedited.log_probability;
    EXPECT_NEAR(panel().row(0).alone().text().replace(u'−', u'-').toDouble(), change, 6e-4);
    EXPECT_TRUE(panel().row(1).alone().text().isEmpty()) << "it is off";
    // Another answer, at another place.
    EditList edits = document().edits();
    edits.watched = QStringLiteral(" nurse");
    edits.watched_at = 4;
    document().set_edits(edits);
    ASSERT_TRUE(with_effects());
    ASSERT_TRUE(panel().effects().found());
    EXPECT_EQ(panel().effects().found()->effects.position, Position(4));
    EXPECT_TRUE(panel().watch_button().text().startsWith(QStringLiteral("·nurse after ")));
    type_edit(QStringLiteral("knockout L5H7 END<-3"));
    ASSERT_TRUE(with_effects());
    EXPECT_EQ(panel().row(3).alone().text(), QStringLiteral("0.000"));
    EXPECT_TRUE(panel().row(3).message().text().contains(QStringLiteral("does not change"))) << "it is at a later token";
    EXPECT_TRUE(panel().row(0).message().isHidden());
}

TEST_F(EditsPanelTest, MenusOfMarksWriteLines) {
    window.show_view("matrix");
    document().selection().focus_head({Layer(4), Head(5)});
    ASSERT_TRUE(settle());
    const auto at = cell(12, 3);
    ASSERT_TRUE(at);
    ASSERT_NO_FATAL_FAILURE(choose(ask(*canvas().viewport(), *at), {"Knock out ·old (12) → ·doctor (3) in L4H5",
                                                                    "Switch L4H5 off", "Uniform pattern", "Switch the MLP"}));
    ASSERT_NO_FATAL_FAILURE(choose(menu_of_token(2), {"Knock out attention to ·old (2) in layer 4"}));
    EXPECT_EQ(words(), (QStringList{"knockout L4H5 12<-3", "zero L4H5", "uniform L4H5", "zero L4.mlp_out", "knockout L4 *<-2"}));
    ASSERT_TRUE(settle());
    ASSERT_TRUE(document().beside());
    EXPECT_EQ(trace::edits_of(*document().beside()->pair->b).size(), 5u);
    for (std::size_t i = 0; i < panel().rows(); ++i) EXPECT_FALSE(document().problem_of_edit(i)) << i;
    // One key: the same of what is selected.
    document().selection().pin_pair({Layer(3), Head(1)}, Position(9), Position(5));
    ASSERT_NO_FATAL_FAILURE(choose(menu_of_selected(), {"Set its weight"}));
    EXPECT_TRUE(words().back().startsWith(QStringLiteral("set L3H1 9<-5 "))) << words().back().toStdString();
    EXPECT_TRUE(panel().row(5).field().hasSelectedText()) << "the weight is to be chosen";
    ASSERT_TRUE(settle());
}

/// Patches and directions are written with a donor or a token that is selected, to be typed over; B has the engine's numbers.
TEST_F(EditsPanelTest, MenusPatchFromAnotherTextAndAddDirections) {
    const QString own = document().prompt().text;
    QString other = own;
    other.replace(4, 3, QStringLiteral("king"));  // "old", whose stream is patched
    document().selection().focus_head({Layer(3), Head(1)});
    ASSERT_NO_FATAL_FAILURE(choose(menu_of_token(2), {"Patch the stream behind layer 3 at ·old (2)"}));
    EXPECT_EQ(words().back(), QStringLiteral("patch L3.resid_post from \"%1\" @2").arg(own));
    ASSERT_TRUE(settle());
    EXPECT_EQ(panel().row(0).field().selectedText(), own) << "it stays while the effect comes";
    ASSERT_NO_FATAL_FAILURE(choose(menu_of_token(2), {"Add a token's direction at ·old (2)"}));
    EXPECT_EQ(words().back(), QStringLiteral("add L3.resid_post token \" old\" 0.5 norm @2"));
    EXPECT_EQ(panel().row(1).field().selectedText(), QStringLiteral(" old"));
    ASSERT_TRUE(settle());
    document().selection().pin_pair({Layer(3), Head(1)}, Position(8), Position(5));
    for (const char* begins :
         {"Patch L3H1", "Patch the pattern of L3H1", "Add what L3H1 writes most", "Add ·", "Patch the MLP of layer 3",
          "Patch the stream behind layer 3", "Project what L3H1 writes most out", "Set along ·"})
        choose(menu_of_selected(), {begins});
    const auto& lines = document().edits().lines;
    EXPECT_EQ(lines[4].words, QStringLiteral("add L3.resid_post ov L3H1.0 0.5 norm"));
    EXPECT_EQ(lines[5].words, QStringLiteral("add L3.resid_post difference @8 @5 0.5 norm"));
    EXPECT_EQ(lines[8].words, QStringLiteral("project L3.resid_post ov L3H1.0"));
    EXPECT_EQ(lines[9].words, QStringLiteral("direct L3.resid_post difference @8 @5 4"));
    const auto offered = [&](const char* typed) {
        QStringList all;
        for (const auto& each : offers_for_edit(QString::fromUtf8(typed), document()).words) all << each.first;
        return all.join(u'|');
    };
    EXPECT_EQ(offered("project L3.resid_post "), QStringLiteral("token \"|neuron L3N0|ov L3H1.0|difference @8 @5"));
    EXPECT_EQ(offered("add L3.resid_post o"), QStringLiteral("ov L3H1.0"));
    ASSERT_TRUE(settle());
    for (std::size_t i = 0; i < lines.size(); ++i) EXPECT_FALSE(document().problem_of_edit(i)) << lines[i].words.toStdString();

    // The text is typed over.
    document().set_edits({});
    ASSERT_NO_FATAL_FAILURE(choose(menu_of_token(2), {"Patch the stream behind layer 3 at ·old (2)"}));
    QTest::keyClicks(&panel().row(0).field(), other);
    QTest::keyClick(&panel().row(0).field(), Qt::Key_Return);
    ASSERT_TRUE(settle());
    EXPECT_EQ(words().back(), QStringLiteral("patch L3.resid_post from \"%1\" @2").arg(other));
    const OpenModel& opened = document().model();
    trace::Prompt prompt;
    prompt.text = own.toStdString();
    intervention::Sources sources(opened.model, opened.tokenizer, prompt);
    const auto expected = intervention::run_recipe(sources, recipe_of(document().edits()), {});
    ASSERT_TRUE(document().beside());
    const trace::Trace& b = *document().beside()->pair->b;
    EXPECT_EQ(b.pooled(Layer(4), Head(0)).mean, expected->pooled(Layer(4), Head(0)).mean);
    EXPECT_NE(b.pooled(Layer(4), Head(0)).mean, document().trace()->pooled(Layer(4), Head(0)).mean);

    // Where the window compares two texts, the second one is the donor.
    document().set_edits({});
    ViewOptions options = document().options();
    options.other.on = true;
    options.other.prompt.text = other;
    document().set_options(options);
    ASSERT_TRUE(settle());
    ASSERT_NO_FATAL_FAILURE(choose(menu_of_token(2), {"Patch the stream behind layer 3 at ·old (2)"}));
    EXPECT_EQ(words().back(), QStringLiteral("patch L3.resid_post from \"%1\" @2").arg(other));
    ASSERT_TRUE(settle());
}

TEST_F(EditsPanelTest, AWeightFollowsThePointer) {
    window.show_view("matrix");
    document().selection().focus_head({Layer(4), Head(5)});
    ASSERT_TRUE(settle());
    const auto at = cell(12, 1);
    ASSERT_TRUE(at);
    const int steps = window.history().stack().count();
    QWidget* view = canvas().viewport();
    QTest::mousePress(view, Qt::LeftButton, Qt::ShiftModifier, *at);
    for (const int up : {20, 40, 80}) {
        QMouseEvent move(QEvent::MouseMove, QPointF(*at - QPoint(0, up)), view->mapToGlobal(QPointF(*at - QPoint(0, up))),
                         Qt::NoButton, Qt::LeftButton, Qt::ShiftModifier);
        QApplication::sendEvent(view, &move);
    }
    QTest::mouseRelease(view, Qt::LeftButton, Qt::ShiftModifier, *at - QPoint(0, 80));
    ASSERT_EQ(words().size(), 1);
    EXPECT_TRUE(words()[0].startsWith(QStringLiteral("set L4H5 12<-1 0.5"))) << words()[0].toStdString();
    EXPECT_EQ(window.history().stack().count(), steps + 1) << "one step, however far it was dragged";
    ASSERT_TRUE(settle());
    ASSERT_TRUE(document().beside());
    EXPECT_EQ(document().options().side, Side::b);
    const auto hit = canvas().hit_at(*at);
    ASSERT_TRUE(hit.value);
    EXPECT_NEAR(*hit.value, words()[0].section(u' ', -1).toDouble(), 1e-5) << "the cell has the weight that was dragged";
    EXPECT_EQ(selected().pinned_queries.size(), 1u) << "dragging is no click";
}

TEST_F(EditsPanelTest, EscapeEmptiesTheFieldAndThenLeavesIt) {
    panel().adding().setFocus();
    QTest::keyClicks(&panel().adding(), QStringLiteral("zero"));
    const figure::Selection before = selected();
    QTest::keyClick(&panel().adding(), Qt::Key_Escape);
    EXPECT_TRUE(panel().adding().text().isEmpty());
    EXPECT_EQ(window.focusWidget(), &panel().adding());
    QTest::keyClick(&panel().adding(), Qt::Key_Escape);
    EXPECT_EQ(window.focusWidget(), &canvas());
    EXPECT_EQ(selected(), before) << "the view keeps its pins and heads";
    type_edit(QStringLiteral("zero L5H7"));
    panel().row(0).field().setFocus();
    QTest::keyClick(&panel().row(0).field(), Qt::Key_Escape);
    EXPECT_EQ(window.focusWidget(), &canvas()) << "from a line too";
    ASSERT_TRUE(settle());
}

/// For agreement the log-probability of one form hides what the edit does to the choice between two.
TEST_F(EditsPanelTest, EffectsCanBeOnTheDifferenceOfTwoTokens) {
    type_edit(QStringLiteral("zero L5H7"));
    EditList edits = document().edits();
    edits.watched = QStringLiteral(" late");
    edits.against = QStringLiteral(" nurse");
    document().set_edits(edits);
    ASSERT_TRUE(with_effects());
    ASSERT_TRUE(panel().effects().found());
    EXPECT_TRUE(panel().watch_button().text().startsWith(QStringLiteral("·late − ·nurse")));
    const auto& run = document().run_trace();
    intervention::Sources sources(run->model(), run->tokenizer(), {.text = run->text_a()});
    const auto change = [&](const char* token) {
        const auto id = document().model().tokenizer->encode(token).ids.back();
        const auto found = intervention::effects_of(sources, recipe_of(document().edits()), Position(run->tokens() - 1), id);
        return found.edits[0].alone->logit - found.unedited.logit;
    };
    const double expected = change(" late") - change(" nurse");
    EXPECT_NEAR(panel().row(0).alone().text().replace(u'−', u'-').toDouble(), expected, 6e-3 * std::max(1.0, std::abs(expected)));
}

TEST_F(EditsPanelTest, RecipesAreSavedAndOpened) {
    QTemporaryDir folder;
    const QString file = folder.filePath(QStringLiteral("r.json"));
    type_edit(QStringLiteral("zero L5H7"));
    type_edit(QStringLiteral("off set L4H5 12<-3 0.25"));
    window.save_recipe(file);
    ASSERT_TRUE(settle());
    const EditList saved = document().edits();
    window.action(Command::edits_clear).trigger();
    EXPECT_EQ(panel().rows(), 0u);
    window.open_recipe(file);
    ASSERT_TRUE(settle());
    EXPECT_EQ(document().edits(), saved);
    // For another model: refused, with both names, and what was there stays.
    std::string text = io::read_text(file.toStdString());
    const auto sha = text.find("sha256\":\"") + 9;
    text.replace(sha, 4, text.substr(sha, 4) == "0000" ? "1111" : "0000");
    std::ofstream(file.toStdString()) << text;
    window.open_recipe(file);
    ASSERT_TRUE(wait_for([&] { return window.error_panel().isVisible(); }));
    EXPECT_TRUE(window.error_panel().message().contains(QStringLiteral("another model")));
    EXPECT_EQ(document().edits(), saved);
    // Words that cannot be read have no place in the file.
    type_edit(QStringLiteral("zreo L1"));
    const QString other = folder.filePath(QStringLiteral("other.json"));
    window.save_recipe(other);
    EXPECT_TRUE(window.error_panel().message().contains(QStringLiteral("zreo L1")));
    EXPECT_FALSE(QFile::exists(other));
    ASSERT_TRUE(settle());
}

TEST_F(EditsPanelTest, GeneratedTokensStandBesideThoseUnderTheEdits) {
    type_edit(QStringLiteral("zero L5.mlp"));
    type_edit(QStringLiteral("zero L99H0"));
    ASSERT_TRUE(settle());
    model::GenerateOptions settings;
    settings.tokens = 8;
    settings.temperature = 0;
    settings.ignore_end = true;
    const QString before = document().prompt().text;
    const OpenModel opened = document().model();
    ASSERT_FALSE(document().generate(settings));
    ASSERT_TRUE(settle());
    const auto& both = document().continued_under_edits();
    ASSERT_TRUE(both);
    EXPECT_TRUE(both->note.isEmpty()) << both->note.toStdString();
    EXPECT_EQ(document().prompt().text, before + both->common + both->plain + both->plain_rest);
    intervention::Sources sources(opened.model, opened.tokenizer, {.text = before.toStdString()});
    const intervention::Recipe recipe = recipe_of({.lines = {{QStringLiteral("zero L5.mlp")}}});
    const auto edited = intervention::generate_under(sources, recipe, opened.tokenizer->encode(before.toStdString()).ids,
                                                     {.tokens = 8, .temperature = 0});
    std::string expected;
    for (const std::int64_t id : edited.made.ids) expected += opened.tokenizer->bytes_of(id);
    EXPECT_EQ((both->common + both->edited + both->edited_rest).toStdString(), expected);
    ASSERT_FALSE(both->same());
    EXPECT_NE(both->plain, both->edited);
    EXPECT_TRUE(panel().continued().isVisible());
    EXPECT_TRUE(panel().continued().text().contains(both->edited.trimmed() + QStringLiteral("</b>")));
    document().enable_edit(0, false);
    EXPECT_FALSE(document().continued_under_edits()) << "it belongs to the edits it was made under";
    ASSERT_TRUE(settle());
}

TEST_F(EditsPanelTest, OtherKindsOfModelsRunUnderEditsOrSayWhyNot) {
    const QString fixtures = QStringLiteral(HEADLIGHT_SOURCE_DIR "/tests/fixtures/");
    set_texts(QStringLiteral("the cat, the hat: the cat"), QStringLiteral("die Katze, die"));
    ASSERT_TRUE(opened(fixtures + QStringLiteral("models/bert-mlm")));
    type_edit(QStringLiteral("zero L0H1"));
    type_edit(QStringLiteral("zero L0.router"));
    ASSERT_TRUE(settle());
    ASSERT_TRUE(document().beside());
    EXPECT_TRUE(document().problem_of_edit(1)) << "it has no experts";
    ASSERT_TRUE(with_effects());
    EXPECT_TRUE(panel().effects().found());
    document().set_edits({});

    ASSERT_TRUE(opened(fixtures + QStringLiteral("encoder_decoders/t5")));
    document().set_attention(model::Stack::cross);
    ASSERT_TRUE(settle());
    type_edit(QStringLiteral("zero cross.L0H1"));
    type_edit(QStringLiteral("zero encoder.L1H0"));
    type_edit(QStringLiteral("diagonal cross.L0H1"));
    ASSERT_TRUE(settle());
    EXPECT_TRUE(document().beside());
    EXPECT_FALSE(document().problem_of_edit(0));
    EXPECT_FALSE(document().problem_of_edit(1));
    EXPECT_TRUE(document().problem_of_edit(2)) << "the queries are not among the keys";
    document().selection().pin_pair({Layer(0), Head(1)}, Position(1), Position(2));
    window.action(Command::edit_selected).trigger();
    QMenu* menu = window.context_menus().open_menu();
    ASSERT_TRUE(menu);
    entry_within(menu, QStringLiteral("Knock out "))->trigger();
    entry_within(menu, QStringLiteral("Switch the MLP"))->trigger();
    menu->close();
    EXPECT_TRUE(words().contains(QStringLiteral("knockout cross.L0H1 1<-2")));
    EXPECT_TRUE(words().contains(QStringLiteral("zero L0.mlp_out")));
    ASSERT_TRUE(settle());
    EXPECT_FALSE(document().problem_of_edit(3));
    EXPECT_FALSE(document().problem_of_edit(4));
    document().set_edits({});

    window.open(fixtures + QStringLiteral("models/vit"));
    ASSERT_TRUE(opened(fixtures + QStringLiteral("pictures/shapes.png")));
    type_edit(QStringLiteral("zero L0H1"));
    ASSERT_TRUE(settle());
    EXPECT_TRUE(document().beside());
    ASSERT_TRUE(with_effects());
    EXPECT_FALSE(window.error_panel().isVisible());
}

/// The strip above the view says what the closed list would.
TEST_F(EditsPanelTest, TheStripHasAChipForEachEditAndWhatAllDo) {
    EditStrip& strip = window.edit_strip();
    EXPECT_FALSE(strip.isVisible());
    window.action(Command::edits).trigger();
    ASSERT_TRUE(panel().isHidden());
    document().add_edit(QStringLiteral("zero L5H7"));
    document().add_edit(QStringLiteral("zero L9H9"));
    ASSERT_TRUE(with_effects());
    ASSERT_TRUE(strip.isVisible());
    ASSERT_EQ(strip.chips(), 2u);
    EXPECT_EQ(strip.chip(0).text(), QStringLiteral("zero L5H7"));
    EXPECT_EQ(strip.list_button().text(), QStringLiteral("2 edits"));
    EXPECT_TRUE(strip.chip(1).toolTip().contains(QStringLiteral("9"))) << "why it is left out";
    EXPECT_TRUE(strip.chip(1).parentWidget()->property("wrong").toBool());
    ASSERT_TRUE(panel().effects().found());
    EXPECT_TRUE(strip.effect().text().startsWith(QStringLiteral("log p "))) << strip.effect().text().toStdString();
    EXPECT_FALSE(strip.effect().text().contains(QStringLiteral(" − ")));
    document().edit_options([](ViewOptions& o) { set_subject(o, Subject::contrast, " the"); });
    ASSERT_TRUE(with_effects());
    EXPECT_TRUE(strip.effect().text().contains(QStringLiteral(" − ·the"))) << strip.effect().text().toStdString();
    strip.remove_button(1).click();
    ASSERT_TRUE(settle());
    EXPECT_EQ(words(), QStringList{QStringLiteral("zero L5H7")});
    strip.chip(0).click();
    EXPECT_TRUE(panel().isVisible());
    EXPECT_EQ(window.focusWidget(), &panel().row(0).field());
    EXPECT_FALSE(strip.isVisible()) << "the list says the same";
    window.action(Command::edits).trigger();
    EXPECT_TRUE(strip.isVisible());
    strip.remove_button(0).click();
    ASSERT_TRUE(settle());
    EXPECT_FALSE(strip.isVisible());
}

}  // namespace edits_panel_test
}  // namespace headlight::ui
