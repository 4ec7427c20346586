// SPDX-License-Identifier: GPL-3.0-or-later
// The head view's class; its painting is in head_paint.cpp, what lies under the pointer in head_hit.cpp.
#pragma once

#include "figure/core/draw.h"
#include "figure/pattern/head/head_layout.h"
#include "figure/pattern/head/head_lines.h"
#include "figure/pattern/head/head_view.h"
#include "figure/pattern/head/line_pictures.h"
#include "headlight/base/memory_account.h"

#include <algorithm>

namespace headlight::figure {

/// The token whose lines stand out: hovered, else pinned. Rows of the axes.
struct HeadSubject {
    std::vector<std::int64_t> queries;  ///< lines of these at full strength; boxes for the last
    std::int64_t key = -1;              ///< or the lines to this key
    bool none() const { return queries.empty() && key < 0; }
    bool has_query(std::int64_t row) const { return std::ranges::find(queries, row) != queries.end(); }
    bool has(const HeadLine& line) const { return line.key == key || has_query(line.query); }
    bool operator==(const HeadSubject&) const = default;
};

class HeadFigure : public Figure {
public:
    explicit HeadFigure(HeadViewData);

    std::string view() const override { return "head"; }
    QSizeF layout(QSizeF available, const Style&, const Selection&) override;
    void paint(QPainter&, const QRectF& exposed, const Style&, const Selection&) const override;
    Hit hit_test(QPointF, const Style&, const Selection&) const override;
    /// Heads, tokens, and the strongest lines.
    std::optional<std::vector<MarkPlace>> marks(const Style&, const Selection&) const override;
    Table table() const override;
    std::vector<NamedArray> arrays() const override;
    QString title() const override;
    QString description() const override;
    std::optional<QRectF> row_of_query(Position) const override;
    std::optional<QRectF> row_of_key(Position) const override;
    bool refining() const override { return wanted_ || pictures_.refining() || chosen_pictures_.refining(); }
    Sharpening sharpening() override;

private:
    struct Frame;  ///< what one paint call hands to its parts

    /// What the lines depend on, and they; kept until it changes. Figures are painted by one thread.
    struct Drawn {
        Transfer transfer;
        std::vector<std::int32_t> active;  ///< indices into data_.weights
        std::shared_ptr<const HeadLines> lines;
    };
    /// The subject's lines.
    struct Chosen {
        HeadSubject subject;
        std::shared_ptr<const HeadLines> of;
        std::shared_ptr<const std::vector<std::uint32_t>> lines;
    };

    const Drawn& drawn(const Style&, const Selection&) const;
    void report(const Drawn& d) const { account_.set(bytes_of_maps(data_.weights) + d.lines->bytes()); }
    HeadSubject subject(const Style&, const Selection&) const;
    /// At the edge of the rows in sight: a pinned token, or the one the subject attends to most, that lies beyond it.
    struct EdgeNote {
        QRectF box;
        QString text;
    };
    std::vector<EdgeNote> edge_notes(const Style&, const Selection&) const;
    QRectF rows_in_sight() const { return view_.adjusted(0, layout_.header_height, 0, -layout_.legend_height); }
    /// Rows of the axes that a frame shows, from the first to before the last.
    struct Rows {
        std::int64_t first = 0, last = 0;
    };
    /// Strengths of a query's row, or of those queries on a key, one vector for each active head; of other queries 0.
    std::vector<Eigen::VectorXf> strengths(bool on_keys, std::int64_t row, Rows queries) const;
    QString pair_tip(std::int32_t head, std::int64_t query, std::int64_t key) const;
    bool masked(std::int64_t query, std::int64_t key) const;
    Hit token_hit(bool is_query, std::int64_t row, const Style&, const Selection&) const;
    Hit hit_of(const HeadLine&) const;
    Hit line_hit(QPointF, const Style&, const Selection&) const;
    Hit square_hit(std::int64_t head, const Style&) const;

    void paint_header(const Frame&) const;
    void paint_legend(const Frame&) const;
    void paint_lines(const Frame&) const;
    void paint_line_set(const Frame&, const std::vector<std::uint32_t>& lines, double strength) const;
    void paint_vector_lines(const Frame&) const;
    Rows rows_of(const Frame&) const;
    void paint_tokens(const Frame&) const;
    void paint_boxes(const Frame&, bool on_keys, Rows, const std::vector<Eigen::VectorXf>& strengths) const;
    void paint_pair_rules(const Frame&) const;
    void paint_edge_notes(const Frame&) const;
    QColor color(const Style&, std::int32_t head) const;
    bool is_together() const { return !data_.together.isEmpty(); }
    std::optional<HeadId> head_of(std::int32_t map) const;  ///< none where heads are combined
    QString name_of(std::int32_t map) const;

    std::shared_ptr<const HeadViewData> held_;
    const HeadViewData& data_ = *held_;
    std::vector<draw::Label> query_labels_, key_labels_;
    std::vector<double> query_widths_, key_widths_;
    HeadLayout layout_;
    std::shared_ptr<Drawn> drawn_ = std::make_shared<Drawn>();
    mutable std::optional<Drawn> wanted_;  ///< without lines: those of a long text are made beside the painting
    std::weak_ptr<const void> busy_;       ///< held by the thread that makes them
    mutable Chosen chosen_;
    mutable LinePictures pictures_, chosen_pictures_;
    mutable MemoryAccount account_{MemoryUse::pictures};  ///< of maps and lines, which go with the figure
    mutable QRectF view_;                                 ///< what was last exposed: header and legend keep to it
};

}  // namespace headlight::figure
