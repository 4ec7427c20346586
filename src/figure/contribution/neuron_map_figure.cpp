// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/contribution/neuron_map_figure.h"

#include "figure/contribution/contribution_views.h"
#include "headlight/analyze/prediction/logit_lens.h"
#include "headlight/analyze/prediction/mlp.h"

#include <algorithm>
#include <cmath>

namespace headlight::figure {
namespace {

using analyze::NeuronOrder;

constexpr double row_label_size = 12, tallest = 18, lowest = 2;
constexpr std::int64_t most_promoted = 128;  ///< rows whose promoted token is looked up
constexpr std::int64_t most_map_cells = 40'000;

const QFont& label_font() { return ui_font(row_label_size); }
constexpr double said_line = 16;
const QFont& said_font() { return ui_font(12.5); }
/// Without the tokens that neurons raise, and with the legend under its bar.
bool narrow(double width) { return width < 640; }
QString order_name(NeuronOrder order) { return QString::fromUtf8(enum_row(order).note.data()); }

}  // namespace

NeuronMapFigure::NeuronMapFigure(NeuronMapData data) : data_(std::move(data)) {
    const auto& m = data_.map.coefficients;
    const double whole = m.size() > 0 ? static_cast<double>(m.cwiseAbs().maxCoeff()) : 1;
    for (Eigen::Index r = 0; r < m.rows(); ++r)
        limit_.push_back(std::max(1e-9, data_.by_row ? static_cast<double>(m.row(r).cwiseAbs().maxCoeff()) : whole));
    for (const double s : data_.map.strength) most_strength_ = std::max(most_strength_, s);
    at_.rows = m.rows();
    at_.columns = m.cols();
    for (const draw::Label& label : draw::labels_in(data_.tokens))
        token_widths_.push_back(draw::token_width(label, label_font()));
}

std::vector<ScaleEnds> NeuronMapFigure::scale_ends() const {
    std::vector<ScaleEnds> ends{{0, most_strength_}};
    if (!data_.by_row && !limit_.empty()) ends.push_back({-limit_.front(), limit_.front()});
    return ends;
}

void NeuronMapFigure::widen(const std::vector<ScaleEnds>& ends) {
    most_strength_ = ends.front().high;
    if (ends.size() > 1) std::ranges::fill(limit_, ends.back().high);
}

QSizeF NeuronMapFigure::place(QSizeF available, const Style&, const Selection&) {
    if (available_ == available) return {at_.width, at_.height};  // another pin moves nothing
    available_ = available;
    NeuronMapLayout at;
    at.rows = data_.map.coefficients.rows();
    at.columns = data_.map.coefficients.cols();
    const double line = QFontMetricsF(label_font()).height();
    double widest = draw::text_width(QStringLiteral("neuron"), small_font());
    for (const Neuron neuron : data_.map.neurons)
        widest = std::max(widest, draw::number_width(QString::number(neuron.value), label_font()));
    at.width = std::max(available.width(), 360.0);
    const bool wide = !narrow(at.width);
    at.left = NeuronMapLayout::margin + widest + 10 + (data_.raised.empty() || !wide ? 0 : 92);
    at.strength_width = wide ? 90 : 34;
    const double room = at.width - at.left - at.strength_width - 14 - NeuronMapLayout::margin;
    at.cell_width = std::min(room / static_cast<double>(std::max<std::int64_t>(1, at.columns)), 72.0);
    at.strength_x = at.left + at.cell_width * static_cast<double>(at.columns) + 14;
    at.column_fit = draw::fit_columns(token_widths_, at.cell_width, line, 100);
    at.label_extent = std::ceil(at.column_fit.extent) + 4;
    at.said = wrapped(data_.neurons > at.rows
                          ? QStringLiteral("the %1 strongest of %2, %3")
                                .arg(draw::count_text(at.rows), draw::count_text(data_.neurons), order_name(data_.order))
                          : QStringLiteral("all %1, %2").arg(draw::count_text(at.rows), order_name(data_.order)),
                      said_font(), at.width - 2 * NeuronMapLayout::margin);
    at.top = NeuronMapLayout::header + said_line * static_cast<double>(at.said.size() - 1) + at.label_extent;
    QString legend = data_.by_row ? QStringLiteral("coefficient over the neuron's largest; colour: √ of it")
                                  : QStringLiteral("coefficient m; colour: √ of its share of the largest");
    if (const QString left = draw::left_out_text(at.column_fit, at.columns); !left.isEmpty())
        legend += QStringLiteral(" · ") + left;
    at.legend_text = wrapped(legend, small_font(), wide ? at.width - 200 : at.width - 2 * NeuronMapLayout::margin);
    const double below = NeuronMapLayout::legend + (wide ? 0 : 10 + said_line * static_cast<double>(at.legend_text.size()));
    const double tall = available.height() > 0 ? available.height() - at.top - below : 900;
    at.cell_height = std::clamp(tall / static_cast<double>(std::max<std::int64_t>(1, at.rows)), lowest, tallest);
    at.row_fit = draw::fit_rows(std::vector<double>(static_cast<std::size_t>(at.rows), widest), at.cell_height, line, widest);
    at.height = at.map().bottom() + below;
    at_ = at;
    return {at.width, at.height};
}

QString NeuronMapFigure::named(std::int64_t position) const {
    return draw::label_of(data_.tokens[static_cast<std::size_t>(position)]).with_position(Position(position));
}

QString NeuronMapFigure::title() const { return QStringLiteral("Neurons of layer %1").arg(data_.map.layer.value); }

QString NeuronMapFigure::description() const {
    return QStringLiteral(
        "Each row is a neuron of the layer's MLP, each column a token; the colour is the coefficient with which the neuron's "
        "value is added to the stream there, blue for positive and orange for negative. The bars on the right say how much "
        "the neuron writes over the text: the root mean square of |m| · |v|. Only the strongest neurons are rows. Sorted by "
        "the token of the largest coefficient, or clustered (average linkage on the cosine of the rows), neurons that "
        "answer to the same tokens stand together. Click a row to follow the neuron in the other views. After Geva et al. "
        "2021, Transformer Feed-Forward Layers Are Key-Value Memories.");
}

double NeuronMapFigure::strength(std::int64_t row, std::int64_t column) const {
    const double t = static_cast<double>(data_.map.coefficients(row, column)) / limit_[static_cast<std::size_t>(row)];
    return std::copysign(std::sqrt(std::min(1.0, std::abs(t))), t);
}

/// One pixel of the picture stands for the cell farthest from zero of those under it.
QImage NeuronMapFigure::picture(const Theme& theme, int width, int height) const {
    QImage image(width, height, QImage::Format_RGB32);
    std::array<QRgb, 511> colors{};
    for (int i = 0; i < 511; ++i) colors[static_cast<std::size_t>(i)] = signed_color(theme, i / 255.0 - 1).rgb();
    std::vector<double> strongest(static_cast<std::size_t>(width));
    const auto& coefficients = data_.map.coefficients;
    for (int y = 0; y < height; ++y) {
        std::fill(strongest.begin(), strongest.end(), 0.0);
        const std::int64_t r0 = y * at_.rows / height, r1 = std::max<std::int64_t>(r0 + 1, (y + 1) * at_.rows / height);
        for (std::int64_t r = r0; r < r1; ++r)
            for (int x = 0; x < width; ++x) {
                const std::int64_t c0 = x * at_.columns / width,
                                   c1 = std::max<std::int64_t>(c0 + 1, (x + 1) * at_.columns / width);
                std::int64_t farthest = c0;
                for (std::int64_t c = c0 + 1; c < c1; ++c)
                    if (std::abs(coefficients(r, c)) > std::abs(coefficients(r, farthest))) farthest = c;
                double& best = strongest[static_cast<std::size_t>(x)];
                if (const double s = strength(r, farthest); std::abs(s) > std::abs(best)) best = s;
            }
        auto* line = reinterpret_cast<QRgb*>(image.scanLine(y));
        for (int x = 0; x < width; ++x)
            line[x] = colors[static_cast<std::size_t>(std::lround((strongest[static_cast<std::size_t>(x)] + 1) * 255))];
    }
    return image;
}

void NeuronMapFigure::paint_cells(QPainter& painter, const Style& style) const {
    const QRectF map = at_.map();
    if (draw::is_vector(painter) && at_.rows * at_.columns <= most_map_cells) {
        for (std::int64_t r = 0; r < at_.rows; ++r)
            for (std::int64_t c = 0; c < at_.columns; ++c)
                painter.fillRect(at_.cell(r, c).adjusted(0, 0, 0.05, 0.05), signed_color(*style.theme, strength(r, c)));
        return;
    }
    // Never more pixels than the cells or the target have.
    const double scale = draw::is_vector(painter) ? 4 : draw::device_scale(painter);
    const auto side = [&](double extent, std::int64_t cells) {
        return static_cast<int>(
            std::clamp<double>(std::round(extent * scale), 1, static_cast<double>(std::max<std::int64_t>(1, cells))));
    };
    const int width = side(map.width(), at_.columns), height = side(map.height(), at_.rows);
    if (kept_theme_ != style.theme || kept_.width() != width || kept_.height() != height) {
        kept_ = picture(*style.theme, width, height);
        kept_theme_ = style.theme;
    }
    painter.setRenderHint(QPainter::SmoothPixmapTransform, false);
    painter.drawImage(map, kept_);
}

void NeuronMapFigure::draw_on(Scene& out, const QRectF& seen, const Style& style, const Selection& selection) const {
    const Theme& theme = *style.theme;
    const QFont heading = ui_font(16, QFont::DemiBold);
    out.text({NeuronMapLayout::margin, 36}, title(), heading, theme.text);
    for (qsizetype i = 0; i < at_.said.size(); ++i)
        out.text({NeuronMapLayout::margin, 58 + said_line * static_cast<double>(i)}, at_.said[i], said_font(), theme.muted);
    out.picture(at_.map(), [this, style](QPainter& painter) { paint_cells(painter, style); });
    out.box(at_.map().adjusted(-0.5, -0.5, 0.5, 0.5), 0, {}, theme.line);
    draw_rows(out, seen, style, selection);
    out.means(at_.map(), at_.rows, at_.columns, [this](std::int64_t r, std::int64_t c) { return cell_hit(r, c); });
    draw_columns(out, style, selection);
    const double y = at_.map().bottom() + 14;
    out.signed_bar(QRectF(NeuronMapLayout::margin, y, 140, 10), data_.by_row || limit_.empty() ? 1 : limit_.front(), theme);
    const QPointF first =
        narrow(at_.width) ? QPointF(NeuronMapLayout::margin, y + 42) : QPointF(NeuronMapLayout::margin + 160, y + 9);
    for (qsizetype i = 0; i < at_.legend_text.size(); ++i)
        out.text(first + QPointF(0, said_line * static_cast<double>(i)), at_.legend_text[i], small_font(), theme.muted);
}

void NeuronMapFigure::draw_rows(Scene& out, const QRectF& seen, const Style& style, const Selection& selection) const {
    const Theme& theme = *style.theme;
    out.text({at_.strength_x, at_.top - 8}, at_.strength_width > 50 ? QStringLiteral("rms |m|·|v|") : QStringLiteral("rms"),
             small_font(), theme.muted);
    const bool named = !data_.raised.empty() && at_.cell_height >= 11 && !narrow(at_.width);
    const double number_right = NeuronMapLayout::margin + (at_.left - NeuronMapLayout::margin) - 10 - (named ? 92 : 0);
    for (std::int64_t r = 0; r < at_.rows; ++r) {
        const QRectF row(NeuronMapLayout::margin, at_.cell(r, 0).top(), at_.width - 2 * NeuronMapLayout::margin, at_.cell_height);
        if (row.bottom() < seen.top() || row.top() > seen.bottom()) continue;
        out.means(row, row_hit(r));
        const analyze::NeuronId id{data_.map.layer, data_.map.neurons[static_cast<std::size_t>(r)]};
        const bool followed = selection.neuron == id;
        const double strength = data_.map.strength[static_cast<std::size_t>(r)];
        out.fill(QRectF(at_.strength_x, row.top() + 0.15 * row.height(),
                        std::max(0.5, at_.strength_width * strength / std::max(1e-9, most_strength_)), 0.7 * row.height()),
                 followed ? theme.accent : theme.faint);
        if (followed)
            out.box(QRectF(at_.left, row.top(), at_.map().width(), row.height()).adjusted(-1, -1, 1, 1), 0, {}, theme.accent,
                    1.5);
        if (r % at_.row_fit.stride != 0 && !followed) continue;
        const double y = draw::centred_baseline(row.center().y(), label_font());
        out.number({number_right, y}, QString::number(id.neuron.value), label_font(), followed ? theme.accent : theme.text,
                   draw::Align::right);
        if (named)
            out.text({number_right + 8, y}, draw::elided(data_.raised[static_cast<std::size_t>(r)], label_font(), 88),
                     label_font(), theme.muted);
    }
    out.text({number_right, at_.top - 8}, QStringLiteral("neuron"), small_font(), theme.muted, draw::Align::right);
    if (named) out.text({number_right + 8, at_.top - 8}, QStringLiteral("raises"), small_font(), theme.muted);
}

void NeuronMapFigure::draw_columns(Scene& out, const Style& style, const Selection& selection) const {
    const Theme& theme = *style.theme;
    const double line = QFontMetricsF(label_font()).height();
    const auto chosen = [&](Position p) {
        return std::ranges::find(selection.pinned_queries, p) != selection.pinned_queries.end() ||
               (!style.exporting && selection.hover_query == p);
    };
    const double room = at_.column_fit.upwards ? line : at_.cell_width;
    std::vector<double> taken;
    const auto put = [&](std::int64_t c, bool on) {
        const double x = at_.cell(0, c).center().x();
        if (std::ranges::any_of(taken, [&](double other) { return std::abs(other - x) < room * 0.98; })) return;
        taken.push_back(x);
        const draw::Label label = draw::label_in(data_.tokens, static_cast<std::size_t>(c));
        const QColor color = on ? theme.accent : QColor();
        if (at_.column_fit.upwards)
            out.token_upwards(QRectF(x - line / 2, at_.top - at_.label_extent - 2, line, at_.label_extent - 4), label,
                              label_font(), color);
        else
            out.token(QRectF(x - at_.cell_width / 2, at_.top - line - 4, at_.cell_width, line), label, label_font(),
                      draw::Align::center, color);
    };
    for (std::int64_t c = 0; c < at_.columns; ++c)
        if (chosen(Position(c))) {
            out.box(QRectF(at_.cell(0, c).left(), at_.top, at_.cell_width, at_.map().height()).adjusted(-0.5, -1, 0.5, 1), 0, {},
                    theme.accent);
            put(c, true);
        }
    for (std::int64_t c = 0; c < at_.columns; c += at_.column_fit.stride) put(c, false);
    out.means(
        {at_.left, at_.top - at_.label_extent, at_.map().width(), at_.label_extent}, 1, at_.columns,
        [this](std::int64_t, std::int64_t c) { return Hit{.kind = Hit::Kind::query, .query = Position(c), .tip = named(c)}; });
}

Hit NeuronMapFigure::row_hit(std::int64_t row) const {
    const auto r = static_cast<std::size_t>(row);
    const Neuron neuron = data_.map.neurons[r];
    QString tip = QStringLiteral("L%1 neuron %2  rms |m|·|v| %3")
                      .arg(data_.map.layer.value)
                      .arg(neuron.value)
                      .arg(draw::number_text(data_.map.strength[r], 3));
    if (r < data_.raised.size()) tip += QStringLiteral("  raises ") + data_.raised[r];
    return {.kind = Hit::Kind::dimension,
            .dimension = neuron.value,
            .neuron = analyze::NeuronId{data_.map.layer, neuron},
            .value = data_.map.strength[r],
            .tip = tip};
}

Hit NeuronMapFigure::cell_hit(std::int64_t row, std::int64_t column) const {
    Hit hit = row_hit(row);
    hit.query = Position(column);
    hit.value = static_cast<double>(data_.map.coefficients(row, column));
    hit.tip.insert(hit.tip.indexOf(QStringLiteral("  rms")),
                   QStringLiteral(" at %1  m %2").arg(named(column), draw::value_text(*hit.value)));
    return hit;
}

Table NeuronMapFigure::table() const {
    Table out{{"layer", "neuron", "strength", "position", "token", "coefficient"}, {}};
    for (std::int64_t r = 0; r < at_.rows; ++r)
        for (std::int64_t c = 0; c < at_.columns; ++c) {
            const auto& item = data_.tokens[static_cast<std::size_t>(c)];
            out.rows.push_back({data_.map.layer.value, data_.map.neurons[static_cast<std::size_t>(r)].value,
                                data_.map.strength[static_cast<std::size_t>(r)], c, item.continuation + item.label,
                                static_cast<double>(data_.map.coefficients(r, c))});
        }
    return out;
}

std::vector<NamedArray> NeuronMapFigure::arrays() const {
    const std::int64_t rows = data_.map.coefficients.rows();
    NamedArray neurons{"neurons", {rows}, {}}, strength{"strength", {rows}, {}};
    for (std::size_t i = 0; i < data_.map.neurons.size(); ++i) {
        neurons.integers.push_back(data_.map.neurons[i].value);
        strength.values.push_back(static_cast<float>(data_.map.strength[i]));
    }
    return {analyze::named_array("coefficients", data_.map.coefficients), neurons, strength};
}

std::unique_ptr<Figure> neuron_map_view(TracePtr trace, Layer layer, const NeuronMapViewOptions& options,
                                        const CancelToken& cancel) {
    const model::ModelConfig& c = trace->config();
    NeuronMapData data;
    data.map = analyze::neuron_map(*trace, layer, options.order, options.rows, cancel);
    data.order = options.order;
    data.neurons = model::mlp_width(c, layer.value);
    data.by_row = options.by_row;
    data.tokens = analyze::pattern_axes(*trace, analyze::PatternOptions{}).keys;
    if (analyze::unembeds_stream(c) && std::ssize(data.map.neurons) <= most_promoted)
        for (const analyze::Promoted& p : analyze::promoted_tokens(*trace->model(), layer, data.map.neurons, {.top = 1}, cancel))
            data.raised.push_back(QString::fromStdString(text::token_label(*trace->tokenizer(), p.top.front().id)));
    return std::make_unique<NeuronMapFigure>(std::move(data));
}

}  // namespace headlight::figure
