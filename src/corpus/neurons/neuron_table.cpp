// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/corpus/neurons/neuron_table.h"

#include "headlight/corpus/store/place.h"

#include <algorithm>

namespace headlight::corpus {

TriggerContext context_of(TextStore& texts, const Trigger& trigger, std::int64_t tokens_before) {
    const Chunk& chunk = texts.chunk_with(trigger.text, {trigger.position});
    const Text& text = texts.text(chunk.text);
    const auto& offsets = chunk.encoding.offsets;
    const std::int64_t first = std::max<std::int64_t>(0, trigger.position - tokens_before);
    const auto begin = [&](std::int64_t position) { return offsets.at(static_cast<std::size_t>(position)).begin; };
    const Place place = place_in(chunk, text, trigger.position, begin(trigger.position) - begin(first), 0);
    TriggerContext context{.text = text.id, .before = place.before, .token = place.token, .next = {}};
    if (trigger.position + 1 < std::ssize(offsets)) context.next = place_in(chunk, text, trigger.position + 1, 0, 0).token;
    return context;
}

analyze::Table neuron_table(const Neurons& neurons, Layer layer, Neuron neuron,
                            const std::function<TriggerContext(const Trigger&)>& context) {
    analyze::Table table;
    table.columns = {"kind",     "rank",    "from", "to",     "coefficient", "chunk",
                     "position", "next_id", "text", "before", "token",       "next"};
    table.definitions = {
        {"kind", "largest and smallest: chunks by their extreme token; sample: tokens drawn from a level of activity"},
        {"from", "of a sample: the coefficients of its level, two powers of two"},
        {"coefficient", "m, the factor of the value row (mlp.hook_post)"},
        {"next", "the token behind it; empty: the chunk ends there"},
        {"histogram", "tokens in each bin of coefficients, m <= 0 by |m| and then m > 0"},
        {"bin", "a coefficient in the middle of each bin, off by at most 1/9"}};
    const auto add = [&](const char* kind, const std::vector<Trigger>& triggers, analyze::Table::Cell from,
                         analyze::Table::Cell to) {
        for (std::size_t i = 0; i < triggers.size(); ++i) {
            const Trigger& t = triggers[i];
            const TriggerContext where = context(t);
            table.add({std::string(kind), static_cast<std::int64_t>(i), from, to, static_cast<double>(t.value),
                       static_cast<std::int64_t>(t.text), static_cast<std::int64_t>(t.position), analyze::index_cell(t.next),
                       where.text, where.before, where.token, where.next});
        }
    };
    add("largest", neurons.largest(layer, neuron), {}, {});
    add("smallest", neurons.smallest(layer, neuron), {}, {});
    for (std::int64_t i = 0; i < kActivityLevels; ++i) {
        // Positive levels from the highest down, then negative ones from near zero down.
        constexpr std::int64_t kSide = kActivityLevels / 2;
        const std::int64_t level = i < kSide ? kActivityLevels - 1 - i : i - kSide;
        const auto [from, to] = level_range(level);
        add("sample", neurons.samples(layer, neuron, level), from, to);
    }
    analyze::NamedArray bins{"bin", {kCoefficientBins}};
    for (std::int64_t b = 0; b < kCoefficientBins; ++b) bins.values.push_back(static_cast<float>(coefficient_of(b)));
    const auto histogram = neurons.histogram(layer, neuron);
    table.arrays.push_back(analyze::integer_array("histogram", {histogram.begin(), histogram.end()}));
    table.arrays.push_back(std::move(bins));
    return table;
}

}  // namespace headlight::corpus
