// SPDX-License-Identifier: GPL-3.0-or-later
// The matrix view's class; its painting is in matrix_paint.cpp.
#pragma once

#include "figure/core/draw.h"
#include "figure/core/own_scale.h"
#include "figure/pattern/head/head_lines.h"
#include "figure/pattern/matrix/matrix_layout.h"
#include "figure/pattern/matrix/matrix_view.h"
#include "figure/pattern/matrix/mip_pyramid.h"
#include "headlight/base/memory_account.h"

#include <QImage>

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <optional>

namespace headlight::figure {

class MatrixFigure : public Figure, public OwnScale {
public:
    explicit MatrixFigure(MatrixViewData);

    std::string view() const override { return data_.view; }
    QSizeF layout(QSizeF available, const Style&, const Selection&) override;
    void paint(QPainter&, const QRectF& exposed, const Style&, const Selection&) const override;
    Hit hit_test(QPointF, const Style&, const Selection&) const override;
    Table table() const override;
    std::vector<NamedArray> arrays() const override;
    QString title() const override;
    QString description() const override;
    bool zoomable() const override { return true; }
    double max_zoom() const override { return std::max(1.0, 80 / layout_.cell); }
    bool absolute() const override { return full_ == 1; }
    std::vector<ScaleEnds> scale_ends() const override { return {{0, full_}}; }
    void widen(const std::vector<ScaleEnds>& ends) override { full_ = ends.front().high; }
    bool refining() const override { return wanted_.has_value(); }
    Sharpening sharpening() override;

private:
    struct Frame;  ///< one paint call; in px on screen
    struct Panel;  ///< one map of it

    /// What the cells' colours depend on, and they.
    struct Pyramids {
        Transfer transfer;
        double full = 1;
        std::vector<std::shared_ptr<const MipPyramid>> maps;
    };
    struct Tiles {
        std::shared_ptr<const Pyramids> of;
        const Theme* theme = nullptr;
        Ramp ramp{};
        std::map<std::array<std::int64_t, 4>, QImage> images;  ///< by panel, level, row and column of tiles
    };

    /// Those of signed maps, which depend on neither, are the same as `before` if there is any.
    static std::shared_ptr<const Pyramids> pyramids_as(const MatrixViewData&, const Transfer&, double full,
                                                       const Pyramids* before, const CancelToken&);
    /// Those of the style, or for a moment those before it: large ones are made beside the painting.
    void choose_pyramids(const Style&) const;
    const MipPyramid& pyramid(std::size_t panel) const { return *(*pyramids_)->maps[panel]; }
    Panel panel(std::size_t index, const QRectF& view, double zoom) const;
    Hit pair_hit(std::size_t panel, std::int64_t row, std::int64_t col, const QRectF& area) const;
    bool legal(std::size_t panel, std::int64_t row, std::int64_t col) const;

    void paint_header(const Frame&) const;
    void paint_legend(const Frame&) const;
    /// Two scales do not fit beside each other.
    bool stacks_scales(double width) const { return data_.diverging && data_.signed_from > 0 && width < 480; }
    QStringList standing_notes(const Style&) const;  ///< of the legend, whatever the zoom
    /// A note about labels that the size leaves out, of so many rows and columns.
    QStringList missing_labels(double cell, std::int64_t rows, std::int64_t columns) const;
    void paint_mark_names(const Frame&, double left, double y) const;
    std::array<QRgb, 256> colors(const Frame&, std::size_t map) const;
    void paint_absent(const Frame&, const Panel&) const;
    void paint_panel(const Frame&, const Panel&) const;
    void paint_cells(const Frame&, const Panel&) const;
    void paint_tiles(const Frame&, const Panel&) const;
    void paint_numbers(const Frame&, const Panel&) const;
    void paint_marks(const Frame&, const Panel&) const;
    void paint_row_labels(const Frame&, const Panel&) const;
    void paint_column_labels(const Frame&, const Panel&) const;
    void paint_captions(const Frame&, const Panel&) const;
    void paint_sums(const Frame&, const Panel&) const;

    std::shared_ptr<const MatrixViewData> held_;
    const MatrixViewData& data_ = *held_;
    double full_ = data_.full;
    std::vector<draw::Label> query_labels_, key_labels_;
    std::vector<double> query_widths_, key_widths_;
    std::vector<Eigen::VectorXd> row_sums_, column_sums_;  ///< of each map, with data_.sums
    MatrixLayout layout_;
    int note_lines_ = 1;
    /// Figures are painted by one thread; what is made beside it is put here, whether or not the figure is still there.
    std::shared_ptr<std::shared_ptr<const Pyramids>> pyramids_ = std::make_shared<std::shared_ptr<const Pyramids>>();
    mutable std::optional<Transfer> wanted_;  ///< of large ones
    std::weak_ptr<const void> busy_;          ///< held by the thread that makes them
    mutable Tiles tiles_;
    mutable QRectF view_;
    mutable MemoryAccount account_{MemoryUse::pictures};  ///< of maps and pyramids, which go with the figure
    mutable std::atomic<bool> gives_up_ = false;          ///< the next frame begins without tiles: only its thread touches them
    mutable MemoryAccount tiles_account_{MemoryUse::pictures, [this](std::int64_t) {
                                             gives_up_ = true;
                                             return tiles_account_.bytes();
                                         }};
};

}  // namespace headlight::figure
