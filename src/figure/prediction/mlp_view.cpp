// SPDX-License-Identifier: GPL-3.0-or-later
// The strongest memories of an MLP at a token with what they promote, and one neuron along the text.
#include "figure/core/own_scale.h"
#include "figure/core/wrapped.h"
#include "figure/prediction/prediction_views.h"
#include "figure/prediction/token_lines.h"
#include "figure/table/stacked_figure.h"
#include "figure/table/table_figure.h"
#include "headlight/analyze/prediction/attribution.h"
#include "headlight/analyze/prediction/logit_lens.h"
#include "headlight/analyze/prediction/mlp.h"

#include <algorithm>
#include <cmath>

namespace headlight::figure {
namespace {

struct MlpViewData {
    Layer layer;
    Position position;
    std::vector<analyze::Memory> memories;     ///< strongest first
    std::vector<analyze::Promoted> promoted;   ///< of each; empty without unembedding
    std::vector<QStringList> raised, lowered;  ///< labels, by what the memory does here (its sign turned in)
    std::int64_t neurons = 0, active = 0;      ///< of the layer, and with m > 0 at the token
    Neuron followed;                           ///< along the text
    analyze::Vector activations;               ///< [token]
    std::vector<analyze::AxisItem> labels;
    bool gated = false;
    bool experts = false;  ///< the layer has them: a memory belongs to one
    QString target;        ///< token (difference) whose logit the memories add to; empty: a logit is no sum
    analyze::MemoryOrder order = analyze::MemoryOrder::strength;
};

QString memory_tip(const MlpViewData& data, std::size_t i) {
    const analyze::Memory& m = data.memories[i];
    QString tip = QStringLiteral("L%1 neuron %2  m %3  |v| %4  |m|·|v| %5  %6 %7")
                      .arg(QString::number(data.layer.value), QString::number(m.neuron.value), draw::value_text(m.coefficient),
                           draw::value_text(m.value_norm), draw::value_text(m.contribution_norm),
                           data.gated ? QStringLiteral("gate") : QStringLiteral("x·k + b"), draw::value_text(m.pre));
    if (data.gated) tip += QStringLiteral("  up ") + draw::value_text(m.up);
    if (data.experts)
        tip += QStringLiteral("  %1, weight %2")
                   .arg(m.expert >= 0 ? QStringLiteral("expert %1").arg(m.expert) : QStringLiteral("shared expert"),
                        draw::value_text(m.weight));
    if (!data.promoted.empty())
        tip += QStringLiteral("  value alone: %1 with probability %2")
                   .arg(m.coefficient < 0 ? data.lowered[i].front() : data.raised[i].front(),
                        QString::number(data.promoted[i].max_probability, 'g', 3));
    return tip;
}

std::vector<NamedArray> memories_arrays(const MlpViewData& data) {
    const auto n = std::ssize(data.memories);
    NamedArray neuron{"neuron", {n}, {}}, coefficient{"coefficient", {n}, {}}, contribution{"contribution_norm", {n}, {}};
    for (const analyze::Memory& m : data.memories) {
        neuron.integers.push_back(m.neuron.value);
        coefficient.values.push_back(static_cast<float>(m.coefficient));
        contribution.values.push_back(static_cast<float>(m.contribution_norm));
    }
    return {neuron, coefficient, contribution, analyze::named_array("followed_activations", data.activations)};
}

std::vector<std::pair<std::string, std::string>> sort_by(analyze::MemoryOrder order) {
    return {{"memories-by", std::string(enum_word(order))}};
}

std::unique_ptr<Figure> memories_table(const MlpViewData& data, const trace::Trace& trace) {
    const double share = 100.0 * static_cast<double>(data.active) / static_cast<double>(std::max<std::int64_t>(1, data.neurons));
    TableSection section;
    section.title = QStringLiteral("Memories of layer %1").arg(data.layer.value);
    section.note = QStringLiteral("at %1; %2 of %3 are active (%4 %)")
                       .arg(label_at(data.labels, data.position), draw::count_text(data.active), draw::count_text(data.neurons),
                            draw::number_text(share, 1));
    if (!data.target.isEmpty()) section.note += QStringLiteral("; logit of %1").arg(data.target);
    section.columns = {table_column(ColumnKind::text, "neuron", "neuron"),
                       table_column(ColumnKind::bar, "coefficient", "coefficient m", "", 2),
                       table_column(ColumnKind::number, "value_norm", "|v|", "length of the value", 2),
                       {.kind = ColumnKind::bar,
                        .id = "contribution_norm",
                        .title = QStringLiteral("|m| · |v|"),
                        .tip = QStringLiteral("length of what the memory adds to the stream; click to sort"),
                        .decimals = 2,
                        .sorted = data.order == analyze::MemoryOrder::strength,
                        .click = sort_by(analyze::MemoryOrder::strength)}};
    if (!data.target.isEmpty())
        section.columns.push_back(
            {.kind = ColumnKind::bar,
             .id = "logit_contribution",
             .title = QStringLiteral("adds to the logit"),
             .tip = QStringLiteral("what the memory adds to the logit of %1, as in Attribution; click to sort").arg(data.target),
             .sorted = data.order == analyze::MemoryOrder::logit,
             .click = sort_by(analyze::MemoryOrder::logit)});
    if (data.promoted.empty()) {
        section.note += QStringLiteral("; no unembedding: what a memory promotes is not known");
    } else {
        section.columns.push_back(
            {.kind = ColumnKind::text, .id = "raises", .title = QStringLiteral("raises"), .stretched = true});
        section.columns.push_back(
            {.kind = ColumnKind::text, .id = "lowers", .title = QStringLiteral("lowers"), .stretched = true, .muted = true});
    }
    for (std::size_t i = 0; i < data.memories.size(); ++i) {
        const analyze::Memory& m = data.memories[i];
        TableRow& row = section.rows.emplace_back();
        row.neuron = analyze::NeuronId{data.layer, m.neuron};
        row.marked = m.neuron == data.followed;
        row.tip = memory_tip(data, i);
        row.cells = {TableCell::of(QString::number(m.neuron.value)), TableCell::of(m.coefficient), TableCell::of(m.value_norm),
                     TableCell::of(m.contribution_norm)};
        if (!data.target.isEmpty()) row.cells.push_back(TableCell::of(m.adds));
        if (data.promoted.empty()) continue;
        for (const auto* words : {&data.raised, &data.lowered})
            row.cells.push_back(TableCell::of((*words)[i].join(QStringLiteral("   "))));
    }
    TableData table = one_section("mlp", std::move(section));
    table.table = [exported = analyze::table_of(data.memories, data.promoted, trace, data.layer, data.position)] {
        return exported;
    };
    table.arrays = [arrays = memories_arrays(data)] { return arrays; };
    return table_figure(std::move(table));
}

/// One neuron's coefficient along the text.
class NeuronAlongText final : public SceneFigure, public OwnScale {
public:
    explicit NeuronAlongText(const MlpViewData& data)
        : neuron_(data.followed),
          position_(data.position),
          activations_(data.activations),
          labels_(data.labels),
          limit_(std::max(1e-9, static_cast<double>(data.activations.cwiseAbs().maxCoeff()))) {
        flow_.layout(labels_, {}, 1100);  // measures the tokens: figures are made by a worker, laid out by the window
    }

    std::string view() const override { return "mlp"; }
    QString title() const override { return QStringLiteral("Neuron %1").arg(neuron_.value); }
    QString description() const override { return {}; }
    Table table() const override { return {}; }
    std::vector<NamedArray> arrays() const override { return {}; }
    std::vector<ScaleEnds> scale_ends() const override { return {{-limit_, limit_}}; }
    void widen(const std::vector<ScaleEnds>& ends) override { limit_ = ends.front().high; }

protected:
    QSizeF place(QSizeF available, const Style&, const Selection&) override {
        const double width = std::min(available.width() - 2 * page_margin, 1100.0);
        return {available.width(), top + flow_.layout(labels_, {page_margin, top}, width) + 46};
    }

    void draw_on(Scene& out, const QRectF& seen, const Style& style, const Selection& selection) const override {
        const Theme& theme = *style.theme;
        const QFont& strong = ui_font(14, QFont::DemiBold);
        out.text({page_margin, top - 14}, title(), strong, theme.text);
        out.text({page_margin + draw::text_width(title(), strong) + 12, top - 14},
                 QStringLiteral("its coefficient along the text"), ui_font(11.5), theme.muted);
        flow_.draw_on(
            out, seen, theme,
            [&](std::size_t i) {
                const double m = static_cast<double>(activations_[static_cast<Eigen::Index>(i)]) / limit_;
                return std::abs(m) < 0.02 ? QColor() : signed_color(theme, m);
            },
            [&](Position at, const QRectF& box) {
                const auto value = static_cast<double>(activations_[at.value]);
                out.means(box, {.kind = Hit::Kind::query, .query = at, .value = value}, [this, at, value] {
                    return QStringLiteral("%1  coefficient of neuron %2: %3")
                        .arg(label_at(labels_, at), QString::number(neuron_.value), draw::value_text(value));
                });
            },
            style.exporting || (selection.found_pins && !selection.hover_query) ? std::optional(position_) : selection.query());
        out.signed_bar(QRectF(page_margin, top + flow_.height() + 14, 160, 10), limit_, theme);
    }

private:
    static constexpr double top = 36;  ///< of the tokens
    Neuron neuron_;
    Position position_;
    analyze::Vector activations_;
    std::vector<analyze::AxisItem> labels_;
    double limit_;
    TokenLines flow_;
};

}  // namespace

std::unique_ptr<Figure> mlp_view(TracePtr trace, Layer layer, Position position, std::optional<Neuron> followed,
                                 const analyze::MemoriesRequest& asked, const CancelToken& cancel, const Progress& progress) {
    const model::ModelConfig& c = trace->config();
    auto answer = analyze::memories_of(*trace, layer, position, asked, cancel, progress);
    MlpViewData data;
    data.layer = layer;
    data.position = position;
    data.memories = std::move(answer.memories);
    data.promoted = std::move(answer.promoted);
    data.neurons = model::mlp_width(c, layer.value);
    data.active = answer.active;
    data.order = answer.logit ? asked.order : analyze::MemoryOrder::strength;
    if (answer.logit) data.target = logit_name(*trace, *answer.logit);
    data.followed = followed.value_or(data.memories.front().neuron);
    data.activations = analyze::neuron_activations(*trace, layer, data.followed);
    data.labels = analyze::pattern_axes(*trace, analyze::PatternOptions{}).keys;
    data.gated = c.gated_mlp;
    data.experts = model::has_experts(c, layer.value);
    const auto words = [&](const std::vector<analyze::TokenScore>& list) {
        QStringList out;
        for (const analyze::TokenScore& each : list) out << token_word(*trace, each.id);
        return out;
    };
    for (std::size_t i = 0; i < data.promoted.size(); ++i) {
        const bool turned = data.memories[i].coefficient < 0;
        data.raised.push_back(words(turned ? data.promoted[i].bottom : data.promoted[i].top));
        data.lowered.push_back(words(turned ? data.promoted[i].top : data.promoted[i].bottom));
    }
    StackedParts parts;
    parts.view = "mlp";
    parts.title = QStringLiteral("Memories of layer %1").arg(layer.value);
    parts.description = QStringLiteral(
        "An MLP as a memory: each neuron has a key that the token is compared with, a coefficient for how well it fits, and "
        "a value that is added to the stream, coefficient times. The rows are the memories that wrote most at this token. "
        "The tokens beside them are what the value promotes when the unembedding alone reads it; a negative coefficient turns "
        "promoted into suppressed, which is already taken in here. Below, one neuron's coefficient along the whole text. After "
        "Geva et al. 2021, Transformer Feed-Forward Layers Are Key-Value Memories.");
    parts.parts.push_back(memories_table(data, *trace));
    parts.parts.push_back(std::make_unique<NeuronAlongText>(data));
    return stacked_figure(std::move(parts));
}

}  // namespace headlight::figure
