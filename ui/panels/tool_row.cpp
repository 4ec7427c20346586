// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/tool_row.h"

#include "ui/style/appearance.h"

#include <QHBoxLayout>
#include <QMenu>

#include <cmath>

namespace headlight::ui {

namespace {

using analyze::PairFilter;
using analyze::Weighting;
using Cells = figure::ModelViewOptions::Cells;

}  // namespace

QString filter_name(PairFilter filter) {
    switch (filter) {
        case PairFilter::all: return ToolRow::tr("all pairs");
        case PairFilter::a_to_a: return ToolRow::tr("A → A");
        case PairFilter::b_to_b: return ToolRow::tr("B → B");
        case PairFilter::a_to_b: return ToolRow::tr("A → B");
        case PairFilter::b_to_a: return ToolRow::tr("B → A");
    }
    return {};
}

ToolRow::ToolRow(Document& document, QWidget* parent) : QWidget(parent), document_(document), popover_(new TransferPopover(document, this)) {
    setObjectName(QStringLiteral("ToolRow"));
    setAttribute(Qt::WA_StyledBackground);
    setFixedHeight(48);
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(16, 0, 12, 1);
    row->setSpacing(6);
    for (const View view : all_views) {
        auto* tab = new QToolButton;
        tab->setProperty("kind", "tab");
        tab->setText(view_title(view));
        tab->setCheckable(true);
        tab->setFocusPolicy(Qt::TabFocus);
        tab->setAccessibleName(tr("%1 view").arg(view_title(view)));
        tab->setToolTip(tr("%1 view (%2)").arg(view_title(view)).arg(int(tabs_.size()) + 1));
        connect(tab, &QToolButton::clicked, this, [this, view] {
            Q_EMIT view_asked(view);
            show_document();  // a click on the open view leaves it open
        });
        tabs_[view] = tab;
        row->addWidget(tab);
    }
    row->addStretch();
    drawing_ = menu_button(tr("What is drawn"));
    transfer_ = menu_button(tr("How weights are drawn"));
    filter_ = menu_button(tr("Sentence pairs"));
    sinks_ = new RingToggle(tr("hide sinks"), tr("Leave out the first token's column; rows add up to 1 again"));
    special_ = new RingToggle(tr("hide special"), tr("Leave out special tokens; rows add up to 1 again"));
    words_ = new RingToggle(tr("words"), tr("Sub-words as one word: columns added, rows averaged (Clark 2019)"));
    split_ = new QToolButton;
    split_->setProperty("kind", "quiet");
    split_->setProperty("plain", true);
    split_->setIcon(icon(QStringLiteral("split")));
    split_->setCheckable(true);
    split_->setFocusPolicy(Qt::TabFocus);
    split_->setAccessibleName(tr("Split"));
    split_->setToolTip(tr("Two views side by side"));
    for (QWidget* tool : std::initializer_list<QWidget*>{drawing_, transfer_, filter_, sinks_, special_, words_, split_}) row->addWidget(tool);

    transfer_->setIcon(icon(QStringLiteral("chevron-down")));  // opens a popover: the arrow that menus have by themselves
    transfer_->setIconSize({12, 12});
    transfer_->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    transfer_->setLayoutDirection(Qt::RightToLeft);
    transfer_->setProperty("plain", true);
    connect(transfer_, &QToolButton::clicked, this, &ToolRow::open_transfer);
    connect(sinks_, &RingToggle::clicked, this, [this](bool on) { edit([on](ViewOptions& o) { o.pattern.hide_first = on; }); });
    connect(special_, &RingToggle::clicked, this, [this](bool on) { edit([on](ViewOptions& o) { o.pattern.hide_special = on; }); });
    connect(words_, &RingToggle::clicked, this, [this](bool on) { edit([on](ViewOptions& o) { o.pattern.merge_words = on; }); });
    connect(split_, &QToolButton::clicked, this, [this](bool on) {
        OpenViews views = document_.views();
        views.split = on;
        document_.set_views(views);
    });
    connect(&document_, &Document::changed, this, &ToolRow::show_document);
    build_menus();
    show_document();
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

void ToolRow::edit(const std::function<void(ViewOptions&)>& change) {
    ViewOptions options = document_.options();
    change(options);
    document_.set_options(options);
}

void ToolRow::build_menus() {
    auto* filters = new QMenu(filter_);
    for (const PairFilter f : {PairFilter::all, PairFilter::a_to_a, PairFilter::b_to_b, PairFilter::a_to_b, PairFilter::b_to_a}) {
        connect(filters->addAction(filter_name(f)), &QAction::triggered, this, [this, f] { edit([f](ViewOptions& o) { o.pattern.filter = f; }); });
    }
    filter_->setMenu(filters);
    auto* drawing = new QMenu(drawing_);
    drawing_->setMenu(drawing);
    connect(drawing, &QMenu::aboutToShow, this, [this, drawing] {
        drawing->clear();
        const auto add = [&](const QString& text, bool checked, std::function<void(ViewOptions&)> change) {
            QAction* action = drawing->addAction(text);
            action->setCheckable(true);
            action->setChecked(checked);
            connect(action, &QAction::triggered, this, [this, change] { edit(change); });
        };
        const ViewOptions& o = document_.options();
        if (view_ == View::neuron) {
            add(tr("Numbers by index"), !o.neuron_view.sorted, [](ViewOptions& v) { v.neuron_view.sorted = false; });
            add(tr("Numbers by contribution"), o.neuron_view.sorted, [](ViewOptions& v) { v.neuron_view.sorted = true; });
            return;
        }
        if (view_ == View::model) {
            add(tr("Lines or maps by length"), o.model_view.cells == Cells::automatic, [](ViewOptions& v) { v.model_view.cells = Cells::automatic; });
            add(tr("Lines"), o.model_view.cells == Cells::lines, [](ViewOptions& v) { v.model_view.cells = Cells::lines; });
            add(tr("Maps"), o.model_view.cells == Cells::maps, [](ViewOptions& v) { v.model_view.cells = Cells::maps; });
            drawing->addSeparator();
            add(tr("Pooled by maximum"), !o.model_view.mean, [](ViewOptions& v) { v.model_view.mean = false; });
            add(tr("Pooled by mean"), o.model_view.mean, [](ViewOptions& v) { v.model_view.mean = true; });
            drawing->addSeparator();
        }
        add(tr("Attention weight"), o.pattern.weighting == Weighting::attention, [](ViewOptions& v) { v.pattern.weighting = Weighting::attention; });
        add(tr("Weight · |value|"), o.pattern.weighting == Weighting::value_norm, [](ViewOptions& v) { v.pattern.weighting = Weighting::value_norm; });
        add(tr("Weight · |value W_O|"), o.pattern.weighting == Weighting::output_norm, [](ViewOptions& v) { v.pattern.weighting = Weighting::output_norm; });
        drawing->addSeparator();
        add(tr("Rows add up to 1 after hiding"), o.pattern.renormalise, [](ViewOptions& v) { v.pattern.renormalise = !v.pattern.renormalise; });
    });
}

void ToolRow::set_view(View view) {
    view_ = view;
    show_document();
}

void ToolRow::show_document() {
    for (const auto& [view, tab] : tabs_) tab->setChecked(view == view_);
    const ViewOptions& o = document_.options();
    const bool neuron = view_ == View::neuron;
    QString drawing = o.pattern.weighting == Weighting::attention    ? tr("attention")
                      : o.pattern.weighting == Weighting::value_norm ? tr("weight · |value|")
                                                                     : tr("weight · |value W_O|");
    if (view_ == View::model) {
        drawing = o.model_view.cells == Cells::lines ? tr("lines") : o.model_view.cells == Cells::maps ? tr("maps") : tr("automatic");
    }
    if (neuron) drawing = o.neuron_view.sorted ? tr("by contribution") : tr("by index");
    drawing_->setText(drawing);
    QString transfer = curve_name(o.transfer);
    if (o.transfer.threshold > 0) transfer += QStringLiteral(" ≥ %1").arg(o.transfer.threshold, 0, 'g', 2);
    if (o.transfer.keep_mass < 1) transfer += QStringLiteral(" %1 %").arg(std::lround(o.transfer.keep_mass * 100));
    transfer_->setText(transfer);
    sinks_->setChecked(o.pattern.hide_first);
    special_->setChecked(o.pattern.hide_special);
    words_->setChecked(o.pattern.merge_words);
    filter_->setText(filter_name(o.pattern.filter));
    filter_->setVisible(!neuron && document_.trace() && !document_.trace()->text_b().empty());
    for (QWidget* tool : std::initializer_list<QWidget*>{transfer_, sinks_, special_, words_}) tool->setVisible(!neuron);
    split_->setChecked(document_.views().split);
}

}  // namespace headlight::ui
