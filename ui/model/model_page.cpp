// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/model/model_page.h"

#include "headlight/figure/core/number_text.h"
#include "headlight/model/blas_kernels.h"
#include "headlight/model/outline.h"
#include "ui/style/widgets.h"

#include <QHBoxLayout>
#include <QVBoxLayout>

namespace headlight::ui {

namespace {

const QString tensors_title = QStringLiteral("Tensors"), memory_title = QStringLiteral("Memory and type"),
              files_title = QStringLiteral("Files and load report");

/// Files, and what was done with what is in them.
QString report_text(const model::Model& model) {
    const model::LoadReport& report = model.report();
    const auto count = [](auto n) { return figure::count_text(static_cast<qint64>(n)); };
    QStringList lines;
    lines << QStringLiteral("%1, family %2, loaded in %3 s")
                 .arg(QString::fromStdString(model.config().name), QString::fromStdString(model.config().family),
                      QString::number(report.seconds, 'f', 2));
    lines << QString() << QStringLiteral("Files");
    for (const std::string& file : report.files) lines << QStringLiteral("    ") + QString::fromStdString(file);
    lines << QString()
          << QStringLiteral("%1 parameters: %2 bytes are read where they lie in the file, %3 were converted")
                 .arg(count(report.loaded.size()), count(report.bytes_mapped), count(report.bytes_copied));
    const auto list = [&](const QString& title, const std::vector<std::string>& names) {
        if (names.empty()) return;
        lines << QString() << title;
        for (const std::string& name : names) lines << QStringLiteral("    ") + QString::fromStdString(name);
    };
    list(QStringLiteral("Parts that the files do not have, and the model does not need"), report.optional_missing);
    list(QStringLiteral("Tensors that are not needed"), report.ignored);
    list(QStringLiteral("Tensors that are not used"), report.unused);
    if (!report.why_cpu.empty()) lines << QString() << QStringLiteral("On the CPU: ") + QString::fromStdString(report.why_cpu);
    return lines.join(u'\n');
}

}  // namespace

ModelPage::ModelPage(Document& document, Jobs& jobs, QWidget* parent)
    : QWidget(parent),
      document_(document),
      jobs_(jobs),
      stack_(new QStackedWidget),
      pane_(new ViewPane(document, jobs, Jobs::Lane::model_picture)),
      tensors_room_(new QWidget),
      memory_(new MemoryForm(document)),
      files_(new QLabel) {
    setObjectName(QStringLiteral("ModelPage"));
    setAttribute(Qt::WA_StyledBackground);
    auto* column = new_column(this, {0, 0, 0, 0}, 0);
    auto* bar = new QWidget;
    bar->setObjectName(QStringLiteral("ToolRow"));
    bar->setAttribute(Qt::WA_StyledBackground);
    row_ = new_row(bar, {12, 7, 12, 7}, 2);
    column->addWidget(bar);
    column->addWidget(stack_, 1);
    stack_->addWidget(pane_);
    for (const figure::ViewPlace& place : figure::model_views().places) {
        const QString title = QString::fromStdString(place.title);
        add_tab(title, pane_);
        connect(tabs_.at(title), &QToolButton::clicked, this, [this, view = place.presets.front().view] { show_view(view); });
    }
    new_column(tensors_room_, {0, 0, 0, 0});
    files_->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    files_->setAlignment(Qt::AlignTop | Qt::AlignLeft);
    files_->setMargin(20);
    const std::pair<QString, QWidget*> others[] = {
        {tensors_title, tensors_room_}, {memory_title, memory_tab()}, {files_title, scroll_area(files_)}};
    for (const auto& [title, part] : others) {
        stack_->addWidget(part);
        connect(add_tab(title, part), &QToolButton::clicked, this, [this, title = title] { show_tab(title); });
    }
    row_->addStretch(1);
    pane_->set_view(figure::model_views().places.front().presets.front().view);
    show_tab(QString::fromStdString(figure::model_views().places.front().title));
    connect(&document_, &Document::changed, this, [this](Document::Change change) {
        using enum Document::Change;
        if (change == model) take_model();
        if (change == model || change == trace) memory_->show_parts();
    });
}

QToolButton* ModelPage::add_tab(const QString& title, QWidget* shows) {
    auto* tab = new QToolButton;
    tab->setProperty("kind", "tab");
    tab->setText(title);
    tab->setCheckable(true);
    tab->setFocusPolicy(Qt::TabFocus);
    tab->setAccessibleName(title);
    row_->addWidget(tab);
    tabs_[title] = tab;
    parts_[title] = shows;
    return tab;
}

void ModelPage::show_tab(const QString& title) {
    for (const auto& [each, tab] : tabs_) tab->setChecked(each == title);
    stack_->setCurrentWidget(parts_.at(title));
}

void ModelPage::show_view(const View& view) {
    for (const figure::ViewPlace& place : figure::model_views().places)
        if (place.presets.front().view == view) {
            pane_->set_view(view);
            show_tab(QString::fromStdString(place.title));
        }
}

void ModelPage::show_tensors() { show_tab(tensors_title); }

/// Who has the memory, and the types that the model can compute in.
QWidget* ModelPage::memory_tab() {
    auto* page = new QWidget;
    page->setProperty("role", "clear");
    auto* column = new_column(page, {8, 8, 20, 20}, 8);
    column->addWidget(memory_, 0, Qt::AlignLeft);
    auto* types = new_column(nullptr, {16, 8, 0, 0}, 4);
    types->addWidget(role_label("title", QStringLiteral("Compute in")));
    for (const auto type : {model::ComputeType::float32, model::ComputeType::float32_bf16, model::ComputeType::bfloat16,
                            model::ComputeType::float64}) {
        auto* button = new QRadioButton(QString::fromStdString(std::string(enum_word(type))));
        button->setEnabled(!model::has_bfloat16_products(type) || model::computes_bfloat16_products());
        if (!button->isEnabled()) button->setToolTip(QStringLiteral("This processor has no bfloat16 units"));
        connect(button, &QRadioButton::clicked, this, [this, type] { document_.set_compute_type(type); });
        types_[type] = button;
        types->addWidget(button);
    }
    column->addLayout(types);
    column->addStretch(1);
    return scroll_area(page);
}

void ModelPage::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    take_model();
    memory_->show_parts();
}

void ModelPage::take_model() {
    const OpenModel& opened = document_.model();
    if (const auto type = types_.find(document_.compute_type()); type != types_.end()) type->second->setChecked(true);
    if (opened.model == shown_) return;
    shown_ = isVisible() ? opened.model : nullptr;  // a hidden page holds none
    delete tensors_;
    tensors_ = nullptr;
    if (!isVisible()) return files_->clear();
    const bool weights = shown_ && model::has_weights(*shown_);
    if (weights) {
        tensors_ = new TensorList(opened, jobs_);
        tensors_room_->layout()->addWidget(tensors_);
    }
    tabs_.at(tensors_title)->setEnabled(weights);
    tabs_.at(tensors_title)->setToolTip(weights ? QString() : QStringLiteral("A saved trace has no weights"));
    if (!weights && stack_->currentWidget() == tensors_room_) show_tab(files_title);
    files_->setText(shown_ ? report_text(*shown_) : QString());
}

}  // namespace headlight::ui
