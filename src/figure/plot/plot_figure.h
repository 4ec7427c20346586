// SPDX-License-Identifier: GPL-3.0-or-later
// The figure class of all plots; its painting is in plot_paint.cpp.
#pragma once

#include "figure/plot/mark_painter.h"

#include <QStringList>

#include <memory>

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

    bool refining() const override;
    Sharpening sharpening() override;

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
    /// Pixels on screen, which do not change while one brushes.
    struct Kept {
        Shown frame_of, marks_of, subject_of;
        QImage frame, marks, subject_marks;
        std::optional<HeadId> subject;  ///< whose marks these are
    };
    struct Waiting {
        Shown shown;
        Style style;
        std::optional<HeadId> subject;  ///< whose marks are wanted too
    };

    Subject subject(const Style&, const Selection&) const;
    const Series& series_of(MarkId id) const { return plot::series_of(data_, id); }
    MarkPainter mark_painter() const { return {data_, frame_, room_, counts_, stamps_}; }
    Hit hit_of(MarkId) const;
    Hit column_hit(std::size_t panel, QPointF) const;

    static Shown shown(const Canvas&);
    void keep(const Canvas&, const Subject&) const;
    void paint_words(const Canvas&) const;
    void paint_frame(const Canvas&) const;
    void paint_token_labels(const Canvas&, const Subject&, bool chosen_only) const;
    void paint_positions(const Canvas&, const Subject&) const;
    void paint_subject(const Canvas&, const Subject&) const;
    QRectF paint_ring(const Canvas&, MarkId) const;
    /// The head's name and the number beside a ring.
    void paint_name(const Canvas&, MarkId, const QRectF& ring, const std::vector<QRectF>& rings,
                    std::vector<std::pair<QRectF, QString>>& named) const;

    std::shared_ptr<PlotData> held_;  ///< with the jobs that paint its marks
    PlotData& data_ = *held_;
    MarkCounts counts_;
    std::optional<QSizeF> available_;  ///< that it is laid out for
    QSizeF size_;
    QRectF room_;                  ///< of the panels and the legend
    QStringList subtitle_, note_;  ///< lines
    Frame frame_;
    MarkIndex index_;
    mutable Stamps stamps_;
    std::shared_ptr<Kept> kept_ = std::make_shared<Kept>();  ///< of this layout
    mutable std::optional<Waiting> waiting_;                 ///< for many marks, which a job paints
    std::weak_ptr<const void> busy_;                         ///< held by that job
};

}  // namespace headlight::figure::plot
