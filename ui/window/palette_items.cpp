// SPDX-License-Identifier: GPL-3.0-or-later
// What the palette finds: commands, exports, measures, heads and tokens.
#include "ui/window/main_window.h"

#include "headlight/analyze/heads/head_table.h"

#include <QRegularExpression>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <span>

namespace headlight::ui {

namespace {

constexpr std::size_t most_found = 200;  ///< places of a text that a list shows; a list of thousands is not read

/// The words around bytes [begin, end) of a text, on one line.
QString words_around(std::string_view text, std::int64_t begin, std::int64_t end) {
    constexpr std::int64_t around = 32;
    const auto size = std::int64_t(text.size());
    const auto inside = [&](std::int64_t at) {
        return at > 0 && at < size && (static_cast<unsigned char>(text[std::size_t(at)]) & 0xC0) == 0x80;
    };
    std::int64_t from = std::clamp<std::int64_t>(begin - around, 0, size),
                 to = std::clamp<std::int64_t>(end + around, from, size);
    while (inside(from)) ++from;  // not in the middle of a character
    while (inside(to)) --to;
    QString words = QString::fromUtf8(text.data() + from, to - from).simplified();
    if (from > 0) words.prepend(u'…');
    if (to < size) words.append(u'…');
    return words;
}

}  // namespace

PaletteItem MainWindow::place_item(const QString& text, const QString& note, Position at, bool of_source) const {
    return {.text = text,
            .note = note,
            .chosen =
                [this, at, of_source, of = std::weak_ptr(document_->trace())] {
                    if (of.lock() != document_->trace())
                        return status_->say(QStringLiteral("The text has changed: search again"));
                    if (of_source) return document_->selection().pin_key(at, false);
                    document_->selection().pin_query(at, false);
                    prompt_bar_->tokens().reveal(at);
                },
            .loose = false};
}

/// Tokens to pin that have the text (all, if it is empty), each with its match_score(); no more than a person looks through.
std::vector<PaletteItem> MainWindow::token_items(const QString& typed) const {
    std::vector<PaletteItem> items;
    if (!document_->trace()) return items;
    const trace::Trace& trace = *document_->trace();
    const bool across = trace.across_texts();
    const bool with_words = !across && !trace.part(model::Stack::cross) && trace.tokens() >= figure::long_text;
    const auto add = [&](const std::vector<text::TokenLabel>& labels, const QString& where, bool of_source) {
        for (std::size_t i = 0; i < labels.size() && items.size() < most_found; ++i) {
            const QString text = QString::fromStdString(labels[i].continuation + labels[i].text);
            const int score = match_score(typed, QString(text).remove(u'·'), false);
            if (score < 0) continue;
            PaletteItem item = place_item(text, where.arg(i), Position(std::int64_t(i)), of_source);
            const text::Encoding& encoding = of_source ? trace.key_encoding() : trace.encoding();
            // Of the many places of a long text the words around tell which one it is.
            if (with_words && i < encoding.offsets.size() && encoding.sequence[i] == 0)
                item.text +=
                    QStringLiteral("   ") + words_around(trace.text_a(), encoding.offsets[i].begin, encoding.offsets[i].end);
            item.rank = score;
            items.push_back(std::move(item));
        }
    };
    add(trace.labels(), across ? QStringLiteral("target %1") : QStringLiteral("position %1"), false);
    if (across) add(trace.key_labels(), QStringLiteral("source %1"), true);
    return items;
}

/// A position by its number; else tokens that have the text, and places where the text runs over several.
std::vector<PaletteItem> MainWindow::places_for(const QString& typed) const {
    std::vector<PaletteItem> items;
    const auto& trace = document_->trace();
    if (!trace) return items;
    bool is_number = false;
    const std::int64_t number = typed.toLongLong(&is_number);
    if (is_number && number >= 0 && number < trace->tokens())
        items.push_back(place_item(QString::fromStdString(trace->labels()[std::size_t(number)].text),
                                   QStringLiteral("position %1").arg(number), Position(number), false));
    for (PaletteItem& item : token_items(typed)) items.push_back(std::move(item));
    if (trace->across_texts() || trace->part(model::Stack::cross) || items.size() >= most_found) return items;
    const std::string& bytes_of_text = trace->text_a();
    const QString text = QString::fromStdString(bytes_of_text);
    const text::Encoding& encoding = trace->encoding();
    std::size_t token = 0;
    qsizetype counted = 0;
    std::int64_t bytes = 0;  // of the text up to `counted`
    for (qsizetype at = text.indexOf(typed, 0, Qt::CaseInsensitive); at >= 0 && items.size() < most_found;
         at = text.indexOf(typed, at + 1, Qt::CaseInsensitive)) {
        bytes += QStringView(text).mid(counted, at - counted).toUtf8().size();
        counted = at;
        const std::int64_t end = bytes + QStringView(text).mid(at, typed.size()).toUtf8().size();
        while (token < encoding.offsets.size() && (encoding.sequence[token] != 0 || encoding.offsets[token].end <= bytes))
            ++token;
        if (token == encoding.offsets.size()) break;
        if (encoding.offsets[token].end >= end) continue;  // within one token, which is found by its label
        PaletteItem item = place_item(words_around(bytes_of_text, bytes, end), QStringLiteral("position %1").arg(token),
                                      Position(std::int64_t(token)), false);
        item.rank = 0;
        items.push_back(std::move(item));
    }
    return items;
}

/// "L4H5", "4.5", "L4": heads; else tokens that have the text.
std::vector<PaletteItem> MainWindow::items_for(const QString& typed) {
    std::vector<PaletteItem> items;
    if (!document_->trace()) return items;
    const SelectionModel& selection = document_->selection();
    static const QRegularExpression name(QStringLiteral("^[lL]?(\\d+)(?:\\s*[hH.:]\\s*(\\d*))?$"));
    const auto match = name.match(typed);
    const bool of_layer = typed.startsWith(u'l', Qt::CaseInsensitive) || match.capturedLength(0) > match.capturedLength(1);
    if (match.hasMatch() && of_layer && match.captured(1).toLongLong() < selection.layers()) {
        const Layer layer(match.captured(1).toLongLong());
        const auto table = document_->shown_table();
        const std::string shown = heads_->measure();
        const auto* measure = table ? table->find(shown) : nullptr;
        for (std::int64_t h = 0; h < selection.heads(); ++h) {
            if (!QString::number(h).startsWith(match.captured(2))) continue;
            const HeadId head{layer, Head(h)};
            QString note = QStringLiteral("go to this head");
            if (measure && !std::isnan((*measure)(layer.value, h)))
                note = QStringLiteral("%1 %2").arg(heads_->measure_name(shown)).arg((*measure)(layer.value, h), 0, 'g', 3);
            items.push_back({.text = figure::head_name(head), .note = note, .chosen = [this, head] {
                                 document_->selection().focus_head(head);
                                 if (page_ == Page::model || page_ == Page::corpus) show_page(Page::text);
                             }});
        }
        // The head that was named in full goes before those that begin like it.
        std::ranges::stable_partition(
            items, [&](const PaletteItem& item) { return item.text.endsWith(QStringLiteral("H") + match.captured(2)); });
        return items;
    }
    constexpr std::size_t most_tokens = 8;
    if (typed.size() < 2) return items;
    for (PaletteItem& item : token_items(typed)) {
        if (items.size() == most_tokens) break;
        constexpr int after_beginnings = 10;  // of commands; before those that have the text inside
        item.rank += after_beginnings;
        item.note = QStringLiteral("pin the token at ") + item.note;
        items.push_back(std::move(item));
    }
    return items;
}

void MainWindow::search_tokens() {
    if (!document_->trace()) return;
    // Of a long text its paragraphs are there to begin with.
    std::vector<PaletteItem> items;
    for (const analyze::TextSection& section : prompt_bar_->ruler().sections())
        if (items.size() < most_found)
            items.push_back(place_item(QString::fromStdString(section.title),
                                       QStringLiteral("paragraph at %1").arg(section.first.value), section.first, false));
    if (items.size() < 2) items = token_items({});
    for (PaletteItem& item : items) item.only_unasked = true;
    (new CommandPalette(QStringLiteral("Search the text, or a position"), std::move(items), this, [this](const QString& typed) {
        return places_for(typed);
    }))->open();
}

void MainWindow::open_palette() {
    std::vector<PaletteItem> items;
    // Views first, examples last.
    std::vector<QAction*> ordered;
    std::map<const QAction*, QString> questions;  // under which a view stands
    const auto add_views = [&](const figure::ViewQuestion& question) {
        for (const figure::ViewPlace& place : question.places)
            for (const figure::ViewPreset& preset : place.presets) {
                ordered.push_back(view_actions_.at(preset.view));
                questions[ordered.back()] = QString::fromStdString(question.title);
            }
    };
    for (const figure::ViewQuestion& question : figure::view_questions()) add_views(question);
    add_views(figure::model_views());
    const auto is_among = [](const auto& some, const QAction* action) { return std::ranges::find(some, action) != some.end(); };
    const std::size_t views = ordered.size();
    for (QAction* action : actions_)
        if (!is_among(std::span(ordered).first(views), action) && !is_among(examples_, action)) ordered.push_back(action);
    ordered.insert(ordered.end(), examples_.begin(), examples_.end());
    for (QAction* action : ordered) {
        if (action == &this->action(Command::palette) || !action->isVisible() || action->property("key-only").toBool()) continue;
        const bool says_why = !action->isEnabled() && action->toolTip() != action->text();
        const bool example = std::ranges::find(examples_, action) != examples_.end();
        items.push_back({.text = QString(action->text()).remove(QStringLiteral(" …")),
                         .note = says_why                     ? action->toolTip()
                                 : questions.contains(action) ? questions.at(action)
                                                              : action->shortcut().toString(QKeySequence::NativeText),
                         .enabled = action->isEnabled(),
                         // Keys are commands again, unless the command is about a field.
                         .chosen =
                             [this, action] {
                                 focus_of_page().setFocus();
                                 action->trigger();
                             },
                         .loose = !example,
                         .keyword = action->property("keyword").toString()});
    }
    if (active_pane().shown())
        for (const auto& row : figure::formats)
            items.push_back({.text = QStringLiteral("Export as %1").arg(QString::fromUtf8(row.title)),
                             .note = {},
                             .chosen = [this, format = QString::fromUtf8(row.word)] { export_figure(format); }});
    if (const auto& table = document_->head_table())
        for (const analyze::MeasureInfo& measure : table->measures)
            items.push_back({.text = QStringLiteral("Tint heads by %1").arg(QString::fromStdString(measure.title)),
                             .note = QString::fromStdString(measure.group),
                             .chosen =
                                 [this, id = measure.id] {
                                     document_->edit_options([&](ViewOptions& o) { o.measure = id; });
                                     document_->ask_for_shown();
                                 },
                             .loose = false});
    (new CommandPalette(QStringLiteral("Type a command, a head (L4H5), a measure or a token"), std::move(items), this,
                        [this](const QString& typed) { return items_for(typed); }))
        ->open(&top_bar_->palette_button());
}

}  // namespace headlight::ui
