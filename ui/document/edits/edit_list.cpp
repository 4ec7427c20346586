// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/document/edits/edit_list.h"

#include "headlight/intervention/recipe/words.h"

#include <utility>

namespace headlight::ui {

EditLine edit_line(const QString& typed) {
    EditLine line{.words = typed.simplified(), .on = true};
    // Spaces inside quotation marks are part of a text.
    if (typed.contains(u'"')) line.words = typed.trimmed();
    if (const QString off = QStringLiteral("off "); line.words.startsWith(off)) {
        line.words = line.words.mid(off.size()).trimmed();
        line.on = false;
    }
    return line;
}

ReadEdit read_edit(const EditLine& line) {
    try {
        intervention::Edit edit = intervention::parse_edit(line.words.toStdString());
        edit.on = line.on;
        return {.edit = std::move(edit), .problem = {}};
    } catch (const Error& error) {
        return {.edit = {}, .problem = error.facts()};
    }
}

intervention::Recipe recipe_of(const EditList& list, bool off) {
    intervention::Recipe recipe{.names = list.names, .seed = list.seed};
    for (const EditLine& line : list.lines) {
        if (!line.on && !off) continue;
        if (auto read = read_edit(line); read.edit) recipe.edits.push_back(std::move(*read.edit));
    }
    return recipe;
}

EditList edit_list(const intervention::Recipe& recipe) {
    EditList list{.lines = {}, .names = recipe.names, .seed = recipe.seed};
    for (intervention::Edit edit : recipe.edits) {
        const bool on = std::exchange(edit.on, true);
        list.lines.push_back({.words = QString::fromStdString(intervention::words_of(edit)), .on = on});
    }
    return list;
}

bool any_edit(const EditList& list) { return recipe_of(list).any(); }

std::optional<std::size_t> changed_line(const EditList& a, const EditList& b) {
    if (a.names != b.names || a.seed != b.seed || a.watched != b.watched || a.against != b.against ||
        a.watched_at != b.watched_at)
        return std::nullopt;
    std::optional<std::size_t> changed;
    if (b.lines.size() == a.lines.size() + 1)
        changed = a.lines.size();
    else if (b.lines.size() != a.lines.size())
        return std::nullopt;
    for (std::size_t i = 0; i < a.lines.size(); ++i) {
        if (a.lines[i] == b.lines[i]) continue;
        if (changed || a.lines[i].on != b.lines[i].on) return std::nullopt;
        changed = i;
    }
    return changed;
}

}  // namespace headlight::ui
