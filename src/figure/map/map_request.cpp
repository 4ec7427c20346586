// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/figure/map/map_request.h"

#include "figure/core/command_words.h"
#include "figure/core/draw.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

namespace headlight::figure {
namespace {

/// The gathered heads, if they are one layer, one number in all layers, or a single head.
void put_heads(CommandOptions& out, const map::QueryKeyMap& map, const MapLook& look) {
    HeadId first{map.heads.front().layer, map.heads.front().head};
    if (look.single) first = *look.single;
    const bool one_layer = std::ranges::all_of(map.heads, [&](const map::HeadMap& head) { return head.layer == first.layer; });
    const bool one_number = std::ranges::all_of(map.heads, [&](const map::HeadMap& head) { return head.head == first.head; });
    if (look.single || (one_layer && map.layers > 1)) out.emplace_back("layer", std::to_string(first.layer.value));
    if (look.single || (one_number && map.heads_per_layer > 1)) out.emplace_back("head", std::to_string(first.head.value));
}

}  // namespace

Provenance map_provenance(const model::Model& model, const map::QueryKeyMap& map, const MapRequest& request,
                          const std::string& format) {
    Provenance out = provenance_of(model, request.dtype);
    out.text = request.text;
    MapRequest drawn = request;
    if (!map.pictures) drawn.look.thumbnails = MapLook().thumbnails;
    out.options = changed_fields(drawn);
    put_heads(out.options, map, request.look);
    const ExportOptions output = counted_in(request.output, format);
    put_theme(out.options, output.style);
    put_size(out.options, output);
    out.command = "headlight map " + shell_word(model_reference(model.folder()));
    const char* const input = model::reads_pictures(model.config()) ? "image" : "texts";
    if (!request.texts.empty())
        out.command += std::string(" --") + input + " " + shell_word(full_path(request.texts));
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
