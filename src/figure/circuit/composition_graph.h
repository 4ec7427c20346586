// SPDX-License-Identifier: GPL-3.0-or-later
// Heads as nodes, layers as rows, and an arc for each pair where a later head reads much of what an earlier one wrote.
#pragma once

#include "figure/core/scene.h"
#include "headlight/analyze/circuit/composition.h"

#include <array>
#include <memory>
#include <optional>
#include <vector>

namespace headlight::figure {

using CompositionArc = analyze::ComposedPair;

/// Which input of the later head reads.
enum class ComposedKinds { all, q, k, v };
inline constexpr EnumRow<ComposedKinds> composed_kinds[] = {{ComposedKinds::all, "all", "Q, K and V"},
                                                            {ComposedKinds::q, "q", "Q composition"},
                                                            {ComposedKinds::k, "k", "K composition"},
                                                            {ComposedKinds::v, "v", "V composition"}};
constexpr const auto& enum_rows(ComposedKinds) { return composed_kinds; }

struct CompositionOptions {
    ComposedKinds kinds = ComposedKinds::all;
    double threshold = 0;    ///< arcs with a lower score are left out
    std::int64_t most = 60;  ///< and only so many, the strongest
    analyze::CompositionRequest asked{};

    bool has(analyze::Composition kind) const {
        return kinds == ComposedKinds::all || static_cast<int>(kinds) == static_cast<int>(kind) + 1;
    }
};
void describe(Describes<CompositionOptions> auto& r, const auto& field) {
    field(Field{"kinds", "Kinds", "which input of the later head reads"}, r.kinds);
    field(Field{"least", "Least score", "arcs with a lower score are left out"}.within(0, 1), r.threshold);
    field(Field{"arcs", "Arcs", "how many of the strongest are drawn"}.within(1, 5000), r.most);
    describe(r.asked, field);
}

/// Strongest first; of equals the earlier head first.
std::vector<CompositionArc> strongest_arcs(const analyze::CompositionScores&, const CompositionOptions&,
                                           std::optional<HeadId> of = {});

/// Where the nodes stand.
struct CompositionLayout {
    std::int64_t layers = 0, heads = 0;
    double left = 0, pitch_x = 0, radius = 0, width = 0, height = 0;
    std::vector<double> y;  ///< [layer]
    QPointF node(HeadId id) const {
        return {left + pitch_x * double(id.head.value), y[static_cast<std::size_t>(id.layer.value)]};
    }
    double room_at(std::int64_t layer) const;    ///< to the nearest layer beside it
    double radius_of(std::int64_t layer) const;  ///< of its circles
};
/// Where the layers do not fit the canvas with room between them, those without an arc (`used`) stand closer.
CompositionLayout composition_layout(std::int64_t layers, std::int64_t heads, QSizeF available,
                                     const std::vector<bool>& used = {});

class CompositionGraph final : public SceneFigure {
public:
    CompositionGraph(std::shared_ptr<const analyze::CompositionScores>, const CompositionOptions&);

    std::string view() const override { return "composition"; }
    Table table() const override;
    std::vector<NamedArray> arrays() const override;
    QString title() const override;
    QString description() const override;
    std::optional<QRectF> brush_area(QPointF) const override { return QRectF(0, 0, at_.width, at_.height); }

    const std::vector<CompositionArc>& arcs() const { return arcs_; }

protected:
    QSizeF place(QSizeF available, const Style&, const Selection&) override;
    void draw_on(Scene&, const QRectF& seen, const Style&, const Selection&) const override;

private:
    QPainterPath path(const CompositionArc&) const;
    double strength(double score) const;  ///< 0 at the weakest arc shown, 1 at the strongest
    /// The arcs of a head, its strongest ones also when they are not among those of the whole model.
    std::vector<CompositionArc> arcs_of(HeadId) const;
    CompositionLayout places(QSizeF available) const;
    QString tip_of(HeadId) const;
    void draw_legend(Scene&, const Style&) const;

    std::shared_ptr<const analyze::CompositionScores> scores_;
    CompositionOptions options_;
    std::vector<CompositionArc> arcs_;
    CompositionLayout at_;
};

}  // namespace headlight::figure
