// SPDX-License-Identifier: GPL-3.0-or-later
// What the palette finds: commands, exports, measures, heads and tokens.
#include "ui/window/main_window.h"

#include "headlight/analyze/heads/head_table.h"

#include <QRegularExpression>

#include <algorithm>
#include <cmath>
#include <memory>

namespace headlight::ui {

/// Tokens to pin.
std::vector<PaletteItem> MainWindow::token_items() const {
    std::vector<PaletteItem> items;
    if (!document_->trace()) return items;
    const trace::Trace& trace = *document_->trace();
    const bool across = trace.across_texts();
    const auto add = [&](const std::vector<text::TokenLabel>& labels, const QString& where, auto pin) {
        for (std::size_t i = 0; i < labels.size(); ++i)
            items.push_back({.text = QString::fromStdString(labels[i].continuation + labels[i].text),
                             .note = where.arg(i),
                             .chosen =
                                 [this, pin, at = Position(std::int64_t(i)), of = std::weak_ptr(document_->trace())] {
                                     if (of.lock() == document_->trace()) return pin(at);
                                     status_->say(QStringLiteral("The text has changed: search again"));
                                 },
                             .loose = false});
    };
    add(trace.labels(), across ? QStringLiteral("target %1") : QStringLiteral("position %1"), [this](Position at) {
        document_->selection().pin_query(at, false);
        prompt_bar_->tokens().reveal(at);
    });
    if (across)
        add(trace.key_labels(), QStringLiteral("source %1"), [this](Position at) { document_->selection().pin_key(at, false); });
    return items;
}

/// "L4H5", "4.5", "L4": heads; else tokens that have the text.
std::vector<PaletteItem> MainWindow::items_for(const QString& typed) const {
    std::vector<PaletteItem> items;
    if (!document_->trace()) return items;
    const SelectionModel& selection = document_->selection();
    static const QRegularExpression name(QStringLiteral("^[lL]?(\\d+)(?:\\s*[hH.:]\\s*(\\d*))?$"));
    const auto match = name.match(typed);
    const bool of_layer = typed.startsWith(u'l', Qt::CaseInsensitive) || match.capturedLength(0) > match.capturedLength(1);
    if (match.hasMatch() && of_layer && match.captured(1).toLongLong() < selection.layers()) {
        const Layer layer(match.captured(1).toLongLong());
        const auto& table = document_->head_table();
        const auto* measure = table ? table->find(document_->options().measure) : nullptr;
        for (std::int64_t h = 0; h < selection.heads(); ++h) {
            if (!QString::number(h).startsWith(match.captured(2))) continue;
            const HeadId head{layer, Head(h)};
            QString note = QStringLiteral("go to this head");
            if (measure && !std::isnan((*measure)(layer.value, h)))
                note = QStringLiteral("%1 %2")
                           .arg(QString::fromStdString(document_->options().measure).replace(u'_', u' '))
                           .arg((*measure)(layer.value, h), 0, 'g', 3);
            items.push_back({.text = figure::head_name(head), .note = note, .chosen = [this, head] {
                                 document_->selection().focus_head(head);
                             }});
        }
        // The head that was named in full goes before those that begin like it.
        std::ranges::stable_partition(
            items, [&](const PaletteItem& item) { return item.text.endsWith(QStringLiteral("H") + match.captured(2)); });
        return items;
    }
    constexpr std::size_t most_tokens = 8;
    for (PaletteItem& item : token_items()) {
        if (items.size() == most_tokens) break;
        if (typed.size() < 2 || match_score(typed, QString(item.text).remove(u'·'), false) < 0) continue;
        constexpr int after_beginnings = 10;  // of commands; before those that have the text inside
        item.rank = after_beginnings + match_score(typed, QString(item.text).remove(u'·'), false);
        item.note = QStringLiteral("pin the token at ") + item.note;
        items.push_back(std::move(item));
    }
    return items;
}

void MainWindow::search_tokens() {
    if (document_->trace()) (new CommandPalette(QStringLiteral("Search tokens"), token_items(), this))->open();
}

void MainWindow::open_palette() {
    std::vector<PaletteItem> items;
    for (QAction* action : actions_) {
        if (action == &this->action(Command::palette) || !action->isVisible()) continue;
        const bool says_why = !action->isEnabled() && action->toolTip() != action->text();
        const bool example = std::ranges::find(examples_, action) != examples_.end();
        items.push_back({.text = QString(action->text()).remove(QStringLiteral(" …")),
                         .note = says_why ? action->toolTip() : action->shortcut().toString(QKeySequence::NativeText),
                         .enabled = action->isEnabled(),
                         .chosen = [action] { action->trigger(); },
                         .loose = !example});
    }
    if (active_pane().shown())
        for (const char* format : {"pdf", "png", "svg", "csv", "npz", "json"})
            items.push_back({.text = QStringLiteral("Export as %1").arg(QString::fromLatin1(format).toUpper()) +
                                     (format == std::string_view("npz") ? QStringLiteral(" (NumPy)") : QString()),
                             .note = {},
                             .chosen = [this, format = QString::fromLatin1(format)] { export_figure(format); }});
    if (const auto& table = document_->head_table())
        for (const analyze::MeasureInfo& measure : table->measures)
            items.push_back({.text = QStringLiteral("Tint heads by %1").arg(QString::fromStdString(measure.title)),
                             .note = QString::fromStdString(measure.group),
                             .chosen =
                                 [this, id = measure.id] {
                                     ViewOptions options = document_->options();
                                     options.measure = id;
                                     document_->set_options(options);
                                     document_->ask_for_shown();
                                 },
                             .loose = false});
    (new CommandPalette(QStringLiteral("Type a command, a head (L4H5), a measure or a token"), std::move(items), this,
                        [this](const QString& typed) { return items_for(typed); }))
        ->open();
}

}  // namespace headlight::ui
