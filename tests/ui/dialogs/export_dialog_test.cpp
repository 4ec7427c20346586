// SPDX-License-Identifier: GPL-3.0-or-later
// What an export asks, proposes and shows before it writes.
#include "ui/dialogs/export_dialog.h"
#include "tests/ui/jobs/waiting_job.h"
#include "tests/ui/window_fixture.h"

#include <QMessageBox>
#include <QSettings>
#include <QSignalSpy>

namespace headlight::ui {
namespace export_dialog_test {

class ExportWindow : public WindowTest {
protected:
    void SetUp() override {
        WindowTest::SetUp();
        QSettings().setValue(QStringLiteral("export/folder"), folder.path());
    }
    void TearDown() override { QSettings().remove(QStringLiteral("export")); }
    std::unique_ptr<ExportDialog> dialog() {
        auto made =
            std::make_unique<ExportDialog>(window.document(), window.jobs(), *window.left_pane().shown(), QSize(800, 600));
        made->show();
        EXPECT_TRUE(settle());
        return made;
    }
    QTemporaryDir folder;
};

TEST_F(ExportWindow, NamesSayHeadAndQueryAndAreNew) {
    window.document().selection().pin_pair({Layer(5), Head(4)}, Position(12), Position(3));
    ASSERT_TRUE(settle());
    EXPECT_EQ(dialog()->file().text(), QStringLiteral("novella-7m-head-L5H4-q12-k3.png"));
    dialog()->write();
    ASSERT_TRUE(settle());
    const auto again = dialog();
    EXPECT_EQ(again->file().text(), QStringLiteral("novella-7m-head-L5H4-q12-k3-2.png"));
    again->format().setCurrentIndex(again->format().findData(QStringLiteral("npz")));
    EXPECT_EQ(again->file().text(), QStringLiteral("novella-7m-head-L5H4-q12-k3.npz")) << "the first of its format";
    window.document().selection().all_heads();
    window.document().selection().clear_pins();
    ASSERT_TRUE(settle());
    EXPECT_EQ(dialog()->file().text(), QStringLiteral("novella-7m-head-L5.png"));
    window.document().selection().focus_head({Layer(5), Head(1)});
    window.document().selection().toggle_head(Head(6));
    ASSERT_TRUE(settle());
    EXPECT_EQ(dialog()->file().text(), QStringLiteral("novella-7m-head-L5H1+6.png"));
}

TEST_F(ExportWindow, AFileIsReplacedOnlyAfterAQuestion) {
    const QString file = folder.filePath(QStringLiteral("mine.svg"));
    ASSERT_TRUE(write_file(file, "mine"));
    const auto made = dialog();
    made->format().setCurrentIndex(1);
    made->file().setText(file);
    made->write();
    auto* question = made->findChild<QMessageBox*>();
    ASSERT_TRUE(question);
    EXPECT_TRUE(question->text().contains(QStringLiteral("mine.svg")));
    question->button(QMessageBox::Cancel)->click();
    ASSERT_TRUE(settle());
    EXPECT_EQ(QFile(file).size(), 4) << "it is as it was";
    QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
    made->write();
    question = made->findChild<QMessageBox*>();
    ASSERT_TRUE(question);
    for (QAbstractButton* button : question->buttons())
        if (button->text() == QStringLiteral("Replace")) button->click();
    ASSERT_TRUE(settle());
    EXPECT_GT(QFile(file).size(), 1000);
}

TEST_F(ExportWindow, ClosingEndsTheExportAndThePreview) {
    const auto made = dialog();
    std::atomic<int> begun = 0, ended = 0;
    made->write();
    ASSERT_TRUE(window.jobs().busy(Jobs::Lane::file));
    for (const auto lane : {Jobs::Lane::file, Jobs::Lane::preview}) window.jobs().start(lane, {}, until_cancelled(begun, ended));
    ASSERT_TRUE(wait_for([&] { return begun == 2; }));
    made->reject();
    EXPECT_FALSE(window.jobs().busy(Jobs::Lane::file) || window.jobs().busy(Jobs::Lane::preview));
    EXPECT_TRUE(wait_for([&] { return ended == 2; }));
    EXPECT_FALSE(QFile::exists(made->path())) << "nothing is left half written";
}

TEST_F(ExportWindow, AFailedExportIsSaidInTheDialogAlone) {
    ExportDialog made(window.document(), window.jobs(), *window.left_pane().shown(), QSize(800, 600), &window);
    made.show();
    made.file().setText(folder.filePath(QStringLiteral("no/such/folder/figure.png")));
    QSignalSpy failures(&window.jobs(), &Jobs::failed);
    made.write();
    ASSERT_TRUE(wait_for([&] { return window.jobs().idle() && !failures.isEmpty(); }));
    EXPECT_FALSE(window.error_panel().isVisible());
    made.close();
    window.jobs().start(Jobs::Lane::file, QStringLiteral("Copying"),
                        [](const CancelToken&, const Progress&) -> Jobs::Deliver { throw Error("no clipboard"); });
    ASSERT_TRUE(settle());
    EXPECT_TRUE(window.error_panel().isVisible());
}

TEST_F(ExportWindow, OnlyAFormatIsReplacedInTheName) {
    const auto made = dialog();
    made->file().setText(QStringLiteral("llama-3.2-1b-head-L5"));
    made->format().setCurrentIndex(made->format().findData(QStringLiteral("pdf")));
    EXPECT_EQ(made->file().text(), QStringLiteral("llama-3.2-1b-head-L5.pdf"));
    made->format().setCurrentIndex(made->format().findData(QStringLiteral("svg")));
    EXPECT_EQ(made->file().text(), QStringLiteral("llama-3.2-1b-head-L5.svg"));
    ASSERT_TRUE(settle());
}

TEST_F(ExportWindow, DataHasNoLooksAndShowsWhatIsInTheFile) {
    const auto made = dialog();
    made->format().setCurrentIndex(made->format().findData(QStringLiteral("npz")));
    ASSERT_TRUE(settle());
    EXPECT_FALSE(made->width_choice().isVisible());
    const QString arrays = made->data_preview().toPlainText();
    for (const char* part : {"weights          float32  [", "token_ids        int64    [", "tokens           text     ["})
        EXPECT_TRUE(arrays.contains(QLatin1String(part))) << arrays.toStdString();
    made->format().setCurrentIndex(made->format().findData(QStringLiteral("csv")));
    ASSERT_TRUE(settle());
    EXPECT_TRUE(made->data_preview().toPlainText().startsWith(QStringLiteral("layer,head,query")));
    made->format().setCurrentIndex(made->format().findData(QStringLiteral("pdf")));
    ASSERT_TRUE(settle());
    EXPECT_TRUE(made->width_choice().isVisible());
    EXPECT_FALSE(made->data_preview().isVisible());
    EXPECT_TRUE(made->file().text().endsWith(QStringLiteral(".pdf")));
}

TEST_F(ExportWindow, TypeThatIsTooSmallIsSaidAndCanBeEnlarged) {
    ASSERT_TRUE(show_view("neuron"));
    const auto made = dialog();
    made->width_choice().setCurrentIndex(1);  // 85 mm
    ASSERT_TRUE(settle());
    ASSERT_TRUE(made->type_note().isVisible());
    EXPECT_TRUE(made->type_note().text().startsWith(QStringLiteral("Smallest type: 4.")))
        << made->type_note().text().toStdString();
    ASSERT_TRUE(made->widen().isVisible());
    made->widen().click();
    ASSERT_TRUE(settle());
    EXPECT_FALSE(made->widen().isVisible());
    EXPECT_GT(*made->options().width_mm, 110);
    made->width_choice().setCurrentIndex(0);
    ASSERT_TRUE(settle());
    EXPECT_FALSE(made->type_note().isVisible()) << "px have no points";
}

TEST_F(ExportWindow, DataHaveNoSizeOnPaper) {
    const auto made = dialog();
    made->width_choice().setCurrentIndex(1);  // 85 mm, of the picture
    EXPECT_TRUE(made->options().width_mm);
    made->format().setCurrentIndex(made->format().findData(QStringLiteral("npz")));
    EXPECT_FALSE(made->options().width_mm);
    made->format().setCurrentIndex(made->format().findData(QStringLiteral("pdf")));
    EXPECT_TRUE(made->options().width_mm) << "as it was chosen";
    ASSERT_TRUE(settle());
}

}  // namespace export_dialog_test
}  // namespace headlight::ui
