// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/why/why.h"
#include "headlight/analyze/why/why_path.h"

#include "cli/analyze/analyses.h"
#include "cli/analyze/analysis.h"
#include "headlight/intervention/why/why_check.h"
#include "headlight/trace/edits.h"

namespace headlight::cli {
namespace {

struct WhyCommand : Analysis {
    std::int64_t layer = 0, head = 0, query = -1, key = -1;
    analyze::WhyRequest asked;
    bool check = false, path = false;
    analyze::WhySide side = analyze::WhySide::larger;
    std::uint64_t seed = 1;
    CLI::Option *sided = nullptr, *seeded = nullptr;

    void add(Definition& definition) {
        add_index(definition, "--layer", layer, "the layer of the head, from 0")->required();
        add_index(definition, "--head", head, "the head, from 0")->required();
        add_index(definition, kPosition, query, "the token that attends, from 0; by default the last one");
        add_index(definition, "--key", key, "the token that it attends to; by default the strongest that is no sink");
        add_fields(definition, asked);
        definition.app->add_flag("--path", path,
                                 "walk back from the weight, head by head: facts path and path_edits (edits in words)");
        definition.app->add_flag("--check", check,
                                 "run again with the three strongest heads of a side at their mean over the text, and with 20 "
                                 "sets of other heads of the same layers");
        sided = definition.add_enum("--side", side, "of --check: heads that wrote the query, or the key");
        seeded = add_value(definition, "--seed", seed, "of --check: draws the other heads", "N");
    }

    Result run(const Console& console) const {
        const auto position = [](std::int64_t p) { return p < 0 ? std::nullopt : std::optional(Position(p)); };
        if (!check && (sided->count() > 0 || seeded->count() > 0)) throw UsageError("--side and --seed are of --check");
        const Run run = run_text(console);
        if (check && run.trace != run.whole) throw UsageError("--check edits the decoder's heads: leave --attention out");
        if (check && !run.loaded.recipe.edits.empty()) throw UsageError("--check makes edits of its own: leave --edit out");
        const analyze::WhyOptions options = analyze::why_options(*run.trace, {Layer(layer), Head(head)}, position(query),
                                                                 position(key), asked, run.loaded.cancel);
        const analyze::Why why = analyze::why(*run.trace, options, run.loaded.cancel);
        const analyze::WhyList list = listed(why, asked.top > 0 ? asked.top : std::int64_t{why.advantages.size()});
        Result found = result(*run.trace, analyze::table_of(why, asked.top));
        found.fact("layer", layer).fact("head", head).fact("query", options.query.value).fact("key", options.key.value);
        found.fact("against", options.against == analyze::Against::key ? std::to_string(options.other)
                                                                       : std::string(enum_word(options.against)));
        found.fact("group", std::string(enum_word(options.by)));
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
        if (path) add_path(found, *run.trace, options, run.loaded.cancel);
        if (check) {
            analyze::WhyOptions by_part = options;  // it replaces whole heads
            by_part.by = analyze::WhyBy::part;
            const bool whole = asked.by == analyze::WhyBy::part;
            add_check(found, run, whole ? why : analyze::why(*run.trace, by_part, run.loaded.cancel), console);
        }
        return found;
    }

    static void add_path(Result& found, const trace::Trace& trace, const analyze::WhyOptions& options,
                         const CancelToken& cancel) {
        const auto steps = analyze::why_path(trace, options, analyze::longest_why_path, cancel);
        found.fact("path", analyze::path_text(trace, steps)).fact("path_edits", joined(intervention::edits_of_path(steps)));
    }

    static std::string joined(const std::vector<std::string>& edits) {
        std::string words;
        for (const std::string& each : edits) words += (words.empty() ? "" : "; ") + each;
        return words;
    }

    void add_check(Result& found, const Run& run, const analyze::Why& why, const Console& console) const {
        const auto sources = sources_of(run.loaded);
        const intervention::WhyCheck made = intervention::check_why(
            *sources, *run.trace, why,
            side == analyze::WhySide::larger ? std::nullopt : std::optional(side == analyze::WhySide::query), seed,
            run.loaded.cancel, console.progress());
        found.fact("check", joined(made.edits)).fact("predicted", made.predicted).fact("actual", made.actual);
        found.fact("controls", static_cast<std::int64_t>(made.controls.size())).fact("controls_as_low", made.as_low());
        if (!made.controls.empty()) {
            const auto [low, high] = std::ranges::minmax(made.controls);
            found.fact("controls_low", low).fact("controls_high", high);
        }
        Eigen::VectorXd controls = Eigen::Map<const Eigen::VectorXd>(made.controls.data(), std::ssize(made.controls));
        found.table.arrays.push_back(analyze::named_array("controls", controls));
    }
};

}  // namespace

Action define_analyze_why(Definition& definition, const Frontend&) {
    return define_analysis<WhyCommand>(definition, kRun | kImage | kAttention);
}

}  // namespace headlight::cli
