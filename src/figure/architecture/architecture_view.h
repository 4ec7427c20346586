// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "figure/core/scene.h"
#include "headlight/figure/architecture/architecture_views.h"
#include "headlight/model/block_list.h"

#include <vector>

namespace headlight::figure {

/// One part of the model in the bar.
struct PartShare {
    std::string part;  ///< "attention"
    std::int64_t parameters = 0;
    double share = 0;  ///< of all
};

class ArchitectureFigure final : public SceneFigure {
public:
    explicit ArchitectureFigure(std::shared_ptr<const model::Model>);

    std::string view() const override { return "architecture"; }
    Table table() const override;
    std::vector<NamedArray> arrays() const override;
    QString title() const override;
    QString description() const override;

    const std::vector<PartShare>& parts() const { return parts_; }

protected:
    QSizeF place(QSizeF available, const Style&, const Selection&) override;
    void draw_on(Scene&, const QRectF& seen, const Style&, const Selection&) const override;

private:
    struct Box {
        QRectF area;
        const model::BlockInfo* block = nullptr;
        QStringList detail;  ///< its lines
    };
    struct Slice {
        QRectF bar, row;
        std::size_t part = 0;
    };
    void place_blocks(const std::vector<model::BlockInfo>&, double& y, double left, double right);
    QColor color_of(const std::string& part, const Style&) const;
    void draw_box(Scene&, const Box&, const Style&) const;
    void draw_stream(Scene&, const Style&) const;
    void draw_parts(Scene&, const Style&) const;

    std::shared_ptr<const model::Model> model_;
    model::BlockList blocks_;
    std::vector<PartShare> parts_;
    std::int64_t total_ = 0;
    std::vector<QString> facts_;

    double stream_x_ = 0, stream_top_ = 0, stream_bottom_ = 0;
    std::vector<Box> boxes_;
    QRectF repeated_;
    QPointF parts_at_;
    double parts_width_ = 0;
    std::vector<Slice> slices_;
};

}  // namespace headlight::figure
