// SPDX-License-Identifier: GPL-3.0-or-later
// Requests (headlight/base/fields.h) in the settings of the user, next to JSON of sessions.
#pragma once

#include "headlight/io/fields_json.h"

#include <QLatin1String>
#include <QSettings>
#include <QString>

namespace headlight::ui {

template <class Request>
void store_fields(const char* group, const Request& request) {
    QSettings().setValue(QLatin1String(group), QString::fromStdString(io::fields_json(request).dump()));
}
/// What cannot be read, of an older version for example, leaves the request as it is.
template <class Request>
void restore_fields(const char* group, Request& request) {
    const std::string stored = QSettings().value(QLatin1String(group)).toString().toStdString();
    Request read = request;
    const auto object = nlohmann::json::parse(stored, nullptr, false);
    if (!object.is_object()) return;
    try {
        io::read_fields(object, read, group);
    } catch (const Error&) {
        return;
    }
    request = read;
}

}  // namespace headlight::ui
