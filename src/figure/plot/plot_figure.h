// SPDX-License-Identifier: GPL-3.0-or-later
// The figure class of all plots; its painting is in plot_paint.cpp.
#pragma once

#include "figure/plot/frame.h"
#include "figure/plot/mark_index.h"
#include "figure/plot/plot_data.h"
#include "figure/plot/stamp.h"

#include <QImage>
#include <QStringList>

namespace headlight::figure::plot {

inline constexpr double margin = 16, title_height = 42, line_height = 16;

class PlotFigure : public Figure, public OwnScale {
public:
    explicit PlotFigure(PlotData);

    std::string view() const override { return data_.view; }
    QSizeF layout(QSizeF available, const Style&, const Selection&) override;
    void paint(QPainter&, const QRectF& exposed, const Style&, const Selection&) const override;
    Hit hit_test(QPointF, const Style&, const Selection&) const override;
    std::optional<QRectF> brush_area(QPointF) const override;
    std::vector<HeadId> heads_in(const QPolygonF&) const override;
    Table table() const override;
    std::vector<NamedArray> arrays() const override;
    QString title() const override { return data_.title; }
    QString description() const override { return data_.description; }
    std::vector<ScaleEnds> scale_ends() const override;
    void widen(const std::vector<ScaleEnds>&) override;

    const PlotData& data() const { return data_; }
    const Frame& frame() const { return frame_; }

private:
    /// What stands out in the picture: a head, a query, a key.
    struct Subject {
        std::optional<HeadId> head;
        std::optional<Position> query, key;
        bool fades = false;  ///< it has marks here: the others are faint
        bool operator==(const Subject&) const = default;
    };
    /// What the kept pixels show.
    struct Shown {
        const Theme* theme = nullptr;
        HeadPalette palette{};
        Ramp ramp{};
        std::shared_ptr<const HeadFilter> filter;
        double scale = 0;
        bool operator==(const Shown&) const = default;
    };
    struct Canvas;  ///< one paint call

    Subject subject(const Style&, const Selection&) const;
    const Series& series_of(MarkId id) const {
        return data_.panels[static_cast<std::size_t>(id.panel)].series[static_cast<std::size_t>(id.series)];
    }
    Hit hit_of(MarkId) const;
    Hit column_hit(std::size_t panel, QPointF) const;
    double radius(const Series&) const;
    double strength(const Series&) const;

    void keep(const Canvas&) const;
    template <class Paint>
    QImage pixels(const Canvas&, Paint) const;  ///< of the whole figure
    void paint_words(const Canvas&) const;
    void paint_frame(const Canvas&) const;
    void paint_token_labels(const Canvas&, const Subject&, bool chosen_only) const;
    void paint_marks(const Canvas&, double opacity) const;
    void paint_points(const Canvas&) const;
    void paint_positions(const Canvas&, const Subject&) const;
    void paint_subject(const Canvas&, const Subject&) const;
    void paint_subject_lines(const Canvas&, const std::vector<MarkId>&) const;
    void paint_subject_points(const Canvas&, const std::vector<MarkId>&) const;
    QRectF paint_ring(const Canvas&, MarkId) const;
    /// The head's name and the number beside a ring.
    void paint_name(const Canvas&, MarkId, const QRectF& ring, const std::vector<QRectF>& rings,
                    std::vector<std::pair<QRectF, QString>>& named) const;
    /// Whether its dots are too many to be drawn one by one.
    bool as_pixels(const Canvas&, const Series&) const;
    /// Points (null: all dots that are pixels) in a part of the figure as one image.
    QImage raster(const Canvas&, const std::vector<MarkId>* only, const QRectF& area) const;
    void paint_raster(const Canvas&, const std::vector<MarkId>* only) const;

    PlotData data_;
    std::size_t points_ = 0;           ///< in all series of points
    std::size_t dots_ = 0;             ///< of all lines
    std::optional<QSizeF> available_;  ///< that it is laid out for
    QSizeF size_;
    QRectF room_;                  ///< of the panels and the legend
    QStringList subtitle_, note_;  ///< lines
    Frame frame_;
    MarkIndex index_;
    mutable Stamps stamps_;
    mutable Shown kept_;                         ///< of the pixels below
    mutable QImage frame_pixels_, mark_pixels_;  ///< on screen, what does not change while one brushes
    mutable std::optional<HeadId> lines_of_;     ///< the pixels below
    mutable QImage line_pixels_;
};

}  // namespace headlight::figure::plot
