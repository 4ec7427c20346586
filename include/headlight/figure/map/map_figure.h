// SPDX-License-Identifier: GPL-3.0-or-later
// The picture of a query-key map: all heads as a matrix of layers x heads, or one head by itself. A value like every figure; the
// page in the window changes its look and replaces heads while they settle.
#pragma once

#include "headlight/base/enum_table.h"
#include "headlight/figure/core/figure.h"
#include "headlight/map/query_key_map.h"

#include <QImage>
#include <QPolygonF>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace headlight::figure {

/// The meaning of a point's colour.
enum class MapColor { role, position, position_mod5, norm, length, punctuation, frequency, part_of_speech, text, trust };
inline constexpr EnumRow<MapColor> map_colors[] = {{MapColor::role, "role", "query or key"},
                                                   {MapColor::position, "position", "position in the text"},
                                                   {MapColor::position_mod5, "position-mod-5", "position modulo 5"},
                                                   {MapColor::norm, "norm", "length of the vector"},
                                                   {MapColor::length, "length", "characters of the token"},
                                                   {MapColor::punctuation, "punctuation", "punctuation or word"},
                                                   {MapColor::frequency, "frequency", "how often the token occurs"},
                                                   {MapColor::part_of_speech, "part-of-speech", "part of speech, of a treebank"},
                                                   {MapColor::text, "text", "which text"},
                                                   {MapColor::trust, "trust", "share of neighbours kept"}};
constexpr const auto& enum_rows(MapColor) { return map_colors; }

/// A point of a map: the head by its index in QueryKeyMap::heads; queries come first, then keys.
struct MapPoint {
    std::size_t head = 0;
    std::int32_t point = 0;
    bool operator==(const MapPoint&) const = default;
};

/// From a point of the single view to another: attention (`weight` is its strength) or a neighbour in the original space.
struct MapLine {
    std::int32_t from = 0, to = 0;
    float weight = 0;
    bool neighbour = false;  ///< dashed: near in the original space
    bool operator==(const MapLine&) const = default;
};

/// Points of other texts placed into the map, such as a sentence being typed. They are drawn on top and labelled.
struct MapGuests {
    std::vector<std::string> tokens;         ///< [guest]
    std::vector<std::vector<float>> points;  ///< [head of the map][2 * guest, dims], queries first; empty for a head without any
};

/// The picture's settings. Equal looks of equal maps give equal pictures.
struct MapLook {
    std::optional<HeadId> single{};  ///< the one head that is shown; none: the matrix
    MapColor color = MapColor::role;
    bool size_by_norm = false;
    bool queries = true, keys = true, apart = true;  ///< which points are drawn; apart: first and special tokens
    bool token_labels = true, region_labels = true;
    bool thumbnails = true;     ///< patches of pictures in place of their points, where there is room
    QPointF middle{0, 0};       ///< centre of the view; single: in the plane, box -1 to 1; matrix: in the picture, 0 to 1
    double zoom = 1;            ///< 1: the box or the matrix fills the area
    double yaw = 0, pitch = 0;  ///< 3-D: degrees about the upright axis, then about the horizontal one
    std::shared_ptr<const std::vector<std::uint8_t>> marked{};  ///< [point] 1: highlighted, the others grey; null: none is
    QString marked_words{};                                     ///< description of the marked points: "120 hits of “the”"
    std::shared_ptr<const std::vector<double>> spreads{};  ///< [head] of the marked points, map::HeadHits; null: none is known
    std::optional<MapPoint> chosen{}, hovered{};
    std::vector<MapLine> lines{};  ///< of the single view
    std::shared_ptr<const MapGuests> guests{};
    std::vector<QPointF> lasso{};  ///< figure units, while it is drawn

    bool operator==(const MapLook&) const = default;
};

class MapFigure final : public Figure {
public:
    /// Error if lists of the map have wrong lengths.
    explicit MapFigure(map::QueryKeyMap, MapLook = {});
    ~MapFigure() override;

    const map::QueryKeyMap& map() const;
    /// Its index in QueryKeyMap::heads; none: the map has no such head.
    std::optional<std::size_t> index_of(HeadId) const;
    /// A newer picture of a head of the map.
    void set_head(map::HeadMap);
    const MapLook& look() const;
    void set_look(MapLook);

    /// The patch of a picture; null for a point that is none.
    QImage thumbnail(std::int32_t point) const;
    /// The nearest drawn point within a few px.
    std::optional<MapPoint> point_at(QPointF) const;
    /// The head whose plane is there.
    std::optional<std::size_t> head_at(QPointF) const;
    /// Points of the single view inside a polygon, ascending; none for fewer than three corners.
    std::vector<std::int32_t> points_in(const QPolygonF&) const;
    /// [point] 1: the look shows it in the single view.
    std::vector<std::uint8_t> drawn_points() const;
    /// The position of a point; none if it is not visible.
    std::optional<QPointF> place_of(const MapPoint&) const;
    /// The area of the planes, which zooms.
    QRectF room() const;
    /// The look after zooming about a position or moving the content by px.
    MapLook zoomed(double factor, QPointF about) const;
    MapLook moved(QPointF by) const;
    /// The look of the matrix with one head's cell as large as the area, but for a margin.
    MapLook around(HeadId) const;
    /// px of a head's cell at this zoom, of the matrix.
    double cell_side() const;

    std::string view() const override;
    QSizeF layout(QSizeF available, const Style&, const Selection&) override;
    void paint(QPainter&, const QRectF& exposed, const Style&, const Selection&) const override;
    Hit hit_test(QPointF, const Style&, const Selection&) const override;
    Table table() const override;
    std::vector<NamedArray> arrays() const override;
    QString title() const override;
    QString description() const override;
    std::optional<QRectF> place_of_head(HeadId) const override;

private:
    struct Parts;
    std::unique_ptr<Parts> parts_;
};

/// "PCA, preset scores · 2,498 tokens of 61 texts · 12 texts left out · seed 0. Queries and keys before the rotation by their
/// positions": the caption of every map.
QString map_caption(const map::QueryKeyMap&);
/// The token of a point: of QueryKeyMap::tokens or key_tokens().
struct MapToken {
    const map::MapTokens& of;
    std::size_t at;
    bool key;
    Position position() const { return Position(of.position[at]); }
    std::int32_t text() const { return of.text[at]; }
};
inline MapToken map_token(const map::QueryKeyMap& map, std::int32_t point) {
    const auto at = static_cast<std::size_t>(point), queries = map::query_count(map);
    return at < queries ? MapToken{map.tokens, at, false} : MapToken{map::key_tokens(map), at - queries, true};
}
/// "L3H5  query ·the (4) · text 2, “…” · length 3.41": exact numbers of a point.
QString map_point_words(const map::QueryKeyMap&, const map::HeadMap&, std::int32_t point);
/// "L3H5  faithfulness 0.412 · trustworthiness 0.871 · continuity 0.855": exact numbers of a head's picture.
QString map_head_words(const map::HeadMap&);
/// The readable token: "·the" for "Ġthe".
QString map_token_text(const std::string& token);

/// Values over-represented in a selection of points: rows of a table.
struct MapShare {
    QString kind, value;              ///< "token", "·the"; "role", "queries"; "position", "0–9"
    std::int64_t inside = 0;          ///< points of this value in the selection
    double share = 0, elsewhere = 0;  ///< of the points of the selection, and of the rest
    double z = 0;                     ///< log-odds ratio with a prior over its standard error (Monroe et al. 2008, eq. 22)
};
/// Those above `least`, sorted by z. `drawn`: [point] 1: it counts among the others; empty: all do.
std::vector<MapShare> over_represented(const map::QueryKeyMap&, const std::vector<std::int32_t>& points,
                                       const std::vector<std::uint8_t>& drawn = {}, double least = 1.96);

}  // namespace headlight::figure
