// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/corpus/probe/structural_run.h"

#include "corpus/probe/kept_probe.h"
#include "headlight/base/error.h"
#include "headlight/corpus/probe/trees.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace headlight::corpus {
namespace {

using nlohmann::json;

/// Sentences of a part, in their order.
struct PartOfTrees {
    std::vector<TreeSentence> sentences;
    std::vector<std::size_t> units;  ///< [sentence] number of its text among those of the part
    std::size_t texts = 0;
};

PartOfTrees part_of_trees(const StoredTrees& trees, ProbePart part) {
    PartOfTrees out;
    std::int64_t last = -1;
    for (std::size_t s = 0; s < trees.sentences.size(); ++s) {
        if (trees.parts[s] != part) continue;
        out.texts += std::exchange(last, trees.texts[s]) != trees.texts[s];
        out.sentences.push_back(trees.sentences[s]);
        out.units.push_back(out.texts - 1);
    }
    return out;
}

/// Intervals of the scores of sentences that are drawn by text.
class TreeBootstrap {
public:
    TreeBootstrap(const PartOfTrees& part, const BootstrapOptions& options)
        : part_(part), draws_(static_cast<std::int64_t>(part.texts), options) {}

    Interval share(const std::vector<TreeScore>& scores, double (*hits)(const TreeScore&),
                   double (*cases)(const TreeScore&)) const {
        std::vector<TextTerm> terms(part_.texts);
        for (std::size_t s = 0; s < scores.size(); ++s) {
            terms[part_.units[s]].sum += hits(scores[s]);
            terms[part_.units[s]].weight += cases(scores[s]);
        }
        return draws_.mean(terms);
    }

    /// The mean over lengths of the means over sentences: a sentence counts 1 / sentences of its length.
    Interval spearman(const std::vector<TreeScore>& scores) const {
        std::map<std::int64_t, double> sentences;
        for (const TreeScore& score : scores)
            if (counts_for_spearman(score)) ++sentences[score.words];
        std::vector<TextTerm> terms(part_.texts);
        for (std::size_t s = 0; s < scores.size(); ++s) {
            if (!counts_for_spearman(scores[s])) continue;
            const double weight = 1 / sentences.at(scores[s].words);
            terms[part_.units[s]].sum += weight * scores[s].spearman;
            terms[part_.units[s]].weight += weight;
        }
        return draws_.mean(terms);
    }

    void score_distances_of(const std::vector<TreeScore>& scores, TreeIntervals& out) const {
        out.uuas = share(
            scores, [](const TreeScore& s) { return static_cast<double>(s.hits); },
            [](const TreeScore& s) { return static_cast<double>(s.edges); });
        out.distance_spearman = spearman(scores);
    }
    void score_depths_of(const std::vector<TreeScore>& scores, TreeIntervals& out) const {
        out.root_accuracy = share(
            scores, [](const TreeScore& s) { return s.root_hit ? 1.0 : 0.0; },
            [](const TreeScore& s) { return s.has_root ? 1.0 : 0.0; });
        out.depth_spearman = spearman(scores);
    }

private:
    const PartOfTrees& part_;
    Bootstrap draws_;
};

TreeIntervals chain_scores(const PartOfTrees& test, const TreeBootstrap& bootstrap) {
    std::vector<TreeScore> distances, depths;
    for (const TreeSentence& sentence : test.sentences) {
        std::vector<float> apart, position;
        for (std::int64_t i = 0; i < sentence.words(); ++i) {
            position.push_back(static_cast<float>(i));
            for (std::int64_t j = 0; j < sentence.words(); ++j) apart.push_back(static_cast<float>(std::abs(i - j)));
        }
        distances.push_back(score_distances(sentence, apart));
        depths.push_back(score_depths(sentence, position));
    }
    TreeIntervals out;
    bootstrap.score_distances_of(distances, out);
    bootstrap.score_depths_of(depths, out);
    return out;
}

/// Divides all states by the square root of their mean square.
void to_unit_scale(ProbeRows& states) {
    double squares = 0;
    for (Eigen::Index row = 0; row < states.rows(); ++row) squares += states.row(row).cast<double>().squaredNorm();
    if (squares > 0) states /= static_cast<float>(std::sqrt(squares / static_cast<double>(states.size())));
}

constexpr std::pair<const char*, Interval TreeIntervals::*> kTreeNumbers[] = {
    {"uuas", &TreeIntervals::uuas},
    {"distance_spearman", &TreeIntervals::distance_spearman},
    {"root_accuracy", &TreeIntervals::root_accuracy},
    {"depth_spearman", &TreeIntervals::depth_spearman}};

json scores_json(const TreeIntervals& of) {
    json out;
    for (const auto& [name, member] : kTreeNumbers) out[name] = interval_json(of.*member);
    return out;
}
TreeIntervals scores_in(const json& in) {
    TreeIntervals out;
    for (const auto& [name, member] : kTreeNumbers) out.*member = interval_in(in.at(name));
    return out;
}

}  // namespace

StructuralResult run_structural(const Manifest& manifest, const StatesOptions& states, const StructuralRunOptions& options,
                                const CancelToken& cancel, const Progress& progress) {
    if (options.ranks.empty() || std::ranges::any_of(options.ranks, [](std::int64_t r) { return r < 1; }))
        throw Error(
            {.problem = "A structural probe cannot have these ranks", .item = "ranks", .expected = "numbers of at least 1"});
    TextStore texts(states.store, manifest);
    const StoredTrees trees = read_trees(texts, options.seed, cancel);
    const PartOfTrees train = part_of_trees(trees, ProbePart::train), development = part_of_trees(trees, ProbePart::development),
                      test = part_of_trees(trees, ProbePart::test);
    const TreeBootstrap bootstrap(test, options.bootstrap);
    StructuralResult out{.rows = {},
                         .chain = chain_scores(test, bootstrap),
                         .n_train = std::ssize(train.sentences),
                         .n_development = std::ssize(development.sentences),
                         .n_test = std::ssize(test.sentences),
                         .left_out = trees.left_out};
    const std::int64_t layers = state_layers(manifest, states);
    for_each_layer(
        manifest, states,
        [&](std::int64_t layer, const LayerStates& of) {
            ProbeRows rows = of.pooled(trees.words);
            to_unit_scale(rows);
            const StateRows view(rows.data(), rows.rows(), rows.cols());
            std::set<std::int64_t> ranks;
            for (const std::int64_t rank : options.ranks) ranks.insert(std::min<std::int64_t>(rank, rows.cols()));
            for (const std::int64_t rank : ranks) {
                if (progress) progress({"Structural probe", "layer", layer, layers});
                StructuralRow row{.layer = layer, .rank = rank, .scores = {}};
                for (const auto& [target, word, title, note] : tree_targets) {
                    StructuralOptions fit = options.fit;
                    fit.target = target;
                    fit.rank = rank;
                    fit.seed = options.seed;
                    const StructuralProbe probe = fit_structural_probe(view, train.sentences, development.sentences, fit, cancel);
                    std::vector<TreeScore> scores;
                    for (const TreeSentence& sentence : test.sentences) {
                        const std::vector<float> predicted = probe.predict(view, sentence);
                        scores.push_back(target == TreeTarget::distance ? score_distances(sentence, predicted)
                                                                        : score_depths(sentence, predicted));
                    }
                    if (target == TreeTarget::distance) {
                        bootstrap.score_distances_of(scores, row.scores);
                        row.distance_loss = probe.dev_loss, row.distance_epochs = probe.epochs;
                    } else {
                        bootstrap.score_depths_of(scores, row.scores);
                        row.depth_loss = probe.dev_loss, row.depth_epochs = probe.epochs;
                    }
                    if (rank != *ranks.rbegin()) continue;
                    const auto t = static_cast<std::size_t>(target);
                    if (out.maps.size() <= t) out.maps.push_back({std::string(word) + "_map", {0, rank, rows.cols()}, {}});
                    ++out.maps[t].shape[0];
                    out.maps[t].values.insert(out.maps[t].values.end(), probe.b.data(), probe.b.data() + probe.b.size());
                }
                out.rows.push_back(row);
            }
        },
        cancel, progress);
    return out;
}

analyze::Table table_of(const StructuralResult& result) {
    analyze::Table table;
    table.columns = {"layer", "rank"};
    for (const auto& [name, member] : kTreeNumbers)
        for (const char* end : {"", "_low", "_high"}) table.columns.push_back(std::string(name) + end);
    for (const char* name : {"chain_uuas", "chain_distance_spearman", "chain_root_accuracy", "chain_depth_spearman",
                             "distance_loss", "depth_loss", "n_train", "n_test"})
        table.columns.emplace_back(name);
    table.definitions = {
        {"layer", "0: the residual stream that enters the first block; l: the one that leaves block l - 1 (hook_resid_post)."},
        {"rank",
         "Rows of B: |B (h_i - h_j)|^2 is the distance of two words in the tree, |B h_i|^2 the depth of a word "
         "(Hewitt & Manning 2019)."},
        {"uuas",
         "Share of the arcs of the test sentences that the minimum spanning tree of the distances has, ignoring direction, "
         "without punctuation."},
        {"distance_spearman",
         "Rank correlation of the distances of each word, mean over words, sentences of a length, and lengths "
         "of 5 to 50 words."},
        {"root_accuracy", "Share of the test sentences whose root has the least depth of the words that are not punctuation."},
        {"depth_spearman", "Rank correlation of the depths, averaged in the same way."},
        {"uuas_low", "95 % interval, to uuas_high, as of the other scores: a bootstrap over the texts of the test part."},
        {"chain_uuas", "The same scores where each word hangs on the one before it: distances and depths are positions."},
        {"distance_loss", "Mean absolute error over pairs of words of the development part."},
        {"depth_loss", "Mean absolute error over words of the development part."},
        {"n_train", "Sentences; n_test: sentences that the scores are of."}};
    for (const StructuralRow& row : result.rows) {
        std::vector<analyze::Table::Cell> cells{row.layer, row.rank};
        for (const auto& [name, member] : kTreeNumbers) {
            const Interval& of = row.scores.*member;
            cells.insert(cells.end(), {of.mean, of.low, of.high});
        }
        for (const auto& [name, member] : kTreeNumbers) cells.emplace_back((result.chain.*member).mean);
        cells.insert(cells.end(), {row.distance_loss, row.depth_loss, result.n_train, result.n_test});
        table.add(std::move(cells));
    }
    return table;
}

void write_structural(const std::filesystem::path& store, const Manifest& manifest, const StructuralResult& result) {
    json out = {{"chain", scores_json(result.chain)},
                {"n_train", result.n_train},
                {"n_development", result.n_development},
                {"n_test", result.n_test},
                {"left_out", result.left_out}};
    json& rows = out["rows"] = json::array();
    for (const StructuralRow& row : result.rows)
        rows.push_back({{"layer", row.layer},
                        {"rank", row.rank},
                        {"scores", scores_json(row.scores)},
                        {"losses", {row.distance_loss, row.depth_loss}},
                        {"epochs", {row.distance_epochs, row.depth_epochs}}});
    keep_probe(store, manifest, ProbeKind::structural, kTreeTask, std::move(out));
}

StructuralResult read_structural(const std::filesystem::path& store, const Manifest& manifest) {
    StructuralResult out;
    read_kept_probe(store, manifest, ProbeKind::structural, kTreeTask, [&](const json& in) {
        out.chain = scores_in(in.at("chain"));
        out.n_train = in.at("n_train");
        out.n_development = in.at("n_development");
        out.n_test = in.at("n_test");
        out.left_out = in.at("left_out");
        for (const json& row : in.at("rows"))
            out.rows.push_back({.layer = row.at("layer"),
                                .rank = row.at("rank"),
                                .scores = scores_in(row.at("scores")),
                                .distance_loss = number_in(row.at("losses").at(0)),
                                .depth_loss = number_in(row.at("losses").at(1)),
                                .distance_epochs = row.at("epochs").at(0),
                                .depth_epochs = row.at("epochs").at(1)});
    });
    return out;
}

}  // namespace headlight::corpus
