// SPDX-License-Identifier: GPL-3.0-or-later
// What else than a model folder can be opened: attention computed elsewhere, and the list of models there are.
#include "tests/ui/window_fixture.h"
#include "ui/dialogs/model_chooser.h"
#include "ui/model/tensor_list.h"
#include "ui/style/path_completion.h"

#include <QDir>
#include <QSettings>
#include <QSignalSpy>

namespace headlight::ui {
namespace open_test {

const QString fixtures = QStringLiteral(HEADLIGHT_SOURCE_DIR "/tests/fixtures/");

TEST_F(WindowTest, AttentionWithoutAModel) {
    window.open(fixtures + QStringLiteral("attention/bert.npz"));
    ASSERT_TRUE(wait_for(
        [&] { return window.jobs().idle() && window.document().model().reference.endsWith(QStringLiteral("bert.npz")); }));
    ASSERT_TRUE(settle());
    EXPECT_FALSE(window.error_panel().isVisible()) << window.error_panel().message().toStdString();
    EXPECT_EQ(window.document().trace()->tokens(), 20);
    EXPECT_EQ(window.document().prompt().text, QStringLiteral("the doctor asked the nurse"));
    EXPECT_TRUE(window.prompt_bar().text().isReadOnly());
    for (const figure::ViewSpec& spec : figure::view_specs()) {
        ASSERT_TRUE(show_view(spec.id));
        EXPECT_FALSE(window.error_panel().isVisible()) << spec.id << ": " << window.error_panel().message().toStdString();
        const bool of_patterns =
            spec.id == "head" || spec.id == "matrix" || spec.id == "model" || spec.id == "reach" || spec.id == "sparsity";
        EXPECT_EQ(window.active_pane().canvas().shown() != nullptr, of_patterns) << spec.id;
    }
    // A pair of tokens has its weight and nothing that needs the model.
    window.show_view("matrix");
    window.document().selection().pin_pair({Layer(1), Head(2)}, Position(3), Position(5));
    ASSERT_TRUE(settle());
    EXPECT_FALSE(window.error_panel().isVisible()) << window.error_panel().message().toStdString();
    window.open(QStringLiteral("novella-7m"));
    ASSERT_TRUE(
        wait_for([&] { return window.jobs().idle() && window.document().model().reference == QStringLiteral("novella-7m"); }));
    ASSERT_TRUE(settle());
    EXPECT_FALSE(window.prompt_bar().text().isReadOnly());
    EXPECT_EQ(window.document().trace()->text_a(), "the doctor asked the nurse");
}

TEST_F(WindowTest, AStoredReferenceIsComparedWithAfterTheFirstPicture) {
    ASSERT_TRUE(retype(QStringLiteral("a")));  // of which the small model takes many
    EXPECT_FALSE(window.document().reference().pending());
    QTemporaryDir folder;
    const auto copy = [&](const QString& from, const QString& name) {
        ASSERT_TRUE(QFile::copy(from, folder.filePath(name))) << name.toStdString();
    };
    for (const char* name : {"config.json", "model.safetensors", "tokenizer.json"})
        copy(fixtures + QStringLiteral("models/gpt2/") + QLatin1String(name), QLatin1String(name));
    copy(QStringLiteral(HEADLIGHT_SOURCE_DIR "/tests/golden/gpt2.f32.safetensors"), QStringLiteral("reference.safetensors"));
    bool compared_before_run = false;
    QObject::connect(&window.document(), &Document::changed, &window.document(), [&](Document::Change change) {
        if (change == Document::Change::trace) compared_before_run |= window.document().reference().found().has_value();
    });
    window.open(folder.path());
    ASSERT_TRUE(wait_for([&] { return window.document().reference().found().has_value(); }));
    EXPECT_FALSE(compared_before_run);
    EXPECT_FALSE(window.document().reference().pending());
    const model::ReferenceCheck& check = *window.document().reference().found();
    EXPECT_EQ(check.problem, "");
    ASSERT_TRUE(check.logits && check.patterns);
    EXPECT_LT(*check.logits, 1e-4);
    ASSERT_TRUE(settle());
    const QString said = QString::fromStdString(model::text_of(check));
    EXPECT_TRUE(window.status_strip().text().contains(said)) << window.status_strip().text().toStdString();
    EXPECT_TRUE(window.status_strip().notes().join(' ').contains(said));
    // Another model has no such line.
    window.open(QStringLiteral("novella-7m"));
    ASSERT_TRUE(
        wait_for([&] { return window.jobs().idle() && window.document().model().reference == QStringLiteral("novella-7m"); }));
    EXPECT_FALSE(window.status_strip().text().contains(QStringLiteral("reference")));
}

TEST_F(WindowTest, AChosenTensorHasAHistogram) {
    ASSERT_TRUE(trigger(Command::tensors));
    EXPECT_EQ(window.page(), Page::model);
    TensorList* dialog = window.model_page().tensors();
    ASSERT_TRUE(dialog && dialog->isVisible());
    EXPECT_FALSE(dialog->histogram().shown());
    EXPECT_GT(dialog->table().rowCount(), 40);
    dialog->filter().setText(QStringLiteral("word_embeddings.weight"));
    int row = 0;
    while (row < dialog->table().rowCount() && dialog->table().isRowHidden(row)) ++row;
    ASSERT_LT(row, dialog->table().rowCount());
    dialog->table().selectRow(row);
    ASSERT_TRUE(settle());
    ASSERT_TRUE(dialog->histogram().shown());
    EXPECT_EQ(dialog->histogram().shown()->title(), dialog->table().item(row, 0)->text());
    const figure::Table table = dialog->histogram().shown()->table();
    std::int64_t sum = 0;
    for (const auto& cells : table.rows) sum += std::get<std::int64_t>(cells.at(2));
    const auto& c = window.document().model().model->config();
    EXPECT_EQ(sum, c.vocab_size * c.d_model);
    EXPECT_GT(ink(dialog->histogram()), 1000);
    dialog->close();
}

TEST(ModelChooser, ListsModelsAndSaysWhyOneCannotBeRead) {
    Jobs jobs;
    QTemporaryDir folder;
    QDir(folder.path()).mkdir(QStringLiteral("broken"));
    ASSERT_TRUE(
        write_file(folder.filePath(QStringLiteral("broken/config.json")), R"({"architectures": ["Mystery9ForCausalLM"]})"));
    ModelChooser chooser(jobs, {fixtures + QStringLiteral("models/gpt2"), QStringLiteral("/no/such/folder")});
    chooser.add_folder(folder.path());
    const auto row_of = [&](const QString& name) {
        for (int row = 0; row < chooser.table().rowCount(); ++row)
            if (chooser.table().item(row, 0)->text() == name) return row;
        return -1;
    };
    ASSERT_TRUE(wait_for([&] { return row_of(QStringLiteral("broken")) >= 0; }));
    ASSERT_GE(row_of(QStringLiteral("novella-7m")), 0);
    ASSERT_GE(row_of(QStringLiteral("gpt2")), 0);
    EXPECT_EQ(row_of(QStringLiteral("folder")), -1) << "what is gone is not listed";
    const auto cell = [&](const QString& name, int column) { return chooser.table().item(row_of(name), column)->text(); };
    ASSERT_TRUE(wait_for([&] { return jobs.idle() && cell(QStringLiteral("broken"), 5) != QStringLiteral("…"); }));
    EXPECT_EQ(cell(QStringLiteral("novella-7m"), 1), QStringLiteral("built-in"));
    EXPECT_EQ(cell(QStringLiteral("novella-7m"), 2), QStringLiteral("bloom"));
    EXPECT_EQ(cell(QStringLiteral("novella-7m"), 4), QStringLiteral("6 × 8"));
    EXPECT_EQ(cell(QStringLiteral("gpt2"), 5), QStringLiteral("can be read"));
    EXPECT_EQ(cell(QStringLiteral("broken"), 5), QStringLiteral("Unknown architecture"));
    QSignalSpy chosen(&chooser, &ModelChooser::chosen);
    chooser.show();  // Return presses a button that can be seen
    ASSERT_TRUE(QTest::qWaitForWindowExposed(&chooser, longest_wait_ms));
    chooser.filter().setText(QStringLiteral("gpt"));
    EXPECT_TRUE(chooser.table().isRowHidden(row_of(QStringLiteral("broken"))));
    QTest::keyClick(&chooser.filter(), Qt::Key_Return);
    ASSERT_EQ(chosen.size(), 1);
    EXPECT_EQ(chosen.front().front().toString(), fixtures + QStringLiteral("models/gpt2"));
    QSettings().remove(QStringLiteral("models/folders"));
}

/// A chooser whose models come from `fetcher`.
class FetchingChooser : public testing::Test {
protected:
    Jobs jobs;
    void fetch(ModelChooser& chooser, const QString& what) {
        chooser.show();
        chooser.filter().setText(what);
        chooser.fetch_button().click();
    }
};

TEST_F(FetchingChooser, ListsWhatWasFetched) {
    std::string asked;
    ModelChooser chooser(jobs, {}, nullptr, [&](const std::string& reference, const CancelToken&, const Progress& progress) {
        asked = reference;
        progress({"Fetching model.safetensors", "kB", 500, 2000});
        return fetch::Fetched{
            .folder = fixtures.toStdString() + "models/gpt2", .reference = "org/tiny", .version = "1", .files = 3, .bytes = 9};
    });
    fetch(chooser, QStringLiteral(" org/tiny "));
    ASSERT_TRUE(wait_for([&] { return !chooser.fetch_row().busy(); }));
    EXPECT_EQ(asked, "org/tiny");
    EXPECT_EQ(chooser.fetch_row().bar().maximum(), 2000);
    EXPECT_EQ(chooser.fetch_row().bar().value(), 500);
    EXPECT_FALSE(chooser.fetch_row().isVisible());
    EXPECT_EQ(chooser.table().item(chooser.table().currentRow(), 0)->text(), QStringLiteral("org/tiny"));
    EXPECT_EQ(chooser.table().item(chooser.table().currentRow(), 1)->text(), QStringLiteral("cache"));
    QSignalSpy chosen(&chooser, &ModelChooser::chosen);
    QTest::keyClick(&chooser.filter(), Qt::Key_Return);
    ASSERT_EQ(chosen.size(), 1);
    EXPECT_EQ(chosen.front().front().toString(), QStringLiteral("org/tiny"));
}

TEST_F(FetchingChooser, SaysWhatWentWrongAndStops) {
    ModelChooser chooser(jobs, {}, nullptr,
                         [](const std::string& reference, const CancelToken& token, const Progress&) -> fetch::Fetched {
                             if (reference == "org/gated") throw Error("the model is gated");
                             while (true) {
                                 token.throw_if_cancelled();
                                 QThread::msleep(1);
                             }
                         });
    chooser.fetch_button().click();
    EXPECT_TRUE(chooser.note().contains(QStringLiteral("Type what to fetch")));
    fetch(chooser, QStringLiteral("org/gated"));
    ASSERT_TRUE(wait_for([&] { return !chooser.fetch_row().busy(); }));
    EXPECT_TRUE(chooser.note().contains(QStringLiteral("gated"))) << chooser.note().toStdString();
    fetch(chooser, QStringLiteral("org/slow"));
    EXPECT_TRUE(chooser.fetch_row().isVisible());
    EXPECT_FALSE(chooser.fetch_button().isEnabled());
    chooser.fetch_row().cancel_button().click();
    ASSERT_TRUE(wait_for([&] { return !chooser.fetch_row().busy(); }));
    EXPECT_TRUE(chooser.note().contains(QStringLiteral("Stopped")));
    EXPECT_TRUE(chooser.fetch_button().isEnabled());
    fetch(chooser, QStringLiteral("org/slow"));  // closing the dialog ends it too
}

TEST(PathCompletion, GoesAsFarAsAllThatFitsAgrees) {
    QTemporaryDir root;
    const QDir dir(root.path());
    for (const char* folder : {"models/mini-lm", "models/mini-gpt", "other", "models/.hidden"})
        ASSERT_TRUE(dir.mkpath(QLatin1String(folder)));
    for (const char* file : {"models/big.gguf", "models/big.txt"})
        ASSERT_TRUE(write_file(dir.filePath(QLatin1String(file)), "x"));
    const QStringList weights{QStringLiteral("*.gguf")};
    const auto at = [&](const char* path) { return dir.filePath(QLatin1String(path)); };
    EXPECT_EQ(complete_path(at("mo"), weights).text, at("models/"));
    const Completion two = complete_path(at("models/m"), weights);
    EXPECT_EQ(two.text, at("models/mini-"));
    EXPECT_EQ(two.fits, (QStringList{QStringLiteral("mini-gpt/"), QStringLiteral("mini-lm/")}));
    EXPECT_EQ(complete_path(at("models/b"), weights).text, at("models/big.gguf"));
    EXPECT_EQ(complete_path(at("models/b"), {}).text, at("models/b")) << "folders alone";
    EXPECT_EQ(complete_path(at("models/"), weights).fits.size(), 3) << "without what is hidden";
    EXPECT_EQ(complete_path(at("models/.h"), weights).text, at("models/.hidden/"));
    EXPECT_EQ(complete_path(at("none/x"), weights).text, at("none/x"));
    EXPECT_TRUE(complete_path(QStringLiteral("~"), {}).text.startsWith(QDir::homePath()));
}

TEST(ModelChooser, TabCompletesPathsAndNames) {
    QTemporaryDir root;
    for (const char* name : {"models/small-a", "models/small-b"}) {
        const QString folder = root.filePath(QLatin1String(name));
        ASSERT_TRUE(QDir().mkpath(folder));
        ASSERT_TRUE(QFile::copy(fixtures + QStringLiteral("models/gpt2/config.json"), folder + QStringLiteral("/config.json")));
    }
    Jobs jobs;
    ModelChooser chooser(jobs, {});
    chooser.show();
    ASSERT_TRUE(wait_for([&] { return jobs.idle() && chooser.table().rowCount() > 0; }));
    QLineEdit& field = chooser.filter();
    field.setFocus();
    ASSERT_TRUE(wait_for([&] { return field.hasFocus(); }));
    const auto tab = [&] { QTest::keyClick(chooser.focusWidget(), Qt::Key_Tab); };
    QTest::keyClicks(&field, root.path() + QStringLiteral("/mo"));
    tab();
    EXPECT_EQ(field.text(), root.filePath(QStringLiteral("models/")));
    tab();
    EXPECT_EQ(field.text(), root.filePath(QStringLiteral("models/small-")));
    EXPECT_TRUE(field.hasFocus());
    QTest::keyClicks(&field, QStringLiteral("b"));
    tab();
    EXPECT_EQ(field.text(), root.filePath(QStringLiteral("models/small-b/")));
    QSignalSpy chosen(&chooser, &ModelChooser::chosen);
    QTest::keyClick(&field, Qt::Key_Return);
    ASSERT_EQ(chosen.size(), 1);
    EXPECT_EQ(chosen[0][0].toString(), root.filePath(QStringLiteral("models/small-b"))) << "not what is marked in the list";

    chooser.show();
    field.setText(QStringLiteral("nov"));
    field.setFocus();
    tab();
    EXPECT_EQ(field.text(), QStringLiteral("novella-7m"));
    tab();
    EXPECT_FALSE(field.hasFocus()) << "no trap";
}

}  // namespace open_test
}  // namespace headlight::ui
