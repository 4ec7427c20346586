// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/prompt/top_bar.h"

#include "headlight/model/model.h"
#include "ui/panels/prompt/prompt_bar.h"
#include "ui/style/appearance.h"
#include "ui/style/widgets.h"

#include <QHBoxLayout>
#include <QMenu>
#include <QPainter>
#include <QStyleOptionButton>
#include <QStylePainter>

#include <utility>

namespace headlight::ui {

namespace {

constexpr int wide_enough_for_field = 1280, wide_enough_for_pages = 920, high_enough_for_row = 720;

/// Style sheets ignore the left padding of a button with a menu: the name is painted here.
class ModelButton : public QPushButton {
protected:
    void paintEvent(QPaintEvent*) override {
        QStylePainter painter(this);
        QStyleOptionButton option;
        initStyleOption(&option);
        const QString name = std::exchange(option.text, QString());
        painter.drawControl(QStyle::CE_PushButton, option);
        painter.setFont(figure::ui_font(13, QFont::DemiBold));
        painter.setPen(palette().color(QPalette::ButtonText));
        const QRect room = rect().adjusted(12, 0, -28, 0);
        painter.drawText(room, Qt::AlignLeft | Qt::AlignVCenter,
                         painter.fontMetrics().elidedText(name, Qt::ElideMiddle, room.width()));
    }
};

/// The name of a page, with a dot while it works.
class PageButton : public QToolButton {
public:
    void set_tip(const QString& tip) { setToolTip(tip_ = tip); }
    void set_progress(const QString& count) { setToolTip(QStringLiteral("%1\n%2").arg(tip_, count)); }
    void set_busy(bool busy) {
        if (!busy) setToolTip(tip_);
        busy_ = busy;
        update();
    }

protected:
    void paintEvent(QPaintEvent* event) override {
        QToolButton::paintEvent(event);
        if (!busy_) return;
        QPainter painter(this);
        painter.setRenderHint(QPainter::Antialiasing);
        painter.setPen(Qt::NoPen);
        painter.setBrush(Appearance::instance().theme().accent);
        painter.drawEllipse(QRectF(width() - 9, 5, 4, 4));
    }

private:
    bool busy_ = false;
    QString tip_;
};

/// Opens the palette: a field to look at, a button to press.
class PaletteButton : public QToolButton {
public:
    bool folded = false;

protected:
    void paintEvent(QPaintEvent* event) override {
        QToolButton::paintEvent(event);
        if (folded) return;
        QPainter painter(this);
        painter.setFont(figure::ui_font(12));
        painter.setPen(Appearance::instance().theme().faint);
        painter.drawText(rect().adjusted(12, 0, -12, 0), Qt::AlignRight | Qt::AlignVCenter, QStringLiteral("Ctrl K"));
        painter.setPen(Appearance::instance().theme().muted);
        painter.drawText(rect().adjusted(12, 0, -60, 0), Qt::AlignLeft | Qt::AlignVCenter,
                         QStringLiteral("Head, view, token or command"));
    }
};

std::optional<Page> page_of(Jobs::Lane lane) {
    using Lane = Jobs::Lane;
    switch (lane) {
        case Lane::corpus: return Page::corpus;
        case Lane::map: return Page::map;
        case Lane::sweep: return Page::sweep;
        default: return std::nullopt;
    }
}

}  // namespace

TopBar::TopBar(Document& document, Jobs& jobs, QWidget* parent)
    : QWidget(parent),
      document_(document),
      jobs_(jobs),
      model_(new ModelButton),
      segments_(new QFrame),
      list_(new QToolButton),
      palette_(new PaletteButton),
      menu_(new QToolButton) {
    setObjectName(QStringLiteral("TopBar"));
    setAttribute(Qt::WA_StyledBackground);
    model_->setObjectName(QStringLiteral("ModelButton"));
    model_->setProperty("kind", "button");
    model_->setAccessibleName(QStringLiteral("Model"));
    model_->setMinimumWidth(138);
    model_->setMaximumWidth(240);
    model_->setFixedHeight(32);
    segments_->setProperty("role", "segments");
    segments_->setAccessibleName(QStringLiteral("Pages"));
    auto* inside = new_row(segments_, {3, 3, 3, 3}, 1);
    list_->setProperty("kind", "button");
    list_->setProperty("list", true);
    list_->setPopupMode(QToolButton::InstantPopup);
    list_->setFixedHeight(32);
    list_->setMenu(new QMenu(list_));
    list_->setAccessibleName(QStringLiteral("Page"));
    for (const EnumRow<Page>& row : pages) {
        auto* button = new PageButton;
        const QString title = QString::fromUtf8(row.title.data(), qsizetype(row.title.size()));
        button->setProperty("kind", "segment");
        button->setProperty("page", true);
        button->setText(title);
        button->setCheckable(true);
        button->setFocusPolicy(Qt::TabFocus);
        button->setAccessibleName(QStringLiteral("%1 page").arg(title));
        const QString note = QString::fromUtf8(row.note.data(), qsizetype(row.note.size()));
        button->set_tip(QStringLiteral("%1 (Ctrl+%2)").arg(note).arg(int(row.value) + 1));
        connect(button, &QToolButton::clicked, this, [this, page = row.value] { Q_EMIT page_asked(page); });
        connect(list_->menu()->addAction(title), &QAction::triggered, this,
                [this, page = row.value] { Q_EMIT page_asked(page); });
        buttons_[row.value] = button;
        inside->addWidget(button);
    }
    palette_->setProperty("kind", "palette");
    palette_->setFixedHeight(32);
    palette_->setFocusPolicy(Qt::TabFocus);
    palette_->setIconSize({16, 16});
    palette_->setAccessibleName(QStringLiteral("Head, view, token or command"));
    palette_->setToolTip(QStringLiteral("All commands, heads, views, measures and tokens (Ctrl+K)"));
    connect(palette_, &QToolButton::clicked, this, &TopBar::palette_asked);
    menu_->setProperty("kind", "button");
    menu_->setProperty("square", true);
    menu_->setIcon(icon(QStringLiteral("menu")));
    menu_->setIconSize({16, 16});
    menu_->setFixedSize(32, 32);
    menu_->setPopupMode(QToolButton::InstantPopup);
    menu_->setAccessibleName(QStringLiteral("Menu"));
    menu_->setToolTip(QStringLiteral("The menus (F10)"));
    row_ = new_row(this, {16, 8, 16, 8}, 12);
    add_widgets(*row_, {model_, segments_, list_});
    row_->addStretch(1);
    add_widgets(*row_, {palette_, menu_});
    connect(&document_, &Document::changed, this, &TopBar::show_document);
    connect(&jobs_, &Jobs::started, this, &TopBar::show_work);
    connect(&jobs_, &Jobs::finished, this, &TopBar::show_work);
    connect(&jobs_, &Jobs::progressed, this, [this](Jobs::Lane lane, const ProgressStep& step) {
        const auto page = page_of(lane);
        if (page && step.total > 0)
            static_cast<PageButton*>(buttons_.at(*page))->set_progress(QStringLiteral("%1 of %2").arg(step.done).arg(step.total));
    });
    show_document();
    set_page(Page::text);
}

void TopBar::show_work(Jobs::Lane lane) {
    if (const auto page = page_of(lane)) static_cast<PageButton*>(buttons_.at(*page))->set_busy(jobs_.busy(lane));
}

void TopBar::set_page(Page page) {
    for (const auto& [each, button] : buttons_) button->setChecked(each == page);
    list_->setText(buttons_.at(page)->text());
}

void TopBar::show_document() {
    const auto& model = document_.model().model;
    const QString name = model ? QString::fromStdString(model->config().name) : QStringLiteral("Open a model");
    model_->setText(name);
    model_->setToolTip(document_.model().reference);
}

void TopBar::fit(QSize window, PromptBar* into) {
    const bool pages_fit = window.width() >= wide_enough_for_pages;
    const bool joins = into && window.height() < high_enough_for_row;
    segments_->setVisible(pages_fit && !joins);
    list_->setVisible(!pages_fit || joins);
    auto* field = static_cast<PaletteButton*>(palette_);
    field->folded = window.width() < wide_enough_for_field;
    palette_->setFixedWidth(field->folded ? 32 : 280);
    palette_->setIcon(field->folded ? icon(QStringLiteral("search")) : QIcon());
    if (into) into->layout()->setContentsMargins(16, joins ? 10 : 0, 16, 7);
    if (std::exchange(joined_, joins) == joins) return;
    if (joins) {
        into->lead().insertWidget(0, model_, 0, Qt::AlignTop);
        into->lead().insertWidget(1, list_, 0, Qt::AlignTop);
        into->trail().addWidget(menu_, 0, Qt::AlignTop);
    } else {
        row_->insertWidget(0, model_);
        row_->insertWidget(2, list_);
        row_->addWidget(menu_);
    }
    for (QWidget* moved : std::initializer_list<QWidget*>{model_, menu_}) moved->show();
    list_->setVisible(!pages_fit || joins);
    setVisible(!joins);
}

}  // namespace headlight::ui
