// SPDX-License-Identifier: GPL-3.0-or-later
// The head circuit view: eigenvalues of a head's two circuits above, what it does with the tokens of the text below.
#include "figure/circuit/circuit_views.h"

#include "figure/plot/plot_data.h"
#include "figure/table/stacked_figure.h"
#include "figure/table/table_figure.h"
#include "headlight/analyze/circuit/head_circuit.h"
#include "headlight/analyze/prediction/logit_lens.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <set>

namespace headlight::figure {
namespace {

using analyze::Circuit;
using plot::Color;
using plot::Series;

constexpr std::int64_t most_tokens = 60, entries_a_row = 8;

draw::Label label_of(const text::Tokenizer& tokenizer, std::int64_t id) {
    draw::Label label;
    label.text = QString::fromStdString(text::token_label(tokenizer, id));
    label.special = tokenizer.is_special(id);
    return label;
}

QString score_text(double score) { return std::isfinite(score) ? draw::number_text(score, 3) : QStringLiteral("none"); }

Series eigenvalue_series(const QString& name, const std::vector<std::complex<double>>& values, Color color, HeadId head) {
    Series s;  // without a name: the panel's title has it
    s.color = color;
    s.radius = 4;
    s.strength = 0.8;
    s.head = head;
    for (const auto& value : values) {
        s.x.push_back(value.real());
        s.y.push_back(value.imag());
    }
    s.tip = [values, name](std::size_t i) {
        return QStringLiteral("%1 eigenvalue %2  %3 %4 %5i  size %6")
            .arg(name, QString::number(i), draw::value_text(values[i].real()),
                 values[i].imag() < 0 ? QStringLiteral("−") : QStringLiteral("+"), draw::value_text(std::abs(values[i].imag())),
                 draw::value_text(std::abs(values[i])));
    };
    return s;
}

/// A circle around 0 through the largest eigenvalue: how far from it the others are, and in which direction.
Series circle(double radius) {
    Series s;
    s.kind = Series::Kind::line;
    s.color = {Color::Role::faint};
    s.width = 1;
    s.dashed = true;
    for (int k = 0; k <= 96; ++k) {
        const double angle = 2 * std::numbers::pi * k / 96;
        s.x.push_back(radius * std::cos(angle));
        s.y.push_back(radius * std::sin(angle));
    }
    s.tip = [](std::size_t) { return QString(); };
    return s;
}

/// The names of a circuit, and the words of its table.
struct CircuitWords {
    QString name, score, title, note;
    const char *own_id, *largest_id, *smallest_id;
    const char *own, *own_tip, *place_tip, *largest, *largest_tip, *smallest, *smallest_tip;
};
const CircuitWords kOvWords{
    .name = QStringLiteral("OV"),
    .score = QStringLiteral("Copying"),
    .title = QStringLiteral("What reading a token adds to the logits"),
    .note = QStringLiteral(
        "Each row is a token of the text through W_V W_O and the unembedding, without attention. Place: −1 when of "
        "all tokens its own logit is lowered most, 1 when it is raised most."),
    .own_id = "own",
    .largest_id = "promoted",
    .smallest_id = "suppressed",
    .own = "own logit",
    .own_tip = "what reading the token adds to its own logit",
    .place_tip = "−1: its own logit is lowered most, 1: raised most",
    .largest = "promotes",
    .largest_tip = "tokens whose logit it raises most",
    .smallest = "suppresses",
    .smallest_tip = "tokens whose logit it lowers most"};
const CircuitWords kQkWords{
    .name = QStringLiteral("QK"),
    .score = QStringLiteral("Matching"),
    .title = QStringLiteral("What a token attends to"),
    .note =
        QStringLiteral("Each row is a token of the text as query, through W_Q W_K^T, with every token of the vocabulary as key; "
                       "without positions, biases and scale."),
    .own_id = "itself",
    .largest_id = "looks_at",
    .smallest_id = "looks_away",
    .own = "itself",
    .own_tip = "score with itself as key",
    .place_tip = "−1: of all keys it attends to itself least, 1: most",
    .largest = "attends to",
    .largest_tip = "keys with the largest score",
    .smallest = "attends least to",
    .smallest_tip = "keys with the smallest score"};

const CircuitWords& circuit_words(Circuit circuit) { return circuit == Circuit::ov ? kOvWords : kQkWords; }

QString spectrum_title(const analyze::CircuitSpectrum& s) {
    const CircuitWords& words = circuit_words(s.circuit);
    return QStringLiteral("%1  %2 %3").arg(words.name, words.score.toLower(), score_text(s.score));
}

QString spectrum_text(const analyze::CircuitSpectrum& s) {
    const QString score = QStringLiteral("%1 score %2").arg(circuit_words(s.circuit).score, score_text(s.score));
    const bool of_tokens = std::isfinite(s.full_score);
    return score + (of_tokens ? QStringLiteral(", between tokens %1. ").arg(score_text(s.full_score)) : QStringLiteral(". "));
}

plot::Panel eigenvalue_panel(const analyze::CircuitSpectrum& s) {
    plot::Panel panel;
    panel.title = spectrum_title(s);
    panel.x.label = QStringLiteral("real part");
    panel.y.label = QStringLiteral("imaginary part");
    const double size = s.eigenvalues.empty() ? 0 : std::abs(s.eigenvalues.front());
    panel.references = {{.name = {}, .at = 0, .color = {Color::Role::faint}},
                        {.name = {}, .at = 0, .color = {Color::Role::faint}, .vertical = true}};
    if (size > 0) {
        const double room = 1.05 * size;
        panel.equal_units = true;
        panel.x.low = panel.y.low = -room;
        panel.x.high = panel.y.high = room;
        panel.series.push_back(circle(size));
        panel.series.push_back(eigenvalue_series(circuit_words(s.circuit).name, s.eigenvalues,
                                                 {s.score < 0 ? Color::Role::negative : Color::Role::positive}, s.head));
    } else {
        panel.empty = QStringLiteral("every eigenvalue is 0");
    }
    return panel;
}

plot::Panel rank_panel(const analyze::DiagonalRanks& d, const QString& title) {
    plot::Panel panel;
    panel.title = title;
    panel.x.label = QStringLiteral("place in its own row");
    panel.y.label = QStringLiteral("share of tokens");
    panel.x.low = 0;
    panel.x.high = 1;
    panel.y.from_zero = true;
    constexpr std::size_t bins = 20;
    Series& s = panel.series.emplace_back();
    s.kind = Series::Kind::steps;
    s.color = {Color::Role::accent};
    s.y.assign(bins, 0);
    const auto n = static_cast<double>(d.rank.size());
    for (const std::int32_t rank : d.rank) {
        const double at = n > 1 ? rank / (n - 1) : 0;
        s.y[std::min(bins - 1, static_cast<std::size_t>(at * bins))] += 1 / n;
    }
    for (std::size_t b = 0; b <= bins; ++b) s.x.push_back(static_cast<double>(b) / bins);
    s.tip = [y = s.y](std::size_t i) {
        return QStringLiteral("%1 to %2: %3 of the tokens")
            .arg(double(i) / bins)
            .arg(double(i + 1) / bins)
            .arg(draw::value_text(y[i]));
    };
    return panel;
}

/// The different tokens of the text in their order, the first so many.
std::vector<std::int64_t> tokens_of(const trace::Trace& trace, std::vector<Position>& places) {
    std::vector<std::int64_t> ids;
    std::set<std::int64_t> seen;
    const auto& all = trace.encoding().ids;
    for (std::size_t i = 0; i < all.size() && static_cast<std::int64_t>(ids.size()) < most_tokens; ++i)
        if (seen.insert(all[i]).second) {
            ids.push_back(all[i]);
            places.push_back(Position(static_cast<std::int64_t>(i)));
        }
    return ids;
}

TableCell entries(const std::vector<analyze::CircuitEntry>& list, const text::Tokenizer& tokenizer) {
    TableCell cell;
    for (const analyze::CircuitEntry& entry : list) cell.tokens.emplace_back(label_of(tokenizer, entry.id), entry.value);
    return cell;
}

/// One row a token of the text: its own entry, the place of that among the whole vocabulary, and the ends of the row.
TableSection circuit_section(const trace::Trace& trace, Circuit circuit, const std::vector<analyze::CircuitRow>& rows,
                             const std::vector<Position>& places) {
    const CircuitWords& words = circuit_words(circuit);
    TableSection section;
    section.title = words.title;
    section.note = words.note;
    section.columns = {table_column(ColumnKind::token, "token", "token"),
                       table_column(ColumnKind::bar, words.own_id, words.own, words.own_tip),
                       table_column(ColumnKind::signed_tint, "place", "place", words.place_tip, 2),
                       table_column(ColumnKind::text, words.largest_id, words.largest, words.largest_tip, 2),
                       table_column(ColumnKind::text, words.smallest_id, words.smallest, words.smallest_tip, 2)};
    section.columns[2].limit = 1;
    const auto& tokenizer = *trace.tokenizer();
    const double last = static_cast<double>(trace.config().vocab_size - 1);
    for (std::size_t r = 0; r < rows.size(); ++r) {
        const analyze::CircuitRow& row = rows[r];
        TableRow& out = section.rows.emplace_back();
        // A token is what is read (a key) in the OV circuit, what looks (a query) in the QK circuit.
        (circuit == Circuit::ov ? out.key : out.query) = places[r];
        out.cells = {TableCell::of(label_of(tokenizer, row.id)), TableCell::of(row.diagonal),
                     TableCell::of(2 * double(row.diagonal_rank) / last - 1), entries(row.largest, tokenizer),
                     entries(row.smallest, tokenizer)};
    }
    return section;
}

}  // namespace

std::unique_ptr<Figure> head_circuit_view(TracePtr trace, HeadId id, const CircuitViewOptions& o, const CancelToken& cancel,
                                          const Progress& progress) {
    const model::Model& model = *trace->model();
    analyze::CircuitOptions options{.fold_norms = o.fold_norms, .source = o.tokens, .query = o.tokens};
    const bool writes_tokens = analyze::unembeds_stream(model.config());
    const analyze::CircuitSpectrum ov = analyze::circuit_spectrum(model, Circuit::ov, id, {.fold_norms = o.fold_norms}, cancel);
    const analyze::CircuitSpectrum qk = analyze::circuit_spectrum(model, Circuit::qk, id, {.fold_norms = o.fold_norms}, cancel);

    plot::PlotData plots;
    plots.view = "head-circuit";
    plots.title = QStringLiteral("Circuits of %1").arg(head_name(id));
    plots.subtitle = spectrum_text(ov) + spectrum_text(qk);
    if (model.config().n_kv_heads != model.config().n_heads)
        plots.subtitle += QStringLiteral("Reads key/value head %1. ").arg(ov.kv_head);
    plots.focus_fades = false;
    plots.aspect = 0.8;
    plots.panels = {eigenvalue_panel(ov), eigenvalue_panel(qk)};
    if (o.diagonal) {
        if (writes_tokens) {
            const auto ranks = analyze::diagonal_ranks(model, Circuit::ov, id, options, cancel, progress);
            plots.panels.push_back(rank_panel(ranks, QStringLiteral("OV diagonal")));
            plots.subtitle +=
                QStringLiteral(
                    "Reading a token puts it among the ten lowest for %1, among the ten highest for %2 of all tokens. ")
                    .arg(draw::number_text(ranks.share_bottom_10, 3), draw::number_text(ranks.share_top_10, 3));
        }
        const auto ranks = analyze::diagonal_ranks(model, Circuit::qk, id, options, cancel, progress);
        plots.panels.push_back(rank_panel(ranks, QStringLiteral("QK diagonal")));
        plots.subtitle +=
            QStringLiteral("%1 of all tokens attend to themselves most. ").arg(draw::number_text(ranks.share_largest, 3));
    }
    plots.note = o.fold_norms ? QStringLiteral("norm gains multiplied in") : QStringLiteral("norm gains not multiplied in");
    if (model.config().latent.any())
        plots.note += QStringLiteral("; through the latents, with the gains of their norms, and QK of the content alone");
    if (!writes_tokens) plots.note += QStringLiteral("; this model has no unembedding, so nothing a head writes is a token");
    const Table eigenvalues = analyze::table_of(std::array{ov, qk});

    TableData tables;
    tables.view = "head-circuit";
    std::vector<Position> places;
    const std::vector<std::int64_t> ids = tokens_of(*trace, places);
    const auto add_section = [&](Circuit circuit) {
        const auto rows = analyze::circuit_rows(model, circuit, id, ids, entries_a_row, options, cancel);
        tables.sections.push_back(circuit_section(*trace, circuit, rows, places));
    };
    if (writes_tokens) add_section(Circuit::ov);
    add_section(Circuit::qk);

    StackedParts parts;
    parts.view = "head-circuit";
    parts.title = plots.title;
    parts.description = QStringLiteral(
        "What a head is wired to do, whatever the text. Above: eigenvalues of W_V W_O (what it writes for what it reads) and of "
        "W_Q W_K^T (which token attends to which). All on the right: it copies, or attends to its like; on the left: it takes "
        "away, or attends elsewhere; a ring: it turns one thing into another. The score is the sum of the real parts over the sum "
        "of the sizes. Below: the tokens of the text as that wiring sees them. Elhage et al. 2021, A Mathematical Framework for "
        "Transformer Circuits; McDougall et al. 2023, Copy Suppression.");
    parts.parts.push_back(plot::plot_figure(std::move(plots)));
    parts.parts.push_back(table_figure(std::move(tables)));
    parts.table = [eigenvalues] { return eigenvalues; };
    parts.arrays = [eigenvalues] { return eigenvalues.arrays; };
    return stacked_figure(std::move(parts));
}

}  // namespace headlight::figure
