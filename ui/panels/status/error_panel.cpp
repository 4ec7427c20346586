// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/status/error_panel.h"

#include "ui/style/appearance.h"
#include "ui/style/widgets.h"

#include <QClipboard>
#include <QGuiApplication>
#include <QHBoxLayout>
#include <QResizeEvent>
#include <QScrollArea>
#include <QScrollBar>
#include <QToolButton>
#include <QVBoxLayout>

#include <algorithm>

namespace headlight::ui {

namespace {

/// As high as its texts where there is room, else they scroll: a box layout would not make wrapped labels lower than they are.
class MessageArea : public QScrollArea {
public:
    explicit MessageArea(QWidget* texts) {
        setFrameShape(QFrame::NoFrame);
        setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
        setWidgetResizable(true);
        setFocusPolicy(Qt::NoFocus);  // the text itself takes it
        setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Maximum);
        texts->setAutoFillBackground(false);
        viewport()->setAutoFillBackground(false);
        setWidget(texts);
    }
    QSize sizeHint() const override { return {300, widget()->layout()->totalHeightForWidth(std::max(width(), 100))}; }
    QSize minimumSizeHint() const override { return {100, std::min(sizeHint().height(), 3 * fontMetrics().height())}; }

protected:
    void resizeEvent(QResizeEvent* event) override {
        QScrollArea::resizeEvent(event);
        if (event->size().width() != event->oldSize().width()) updateGeometry();
    }
};

}  // namespace

ErrorPanel::ErrorPanel(QWidget* parent) : QFrame(parent), title_(new QLabel), body_(new QLabel), offer_(new QPushButton) {
    setObjectName(QStringLiteral("ErrorPanel"));
    setAccessibleName(QStringLiteral("Error"));
    auto* row = new_row(this, {14, 10, 8, 10});
    auto* area = new QWidget;
    auto* texts = new QVBoxLayout(area);
    texts->setContentsMargins(0, 0, 0, 0);
    texts->setSpacing(3);
    title_->setFont(figure::ui_font(13, QFont::DemiBold));
    title_->setTextFormat(Qt::PlainText);
    title_->setWordWrap(true);
    body_->setFont(figure::ui_font(12));
    body_->setTextFormat(Qt::PlainText);
    body_->setWordWrap(true);
    body_->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    texts->addWidget(title_);
    texts->addWidget(body_);
    message_ = new MessageArea(area);
    row->addWidget(message_, 1);
    row->addWidget(offer_, 0, Qt::AlignTop);
    offer_->hide();
    connect(offer_, &QPushButton::clicked, this, [this] {
        if (const auto work = offered_) work();
    });
    const auto button = [&](const char* icon_name, const QString& name) {
        QToolButton* made = quiet_button(icon_name, name, name);
        row->addWidget(made, 0, Qt::AlignTop);
        return made;
    };
    connect(button("copy", QStringLiteral("Copy the message")), &QToolButton::clicked, this,
            [this] { QGuiApplication::clipboard()->setText(copied_); });
    connect(button("close", QStringLiteral("Close")), &QToolButton::clicked, this, &QWidget::hide);
    hide();
}

void ErrorPanel::show_failure(const Failure& failure) {
    offer_->hide();
    const ErrorFacts& facts = failure.facts;
    const auto text = [](const std::string& s) { return QString::fromStdString(s); };
    title_->setText(failure.doing.isEmpty() ? text(facts.problem)
                                            : QStringLiteral("%1: %2").arg(failure.doing, text(facts.problem)));
    QStringList lines;
    if (!facts.file.empty() || !facts.item.empty()) {
        QStringList where;
        if (!facts.item.empty()) where << text(facts.item);
        if (!facts.file.empty()) where << text(facts.file);
        lines << QStringLiteral("Where: %1").arg(where.join(QStringLiteral(" in ")));
    }
    if (!facts.expected.empty()) lines << QStringLiteral("Expected: %1").arg(text(facts.expected));
    if (!facts.found.empty()) lines << QStringLiteral("Found: %1").arg(text(facts.found));
    if (!facts.hint.empty()) lines << QStringLiteral("What to do: %1").arg(text(facts.hint));
    body_->setText(lines.join('\n'));
    body_->setVisible(!lines.isEmpty());
    copied_ = title_->text() + '\n' + body_->text();
    message_->updateGeometry();
    message_->verticalScrollBar()->setValue(0);
    show();
}

void ErrorPanel::offer(const QString& what, std::function<void()> work) {
    offered_ = std::move(work);
    offer_->setText(what);
    offer_->show();
}

}  // namespace headlight::ui
