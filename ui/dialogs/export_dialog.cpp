// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/dialogs/export_dialog.h"

#include "ui/style/appearance.h"
#include "ui/style/real_field.h"
#include "ui/style/widgets.h"

#include <QDialogButtonBox>
#include <QDir>
#include <QFileDialog>
#include <QFileInfo>
#include <QFontDatabase>
#include <QMessageBox>
#include <QPointer>
#include <QSettings>
#include <QVBoxLayout>

namespace headlight::ui {

namespace {

enum WidthChoice { as_on_screen, single_column, double_column, slide, custom, custom_mm };
constexpr QSize preview_size{420, 420};

QString setting(const char* name) { return QStringLiteral("export/") + QLatin1String(name); }

/// "-L5", "-L5H4", "-L5H0+3+7", "-L5-6heads"; of all heads the layer alone.
QString heads_part(const figure::ViewState& state, std::int64_t heads_of_layer) {
    const figure::ViewNeeds& needs = figure::view_spec(state.view).needs;
    if (!needs.layer && !needs.heads && !needs.focus) return {};
    QString part = QStringLiteral("-L%1").arg(state.layer.value);
    const auto count = std::ssize(state.heads);
    if (!(needs.heads || needs.focus) || count == 0 || (needs.heads && count == heads_of_layer && count > 1)) return part;
    constexpr int most_named = 4;
    if (count > most_named) return part + QStringLiteral("-%1heads").arg(count);
    QStringList names;
    for (const Head head : state.heads) names << QString::number(head.value);
    return part + u'H' + names.join(u'+');
}

/// What the figure is of: two exports of different heads or tokens get different names.
QString name_of(const Recipe& recipe, const figure::Selection& selection) {
    const figure::ViewState& state = recipe.state;
    const model::ModelConfig& config = recipe.trace->config();
    QString stem = QString::fromStdString(config.name + "-" + state.view) + heads_part(state, config.n_heads);
    const figure::Request request = request_for(recipe, selection, {});
    if (request.query) stem += QStringLiteral("-q%1").arg(request.query->value);
    if (request.key) stem += QStringLiteral("-k%1").arg(request.key->value);
    return stem;
}

Exportable exportable_of(const Recipe& recipe, const figure::Selection& selection) {
    return {.name = name_of(recipe, selection),
            .selection = selection_for(recipe, selection),
            .figure = [recipe](const CancelToken& cancel) -> std::shared_ptr<figure::Figure> {
                return figure::make_figure(recipe.trace, recipe.state, cancel);
            },
            .provenance =
                [recipe, selection](const figure::Figure&, const figure::ExportOptions& options, const std::string& format) {
                    return figure::provenance_of(*recipe.trace, request_for(recipe, selection, options), format);
                }};
}

/// The name, or the first with a number behind it that is not taken in the folder.
QString free_name(const QDir& folder, const QString& stem, const QString& suffix) {
    QString name = stem + u'.' + suffix;
    for (int i = 2; folder.exists(name); ++i) name = QStringLiteral("%1-%2.%3").arg(stem).arg(i).arg(suffix);
    return name;
}

QDoubleSpinBox* size_box(double low, double high, double value, const QString& unit) {
    auto* box = new RealField;
    box->setRange(low, high);
    box->setDecimals(0);
    box->setValue(value);
    box->setSuffix(unit);
    return box;
}

}  // namespace

ExportDialog::ExportDialog(Document& document, Jobs& jobs, const Recipe& recipe, QSize screen_size, QWidget* parent)
    : ExportDialog(document, jobs, exportable_of(recipe, without_hover(document.selection().get())), screen_size, parent) {}

ExportDialog::ExportDialog(Document& document, Jobs& jobs, Exportable what, QSize screen_size, QWidget* parent)
    : QDialog(parent),
      document_(document),
      jobs_(jobs),
      what_(std::move(what)),
      screen_size_(screen_size),
      file_(new QLineEdit),
      format_(new QComboBox),
      width_(new QComboBox),
      theme_(new QComboBox),
      scale_(new QComboBox),
      pixels_(size_box(100, 20'000, 1000, QStringLiteral(" px wide"))),
      millimetres_(size_box(20, 600, 120, QStringLiteral(" mm wide"))),
      footer_(new QCheckBox(QStringLiteral("Footer with model, text and options"))),
      transparent_(new QCheckBox(QStringLiteral("Transparent background"))),
      shown_(new QStackedWidget),
      data_(new QPlainTextEdit),
      picture_(new QLabel),
      message_(wrapped_label("error")),
      folder_label_(role_label("muted")),
      type_note_(role_label("muted")),
      form_(new QFormLayout),
      type_row_(new QHBoxLayout),
      write_(nullptr),
      widen_(new QPushButton) {
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
    file_->setFocus();
    file_->setSelection(0, int(QFileInfo(file_->text()).completeBaseName().size()));
}

void ExportDialog::build() {
    for (const auto& row : figure::formats) format_->addItem(QString::fromUtf8(row.title), QString::fromUtf8(row.word));
    width_->addItems({QStringLiteral("As on screen"), QStringLiteral("85 mm, one column"), QStringLiteral("178 mm, two columns"),
                      QStringLiteral("Slide, 1600 × 900 px"), QStringLiteral("Pixels"), QStringLiteral("Millimetres")});
    theme_->addItems({QStringLiteral("Light"), QStringLiteral("Dark")});
    scale_->addItems({QStringLiteral("1×"), QStringLiteral("2×"), QStringLiteral("3×"), QStringLiteral("4×")});
    message_->hide();
    widen_->setAutoDefault(false);
    picture_->setAlignment(Qt::AlignCenter);
    picture_->setAccessibleName(QStringLiteral("Preview"));
    data_->setReadOnly(true);
    data_->setLineWrapMode(QPlainTextEdit::NoWrap);
    data_->setFont(QFontDatabase::systemFont(QFontDatabase::FixedFont));
    data_->setAccessibleName(QStringLiteral("Preview"));
    data_->setFocusPolicy(Qt::ClickFocus);
    shown_->setFixedSize(preview_size);
    shown_->addWidget(picture_);
    shown_->addWidget(data_);

    auto* choose = new QPushButton(QStringLiteral("Choose …"));
    choose->setToolTip(QStringLiteral("Choose the folder and the name"));
    auto* file_row = new QHBoxLayout;
    file_row->addWidget(file_, 1);
    file_row->addWidget(choose);
    type_row_->addWidget(type_note_, 1);
    type_row_->addWidget(widen_);
    form_->setVerticalSpacing(10);
    form_->setHorizontalSpacing(16);
    form_->setLabelAlignment(Qt::AlignLeft);
    form_->setFieldGrowthPolicy(QFormLayout::ExpandingFieldsGrow);
    form_->addRow(QStringLiteral("Format"), format_);
    form_->addRow(QStringLiteral("Width"), width_);
    form_->addRow(QString(), pixels_);
    form_->addRow(QString(), millimetres_);
    form_->addRow(QString(), type_row_);
    form_->addRow(QStringLiteral("Resolution"), scale_);
    form_->addRow(QStringLiteral("Theme"), theme_);
    form_->addRow(QString(), footer_);
    form_->addRow(QString(), transparent_);
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Cancel);
    buttons->button(QDialogButtonBox::Cancel)->setIcon({});
    buttons->button(QDialogButtonBox::Cancel)->setAutoDefault(false);
    write_ = buttons->addButton(QStringLiteral("Export"), QDialogButtonBox::AcceptRole);
    write_->setProperty("kind", "primary");
    choose->setAutoDefault(false);
    auto* right = new QVBoxLayout;
    right->addLayout(form_);
    right->addStretch();
    right->addWidget(message_);
    auto* file_block = new QVBoxLayout;
    file_block->setSpacing(6);
    file_block->addWidget(new QLabel(QStringLiteral("File name")));
    file_block->addLayout(file_row);
    file_block->addWidget(folder_label_);
    right->addLayout(file_block);
    right->addSpacing(8);
    right->addWidget(buttons);
    auto* row = new_row(this, {20, 20, 20, 16}, 24);
    row->addWidget(shown_);
    row->addLayout(right, 1);
    write_->setDefault(true);  // only now that it is in the dialog
    resize(900, 500);

    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    connect(write_, &QPushButton::clicked, this, &ExportDialog::write);
    connect(choose, &QPushButton::clicked, this, [this] {
        const QString chosen = QFileDialog::getSaveFileName(this, QStringLiteral("Export figure"), path(), {}, nullptr,
                                                            QFileDialog::DontConfirmOverwrite);  // write() asks
        if (chosen.isEmpty()) return;
        file_->setText(chosen);
        const int known = format_->findData(QFileInfo(chosen).suffix().toLower());
        if (known >= 0) format_->setCurrentIndex(known);
        show_folder();
    });
    connect(file_, &QLineEdit::editingFinished, this, &ExportDialog::show_folder);
    for (QComboBox* box : {width_, theme_, scale_}) connect(box, &QComboBox::currentIndexChanged, this, &ExportDialog::preview);
    connect(format_, &QComboBox::currentIndexChanged, this, &ExportDialog::format_changed);
    for (QDoubleSpinBox* box : {pixels_, millimetres_}) connect(box, &QDoubleSpinBox::valueChanged, this, &ExportDialog::preview);
    for (QCheckBox* box : {footer_, transparent_}) connect(box, &QCheckBox::toggled, this, &ExportDialog::preview);
    connect(widen_, &QPushButton::clicked, this, [this] {
        const double mm = widen_->property("mm").toDouble();
        const QSignalBlocker quiet(millimetres_);
        millimetres_->setValue(mm);
        width_->setCurrentIndex(custom_mm);
        preview();
    });
}

void ExportDialog::restore() {
    const QSettings s;
    format_->setCurrentIndex(std::max(0, format_->findData(s.value(setting("format"), QStringLiteral("png")))));
    width_->setCurrentIndex(s.value(setting("width"), as_on_screen).toInt());
    pixels_->setValue(s.value(setting("pixels"), 1000).toDouble());
    millimetres_->setValue(s.value(setting("millimetres"), 120).toDouble());
    scale_->setCurrentIndex(s.value(setting("scale"), 1).toInt());
    theme_->setCurrentIndex(s.value(setting("dark"), false).toBool() ? 1 : 0);
    footer_->setChecked(s.value(setting("footer"), true).toBool());
    transparent_->setChecked(s.value(setting("transparent"), false).toBool());
    folder_ = s.value(setting("folder"), QDir::homePath()).toString();
    propose_name();
}

void ExportDialog::propose_name() {
    QString stem = what_.name;
    stem.replace(u'/', u'-');
    proposed_ = free_name(QDir(folder_), stem, format_->currentData().toString());
    file_->setText(proposed_);
    show_folder();
}

QString ExportDialog::path() const { return QDir::cleanPath(QDir(folder_).absoluteFilePath(file_->text().trimmed())); }

/// A path becomes a folder and a name: what tells files apart is their name.
void ExportDialog::show_folder() {
    if (file_->text().contains(u'/')) {
        const QFileInfo info(path());
        folder_ = info.absolutePath();
        file_->setText(info.fileName());
    }
    const QString where = QStringLiteral("in %1").arg(QDir::toNativeSeparators(folder_));
    folder_label_->setText(folder_label_->fontMetrics().elidedText(where, Qt::ElideMiddle, 380));
    folder_label_->setToolTip(folder_);
}

void ExportDialog::remember() const {
    QSettings s;
    s.setValue(setting("format"), format_->currentData());
    s.setValue(setting("width"), width_->currentIndex());
    s.setValue(setting("pixels"), pixels_->value());
    s.setValue(setting("millimetres"), millimetres_->value());
    s.setValue(setting("scale"), scale_->currentIndex());
    s.setValue(setting("dark"), theme_->currentIndex() == 1);
    s.setValue(setting("footer"), footer_->isChecked());
    s.setValue(setting("transparent"), transparent_->isChecked());
    s.setValue(setting("folder"), QFileInfo(path()).absolutePath());
}

figure::Format ExportDialog::format_now() const {
    return figure::format_of("a." + format_->currentData().toString().toStdString());
}

void ExportDialog::format_changed() {
    const QString suffix = format_->currentData().toString();
    const QFileInfo info(file_->text());
    if (!proposed_.isEmpty() && file_->text() == proposed_) {
        propose_name();  // without the number that another format's file has made necessary
    } else if (info.suffix() != suffix && !file_->text().isEmpty()) {
        const bool has_format = format_->findData(info.suffix().toLower()) >= 0;  // "llama-3.2-1b" has none
        const QString stem = has_format ? info.completeBaseName() : info.fileName();
        file_->setText((info.path() == QLatin1String(".") ? QString() : info.path() + u'/') +
                       free_name(QDir(folder_).filePath(info.path()), stem, suffix));
    }
    const bool picture = !figure::is_data(format_now());
    for (QWidget* w : std::initializer_list<QWidget*>{width_, theme_, footer_, transparent_}) form_->setRowVisible(w, picture);
    form_->setRowVisible(scale_, suffix == QLatin1String("png"));
    shown_->setCurrentWidget(picture ? static_cast<QWidget*>(picture_) : data_);
    preview();
}

figure::ExportOptions ExportDialog::options() const {
    figure::ExportOptions o;
    o.style = style_for(theme_->currentIndex() == 1 ? figure::Theme::dark_theme() : figure::Theme::light(), document_);
    if (!what_.filtered) o.style.filter = nullptr;
    const bool picture =
        !figure::is_data(format_now());  // data have no size on paper, whatever was chosen for the picture before
    if (picture) {
        o.scale = scale_->currentIndex() + 1;
        o.footer = footer_->isChecked();
        o.transparent = transparent_->isChecked();
    }
    switch (picture ? width_->currentIndex() : as_on_screen) {
        case single_column: o.width_mm = 85; break;
        case double_column: o.width_mm = 178; break;
        case slide: o.size_px = {1600, 900}; break;
        case custom: o.size_px = {pixels_->value(), 0}; break;
        case custom_mm: o.width_mm = millimetres_->value(); break;
        default: o.size_px = QSizeF(screen_size_.width(), 0);
    }
    return o;
}

void ExportDialog::preview() {
    const bool picture = !figure::is_data(format_now());
    form_->setRowVisible(pixels_, picture && width_->currentIndex() == custom);
    form_->setRowVisible(millimetres_, picture && width_->currentIndex() == custom_mm);
    message_->hide();
    form_->setRowVisible(type_row_, false);
    if (picture)
        preview_picture();
    else
        preview_data();
}

void ExportDialog::preview_picture() {
    figure::ExportOptions o = options();
    o.scale = 1;
    const QPointer<ExportDialog> self(this);  // the dialog may be closed before the work is done
    const Exportable what = what_;
    const double ratio = devicePixelRatioF();
    jobs_.start(Jobs::Lane::preview, QStringLiteral("Preview"), [=](const CancelToken& cancel, const Progress&) -> Jobs::Deliver {
        const auto figure = what.figure(cancel);
        cancel.throw_if_cancelled();
        const auto provenance = what.provenance(*figure, o, "png");
        QImage image = figure::export_image(*figure, what.selection, provenance, o, cancel);
        image.setDevicePixelRatio(1);
        image = image.scaled(preview_size * ratio, Qt::KeepAspectRatio, Qt::SmoothTransformation);
        image.setDevicePixelRatio(ratio);
        double points = 0;
        std::optional<int> wide_enough;
        if (o.width_mm) {
            points = figure::smallest_type(*figure, what.selection, provenance, o, cancel);
            if (points > 0 && points < figure::least_points)
                wide_enough = figure::width_for_type(*figure, what.selection, provenance, o, figure::least_points, cancel);
        }
        return [self, image, points, wide_enough] {
            if (!self) return;
            self->picture_->setPixmap(QPixmap::fromImage(image));
            self->form_->setRowVisible(self->type_row_, points > 0);
            self->type_note_->setText(QStringLiteral("Smallest type: %1 pt").arg(points, 0, 'f', 1));
            self->widen_->setVisible(wide_enough.has_value());
            if (!wide_enough) return;
            self->widen_->setText(QStringLiteral("Widen to %1 mm: %2 pt").arg(*wide_enough).arg(figure::least_points));
            self->widen_->setProperty("mm", *wide_enough);
        };
    });
}

void ExportDialog::preview_data() {
    const QPointer<ExportDialog> self(this);
    const Exportable what = what_;
    const figure::ExportOptions o = options();
    const figure::Format format = format_now();
    data_->setPlainText({});
    jobs_.start(Jobs::Lane::preview, QStringLiteral("Preview"), [=](const CancelToken& cancel, const Progress&) -> Jobs::Deliver {
        const auto figure = what.figure(cancel);
        const auto provenance = what.provenance(*figure, o, "png");
        const std::string text = figure::data_preview(*figure, what.selection, provenance, o, format);
        return [self, text] {
            if (self) self->data_->setPlainText(QString::fromStdString(text));
        };
    });
}

void ExportDialog::done(int result) {
    if (!write_->isEnabled()) jobs_.cancel(Jobs::Lane::file);
    jobs_.cancel(Jobs::Lane::preview);
    QDialog::done(result);
}

void ExportDialog::write() {
    if (file_->text().trimmed().isEmpty()) return file_->setFocus();
    show_folder();
    if (!QFileInfo::exists(path())) return write_now();
    auto* question =
        new QMessageBox(QMessageBox::Question, QStringLiteral("Replace the file?"),
                        QStringLiteral("%1 exists already.").arg(QFileInfo(path()).fileName()), QMessageBox::Cancel, this);
    question->setAttribute(Qt::WA_DeleteOnClose);
    QPushButton* replace = question->addButton(QStringLiteral("Replace"), QMessageBox::AcceptRole);
    question->setDefaultButton(QMessageBox::Cancel);
    connect(replace, &QPushButton::clicked, this, &ExportDialog::write_now);
    question->open();
}

void ExportDialog::write_now() {
    const QString file = path();
    remember();
    message_->hide();
    write_->setEnabled(false);
    const figure::ExportOptions o = options();
    const QPointer<ExportDialog> self(this);  // the dialog may be closed before the work is done
    const Exportable what = what_;
    const std::string format = format_->currentData().toString().toStdString();
    jobs_.start(Jobs::Lane::file, QStringLiteral("Exporting %1").arg(QFileInfo(file).fileName()),
                [=](const CancelToken& cancel, const Progress&) -> Jobs::Deliver {
                    const auto figure = what.figure(cancel);
                    cancel.throw_if_cancelled();
                    const auto provenance = what.provenance(*figure, o, format);
                    figure::export_figure(*figure, what.selection, provenance, o, file.toStdString(), cancel);
                    return [self, file] {
                        if (!self) return;
                        Q_EMIT self->written(file);
                        self->accept();
                    };
                });
}

}  // namespace headlight::ui
