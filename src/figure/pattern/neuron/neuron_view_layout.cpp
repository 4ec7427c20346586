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

namespace {

/// How close the columns stand: 0 as close as their numbers allow, 1 as on a narrow canvas, 2 as on a roomy one.
class Spacing {
public:
    Spacing(const NeuronViewData& data, double token_text, double positions_width, double looseness)
        : looseness_(looseness),
          token_x(NeuronLayout::margin + 14),
          strip_gap(of(10, 18, 24)),
          to_dot(of(52, 66, 84)),
          to_position(of(64, 62, 74)),
          to_score(of(52, 60, 76)),
          bar_gap(of(8, 14, 16)),
          bar_width(of(24, 56, 100)),
          to_value(of(50, 56, 74)),
          to_weighted(of(44, 98, 112)),
          right(of(24, 28, 60)),
          token_width(std::clamp(token_text, 48.0, of(64, 96, 160)) + positions_width),
          key_x(std::max(token_x + token_width + of(10, 10, 16), of(90, 104, 118))),
          of_parts(std::max(0.0, static_cast<double>(data.view.parts.size()) - 1) * to_position) {
        const auto terms = static_cast<double>(data.view.terms.size()) + (data.has_position() ? 1 : 0);
        behind_strips = to_dot + of_parts + terms * to_position + to_score + bar_gap + bar_width + to_weight + weight_width +
                        to_value + to_weighted + right;
    }
    /// Without the vectors.
    double numbers() const { return key_x + strip_gap + behind_strips; }

private:
    double of(double tight, double narrow, double wide) const {
        return looseness_ < 1 ? tight + (narrow - tight) * looseness_ : narrow + (wide - narrow) * (looseness_ - 1);
    }
    double looseness_;

public:
    static constexpr double to_weight = 6, weight_width = 38;
    double token_x, strip_gap, to_dot, to_position, to_score, bar_gap, bar_width, to_value, to_weighted, right, token_width,
        key_x, of_parts, behind_strips = 0;
};

}  // namespace

NeuronLayout neuron_layout(const NeuronViewData& data, double available_width, double token_text, bool compact,
                           double positions_width) {
    constexpr double tight_strip = 56, narrow_strip = 110, narrow = 860, roomy = 1180;
    NeuronLayout at;
    at.rows = data.rows();
    at.dimensions = data.d_head();
    at.compact = compact;
    const auto spaced = [&](double looseness) { return Spacing(data, token_text, positions_width, looseness); };
    const auto looseness = [&] {
        if (compact) return 0.0;
        const double tight_width = spaced(0).numbers() + 2 * tight_strip, narrow_width = spaced(1).numbers() + 2 * narrow_strip;
        if (available_width < narrow_width)
            return std::clamp((available_width - tight_width) / (narrow_width - tight_width), 0.0, 1.0);
        return 1 + std::clamp((available_width - narrow) / (roomy - narrow), 0.0, 1.0);
    };
    // What is left over widens the vectors.
    const auto room_of_strip = [&](const Spacing& s) { return (available_width - s.numbers()) / 2; };
    constexpr double folded_strip = 28;
    double loose = looseness();
    const double values = spaced(0).to_value + spaced(0).to_weighted;
    at.folded = !compact && available_width < spaced(0).numbers() + 2 * tight_strip;
    if (loose > 1 && room_of_strip(spaced(loose)) < narrow_strip) {  // as roomy as the vectors allow
        double least = 1;
        for (int i = 0; i < 30; ++i) {
            const double middle = (least + loose) / 2;
            (room_of_strip(spaced(middle)) < narrow_strip ? loose : least) = middle;
        }
        loose = least;
    }
    const Spacing s = spaced(loose);
    const double most = std::max(200.0, 10.0 * double(at.dimensions));
    at.token_x = s.token_x;
    at.token_width = s.token_width;
    at.key_x = s.key_x;
    at.bar_width = s.bar_width;
    at.strip_width = at.folded ? std::clamp(room_of_strip(s) + values / 2, folded_strip, tight_strip)
                               : std::clamp(room_of_strip(s), tight_strip, most);

    at.product_x = at.key_x + at.strip_width + s.strip_gap;
    for (std::size_t i = 0; i < data.view.parts.size(); ++i)
        at.parts_right.push_back(at.product_x + at.strip_width + s.to_dot + s.to_position * static_cast<double>(i));
    at.dot_right = at.product_x + at.strip_width + s.to_dot + s.of_parts;
    at.position_right = at.dot_right + (data.has_position() ? s.to_position : 0);
    for (std::size_t i = 0; i < data.view.terms.size(); ++i)
        at.terms_right.push_back(at.position_right + static_cast<double>(i + 1) * s.to_position);
    at.score_right = (at.terms_right.empty() ? at.position_right : at.terms_right.back()) + s.to_score;
    at.bar_x = at.score_right + s.bar_gap;
    at.weight_x = at.bar_x + at.bar_width + Spacing::to_weight;
    at.value_right = at.weight_x + Spacing::weight_width + (at.folded ? 0 : s.to_value);
    at.weighted_right = at.value_right + (at.folded ? 0 : s.to_weighted);
    at.width = at.weighted_right + s.right;
    at.height = NeuronLayout::rows_top + double(at.rows) * NeuronLayout::row_height + 14 + at.footer_height;
    return at;
}

}  // namespace headlight::figure
