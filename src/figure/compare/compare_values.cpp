// SPDX-License-Identifier: GPL-3.0-or-later
// Differences of views that are not of patterns.
#include "figure/compare/compare_views.h"
#include "figure/core/view_fields.h"
#include "figure/pattern/matrix/matrix_view.h"
#include "figure/pattern/model/signed_maps.h"
#include "figure/table/table_figure.h"
#include "headlight/analyze/prediction/logit_lens.h"
#include "headlight/analyze/prediction/outputs.h"
#include "headlight/analyze/prediction/predictions.h"
#include "headlight/base/error.h"
#include "headlight/figure/core/part_name.h"
#include "headlight/model/classes.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace headlight::figure {
namespace {

namespace iv = headlight::intervention;

constexpr std::size_t kMostRows = 400;

void require_same_tokens(const Beside& beside) {
    if (beside.pair->queries.pooled || beside.pair->keys.pooled)
        throw Error({.problem = "Numbers of single tokens cannot be subtracted between two tokenizers",
                     .expected = beside.pair->a->config().name,
                     .found = beside.pair->b->config().name,
                     .hint = "Show A or B"});
}

/// What the state names must stand for something in B: another layer, head or token in its place would be subtracted unnoticed.
void require_partners(const Beside& beside, const ViewNeeds& needs, const ViewState& of_a, const ViewState& of_b) {
    const intervention::RunPair& pair = *beside.pair;
    if ((needs.layer || needs.heads || needs.focus || needs.neuron) && !pair.same_shape())
        (void)iv::same_heads(pair);  // the error names both
    if (needs.query && of_a.query && !of_b.query)
        throw Error({.problem = "The selected token has no partner in B",
                     .item = pair.a->labels()[static_cast<std::size_t>(of_a.query->value)].text,
                     .hint = "Select a token that both texts have, or show A or B"});
}

std::size_t column_of(const Table& table, const std::string& name) {
    const auto at = std::ranges::find(table.columns, name);
    if (at == table.columns.end())
        throw Error({.problem = "The view's table has no such column", .item = name, .hint = "Show A or B"});
    return static_cast<std::size_t>(at - table.columns.begin());
}

std::string word_of(const Table::Cell& cell) {
    if (const auto* whole = std::get_if<std::int64_t>(&cell)) return std::to_string(*whole);
    if (const auto* text = std::get_if<std::string>(&cell)) return *text;
    return {};
}

std::optional<double> number_of(const Table::Cell& cell) {
    if (const auto* real = std::get_if<double>(&cell); real && std::isfinite(*real)) return *real;
    if (const auto* whole = std::get_if<std::int64_t>(&cell)) return static_cast<double>(*whole);
    return std::nullopt;
}

/// The head that a row is about.
std::optional<HeadId> head_of(const Table& table, const std::vector<Table::Cell>& cells) {
    const auto cell = [&](const char* name) {
        const auto at = std::ranges::find(table.columns, name);
        return at == table.columns.end() ? nullptr : &cells[std::size_t(at - table.columns.begin())];
    };
    const Table::Cell* component = cell("component");
    if (component && word_of(*component) != "head") return std::nullopt;
    const auto *layer = std::get_if<std::int64_t>(cell("layer")),
               *head = std::get_if<std::int64_t>(cell(component ? "index" : "head"));
    if (!layer || !head) return std::nullopt;
    return HeadId{Layer(*layer), Head(*head)};
}

/// A row of a decomposition in words: "L5H7", "L5H4 from ·cook (5)".
QString part_words(const Table& table, const std::vector<Table::Cell>& cells, const trace::Trace& trace) {
    const auto cell = [&](const char* name) -> const Table::Cell& { return cells[column_of(table, name)]; };
    const auto number = [&](const char* name) {
        const auto* whole = std::get_if<std::int64_t>(&cell(name));
        return whole ? *whole : -1;
    };
    const std::string word = word_of(cell("component"));
    const std::int64_t layer = number("layer"), index = number("index"), source = number("source");
    if (source >= 0)
        return QStringLiteral("%1 from %2")
            .arg(head_part({Layer(layer), Head(index)}, word == "cross_head_source"),
                 draw::label_of(word == "cross_head_source" ? trace.part(model::Stack::cross)->key_labels() : trace.labels(),
                                Position(source))
                     .with_position(Position(source)));
    const auto component = analyze::component_named(word);
    return component ? part_name(*component, layer, index) : QString::fromStdString(word);
}

/// A column of positions of keys, which in cross attention are of another text; the others are of queries.
bool names_key(const std::string& column) { return column == "key" || column == "source"; }

/// Rows of B by their names, positions moved to A.
std::map<std::vector<std::string>, double> rows_by_name(const Table& table, const ComparedColumn& compared, const Beside& b) {
    std::map<std::vector<std::string>, double> rows;
    const std::vector<std::int64_t> of_queries = b.pair->queries.back(), of_keys = b.pair->keys.back();
    const std::size_t value = column_of(table, compared.value);
    for (const auto& row : table.rows) {
        std::vector<std::string> name;
        bool known = true;
        for (const std::string& column : compared.names) {
            const Table::Cell& cell = row[column_of(table, column)];
            const auto* position = std::get_if<std::int64_t>(&cell);
            if (position && std::ranges::find(compared.positions, column) != compared.positions.end()) {
                const std::int64_t moved = (names_key(column) ? of_keys : of_queries).at(static_cast<std::size_t>(*position));
                known = known && moved >= 0;
                name.push_back(std::to_string(moved));
            } else {
                name.push_back(word_of(cell));
            }
        }
        if (const auto number = number_of(row[value]); number && known) rows.emplace(std::move(name), *number);
    }
    return rows;
}

}  // namespace

std::unique_ptr<Figure> table_difference(const Beside& beside, const ViewState& state, const ComparedColumn& compared,
                                         const CancelToken& cancel, const Progress& progress) {
    const iv::RunPair& pair = *beside.pair;
    ViewState of_a = state;
    of_a.beside.reset();
    of_a.side = Side::a;
    const ViewSpec& spec = view_spec(state.view);
    require_partners(beside, spec.needs, state, state_of_b(beside, state));
    if (state.view == "neuron" && !of_a.query) of_a.query = default_position(*pair.a, spec);  // else it has no scores
    const std::string& option = compared.token_option;
    if (!option.empty() || !compared.positions.empty()) require_same_tokens(beside);
    QString of_token;
    if (!option.empty()) {
        if (text_value(of_a, option).empty()) {
            of_a.query = head_position(*pair.a, spec, of_a.query);
            of_a.values[option] = std::to_string(analyze::next_tokens(*pair.a, *of_a.query, 1).front().id);
        }
        // The "next" token of importance is each text's own.
        if (text_value(of_a, option) != "next")
            of_token =
                QStringLiteral("of “%1” · ")
                    .arg(QString::fromStdString(analyze::output_label(*pair.a, *token_value(*pair.a, of_a, option.c_str()))));
    }
    const Table a = spec.make(pair.a, of_a, cancel, progress)->table(),
                b = spec.make(pair.b, state_of_b(beside, of_a), cancel, progress)->table();
    const auto rows_b = rows_by_name(b, compared, beside);
    struct Row {
        std::vector<std::string> name;
        const std::vector<Table::Cell>* cells;
        double a, b;
    };
    std::vector<Row> rows;
    const std::size_t value = column_of(a, compared.value);
    std::map<std::vector<std::string>, bool> seen;
    for (const auto& cells : a.rows) {
        std::vector<std::string> name;
        for (const std::string& column : compared.names) name.push_back(word_of(cells[column_of(a, column)]));
        const auto number = number_of(cells[value]);
        const auto other = rows_b.find(name);
        if (!number || other == rows_b.end() || std::exchange(seen[name], true)) continue;
        rows.push_back({std::move(name), &cells, *number, other->second});
    }
    const auto by_change = [](const Row& x, const Row& y) { return std::abs(x.b - x.a) > std::abs(y.b - y.a); };
    if (!compared.in_order) std::ranges::stable_sort(rows, by_change);

    TableSection section;
    section.title = QString::fromStdString(compared.what) + QStringLiteral(" in A and B");
    section.note = of_token + QStringLiteral("B: ") + QString::fromStdString(beside.words);
    if (rows.size() > kMostRows)
        section.note += QStringLiteral(" · the %1 that differ most of %2").arg(kMostRows).arg(rows.size());
    if (rows.empty()) section.empty = QStringLiteral("The two runs have no row in common.");
    static const std::vector<std::string> part{"part"};
    const std::vector<std::string>& shown = compared.parts ? part : compared.shown.empty() ? compared.names : compared.shown;
    for (const std::string& column : shown)
        section.columns.push_back(
            {.kind = ColumnKind::text, .id = column, .title = QString::fromStdString(column).replace(u'_', u' ')});
    section.columns.push_back({.kind = ColumnKind::bar, .id = "a", .title = QStringLiteral("A"), .group = 0});
    section.columns.push_back({.kind = ColumnKind::bar, .id = "b", .title = QStringLiteral("B"), .group = 0});
    section.columns.push_back(
        {.kind = ColumnKind::signed_tint, .id = "difference", .title = QStringLiteral("B − A"), .sorted = !compared.in_order});
    Table exported{compared.names, {}};
    exported.columns.insert(exported.columns.end(), {"a", "b", "difference"});
    exported.definitions = {{"a", compared.value + " of A"}, {"b", compared.value + " of B"}, {"difference", "B - A"}};
    for (std::size_t r = 0; r < rows.size(); ++r) {
        const Row& each = rows[r];
        std::vector<Table::Cell> out;
        for (const std::string& column : compared.names) out.push_back((*each.cells)[column_of(a, column)]);
        out.insert(out.end(), {each.a, each.b, each.b - each.a});
        exported.add(std::move(out));
        if (r >= kMostRows) continue;
        TableRow& row = section.rows.emplace_back();
        for (const std::string& column : shown)
            row.cells.push_back(TableCell::of(compared.parts
                                                  ? part_words(a, *each.cells, *pair.a)
                                                  : QString::fromStdString(word_of((*each.cells)[column_of(a, column)]))));
        for (const double x : {each.a, each.b, each.b - each.a}) row.cells.push_back(TableCell::of(x));
        for (const std::string& column : compared.positions)
            if (const auto* position = std::get_if<std::int64_t>(&(*each.cells)[column_of(a, column)]))
                (row.query || names_key(column) ? row.key : row.query) = Position(*position);
        row.head = head_of(a, *each.cells);
    }
    TableData data;
    data.view = state.view;
    data.title = QString::fromStdString(spec.title) + QStringLiteral(", B − A");
    data.description = QStringLiteral(
        "The same numbers in two runs, and their difference. A and B are bars on one scale, B − A is blue where B has more and orange "
        "where it has less, on a scale symmetric around 0. Rows that only one run has are left out.");
    data.sections = {std::move(section)};
    data.table = [exported] { return exported; };
    return table_figure(std::move(data));
}

std::unique_ptr<Figure> lens_difference(const Beside& beside, const ViewState& state, const CancelToken& cancel,
                                        const Progress& progress) {
    require_same_tokens(beside);
    const iv::RunPair& pair = *beside.pair;
    if (pair.a->config().n_layers != pair.b->config().n_layers) (void)iv::same_heads(pair);  // the error names both
    const analyze::LensOptions options =
        analyze::lens_asked(pair.a->config(), *pair.a->tokenizer(), request_of<analyze::LensRequest>(state));
    MatrixViewData data;
    std::vector<std::vector<float>> rows;
    for (std::int64_t u = 0; u < std::ssize(pair.queries.to); ++u) {
        const std::int64_t partner = pair.queries.to[static_cast<std::size_t>(u)];
        if (partner < 0) continue;
        cancel.throw_if_cancelled();
        if (progress) progress({"Reading", "token", u, std::ssize(pair.queries.to)});
        const std::int64_t id = options.watched ? *options.watched : analyze::next_tokens(*pair.a, Position(u), 1).front().id;
        const auto of_a = analyze::lens_history(*pair.a, Position(u), {id}, options),
                   of_b = analyze::lens_history(*pair.b, Position(partner), {id}, options);
        std::vector<float>& row = rows.emplace_back();
        for (std::size_t l = 0; l < of_a.scores.size(); ++l)
            row.push_back(of_b.scores[l].probability - of_a.scores[l].probability);
        const text::TokenLabel& label = pair.a->labels()[static_cast<std::size_t>(u)];
        data.axes.queries.push_back({.label = label.text + " → " + analyze::output_label(*pair.a, id),
                                     .continuation = label.continuation,
                                     .special = label.special,
                                     .first = Position(u)});
    }
    const auto columns = static_cast<std::int64_t>(rows.front().size());
    for (std::int64_t l = 0; l < columns; ++l)
        data.axes.keys.push_back(
            {.label = l + 1 == columns ? "output" : "L" + std::to_string(l), .continuation = {}, .first = Position(-1 - l)});
    analyze::Matrix map(std::ssize(rows), columns);
    for (Eigen::Index r = 0; r < map.rows(); ++r)
        for (Eigen::Index c = 0; c < columns; ++c) map(r, c) = rows[static_cast<std::size_t>(r)][static_cast<std::size_t>(c)];
    data.view = "lens";
    data.column = "difference";
    data.words.rows = QStringLiteral("token → predicted");
    data.words.across_top = options.at == analyze::StreamPlace::resid_pre   ? QStringLiteral("read before layer")
                            : options.at == analyze::StreamPlace::resid_mid ? QStringLiteral("read after attention of layer")
                                                                            : QStringLiteral("read after layer");
    data.causal = false;
    data.names = {QStringLiteral("B − A")};
    data.diverging = MatrixViewData::Diverging{Eigen::VectorXf::Zero(map.rows()), symmetric_limit({map})};
    data.weights = {std::move(map)};
    data.absent = {{std::vector<bool>(data.axes.queries.size()), std::vector<bool>(data.axes.keys.size())}};
    data.weight_name = QStringLiteral("B − A of the probability");
    data.title = QStringLiteral("Lens, B − A");
    data.notes = {options.watched ? "of the watched token" : "of the token that A finds likeliest in the end",
                  "B: " + beside.words};
    data.description = QStringLiteral(
        "The probability of a token at every position and layer, read by the logit lens, in B minus that in A: blue where B raises it, "
        "orange where B lowers it. The token is the one that A predicts at that position in the end, or the watched one.");
    return matrix_figure(std::move(data));
}

}  // namespace headlight::figure
