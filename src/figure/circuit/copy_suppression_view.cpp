// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/circuit/circuit_views.h"
#include "figure/core/axis_words.h"
#include "figure/table/table_figure.h"
#include "headlight/analyze/circuit/copy_suppression.h"
#include "headlight/trace/whole.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>

namespace headlight::figure {
namespace {

constexpr std::size_t most_pairs = 300;  ///< that a reader may go through; files have every pair

QString suppression_text(double share) {
    return std::isfinite(share) ? QStringLiteral("%1 %").arg(draw::number_text(100 * share, 0)) : QStringLiteral("none");
}

}  // namespace

std::unique_ptr<Figure> copy_suppression_view(TracePtr trace, HeadId id, const analyze::CopySuppressionRequest& asked,
                                              const CancelToken& cancel, const Progress& progress) {
    const analyze::CopySuppressionOptions options = asked.options(trace->across_texts());
    const TracePtr run = trace->across_texts() ? trace::whole_of(trace) : trace;
    const std::vector<analyze::SuppressedPair> found = analyze::suppressed_pairs(*run, id, options, cancel, progress);
    std::vector<analyze::SuppressedPair> pairs = found;
    std::ranges::stable_sort(pairs, {}, &analyze::SuppressedPair::logit_change);
    const auto low = std::ranges::count_if(pairs, [](const auto& p) { return p.rank < 10; });

    TableData data;
    TableSection& section = data.sections.emplace_back();
    section.title = with_attention(QStringLiteral("What %1 does to the tokens it attends to").arg(head_name(id)),
                                   attention_name(trace->config()));
    section.note = QStringLiteral(
                       "%1 pairs with more than %2 attention; in %3 of them the source is among the ten tokens that "
                       "the head lowers most.")
                       .arg(draw::count_text(std::ssize(pairs)), draw::number_text(asked.attention_above, 2),
                            pairs.empty() ? QStringLiteral("none") : suppression_text(double(low) / double(pairs.size())));
    if (asked.explained) {
        const analyze::SuppressionExplained e = analyze::suppression_explained(*run, id, options, cancel);
        section.note +=
            std::isfinite(e.explained)
                ? QStringLiteral(
                      " Copy suppression explains %1 of the head: without it the prediction moves by %2 "
                      "nats, with nothing but it by %3.")
                      .arg(suppression_text(e.explained), draw::value_text(e.kl_ablated), draw::value_text(e.kl_preserved))
                : QStringLiteral(" The head does nothing to this text's predictions.");
    }
    if (pairs.size() > most_pairs)
        section.note += QStringLiteral(" The %1 that it lowers most are listed; a table or file has all.").arg(most_pairs);
    section.columns = {
        table_column(ColumnKind::token, "source_token", "source"),
        table_column(ColumnKind::text, "destination_token", "attended to from"),
        {.kind = ColumnKind::bar, .id = "attention", .title = QStringLiteral("attention"), .limit = 1},
        table_column(ColumnKind::number, "predicted_rank", "predicted rank",
                     "of the source's token by the logit lens before the head; 0: the top prediction", 0),
        table_column(ColumnKind::bar, "logit_change", "logit change",
                     "direct effect of the head on the logit of the source's token"),
        table_column(ColumnKind::bar, "pair_logit_change", "by this source", "what this source alone adds of it"),
        table_column(ColumnKind::number, "rank", "rank", "tokens whose logit the head lowers more; 0: the most suppressed", 0)};
    section.columns[4].group = section.columns[5].group = 1;
    section.empty =
        QStringLiteral("No pair of tokens has more attention than %1.").arg(draw::number_text(asked.attention_above, 2));
    for (const analyze::SuppressedPair& p : std::span(pairs).first(std::min(pairs.size(), most_pairs))) {
        TableRow& row = section.rows.emplace_back();
        row.query = p.destination;
        row.key = p.source;
        row.head = id;
        row.cells = {TableCell::of(draw::label_of(trace->key_labels(), p.source)),
                     TableCell::of(draw::label_of(trace->labels(), p.destination).with_position(p.destination)),
                     TableCell::of(p.attention),
                     TableCell::of(double(p.predicted_rank)),
                     TableCell::of(p.logit_change),
                     TableCell::of(p.pair_logit_change),
                     TableCell::of(double(p.rank))};
    }
    data.view = "copy-suppression";
    data.title = with_attention(QStringLiteral("Copy suppression of %1").arg(head_name(id)), attention_name(trace->config()));
    data.description = QStringLiteral(
        "Pairs that the head attends to, by what it does to the logit of the key's token. A head that suppresses copies "
        "attends to tokens that the model is about to say again (predicted rank near 0) and lowers their logit more than any "
        "other (rank near 0). McDougall et al. 2023, Copy Suppression.");
    data.table = [found, trace] { return analyze::table_of(found, *trace); };
    return table_figure(std::move(data));
}

}  // namespace headlight::figure
