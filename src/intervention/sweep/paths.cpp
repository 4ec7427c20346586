// SPDX-License-Identifier: GPL-3.0-or-later
#include "intervention/sweep/paths.h"

#include "headlight/base/error.h"
#include "headlight/intervention/recipe/words.h"

#include <algorithm>

namespace headlight::intervention {
namespace {

/// What a receiver becomes in one variant: rows from `first` on.
struct Heard {
    at::Tensor rows;
    std::int64_t first = 0;
};

std::int64_t beginning_of(const trace::Variant& v) { return std::ranges::min(v.edits, {}, &trace::Edit::first).first; }

trace::Edit listen(const Receiver& r, std::int64_t first, std::shared_ptr<Heard> heard) {
    return {r.point, first, [unit = r.unit, heard](model::HookPoint, const at::Tensor& rows, std::int64_t first_row) {
                *heard = {rows.select(1, unit).clone(), first_row};
                return rows;
            }};
}

trace::Edit say(const Receiver& r, std::int64_t first, std::shared_ptr<const Heard> heard) {
    return {r.point, first, [unit = r.unit, heard](model::HookPoint, const at::Tensor& rows, std::int64_t first_row) {
                at::Tensor changed = rows.clone();
                const std::int64_t begin = std::max(first_row, heard->first),
                                   end = std::min(first_row + rows.size(0), heard->first + heard->rows.size(0));
                if (begin < end)
                    changed.select(1, unit)
                        .narrow(0, begin - first_row, end - begin)
                        .copy_(heard->rows.narrow(0, begin - heard->first, end - begin));
                return changed;
            }};
}

}  // namespace

std::vector<Receiver> receivers_of(const std::vector<std::string>& words, const model::ModelConfig& c) {
    std::vector<Receiver> out;
    for (const std::string& word : words) {
        const Edit edit = parse_edit("zero " + word);
        const bool of_groups = edit.site == Site::k || edit.site == Site::v;
        const bool heads = std::ranges::all_of(edit.where, [](const Place& p) { return !p.layers.empty() && !p.units.empty(); });
        if ((edit.site != Site::q && !of_groups) || edit.where.empty() || !heads || !edit.finder.empty() ||
            !edit.positions.empty() || edit.stack != model::Stack::decoder)
            throw Error(ErrorFacts{.problem = "A path goes through queries, keys or values of heads",
                                   .expected = "words such as L5H7.k, L9H6.q or L7H3,9.v",
                                   .found = word});
        const std::int64_t units = of_groups && edit.groups ? c.n_kv_heads : c.n_heads;
        const std::int64_t group = of_groups && !edit.groups ? c.n_heads / c.n_kv_heads : 1;
        const auto check = [&](const Span& span, std::int64_t count, const char* what) {
            if (span.first >= 0 && span.last < count) return;
            throw Error(ErrorFacts{.problem = std::string("There is no such ") + what + " in this model",
                                   .item = word,
                                   .expected = "0 to " + std::to_string(count - 1),
                                   .found = std::to_string(span.last)});
        };
        for (const Place& place : edit.where)
            for (const Span& layers : place.layers)
                for (const Span& heads_of : place.units) {
                    check(layers, c.n_layers, "layer");
                    check(heads_of, units, "head");
                    for (std::int64_t l = layers.first; l <= layers.last; ++l)
                        for (std::int64_t h = heads_of.first; h <= heads_of.last; ++h) {
                            const Receiver r{{row_of(edit.site).hook, Layer(l)}, h / group};
                            const auto same = [&](const Receiver& o) { return o.point == r.point && o.unit == r.unit; };
                            if (std::ranges::none_of(out, same)) out.push_back(r);
                        }
                }
    }
    return out;
}

std::vector<trace::Variant> behind_receivers(const PairWork& work, std::vector<trace::Variant> senders,
                                             const CancelToken& cancel) {
    std::vector<trace::Variant> out(senders.size());
    for (std::size_t i = 0; i < senders.size(); ++i) {
        const std::int64_t first = beginning_of(senders[i]);
        for (const Receiver& r : work.plan.receivers) {
            const auto heard = std::make_shared<Heard>();
            // What it is computed to be, before edits of it and before it is frozen for heads of the same window.
            senders[i].edits.insert(senders[i].edits.begin(), listen(r, first, heard));
            out[i].edits.push_back(say(r, first, heard));
        }
    }
    work.variants->run(
        senders, [](std::int64_t, const at::Tensor&) {}, cancel);
    return out;
}

std::int64_t cost_behind_receivers(const PairWork& work, const trace::Variant& sender) {
    trace::Variant v;
    for (const Receiver& r : work.plan.receivers) v.edits.push_back({r.point, beginning_of(sender), {}});
    return work.variants->cost(v);
}

}  // namespace headlight::intervention
