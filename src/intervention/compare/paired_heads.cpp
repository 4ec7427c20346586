// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/intervention/compare/paired_heads.h"

#include "headlight/analyze/columns.h"
#include "headlight/base/error.h"
#include "headlight/base/nearest.h"
#include "headlight/base/numbers.h"
#include "intervention/recipe/pair_lines.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

namespace headlight::intervention {
namespace {

struct DistanceOfHeads {
    const char *id, *title, *definition;
    double HeadComparison::*value;
    double low, high;
};
constexpr DistanceOfHeads kDistances[] = {
    {"tv", "moved attention",
     "mean total variation of the rows of A and B that have a partner: the share of attention that moved", &HeadComparison::tv, 0,
     kNaN},
    {"js", "JS", "mean Jensen-Shannon divergence of these rows, nats", &HeadComparison::js, 0, kNaN},
    {"js_max", "largest JS", "the largest of these rows", &HeadComparison::js_max, 0, kNaN},
    {"z_cosine", "cosine of z", "mean cosine of the head's weighted values z in A and B", &HeadComparison::z_cosine, kNaN, 1},
    {"z_relative_l2", "change of z", "mean |z_B - z_A| / |z_A|", &HeadComparison::z_relative_l2, 0, kNaN}};

analyze::MeasureInfo words_measure() {
    return {kWordsMeasure,
            "attention of the words",
            "weight from a token of the words \"from\" to all tokens of the words \"to\", the mean over the former",
            "share",
            0,
            kNaN};
}

/// The texts of a pair under whichever names its file has.
std::pair<std::string, std::string> texts_of_pair(const nlohmann::json& line, const std::string& where) {
    constexpr std::pair<const char*, const char*> names[] = {{"a", "b"}, {"clean", "corrupt"}, {"sentence_good", "sentence_bad"}};
    for (const auto& [a, b] : names) {
        if (!line.contains(a)) continue;
        std::pair texts{string_of(line, a, where), string_of(line, b, where)};
        for (const auto& [name, text] : {std::pair{a, &texts.first}, {b, &texts.second}})
            if (text->empty()) throw Error(ErrorFacts{.problem = "A pair lacks a text", .item = where + ", " + name});
        return texts;
    }
    throw Error(
        ErrorFacts{.problem = "A pair has no texts",
                   .item = where,
                   .expected = R"({"a": "…", "b": "…"}, or "clean" and "corrupt", or "sentence_good" and "sentence_bad")"});
}

/// A place in each of the two texts.
std::pair<PlaceText, PlaceText> places_of_pair(const nlohmann::json& line, const char* field, const std::string& where) {
    const auto found = line.find(field);
    if (found == line.end() || found->is_null()) return {};
    const std::string item = where + ", " + field;
    if (!found->is_object()) {
        const PlaceText place = place_of(*found, item);
        return {place, place};
    }
    for (const char* side : {"a", "b"})
        if (!found->contains(side))
            throw Error(ErrorFacts{.problem = "A place is not given for both texts",
                                   .item = item,
                                   .expected = R"({"a": …, "b": …})",
                                   .found = found->dump()});
    return {place_of(found->at("a"), item + ", a"), place_of(found->at("b"), item + ", b")};
}

std::vector<std::int64_t> positions_in_run(const trace::Trace& run, const text::Encoding& encoding, const PlaceText& place,
                                           const char* name) {
    std::vector<std::int64_t> at =
        place.words.empty() ? place.positions : positions_of(encoding, run.text_a(), place.words, name);
    for (const std::int64_t position : at)
        if (position < 0 || position >= encoding.size())
            throw Error(ErrorFacts{.problem = "A position is not in the text",
                                   .item = name,
                                   .expected = "0 to " + std::to_string(encoding.size() - 1),
                                   .found = std::to_string(position)});
    if (at.empty()) throw Error(ErrorFacts{.problem = "A place has no token of its own", .item = name, .found = place.words});
    return at;
}

/// [layer * heads + head]
Eigen::VectorXd attention_of_words(const trace::Trace& run, const PlaceText& from, const PlaceText& to,
                                   const CancelToken& cancel) {
    const std::vector<std::int64_t> queries = positions_in_run(run, run.encoding(), from, "from"),
                                    keys = positions_in_run(run, run.key_encoding(), to, "to");
    if (run.config().causal && !run.across_texts() && std::ranges::min(keys) > std::ranges::max(queries))
        throw Error(ErrorFacts{
            .problem = "In a causal model no token attends to a later one", .item = "from, to", .hint = "Exchange the two"});
    const std::int64_t heads = run.config().n_heads;
    Eigen::VectorXd out(run.config().n_layers * heads);
    for (Eigen::Index i = 0; i < out.size(); ++i) {
        const analyze::Matrix pattern = analyze::pattern(run, {Layer(i / heads), Head(i % heads)}, {}, cancel);
        double sum = 0;
        for (const std::int64_t q : queries)
            for (const std::int64_t k : keys) sum += static_cast<double>(pattern(q, k));
        out(i) = sum / static_cast<double>(queries.size());
    }
    return out;
}

Eigen::VectorXd by_head(const Eigen::MatrixXd& of) {
    Eigen::VectorXd out(of.size());
    for (Eigen::Index l = 0; l < of.rows(); ++l) out.segment(l * of.cols(), of.cols()) = of.row(l);
    return out;
}

/// A measure's numbers, pair by pair.
struct PairValues {
    analyze::MeasureInfo info;
    bool is_distance = false;
    std::vector<Eigen::VectorXd> a, b;  ///< [pair][layer * heads + head]; of a distance b alone
};

/// Sums over the pairs of each group, and intervals of their means.
PairedMeasure over_groups(const PairValues& values, const std::vector<std::int64_t>& group_of, const corpus::Bootstrap& bootstrap,
                          std::int64_t groups) {
    using Columns = corpus::Bootstrap::Columns;
    const Eigen::Index heads = values.b.front().size();
    Columns a = Columns::Zero(groups, heads), b = a, n = a;
    PairedMeasure out{.info = values.info, .is_distance = values.is_distance, .heads{}};
    out.heads.resize(static_cast<std::size_t>(heads));
    for (std::size_t p = 0; p < values.b.size(); ++p)
        for (Eigen::Index h = 0; h < heads; ++h) {
            const double of_a = values.is_distance ? 0 : values.a[p](h), of_b = values.b[p](h);
            if (!std::isfinite(of_a) || !std::isfinite(of_b)) continue;
            const std::int64_t g = group_of[p];
            a(g, h) += of_a, b(g, h) += of_b, n(g, h) += 1;
            ++out.heads[static_cast<std::size_t>(h)].pairs;
        }
    const auto put = [&](const Columns& sums, corpus::Interval PairedHead::*where) {
        const std::vector<corpus::Interval> means = bootstrap.means(sums, n);
        for (std::size_t h = 0; h < means.size(); ++h) out.heads[h].*where = means[h];
    };
    put(b - a, &PairedHead::difference);
    if (values.is_distance) return out;
    put(a, &PairedHead::a);
    put(b, &PairedHead::b);
    return out;
}

/// What is measured of the pairs, in the order of the table.
class PairTally {
public:
    explicit PairTally(const PairedOptions& options) : options_(options) {}

    /// All measures of a pair, or none: an error leaves what is there as it was.
    void add(const TextPair& pair, const std::function<TracePtr(const std::string&)>& run, const CancelToken& cancel) {
        const TracePtr first = run(pair.a), second = run(pair.b);
        const RunPair both = pair_of(first, second);
        const std::size_t before = count_;
        std::vector<PairValues> of;
        const ComparedHeads compared = compare_heads(both, same_heads(both), options_.rows, cancel);
        for (const DistanceOfHeads& distance : kDistances) {
            Eigen::VectorXd values(std::ssize(compared.heads));
            for (std::size_t h = 0; h < compared.heads.size(); ++h)
                values(static_cast<Eigen::Index>(h)) = compared.heads[h].*distance.value;
            of.push_back(
                {{distance.id, distance.title, distance.definition, {}, distance.low, distance.high}, true, {}, {values}});
        }
        if (!pair.from_a.empty())
            of.push_back({words_measure(),
                          false,
                          {attention_of_words(*first, pair.from_a, pair.to_a, cancel)},
                          {attention_of_words(*second, pair.from_b, pair.to_b, cancel)}});
        const analyze::HeadTable a = analyze::head_table(*first), b = analyze::head_table(*second);
        for (std::size_t m = 0; m < a.measures.size(); ++m)
            if (options_.measures || a.measures[m].id == options_.by)
                if (const Eigen::MatrixXd* other = b.find(a.measures[m].id))
                    of.push_back({a.measures[m], false, {by_head(a.values[m])}, {by_head(*other)}});
        layers_ = a.n_layers, heads_ = a.n_heads;
        for (PairValues& one : of) {
            auto at = std::ranges::find(values_, one.info.id, [](const PairValues& v) { return v.info.id; });
            if (at == values_.end()) at = values_.insert(at, {one.info, one.is_distance, {}, {}});
            const auto grow = [&](std::vector<Eigen::VectorXd>& list, std::vector<Eigen::VectorXd>& more) {
                list.resize(before, Eigen::VectorXd::Constant(layers_ * heads_, kNaN));
                std::ranges::move(more, std::back_inserter(list));
            };
            if (!one.is_distance) grow(at->a, one.a);
            grow(at->b, one.b);
        }
        ++count_;
    }

    PairedHeads result(const std::vector<std::string>& group_names, std::vector<std::string> skipped) {
        PairedHeads out;
        out.n_layers = layers_, out.n_heads = heads_;
        out.pairs = std::ssize(group_names);
        out.skipped = std::move(skipped);
        std::map<std::string, std::int64_t> groups;
        std::vector<std::int64_t> group_of;
        for (const std::string& name : group_names) {
            const std::int64_t next = out.groups;
            const std::int64_t own = name.empty() ? next : groups.try_emplace(name, next).first->second;
            out.groups += own == next;
            group_of.push_back(own);
        }
        const corpus::Bootstrap bootstrap(out.groups, options_.bootstrap);
        for (PairValues& values : values_) {
            const Eigen::VectorXd none = Eigen::VectorXd::Constant(layers_ * heads_, kNaN);
            if (!values.is_distance) values.a.resize(count_, none);
            values.b.resize(count_, none);
            PairedMeasure measure = over_groups(values, group_of, bootstrap, out.groups);
            const auto counts = [](const PairedHead& head) { return head.pairs > 0; };
            if (values.info.id == options_.by || std::ranges::any_of(measure.heads, counts))
                out.measures.push_back(std::move(measure));
        }
        const auto has = [&](std::string_view id) {
            return std::ranges::any_of(out.measures, [&](const PairedMeasure& m) { return m.info.id == id; });
        };
        out.by = !options_.by.empty() ? options_.by : has(kWordsMeasure) ? kWordsMeasure : "tv";
        return out;
    }

private:
    const PairedOptions& options_;
    std::size_t count_ = 0;
    std::int64_t layers_ = 0, heads_ = 0;
    std::vector<PairValues> values_;
};

void require_measure(const std::string& by, const std::vector<TextPair>& pairs) {
    if (by.empty()) return;
    std::vector<std::string> names;
    for (const DistanceOfHeads& distance : kDistances) names.emplace_back(distance.id);
    if (std::ranges::any_of(pairs, [](const TextPair& pair) { return !pair.from_a.empty(); })) names.emplace_back(kWordsMeasure);
    for (const analyze::MeasureInfo& info : analyze::head_measures()) names.push_back(info.id);
    if (std::ranges::find(names, by) != names.end()) return;
    if (by == kWordsMeasure)
        throw Error(ErrorFacts{
            .problem = "These pairs do not say whose attention counts", .item = by, .hint = R"(Give each "from" and "to")"});
    const std::string near = nearest(by, names);
    throw Error(ErrorFacts{.problem = "Pairs have no such measure",
                           .found = by,
                           .hint = near.empty() ? "Choose tv, js or a measure of heads" : "Did you mean " + near + "?"});
}

}  // namespace

std::vector<TextPair> read_text_pairs(const std::filesystem::path& file) {
    std::vector<TextPair> pairs;
    for_each_pair(file, [&](const nlohmann::json& line, const std::string& where) {
        TextPair pair{.a = {}, .b = {}, .group = string_of(line, "group", where), .name = where};
        std::tie(pair.a, pair.b) = texts_of_pair(line, where);
        std::tie(pair.from_a, pair.from_b) = places_of_pair(line, "from", where);
        std::tie(pair.to_a, pair.to_b) = places_of_pair(line, "to", where);
        if (pair.from_a.empty() != pair.to_a.empty())
            throw Error(ErrorFacts{.problem = "A pair has one of \"from\" and \"to\"",
                                   .item = where,
                                   .expected = "both, or neither",
                                   .found = pair.from_a.empty() ? "to" : "from"});
        pairs.push_back(std::move(pair));
    });
    return pairs;
}

const PairedMeasure& PairedHeads::shown() const {
    const auto at = std::ranges::find(measures, by, [](const PairedMeasure& m) { return m.info.id; });
    if (at == measures.end()) throw Error(ErrorFacts{.problem = "No pair has this measure", .item = by});
    return *at;
}

PairedHeads paired_heads(const std::vector<TextPair>& pairs, const std::function<TracePtr(const std::string&)>& run,
                         const PairedOptions& options, const CancelToken& cancel, const Progress& progress) {
    require_measure(options.by, pairs);
    PairTally tally(options);
    std::vector<std::string> groups, skipped;
    for (std::size_t p = 0; p < pairs.size(); ++p) {
        cancel.throw_if_cancelled();
        if (progress) progress({"Comparing", "pair", static_cast<std::int64_t>(p), std::ssize(pairs)});
        try {
            tally.add(pairs[p], run, cancel);
            groups.push_back(pairs[p].group);
        } catch (const Error& error) {
            skipped.push_back(pairs[p].name + ": " + error.what());
        }
    }
    if (groups.empty())
        throw Error(ErrorFacts{.problem = "No pair can be compared", .found = skipped.empty() ? "no pairs" : skipped.front()});
    PairedHeads out = tally.result(groups, std::move(skipped));
    out.shown();
    return out;
}

analyze::Table table_of(const PairedHeads& of) {
    using Number = std::int64_t;
    analyze::Columns<Number> columns{{"layer", [n = of.n_heads](Number i) { return i / n; }},
                                     {"head", [n = of.n_heads](Number i) { return i % n; }},
                                     {"pairs", of.pairs, "pairs of texts that were compared"}};
    for (const PairedMeasure& measure : of.measures) {
        const auto add = [&](const std::string& name, corpus::Interval PairedHead::*part, const std::string& definition) {
            const auto bound = [&](const char* suffix, double corpus::Interval::*which, const std::string& is) {
                columns.add(
                    {name + suffix,
                     [heads = measure.heads, part, which](Number i) { return heads[static_cast<std::size_t>(i)].*part.*which; },
                     is});
            };
            bound("", &corpus::Interval::mean, definition);
            bound("_low", &corpus::Interval::low, "95 % by a bootstrap over pairs (groups of pairs); empty below five of them");
            bound("_high", &corpus::Interval::high, "");
        };
        const std::string &id = measure.info.id, &is = measure.info.definition;
        if (measure.is_distance) {
            add(id, &PairedHead::difference, "mean over pairs: " + is);
            continue;
        }
        add(id + "_a", &PairedHead::a, "A, mean over pairs: " + is);
        add(id + "_b", &PairedHead::b, "B, mean over the same pairs");
        add(id + "_difference", &PairedHead::difference, "B - A, mean over pairs");
        columns.add({id + "_pairs", [heads = measure.heads](Number i) { return heads[static_cast<std::size_t>(i)].pairs; },
                     "pairs that have the measure in both texts"});
    }
    std::vector<Number> rows(static_cast<std::size_t>(of.n_layers * of.n_heads));
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<Number>(i);
    return columns.table(rows);
}

std::vector<std::string> notes_of(const PairedHeads& of) {
    std::vector<std::string> notes;
    constexpr std::size_t named = 20;
    for (std::size_t i = 0; i < std::min(named, of.skipped.size()); ++i) notes.push_back("skipped " + of.skipped[i]);
    if (of.skipped.size() > named)
        notes.push_back("skipped " + with_commas(std::ssize(of.skipped) - std::int64_t{named}) + " more pairs");
    const PairedMeasure& shown = of.shown();
    const auto out = std::ranges::count_if(
        shown.heads, [](const PairedHead& head) { return std::isfinite(head.difference.low) && !head.holds_zero(); });
    if (!shown.is_distance && std::isfinite(shown.heads.front().difference.low))
        notes.push_back("the interval of " + with_commas(out) + " of " + with_commas(std::ssize(shown.heads)) +
                        " heads leaves out 0 (" + shown.info.id + "_difference); of heads without a difference 5 % do by chance");
    return notes;
}

}  // namespace headlight::intervention
