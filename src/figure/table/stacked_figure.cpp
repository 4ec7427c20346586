// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/table/stacked_figure.h"

#include "figure/core/own_scale.h"
#include "figure/core/saved_state.h"
#include "headlight/figure/core/opened_part.h"

#include <algorithm>
#include <iterator>

namespace headlight::figure {
namespace {

class StackedFigure final : public Figure, public OpensPart, public OwnScale {
public:
    explicit StackedFigure(StackedParts parts) : in_(std::move(parts)), at_(in_.parts.size()) {}
    std::string view() const override { return in_.view; }
    QString title() const override { return in_.title; }
    QString description() const override { return in_.description; }
    QSizeF layout(QSizeF available, const Style& style, const Selection& selection) override {
        if (in_.across && available.width() >= 320 * static_cast<double>(in_.parts.size()))
            return arranged({available.width() / static_cast<double>(in_.parts.size()), 0}, true, style, selection);
        if (style.exporting && available.height() > 0) return on_paper(available, style, selection);
        const QSizeF size = arranged(available, false, style, selection);
        // A table may need more room than there is; plots beside it then use as much.
        return size.width() > available.width() + 1 ? arranged({size.width(), available.height()}, false, style, selection)
                                                    : size;
    }
    void paint(QPainter& painter, const QRectF& exposed, const Style& style, const Selection& selection) const override {
        for (std::size_t i = 0; i < in_.parts.size(); ++i) {
            const QRectF part = exposed & at_[i];
            if (part.isEmpty()) continue;
            const draw::SavedState saved(painter);
            painter.translate(at_[i].topLeft());
            in_.parts[i]->paint(painter, part.translated(-at_[i].topLeft()), style, selection);
        }
    }
    bool refining() const override {
        return std::ranges::any_of(in_.parts, [](const auto& part) { return part->refining(); });
    }
    Sharpening sharpening() override {
        for (const auto& part : in_.parts)
            if (Sharpening work = part->sharpening()) return work;
        return {};
    }
    Hit hit_test(QPointF point, const Style& style, const Selection& selection) const override {
        for (std::size_t i = 0; i < in_.parts.size(); ++i) {
            if (!at_[i].contains(point)) continue;
            Hit hit = in_.parts[i]->hit_test(point - at_[i].topLeft(), style, selection);
            hit.area.translate(at_[i].topLeft());
            return hit;
        }
        return {};
    }
    std::optional<std::vector<MarkPlace>> marks(const Style& style, const Selection& selection) const override {
        std::vector<MarkPlace> all;
        for (std::size_t i = 0; i < in_.parts.size(); ++i) {
            auto of_part = in_.parts[i]->marks(style, selection);
            if (!of_part) return std::nullopt;
            for (MarkPlace& mark : *of_part) {
                mark.hit.area.translate(at_[i].topLeft());
                mark.point += at_[i].topLeft();
                all.push_back(std::move(mark));
            }
        }
        return all;
    }
    std::optional<QRectF> place_of_head(HeadId head) const override {
        for (std::size_t i = 0; i < in_.parts.size(); ++i)
            if (const auto place = in_.parts[i]->place_of_head(head)) return place->translated(at_[i].topLeft());
        return std::nullopt;
    }
    Table table() const override { return in_.table ? in_.table() : in_.parts.front()->table(); }
    std::vector<NamedArray> arrays() const override { return in_.arrays ? in_.arrays() : in_.parts.front()->arrays(); }
    bool absolute() const override {
        return std::ranges::all_of(in_.parts, [](const auto& part) {
            const auto* scaled = dynamic_cast<const OwnScale*>(part.get());
            return !scaled || scaled->absolute();
        });
    }
    std::vector<ScaleEnds> scale_ends() const override {
        std::vector<ScaleEnds> ends;
        for (const auto& part : in_.parts)
            if (const auto* scaled = dynamic_cast<const OwnScale*>(part.get()))
                std::ranges::copy(scaled->scale_ends(), std::back_inserter(ends));
        return ends;
    }
    void widen(const std::vector<ScaleEnds>& ends) override {
        auto next = ends.begin();
        for (const auto& part : in_.parts)
            if (auto* scaled = dynamic_cast<OwnScale*>(part.get())) {
                const auto count = std::ssize(scaled->scale_ends());
                scaled->widen({next, next + count});
                next += count;
            }
    }
    std::optional<QRectF> opened_part() const override {
        if (in_.opened == 0) return std::nullopt;
        return at_[in_.opened].united(at_.back());
    }

private:
    /// In a file of a height, each part gives up as much of its own as it can.
    QSizeF on_paper(QSizeF available, const Style& style, const Selection& selection) {
        QSizeF size = arranged({available.width(), 0}, false, style, selection);
        if (size.height() <= available.height()) return size;
        const double share = available.height() / size.height();
        double y = 0;
        for (std::size_t i = 0; i < in_.parts.size(); ++i) {
            const QSizeF inset(at_[i].left(), i == 0 ? at_[i].top() : 0);
            const QSizeF part = in_.parts[i]->layout({size.width() - inset.width(), share * at_[i].height()}, style, selection);
            at_[i] = {QPointF(inset.width(), y + inset.height()), part};
            y = at_[i].bottom();
        }
        return {size.width(), y};
    }
    /// Under or beside each other, each in this room; a height of it is the first part's alone.
    QSizeF arranged(QSizeF room, bool across, const Style& style, const Selection& selection) {
        double x = 0, y = 0, width = 0, height = 0;
        for (std::size_t i = 0; i < in_.parts.size(); ++i) {
            const QPointF inset = i == 0 ? in_.inset : QPointF();
            const double room_below = i == 0 && in_.fits_first && !across ? room.height() - inset.y() : 0;
            const QSizeF size = in_.parts[i]->layout({room.width() - inset.x(), room_below}, style, selection);
            at_[i] = {QPointF(x, y) + inset, size};
            const double wide = inset.x() + size.width(), high = inset.y() + size.height();
            width = std::max(width, x + wide);
            height = std::max(height, y + high);
            (across ? x : y) += across ? wide : high;
        }
        return {width, height};
    }

    StackedParts in_;
    std::vector<QRectF> at_;
};

}  // namespace

std::unique_ptr<Figure> stacked_figure(StackedParts parts) { return std::make_unique<StackedFigure>(std::move(parts)); }

}  // namespace headlight::figure
