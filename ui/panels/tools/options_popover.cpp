// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/tools/options_popover.h"

#include "headlight/analyze/contribution/value_mix.h"
#include "ui/canvas/recipe.h"
#include "ui/style/real_field.h"
#include "ui/style/token_field.h"
#include "ui/style/widgets.h"

#include <QButtonGroup>
#include <QCheckBox>
#include <QComboBox>
#include <QGridLayout>
#include <QHBoxLayout>
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

OptionsPopover::OptionsPopover(Document& document, Jobs& jobs, QWidget* parent)
    : Popover(parent), document_(document), candidates_(jobs) {
    setAccessibleName(QStringLiteral("Options of the view"));
    new_column(this, {0, 0, 0, 0});
}

void OptionsPopover::open_below(QWidget* button, const View& view) {
    build(view);
    show_below(button);
    const auto fields = body_->findChildren<QWidget*>();
    const auto first = std::ranges::find_if(fields, [](const QWidget* w) {
        const auto* radio = qobject_cast<const QRadioButton*>(w);
        return (w->focusPolicy() & Qt::TabFocus) && w->isEnabled() && !w->focusProxy() && (!radio || radio->isChecked());
    });
    if (first != fields.end()) (*first)->setFocus();
}

/// Keeps no run in memory, nor the files of its model open.
void OptionsPopover::hideEvent(QHideEvent* event) {
    Popover::hideEvent(event);
    // Later: a field that loses the focus still reads its text.
    QMetaObject::invokeMethod(
        this,
        [this] {
            if (!isVisible()) candidates_.clear();
        },
        Qt::QueuedConnection);
}

QWidget* OptionsPopover::field(const std::string& option) const {
    return body_ ? body_->findChild<QWidget*>(QString::fromStdString(option)) : nullptr;
}

void OptionsPopover::build(const View& view) {
    view_ = view;
    qDeleteAll(findChildren<QScrollArea*>(QString(), Qt::FindDirectChildrenOnly));
    const figure::ViewSpec& spec = figure::view_spec(view);
    if (std::ranges::any_of(spec.options, &ViewOption::token) && document_.trace()) {
        const Recipe recipe = recipe_for(document_, view, document_.selection().get());
        const auto& trace = document_.trace()->across_texts() ? document_.run_trace() : document_.trace();
        candidates_.look(trace, figure::head_position(*trace, spec, recipe.state.query));
    }
    body_ = new QWidget;
    body_->setProperty("role", "clear");
    auto* grid = new QGridLayout(body_);
    grid->setContentsMargins(16, 12, 16, 12);
    grid->setHorizontalSpacing(14);
    grid->setVerticalSpacing(5);
    grid->setColumnStretch(1, 1);
    for (const ViewOption& option : spec.options) add_own(*grid, option);
    if (spec.needs.pattern) add_weighting(*grid);
    show_relevant();
    grid->setRowStretch(grid->rowCount(), 1);
    QScrollArea* area = scroll_area(body_);
    layout()->addWidget(area);
    // As high as its content, as far as the screen is.
    const QSize wanted = body_->sizeHint();
    const int most = (screen() ? screen()->availableGeometry().height() : 900) - 160;
    const bool notes = std::ranges::any_of(spec.options, &ViewOption::token);  // they grow while one types
    const int height = std::min(wanted.height() + (notes ? 70 : 0), most);
    area->setFixedSize(
        std::max(wanted.width(), 240) + (wanted.height() > most ? area->verticalScrollBar()->sizeHint().width() : 0), height);
}

void OptionsPopover::set_value(const std::string& option, const std::string& value) {
    document_.edit_options([&](ViewOptions& o) { set_view_value(o, view_, option, value); });
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

/// A whole number over a wide range: beside its field a slider, on which steps are equal ratios.
QWidget* with_slider(QSpinBox* spin) {
    constexpr int steps = 60;
    auto* both = new QWidget;
    auto* row = new_row(both, {0, 0, 0, 0}, 8);
    auto* slider = new QSlider(Qt::Horizontal);
    slider->setRange(0, steps);
    slider->setFocusPolicy(Qt::NoFocus);  // the field has the arrow keys
    const double low = spin->minimum(), ratio = spin->maximum() / low;
    const auto place = [slider, low, ratio](int value) {
        const QSignalBlocker quiet(slider);
        slider->setValue(int(std::lround(steps * std::log(value / low) / std::log(ratio))));
    };
    place(spin->value());
    QObject::connect(spin, &QSpinBox::valueChanged, slider, place);
    QObject::connect(slider, &QSlider::valueChanged, spin, [spin, low, ratio](int step) {
        spin->setValue(int(std::lround(low * std::pow(ratio, double(step) / steps))));
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
                add_row(with_slider(spin), spin);
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
            add_row(spin, spin);
            break;
        }
        case OptionKind::text: {
            if (option.token) {
                auto* token = new TokenField(candidates_, QString::fromUtf8(value),
                                             option.next ? TokenField::Holds::target : TokenField::Holds::one);
                connect(token, &TokenField::chosen, this,
                        [this, name = option.name](const QString& text) { set_value(name, text.toStdString()); });
                add_row(token, &token->line());
                break;
            }
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
    auto* renormalise = new QCheckBox(QStringLiteral("Rows add up to 1 after hiding"));
    renormalise->setChecked(o.pattern.renormalise);
    connect(renormalise, &QCheckBox::toggled, this,
            [this](bool on) { document_.edit_options([on](ViewOptions& v) { v.pattern.renormalise = on; }); });
    grid.addWidget(renormalise, grid.rowCount(), 0, 1, 2);
}

}  // namespace headlight::ui
