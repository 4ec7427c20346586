// SPDX-License-Identifier: GPL-3.0-or-later
// Heads by how much they differ between two runs.
#include "figure/compare/compare_views.h"
#include "figure/heads/heads_mosaic.h"
#include "figure/table/stacked_figure.h"
#include "figure/table/table_figure.h"
#include "headlight/base/error.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace headlight::figure {
namespace {

namespace iv = headlight::intervention;

struct DistanceColumn {
    const char *id, *title, *tip;
    double iv::HeadComparison::*value;
    double low, high;
};
constexpr DistanceColumn kDistanceColumns[] = {
    {"js", "JS", "mean Jensen-Shannon divergence of the rows that have a partner, nats; 0: equal, ln 2: nothing in common",
     &iv::HeadComparison::js, 0, kNaN},
    {"js_max", "largest JS", "the row that differs most", &iv::HeadComparison::js_max, 0, kNaN},
    {"tv", "moved", "mean total variation: the share of attention that moved", &iv::HeadComparison::tv, 0, kNaN},
    {"z_cosine", "cosine of z", "mean cosine of the head's weighted sum of values in A and B", &iv::HeadComparison::z_cosine,
     kNaN, 1},
    {"z_relative_l2", "|Δz| / |z|", "mean length of the change of z over its length in A", &iv::HeadComparison::z_relative_l2, 0,
     kNaN}};

/// The distances, and the differences of every measure that both runs have, as measures of heads.
std::shared_ptr<const analyze::HeadTable> table_of_differences(const iv::RunPair& pair, const iv::ComparedHeads& compared) {
    auto table = std::make_shared<analyze::HeadTable>();
    const auto& config = pair.a->config();
    table->n_layers = config.n_layers;
    table->n_heads = config.n_heads;
    table->rows = compared.rows;
    for (const DistanceColumn& column : kDistanceColumns) {
        table->measures.push_back({column.id, column.title, column.tip, "", column.low, column.high});
        Eigen::MatrixXd& values = table->values.emplace_back(Eigen::MatrixXd::Constant(config.n_layers, config.n_heads, kNaN));
        for (const iv::HeadComparison& each : compared.heads)
            values(each.head.layer.value, each.head.head.value) = each.*column.value;
    }
    const analyze::HeadTable a = analyze::head_table(*pair.a), b = analyze::head_table(*pair.b);
    for (std::size_t m = 0; m < a.measures.size(); ++m) {
        const Eigen::MatrixXd* other = b.find(a.measures[m].id);
        if (!other) continue;
        analyze::MeasureInfo info = a.measures[m];
        info.title += ", B − A";
        info.definition = "B − A: " + info.definition;
        info.group = kDifferenceGroup;
        table->measures.push_back(info);
        table->values.push_back(*other - a.values[m]);
    }
    return table;
}

}  // namespace

std::unique_ptr<Figure> compare_heads_view(const Beside& beside, const std::string& measure, const iv::CompareOptions& options,
                                           const CancelToken& cancel, const Progress& progress) {
    const iv::RunPair& pair = *beside.pair;
    const iv::ComparedHeads compared = iv::compare_heads(pair, iv::same_heads(pair), options, cancel, progress);
    const auto table = table_of_differences(pair, compared);
    const Eigen::MatrixXd* by = table->find(measure);
    if (!by) throw Error({.problem = "These runs have no such measure", .item = measure, .hint = "Choose js or another measure"});
    const auto at = [&](const iv::HeadComparison& each) { return (*by)(each.head.layer.value, each.head.head.value); };
    // What differs most stands first: of a cosine that is the smallest.
    const auto rank = [&](const iv::HeadComparison& each) {
        const double x = at(each);
        if (!std::isfinite(x)) return -HUGE_VAL;
        return measure == "z_cosine" ? -x : std::abs(x);
    };
    std::vector<iv::HeadComparison> sorted_heads = compared.heads;
    std::ranges::stable_sort(sorted_heads, std::greater(), rank);

    TableSection section;
    section.title = QStringLiteral("Heads by how much they differ");
    section.note = QStringLiteral("B: %1 · means over %2 rows that both %3 have")
                       .arg(QString::fromStdString(beside.words))
                       .arg(compared.rows)
                       .arg(model::reads_pictures(pair.a->config()) ? QStringLiteral("pictures") : QStringLiteral("texts"));
    if (options.without_first) section.note += QStringLiteral(", without the first key");
    section.hint = QStringLiteral("a click selects the head, a double click opens its difference");
    section.columns.push_back({.kind = ColumnKind::text, .id = "head", .title = QStringLiteral("head")});
    for (const DistanceColumn& column : kDistanceColumns) {
        const bool sorted = measure == column.id;
        section.columns.push_back({.kind = sorted ? ColumnKind::bar : ColumnKind::number,
                                   .id = column.id,
                                   .title = QString::fromUtf8(column.title),
                                   .tip = QString::fromUtf8(column.tip),
                                   .sorted = sorted,
                                   .click = {{"by", column.id}}});
    }
    const bool of_measure = std::ranges::none_of(kDistanceColumns, [&](const auto& c) { return measure == c.id; });
    if (of_measure) {
        const auto info = std::ranges::find(table->measures, measure, &analyze::MeasureInfo::id);
        section.columns.insert(section.columns.begin() + 1, {.kind = ColumnKind::bar,
                                                             .id = measure,
                                                             .title = QString::fromStdString(info->title),
                                                             .tip = QString::fromStdString(info->definition),
                                                             .sorted = true});
    }
    for (const iv::HeadComparison& each : sorted_heads) {
        TableRow& row = section.rows.emplace_back();
        row.head = each.head;
        row.cells.push_back(TableCell::of(head_name(each.head)));
        if (of_measure) row.cells.push_back(TableCell::of(at(each)));
        for (const DistanceColumn& column : kDistanceColumns) row.cells.push_back(TableCell::of(each.*column.value));
    }
    StackedParts parts;
    parts.view = "compare-heads";
    parts.title = QStringLiteral("Heads in A and B");
    parts.description = QStringLiteral(
        "How differently each head attends in two runs: a layers × heads map of one measure, and all heads sorted by it. Rows of "
        "attention are compared where both texts have the token; weight on tokens that only one text has counts as moved. JS is the "
        "Jensen-Shannon divergence, “moved” the total variation; z is the head's weighted sum of values. "
        "Measures of heads are differences B − A.");
    parts.across = true;
    parts.inset = {8, 20};  // the table's margins, and the line of its title
    parts.parts.push_back(heads_mosaic(table, measure, {}));
    parts.parts.push_back(table_figure(one_section("compare-heads", std::move(section))));
    parts.table = [exported = iv::table_of(pair, compared, false, true)] { return exported; };
    parts.arrays = [] { return std::vector<NamedArray>(); };
    return stacked_figure(std::move(parts));
}

}  // namespace headlight::figure
