// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/dialogs/export_dialog.h"

#include "ui/style/appearance.h"

#include <QDialogButtonBox>
#include <QDir>
#include <QFileDialog>
#include <QFileInfo>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QPointer>
#include <QSettings>
#include <QVBoxLayout>

namespace headlight::ui {

namespace {

const char* const formats[] = {"png", "svg", "pdf", "csv", "npz", "json"};
enum WidthChoice { as_on_screen, single_column, double_column, slide, custom };
constexpr QSize preview_size{420, 420};

QString setting(const char* name) { return QStringLiteral("export/") + QLatin1String(name); }

}  // namespace

ExportDialog::ExportDialog(Document& document, Jobs& jobs, Recipe recipe, QSize screen_size, QWidget* parent)
    : QDialog(parent),
      document_(document),
      jobs_(jobs),
      recipe_(std::move(recipe)),
      selection_(without_hover(document.selection().get())),
      screen_size_(screen_size),
      file_(new QLineEdit),
      format_(new QComboBox),
      width_(new QComboBox),
      theme_(new QComboBox),
      scale_(new QComboBox),
      pixels_(new QDoubleSpinBox),
      footer_(new QCheckBox(QStringLiteral("Add provenance line"))),
      transparent_(new QCheckBox(QStringLiteral("Transparent background"))),
      picture_(new QLabel),
      message_(new QLabel),
      write_(nullptr) {
    setWindowTitle(QStringLiteral("Export figure"));
    build();
    restore();
    // Written, failed or cancelled: it can be tried again.
    connect(&jobs_, &Jobs::finished, this, [this](Jobs::Lane lane) {
        if (lane == Jobs::Lane::file) write_->setEnabled(true);
    });
    connect(&jobs_, &Jobs::failed, this, [this](Jobs::Lane lane, const Failure& failure) {
        if (lane != Jobs::Lane::file && lane != Jobs::Lane::preview) return;
        message_->setText(QString::fromStdString(Error(failure.facts).what()));
        message_->show();
    });
    format_changed();
}

void ExportDialog::build() {
    for (const char* f : formats) format_->addItem(QString::fromLatin1(f).toUpper(), QString::fromLatin1(f));
    width_->addItems({QStringLiteral("As on screen"), QStringLiteral("85 mm, one column"), QStringLiteral("178 mm, two columns"),
                      QStringLiteral("Slide, 1600 × 900 px"), QStringLiteral("Pixels")});
    theme_->addItems({QStringLiteral("Light"), QStringLiteral("Dark")});
    scale_->addItems({QStringLiteral("1×"), QStringLiteral("2×"), QStringLiteral("3×"), QStringLiteral("4×")});
    pixels_->setRange(100, 20000);
    pixels_->setDecimals(0);
    pixels_->setValue(1000);
    pixels_->setSuffix(QStringLiteral(" px wide"));
    message_->setWordWrap(true);
    message_->setProperty("role", "error");
    message_->hide();
    picture_->setFixedSize(preview_size);
    picture_->setAlignment(Qt::AlignCenter);
    picture_->setAccessibleName(QStringLiteral("Preview"));

    auto* choose = new QPushButton(QStringLiteral("Choose …"));
    auto* file_row = new QHBoxLayout;
    file_row->addWidget(file_, 1);
    file_row->addWidget(choose);
    auto* form = new QFormLayout;
    form->setVerticalSpacing(10);
    form->setHorizontalSpacing(16);
    form->setLabelAlignment(Qt::AlignLeft);
    form->setFieldGrowthPolicy(QFormLayout::ExpandingFieldsGrow);
    form->addRow(QStringLiteral("Format"), format_);
    form->addRow(QStringLiteral("Width"), width_);
    form->addRow(QString(), pixels_);
    form->addRow(QStringLiteral("Resolution"), scale_);
    form->addRow(QStringLiteral("Theme"), theme_);
    form->addRow(QString(), footer_);
    form->addRow(QString(), transparent_);
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Cancel);
    buttons->button(QDialogButtonBox::Cancel)->setIcon({});
    write_ = buttons->addButton(QStringLiteral("Export"), QDialogButtonBox::AcceptRole);
    write_->setProperty("kind", "primary");
    choose->setAutoDefault(false);
    auto* right = new QVBoxLayout;
    right->addLayout(form);
    right->addStretch();
    right->addWidget(message_);
    right->addWidget(new QLabel(QStringLiteral("File")));
    right->addLayout(file_row);
    right->addSpacing(8);
    right->addWidget(buttons);
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(20, 20, 20, 16);
    row->setSpacing(24);
    row->addWidget(picture_);
    row->addLayout(right, 1);
    write_->setDefault(true);  // only now that it is in the dialog
    resize(880, 480);

    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    connect(write_, &QPushButton::clicked, this, &ExportDialog::write);
    connect(choose, &QPushButton::clicked, this, [this] {
        const QString chosen = QFileDialog::getSaveFileName(this, QStringLiteral("Export figure"), file_->text());
        if (chosen.isEmpty()) return;
        file_->setText(chosen);
        const int known = format_->findData(QFileInfo(chosen).suffix().toLower());
        if (known >= 0) format_->setCurrentIndex(known);
    });
    for (QComboBox* box : {width_, theme_, scale_}) connect(box, &QComboBox::currentIndexChanged, this, &ExportDialog::preview);
    connect(format_, &QComboBox::currentIndexChanged, this, &ExportDialog::format_changed);
    connect(pixels_, &QDoubleSpinBox::valueChanged, this, &ExportDialog::preview);
    for (QCheckBox* box : {footer_, transparent_}) connect(box, &QCheckBox::toggled, this, &ExportDialog::preview);
}

void ExportDialog::restore() {
    const QSettings s;
    format_->setCurrentIndex(std::max(0, format_->findData(s.value(setting("format"), QStringLiteral("png")))));
    width_->setCurrentIndex(s.value(setting("width"), as_on_screen).toInt());
    pixels_->setValue(s.value(setting("pixels"), 1000).toDouble());
    scale_->setCurrentIndex(s.value(setting("scale"), 1).toInt());
    theme_->setCurrentIndex(s.value(setting("dark"), false).toBool() ? 1 : 0);
    footer_->setChecked(s.value(setting("footer"), true).toBool());
    transparent_->setChecked(s.value(setting("transparent"), false).toBool());
    const QString folder = s.value(setting("folder"), QDir::homePath()).toString();
    QString name = QString::fromStdString(recipe_.trace->config().name + "-" + recipe_.state.view);
    const figure::ViewNeeds& needs = figure::view_spec(recipe_.state.view).needs;
    if (needs.layer || needs.heads || needs.focus) name += QStringLiteral("-L%1").arg(recipe_.state.layer.value);
    if (needs.focus) name += QStringLiteral("H%1").arg(recipe_.state.focus().head.value);
    file_->setText(folder + '/' + name + '.' + format_->currentData().toString());
}

void ExportDialog::remember() const {
    QSettings s;
    s.setValue(setting("format"), format_->currentData());
    s.setValue(setting("width"), width_->currentIndex());
    s.setValue(setting("pixels"), pixels_->value());
    s.setValue(setting("scale"), scale_->currentIndex());
    s.setValue(setting("dark"), theme_->currentIndex() == 1);
    s.setValue(setting("footer"), footer_->isChecked());
    s.setValue(setting("transparent"), transparent_->isChecked());
    s.setValue(setting("folder"), QFileInfo(file_->text()).absolutePath());
}

bool ExportDialog::is_picture() const { return format_->currentIndex() < 3; }

void ExportDialog::format_changed() {
    const QString suffix = format_->currentData().toString();
    const QFileInfo info(file_->text());
    if (!file_->text().isEmpty()) file_->setText(info.path() + '/' + info.completeBaseName() + '.' + suffix);
    scale_->setEnabled(suffix == QLatin1String("png"));
    for (QWidget* w : std::initializer_list<QWidget*>{width_, theme_, footer_, transparent_}) w->setEnabled(is_picture());
    preview();
}

figure::ExportOptions ExportDialog::options() const {
    figure::ExportOptions o;
    o.style = style_for(theme_->currentIndex() == 1 ? figure::Theme::dark_theme() : figure::Theme::light(), document_);
    o.scale = scale_->currentIndex() + 1;
    o.footer = footer_->isChecked();
    o.transparent = transparent_->isChecked();
    switch (width_->currentIndex()) {
        case single_column: o.width_mm = 85; break;
        case double_column: o.width_mm = 178; break;
        case slide: o.size_px = {1600, 900}; break;
        case custom: o.size_px = {pixels_->value(), 0}; break;
        default: o.size_px = QSizeF(screen_size_.width(), 0);
    }
    return o;
}

void ExportDialog::preview() {
    pixels_->setVisible(width_->currentIndex() == custom);
    message_->hide();
    figure::ExportOptions o = options();
    o.scale = 1;
    const QPointer<ExportDialog> self(this);  // the dialog may be closed before the work is done
    const Recipe recipe = recipe_;
    const figure::Selection selection = selection_;
    const double ratio = devicePixelRatioF();
    jobs_.start(Jobs::Lane::preview, QStringLiteral("Preview"), [=](const CancelToken& cancel, const Progress&) -> Jobs::Deliver {
        const auto figure = figure::make_figure(recipe.trace, recipe.state, cancel);
        cancel.throw_if_cancelled();
        const auto provenance = figure::provenance_of(*recipe.trace, request_for(recipe, selection, o), "png");
        QImage image = figure::export_image(*figure, selection, provenance, o);
        image.setDevicePixelRatio(1);
        image = image.scaled(preview_size * ratio, Qt::KeepAspectRatio, Qt::SmoothTransformation);
        image.setDevicePixelRatio(ratio);
        return [self, image] {
            if (self) self->picture_->setPixmap(QPixmap::fromImage(image));
        };
    });
}

void ExportDialog::write() {
    const QString file = file_->text().trimmed();
    if (file.isEmpty()) return file_->setFocus();
    remember();
    message_->hide();
    write_->setEnabled(false);
    const figure::ExportOptions o = options();
    const QPointer<ExportDialog> self(this);  // the dialog may be closed before the work is done
    const Recipe recipe = recipe_;
    const figure::Selection selection = selection_;
    const std::string format = format_->currentData().toString().toStdString();
    jobs_.start(Jobs::Lane::file, QStringLiteral("Exporting %1").arg(QFileInfo(file).fileName()),
                [=](const CancelToken& cancel, const Progress&) -> Jobs::Deliver {
                    const auto figure = figure::make_figure(recipe.trace, recipe.state);
                    cancel.throw_if_cancelled();
                    const auto provenance = figure::provenance_of(*recipe.trace, request_for(recipe, selection, o), format);
                    figure::export_figure(*figure, selection, provenance, o, file.toStdString());
                    return [self, file] {
                        if (!self) return;
                        Q_EMIT self->written(file);
                        self->accept();
                    };
                });
}

}  // namespace headlight::ui
