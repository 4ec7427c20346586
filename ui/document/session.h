// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/document/state.h"

#include <filesystem>

namespace headlight::ui {

/// What a .headlight file holds: JSON, "format": "headlight-session", "version": 1 (docs/window.md).
struct Session {
    QString model;  ///< reference as typed; relative paths are made absolute
    State state;
    OpenViews views;
    bool operator==(const Session&) const = default;
};

std::string to_json(const Session&);
/// Error names the file and the field that is wrong; fields that are missing take their defaults.
Session session_from_json(const std::string& json, const std::filesystem::path& file);

void save_session(const Session&, const std::filesystem::path&);
Session load_session(const std::filesystem::path&);

}  // namespace headlight::ui
