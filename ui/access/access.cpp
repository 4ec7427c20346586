// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/access/access.h"

#include "ui/access/figure_marks.h"
#include "ui/access/parts.h"
#include "ui/document/selection_model.h"
#include "ui/map/map_canvas.h"
#include "ui/panels/prompt/token_strip.h"

#include <QApplication>

#include <algorithm>
#include <optional>
#include <utility>

namespace headlight::ui {

namespace {

/// The marks of a figure.
class CanvasParts : public PaintedParts {
public:
    explicit CanvasParts(FigureCanvas& canvas) : PaintedParts(&canvas, QAccessible::List), canvas_(canvas) {
        // Queued: a child whose method runs may be what has changed the figure.
        QObject::connect(
            &canvas, &FigureCanvas::marks_changed, &alive_, [this] { follow(); }, Qt::QueuedConnection);
    }

    int parts() const override { return int(marks().size()); }
    QString name_of(int part) const override { return in_range(part) ? marks()[std::size_t(part)].name() : QString(); }
    QRect area_of(int part) const override { return in_range(part) ? marks()[std::size_t(part)].area : QRect(); }
    bool selected(int part) const override {
        if (!in_range(part)) return false;
        const figure::Selection& s = canvas_.selection();
        const figure::Hit& hit = marks()[std::size_t(part)].hit;
        const auto pinned = [](const std::vector<Position>& pins, const std::optional<Position>& p) {
            return !p || std::ranges::find(pins, *p) != pins.end();
        };
        if (hit.head && *hit.head != s.focus) return false;
        return (hit.head || hit.query || hit.key) && pinned(s.pinned_queries, hit.query) && pinned(s.pinned_keys, hit.key);
    }
    void press(int part) override {
        if (!in_range(part)) return;
        const figure::Hit hit = marks()[std::size_t(part)].hit;  // a click may show other marks
        Q_EMIT canvas_.clicked(hit, Qt::NoModifier);
    }
    int current() const override {
        for (int i = 0; i < parts(); ++i)
            if (selected(i)) return i;
        return -1;
    }

private:
    bool in_range(int part) const { return part >= 0 && part < int(marks().size()); }

    /// Found again once the canvas shows something else; none while an old figure waits for its successor.
    const std::vector<FigureMark>& marks() const {
        static const std::vector<FigureMark> none;
        if (!canvas_.answers()) return none;
        if (revision_ != canvas_.revision()) {
            std::vector<FigureMark> found = marks_of(canvas_);
            revision_ = canvas_.revision();
            const auto same = [](const FigureMark& a, const FigureMark& b) {
                return a.hit.kind == b.hit.kind && a.hit.tip == b.hit.tip;
            };
            others_ = others_ || (has_children() && !std::ranges::equal(found, marks_, same));
            marks_ = std::move(found);
        }
        return marks_;
    }
    /// Children stand for marks by their index: other marks, other children.
    void follow() {
        if (!canvas_.answers() || !has_children()) return;
        marks();
        if (std::exchange(others_, false)) forget_children();
    }

    FigureCanvas& canvas_;
    QObject alive_;  ///< ends the connections with this
    mutable std::optional<quint64> revision_;
    mutable bool others_ = false;  ///< than the children were made for
    mutable std::vector<FigureMark> marks_;
};

/// The tokens of the strip.
class StripParts : public PaintedParts {
public:
    explicit StripParts(TokenStrip& strip) : PaintedParts(&strip, QAccessible::List), strip_(strip) {}

    int parts() const override { return strip_.count(); }
    QString name_of(int part) const override { return part < parts() ? strip_.spoken(part) : QString(); }
    QRect area_of(int part) const override { return part < parts() ? strip_.rect_of(std::size_t(part)) : QRect(); }
    bool selected(int part) const override { return part < parts() && strip_.pinned(part); }
    void press(int part) override {
        if (part < parts()) strip_.press(part, Qt::NoModifier);
    }
    int current() const override {
        for (int i = parts() - 1; i >= 0; --i)
            if (selected(i)) return i;
        return -1;
    }

private:
    TokenStrip& strip_;
};

/// The screen reader goes to the part that the selection is at, if the widget has the focus.
void announce_current(QWidget* focus) {
    if (!QAccessible::isActive() || !focus || !focus->hasFocus()) return;
    auto* parts = dynamic_cast<PaintedParts*>(QAccessible::queryAccessibleInterface(focus));
    if (!parts) return;
    if (const int current = parts->current(); current >= 0) {
        QAccessibleEvent event(focus, QAccessible::Focus);
        event.setChild(current);
        QAccessible::updateAccessibility(&event);
    }
}

/// The heads of a map, or the points of the one that is shown by itself.
class MapParts : public PaintedParts {
public:
    explicit MapParts(MapCanvas& canvas) : PaintedParts(&canvas, QAccessible::List), canvas_(canvas) {
        QObject::connect(
            &canvas, &MapCanvas::look_changed, &alive_, [this] { follow(); }, Qt::QueuedConnection);
    }

    int parts() const override {
        if (!canvas_.figure()) return 0;
        return int(shown() ? map::point_count(of_map()) : of_map().heads.size());
    }
    QString name_of(int part) const override {
        if (!in_range(part)) return {};
        const QString words =
            shown() ? figure::map_point_words(of_map(), of_map().heads[*shown()], part) : figure::map_head_words(head(part));
        return QString(words).replace(QStringLiteral("  "), QStringLiteral(", "));
    }
    QRect area_of(int part) const override {
        if (!in_range(part)) return {};
        if (!shown()) return canvas_.area_of(id(part)).value_or(QRectF()).toAlignedRect();
        constexpr double reach = 5;
        const auto at = canvas_.place_of({*shown(), part});
        return at ? QRectF(at->x() - reach, at->y() - reach, 2 * reach, 2 * reach).toAlignedRect() : QRect();
    }
    bool selected(int part) const override { return in_range(part) && part == current(); }
    void press(int part) override {
        if (!in_range(part)) return;
        if (const auto single = shown())
            Q_EMIT canvas_.point_clicked({*single, part});
        else
            Q_EMIT canvas_.head_clicked(id(part));
    }
    int current() const override {
        if (!canvas_.figure()) return -1;
        const auto& chosen = canvas_.look().chosen;
        if (shown()) return chosen && chosen->head == *shown() ? chosen->point : -1;
        const auto focus = canvas_.figure()->index_of(canvas_.selection().focus);
        return focus ? int(*focus) : -1;
    }

private:
    const map::QueryKeyMap& of_map() const { return canvas_.figure()->map(); }
    const map::HeadMap& head(int part) const { return of_map().heads[std::size_t(part)]; }
    HeadId id(int part) const { return {head(part).layer, head(part).head}; }
    bool in_range(int part) const { return part >= 0 && part < parts(); }
    /// The head by itself; none: the matrix.
    std::optional<std::size_t> shown() const {
        const auto& single = canvas_.look().single;
        return single ? canvas_.figure()->index_of(*single) : std::nullopt;
    }
    /// Children stand for heads or points by their index: another map or view, other children.
    void follow() {
        const Of now(canvas_.figure().get(), canvas_.look().single);
        if (std::exchange(of_, now) != now) forget_children();
        if (const int at = current(); std::exchange(at_, at) != at) announce_current(&canvas_);
    }

    using Of = std::pair<const void*, std::optional<HeadId>>;  ///< the map, and the head by itself
    MapCanvas& canvas_;
    QObject alive_;  ///< ends the connections with this
    Of of_;
    int at_ = -1;
};

QAccessibleInterface* painted_parts(const QString&, QObject* object) {
    if (auto* canvas = qobject_cast<FigureCanvas*>(object)) return new CanvasParts(*canvas);
    if (auto* map = qobject_cast<MapCanvas*>(object)) return new MapParts(*map);
    if (auto* strip = qobject_cast<TokenStrip*>(object)) return new StripParts(*strip);
    return nullptr;
}

}  // namespace

void make_accessible(SelectionModel& selection) {
    static const bool installed = [] {
        QAccessible::installFactory(painted_parts);
        return true;
    }();
    Q_UNUSED(installed)
    // Queued: after the views have taken it over.
    const auto announce = [](bool hover_only) {
        if (!hover_only) announce_current(QApplication::focusWidget());
    };
    QObject::connect(&selection, &SelectionModel::changed, &selection, announce, Qt::QueuedConnection);
}

}  // namespace headlight::ui
