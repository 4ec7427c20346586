// SPDX-License-Identifier: GPL-3.0-or-later
// The parts of a MapFigure: the map prepared for drawing, the layout, and cached pixels.
#pragma once

#include "figure/map/map_colors.h"
#include "figure/map/map_plane.h"
#include "figure/map/map_regions.h"
#include "figure/map/thumbnails.h"
#include "headlight/figure/map/map_figure.h"

#include <QImage>
#include <QStringList>

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

namespace headlight::figure {

inline constexpr double map_margin = 16;
inline constexpr std::size_t most_discs = 20'000;  ///< points on screen, above which each is a pixel

/// A random order, the same each time.
inline std::uint32_t shuffled(std::uint32_t i) {
    i ^= i >> 16, i *= 0x7feb352dU, i ^= i >> 15, i *= 0x846ca68bU;
    return i ^ i >> 16;
}

/// px above the points of a cell, for its number; 0: too small for one.
inline double number_strip(double cell) { return cell >= 56 ? 13 : cell >= 34 ? 10 : 0; }

/// Whether its quality is known, which it is not while a picture settles.
inline bool is_measured(const map::HeadMap& head) { return !head.trust.empty() || !head.poor.empty(); }

struct MapFigure::Parts {
    explicit Parts(map::QueryKeyMap);

    // --- map_figure.cpp: data and places ---------------------------------------------------------------------------------
    void set_look(MapLook);
    void set_head(std::size_t, map::HeadMap);
    void color_points();
    void color_head(std::size_t, std::array<std::vector<std::uint8_t>, 2>& out) const;
    QString head_words() const;  ///< numbers of the single view's head
    QString title() const;
    QPointF corner() const;  ///< of the matrix, at its zoom
    QRectF matrix() const;   ///< all cells, at this zoom
    QSizeF layout(QSizeF available);
    bool single() const { return look.single.has_value(); }
    std::size_t shown() const { return index.at(*look.single); }  ///< of the single view
    /// Colours of a head's points; with marked points: of the highlighted ones, or of the others.
    const std::vector<std::uint8_t>& colors(std::size_t head, bool front) const;
    QRectF cell(std::size_t head) const;               ///< of the matrix, at its zoom; the area of the single view
    QRectF plane(std::size_t head) const;              ///< the area of the points
    QRectF plane_with_border(std::size_t head) const;  ///< and of half a thumbnail around it
    CloudView view(std::size_t head) const;
    std::optional<QPointF> in_sight(std::size_t head, QPointF) const;  ///< none for a place outside of the head's area
    std::optional<QPointF> place(std::size_t head, std::size_t point) const;
    std::optional<QPointF> place(std::size_t head, const float* point) const;  ///< of the projection's units
    /// px of the points of a head: their discs, or 0.5 for a crowd.
    double radius(std::size_t head, bool in_file) const;
    bool axes() const;  ///< the single view has axes with numbers
    std::size_t points_on_screen() const;

    // --- map_paint.cpp ---------------------------------------------------------------------------------------------------
    struct Frame;
    void paint(const Frame&) const;
    void paint_head_lines(const Frame&) const;
    /// px that its further rows take; paints where there is a frame.
    double legend(const Frame*) const;
    void paint_crowd(const Frame&) const;
    QRectF crowd_area() const;  ///< the part of the area where points can be
    /// Paints the points of some heads into an image of crowd_area(), `scale` pixels per px.
    void paint_heads(QImage&, double scale, const Style&, bool front, const std::vector<std::size_t>&) const;
    void paint_matrix(const Frame&) const;
    void paint_cell(const Frame&, std::size_t head) const;
    void hatch(const Frame&, const QRectF&) const;
    // --- single_paint.cpp ------------------------------------------------------------------------------------------------
    void place_labels();
    void paint_single(const Frame&) const;
    void paint_axes(const Frame&) const;
    void paint_tripod(const Frame&) const;
    void paint_lines(const Frame&) const;
    void paint_labels(const Frame&) const;
    void paint_marked(const Frame&, std::size_t head) const;
    void paint_guests(const Frame&, std::size_t head) const;
    void paint_ring(const Frame&, const MapPoint&, bool strong) const;
    // --- thumbnails.cpp --------------------------------------------------------------------------------------------------
    /// px; 0: points are discs. The first: at a zoom of the single view.
    double thumbnail_side(std::size_t head, double zoom) const;
    double thumbnail_side(std::size_t head) const { return thumbnail_side(head, look.zoom); }
    bool drawn_as_patch(std::size_t head, std::size_t point) const;
    void paint_thumbnails(const Frame&, std::size_t head) const;

    map::QueryKeyMap map;
    MapLook look;
    MapPointFacts facts;
    MapShares shares;
    MapThumbnails thumbnails;
    std::vector<MapPlane> planes;
    std::map<HeadId, std::size_t> index;
    std::vector<Layer> layers;  ///< with a row of the matrix
    std::vector<Head> columns;
    std::array<std::vector<std::uint8_t>, 2> shared_colors;            ///< [front] those that do not depend on the head
    std::vector<std::array<std::vector<std::uint8_t>, 2>> own_colors;  ///< [head]; empty: shared
    std::vector<float> sizes;                                          ///< of the head of the single view, by norm

    QSizeF size, laid_out_for;
    QRectF room;  ///< of the planes
    QStringList caption, note;
    double side = 0;          ///< px of a cell of the matrix at zoom 1
    double legend_below = 0;  ///< px of the legend's rows behind the first
    bool stale = true;        ///< labels and regions belong to an older look

    /// Regions do not change with zoom and position.
    struct RegionsOf {
        std::size_t head = 0;
        std::uint64_t pictures = 0;
        double yaw = 0, pitch = 0;
        std::array<bool, 3> drawn{};  ///< queries, keys, apart
        bool operator==(const RegionsOf&) const = default;
    };
    std::optional<RegionsOf> regions_of;
    std::vector<MapRegion> regions;
    std::uint64_t pictures = 0;                       ///< received by set_head()
    std::unordered_map<const QChar*, double> widths;  ///< of token labels, by their shared characters
    struct TokenLabel {
        std::int32_t point = 0;
        QPointF baseline;
    };
    std::vector<TokenLabel> labels;
    struct RegionLabel {
        QRectF box;
        QString words;
    };
    std::vector<RegionLabel> region_labels;

    struct Kept {
        double scale = 0;
        const Theme* theme = nullptr;
        std::shared_ptr<const HeadFilter> filter;
        bool operator==(const Kept&) const = default;
    };
    mutable std::optional<Kept> kept;  ///< the state that the pixels below show; none: not this layout
    mutable QImage crowd, crowd_front;
    mutable std::set<std::size_t> changed;  ///< heads with newer points than the pixels
};

/// One paint call.
struct MapFigure::Parts::Frame {
    QPainter& painter;
    const Style& style;
    const Selection& selection;
    double scale;  ///< device pixels per px
    bool vector;
    const Theme& theme() const { return *style.theme; }
};

}  // namespace headlight::figure
