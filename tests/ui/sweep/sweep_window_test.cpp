// SPDX-License-Identifier: GPL-3.0-or-later
// The page of sweeps: asked from the window, stopped, continued, clicked.
#include "ui/sweep/sweep_window.h"
#include "headlight/base/memory_account.h"
#include "headlight/intervention/sweep/request_fields.h"
#include "tests/support/checksums.h"
#include "tests/ui/sweep/sweep_page.h"
#include "ui/dialogs/export_dialog.h"
#include "ui/document/session.h"
#include "ui/style/widgets.h"

#include <QApplication>
#include <QClipboard>
#include <QSettings>
#include <QSignalSpy>

namespace headlight::ui {
namespace sweep_window_test {

using intervention::CellState;
using intervention::Grid;

TEST_F(SweepPage, OpensWithTheTextOfTheWindowAndSaysWhatItWillCost) {
    EXPECT_EQ(form().clean().toPlainText(), window.document().prompt().text);
    ASSERT_TRUE(forecast());
    EXPECT_TRUE(page().forecast().text().startsWith(QStringLiteral("48 cells (48 computed), ")))
        << page().forecast().text().toStdString();
    EXPECT_FALSE(form().answer().placeholderText().isEmpty()) << "the likeliest token";
    ASSERT_TRUE(retype(QStringLiteral("The nurse asked the doctor because")));
    EXPECT_EQ(form().clean().toPlainText(), QStringLiteral("The nurse asked the doctor because"));
    form().clean().setPlainText(QStringLiteral("My own text"));
    ASSERT_TRUE(retype(QStringLiteral("Another text")));
    EXPECT_EQ(form().clean().toPlainText(), QStringLiteral("My own text")) << "typed here";
}

TEST_F(SweepPage, AClickSelectsTheHeadAndOffersItsEdit) {
    ASSERT_TRUE(sweep());
    ASSERT_TRUE(page().result()->complete);
    EXPECT_EQ(page().result()->cells.size(), 48u);
    EXPECT_GE(memory_in_use(MemoryUse::results), 48 * std::int64_t{sizeof(intervention::SweepCellResult)});
    press({.site = intervention::Site::z, .layer = 3, .head = 5});
    EXPECT_EQ(selected().focus, (HeadId{Layer(3), Head(5)}));
    ASSERT_TRUE(page().largest().edit_button().isEnabled());
    page().largest().edit_button().click();
    ASSERT_EQ(window.document().edits().lines.size(), 1u);
    EXPECT_EQ(window.document().edits().lines.front().words, QStringLiteral("zero L3H5"));
    EXPECT_TRUE(page().largest().story().text().contains(QStringLiteral("L3H5")));
    // The command names the answers that nobody has typed.
    EXPECT_TRUE(page().command().contains(QStringLiteral("--answer ")));
    EXPECT_TRUE(page().command().contains(QStringLiteral("--ablate zero")));
}

TEST_F(SweepPage, EveryEdgeOfWhatIsSelected) {
    window.document().selection().focus_head({Layer(2), Head(4)});
    window.action(Command::sweep_edges).trigger();
    const intervention::SweepRequest asked = form().request();
    EXPECT_EQ(asked.options.grid, Grid::pattern_by_edge);
    EXPECT_EQ(asked.options.layers, std::vector<std::int64_t>{2});
    EXPECT_EQ(asked.options.heads, std::vector<std::int64_t>{4});
    EXPECT_EQ(asked.options.ablation, intervention::Ablation::knockout) << "weights are knocked out, not zeroed";
    ASSERT_TRUE(sweep());
    const std::int64_t tokens = window.document().trace()->tokens();
    EXPECT_EQ(std::ssize(page().result()->cells), tokens * (tokens + 1) / 2);
    press({.site = intervention::Site::pattern, .layer = 2, .head = 4, .position = tokens - 1, .source = 1});
    EXPECT_EQ(selected().focus, (HeadId{Layer(2), Head(4)}));
    EXPECT_EQ(selected().pinned_queries, std::vector{Position(tokens - 1)});
    EXPECT_EQ(selected().pinned_keys, std::vector{Position(1)});
    page().largest().edit_button().click();
    EXPECT_EQ(window.document().edits().lines.back().words, QStringLiteral("knockout L2H4 %1<-1").arg(tokens - 1));
    ASSERT_TRUE(retype(QStringLiteral("Another text")));
    page().choose_cell(0);
    page().largest().edit_button().click();
    EXPECT_EQ(window.document().edits().lines.size(), 1u) << "it would edit other tokens";
    EXPECT_TRUE(QApplication::clipboard()->text().startsWith(QStringLiteral("knockout L2H4 ")));
}

TEST_F(SweepPage, StoppingKeepsTheCellsAndGoesOn) {
    window.action(Command::sweep_heads).trigger();
    choose_value(form().choice("site"), Grid::head_every_by_position);
    form().edit().setCurrentIndex(1);
    QString corrupt = form().clean().toPlainText();
    form().corrupt().setPlainText(corrupt.replace(QStringLiteral("The"), QStringLiteral("A")));
    page().start_button().click();
    ASSERT_TRUE(wait_for([&] { return page().result() && page().result()->computed > 0; })) << "painted while it runs";
    page().stop_button().click();
    ASSERT_TRUE(done());
    if (page().result()->complete) GTEST_SKIP() << "it was quicker than the click";
    ASSERT_TRUE(page().go_on_button().isVisible());
    const std::vector<double> before = page().result()->effects.front();
    page().go_on_button().click();
    ASSERT_TRUE(wait_for([&] { return window.jobs().idle() && page().result()->complete; }));
    EXPECT_FALSE(page().go_on_button().isVisible());
    const std::vector<double>& after = page().result()->effects.front();
    for (std::size_t i = 0; i < before.size(); ++i) ASSERT_TRUE(std::isnan(before[i]) || before[i] == after[i]) << i;
}

TEST_F(SweepPage, WhatCannotBeSweptSaysWhy) {
    form().edit().setCurrentIndex(0);
    ASSERT_TRUE(wait_for([&] { return page().forecast().text().contains(QStringLiteral("corrupt text")); }));
    EXPECT_FALSE(page().start_button().isEnabled());
    form().edit().setCurrentIndex(2);
    form().answer().setText(QStringLiteral("antidisestablishmentarianism"));
    ASSERT_TRUE(wait_for([&] { return page().forecast().text().contains(QStringLiteral("more than one token")); }));
    EXPECT_FALSE(page().start_button().isEnabled());
    form().answer().clear();
    form().line("layers").setText(QStringLiteral("7-x"));
    ASSERT_TRUE(wait_for([&] { return page().forecast().text().contains(QStringLiteral("7-x")); }));
    form().line("layers").setText(QStringLiteral("0-1"));
    ASSERT_TRUE(wait_for([&] { return page().forecast().text().startsWith(QStringLiteral("16 cells")); }));
    EXPECT_TRUE(page().start_button().isEnabled());
}

TEST_F(SweepPage, ExportsTheFigureAndItsNumbers) {
    ASSERT_TRUE(sweep());
    page().export_button().click();
    auto* dialog = page().findChild<ExportDialog*>();
    ASSERT_TRUE(dialog);
    QTemporaryDir folder;
    dialog->format().setCurrentIndex(dialog->format().findData(QStringLiteral("svg")));
    dialog->file().setText(folder.filePath(QStringLiteral("s.svg")));
    QSignalSpy written(dialog, &ExportDialog::written);
    dialog->write();
    ASSERT_TRUE(wait_for([&] { return written.count() == 1; }));
    QFile file(folder.filePath(QStringLiteral("s.svg")));
    ASSERT_TRUE(file.open(QIODevice::ReadOnly));
    const QByteArray svg = file.readAll();
    EXPECT_TRUE(svg.contains("zero ablation"));
    EXPECT_TRUE(svg.contains("headlight sweep novella-7m"));
}

/// Path patching: the numbers are those of the engine, and the command names the receivers.
TEST_F(SweepPage, TheWayThroughQueriesKeysAndValues) {
    form().edit().setCurrentIndex(1);
    QString corrupt = form().clean().toPlainText();
    form().corrupt().setPlainText(corrupt.replace(QStringLiteral("nurse"), QStringLiteral("king")));
    form().line("to").setText(QStringLiteral("L4H5.k  L5H0.q"));
    EXPECT_FALSE(form().choice("effect").isVisible()) << "the way to the logits is another one";
    ASSERT_TRUE(sweep());
    const intervention::SweepRequest asked = form().request();
    EXPECT_EQ(asked.options.to, (std::vector<std::string>{"L4H5.k", "L5H0.q"}));
    const OpenModel& opened = window.document().model();
    const auto expected = intervention::run_sweep(opened.model, page().sweep()->pairs(), asked.options);
    expect_shown(expected);
    EXPECT_EQ(expected.results.back().effect, 0) << "a head behind the receivers";
    EXPECT_TRUE(page().command().contains(QStringLiteral("--to L4H5.k --to L5H0.q"))) << page().command().toStdString();
    form().line("to").setText(QStringLiteral("L4H5.x"));
    ASSERT_TRUE(wait_for([&] { return page().forecast().text().contains(QStringLiteral("L4H5.x")); }));
    EXPECT_FALSE(page().start_button().isEnabled());
}

TEST_F(SweepPage, ASessionKeepsWhatIsAsked) {
    form().edit().setCurrentIndex(0);
    form().corrupt().setPlainText(QStringLiteral("Another text"));
    choose_value(form().choice("site"), Grid::q_by_position);
    form().line("layers").setText(QStringLiteral("0-2,4"));
    form().line("to").setText(QStringLiteral("L5H1.v"));
    form().answer().setText(QStringLiteral("·she"));
    form().count("window").setValue(3);
    const Session saved = window.session();
    ASSERT_TRUE(saved.sweep);
    EXPECT_TRUE(saved.sweep->clean.empty()) << "the window's text, which the page follows";
    EXPECT_EQ(session_from_json(to_json(saved), "a.headlight"), saved);
    EXPECT_TRUE(window.document().modified());
    const intervention::SweepRequest asked = form().request();

    MainWindow other;
    other.show();
    other.apply_session(saved, {});
    ASSERT_TRUE(wait_for([&] { return other.jobs().idle() && other.document().up_to_date(); }));
    EXPECT_EQ(other.session().sweep, saved.sweep) << "before the page is opened";
    other.action(Command::sweep).trigger();
    EXPECT_EQ(other.sweeps()->form().request(), asked);
    EXPECT_EQ(other.session().sweep, saved.sweep);
    Session plain = saved;
    plain.sweep.reset();
    other.apply_session(plain, {});
    EXPECT_TRUE(other.sweeps()->form().request().options.to.empty()) << "a session without a sweep has the page's beginning";

    std::string wrong = to_json(saved);
    const std::string site = "\"site\": \"q_by_position\"";
    ASSERT_NE(wrong.find(site), std::string::npos);
    wrong.replace(wrong.find(site), site.size(), "\"site\": \"qq\"");
    EXPECT_THROW(session_from_json(wrong, "a.headlight"), Error);
}

TEST_F(SweepPage, ASessionKeepsTheNumbers) {
    window.action(Command::sweep_heads).trigger();
    ASSERT_TRUE(sweep());
    ASSERT_TRUE(page().result()->complete);
    ASSERT_TRUE(wait_for([&] { return window.jobs().idle() && page().numbers(); }));
    const Session saved = window.session();
    ASSERT_TRUE(saved.sweep_numbers);
    const std::string text = to_json(saved);
    ASSERT_EQ(session_from_json(text, "a.headlight"), saved);

    MainWindow other;
    other.show();
    other.apply_session(session_from_json(text, "a.headlight"), {});
    ASSERT_TRUE(wait_for([&] { return other.jobs().idle() && other.document().up_to_date(); }));
    EXPECT_EQ(other.session().sweep_numbers, saved.sweep_numbers) << "before the page is opened";
    other.action(Command::sweep).trigger();
    SweepWindow& again = *other.sweeps();
    ASSERT_TRUE(wait_for([&] { return other.jobs().idle() && again.result() && again.canvas().shown(); }))
        << again.message().text().toStdString();
    EXPECT_EQ(again.result()->effects, page().result()->effects);
    EXPECT_EQ(again.result()->clean, page().result()->clean);
    EXPECT_TRUE(again.result()->complete);
    EXPECT_TRUE(again.message().text().startsWith(QStringLiteral("Kept in the session")));
    EXPECT_EQ(again.command(), page().command());
    EXPECT_EQ(other.session().sweep_numbers, saved.sweep_numbers);
    EXPECT_FALSE(other.document().modified());
    again.choose_cell(0);
    EXPECT_FALSE(again.largest().story().text().isEmpty());

    // Those of another version are refused, with the reason, and stay in the session.
    Session strange = saved;
    std::string lines = *saved.sweep_numbers->lines;
    const std::string version = "\"version\":\"";
    ASSERT_NE(lines.find(version), std::string::npos);
    lines.insert(lines.find(version) + version.size(), "9.");
    const std::size_t first = lines.find('\n');
    lines = test::with_new_checksum(lines.substr(0, first)) + lines.substr(first + 1);
    strange.sweep_numbers->lines = std::make_shared<const std::string>(lines);
    other.apply_session(strange, {});
    ASSERT_TRUE(wait_for([&] { return other.jobs().idle() && again.message().text().contains(QStringLiteral("version")); }))
        << again.message().text().toStdString();
    EXPECT_FALSE(again.result());
    EXPECT_FALSE(again.export_button().isEnabled());
    EXPECT_EQ(other.session().sweep_numbers, strange.sweep_numbers);
    Session plain = saved;
    plain.sweep_numbers.reset();
    other.apply_session(plain, {});
    EXPECT_FALSE(other.session().sweep_numbers);
    EXPECT_TRUE(again.message().text().isEmpty());
}

TEST_F(SweepPage, ASessionKeepsNoMoreNumbersThanTheLimit) {
    QString words = QStringLiteral("The nurse said that she");
    for (int i = 0; i < 40; ++i) words += QStringLiteral(" and");
    form().clean().setPlainText(words);
    form().edit().setCurrentIndex(form().edit().findText(QStringLiteral("Knock out"), Qt::MatchStartsWith));
    choose_value(form().choice("site"), Grid::pattern_by_edge);
    choose_value(form().choice("method"), intervention::Method::attribution);
    ASSERT_TRUE(sweep()) << page().message().text().toStdString();
    ASSERT_GT(page().result()->computed, 20'000);
    ASSERT_TRUE(wait_for([&] { return page().message().text().contains(QStringLiteral("does not keep so many numbers")); }))
        << page().message().text().toStdString();
    EXPECT_FALSE(page().numbers());
    EXPECT_FALSE(window.session().sweep_numbers);
    EXPECT_TRUE(page().export_button().isEnabled()) << "they are not lost";
}

TEST_F(SweepPage, ASessionKeepsTheCellsOfAStoppedSweep) {
    choose_value(form().choice("site"), Grid::head_every_by_position);
    page().start_button().click();
    ASSERT_TRUE(wait_for([&] { return page().result() && page().result()->computed > 0; }));
    page().stop_button().click();
    ASSERT_TRUE(done());
    if (page().result()->complete) GTEST_SKIP() << "it was quicker than the click";
    ASSERT_TRUE(wait_for([&] { return window.jobs().idle() && page().numbers(); }));
    const Session saved = window.session();
    const auto effects = page().result()->effects;
    window.apply_session(saved, {});
    ASSERT_TRUE(wait_for([&] { return window.jobs().idle() && page().result() && page().canvas().shown(); }));
    ASSERT_EQ(page().result()->effects.size(), effects.size());
    for (std::size_t i = 0; i < effects.front().size(); ++i)
        ASSERT_TRUE(std::isnan(effects[0][i]) ? std::isnan(page().result()->effects[0][i])
                                              : page().result()->effects[0][i] == effects[0][i])
            << i;
    ASSERT_TRUE(page().go_on_button().isVisible());
    page().go_on_button().click();
    ASSERT_TRUE(wait_for([&] { return window.jobs().idle() && page().result()->complete && page().numbers(); }));
    EXPECT_GT(page().numbers()->lines->size(), saved.sweep_numbers->lines->size());
}

/// Every field of a request is one of the page: it comes back from the fields, a session and undo.
TEST_F(SweepPage, EveryFieldTravels) {
    const std::string clean = "The nurse said that she", corrupt = "The king said that she";
    using namespace intervention;
    const std::vector<SweepRequest> all = {
        {.clean = clean,
         .position = "3",
         .answers = {" was"},
         .wrong = {" had", " is"},
         .places = {"who=The nurse", "rest=2-3"},
         .options = {.grid = Grid::resid_pre,
                     .direction = Direction::noise,
                     .method = Method::both,
                     .window = 2,
                     .layers = {0, 2},
                     .by_name = true,
                     .noise = "who",
                     .noise_scale = 2.3456,
                     .noise_draws = 4,
                     .bootstrap = {.draws = 300, .seed = 7}}},
        {.clean = clean,
         .over = "/tmp/some texts.txt",
         .answers = {" was"},
         .options = {.grid = Grid::z,
                     .metric = Metric::prob,
                     .ablation = Ablation::mean,
                     .effect = Effect::direct,
                     .heads = {1, 3},
                     .per_position = true}},
        {.pairs = "/tmp/pairs.jsonl",
         .over = "/tmp/some texts.txt",
         .options = {.ablation = Ablation::resample, .donors = 3, .bootstrap = {.draws = 500, .seed = 5}}},
        {.clean = clean, .options = {.grid = Grid::expert, .metric = Metric::kl, .ablation = Ablation::forbid}},
        {.clean = clean, .options = {.grid = Grid::expert, .metric = Metric::loss, .ablation = Ablation::force}},
        {.clean = clean,
         .corrupt = corrupt,
         .options = {.grid = Grid::z, .metric = Metric::rank, .method = Method::graddrop, .to = {"L5H1.v"}}}};
    std::map<std::string, int> changed;
    const auto defaults = fields_of(SweepRequest());
    for (SweepRequest asked : all) {
        asked.options.memory = SweepOptions().memory;
        const auto fields = fields_of(asked);
        for (std::size_t i = 0; i < fields.size(); ++i)
            changed[std::string(fields[i].field.name)] += fields[i].words != defaults[i].words;
        SCOPED_TRACE(testing::PrintToString(changed_fields(asked)));
        form().set_request(asked);
        EXPECT_EQ(changed_fields(form().request()), changed_fields(asked));
        EXPECT_EQ(form().request(), asked);
        const Session saved = window.session();
        EXPECT_EQ(session_from_json(to_json(saved), "a.headlight"), saved);
        const SweepRequest kept = *saved.sweep;
        page().undo_stack().undo();
        EXPECT_NE(page().request(), kept);
        page().undo_stack().redo();
        EXPECT_EQ(page().request(), kept);
        const std::string command = figure::sweep_command(*window.document().model().model, asked, "float32", {}, "svg");
        for (const auto& [name, value] : changed_fields(asked))
            EXPECT_NE(command.find(" --" + name), std::string::npos) << command;
    }
    for (const auto& [name, count] : changed) {
        if (name != "target" && name != "attention") {
            EXPECT_GT(count, 0) << name << " is in no request of this test";
        }
    }
}

/// What fields ask for alone is hidden elsewhere, and edits that a site does not have cannot be chosen.
TEST_F(SweepPage, FieldsThatDoNotApplyAreNotAskedFor) {
    form().more().click();
    form().edit().setCurrentIndex(0);
    form().line("noise").setText(QStringLiteral("who"));
    EXPECT_TRUE(form().count("noise-draws").isVisible());
    EXPECT_EQ(static_cast<QDoubleSpinBox*>(form().row("noise-scale"))->text(), QStringLiteral("3"));
    EXPECT_FALSE(form().corrupt().isVisible()) << "it is the clean text with noise";
    EXPECT_FALSE(form().choice("attention").isVisible()) << "a model with one attention";
    form().edit().setCurrentIndex(2);
    EXPECT_FALSE(form().line("noise").isVisible());
    EXPECT_TRUE(form().request().options.noise.empty());
    const auto enabled = [&](int row) { return form().edit().model()->flags(form().edit().model()->index(row, 0)); };
    EXPECT_FALSE(enabled(6) & Qt::ItemIsEnabled) << "forbidding, of heads";
    EXPECT_EQ(form().edit().itemData(6, Qt::ToolTipRole).toString(), QStringLiteral("Only experts can be forbidden and forced"));
    choose_value(form().choice("site"), Grid::expert);
    EXPECT_TRUE(enabled(6) & Qt::ItemIsEnabled);
}

/// Causal tracing and means over a file: the numbers are those of the engine.
TEST_F(SweepPage, NoiseAndMeansOverAFileAreTheEngines) {
    const OpenModel& opened = window.document().model();
    const auto compare = [&](intervention::SweepRequest asked) {
        asked.answers = page().sweep()->pairs().front().answer_words;
        std::vector<intervention::SweepPair> pairs = pairs_of(form().request(), *opened.model, *opened.tokenizer);
        for (intervention::SweepPair& pair : pairs) {
            pair.answers = page().sweep()->pairs().front().answers;
            pair.wrong = page().sweep()->pairs().front().wrong;
        }
        if (!asked.over.empty()) asked.options.over = texts_over(asked, *opened.model, *opened.tokenizer);
        expect_shown(run_sweep(opened.model, pairs, asked.options));
    };
    form().clean().setPlainText(QStringLiteral("The nurse said that she"));
    form().edit().setCurrentIndex(0);
    form().line("at").setText(QStringLiteral("who=The nurse"));
    form().line("noise").setText(QStringLiteral("who"));
    form().count("noise-draws").setValue(3);
    ASSERT_TRUE(sweep());
    EXPECT_EQ(page().result()->effects.size(), 3u);
    compare(form().request());
    EXPECT_TRUE(page().command().contains(QStringLiteral("--noise who --noise-draws 3"))) << page().command().toStdString();

    QTemporaryDir folder;
    const QString file = folder.filePath(QStringLiteral("texts.txt"));
    ASSERT_TRUE(write_file(file, "The king saw the nurse\nThey went home\n"));
    form().edit().setCurrentIndex(3);
    const auto old = page().result();
    form().over().setText(file);
    page().start_button().click();
    ASSERT_TRUE(wait_for([&] { return window.jobs().idle() && page().result() != old && page().result()->complete; }));
    compare(form().request());
    EXPECT_TRUE(page().command().contains(QStringLiteral("--over ") + file)) << page().command().toStdString();
}

/// In another text the token is that with which the sweep itself would align the cell's.
TEST_F(SweepPage, ACellOfAnotherTextSelectsItsPartner) {
    form().clean().setPlainText(QStringLiteral("The old nurse said that she"));
    form().line("position").setText(QStringLiteral("4"));
    choose_value(form().choice("site"), Grid::resid_pre);
    ASSERT_TRUE(sweep()) << page().message().text().toStdString();
    ASSERT_TRUE(retype(QStringLiteral("Today the old nurse said")));
    const auto choose = [&](std::int64_t position) {
        const auto& cells = page().result()->cells;
        const auto of = std::ranges::find(cells, position, &intervention::SweepCell::position);
        ASSERT_NE(of, cells.end());
        page().choose_cell(static_cast<std::size_t>(of - cells.begin()));
    };
    const std::int64_t said = window.document().trace()->tokens() - 1;
    choose(4);
    EXPECT_EQ(selected().pinned_queries, std::vector{Position(said)}) << "the answer's position";
    choose(2);
    EXPECT_EQ(selected().pinned_queries, std::vector{Position(said - 2)});
    window.document().selection().pin_query(Position(0), false);
    choose(6);
    EXPECT_EQ(selected().pinned_queries, std::vector{Position(0)}) << "what stands after the answer has no partner";
}

/// Experts, forbidden and forced, and GradDrop: the numbers are the engine's.
TEST_F(SweepPage, ExpertsAndGradDropAreTheEngines) {
    form().clean().setPlainText(QStringLiteral("The nurse said that she"));
    form().corrupt().setPlainText(QStringLiteral("The king said that she"));
    form().edit().setCurrentIndex(0);
    choose_value(form().choice("method"), intervention::Method::graddrop);
    sweep_as_the_engine();
    EXPECT_GE(page().result()->results.front().effect, 0) << "a size";
    EXPECT_TRUE(page().command().contains(QStringLiteral("--method graddrop"))) << page().command().toStdString();

    ASSERT_TRUE(opened(QStringLiteral(HEADLIGHT_SOURCE_DIR "/tests/fixtures/models/mixtral")));
    form().choice("method").setCurrentIndex(0);
    choose_value(form().choice("site"), Grid::expert);
    for (const int row : {6, 7}) {
        form().edit().setCurrentIndex(row);
        sweep_as_the_engine();
        EXPECT_EQ(page().result()->cells.size(), static_cast<std::size_t>(page().result()->axes.experts[0] * 2));
        EXPECT_TRUE(page().command().contains(row == 6 ? QStringLiteral("--ablate forbid") : QStringLiteral("--ablate force")));
    }
}

/// Tasks that the tokenizer fits are offered beside files; total against direct effects is a scatter whose points are cells.
TEST_F(SweepPage, ATaskAsAScatterOfTotalAgainstDirectEffects) {
    QMenu* menu = form().choose_pairs().menu();
    Q_EMIT menu->aboutToShow();
    QStringList titles;
    for (const QAction* action : menu->actions()) titles << action->text();
    EXPECT_EQ(titles.front(), QStringLiteral("Indirect object (8 pairs)"));
    EXPECT_EQ(titles.filter(QStringLiteral("mask")).size(), 0) << "this model fills in no mask";
    menu->actions().at(titles.indexOf(QStringLiteral("Induction (16 pairs)")))->trigger();
    form().edit().setCurrentIndex(0);
    form().choice("effect").setCurrentIndex(2);
    ASSERT_TRUE(sweep()) << page().message().text().toStdString();
    EXPECT_EQ(form().request().pairs, "induction");
    const auto expected = run_sweep(window.document().model().model, page().sweep()->pairs(), form().request().options);
    expect_shown(expected);
    for (std::size_t i = 0; i < expected.results.size(); ++i)
        EXPECT_NEAR(page().result()->results[i].direct, expected.results[i].direct, 1e-5);
    press({.site = intervention::Site::z, .layer = 4, .head = 7});
    EXPECT_EQ(selected().focus, (HeadId{Layer(4), Head(7)}));
    EXPECT_TRUE(page().command().contains(QStringLiteral("--pairs induction "))) << page().command().toStdString();
    EXPECT_TRUE(page().command().contains(QStringLiteral("--effect both"))) << page().command().toStdString();
}

/// A model of pictures: the page sweeps the window's picture, read by its classes, and patches from another one.
TEST_F(SweepPage, OfAPictureIsTheEngines) {
    const QString fixtures = QStringLiteral(HEADLIGHT_SOURCE_DIR "/tests/fixtures/");
    window.open(fixtures + QStringLiteral("models/vit-base"));
    ASSERT_TRUE(wait_for([&] { return window.jobs().idle() && !window.document().opening(); }));
    EXPECT_FALSE(window.action(Command::sweep).isEnabled());
    EXPECT_TRUE(window.action(Command::sweep).toolTip().contains(QStringLiteral("no class logits")));
    window.open(fixtures + QStringLiteral("models/vit"));
    ASSERT_TRUE(wait_for([&] { return window.jobs().idle() && !window.document().opening(); }));
    ASSERT_TRUE(opened(fixtures + QStringLiteral("pictures/shapes.png")));
    EXPECT_TRUE(form().clean().toPlainText().endsWith(QStringLiteral("shapes.png")));
    sweep_as_the_engine();
    press({.site = intervention::Site::z, .layer = 1, .head = 2});
    page().largest().edit_button().click();
    ASSERT_EQ(window.document().edits().lines.size(), 1u);
    EXPECT_EQ(window.document().edits().lines.front().words, QStringLiteral("zero L1H2"));
    form().edit().setCurrentIndex(0);
    EXPECT_FALSE(form().line("noise").isVisible());
    form().corrupt().setPlainText(fixtures + QStringLiteral("pictures/scene.png"));
    choose_value(form().choice("site"), Grid::resid_pre);
    sweep_as_the_engine();
    EXPECT_TRUE(page().command().contains(QStringLiteral("--corrupt-image "))) << page().command().toStdString();
    // Means over a list of pictures, whose lines are read from its folder.
    QTemporaryDir folder;
    const QString list = folder.filePath(QStringLiteral("pictures.txt"));
    QByteArray pictures;
    for (const char* name : {"shapes.png", "scene.png"})
        pictures += QDir(folder.path()).relativeFilePath(fixtures + QStringLiteral("pictures/") + name).toUtf8() + "\n";
    ASSERT_TRUE(write_file(list, pictures));
    form().edit().setCurrentIndex(3);
    form().over().setText(list);
    sweep_as_the_engine();
    EXPECT_TRUE(page().command().contains(QStringLiteral("--over "))) << page().command().toStdString();
}

/// The page of an encoder-decoder model: its cross attention is swept as the command line does.
TEST_F(SweepPage, TheCrossAttentionOfAnEncoderDecoder) {
    ASSERT_TRUE(opened(QStringLiteral(HEADLIGHT_SOURCE_DIR "/tests/fixtures/encoder_decoders/t5")));
    EXPECT_TRUE(form().choice("attention").isVisible());
    EXPECT_FALSE(form().line("noise").isVisible());
    choose_value(form().choice("metric"), intervention::Metric::kl);
    choose_value(form().choice("attention"), model::Stack::cross);
    EXPECT_EQ(form().choice("attention").count(), 2) << "sweeps edit the decoder";
    const intervention::SweepRequest asked = form().request();
    EXPECT_EQ(asked.options.attention, model::Stack::cross);
    const Session saved = window.session();
    EXPECT_EQ(session_from_json(to_json(saved), "a.headlight"), saved);
    ASSERT_TRUE(sweep()) << page().message().text().toStdString();
    expect_shown(intervention::run_sweep(window.document().model().model, page().sweep()->pairs(), asked.options));
    EXPECT_TRUE(page().command().contains(QStringLiteral("--attention cross")));
    choose_value(form().choice("site"), Grid::neuron);
    EXPECT_FALSE(form().choice("attention").isVisible()) << "a cross attention has no neurons";
    EXPECT_EQ(form().request().options.attention, model::Stack::decoder);
}

TEST_F(SweepPage, ItsFieldsAreUndone) {
    const intervention::SweepRequest first = page().request();
    QTest::keyClicks(&form().line("layers"), QStringLiteral("0-2"));
    EXPECT_EQ(page().undo_stack().count(), 1) << "letters typed are one step";
    choose_value(form().choice("site"), Grid::mlp_out);
    form().clean().setPlainText(QStringLiteral("My own text"));
    const intervention::SweepRequest last = page().request();
    EXPECT_EQ(page().undo_stack().count(), 3);
    QTest::keyClick(&form().clean(), Qt::Key_Z, Qt::ControlModifier);
    EXPECT_EQ(form().clean().toPlainText(), window.document().prompt().text);
    EXPECT_TRUE(page().request().clean.empty()) << "it follows the window again";
    QTest::keyClick(&form().line("layers"), Qt::Key_Z, Qt::ControlModifier);
    EXPECT_EQ(page().request().options.grid, Grid::z);
    page().undo_stack().undo();
    EXPECT_EQ(page().request(), first);
    while (page().undo_stack().canRedo()) page().undo_stack().redo();
    EXPECT_EQ(page().request(), last);
}

TEST_F(SweepPage, TheMenuOfAHeadOffersItsSweeps) {
    const auto offered = sweeps_of({Layer(4), Head(5)}, window.document().model().model->config());
    ASSERT_FALSE(offered.empty());
    for (const OfferedSweep& each : offered) {
        SCOPED_TRACE(each.title.toStdString());
        window.sweep(each.ask);
        EXPECT_EQ(form().request().options.grid, each.ask.grid);
        EXPECT_EQ(form().request().options.layers, each.ask.layers);
        EXPECT_EQ(form().request().options.heads, each.ask.heads);
    }
}

}  // namespace sweep_window_test
}  // namespace headlight::ui
