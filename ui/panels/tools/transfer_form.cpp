// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/tools/transfer_form.h"

#include "ui/style/appearance.h"
#include "ui/style/widgets.h"

#include <QGridLayout>
#include <QLabel>
#include <QVBoxLayout>

#include <cmath>

namespace headlight::ui {

namespace {

using Curve = figure::Transfer::Curve;
// The slider of the threshold has 0, then 0.001 … 0.5 in equal ratios.
constexpr int threshold_steps = 100;
double threshold_at(int step) { return step == 0 ? 0 : 0.001 * std::pow(500.0, (step - 1) / double(threshold_steps - 1)); }
int threshold_step(double value) {
    if (value <= 0) return 0;
    return std::clamp(int(std::lround(1 + std::log(value / 0.001) / std::log(500.0) * (threshold_steps - 1))), 1,
                      threshold_steps);
}

}  // namespace

TransferForm::TransferForm(Document& document, QWidget* parent) : QWidget(parent), document_(document) {
    setAccessibleName(QStringLiteral("How weights are drawn"));
    auto* column = new_column(this, {0, 0, 0, 0}, 4);
    for (const auto& row : figure::curves) {
        auto* radio = new QRadioButton(QString::fromUtf8(row.title.data()));
        radio->setToolTip(QString::fromUtf8(row.note.data()));
        connect(radio, &QRadioButton::clicked, this, &TransferForm::take);
        curves_.push_back(radio);
        column->addWidget(radio);
    }
    auto* grid = new QGridLayout;
    grid->setHorizontalSpacing(12);
    grid->setVerticalSpacing(10);
    grid->setContentsMargins(0, 8, 0, 0);
    int row = 0;
    const auto slider = [&](const QString& text, const QString& tip, int low, int high, QLabel*& value) {
        auto* made = new QSlider(Qt::Horizontal);
        made->setRange(low, high);
        made->setFixedWidth(150);
        made->setAccessibleName(text);
        made->setToolTip(tip);
        auto* name = new QLabel(text);
        name->setBuddy(made);
        value = new QLabel;
        value->setFont(figure::ui_font(12));
        value->setMinimumWidth(52);
        value->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
        grid->addWidget(name, row, 0);
        grid->addWidget(made, row, 1);
        grid->addWidget(value, row++, 2);
        connect(made, &QSlider::valueChanged, this, &TransferForm::take);
        return made;
    };
    gamma_ = slider(QStringLiteral("γ"), QStringLiteral("Below 1 shows faint weights"), 10, 200, gamma_value_);
    threshold_ = slider(QStringLiteral("Threshold"), QStringLiteral("Weights below this are not drawn"), 0, threshold_steps,
                        threshold_value_);
    keep_mass_ = slider(QStringLiteral("Keep mass"),
                        QStringLiteral("Of each query only the largest weights that together make up this share"), 10, 100,
                        keep_mass_value_);
    column->addLayout(grid);
    connect(&document_, &Document::changed, this, [this](Document::Change change) {
        if (change == Document::Change::options) show_document();
    });
    show_document();
}

void TransferForm::show_document() {
    const figure::Transfer& t = document_.options().transfer;
    showing_ = true;
    curve(t.curve).setChecked(true);
    for (QWidget* part : std::initializer_list<QWidget*>{gamma_, gamma_value_}) part->setEnabled(t.curve == Curve::gamma);
    gamma_->setValue(int(std::lround(t.gamma * 100)));
    gamma_value_->setText(QString::number(t.gamma, 'f', 2));
    threshold_->setValue(threshold_step(t.threshold));
    threshold_value_->setText(t.threshold > 0 ? QStringLiteral("≥ ") + QString::number(t.threshold, 'g', 2)
                                              : QStringLiteral("off"));
    keep_mass_->setValue(int(std::lround(t.keep_mass * 100)));
    keep_mass_value_->setText(t.keep_mass < 1 ? QStringLiteral("%1 %").arg(std::lround(t.keep_mass * 100))
                                              : QStringLiteral("all"));
    showing_ = false;
}

void TransferForm::take() {
    if (showing_) return;
    ViewOptions options = document_.options();
    for (const auto& row : figure::curves)
        if (curve(row.value).isChecked()) options.transfer.curve = row.value;
    options.transfer.gamma = gamma_->value() / 100.0;
    if (threshold_->value() != threshold_step(options.transfer.threshold))
        options.transfer.threshold = threshold_at(threshold_->value());
    options.transfer.keep_mass = keep_mass_->value() / 100.0;
    document_.set_options(options);
}

}  // namespace headlight::ui
