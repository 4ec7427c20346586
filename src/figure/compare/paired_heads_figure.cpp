// SPDX-License-Identifier: GPL-3.0-or-later
// Heads compared over many pairs of texts.
#include "headlight/figure/compare/paired_heads_figure.h"

#include "figure/core/axis_words.h"
#include "figure/core/command_words.h"
#include "figure/heads/heads_mosaic.h"
#include "figure/table/stacked_figure.h"
#include "figure/table/table_figure.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <numeric>
#include <system_error>

namespace headlight::figure {
namespace {

namespace iv = headlight::intervention;

/// The mean differences as a measure of heads.
std::shared_ptr<const analyze::HeadTable> table_of_means(const iv::PairedHeads& of) {
    const iv::PairedMeasure& shown = of.shown();
    auto table = std::make_shared<analyze::HeadTable>();
    table->n_layers = of.n_layers;
    table->n_heads = of.n_heads;
    analyze::MeasureInfo info = shown.info;
    if (!shown.is_distance) {
        info.title += ", B − A";
        info.definition = "B − A: " + info.definition;
        info.group = kDifferenceGroup;
    }
    table->measures.push_back(info);
    Eigen::MatrixXd& values = table->values.emplace_back(of.n_layers, of.n_heads);
    for (std::size_t i = 0; i < shown.heads.size(); ++i) {
        const auto at = static_cast<Eigen::Index>(i);
        values(at / of.n_heads, at % of.n_heads) = shown.heads[i].difference.mean;
    }
    return table;
}

/// Heads by the size of the difference; of a cosine the smallest comes first.
std::vector<std::size_t> by_difference(const iv::PairedMeasure& shown) {
    std::vector<std::size_t> order(shown.heads.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, std::greater(), [&](std::size_t i) {
        const double x = shown.heads[i].difference.mean;
        if (!std::isfinite(x)) return -HUGE_VAL;
        return shown.info.id == "z_cosine" ? -x : std::abs(x);
    });
    return order;
}

TableSection list_of(const iv::PairedHeads& of, const QString& words) {
    const iv::PairedMeasure& shown = of.shown();
    const bool intervals = std::ranges::any_of(shown.heads, [](const auto& h) { return std::isfinite(h.difference.low); });
    TableSection section;
    section.title = capitalized(QString::fromStdString(table_of_means(of)->measures.front().title));
    section.note = words + QStringLiteral(": means over %1 %2").arg(of.pairs).arg(of.pairs == 1 ? "pair" : "pairs");
    if (of.groups != of.pairs) section.note += QStringLiteral(" in %1 groups").arg(of.groups);
    section.note += !intervals          ? QStringLiteral("; no intervals below five")
                    : shown.is_distance ? QStringLiteral("; lines are 95 % intervals")
                                        : QStringLiteral("; lines are 95 % intervals, heads whose interval holds 0 are faint");
    section.columns.push_back({.kind = ColumnKind::text, .id = "head", .title = QStringLiteral("head")});
    if (!shown.is_distance) {
        section.columns.push_back(table_column(ColumnKind::number, "a", "A", "mean over pairs"));
        section.columns.push_back(table_column(ColumnKind::number, "b", "B", "mean over the same pairs"));
    }
    section.columns.push_back({.kind = ColumnKind::bar,
                               .id = shown.is_distance ? shown.info.id : "difference",
                               .title = shown.is_distance ? QStringLiteral("mean") : QStringLiteral("B − A"),
                               .tip = QString::fromStdString(shown.info.definition),
                               .sorted = true});
    const std::int64_t heads = of.n_heads;
    for (const std::size_t i : by_difference(shown)) {
        const iv::PairedHead& each = shown.heads[i];
        const auto number = static_cast<std::int64_t>(i);
        TableRow& row = section.rows.emplace_back();
        row.head = HeadId{Layer(number / heads), Head(number % heads)};
        row.quiet = !shown.is_distance && each.holds_zero();
        row.cells.push_back(TableCell::of(head_name(*row.head)));
        if (!shown.is_distance) {
            row.cells.push_back(TableCell::of(each.a.mean));
            row.cells.push_back(TableCell::of(each.b.mean));
        }
        TableCell bar = TableCell::of(each.difference.mean);
        bar.low = each.difference.low, bar.high = each.difference.high;
        row.cells.push_back(bar);
    }
    return section;
}

}  // namespace

std::unique_ptr<Figure> paired_heads_figure(std::shared_ptr<const iv::PairedHeads> of, const QString& words) {
    const iv::PairedMeasure& shown = of->shown();
    std::vector<HeadId> faint;
    for (std::size_t i = 0; i < shown.heads.size(); ++i) {
        const auto number = static_cast<std::int64_t>(i);
        if (!shown.is_distance && shown.heads[i].holds_zero())
            faint.push_back({Layer(number / of->n_heads), Head(number % of->n_heads)});
    }
    StackedParts parts;
    parts.view = "compare-heads";
    parts.title = QStringLiteral("Heads over pairs of texts");
    parts.description = QStringLiteral(
        "What every head does in text B and not in text A, as a mean over many pairs: a layers × heads map of one measure, and "
        "all heads sorted by it with 95 % intervals (percentile bootstrap over pairs; pairs of a group are drawn together). Heads "
        "whose interval holds 0 are faint. Every head has an interval of its own: of heads without a difference 5 % leave out 0 by "
        "chance.");
    parts.across = true;
    parts.inset = {8, 20};  // the table's margins, and the line of its title
    parts.parts.push_back(heads_mosaic(table_of_means(*of), shown.info.id, std::move(faint)));
    parts.parts.push_back(table_figure(one_section("compare-heads", list_of(*of, words))));
    parts.table = [of] { return iv::table_of(*of); };
    parts.arrays = [] { return std::vector<NamedArray>(); };
    return stacked_figure(std::move(parts));
}

Provenance paired_heads_provenance(const model::Model& model, const std::string& pairs,
                                   std::vector<std::pair<std::string, std::string>> options, const std::string& dtype,
                                   const ExportOptions& output, const std::string& format) {
    Provenance made = provenance_of(model, dtype);
    made.options = {{"pairs", std::filesystem::path(pairs).filename().string()}};
    made.options.insert(made.options.end(), options.begin(), options.end());
    std::error_code ignored;
    const bool is_file = std::filesystem::exists(pairs, ignored);
    options.insert(options.begin(), {"pairs", is_file ? full_path(pairs) : pairs});
    made.command = command_of("compare", model, std::move(options), dtype, output, format);
    return made;
}

}  // namespace headlight::figure
