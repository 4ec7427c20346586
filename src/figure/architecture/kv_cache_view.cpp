// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/plot/plot_data.h"
#include "headlight/analyze/architecture/kv_cache.h"
#include "headlight/figure/architecture/architecture_views.h"
#include "headlight/figure/core/number_text.h"

namespace headlight::figure {
namespace {

using analyze::KvCache;
using analyze::KvScheme;
using plot::Color;
using plot::Series;

constexpr double kMegabyte = 1e6;

QString size_text(double bytes) {
    const char* unit = bytes >= 1e9 ? " GB" : bytes >= 1e6 ? " MB" : " kB";
    return draw::number_text(bytes / (bytes >= 1e9 ? 1e9 : bytes >= 1e6 ? 1e6 : 1e3), 3) + QLatin1String(unit);
}

Color::Role scheme_color(const KvScheme& scheme) {
    return scheme.id == "MHA"   ? Color::Role::clark_red
           : scheme.id == "GQA" ? Color::Role::clark_orange
           : scheme.id == "MQA" ? Color::Role::clark_blue
           : scheme.id == "MLA" ? Color::Role::clark_purple
                                : Color::Role::muted;
}

Series line_of(const KvCache& cache, const KvScheme& scheme) {
    Series line;
    line.kind = Series::Kind::line;
    line.marked = true;
    line.width = scheme.own ? 3 : 1.5;
    line.dashed = !scheme.own;
    line.color = {scheme_color(scheme)};
    const bool expanded = scheme.id == "expanded";
    line.name = QString::fromStdString((expanded ? "MLA, " : scheme.id + ", ") + scheme.what) +
                (scheme.own ? QStringLiteral(" (this model)") : QString());
    for (const std::int64_t context : cache.contexts) {
        line.x.push_back(static_cast<double>(context));
        line.y.push_back(cache.bytes(scheme, context) / kMegabyte);
    }
    line.tip = [scheme, contexts = cache.contexts, y = line.y](std::size_t i) {
        return QStringLiteral("%1 at %2 tokens  %3  (%4 numbers a token, %5 % of MHA)")
            .arg(QString::fromStdString(scheme.id), count_text(contexts[i]), size_text(y[i] * kMegabyte),
                 count_text(scheme.elements_per_token), draw::number_text(100 * scheme.share_of_mha, 3));
    };
    return line;
}

}  // namespace

std::unique_ptr<Figure> kv_cache_view(const model::ModelConfig& config, const analyze::KvCacheOptions& options) {
    const KvCache cache = analyze::kv_cache(config, options);
    plot::PlotData out;
    out.view = "kv-cache";
    out.title = QStringLiteral("Keys and values kept for the next token");
    const bool latent = config.latent.any();
    out.subtitle =
        QStringLiteral("%1 layers, %2 heads of %3 · %4 bytes a number · batch %5")
            .arg(config.n_layers)
            .arg(config.n_heads)
            .arg(latent ? QStringLiteral("%1 (content) and %2 (value)").arg(config.latent.content).arg(model::value_width(config))
                        : QString::number(config.d_head))
            .arg(draw::number_text(cache.bytes_per_element, 2))
            .arg(cache.batch);
    out.description = QStringLiteral(
        "Memory of the cache of keys and values against the number of tokens in it, for this model (the heavy line) and if its "
        "attention were of another kind, with its own layers and head width. Numbers a token: MHA 2 H d L, GQA 2 g d L, MQA 2 "
        "d L, MLA (d_c + d_r) L, where MLA keeps one latent and one rotary key for all heads (DeepSeek-V2, 2024, table 1). "
        "Where the model itself has a latent, 2 d is the content of a key and a value, and a line more shows the keys and "
        "values that are made of the latent, kept instead of it. Both axes are logarithmic; MB are 10^6 bytes.");
    out.table = [cache] { return analyze::table_of(cache); };
    out.aspect = 0.5;
    plot::Panel& panel = out.panels.emplace_back();
    panel.x.label = QStringLiteral("tokens in the cache");
    panel.x.log = true;
    panel.y.label = QStringLiteral("cache (MB)");
    panel.y.log = true;
    for (const bool own : {false, true})
        for (const KvScheme& scheme : cache.schemes)
            if (scheme.own == own) panel.series.push_back(line_of(cache, scheme));
    if (cache.context_length > 0)
        panel.references.push_back({QStringLiteral("context length of the model: %1").arg(count_text(cache.context_length)),
                                    static_cast<double>(cache.context_length),
                                    {Color::Role::muted},
                                    true,
                                    true});
    return plot::plot_figure(std::move(out));
}

}  // namespace headlight::figure
