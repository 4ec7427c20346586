// SPDX-License-Identifier: GPL-3.0-or-later
// The document's recipe: lines come, change and go, and B follows.
#include "headlight/intervention/recipe/words.h"
#include "ui/document/document.h"

#include <algorithm>

namespace headlight::ui {

void Document::set_edits(const EditList& edits) {
    // What has no edit yet shows A: the first one is to be seen.
    change_edits(edits, !has_other());
}

void Document::change_edits(const EditList& edits, bool show) {
    ViewOptions options = options_;
    options.edits = edits;
    if (show && options.side == figure::Side::a && !options.both_sides && any_edit(edits)) options.side = figure::Side::b;
    set_options(options);
}

void Document::add_edit(const QString& words) { add_edits({words}); }

void Document::add_edits(const QStringList& words) {
    EditList edits = options_.edits;
    for (const QString& each : words) edits.lines.push_back(edit_line(each));
    change_edits(edits, true);
}

void Document::put_edit(const QString& beginning, const QString& words) {
    EditList edits = options_.edits;
    const auto there =
        std::ranges::find_if(edits.lines, [&](const EditLine& line) { return line.on && line.words.startsWith(beginning); });
    if (there == edits.lines.end()) return add_edit(words);
    there->words = words;
    change_edits(edits, true);
}

void Document::set_edit(std::size_t line, const QString& words) {
    EditList edits = options_.edits;
    if (line >= edits.lines.size()) return;
    const EditLine typed = edit_line(words);
    edits.lines[line].words = typed.words;
    if (!typed.on) edits.lines[line].on = false;
    set_edits(edits);
}

void Document::enable_edit(std::size_t line, bool on) {
    EditList edits = options_.edits;
    if (line >= edits.lines.size()) return;
    edits.lines[line].on = on;
    set_edits(edits);
}

void Document::remove_edit(std::size_t line) {
    EditList edits = options_.edits;
    if (line >= edits.lines.size()) return;
    edits.lines.erase(edits.lines.begin() + static_cast<std::ptrdiff_t>(line));
    set_edits(edits);
}

void Document::move_edit(std::size_t from, std::size_t to) {
    EditList edits = options_.edits;
    if (from >= edits.lines.size() || to >= edits.lines.size() || from == to) return;
    const auto at = [&](std::size_t i) { return edits.lines.begin() + static_cast<std::ptrdiff_t>(i); };
    if (from < to)
        std::rotate(at(from), at(from) + 1, at(to) + 1);
    else
        std::rotate(at(to), at(from), at(from) + 1);
    set_edits(edits);
}

std::optional<ErrorFacts> Document::problem_of_edit(std::size_t line) const {
    if (line >= options_.edits.lines.size()) return std::nullopt;
    const EditLine& of = options_.edits.lines[line];
    const ReadEdit read = read_edit(of);
    if (!read.edit) return read.problem;
    if (!of.on) return std::nullopt;
    const auto& problems = other_.problems_of_edits();
    const auto found = problems.find(intervention::words_of(*read.edit));
    return found == problems.end() ? std::nullopt : std::optional(found->second);
}

QStringList Document::notes_of_edit(std::size_t line) const {
    QStringList notes;
    if (line >= options_.edits.lines.size() || !options_.edits.lines[line].on) return notes;
    const ReadEdit read = read_edit(options_.edits.lines[line]);
    if (!read.edit) return notes;
    const std::string words = intervention::words_of(*read.edit) + ": ";
    for (const std::string& note : other_.notes())
        if (note.starts_with(words)) notes << QString::fromStdString(note.substr(words.size()));
    return notes;
}

}  // namespace headlight::ui
