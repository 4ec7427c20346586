// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/base/error.h"
#include "headlight/trace/trace.h"
#include "ui/document/state.h"
#include "ui/map/map_page.h"

#include <filesystem>

namespace headlight::ui {

/// What a .headlight file holds: JSON, "format": "headlight-session", "version": 1 (docs/window.md).
struct Session {
    QString model;  ///< as typed, relative paths made absolute
    State state;
    OpenViews views;
    MapPage map{};
    bool operator==(const Session&) const = default;
};

std::string to_json(const Session&);
/// Errors name the file and the wrong field; missing fields take their defaults.
Session session_from_json(const std::string& json, const std::filesystem::path& file);

/// What of a session's selection the trace does not have, the first field of it; empty: it has all.
std::optional<ErrorFacts> lacking_of(const figure::Selection&, const trace::Trace&, const QString& session_file);

void save_session(const Session&, const std::filesystem::path&);
Session load_session(const std::filesystem::path&);

}  // namespace headlight::ui
