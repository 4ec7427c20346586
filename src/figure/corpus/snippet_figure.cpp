// SPDX-License-Identifier: GPL-3.0-or-later
// Small head views of a head's best examples: the tokens around a key and a query on both sides, a line for every weight.
#include "figure/core/scene.h"
#include "figure/corpus/corpus_figures.h"
#include "headlight/figure/core/number_text.h"

#include <algorithm>

namespace headlight::figure {
namespace {

constexpr double kSnippetMargin = 16, kRow = 18, kHead = 20, kCell = 216, kSnippetGap = 20, kSnippetTitle = 34, kTokens = 78;
constexpr double kQuiet = 0.25;     ///< opacity of the lines of other queries, as of what is not the subject
constexpr double kFaintest = 0.01;  ///< weights below are not drawn

class SnippetFigure final : public SceneFigure {
public:
    SnippetFigure(std::vector<SnippetList> lists, HeadId head, QString description)
        : lists_(std::move(lists)), head_(head), description_(std::move(description)) {}
    std::string view() const override { return "corpus-examples"; }
    QString title() const override { return QStringLiteral("%1: examples").arg(head_name(head_)); }
    QString description() const override { return description_; }

    Table table() const override {
        Table table{{"list", "value", "chunk", "query", "query_token", "key", "key_token", "weight"}, {}};
        for (const SnippetList& list : lists_)
            for (const corpus::HeadSnippet& of : list.snippets)
                for (std::size_t q = 0; q < of.positions.size(); ++q)
                    for (std::size_t k = 0; k < of.positions.size(); ++k)
                        table.add({list.title.toStdString(), static_cast<double>(of.example.value), of.example.text,
                                   of.positions[q], of.tokens[q], of.positions[k], of.tokens[k],
                                   static_cast<double>(of.weight(q, k))});
        return table;
    }
    std::vector<NamedArray> arrays() const override { return {}; }

protected:
    QSizeF place(QSizeF available, const Style&, const Selection&) override {
        const double width = std::max(available.width(), kCell + 2 * kSnippetMargin);
        const auto columns = std::max<std::int64_t>(
            1, static_cast<std::int64_t>((width - 2 * kSnippetMargin + kSnippetGap) / (kCell + kSnippetGap)));
        cells_.clear();
        double y = 0;
        for (const SnippetList& list : lists_) {
            y += kSnippetTitle;
            double highest = 0;
            for (std::size_t i = 0; i < list.snippets.size(); ++i) {
                const auto column = static_cast<std::int64_t>(i) % columns;
                if (column == 0) y += std::exchange(highest, 0);
                const double height = kHead + rows_of(list.snippets[i]) * kRow + 8;
                cells_.push_back(
                    {&list, i, {kSnippetMargin + static_cast<double>(column) * (kCell + kSnippetGap), y, kCell, height}});
                highest = std::max(highest, height);
            }
            y += highest + 4;
        }
        return {width, y};
    }

    void draw_on(Scene& out, const QRectF& seen, const Style& style, const Selection&) const override {
        for (const Cell& cell : cells_) {
            if (cell.at == 0)
                out.text({kSnippetMargin, cell.box.top() - 12}, cell.list->title, ui_font(13, QFont::DemiBold),
                         style.theme->text);
            if (cell.box.intersects(seen)) draw_cell(out, cell, style);
        }
    }

private:
    struct Cell {
        const SnippetList* list;
        std::size_t at;
        QRectF box;
        const corpus::HeadSnippet& snippet() const { return list->snippets[at]; }
    };
    static std::size_t index_of(const corpus::HeadSnippet& of, std::int64_t position) {
        return static_cast<std::size_t>(std::ranges::lower_bound(of.positions, position) - of.positions.begin());
    }
    static QString token_at(const corpus::HeadSnippet& of, std::int64_t position) {
        return QString::fromStdString(of.tokens[index_of(of, position)]);
    }
    /// A row for the tokens between key and query that are left out.
    static bool gap_before(const corpus::HeadSnippet& of, std::size_t i) {
        return i > 0 && of.positions[i] > of.positions[i - 1] + 1;
    }
    static double rows_of(const corpus::HeadSnippet& of) {
        double rows = static_cast<double>(of.positions.size());
        for (std::size_t i = 1; i < of.positions.size(); ++i) rows += gap_before(of, i);
        return rows;
    }

    void draw_cell(Scene& out, const Cell& cell, const Style& style) const {
        const corpus::HeadSnippet& of = cell.snippet();
        const auto& best = of.example;
        out.means(cell.box,
                  {.kind = Hit::Kind::option,
                   .options = {{"chunk", std::to_string(best.text)},
                               {"query", std::to_string(best.query)},
                               {"key", std::to_string(best.key)}}},
                  [&of] {
                      const std::int64_t q = of.example.query, k = of.example.key;
                      return QStringLiteral("%1 → %2  weight %3")
                          .arg(token_at(of, q), token_at(of, k),
                               draw::weight_text(static_cast<double>(of.weight(index_of(of, q), index_of(of, k)))));
                  });
        const Theme& theme = *style.theme;
        const QColor color = head_color(theme, style.palette, head_.head.value);
        const QFont &font = ui_font(12), &small = small_font();
        out.number({cell.box.left() + kTokens, cell.box.top() + 12}, draw::number_text(static_cast<double>(of.example.value), 3),
                   small, theme.muted);
        const double left = cell.box.left() + kTokens + 4, right = cell.box.right() - kTokens - 4;
        std::vector<double> y;
        double row = cell.box.top() + kHead;
        for (std::size_t i = 0; i < of.positions.size(); ++i) {
            if (gap_before(of, i)) {
                for (const double x : {cell.box.left() + kTokens, right + 4})
                    out.text({x, row + kRow / 2 + 4}, QStringLiteral("⋯"), font, theme.muted,
                             x < left ? draw::Align::right : draw::Align::left);
                row += kRow;
            }
            y.push_back(row + kRow / 2);
            row += kRow;
        }
        const std::size_t query = index_of(of, of.example.query), key = index_of(of, of.example.key);
        out.box({cell.box.left(), y[query] - kRow / 2 + 1, kTokens + 2, kRow - 2}, 3, draw::faded(color, 0.18));
        out.box({right + 2, y[key] - kRow / 2 + 1, kTokens + 2, kRow - 2}, 3, draw::faded(color, 0.18));
        const auto lines = [&](bool subject) {
            for (std::size_t q = 0; q < y.size(); ++q)
                for (std::size_t k = 0; k < y.size(); ++k) {
                    const auto weight = static_cast<double>(of.weight(q, k));
                    if ((q == query) != subject || weight < kFaintest) continue;
                    out.line({left, y[q]}, {right, y[k]},
                             QPen(draw::faded(color, weight * (subject ? 1 : kQuiet)), 2, Qt::SolidLine, Qt::FlatCap));
                }
        };
        lines(false);
        lines(true);
        for (std::size_t i = 0; i < y.size(); ++i) {
            const draw::Label label{{}, QString::fromStdString(of.tokens[i]), false};
            out.token({cell.box.left(), y[i] - kRow / 2, kTokens, kRow}, label, font, draw::Align::right,
                      i == query ? theme.text : theme.muted);
            out.token({right + 4, y[i] - kRow / 2, kTokens, kRow}, label, font, draw::Align::left,
                      i == key ? theme.text : theme.muted);
        }
    }

    std::vector<SnippetList> lists_;
    HeadId head_;
    QString description_;
    std::vector<Cell> cells_;
};

}  // namespace

std::unique_ptr<Figure> snippet_figure(std::vector<SnippetList> lists, HeadId head, const QString& description) {
    return std::make_unique<SnippetFigure>(std::move(lists), head, description);
}

}  // namespace headlight::figure
