// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/inspector/inspector.h"

#include "headlight/analyze/pattern/pattern_view.h"
#include "headlight/figure/core/number_text.h"
#include "headlight/model/outline.h"
#include "ui/canvas/recipe.h"
#include "ui/panels/heads/head_list_model.h"
#include "ui/panels/heads/head_story.h"
#include "ui/panels/tools/attention_switch.h"
#include "ui/style/appearance.h"
#include "ui/style/typeset.h"
#include "ui/style/widgets.h"

#include <QHBoxLayout>
#include <QScrollArea>
#include <QScrollBar>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>
#include <utility>

namespace headlight::ui {

namespace {

QLabel* label(const char* role, double size, int weight = QFont::Normal) {
    QLabel* made = role_label(role);
    made->setFont(figure::ui_font(size, weight));
    made->setTextFormat(Qt::PlainText);
    return made;
}

constexpr std::size_t most_keys = 8;

}  // namespace

Inspector::Inspector(Document& document, Jobs& jobs, QWidget* parent) : QWidget(parent), document_(document), jobs_(jobs) {
    setObjectName(QStringLiteral("Inspector"));
    setAccessibleName(QStringLiteral("Inspector"));
    setAttribute(Qt::WA_StyledBackground);
    build();
    story_pause_.setSingleShot(true);
    story_pause_.setInterval(100);
    connect(&story_pause_, &QTimer::timeout, this, &Inspector::show_story);
    connect(&document_, &Document::changed, this, [this](Document::Change change) {
        if (change == Document::Change::filter) asked_.reset();  // measures of the head have arrived
        if (change == Document::Change::trace || change == Document::Change::options || change == Document::Change::filter)
            refresh();
        if (change == Document::Change::options) show_card();  // a second run may have come or gone
    });
    connect(&document_.selection(), &SelectionModel::changed, this, [this] {
        if (!document_.adapting()) refresh();
    });
    connect(&Appearance::instance(), &Appearance::changed, this, [this] { show_card(); });
    connect(pinned_, &QToolButton::clicked, &document_.selection(), &SelectionModel::clear_pins);
    refresh();
}

void Inspector::build() {
    auto* outer = new_column(this, {0, 0, 0, 0});
    auto* content = new QWidget;
    content->setProperty("role", "clear");
    QScrollArea* area = scroll_area(content);
    outer->addWidget(area);
    auto* column = new_column(content, {16, 10, 16, 0});
    // The margin gives the bar its room, so that numbers do not shift when it comes.
    const QScrollBar* bar = area->verticalScrollBar();
    connect(bar, &QScrollBar::rangeChanged, column, [column, bar](int least, int most) {
        column->setContentsMargins(16, 10, 16 - (most > least ? bar->sizeHint().width() : 0), 0);
    });
    column->setSpacing(8);

    auto* top = new QHBoxLayout;
    title_ = label("title", 13, QFont::DemiBold);
    pinned_ = new QToolButton;
    pinned_->setProperty("kind", "quiet");
    pinned_->setProperty("plain", true);
    pinned_->setAccessibleName(QStringLiteral("Clear pins"));
    top->addWidget(title_);
    top->addStretch();
    top->addWidget(pinned_);
    column->addLayout(top);

    card_ = new QFrame;
    card_->setProperty("role", "card");
    auto* pair = new_row(card_, {12, 8, 12, 8});
    auto* left = new QVBoxLayout;
    auto* right = new QVBoxLayout;
    left->setSpacing(1);
    right->setSpacing(1);
    query_ = label("", 15, QFont::DemiBold);
    key_ = label("", 15, QFont::DemiBold);
    query_note_ = label("muted", 11.5);
    key_note_ = label("muted", 11.5);
    key_->setAlignment(Qt::AlignRight);
    key_note_->setAlignment(Qt::AlignRight);
    left->addWidget(query_);
    left->addWidget(query_note_);
    right->addWidget(key_);
    right->addWidget(key_note_);
    auto* arrow = label("muted", 18);
    arrow->setText(QStringLiteral("→"));
    pair->addLayout(left);
    pair->addStretch();
    pair->addWidget(arrow);
    pair->addStretch();
    pair->addLayout(right);
    column->addWidget(card_);

    rows_ = new QWidget;
    rows_->setProperty("role", "clear");
    rows_layout_ = new QVBoxLayout(rows_);
    rows_layout_->setContentsMargins(0, 0, 0, 0);
    rows_layout_->setSpacing(0);
    column->addWidget(rows_);

    column->addStretch(1);

    // Below the numbers and outside their scroll area.
    auto* rule = new_row(nullptr, {16, 0, 16, 0});
    story_rule_ = new QFrame;
    story_rule_->setProperty("role", "rule");
    rule->addWidget(story_rule_);
    outer->addLayout(rule);
    auto* told = new QWidget;
    told->setProperty("role", "clear");
    auto* lines = new_column(told, {16, 8, 16, 12}, 6);
    story_title_ = label("title", 12.5, QFont::DemiBold);
    story_title_->setText(QStringLiteral("What am I seeing?"));
    story_ = label("note", 12);
    story_->setObjectName(QStringLiteral("Story"));
    story_->setTextFormat(Qt::RichText);
    story_->setWordWrap(true);
    story_->setTextInteractionFlags(Qt::TextSelectableByMouse);
    lines->addWidget(story_title_);
    lines->addWidget(story_);
    lines->addStretch(1);
    story_area_ = scroll_area(told);
    outer->addWidget(story_area_);
}

/// As high as its text, at most two fifths of the panel.
void Inspector::fit_story() {
    const QMargins around = story_area_->widget()->layout()->contentsMargins();
    const int text = story_->heightForWidth(std::max(60, width() - around.left() - around.right()));
    const int all = text + story_title_->sizeHint().height() + 6 + around.top() + around.bottom();
    story_area_->setFixedHeight(std::min(all, height() * 2 / 5));
}

void Inspector::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    fit_story();
}

void Inspector::set_view_description(const QString& text) {
    view_description_ = text;
    show_story();
}

/// The pointer passes over many heads: the story is that of the one where it rests.
void Inspector::show_story_soon() {
    if (document_.selection().get().hover_head) return story_pause_.start();
    story_pause_.stop();
    show_story();
}

void Inspector::show_story() {
    QString text;
    const figure::Selection& s = document_.selection().get();
    if (document_.head_table()) text = head_story(*document_.head_table(), s.hover_head.value_or(s.focus));
    if (!text.isEmpty() && !view_description_.isEmpty()) text += QStringLiteral("\n\n");
    const QString words = typeset(text + view_description_);
    if (!words.isEmpty() && words == story_->text()) return;  // laying out rich text takes half a frame
    story_->setText(words);
    for (QWidget* part : {static_cast<QWidget*>(story_rule_), static_cast<QWidget*>(story_area_)})
        part->setVisible(!story_->text().isEmpty());
    fit_story();
}

namespace {

QString token_of(const std::vector<text::TokenLabel>& labels, Position p) {
    const auto i = static_cast<std::size_t>(p.value);
    return i < labels.size() ? QString::fromStdString(labels[i].continuation + labels[i].text) : QString();
}

}  // namespace

QString Inspector::query_token(Position p) const { return token_of(document_.trace()->labels(), p); }
QString Inspector::key_token(Position p) const { return token_of(document_.trace()->key_labels(), p); }

void Inspector::refresh() {
    const auto& trace = document_.trace();
    if (!trace) {
        jobs_.cancel(Jobs::Lane::inspector);
        asked_.reset();
        chain_.reset();
        clear_rows();
        show_card();
        show_story_soon();
        Q_EMIT shown();
        return;
    }
    const figure::Selection& s = document_.selection().get();
    const HeadId head = s.hover_head.value_or(s.focus);
    const Asked asked{trace, head, s.query(), s.key(), fitted(document_.options().pattern, *trace)};
    if (asked_ == asked) return;
    asked_ = asked;
    show_card();
    show_story_soon();
    if (!asked.query) {
        jobs_.cancel(Jobs::Lane::inspector);
        chain_.reset();
        show_head();
        return;
    }
    jobs_.start(Jobs::Lane::inspector, QStringLiteral("Computing details"),
                [this, asked](const CancelToken& cancel, const Progress&) -> Jobs::Deliver {
                    // A saved trace has the weight of a pair, but not its terms.
                    if (asked.key && model::has_weights(*asked.trace->model())) {
                        const auto chain = analyze::pair_chain(*asked.trace, asked.head, *asked.query, *asked.key, 5, cancel);
                        return [this, chain, shown = in_figure(asked)] { show_chain(chain, shown); };
                    }
                    const analyze::Matrix row = analyze::pattern_row(*asked.trace, {asked.head}, asked.query->value, {});
                    const model::ModelConfig& c = asked.trace->config();
                    const bool across = asked.trace->across_texts();
                    const model::KeyRange legal = model::legal_keys(asked.query->value, asked.trace->keys(), c.causal && !across,
                                                                    across ? 0 : model::window_of(c, asked.head.layer.value));
                    std::vector<LooksAt> keys;
                    for (Eigen::Index j = 0; j < row.cols(); ++j)
                        if (legal.has(j)) keys.push_back({Position(j), row(0, j)});
                    std::stable_sort(keys.begin(), keys.end(),
                                     [](const LooksAt& a, const LooksAt& b) { return a.weight > b.weight; });
                    if (keys.size() > most_keys) keys.resize(most_keys);
                    return [this, keys] { show_keys(keys); };
                });
}

std::optional<Inspector::InFigure> Inspector::in_figure(const Asked& asked) {
    if (asked.pattern == analyze::PatternOptions{}) return std::nullopt;
    const analyze::PatternAxes axes = analyze::pattern_axes(*asked.trace, asked.pattern);
    const std::int64_t row = axes.query_row(*asked.query), column = axes.key_column(*asked.key);
    if (row < 0 || column < 0) return std::nullopt;
    const analyze::PatternOptions& o = asked.pattern;
    InFigure out;
    out.of_words = axes.queries[std::size_t(row)].count > 1 || axes.keys[std::size_t(column)].count > 1;
    QStringList how;
    if (out.of_words) how << QStringLiteral("words");
    if (o.weighting != analyze::Weighting::attention)
        how << QString::fromStdString(std::string(enum_word(o.weighting))).replace(QLatin1Char(0x2d), QLatin1Char(0x20));
    if ((o.hide_sinks || o.hide_special) && o.renormalise) how << QStringLiteral("the rest to 1");
    if (how.isEmpty()) return std::nullopt;
    out.name = QStringLiteral("in the figure (%1)").arg(how.join(QStringLiteral(", ")));
    out.weight = analyze::pattern_row(*asked.trace, {asked.head}, row, o)(0, column);
    return out;
}

void Inspector::show_card() {
    const figure::Selection& s = document_.selection().get();
    const bool pinned = !s.pinned_queries.empty() || !s.pinned_keys.empty();
    const bool passing = s.hover_query || s.hover_key;  // the hovered pair is shown instead of the pins
    pinned_->setText(passing ? QStringLiteral("clear pins ✕") : QStringLiteral("pinned ✕"));
    pinned_->setVisible(pinned && document_.trace());
    const auto query = s.query(), key = s.key();
    card_->setVisible(document_.trace() && query);
    if (!document_.trace()) {
        title_->clear();
        return;
    }
    const HeadId head = s.hover_head.value_or(s.focus);
    title_->setText(
        figure::head_name(head) +
        (document_.has_parts() ? QStringLiteral(" · ") + AttentionSwitch::title(document_.attention()).toLower() : QString()) +
        (document_.has_other() ? QStringLiteral(" · in A") : QString()));  // whichever run the views show
    if (!query) return;
    const QFontMetrics metrics(query_->font());
    query_->setText(metrics.elidedText(query_token(*query), Qt::ElideRight, 104));
    const bool across = document_.trace()->across_texts();
    query_note_->setText((across ? QStringLiteral("target %1") : QStringLiteral("query %1")).arg(query->value));
    key_->setText(key ? metrics.elidedText(key_token(*key), Qt::ElideRight, 104) : QStringLiteral("…"));
    key_note_->setText(across ? (key ? QStringLiteral("source %1").arg(key->value) : QStringLiteral("any source token"))
                       : key  ? QStringLiteral("key %1").arg(key->value)
                              : QStringLiteral("any key"));
    const figure::Theme& theme = Appearance::instance().theme();
    QPalette palette = key_->palette();
    palette.setColor(QPalette::WindowText, figure::head_color(theme, document_.options().palette, head.head.value));
    key_->setPalette(palette);
}

void Inspector::clear_rows() {
    while (QLayoutItem* item = rows_layout_->takeAt(0)) {
        if (item->widget()) {
            item->widget()->hide();
            item->widget()->deleteLater();
        }
        delete item;
    }
}

NumberRow* Inspector::add_row(const QString& name, const QString& shown, const QString& exact) {
    auto* row = new NumberRow(name);
    row->set_value(shown, exact);
    rows_layout_->addWidget(row);
    return row;
}

NumberRow* Inspector::add_value(const QString& name, double value, const char* definition) {
    NumberRow* row = add_row(name, number_text(value), exact_text(value));
    row->set_definition(QString::fromUtf8(definition));
    return row;
}

void Inspector::add_rule() {
    auto* holder = new QWidget;
    auto* layout = new_column(holder, {0, 3, 0, 3});
    auto* rule = new QFrame;
    rule->setProperty("role", "rule");
    layout->addWidget(rule);
    rows_layout_->addWidget(holder);
}

void Inspector::add_note(const QString& text, int weight) {
    auto* note = label("note", 12, weight);
    note->setText(text);
    note->setWordWrap(true);
    note->setContentsMargins(0, 4, 0, 4);
    rows_layout_->addWidget(note);
}

NumberRow* Inspector::row(const QString& name) const {
    for (int i = 0; i < rows_layout_->count(); ++i) {
        auto* row = qobject_cast<NumberRow*>(rows_layout_->itemAt(i)->widget());
        if (row && row->text() == name) return row;
    }
    return nullptr;
}

/// What this text has of the head, by kind of question; what it does not have is left out.
void Inspector::show_head() {
    clear_rows();
    if (!document_.head_table()) return;
    const auto& table = *document_.head_table();
    const HeadId head = asked_->head;
    add_note(QStringLiteral("Click a token to pin it as the query; Shift+click pins a key."));
    for (const std::string& group : analyze::measure_groups()) {
        bool first = true;
        for (std::size_t m = 0; m < table.measures.size(); ++m) {
            const analyze::MeasureInfo& measure = table.measures[m];
            const double value = table.values[m](head.layer.value, head.head.value);
            if (measure.group != group || std::isnan(value)) continue;
            if (std::exchange(first, false)) add_note(QString::fromStdString(group), QFont::DemiBold);
            // Short, beside a title: the list and the mosaic say "3 repeats".
            const QString over = analyze::repeats_text(table, measure.id).empty()
                                     ? QString()
                                     : QStringLiteral(", n = %1").arg(table.queries.at(measure.id));
            auto* row = add_row(QString::fromStdString(measure.title), number_text(value) + over, exact_text(value));
            row->set_definition(QString::fromStdString(measure.definition));
        }
    }
    add_rule();
    Q_EMIT shown();
}

void Inspector::show_keys(const std::vector<LooksAt>& keys) {
    chain_.reset();
    clear_rows();
    add_note(document_.trace()->across_texts() ? QStringLiteral("attends to, in the source (softmax weight)")
                                               : QStringLiteral("attends to (softmax weight)"));
    const figure::Theme& theme = Appearance::instance().theme();
    for (const LooksAt& key : keys) {
        auto* row = add_row(key_token(key.key), number_text(key.weight), exact_text(key.weight));
        row->set_wide_bar(true);
        row->set_bar(key.weight, false);
        row->set_bar_color(figure::head_color(theme, document_.options().palette, asked_->head.head.value));
    }
    add_rule();
    Q_EMIT shown();
}

void Inspector::show_chain(const analyze::PairChain& c, const std::optional<InFigure>& in_figure) {
    chain_ = c;
    clear_rows();
    if (in_figure) {
        auto* row = add_row(in_figure->name, number_text(in_figure->weight), exact_text(in_figure->weight));
        row->set_definition(
            QStringLiteral("What the figure shows for the pair as the tools above it say. Of words: the columns of a "
                           "word's tokens summed, their rows averaged (Clark 2019, 4.1)."));
        if (in_figure->of_words)
            add_note(QStringLiteral("The numbers below are of one token pair, %1 → %2, not of the words.")
                         .arg(query_token(*asked_->query), key_token(*asked_->key)));
        add_rule();
    }
    if (!c.legal) {
        add_row(QStringLiteral("weight (softmax)"), QStringLiteral("0"), QStringLiteral("0"));
        add_note(QStringLiteral(
            "This key comes after the query. The model is causal: a token cannot attend ahead, so there is no score."));
        add_rule();
        Q_EMIT shown();
        return;
    }
    add_value(
        QStringLiteral("weight (softmax)"), c.weight,
        "The attention weight a_ij of query i on key j: the softmax of the scores over all keys that the query may attend to.");
    auto* rank =
        add_row(QStringLiteral("rank"), QStringLiteral("%1 of %2").arg(figure::count_text(c.rank), figure::count_text(c.of)),
                QString::number(c.rank));
    rank->set_definition(QStringLiteral("1: no key has a larger weight. Of as many keys as the query may attend to."));
    add_rule();
    const auto add_score = [this](const QString& name, double value, const QString& definition) {
        auto* row = add_row(name, aligned_text(value), exact_text(value));
        row->set_definition(definition);
        return row;
    };
    add_score(QStringLiteral("score"), c.score, QStringLiteral("What the softmax sees: the sum of the parts below."));
    const double position = c.position.value_or(0);
    const double largest = std::max({std::abs(c.content), std::abs(position), 1e-9}) * 1.05;
    const double root = 1 / (c.scale * c.scale);
    const QString scale = c.scale == 1                               ? QString()
                          : std::abs(root - std::round(root)) < 1e-4 ? QStringLiteral(" / √%1").arg(std::lround(root))
                                                                     : QStringLiteral(" · %1").arg(c.scale, 0, 'g', 4);
    // The neuron view's q·k is after the rotation; here the rotation's share is a term.
    const bool rotary = c.position && c.position_kind == "rotary";
    auto* content =
        add_score(rotary ? QStringLiteral("q·k%1, unrotated").arg(scale) : QStringLiteral("q·k%1").arg(scale), c.content,
                  QStringLiteral("The product of query q_i and key k_j, scaled") +
                      (rotary ? QStringLiteral("; of the vectors before the rotation.") : QStringLiteral(".")));
    content->set_indent(true);
    content->set_bar(c.content / largest);
    if (c.position) {
        auto* term =
            add_score(rotary ? QStringLiteral("by the rotation")
                             : QStringLiteral("position (%1)").arg(QString::fromStdString(c.position_kind)),
                      position,
                      rotary ? QStringLiteral("The score minus the product before the rotation: what the positions do to it.")
                             : QStringLiteral("What the distance i - j alone adds to the score."));
        term->set_indent(true);
        term->set_bar(position / largest);
    } else if (!c.position_kind.empty()) {
        auto* term = add_row(QStringLiteral("position"), QString::fromStdString(c.position_kind), {});
        term->set_indent(true);
    }
    add_rule();
    add_value(QStringLiteral("|value|"), c.value_norm,
              "|v_j W_O|: the length of what this key's value writes into the stream for a weight of 1 (Kobayashi 2020).");
    add_value(QStringLiteral("weight · |value|"), c.weighted_value_norm,
              "a_ij |v_j W_O|: the length of what it writes with its weight (Kobayashi 2020).");
    add_value(
        QStringLiteral("update / stream"), c.update_ratio,
        "|u_i| / |h_i|: the length of the head's whole update u_i = z_i W_O, over all keys, beside the stream h_i that it is "
        "added to.")
        ->set_bar(c.update_ratio);
    add_value(QStringLiteral("cos(update, stream)"), c.update_cosine,
              "The cosine of u_i and h_i: 0 orthogonal, negative where the head takes away from what is there.")
        ->set_bar(c.update_cosine);
    add_rule();
    if (!c.promoted.empty()) {
        add_note(QStringLiteral("the head promotes (logit of the next token)"));
        double most = 1e-9;
        for (const auto& effect : c.promoted) most = std::max(most, std::abs(effect.logit));
        for (const auto& effect : c.promoted) {
            auto* row = add_row(QString::fromStdString(effect.label),
                                (effect.logit > 0 ? QStringLiteral("+") : QString()) + aligned_text(effect.logit),
                                exact_text(effect.logit));
            row->set_definition(
                QStringLiteral("What the head's whole update adds to this token's logit by the direct path: through "
                               "the final norm, whose size is that of the whole stream, and W_U."));
            row->set_wide_bar(true);
            row->set_bar(effect.logit / most * 0.9, false);
        }
        add_rule();
    }
    Q_EMIT shown();
}

}  // namespace headlight::ui
