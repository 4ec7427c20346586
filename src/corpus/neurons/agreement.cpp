// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/corpus/neurons/agreement.h"

#include "corpus/accumulate/archive.h"
#include "headlight/analyze/prediction/mlp.h"
#include "headlight/base/error.h"
#include "headlight/corpus/accumulate/examples.h"
#include "headlight/trace/tensors.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

namespace headlight::corpus {
namespace {

using model::Hook;

auto place_of(const AgreementExample& e) { return std::tuple(e.text, e.position); }

/// 1: AgreementReading::active_agrees; 2: any_agrees.
struct AgreesFlags {
    void save(const AgreementReading& r, std::vector<std::uint8_t>& out) const {
        out.push_back(static_cast<std::uint8_t>((r.active_agrees ? 1 : 0) | (r.any_agrees ? 2 : 0)));
    }
    void load(AgreementReading& r, const std::uint8_t* flags, const std::uint8_t*, const Arrays& in,
              const std::string& name) const {
        if (*flags > 3) in.throw_damaged(name, "0 to 3", std::to_string(*flags));
        r.active_agrees = (*flags & 1) != 0;
        r.any_agrees = (*flags & 2) != 0;
    }
};

/// The `count` positions from `first` on with the smallest draws, ascending.
std::vector<Position> drawn_positions(const TextRun& run, std::int64_t first, std::int64_t count, std::uint64_t seed) {
    std::vector<Position> positions;
    for (std::int64_t p = first; p < run.tokens(); ++p) positions.emplace_back(p);
    if (std::ssize(positions) <= count) return positions;
    std::ranges::nth_element(positions, positions.begin() + count, {},
                             [&](Position p) { return std::pair(draw(seed, run.number, p.value), p); });
    positions.resize(static_cast<std::size_t>(count));
    std::ranges::sort(positions);
    return positions;
}

}  // namespace

AccumulatorKind agreement_kind() {
    return {
        .id = "agreement",
        .title = "Agreement and refinement",
        .note = "how MLPs arrive at predictions, read at 4 tokens per chunk (Geva 2021); doubles the time of long texts",
        .usual = false,
        .of_treebank = false,
        .make =
            [](const AccumulatorContext& context) { return new_accumulator(Agreement(context.config, {.seed = context.seed})); },
        .open = [](const Arrays& arrays, std::uint64_t) { return new_accumulator(Agreement(arrays)); }};
}

Agreement::Agreement(const model::ModelConfig& c, const AgreementOptions& options) : options_(options) {
    analyze::require_refinement(c);
    for (std::int64_t l = 0; l < c.n_layers; ++l) widths_.push_back(model::mlp_width(c, l));
}

std::vector<std::string> Agreement::hooks() const {
    return {"blocks.*.hook_resid_mid*", "blocks.*.hook_mlp_out", "blocks.*.hook_resid_post", "blocks.*.mlp.hook_post"};
}

void Agreement::add(const TextRun& run, TextPatterns*) {
    const std::vector<Position> positions =
        drawn_positions(run, std::max<std::int64_t>(run.first_query, 1), options_.examples, options_.seed);
    if (positions.empty()) return;
    const at::NoGradGuard no_grad;
    const auto readings = analyze::token_readings(*run.trace, positions, options_.read_out);
    const auto tops = analyze::top_tokens_of_values(run.trace->model(), options_.read_out == analyze::ReadOut::model);
    std::vector<AgreementExample> added(positions.size());
    for (std::size_t i = 0; i < positions.size(); ++i) {
        added[i].text = run.number;
        added[i].position = static_cast<std::int32_t>(positions[i].value);
    }
    for (std::size_t l = 0; l < widths_.size(); ++l)
        for (std::size_t i = 0; i < positions.size(); ++i) {
            const at::Tensor row =
                trace::tensor_rows(*run.trace, {Hook::mlp_post, Layer(static_cast<std::int64_t>(l))}, positions[i].value, 1)
                    .to(at::kCPU, at::kFloat)
                    .contiguous();
            const float* m = row.data_ptr<float>();
            const analyze::TokenReading& read = readings[l][i];
            AgreementReading here{static_cast<std::int32_t>(read.before), static_cast<std::int32_t>(read.update),
                                  static_cast<std::int32_t>(read.after), static_cast<float>(read.final_probability)};
            for (std::size_t n = 0; n < (*tops)[l].size(); ++n) {
                const bool active = m[n] > 0, agrees = (*tops)[l][n] == here.update;
                here.active += active;
                here.any_agrees |= agrees;
                here.active_agrees |= agrees && active;
            }
            added[i].layers.push_back(here);
        }
    add_in_order(examples_, std::move(added), place_of);
}

void Agreement::stored(Archive& a) {
    a.facts("agreement.widths", widths_);
    a.rows(examples_, place_of, std::numeric_limits<std::int64_t>::max(), [&](StoredRows<AgreementExample>& example) {
        using Reading = AgreementReading;
        example
            .column<std::int64_t>("agreement.places", {}, a.chunk(&AgreementExample::text),
                                  within(0, &AgreementExample::position))
            .each(&AgreementExample::layers, std::ssize(widths_))
            .column<std::int32_t>("agreement.readings", {}, &Reading::before, &Reading::update, &Reading::after, &Reading::active)
            .column<float>("agreement.probability", {}, &Reading::final_probability)
            .column<std::uint8_t>("agreement.agrees", {}, AgreesFlags());
    });
}

std::vector<LayerAgreement> layer_agreement(const Agreement& agreement, const std::vector<std::int64_t>& text_of_chunk,
                                            const BootstrapOptions& options) {
    const std::vector<AgreementExample>& examples = agreement.examples();
    std::vector<std::int64_t> text_of;  // [example] row of its text; chunks of a text follow one another
    std::int64_t last = -1;
    for (const AgreementExample& example : examples) {
        if (example.text < 0 || example.text >= std::ssize(text_of_chunk))
            throw Error({.problem = "The store's texts and results do not fit",
                         .item = "agreement.places",
                         .expected = "chunks below " + std::to_string(text_of_chunk.size()),
                         .found = std::to_string(example.text)});
        const std::int64_t text = text_of_chunk[static_cast<std::size_t>(example.text)];
        text_of.push_back(text_of.empty() ? 0 : text_of.back() + (text != last));
        last = text;
    }
    const std::int64_t texts = text_of.empty() ? 0 : text_of.back() + 1;
    constexpr Eigen::Index kColumns = 9;
    const Bootstrap bootstrap(texts, options);
    Bootstrap::Columns weights = Bootstrap::Columns::Zero(texts, kColumns);
    for (const std::int64_t text : text_of) weights.row(text).array() += 1;
    std::vector<LayerAgreement> out;
    for (std::size_t l = 0; l < agreement.widths().size(); ++l) {
        Bootstrap::Columns sums = Bootstrap::Columns::Zero(texts, kColumns);
        std::vector<double> active, probabilities;
        for (std::size_t i = 0; i < examples.size(); ++i) {
            const AgreementReading& r = examples[i].layers[l];
            active.push_back(static_cast<double>(r.active) / static_cast<double>(agreement.widths()[l]));
            probabilities.push_back(static_cast<double>(r.final_probability));
            auto row = sums.row(text_of[i]);
            row(0) += active.back();
            row(1) += !r.active_agrees;
            row(2) += !r.any_agrees;
            row(3) += r.before == examples[i].final();
            row(4) += probabilities.back();
            row(5 + static_cast<Eigen::Index>(analyze::breakdown_of({r.before, r.update, r.after, 0}))) += 1;
        }
        const std::vector<Interval> means = bootstrap.means(sums, weights);
        out.push_back({.active = means[0],
                       .active_box = box_of(std::move(active)),
                       .zero_agreement = means[1],
                       .zero_agreement_any = means[2],
                       .residual_final = means[3],
                       .residual_probability = means[4],
                       .residual_probability_box = box_of(std::move(probabilities)),
                       .parts = {means[5], means[6], means[7], means[8]}});
    }
    return out;
}

namespace {

/// The token after each neuron's strongest trigger that has one, -1: none.
std::vector<std::int64_t> tokens_behind(const std::vector<std::vector<Trigger>>& triggers) {
    std::vector<std::int64_t> next;
    for (const std::vector<Trigger>& of_neuron : triggers) {
        const auto at = std::ranges::find_if(of_neuron, [](const Trigger& t) { return t.next >= 0; });
        next.push_back(at == of_neuron.end() ? -1 : at->next);
    }
    return next;
}

}  // namespace

ValueAgreement value_agreement(const Neurons& neurons, const model::Model& model, const ValueAgreementOptions& options,
                               const CancelToken& cancel, const Progress& progress) {
    const model::ModelConfig& c = model.config();
    bool fits = c.n_layers == neurons.layers();
    for (std::int64_t l = 0; fits && l < c.n_layers; ++l) fits = model::mlp_width(c, l) == neurons.width(Layer(l));
    if (!fits)
        throw Error({.problem = "The neurons of the corpus are not those of this model",
                     .expected = std::to_string(neurons.layers()) + " layers of the same widths",
                     .found = c.name + " with " + std::to_string(c.n_layers) + " layers"});
    ValueAgreement out;
    for (std::int64_t l = 0; l < c.n_layers; ++l) {
        if (progress) progress({"Reading values", "layer", l, c.n_layers});
        const Layer layer(l);
        std::vector<std::vector<Trigger>> triggers;
        for (std::int64_t n = 0; n < neurons.width(layer); ++n) triggers.push_back(neurons.largest(layer, Neuron(n)));
        const std::vector<std::int64_t> next = tokens_behind(triggers);
        const std::vector<analyze::ValueRead> values = analyze::value_reads(model, layer, next, options.gain, cancel);
        LayerValues counts{.neurons = neurons.width(layer)};
        std::vector<double> ranks;
        for (std::size_t n = 0; n < values.size(); ++n) {
            const analyze::ValueRead& value = values[n];
            if (next[n] < 0) continue;
            const bool agrees = value.top == next[n];
            ++counts.triggered;
            counts.agreeing += agrees;
            ranks.push_back(static_cast<double>(value.rank));
            SureValue sure{layer, Neuron(static_cast<std::int64_t>(n)), value.top, value.probability, agrees};
            for (const Trigger& t : triggers[n]) {
                sure.triggers += t.next >= 0;
                sure.followed += t.next == value.top;
            }
            out.surest.push_back(sure);
        }
        counts.rank = box_of(std::move(ranks));
        out.layers.push_back(counts);
    }
    if (progress) progress({"Reading values", "layer", c.n_layers, c.n_layers});
    std::ranges::stable_sort(out.surest, std::greater(), &SureValue::probability);
    for (std::size_t i = 0; i < out.surest.size(); ++i) {
        const SureValue& value = out.surest[out.surest.size() - 1 - i];
        ProbabilityTenth& tenth = out.by_probability[i * 10 / out.surest.size()];
        if (tenth.triggered++ == 0) tenth.lowest = value.probability;
        tenth.highest = value.probability;
        tenth.agreeing += value.agrees;
    }
    if (std::ssize(out.surest) > options.surest) out.surest.resize(static_cast<std::size_t>(options.surest));
    return out;
}

namespace {

void add_interval(std::vector<analyze::Table::Cell>& row, const Interval& x) { row.insert(row.end(), {x.mean, x.low, x.high}); }

void add_interval_columns(std::vector<std::string>& columns, const std::string& name) {
    columns.insert(columns.end(), {name, name + "_low", name + "_high"});
}

}  // namespace

analyze::Table table_of(const std::vector<LayerAgreement>& layers) {
    analyze::Table table;
    table.columns = {"layer"};
    for (const char* name : {"active", "zero_agreement", "zero_agreement_any", "residual_final", "residual_probability",
                             "agreement", "residual", "ffn", "composition"})
        add_interval_columns(table.columns, name);
    for (const char* name : {"active", "residual_probability"})
        for (const char* part : {"_lowest", "_quartile_1", "_median", "_quartile_3", "_highest"})
            table.columns.push_back(name + std::string(part));
    table.definitions = {
        {"active", "mean share of memories with m > 0; _low, _high: percentile interval over texts; quartiles: of the examples"},
        {"zero_agreement", "share of examples where no active memory's value has top(y)"},
        {"zero_agreement_any", "... where no memory's value has, active or not"},
        {"residual_final", "top(r) is the model's prediction"},
        {"residual_probability", "probability of that prediction in r"},
        {"agreement", "top(r) = top(y) = top(o); r before the MLP, y its output, o = r + y"},
        {"residual", "top(o) = top(r) only"},
        {"ffn", "top(o) = top(y) only"},
        {"composition", "top(o) is neither"}};
    for (std::size_t l = 0; l < layers.size(); ++l) {
        const LayerAgreement& x = layers[l];
        std::vector<analyze::Table::Cell> row{static_cast<std::int64_t>(l)};
        for (const Interval& each : {x.active, x.zero_agreement, x.zero_agreement_any, x.residual_final, x.residual_probability,
                                     x.parts[0], x.parts[1], x.parts[2], x.parts[3]})
            add_interval(row, each);
        for (const Box& box : {x.active_box, x.residual_probability_box})
            row.insert(row.end(), {box.lowest, box.lower, box.median, box.upper, box.highest});
        table.add(std::move(row));
    }
    return table;
}

analyze::Table table_of(const ValueAgreement& found) {
    analyze::Table table;
    table.columns = {"layer",          "neurons",     "triggered",       "agreeing",    "agreement_rate",  "agreement_low",
                     "agreement_high", "rank_lowest", "rank_quartile_1", "rank_median", "rank_quartile_3", "rank_highest"};
    table.definitions = {{"triggered", "neurons with a positive coefficient at a token that has a next one"},
                         {"agreeing", "of these, the value's likeliest token followed the strongest trigger"},
                         {"agreement_rate", "agreeing / triggered; _low, _high: Wilson's 95 % interval"},
                         {"rank", "of the token behind the strongest trigger among the value's tokens; 0: the likeliest"}};
    for (std::size_t l = 0; l < found.layers.size(); ++l) {
        const LayerValues& x = found.layers[l];
        const Interval rate = x.rate();
        table.add({static_cast<std::int64_t>(l), x.neurons, x.triggered, x.agreeing, rate.mean, rate.low, rate.high,
                   x.rank.lowest, x.rank.lower, x.rank.median, x.rank.upper, x.rank.highest});
    }
    return table;
}

analyze::Table probability_table(const ValueAgreement& found) {
    analyze::Table table{
        {"tenth", "lowest", "highest", "triggered", "agreeing", "agreement_rate", "agreement_low", "agreement_high"}, {}};
    table.definitions = {{"tenth", "of the model's triggered neurons, by the probability of their value's likeliest token"},
                         {"lowest", "probability, and highest: the tenth's ends"}};
    for (std::size_t i = 0; i < found.by_probability.size(); ++i) {
        const ProbabilityTenth& x = found.by_probability[i];
        const Interval rate = x.rate();
        table.add({static_cast<std::int64_t>(i), x.lowest, x.highest, x.triggered, x.agreeing, rate.mean, rate.low, rate.high});
    }
    return table;
}

analyze::Table sure_values_table(const ValueAgreement& found, const text::Tokenizer& tokenizer) {
    analyze::Table table{{"layer", "neuron", "token_id", "token", "probability", "followed", "triggers", "precision"}, {}};
    table.definitions = {{"probability", "of the value's likeliest token"},
                         {"followed", "kept triggers that were followed by that token"},
                         {"triggers", "kept triggers that have a next token"}};
    for (const SureValue& x : found.surest)
        table.add({x.layer.value, x.neuron.value, x.token, text::token_label(tokenizer, x.token), x.probability, x.followed,
                   x.triggers, x.triggers > 0 ? static_cast<double>(x.followed) / static_cast<double>(x.triggers) : kNaN});
    return table;
}

}  // namespace headlight::corpus
