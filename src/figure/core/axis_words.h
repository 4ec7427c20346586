// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/analyze/pattern/pattern_view.h"
#include "headlight/analyze/table.h"
#include "headlight/trace/trace.h"

#include <QString>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace headlight::figure {

/// Names of the two sides of a pattern. In cross attention rows are tokens of the target and columns tokens of the source, so
/// a position alone does not tell which text it belongs to.
struct AxisWords {
    bool across = false;
    bool followed = false;         ///< across layers: rows are states after a layer, columns inputs
    QString rows{}, across_top{};  ///< of a map that is not of tokens: "layer of A"

    QString query() const { return across ? QStringLiteral("target") : QStringLiteral("query"); }
    QString key() const { return across ? QStringLiteral("source") : QStringLiteral("key"); }
    QString queries() const {
        return !rows.isEmpty() ? QStringLiteral("rows") : across ? QStringLiteral("target tokens") : QStringLiteral("queries");
    }
    QString keys() const {
        return !rows.isEmpty() ? QStringLiteral("columns") : across ? QStringLiteral("source tokens") : QStringLiteral("keys");
    }
    QString query_caption() const {
        if (!rows.isEmpty()) return rows;
        if (followed) return across ? QStringLiteral("target after the layer") : QStringLiteral("token after the layer");
        return query() + QStringLiteral(" (attends)");
    }
    QString key_caption() const {
        if (!across_top.isEmpty()) return across_top;
        if (followed) return across ? QStringLiteral("input of the source") : QStringLiteral("input token");
        return key() + QStringLiteral(" (attended to)");
    }
    /// A token with its position, as in hovers and tips: "cat (4)", "source cat (4)".
    QString named_query(const QString& token) const { return across ? query() + u' ' + token : token; }
    QString named_key(const QString& token) const { return across ? key() + u' ' + token : token; }
    /// Columns of a table: "query_token" is "target_token".
    std::vector<std::string> columns(std::vector<std::string> names) const {
        if (!across) return names;
        for (std::string& name : names) {
            if (name.starts_with("query")) name.replace(0, 5, "target");
            if (name == "key" || name.starts_with("key_")) name.replace(0, 3, "source");
        }
        return names;
    }
};

/// What a row or column selects; tokens of another text than the selection's have negative positions, and select nothing.
inline std::optional<Position> selected_by(const analyze::AxisItem& item) {
    return item.first.value < 0 ? std::nullopt : std::optional(item.first);
}

inline AxisWords axis_words(const trace::Trace& trace) { return {.across = trace.across_texts()}; }

/// The first position of each row and column of a map.
inline void add_positions(std::vector<analyze::NamedArray>& arrays, const analyze::PatternAxes& axes) {
    for (const auto& [name, items] : {std::pair("query_positions", &axes.queries), std::pair("key_positions", &axes.keys)}) {
        std::vector<std::int64_t> positions;
        for (const analyze::AxisItem& item : *items) positions.push_back(item.first.value);
        arrays.push_back(analyze::integer_array(name, std::move(positions)));
    }
}

/// The attention of an encoder-decoder model, for titles; empty for other models.
inline QString attention_name(const model::ModelConfig& config) {
    switch (config.stack) {
        case model::Stack::encoder: return QStringLiteral("encoder");
        case model::Stack::decoder: return QStringLiteral("decoder");
        case model::Stack::cross: return QStringLiteral("cross attention");
        case model::Stack::whole: break;
    }
    return {};
}

/// A name in front of a sentence or as a title.
inline QString capitalized(QString name) {
    if (!name.isEmpty()) name[0] = name[0].toUpper();
    return name;
}

/// "Layer 1 · encoder"
inline QString with_attention(const QString& title, const QString& attention) {
    return attention.isEmpty() ? title : title + QStringLiteral(" · ") + attention;
}

}  // namespace headlight::figure
