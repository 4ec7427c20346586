// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/prompt/b_line.h"

#include "headlight/intervention/compare/comparison.h"
#include "headlight/model/locate.h"
#include "ui/style/appearance.h"
#include "ui/style/widgets.h"

#include <QFileDialog>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QSettings>
#include <QVBoxLayout>

#include <algorithm>

namespace headlight::ui {

namespace {

constexpr int other_typing_ms = 300;

QToolButton* part_button(const QString& name) {
    auto* button = new QToolButton;
    button->setProperty("kind", "quiet");
    button->setProperty("plain", true);
    button->setFocusPolicy(Qt::TabFocus);
    button->setAccessibleName(name);
    button->setFixedHeight(26);
    return button;
}

}  // namespace

BLine::BLine(Document& document, QWidget* parent)
    : QFrame(parent),
      document_(document),
      text_(new PromptEdit),
      pair_(new PromptEdit),
      picture_(part_button(QStringLiteral("Picture of B"))),
      model_(part_button(QStringLiteral("Model of B"))),
      edits_(part_button(QStringLiteral("Edits of B"))),
      end_(quiet_button("close", QStringLiteral("End the comparison"),
                        QStringLiteral("End the comparison (Ctrl+Z brings it back)"))),
      differs_(role_label("note")),
      models_(new QMenu(this)) {
    setObjectName(QStringLiteral("BLine"));
    auto* row = new_row(this, {0, 0, 0, 0}, 8);
    auto* name = role_label("title", QStringLiteral("B"));
    name->setAlignment(Qt::AlignTop);
    name->setContentsMargins(0, 7, 0, 0);
    auto* texts = new_column(nullptr, {0, 0, 0, 0}, 6);
    text_->setObjectName(QStringLiteral("Prompt"));
    text_->setAccessibleName(QStringLiteral("Text of B"));
    pair_->setObjectName(QStringLiteral("PairPrompt"));
    pair_->setAccessibleName(QStringLiteral("Second sentence of B"));
    end_->setFixedHeight(26);
    add_widgets(*texts, {text_, pair_});
    texts->addWidget(picture_, 0, Qt::AlignLeft);
    row->addWidget(name, 0, Qt::AlignTop);
    row->addLayout(texts, 1);
    auto* facts = new_row(nullptr, {0, 3, 0, 0}, 4);
    add_widgets(*facts, {differs_, model_, edits_, end_});
    row->addLayout(facts);
    row->setAlignment(facts, Qt::AlignTop);
    typing_.setSingleShot(true);
    typing_.setInterval(other_typing_ms);
    connect(&typing_, &QTimer::timeout, this, &BLine::take_typed);
    for (PromptEdit* edit : {text_, pair_}) {
        connect(edit, &PromptEdit::edited, &typing_, qOverload<>(&QTimer::start));
        connect(edit, &PromptEdit::run_asked, this, &BLine::take_typed);
    }
    model_->setMenu(models_);
    model_->setPopupMode(QToolButton::InstantPopup);
    connect(models_, &QMenu::aboutToShow, this, &BLine::fill_models);
    connect(picture_, &QToolButton::clicked, this, &BLine::choose_picture);
    connect(edits_, &QToolButton::clicked, this, &BLine::edits_asked);
    connect(end_, &QToolButton::clicked, this, &BLine::end_asked);
    connect(&document_, &Document::changed, this, &BLine::show_document);
    show_document();
}

void BLine::begin() {
    if (!document_.options().other.on)
        document_.edit_options([](ViewOptions& o) {
            o.other = {.on = true, .prompt = {}, .model = {}};
            if (o.side == figure::Side::a && !o.both_sides) o.side = figure::Side::difference;
        });
    if (reads_pictures(document_.model())) return picture_->setFocus();
    text_->setFocus();
    text_->selectAll();
}

/// What is A's own stays so when A changes.
void BLine::take_typed() {
    typing_.stop();
    if (!document_.options().other.on) return;
    const PromptText& a = document_.prompt();
    const auto own = [](const QString& typed, const QString& of_a) { return typed == of_a ? QString() : typed; };
    document_.edit_options([&](ViewOptions& o) {
        o.other.prompt.text = own(text_->toPlainText(), a.text);
        o.other.prompt.pair = own(pair_->toPlainText(), a.pair);
    });
}

void BLine::set_model(const QString& reference) {
    document_.edit_options(
        [&](ViewOptions& o) { o.other.model = reference == document_.model().reference ? QString() : reference; });
}

void BLine::fill_models() {
    models_->clear();
    QStringList names{QString::fromLatin1(model::default_model_name)};
    names << QSettings().value(QStringLiteral("recent/models")).toStringList();
    names.removeDuplicates();
    names.removeAll(document_.model().reference);
    const QString& now = document_.options().other.model;
    if (!now.isEmpty() && !names.contains(now)) names << now;
    const auto add = [&](const QString& title, const QString& reference) {
        QAction* action = models_->addAction(title, this, [this, reference] { set_model(reference); });
        action->setCheckable(true);
        action->setChecked(reference == now);
        action->setToolTip(reference);
    };
    add(QStringLiteral("the same model"), {});
    for (const QString& name : names) add(name.startsWith(u'/') ? QFileInfo(name).fileName() : name, name);
    models_->addSeparator();
    models_->addAction(QStringLiteral("Folder …"), this, [this] {
        const QString folder = QFileDialog::getExistingDirectory(this, QStringLiteral("Model of B"));
        if (!folder.isEmpty()) set_model(folder);
    });
}

void BLine::choose_picture() {
    const QString file = QFileDialog::getOpenFileName(this, QStringLiteral("Picture of B"));
    if (!file.isEmpty())
        document_.edit_options([&](ViewOptions& o) { o.other.prompt.image = QFileInfo(file).absoluteFilePath(); });
}

QString BLine::text_words() const {
    const auto& problem = document_.other().problem();
    if (problem) return QString::fromStdString(problem->problem);
    if (const auto& unrelated = document_.unrelated_b())
        return QStringLiteral("shares %1 of %2 tokens with A").arg(unrelated->shared).arg(unrelated->of);
    const auto beside = document_.beside();
    if (!beside) return QStringLiteral("running …");
    const intervention::Alignment& tokens = beside->pair->queries;
    const std::int64_t all = std::max(std::ssize(tokens.a), std::ssize(tokens.b));
    std::int64_t differ = all - tokens.aligned();
    const auto &of_a = beside->pair->a->encoding().tokens, &of_b = beside->pair->b->encoding().tokens;
    const std::vector<std::int64_t> to = tokens.positions();
    for (std::size_t i = 0; i < to.size() && i < of_a.size(); ++i)
        if (to[i] >= 0 && to[i] < std::ssize(of_b) && !tokens.pooled) differ += of_a[i] != of_b[std::size_t(to[i])];
    return differ == 0 ? QStringLiteral("the same text")
                       : QStringLiteral("%1 of %2 tokens %3")
                             .arg(differ)
                             .arg(all)
                             .arg(differ == 1 ? QStringLiteral("differs") : QStringLiteral("differ"));
}

void BLine::show_document() {
    const OtherInput& other = document_.options().other;
    const PromptText& a = document_.prompt();
    setVisible(other.on);
    if (!other.on) return typing_.stop();
    const auto or_own = [](const QString& own, const QString& of_a) { return own.isEmpty() ? of_a : own; };
    if (!typing_.isActive()) {  // else what is typed is newer
        for (const auto& [edit, text] :
             {std::pair(text_, or_own(other.prompt.text, a.text)), {pair_, or_own(other.prompt.pair, a.pair)}})
            if (!(edit->hasFocus() && edit->toPlainText().isEmpty())) edit->show_text(text);  // emptied to type another
    }
    const bool pictures = reads_pictures(document_.model());
    const auto& model = document_.model().model;
    text_->setVisible(!pictures);
    pair_->setVisible(!pictures && (a.has_pair || (model && model->part(model::Stack::encoder))));
    picture_->setVisible(pictures);
    picture_->setText(other.prompt.image.isEmpty() ? QStringLiteral("the same picture: choose another …")
                                                   : QFileInfo(other.prompt.image).fileName());
    const bool wrong = document_.other().problem().has_value();
    set_style_property(*differs_, "role", wrong ? "warning" : "note");
    differs_->setText(text_words());
    const QString of = other.model.startsWith(u'/') ? QFileInfo(other.model).fileName() : other.model;
    model_->setText(QStringLiteral("· model: %1").arg(of.isEmpty() ? QStringLiteral("the same") : of));
    model_->setToolTip(QStringLiteral("Another model for B"));
    const auto on = std::ranges::count_if(document_.edits().lines, &EditLine::on);
    edits_->setText(on == 0   ? QStringLiteral("· no edits")
                    : on == 1 ? QStringLiteral("· 1 edit")
                              : QStringLiteral("· %1 edits").arg(on));
    edits_->setToolTip(QStringLiteral("B runs under the edits that are on"));
}

}  // namespace headlight::ui
