// SPDX-License-Identifier: GPL-3.0-or-later
#include "trace/shared_run.h"

#include "headlight/trace/shared_rows.h"
#include "model/internals.h"

#include <algorithm>
#include <ranges>

namespace headlight::trace {

using model::Hook;
using model::HookPoint;

std::optional<SharedLayers> shared_layers(const Trace& unedited, const model::Model& model, const text::Encoding& encoding,
                                          const Keeping& keeping, const std::set<HookPoint>& hooked,
                                          const HeadOverview& overview) {
    const Trace::Internals& plain = unedited.internals();
    const model::ModelConfig& c = model.config();
    const bool same = plain.model.get() == &model && plain.edits.empty() && plain.encoding.ids == encoding.ids &&
                      plain.encoding.type_ids == encoding.type_ids && !encoding.pixels == !plain.encoding.pixels &&
                      (!encoding.pixels || *plain.encoding.pixels == *encoding.pixels);
    if (!same || !unedited.overview().has(overview)) return std::nullopt;
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
    if (!out.overview.any()) return;
    std::copy_n(plain.pooled.begin(), heads, out.pooled.begin());
    std::copy_n(plain.head_numbers.begin(), heads, out.head_numbers.begin());
}

void share(const SharedLayers& shared, const Trace& unedited, Trace::Internals& out) {
    for (const HookPoint& p : shared.common) out.stored.emplace(p, unedited.internals().stored.at(p));
    share_overview(shared, unedited, out);
}

namespace {

/// [head, query, key] or [head, query], which grow in more than one direction or not in the first.
bool has_rows_first(Hook hook) {
    return hook != Hook::attn_scores && hook != Hook::pattern && hook != Hook::sink && !model::is_score_term(hook);
}

bool is_rotary(const model::ModelConfig& c) { return c.positions == model::Positions::rotary; }

}  // namespace

std::int64_t shared_rows_of(const Trace& trace) noexcept { return trace.internals().shared_rows; }

std::int64_t shared_rows(const Trace& earlier, const model::Model& model, const text::Encoding& encoding, const Keeping& keeping,
                         const std::set<HookPoint>& hooked) {
    const Trace::Internals& t = earlier.internals();
    const model::ModelConfig& c = model.config();
    if (t.model.get() != &model || !t.edits.empty() || !hooked.empty() || encoding.size() <= kFewestShared) return 0;
    if (!model.internals().device.is_cpu()) return 0;  // a GPU's rows get other bits in another number of rows
    if (!model::rows_stay(c, encoding.size(), t.encoding.size())) return 0;
    const std::int64_t same = std::ranges::mismatch(t.encoding.ids, encoding.ids).in2 - encoding.ids.begin();
    const std::int64_t rows = std::min(same, encoding.size() - 1);
    if (rows < std::max(kFewestShared, encoding.size() / 4)) return 0;
    std::set<HookPoint> read = keeping.kept;
    for (std::int64_t l = 0; l < c.n_layers; ++l)
        for (const Hook hook : {is_rotary(c) ? Hook::rot_q : Hook::q, is_rotary(c) ? Hook::rot_k : Hook::k, Hook::v})
            read.insert({hook, Layer(l)});
    const bool all = std::ranges::all_of(
        read, [&](const HookPoint& point) { return has_rows_first(point.hook) && is_available(earlier, point); });
    return all ? rows : 0;
}

model::EarlierRows RowJoiner::earlier() const {
    return {.rows = rows_, .attention = [this](Layer layer) {
                const auto heads = [&](Hook hook) {
                    return available_tensor(earlier_, {hook, layer})->narrow(0, 0, rows_).transpose(0, 1);
                };
                const bool rotary = is_rotary(earlier_.config());
                return model::EarlierRows::Attention{
                    .q = heads(rotary ? Hook::rot_q : Hook::q), .k = heads(rotary ? Hook::rot_k : Hook::k), .v = heads(Hook::v)};
            }};
}

at::Tensor RowJoiner::visit(HookPoint point, at::Tensor rows) {
    if (!rows.is_same(last_)) {
        const at::Tensor before = available_tensor(earlier_, point)->narrow(0, 0, rows_);
        last_joined_ = at::cat({before, rows.to(before.device())});
        last_ = rows;
    }
    whole_.visit(point, last_joined_);
    return rows;
}

}  // namespace headlight::trace
