// SPDX-License-Identifier: GPL-3.0-or-later
// What the notice above the views offers.
#include "ui/window/main_window.h"

#include <QFileInfo>
#include <QSettings>

#include <utility>

namespace headlight::ui {

void MainWindow::offer_reopening() {
    const QString last = QSettings().value(QStringLiteral("window/last")).toString();
    if (last.isEmpty() || !QFileInfo::exists(last)) return;
    try {
        const Session session = load_session(last.toStdString());
        const PromptText& prompt = session.state.prompt;
        if (last == Autosave::last_file() && prompt.image.isEmpty() && prompt.text == QString::fromUtf8(example_sentence)) return;
        notice_->offer(QStringLiteral("Last open: %1").arg(caption_of(session)), QStringLiteral("Reopen what was open"),
                       [this] { reopen_last(); });
    } catch (const std::exception&) {  // it will not open; nobody has asked for it yet
    }
}

void MainWindow::show_run_question() {
    const bool asks = document_->why_not_run() == Document::NotRun::long_text;
    if (asks) notice_->offer(document_->long_text_note(), QStringLiteral("Run"), [this] { document_->run_now(); });
    if (std::exchange(asks_to_run_, asks) && !asks) notice_->hide();
}

/// B was chosen beside another text.
void MainWindow::ask_about_b() {
    const auto& unrelated = document_->unrelated_b();
    if (unrelated)
        notice_->offer(QStringLiteral("B shares %1 of %2 tokens with this text, and A is shown alone.")
                           .arg(unrelated->shared)
                           .arg(unrelated->of),
                       {QStringLiteral("End the comparison"), [this] { action(Command::compare_stop).trigger(); }},
                       {QStringLiteral("Compare all the same"), [this] { document_->keep_b(); }});
    if (std::exchange(asks_about_b_, unrelated.has_value()) && !unrelated) notice_->hide();
}

/// Why B is not there, where nobody has asked for it beside this text: while one types, that is no error.
void MainWindow::tell_of_b(const ErrorFacts& facts) {
    notice_->offer(QString::fromStdString(facts.problem) + QStringLiteral(": A is shown alone."),
                   QStringLiteral("End the comparison"), [this] { action(Command::compare_stop).trigger(); });
    asks_about_b_ = true;
}

}  // namespace headlight::ui
