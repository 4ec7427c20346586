// SPDX-License-Identifier: GPL-3.0-or-later
// Coreference over a store: every head by layer beside the baselines, and hits and misses of one head.
#include "figure/corpus/corpus_figures.h"
#include "figure/corpus/layer_panel.h"
#include "figure/table/stacked_figure.h"
#include "figure/table/table_figure.h"
#include "headlight/figure/core/number_text.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

namespace headlight::figure {
namespace {

using corpus::CoreferenceScore;

QString score_title(CoreferenceScore score) { return QString::fromUtf8(enum_row(score).title); }

std::unique_ptr<Figure> coreference_by_layer(const corpus::CoreferenceTable& table, const QString& words) {
    using Role = plot::Color::Role;
    plot::PlotData out = corpus_plot("corpus-coreference", QStringLiteral("Heads that resolve coreference"),
                                     QStringLiteral("one dot per head, lines are layer means"), words);
    out.own_legends = true;
    out.focus_fades = out.focus_in_files = false;
    for (const auto& row : corpus::coreference_scores) {
        std::vector<HeadDot> heads;
        const corpus::CoreferenceRow* first = nullptr;
        for (const corpus::CoreferenceRow& of : table.rows) {
            if (of.score != row.value) continue;
            if (!first) first = &of;
            heads.push_back({of.head, of.accuracy});
        }
        if (!first) continue;
        const bool difference = row.value == CoreferenceScore::winobias_difference;
        plot::Panel panel =
            head_panel(heads, score_title(row.value),
                       difference ? QStringLiteral("difference of shares") : QStringLiteral("share of cases"), kNaN);
        panel.title += first->n == first->cases
                           ? QStringLiteral(" · %1").arg(count_text(first->n))
                           : QStringLiteral(" · %1 of %2").arg(count_text(first->n), count_text(first->cases));
        if (difference)
            panel.y.from_zero = false;
        else
            panel.y.high = 1;
        for (const auto& [name, value, color] : {std::tuple("nearest", first->nearest_mention, Role::clark_orange),
                                                 std::tuple("same head word", first->head_match, Role::clark_sea),
                                                 std::tuple("first name", first->first_name, Role::clark_purple)})
            if (std::isfinite(value))
                panel.references.push_back({.name = QString::fromUtf8(name), .at = value, .color = {color}, .dashed = true});
        // A head that does no better than a rule without one has found nothing.
        const auto best = std::ranges::max_element(heads, {}, [](const HeadDot& dot) { return dot.value.mean; });
        const double rule = std::fmax(first->nearest_mention, std::fmax(first->head_match, first->first_name));
        if (std::isfinite(rule) && best->value.mean <= rule)
            panel.title += QStringLiteral(" · best head %1 not over the baselines").arg(head_name(best->head));
        if (difference) panel.references.push_back({.name = {}, .at = 0, .color = {Role::faint}});
        out.panels.push_back(std::move(panel));
    }
    return plot::plot_figure(std::move(out));
}

/// Hits or misses of a head, the largest weights first.
TableSection cases_of(const corpus::MentionIndex& index, CoreferenceScore score, HeadId head, bool hits,
                      corpus::TextStore& texts) {
    constexpr std::int64_t most = 12;
    TableSection section;
    section.title = QStringLiteral("%1, %2: %3")
                        .arg(score_title(score), head_name(head), hits ? QStringLiteral("hits") : QStringLiteral("misses"));
    section.note = hits ? QStringLiteral("[The mention] and {the one it attends to}.")
                        : QStringLiteral("[The mention], {the one it attends to} and <the right one>.");
    section.hint = QStringLiteral("A click opens the text with the pair pinned.");
    section.columns = {{.kind = ColumnKind::number, .id = "weight", .title = QStringLiteral("weight")},
                       {.kind = ColumnKind::text, .id = "mention", .title = QStringLiteral("mention")},
                       {.kind = ColumnKind::text, .id = "chosen", .title = QStringLiteral("attends to")}};
    if (!hits) section.columns.push_back({.kind = ColumnKind::text, .id = "correct", .title = QStringLiteral("right one")});
    section.columns.push_back({.kind = ColumnKind::text, .id = "text", .title = QStringLiteral("text"), .stretched = true});
    section.empty = QStringLiteral("There are none.");
    for (const corpus::CoreferenceCase& one : corpus::coreference_examples(index, score, head, most)) {
        if (one.hit != hits) continue;
        const corpus::IndexedMentions& chunk = index.chunks().at(one.chunk);
        const corpus::Text& text = texts.text(texts.chunk(one.chunk).text);
        TableRow& row = section.rows.emplace_back();
        row.cells = {TableCell::of(one.weight)};
        const auto add = [&](const std::string& words) {
            row.cells.push_back(TableCell::of(QString::fromStdString(words).simplified()));
        };
        add(corpus::head_word(chunk, one.mention, text.text));
        add(corpus::head_word(chunk, one.chosen, text.text));
        if (!hits) add(corpus::head_word(chunk, one.correct, text.text));
        add(corpus::marked_case(chunk, one, text.text));
        row.click = {{"chunk", std::to_string(one.chunk)},
                     {"layer", std::to_string(head.layer.value)},
                     {"head", std::to_string(head.head.value)}};
        const auto pin = [&](const char* first, const char* last, std::int32_t mention) {
            if (mention < 0) return;
            const corpus::IndexedMention& of = chunk.mentions[static_cast<std::size_t>(mention)];
            row.click.emplace_back(first, std::to_string(of.first_token));
            row.click.emplace_back(last, std::to_string(of.last_token));
        };
        pin("query", "query_last", one.mention);
        pin("key", "key_last", one.chosen);
        row.tip = QString::fromStdString(text.id);
    }
    return section;
}

}  // namespace

std::unique_ptr<Figure> coreference_figure(const corpus::MentionIndex& index, const corpus::CoreferenceTable& table,
                                           HeadId chosen, corpus::TextStore& texts, const QString& words) {
    StackedParts out;
    out.view = "corpus-coreference";
    out.title = QStringLiteral("Heads that resolve coreference");
    out.description =
        QStringLiteral(
            "Which earlier mention the head word of a mention attends to most, and how often it is of the same chain (Clark et al. 2019, "
            "section 4.3); of GAP and WinoBias, which of two names a pronoun attends to more. Dashed: the nearest mention or name, the "
            "nearest mention with the same head word, the name that stands first, on the same cases. The cases are those of the selected "
            "head, or else of the best head on half of the texts. %1.")
            .arg(words);
    out.parts.push_back(coreference_by_layer(table, words));
    TableData cases;
    cases.view = "corpus-coreference";
    for (const auto& row : corpus::coreference_scores) {
        if (row.value == CoreferenceScore::winobias_difference) continue;
        const HeadId best = corpus::best_head(table, row.value);
        if (best.layer.value < 0) continue;
        const bool exists = chosen.layer.value >= 0 && chosen.layer.value < index.n_layers() && chosen.head.value >= 0 &&
                            chosen.head.value < index.n_heads();
        for (const bool hits : {true, false})
            cases.sections.push_back(cases_of(index, row.value, exists ? chosen : best, hits, texts));
    }
    out.parts.push_back(table_figure(std::move(cases)));
    out.table = [tidy = corpus::table_of(table)] { return tidy; };
    return stacked_figure(std::move(out));
}

}  // namespace headlight::figure
