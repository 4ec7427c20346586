// SPDX-License-Identifier: GPL-3.0-or-later
// Figures of heads over a treebank: the best head of each relation, parts of speech, attention along dependencies.
#include "figure/corpus/corpus_figures.h"
#include "figure/corpus/layer_panel.h"
#include "figure/table/table_figure.h"
#include "headlight/figure/core/number_text.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace headlight::figure {
namespace {

QString percent(double share) { return std::isfinite(share) ? QString::number(100 * share, 'f', 1) : QStringLiteral("–"); }

QString interval_words(const corpus::Interval& of) {
    if (!std::isfinite(of.low)) return QStringLiteral("–");
    return QStringLiteral("%1–%2").arg(percent(of.low), percent(of.high));
}

/// The 95 % interval of its gain is above 0; of too few sentences for one, the gain itself is.
bool beats_baseline(const corpus::RelationRow& row) { return (std::isfinite(row.gain.low) ? row.gain.low : row.gain.mean) > 0; }

const QString over_bars = QStringLiteral("Over a bar: its 95 % interval over sentences; the tick is the baseline.");

TableColumn interval_column() {
    TableColumn column = table_column(ColumnKind::text, "interval", "95 %", "bootstrap over sentences");
    column.muted = true;
    return column;
}

/// "+1", "−2": in words.
QString distance_words(std::int64_t offset) {
    return (offset > 0 ? QStringLiteral("+") : QString()) + draw::number_text(static_cast<double>(offset), 0);
}

TableSection relations_of(const corpus::RelationTable& table, corpus::ArcDirection direction) {
    TableSection section;
    section.title = QString::fromUtf8(enum_row(direction).title);
    section.note =
        (table.causal ? QStringLiteral("A causal model covers only arcs whose attending word comes later. All numbers are over "
                                       "these, in percent. ")
                      : QStringLiteral("All numbers in percent. ")) +
        over_bars + QStringLiteral(" Grey: not better than the baseline (95 % interval of the gain).");
    section.columns = {
        table_column(ColumnKind::text, "relation", "relation"),
        table_column(ColumnKind::text, "head", "head", "the best of all heads on half of the sentences"),
        table_column(ColumnKind::bar, "accuracy", "accuracy", "arcs whose other end is the word attended to most", 1),
        interval_column(),
        table_column(ColumnKind::number, "held_out", "other half", "accuracy on the sentences that the head was not chosen on",
                     1),
        table_column(ColumnKind::number, "baseline", "baseline", "accuracy of the best constant distance", 1),
        table_column(ColumnKind::text, "offset", "distance", "the best constant distance in words"),
        table_column(ColumnKind::number, "n", "arcs", "that the direction covers", 0),
        table_column(ColumnKind::number, "coverage", "covered", "share of the relation's arcs", 1)};
    section.columns[2].limit = 100;
    section.columns[6].muted = true;
    for (const corpus::RelationRow& row : table.rows) {
        if (row.direction != direction || row.n < corpus::kFewArcs) continue;
        const double coverage = static_cast<double>(row.n) / static_cast<double>(row.arcs);
        TableRow& out = section.rows.emplace_back();
        out.head = row.head;
        out.quiet = !beats_baseline(row);
        out.cells = {TableCell::of(QString::fromStdString(row.relation)),
                     TableCell::of(head_name(row.head)),
                     {.value = 100 * row.accuracy.mean,
                      .low = 100 * row.accuracy.low,
                      .high = 100 * row.accuracy.high,
                      .baseline = 100 * row.baseline},
                     TableCell::of(interval_words(row.accuracy)),
                     TableCell::of(100 * row.held_out.mean),
                     TableCell::of(100 * row.baseline),
                     TableCell::of(distance_words(row.offset)),
                     TableCell::of(static_cast<double>(row.n)),
                     TableCell::of(100 * coverage)};
    }
    section.empty = QStringLiteral("No relation has %1 arcs that this direction covers.").arg(corpus::kFewArcs);
    return section;
}

/// Upper bound of a weight that the index does not hold: the weight of the word attended to.
QString weight_words(const corpus::WordQuery::Case& one) {
    const QString known = draw::number_text(one.at_most(), 3);
    return std::isfinite(one.weight) ? known : QStringLiteral("at most %1").arg(known);
}

}  // namespace

std::unique_ptr<Figure> relations_figure(const corpus::RelationTable& table, const QString& words) {
    TableData out;
    out.view = "corpus-relations";
    out.title = QStringLiteral("Heads that find the relations of a dependency tree");
    out.description =
        QStringLiteral(
            "For each relation the head whose attention finds it most often: the word that a word attends to most, itself aside, is "
            "its head (or its dependent). The head is chosen on half of the sentences; the last numbers are of the other half. The "
            "baseline always points the same distance away. Relations with fewer than %1 covered arcs are left out. %2. Clark, "
            "Khandelwal, Levy, Manning: “What Does BERT Look At?”, 2019, section 4.2.")
            .arg(corpus::kFewArcs)
            .arg(words);
    for (const auto& row : corpus::arc_directions) out.sections.push_back(relations_of(table, row.value));
    out.table = [table] { return corpus::table_of(table); };
    return table_figure(std::move(out));
}

std::unique_ptr<Figure> question_figure(const corpus::WordIndex& index, const std::string& question, HeadId chosen,
                                        const QString& words) {
    constexpr std::int64_t most_examples = 12;
    TableData out;
    out.view = "corpus-question";
    out.title = question.empty() ? QStringLiteral("A question about words") : QString::fromStdString(question);
    out.description =
        QStringLiteral(
            "Heads that do what the question says over a treebank, and cases of one of them. “VERB attends to its nsubj > 60 %”: in more "
            "than 60 % of the cases the word that a verb attends to most, itself aside, is its nominal subject; a number without a percent "
            "sign is compared with the mean weight, which without “its” is known from below only. %1.")
            .arg(words);
    TableSection heads;
    heads.title = QStringLiteral("Heads");
    heads.columns = {{.kind = ColumnKind::text, .id = "head", .title = QStringLiteral("head")}};
    if (question.empty()) {
        heads.empty = QStringLiteral("Type a question above, such as: heads where VERB attends to its nsubj > 60 %");
        out.sections.push_back(std::move(heads));
        return table_figure(std::move(out));
    }
    const corpus::WordQuery query(question, index);
    const analyze::HeadTable& measures = query.measures();
    for (const analyze::MeasureInfo& measure : measures.measures)
        heads.columns.push_back({.kind = ColumnKind::bar, .id = measure.id, .title = QString::fromStdString(measure.title)});
    const std::vector<HeadId> found = query.heads();
    for (const HeadId head : found) {
        TableRow& row = heads.rows.emplace_back();
        row.head = head;
        row.cells.push_back(TableCell::of(head_name(head)));
        for (const Eigen::MatrixXd& values : measures.values)
            row.cells.push_back(TableCell::of(values(head.layer.value, head.head.value)));
    }
    QStringList notes;
    for (std::size_t c = 0; c < query.conditions().size(); ++c) {
        const auto& condition = query.conditions()[c];
        QString& note = notes.emplace_back(
            QStringLiteral("%1: %2 cases in %3 texts")
                .arg(QString::fromStdString(condition.text), count_text(condition.cases), count_text(condition.texts)));
        const auto column = std::ranges::find(heads.columns, condition.share, &TableColumn::id) - heads.columns.begin();
        if (condition.cases == 0 || column == std::ssize(heads.columns)) continue;
        if (column + 1 < std::ssize(heads.columns) && heads.columns[static_cast<std::size_t>(column) + 1].id == "interval")
            continue;
        note += QStringLiteral(", of which %1 % have one at the best constant distance, %2 (the baseline)")
                    .arg(percent(condition.offset_share), distance_words(condition.offset));
        const std::vector<corpus::Interval> shares = query.shares(c, found);
        for (std::size_t h = 0; h < found.size(); ++h) {
            TableCell& cell = heads.rows[h].cells[static_cast<std::size_t>(column)];
            cell.low = shares[h].low, cell.high = shares[h].high, cell.baseline = condition.offset_share;
            heads.rows[h].cells.insert(heads.rows[h].cells.begin() + column + 1, TableCell::of(interval_words(shares[h])));
        }
        heads.columns.insert(heads.columns.begin() + column + 1, interval_column());
    }
    if (heads.columns.size() > measures.measures.size() + 1) notes << over_bars;
    heads.note = notes.join(QStringLiteral(". "));
    heads.empty = found.empty() ? QString::fromStdString(query.why_none()) : QString();
    out.sections.push_back(std::move(heads));
    if (!found.empty() && !query.conditions().empty()) {
        const HeadId shown = std::ranges::find(found, chosen) != found.end() ? chosen : found.front();
        const Table examples = corpus::examples_of(query, 0, shown, most_examples, index);
        for (const auto& [kind, word, title, note] : corpus::example_kinds) {
            TableSection& section = out.sections.emplace_back();
            section.title = QStringLiteral("%1: %2").arg(head_name(shown), QString::fromUtf8(title));
            section.note = QStringLiteral("The word is in brackets, its target in braces.");
            section.hint = QStringLiteral("A click opens the sentence.");
            section.columns = {{.kind = ColumnKind::bar, .id = "weight", .title = QStringLiteral("weight"), .limit = 1},
                               {.kind = ColumnKind::text, .id = "attended", .title = QStringLiteral("attends to")},
                               {.kind = ColumnKind::text, .id = "text", .title = QStringLiteral("sentence"), .stretched = true}};
            for (const corpus::WordQuery::Case& one : corpus::example_cases(query, 0, shown, kind, most_examples)) {
                const corpus::IndexedSentence& sentence = index.sentences().at(one.text);
                const std::string attended = one.attended < 0 ? "" : sentence.words[static_cast<std::size_t>(one.attended)].form;
                TableRow& row = section.rows.emplace_back();
                row.cells = {TableCell::of(one.weight), TableCell::of(QString::fromStdString(attended)),
                             TableCell::of(QString::fromStdString(corpus::marked_sentence(sentence, one.word, one.target)))};
                row.tip = QStringLiteral("%1: %2 on “%3”")
                              .arg(QString::fromStdString(sentence.id), weight_words(one),
                                   QString::fromStdString(sentence.words[static_cast<std::size_t>(one.target)].form));
                row.click = {{"chunk", std::to_string(one.text)},
                             {"word", std::to_string(one.word + sentence.first_word)},
                             {"target", std::to_string(one.target + sentence.first_word)},
                             {"layer", std::to_string(shown.layer.value)},
                             {"head", std::to_string(shown.head.value)}};
            }
            section.empty = QStringLiteral("There are none.");
        }
        out.table = [examples] { return examples; };
    }
    return table_figure(std::move(out));
}

std::unique_ptr<Figure> tags_figure(const std::vector<corpus::TagShare>& shares, const QString& words) {
    constexpr std::size_t most = 9;
    std::vector<double> rows(corpus::kPartsOfSpeech);
    for (const corpus::TagShare& of : shares)
        if (of.from < rows.size()) rows[of.from] = of.rows;
    std::vector<std::size_t> order(rows.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, std::greater(), [&](std::size_t tag) { return rows[tag]; });
    order.resize(most);
    plot::PlotData out = corpus_plot("corpus-tags", QStringLiteral("Attention to parts of speech"),
                                     QStringLiteral("one dot per head, lines are layer means"), words);
    out.focus_fades = out.focus_in_files = false;
    for (const std::size_t tag : order) {
        std::vector<HeadDot> heads;
        double even = kNaN;
        for (const corpus::TagShare& of : shares) {
            if (of.to != tag) continue;
            heads.push_back({of.head, of.share});
            even = of.base;
        }
        if (heads.empty()) continue;
        out.panels.push_back(
            head_panel(heads, QString::fromUtf8(corpus::kTokenTags[tag]), QStringLiteral("share of attention"), even));
    }
    out.table = [table = corpus::table_of(shares)] { return table; };
    out.description = QStringLiteral(
        "Which share of a head's attention goes to tokens of a part of speech, for the nine most frequent. Dashed: what even "
        "attention would give, which is how common the part of speech is among the keys. After Vig & Belinkov 2019, “Analyzing the "
        "Structure of Attention in a Transformer Language Model”, section 4.2, who leave attention to the first token out of the "
        "whole; here it counts.");
    return plot::plot_figure(std::move(out));
}

std::unique_ptr<Figure> alignment_figure(const std::vector<corpus::HeadAlignment>& heads, const QString& words) {
    plot::PlotData out = corpus_plot("corpus-alignment", QStringLiteral("Attention along dependencies"),
                                     QStringLiteral("one dot a head, the line is the layer mean"), words);
    out.focus_fades = out.focus_in_files = false;
    std::vector<HeadDot> along, far;
    for (const corpus::HeadAlignment& of : heads) {
        along.push_back({of.head, of.alignment});
        far.push_back({of.head, of.distance});
    }
    out.panels.push_back(head_panel(along, QStringLiteral("dependency alignment"), QStringLiteral("share of attention"),
                                    heads.empty() ? kNaN : heads.front().base));
    out.panels.push_back(head_panel(far, QStringLiteral("distance"), QStringLiteral("tokens"), kNaN));
    out.table = [table = corpus::table_of(heads)] { return table; };
    out.description = QStringLiteral(
        "Which share of a head's attention runs between words of which one depends on the other, and how far it goes on average; what "
        "the first token receives is left out of both. Dashed: even attention over the legal keys. Vig & Belinkov 2019, “Analyzing the "
        "Structure of Attention in a Transformer Language Model”, sections 4.3 and 4.4.");
    return plot::plot_figure(std::move(out));
}

}  // namespace headlight::figure
