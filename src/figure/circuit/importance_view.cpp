// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/circuit/circuit_views.h"
#include "figure/table/table_figure.h"
#include "headlight/analyze/circuit/importance.h"
#include "headlight/analyze/prediction/outputs.h"
#include "headlight/base/error.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace headlight::figure {
namespace {

/// Tokens up to which blank-out and shuffles are done unasked: each is a pass over the text.
constexpr std::int64_t most_passes = 128;
/// Rows that a reader may go through in the order of the text.
constexpr std::size_t most_words = 100;
constexpr std::size_t most_listed = 40;  ///< where there are more

/// Which of the tokens a section is about: of an encoder-decoder model the source's or the target's, else all.
struct Part {
    bool source = false;
    std::int64_t first = 0, count = 0;
    const std::vector<text::TokenLabel>* labels = nullptr;
};

QString quoted_token(const trace::Trace& trace, std::int64_t id) {
    return u'“' + QString::fromStdString(text::token_label(*trace.tokenizer(), id)) + u'”';
}

QString quoted_output(const trace::Trace& trace, std::int64_t id) {
    return u'“' + QString::fromStdString(analyze::output_label(trace, id)) + u'”';
}

TableSection token_section(const trace::Trace& trace, const analyze::Importance& r, const Part& part) {
    TableSection section;
    section.title = QStringLiteral("What the prediction at %1 depends on")
                        .arg(draw::label_of(trace.labels(), r.position).with_position(r.position));
    if (r.source > 0) section.title += part.source ? QStringLiteral(": the source") : QStringLiteral(": the target so far");
    section.note = QStringLiteral("Target %1, probability %2%3. ")
                       .arg(quoted_output(trace, r.target), draw::weight_text(r.probability),
                            r.masked ? QStringLiteral(", with the position masked") : QString());
    if (r.neutral >= 0)
        section.note += QStringLiteral("Blank-out puts %1 in a token's place. ").arg(quoted_token(trace, r.neutral));
    section.note += part.source ? QStringLiteral("On the right: cross attention of the position in each layer, mean over heads.")
                                : QStringLiteral("On the right: attention of the position in each layer, mean over heads.");
    section.columns = {
        table_column(ColumnKind::token, part.source ? "source_token" : "token", part.source ? "source" : "token"),
        table_column(ColumnKind::bar, "gradient_x_input", "gradient × input",
                     "embedding times the gradient of the target's probability", 4),
        table_column(ColumnKind::bar, "blank_out", "blank-out", "target's probability minus the one without this token", 4),
        table_column(ColumnKind::bar, "attention", "attention", "from the position, mean over heads and layers"),
        table_column(ColumnKind::bar, "value_weighted", "value-weighted", "|Σ weight · v W_O| over the heads, mean over layers")};
    for (Eigen::Index l = 0; l < r.attention.rows(); ++l)
        section.columns.push_back({.kind = ColumnKind::tint,
                                   .id = "attention_layer_" + std::to_string(l),
                                   .title = QString::number(l),
                                   .tip = QStringLiteral("attention in layer %1, mean over heads").arg(l),
                                   .decimals = 2,
                                   .group = 1,
                                   .over = QStringLiteral("attention by layer")});
    for (std::int64_t i = 0; i < part.count; ++i) {
        const std::int64_t j = part.first + i;
        const auto at = static_cast<std::size_t>(j);
        TableRow& row = section.rows.emplace_back();
        if (!part.source) row.key = Position(i);  // the selection is of the decoder's own text
        row.cells = {TableCell::of(draw::label_of(*part.labels, Position(i))), TableCell::of(r.gradient_x_input[at]),
                     TableCell::of(r.blank_out[at]), TableCell::of(r.attention.col(j).mean()),
                     TableCell::of(r.value_weighted.col(j).mean())};
        for (Eigen::Index l = 0; l < r.attention.rows(); ++l) row.cells.push_back(TableCell::of(r.attention(l, j)));
    }
    return section;
}

/// Without the columns of what was not computed.
TableSection without(TableSection section, std::string_view what) {
    for (std::size_t c = section.columns.size(); c-- > 0;) {
        if (section.columns[c].id.find(what) == std::string::npos) continue;
        section.columns.erase(section.columns.begin() + static_cast<std::ptrdiff_t>(c));
        for (TableRow& row : section.rows) row.cells.erase(row.cells.begin() + static_cast<std::ptrdiff_t>(c));
    }
    return section;
}

/// In a file source and target are rows of one table, which a column more tells apart.
TableSection together(const std::vector<TableSection>& parts, const char* column) {
    TableSection whole = parts.back();
    if (parts.size() == 1) return whole;
    whole.rows.clear();
    whole.columns.insert(whole.columns.begin(), {.kind = ColumnKind::text, .id = column, .title = QString::fromLatin1(column)});
    for (std::size_t p = 0; p < parts.size(); ++p)
        for (TableRow row : parts[p].rows) {
            row.cells.insert(row.cells.begin(), TableCell::of(p == 0 ? QStringLiteral("source") : QStringLiteral("target")));
            whole.rows.push_back(std::move(row));
        }
    return whole;
}

/// Of a long text the tokens that matter most.
TableSection shortened(TableSection section) {
    if (section.rows.size() <= most_words) return section;
    const auto size = [](const TableRow& row) { return std::abs(row.cells[1].value); };
    std::ranges::stable_sort(section.rows, [&](const TableRow& a, const TableRow& b) { return size(a) > size(b); });
    section.note += QStringLiteral(" The %1 of %2 tokens with the largest gradient × input are listed; a table or file has all.")
                        .arg(most_listed)
                        .arg(draw::count_text(static_cast<std::int64_t>(section.rows.size())));
    section.rows.resize(most_listed);
    return section;
}

TableSection layer_section(const analyze::Importance& r, const analyze::ImportanceOptions& o, const Part& part) {
    TableSection section;
    section.title = part.source ? QStringLiteral("Can cross attention tell?") : QStringLiteral("Can attention tell?");
    section.note = QStringLiteral("Rank correlation of a layer's attention with the sizes of gradient × input%2, over %1 tokens.")
                       .arg(draw::count_text(part.count), o.blank_out ? QStringLiteral(" and blank-out") : QString());
    if (o.permutations > 0)
        section.note += QStringLiteral(
                            " Shuffled: how far the whole prediction moves (total variation distance, 0 to 1) when the layer's "
                            "weights of the position are put in a random order; median and 10–90 % of %1 shuffles.")
                            .arg(o.permutations);
    section.columns = {table_column(ColumnKind::token, "layer", "layer")};
    const auto pair = [&](const char* id, const QString& over, const QString& against) {
        for (const auto& [end, sign, name] : {std::tuple("_spearman", u'ρ', "Spearman"), std::tuple("_kendall", u'τ', "Kendall")})
            section.columns.push_back({.kind = ColumnKind::signed_tint,
                                       .id = std::string(id) + end,
                                       .title = against + u' ' + sign,
                                       .tip = QStringLiteral("%1 against %2: %3").arg(over, against, QLatin1String(name)),
                                       .decimals = 2,
                                       .limit = 1,
                                       .over = over});
    };
    pair("attention_gradient", QStringLiteral("attention"), QStringLiteral("gradient"));
    pair("attention_blank", QStringLiteral("attention"), QStringLiteral("blank-out"));
    pair("weighted_gradient", QStringLiteral("value-weighted"), QStringLiteral("gradient"));
    pair("weighted_blank", QStringLiteral("value-weighted"), QStringLiteral("blank-out"));
    for (const char* id : {"shuffled_median", "shuffled_low", "shuffled_high"})
        section.columns.push_back({.kind = ColumnKind::number,
                                   .id = id,
                                   .title = QString::fromLatin1(id + 9),
                                   .tip = QStringLiteral("total variation distance after shuffling"),
                                   .group = 2,
                                   .over = QStringLiteral("shuffled")});
    section.columns[section.columns.size() - 2].title = QStringLiteral("10 %");
    section.columns.back().title = QStringLiteral("90 %");
    const std::vector<analyze::LayerImportance>& layers = part.source ? r.cross_layers : r.layers;
    for (std::size_t l = 0; l < layers.size(); ++l) {
        const analyze::LayerImportance& layer = layers[l];
        TableRow& row = section.rows.emplace_back();
        row.cells.push_back(TableCell::of(draw::Label{{}, QStringLiteral("layer %1").arg(l), false}));
        for (const analyze::Agreement& a :
             {layer.attention_gradient, layer.attention_blank, layer.weighted_gradient, layer.weighted_blank}) {
            row.cells.push_back(TableCell::of(a.spearman));
            row.cells.push_back(TableCell::of(a.kendall));
        }
        for (const double v : {layer.shuffled_median, layer.shuffled_low, layer.shuffled_high})
            row.cells.push_back(TableCell::of(v));
    }
    return section;
}

}  // namespace

std::unique_ptr<Figure> importance_view(TracePtr trace, Position position, const ImportanceViewOptions& asked,
                                        const CancelToken& cancel, const Progress& progress) {
    analyze::ImportanceOptions o =
        analyze::importance_asked(trace->config(), *trace->tokenizer(), trace->encoding(), position, asked.asked);
    const auto& encoder = trace->part(model::Stack::encoder);
    const std::int64_t read = (trace->config().causal ? position.value + 1 : trace->tokens()) + (encoder ? encoder->tokens() : 0);
    if (encoder) o.source = encoder->encoding();
    const bool without_passes = read > most_passes && !asked.long_texts;
    if (without_passes) {
        o.blank_out = false;
        o.permutations = 0;
    }
    const analyze::Importance r =
        analyze::importance(*trace->model(), *trace->tokenizer(), trace->encoding(), position, o, cancel, progress);
    TableData data;
    data.view = "importance";
    data.title = QStringLiteral("What the prediction at %1 depends on")
                     .arg(draw::label_of(trace->labels(), position).with_position(position));
    data.description = QStringLiteral(
        "Attention of one position beside three measures of what its prediction depends on: gradient times embedding, the change "
        "when a token is blanked out, and attention times what the values write. Below, how well each layer's attention orders "
        "the tokens as those do, and what happens when the weights are shuffled. Jain & Wallace 2019, Attention is not "
        "Explanation; Abnar & Zuidema 2020; Kobayashi et al. 2020.");
    std::vector<Part> parts;
    if (encoder) parts.push_back({true, 0, r.source, &encoder->labels()});
    parts.push_back({false, r.source, r.tokens - r.source, &trace->labels()});
    std::vector<TableSection> tokens, layers;
    for (const Part& part : parts) {
        tokens.push_back(token_section(*trace, r, part));
        layers.push_back(layer_section(r, o, part));
    }
    for (const TableSection& section : tokens) data.sections.push_back(shortened(section));
    data.sections.insert(data.sections.end(), layers.begin(), layers.end());
    data.table = [r, trace] {
        const auto& source = trace->part(model::Stack::encoder);
        return analyze::table_of(r, trace->encoding(), source ? std::optional(source->encoding()) : std::nullopt,
                                 *trace->tokenizer());
    };
    data.files = {together(tokens, "text"), together(layers, "attention_to")};
    for (TableSection& section : data.sections) {
        if (!o.blank_out) section = without(std::move(section), "blank");
        if (o.permutations == 0) section = without(std::move(section), "shuffled");
    }
    if (without_passes)
        data.sections.front().note +=
            QStringLiteral(" Blank-out and shuffles are left out: the position reads %1 tokens, more than %2.")
                .arg(draw::count_text(read), draw::count_text(most_passes));
    return table_figure(std::move(data));
}

}  // namespace headlight::figure
