// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/document/selection_model.h"

#include <algorithm>

namespace headlight::ui {

namespace {

void pin(std::vector<Position>& pins, Position position, bool add) {
    const auto found = std::find(pins.begin(), pins.end(), position);
    if (add) {
        if (found != pins.end()) {
            pins.erase(found);
        } else {
            pins.push_back(position);
        }
    } else if (pins.size() == 1 && found != pins.end()) {
        pins.clear();
    } else {
        pins = {position};
    }
}

}  // namespace

figure::Selection without_hover(figure::Selection s) {
    s.hover_head.reset();
    s.hover_query.reset();
    s.hover_key.reset();
    return s;
}

std::vector<Head> SelectionModel::every_head() const {
    std::vector<Head> all;
    for (std::int64_t h = 0; h < heads_; ++h) all.push_back(Head(h));
    return all;
}

void SelectionModel::clamp(figure::Selection& s) const {
    const auto no_query = [this](Position p) { return p.value < 0 || p.value >= tokens_; };
    const auto no_key = [this](Position p) { return p.value < 0 || p.value >= keys_; };
    std::erase_if(s.pinned_queries, no_query);
    std::erase_if(s.pinned_keys, no_key);
    if (s.hover_query && no_query(*s.hover_query)) s.hover_query.reset();
    if (s.hover_key && no_key(*s.hover_key)) s.hover_key.reset();
    if (s.hover_head && (s.hover_head->layer.value >= layers_ || s.hover_head->head.value >= heads_)) s.hover_head.reset();
    if (s.pinned_queries.empty()) s.found_pins = false;
    if (layers_ == 0) return;
    if (s.neuron && (s.neuron->layer.value < 0 || s.neuron->layer.value >= layers_)) s.neuron.reset();
    s.layer = Layer(std::clamp<std::int64_t>(s.layer.value, 0, layers_ - 1));
    std::erase_if(s.heads, [this](Head h) { return h.value < 0 || h.value >= heads_; });
    std::sort(s.heads.begin(), s.heads.end());
    s.heads.erase(std::unique(s.heads.begin(), s.heads.end()), s.heads.end());
    if (s.heads.empty()) s.heads = every_head();
    s.focus.layer = s.layer;
    if (!std::binary_search(s.heads.begin(), s.heads.end(), s.focus.head)) s.focus.head = s.heads.front();
}

void SelectionModel::reset(std::int64_t layers, std::int64_t heads, std::int64_t tokens, std::int64_t keys, figure::Selection s) {
    Q_EMIT about_to_reset();
    layers_ = layers;
    heads_ = heads;
    tokens_ = tokens;
    keys_ = keys;
    set(std::move(s));
}

void SelectionModel::set(figure::Selection s) {
    clamp(s);
    if (s == selection_) return;
    const bool hover_only = without_hover(s) == without_hover(selection_);
    selection_ = std::move(s);
    Q_EMIT changed(hover_only);
}

void SelectionModel::hover(std::optional<HeadId> head, std::optional<Position> query, std::optional<Position> key) {
    figure::Selection s = selection_;
    s.hover_head = head;
    s.hover_query = query;
    s.hover_key = key;
    set(std::move(s));
}

void SelectionModel::hover_head(std::optional<HeadId> head) { hover(head, std::nullopt, std::nullopt); }
void SelectionModel::hover_position(std::optional<Position> query) { hover(std::nullopt, query, std::nullopt); }
void SelectionModel::clear_hover() { hover(std::nullopt, std::nullopt, std::nullopt); }

void SelectionModel::pin_query(Position position, bool add) {
    figure::Selection s = selection_;
    pin(s.pinned_queries, position, add);
    s.found_pins = false;
    set(std::move(s));
}

void SelectionModel::pin_key(Position position, bool add) {
    figure::Selection s = selection_;
    pin(s.pinned_keys, position, add);
    set(std::move(s));
}

void SelectionModel::pin_pair(HeadId head, Position query, Position key) {
    figure::Selection s = selection_;
    if (s.layer != head.layer) s.heads = {head.head};
    s.layer = head.layer;
    s.focus = head;
    if (!std::binary_search(s.heads.begin(), s.heads.end(), head.head)) s.heads = {head.head};
    s.pinned_queries = {query};
    s.pinned_keys = {key};
    s.found_pins = false;
    set(std::move(s));
}

void SelectionModel::clear_pins() {
    figure::Selection s = without_hover(selection_);
    s.pinned_queries.clear();
    s.pinned_keys.clear();
    set(std::move(s));
}

void SelectionModel::focus_head(HeadId head, bool add) {
    figure::Selection s = selection_;
    if (add && head.layer == s.layer) {
        s.heads.push_back(head.head);
    } else {
        s.heads = {head.head};
    }
    s.layer = head.layer;
    s.focus = head;
    set(std::move(s));
}

void SelectionModel::toggle_head(Head head) {
    figure::Selection s = selection_;
    const auto found = std::find(s.heads.begin(), s.heads.end(), head);
    if (found == s.heads.end()) {
        s.heads.push_back(head);
        s.focus.head = head;
    } else if (s.heads.size() > 1) {
        s.heads.erase(found);
    }
    set(std::move(s));
}

void SelectionModel::follow_neuron(analyze::NeuronId id) {
    figure::Selection s = selection_;
    if (s.neuron == id) {
        s.neuron.reset();
    } else {
        s.neuron = id;
        s.layer = id.layer;
    }
    set(std::move(s));
}

void SelectionModel::keep_neuron(analyze::NeuronId id) {
    figure::Selection s = selection_;
    s.neuron = id;
    set(std::move(s));
}

void SelectionModel::all_heads() {
    figure::Selection s = selection_;
    s.heads = every_head();
    set(std::move(s));
}

void SelectionModel::step_layer(int by) {
    figure::Selection s = without_hover(selection_);
    s.layer = Layer(s.layer.value + by);
    s.focus.layer = s.layer;
    set(std::move(s));
}

void SelectionModel::step_head(int by) {
    if (heads_ == 0) return;
    const std::int64_t next = ((selection_.focus.head.value + by) % heads_ + heads_) % heads_;
    figure::Selection s = without_hover(selection_);
    s.heads = {Head(next)};
    s.focus.head = Head(next);
    set(std::move(s));
}

void SelectionModel::step_query(int by) {
    if (tokens_ == 0) return;
    figure::Selection s = without_hover(selection_);
    const auto now = s.query();
    const std::int64_t next = now ? std::clamp<std::int64_t>(now->value + by, 0, tokens_ - 1) : (by > 0 ? 0 : tokens_ - 1);
    s.pinned_queries = {Position(next)};
    s.found_pins = false;
    set(std::move(s));
}

bool SelectionModel::escape() {
    const figure::Selection& s = selection_;
    if (s.hover_head || s.hover_query || s.hover_key) {
        clear_hover();
    } else if (!s.pinned_queries.empty() || !s.pinned_keys.empty()) {
        clear_pins();
    } else {
        return false;
    }
    return true;
}

}  // namespace headlight::ui
