// SPDX-License-Identifier: GPL-3.0-or-later
// The head view's class; its painting is in head_paint.cpp, what lies under the pointer in head_hit.cpp.
#pragma once

#include "figure/core/draw.h"
#include "figure/pattern/head/head_layout.h"
#include "figure/pattern/head/head_lines.h"
#include "figure/pattern/head/head_view.h"

#include <QImage>

#include <map>

namespace headlight::figure {

/// The token whose lines stand out: hovered, else pinned. Rows of the axes.
struct HeadSubject {
    std::vector<std::int64_t> queries;  ///< lines of these at full strength; boxes for the last
    std::int64_t key = -1;              ///< or the lines to this key
    bool none() const { return queries.empty() && key < 0; }
};

class HeadFigure : public Figure {
public:
    explicit HeadFigure(HeadViewData);

    std::string view() const override { return "head"; }
    QSizeF layout(QSizeF available, const Style&, const Selection&) override;
    void paint(QPainter&, const QRectF& exposed, const Style&, const Selection&) const override;
    Hit hit_test(QPointF, const Style&, const Selection&) const override;
    Table table() const override;
    std::vector<NamedArray> arrays() const override;
    QString title() const override;
    QString description() const override;
    std::optional<QRectF> row_of_query(Position) const override;
    std::optional<QRectF> row_of_key(Position) const override;

private:
    using LineList = std::vector<const HeadLine*>;
    struct Frame;  ///< what one paint call hands to its parts

    /// Lines and pictures of them depend on these; kept until they change. Figures are painted by one thread.
    struct Drawn {
        Transfer transfer;
        std::vector<std::int32_t> active;  ///< indices into data_.weights
        HeadLines lines;
        std::int64_t key = -1;                ///< of the strengths below
        std::vector<Eigen::VectorXf> to_key;  ///< of each active head: strength of every query's weight on that key
    };
    struct Tiles {
        const Theme* theme = nullptr;
        HeadPalette palette{};
        double scale = 0, room = 0;
        std::map<std::int64_t, QImage> images;  ///< by number of the band of rows
    };

    const Drawn& drawn(const Style&, const Selection&) const;
    HeadSubject subject(const Style&, const Selection&) const;
    /// At the edge of the rows in sight: a pinned token, or the one the subject attends to most, that lies beyond it.
    struct EdgeNote {
        QRectF box;
        QString text;
    };
    std::vector<EdgeNote> edge_notes(const Style&, const Selection&) const;
    QRectF rows_in_sight() const;
    /// Of the lines that are longer than what is in sight: they cannot be followed, and would cover those that can.
    double fade_of(const HeadLine&) const;
    /// Strengths of a query's row, or of all queries on a key, one vector for each active head.
    std::vector<Eigen::VectorXf> strengths(bool on_keys, std::int64_t row) const;
    QString pair_tip(std::int32_t head, std::int64_t query, std::int64_t key) const;
    Hit token_hit(bool is_query, std::int64_t row, const Style&, const Selection&) const;
    Hit line_hit(QPointF, const Style&, const Selection&) const;

    void paint_header(const Frame&) const;
    void paint_legend(const Frame&) const;
    void paint_lines(const Frame&) const;
    void paint_line_set(const Frame&, const LineList&, double strength) const;
    QImage line_picture(const Frame&, const LineList&, const QRectF& area, double scale, bool fades) const;
    void paint_pictures(const Frame&, const LineList&, std::map<std::int64_t, QImage>& known, bool fades) const;
    void paint_tokens(const Frame&) const;
    void paint_boxes(const Frame&, bool on_keys, const std::vector<Eigen::VectorXf>& strengths) const;
    void paint_pair_rules(const Frame&) const;
    void paint_edge_notes(const Frame&) const;
    QColor color(const Style&, std::int32_t head) const;
    bool is_together() const { return !data_.together.isEmpty(); }
    std::optional<HeadId> head_of(std::int32_t map) const;  ///< none where heads are combined
    QString name_of(std::int32_t map) const;

    HeadViewData data_;
    std::vector<draw::Label> query_labels_, key_labels_;
    std::vector<double> query_widths_, key_widths_;
    HeadLayout layout_;
    mutable Drawn drawn_;
    mutable Tiles tiles_;
    mutable QRectF view_;  ///< what was last exposed: header and legend keep to it
};

}  // namespace headlight::figure
