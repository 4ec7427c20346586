// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/map/token_panel.h"

#include "headlight/figure/core/number_text.h"
#include "headlight/map/pictures.h"
#include "ui/style/appearance.h"
#include "ui/style/widgets.h"

#include <QScrollArea>
#include <QVBoxLayout>

#include <algorithm>
#include <numeric>

namespace headlight::ui {
namespace {

/// 0: the strongest two; else at least this weight.
constexpr double line_levels[] = {0, 0.05, 0.1, 0.2, 0.5};
constexpr std::size_t most_panel_lines = 200;

QLabel* selectable_label(const char* role) {
    QLabel* label = wrapped_label(role);
    label->setTextInteractionFlags(Qt::TextSelectableByMouse);
    return label;
}

}  // namespace

TokenPanel::TokenPanel(QWidget* parent)
    : QWidget(parent),
      title_(selectable_label("title")),
      facts_(selectable_label("note")),
      note_(selectable_label("note")),
      nearest_(selectable_label("note")),
      text_title_(selectable_label("muted")),
      nearest_title_(selectable_label("muted")),
      sentence_(new SentenceView),
      lines_(new QComboBox),
      hide_first_(new QCheckBox(QStringLiteral("Hide the first token"))),
      by_value_(new QCheckBox(QStringLiteral("Weight × |value|"))),
      over_texts_(new QCheckBox(QStringLiteral("Mean over texts"))),
      open_(new QPushButton(QStringLiteral("Open this text in the window"))),
      body_(new QWidget) {
    sentence_->setAccessibleName(QStringLiteral("Text of the point"));
    lines_->setAccessibleName(QStringLiteral("Lines of attention"));
    lines_->addItem(QStringLiteral("Lines: the strongest two"));
    for (const double level : line_levels)
        if (level > 0) lines_->addItem(QStringLiteral("Lines: at least %1 %").arg(100 * level));
    hide_first_->setToolTip(QStringLiteral("Attention on the first token is left out, and the rest sums to 1"));
    by_value_->setToolTip(QStringLiteral("a_ij |v_j| / sum_j a_ij |v_j|: the length of a key’s value counts"));
    over_texts_->setToolTip(QStringLiteral("The mean over all texts of the map that have a token at this position"));
    open_->setAutoDefault(false);
    open_->setToolTip(QStringLiteral("The window runs it, with this head and this token selected"));
    auto* inside = new_column(body_, {0, 0, 8, 0}, 8);
    add_widgets(*inside, {facts_, text_title_, sentence_, note_, lines_, hide_first_, by_value_, over_texts_, open_});
    inside->addSpacing(6);
    inside->addWidget(nearest_title_);
    inside->addWidget(nearest_);
    inside->addStretch();
    body_->setProperty("role", "clear");
    auto* scroll = new QScrollArea;
    scroll->setWidgetResizable(true);
    scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    scroll->setWidget(body_);
    auto* column = new_column(this, {0, 0, 0, 0}, 8);
    column->addWidget(title_);
    column->addWidget(scroll, 1);
    for (QCheckBox* box : {hide_first_, by_value_, over_texts_}) connect(box, &QCheckBox::toggled, this, &TokenPanel::asks);
    connect(lines_, &QComboBox::currentIndexChanged, this, [this] {
        show_lines();
        Q_EMIT lines_changed();
    });
    connect(open_, &QPushButton::clicked, this, &TokenPanel::open_wanted);
    connect(sentence_, &SentenceView::token_clicked, this, [this](int token) {
        if (point_) Q_EMIT point_wanted({point_->head, first_listed_ + token});
    });
    clear();
}

void TokenPanel::clear() {
    point_.reset();
    found_.reset();
    sentence_->set_content({});
    title_->setText(QStringLiteral("Click a point to see its text, its attention and its nearest neighbours."));
    set_style_property(*title_, "role", "note");
    body_->hide();
}

void TokenPanel::show_point(const figure::MapFigure& figure, const MapTexts& texts, const figure::MapPoint& point) {
    const map::QueryKeyMap& map = figure.map();
    const figure::MapToken token = figure::map_token(map, point.point);
    const map::HeadMap& head = map.heads[point.head];
    point_ = point;
    found_.reset();
    by_value_->setEnabled(texts.can_run());
    set_style_property(*title_, "role", "title");
    title_->setText(QStringLiteral("%1 %2 of %3")
                        .arg(token.key ? QStringLiteral("Key") : QStringLiteral("Query"),
                             figure::map_token_text(token.of.tokens[token.at]), figure::head_name({head.layer, head.head})));
    facts_->setText(figure::map_point_words(map, head, point.point));
    // A query's keys are listed, and a key's queries.
    const auto text = static_cast<std::size_t>(token.text());
    const map::TokenRange range = texts.range(text, !token.key);
    const map::MapTokens& listed = token.key ? map.tokens : map::key_tokens(map);
    first_listed_ = static_cast<std::int32_t>(range.first + (token.key ? 0 : std::ssize(map.tokens.tokens)));
    SentenceView::Content content;
    for (std::int64_t i = range.first; i < range.second; ++i)
        content.tokens << figure::map_token_text(listed.tokens[static_cast<std::size_t>(i)]);
    if (map.pictures) {
        content.columns = static_cast<int>(map.pictures->columns);
        for (std::int64_t i = range.first; i < range.second; ++i)
            content.patches.push_back(figure.thumbnail(static_cast<std::int32_t>(i)));
    }
    content.chosen = map.source.tokens.empty() ? static_cast<int>(token.position().value) : -1;
    content.keys = !token.key;
    sentence_->set_content(std::move(content));
    const QString what = map.pictures ? QStringLiteral("picture") : QStringLiteral("text");
    text_title_->setText(token.key ? QStringLiteral("Queries of %1 %2 that attend to it").arg(what).arg(text)
                                   : QStringLiteral("Attended-to keys in %1 %2").arg(what).arg(text));
    open_->setText(QStringLiteral("Open this %1 in the window").arg(what));
    note_->setText(QStringLiteral("Reading its attention …"));
    nearest_->clear();
    nearest_title_->clear();
    body_->show();
}

AttentionAsked TokenPanel::asked() const {
    AttentionAsked out;
    if (point_) out.head = point_->head, out.point = point_->point;
    out.by_value = by_value_->isChecked() && by_value_->isEnabled();
    out.hide_first = hide_first_->isChecked();
    out.over_texts = over_texts_->isChecked();
    return out;
}

void TokenPanel::show_attention(const AttentionFound& found) {
    if (!point_ || found.asked.point != point_->point || found.asked.head != point_->head) return;
    found_ = found;
    SentenceView::Content content = sentence_->content();
    content.weights = found.weights;
    content.weights.resize(static_cast<std::size_t>(content.tokens.size()));
    sentence_->set_content(std::move(content));
    QString words = found.from_scores ? QStringLiteral("Softmax of q·k, without the attention’s position terms and biases")
                                      : QStringLiteral("The model’s attention");
    if (found.asked.by_value) words += QStringLiteral(" × |value|");
    if (found.asked.hide_first) words += QStringLiteral(", without the first token");
    if (found.asked.over_texts) words += QStringLiteral(", mean over %1 texts by position").arg(figure::count_text(found.texts));
    note_->setText(words);
    show_lines();
}

std::vector<int> TokenPanel::strong() const {
    std::vector<int> out;
    if (!found_) return out;
    const std::vector<float>& weights = sentence_->content().weights;
    std::vector<int> order(weights.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, std::greater(), [&](int i) { return weights[std::size_t(i)]; });
    const double level = line_levels[lines_->currentIndex()];
    for (const int i : order) {
        const auto weight = static_cast<double>(weights[std::size_t(i)]);
        if (weight <= 0 || (level > 0 && weight < level) || out.size() == (level > 0 ? most_panel_lines : 2)) break;
        out.push_back(i);
    }
    return out;
}

void TokenPanel::show_lines() {
    SentenceView::Content content = sentence_->content();
    content.lines = strong();
    sentence_->set_content(std::move(content));
}

std::vector<figure::MapLine> TokenPanel::lines() const {
    std::vector<figure::MapLine> out;
    if (!point_ || !found_) return out;
    for (const int i : strong())
        out.push_back({point_->point, first_listed_ + i, sentence_->content().weights[std::size_t(i)], false});
    return out;
}

void TokenPanel::show_nearest(const figure::MapFigure& figure, const MapTexts& texts, const std::vector<NearPoint>& near,
                              const QString& word) {
    if (!point_) return;
    const map::QueryKeyMap& map = figure.map();
    const bool key = figure::map_token(map, point_->point).key;
    nearest_title_->setText(QStringLiteral("Nearest %1 before the projection, by %2")
                                .arg(key ? QStringLiteral("queries") : QStringLiteral("keys"), word));
    QStringList rows;
    for (const NearPoint& at : near) {
        const figure::MapToken token = figure::map_token(map, at.point);
        QString row = QStringLiteral("%1  %2 (%3)")
                          .arg(figure::value_text(at.value, 3), figure::map_token_text(token.of.tokens[token.at]))
                          .arg(token.position().value);
        if (texts.texts() > 1) row += QStringLiteral(", text %1").arg(token.text());
        rows << row;
    }
    nearest_->setText(rows.join(u'\n'));
}

}  // namespace headlight::ui
