// SPDX-License-Identifier: GPL-3.0-or-later
#include "intervention/recipe/tensor_edits.h"

#include "headlight/base/numbers.h"
#include "headlight/intervention/recipe/words.h"
#include "headlight/text/alignment.h"
#include "headlight/trace/weights.h"

#include <limits>
#include <numeric>

namespace headlight::intervention {
namespace {

at::Tensor indices(const std::vector<std::int64_t>& at) { return at::tensor(at, at::TensorOptions(at::kLong)); }

at::Tensor selected(const at::Tensor& t, const std::optional<std::vector<std::int64_t>>& units) {
    return units ? t.index_select(1, indices(*units)) : t;
}

at::Tensor length_of(const at::Tensor& t) { return t.square().sum(-1, true).sqrt(); }

/// b_V of the heads: [1, unit, d_value], times the sums of their rows where `sums` has them.
Change value_bias(const ChangeFrom& from) {
    const model::Model& model = from.sources.part(from.edit);
    const model::ModelConfig& c = model.config();
    const at::Tensor bias = trace::attention_weights(model, Layer(from.layer)).b_v;
    if (!bias.defined()) return [](const at::Tensor& t, const auto&) { return at::zeros_like(t); };
    const at::Tensor by_head = bias.to(at::kCPU).to(at::kDouble).repeat_interleave(c.n_heads / c.n_kv_heads, 0);
    return [bias = selected(by_head.unsqueeze(0), from.units), sums = from.sums, units = from.units](const at::Tensor& t,
                                                                                                     const auto& positions) {
        if (!sums || !sums->sums.defined()) return bias.expand_as(t);
        std::vector<std::int64_t> local;
        for (const std::int64_t at : positions) local.push_back(at - sums->start);
        return bias * selected(sums->sums.index_select(0, indices(local)), units).unsqueeze(-1);
    };
}

Change along(const ChangeFrom& from) {
    const Edit& edit = from.edit;
    const model::ModelConfig& c = from.sources.part(edit).config();
    const Axis axis = row_of(edit.site).axis;
    if (axis == Axis::neuron && from.units)
        fail_edit(edit, "A direction applies to a whole vector", "the stream, an output, or a head", "single neurons");
    const std::vector<std::int64_t> shape =
        model::shape_of(from.point.point, c, from.sources.rows_of(edit).size(), from.sources.encodings.source.size());
    at::Tensor v = from.sources.direction(resolved(edit, from.recipe), from.point, shape, from.cancel, from.progress);
    if (v.dim() == 2 && from.units) v = v.index_select(0, indices(*from.units));
    if ((length_of(v) == 0).any().item<bool>()) fail_edit(edit, "The direction has length 0", "a vector", "zeros");
    const at::Tensor unit = v / length_of(v);
    const double by = edit.value;
    if (edit.operation == Operation::add && edit.unit == Unit::plain)
        return [v, by](const at::Tensor& t, const auto&) { return t + by * v; };
    if (edit.operation == Operation::add)
        return [unit, by](const at::Tensor& t, const auto&) { return t + by * length_of(t) * unit; };
    const double to = edit.operation == Operation::direct ? by : 0;
    return [unit, to](const at::Tensor& t, const auto&) { return t + (to - (t * unit).sum(-1, true)) * unit; };
}

Change mean(const ChangeFrom& from) {
    const Edit& edit = from.edit;
    at::Tensor means;
    if (edit.source.from != From::none) {
        means = from.sources.mean_of(edit, from.point, from.cancel, from.progress);
    } else {
        const at::Tensor own = from.sources.in_plain(from.point, from.cancel, from.progress);
        const std::int64_t first = edit.without_first ? 1 : 0;
        if (own.size(0) <= first)
            fail_edit(edit, "There is no position to take a mean of", "a text of two tokens or more", "one token");
        means = own.narrow(0, first, own.size(0) - first).mean(0, true);
    }
    const at::Tensor of_units = selected(means, from.units);
    if (edit.source.from != From::reference)
        return [of_units](const at::Tensor& t, const auto&) { return of_units.expand_as(t); };
    return [of_units](const at::Tensor&, const std::vector<std::int64_t>& positions) {
        return of_units.index_select(0, indices(positions));
    };
}

/// Of whole rows.
Change force(const ChangeFrom& from) {
    return [units = from.units.value()](const at::Tensor& t, const auto&) {
        const at::Tensor best = std::get<0>(t.max(-1, true));
        at::Tensor out = t.clone();
        for (const std::int64_t unit : units) out.select(1, unit).copy_(just_above(best).squeeze(-1));
        return out;
    };
}

}  // namespace

Donor donor_of(const ChangeFrom& from) {
    const Edit& edit = from.edit;
    Donor donor;
    const text::Encoding& here = from.sources.rows_of(edit);
    const text::Encoding& keys = from.sources.keys_of(edit);
    if (edit.source.from == From::none) {
        donor.tensor = from.sources.in_plain(from.point, from.cancel, from.progress);
        donor.rows = text::align_positions(here.tokens, here.tokens);
        donor.keys = text::align_positions(keys.tokens, keys.tokens);
        return donor;
    }
    const std::string& text =
        edit.operation == Operation::resample
            ? from.sources.drawn(edit, edit.source.index > 0 ? static_cast<std::uint64_t>(edit.source.index) : from.recipe.seed,
                                 from.cancel)
            : edit.source.what;
    donor.tensor = from.sources.in_text(edit, text, from.point, from.cancel, from.progress);
    const auto run = trace::part_of(from.sources.run_of(text, edit.source.target, from.cancel, from.progress), from.edit.stack);
    const bool of_keys = edit.stack == model::Stack::cross && (edit.site == Site::k || edit.site == Site::v);
    const text::Encoding& there = of_keys ? run->key_encoding() : run->encoding();
    donor.rows = of_keys ? text::align_positions(here.tokens, there.tokens)
                         : text::align_positions(here.tokens, there.tokens,
                                                 text::TextEnds{end_of(here, from.sources), end_of(there, from.sources)});
    donor.keys = edit.stack == model::Stack::cross ? text::align_positions(keys.tokens, run->key_encoding().tokens) : donor.rows;
    donor.same_length = here.size() == there.size() && keys.size() == run->key_encoding().size();
    return donor;
}

void keep_aligned(const ChangeFrom& from, const Donor& donor, Rows& rows) {
    if (rows.all) {
        rows.at.resize(donor.rows.size());
        std::iota(rows.at.begin(), rows.at.end(), 0);
        rows.all = false;
    }
    const auto asked = std::ssize(rows.at);
    const auto alone = std::erase_if(rows.at, [&](std::int64_t at) { return donor.rows[static_cast<std::size_t>(at)] < 0; });
    // The ends are partners whatever stands there, which alone is no text in common.
    const bool only_end = !donor.same_length && std::ranges::count_if(donor.rows, [](auto at) { return at >= 0; }) == 1;
    if (rows.at.empty() || only_end)
        fail_edit(from.edit, "No position of the selection has a counterpart in the other text", "a token that both texts have",
                  "none");
    if (alone > 0) {
        const std::string words = words_of(from.edit);
        from.notes.set(words + " partners", words + ": " + with_commas(static_cast<std::int64_t>(alone)) + " of " +
                                                with_commas(asked) +
                                                " selected tokens have no partner in the other text and keep their values");
    }
}

Change change_of(const ChangeFrom& from, Rows& rows) {
    const Edit& edit = from.edit;
    const double value = edit.value;
    switch (edit.operation) {
        case Operation::zero:
            if (edit.without_value_bias) return value_bias(from);
            return [](const at::Tensor& t, const auto&) { return at::zeros_like(t); };
        case Operation::scale: return [value](const at::Tensor& t, const auto&) { return t * value; };
        case Operation::clamp: return [value](const at::Tensor& t, const auto&) { return at::full_like(t, value); };
        case Operation::add:
        case Operation::project:
        case Operation::direct: return along(from);
        case Operation::mean: return mean(from);
        case Operation::forbid:
            return [](const at::Tensor& t, const auto&) { return at::full_like(t, -std::numeric_limits<double>::infinity()); };
        case Operation::force: return force(from);
        default: break;
    }
    // patch, freeze, resample
    Donor donor = donor_of(from);
    if (edit.site == Site::scores && !donor.same_length)
        fail_edit(edit, "Scores can only be patched between texts of equal length",
                  "the pattern, whose aligned edges can be patched", "scores");
    keep_aligned(from, donor, rows);
    at::Tensor there = edit.site == Site::scores || edit.site == Site::sink ? donor.tensor.transpose(0, 1) : donor.tensor;
    there = selected(there, from.units);
    return [there, to = std::move(donor.rows)](const at::Tensor&, const std::vector<std::int64_t>& positions) {
        std::vector<std::int64_t> mapped;
        for (const std::int64_t at : positions) mapped.push_back(to[static_cast<std::size_t>(at)]);
        return there.index_select(0, indices(mapped));
    };
}

at::Tensor apply(const TensorStep& step, const PassRows& pass, const at::Tensor& tensor) {
    const at::Tensor t = step.heads_first ? tensor.transpose(0, 1) : tensor;
    const std::int64_t count = t.size(0), start = step.of_source ? 0 : pass.start(count);
    std::vector<std::int64_t> local, positions;
    for (std::int64_t r = 0; r < count; ++r)
        if (step.rows.all || std::ranges::binary_search(step.rows.at, start + r)) {
            local.push_back(r);
            positions.push_back(start + r);
        }
    if (local.empty()) return tensor;
    const at::Tensor rows = indices(local).to(t.device());
    at::Tensor part = t.index_select(0, rows);
    const at::Tensor units = step.units ? indices(*step.units).to(t.device()) : at::Tensor();
    if (units.defined()) part = part.index_select(1, units);
    const at::Tensor changed = step.change(part.to(at::kCPU).to(at::kDouble), positions).to(t.device(), t.scalar_type());
    at::Tensor out = t.clone(at::MemoryFormat::Contiguous);
    if (units.defined())
        out.index_put_({rows.unsqueeze(1), units}, changed);
    else
        out.index_copy_(0, rows, changed.contiguous());
    return step.heads_first ? out.transpose(0, 1).contiguous() : out;
}

}  // namespace headlight::intervention
