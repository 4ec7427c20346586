// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/tools/tool_row.h"

#include "headlight/analyze/contribution/value_mix.h"
#include "headlight/model/outline.h"
#include "ui/canvas/recipe.h"
#include "ui/document/examples.h"
#include "ui/style/appearance.h"
#include "ui/style/widgets.h"

#include <QHBoxLayout>
#include <QMenu>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>

namespace headlight::ui {

namespace {

using analyze::Weighting;
using figure::ViewOption;
using figure::ViewSpec;

constexpr int slider_steps = 100, tab_gap = 4;

}  // namespace

ToolRow::ToolRow(Document& document, Jobs& jobs, QWidget* parent)
    : QWidget(parent),
      document_(document),
      popover_(new TransferPopover(document, this)),
      options_(new OptionsPopover(document, jobs, this)) {
    setObjectName(QStringLiteral("ToolRow"));
    setAttribute(Qt::WA_StyledBackground);
    auto* lines = new_column(this, {16, 6, 12, 5}, 4);
    auto* row = new QHBoxLayout;
    row->setSpacing(tab_gap);
    lines->addLayout(row);
    for (const ViewSpec& spec : figure::view_specs()) {
        if (!spec.tab) continue;
        const View view = spec.id;
        auto* tab = new QToolButton;
        tab->setProperty("kind", "tab");
        tab->setText(view_title(view));
        tab->setCheckable(true);
        tab->setFocusPolicy(Qt::TabFocus);
        tab->setAccessibleName(QStringLiteral("%1 view").arg(view_title(view)));
        tab->setToolTip(QStringLiteral("%1 view (%2)").arg(view_title(view)).arg(int(tabs_.size()) + 1));
        connect(tab, &QToolButton::clicked, this, [this, view] {
            Q_EMIT view_asked(view);
            show_document();  // a click on the open view must not uncheck it
        });
        tabs_[view] = tab;
        row->addWidget(tab);
    }
    more_ = menu_button(QStringLiteral("More views"));
    more_->setProperty("kind", "tab");
    more_->setProperty("menu", true);
    more_->setCheckable(true);
    row->addWidget(more_);
    row->addStretch();
    drawing_ = menu_button(QStringLiteral("Options of the view"));
    transfer_ = menu_button(QStringLiteral("How weights are drawn"));
    filter_ = menu_button(QStringLiteral("Sentence pairs"));
    batch_ = menu_button(QStringLiteral("Which texts"));
    examples_ = menu_button(QStringLiteral("Example sentences"));
    examples_->setText(QStringLiteral("examples"));
    tensors_ = new QToolButton;
    tensors_->setProperty("kind", "quiet");
    tensors_->setProperty("plain", true);
    tensors_->setFocusPolicy(Qt::TabFocus);
    tensors_->setText(QStringLiteral("tensors …"));
    tensors_->setAccessibleName(QStringLiteral("Tensors of the model"));
    tensors_->setToolTip(QStringLiteral("Every tensor of the files: name, shape, type, and the distribution of its values"));
    connect(tensors_, &QToolButton::clicked, this, &ToolRow::tensors_asked);
    sinks_ =
        new RingToggle(QStringLiteral("hide sinks"),
                       QStringLiteral("Leave out the first token and every other sink: a token to which a tenth of the heads "
                                      "give much attention although its value is short. Rows add up to 1 again"));
    special_ = new RingToggle(QStringLiteral("hide special"), QStringLiteral("Leave out special tokens; rows add up to 1 again"));
    words_ = new RingToggle(QStringLiteral("words"),
                            QStringLiteral("Sub-words as one word: columns added, rows averaged (Clark 2019)"));
    split_ = quiet_button("split", QStringLiteral("Split"), QStringLiteral("Two views side by side"));
    split_->setCheckable(true);
    row->addWidget(split_);
    // Below the tabs: in one row they would be wider than the canvas of a laptop.
    tools_ = new QWidget;
    auto* tools = new_row(tools_, {0, 0, 0, 0}, 6);
    make_slider();
    add_widgets(*tools, {drawing_, batch_, examples_, tensors_, slider_name_, slider_, slider_value_, transfer_, filter_, sinks_,
                         special_, words_});
    tools->addStretch();
    attention_ = new AttentionSwitch(document_);
    side_ = new SideSwitch(document_);
    auto* second = new QHBoxLayout;
    second->setSpacing(10);
    second->addWidget(attention_, 0, Qt::AlignLeft);
    second->addWidget(side_, 0, Qt::AlignLeft);
    second->addWidget(tools_, 1);
    lines->addLayout(second);

    for (QToolButton* button : {transfer_, drawing_}) {
        button->setIcon(icon(QStringLiteral("chevron-down")));  // opens a popover; menus have their own arrow
        button->setIconSize({12, 12});
        button->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
        button->setLayoutDirection(Qt::RightToLeft);
        button->setProperty("plain", true);
    }
    connect(drawing_, &QToolButton::clicked, this, [this] { options_->open_below(drawing_, view_); });
    connect(transfer_, &QToolButton::clicked, this, &ToolRow::open_transfer);
    connect(sinks_, &RingToggle::clicked, this,
            [this](bool on) { document_.edit_options([on](ViewOptions& o) { o.pattern.hide_sinks = on; }); });
    connect(special_, &RingToggle::clicked, this,
            [this](bool on) { document_.edit_options([on](ViewOptions& o) { o.pattern.hide_special = on; }); });
    connect(words_, &RingToggle::clicked, this,
            [this](bool on) { document_.edit_options([on](ViewOptions& o) { o.pattern.merge_words = on; }); });
    connect(split_, &QToolButton::clicked, this, [this](bool on) { document_.edit_views([&](OpenViews& v) { v.split = on; }); });
    connect(&document_, &Document::changed, this, &ToolRow::show_document);
    build_menus();
    show_document();
}

const ViewOption* ToolRow::slider_option() const {
    for (const ViewOption& option : figure::view_spec(view_).options)
        if (option.slider_high > 0) return &option;
    return nullptr;
}

/// Steps are equal ratios: small values matter as much as large ones.
void ToolRow::make_slider() {
    slider_name_ = new QLabel;
    slider_value_ = new QLabel;
    slider_value_->setFont(figure::ui_font(12));
    slider_value_->setMinimumWidth(52);
    slider_ = new QSlider(Qt::Horizontal);
    slider_->setRange(0, slider_steps);
    slider_->setFixedWidth(170);
    slider_name_->setBuddy(slider_);
    connect(slider_, &QSlider::valueChanged, this, [this](int step) {
        const ViewOption* option = slider_option();
        if (!option) return;
        const double value = option->slider_low * std::pow(option->slider_high / option->slider_low, double(step) / slider_steps);
        document_.edit_options(
            [&](ViewOptions& o) { set_view_value(o, view_, option->name, QString::number(value, 'g', 3).toStdString()); });
    });
}

void ToolRow::show_slider() {
    const ViewOption* option = slider_option();
    for (QWidget* part : std::initializer_list<QWidget*>{slider_name_, slider_, slider_value_})
        part->setVisible(option != nullptr);
    if (!option) return;
    const double value = std::clamp(QString::fromStdString(view_value(document_.options(), view_, *option)).toDouble(),
                                    option->slider_low, option->slider_high);
    slider_name_->setText(QString::fromUtf8(option->title));
    slider_->setAccessibleName(QString::fromUtf8(option->title));
    slider_->setToolTip(QString::fromUtf8(option->help));
    const QSignalBlocker quiet(slider_);
    if (!slider_->isSliderDown())
        slider_->setValue(int(std::lround(slider_steps * std::log(value / option->slider_low) /
                                          std::log(option->slider_high / option->slider_low))));
    slider_value_->setText(QStringLiteral("%1").arg(value, 0, 'g', 3));
}

bool ToolRow::open_transfer() {
    if (!figure::view_spec(view_).needs.pattern) return false;
    popover_->open_below(transfer_);
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
    auto* more = new QMenu(more_);
    for (const ViewSpec& spec : figure::view_specs())
        if (spec.tab) {
            folded_[spec.id] = more->addAction(view_title(spec.id));
            connect(folded_[spec.id], &QAction::triggered, this, [this, view = View(spec.id)] { Q_EMIT view_asked(view); });
        }
    more->setToolTipsVisible(true);
    more->addSeparator();
    std::map<std::string, QMenu*> groups;
    for (const ViewSpec& spec : figure::view_specs()) {
        if (spec.tab) continue;
        QMenu*& group = groups[spec.group];
        if (!group) {
            group = more->addMenu(QString::fromUtf8(spec.group));
            group->setToolTipsVisible(true);
        }
        views_in_menu_[spec.id] = group->addAction(QString::fromUtf8(spec.title));
        connect(views_in_menu_[spec.id], &QAction::triggered, this, [this, view = spec.id] { Q_EMIT view_asked(view); });
    }
    connect(more, &QMenu::aboutToShow, this, [this] {
        for (const auto& [view, action] : views_in_menu_) {
            const QString why = why_no_view(document_, view);
            action->setEnabled(why.isEmpty());
            action->setToolTip(why.isEmpty() ? action->text() : why);
            action->setCheckable(true);
            action->setChecked(view == view_);
        }
    });
    more_->setMenu(more);
    connect(more, &QMenu::aboutToHide, this, &ToolRow::show_document);
}

/// The text of the button of the view's options: the weighting, or the first choice.
QString ToolRow::options_text() const {
    const ViewSpec& spec = figure::view_spec(view_);
    const analyze::PatternOptions& pattern = document_.options().pattern;
    if (spec.needs.pattern && pattern.weighting != Weighting::attention) {
        const QString name = QString::fromUtf8(enum_row(pattern.weighting).title);
        return name.left(1).toLower() + name.mid(1);
    }
    for (const ViewOption& option : spec.options) {
        if (option.kind != figure::OptionKind::choice) continue;
        const std::string value = view_value(document_.options(), view_, option);
        if (value == "none") continue;
        return QString::fromUtf8(figure::choice_title(option, value)).toLower();
    }
    return spec.needs.pattern ? QStringLiteral("attention") : QStringLiteral("options");
}

QString ToolRow::batch_text() const {
    if (const auto& batch = document_.batch()) return QStringLiteral("this text and %1 more").arg(batch->traces.size());
    return document_.options().batch_file.isEmpty() ? QStringLiteral("this text") : QStringLiteral("running texts …");
}

void ToolRow::set_view(const View& view) {
    view_ = view;
    show_document();
}

/// Tabs without room in a narrow window move into the menu, except for that of the open view.
void ToolRow::fit_tabs() {
    const bool pictures = reads_pictures(document_.model());
    const QMargins margins = layout()->contentsMargins();
    const auto wide = [this](const QWidget* of) { return of->sizeHint().width() + tab_gap; };
    int room = width() - margins.left() - margins.right() - wide(more_) - wide(split_);
    if (const auto open = tabs_.find(view_); open != tabs_.end()) room -= wide(open->second);
    bool full = false;
    for (const ViewSpec& spec : figure::view_specs()) {
        if (!spec.tab) continue;
        QToolButton* tab = tabs_.at(spec.id);
        const bool has = !spec.of_pictures || pictures;
        if (has && spec.id != view_) {
            full = full || wide(tab) > room;
            if (!full) room -= wide(tab);
        }
        const bool folds = has && full && spec.id != view_;
        tab->setVisible(has && !folds);
        folded_.at(spec.id)->setVisible(folds);
    }
}

void ToolRow::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    fit_tabs();
}

void ToolRow::show_document() {
    for (const auto& [view, tab] : tabs_) tab->setChecked(view == view_);
    const bool pictures = reads_pictures(document_.model());
    const ViewOptions& o = document_.options();
    const ViewSpec& spec = figure::view_spec(view_);
    more_->setText(spec.tab ? QStringLiteral("More") : QString::fromUtf8(spec.title));
    more_->setChecked(!spec.tab);
    fit_tabs();
    drawing_->setText(options_text());
    drawing_->setVisible(spec.needs.pattern || !spec.options.empty());
    const auto& model = document_.model().model;
    const bool tensors = spec.offers_tensors && model && model::has_weights(*model);
    tools_->setVisible(spec.needs.pattern || spec.needs.texts || !spec.options.empty() || tensors);
    tensors_->setVisible(tensors);
    batch_->setVisible(spec.needs.texts && !pictures);
    batch_->setText(batch_text());
    examples_->setVisible(spec.offers_examples && !pictures);
    const bool gamma = o.transfer.curve == figure::Transfer::Curve::gamma;
    QString transfer = gamma ? QStringLiteral("γ %1").arg(o.transfer.gamma, 0, 'f', 2)
                             : QString::fromUtf8(enum_row(o.transfer.curve).title).toLower();
    if (o.transfer.threshold > 0) transfer += QStringLiteral(" ≥ %1").arg(o.transfer.threshold, 0, 'g', 2);
    if (o.transfer.keep_mass < 1) transfer += QStringLiteral(" %1 %").arg(std::lround(o.transfer.keep_mass * 100));
    transfer_->setText(transfer);
    sinks_->setChecked(o.pattern.hide_sinks);
    special_->setChecked(o.pattern.hide_special);
    words_->setChecked(o.pattern.merge_words);
    filter_->setText(QString::fromUtf8(enum_row(o.pattern.filter).title));
    filter_->setVisible(spec.needs.pattern && document_.trace() && document_.trace()->has_sentence_pair());
    for (QWidget* tool : std::initializer_list<QWidget*>{transfer_, sinks_, special_}) tool->setVisible(spec.needs.pattern);
    words_->setVisible(spec.needs.pattern && !pictures);
    show_slider();
    split_->setChecked(document_.views().split);
}

}  // namespace headlight::ui
