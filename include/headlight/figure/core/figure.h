// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/analyze/contribution/neuron_id.h"
#include "headlight/analyze/table.h"
#include "headlight/base/ids.h"
#include "headlight/base/job.h"
#include "headlight/figure/core/theme.h"
#include "headlight/figure/core/transfer.h"

#include <QPainter>
#include <QPainterPath>
#include <QPointF>
#include <QPolygonF>
#include <QRectF>
#include <QSizeF>
#include <QString>

#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace headlight::figure {

/// "L3H5"
QString head_name(HeadId);

/// What is selected, in every view. Plain data; ui/document/selection_model.h announces changes.
struct Selection {
    Layer layer;
    std::vector<Head> heads;  ///< active heads of the layer, sorted; never empty once a trace is shown
    HeadId focus;             ///< the one head of neuron view, matrix and inspector
    std::optional<HeadId> hover_head;
    std::optional<Position> hover_query, hover_key;
    std::vector<Position> pinned_queries;  ///< Ctrl+click adds; the last one is the inspector's
    std::vector<Position> pinned_keys;
    bool found_pins = false;                  ///< the program has found the pins worth showing; no person has chosen them
    std::optional<analyze::NeuronId> neuron;  ///< shown by the views of MLPs; none: the strongest in each
    bool operator==(const Selection&) const = default;

    std::optional<Position> query() const {
        return hover_query ? hover_query : pinned_queries.empty() ? std::nullopt : std::optional(pinned_queries.back());
    }
    std::optional<Position> key() const {
        return hover_key ? hover_key : pinned_keys.empty() ? std::nullopt : std::optional(pinned_keys.back());
    }
};

/// Heads that a filter leaves out. Affects painting only: data, tables and arrays keep every head.
struct HeadFilter {
    std::string expression;      ///< "entropy < 1"
    std::vector<HeadId> dimmed;  ///< sorted: the heads that do not match
    std::int64_t matching = 0;
};

/// Everything a figure needs to be painted beside its data.
struct Style {
    const Theme* theme = &Theme::light();
    HeadPalette palette = HeadPalette::category10;
    Ramp ramp = Ramp::ink;
    Transfer transfer;
    double zoom = 1;             ///< device-independent px per figure unit; text keeps its size on screen, details appear with it
    bool exporting = false;      ///< no hover effects; footer instead of interaction hints
    std::int64_t list_rows = 0;  ///< of each list in a file; 0: all
    std::shared_ptr<const HeadFilter> filter;  ///< null: every head is painted in full
    CancelToken cancel{};                      ///< of an export: figures of many marks check it while they paint

    /// Painted at dimmed_strength: it does not match the filter.
    bool dims(HeadId) const noexcept;
};
inline constexpr double dimmed_strength = 0.25;  ///< of the opacity

/// What lies under a point: what to select, and the tip.
struct Hit {
    enum class Kind { none, head, query, key, pair, head_square, dimension, legend, row_toggle, option } kind = Kind::none;
    std::optional<HeadId> head{};
    std::optional<Position> query{}, key{};
    std::int64_t dimension = -1;
    std::optional<analyze::NeuronId> neuron{};                   ///< to follow, in addition to what the kind says
    std::vector<std::pair<std::string, std::string>> options{};  ///< kind option: the view's own options that a click sets
    std::optional<double> value{};
    QString tip{};  ///< "L3H5  ·she (9) → ·nurse (5)  weight 0.4312"
    QRectF area{};  ///< in figure units, for highlights and accessibility
};

/// Of Hit::options on a mark that stands for edits of the run: their words, one a line.
inline constexpr const char* hit_edits = "edits";

/// What hit_test() finds at a point, unless something lies above it there.
struct MarkPlace {
    Hit hit;
    QPointF point;
    QPainterPath outline{};  ///< empty: the hit's area
    double reach = 0;        ///< px across, of a line; 0: the inside of the outline
    QColor color{};          ///< of a line among many that cross it
};

/// Tidy data of exactly what is drawn: one row a mark.
using analyze::NamedArray;
using analyze::Table;
/// An empty cell for a number that does not exist.
inline Table::Cell finite_cell(double x) { return std::isfinite(x) ? Table::Cell(x) : Table::Cell(); }

/// Tokens of a text, in files of data.
struct TokenIds {
    std::vector<std::string> tokens;  ///< as the tokenizer spells them: "Ġthe"
    std::vector<std::int64_t> ids;
};

/// How to make the figure again; for footer and file metadata.
struct Provenance {
    std::string model, model_hash, text, pair, dtype, version;
    std::string image;                                         ///< the picture's path, instead of a text
    std::vector<std::pair<std::string, std::string>> options;  ///< view, layer, heads, transfer, filters …
    std::string command;                                       ///< `headlight render …` that makes the same file
    TokenIds tokens{}, source{};                               ///< source: of a cross attention, what its keys are
    QString footer() const;                                    ///< one or two lines
};

/// Work for another thread than the one that paints. What it returns keeps the results, in the thread that paints.
using Sharpening = std::function<std::function<void()>(const CancelToken&)>;

/// Tokens from which a text has positions beside its tokens, and a ruler in the window.
inline constexpr std::int64_t long_text = 200;

/// A figure is a value painted by one function for screen, PNG, SVG and PDF. Layout is a pure function of data, selection
/// and available size; figures hold shared pointers to immutable results and are cheap to make anew.
class Figure {
public:
    virtual ~Figure() = default;

    virtual std::string view() const = 0;  ///< "head", "matrix", "model", "neuron", "heads"
    /// Lays out for a width and height of the canvas and returns the content's size (may be taller: it scrolls).
    virtual QSizeF layout(QSizeF available, const Style&, const Selection&) = 0;
    /// Paints the content in `exposed`, the part that the viewer sees (headings and legends stay at its edges while it
    /// scrolls); the painter's coordinates are figure units.
    virtual void paint(QPainter&, const QRectF& exposed, const Style&, const Selection&) const = 0;
    virtual Hit hit_test(QPointF, const Style&, const Selection&) const = 0;
    /// Everything that hit_test() can find on what was painted last, in the order of painting. Empty: not listed, the pointer
    /// has to look for it.
    virtual std::optional<std::vector<MarkPlace>> marks(const Style&, const Selection&) const { return std::nullopt; }

    virtual Table table() const = 0;
    virtual std::vector<NamedArray> arrays() const = 0;
    virtual QString title() const = 0;        ///< "Layer 4"
    virtual QString description() const = 0;  ///< "What am I seeing?": one paragraph and the paper behind it
    /// The row of a position, in figure units; empty: it has none. Scrolling views show pins with it.
    virtual std::optional<QRectF> row_of_query(Position) const { return std::nullopt; }
    virtual std::optional<QRectF> row_of_key(Position) const { return std::nullopt; }
    /// Where a head stands, in figure units; empty: it has no place of its own.
    virtual std::optional<QRectF> place_of_head(HeadId) const { return std::nullopt; }
    /// True: a canvas too narrow for it begins at its right end, where the answer stands.
    virtual bool begins_at_right() const { return false; }
    /// The plot under a point, where a rectangle can be drawn around marks. Empty: dragging there pans.
    virtual std::optional<QRectF> brush_area(QPointF) const { return std::nullopt; }
    /// Heads with a mark inside a rectangle or a line drawn by hand (figure units), sorted.
    virtual std::vector<HeadId> heads_in(const QPolygonF&) const { return {}; }
    /// True: canvas zooms and pans (maps); false: it only scrolls (head and neuron view).
    virtual bool zoomable() const { return false; }
    /// Largest useful zoom (one cell about 80 px).
    virtual double max_zoom() const { return 1; }
    /// True after a paint that had to leave something coarse: paint again in some 20 ms.
    virtual bool refining() const { return false; }
    /// What better pixels need beside the next paint; empty: nothing, or it is under way already.
    virtual Sharpening sharpening() { return {}; }
};

}  // namespace headlight::figure
