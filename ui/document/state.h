// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/analyze/contribution/neuron_id.h"
#include "headlight/analyze/pattern/pattern_view.h"
#include "headlight/base/enum_table.h"
#include "headlight/base/ids.h"
#include "headlight/figure/core/figure.h"
#include "headlight/figure/core/request.h"
#include "headlight/figure/core/view_spec.h"
#include "ui/document/edits/edit_list.h"

#include <QString>

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace headlight::ui {

/// Id of a view in figure::view_specs().
using View = std::string;
QString view_title(const View&);  ///< "Head"

/// A stretch of a text in UTF-16 units, as QString counts.
struct TextRange {
    qsizetype begin = 0, end = 0;
    bool empty() const { return begin >= end; }
    bool operator==(const TextRange&) const = default;
};

/// The input of a run.
struct PromptText {
    QString text;
    QString pair;            ///< sentence B
    bool has_pair = false;   ///< the second line is open
    QString image{};         ///< a picture's file, for models that read pictures
    TextRange written = {};  ///< of the text: what the model generated
    bool operator==(const PromptText&) const = default;
};

/// What runs beside the prompt, B beside A. Empty fields are A's own.
struct OtherInput {
    bool on = false;
    PromptText prompt{};  ///< text, pair and image
    QString model{};      ///< reference; empty: the open one
    bool operator==(const OtherInput&) const = default;
};

/// With one more generated piece.
PromptText with_piece(PromptText, const QString& piece);

/// Where a range of `before` is in `after`. It ends at the first edit inside it.
TextRange follow_edit(TextRange, const QString& before, const QString& after);

/// A named expression of the finder.
struct NamedFilter {
    QString name, expression;
    bool operator==(const NamedFilter&) const = default;
};

/// How the run is shown, in every view: what undo and sessions keep beside prompt and selection. A ViewState is made from it
/// for each view (recipe.h).
struct ViewOptions {
    figure::Transfer transfer;
    analyze::PatternOptions pattern;
    /// Which attention of an encoder-decoder model is shown: decoder (its own), encoder or cross. Other models have one.
    model::Stack attention = model::Stack::decoder;
    std::map<View, figure::ViewValues> values;  ///< each view's own options that differ from their defaults
    std::optional<HeadId> detail;               ///< of ViewSpec::opens_detail: the head whose pane is open
    figure::HeadPalette palette = figure::HeadPalette::category10;
    figure::Ramp ramp = figure::Ramp::ink;
    bool predictions = false;             ///< log-probabilities and ranks under the token strip
    std::string measure;                  ///< of the mosaic and the finder's bar; empty: what says most of this run
    bool measure_to_data = false;         ///< the mosaic's colours span the data, not the measure's natural range
    QString finder;                       ///< the finder's expression
    QString batch_file;                   ///< texts, one a line, that some views take together with the prompt
    QString corpus;                       ///< folder of a store whose measures and words are taken beside the text's
    std::vector<NamedFilter> filters;     ///< by name; names are unique
    OtherInput other;                     ///< the run beside this one
    EditList edits;                       ///< under which B runs
    figure::Side side = figure::Side::a;  ///< of the two that views show
    bool both_sides = false;              ///< A and B next to each other: `side` is a, and B stands at its right
    bool answer_kept = false;             ///< answer and contrast stay when the text becomes another one
    bool operator==(const ViewOptions&) const = default;
};

/// A view's own option as it stands: the chosen value, or the default.
std::string view_value(const ViewOptions&, const View&, const figure::ViewOption&);
/// Values that are the default are left out.
void set_view_value(ViewOptions&, const View&, const std::string& option, const std::string& value);
/// With the text's measures where the corpus' stood.
ViewOptions without_corpus(ViewOptions);

/// Names are compared case-insensitively.
const NamedFilter* filter_called(const std::vector<NamedFilter>&, const QString& name);
/// Inserts a filter by name, or replaces the one of the same name.
std::vector<NamedFilter> with_filter(std::vector<NamedFilter>, const NamedFilter&);
std::vector<NamedFilter> without_filter(std::vector<NamedFilter>, const QString& name);

/// The pages of the window. All share the model, the selected head and the pins.
enum class Page { text, corpus, map, sweep, model };
inline constexpr EnumRow<Page> pages[] = {
    {Page::text, "text", "Text", "One text and its heads"},
    {Page::corpus, "corpus", "Corpus", "The model over many texts"},
    {Page::map, "map", "Map", "Queries and keys of all heads as points"},
    {Page::sweep, "sweep", "Sweep", "One edit after another, and what each does to an answer"},
    {Page::model, "model", "Model", "Architecture, tensors, memory and type, files"}};
constexpr const auto& enum_rows(Page) { return pages; }

/// Which views are open.
struct OpenViews {
    View left = figure::view_id(0);
    View right = figure::view_id(1);
    bool split = false;
    bool operator==(const OpenViews&) const = default;
};

/// Everything that undo brings back.
struct State {
    PromptText prompt;
    ViewOptions options;
    figure::Selection selection;  ///< without hover
    QString model{};              ///< as OpenModel::reference; empty: none was opened yet
    bool operator==(const State&) const = default;
};

/// What of a new model's first run is selected; the rest is the program's choice.
struct FirstLook {
    model::Stack attention = model::Stack::decoder;
    std::optional<Layer> layer{};
    std::vector<Head> heads{};
    std::optional<Position> query{}, key{};
    bool selects() const { return layer || !heads.empty() || query || key; }
    bool operator==(const FirstLook&) const = default;
};

/// A place of a text that is to be seen in the window.
struct TextExample {
    QString text;                         ///< as the model read it; empty: the one that is there
    std::vector<Position> queries, keys;  ///< to pin
    std::optional<HeadId> head;           ///< that it is an example of
    std::optional<analyze::NeuronId> neuron;
    QString image{};  ///< a picture's file in place of a text
};

}  // namespace headlight::ui
