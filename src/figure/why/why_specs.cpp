// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/core/view_fields.h"
#include "figure/core/view_tables.h"
#include "figure/why/why_figure.h"
#include "figure/why/why_views.h"
#include "headlight/figure/core/part_name.h"
#include "headlight/intervention/why/why_check.h"

#include <algorithm>
#include <cmath>

namespace headlight::figure {
namespace {

constexpr std::size_t most_why_lines = 12;

/// The strongest parts of a side, and the rest of them together.
std::vector<WhyLine> lines_of(const std::vector<analyze::StreamPart>& parts, const Eigen::VectorXd& sums,
                              const std::vector<text::TokenLabel>& labels) {
    const std::vector<Eigen::Index> order = analyze::by_amount(sums);
    std::vector<WhyLine> lines;
    const std::size_t own = parts.size() <= most_why_lines + 1 ? parts.size() : most_why_lines;
    for (std::size_t i = 0; i < order.size(); ++i) {
        const analyze::StreamPart& part = parts[static_cast<std::size_t>(order[i])];
        if (i < own) {
            WhyLine& line = lines.emplace_back();
            line.name = why_part_name(part, labels);
            if (part.is_head()) line.head = HeadId{Layer(part.layer), Head(part.index)};
            if (part.source >= 0) line.source = Position(part.source), line.from_source = sums[order[i]];
            line.split = part.source != analyze::StreamPart::whole;
        } else if (i == own) {
            lines.emplace_back().name = QStringLiteral("%1 others").arg(order.size() - own);
        }
        lines.back().parts.push_back(order[i]);
        lines.back().sum += sums[order[i]];
    }
    return lines;
}

/// Where the three strongest heads of a side had it from.
void add_sources(const trace::Trace& trace, const analyze::WhyOptions& options, bool of_query, std::vector<WhyLine>& lines,
                 const CancelToken& cancel) {
    int found = 0;
    for (WhyLine& line : lines) {
        if (!line.head || line.split) continue;
        if (found++ == 3) break;
        cancel.throw_if_cancelled();
        const Eigen::VectorXd terms = analyze::why_sources(
            trace, options, of_query, {analyze::Component::head, line.head->layer.value, line.head->head.value});
        Eigen::Index best = 0;
        line.sum >= 0 ? terms.maxCoeff(&best) : terms.minCoeff(&best);
        line.source = Position(best);
        line.from_source = terms[best];
    }
}

}  // namespace

QString why_part_name(const analyze::StreamPart& part, const std::vector<text::TokenLabel>& labels) {
    const QString name = part_name(part.component, part.layer, part.index);
    if (part.source == analyze::StreamPart::whole) return name;
    if (part.source == analyze::StreamPart::elsewhere) return QStringLiteral("%1 elsewhere").arg(name);
    return QStringLiteral("%1 ← %2").arg(name,
                                         draw::label_of(labels, Position(part.source)).with_position(Position(part.source)));
}

std::unique_ptr<Figure> why_view(TracePtr trace, HeadId head, std::optional<Position> query, std::optional<Position> key,
                                 const analyze::WhyRequest& request, const CancelToken& cancel) {
    const analyze::WhyOptions options = analyze::why_options(*trace, head, query, key, request, cancel);
    WhyViewData data{
        .why = analyze::why(*trace, options, cancel), .list = {}, .queries = {}, .keys = {}, .labels = {}, .top = request.top};
    data.list = listed(data.why, pairs_listed(request.top));
    data.labels = trace->labels();
    data.queries = lines_of(data.why.query_parts, data.why.query_sums, data.labels);
    data.keys = lines_of(data.why.key_parts, data.why.key_sums, data.labels);
    if (request.by == analyze::WhyBy::part || request.by == analyze::WhyBy::token) {
        add_sources(*trace, options, true, data.queries, cancel);
        add_sources(*trace, options, false, data.keys, cancel);
    }
    if (std::isfinite(data.why.advantage)) {
        data.path = analyze::why_path(*trace, options, analyze::longest_why_path, cancel);
        data.path_text = QString::fromStdString(analyze::path_text(*trace, data.path));
        for (const std::string& words : intervention::edits_of_path(data.path))
            data.path_edits += (data.path_edits.empty() ? "" : "\n") + words;
    }
    return std::make_unique<WhyFigure>(std::move(data));
}

std::vector<ViewSpec> why_view_specs() {
    return {
        {.id = "why",
         .title = "Why",
         .basis = Basis::model,
         .needs = {.focus = true, .query = true, .chosen = true, .key = true},
         .options = options_of<analyze::WhyRequest>(),
         .make =
             [](TracePtr trace, const ViewState& s, const CancelToken& cancel, const Progress&) {
                 return why_view(std::move(trace), s.focus(), s.query, s.key, request_of<analyze::WhyRequest>(s), cancel);
             },
         .missing = [](const trace::Trace& trace) -> std::string {
             return trace.config().latent.any()
                        ? "Queries and keys of latent attention are not split by what wrote them. The terms of its scores show "
                          "their content and their rotary part."
                        : "";
         },
         .filters = true}};
}

}  // namespace headlight::figure
