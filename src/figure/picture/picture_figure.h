// SPDX-License-Identifier: GPL-3.0-or-later
// The picture view's class; its painting is in picture_paint.cpp.
#pragma once

#include "figure/core/own_scale.h"
#include "figure/core/scene.h"
#include "figure/picture/picture_layout.h"
#include "figure/picture/picture_views.h"

#include <QImage>

#include <map>
#include <optional>

namespace headlight::figure {

struct PictureViewData {
    QImage picture;  ///< the part that the model saw
    QString file;
    std::int64_t rows = 0, columns = 0, class_tokens = 0;
    Layer layer;
    Position query;                            ///< when none is pointed at
    std::vector<QString> names_of_tokens;      ///< "[CLS]", "r1c1" …
    std::vector<std::string> names;            ///< of the panels: "Head 3", "mean of 12 heads", "rollout"
    std::vector<std::optional<HeadId>> heads;  ///< of each panel; none: of several
    std::vector<analyze::Matrix> weights;      ///< of each panel, [axes.queries, axes.keys]
    analyze::PatternAxes axes;
    QString weight_name, title, description;
    bool reveal = false;
};

class PictureFigure final : public SceneFigure, public OwnScale {
public:
    explicit PictureFigure(PictureViewData);

    std::string view() const override { return "picture"; }
    Table table() const override;
    std::vector<NamedArray> arrays() const override;
    QString title() const override { return data_.title; }
    QString description() const override { return data_.description; }
    /// One for each query, of the patches.
    std::vector<ScaleEnds> scale_ends() const override;
    void widen(const std::vector<ScaleEnds>& ends) override {
        for (std::size_t row = 0; row < ends.size(); ++row) largest_[row] = ends[row].high;
    }

protected:
    QSizeF place(QSizeF available, const Style&, const Selection&) override;
    void draw_on(Scene&, const QRectF& seen, const Style&, const Selection&) const override;

private:
    struct Row {
        Eigen::VectorXf weights;    ///< of each token; NaN: hidden, or the query is
        Eigen::VectorXf strengths;  ///< 0 to 1
    };
    struct Shown {
        Position query;
        std::vector<Row> rows;  ///< of each panel
        double full = 1;        ///< the weight that is drawn strongest
    };

    std::int64_t tokens() const { return std::ssize(data_.names_of_tokens); }
    Position query_of(const Style&, const Selection&) const;
    Shown shown(const Style&, Position) const;
    QString token_name(Position) const;
    QRectF patch(const QRectF& picture, std::int64_t token) const;
    /// The chip of a class token, at the right end of a caption.
    QRectF chip(const QRectF& caption, std::int64_t token) const;
    QImage scaled(const QPainter&, const QRectF&, bool grey) const;
    QColor color(const Style&, double strength) const;
    QColor over_grey(const Style&, double strength) const;  ///< what it looks like on a picture, for text and the legend
    QString notes(const Style&, const Shown&) const;

    void draw_whole(Scene&, const Style&, const Shown&) const;
    void draw_panel(Scene&, std::size_t, const Style&, const Shown&) const;
    void draw_grid(Scene&, const QRectF&, const Style&) const;
    void draw_query(Scene&, const QRectF& picture, const QRectF& caption, const Style&, const Shown&) const;
    void draw_legend(Scene&, const Style&, const Shown&) const;
    void paint_patches(QPainter&, const QRectF& picture, const Row&, const Style&) const;
    /// Patches and class tokens of a panel, -1: of the picture; `pinned` is what looks at them.
    void draw_meanings(Scene&, std::int64_t map, const Shown& pinned) const;

    PictureViewData data_;
    QImage grey_;
    std::vector<double> largest_;  ///< weight of a patch, of each query's row
    PictureLayout layout_;
    mutable std::map<std::pair<int, bool>, QImage> scaled_;  ///< by width
};

}  // namespace headlight::figure
