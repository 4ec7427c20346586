// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/pattern/head/head_view.h"

#include "figure/core/axis_words.h"
#include "figure/pattern/head/head_figure.h"
#include "headlight/base/error.h"
#include "headlight/figure/core/selection_rules.h"

#include <algorithm>

namespace headlight::figure {

std::unique_ptr<Figure> head_figure(HeadViewData data) { return std::make_unique<HeadFigure>(std::move(data)); }

namespace {

std::vector<double> label_widths(const std::vector<draw::Label>& labels, const QFont& font) {
    std::vector<double> widths;
    widths.reserve(labels.size());
    for (const auto& label : labels) widths.push_back(draw::token_width(label, font));
    return widths;
}

void check_shapes(const HeadViewData& data) {
    const std::size_t maps = data.difference ? 2 : data.together.isEmpty() ? data.heads.size() : 1;
    if (data.weights.size() != maps || data.heads.empty())
        throw Error({.problem = "A head view needs one map for each head",
                     .expected = std::to_string(maps) + " maps",
                     .found = std::to_string(data.weights.size())});
    require_fit(data.weights, data.axes);
}

/// Whose lines are made in less than a frame.
constexpr std::ptrdiff_t quick_pairs = 500'000;

std::shared_ptr<const HeadLines> lines_as(const HeadViewData& data, const std::vector<std::int32_t>& active,
                                          const Transfer& transfer, const CancelToken& cancel) {
    HeadLines lines = head_lines(data.weights, active, data.axes, data.causal, transfer,
                                 data.difference ? static_cast<float>(1 / data.limit) : 0, cancel);
    if (data.difference) {  // the two maps share their pairs, each of which has one line
        lines.pairs = data.differences;
        lines.too_faint = data.differences - std::ssize(lines.lines);
    }
    return std::make_shared<const HeadLines>(std::move(lines));
}

}  // namespace

HeadFigure::HeadFigure(HeadViewData data) : held_(std::make_shared<const HeadViewData>(std::move(data))) {
    check_shapes(data_);
    query_labels_ = draw::labels_in(data_.axes.queries);
    key_labels_ = draw::labels_in(data_.axes.keys);
    // Figures are made by a worker and painted by the window: what takes long is done here.
    query_widths_ = label_widths(query_labels_, ui_font(14));
    key_widths_ = label_widths(key_labels_, ui_font(14));
    report(drawn({}, {}));
}

QSizeF HeadFigure::layout(QSizeF available, const Style& style, const Selection& selection) {
    layout_ = head_layout(query_widths_, key_widths_, data_.n_heads, draw::text_width(title(), ui_font(15, QFont::DemiBold)),
                          available);
    view_ = QRectF(QPointF(0, 0), layout_.size);
    drawn(style, selection);
    return layout_.size;
}

const HeadFigure::Drawn& HeadFigure::drawn(const Style& style, const Selection& selection) const {
    const std::vector<Head> heads = active_heads(selection, data_.layer, data_.heads);
    std::vector<std::int32_t> active;
    if (is_together()) active.push_back(0);
    if (data_.difference) active.push_back(1);
    for (std::size_t h = 0; h < data_.heads.size() && !is_together(); ++h)
        if (std::ranges::find(heads, data_.heads[h]) != heads.end()) active.push_back(static_cast<std::int32_t>(h));
    wanted_.reset();
    if (drawn_->active == active && drawn_->transfer == style.transfer) return *drawn_;
    Drawn wanted{style.transfer, std::move(active), nullptr};
    const auto pairs = std::ssize(wanted.active) * std::ssize(data_.axes.queries) * std::ssize(data_.axes.keys);
    if (drawn_->lines && !style.exporting && pairs > quick_pairs) {
        wanted_ = std::move(wanted);
        return *drawn_;
    }
    wanted.lines = lines_as(data_, wanted.active, wanted.transfer, style.cancel);
    return *drawn_ = std::move(wanted);
}

Sharpening HeadFigure::sharpening() {
    if (!wanted_) {
        Sharpening lines = pictures_.sharpening();
        return lines ? lines : chosen_pictures_.sharpening();
    }
    if (!busy_.expired()) return {};
    const auto busy = std::make_shared<char>();
    busy_ = busy;
    return [data = held_, place = drawn_, wanted = *wanted_, busy](const CancelToken& cancel) mutable -> std::function<void()> {
        wanted.lines = lines_as(*data, wanted.active, wanted.transfer, cancel);
        return [place, wanted, busy] { *place = wanted; };
    };
}

std::vector<Eigen::VectorXf> HeadFigure::strengths(bool on_keys, std::int64_t row, Rows queries) const {
    std::vector<Eigen::VectorXf> all;
    const float before = data_.difference ? std::min(1.0F, static_cast<float>(1 / data_.limit)) : 1.0F;  // as in the lines
    for (const std::int32_t head : drawn_->active) {
        const auto& map = data_.weights[static_cast<std::size_t>(head)];
        if (on_keys) {
            all.push_back(apply(drawn_->transfer, Eigen::VectorXf(before * map.row(row))));
            continue;
        }
        // Some transfer functions look at the whole row of a query, so a column alone does not say its strengths.
        Eigen::VectorXf& column = all.emplace_back(Eigen::VectorXf::Zero(map.rows()));
        for (std::int64_t i = queries.first; i < queries.last; ++i)
            column[i] = apply(drawn_->transfer, Eigen::VectorXf(before * map.row(i)))[row];
    }
    return all;
}

HeadSubject HeadFigure::subject(const Style& style, const Selection& selection) const {
    HeadSubject s;
    auto add_query = [&](Position p) {
        if (const auto row = data_.axes.query_row(p); row >= 0) s.queries.push_back(row);
    };
    if (!style.exporting && (selection.hover_query || selection.hover_key)) {
        if (selection.hover_query)
            add_query(*selection.hover_query);
        else
            s.key = data_.axes.key_column(*selection.hover_key);
        return s;
    }
    for (Position p : selection.pinned_queries) add_query(p);
    if (s.queries.empty() && !selection.pinned_keys.empty()) s.key = data_.axes.key_column(selection.pinned_keys.back());
    return s;
}

std::optional<QRectF> HeadFigure::row_of_query(Position position) const {
    const auto row = data_.axes.query_row(position);
    return row < 0 ? std::nullopt : std::optional(layout_.query_box(row));
}

std::optional<QRectF> HeadFigure::row_of_key(Position position) const {
    const auto row = data_.axes.key_column(position);
    return row < 0 ? std::nullopt : std::optional(layout_.key_box(row));
}

std::optional<HeadId> HeadFigure::head_of(std::int32_t map) const {
    if (is_together()) return std::nullopt;
    return HeadId{data_.layer, data_.heads[static_cast<std::size_t>(map)]};
}

QString HeadFigure::name_of(std::int32_t map) const {
    if (data_.difference) return map == 0 ? data_.plus : data_.minus;
    if (is_together()) return data_.together;
    return head_name({data_.layer, data_.heads[static_cast<std::size_t>(map)]});
}

QString HeadFigure::title() const {
    if (is_together()) return with_attention(capitalized(data_.together), data_.attention);
    const QString layer = QStringLiteral("Layer %1").arg(data_.layer.value);
    return with_attention(with_attention(layer, data_.attention), data_.layer_label);
}

QColor HeadFigure::color(const Style& style, std::int32_t head) const {
    if (data_.difference) return head == 0 ? style.theme->positive : style.theme->negative;
    if (is_together()) return style.theme->text;
    return head_color(*style.theme, style.palette, data_.heads[static_cast<std::size_t>(head)].value);
}

Table HeadFigure::table() const {
    const Drawn& d = *drawn_;
    Table t{data_.words.columns({"layer", "head", "query", "query_token", "key", "key_token", "weight", "opacity"}), {}};
    if (is_together()) t.columns = data_.words.columns({"map", "query", "query_token", "key", "key_token", "weight", "opacity"});
    t.rows.reserve(d.lines->lines.size());
    for (const HeadLine& line : d.lines->lines) {
        const auto& query = data_.axes.queries[static_cast<std::size_t>(line.query)];
        const auto& key = data_.axes.keys[static_cast<std::size_t>(line.key)];
        auto& row = t.rows.emplace_back();
        if (const auto head = head_of(line.head))
            row = {head->layer.value, head->head.value};
        else
            row = {name_of(line.head).toStdString()};
        const float weight = data_.weights[static_cast<std::size_t>(line.head)](line.query, line.key);
        row.insert(row.end(), {query.first.value, query.continuation + query.label, key.first.value, key.continuation + key.label,
                               static_cast<double>(weight), static_cast<double>(line.opacity)});
    }
    return t;
}

std::vector<NamedArray> HeadFigure::arrays() const {
    const Drawn& d = *drawn_;
    NamedArray weights{"weights", {std::ssize(d.active), std::ssize(data_.axes.queries), std::ssize(data_.axes.keys)}, {}};
    weights.values.reserve(d.active.size() * data_.axes.queries.size() * data_.axes.keys.size());  // it may be a gigabyte
    std::vector<std::int64_t> heads;
    for (std::int32_t h : d.active) {
        const auto& map = data_.weights[static_cast<std::size_t>(h)];
        weights.values.insert(weights.values.end(), map.data(), map.data() + map.size());
        if (const auto head = head_of(h)) heads.push_back(head->head.value);
    }
    std::vector<NamedArray> all{std::move(weights)};
    if (!is_together()) all.push_back(analyze::integer_array("heads", std::move(heads)));
    add_positions(all, data_.axes);
    return all;
}

QString HeadFigure::description() const {
    if (data_.words.across)
        return QStringLiteral(
                   "Each line joins a token of the target, which attends (left), with a token of the source, which the encoder has "
                   "read (right). The stronger the line, the larger the %1 of that pair; the colour is the head. Point at a token "
                   "on the left to see what it reads from the source, on the right to see which tokens of the target read it. "
                   "Bahdanau et al., “Neural Machine Translation by Jointly Learning to Align and Translate”, 2015; Vig, “A "
                   "Multiscale Visualization of Attention in the Transformer Model”, 2019.")
            .arg(data_.weight_name);
    if (data_.difference && !data_.signed_description.isEmpty()) return data_.signed_description;
    if (data_.difference)
        return QStringLiteral(
            "Each line joins a query (left) with a key (right) whose weight is another in B than in A, in the mean of the heads that "
            "are on: blue where B attends more, orange where it attends less. Tokens that only one text has stand where they are in "
            "it and have no lines as queries; as keys, theirs are the weight that they gain or lose. After the head view of BertViz: Vig, “A Multiscale Visualization of Attention in the Transformer Model”, 2019.");
    if (is_together())
        return QStringLiteral(
            "Each line joins a query (left) with a key that it attends to (right), as strong "
            "as the mean or the maximum of several heads' weights for that pair. Weights of a mean sum to 1 over a "
            "token's lines, those of a maximum do not. The squares switch heads on and off. After the head view of "
            "BertViz: Vig, “A Multiscale Visualization of Attention in the Transformer Model”, 2019.");
    return QStringLiteral(
        "Each line joins a query (left) with a key that it attends to (right). The stronger the line, the larger the softmax "
        "weight of that pair; the colour is the head. With several heads on, each line has its weight divided by the number of "
        "heads. Point at a token on the left to see what it attends to, on the right to see which queries attend to it. Vig, “A "
        "Multiscale Visualization of Attention in the Transformer Model”, 2019.");
}

}  // namespace headlight::figure
