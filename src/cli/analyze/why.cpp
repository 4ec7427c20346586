// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/why/why.h"

#include "cli/analyze/analyses.h"
#include "cli/analyze/analysis.h"
#include "headlight/trace/edits.h"

namespace headlight::cli {
namespace {

struct WhyCommand : Analysis {
    std::int64_t layer = 0, head = 0, query = -1, key = -1;
    analyze::WhyRequest asked;

    void add(Definition& definition) {
        add_index(definition, "--layer", layer, "the layer of the head, from 0")->required();
        add_index(definition, "--head", head, "the head, from 0")->required();
        add_index(definition, kPosition, query, "the token that attends, from 0; by default the last one");
        add_index(definition, "--key", key, "the token that it attends to; by default the strongest that is no sink");
        add_fields(definition, asked);
    }

    Result run(const Console& console) const {
        const auto position = [](std::int64_t p) { return p < 0 ? std::nullopt : std::optional(Position(p)); };
        const Run run = run_text(console);
        const analyze::WhyOptions options = analyze::why_options(*run.trace, {Layer(layer), Head(head)}, position(query),
                                                                 position(key), asked, run.loaded.cancel);
        const analyze::Why why = analyze::why(*run.trace, options, run.loaded.cancel);
        const analyze::WhyList list = listed(why, asked.top);
        Result found = result(*run.trace, analyze::table_of(why, asked.top));
        found.fact("layer", layer).fact("head", head).fact("query", options.query.value).fact("key", options.key.value);
        found.fact("against", options.against == analyze::Against::key ? std::to_string(options.other)
                                                                       : std::string(enum_word(options.against)));
        found.fact("by", std::string(enum_word(options.by)));
        for (const auto& [name, value] : {std::pair("weight", why.weight),
                                          {"score", why.score},
                                          {"position", why.position},
                                          {"cap_ratio", why.cap_ratio},
                                          {"log_odds", why.log_odds},
                                          {"rest_entropy", why.rest_entropy},
                                          {"advantage", why.advantage},
                                          {"advantage_position", why.position_advantage},
                                          {"residual", why.residual},
                                          {"listed_sum", list.listed},
                                          {"listed_share", list.share},
                                          {"opposing", list.opposing}})
            found.fact(name, value);
        found.fact("half", list.half);
        return found;
    }
};

}  // namespace

Action define_analyze_why(Definition& definition, const Frontend&) {
    return define_analysis<WhyCommand>(definition, kRun | kImage | kAttention);
}

}  // namespace headlight::cli
