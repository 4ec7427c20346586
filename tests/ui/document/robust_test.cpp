// SPDX-License-Identifier: GPL-3.0-or-later
// What must not end the window: options of another model or text, figures that throw, sessions of other versions.
#include "tests/fuzz/mutator.h"
#include "tests/ui/window_fixture.h"
#include "ui/dialogs/export_dialog.h"

#include <QClipboard>
#include <QDir>
#include <QGuiApplication>
#include <QPushButton>
#include <QSignalSpy>

namespace headlight::ui {
namespace robust_test {

const QString fixtures = QStringLiteral(HEADLIGHT_SOURCE_DIR "/tests/fixtures/models/");

Session session_of(const std::string& options) {
    return session_from_json("{\"format\": \"headlight-session\", \"version\": 1, \"options\": {" + options + "}}",
                             "a.headlight");
}

/// A figure whose layout or painting fails.
class Broken : public figure::Figure {
public:
    explicit Broken(bool in_layout) : in_layout_(in_layout) {}
    std::string view() const override { return "broken"; }
    QSizeF layout(QSizeF available, const figure::Style&, const figure::Selection&) override {
        if (in_layout_) throw Error(ErrorFacts{.problem = "cannot be laid out"});
        return available;
    }
    void paint(QPainter&, const QRectF&, const figure::Style&, const figure::Selection&) const override {
        throw std::runtime_error("cannot be painted");
    }
    figure::Hit hit_test(QPointF, const figure::Style&, const figure::Selection&) const override { return {}; }
    figure::Table table() const override { return {}; }
    std::vector<figure::NamedArray> arrays() const override { return {}; }
    QString title() const override { return {}; }
    QString description() const override { return {}; }

private:
    bool in_layout_;
};

TEST_F(WindowTest, AFigureThatThrowsIsTakenAwayAndExplained) {
    for (const bool in_layout : {true, false}) {
        QSignalSpy failures(&canvas(), &FigureCanvas::failed);
        canvas().set_figure(std::make_shared<Broken>(in_layout));
        canvas().grab();
        ASSERT_TRUE(wait_for([&] { return !failures.isEmpty(); }));
        EXPECT_FALSE(canvas().shown());
        EXPECT_FALSE(window.error_panel().isVisible()) << "the message stands on the canvas";
        const QString said = canvas().accessibleDescription();
        EXPECT_TRUE(said.contains(in_layout ? QStringLiteral("laid out") : QStringLiteral("painted"))) << said.toStdString();
        window.document().selection().focus_head({Layer(1), Head(in_layout ? 1 : 2)});
        ASSERT_TRUE(wait_for([&] { return canvas().shown() != nullptr; })) << "the next change shows a picture again";
    }
}

/// A figure that is coarse until its sharpening has run.
class Coarse : public Broken {
public:
    Coarse() : Broken(false) {}
    void paint(QPainter&, const QRectF&, const figure::Style&, const figure::Selection&) const override { painted_ = true; }
    bool refining() const override { return painted_ && !sharp_; }
    figure::Sharpening sharpening() override {
        return [this](const CancelToken&) { return [this] { sharp_ = true; }; };
    }

private:
    mutable bool painted_ = false;
    bool sharp_ = false;
};

TEST_F(WindowTest, ACanvasForWhichNobodyRunsJobsSharpensItsFigureItself) {
    FigureCanvas alone(window.document().selection());
    alone.resize(300, 200);
    alone.show();
    const auto coarse = std::make_shared<Coarse>();
    alone.set_figure(coarse);
    alone.grab();
    EXPECT_TRUE(coarse->refining());
    EXPECT_TRUE(wait_for([&] { return !coarse->refining(); }));
}

TEST_F(WindowTest, AnOpenDetailAndAPinnedPairOutliveTheModelTheyWereOf) {
    window.show_view("model");
    const HeadId detail{Layer(5), Head(7)};
    window.document().edit_options([&](ViewOptions& o) { o.detail = detail; });
    ASSERT_TRUE(settle());
    EXPECT_EQ(window.left_pane().shown()->state.detail, detail);
    ASSERT_TRUE(retype(QStringLiteral("The cat")));  // the small model takes 40 tokens
    window.open(fixtures + QStringLiteral("gpt2"));
    ASSERT_TRUE(wait_for([&] {
        return window.jobs().idle() && window.document().up_to_date() && window.document().trace()->config().n_layers == 2;
    }));
    ASSERT_TRUE(canvas().shown());
    EXPECT_EQ(canvas().shown()->view(), "model");
    EXPECT_FALSE(window.left_pane().shown()->state.detail) << "there is no such head here";
    EXPECT_FALSE(window.error_panel().isVisible());
}

TEST_F(WindowTest, AFilterOfPairsComesBackWithTheirSentence) {
    PromptText prompt = window.document().prompt();
    prompt.has_pair = true;
    prompt.pair = QStringLiteral("It rained.");
    window.document().set_prompt(prompt);
    ASSERT_TRUE(settle());
    window.document().edit_options([&](ViewOptions& o) { o.pattern.filter = analyze::PairFilter::a_to_b; });
    ASSERT_TRUE(settle());
    EXPECT_EQ(window.left_pane().shown()->state.pattern.filter, analyze::PairFilter::a_to_b);
    window.prompt_bar().toggle_pair();
    ASSERT_TRUE(settle());
    EXPECT_EQ(window.left_pane().shown()->state.pattern.filter, analyze::PairFilter::all);
    window.history().stack().undo();
    ASSERT_TRUE(settle());
    EXPECT_FALSE(window.error_panel().isVisible());
    EXPECT_FALSE(window.document().trace()->text_b().empty());
    EXPECT_EQ(window.left_pane().shown()->state.pattern.filter, analyze::PairFilter::a_to_b);
}

TEST_F(WindowTest, AMeasureThatTheModelHasNotIsTheFirstOne) {
    window.document().edit_options([&](ViewOptions& o) { o.measure = "of another version"; });
    ASSERT_TRUE(window.heads_panel().mosaic().shown());
    EXPECT_GT(window.heads_panel().model().rowCount(), 0);
}

TEST_F(WindowTest, ASessionOfAnotherModelKeepsItsSelectionOnTheSameText) {
    ASSERT_TRUE(retype(QStringLiteral("The cat")));
    Session session = window.session();
    session.model = fixtures + QStringLiteral("gpt2");
    session.state.selection.layer = Layer(1);
    session.state.selection.heads = {Head(1)};
    session.state.selection.focus = {Layer(1), Head(1)};
    session.state.selection.pinned_queries = {Position(3)};
    session.state.selection.pinned_keys = {Position(2)};
    window.apply_session(session);
    ASSERT_TRUE(wait_for([&] {
        return window.jobs().idle() && window.document().up_to_date() && window.document().trace()->config().n_layers == 2;
    }));
    EXPECT_EQ(selected(), session.state.selection);
}

TEST_F(WindowTest, TheOpenPictureIsCopied) {
    QGuiApplication::clipboard()->clear();
    ASSERT_TRUE(trigger(Command::copy_image));
    EXPECT_FALSE(QGuiApplication::clipboard()->image().isNull());
}

TEST_F(WindowTest, AClosedSideKeepsNoOldRun) {
    window.document().set_views({"head", "matrix", true});
    ASSERT_TRUE(settle());
    ASSERT_TRUE(window.right_pane().shown());
    window.document().set_views({"head", "matrix", false});
    const std::weak_ptr<const trace::Trace> before = window.document().trace();
    ASSERT_TRUE(retype(QStringLiteral("Another text")));
    EXPECT_FALSE(window.right_pane().shown());
    window.history().clear();
    EXPECT_TRUE(wait_for([&] { return before.expired(); }));
}

/// The steps are emptied when what shows them is gone.
TEST_F(WindowTest, AClosedWindowHearsNoMoreOfItsSteps) {
    auto other = std::make_unique<MainWindow>();
    ASSERT_TRUE(opened_in(*other, QStringLiteral("novella-7m")));
    other->document().edit_options([](ViewOptions& o) { o.pattern.merge_words = true; });
    ASSERT_TRUE(wait_for([&] { return other->jobs().idle(); }));
    ASSERT_TRUE(other->history().stack().canUndo());
    other->document().set_modified(false);
    int told = 0;
    QObject::connect(&other->action(Command::undo), &QAction::changed, [&] { ++told; });
    other.reset();
    EXPECT_EQ(told, 0);
}

TEST_F(WindowTest, ThePreviewOfAnExportDoesNotStopTheOtherSide) {
    window.document().set_views({"head", "model", true});
    ASSERT_TRUE(settle());
    type_text(QStringLiteral("A text that both sides draw anew, whatever a dialog draws meanwhile"));
    ExportDialog dialog(window.document(), window.jobs(), *window.left_pane().shown(), QSize(800, 600));
    ASSERT_TRUE(settle());
    ASSERT_TRUE(window.right_pane().shown());
    EXPECT_EQ(window.right_pane().shown()->trace, window.document().trace());
}

TEST_F(WindowTest, HoverAloneDoesNotOpenTheNumbers) {
    window.show_view("neuron");
    window.document().selection().clear_pins();
    ASSERT_TRUE(settle());
    const auto lines = canvas().shown();
    window.document().selection().hover_position(Position(4));
    EXPECT_EQ(canvas().shown(), lines);
    window.document().selection().pin_query(Position(6), false);
    ASSERT_TRUE(settle());
    EXPECT_EQ(window.left_pane().shown()->state.query, Position(4)) << "the hovered one comes before the pinned one";
    window.document().selection().clear_hover();
    ASSERT_TRUE(settle());
    EXPECT_EQ(window.left_pane().shown()->state.query, Position(6));
}

TEST(Sessions, EveryCommonOptionIsWrittenAndRead) {
    Session session;
    ViewOptions& o = session.state.options;
    o.attention = model::Stack::cross;
    o.pattern = {.filter = analyze::PairFilter::b_to_a,
                 .weighting = analyze::Weighting::layer_mix,
                 .hide_sinks = true,
                 .hide_special = true,
                 .renormalise = false,
                 .merge_words = true};
    o.transfer = {.curve = figure::Transfer::Curve::rank, .gamma = 2, .threshold = 0.25, .keep_mass = 0.5};
    o.palette = figure::HeadPalette::okabe_ito;
    o.ramp = figure::Ramp::magma;
    o.detail = HeadId{Layer(3), Head(1)};
    o.measure_to_data = true;
    o.batch_file = QStringLiteral("texts.txt");
    session.state.selection.heads = {Head(1)};
    session.state.selection.pinned_queries = {Position(2)};
    session.state.selection.found_pins = true;
    EXPECT_EQ(session_from_json(to_json(session), "a.headlight"), session);
}

TEST(Sessions, WhatIsWrongIsNamedWithItsFile) {
    const auto message = [](const std::string& options) -> std::string {
        try {
            session_of(options);
        } catch (const Error& error) {
            return error.what();
        }
        return "read";
    };
    for (const auto& [options, word] :
         std::vector<std::pair<std::string, std::string>>{{R"("gamma": -1)", "gamma"},
                                                          {R"("threshold": 7)", "threshold"},
                                                          {R"("keep_mass": "much")", "much"},
                                                          {R"("detail": [3, -1])", "detail"},
                                                          {R"("view_options": {"model": {"cells": "round"}})", "round"},
                                                          {R"("view_options": {"model": {"colour": "1"}})", "colour"},
                                                          {R"("view_options": {"modell": {}})", "modell"}}) {
        EXPECT_NE(message(options).find(word), std::string::npos) << message(options);
        EXPECT_NE(message(options).find("a.headlight"), std::string::npos) << message(options);
    }
}

/// nlohmann's get() would take 2.7 as 2 and true as 1.
TEST(Sessions, WholeNumbersWithAFractionAreRefused) {
    for (const auto& [part, key] : std::vector<std::pair<std::string, std::string>>{
             {R"("selection": {"layer": 2.7})", "layer"},
             {R"("selection": {"focus": true})", "focus"},
             {R"("selection": {"heads": [1, 2.7]})", "heads"},
             {R"("selection": {"queries": [0.5]})", "queries"},
             {R"("selection": {"keys": [1e300]})", "keys"},
             {R"("selection": {"neuron": [1, 2.5]})", "neuron"},
             {R"("text": "Hello", "written": [0, 2.5])", "written"},
             {R"("options": {"predictions": 2.5})", "predictions"},
             {R"("options": {"detail": [3, 1.5]})", "detail"},
             {R"("options": {"edits": {"positions": {"S": 1.5}}})", "positions"},
             {R"("options": {"edits": {"seed": 1.5}})", "seed"},
             {R"("options": {"edits": {"watched_at": 1.5}})", "watched_at"},
             {R"("sweep": {"window": 2.7})", "window"},
             {R"("sweep": {"layers": [1, 2.7]})", "layers"},
             {R"("map": {"tokens": 1000.5})", "tokens"},
         })
        try {
            session_from_json(R"({"format": "headlight-session", "version": 1, )" + part + "}", "a.headlight");
            ADD_FAILURE() << part;
        } catch (const Error& error) {
            EXPECT_EQ(error.facts().file, "a.headlight") << error.what();
            EXPECT_EQ(error.facts().item, key) << error.what();
        }
    const Session read = session_from_json(
        R"({"format": "headlight-session", "version": 1, "selection": {"layer": 2.0, "heads": [1.0, 3]}, "sweep": {"window": 2e0}})",
        "a.headlight");
    EXPECT_EQ(read.state.selection.layer, Layer(2));
    EXPECT_EQ(read.state.selection.heads, (std::vector{Head(1), Head(3)}));
    EXPECT_EQ(read.sweep->options.window, 2);
}

TEST(Sessions, DeepNestingIsRefused) {
    for (const char* key : {"model", "text", "pair", "image", "written", "options"}) {
        const std::string deep(1'000'000, '[');
        try {
            session_from_json("{\"format\":\"headlight-session\",\"version\":1,\"" + std::string(key) + "\":" + deep,
                              "a.headlight");
            ADD_FAILURE() << key;
        } catch (const Error& error) {
            EXPECT_EQ(error.facts().file, "a.headlight");
            EXPECT_NE(std::string(error.what()).find("nested levels"), std::string::npos) << error.what();
        }
    }
}

TEST(Sessions, DamagedInAnyPlaceAreReadOrRefused) {
    Session session;
    session.state.options.detail = HeadId{Layer(3), Head(1)};
    session.state.options.batch_file = QStringLiteral("texts.txt");
    session.state.selection.heads = {Head(1), Head(3)};
    session.state.selection.pinned_queries = {Position(2)};
    const std::string sound = to_json(session);
    test::Mutator mutate;
    int accepted = 0;
    for (int i = 0; i < 3000; ++i) try {
            const Session read = session_from_json(mutate(sound), "a.headlight");
            EXPECT_EQ(session_from_json(to_json(read), "again"), read);
            ++accepted;
        } catch (const Error& error) {
            EXPECT_FALSE(error.facts().file.empty()) << error.what();
        }
    EXPECT_GT(accepted, 0);
}

/// A part of its weights reads as zeros from then on, whatever lies under its name.
TEST_F(WindowTest, ALostModelRunsNothingUntilItIsOpenedAgain) {
    const auto shown = window.document().trace();
    const std::string file = window.document().model().files.at(0).file.string();
    window.lose_model({.problem = "A file was cut short", .file = "of/another/model.safetensors"});
    EXPECT_FALSE(window.error_panel().isVisible()) << "the job that opens it says so";
    window.lose_model({.problem = "A file was cut short", .file = file});
    ASSERT_TRUE(window.error_panel().isVisible());
    EXPECT_EQ(window.document().trace(), shown) << "what is on screen stays";
    auto* again = window.error_panel().findChild<QPushButton*>();
    ASSERT_TRUE(again && again->isVisible());
    type_text(QStringLiteral("Another text"));
    EXPECT_FALSE(window.error_panel().isVisible());
    ASSERT_TRUE(wait_for([&] { return window.document().why_not_run() == Document::NotRun::refused; }));
    EXPECT_TRUE(window.error_panel().isVisible());
    EXPECT_TRUE(again->isVisible());
    QSignalSpy failed(&window.jobs(), &Jobs::failed);
    EXPECT_FALSE(window.document().generate({}));
    ASSERT_TRUE(wait_for([&] { return window.jobs().idle() && !failed.isEmpty(); }));
    EXPECT_EQ(window.document().trace(), shown);
    EXPECT_TRUE(again->isVisible());
    const auto before = window.document().model().model;
    again->click();
    ASSERT_TRUE(wait_for([&] { return window.document().model().model != before; }));
    ASSERT_TRUE(settle());
    EXPECT_TRUE(window.document().up_to_date());
    EXPECT_FALSE(window.error_panel().isVisible());
    window.show_failure({QStringLiteral("Saving"), {.problem = "Another"}});
    EXPECT_FALSE(again->isVisible()) << "an offer belongs to its message";
}

TEST_F(WindowTest, TheOfferToOpenAgainStaysWhenThatFails) {
    QTemporaryDir folder;
    for (const char* name : {"config.json", "tokenizer.json", "model.safetensors"})
        ASSERT_TRUE(QFile::copy(QStringLiteral(HEADLIGHT_SOURCE_DIR "/models/novella-7m/") + name, folder.filePath(name)));
    ASSERT_TRUE(opened(folder.path()));
    ASSERT_TRUE(QFile::remove(folder.filePath(QStringLiteral("config.json"))));
    window.lose_model({.problem = "A file was cut short", .file = window.document().model().files.at(0).file.string()});
    auto* again = window.error_panel().findChild<QPushButton*>();
    ASSERT_TRUE(again && again->isVisible());
    const QString before = window.error_panel().message();
    again->click();
    ASSERT_TRUE(wait_for([&] { return window.error_panel().message() != before; }));
    EXPECT_TRUE(again->isVisible()) << window.error_panel().message().toStdString();
}

/// Files that others replace by a new one of the same name.
TEST_F(WindowTest, AChangedFileOfTheModelIsNoticedAlsoWhenItIsAnotherOne) {
    QTemporaryDir folder;
    for (const QString& name : QDir(fixtures + QStringLiteral("gpt2")).entryList(QDir::Files))
        ASSERT_TRUE(QFile::copy(fixtures + QStringLiteral("gpt2/") + name, folder.filePath(name)));
    ASSERT_TRUE(retype(QStringLiteral("The cat")));
    window.open(folder.path());
    ASSERT_TRUE(wait_for([&] { return window.document().model().reference == folder.path(); }));
    ASSERT_TRUE(settle());
    const QString weights = QString::fromStdString(window.document().model().files.at(0).file.string());
    const auto replace = [&](const QByteArray& more) {
        QFile file(weights), other(weights + QStringLiteral(".new"));
        ASSERT_TRUE(file.open(QIODevice::ReadOnly) && other.open(QIODevice::WriteOnly));
        other.write(file.readAll() + more);
        other.close();
        std::filesystem::rename(other.fileName().toStdString(), weights.toStdString());
    };
    replace({});
    ASSERT_TRUE(wait_for([&] { return window.error_panel().isVisible(); }));
    EXPECT_TRUE(window.error_panel().message().contains(QStringLiteral("written again since"))) << "as long as before";
    window.error_panel().hide();
    replace("more");
    ASSERT_TRUE(wait_for([&] { return window.error_panel().isVisible(); }));
    EXPECT_TRUE(window.error_panel().findChild<QPushButton*>()->isVisible());
    window.error_panel().hide();
    ASSERT_TRUE(QFile::remove(weights));
    ASSERT_TRUE(wait_for([&] { return window.error_panel().isVisible(); }));
    EXPECT_TRUE(window.error_panel().message().contains(QStringLiteral("no file")));
    EXPECT_TRUE(window.error_panel().findChild<QPushButton*>()->isVisible());
}

}  // namespace robust_test
}  // namespace headlight::ui
