// SPDX-License-Identifier: GPL-3.0-or-later
// The logit lens as a table: a row per token, a column per layer, in each cell the prediction at that point.
#pragma once

#include "figure/core/own_scale.h"
#include "figure/core/scene.h"
#include "figure/prediction/prediction_views.h"
#include "headlight/analyze/prediction/logit_lens.h"

#include <functional>
#include <map>

namespace headlight::figure {

/// The content of the lens view, without a model behind it.
struct LensViewData {
    std::shared_ptr<const analyze::LogitLens> lens;
    std::vector<analyze::AxisItem> labels;  ///< one a position
    std::map<std::int64_t, QString> words;  ///< labels of every token id that can be shown
    std::vector<std::int64_t> next;         ///< token behind each position (encoders: at it); -1: none
    bool causal = true;
    LensColor color = LensColor::probability;
    std::string read_as;             ///< "final norm and unembedding", "masked-word head", "tuned lens FILE"
    std::optional<Position> opened;  ///< its candidates are listed under its row
    std::int64_t opened_layer = 0;   ///< … those of this layer
    analyze::LensHistory history;    ///< of the opened position's candidates
    std::function<Table()> table;
};

/// Rows are tokens in the order of the text, columns are layers and then the output. Where the layers are wider than the
/// canvas they scroll between the tokens and the output, which stay at its edges.
struct LensLayout {
    double width = 0, height = 0;
    double token_x = 0, token_width = 0, cells_x = 0, cell_width = 0, output_width = 0, next_x = 0, next_width = 0;
    std::int64_t rows = 0, layers = 0;
    std::int64_t stride = 1;  ///< every so many layers are columns, the last one among them
    std::int64_t first() const { return (layers - 1) % stride; }
    std::int64_t shown() const { return (layers + stride - 1) / stride; }
    std::int64_t opened = -1, candidates = 0;  ///< row with a list under it, and its length

    static constexpr double margin = 16, title_baseline = 36, sticky_top = 50, heading_height = 34, row_height = 26;
    static constexpr double candidate_height = 21, candidate_pad = 8, footer_height = 58, output_gap = 10;

    double list_height() const { return opened < 0 ? 0 : static_cast<double>(candidates) * candidate_height + 2 * candidate_pad; }
    double row_top(std::int64_t row) const;
    double candidate_top(std::int64_t candidate) const;
    double cell_x(std::int64_t column) const;  ///< column `layers`: the output
    double column_width(std::int64_t column) const { return column == layers ? output_width : cell_width; }
};
/// `folds`: where a narrow file would have to be made much smaller, some layers are left out.
LensLayout lens_layout(const LensViewData&, double available_width, double token_text, bool folds);

class LensFigure final : public SceneFigure, public OwnScale {
public:
    explicit LensFigure(LensViewData);

    std::string view() const override { return "lens"; }
    Table table() const override { return data_.table(); }
    std::vector<NamedArray> arrays() const override;
    QString title() const override { return QStringLiteral("Logit lens"); }
    QString description() const override;
    std::optional<QRectF> row_of_query(Position) const override;
    bool begins_at_right() const override { return true; }
    bool absolute() const override { return data_.color != LensColor::kl; }
    std::vector<ScaleEnds> scale_ends() const override { return {{0, kl_limit_}}; }
    void widen(const std::vector<ScaleEnds>& ends) override { kl_limit_ = ends.front().high; }

    const LensLayout& places() const { return at_; }
    /// 0..1: how far along the ramp a state is; NaN: it has no such number.
    double strength(const analyze::LensState&) const;

protected:
    QSizeF place(QSizeF available, const Style&, const Selection&) override;
    void draw_on(Scene&, const QRectF& seen, const Style&, const Selection&) const override;

private:
    const analyze::LensState& state(std::int64_t column, std::int64_t row) const;
    QString word(std::int64_t id) const;
    QString named(std::int64_t position) const;
    QString column_name(std::int64_t column) const;
    QString cell_tip(std::int64_t column, std::int64_t row) const;
    QString candidate_tip(std::int64_t column, std::int64_t candidate) const;
    /// Where things stand while the layers scroll.
    struct Sight {
        QRectF seen;                  ///< of the figure
        double left = 0, right = 0;   ///< from their places: the tokens, and the output and what is behind it
        double down = 0, footer = 0;  ///< of the heading; top of the footer
        QRectF layers;                ///< the part of the canvas in which they scroll
    };
    Sight in_sight(const QRectF& seen, const Style&) const;
    double column_x(std::int64_t column, const Sight&) const;
    /// Columns of one row or of the list, as far as they are in sight.
    template <class Draw>
    void each_column(const Sight&, bool layers, Draw) const;
    void draw_row(Scene&, const Sight&, std::int64_t row, const Style&, const Selection&) const;
    void draw_cells(Scene&, const Sight&, std::int64_t row, bool layers, const Style&, const Selection&) const;
    void draw_list(Scene&, const Sight&, const Style&) const;
    void draw_candidates(Scene&, const Sight&, bool layers, const Style&) const;
    void draw_heading(Scene&, const Sight&, const Style&) const;
    void draw_footer(Scene&, const Sight&, const Style&) const;

    LensViewData data_;
    double kl_limit_ = 1;
    LensLayout at_;
};

}  // namespace headlight::figure
