// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/pattern/neuron/neuron_view_figure.h"

#include <algorithm>
#include <cmath>

namespace headlight::figure {
namespace {

std::vector<float> flat(const analyze::Matrix& m) { return {m.data(), m.data() + m.size()}; }

}  // namespace

NeuronFigure::NeuronFigure(NeuronViewData data, NeuronViewOptions options)
    : data_(std::move(data)),
      options_(options),
      order_(dimension_order(data_, options.sorted)),
      strongest_(data_.strongest()),
      digits_(score_digits(data_)) {
    const auto numbers = data_.rows() * data_.d_head();
    vector_divisor_ = color_divisor(data_.view.k.data(), numbers);
    product_divisor_ = color_divisor(data_.view.products.data(), numbers);
    at_ = neuron_layout(data_, 1180, 60);
    seen_bottom_ = at_.height;
}

Hit NeuronFigure::hit_test(QPointF point, const Style& style, const Selection&) const {
    Hit hit;
    hit.head = data_.view.head;
    const double shift = style.exporting ? 0 : std::max(0.0, seen_top_ - NeuronLayout::sticky_top);
    const double footer = std::min(at_.height, seen_bottom_) - at_.footer_height;
    const auto slot = at_.slot_at(point.x());
    const auto dimension = slot ? order_[static_cast<std::size_t>(*slot)] : -1;
    const double band = NeuronLayout::band_top + shift;
    if (point.y() >= band && point.y() < band + NeuronLayout::band_height) {
        hit.query = data_.view.query;
        hit.kind = Hit::Kind::query;
        hit.area = {NeuronLayout::margin, band, at_.width - 2 * NeuronLayout::margin, NeuronLayout::band_height};
        hit.tip = query_named();
        if (dimension >= 0 && point.x() < at_.product_x) {
            hit.kind = Hit::Kind::dimension;
            hit.dimension = dimension;
            hit.value = data_.view.q[dimension];
            hit.area = QRectF(at_.cell(at_.key_x, *slot).left(), band + 10, at_.cell(at_.key_x, *slot).width(), 20);
            hit.tip += QStringLiteral("  dimension %1: q %2").arg(dimension).arg(fixed(*hit.value, 4));
        }
        return hit;
    }
    if (point.y() >= footer && point.y() <= footer + at_.footer_height) {
        hit.kind = Hit::Kind::legend;
        hit.tip = QStringLiteral("a number x is drawn with the opacity tanh(|x| / %1), a product with tanh(|x| / %2)")
                      .arg(vector_divisor_)
                      .arg(product_divisor_);
        return hit;
    }
    const auto key = at_.row_at(point.y());
    if (!key || point.y() < NeuronLayout::rows_top - 4 + shift) return Hit{};
    hit.kind = Hit::Kind::pair;
    hit.query = data_.view.query;
    hit.key = Position{*key};
    hit.value = data_.view.weight[*key];
    hit.area = at_.row(*key);
    hit.tip = row_tip(*key);
    if (dimension >= 0) {
        const double strip = point.x() < at_.product_x ? at_.key_x : at_.product_x;
        const QRectF cell = at_.cell(strip, *slot);
        hit.kind = Hit::Kind::dimension;
        hit.dimension = dimension;
        hit.value = strip == at_.key_x ? data_.view.k(*key, dimension) : data_.view.products(*key, dimension);
        hit.area = QRectF(cell.left(), hit.area.top() + 7, cell.width(), 16);
        hit.tip = dimension_tip(*key, dimension);
    }
    return hit;
}

/// The query stands in the band that stays in sight; the rows are keys.
std::optional<QRectF> NeuronFigure::row_of_key(Position key) const {
    return key.value >= 0 && key.value < at_.rows ? std::optional(at_.row(key.value)) : std::nullopt;
}

draw::Label NeuronFigure::label_of(std::int64_t position) const {
    return draw::label_of(data_.labels[static_cast<std::size_t>(position)]);
}

QString NeuronFigure::token(std::int64_t position) const {
    const draw::Label label = label_of(position);
    return label.continuation + label.text;
}

QString NeuronFigure::query_token() const {
    const draw::Label label = draw::label_of(data_.query);
    return label.continuation + label.text;
}

QString NeuronFigure::query_named() const {
    return data_.words.named_query(draw::label_of(data_.query).with_position(data_.view.query));
}

QString NeuronFigure::named(std::int64_t position) const {
    return data_.words.named_key(label_of(position).with_position(Position{position}));
}

QString NeuronFigure::product_heading() const {
    return options_.sorted ? QStringLiteral("q × k, sorted for %1").arg(token(strongest_))
                           : QStringLiteral("q × k, number by number");
}

QString NeuronFigure::group_note() const {
    const auto& view = data_.view;
    if (view.group_size <= 1) return {};
    const auto first = view.kv_head * view.group_size;
    return QStringLiteral("key/value head %1, shared by heads %2–%3")
        .arg(view.kv_head)
        .arg(first)
        .arg(first + view.group_size - 1);
}

QString NeuronFigure::position_note() const {
    if (const auto slope = data_.alibi_slope()) {
        const double power = std::log2(*slope);
        if (std::abs(power - std::round(power)) < 1e-4 && power < 0) {
            static const QString raised = QStringLiteral("⁰¹²³⁴⁵⁶⁷⁸⁹");
            QString digits;
            for (const QChar c : QString::number(std::lround(-power))) digits += raised[c.digitValue()];
            return QStringLiteral("ALiBi slope 2⁻") + digits;
        }
        return QStringLiteral("ALiBi slope %1").arg(*slope, 0, 'g', 3);
    }
    const QString kind = QString::fromStdString(data_.view.position_kind);
    if (data_.has_position()) return kind;
    if (kind.startsWith(QStringLiteral("rotary"))) return QStringLiteral("rotary positions, inside q and k");
    if (kind.startsWith(QStringLiteral("learned"))) return QStringLiteral("positions inside the stream");
    return kind;
}

QString NeuronFigure::row_tip(std::int64_t key) const {
    const auto& view = data_.view;
    QString text = QStringLiteral("%1  %2 → %3  %4 = %5")
                       .arg(head_name(view.head), query_named(), named(key), dot_heading(view.scale, data_.d_head()),
                            fixed(view.dot[key], 4));
    if (data_.has_position()) text += QStringLiteral("  position %1").arg(fixed(view.position[static_cast<std::size_t>(key)], 4));
    for (const auto* list : {&view.parts, &view.terms})
        for (const auto& term : *list) text += QStringLiteral("  %1 %2").arg(term_heading(term.name), fixed(term.values[key], 4));
    return text + QStringLiteral("  score %1  weight %2  |value| %3  weight · |value| %4")
                      .arg(fixed(view.score[key], 4), fixed(view.weight[key], 4), fixed(view.value_norm[key], 4),
                           fixed(view.weighted_value_norm[key], 4));
}

QString NeuronFigure::dimension_tip(std::int64_t key, std::int64_t d) const {
    const auto& view = data_.view;
    return QStringLiteral("dimension %1  %2: q %3 × k %4 = %5 (%6 of the score)")
        .arg(d)
        .arg(named(key), fixed(view.q[d], 4), fixed(view.k(key, d), 4), fixed(view.products(key, d), 4),
             fixed(view.scale * view.products(key, d), 4));
}

Table NeuronFigure::table() const {
    const auto& view = data_.view;
    Table table;
    table.columns = data_.words.columns({"layer", "head", "query", "key", "query_token", "key_token", "scale", "qk_scaled",
                                         "position", "score", "weight", "value_norm", "weighted_value_norm"});
    for (const auto* list : {&view.parts, &view.terms})
        for (const auto& term : *list) table.columns.push_back(term.name);
    const auto numbered = [&](const char* name) {
        for (const auto d : order_) table.columns.push_back(name + std::to_string(d));
    };
    numbered("k_");
    numbered("product_");
    for (std::int64_t key = 0; key < data_.rows(); ++key) {
        std::vector<Table::Cell> row{
            view.head.layer.value,       view.head.head.value,     view.query.value, key,
            query_token().toStdString(), token(key).toStdString(), view.scale,       double(view.dot[key])};
        row.push_back(data_.has_position() ? Table::Cell(double(view.position[static_cast<std::size_t>(key)])) : Table::Cell());
        for (const auto* column : {&view.score, &view.weight, &view.value_norm, &view.weighted_value_norm})
            row.emplace_back(double((*column)[key]));
        for (const auto* list : {&view.parts, &view.terms})
            for (const auto& term : *list) row.emplace_back(double(term.values[key]));
        for (const auto* m : {&view.k, &view.products})
            for (const auto d : order_) row.emplace_back(double((*m)(key, d)));
        table.rows.push_back(std::move(row));
    }
    return table;
}

std::vector<NamedArray> NeuronFigure::arrays() const {
    const auto& view = data_.view;
    const std::int64_t keys = data_.rows(), numbers = data_.d_head();
    const auto column = [keys](const std::string& name, const analyze::Vector& v) {
        return NamedArray{name, {keys}, {v.data(), v.data() + keys}};
    };
    std::vector<NamedArray> out{{"q", {numbers}, {view.q.data(), view.q.data() + numbers}},
                                {"k", {keys, numbers}, flat(view.k.topRows(keys))},
                                {"products", {keys, numbers}, flat(view.products.topRows(keys))},
                                column("dot", view.dot)};
    if (data_.has_position()) out.push_back({"position", {keys}, {view.position.begin(), view.position.begin() + keys}});
    for (const auto* list : {&view.parts, &view.terms})
        for (const auto& term : *list) out.push_back(column(term.name, term.values));
    out.push_back(column("score", view.score));
    out.push_back(column("weight", view.weight));
    if (view.sink > 0) out.push_back({"sink", {1}, {view.sink}});
    out.push_back(column("value_norm", view.value_norm));
    out.push_back(column("weighted_value_norm", view.weighted_value_norm));
    return out;
}

QString NeuronFigure::title() const {
    return with_attention(QStringLiteral("Layer %1  head %2").arg(data_.view.head.layer.value).arg(data_.view.head.head.value),
                          data_.attention);
}

QString NeuronFigure::description() const {
    QString text = neuron_description(true);
    if (!data_.view.terms.empty())
        text += QStringLiteral(
            " Here more belongs to the score: c→p, the query against the relative position (Shaw et al. 2018), and where "
            "the model has it p→c, the key against it (He et al. 2021, DeBERTa).");
    if (!data_.view.parts.empty())
        text += QStringLiteral(
            " A line parts the numbers of content from those that rotate, and two columns give what each adds to q·k "
            "(DeepSeek-V2 2024).");
    return text;
}

QString neuron_description(bool expanded) {
    if (!expanded)
        return QStringLiteral(
            "One head before a query is opened: queries stand left, keys right, and a line is as "
            "strong as the weight. Click a token on the left to see, number by number, why it attends where it does. "
            "After the neuron view of BertViz (Vig 2019, A Multiscale Visualization of Attention in the Transformer "
            "Model).");
    return QStringLiteral(
        "Why one token attends where it does. The band holds the query vector q of the chosen token; each row below is a token "
        "it may attend to, with its key vector k and the products q × k number by number. Blue numbers raise the score, orange "
        "ones lower it. Their sum times the model's scale, plus the position term where the model has one, is the score; the "
        "softmax turns the scores of all rows into weights that sum to 1. The last columns go on to what is carried over: the "
        "length of the value vector, and the weight times that length. After the neuron view of BertViz (Vig 2019, A Multiscale "
        "Visualization of Attention in the Transformer Model); the norm of weighted values is from Kobayashi et al. 2020, "
        "Attention is Not Only a Weight.");
}

}  // namespace headlight::figure
