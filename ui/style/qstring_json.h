// SPDX-License-Identifier: GPL-3.0-or-later
// Texts of Qt in JSON, as UTF-8.
#pragma once

#include <QString>
#include <nlohmann/json.hpp>

#include <string>

template <>
struct nlohmann::adl_serializer<QString> {
    static void to_json(json& to, const QString& text) { to = text.toStdString(); }
    static void from_json(const json& from, QString& text) { text = QString::fromStdString(from.get<std::string>()); }
};
