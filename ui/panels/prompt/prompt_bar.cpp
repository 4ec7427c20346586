// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/prompt/prompt_bar.h"

#include "headlight/model/outline.h"
#include "headlight/trace/shared_rows.h"
#include "ui/style/appearance.h"
#include "ui/style/widgets.h"

#include <QFileInfo>
#include <QHBoxLayout>
#include <QLocale>
#include <QVBoxLayout>

namespace headlight::ui {

QString memory_text(std::int64_t bytes) {
    const char* units[] = {"B", "kB", "MB", "GB", "TB"};
    double value = static_cast<double>(bytes);
    int unit = 0;
    while (value >= 1000 && unit < 4) value /= 1000, ++unit;
    return QStringLiteral("%1 %2").arg(value, 0, 'f', unit > 1 && value < 100 ? 1 : 0).arg(QLatin1String(units[unit]));
}

QString seconds_text(double seconds) {
    if (seconds < 0.0995) return QStringLiteral("%1 ms").arg(seconds * 1e3, 0, 'f', seconds < 0.00995 ? 1 : 0);
    if (seconds < 1) return QStringLiteral("%1 ms").arg(seconds * 1e3, 0, 'f', 0);
    return QStringLiteral("%1 s").arg(seconds, 0, 'f', seconds < 9.95 ? 2 : 1);
}

namespace {

QToolButton* square_button(const QString& icon_name, const QString& name, const QString& tip) {
    auto* button = new QToolButton;
    button->setProperty("kind", "button");
    button->setProperty("square", true);
    button->setIcon(icon(icon_name));
    button->setIconSize({16, 16});
    button->setAccessibleName(name);
    button->setToolTip(tip);
    button->setFixedSize(32, 32);
    return button;
}

}  // namespace

PromptBar::PromptBar(Document& document, Jobs& jobs, QWidget* parent)
    : QWidget(parent),
      document_(document),
      jobs_(jobs),
      text_(new PromptEdit),
      pair_(new PromptEdit),
      image_(new QPushButton),
      run_(new QPushButton(QStringLiteral("Run"))),
      generate_(new QPushButton(QStringLiteral("Generate"))),
      compare_(new QPushButton(QStringLiteral("Compare"))),
      edit_(new QPushButton(QStringLiteral("Edit"))),
      lead_(new QHBoxLayout),
      trail_(new QHBoxLayout),
      b_line_(new BLine(document)),
      generate_settings_(new GeneratePopover(this)),
      tokens_(new TokenStrip(document)),
      ruler_(new TextRuler(document, *tokens_)),
      facts_(new QToolButton),
      memory_(new MemoryPopover(document, this)),
      predictions_(
          new RingToggle(QStringLiteral("predictions"),
                         QStringLiteral("Log-probability and rank of every token under it, what comes next in its tip (P). "
                                        "Masked-word models: the candidates of the pinned token"))) {
    setObjectName(QStringLiteral("PromptBar"));
    setAttribute(Qt::WA_StyledBackground);
    text_->setObjectName(QStringLiteral("Prompt"));
    text_->setAccessibleName(QStringLiteral("Text"));
    text_->setPlaceholderText(QStringLiteral("Type a sentence"));
    pair_->setObjectName(QStringLiteral("PairPrompt"));
    pair_->setAccessibleName(QStringLiteral("Sentence B"));
    pair_->setPlaceholderText(QStringLiteral("Sentence B"));
    image_->setObjectName(QStringLiteral("ImageButton"));
    image_->setProperty("kind", "button");
    image_->setAccessibleName(QStringLiteral("Picture"));
    image_->setFixedHeight(32);
    run_->setProperty("kind", "primary");
    run_->setFixedSize(70, 32);
    run_->setToolTip(QStringLiteral("Run now (Ctrl+Return)"));
    generate_->setObjectName(QStringLiteral("Generate"));
    generate_->setFixedSize(82, 32);
    generate_->setAccessibleDescription(QStringLiteral("Lets the model continue the text"));
    generate_more_ = square_button(QStringLiteral("chevron-down"), QStringLiteral("How the text is continued"),
                                   QStringLiteral("How many tokens, and how they are drawn"));
    generate_more_->setObjectName(QStringLiteral("GenerateMore"));
    generate_more_->setFixedSize(22, 32);
    pair_button_ = square_button(QStringLiteral("pair"), QStringLiteral("Sentence pair"),
                                 QStringLiteral("Sentence pair: show or hide the line for sentence B"));
    pair_button_->setCheckable(true);
    for (QPushButton* button : {compare_, edit_}) {
        button->setProperty("on", false);
        button->setFixedHeight(32);
    }
    compare_->setToolTip(QStringLiteral("Compare with another text, model or picture (Ctrl+Shift+D)"));
    edit_->setToolTip(QStringLiteral("Change the run: switch heads off, set weights (Ctrl+Shift+E)"));
    facts_->setProperty("kind", "quiet");
    facts_->setProperty("plain", true);
    facts_->setFont(figure::ui_font(12));
    facts_->setAccessibleDescription(QStringLiteral("Shows what takes the program's memory, and its budget"));
    connect(facts_, &QToolButton::clicked, this, &PromptBar::open_memory);
    facts_->setObjectName(QStringLiteral("RunFacts"));
    facts_->setFixedHeight(28);
    predictions_->setFixedHeight(28);
    connect(predictions_, &RingToggle::clicked, this,
            [this](bool on) { document_.edit_options([&](ViewOptions& o) { o.predictions = on; }); });
    connect(&document_, &Document::changed, this, [this](Document::Change change) {
        if (change == Document::Change::options) predictions_->setChecked(document_.options().predictions);
    });

    auto* column = new_column(this, {16, 0, 16, 7}, 9);
    auto* row = new QHBoxLayout;
    row->setSpacing(12);
    auto* texts = new QVBoxLayout;
    texts->setSpacing(6);
    texts->addWidget(text_);
    texts->addWidget(pair_);
    texts->addWidget(image_, 0, Qt::AlignLeft);
    // While B stands below it, the text is A.
    auto* name = role_label("title", QStringLiteral("A"));
    name->setContentsMargins(0, 7, 0, 0);
    name->hide();
    connect(&document_, &Document::changed, name, [this, name] { name->setVisible(document_.options().other.on); });
    lead_->setSpacing(8);
    trail_->setSpacing(8);
    row->addLayout(lead_);
    auto* named = new QHBoxLayout;
    named->setSpacing(8);
    named->addWidget(name, 0, Qt::AlignTop);
    named->addLayout(texts, 1);
    row->addLayout(named, 1);
    auto* buttons = new QHBoxLayout;
    buttons->setSpacing(8);
    buttons->addWidget(run_, 0, Qt::AlignTop);
    auto* generate = new QHBoxLayout;
    generate->setSpacing(1);
    generate->addWidget(generate_, 0, Qt::AlignTop);
    generate->addWidget(generate_more_, 0, Qt::AlignTop);
    buttons->addLayout(generate);
    for (QWidget* button : std::initializer_list<QWidget*>{compare_, edit_, pair_button_})
        buttons->addWidget(button, 0, Qt::AlignTop);
    row->addLayout(buttons);
    row->addLayout(trail_);
    column->addLayout(row);
    column->addWidget(b_line_);
    auto* strip = new QHBoxLayout;
    strip->setSpacing(16);
    strip->addWidget(tokens_, 1);
    strip->addWidget(predictions_, 0, Qt::AlignTop);
    strip->addWidget(facts_, 0, Qt::AlignTop);
    column->addLayout(strip);
    column->addWidget(ruler_);

    connect(text_, &PromptEdit::edited, this, &PromptBar::edited);
    connect(pair_, &PromptEdit::edited, this, &PromptBar::edited);
    connect(text_, &PromptEdit::run_asked, &document_, &Document::run_now);
    connect(pair_, &PromptEdit::run_asked, &document_, &Document::run_now);
    connect(pair_button_, &QToolButton::clicked, this, &PromptBar::toggle_pair);
    connect(run_, &QPushButton::clicked, this, [this] {
        if (stop_shown_) {
            document_.stop();
        } else {
            document_.run_now();
        }
    });
    connect(generate_, &QPushButton::clicked, this, &PromptBar::generate_asked);
    connect(generate_more_, &QToolButton::clicked, this, &PromptBar::open_generate_settings);
    connect(&document_, &Document::changed, this, &PromptBar::show_document);
    // Stop appears only for work that lasts: a button that flickers at every key helps nobody.
    show_stop_.setSingleShot(true);
    show_stop_.setInterval(250);
    connect(&show_stop_, &QTimer::timeout, this, [this] {
        stop_shown_ = true;
        show_running();
    });
    const auto lane_changed = [this](Jobs::Lane lane) {
        if (lane != Jobs::Lane::model) return;
        if (jobs_.busy(lane)) {
            if (!stop_shown_) show_stop_.start();
        } else {
            show_stop_.stop();
            stop_shown_ = false;
            show_running();
        }
    };
    connect(&jobs_, &Jobs::started, this, lane_changed);
    connect(&jobs_, &Jobs::finished, this, lane_changed);
    show_document();
}

void PromptBar::fold_buttons(bool fold) {
    for (QWidget* button : std::initializer_list<QWidget*>{generate_, generate_more_, compare_, edit_}) button->setVisible(!fold);
}

void PromptBar::open_generate_settings() {
    generate_settings_->open_below(generate_more_->isVisible() ? static_cast<QWidget*>(generate_more_) : run_);
}

void PromptBar::open_memory() { memory_->open_below(facts_->isVisible() ? static_cast<QWidget*>(facts_) : run_); }

void PromptBar::toggle_pair() {
    if (document_.model().model && document_.model().model->part(model::Stack::encoder))
        return pair_->setFocus();  // always there
    PromptText prompt = document_.prompt();
    prompt.has_pair = !prompt.has_pair;
    document_.set_prompt(prompt);
    (prompt.has_pair ? pair_ : text_)->setFocus();
}

void PromptBar::edited() {
    PromptText prompt = document_.prompt();
    prompt.text = text_->toPlainText();
    prompt.pair = pair_->toPlainText();
    document_.set_prompt(prompt);
}

void PromptBar::show_running() {
    run_->setText(stop_shown_ ? QStringLiteral("Stop") : QStringLiteral("Run"));
    run_->setToolTip(!run_->isEnabled() ? text_->toolTip()
                     : stop_shown_      ? QStringLiteral("Stop")
                                        : QStringLiteral("Run now (Ctrl+Return)"));
}

void PromptBar::show_document() {
    const PromptText& prompt = document_.prompt();
    text_->show_text(prompt.text);
    pair_->show_text(prompt.pair);
    const bool pictures = reads_pictures(document_.model());
    text_->setVisible(!pictures);
    image_->setVisible(pictures);
    image_->setText(prompt.image.isEmpty()
                        ? QStringLiteral("Open picture …")
                        : image_->fontMetrics().elidedText(QFileInfo(prompt.image).fileName(), Qt::ElideMiddle, 360));
    image_->setToolTip(prompt.image.isEmpty() ? QStringLiteral("The picture that the model is shown")
                                              : QStringLiteral("%1\nClick for another picture").arg(prompt.image));
    const bool fixed = document_.model().model && !model::has_weights(*document_.model().model);
    for (PromptEdit* edit : {text_, pair_}) edit->setReadOnly(fixed);
    text_->setToolTip(fixed ? QStringLiteral("The text of the saved trace. Open the model to run another") : QString());
    run_->setEnabled(!fixed);
    pair_button_->setEnabled(!fixed && !pictures);
    pair_button_->setToolTip(fixed      ? text_->toolTip()
                             : pictures ? QStringLiteral("This model reads pictures, which have no sentence B")
                                        : QStringLiteral("Sentence pair: show or hide the line for sentence B"));
    show_running();
    // A button that cannot do its work says why when it is pressed; the tip says it before.
    const auto why = document_.model().model ? document_.why_no_continuation() : std::nullopt;
    generate_->setToolTip(why ? QString::fromStdString(why->problem + (why->found.empty() ? "" : ": " + why->found))
                              : QStringLiteral("Let the model continue the text (Ctrl+G)"));
    pair_button_->setChecked(prompt.has_pair);
    const auto& model = document_.model().model;
    const bool encodes = model && model->part(model::Stack::encoder);
    pair_->setVisible((prompt.has_pair || encodes) && !pictures);  // a decoder always has a target, if an empty one
    pair_button_->setVisible(!encodes);
    text_->setAccessibleName(encodes ? QStringLiteral("Source") : QStringLiteral("Text"));
    text_->setPlaceholderText(encodes ? QStringLiteral("Source: what the encoder reads") : QStringLiteral("Type a sentence"));
    pair_->setAccessibleName(encodes ? QStringLiteral("Target") : QStringLiteral("Sentence B"));
    pair_->setPlaceholderText(
        encodes ? QStringLiteral("Target: what the decoder has written so far; empty: its first token is predicted")
                : QStringLiteral("Sentence B"));
    set_style_property(*compare_, "on", document_.options().other.on);
    set_style_property(*edit_, "on", any_edit(document_.edits()));
    show_facts();
}

void PromptBar::show_facts() {
    const auto& trace = document_.run_trace();
    const auto number = [](std::int64_t count) { return QLocale(QLocale::English).toString(qlonglong(count)); };
    QString tokens = trace ? number(trace->tokens()) : QString();
    if (document_.has_parts())
        tokens = QStringLiteral("%1 + %2").arg(number(trace->part(model::Stack::encoder)->tokens()), tokens);
    // Figures leave results with the run, and with the model what depends on its weights alone.
    const QString memory = trace ? memory_text(trace->bytes() + trace->model()->results().bytes()) : QString();
    if (trace && !model::has_weights(*trace->model())) {
        facts_->setText(QStringLiteral("%1 tokens · saved trace · %2").arg(tokens, memory));
        facts_->setToolTip(QString::fromStdString(trace->model()->folder().string()));
    } else if (trace) {
        facts_->setText(QStringLiteral("%1 tokens · %2 · %3").arg(tokens, seconds_text(trace->info().seconds), memory));
        const QString what = document_.has_parts()
                                 ? QStringLiteral("Length of source and target, time of the run, memory of what was kept")
                                 : QStringLiteral("Length of the input, time of the run, memory of what was kept");
        QStringList lines = {what};
        if (const std::int64_t shared = trace::shared_rows_of(*trace); shared > 0)
            lines << QStringLiteral("The first %1 tokens are those of the run before").arg(number(shared));
        for (const auto& [name, size] : memory_by_part(*trace)) lines << QStringLiteral("%1: %2").arg(name, size);
        lines += memory_notes(*trace);
        facts_->setToolTip(lines.join(u'\n') + QStringLiteral("\nClick for the memory budget"));
    } else {
        facts_->setText({});
        facts_->setToolTip({});
    }
    facts_->setVisible(trace != nullptr);
}

}  // namespace headlight::ui
