// SPDX-License-Identifier: GPL-3.0-or-later
#include "trace/shared_layers.h"

#include <algorithm>
#include <ranges>

namespace headlight::trace {

using model::Hook;
using model::HookPoint;

std::optional<SharedLayers> shared_layers(const Trace& unedited, const model::Model& model, const text::Encoding& encoding,
                                          const Keeping& keeping, const std::set<HookPoint>& hooked, bool overview) {
    const Trace::Internals& plain = unedited.internals();
    const model::ModelConfig& c = model.config();
    const bool same = plain.model.get() == &model && plain.edits.empty() && plain.encoding.ids == encoding.ids &&
                      plain.encoding.type_ids == encoding.type_ids && !encoding.pixels == !plain.encoding.pixels &&
                      (!encoding.pixels || *plain.encoding.pixels == *encoding.pixels);
    if (!same || (overview && plain.pooled.empty())) return std::nullopt;
    SharedLayers shared{.layers = c.n_layers};
    bool behind = false;
    for (const HookPoint& p : hooked) {
        if (model::has_layer(p.hook))
            shared.layers = std::min(shared.layers, p.layer.value);
        else if (p.hook < Hook::resid_pre)
            return std::nullopt;
        else
            behind = true;
    }
    for (const HookPoint& p : keeping.kept) {
        const bool common = model::has_layer(p.hook) ? p.layer.value < shared.layers : p.hook < Hook::resid_pre;
        if (common && !plain.stored.contains(p)) return std::nullopt;
        (common ? shared.common : shared.own).insert(p);
    }
    const auto at_end = shared.layers == c.n_layers ? HookPoint{Hook::resid_post, Layer(c.n_layers - 1)}
                                                    : HookPoint{Hook::resid_pre, Layer(shared.layers)};
    const auto stream = plain.stored.find(at_end);
    if (stream == plain.stored.end()) return std::nullopt;
    shared.stream = stream->second;
    const bool streams = std::ranges::all_of(std::views::iota(std::int64_t{0}, c.n_layers), [&](std::int64_t l) {
        return keeping.kept.contains({Hook::resid_pre, Layer(l)});
    });
    if (behind || keeping.remade || !streams || !keeping.kept.contains({Hook::resid_post, Layer(c.n_layers - 1)})) return shared;
    for (const HookPoint& p : shared.own)
        if (!model::has_layer(p.hook)) shared.later.insert(p);
    for (const HookPoint& p : shared.later) shared.own.erase(p);
    return shared;
}

void share_overview(const SharedLayers& shared, const Trace& unedited, Trace::Internals& out) {
    const Trace::Internals& plain = unedited.internals();
    const auto heads = static_cast<std::ptrdiff_t>(shared.layers * plain.model->config().n_heads);
    if (out.pooled.empty()) return;
    std::copy_n(plain.pooled.begin(), heads, out.pooled.begin());
    std::copy_n(plain.head_numbers.begin(), heads, out.head_numbers.begin());
}

void share(const SharedLayers& shared, const Trace& unedited, Trace::Internals& out) {
    for (const HookPoint& p : shared.common) out.stored.emplace(p, unedited.internals().stored.at(p));
    share_overview(shared, unedited, out);
}

}  // namespace headlight::trace
