// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/why/why_path.h"

#include <cmath>
#include <cstdio>

namespace headlight::analyze {
namespace {

constexpr double kLeastOfAdvantage = 0.1;  ///< that a head adds to be walked to

/// The part with the largest positive sum of either side.
struct Largest {
    const StreamPart* part = nullptr;
    bool of_query = false;
    double sum = 0;
};

Largest largest_of(const Why& why, bool heads) {
    Largest found;
    for (const bool of_query : {false, true}) {
        const auto& parts = of_query ? why.query_parts : why.key_parts;
        const Eigen::VectorXd& sums = of_query ? why.query_sums : why.key_sums;
        for (std::size_t i = 0; i < parts.size(); ++i)
            if (const double sum = sums[static_cast<Eigen::Index>(i)]; sum > found.sum && (!heads || parts[i].is_head()))
                found = {&parts[i], of_query, sum};
    }
    return found;
}

std::string decimals(double x, const char* format) {
    char text[48];
    std::snprintf(text, sizeof text, format, x);
    return text;
}

std::string token_at(const trace::Trace& trace, Position at) {
    const text::TokenLabel& label = trace.labels().at(static_cast<std::size_t>(at.value));
    return label.continuation + label.text;
}

}  // namespace

std::vector<WhyStep> why_path(const trace::Trace& trace, const WhyOptions& from, std::size_t most, const CancelToken& cancel) {
    std::vector<WhyStep> steps;
    WhyOptions next = from;
    next.by = WhyBy::part;
    while (steps.size() < most) {
        const Why found = why(trace, next, cancel);
        WhyStep& step = steps.emplace_back();
        step.of = next;
        step.weight = found.weight;
        const Largest head = largest_of(found, true), any = largest_of(found, false);
        const bool walks = head.part && head.sum >= kLeastOfAdvantage * std::abs(found.advantage);
        const Largest& writer = walks ? head : any;
        if (!writer.part) break;
        step.of_query = writer.of_query;
        step.writer = *writer.part;
        step.sum = writer.sum;
        if (!walks) break;
        const Eigen::VectorXd terms = why_sources(trace, next, writer.of_query, *writer.part);
        Eigen::Index source = 0;
        step.from_source = terms.maxCoeff(&source);
        step.source = Position(source);
        next =
            why_options(trace, {Layer(writer.part->layer), Head(writer.part->index)}, step.written_at(), step.source, {}, cancel);
    }
    return steps;
}

std::string path_text(const trace::Trace& trace, const std::vector<WhyStep>& steps) {
    std::string text;
    const WhyStep* before = nullptr;
    const auto side = [](const WhyStep& step) {
        return std::string(" ⇐ ") + (step.of_query ? "query " : "key ") + decimals(step.sum, "%+.2f") + ": ";
    };
    for (const WhyStep& step : steps) {
        if (before) text += side(*before);
        const HeadId head = step.of.head;
        text += "L" + std::to_string(head.layer.value) + "H" + std::to_string(head.head.value) + " " +
                std::to_string(step.of.query.value) + "<-" + std::to_string(step.of.key.value) + " (" +
                decimals(step.weight, "%.3f") + ")";
        if (before) text += " from " + token_at(trace, step.of.key);
        before = &step;
    }
    // The last writer has no weight in the list.
    if (before && before->writer)
        text += side(*before) + name_of(*before->writer) + " at " + token_at(trace, before->written_at());
    return text;
}

}  // namespace headlight::analyze
