// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/figure/map/map_request.h"

#include "figure/core/command_words.h"
#include "figure/core/draw.h"
#include "headlight/base/version.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <memory>
#include <system_error>
#include <utility>

namespace headlight::figure {
namespace {

/// `always`: written out even if it is the default.
class ChangedOptions {
public:
    explicit ChangedOptions(CommandOptions& out) : out_(out) {}

    template <class T>
    void option(const char* name, const T& value, const T& initial, bool always = false) const {
        if (value != initial || always) out_.emplace_back(name, option_words(value));
    }
    void flag(const char* name, bool on) const {
        if (on) out_.emplace_back(name, "");
    }

private:
    CommandOptions& out_;
};

void put_map(CommandOptions& out, const MapRequest& r) {
    const ChangedOptions put(out);
    const map::MapOptions& o = r.options;
    const map::MapOptions plain;
    const map::GatherOptions usual;
    put.option("method", o.projection, plain.projection, true);
    put.option("dims", o.dims, plain.dims);
    put.option("preset", o.preset, plain.preset, true);
    put.option("factor", o.scale, plain.scale);
    if (const std::string attention = attention_word(r.gather.stack); !attention.empty())
        out.emplace_back("attention", attention);
    put.option("tokens", r.gather.budget, usual.budget);
    put.option("seed", o.seed, plain.seed, true);
    put.flag("rotated", r.gather.rotated);
    put.flag("with-apart", o.with_apart);
    put.option("perplexity", o.perplexity, plain.perplexity);
    put.option("iterations", o.iterations, plain.iterations);
}

/// The gathered heads, if they are one layer, one number in all layers, or a single head.
void put_heads(CommandOptions& out, const map::QueryKeyMap& map, const MapLook& look) {
    HeadId first{map.heads.front().layer, map.heads.front().head};
    if (look.single) first = *look.single;
    const bool one_layer = std::ranges::all_of(map.heads, [&](const map::HeadMap& head) { return head.layer == first.layer; });
    const bool one_number = std::ranges::all_of(map.heads, [&](const map::HeadMap& head) { return head.head == first.head; });
    if (look.single || (one_layer && map.layers > 1)) out.emplace_back("layer", std::to_string(first.layer.value));
    if (look.single || (one_number && map.heads_per_layer > 1)) out.emplace_back("head", std::to_string(first.head.value));
}

void put_look(CommandOptions& out, const MapRequest& r, const map::QueryKeyMap& map) {
    const ChangedOptions put(out);
    const MapLook& look = r.look;
    const MapLook plain;
    put.option("color", look.color, plain.color);
    put.flag("size-by-norm", look.size_by_norm);
    put.flag("no-queries", !look.queries);
    put.flag("no-keys", !look.keys);
    put.flag("no-apart", !look.apart);
    put.flag("no-labels", !look.token_labels && !look.region_labels);
    put.flag("no-thumbnails", map.pictures && !look.thumbnails);
    if (!map.heads.empty() && map.heads.front().dims == 3) {
        put.option("yaw", look.yaw, plain.yaw);
        put.option("pitch", look.pitch, plain.pitch);
    }
    put.option("mark", r.mark, {});
    if (!r.mark.empty()) put.option("mark-by", r.mark_by, map::SearchKind::token);
    put_theme(out, r.output.style);
    put_size(out, r.output);
}

}  // namespace

Provenance map_provenance(const model::Model& model, const map::QueryKeyMap& map, const MapRequest& request,
                          const std::string& format) {
    Provenance out;
    out.model = model.config().name;
    out.model_hash = model.hash();
    out.text = request.text;
    out.dtype = request.dtype;
    out.version = version();
    put_map(out.options, request);
    put_heads(out.options, map, request.look);
    put_look(out.options, request, map);
    out.command = "headlight map " + shell_word(model_reference(model.folder()));
    std::error_code ignored;
    const char* const input = model::reads_pictures(model.config()) ? "image" : "texts";
    if (!request.texts.empty())
        out.command += std::string(" --") + input + " " +
                       shell_word(std::filesystem::absolute(request.texts, ignored).lexically_normal().string());
    else
        out.command += " --text " + shell_word(request.text);
    if (out.dtype != "float32") out.command += " --dtype " + out.dtype;
    out.command += command_words(out.options) + " --out figure." + format;
    if (!request.texts.empty()) out.options.insert(out.options.begin(), {input, request.texts});
    return out;
}

void mark_points(MapLook& look, const map::QueryKeyMap& map, std::vector<std::uint8_t> hits,
                 const std::vector<map::HeadHits>& ranked, const QString& sought) {
    const auto queries = static_cast<std::ptrdiff_t>(std::min(map::query_count(map), hits.size()));
    // A token has a query and a key; the source of a cross attention has tokens of its own.
    const auto counted = std::count(hits.begin(), map.source.tokens.empty() ? hits.begin() + queries : hits.end(), 1);
    look.marked_words =
        QStringLiteral("%1 of “%2”")
            .arg(draw::count_text(counted) + (counted == 1 ? QStringLiteral(" hit") : QStringLiteral(" hits")), sought);
    auto spreads = std::make_shared<std::vector<double>>(map.heads.size(), std::numeric_limits<double>::quiet_NaN());
    for (const map::HeadHits& head : ranked) spreads->at(head.head) = head.dispersion;
    look.spreads = std::move(spreads);
    look.marked = std::make_shared<const std::vector<std::uint8_t>>(std::move(hits));
}

}  // namespace headlight::figure
