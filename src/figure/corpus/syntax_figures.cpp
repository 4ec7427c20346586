// SPDX-License-Identifier: GPL-3.0-or-later
// What heads do with the words of a treebank: the best head of each relation, parts of speech, attention along dependencies.
#include "figure/corpus/corpus_figures.h"
#include "figure/plot/plot_data.h"
#include "figure/table/table_figure.h"
#include "headlight/figure/core/number_text.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace headlight::figure {
namespace {

using plot::Color;
using plot::Series;

QString percent(double share) { return std::isfinite(share) ? QString::number(100 * share, 'f', 1) : QStringLiteral("–"); }

QString interval_words(const corpus::Interval& of) {
    if (!std::isfinite(of.low)) return QStringLiteral("–");
    return QStringLiteral("%1–%2").arg(percent(of.low), percent(of.high));
}

TableColumn number_column(const char* id, const char* title, const char* tip, int decimals) {
    return {.kind = ColumnKind::number,
            .id = id,
            .title = QString::fromUtf8(title),
            .tip = QString::fromUtf8(tip),
            .decimals = decimals};
}

TableSection relations_of(const corpus::RelationTable& table, corpus::ArcDirection direction) {
    const auto title = enum_row(direction).title;
    TableSection section;
    section.title = QString::fromUtf8(title.data(), qsizetype(title.size()));
    section.note = table.causal
                       ? QStringLiteral(
                             "A causal model covers only arcs whose attending word comes later. All numbers are over these, in "
                             "percent.")
                       : QStringLiteral("All numbers in percent.");
    section.columns = {{.kind = ColumnKind::text, .id = "relation", .title = QStringLiteral("relation")},
                       {.kind = ColumnKind::text,
                        .id = "head",
                        .title = QStringLiteral("head"),
                        .tip = QStringLiteral("the best of all heads on half of the sentences")},
                       {.kind = ColumnKind::bar,
                        .id = "accuracy",
                        .title = QStringLiteral("accuracy"),
                        .tip = QStringLiteral("arcs whose other end is the word attended to most"),
                        .decimals = 1,
                        .limit = 100},
                       {.kind = ColumnKind::text,
                        .id = "interval",
                        .title = QStringLiteral("95 %"),
                        .tip = QStringLiteral("bootstrap over sentences"),
                        .muted = true},
                       number_column("held_out", "other half", "accuracy on the sentences that the head was not chosen on", 1),
                       number_column("baseline", "baseline", "accuracy of the best constant distance", 1),
                       {.kind = ColumnKind::text,
                        .id = "offset",
                        .title = QStringLiteral("distance"),
                        .tip = QStringLiteral("the best constant distance in words"),
                        .muted = true},
                       number_column("n", "arcs", "that the direction covers", 0),
                       number_column("coverage", "covered", "share of the relation's arcs", 1)};
    for (const corpus::RelationRow& row : table.rows) {
        if (row.direction != direction || row.n < corpus::kFewArcs) continue;
        const double coverage = static_cast<double>(row.n) / static_cast<double>(row.arcs);
        TableRow out;
        out.head = row.head;
        out.cells = {TableCell::of(QString::fromStdString(row.relation)),
                     TableCell::of(head_name(row.head)),
                     TableCell::of(100 * row.accuracy.mean),
                     TableCell::of(interval_words(row.accuracy)),
                     TableCell::of(100 * row.held_out.mean),
                     TableCell::of(100 * row.baseline),
                     TableCell::of(QStringLiteral("%1%2").arg(row.offset > 0 ? QStringLiteral("+") : QString()).arg(row.offset)),
                     TableCell::of(static_cast<double>(row.n)),
                     TableCell::of(100 * coverage)};
        section.rows.push_back(std::move(out));
    }
    section.empty = QStringLiteral("No relation has %1 arcs that this direction covers.").arg(corpus::kFewArcs);
    return section;
}

/// A dot for each head by layer, a line through the layers' means, and a dashed line for even attention.
plot::Panel by_layer(std::int64_t layers, std::int64_t heads, const QString& title, const QString& label, double even,
                     const std::function<double(std::int64_t)>& value) {
    plot::Panel panel;
    panel.title = title;
    panel.x.label = QStringLiteral("layer");
    panel.x.integer = true;
    panel.x.low = -0.2, panel.x.high = static_cast<double>(layers) - 0.8;
    panel.y.label = label;
    panel.y.from_zero = true;
    Series dots, line;
    dots.color = line.color = {Color::Role::accent};
    line.kind = Series::Kind::line;
    line.width = 1.75;
    for (std::int64_t l = 0; l < layers; ++l) {
        double sum = 0;
        std::int64_t n = 0;
        for (std::int64_t h = 0; h < heads; ++h) {
            const double v = value(l * heads + h);
            dots.x.push_back(static_cast<double>(l));
            dots.y.push_back(v);
            dots.heads.push_back({Layer(l), Head(h)});
            if (std::isfinite(v)) sum += v, ++n;
        }
        line.x.push_back(static_cast<double>(l));
        line.y.push_back(n > 0 ? sum / static_cast<double>(n) : kNaN);
    }
    const auto named = dots.heads;
    const auto y = dots.y, means = line.y;
    dots.tip = [=](std::size_t i) {
        return QStringLiteral("%1  %2 · even attention %3")
            .arg(head_name(named[i]), draw::number_text(y[i], 3), draw::number_text(even, 3));
    };
    const std::string column = title.toStdString();
    dots.row = [=](std::size_t i) {
        return std::vector<Table::Cell>{named[i].layer.value, named[i].head.value, column, y[i], even};
    };
    line.tip = [means](std::size_t i) { return QStringLiteral("layer %1  mean %2").arg(i).arg(draw::number_text(means[i], 3)); };
    line.row = [=](std::size_t i) {
        return std::vector<Table::Cell>{static_cast<std::int64_t>(i), Table::Cell(), column + ", mean of the layer", means[i],
                                        even};
    };
    panel.series.push_back(std::move(line));
    panel.series.push_back(std::move(dots));
    if (std::isfinite(even))
        panel.references.push_back(
            {.name = QStringLiteral("even attention"), .at = even, .color = {Color::Role::muted}, .dashed = true});
    return panel;
}

}  // namespace

std::unique_ptr<Figure> relations_figure(const corpus::RelationTable& table, const QString& words) {
    TableData out;
    out.view = "relations";
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

namespace {

/// A weight that the index does not hold is at most that of the word attended to.
QString weight_words(const corpus::WordQuery::Case& one) {
    const QString known = draw::number_text(one.at_most(), 3);
    return std::isfinite(one.weight) ? known : QStringLiteral("at most %1").arg(known);
}

}  // namespace

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
        heads.columns.push_back(
            {.kind = ColumnKind::bar, .id = measure.id, .title = QString::fromStdString(measure.title), .decimals = 3});
    const std::vector<HeadId> found = query.heads();
    for (const HeadId head : found) {
        TableRow row;
        row.head = head;
        row.cells.push_back(TableCell::of(head_name(head)));
        for (const Eigen::MatrixXd& values : measures.values)
            row.cells.push_back(TableCell::of(values(head.layer.value, head.head.value)));
        heads.rows.push_back(std::move(row));
    }
    QStringList cases;
    for (const auto& condition : query.conditions())
        cases << QStringLiteral("%1: %2 cases in %3 texts")
                     .arg(QString::fromStdString(condition.text), count_text(condition.cases), count_text(condition.texts));
    heads.note = cases.join(QStringLiteral("; "));
    heads.empty = found.empty() ? QString::fromStdString(query.why_none()) : QString();
    out.sections.push_back(std::move(heads));
    if (!found.empty() && !query.conditions().empty()) {
        const HeadId shown = std::ranges::find(found, chosen) != found.end() ? chosen : found.front();
        const Table examples = corpus::examples_of(query, 0, shown, most_examples, index);
        for (const auto& [kind, word, title, note] : corpus::example_kinds) {
            TableSection section;
            section.title =
                QStringLiteral("%1: %2").arg(head_name(shown), QString::fromUtf8(title.data(), qsizetype(title.size())));
            section.note = QStringLiteral("The word in brackets, what it should attend to in braces.");
            section.hint = QStringLiteral("A click opens the sentence.");
            section.columns = {
                {.kind = ColumnKind::bar, .id = "weight", .title = QStringLiteral("weight"), .decimals = 3, .limit = 1},
                {.kind = ColumnKind::text, .id = "attended", .title = QStringLiteral("attends to")},
                {.kind = ColumnKind::text, .id = "text", .title = QStringLiteral("sentence"), .stretched = true}};
            for (const corpus::WordQuery::Case& one : corpus::example_cases(query, 0, shown, kind, most_examples)) {
                const corpus::IndexedSentence& sentence = index.sentences().at(one.text);
                const std::string attended = one.attended < 0 ? "" : sentence.words[static_cast<std::size_t>(one.attended)].form;
                TableRow row;
                row.cells = {TableCell::of(one.weight), TableCell::of(QString::fromStdString(attended)),
                             TableCell::of(QString::fromStdString(corpus::marked_sentence(sentence, one.word, one.target)))};
                row.tip = QStringLiteral("%1: %2 on “%3”")
                              .arg(QString::fromStdString(sentence.id), weight_words(one),
                                   QString::fromStdString(sentence.words[static_cast<std::size_t>(one.target)].form));
                row.click = {{"chunk", std::to_string(one.text)},
                             {"word", std::to_string(one.word)},
                             {"target", std::to_string(one.target)},
                             {"layer", std::to_string(shown.layer.value)},
                             {"head", std::to_string(shown.head.value)}};
                section.rows.push_back(std::move(row));
            }
            section.empty = QStringLiteral("There are none.");
            out.sections.push_back(std::move(section));
        }
        out.table = [examples] { return examples; };
    }
    return table_figure(std::move(out));
}

std::unique_ptr<Figure> tags_figure(const corpus::TagAttention& tags, const QString& words) {
    constexpr std::size_t most = 9;
    constexpr std::size_t parts_of_speech = 17;  // the first of kTokenTags; behind them are tokens without one
    std::vector<std::size_t> order(parts_of_speech);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, std::greater(), [&](std::size_t tag) { return tags.rows(tag); });
    order.resize(most);
    plot::PlotData out;
    out.view = "tags";
    out.title = QStringLiteral("Attention to parts of speech");
    out.subtitle = plot::joined_words({QStringLiteral("one dot a head, lines are layer means"), words});
    out.focus_fades = out.focus_in_files = false;
    out.columns = {"layer", "head", "to", "share", "even"};
    const auto share_of = [&](std::size_t tag, const std::function<double(std::size_t, std::size_t)>& mass) {
        double to = 0, all = 0;
        for (std::size_t from = 0; from < corpus::kTagCount; ++from)
            for (std::size_t key = 0; key < corpus::kTagCount; ++key) {
                const double m = mass(from, key);
                all += m;
                if (key == tag) to += m;
            }
        return all > 0 ? to / all : kNaN;
    };
    for (const std::size_t tag : order) {
        if (!(tags.rows(tag) > 0)) continue;
        const double even = share_of(tag, [&](std::size_t from, std::size_t to) { return tags.even_mass(from, to); });
        const auto value = [&](std::int64_t head) {
            return share_of(tag, [&](std::size_t from, std::size_t to) { return tags.mass(head, from, to); });
        };
        const std::string_view name = corpus::kTokenTags[tag];
        out.panels.push_back(by_layer(tags.n_layers(), tags.n_heads(), QString::fromUtf8(name.data(), qsizetype(name.size())),
                                      QStringLiteral("share of attention"), even, value));
    }
    out.description = QStringLiteral(
        "Which share of a head's attention goes to tokens of a part of speech, for the nine most frequent. Dashed: what even "
        "attention would give, which is how common the part of speech is among the keys. After Vig & Belinkov 2019, “Analyzing the "
        "Structure of Attention in a Transformer Language Model”, section 4.2.");
    return plot::plot_figure(std::move(out));
}

std::unique_ptr<Figure> alignment_figure(const corpus::TagAttention& tags, const QString& words) {
    plot::PlotData out;
    out.view = "alignment";
    out.title = QStringLiteral("Attention along dependencies");
    out.subtitle = plot::joined_words({QStringLiteral("one dot a head, the line is the layer mean"), words});
    out.focus_fades = out.focus_in_files = false;
    out.columns = {"layer", "head", "measure", "share", "even"};
    out.panels.push_back(by_layer(tags.n_layers(), tags.n_heads(), QStringLiteral("dependency alignment"),
                                  QStringLiteral("share of attention"), tags.even_alignment(),
                                  [&](std::int64_t head) { return tags.alignment(head); }));
    out.panels.push_back(by_layer(tags.n_layers(), tags.n_heads(), QStringLiteral("distance"), QStringLiteral("tokens"), kNaN,
                                  [&](std::int64_t head) { return tags.distance(head); }));
    out.description = QStringLiteral(
        "Which share of a head's attention runs between words of which one depends on the other, and how far it goes on average; what "
        "the first token receives is left out. Dashed: even attention over the legal keys. Vig & Belinkov 2019, “Analyzing the "
        "Structure of Attention in a Transformer Language Model”, sections 4.3 and 4.4.");
    return plot::plot_figure(std::move(out));
}

}  // namespace headlight::figure
