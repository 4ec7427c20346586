// SPDX-License-Identifier: GPL-3.0-or-later
// A drawing as data: marks in the order of painting, and what the pointer finds where. One painter puts it on the screen and into
// every file; hit test, places of heads, brushing, dimming by a filter and screen readers read the same list.
#pragma once

#include "figure/core/draw.h"

#include <QPainterPath>
#include <QPen>

#include <functional>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

namespace headlight::figure {

/// Sizes and places are figure units. What comes later lies above what came before, for the eye and for the pointer.
class Scene {
public:
    using Align = draw::Align;
    /// Made when somebody asks; what it refers to lives as long as the figure.
    using Tip = std::function<QString()>;

    /// Without meanings (for a file) it only paints.
    explicit Scene(bool with_meanings = true) : with_meanings_(with_meanings) {}

    // --- marks -------------------------------------------------------------------------------------------------------
    void text(QPointF baseline, const QString&, const QFont&, const QColor&, Align = Align::left);
    /// Digits in cells of equal width.
    void number(QPointF baseline, const QString&, const QFont&, const QColor&, Align = Align::right);
    /// `color` invalid: text, or muted where the token is special.
    void token(const QRectF&, draw::Label, const QFont&, Align, const QColor& color = {});
    void token_upwards(const QRectF&, draw::Label, const QFont&, const QColor& color = {});
    void box(const QRectF&, double radius, const QColor& fill, const QColor& stroke = {}, double stroke_width = 1);
    /// A box without an outline, its edges sharp.
    void fill(const QRectF&, const QColor&);
    void line(QPointF, QPointF, const QPen&);
    void circle(QPointF centre, double radius, const QPen&, const QBrush& = Qt::NoBrush);
    void path(QPainterPath, const QPen&, const QBrush& = Qt::NoBrush);
    /// Diagonal lines: there is no number.
    void hatch(const QRectF&, double step, const QColor&);
    /// What a function paints inside an area: images, and bars of colours. The painter's state is restored after it.
    void picture(const QRectF&, std::function<void(QPainter&)>);

    /// Bars of colours with numbers at their ends, as in draw.h; the x where the right number ends.
    double bar(const QRectF&, std::function<QColor(double t)>, const draw::ScaleEnds&, const Theme&);
    double ramp_bar(const QRectF&, const Style&, const draw::ScaleEnds&);
    void signed_bar(const QRectF&, double limit, const Theme&);

    /// Ends what it began when it goes out of scope.
    class [[nodiscard]] Scope {
    public:
        explicit Scope(std::function<void()> end) : end_(std::move(end)) {}
        ~Scope() { end_(); }
        Scope(const Scope&) = delete;
        Scope& operator=(const Scope&) = delete;

    private:
        std::function<void()> end_;
    };
    /// Marks and meanings end at the edges of a rectangle, inside those of the scopes around it.
    Scope clip(const QRectF&);
    /// Marks belong to a head, if there is one: faint where the filter leaves it out.
    Scope of(std::optional<HeadId>);

    // --- meanings ----------------------------------------------------------------------------------------------------
    /// What the pointer finds in an area; its `area` and `tip` are filled in. A hit of kind none hides what lies below.
    void means(const QRectF& area, Hit, Tip = {});
    /// … on a line, `reach` px across; 0: inside the outline.
    void means(const QPainterPath&, double reach, Hit, Tip = {});

    /// … in each cell of a grid of equal cells; asked cell by cell, since there may be millions.
    void means(const QRectF& area, std::int64_t rows, std::int64_t columns,
               std::function<Hit(std::int64_t row, std::int64_t column)> cell);

    // --- who reads it ------------------------------------------------------------------------------------------------
    void paint(QPainter&, const QRectF& exposed, const Style&) const;
    Hit at(QPointF) const;
    /// All meanings in the order of painting; the middle of an area, or a point on a line.
    std::vector<MarkPlace> places() const;
    /// The first area that stands for the head itself.
    std::optional<QRectF> place_of(HeadId) const;
    /// Heads with such an area whose middle is inside, sorted.
    std::vector<HeadId> heads_in(const QPolygonF&) const;

private:
    struct TextMark {
        QPointF baseline;
        QString text;
        QFont font;
        QColor color;
        Align align;
        bool digits;
    };
    struct TokenMark {
        QRectF box;
        draw::Label label;
        QFont font;
        QColor color;
        Align align;
        bool upwards;
    };
    struct BoxMark {
        QRectF box;
        double radius;
        QColor fill, stroke;
        double width;
    };
    struct FillMark {
        QRectF box;
        QColor color;
    };
    struct LineMark {
        QPointF from, to;
        QPen pen;
    };
    struct CircleMark {
        QPointF centre;
        double radius;
        QPen pen;
        QBrush brush;
    };
    struct PathMark {
        QPainterPath path;
        QPen pen;
        QBrush brush;
    };
    struct HatchMark {
        QRectF box;
        double step;
        QColor color;
    };
    struct PictureMark {
        std::function<void(QPainter&)> paint;
    };
    struct Mark {
        std::variant<TextMark, TokenMark, BoxMark, FillMark, LineMark, CircleMark, PathMark, HatchMark, PictureMark> shape;
        QRectF bounds;  ///< at least what it paints
        std::optional<HeadId> head;
        int clip = -1;  ///< in clips_; -1: none
    };
    struct Meaning {
        QRectF area;
        QPainterPath path;  ///< empty: the area
        double reach = 0;
        int clip = -1;
        Hit hit;
        Tip tip;
        std::int64_t rows = 0, columns = 0;  ///< of a grid
        std::function<Hit(std::int64_t, std::int64_t)> cell;
        bool contains(QPointF) const;
        Hit in_cell(std::int64_t row, std::int64_t column) const;
        Hit in_cell(QPointF) const;
        /// One box a head: the lines that lead to it say its name too.
        bool is_head() const { return hit.kind == Hit::Kind::head && hit.head && path.isEmpty(); }
    };
    static void paint(const Mark&, QPainter&, const Style&);
    template <class Shape>
    void add(Shape, const QRectF& bounds);
    Hit clipped(Hit, const Meaning&) const;
    Hit told(const Meaning&) const;

    std::vector<Mark> marks_;
    std::vector<Meaning> meanings_;
    std::vector<QRectF> clips_;
    std::optional<HeadId> head_;
    int clip_ = -1;
    bool with_meanings_;
};

/// A figure that is a scene: it places its parts and says what is drawn where, the rest follows.
class SceneFigure : public Figure {
public:
    QSizeF layout(QSizeF available, const Style&, const Selection&) final;
    void paint(QPainter&, const QRectF& exposed, const Style&, const Selection&) const final;
    Hit hit_test(QPointF, const Style&, const Selection&) const final;
    std::optional<std::vector<MarkPlace>> marks(const Style&, const Selection&) const final;
    std::optional<QRectF> place_of_head(HeadId) const override;
    std::vector<HeadId> heads_in(const QPolygonF&) const override;
    /// With `seen` as it was painted last, or all of it after a layout.
    const Scene& scene(const Style&, const Selection&) const;

protected:
    /// Figure::layout().
    virtual QSizeF place(QSizeF available, const Style&, const Selection&) = 0;
    /// `seen`: the part that the viewer sees, as `exposed` of Figure::paint().
    virtual void draw_on(Scene&, const QRectF& seen, const Style&, const Selection&) const = 0;

private:
    struct Made {
        Scene scene;
        QRectF seen;
        Style style;
        Selection selection;
    };
    mutable std::optional<Made> made_;
    mutable QRectF seen_;  ///< part of the figure that was painted last
    mutable Style style_;
    mutable Selection selection_;
};

}  // namespace headlight::figure
