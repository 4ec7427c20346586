// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/sweep/sweep_form.h"

#include "headlight/base/index_list.h"
#include "headlight/intervention/tasks/tasks.h"
#include "headlight/model/hook_name.h"
#include "ui/style/any_length.h"
#include "ui/style/appearance.h"
#include "ui/style/real_field.h"
#include "ui/style/widgets.h"

#include <QFileDialog>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QMenu>
#include <QRegularExpression>
#include <QSettings>
#include <QSignalBlocker>
#include <QStandardItemModel>
#include <QVBoxLayout>

#include <algorithm>
#include <limits>

namespace headlight::ui {
namespace {

using namespace intervention;

/// What becomes of a cell's tensor.
struct EditChoiceRow {
    const char* title;
    Ablation ablation;
    Direction direction;
};
constexpr EditChoiceRow edit_choice_rows[] = {{"Patch clean into corrupt", Ablation::none, Direction::denoise},
                                              {"Patch corrupt into clean", Ablation::none, Direction::noise},
                                              {"Set to 0", Ablation::zero, Direction::denoise},
                                              {"Set to its mean", Ablation::mean, Direction::denoise},
                                              {"Resample from other texts", Ablation::resample, Direction::denoise},
                                              {"Knock out attention", Ablation::knockout, Direction::denoise},
                                              {"Forbid the expert", Ablation::forbid, Direction::denoise},
                                              {"Force the expert", Ablation::force, Direction::denoise}};

/// Where an edit is none of a site, the page says so in place of offering it.
QString why_not_edit(Ablation ablation, Grid grid) {
    const std::vector<Site> sites = sites_of(grid);
    if (ablation == Ablation::knockout && sites != std::vector{Site::pattern})
        return QStringLiteral("Only attention weights can be knocked out");
    if ((ablation == Ablation::forbid || ablation == Ablation::force) && sites != std::vector{Site::router})
        return QStringLiteral("Only experts can be forbidden and forced");
    return {};
}

/// Whether a cross attention has each of the grid's tensors.
bool of_cross_attention(Grid grid) {
    return std::ranges::all_of(sites_of(grid), [](Site site) { return model::in_decoder(row_of(site).hook).has_value(); });
}

template <class Enum, std::size_t N>
QComboBox* sweep_choice(const EnumRow<Enum> (&rows)[N], const char* name) {
    auto* box = new QComboBox;
    add_choices(*box, rows, [](QString title) {
        title[0] = title[0].toUpper();
        return title;
    });
    box->setAccessibleName(QString::fromUtf8(name));
    box->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    box->setMinimumContentsLength(14);
    box->setMaxVisibleItems(24);
    return box;
}

QPlainTextEdit* text_field(const char* name) {
    auto* field = new QPlainTextEdit;
    take_any_length(*field);
    field->setAccessibleName(QString::fromUtf8(name));
    field->setTabChangesFocus(true);
    field->setFixedHeight(64);
    return field;
}

QLineEdit* line_field(const char* name, const QString& placeholder, const QString& tip) {
    auto* field = new QLineEdit;
    field->setAccessibleName(QString::fromUtf8(name));
    field->setPlaceholderText(placeholder);
    field->setToolTip(tip);
    return field;
}

QSpinBox* number_field(const char* name, int least, int most, const QString& tip) {
    auto* field = new QSpinBox;
    field->setRange(least, most);
    field->setAccessibleName(QString::fromUtf8(name));
    field->setToolTip(tip);
    return field;
}

/// Without digits that say nothing: "3", not "3.000000".
class ShortNumber : public RealField {
public:
    QString textFromValue(double value) const override { return locale().toString(value, 'g', QLocale::FloatingPointShortest); }
};

/// Tokens that are typed into one line: "·Mary | ·Ann". A middle dot at the beginning is a space, as figures write it.
std::vector<std::string> tokens_in(const QString& line) {
    std::vector<std::string> out;
    for (QString part : line.split(u'|')) {
        if (part.trimmed().isEmpty()) continue;
        if (line.contains(u'|')) part = part.trimmed();
        if (part.startsWith(u'·')) part[0] = u' ';
        out.push_back(part.toStdString());
    }
    return out;
}

QString line_of(const std::vector<std::string>& tokens) {
    QStringList parts;
    for (const std::string& token : tokens) {
        QString part = QString::fromStdString(token);
        if (part.startsWith(u' ')) part[0] = u'·';
        parts << part;
    }
    return parts.join(QStringLiteral(" | "));
}

}  // namespace

SweepForm::SweepForm(Jobs& jobs, QWidget* parent)
    : QWidget(parent),
      right_(jobs),
      other_(jobs),
      form_(new QFormLayout),
      clean_(text_field("Clean text")),
      corrupt_(text_field("Corrupt text")),
      target_(line_field("Target", QStringLiteral("what the decoder reads"), {})),
      answer_(new TokenField(right_, {}, TokenField::Holds::several)),
      wrong_(new TokenField(other_, {}, TokenField::Holds::several)),
      position_(line_field("Position of the answer", QStringLiteral("END"),
                           QStringLiteral("Where the answer is read: END, a token's number or a named position"))),
      places_(line_field("Named positions", QStringLiteral("subject=The doctor; rest=4-9"),
                         QStringLiteral("Words of the clean text or positions of its tokens, with ; between them"))),
      layers_(line_field("Layers", QStringLiteral("all"), QStringLiteral("0,2,5-7"))),
      heads_(line_field("Heads", QStringLiteral("all"), QStringLiteral("0,2,5-7"))),
      to_(line_field("Through", QStringLiteral("all later parts"),
                     QStringLiteral("Queries, keys or values of later heads, as L9H6.q: the effect on the way through them alone "
                                    "(path patching). Several with a space between them are edited together"))),
      noise_(line_field("Noise on", QStringLiteral("none: the corrupt text"),
                        QStringLiteral("Causal tracing: the name of positions. The corrupt text is the clean one with noise on "
                                       "their embeddings"))),
      over_(line_field("Texts", QStringLiteral("the clean texts"),
                       QStringLiteral("A file of texts that the mean or the other texts are of, one a line; of "
                                      "pictures a list of their files"))),
      edit_(new QComboBox),
      site_(sweep_choice(grids, "Site")),
      metric_(sweep_choice(metrics, "Metric")),
      method_(sweep_choice(methods, "Method")),
      attention_(sweep_choice(model::stacks, "Attention")),
      effect_(sweep_choice(effect_kinds, "Effect")),
      window_(number_field("Layers edited at once", 1, 1000, QStringLiteral("Layers edited at once, around each layer"))),
      noise_draws_(number_field("Draws of noise", 1, 1000, QStringLiteral("How often noise is drawn, for each text"))),
      donors_(number_field("Donors", 1, 1000, QStringLiteral("Texts to resample from, at most"))),
      resamples_(number_field("Resamples", 100, 1'000'000, QStringLiteral("Resamples of the pairs for intervals"))),
      seed_(number_field("Seed", 0, std::numeric_limits<int>::max(), QStringLiteral("Of noise, donors and resamples"))),
      noise_scale_(new ShortNumber),
      by_name_(new QCheckBox(QStringLiteral("Sweep over these names"))),
      per_position_(new QCheckBox(QStringLiteral("Mean of each position"))),
      clean_label_(role_label("note", QStringLiteral("Clean text"))),
      corrupt_label_(role_label("note", QStringLiteral("Corrupt text"))),
      pairs_label_(wrapped_label("note")),
      choose_pairs_(new QPushButton(QStringLiteral("Pairs …"))),
      leave_pairs_(new QPushButton(QStringLiteral("One pair"))),
      choose_texts_(new QPushButton(QStringLiteral("File …"))),
      texts_(new QWidget),
      over_row_(new QWidget) {
    for (const EditChoiceRow& row : edit_choice_rows) edit_->addItem(QString::fromUtf8(row.title));
    edit_->setAccessibleName(QStringLiteral("Edit"));
    attention_->removeItem(attention_->findData(static_cast<int>(model::Stack::encoder)));  // sweeps edit the decoder
    noise_scale_->setRange(1e-6, 1e6);
    noise_scale_->setDecimals(6);
    noise_scale_->setAccessibleName(QStringLiteral("Scale of the noise"));
    noise_scale_->setToolTip(QStringLiteral("Standard deviation of the noise, in those of the embeddings of these positions"));
    noise_scale_->setStepType(QAbstractSpinBox::AdaptiveDecimalStepType);
    per_position_->setToolTip(QStringLiteral("Position by position, of the texts that have the length of the clean one"));
    for (QAbstractSpinBox* field : std::initializer_list<QAbstractSpinBox*>{resamples_, donors_, noise_draws_})
        field->setGroupSeparatorShown(true);
    const auto name_tokens = [](TokenField& field, const char* name, const char* tip) {
        field.line().setAccessibleName(QString::fromUtf8(name));
        field.line().setToolTip(QString::fromUtf8(tip));
    };
    name_tokens(*answer_, "Answer",
                "The right next token, of several one after another with | between them; · is its leading space. Empty: the "
                "likeliest");
    name_tokens(*wrong_, "Wrong answer",
                "The token that the answer is compared with. Empty: what the corrupt text predicts, without one the second "
                "likeliest");
    clean_label_->setBuddy(clean_);
    corrupt_label_->setBuddy(corrupt_);

    auto* texts = new_column(texts_, {0, 0, 0, 0}, 4);
    add_widgets(*texts, {clean_label_, clean_, corrupt_label_, corrupt_});
    auto* files = new QHBoxLayout;
    files->addWidget(pairs_label_, 1);
    files->addWidget(leave_pairs_);
    files->addWidget(choose_pairs_);
    auto* over = new_row(over_row_, {0, 0, 0, 0});
    over->addWidget(over_, 1);
    over->addWidget(choose_texts_);
    form_->setContentsMargins(0, 0, 8, 0);
    form_->setFieldGrowthPolicy(QFormLayout::AllNonFixedFieldsGrow);
    form_->setHorizontalSpacing(10);
    form_->setVerticalSpacing(8);
    form_->addRow(texts_);
    const auto row = [this](const char* words, QWidget* field) {
        QLabel* label = role_label("note", QString::fromUtf8(words));
        label->setMinimumHeight(field->sizeHint().height());  // on the line of the field's text
        form_->addRow(label, field);
    };
    row("Target", target_);
    form_->addRow(files);
    row("Names", places_);
    form_->addRow(QString(), by_name_);
    row("Answer", answer_);
    row("Wrong", wrong_);
    row("Metric", metric_);
    row("Read at", position_);
    row("Edit", edit_);
    row("Noise on", noise_);
    row("Scale", noise_scale_);
    row("Draws", noise_draws_);
    row("Texts", over_row_);
    form_->addRow(QString(), per_position_);
    row("Donors", donors_);
    row("Site", site_);
    row("Attention", attention_);
    row("Layers", layers_);
    row("Heads", heads_);
    row("Through", to_);
    row("Window", window_);
    row("Method", method_);
    row("Effect", effect_);
    row("Resamples", resamples_);
    row("Seed", seed_);
    auto* column = new_column(this, {0, 0, 0, 0});
    column->addLayout(form_);
    column->addStretch();
    for (QPushButton* button : {choose_pairs_, leave_pairs_, choose_texts_}) button->setAutoDefault(false);

    const auto asked_anew = [this] {
        show_fields();
        Q_EMIT changed();
    };
    for (QWidget* field : std::initializer_list<QWidget*>{clean_, corrupt_, target_, &answer(), &wrong(), position_, places_,
                                                          layers_, heads_, to_, noise_, over_})
        field->installEventFilter(this);
    for (QPlainTextEdit* field : {clean_, corrupt_}) connect(field, &QPlainTextEdit::textChanged, this, asked_anew);
    for (QLineEdit* field : {target_, &answer(), &wrong(), position_, places_, layers_, heads_, to_, noise_, over_})
        connect(field, &QLineEdit::textChanged, this, asked_anew);
    for (QComboBox* box : {edit_, site_, metric_, method_, attention_, effect_})
        connect(box, &QComboBox::currentIndexChanged, this, asked_anew);
    for (QCheckBox* box : {by_name_, per_position_}) connect(box, &QCheckBox::toggled, this, asked_anew);
    for (QSpinBox* box : {window_, noise_draws_, donors_, resamples_, seed_})
        connect(box, &QSpinBox::valueChanged, this, asked_anew);
    connect(noise_scale_, &QDoubleSpinBox::valueChanged, this, asked_anew);
    connect(choose_texts_, &QPushButton::clicked, this, &SweepForm::ask_for_texts);
    auto* sets = new QMenu(choose_pairs_);
    sets->setToolTipsVisible(true);
    choose_pairs_->setMenu(sets);
    connect(sets, &QMenu::aboutToShow, this, [this, sets] { offer_pairs(*sets); });
    connect(leave_pairs_, &QPushButton::clicked, this, [this, asked_anew] {
        pairs_.clear();
        asked_anew();
    });
    set_request({.options = {.ablation = Ablation::zero}});
}

/// Undo is that of the page.
bool SweepForm::eventFilter(QObject* watched, QEvent* event) {
    if (event->type() == QEvent::ShortcutOverride) {
        const auto* key = static_cast<QKeyEvent*>(event);
        if (key->matches(QKeySequence::Undo) || key->matches(QKeySequence::Redo)) {
            event->ignore();
            return true;
        }
    }
    return QWidget::eventFilter(watched, event);
}

bool SweepForm::patches() const { return edit_choice_rows[edit_->currentIndex()].ablation == Ablation::none; }

void SweepForm::show_fields() {
    const bool one_pair = pairs_.isEmpty();
    const auto metric = chosen_value<Metric>(*metric_);
    const auto grid = chosen_value<Grid>(*site_);
    unused_.clear();
    const auto show = [this](QWidget* field, bool on) {
        if (!on) unused_.insert(field);
        form_->setRowVisible(field, on);
    };
    const Ablation ablation = edit_choice_rows[edit_->currentIndex()].ablation;
    show(texts_, one_pair);
    show(noise_, patches() && !has_target_ && !pictures_);
    show(noise_scale_, noised());
    show(noise_draws_, noised());
    const bool second_text = patches() && !noised();
    corrupt_->setVisible(second_text);
    corrupt_label_->setVisible(second_text);
    const bool of_texts = ablation == Ablation::mean || ablation == Ablation::resample;
    show(over_row_, of_texts);
    show(per_position_, ablation == Ablation::mean && !over_->text().trimmed().isEmpty());
    show(donors_, ablation == Ablation::resample);
    show(attention_, has_target_ && of_cross_attention(grid));
    show(resamples_, !one_pair || noised());
    show(seed_, !one_pair || noised() || ablation == Ablation::resample);
    auto* edits = static_cast<QStandardItemModel*>(edit_->model());
    for (int i = 0; i < int(std::size(edit_choice_rows)); ++i) {
        const QString why = why_not_edit(edit_choice_rows[i].ablation, grid);
        edits->item(i)->setEnabled(why.isEmpty());
        edits->item(i)->setToolTip(why);
    }
    show(target_, has_target_);
    show(answer_, one_pair && metric != Metric::kl && metric != Metric::loss);
    show(wrong_, one_pair && metric == Metric::logit_diff);
    show(position_, !has_target_ && metric != Metric::loss);
    show(heads_, has_head(grid));
    show(places_, one_pair && !has_target_ && (has_position(grid) || patches()));
    show(effect_, to_->text().trimmed().isEmpty());
    show(by_name_, has_position(grid) && !(one_pair && places_->text().trimmed().isEmpty()));
    pairs_label_->setText(one_pair ? QString() : QFileInfo(pairs_).fileName());
    pairs_label_->setToolTip(pairs_);
    leave_pairs_->setVisible(!one_pair);
}

SweepRequest SweepForm::request() const { return request(Lists::checked); }

SweepRequest SweepForm::own_request() const {
    SweepRequest out = request(Lists::readable);
    const auto follows = [](std::string& text, const QString& followed) {
        if (text == followed.toStdString()) text.clear();
    };
    follows(out.clean, followed_clean_);
    follows(out.corrupt, followed_corrupt_);
    follows(out.target, followed_target_);
    return out;
}

SweepRequest SweepForm::request(Lists lists) const {
    SweepRequest out = kept_;
    SweepOptions& o = out.options;
    const EditChoiceRow& edit = edit_choice_rows[edit_->currentIndex()];
    o.ablation = edit.ablation;
    o.direction = edit.direction;
    o.grid = chosen_value<Grid>(*site_);
    o.metric = chosen_value<Metric>(*metric_);
    o.effect = used(effect_) ? chosen_value<Effect>(*effect_) : Effect::total;
    o.to.clear();
    static const QRegularExpression between(QStringLiteral("[\\s;]+"));
    for (const QString& receiver : to_->text().split(between, Qt::SkipEmptyParts)) o.to.push_back(receiver.toStdString());
    o.window = window_->value();
    o.method = chosen_value<Method>(*method_);
    o.attention = used(attention_) ? chosen_value<model::Stack>(*attention_) : model::Stack::decoder;
    const SweepOptions usual;
    o.noise = noised() ? noise_->text().trimmed().toStdString() : std::string();
    o.noise_scale = noised() ? noise_scale_->value() : usual.noise_scale;
    o.noise_draws = noised() ? noise_draws_->value() : usual.noise_draws;
    out.over = used(over_row_) ? over_->text().trimmed().toStdString() : std::string();
    o.per_position = per_position_->isChecked() && used(per_position_);
    o.donors = used(donors_) ? donors_->value() : usual.donors;
    o.bootstrap.draws = used(resamples_) ? resamples_->value() : usual.bootstrap.draws;
    o.bootstrap.seed = used(seed_) ? static_cast<std::uint64_t>(seed_->value()) : usual.bootstrap.seed;
    const auto list = [&](const QLineEdit* field) -> std::vector<std::int64_t> {
        const QString text = field->text().remove(u' ');
        if (text.isEmpty() || !used(field)) return {};
        try {
            return index_list(text.toStdString());
        } catch (const Error&) {
            if (lists == Lists::checked) throw;
        }
        return {};
    };
    o.layers = list(layers_);
    o.heads = list(heads_);
    out.position = position_->text().trimmed().isEmpty() || !used(position_) ? "END" : position_->text().trimmed().toStdString();
    out.target = has_target_ ? target_->text().toStdString() : std::string();
    out.pairs = pairs_.toStdString();
    out.places.clear();
    o.by_name = by_name_->isChecked() && used(by_name_);
    out.clean = out.corrupt = {};
    out.answers.clear(), out.wrong.clear();
    if (!pairs_.isEmpty()) return out;
    out.clean = clean_->toPlainText().toStdString();
    if (patches() && !noised()) out.corrupt = corrupt_->toPlainText().toStdString();
    if (used(answer_)) out.answers = tokens_in(answer_->line().text());
    if (used(wrong_)) out.wrong = tokens_in(wrong_->line().text());
    if (used(places_))
        for (const QString& place : places_->text().split(u';', Qt::SkipEmptyParts))
            out.places.push_back(place.trimmed().toStdString());
    return out;
}

void SweepForm::set_request(const SweepRequest& asked) {
    {
        const QSignalBlocker quiet(this);
        const SweepOptions& o = asked.options;
        kept_ = asked;
        for (int i = 0; i < int(std::size(edit_choice_rows)); ++i)
            if (edit_choice_rows[i].ablation == o.ablation &&
                (o.ablation != Ablation::none || edit_choice_rows[i].direction == o.direction))
                edit_->setCurrentIndex(i);
        choose_value(*site_, o.grid);
        choose_value(*metric_, o.metric);
        choose_value(*method_, o.method);
        choose_value(*effect_, o.effect);
        window_->setValue(int(o.window));
        choose_value(*attention_, o.attention);
        noise_->setText(QString::fromStdString(o.noise));
        noise_scale_->setValue(o.noise_scale);
        noise_draws_->setValue(int(o.noise_draws));
        over_->setText(QString::fromStdString(asked.over));
        per_position_->setChecked(o.per_position);
        donors_->setValue(int(o.donors));
        resamples_->setValue(int(o.bootstrap.draws));
        seed_->setValue(int(o.bootstrap.seed));
        QStringList receivers;
        for (const std::string& receiver : o.to) receivers << QString::fromStdString(receiver);
        to_->setText(receivers.join(u' '));
        layers_->setText(QString::fromStdString(index_list_text(o.layers)));
        heads_->setText(QString::fromStdString(index_list_text(o.heads)));
        position_->setText(asked.position == "END" ? QString() : QString::fromStdString(asked.position));
        pairs_ = QString::fromStdString(asked.pairs);
        by_name_->setChecked(o.by_name);
        if (pairs_.isEmpty()) {
            const auto put = [](QPlainTextEdit* field, const std::string& text) {
                if (field->toPlainText().toStdString() != text) field->setPlainText(QString::fromStdString(text));
            };
            put(clean_, asked.clean);
            if (o.ablation == Ablation::none && o.noise.empty()) put(corrupt_, asked.corrupt);
            answer().setText(line_of(asked.answers));
            wrong().setText(line_of(asked.wrong));
            QStringList places;
            for (const std::string& place : asked.places) places << QString::fromStdString(place);
            places_->setText(places.join(QStringLiteral("; ")));
        }
        if (!asked.target.empty()) target_->setText(QString::fromStdString(asked.target));
    }
    show_fields();
    Q_EMIT changed();
}

void SweepForm::follow(const QString& clean, const QString& corrupt, const QString& target) {
    bool news = false;
    {
        const QSignalBlocker quiet(this);
        const auto put = [&](auto* field, const QString& now, QString& followed, const QString& text, auto set) {
            if (now != followed && !now.isEmpty()) return;  // typed here
            followed = text;
            if (now == text) return;
            (field->*set)(text);
            news = true;
        };
        put(clean_, clean_->toPlainText(), followed_clean_, clean, &QPlainTextEdit::setPlainText);
        if (!corrupt.isEmpty()) put(corrupt_, corrupt_->toPlainText(), followed_corrupt_, corrupt, &QPlainTextEdit::setPlainText);
        put(target_, target_->text(), followed_target_, target, &QLineEdit::setText);
    }
    if (news) Q_EMIT changed();
}

void SweepForm::fit(const OpenModel& opened) {
    has_target_ = opened.model && opened.model->part(model::Stack::encoder) != nullptr;
    pictures_ = reads_pictures(opened);
    opened_ = opened;
    offer_tokens({}, {});
    clean_label_->setText(pictures_ ? QStringLiteral("Picture") : QStringLiteral("Clean text"));
    corrupt_label_->setText(pictures_ ? QStringLiteral("Corrupt picture") : QStringLiteral("Corrupt text"));
    if (opened.model && !opened.model->config().causal && chosen_value<Metric>(*metric_) == Metric::loss)
        metric_->setCurrentIndex(0);
    show_fields();
}

void SweepForm::show_answers(const QString& answers, const QString& wrong) {
    answer_->line().setPlaceholderText(answers);
    wrong_->line().setPlaceholderText(wrong);
}

void SweepForm::offer_tokens(const std::vector<double>& right, const std::vector<double>& other) {
    const auto tokenizer = pictures_ ? nullptr : opened_.tokenizer;  // classes are read by their names
    const model::ModelConfig config = opened_.model ? opened_.model->config() : model::ModelConfig{};
    right_.take(tokenizer, config, right);
    other_.take(tokenizer, config, other);
}

/// Tasks whose answers are tokens of the model, and a file.
void SweepForm::offer_pairs(QMenu& menu) {
    menu.clear();
    for (const Task& task : built_in_tasks()) {
        const FittedTask fitted =
            opened_.model && opened_.tokenizer ? intervention::fit(task, *opened_.model, *opened_.tokenizer) : FittedTask();
        if (fitted.pairs.empty()) continue;
        QAction* action =
            menu.addAction(QStringLiteral("%1 (%2 pairs)").arg(QString::fromStdString(task.title)).arg(fitted.pairs.size()), this,
                           [this, id = QString::fromStdString(task.id)] { take_pairs(id); });
        action->setToolTip(QString::fromStdString(task.source));
    }
    menu.addAction(QStringLiteral("File of pairs …"), this, &SweepForm::ask_for_pairs);
}

void SweepForm::take_pairs(const QString& pairs) {
    pairs_ = pairs;
    show_fields();
    Q_EMIT changed();
}

void SweepForm::ask_for_pairs() {
    const QString start = QSettings().value(QStringLiteral("recent/pairs")).toString();
    const QString file = QFileDialog::getOpenFileName(this, QStringLiteral("File of pairs: one JSON object a line"), start,
                                                      QStringLiteral("Pairs (*.jsonl);;All files (*)"));
    if (file.isEmpty()) return;
    QSettings().setValue(QStringLiteral("recent/pairs"), QFileInfo(file).path());
    take_pairs(file);
}

void SweepForm::ask_for_texts() {
    const QString file = QFileDialog::getOpenFileName(this, QStringLiteral("File of texts"), QFileInfo(over_->text()).path(),
                                                      QStringLiteral("Texts (*.txt *.jsonl *.csv *.tsv);;All files (*)"));
    if (!file.isEmpty()) over_->setText(file);
}

}  // namespace headlight::ui
