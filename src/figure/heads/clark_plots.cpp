// SPDX-License-Identifier: GPL-3.0-or-later
// Clark et al. 2019, figures 2 to 4: attention to kinds of tokens, its gradients and its entropy, by layer (sections 3.1 to 3.3).
#include "figure/plot/axes.h"
#include "figure/plot/plot_data.h"
#include "headlight/base/numbers.h"
#include "headlight/figure/heads/head_plots.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace headlight::figure {
namespace {

using analyze::HeadTable;
using plot::Color;
using plot::Series;

const QString source = QStringLiteral(" Clark, Khandelwal, Levy, Manning: “What Does BERT Look At?”, 2019");

struct Kind {
    std::vector<std::string> ids;  ///< the first that the table has
    const char* name;              ///< of the first id; of the others what follows
    Color::Role color;
    const char* other_name = nullptr;
};
struct Group {
    const char* title;
    std::vector<Kind> kinds;
    bool means = true;  ///< with a line through the layers' means
};

const Eigen::MatrixXd* first_of(const HeadTable& table, const std::vector<std::string>& ids) {
    for (const std::string& id : ids)
        if (const auto* values = table.find(id); values && values->array().isFinite().any()) return values;
    return nullptr;
}

/// No head attends to what is not in the text, or comes later.
bool is_zero(const Eigen::MatrixXd& values) { return !(values.array().isFinite() && values.array() != 0).any(); }

bool same_values(const Eigen::MatrixXd& a, const Eigen::MatrixXd* b) {
    return b && ((a.array() == b->array()) || (a.array().isNaN() && b->array().isNaN())).all();
}

void add_dots(plot::Panel& panel, const Eigen::MatrixXd& values, const QString& name, Color::Role color, bool means,
              const QString& unit, double aside = 0, plot::Marker marker = plot::Marker::disc) {
    Series dots, line;
    dots.marker = marker;
    dots.name = name;
    dots.color = line.color = {color};
    line.kind = Series::Kind::line;
    line.width = 1.75;
    for (Eigen::Index l = 0; l < values.rows(); ++l) {
        double sum = 0;
        int n = 0;
        for (Eigen::Index h = 0; h < values.cols(); ++h) {
            dots.x.push_back(static_cast<double>(l) + aside);
            dots.y.push_back(values(l, h));
            dots.heads.push_back({Layer(l), Head(h)});
            if (std::isfinite(values(l, h))) sum += values(l, h), ++n;
        }
        line.x.push_back(static_cast<double>(l) + aside);
        line.y.push_back(n ? sum / n : kNaN);
    }
    const auto heads = dots.heads;
    const auto y = dots.y, mean = line.y;
    const std::string kind = name.toStdString();
    const auto number = [unit](double v) { return draw::value_text(v) + unit; };
    dots.tip = [heads, y, name, number](std::size_t i) {
        return QStringLiteral("%1  %2 %3").arg(head_name(heads[i]), name, number(y[i]));
    };
    dots.row = [heads, y, kind](std::size_t i) {
        return std::vector<Table::Cell>{heads[i].layer.value, heads[i].head.value, kind, finite_cell(y[i])};
    };
    line.tip = [mean, name, number](std::size_t i) {
        return QStringLiteral("layer %1  mean %2 %3").arg(i).arg(name, number(mean[i]));
    };
    line.row = [mean, kind](std::size_t i) {
        return std::vector<Table::Cell>{static_cast<std::int64_t>(i), Table::Cell(), kind + ", mean of the layer",
                                        finite_cell(mean[i])};
    };
    if (means) panel.series.push_back(std::move(line));
    panel.series.push_back(std::move(dots));
}

plot::Panel layer_panel(std::int64_t layers, const QString& title, const QString& label) {
    plot::Panel panel;
    panel.title = title;
    panel.x.label = QStringLiteral("layer");
    panel.x.integer = true;
    panel.x.low = 0, panel.x.high = static_cast<double>(std::max<std::int64_t>(layers - 1, 0));
    panel.y.label = label;
    panel.y.from_zero = true;
    return panel;
}

/// Panels of one quantity are compared with each other.
void share_scale(std::vector<plot::Panel>& panels) {
    ScaleEnds ends;
    for (const plot::Panel& panel : panels) ends.high = std::max(ends.high, plot::axis_ends(panel, false).high);
    for (plot::Panel& panel : panels) panel.y.holds = ends;
}

}  // namespace

std::unique_ptr<Figure> clark_kinds(std::shared_ptr<const HeadTable> table, std::int64_t texts, bool causal) {
    using Role = Color::Role;
    static const std::vector<Group> groups = {
        {"kinds of tokens",
         {{{"share_cls", "share_first"}, "[CLS]", Role::clark_red, "first token"},
          {{"share_sep", "share_special"}, "[SEP]", Role::clark_blue, "special tokens"},
          {{"share_punctuation"}, "punctuation", Role::clark_purple}}},
        {"to [SEP]",
         {{{"other_to_sep"}, "other → [SEP]", Role::clark_sea}, {{"sep_to_sep"}, "[SEP] → [SEP]", Role::clark_orange}}},
        {"neighbours",
         {{{"share_next"}, "next token", Role::clark_orange},
          {{"share_previous"}, "previous token", Role::clark_sea},
          {{"share_self"}, "current token", Role::clark_grey}},
         false},
    };
    plot::PlotData out;
    out.view = "clark-kinds";
    out.title = QStringLiteral("Average attention to kinds of tokens");
    out.subtitle = plot::joined_words({QStringLiteral("one dot a head, lines are layer means"), plot::texts_words(texts)});
    out.focus_fades = out.focus_in_files = false;
    out.own_legends = true;
    out.columns = {"layer", "head", "kind", "average_attention"};
    // Shapes too: not everybody tells the colours apart.
    constexpr std::array markers{plot::Marker::disc, plot::Marker::triangle_up, plot::Marker::square};
    QStringList missing, none;
    for (const Group& group : groups) {
        plot::Panel panel = layer_panel(table->n_layers, QString::fromUtf8(group.title), QStringLiteral("avg. attention"));
        *panel.x.low -= 0.2, *panel.x.high += 0.2;  // room for the dots beside the outer layers
        for (std::size_t k = 0; k < group.kinds.size(); ++k) {
            const Kind& kind = group.kinds[k];
            // Bidirectional models have the paper's kinds; others the nearest ones they can have.
            const bool own = !kind.other_name || first_of(*table, {kind.ids.front()});
            const QString name = QString::fromUtf8(own ? kind.name : kind.other_name);
            // Shifted a little: where the first token is the only special one, the dots coincide.
            const double aside = 0.14 * (static_cast<double>(k) - static_cast<double>(group.kinds.size() - 1) / 2);
            const auto* values = first_of(*table, kind.ids);
            if (!values)
                missing << name;
            else if (is_zero(*values))
                none << (causal && kind.ids.front() == "share_next" ? QStringLiteral("next token (the model is causal)") : name);
            else if (!own && k > 0 && same_values(*values, first_of(*table, group.kinds[k - 1].ids)))
                none << QStringLiteral("%1 other than the first").arg(name);
            else
                add_dots(panel, *values, name, kind.color, group.means, {}, aside, markers.at(k));
        }
        if (!panel.series.empty()) out.panels.push_back(std::move(panel));
    }
    share_scale(out.panels);
    QStringList notes;
    if (!missing.isEmpty()) notes << QStringLiteral("Not on this text or model: %1.").arg(missing.join(QStringLiteral(", ")));
    if (!none.isEmpty()) notes << QStringLiteral("Nothing to attend to: %1.").arg(none.join(QStringLiteral(", ")));
    out.note = notes.join(u' ');
    out.description = QStringLiteral(
                          "How much of their attention heads give to kinds of tokens, averaged over the queries, one dot a head; "
                          "lines join the means of the layers. Colours after the paper.") +
                      source + QStringLiteral(", figure 2.");
    return plot::plot_figure(std::move(out));
}

std::unique_ptr<Figure> clark_gradients(const analyze::AttentionGradient& of) {
    using Role = Color::Role;
    const struct {
        const char *group, *name;
        Role color;
        plot::Marker marker;
    } kinds[] = {{"first", "first token", Role::clark_red, plot::Marker::disc},
                 {"special", "other special tokens", Role::clark_blue, plot::Marker::triangle_up},
                 {"punctuation", "periods and commas", Role::clark_purple, plot::Marker::square},
                 {"other", "other tokens", Role::clark_grey, plot::Marker::triangle_right}};
    plot::PlotData out;
    out.view = "clark-gradients";
    out.title = QStringLiteral("Gradients of the loss by layer");
    out.subtitle = plot::joined_words({QStringLiteral("one dot a head, lines are layer means"),
                                       QStringLiteral("loss %1 nats over %2 predicted tokens")
                                           .arg(draw::number_text(of.loss, 3), draw::count_text(of.predicted))});
    out.focus_fades = out.focus_in_files = false;
    out.columns = {"layer", "head", "keys", "mean_abs_gradient"};
    plot::Panel panel = layer_panel(of.gradient.front().rows(), QString(), QStringLiteral("mean |∂ loss / ∂ attention|, nats"));
    *panel.x.low -= 0.3, *panel.x.high += 0.3;  // room for the dots next to the outer layers
    QStringList missing;
    double aside = -0.21;
    for (const auto& kind : kinds) {
        const auto group = static_cast<std::size_t>(std::ranges::find(of.groups, kind.group) - of.groups.begin());
        const QString name = QString::fromUtf8(kind.name);
        if (of.group_tokens.at(group) == 0)
            missing << name;
        else
            add_dots(panel, of.gradient.at(group), name, kind.color, true, QStringLiteral(" nats"), aside, kind.marker);
        aside += 0.14;
    }
    out.panels.push_back(std::move(panel));
    if (!missing.isEmpty()) out.note = QStringLiteral("Not in this text: %1.").arg(missing.join(QStringLiteral(", ")));
    out.description =
        QStringLiteral(
            "How much the loss changes with a weight of attention, by the kind of token that the weight is on: mean over its pairs "
            "of the absolute gradient. Where it is small, more attention to these tokens would not change the outputs: the heads "
            "rest there.") +
        source + QStringLiteral(", figure 3.");
    return plot::plot_figure(std::move(out));
}

double uniform_entropy(std::int64_t tokens, bool causal) {
    if (!causal) return tokens > 0 ? std::log(static_cast<double>(tokens)) : kNaN;
    double sum = 0;
    for (std::int64_t i = 1; i < tokens; ++i) sum += std::log(static_cast<double>(i + 1));
    return tokens > 1 ? sum / static_cast<double>(tokens - 1) : kNaN;
}

std::unique_ptr<Figure> clark_entropy(std::shared_ptr<const HeadTable> table, double uniform, std::int64_t texts) {
    // A table of several texts has its own mean.
    if (const auto* baseline = first_of(*table, {"entropy_uniform"}); baseline && std::isnan(uniform))
        uniform = (*baseline)(0, 0);
    plot::PlotData out;
    out.view = "clark-entropy";
    out.title = QStringLiteral("Entropy of heads by layer");
    out.subtitle = plot::joined_words({QStringLiteral("one dot a head, the line is the layer mean"), plot::texts_words(texts)});
    out.focus_fades = out.focus_in_files = false;
    out.columns = {"layer", "head", "kind", "entropy_nats"};
    const auto add = [&](const std::vector<std::string>& ids, const char* title, bool baseline) {
        const auto* values = first_of(*table, ids);
        if (!values) return false;
        plot::Panel& panel =
            out.panels.emplace_back(layer_panel(table->n_layers, QString::fromUtf8(title), QStringLiteral("entropy (nats)")));
        add_dots(panel, *values, QStringLiteral("head"), Color::Role::clark_blue, true, QStringLiteral(" nats"));
        if (baseline && std::isfinite(uniform))
            panel.references.push_back({QStringLiteral("uniform attention"), uniform, {Color::Role::muted}, false, true});
        return true;
    };
    const bool any = add({"entropy"}, "from all tokens", true);
    if (!any)
        out.panels.emplace_back(layer_panel(table->n_layers, {}, QStringLiteral("entropy (nats)"))).empty =
            QStringLiteral("one token: no query counts");
    if (!add({"entropy_cls"}, "from [CLS]", true) && any)
        out.note = QStringLiteral("Entropy from the first ([CLS]) token alone: not on this text or model.");
    if (any) share_scale(out.panels);
    out.description =
        QStringLiteral(
            "How broadly heads attend: the entropy of their weights, averaged over the queries. The dashed line is uniform "
            "attention over all tokens a query may attend to; heads near it attend everywhere, heads at 0 to a single token.") +
        source + QStringLiteral(", figure 4.");
    return plot::plot_figure(std::move(out));
}

}  // namespace headlight::figure
