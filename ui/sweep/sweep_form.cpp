// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/sweep/sweep_form.h"

#include "headlight/intervention/tasks/tasks.h"
#include "headlight/model/hook_name.h"
#include "ui/style/any_length.h"
#include "ui/style/appearance.h"
#include "ui/style/widgets.h"

#include <QFileDialog>
#include <QFileInfo>
#include <QKeyEvent>
#include <QMenu>
#include <QSettings>
#include <QSignalBlocker>
#include <QStandardItemModel>

#include <algorithm>

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

QPlainTextEdit* text_field(const char* name) {
    auto* field = new QPlainTextEdit;
    take_any_length(*field);
    field->setAccessibleName(QString::fromUtf8(name));
    field->setTabChangesFocus(true);
    field->setFixedHeight(64);
    return field;
}

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

/// The fields of a first sweep. The others stand behind "More".
constexpr std::string_view first_fields[] = {"target", "site", "attention"};
const QString more_setting = QStringLiteral("sweep/more");

/// Where a page has widgets of its own.
const std::vector<std::string_view> own_fields = {"pairs", "clean", "corrupt", "answer", "wrong", "direction", "ablate", "over"};

}  // namespace

SweepForm::SweepForm(Jobs& jobs, QWidget* parent)
    : Form(own_fields, Irrelevant::hidden, parent),
      right_(jobs),
      other_(jobs),
      clean_(text_field("Clean text")),
      corrupt_(text_field("Corrupt text")),
      answer_(new TokenField(right_, {}, TokenField::Holds::several)),
      wrong_(new TokenField(other_, {}, TokenField::Holds::several)),
      over_(new QLineEdit),
      edit_(new QComboBox),
      clean_label_(new QLabel(QStringLiteral("Clean text"))),
      corrupt_label_(new QLabel(QStringLiteral("Corrupt text"))),
      pairs_label_(wrapped_label("note")),
      choose_pairs_(new QPushButton(QStringLiteral("Pairs …"))),
      leave_pairs_(new QPushButton(QStringLiteral("One pair"))),
      more_(link_button({})),
      texts_(new QWidget),
      files_(new QWidget),
      over_row_(new QWidget) {
    build();
    connect(edit_, &QComboBox::currentIndexChanged, this, &FormRows::changed);
    for (QPlainTextEdit* field : {clean_, corrupt_}) connect(field, &QPlainTextEdit::textChanged, this, &FormRows::changed);
    for (QLineEdit* field : {&answer_->line(), &wrong_->line(), over_})
        connect(field, &QLineEdit::textChanged, this, &FormRows::changed);
    for (QPlainTextEdit* field : {clean_, corrupt_}) field->installEventFilter(this);
    for (QLineEdit* field : findChildren<QLineEdit*>()) field->installEventFilter(this);
    auto* sets = new QMenu(choose_pairs_);
    sets->setToolTipsVisible(true);
    choose_pairs_->setMenu(sets);
    connect(sets, &QMenu::aboutToShow, this, [this, sets] { offer_pairs(*sets); });
    connect(leave_pairs_, &QPushButton::clicked, this, [this] { take_pairs({}); });
    std::set<std::string_view> further{"over"};
    for (const auto& [field, words, is_switch] : fields_of(SweepRequest{}))
        if (row(field.name) && std::ranges::find(first_fields, field.name) == std::end(first_fields)) further.insert(field.name);
    set_further(std::move(further));
    set_shows_all(QSettings().value(more_setting, false).toBool());
    connect(more_, &QPushButton::clicked, this, [this] {
        set_shows_all(!shows_all());
        QSettings().setValue(more_setting, shows_all());
        follow();
    });
    set_request({.options = {.ablation = Ablation::zero}});
}

/// Folded fields that say something are named, so that no sweep is other than it looks.
void SweepForm::say_more() {
    QStringList set;
    const auto now = fields_of(asked(Lists::readable)), defaults = fields_of(SweepRequest{});
    for (std::size_t i = 0; i < now.size(); ++i)
        if (const Field& field = now[i].field; is_further(field.name) && uses(field) && now[i].words != defaults[i].words)
            set << QString::fromUtf8(field.title.data(), qsizetype(field.title.size()));
    more_->setIcon(icon(shows_all() ? QStringLiteral("chevron-down") : QStringLiteral("chevron-right")));
    more_->setText(shows_all()     ? QStringLiteral("Less")
                   : set.isEmpty() ? QStringLiteral("More: metric, place, layers …")
                                   : QStringLiteral("More, with %1 set").arg(set.join(QStringLiteral(", "))));
    more_->setAccessibleDescription(shows_all() ? QStringLiteral("unfolded") : QStringLiteral("folded"));
}

void SweepForm::build() {
    for (const EditChoiceRow& row : edit_choice_rows) edit_->addItem(QString::fromUtf8(row.title));
    edit_->setAccessibleName(QStringLiteral("Edit"));
    auto& attention = choice("attention");
    attention.removeItem(attention.findData(static_cast<int>(model::Stack::encoder)));  // sweeps edit the decoder
    for (QComboBox* box : findChildren<QComboBox*>()) {
        for (int i = 0; i < box->count(); ++i) {
            QString title = box->itemText(i);
            title[0] = title[0].toUpper();
            box->setItemText(i, title);
        }
        box->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
        box->setMinimumContentsLength(14);
        box->setMaxVisibleItems(24);
    }
    line("at").setPlaceholderText(QStringLiteral("subject=The doctor; rest=4-9"));
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
    over_->setAccessibleName(QStringLiteral("Texts"));
    over_->setPlaceholderText(QStringLiteral("the clean texts"));
    over_->setToolTip(
        QStringLiteral("A file of texts that the mean or the other texts are of, one a line; of pictures a list of their files"));
    clean_label_->setBuddy(clean_);
    corrupt_label_->setBuddy(corrupt_);

    auto* texts = new_column(texts_, {0, 0, 0, 0}, 4);
    add_widgets(*texts, {clean_label_, clean_, corrupt_label_, corrupt_});
    auto* files = new_row(files_, {0, 0, 0, 0});
    files->addWidget(pairs_label_, 1);
    files->addWidget(leave_pairs_);
    files->addWidget(choose_pairs_);
    auto* choose_texts = new QPushButton(QStringLiteral("File …"));
    connect(choose_texts, &QPushButton::clicked, this, &SweepForm::ask_for_texts);
    auto* over = new_row(over_row_, {0, 0, 0, 0});
    over->addWidget(over_, 1);
    over->addWidget(choose_texts);
    for (QPushButton* button : {choose_pairs_, leave_pairs_, choose_texts}) button->setAutoDefault(false);

    texts_->setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Maximum);  // what is left over stays below the last row
    insert_row(0, nullptr, *texts_);
    insert_row(place_of("target") + 1, nullptr, *files_);
    const auto in_front_of = [this](std::string_view name, const char* title, QWidget& field) {
        insert_row(place_of(name), new QLabel(QString::fromUtf8(title)), field);
    };
    in_front_of("site", "Answer", *answer_);
    in_front_of("site", "Wrong", *wrong_);
    in_front_of("site", "Edit", *edit_);
    in_front_of("per-position", "Texts", *over_row_);
    insert_row(place_of("site") + 1, nullptr, *more_);
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

void SweepForm::show_own(const SweepRequest& r) {
    const SweepOptions& o = r.options;
    describe(r, [this](const Field& field, const auto&) {
        const bool on = uses(field);
        if (field.name == "clean") show_row(*texts_, on);
        if (field.name == "corrupt") corrupt_->setVisible(on), corrupt_label_->setVisible(on);
        if (field.name == "answer") show_row(*answer_, on);
        if (field.name == "wrong") show_row(*wrong_, on);
        if (field.name == "over") show_row(*over_row_, on && shows_all());
    });
    auto* edits = static_cast<QStandardItemModel*>(edit_->model());
    for (int i = 0; i < int(std::size(edit_choice_rows)); ++i) {
        const QString why = why_not_edit(edit_choice_rows[i].ablation, o.grid);
        edits->item(i)->setEnabled(why.isEmpty());
        edits->item(i)->setToolTip(why);
    }
    const bool cross = opened_.model && opened_.model->part(model::Stack::encoder) && of_cross_attention(o.grid);
    offer("attention", cross);
    show_row(*row("attention"), cross);
    pairs_label_->setText(r.pairs.empty() ? QString() : QFileInfo(pairs_).fileName());
    pairs_label_->setToolTip(pairs_);
    leave_pairs_->setVisible(!r.pairs.empty());
    say_more();
}

SweepRequest SweepForm::own_request() const {
    SweepRequest out = asked(Lists::readable);
    const auto follows = [](std::string& text, const QString& followed) {
        if (text == followed.toStdString()) text.clear();
    };
    follows(out.clean, followed_clean_);
    follows(out.corrupt, followed_corrupt_);
    follows(out.target, followed_target_);
    return out;
}

void SweepForm::take_own(SweepRequest& r) const {
    const auto typed = [](const QString& text) { return text.trimmed().toStdString(); };
    const EditChoiceRow& edit = edit_choice_rows[edit_->currentIndex()];
    r.options.ablation = edit.ablation;
    r.options.direction = edit.direction;
    r.pairs = pairs_.toStdString();
    r.clean = clean_->toPlainText().toStdString();
    r.corrupt = corrupt_->toPlainText().toStdString();
    r.answers = tokens_in(answer_->line().text());
    r.wrong = tokens_in(wrong_->line().text());
    r.over = typed(over_->text());
    r.options.noise = typed(QString::fromStdString(r.options.noise));
    r.position = typed(QString::fromStdString(r.position));
    if (r.position.empty()) r.position = "END";
}

void SweepForm::put_own(const SweepRequest& r) {
    const SweepOptions& o = r.options;
    for (int i = 0; i < int(std::size(edit_choice_rows)); ++i)
        if (edit_choice_rows[i].ablation == o.ablation &&
            (o.ablation != Ablation::none || edit_choice_rows[i].direction == o.direction))
            edit_->setCurrentIndex(i);
    over_->setText(QString::fromStdString(r.over));
    pairs_ = QString::fromStdString(r.pairs);
    if (!pairs_.isEmpty()) return;  // the texts of one pair are there when the pairs are left
    const auto put = [](QPlainTextEdit* field, const std::string& text) {
        if (field->toPlainText().toStdString() != text) set_text(*field, QString::fromStdString(text));
    };
    put(clean_, r.clean);
    if (o.ablation == Ablation::none && o.noise.empty()) put(corrupt_, r.corrupt);
    answer_->line().setText(line_of(r.answers));
    wrong_->line().setText(line_of(r.wrong));
}

void SweepForm::set_request(const SweepRequest& asked) {
    show(asked);
    Q_EMIT changed();
}

void SweepForm::follow_texts(const QString& clean, const QString& corrupt, const QString& target) {
    bool news = false;
    {
        const QSignalBlocker quiet(this);
        const auto put = [&](auto& field, const QString& now, QString& followed, const QString& text, auto set) {
            if (now != followed && !now.isEmpty()) return;  // typed here
            followed = text;
            if (now == text) return;
            set(field, text);
            news = true;
        };
        put(*clean_, clean_->toPlainText(), followed_clean_, clean, &set_text);
        if (!corrupt.isEmpty()) put(*corrupt_, corrupt_->toPlainText(), followed_corrupt_, corrupt, &set_text);
        put(line("target"), line("target").text(), followed_target_, target,
            [](QLineEdit& field, const QString& text) { field.setText(text); });
    }
    if (news) Q_EMIT changed();
}

void SweepForm::fit(const OpenModel& opened) {
    const bool has_target = opened.model && opened.model->part(model::Stack::encoder) != nullptr;
    pictures_ = reads_pictures(opened);
    opened_ = opened;
    offer("target", has_target);
    for (const char* name : {"position", "at"}) offer(name, !has_target);
    offer("noise", !has_target && !pictures_);
    offer_tokens({}, {});
    clean_label_->setText(pictures_ ? QStringLiteral("Picture") : QStringLiteral("Clean text"));
    corrupt_label_->setText(pictures_ ? QStringLiteral("Corrupt picture") : QStringLiteral("Corrupt text"));
    if (opened.model && !opened.model->config().causal && chosen_value<Metric>(choice("metric")) == Metric::loss)
        choice("metric").setCurrentIndex(0);
    follow();
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
