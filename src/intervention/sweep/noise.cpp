// SPDX-License-Identifier: GPL-3.0-or-later
#include "intervention/sweep/noise.h"

#include "headlight/base/error.h"
#include "headlight/trace/variants.h"

#include <cmath>
#include <numbers>
#include <random>

namespace headlight::intervention {
namespace {

/// Standard normal numbers that are the same with every standard library (Box & Muller 1958).
class Normal {
public:
    explicit Normal(std::uint64_t seed) : random_(seed) {}
    double operator()() {
        const double radius = std::sqrt(-2 * std::log(uniform()));
        return radius * std::cos(2 * std::numbers::pi * uniform());
    }

private:
    /// In (0, 1).
    double uniform() { return (static_cast<double>(random_() >> 11) + 0.5) * 0x1p-53; }
    std::mt19937_64 random_;
};

at::Tensor embeddings_of(const model::Model& model, const SweepText& text) {
    const model::HookPoint embed{model::Hook::embed, Layer(0)};
    return trace::tensors_of(model, {text.ids, text.type_ids}, {embed}).at(embed).to(at::kDouble);
}

}  // namespace

std::vector<SweepPair> with_noise(const std::shared_ptr<const model::Model>& model, std::vector<SweepPair> pairs,
                                  const SweepOptions& o) {
    if (o.noise.empty()) return pairs;
    const model::ModelConfig& c = model->config();
    if (has_cross_attention(c) || model::reads_pictures(c))
        throw Error(ErrorFacts{.problem = "Noise on embeddings is not supported for this model",
                               .item = c.name,
                               .expected = "a model of one text",
                               .hint = "Give a corrupt text: --corrupt"});
    if (o.ablation != Ablation::none)
        throw Error(ErrorFacts{.problem = "Noise makes a corrupt text, and an ablation has none",
                               .item = "--noise",
                               .found = "--ablate " + std::string(enum_word(o.ablation)),
                               .hint = "Leave out one of both"});
    if (!(o.noise_scale > 0) || o.noise_draws < 1)
        throw Error(ErrorFacts{.problem = "Noise has a positive scale and at least one draw",
                               .item = "--noise-scale, --noise-draws",
                               .found = std::to_string(o.noise_scale) + ", " + std::to_string(o.noise_draws)});
    std::vector<at::Tensor> of_places;
    std::vector<std::int64_t> widths;
    for (std::size_t i = 0; i < pairs.size(); ++i) {
        const auto place = pairs[i].clean.places.find(o.noise);
        if (place == pairs[i].clean.places.end() || place->second.empty())
            throw Error(ErrorFacts{.problem = "A text has no position of the name that noise is for",
                                   .item = "pair " + std::to_string(i + 1) + ", positions",
                                   .expected = o.noise,
                                   .hint = "Name it: --at " + o.noise + "=WORDS, or positions in the file of pairs"});
        for (const std::int64_t row : place->second)
            if (row < 0 || row >= std::ssize(pairs[i].clean.ids))
                throw Error(ErrorFacts{.problem = "A named position is not in the text",
                                       .item = "pair " + std::to_string(i + 1) + ", " + o.noise,
                                       .expected = "0 to " + std::to_string(pairs[i].clean.ids.size() - 1),
                                       .found = std::to_string(row)});
        const at::Tensor all = embeddings_of(*model, pairs[i].clean);
        widths.push_back(all.size(1));
        of_places.push_back(all.index_select(0, at::tensor(place->second, at::kLong)).flatten());
    }
    const double deviation = o.noise_scale * at::cat(of_places).std().item<double>();
    Normal normal(o.bootstrap.seed);
    std::vector<SweepPair> out;
    for (std::size_t i = 0; i < pairs.size(); ++i)
        for (std::int64_t draw = 0; draw < o.noise_draws; ++draw) {
            SweepPair& pair = out.emplace_back(pairs[i]);
            pair.corrupt = pair.clean;
            if (pairs.size() > 1 && pair.group.empty()) pair.group = "text " + std::to_string(i + 1);
            std::vector<float>& noise = pair.corrupt.noise;
            noise.assign(pair.clean.ids.size() * static_cast<std::size_t>(widths[i]), 0);
            for (const std::int64_t row : pair.clean.places.at(o.noise))
                for (std::int64_t j = 0; j < widths[i]; ++j)
                    noise[static_cast<std::size_t>(row * widths[i] + j)] = static_cast<float>(deviation * normal());
        }
    return out;
}

}  // namespace headlight::intervention
