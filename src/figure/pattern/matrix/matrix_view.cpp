// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/pattern/matrix/matrix_view.h"

#include "figure/core/axis_words.h"
#include "figure/core/wrapped.h"
#include "figure/pattern/head/head_lines.h"
#include "figure/pattern/matrix/matrix_figure.h"
#include "figure/pattern/matrix/matrix_panel.h"
#include "headlight/base/error.h"
#include "headlight/base/numbers.h"

#include <algorithm>
#include <cmath>

namespace headlight::figure {

std::unique_ptr<Figure> matrix_figure(MatrixViewData data) { return std::make_unique<MatrixFigure>(std::move(data)); }

namespace {

constexpr double widest_row_label = 130, tallest_column_label = 96;
constexpr std::int64_t longest_table = 4'000'000;
constexpr double sum_extent = 64;

}  // namespace

MatrixFigure::MatrixFigure(MatrixViewData data) : held_(std::make_shared<const MatrixViewData>(std::move(data))) {
    const std::size_t maps = data_.names.empty() ? data_.heads.size() : data_.names.size();
    if (maps == 0 || data_.weights.size() != maps)
        throw Error({.problem = "A matrix view needs one map for each head",
                     .expected = std::to_string(maps) + " maps",
                     .found = std::to_string(data_.weights.size())});
    require_fit(data_.weights, data_.axes);
    const QFont font = ui_font(matrix_label_size);
    query_labels_ = draw::labels_in(data_.axes.queries);
    key_labels_ = draw::labels_in(data_.axes.keys);
    for (const auto& label : query_labels_) query_widths_.push_back(draw::token_width(label, font));
    for (const auto& label : key_labels_) key_widths_.push_back(draw::token_width(label, font));
    for (std::size_t m = 0; data_.sums && m < maps; ++m) {
        row_sums_.push_back(data_.weights[m].cast<double>().rowwise().sum());
        column_sums_.push_back(data_.weights[m].cast<double>().colwise().sum());
    }
    // Where sums are drawn they say it already: what a row lacks to 1.
    for (std::size_t m = 0; !data_.sums && m < data_.sinks.size(); ++m) row_sums_.push_back(data_.sinks[m].cast<double>());
    choose_pyramids({});  // figures are made by a worker, painted by the window
}

QSizeF MatrixFigure::layout(QSizeF available, const Style& style, const Selection&) {
    const auto n_q = std::ssize(query_labels_), n_k = std::ssize(key_labels_);
    const double line = QFontMetricsF(ui_font(matrix_label_size)).height();
    // Beside each other, the maps need the room more than the labels.
    const double share = data_.weights.size() > 1 ? 0.6 : 1;
    const auto rows = draw::fit_rows(query_widths_, line, line, widest_row_label * share);
    const auto columns = draw::fit_columns(key_widths_, line, line, tallest_column_label * share);
    const double least = draw::text_width(data_.words.query_caption(), ui_font(11));
    const auto lay_out = [&](QStringList notes, double width) {
        note_lines_ = std::max(
            1,
            static_cast<int>(wrapped(notes.join(QStringLiteral(" · ")), ui_font(12), width - 2 * MatrixLayout::margin).size()));
        layout_ = matrix_layout(n_q, n_k, std::ssize(data_.weights), std::max(std::ceil(rows.extent) + 4, least),
                                std::ceil(columns.extent) + 2, available,
                                MatrixLayout::plain_legend + (data_.marks || stacks_scales(width) ? MatrixLayout::mark_line : 0) +
                                    MatrixLayout::note_line * (note_lines_ - 1),
                                data_.sums || !data_.sinks.empty() ? sum_extent : 0, data_.sums ? sum_extent : 0);
    };
    QStringList notes = standing_notes(style);
    lay_out(notes, available.width());
    // What the size of the cells adds is known only now.
    if (layout_.cell < 1) notes << QStringLiteral("a pixel is the farthest of 10 × 10 pairs");
    notes << missing_labels(layout_.cell, layout_.rows, layout_.cols);
    lay_out(notes, layout_.size.width());
    view_ = QRectF(QPointF(0, 0), layout_.size);
    return layout_.size;
}

namespace {

/// Whose pyramids are made in less than a frame.
constexpr std::int64_t quick_cells = 500'000;

Mask panel_mask(const MatrixViewData& data, std::size_t panel) {
    if (!data.absent.empty()) return {false};  // what is masked is not a number; positions may be those of two texts
    return {data.causal, panel < data.windows.size() ? data.windows[panel] : 0};
}

}  // namespace

std::shared_ptr<const MatrixFigure::Pyramids> MatrixFigure::pyramids_as(const MatrixViewData& data, const Transfer& transfer,
                                                                        double full, const Pyramids* before,
                                                                        const CancelToken& cancel) {
    Pyramids out{transfer, full, {}};
    for (std::size_t m = 0; m < data.weights.size(); ++m) {
        cancel.throw_if_cancelled();
        const analyze::Matrix& map = data.weights[m];
        if (data.is_signed(m)) {
            out.maps.push_back(before ? before->maps[m]
                                      : std::make_shared<const MipPyramid>(signed_pyramid(
                                            map, data.axes, panel_mask(data, m), data.diverging->middle, data.diverging->limit)));
            continue;
        }
        const bool scaled = full != 1;
        const analyze::Matrix part =
            scaled ? analyze::Matrix((map / static_cast<float>(full)).cwiseMin(1.0F)) : analyze::Matrix();
        out.maps.push_back(
            std::make_shared<const MipPyramid>(mip_pyramid(scaled ? part : map, data.axes, panel_mask(data, m), transfer)));
    }
    return std::make_shared<const Pyramids>(std::move(out));
}

void MatrixFigure::choose_pyramids(const Style& style) const {
    wanted_.reset();
    std::shared_ptr<const Pyramids>& shown = *pyramids_;
    if (!shown || !(shown->transfer == style.transfer) || shown->full != full_) {
        std::int64_t cells = 0;
        for (std::size_t m = 0; m < data_.weights.size(); ++m) cells += data_.is_signed(m) ? 0 : data_.weights[m].size();
        if (shown && !style.exporting && cells > quick_cells)
            wanted_ = style.transfer;
        else
            shown = pyramids_as(data_, style.transfer, full_, shown.get(), style.cancel);
    }
    if (tiles_.of == shown) return;
    tiles_ = {};
    tiles_.of = shown;
    tiles_account_.set(0);
    std::int64_t bytes = bytes_of_maps(data_.weights);
    for (const auto& pyramid : shown->maps) bytes += pyramid->bytes();
    account_.set(bytes);
}

Sharpening MatrixFigure::sharpening() {
    if (!wanted_ || !busy_.expired()) return {};
    const auto busy = std::make_shared<char>();
    busy_ = busy;
    return [data = held_, place = pyramids_, before = *pyramids_, wanted = *wanted_, full = full_,
            busy](const CancelToken& cancel) -> std::function<void()> {
        return [place, made = pyramids_as(*data, wanted, full, before.get(), cancel), busy] { *place = made; };
    };
}

bool MatrixFigure::legal(std::size_t panel, std::int64_t row, std::int64_t col) const {
    if (!data_.absent.empty()) return std::isfinite(data_.weights[panel](row, col));
    return is_legal(panel_mask(data_, panel), data_.axes.queries[static_cast<std::size_t>(row)],
                    data_.axes.keys[static_cast<std::size_t>(col)]);
}

Hit MatrixFigure::pair_hit(std::size_t panel, std::int64_t row, std::int64_t col, const QRectF& area) const {
    Hit hit;
    hit.kind = Hit::Kind::pair;
    if (data_.names.empty()) hit.head = data_.heads[panel];
    hit.query = selected_by(data_.axes.queries[static_cast<std::size_t>(row)]);
    hit.key = selected_by(data_.axes.keys[static_cast<std::size_t>(col)]);
    if (legal(panel, row, col)) hit.value = data_.weights[panel](row, col);
    const QString value = hit.value ? (data_.names.empty() ? data_.value_word + u' ' : QString()) + draw::value_text(*hit.value)
                          : !data_.absent.empty() && data_.absent[panel].cell(row, col) ? QStringLiteral("not in this text")
                                                                                        : QStringLiteral("masked: a later token");
    hit.tip =
        QStringLiteral("%1  %2 → %3  %4")
            .arg(data_.name_of(panel), query_name(data_.words, data_.axes, row), key_name(data_.words, data_.axes, col), value);
    hit.area = area;
    return hit;
}

namespace {

QString sum_tip(const QString& what, const QString& token, double sum) {
    return QStringLiteral("%1  sum of the %2 %3").arg(token, what, draw::value_text(sum));
}

}  // namespace

Hit MatrixFigure::hit_test(QPointF at, const Style& style, const Selection&) const {
    const double zoom = style.zoom;
    const QRectF view(view_.topLeft() * zoom, view_.size() * zoom);
    const QPointF p = at * zoom;
    if (p.y() > view.bottom() - layout_.legend_height) {
        Hit hit;
        hit.kind = Hit::Kind::legend;
        return hit;
    }
    for (std::size_t i = 0; i < data_.weights.size(); ++i) {
        const Panel panel = this->panel(i, view, zoom);
        const auto row = panel.row_at(p.y(), layout_.rows), col = panel.col_at(p.x(), layout_.cols);
        const auto figure_rect = [&](const QRectF& r) { return QRectF(r.topLeft() / zoom, r.size() / zoom); };
        if (panel.clip.contains(p) && row >= 0 && col >= 0) return pair_hit(i, row, col, figure_rect(panel.cell_rect(row, col)));
        Hit hit;
        const auto across = [&](const QRectF& strip) {
            const QRectF cell = panel.cell_rect(row, 0);
            return QRectF(strip.left(), cell.top(), strip.width(), cell.height());
        };
        const auto down = [&](const QRectF& strip) {
            const QRectF cell = panel.cell_rect(0, col);
            return QRectF(cell.left(), strip.top(), cell.width(), strip.height());
        };
        const auto set = [&](Hit::Kind kind, const QRectF& area, const QString& tip) {
            hit.kind = kind;
            hit.area = figure_rect(area);
            hit.tip = tip;
        };
        if (panel.row_strip.contains(p) && row >= 0) {
            set(Hit::Kind::query, across(panel.row_strip), query_name(data_.words, data_.axes, row));
            hit.query = selected_by(data_.axes.queries[static_cast<std::size_t>(row)]);
        } else if (panel.column_strip.contains(p) && col >= 0) {
            set(Hit::Kind::key, down(panel.column_strip), key_name(data_.words, data_.axes, col));
            hit.key = selected_by(data_.axes.keys[static_cast<std::size_t>(col)]);
        } else if (panel.row_sums.contains(p) && row >= 0) {
            hit.query = data_.axes.queries[static_cast<std::size_t>(row)].first;
            hit.value = row_sums_[i][row];
            const QString token = query_name(data_.words, data_.axes, row);
            set(Hit::Kind::query, across(panel.row_sums),
                data_.sums ? sum_tip(QStringLiteral("row"), token, *hit.value)
                           : QStringLiteral("%1 → no key (sink)  %2").arg(token, draw::value_text(*hit.value)));
        } else if (panel.column_sums.contains(p) && col >= 0) {
            hit.key = data_.axes.keys[static_cast<std::size_t>(col)].first;
            hit.value = column_sums_[i][col];
            set(Hit::Kind::key, down(panel.column_sums),
                sum_tip(QStringLiteral("column"), key_name(data_.words, data_.axes, col), *hit.value));
        } else if (panel.title.contains(p)) {
            set(data_.names.empty() ? Hit::Kind::head : Hit::Kind::legend, panel.title, data_.name_of(i));
            if (data_.names.empty()) hit.head = data_.heads[i];
        } else {
            continue;
        }
        return hit;
    }
    return {};
}

Table MatrixFigure::table() const {
    if (data_.table) return data_.table(data_.weights);
    const bool heads = data_.names.empty();
    std::vector<std::string> columns = heads ? std::vector<std::string>{"layer", "head"} : std::vector<std::string>{"map"};
    columns.insert(columns.end(), {"query", "query_token", "key", "key_token", data_.column});
    Table t{data_.words.columns(std::move(columns)), {}};
    const auto n_q = std::ssize(data_.axes.queries), n_k = std::ssize(data_.axes.keys);
    std::int64_t pairs = 0;
    for (std::size_t h = 0; h < data_.weights.size(); ++h)
        for (std::int64_t i = 0; i < n_q; ++i)
            for (std::int64_t j = 0; j < n_k; ++j) pairs += legal(h, i, j);
    if (pairs > longest_table)
        throw Error({.problem = "The table would be too long",
                     .expected = "at most " + with_commas(longest_table) + " pairs",
                     .found = with_commas(pairs),
                     .hint = "Export NPZ, which holds maps of any size"});
    t.rows.reserve(static_cast<std::size_t>(pairs));
    for (std::size_t h = 0; h < data_.weights.size(); ++h)
        for (std::int64_t i = 0; i < n_q; ++i)
            for (std::int64_t j = 0; j < n_k; ++j) {
                if (!legal(h, i, j)) continue;
                const auto& query = data_.axes.queries[static_cast<std::size_t>(i)];
                const auto& key = data_.axes.keys[static_cast<std::size_t>(j)];
                auto& row = t.rows.emplace_back();
                if (heads)
                    row = {data_.heads[h].layer.value, data_.heads[h].head.value};
                else
                    row = {data_.names[h].toStdString()};
                row.insert(row.end(), {query.first.value, query.continuation + query.label, key.first.value,
                                       key.continuation + key.label, static_cast<double>(data_.weights[h](i, j))});
            }
    for (std::size_t h = 0; h < data_.sinks.size(); ++h)
        for (std::int64_t i = 0; i < n_q; ++i) {
            const auto& query = data_.axes.queries[static_cast<std::size_t>(i)];
            t.rows.push_back({data_.heads[h].layer.value, data_.heads[h].head.value, query.first.value,
                              query.continuation + query.label, std::int64_t{-1}, std::string("(sink)"),
                              static_cast<double>(data_.sinks[h][i])});
        }
    return t;
}

std::vector<NamedArray> MatrixFigure::arrays() const {
    const auto n_q = std::ssize(data_.axes.queries), n_k = std::ssize(data_.axes.keys);
    const auto n = std::ssize(data_.weights);
    NamedArray weights{"weights", {n, n_q, n_k}, {}}, heads{"heads", {n, 2}};
    weights.values.reserve(static_cast<std::size_t>(n * n_q * n_k));  // it may be a gigabyte
    for (std::size_t h = 0; h < data_.weights.size(); ++h) {
        weights.values.insert(weights.values.end(), data_.weights[h].data(), data_.weights[h].data() + data_.weights[h].size());
        if (!data_.names.empty()) continue;
        heads.integers.insert(heads.integers.end(), {data_.heads[h].layer.value, data_.heads[h].head.value});
    }
    std::vector<NamedArray> all{std::move(weights)};
    if (data_.names.empty()) all.push_back(std::move(heads));
    add_positions(all, data_.axes);
    if (!data_.names.empty() || data_.sinks.empty()) return all;
    NamedArray& sinks = all.emplace_back(NamedArray{"sinks", {n, n_q}, {}});
    for (const Eigen::VectorXf& each : data_.sinks) sinks.values.insert(sinks.values.end(), each.begin(), each.end());
    return all;
}

QString MatrixFigure::title() const {
    if (!data_.title.isEmpty()) return with_attention(data_.title, data_.attention);
    if (data_.heads.size() == 1)
        return with_attention(QStringLiteral("Layer %1 head %2").arg(data_.heads[0].layer.value).arg(data_.heads[0].head.value),
                              data_.attention);
    return with_attention(QStringLiteral("%1 heads").arg(data_.heads.size()), data_.attention);
}

QString MatrixFigure::description() const {
    if (!data_.description.isEmpty()) return data_.description;
    if (data_.words.across)
        return QStringLiteral(
                   "Each row is a token of the target, which looks, each column a token of the source, which the encoder has "
                   "read; the cell is the %1. Softmax weights of a row sum to 1: no token of the source is masked. A diagonal "
                   "is a head that goes through both texts side by side. Zoomed out, a pixel shows the largest weight of the "
                   "pairs under it. Bahdanau et al., “Neural Machine Translation by Jointly Learning to Align and Translate”, "
                   "2015; Vaswani et al., “Attention Is All You Need”, 2017, section 3.2.3.")
            .arg(data_.weight_name);
    return QStringLiteral(
               "Each row is a query, each column a key; the cell is the "
               "%1. Softmax weights of a row sum to 1%2. In a causal model the upper right is empty: later tokens are "
               "masked. A bright column is a token that many attend to, a diagonal a head that attends a fixed distance "
               "back. Zoomed out, a pixel shows the largest weight of the pairs under it. Vaswani et al., “Attention "
               "Is All You Need”, 2017, section 3.2.")
        .arg(data_.weight_name,
             data_.sinks.empty() ? QString() : QStringLiteral(" together with the head's sink, which is no key"));
}

}  // namespace headlight::figure
