// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/pattern/model/signed_maps.h"

#include "figure/core/scene.h"
#include "figure/core/wrapped.h"
#include "headlight/figure/core/round_step.h"

#include <QImage>

#include <algorithm>
#include <cmath>

namespace headlight::figure {
namespace {

constexpr double maps_left = 34, maps_top = 70, maps_gap = 5, maps_margin = 16, maps_legend = 56;
constexpr double least_map = 14, most_map = 190;

class SignedMapsFigure final : public SceneFigure {
public:
    explicit SignedMapsFigure(SignedMaps data) : data_(std::move(data)), limit_(symmetric_limit(data_.maps)) {}

    std::string view() const override { return data_.view; }
    Table table() const override { return data_.table; }
    std::vector<NamedArray> arrays() const override {
        const auto first = std::ranges::find_if(data_.maps, [](const analyze::Matrix& map) { return map.size() > 0; });
        if (first == data_.maps.end()) return {};
        const Eigen::Index rows = first->rows(), columns = first->cols();
        NamedArray all{data_.array, {data_.layers, data_.heads, rows, columns}, {}};
        all.values.reserve(data_.maps.size() * static_cast<std::size_t>(rows * columns));
        for (const analyze::Matrix& map : data_.maps)
            if (map.size() > 0)
                all.values.insert(all.values.end(), map.data(), map.data() + map.size());
            else
                all.values.resize(all.values.size() + static_cast<std::size_t>(rows * columns), NAN);
        return {all};
    }
    QString title() const override { return data_.title; }
    QString description() const override { return data_.description; }

protected:
    QSizeF place(QSizeF available, const Style&, const Selection&) override {
        words_lines_ = wrapped(data_.words, ui_font(12), available.width() - 2 * maps_margin);
        top_ = maps_top + 15 * static_cast<double>(words_lines_.size() - 1);
        const double room = available.width() - maps_left - maps_margin;
        const double across = room / static_cast<double>(heads_);
        const double down =
            available.height() > 0 ? (available.height() - top_ - maps_legend) / static_cast<double>(layers_) : across;
        pitch_ = std::clamp(std::floor(std::min(across, down)), least_map, most_map);
        size_ = {std::max(available.width(), maps_left + pitch_ * static_cast<double>(heads_) + maps_margin),
                 top_ + pitch_ * static_cast<double>(layers_) + maps_legend};
        if (available.height() > size_.height()) size_.setHeight(available.height());
        return size_;
    }
    void draw_on(Scene& out, const QRectF& seen, const Style& style, const Selection& selection) const override {
        const Theme& theme = *style.theme;
        const QFont font = ui_font(12);
        out.text({maps_margin, 30}, title(), ui_font(15, QFont::DemiBold), theme.text);
        for (qsizetype i = 0; i < words_lines_.size(); ++i)
            out.text({maps_margin, 48 + 15 * static_cast<double>(i)}, words_lines_[i], font, theme.muted);
        for (std::size_t i = 0; i < data_.maps.size(); ++i) {
            const auto at = static_cast<std::int64_t>(i);
            const HeadId id{Layer(at / heads_), Head(at % heads_)};
            const QRectF area = cell(id);
            if (data_.maps[i].size() == 0 || !area.intersects(seen)) continue;
            const auto of = out.of(id);
            out.picture(area, [this, area, style, id](QPainter& p) { paint_map(p, id, area, style); });
            out.means(area, {.kind = Hit::Kind::head, .head = id, .value = data_.values[i]}, [this, i] { return data_.tip(i); });
        }
        const auto ring = [&](HeadId id, const QColor& color) {
            if (id.layer.value < layers_ && id.head.value < heads_) out.box(cell(id).adjusted(-2, -2, 2, 2), 3, {}, color, 2);
        };
        if (!style.exporting) ring(selection.focus, theme.accent);
        if (!style.exporting && selection.hover_head) ring(*selection.hover_head, theme.muted);
        draw_axes(out, theme, selection.focus, style.exporting);
        const double y = top_ + pitch_ * static_cast<double>(layers_) + 26;
        const QString& name = data_.scale_name;
        out.text({maps_margin, y}, name, font, theme.muted);
        const QString limit = draw::number_text(static_cast<double>(limit_), 2);
        const double lead = draw::number_width(QStringLiteral("−") + limit, ui_font(11)) + 14;
        const double end = out.bar(
            QRectF(maps_margin + draw::text_width(name, font) + lead, y - 9, 110, 10),
            [&theme](double t) { return signed_color(theme, 2 * t - 1); }, {QStringLiteral("−") + limit, limit}, theme);
        const QString note = data_.notes.join(QStringLiteral(" · "));
        if (end + 16 + draw::text_width(note, font) < size_.width() - maps_margin)
            out.text({end + 16, y}, note, font, theme.muted);
        else
            out.text({maps_margin, y + 18}, draw::elided(note, font, size_.width() - 2 * maps_margin), font, theme.muted);
    }

private:
    QRectF cell(HeadId id) const {
        const double side = pitch_ - (pitch_ < 30 ? 2 : maps_gap);
        return {maps_left + pitch_ * static_cast<double>(id.head.value), top_ + pitch_ * static_cast<double>(id.layer.value),
                side, side};
    }

    void paint_map(QPainter& p, HeadId id, const QRectF& area, const Style& style) const {
        const Theme& theme = *style.theme;
        const analyze::Matrix& map = data_.maps[static_cast<std::size_t>(id.layer.value * heads_ + id.head.value)];
        const double scale = draw::is_vector(p) ? 3 : draw::device_scale(p);
        const auto side = std::max<Eigen::Index>(1, static_cast<Eigen::Index>(std::floor(area.width() * scale)));
        const Eigen::Index rows = std::min(map.rows(), side), columns = std::min(map.cols(), side);
        QImage image(static_cast<int>(columns), static_cast<int>(rows), QImage::Format_ARGB32_Premultiplied);
        for (Eigen::Index r = 0; r < rows; ++r)
            for (Eigen::Index c = 0; c < columns; ++c) {
                const Eigen::Index r0 = r * map.rows() / rows, r1 = (r + 1) * map.rows() / rows, c0 = c * map.cols() / columns,
                                   c1 = (c + 1) * map.cols() / columns;
                float farthest = NAN;
                for (Eigen::Index i = r0; i < r1; ++i)
                    for (Eigen::Index j = c0; j < c1; ++j)
                        if (std::isfinite(map(i, j)) && !(std::abs(farthest) >= std::abs(map(i, j)))) farthest = map(i, j);
                image.setPixelColor(static_cast<int>(c), static_cast<int>(r),
                                    std::isfinite(farthest) ? signed_color(theme, static_cast<double>(farthest / limit_))
                                                            : QColor(Qt::transparent));
            }
        p.save();
        p.setRenderHint(QPainter::SmoothPixmapTransform, false);
        p.drawImage(area, image);
        p.restore();
        const double row = area.height() / static_cast<double>(map.rows());
        for (std::size_t r = 0; r < data_.rows.size(); ++r) {
            if (data_.rows[r]) continue;
            const std::size_t first = r;
            while (r + 1 < data_.rows.size() && !data_.rows[r + 1]) ++r;
            draw::hatch(p,
                        QRectF(area.left(), area.top() + row * static_cast<double>(first), area.width(),
                               row * static_cast<double>(r + 1 - first)),
                        4, draw::faded(theme.faint, 0.55));
        }
        draw::box(p, area, 0, {}, theme.line);
    }

    void draw_axes(Scene& out, const Theme& theme, HeadId focus, bool exporting) const {
        const QFont font = ui_font(10.5);
        const auto step = [&](std::int64_t count, double label) {
            return round_step(count, pitch_ * static_cast<double>(count), label);
        };
        const double side = cell({}).width() / 2;
        for (std::int64_t h = 0; h < heads_; h += step(heads_, 16))
            out.text({cell({Layer(0), Head(h)}).left() + side, top_ - 6}, QString::number(h), font,
                     !exporting && focus.head.value == h ? theme.accent : theme.muted, draw::Align::center);
        for (std::int64_t l = 0; l < layers_; l += step(layers_, 14))
            out.text({maps_left - 8, draw::centred_baseline(cell({Layer(l), Head(0)}).top() + side, font)}, QString::number(l),
                     font, !exporting && focus.layer.value == l ? theme.accent : theme.muted, draw::Align::right);
    }

    SignedMaps data_;
    std::int64_t layers_ = data_.layers, heads_ = data_.heads;
    float limit_ = 1;
    double pitch_ = least_map;
    QStringList words_lines_;
    double top_ = maps_top;
    QSizeF size_;
};

}  // namespace

float symmetric_limit(const std::vector<analyze::Matrix>& maps) {
    float limit = 0;
    for (const analyze::Matrix& map : maps)
        for (const float x : map.reshaped())
            if (std::isfinite(x)) limit = std::max(limit, std::abs(x));
    return limit > 0 ? limit : 1;
}

std::unique_ptr<Figure> signed_maps_figure(SignedMaps data) { return std::make_unique<SignedMapsFigure>(std::move(data)); }

}  // namespace headlight::figure
