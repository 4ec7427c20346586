// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/prediction/token_lines.h"

#include <algorithm>

namespace headlight::figure {
namespace {

const QFont& token_font() { return ui_font(13); }

}  // namespace

double TokenLines::layout(const std::vector<analyze::AxisItem>& items, QPointF top_left, double width) {
    boxes_.clear();
    gutter_ = std::ceil(draw::positions_width(items, token_font()));
    left_ = top_left.x() + gutter_;
    width -= gutter_;
    for (std::size_t i = labels_.size(); i < items.size(); ++i) {
        labels_.push_back(draw::label_of(items[i]));
        widths_.push_back(std::max(14.0, draw::token_width(labels_.back(), token_font()) + 10));
    }
    double x = left_, y = top_left.y();
    for (const double least : widths_) {
        const double wide = std::min(width, least);
        if (x > left_ && x + wide > left_ + width) {
            x = left_;
            y += line_height;
        }
        boxes_.emplace_back(x, y + 2, wide, line_height - 4);
        x += wide + 2;
    }
    height_ = items.empty() ? 0 : y + line_height - top_left.y();
    return height_;
}

void TokenLines::draw_on(Scene& out, const QRectF& seen, const Theme& theme, const std::function<QColor(std::size_t)>& color,
                         const std::function<void(Position, const QRectF&)>& means, std::optional<Position> ringed) const {
    for (std::size_t i = 0; i < boxes_.size(); ++i) {
        if (boxes_[i].bottom() < seen.top() || boxes_[i].top() > seen.bottom()) continue;
        const Position position(static_cast<std::int64_t>(i));
        if (gutter_ > 0 && boxes_[i].left() == left_)
            out.number({left_ - 4, draw::centred_baseline(boxes_[i].center().y(), token_font())}, QString::number(i),
                       draw::position_font(token_font()), theme.muted);
        const QColor fill = color(i);
        if (fill.isValid()) out.box(boxes_[i], 3, fill);
        if (ringed == position) out.box(boxes_[i], 3, QColor(Qt::transparent), theme.accent, 1.5);
        out.token(boxes_[i].adjusted(5, 0, -4, 0), labels_[i], token_font(), draw::Align::left,
                  fill.isValid() ? text_on(theme, fill) : QColor());
        means(position, boxes_[i]);
    }
}

}  // namespace headlight::figure
