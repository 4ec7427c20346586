// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/pattern/neuron/neuron_view_layout.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace headlight::figure {

std::int64_t NeuronViewData::rows() const {
    return view.causal ? std::min<std::int64_t>(view.query.value + 1, view.k.rows()) : view.k.rows();
}

std::int64_t NeuronViewData::strongest() const {
    std::int64_t best = 0;
    for (std::int64_t j = 1; j < rows(); ++j)
        if (view.weight[j] > view.weight[best]) best = j;
    return best;
}

std::optional<double> NeuronViewData::alibi_slope() const {
    if (!has_position() || view.position_kind != "ALiBi" || view.query.value == 0) return std::nullopt;
    return -double(view.position.front()) / double(view.query.value);
}

std::vector<std::int64_t> dimension_order(const NeuronViewData& data, bool sorted) {
    std::vector<std::int64_t> order(static_cast<std::size_t>(data.d_head()));
    std::iota(order.begin(), order.end(), 0);
    if (!sorted) return order;
    const auto products = data.view.products.row(data.strongest());
    std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return products[a] > products[b]; });
    return order;
}

double number_opacity(double x, double divisor) { return std::tanh(std::abs(x) / divisor); }

double connector_opacity(double weight) { return std::tanh(1.8 * weight); }

double color_divisor(const float* values, std::int64_t count) {
    std::vector<float> sizes;
    sizes.reserve(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i)
        if (std::isfinite(values[i])) sizes.push_back(std::abs(values[i]));
    if (sizes.empty()) return 4;
    const auto at = sizes.begin() + static_cast<std::ptrdiff_t>((sizes.size() - 1) * 9 / 10);
    std::nth_element(sizes.begin(), at, sizes.end());
    const double high = *at;
    if (high == 0 || (high >= 1 && high <= 20)) return 4;
    const double wanted = high / 2, power = std::pow(10, std::floor(std::log10(wanted)));
    const double lead = wanted / power;
    return power * (lead < 1.5 ? 1 : lead < 3.5 ? 2 : lead < 7.5 ? 5 : 10);
}

std::vector<double> round_to_sum(const std::vector<double>& terms, double score, int digits) {
    const double unit = std::pow(10, digits);
    std::vector<double> shown;
    for (const double term : terms) shown.push_back(std::round(term * unit));
    const double missing = std::round(score * unit) - std::accumulate(shown.begin(), shown.end(), 0.0);
    if (std::abs(missing) < static_cast<double>(terms.size()))
        for (double left = std::abs(missing); left > 0; --left) {
            // The term whose cut-off part points the same way loses least by the step.
            const double step = missing > 0 ? 1 : -1;
            const auto lost = [&](std::size_t i) { return (terms[i] * unit - shown[i]) * step; };
            std::size_t best = 0;
            for (std::size_t i = 1; i < terms.size(); ++i)
                if (terms[i] != 0 && lost(i) > lost(best)) best = i;
            shown[best] += step;
        }
    for (double& term : shown) term /= unit;
    return shown;
}

int score_digits(const NeuronViewData& data) {
    const auto slope = data.alibi_slope();
    return slope && *slope < 0.1 ? 3 : 2;
}

QString fixed(double value, int digits) {
    if (!std::isfinite(value)) return QStringLiteral("–");
    QString text = QString::number(value, 'f', digits);
    if (text.startsWith(u'-')) {
        const bool zero = std::all_of(text.begin() + 1, text.end(), [](QChar c) { return c == u'0' || c == u'.'; });
        text = zero ? text.mid(1) : QChar(0x2212) + text.mid(1);
    }
    return text;
}

QString dot_heading(double scale, std::int64_t d_head) {
    const QString qk = QStringLiteral("q·k");
    if (scale == 1) return qk;
    // DeBERTa's scale counts the terms of the score: 1 / √(3 d_head).
    for (const std::int64_t root : {d_head, 2 * d_head, 3 * d_head})
        if (std::abs(scale * std::sqrt(double(root)) - 1) < 1e-6) return qk + QStringLiteral(" / √%1").arg(root);
    // GPT-2's scale_attn_by_inverse_layer_idx.
    if (const double by = 1 / (scale * std::sqrt(double(d_head))); by > 1.5 && std::abs(by - std::round(by)) < 1e-6 * by)
        return qk + QStringLiteral(" / (%1 √%2)").arg(std::lround(by)).arg(d_head);
    return qk + QStringLiteral(" × %1").arg(scale, 0, 'g', 4);
}

QString term_heading(const std::string& name) {
    if (name == "c2p") return QStringLiteral("c→p");
    if (name == "p2c") return QStringLiteral("p→c");
    return QString::fromStdString(name);
}

QRectF NeuronLayout::row(std::int64_t i) const {
    return {margin, rows_top + double(i) * row_height, width - 2 * margin, row_height};
}

std::optional<std::int64_t> NeuronLayout::row_at(double y) const {
    const auto i = static_cast<std::int64_t>(std::floor((y - rows_top) / row_height));
    return i >= 0 && i < rows ? std::optional(i) : std::nullopt;
}

QRectF NeuronLayout::cell(double strip_x, std::int64_t slot) const {
    const double step = strip_width / double(dimensions);
    return {strip_x + double(slot) * step, 0, step, 0};
}

std::optional<std::int64_t> NeuronLayout::slot_at(double x) const {
    for (const double start : {key_x, product_x}) {
        const auto slot = static_cast<std::int64_t>(std::floor((x - start) / strip_width * double(dimensions)));
        if (x >= start && slot < dimensions) return slot;
    }
    return std::nullopt;
}

NeuronLayout neuron_layout(const NeuronViewData& data, double available_width, double token_text, bool compact,
                           double positions_width) {
    NeuronLayout at;
    at.rows = data.rows();
    at.dimensions = data.d_head();
    at.compact = compact;
    // Distances of a narrow and of a roomy canvas; what is left over widens the strips.
    const double roomy = std::clamp((available_width - 860) / (1180 - 860), 0.0, 1.0);
    const auto between = [roomy](double narrow, double wide) { return narrow + (wide - narrow) * roomy; };
    at.token_x = NeuronLayout::margin + 14;
    const auto space = [&](double in_file, double narrow, double wide) { return compact ? in_file : between(narrow, wide); };
    const double strip_gap = space(10, 18, 24), to_dot = space(52, 66, 84), to_position = space(64, 62, 74),
                 to_score = space(52, 60, 76), bar_gap = space(8, 14, 16), to_value = space(50, 56, 74),
                 to_weighted = space(44, 98, 112), right = compact ? 24 : between(12, 44) + 16;
    at.token_width = std::clamp(token_text, 48.0, compact ? 64.0 : between(96, 160)) + positions_width;
    at.key_x = std::max(at.token_x + at.token_width + between(10, 16), space(90, 104, 118));
    at.bar_width = space(24, 56, 100);
    const double weight = 6 + 38;
    const auto terms = static_cast<double>(data.view.terms.size()), parts = static_cast<double>(data.view.parts.size());
    const double of_parts = std::max(0.0, parts - 1) * to_position;
    const double columns = strip_gap + to_dot + of_parts + (data.has_position() ? to_position : 0) + terms * to_position +
                           to_score + bar_gap + at.bar_width + weight + to_value + to_weighted + right;
    const double most = std::max(200.0, 10.0 * double(at.dimensions));
    at.strip_width = std::clamp((available_width - at.key_x - columns) / 2, compact ? 56.0 : 110.0, most);

    at.product_x = at.key_x + at.strip_width + strip_gap;
    for (std::size_t i = 0; i < data.view.parts.size(); ++i)
        at.parts_right.push_back(at.product_x + at.strip_width + to_dot + to_position * static_cast<double>(i));
    at.dot_right = at.product_x + at.strip_width + to_dot + of_parts;
    at.position_right = at.dot_right + (data.has_position() ? to_position : 0);
    for (std::size_t i = 0; i < data.view.terms.size(); ++i)
        at.terms_right.push_back(at.position_right + static_cast<double>(i + 1) * to_position);
    at.score_right = (at.terms_right.empty() ? at.position_right : at.terms_right.back()) + to_score;
    at.bar_x = at.score_right + bar_gap;
    at.weight_x = at.bar_x + at.bar_width + 6;
    at.value_right = at.weight_x + 38 + to_value;
    at.weighted_right = at.value_right + to_weighted;
    at.width = at.weighted_right + right;
    at.height = NeuronLayout::rows_top + double(at.rows) * NeuronLayout::row_height + 14 + NeuronLayout::footer_height;
    return at;
}

}  // namespace headlight::figure
