// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/intervention/why/why_check.h"

#include "headlight/base/error.h"
#include "headlight/intervention/recipe/words.h"
#include "headlight/trace/tensors.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <set>

namespace headlight::intervention {
namespace {

constexpr std::size_t kMostWriters = 3;

struct Writers {
    std::vector<HeadId> heads;
    double sum = 0;
};

/// The heads with the largest positive sums of a side.
Writers writers_of(const analyze::Why& why, bool of_query) {
    const auto& parts = of_query ? why.query_parts : why.key_parts;
    const Eigen::VectorXd& sums = of_query ? why.query_sums : why.key_sums;
    std::vector<std::pair<double, HeadId>> all;
    for (std::size_t i = 0; i < parts.size(); ++i)
        if (const double sum = sums[static_cast<Eigen::Index>(i)];
            parts[i].is_head() && parts[i].source == analyze::StreamPart::whole && sum > 0)
            all.emplace_back(-sum, HeadId{Layer(parts[i].layer), Head(parts[i].index)});
    std::ranges::sort(all);
    Writers out;
    for (const auto& [sum, head] : all) {
        if (out.heads.size() == kMostWriters) break;
        out.heads.push_back(head);
        out.sum -= sum;
    }
    return out;
}

std::vector<std::string> edits_of(const std::vector<HeadId>& heads, Position at) {
    std::vector<std::string> words;
    for (const HeadId head : heads)
        words.push_back("mean L" + std::to_string(head.layer.value) + "H" + std::to_string(head.head.value) + " @" +
                        std::to_string(at.value));
    return words;
}

/// Sets of as many heads of the same layers, none of them among `heads`.
std::vector<std::vector<HeadId>> controls_of(const std::vector<HeadId>& heads, std::int64_t heads_of_layer, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::set<std::vector<HeadId>> drawn;
    std::vector<std::vector<HeadId>> out;
    // Where there are fewer sets than wanted, they have all come up after so many draws but for bad luck.
    for (int draw = 0; draw < 100 * kWhyControls && std::ssize(out) < kWhyControls; ++draw) {
        std::vector<HeadId> control;
        for (const HeadId head : heads) {
            std::vector<HeadId> free;
            for (std::int64_t h = 0; h < heads_of_layer; ++h) {
                const HeadId other{head.layer, Head(h)};
                if (std::ranges::find(heads, other) == heads.end() && std::ranges::find(control, other) == control.end())
                    free.push_back(other);
            }
            if (free.empty()) return {};
            control.push_back(free[random() % free.size()]);
        }
        std::ranges::sort(control);
        if (drawn.insert(control).second) out.push_back(std::move(control));
    }
    return out;
}

}  // namespace

std::vector<std::string> edits_of_path(const std::vector<analyze::WhyStep>& steps) {
    std::vector<std::string> words;
    for (const analyze::WhyStep& step : steps) {
        if (!step.writer || !step.writer->is_head()) continue;
        const HeadId head{Layer(step.writer->layer), Head(step.writer->index)};
        words.push_back((words.empty() ? "" : "off ") + edits_of({head}, step.written_at()).front());
    }
    return words;
}

std::int64_t WhyCheck::as_low() const {
    return std::ranges::count_if(controls, [&](double control) { return control <= actual; });
}

WhyCheck check_why(Sources& sources, const trace::Trace& unedited, const analyze::Why& why, std::optional<bool> of_query,
                   std::uint64_t seed, const CancelToken& cancel, const Progress& progress) {
    const Writers queries = writers_of(why, true), keys = writers_of(why, false);
    WhyCheck out;
    out.of_query = of_query.value_or(queries.sum > keys.sum);
    const analyze::WhyOptions& asked = why.of;
    const Position at = out.of_query ? asked.query : asked.key;
    out.heads = out.of_query ? queries.heads : keys.heads;
    if (out.heads.empty())
        throw Error({.problem = "No head on that side adds to this weight, so there is nothing to replace",
                     .item = out.of_query ? "query" : "key",
                     .hint = "Ask for the other side; what MLPs and embeddings wrote has no controls of its kind"});
    out.weight = why.weight;
    out.predicted = analyze::why_predicted(unedited, asked, out.of_query, out.heads);
    out.edits = edits_of(out.heads, at);
    const std::string layer = "blocks." + std::to_string(asked.head.layer.value) + ".attn.hook_";
    const trace::CapturePlan plan{.globs = {layer + "pattern"}, .overview = trace::no_overview};
    const auto weight_under = [&](const std::vector<std::string>& edits) {
        Recipe recipe;
        for (const std::string& words : edits) recipe.edits.push_back(parse_edit(words));
        const auto run = run_recipe(sources, recipe, plan, cancel);
        return trace::pattern_rows(*run, asked.head.layer, asked.head.head, asked.query.value, 1)[0][asked.key.value]
            .item()
            .toDouble();
    };
    const auto controls = controls_of(out.heads, unedited.config().n_heads, seed);
    const auto report = [&](std::int64_t done) {
        if (progress) progress({"Running", "check", done, std::ssize(controls) + 1});
    };
    report(0);
    out.actual = weight_under(out.edits);
    for (const auto& control : controls) {
        report(1 + std::ssize(out.controls));
        out.controls.push_back(weight_under(edits_of(control, at)));
    }
    return out;
}

}  // namespace headlight::intervention
