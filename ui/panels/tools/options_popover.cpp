// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/tools/options_popover.h"

#include "headlight/analyze/contribution/value_mix.h"
#include "ui/document/subject.h"
#include "ui/panels/tools/transfer_form.h"
#include "ui/style/real_field.h"
#include "ui/style/widgets.h"

#include <QButtonGroup>
#include <QCheckBox>
#include <QComboBox>
#include <QGridLayout>
#include <QHBoxLayout>
#include <QPushButton>
#include <QRadioButton>
#include <QScreen>
#include <QScrollArea>
#include <QScrollBar>
#include <QSignalBlocker>
#include <QSlider>
#include <QSpinBox>

#include <algorithm>
#include <cmath>

namespace headlight::ui {

namespace {

using analyze::Weighting;
using figure::OptionKind;
using figure::ViewOption;

constexpr int field_width = 230;

}  // namespace

OptionsPopover::OptionsPopover(Document& document, QWidget* parent) : Popover(parent), document_(document) {
    setAccessibleName(QStringLiteral("Options of the view"));
    new_column(this, {0, 0, 0, 0});
}

bool OptionsPopover::has_options(const View& view) {
    const figure::ViewSpec& spec = figure::view_spec(view);
    return spec.needs.pattern || std::ranges::any_of(spec.options, [](const ViewOption& option) { return !subject_of(option); });
}

void OptionsPopover::open_below(QWidget* button, const View& view, First first) {
    button_ = button;
    build(view);
    show_below(button, Qt::RightEdge);
    if (first == First::scale && scale_) return scale_->chosen().setFocus();
    const auto fields = body_->findChildren<QWidget*>();
    const auto found = std::ranges::find_if(fields, [](const QWidget* w) {
        const auto* radio = qobject_cast<const QRadioButton*>(w);
        return (w->focusPolicy() & Qt::TabFocus) && w->isEnabled() && !w->focusProxy() && (!radio || radio->isChecked());
    });
    if (found != fields.end()) (*found)->setFocus();
}

QWidget* OptionsPopover::field(const std::string& option) const {
    return body_ ? body_->findChild<QWidget*>(QString::fromStdString(option)) : nullptr;
}

void OptionsPopover::build(const View& view) {
    view_ = view;
    qDeleteAll(findChildren<QScrollArea*>(QString(), Qt::FindDirectChildrenOnly));
    const figure::ViewSpec& spec = figure::view_spec(view);
    body_ = new QWidget;
    body_->setProperty("role", "clear");
    auto* column = new_column(body_, {16, 12, 16, 12}, 8);
    auto* columns = new QHBoxLayout;
    columns->setSpacing(28);
    column->addLayout(columns);
    const auto grid_of = [&] {
        auto* grid = new QGridLayout;
        grid->setHorizontalSpacing(14);
        grid->setVerticalSpacing(5);
        grid->setColumnStretch(1, 1);
        columns->addLayout(grid);
        return grid;
    };
    QGridLayout* grid = grid_of();
    for (const ViewOption& option : spec.options)
        if (!subject_of(option)) add_own(*grid, option);
    scale_ = nullptr;
    if (spec.needs.pattern) {
        add_weighting(*grid);
        QGridLayout* scale = grid_of();
        add_scale(*scale);
        scale->setRowStretch(scale->rowCount(), 1);
    }
    grid->setRowStretch(grid->rowCount(), 1);
    reset_ = link_button(QStringLiteral("Reset"));
    reset_->setToolTip(QStringLiteral("All of these back to their defaults"));
    reset_->setEnabled(!looks_default(document_.options(), view));
    connect(reset_, &QPushButton::clicked, this, &OptionsPopover::reset);
    column->addWidget(reset_, 0, Qt::AlignLeft);
    show_relevant();
    QScrollArea* area = scroll_area(body_);
    layout()->addWidget(area);
    // As high as its content, as far as the screen is.
    const QSize wanted = body_->sizeHint();
    const int most = (screen() ? screen()->availableGeometry().height() : 900) - 160;
    area->setFixedSize(
        std::max(wanted.width(), 240) + (wanted.height() > most ? area->verticalScrollBar()->sizeHint().width() : 0),
        std::min(wanted.height(), most));
}

void OptionsPopover::reset() {
    document_.set_options(with_default_looks(document_.options(), view_));
    open_below(button_, view_);
}

void OptionsPopover::set_value(const std::string& option, const std::string& value) {
    document_.edit_options([&](ViewOptions& o) { set_view_value(o, view_, option, value); });
    reset_->setEnabled(!looks_default(document_.options(), view_));
    show_relevant();
}

void OptionsPopover::show_relevant() {
    const figure::ViewSpec& spec = figure::view_spec(view_);
    figure::ViewState state;
    state.view = view_;
    for (const ViewOption& option : spec.options) state.values[option.name] = view_value(document_.options(), view_, option);
    for (const ViewOption& option : spec.options) {
        QWidget* named = field(option.name);
        if (!named || !option.relevant) continue;
        const bool on = option.relevant(state);
        QWidget* row = named->parentWidget() == body_ ? named : named->parentWidget();  // a number next to its slider
        row->setEnabled(on);
        for (QLabel* label : body_->findChildren<QLabel*>())
            if (label->buddy() == named) label->setEnabled(on);
    }
}

void OptionsPopover::add_choice(QGridLayout& grid, const QString& title,
                                const std::vector<std::pair<QString, std::function<void()>>>& choices, int chosen) {
    if (!title.isEmpty()) grid.addWidget(role_label("note", title), grid.rowCount(), 0, 1, 2);
    auto* group = new QButtonGroup(body_);
    for (std::size_t i = 0; i < choices.size(); ++i) {
        auto* button = new QRadioButton(choices[i].first);
        button->setAccessibleDescription(title);
        button->setChecked(int(i) == chosen);
        group->addButton(button);
        connect(button, &QRadioButton::toggled, this, [run = choices[i].second](bool on) {
            if (on) run();
        });
        grid.addWidget(button, grid.rowCount(), 0, 1, 2);
    }
}

/// Measures are too many for buttons; those of a corpus in use stand behind the text's.
QComboBox* OptionsPopover::measure_list(const ViewOption& option, const std::string& value) {
    auto* list = new QComboBox;
    const auto add = [&](const std::string& word) {
        list->addItem(QString::fromUtf8(figure::choice_title(option, word)), QString::fromUtf8(word));
        if (word == value) list->setCurrentIndex(list->count() - 1);
    };
    for (const auto& [word, title] : option.choices) add(word);
    if (const auto& corpus = document_.corpus().found(); corpus && !corpus->table.measures.empty()) {
        list->insertSeparator(list->count());
        for (const analyze::MeasureInfo& measure : corpus->table.measures) add(measure.id);
    }
    if (list->currentData().toString() != QString::fromUtf8(value)) add(value);  // of a corpus that is not there now
    list->setMaxVisibleItems(20);
    connect(list, &QComboBox::activated, this,
            [this, list, name = option.name] { set_value(name, list->currentData().toString().toStdString()); });
    return list;
}

namespace {

/// A number over a wide range: next to its field a slider, on which steps are equal ratios, as small values matter as much as
/// large ones.
template <class Spin>
QWidget* with_slider(Spin* spin, double low, double high) {
    using Value = decltype(spin->value());
    constexpr int steps = 100;
    auto* both = new QWidget;
    auto* row = new_row(both, {0, 0, 0, 0}, 8);
    auto* slider = new QSlider(Qt::Horizontal);
    slider->setRange(0, steps);
    slider->setFocusPolicy(Qt::NoFocus);  // the field has the arrow keys
    slider->setAccessibleName(QStringLiteral("Slider"));
    const double ratio = high / low;
    const auto place = [slider, low, ratio](Value value) {
        const QSignalBlocker quiet(slider);
        if (slider->isSliderDown()) return;
        slider->setValue(int(std::lround(steps * std::log(std::max(double(value), low) / low) / std::log(ratio))));
    };
    place(spin->value());
    QObject::connect(spin, &Spin::valueChanged, slider, place);
    QObject::connect(slider, &QSlider::valueChanged, spin, [spin, low, ratio](int step) {
        const double value = low * std::pow(ratio, double(step) / steps);
        if constexpr (std::is_integral_v<Value>)
            spin->setValue(int(std::lround(value)));
        else
            spin->setValue(QString::number(value, 'g', 3).toDouble());
    });
    row->addWidget(slider, 1);
    row->addWidget(spin);
    return both;
}

}  // namespace

void OptionsPopover::add_own(QGridLayout& grid, const ViewOption& option) {
    const QString title = QString::fromUtf8(option.title), help = QString::fromUtf8(option.help);
    const std::string value = view_value(document_.options(), view_, option);
    const auto add_row = [&](QWidget* field, QWidget* named) {
        named->setToolTip(help);
        named->setAccessibleName(title);
        named->setObjectName(QString::fromUtf8(option.name));
        auto* label = new QLabel(title);
        label->setBuddy(named);
        label->setMinimumHeight(30);
        field->setFixedWidth(field_width);
        const int row = grid.rowCount();
        grid.addWidget(label, row, 0, Qt::AlignTop);
        grid.addWidget(field, row, 1);
    };
    const auto bounds = [&](auto* spin, double least, double most) {
        const bool any = option.low == 0 && option.high == 0;
        using Value = decltype(spin->value());
        spin->setRange(static_cast<Value>(any ? least : option.low), static_cast<Value>(any ? most : option.high));
        spin->setKeyboardTracking(false);
    };
    switch (option.kind) {
        case OptionKind::flag: {
            auto* box = new QCheckBox(title);
            box->setChecked(!value.empty());
            box->setToolTip(help);
            box->setObjectName(QString::fromUtf8(option.name));
            connect(box, &QCheckBox::toggled, this, [this, name = option.name](bool on) { set_value(name, on ? "1" : ""); });
            grid.addWidget(box, grid.rowCount(), 0, 1, 2);
            break;
        }
        case OptionKind::choice: {
            if (option.measure) {
                auto* list = measure_list(option, value);
                add_row(list, list);
                break;
            }
            std::vector<std::pair<QString, std::function<void()>>> choices;
            int chosen = 0;
            for (const auto& [word, name] : option.choices) {
                if (word == value) chosen = int(choices.size());
                choices.emplace_back(QString::fromUtf8(name),
                                     [this, option = option.name, word = word] { set_value(option, word); });
            }
            add_choice(grid, title, choices, chosen);
            break;
        }
        case OptionKind::integer: {
            auto* spin = new QSpinBox;
            bounds(spin, -1'000'000, 1'000'000);
            spin->setValue(QString::fromStdString(value).toInt());
            connect(spin, &QSpinBox::valueChanged, this,
                    [this, name = option.name](int v) { set_value(name, std::to_string(v)); });
            if (option.low >= 1 && option.high >= 1000 * option.low)
                add_row(with_slider(spin, option.low, option.high), spin);
            else
                add_row(spin, spin);
            break;
        }
        case OptionKind::number: {
            auto* spin = new RealField;
            spin->setDecimals(6);
            spin->setStepType(QAbstractSpinBox::AdaptiveDecimalStepType);
            bounds(spin, -1e6, 1e6);
            spin->setValue(QString::fromStdString(value).toDouble());
            connect(spin, &QDoubleSpinBox::valueChanged, this,
                    [this, name = option.name](double v) { set_value(name, QString::number(v, 'g', 6).toStdString()); });
            if (option.slider_high > 0)
                add_row(with_slider(spin, option.slider_low, option.slider_high), spin);
            else
                add_row(spin, spin);
            break;
        }
        case OptionKind::text: {
            auto* line = new QLineEdit(QString::fromUtf8(value));
            line->setPlaceholderText(QString::fromUtf8(option.example));
            connect(line, &QLineEdit::editingFinished, this, [this, line, name = option.name] {
                const std::string text = line->text().trimmed().toStdString();
                if (text != view_value(document_.options(), view_, *figure::view_spec(view_).option(name))) set_value(name, text);
            });
            add_row(line, line);
            break;
        }
    }
}

/// How the weights of attention are prepared, in every view that shows them.
void OptionsPopover::add_weighting(QGridLayout& grid) {
    const ViewOptions& o = document_.options();
    const auto& trace = document_.trace();
    std::vector<std::pair<QString, std::function<void()>>> of_heads, of_layer;
    int head_chosen = -1, layer_chosen = -1;
    auto* list = &of_heads;
    auto* chosen = &head_chosen;
    for (const auto& row : analyze::weightings) {
        const Weighting weighting = row.value;
        if (trace && trace->across_texts() && analyze::of_whole_layer(weighting)) continue;
        if (weighting == Weighting::layer_mix_norm && trace && !trace->config().post_norm) continue;
        if (weighting == Weighting::layer_mix) list = &of_layer, chosen = &layer_chosen;
        if (o.pattern.weighting == weighting) *chosen = int(list->size());
        list->emplace_back(QString::fromUtf8(row.title), [this, weighting] {
            document_.edit_options([weighting](ViewOptions& v) { v.pattern.weighting = weighting; });
        });
    }
    // One choice under two headings.
    add_choice(grid, QStringLiteral("Weights"), of_heads, head_chosen);
    if (!of_layer.empty()) add_choice(grid, QStringLiteral("Of the whole layer"), of_layer, layer_chosen);
    auto* group = new QButtonGroup(body_);
    for (QRadioButton* button : body_->findChildren<QRadioButton*>()) {
        const QString of = button->accessibleDescription();
        if (of != QStringLiteral("Weights") && of != QStringLiteral("Of the whole layer")) continue;
        if (button->group()) button->group()->removeButton(button);
        group->addButton(button);
    }
}

void OptionsPopover::add_toggle(QGridLayout& grid, const QString& name, const QString& title, const QString& help,
                                bool analyze::PatternOptions::*member) {
    auto* box = new QCheckBox(title);
    box->setObjectName(name);
    box->setToolTip(help);
    box->setChecked(document_.options().pattern.*member);
    connect(box, &QCheckBox::toggled, this, [this, member](bool on) {
        document_.edit_options([&](ViewOptions& v) { v.pattern.*member = on; });
        reset_->setEnabled(!looks_default(document_.options(), view_));
    });
    grid.addWidget(box, grid.rowCount(), 0, 1, 2);
}

/// How weights are drawn, and which of them, in every view that shows them.
void OptionsPopover::add_scale(QGridLayout& grid) {
    grid.addWidget(role_label("note", QStringLiteral("Scale")), grid.rowCount(), 0, 1, 2);
    scale_ = new TransferForm(document_);
    grid.addWidget(scale_, grid.rowCount(), 0, 1, 2);
    grid.addWidget(role_label("note", QStringLiteral("Tokens")), grid.rowCount(), 0, 1, 2);
    add_toggle(grid, QStringLiteral("hide-sinks"), QStringLiteral("Hide sinks"),
               QStringLiteral("Leave out the first token and every other sink: a token to which a tenth of the heads give much "
                              "attention although its value is short. Rows add up to 1 again"),
               &analyze::PatternOptions::hide_sinks);
    add_toggle(grid, QStringLiteral("hide-special"), QStringLiteral("Hide special tokens"),
               QStringLiteral("Leave out special tokens; rows add up to 1 again"), &analyze::PatternOptions::hide_special);
    if (!reads_pictures(document_.model()))
        add_toggle(grid, QStringLiteral("merge-words"), QStringLiteral("Merge sub-words"),
                   QStringLiteral("Sub-words as one word: columns added, rows averaged (Clark 2019)"),
                   &analyze::PatternOptions::merge_words);
    add_toggle(grid, QStringLiteral("renormalise"), QStringLiteral("Rows add up to 1 after hiding"), {},
               &analyze::PatternOptions::renormalise);
}

}  // namespace headlight::ui
