// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/access/access.h"

#include "ui/access/figure_marks.h"
#include "ui/access/parts.h"
#include "ui/document/selection_model.h"
#include "ui/panels/prompt/token_strip.h"

#include <QApplication>
#include <QScrollBar>

#include <algorithm>

namespace headlight::ui {

namespace {

/// The marks of a figure.
class CanvasParts : public PaintedParts {
public:
    explicit CanvasParts(FigureCanvas& canvas) : PaintedParts(&canvas, QAccessible::List), canvas_(canvas) {}

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
        if (in_range(part)) Q_EMIT canvas_.clicked(marks()[std::size_t(part)].hit, Qt::NoModifier);
    }
    int current() const override {
        for (int i = 0; i < parts(); ++i)
            if (selected(i)) return i;
        return -1;
    }

private:
    bool in_range(int part) const { return part >= 0 && part < int(marks().size()); }

    /// Looked for again once the canvas shows something else.
    const std::vector<FigureMark>& marks() const {
        const Shown now{canvas_.shown().get(),
                        canvas_.viewport()->size(),
                        canvas_.zoom(),
                        {canvas_.horizontalScrollBar()->value(), canvas_.verticalScrollBar()->value()}};
        if (!(now == shown_)) {
            shown_ = now;
            forget_children();
            marks_ = marks_of(canvas_);
        }
        return marks_;
    }

    struct Shown {
        const figure::Figure* figure = nullptr;
        QSize room;
        double zoom = 0;
        QPoint scrolled;
        bool operator==(const Shown&) const = default;
    };
    FigureCanvas& canvas_;
    mutable Shown shown_;
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

QAccessibleInterface* painted_parts(const QString&, QObject* object) {
    if (auto* canvas = qobject_cast<FigureCanvas*>(object)) return new CanvasParts(*canvas);
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
    QObject::connect(&selection, &SelectionModel::changed, &selection, [](bool hover_only) {
        QWidget* focus = QApplication::focusWidget();
        if (hover_only || !QAccessible::isActive() || !focus) return;
        auto* parts = dynamic_cast<PaintedParts*>(QAccessible::queryAccessibleInterface(focus));
        if (!parts) return;
        if (const int current = parts->current(); current >= 0) {
            QAccessibleEvent event(focus, QAccessible::Focus);
            event.setChild(current);
            QAccessible::updateAccessibility(&event);
        }
    });
}

}  // namespace headlight::ui
