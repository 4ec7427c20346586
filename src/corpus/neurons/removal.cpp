// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/corpus/neurons/removal.h"

#include "headlight/base/error.h"
#include "headlight/corpus/accumulate/examples.h"
#include "headlight/corpus/store/place.h"
#include "headlight/trace/encoded.h"
#include "headlight/trace/tensors.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace headlight::corpus {
namespace {

using headlight::text::Encoding;

/// The first `count` tokens, without the one at `removed` (-1: with all).
Encoding prefix_of(const Encoding& whole, std::int64_t count, std::int64_t removed) {
    Encoding out;
    const auto copy = [&](const auto& from, auto& into) {
        for (std::int64_t i = 0; i < std::min(count, std::ssize(from)); ++i)
            if (i != removed) into.push_back(from[static_cast<std::size_t>(i)]);
    };
    copy(whole.ids, out.ids);
    copy(whole.tokens, out.tokens);
    copy(whole.offsets, out.offsets);
    copy(whole.type_ids, out.type_ids);
    copy(whole.special, out.special);
    copy(whole.words, out.words);
    copy(whole.sequence, out.sequence);
    return out;
}

/// Positions of the tokens that may be removed, by Removed; -1: there is none.
std::array<std::int32_t, kRemoved> removed_positions(const Encoding& encoding, const Trigger& trigger, std::uint64_t seed) {
    std::vector<std::int32_t> own;
    for (std::int32_t p = 0; p <= trigger.position; ++p)
        if (!encoding.special[static_cast<std::size_t>(p)]) own.push_back(p);
    std::array<std::int32_t, kRemoved> out{-1, -1, -1};
    if (own.size() < 2 || own.back() != trigger.position) return out;  // nothing would remain
    out[static_cast<std::size_t>(Removed::first)] = own.front();
    out[static_cast<std::size_t>(Removed::last)] = own.back();
    const std::size_t between = own.size() - 2;
    if (between > 0)
        out[static_cast<std::size_t>(Removed::random)] =
            own[1 + static_cast<std::size_t>(draw(seed, trigger.text, trigger.position) % between)];
    return out;
}

/// A neuron's index in the result.
struct Asked {
    std::size_t neuron, trigger;
};

/// Coefficients of neurons at the last token of a text.
class LastToken {
public:
    LastToken(std::shared_ptr<const model::Model> model, std::shared_ptr<const headlight::text::Tokenizer> tokenizer)
        : model_(std::move(model)), tokenizer_(std::move(tokenizer)) {}
    std::vector<double> operator()(const Chunk& chunk, const Text& text, std::int64_t count, std::int64_t removed,
                                   const std::vector<analyze::NeuronId>& neurons, const CancelToken& cancel) const {
        trace::CapturePlan plan{.globs = {}, .overview = trace::no_overview};
        std::set<std::int64_t> layers;
        for (const analyze::NeuronId id : neurons) layers.insert(id.layer.value);
        for (const std::int64_t layer : layers) plan.globs.push_back("blocks." + std::to_string(layer) + ".mlp.hook_post");
        trace::EncodedText encoded{.text = bytes_of(chunk, text), .encoding = prefix_of(chunk.encoding, count, removed)};
        const auto trace = trace::run_encoded(model_, tokenizer_, std::move(encoded), plan, cancel);
        const at::NoGradGuard no_grad;
        std::map<std::int64_t, at::Tensor> rows;
        for (const std::int64_t layer : layers)
            rows[layer] = trace::tensor_rows(*trace, {model::Hook::mlp_post, Layer(layer)}, trace->tokens() - 1, 1)
                              .to(at::kCPU, at::kFloat)
                              .contiguous();
        std::vector<double> out;
        for (const analyze::NeuronId id : neurons)
            out.push_back(static_cast<double>(rows.at(id.layer.value).data_ptr<float>()[id.neuron.value]));
        return out;
    }

private:
    std::shared_ptr<const model::Model> model_;
    std::shared_ptr<const headlight::text::Tokenizer> tokenizer_;
};

}  // namespace

std::vector<NeuronRemoval> removal_test(const Neurons& neurons, TextStore& texts,
                                        const std::shared_ptr<const model::Model>& model,
                                        const std::shared_ptr<const headlight::text::Tokenizer>& tokenizer,
                                        std::span<const analyze::NeuronId> ids, const RemovalOptions& options,
                                        const CancelToken& cancel, const Progress& progress) {
    for (std::int64_t l = 0; l < neurons.layers(); ++l)
        if (neurons.layers() != model->config().n_layers || neurons.width(Layer(l)) != model::mlp_width(model->config(), l))
            throw Error({.problem = "The model is not the one that the neurons are of", .item = model->config().name});
    std::vector<NeuronRemoval> out;
    std::map<std::pair<std::int32_t, std::int32_t>, std::vector<Asked>> prefixes;  // (chunk, position): parts are read in order
    for (const analyze::NeuronId id : ids) {
        NeuronRemoval& of = out.emplace_back(NeuronRemoval{.id = id, .triggers = {}});
        for (const Trigger& trigger : neurons.largest(id.layer, id.neuron)) {
            if (std::ssize(of.triggers) == options.triggers) break;
            prefixes[{trigger.text, trigger.position}].push_back({out.size() - 1, of.triggers.size()});
            of.triggers.push_back({.trigger = trigger});
        }
    }
    const LastToken last_token(model, tokenizer);
    std::int64_t done = 0;
    for (const auto& [place, asked] : prefixes) {
        cancel.throw_if_cancelled();
        if (progress) progress({"Removing tokens", "prefix", done++, std::ssize(prefixes)});
        const Chunk& chunk = texts.chunk_with(place.first, {place.second});
        const Text& text = texts.text(chunk.text);
        std::vector<analyze::NeuronId> here;
        for (const Asked& each : asked) here.push_back(out[each.neuron].id);
        const Trigger& trigger = out[asked[0].neuron].triggers[asked[0].trigger].trigger;
        const auto positions = removed_positions(chunk.encoding, trigger, options.seed);
        const std::int64_t count = place.second + 1;
        const std::vector<double> whole = last_token(chunk, text, count, -1, here, cancel);
        std::array<std::vector<double>, kRemoved> left;
        for (std::size_t r = 0; r < kRemoved; ++r)
            if (positions[r] >= 0) left[r] = last_token(chunk, text, count, positions[r], here, cancel);
        for (std::size_t i = 0; i < asked.size(); ++i) {
            TriggerRemoval& to = out[asked[i].neuron].triggers[asked[i].trigger];
            to.whole = whole[i];
            to.position = positions;
            for (std::size_t r = 0; r < kRemoved; ++r)
                if (!left[r].empty()) to.left[r] = left[r][i];
        }
    }
    return out;
}

std::vector<analyze::NeuronId> drawn_neurons(const Neurons& neurons, std::int64_t of_layer, std::uint64_t seed) {
    std::vector<analyze::NeuronId> out;
    for (std::int64_t l = 0; l < neurons.layers(); ++l) {
        std::vector<std::pair<std::uint64_t, std::int64_t>> drawn;
        for (std::int64_t n = 0; n < neurons.width(Layer(l)); ++n)
            if (!neurons.largest(Layer(l), Neuron(n)).empty()) drawn.emplace_back(draw(seed, l, n), n);
        std::ranges::sort(drawn);
        drawn.resize(std::min(drawn.size(), static_cast<std::size_t>(std::max<std::int64_t>(0, of_layer))));
        std::vector<std::int64_t> numbers;
        for (const auto& [of, number] : drawn) numbers.push_back(number);
        std::ranges::sort(numbers);
        for (const std::int64_t number : numbers) out.push_back({Layer(l), Neuron(number)});
    }
    return out;
}

std::vector<LayerRemoval> removal_by_layer(const std::vector<NeuronRemoval>& neurons, const BootstrapOptions& options) {
    std::map<std::int64_t, std::vector<const NeuronRemoval*>> by_layer;
    for (const NeuronRemoval& of : neurons) by_layer[of.id.layer.value].push_back(&of);
    std::vector<LayerRemoval> out;
    for (const auto& [layer, of_layer] : by_layer) {
        LayerRemoval row{.layer = Layer(layer), .neurons = std::ssize(of_layer), .triggers = 0, .change = {}};
        for (const NeuronRemoval* of : of_layer) row.triggers += std::ssize(of->triggers);
        const Bootstrap bootstrap(std::ssize(of_layer), options);
        for (const auto& removed : removed_tokens) {
            std::vector<TextTerm> terms;
            for (const NeuronRemoval* of : of_layer) {
                double sum = 0;
                std::int64_t n = 0;
                for (const TriggerRemoval& trigger : of->triggers)
                    if (const double change = trigger.change(removed.value); std::isfinite(change)) sum += change, ++n;
                terms.push_back(n > 0 ? TextTerm{sum / static_cast<double>(n), 1} : TextTerm{});
            }
            row.change[static_cast<std::size_t>(removed.value)] = bootstrap.mean(terms);
        }
        out.push_back(row);
    }
    return out;
}

analyze::Table table_of(const NeuronRemoval& neuron, TextStore& texts) {
    analyze::Table table;
    table.columns = {"rank",          "chunk",       "position", "removed", "removed_position",
                     "removed_token", "coefficient", "left",     "change"};
    table.definitions = {
        {"removed",
         "Which token of the prefix, which ends in the trigger, is removed: its first, its last (the trigger), or one between."},
        {"coefficient", "m at the end of the prefix (mlp.hook_post)."},
        {"left", "m at the end of what is left of it."},
        {"change", "left / coefficient - 1."}};
    for (std::size_t rank = 0; rank < neuron.triggers.size(); ++rank) {
        const TriggerRemoval& of = neuron.triggers[rank];
        const Chunk& chunk = texts.chunk(of.trigger.text);
        const Text& text = texts.text(chunk.text);
        for (const auto& removed : removed_tokens) {
            const auto r = static_cast<std::size_t>(removed.value);
            if (of.position[r] < 0) continue;
            table.add({static_cast<std::int64_t>(rank), static_cast<std::int64_t>(of.trigger.text),
                       static_cast<std::int64_t>(of.trigger.position), std::string(removed.word),
                       static_cast<std::int64_t>(of.position[r]), place_in(chunk, text, of.position[r], 0, 0).token, of.whole,
                       of.left[r], of.change(removed.value)});
        }
    }
    return table;
}

analyze::Table table_of(const std::vector<LayerRemoval>& layers) {
    analyze::Table table;
    table.columns = {"layer", "neurons", "triggers"};
    table.definitions = {{"neurons", "Drawn of the layer."}, {"triggers", "Of all of them."}};
    for (const auto& removed : removed_tokens) {
        const std::string word(removed.word);
        table.columns.insert(table.columns.end(), {word, word + "_low", word + "_high"});
        table.definitions.emplace_back(
            word, "Mean over neurons of the mean relative change of their triggers' coefficients without that token.");
        table.definitions.emplace_back(word + "_low", "Its interval: percentile bootstrap over neurons.");
        table.definitions.emplace_back(word + "_high", "Its interval: percentile bootstrap over neurons.");
    }
    for (const LayerRemoval& of : layers) {
        std::vector<analyze::Table::Cell> row{of.layer.value, of.neurons, of.triggers};
        for (const Interval& change : of.change) row.insert(row.end(), {change.mean, change.low, change.high});
        table.add(std::move(row));
    }
    return table;
}

}  // namespace headlight::corpus
