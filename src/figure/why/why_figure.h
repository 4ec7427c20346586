// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "figure/core/own_scale.h"
#include "figure/core/scene.h"
#include "headlight/analyze/why/why.h"
#include "headlight/analyze/why/why_path.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace headlight::figure {

/// A row or a column of the map: a part, or all those that have none of their own.
struct WhyLine {
    std::vector<Eigen::Index> parts;  ///< in Why::query_parts or key_parts
    QString name;
    double sum = 0;
    std::optional<HeadId> head{};      ///< of a part that is a head
    std::optional<Position> source{};  ///< of a head: the token that gave most of it
    double from_source = 0;            ///< the source's term (analyze::why_sources())
    bool split = false;                ///< one token of a head that is split by token, or its writing elsewhere
};

/// "L1H0", of a token that it read "L1H0 ← ·grey (4)".
QString why_part_name(const analyze::StreamPart&, const std::vector<text::TokenLabel>&);

/// How many pairs a picture lists, of the option's number; 0: as many as it can.
inline std::int64_t pairs_listed(std::int64_t top) {
    constexpr std::int64_t most = 12;
    return top > 0 ? std::min(top, most) : most;
}

struct WhyViewData {
    analyze::Why why;
    analyze::WhyList list;
    std::vector<WhyLine> queries, keys;  ///< strongest first
    std::vector<text::TokenLabel> labels;
    std::int64_t top = 10;
    std::vector<analyze::WhyStep> path{};
    QString path_text{};       ///< analyze::path_text()
    std::string path_edits{};  ///< intervention::edits_of_path(), one a line
};

class WhyFigure final : public SceneFigure, public OwnScale {
public:
    explicit WhyFigure(WhyViewData);

    std::string view() const override { return "why"; }
    Table table() const override { return analyze::table_of(data_.why, data_.top); }
    std::vector<NamedArray> arrays() const override { return analyze::table_of(data_.why, data_.top).arrays; }
    QString title() const override;
    QString description() const override;
    std::vector<ScaleEnds> scale_ends() const override { return {{-limit_, limit_}}; }
    void widen(const std::vector<ScaleEnds>& ends) override { limit_ = ends.front().high; }

protected:
    QSizeF place(QSizeF available, const Style&, const Selection&) override;
    void draw_on(Scene&, const QRectF& seen, const Style&, const Selection&) const override;

private:
    const analyze::Why& why() const { return data_.why; }
    QString token_at(Position) const;
    QString against() const;
    double cell_value(const WhyLine& query, const WhyLine& key) const;
    QString line_tip(const WhyLine&, bool of_query) const;
    Hit line_hit(const WhyLine&, bool of_query) const;
    QRectF cell(std::size_t row, std::size_t column) const;
    /// Sentences on the right of the map or below it.
    void draw_sentences(Scene&, const Style&) const;
    double sentence_rows() const;
    void draw_path(Scene&, const Style&, double y) const;
    void fold_keys(std::size_t most);
    void draw_map(Scene&, const Style&) const;

    WhyViewData data_;
    std::vector<analyze::Why::Pair> strongest_;
    std::vector<WhyLine> keys_;  ///< the columns that are drawn
    double limit_ = 1;
    QStringList equation_, verdict_;
    QRectF cells_, sentences_;
    double label_width_ = 0, column_room_ = 0;
};

}  // namespace headlight::figure
