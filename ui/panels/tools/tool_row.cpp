// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/tools/tool_row.h"

#include "ui/document/examples.h"
#include "ui/style/appearance.h"
#include "ui/style/widgets.h"

#include <QMenu>
#include <QPainter>
#include <QVBoxLayout>

#include <algorithm>

namespace headlight::ui {

namespace {

constexpr int tool_gap = 8;

/// "Options", with a dot where something is not the default.
class OptionsButton : public QToolButton {
public:
    bool dotted() const { return dotted_; }
    void set_dotted(bool on) {
        dotted_ = on;
        update();
    }

protected:
    void paintEvent(QPaintEvent* event) override {
        QToolButton::paintEvent(event);
        if (!dotted_) return;
        QPainter painter(this);
        painter.setRenderHint(QPainter::Antialiasing);
        painter.setPen(Qt::NoPen);
        painter.setBrush(Appearance::instance().theme().accent);
        painter.drawEllipse(QRectF(width() - 10, height() / 2.0 - 8, 5, 5));
    }

private:
    bool dotted_ = false;
};

}  // namespace

ToolRow::ToolRow(Document& document, Jobs& jobs, QWidget* parent)
    : QWidget(parent),
      document_(document),
      views_(new ViewPills(document, this)),
      subject_(new SubjectChips(document, jobs)),
      room_(new QWidget),
      line_(new QFrame),
      options_(new OptionsPopover(document, this)) {
    setObjectName(QStringLiteral("ToolRow"));
    setAttribute(Qt::WA_StyledBackground);
    auto* lines = new_column(this, {0, 0, 0, 0}, 0);
    const auto line_of = [&](const QMargins& margins) {
        auto* row = new QHBoxLayout;
        row->setSpacing(tool_gap);
        row->setContentsMargins(margins);
        lines->addLayout(row);
        return row;
    };
    first_ = line_of({12, 0, 12, 0});
    line_->setProperty("role", "rule");
    lines->addWidget(line_);
    second_ = line_of({8, 5, 12, 5});
    third_ = line_of({12, 0, 12, 5});

    drawing_ = new OptionsButton;
    drawing_->setProperty("kind", "quiet");
    drawing_->setProperty("options", true);
    drawing_->setFocusPolicy(Qt::TabFocus);
    drawing_->setText(QStringLiteral("Options"));
    drawing_->setAccessibleName(QStringLiteral("Options of the view"));
    filter_ = menu_button(QStringLiteral("Sentence pairs"));
    batch_ = menu_button(QStringLiteral("Which texts"));
    examples_ = menu_button(QStringLiteral("Example sentences"));
    examples_->setText(QStringLiteral("examples"));
    split_ = quiet_button("split", QStringLiteral("Split"), QStringLiteral("Two views side by side"));
    split_->setCheckable(true);
    attention_ = new AttentionSwitch(document_);
    side_ = new SideSwitch(document_);
    auto* subjects = new_row(room_, {0, 0, 0, 0}, 6);
    add_widgets(*subjects, {subject_, filter_, batch_, examples_});

    // Of fixed height: a figure whose weight is dragged does not move when A and B come.
    constexpr int row_height = 38, chip_height = 30;
    views_->questions().setFixedHeight(row_height);
    room_->setFixedHeight(chip_height);
    setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
    first_->addWidget(&views_->questions(), 1);
    second_->addWidget(&views_->pills());
    second_->addStretch(1);
    add_widgets(*second_, {room_, attention_, side_, drawing_, split_});
    third_->addStretch(1);

    connect(drawing_, &QToolButton::clicked, this, [this] { options_->open_below(drawing_, view_); });
    connect(split_, &QToolButton::clicked, this, [this](bool on) { document_.edit_views([&](OpenViews& v) { v.split = on; }); });
    connect(&document_, &Document::changed, this, &ToolRow::show_document);
    connect(views_, &ViewPills::view_asked, this, &ToolRow::view_asked);
    connect(views_, &ViewPills::shown, this, &ToolRow::arrange);
    connect(subject_, &SubjectChips::resized, this, &ToolRow::arrange);
    build_menus();
    show_document();
}

bool ToolRow::open_transfer() {
    if (!figure::view_spec(view_).needs.pattern) return false;
    options_->open_below(drawing_, view_, OptionsPopover::First::scale);
    return true;
}

QToolButton* ToolRow::menu_button(const QString& name) {
    auto* button = new QToolButton;
    button->setProperty("kind", "quiet");
    button->setPopupMode(QToolButton::InstantPopup);
    button->setFocusPolicy(Qt::TabFocus);
    button->setAccessibleName(name);
    button->setToolTip(name);
    return button;
}

void ToolRow::build_menus() {
    auto* filters = new QMenu(filter_);
    for (const auto& row : analyze::pair_filters)
        connect(filters->addAction(QString::fromUtf8(row.title)), &QAction::triggered, this,
                [this, f = row.value] { document_.edit_options([f](ViewOptions& o) { o.pattern.filter = f; }); });
    filter_->setMenu(filters);
    auto* batch = new QMenu(batch_);
    connect(batch->addAction(QStringLiteral("Add texts …")), &QAction::triggered, this, &ToolRow::batch_asked);
    connect(batch->addAction(QStringLiteral("This text alone")), &QAction::triggered, this,
            [this] { document_.edit_options([](ViewOptions& o) { o.batch_file.clear(); }); });
    batch->setToolTip(QStringLiteral("A text file with one text per line, combined with the text above"));
    batch_->setMenu(batch);
    auto* examples = new QMenu(examples_);
    for (int i = 0; i < int(example_sentences().size()); ++i)
        connect(examples->addAction(example_sentences()[i]), &QAction::triggered, this, [this, i] { Q_EMIT example_asked(i); });
    examples_->setMenu(examples);
}

QString ToolRow::batch_text() const {
    if (const auto& batch = document_.batch()) return QStringLiteral("this text and %1 more").arg(batch->traces.size());
    return document_.options().batch_file.isEmpty() ? QStringLiteral("this text") : QStringLiteral("running texts …");
}

void ToolRow::set_view(const View& view) {
    view_ = view;
    views_->set_view(view);
    subject_->set_view(view);
    side_->set_view(view);
    show_document();
}

/// In a small room the questions fold into a list in front of the pills; chips lose their words, then have a line of their own;
/// pills without room stand behind "+2".
void ToolRow::arrange() {
    const auto wide = [](const QWidget* of) { return of->isHidden() ? 0 : of->sizeHint().width() + tool_gap; };
    const QMargins margins = second_->contentsMargins();
    const int room = width() - margins.left() - margins.right();
    const int switches = wide(attention_) + wide(side_);
    views_->fold_questions(views_->width_of_questions() + switches + tool_gap > room);
    QHBoxLayout* of_switches = views_->questions_folded() ? second_ : first_;
    if (of_switches->indexOf(side_) < 0) {
        for (QWidget* each : std::initializer_list<QWidget*>{attention_, side_}) {
            first_->removeWidget(each);
            second_->removeWidget(each);
            if (of_switches == first_)
                first_->addWidget(each);
            else
                second_->insertWidget(second_->indexOf(drawing_), each);
        }
    }
    line_->setVisible(!views_->questions_folded());
    int for_pills = room - wide(drawing_) - wide(split_) - 3 * tool_gap - (views_->questions_folded() ? switches : 0);
    const bool chips = !subject_->empty() || !filter_->isHidden() || !batch_->isHidden() || !examples_->isHidden();
    const QSignalBlocker quiet(subject_);
    subject_->set_compact(false);
    const auto of_chips = [&] { return chips ? room_->sizeHint().width() + 2 * tool_gap : 0; };
    const int pills = views_->width_of_pills();
    bool inside = pills + of_chips() <= for_pills;
    if (!inside && chips) {
        subject_->set_compact(true);
        inside = pills + of_chips() <= for_pills;
        if (!inside && of_chips() <= room) subject_->set_compact(of_chips() > room);
    }
    if (inside) for_pills -= of_chips();
    QHBoxLayout* of_room = inside ? second_ : third_;
    if (of_room->indexOf(room_) < 0) {
        (inside ? third_ : second_)->removeWidget(room_);
        if (inside)
            second_->insertWidget(2, room_);
        else
            third_->insertWidget(0, room_);
    }
    room_->setVisible(chips);
    third_->setContentsMargins(12, 0, 12, inside || !chips ? 0 : 5);
    views_->fit_pills(for_pills);
}

void ToolRow::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    arrange();
}

void ToolRow::show_document() {
    const bool pictures = reads_pictures(document_.model());
    const figure::ViewSpec& spec = figure::view_spec(view_);
    const bool changed = !looks_default(document_.options(), view_);
    static_cast<OptionsButton*>(drawing_)->set_dotted(changed);
    drawing_->setVisible(OptionsPopover::has_options(view_));
    drawing_->setToolTip(changed ? QStringLiteral("How the view looks; something is not the default")
                                 : QStringLiteral("How the view looks"));
    batch_->setVisible(spec.needs.texts && !pictures);
    batch_->setText(batch_text());
    examples_->setVisible(spec.offers_examples && !pictures);
    filter_->setText(QString::fromUtf8(enum_row(document_.options().pattern.filter).title));
    filter_->setVisible(spec.needs.pattern && document_.trace() && document_.trace()->has_sentence_pair());
    split_->setChecked(document_.views().split);
    arrange();
}

}  // namespace headlight::ui
