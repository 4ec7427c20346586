// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/inspector/inspector.h"

#include "headlight/analyze/pattern/pattern_view.h"
#include "headlight/base/numbers.h"
#include "headlight/figure/core/sides.h"
#include "headlight/intervention/compare/comparison.h"
#include "headlight/model/outline.h"
#include "ui/canvas/recipe.h"
#include "ui/panels/heads/head_story.h"
#include "ui/panels/tools/attention_switch.h"
#include "ui/style/appearance.h"
#include "ui/style/typeset.h"
#include "ui/style/widgets.h"

#include <QEvent>
#include <QHBoxLayout>
#include <QScrollArea>
#include <QScrollBar>
#include <QSettings>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

namespace headlight::ui {

namespace {

QLabel* label(const char* role, double size, int weight = QFont::Normal) {
    QLabel* made = role_label(role);
    made->setFont(figure::ui_font(size, weight));
    made->setTextFormat(Qt::PlainText);
    return made;
}

constexpr std::size_t most_keys = 8;
const QString all_measures_setting = QStringLiteral("inspector/all_measures"),
              whole_story_setting = QStringLiteral("inspector/whole_story");

}  // namespace

Inspector::Inspector(Document& document, Jobs& jobs, QWidget* parent) : QWidget(parent), document_(document), jobs_(jobs) {
    setObjectName(QStringLiteral("Inspector"));
    setAccessibleName(QStringLiteral("Inspector"));
    setAttribute(Qt::WA_StyledBackground);
    shows_all_measures_ = QSettings().value(all_measures_setting, false).toBool();
    whole_story_ = QSettings().value(whole_story_setting, false).toBool();
    build();
    story_pause_.setSingleShot(true);
    story_pause_.setInterval(100);
    connect(&story_pause_, &QTimer::timeout, this, &Inspector::show_story);
    connect(&document_, &Document::changed, this, [this](Document::Change change) {
        if (change == Document::Change::filter && asked_) {  // measures of the head may have arrived
            show_kind();
            show_story_soon();
        }
        if (change == Document::Change::trace || change == Document::Change::options || change == Document::Change::other)
            refresh();
        if (change == Document::Change::options) show_card();  // a second run may be wanted, or not any more
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
    content_ = new QWidget;
    content_->setProperty("role", "clear");
    QScrollArea* area = scroll_area(content_);
    outer->addWidget(area);
    auto* column = new_column(content_, {16, 10, 16, 0});
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

    answer_ = new NumberRows;
    rows_ = new NumberRows;
    writers_ = new NumberRows;
    update_ = new NumberRows;
    kind_ = new NumberRows;
    answer_section_ = new Section(QStringLiteral("What it predicts"), QStringLiteral("answer"), answer_);
    writers_section_ = new Section(QStringLiteral("Who wrote this"), QStringLiteral("writers"), writers_);
    update_section_ = new Section(QStringLiteral("What the head writes"), QStringLiteral("update"), update_);
    auto* kind = new QWidget;
    kind->setProperty("role", "clear");
    auto* kinds = new_column(kind, {0, 0, 0, 0}, 0);
    all_measures_ = link_button({});
    kinds->addWidget(kind_);
    kinds->addWidget(all_measures_, 0, Qt::AlignLeft);
    kind_section_ = new Section(QStringLiteral("What kind of head"), QStringLiteral("kind"), kind);
    add_widgets(*column, {answer_section_, rows_, writers_section_, update_section_, kind_section_});
    connect(all_measures_, &QPushButton::clicked, this, [this] {
        shows_all_measures_ = !shows_all_measures_;
        QSettings().setValue(all_measures_setting, shows_all_measures_);
        show_kind();
    });
    content_->installEventFilter(this);
    connect(writers_section_, &Section::fold_changed, this, &Inspector::ask_writers);
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
    auto* heading = new QHBoxLayout;
    more_ = link_button(QStringLiteral("more"));
    heading->addWidget(story_title_);
    heading->addStretch(1);
    heading->addWidget(more_);
    lines->addLayout(heading);
    lines->addWidget(story_);
    connect(more_, &QPushButton::clicked, this, [this] {
        whole_story_ = !whole_story_;
        QSettings().setValue(whole_story_setting, whole_story_);
        fit_story();
    });
    lines->addStretch(1);
    story_area_ = scroll_area(told);
    outer->addWidget(story_area_);
}

/// The whole text where there is room for it, at most two fifths of the panel; else two lines, unless more was asked for.
void Inspector::fit_story() {
    const QMargins around = story_area_->widget()->layout()->contentsMargins();
    const int text = std::max(0, story_->heightForWidth(std::max(60, width() - around.left() - around.right())));
    const int heading =
        std::max(story_title_->sizeHint().height(), more_->sizeHint().height()) + 6 + around.top() + around.bottom();
    const int most = height() * 2 / 5, lines = 2 * story_->fontMetrics().lineSpacing();
    const bool fits = heading + text <= std::min(most, height() - content_->sizeHint().height());
    const bool whole = whole_story_ || fits || text <= lines;
    more_->setVisible(!fits && text > lines);
    more_->setText(whole ? QStringLiteral("less") : QStringLiteral("more"));
    story_->setFixedHeight(whole ? text : lines);
    story_area_->setFixedHeight(std::min(heading + (whole ? text : lines), most));
}

void Inspector::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    fit_story();
}

/// The sections take another height.
bool Inspector::eventFilter(QObject* watched, QEvent* event) {
    if (watched == content_ && event->type() == QEvent::LayoutRequest) fit_story();
    return QWidget::eventFilter(watched, event);
}

/// A hidden panel does not ask who wrote a pair.
void Inspector::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    if (chain_shown_) ask_writers();
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
    // Of the run that is shown; a difference has no story of its own.
    const bool of_b = document_.shown_side() == figure::Side::b;
    const auto& table = of_b && document_.table_of_b() ? document_.table_of_b() : document_.head_table();
    if (table) text = head_story(*table, s.hover_head.value_or(s.focus));
    if (!text.isEmpty() && document_.beside())
        text.prepend(of_b && document_.table_of_b() ? QStringLiteral("B: ") : QStringLiteral("A: "));
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
        writers_known_.reset();
        kind_shown_.reset();
        chains_ = {};
        chain_shown_ = false;
        rows_->start(false);
        for (Section* section : {answer_section_, writers_section_, update_section_, kind_section_}) section->hide();
        show_card();
        show_story_soon();
        Q_EMIT shown();
        return;
    }
    const figure::Selection& s = document_.selection().get();
    const HeadId head = s.hover_head.value_or(s.focus);
    const auto beside = document_.beside();
    const Asked asked{trace,
                      head,
                      s.query(),
                      s.key(),
                      fitted(document_.options().pattern, *trace),
                      beside,
                      document_.shown_side(),
                      !s.hover_query && !s.hover_key && !s.hover_head,
                      question(),
                      against()};
    if (writers_known_ && (writers_known_->first.trace != trace || writers_known_->first.beside != beside))
        writers_known_.reset();  // it holds its runs
    if (asked_ == asked) return;
    asked_ = asked;
    chain_shown_ = false;
    show_card();
    show_story_soon();
    show_kind();
    if (!asked.query) {
        chains_ = {};
        rows_->start(false);
        rows_->add_note(QStringLiteral("Click a token to pin it as the query; Shift+click pins a key."));
        for (Section* section : {writers_section_, update_section_}) section->hide();
        if (!asked.question) {
            jobs_.cancel(Jobs::Lane::inspector);
            show_answer({});
            return Q_EMIT shown();
        }
    }
    jobs_.start(Jobs::Lane::inspector, QStringLiteral("Computing details"),
                [this, asked](const CancelToken& cancel, const Progress&) -> Jobs::Deliver {
                    std::function<void()> show = [] {};
                    // A saved trace has the weight of a pair, but not its terms.
                    if (model::has_implied_map(asked.trace->config(), asked.head.layer.value))
                        show = [this] { show_implied(); };
                    else if (asked.query && asked.key && model::has_weights(*asked.trace->model()))
                        show = [this, chains = chains_of(asked, cancel)] { show_chain(chains); };
                    else if (asked.query)
                        show = [this, keys = keys_of(asked)] { show_keys(keys); };
                    return [this, show, answer = answer_of(asked, cancel)] {
                        show_answer(answer);
                        show();
                        Q_EMIT shown();
                    };
                });
}

namespace {

/// B has a head of this number.
bool has_head(const trace::Trace& trace, HeadId head) {
    return head.layer.value < trace.config().n_layers && head.head.value < trace.config().n_heads;
}

struct Weighed {
    Position key;
    double weight = 0;
};

/// The keys that the query may attend to.
std::vector<Weighed> row_of(const trace::Trace& trace, HeadId head, Position query) {
    const analyze::Matrix row = analyze::pattern_row(trace, {head}, query.value, {});
    const model::ModelConfig& c = trace.config();
    const bool across = trace.across_texts();
    const model::KeyRange legal =
        model::legal_keys(query.value, trace.keys(), c.causal && !across, across ? 0 : model::window_of(c, head.layer.value));
    std::vector<Weighed> keys;
    for (Eigen::Index j = 0; j < row.cols(); ++j)
        if (legal.has(j)) keys.push_back({Position(j), double(row(0, j))});
    return keys;
}

}  // namespace

std::optional<std::pair<Position, Position>> Inspector::pair_in_b(const Asked& asked) {
    if (!asked.beside) return std::nullopt;
    const trace::Trace& b = *asked.beside->pair->b;
    const figure::SidePlaces places(*asked.beside);
    const auto query = places.query_in_b(*asked.query), key = places.key_in_b(*asked.key);
    if (!query || !key || !has_head(b, asked.head) || !model::has_weights(*b.model())) return std::nullopt;
    return std::pair(*query, *key);
}

Inspector::Chains Inspector::chains_of(const Asked& asked, const CancelToken& cancel) {
    constexpr std::int64_t top = 5;
    Chains out;
    out.a = analyze::pair_chain(*asked.trace, asked.head, *asked.query, *asked.key, top, cancel);
    out.figure_a = in_figure(*asked.trace, asked.head, *asked.query, *asked.key, asked.pattern);
    if (!asked.beside) return out;
    const auto pair = pair_in_b(asked);
    if (!pair) return out;
    const trace::Trace& b = *asked.beside->pair->b;
    const auto [query, key] = *pair;
    out.b = analyze::pair_chain(b, asked.head, query, key, top, cancel);
    out.b->query = *asked.query;  // of the pair as A numbers it
    out.b->key = *asked.key;
    out.figure_b = in_figure(b, asked.head, query, key, fitted(asked.pattern, b));
    return out;
}

/// Those with the largest weight in the run that is shown, or with the largest difference.
std::vector<Inspector::LooksAt> Inspector::keys_of(const Asked& asked) {
    std::vector<LooksAt> keys;
    std::map<Position, std::size_t> of_a;
    for (const Weighed& each : row_of(*asked.trace, asked.head, *asked.query)) {
        of_a[each.key] = keys.size();
        keys.push_back({token_of(asked.trace->key_labels(), each.key), {each.weight, kNaN}});
    }
    if (asked.beside) {
        const trace::Trace& b = *asked.beside->pair->b;
        const figure::SidePlaces places(*asked.beside);
        const auto query = places.query_in_b(*asked.query);
        if (query && has_head(b, asked.head)) {
            for (const Weighed& each : row_of(b, asked.head, *query)) {
                figure::Hit hit;
                hit.key = each.key;
                hit = places.in_a(hit);
                if (const auto known = hit.key ? of_a.find(*hit.key) : of_a.end(); known != of_a.end())
                    keys[known->second].weight.b = each.weight;
                else
                    keys.push_back({token_of(b.key_labels(), each.key) + QStringLiteral(" (B)"), {kNaN, each.weight}});
            }
        }
    }
    const auto size = [&](const LooksAt& key) {
        const double a = std::isnan(key.weight.a) ? 0 : key.weight.a, b = std::isnan(key.weight.b) ? 0 : key.weight.b;
        return asked.side == figure::Side::a ? a : asked.side == figure::Side::b ? b : std::abs(b - a);
    };
    std::ranges::stable_sort(keys, std::greater<>(), size);
    if (keys.size() > most_keys) keys.resize(most_keys);
    return keys;
}

std::optional<Inspector::InFigure> Inspector::in_figure(const trace::Trace& trace, HeadId head, Position query, Position key,
                                                        const analyze::PatternOptions& o) {
    if (o == analyze::PatternOptions{}) return std::nullopt;
    const analyze::PatternAxes axes = analyze::pattern_axes(trace, o);
    const std::int64_t row = axes.query_row(query), column = axes.key_column(key);
    if (row < 0 || column < 0) return std::nullopt;
    InFigure out;
    out.of_words = axes.queries[std::size_t(row)].count > 1 || axes.keys[std::size_t(column)].count > 1;
    QStringList how;
    if (out.of_words) how << QStringLiteral("words");
    if (o.weighting != analyze::Weighting::attention)
        how << QString::fromStdString(std::string(enum_word(o.weighting))).replace(QLatin1Char(0x2d), QLatin1Char(0x20));
    if ((o.hide_sinks || o.hide_special) && o.renormalise) how << QStringLiteral("the rest to 1");
    if (how.isEmpty()) return std::nullopt;
    out.name = QStringLiteral("in the figure (%1)").arg(how.join(QStringLiteral(", ")));
    out.weight = analyze::pattern_row(trace, {head}, row, o)(0, column);
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
        (document_.beside()      ? QStringLiteral(" · A and B")
         : document_.has_other() ? QStringLiteral(" · in A")  // B is not there yet
                                 : QString()));
    if (!query) return;
    const QFontMetrics metrics(query_->font());
    const auto beside = document_.beside();
    const auto places = beside ? std::optional<figure::SidePlaces>(*beside) : std::nullopt;
    const auto show = [&](QLabel& token, QLabel& note, const QString& own, const QString& where, Position at,
                          const std::optional<Position>& in_b, const std::vector<text::TokenLabel>* of_b) {
        const QString other = in_b && of_b ? token_of(*of_b, *in_b) : own;
        token.setText(metrics.elidedText(other == own ? own : own + u'/' + other, Qt::ElideRight, 104));
        note.setText(where.arg(at.value) + (!beside                   ? QString()
                                            : !in_b                   ? QStringLiteral(", not in B")
                                            : in_b->value != at.value ? QStringLiteral(", B: %1").arg(in_b->value)
                                                                      : QString()));
    };
    const bool across = document_.trace()->across_texts();
    const trace::Trace* b = beside ? beside->pair->b.get() : nullptr;
    show(*query_, *query_note_, query_token(*query), across ? QStringLiteral("target %1") : QStringLiteral("query %1"), *query,
         places ? places->query_in_b(*query) : std::nullopt, b ? &b->labels() : nullptr);
    if (key) {
        show(*key_, *key_note_, key_token(*key), across ? QStringLiteral("source %1") : QStringLiteral("key %1"), *key,
             places ? places->key_in_b(*key) : std::nullopt, b ? &b->key_labels() : nullptr);
    } else {
        key_->setText(QStringLiteral("…"));
        key_note_->setText(across ? QStringLiteral("any source token") : QStringLiteral("any key"));
    }
    const figure::Theme& theme = Appearance::instance().theme();
    QPalette palette = key_->palette();
    palette.setColor(QPalette::WindowText, figure::head_color(theme, document_.options().palette, head.head.value));
    key_->setPalette(palette);
}

}  // namespace headlight::ui
