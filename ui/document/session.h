// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/base/error.h"
#include "headlight/figure/map/map_request.h"
#include "headlight/intervention/sweep/pairs.h"
#include "headlight/map/gather/gather.h"
#include "headlight/map/options.h"
#include "headlight/map/search/search.h"
#include "headlight/trace/trace.h"
#include "ui/document/state.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <type_traits>

namespace headlight::ui {

/// The map to draw.
struct MapOrder {
    QString texts{};              ///< a file, a folder or a corpus store; empty: the text of the window
    map::GatherOptions gather{};  ///< `heads` is set from one_head
    map::MapOptions options{};
    bool one_head = false;  ///< the selected head alone, of as many tokens as one likes
    bool operator==(const MapOrder&) const = default;
};

template <class Order, class Visit>
requires std::is_same_v<std::remove_const_t<Order>, MapOrder>
void describe(Order& o, const Visit& field) {
    field(Field{"texts", "Texts", "a file, a folder or a corpus store"}.as(FieldKind::file).or_if_empty("the text of the window"),
          o.texts);
    field(Field{"one-head", "The selected head alone",
                "queries and keys of one head fit into memory for far more tokens than those of all"},
          o.one_head);
    figure::describe_projection(o.gather, o.options, field);
}

/// The page of the map as a session keeps it: what it draws and how, without the pointer's doings.
struct MapPage {
    bool open = false;
    MapOrder order{};
    figure::MapLook look{};  ///< what kept_look() leaves of it
    map::SearchKind search_by = map::SearchKind::token;
    QString search{}, sentence{};
    bool operator==(const MapPage&) const = default;
};

template <class Page, class Visit>
requires std::is_same_v<std::remove_const_t<Page>, MapPage>
void describe(Page& p, const Visit& field) {
    field(Field{"open", "", ""}, p.open);
    describe(p.order, field);
    figure::describe_look(p.look, p.order.options.dims, field);
    field(Field{"search", "Search", ""}, p.search);
    field(Field{"search-by", "Kind of search", ""}, p.search_by);
    field(Field{"sentence", "Sentence", ""}, p.sentence);
    field(Field{"zoom", "Zoom", ""}.within(0.5, 200), p.look.zoom);
}

/// A look without marks, rings, lines, guests and lasso, which belong to the texts on screen.
inline figure::MapLook kept_look(const figure::MapLook& look) {
    figure::MapLook kept = look;
    kept.marked.reset();
    kept.marked_words.clear();
    kept.spreads.reset();
    kept.chosen.reset();
    kept.hovered.reset();
    kept.lines.clear();
    kept.guests.reset();
    kept.lasso.clear();
    return kept;
}

/// The numbers of a sweep as a session keeps them.
struct SweepNumbers {
    intervention::SweepRequest asked{};          ///< as it was started, with the texts of the window
    std::shared_ptr<const std::string> lines{};  ///< intervention::SweepRun::kept()
    bool operator==(const SweepNumbers& o) const { return asked == o.asked && (lines == o.lines || *lines == *o.lines); }
};

/// What a .headlight file holds: JSON, "format": "headlight-session", "version": 1 (docs/window.md).
struct Session {
    QString model;  ///< as typed, relative paths made absolute
    State state;
    OpenViews views;
    MapPage map{};
    std::optional<intervention::SweepRequest> sweep{};  ///< what the page of sweeps asks for; none: it was not opened
    std::optional<SweepNumbers> sweep_numbers{};        ///< on that page; none: nothing was swept, or too many to keep
    Page page = Page::text;                             ///< that was open
    bool operator==(const Session&) const = default;
};

/// “The doctor asked the …” on novella-7m
QString caption_of(const Session&);

std::string to_json(const Session&);
/// Errors name the file and the wrong field; missing fields take their defaults.
Session session_from_json(const std::string& json, const std::filesystem::path& file);

/// What of a selection the trace does not have, the first field of it; empty: it has all. `session_file`: where the selection is
/// from; empty: from the command line.
std::optional<ErrorFacts> lacking_of(const figure::Selection&, const trace::Trace&, const QString& session_file);

void save_session(const Session&, const std::filesystem::path&);
Session load_session(const std::filesystem::path&);

}  // namespace headlight::ui
