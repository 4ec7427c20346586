// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/figure/core/figure.h"

#include <QObject>

namespace headlight::ui {

/// The one selection of the window. Hover previews, click pins, Ctrl+click adds, Esc clears the hover, then the pins. Knows
/// the bounds of the trace that is shown.
class SelectionModel : public QObject {
    Q_OBJECT
public:
    using QObject::QObject;

    const figure::Selection& get() const { return selection_; }
    std::int64_t layers() const { return layers_; }
    std::int64_t heads() const { return heads_; }
    std::int64_t tokens() const { return tokens_; }

    /// A new trace and what is selected on it; what lies outside is dropped. `keys`: tokens that are attended to, of another
    /// text in a cross attention.
    void reset(std::int64_t layers, std::int64_t heads, std::int64_t tokens, std::int64_t keys, figure::Selection);
    void set(figure::Selection);

    void hover(std::optional<HeadId>, std::optional<Position> query, std::optional<Position> key);
    void hover_head(std::optional<HeadId>);
    void hover_position(std::optional<Position> query);
    void clear_hover();

    /// Pins alone, or with `add` beside the others; pinning what is pinned alone takes the pin away.
    void pin_query(Position, bool add);
    void pin_key(Position, bool add);
    void pin_pair(HeadId, Position query, Position key);
    void clear_pins();
    /// This head alone (its layer too); with `add` beside the active ones when it is of the same layer.
    void focus_head(HeadId, bool add = false);
    void toggle_head(Head);
    /// Followed by the views of MLPs; its layer is the selected one. Following it again lets it go.
    void follow_neuron(analyze::NeuronId);
    /// Only that, with the layer as it is.
    void keep_neuron(analyze::NeuronId);
    void all_heads();

    void step_layer(int by);
    void step_head(int by);
    void step_query(int by);
    /// One step of Esc; false when there was nothing left to clear.
    bool escape();

Q_SIGNALS:
    /// Another trace comes: what is on screen is of the one before.
    void about_to_reset();
    /// `hover_only`: nothing that is kept (undo, sessions) changed.
    void changed(bool hover_only);

private:
    std::vector<Head> every_head() const;
    void clamp(figure::Selection&) const;

    figure::Selection selection_;
    std::int64_t layers_ = 0, heads_ = 0, tokens_ = 0, keys_ = 0;
};

/// Without what only hovers: what undo and sessions keep.
figure::Selection without_hover(figure::Selection);

}  // namespace headlight::ui
