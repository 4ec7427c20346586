// SPDX-License-Identifier: GPL-3.0-or-later
// Neurons as rows, tokens as columns, coefficients as colours.
#pragma once

#include "figure/core/own_scale.h"
#include "figure/core/scene.h"
#include "figure/core/wrapped.h"
#include "headlight/analyze/contribution/neuron_map.h"

#include <QImage>

#include <optional>
#include <vector>

namespace headlight::figure {

struct NeuronMapData {
    analyze::NeuronMap map;
    analyze::NeuronOrder order = analyze::NeuronOrder::strength;
    std::int64_t neurons = 0;  ///< of the layer
    std::vector<analyze::AxisItem> tokens;
    std::vector<QString> raised;  ///< what each value promotes most; empty where it is not known
    bool by_row = false;          ///< each neuron over its own largest coefficient
};

struct NeuronMapLayout {
    double left = 0, top = 0, cell_width = 0, cell_height = 0, strength_x = 0, strength_width = 0, width = 0, height = 0,
           label_extent = 0;
    std::int64_t rows = 0, columns = 0;
    draw::AxisFit row_fit, column_fit;
    QStringList said, legend_text;  ///< lines under the title and beside the bar of colours

    static constexpr double margin = page_margin, header = 76, legend = 58;
    QRectF map() const { return {left, top, cell_width * double(columns), cell_height * double(rows)}; }
    QRectF cell(std::int64_t row, std::int64_t column) const {
        return {left + cell_width * double(column), top + cell_height * double(row), cell_width, cell_height};
    }
};

class NeuronMapFigure final : public SceneFigure, public OwnScale {
public:
    explicit NeuronMapFigure(NeuronMapData);

    std::string view() const override { return "neuron-map"; }
    Table table() const override;
    std::vector<NamedArray> arrays() const override;
    QString title() const override;
    QString description() const override;
    /// The bars', and the colours' unless each neuron has its own.
    std::vector<ScaleEnds> scale_ends() const override;
    void widen(const std::vector<ScaleEnds>&) override;

    const NeuronMapLayout& places() const { return at_; }
    /// -1 to 1: how strong a cell is drawn.
    double strength(std::int64_t row, std::int64_t column) const;

protected:
    QSizeF place(QSizeF available, const Style&, const Selection&) override;
    void draw_on(Scene&, const QRectF& seen, const Style&, const Selection&) const override;

private:
    void paint_cells(QPainter&, const Style&) const;
    Hit row_hit(std::int64_t row) const;
    Hit cell_hit(std::int64_t row, std::int64_t column) const;
    void draw_rows(Scene&, const QRectF& seen, const Style&, const Selection&) const;
    void draw_columns(Scene&, const Style&, const Selection&) const;
    QImage picture(const Theme&, int width, int height) const;
    QString named(std::int64_t position) const;

    NeuronMapData data_;
    std::vector<double> limit_;  ///< [row]: the coefficient of the full colour
    double most_strength_ = 0;
    std::vector<double> token_widths_;  ///< measured where the figure is made, beside the window
    std::optional<QSizeF> available_;   ///< that it is laid out for
    NeuronMapLayout at_;
    mutable QImage kept_;
    mutable const Theme* kept_theme_ = nullptr;
};

}  // namespace headlight::figure
