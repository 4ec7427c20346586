// SPDX-License-Identifier: GPL-3.0-or-later
// A score as a sum over pairs of parts: what must hold in every family, and numbers of the reference (transformers in float64).
#include "headlight/analyze/why/why.h"
#include "headlight/analyze/why/why_path.h"

#include "headlight/analyze/pattern/score_parts.h"
#include "headlight/base/error.h"
#include "tests/analyze/traces.h"

#include <gmock/gmock.h>

#include <cmath>

namespace headlight::analyze {
namespace why_test {

using testing::HasSubstr;

constexpr const char* stones =
    "A ship of grey stones crossed the narrow garden while nine merchants counted silver buttons under a broken lamp and Martha "
    "whistled. A ship of grey";

double of_query(const Why& why, const std::string& name) {
    for (std::size_t i = 0; i < why.query_parts.size(); ++i)
        if (name_of(why.query_parts[i]) == name) return why.query_sums[static_cast<Eigen::Index>(i)];
    return std::nan("");
}
double of_key(const Why& why, const std::string& name) {
    for (std::size_t i = 0; i < why.key_parts.size(); ++i)
        if (name_of(why.key_parts[i]) == name) return why.key_sums[static_cast<Eigen::Index>(i)];
    return std::nan("");
}
std::string strongest(const Why& why) {
    const Why::Pair pair = why.strongest(1).front();
    return name_of(why.query_parts[static_cast<std::size_t>(pair.query)]) + " x " +
           name_of(why.key_parts[static_cast<std::size_t>(pair.key)]);
}
/// Of rounding: the parts are sums of float32 numbers.
double size_of(const Why& why) { return std::max(1.0, why.scores.cwiseAbs().sum() / 20); }

class EveryWhy : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(EveryWhy, SumsToTheScoreAndExplainsTheOdds) {
    const TracePtr trace = run_model(GetParam(), cats);
    const model::ModelConfig& c = trace->config();
    if (c.latent.any()) {
        EXPECT_THAT(error_facts([&] { why(*trace, {.head = head_id(0, 0), .query = Position(3), .key = Position(1)}); }).problem,
                    HasSubstr("latent attention"));
        return;
    }
    if (c.qkv_clip > 0 && c.qkv_clip < 2) {  // so narrow that most queries and keys are clipped
        EXPECT_THAT(error_facts([&] { why(*trace, {.head = head_id(1, 0), .query = Position(9), .key = Position(8)}); }).hint,
                    HasSubstr("clips"));
        return;
    }
    for (const std::int64_t layer : {std::int64_t{0}, c.n_layers / 2, c.n_layers - 1})
        for (const std::int64_t head : {std::int64_t{0}, c.n_heads - 1}) {
            const HeadId id = head_id(layer, head);
            const std::int64_t query = trace->tokens() - 1;
            const std::vector<ScorePart> parts = score_parts(*trace, id);
            const Matrix& scores = parts.back().values;
            const at::Tensor weights = trace::pattern_rows(*trace, id.layer, id.head, query, 1)[0];
            const Why first = why(*trace, {.head = id, .query = Position(query), .key = Position(query - 2)});
            for (std::int64_t key = query - 2; key <= query; ++key) {
                SCOPED_TRACE(testing::Message() << "L" << layer << "H" << head << " key " << key);
                const WhyOptions o{.head = id, .query = Position(query), .key = Position(key)};
                const Why found = why(*trace, o);
                const double size = size_of(found), position = std::isnan(found.position) ? 0 : found.position;
                EXPECT_NEAR(found.scores.sum() + position, found.score, 2e-5 * size);
                EXPECT_NEAR(found.query_sums.sum(), found.key_sums.sum(), 1e-10 * size);
                EXPECT_NEAR(found.residual, 0, 3e-5 * size) << "A - position - pairs";
                EXPECT_NEAR(found.log_odds, found.advantage - found.rest_entropy, 1e-9 * size);
                EXPECT_NEAR(found.weight, weights[key].item().toDouble(), 1e-5) << "the pattern's";
                if (!c.attention_sinks) {
                    EXPECT_NEAR(std::log(found.weight / (1 - found.weight)), found.log_odds, 1e-7 * size);
                }
                // The scores of the run, up to what is the same for all keys of the row.
                if (c.score_softcap <= 0) {
                    EXPECT_NEAR(found.score - first.score, static_cast<double>(scores(query, key) - scores(query, query - 2)),
                                2e-5 * size);
                }
                for (const WhyBy by : {WhyBy::kind, WhyBy::layer}) {
                    WhyOptions grouped = o;
                    grouped.by = by;
                    const Why sums = why(*trace, grouped);
                    EXPECT_LE(sums.advantages.size(), found.advantages.size());
                    EXPECT_NEAR(sums.advantages.sum(), found.advantages.sum(), 1e-9 * size);
                }
            }
            const auto against = [&](std::int64_t key, std::int64_t other) {
                return why(*trace,
                           {.head = id, .query = Position(query), .key = Position(key), .against = Against::key, .other = other});
            };
            const Why one = against(query - 1, query - 2), back = against(query - 2, query - 1);
            EXPECT_NEAR((one.advantages + back.advantages).cwiseAbs().maxCoeff(), 0, 1e-7 * size_of(one)) << "antisymmetric";
            EXPECT_EQ(one.rest_entropy, 0);
        }
}

TEST_P(EveryWhy, SourcesSumToTheHead) {
    const TracePtr trace = run_model(GetParam(), cats);
    const model::ModelConfig& c = trace->config();
    if (c.latent.any() || c.qkv_clip > 0 || c.n_layers < 2) return;
    const WhyOptions o{.head = head_id(c.n_layers - 1, c.n_heads - 1),
                       .query = Position(trace->tokens() - 1),
                       .key = Position(trace->tokens() - 2)};
    const Why found = why(*trace, o);
    const double near = 2e-5 * size_of(found);
    int heads = 0;
    for (std::size_t i = 0; i < found.key_parts.size(); ++i) {
        if (found.key_parts[i].component != Component::head) continue;
        ++heads;
        EXPECT_NEAR(why_sources(*trace, o, false, found.key_parts[i]).sum(), found.scores.col(static_cast<Eigen::Index>(i)).sum(),
                    near)
            << name_of(found.key_parts[i]);
    }
    for (std::size_t i = 0; i < found.query_parts.size(); ++i) {
        if (found.query_parts[i].component != Component::head) continue;
        EXPECT_NEAR(why_sources(*trace, o, true, found.query_parts[i]).sum(), found.query_sums[static_cast<Eigen::Index>(i)],
                    near)
            << name_of(found.query_parts[i]);
    }
    EXPECT_EQ(heads, (c.n_layers - 1) * c.n_heads);
    for (const WhySide side : {WhySide::query, WhySide::key}) {
        WhyOptions split = o;
        split.by = WhyBy::token, split.split = head_id(0, 0), split.split_of = side;
        const Why by_token = why(*trace, split);
        const auto& parts = side == WhySide::query ? by_token.query_parts : by_token.key_parts;
        const Eigen::VectorXd& sums = side == WhySide::query ? by_token.query_sums : by_token.key_sums;
        double sum = 0;
        for (std::size_t i = 0; i < parts.size(); ++i)
            if (parts[i].source != StreamPart::whole) sum += sums[static_cast<Eigen::Index>(i)];
        EXPECT_NEAR(sum, side == WhySide::query ? of_query(found, "L0H0") : of_key(found, "L0H0"), near);
        EXPECT_NEAR(by_token.scores.sum(), found.scores.sum(), near);
    }
}

INSTANTIATE_TEST_SUITE_P(Models, EveryWhy, testing::ValuesIn(model_folders()), model_name);

TEST(Why, IsTheReferenceOfTheInductionHead) {
    const TracePtr trace = built_in(stones);
    ASSERT_EQ(trace->tokens(), 34);
    const WhyOptions o{.head = head_id(5, 7), .query = Position(33), .key = Position(5)};
    const Why found = why(*trace, o);
    EXPECT_NEAR(found.weight, 0.962930, 1e-5);
    EXPECT_NEAR(found.score, 15.115949, 1e-4);
    EXPECT_NEAR(found.position, -0.109375, 1e-6);
    EXPECT_NEAR(found.log_odds, 3.257184, 1e-4);
    EXPECT_NEAR(found.rest_entropy, 2.202318, 1e-4);
    EXPECT_NEAR(found.advantage, 5.459502, 1e-4);
    EXPECT_NEAR(found.position_advantage, -0.028262, 1e-5);
    EXPECT_EQ(strongest(found), "L0.mlp x L3H0");
    EXPECT_NEAR(found.advantages.maxCoeff(), 1.559284, 1e-4);
    EXPECT_NEAR(of_query(found, "L0.mlp"), 2.795557, 1e-4);
    EXPECT_NEAR(of_query(found, "L1H0"), 0.508261, 1e-4);
    EXPECT_NEAR(of_query(found, "bias"), -0.299385, 1e-4);
    EXPECT_NEAR(of_key(found, "L1H0"), 1.793959, 1e-4);
    EXPECT_NEAR(of_key(found, "L3H0"), 1.184046, 1e-4);
    EXPECT_NEAR(of_key(found, "L2H0"), 0.915504, 1e-4);
    EXPECT_NEAR(of_key(found, "L4H0"), 0.750311, 1e-4);
    EXPECT_NEAR(of_key(found, "L4.mlp"), -0.570307, 1e-4);
    const WhyList list = listed(found, 10);
    EXPECT_NEAR(list.listed, 2.88, 5e-3);
    EXPECT_NEAR(list.rest_for, 11.40, 5e-3);
    EXPECT_NEAR(list.rest_from, -8.79, 5e-3);
    EXPECT_NEAR(list.share, 0.24, 5e-3);
    EXPECT_NEAR(list.opposing, 4.8, 5e-2);
    EXPECT_EQ(list.half, 30);
    EXPECT_EQ(list.others, 2799);
    // Terms of the score by the token that the writer read.
    const Eigen::VectorXd of_l3h0 = why_sources(*trace, o, false, {Component::head, 3, 0});
    EXPECT_NEAR(of_l3h0.sum(), 1.888695, 1e-4);
    EXPECT_NEAR(of_l3h0[4], 1.558606, 1e-4);
    EXPECT_NEAR(why_sources(*trace, o, false, {Component::head, 1, 0})[4], 1.937067, 1e-4);
    EXPECT_NEAR(why_sources(*trace, o, false, {Component::head, 4, 0})[3], 1.956533, 1e-4);
}

TEST(Why, SplitsAHeadByTheTokensThatItRead) {
    const TracePtr trace = built_in(stones);
    WhyOptions o{.head = head_id(5, 7), .query = Position(33), .key = Position(5), .by = WhyBy::token};
    o.split = head_id(3, 0);
    const Why found = why(*trace, o);
    EXPECT_NEAR(of_key(found, "L3H0 from 4"), 1.558606, 1e-4);
    EXPECT_NEAR(of_key(found, "L3H0 from 3"), 0.259, 5e-4);
    EXPECT_NEAR(of_key(found, "L3H0 at other keys"), -0.704650, 1e-4);
    EXPECT_TRUE(std::isnan(of_key(found, "L3H0"))) << "its tokens take its place";
    EXPECT_NEAR(of_key(found, "L1H0"), 1.793959, 1e-4) << "the other parts are as they were";
    const Eigen::VectorXd sources = why_sources(*trace, o, false, {Component::head, 3, 0});
    double read = 0;
    for (std::int64_t t = 0; t <= 5; ++t) {
        const double term = of_key(found, "L3H0 from " + std::to_string(t));
        EXPECT_NEAR(term, sources[t], 1e-6) << "against the float32 query of the run";
        read += term;
    }
    EXPECT_NEAR(read, 1.888695, 1e-4);
    EXPECT_TRUE(std::isnan(of_key(found, "L3H0 from 6"))) << "it does not see that";
    EXPECT_NEAR(found.residual, 0, 1e-4);
    o.split = head_id(1, 0);
    const Why early = why(*trace, o);
    EXPECT_NEAR(of_key(early, "L1H0 from 4"), 1.937067, 1e-4);
    EXPECT_NEAR(of_key(early, "L1H0 from 5"), 1.034, 5e-4);
    EXPECT_NEAR(of_key(early, "L1H0 from 3"), 0.625, 5e-4);
    EXPECT_NEAR(of_key(early, "L1H0 at other keys"), -2.031178, 1e-4);
    o.split.reset();
    EXPECT_NEAR(of_key(why(*trace, o), "L1H0 from 4"), 1.937067, 1e-4) << "the strongest of the side to which it adds more";
    o.split_of = WhySide::query;
    const Why query = why(*trace, o);
    const Eigen::VectorXd of_l1h0 = why_sources(*trace, o, true, {Component::head, 1, 0});
    EXPECT_NEAR(of_query(query, "L1H0 from 33"), of_l1h0[33], 1e-6);
    EXPECT_NEAR(of_l1h0.sum(), 0.508261, 1e-4);
    EXPECT_TRUE(std::isnan(of_query(query, "L1H0 at other keys"))) << "a query is read at one token";
    EXPECT_NEAR(query.residual, 0, 1e-4);
}

TEST(Why, TellsWhichHeadsCanBeSplit) {
    const TracePtr trace = built_in(stones);
    const auto asked = [&](const WhyRequest& request, std::int64_t layer) {
        return error_facts([&] { why(*trace, why_options(*trace, head_id(layer, 0), Position(9), Position(5), request)); });
    };
    EXPECT_EQ(asked({.by = WhyBy::token, .part = "L3.mlp"}, 4).found, "L3.mlp");
    EXPECT_EQ(asked({.by = WhyBy::token, .part = "L4H0"}, 4).expected, "a layer before 4");
    EXPECT_THAT(asked({.by = WhyBy::token, .part = "L3H99"}, 4).problem, HasSubstr("head"));
    EXPECT_THAT(asked({.by = WhyBy::token}, 0).problem, HasSubstr("No head wrote"));
    const Table table = table_of(
        why(*trace, why_options(*trace, head_id(5, 7), Position(33), Position(5), {.by = WhyBy::token, .part = "l3h0"})), 10);
    int sources = 0, elsewhere = 0;
    for (const auto& row : table.rows) {
        if (std::get<std::string>(row[0]) != "key") continue;
        sources += std::holds_alternative<std::int64_t>(row[7]);
        elsewhere += std::get<std::string>(row[4]) == "head_elsewhere";
    }
    EXPECT_EQ(sources, 6);
    EXPECT_EQ(elsewhere, 1);
}

TEST(Why, IsTheReferenceOfOtherContrastsAndHeads) {
    const TracePtr s = built_in(stones), d = built_in(doctor);
    const Why six =
        why(*s, {.head = head_id(5, 7), .query = Position(33), .key = Position(5), .against = Against::key, .other = 6});
    EXPECT_NEAR(six.advantage, 7.130532, 1e-4);
    EXPECT_NEAR(six.log_odds, 7.130532, 1e-4);
    EXPECT_NEAR(six.position_advantage, -0.003906, 1e-5);
    EXPECT_NEAR(of_query(six, "L0.mlp"), 4.404270, 1e-4);
    EXPECT_NEAR(of_key(six, "L4H0"), 1.719961, 1e-4);
    EXPECT_NEAR(of_key(six, "L3.mlp"), 1.380973, 1e-4);
    EXPECT_EQ(strongest(six), "L0.mlp x L3.mlp");
    const Why early = why(*d, {.head = head_id(4, 5), .query = Position(13), .key = Position(4)});
    EXPECT_NEAR(early.weight, 0.835631, 1e-5);
    EXPECT_NEAR(early.advantage, 3.299922, 1e-4);
    EXPECT_NEAR(early.rest_entropy, 1.673845, 1e-4);
    EXPECT_NEAR(of_query(early, "L1.mlp"), 0.632943, 1e-4);
    EXPECT_NEAR(of_key(early, "L3H0"), 0.640962, 1e-4);
    const Why low = why(*d, {.head = head_id(5, 1), .query = Position(16), .key = Position(13)});
    EXPECT_NEAR(low.advantage, 1.151274, 1e-4);
    EXPECT_NEAR(low.position_advantage, 0.129313, 1e-5);
    EXPECT_NEAR(of_key(low, "L0.mlp"), 1.442625, 1e-4);
}

TEST(Why, ChoosesTheKeyAndTheContrast) {
    const TracePtr trace = built_in(stones);
    const auto chosen = [&](const std::string& against) {
        return why_options(*trace, head_id(5, 7), {}, {}, {.against = against});
    };
    EXPECT_EQ(chosen("").query.value, 33);
    EXPECT_EQ(chosen("").key.value, 5);
    EXPECT_EQ(chosen("6").other, 6);
    EXPECT_EQ(chosen("no-sinks").against, Against::no_sinks);
    EXPECT_EQ(error_facts([&] { chosen("sinks"); }).found, "sinks");
}

TEST(Why, SaysWhatCannotBeAsked) {
    const TracePtr trace = built_in(stones);
    const auto problem = [&](const WhyOptions& o) { return error_facts([&] { why(*trace, o); }).problem; };
    EXPECT_THAT(problem({.head = head_id(5, 7), .query = Position(3), .key = Position(5)}), HasSubstr("does not see"));
    EXPECT_THAT(problem({.head = head_id(5, 7), .query = Position(9), .key = Position(5), .against = Against::key, .other = 5}),
                HasSubstr("itself"));
    EXPECT_THAT(problem({.head = head_id(9, 7), .query = Position(9), .key = Position(5)}), HasSubstr("head"));
    const Why alone = why(*trace, {.head = head_id(5, 7), .query = Position(0), .key = Position(0)});
    EXPECT_EQ(alone.weight, 1);
    EXPECT_TRUE(std::isnan(alone.advantage));
    EXPECT_TRUE(std::isfinite(alone.scores.sum()));
    const WhyOptions o{.head = head_id(5, 7), .query = Position(9), .key = Position(5)};
    EXPECT_THROW(why_sources(*trace, o, false, {Component::mlp, 2, -1}), Error);
}

TEST(WhyPath, WalksBackThroughTheHeadsThatWroteMost) {
    const TracePtr trace = built_in(stones);
    const WhyOptions o{.head = head_id(5, 7), .query = Position(33), .key = Position(5)};
    const std::vector<WhyStep> path = why_path(*trace, o);
    ASSERT_GT(path.size(), 1U);
    EXPECT_NEAR(path[0].weight, 0.962930, 1e-5);
    EXPECT_FALSE(path[0].of_query);
    EXPECT_EQ(path[0].writer, (StreamPart{Component::head, 1, 0}));
    EXPECT_NEAR(path[0].sum, 1.793959, 1e-4);
    EXPECT_EQ(path[0].source, Position(4));
    EXPECT_NEAR(path[0].from_source, 1.937067, 1e-4);
    EXPECT_TRUE(path[1].of.head == head_id(1, 0));
    EXPECT_EQ(path[1].of.query, Position(5)) << "where it wrote";
    EXPECT_EQ(path[1].of.key, Position(4)) << "what it read there";
    const at::Tensor weights = trace::pattern_rows(*trace, Layer(1), Head(0), 5, 1)[0];
    EXPECT_NEAR(path[1].weight, weights[4].item().toDouble(), 1e-5);
    for (std::size_t i = 1; i < path.size(); ++i) EXPECT_LT(path[i].of.head.layer, path[i - 1].of.head.layer);
    const std::string text = path_text(*trace, path);
    EXPECT_THAT(text, testing::StartsWith("L5H7 33<-5 (0.963) ⇐ key +1.79: L1H0 5<-4 ("));
    EXPECT_THAT(text, HasSubstr("grey"));
    EXPECT_EQ(why_path(*trace, o, 1).size(), 1U);
    EXPECT_THAT(path_text(*trace, why_path(*trace, o, 1)), testing::EndsWith("L1H0 at ·stones"));
    const std::vector<WhyStep> alone = why_path(*trace, {.head = head_id(5, 7), .query = Position(0), .key = Position(0)});
    ASSERT_EQ(alone.size(), 1U);
    EXPECT_FALSE(alone[0].writer) << "without rivals nothing adds to a weight";
    EXPECT_EQ(path_text(*trace, alone), "L5H7 0<-0 (1.000)");
}

/// Four pairs of parts with these advantages.
Why of_pairs(double a, double b, double c, double d) {
    Why why;
    why.advantages.resize(2, 2);
    why.advantages << a, b, c, d;
    why.advantage = why.advantages.sum();
    return why;
}

TEST(WhyList, HoldsWhatItsPairsAddUpTo) {
    const Why why = of_pairs(4, 3, -2, 1);
    const WhyList one = listed(why, 1);
    EXPECT_DOUBLE_EQ(one.listed, 4);
    EXPECT_DOUBLE_EQ(one.share, 0.4);
    EXPECT_DOUBLE_EQ(one.rest_for, 4);
    EXPECT_DOUBLE_EQ(one.rest_from, -2);
    EXPECT_DOUBLE_EQ(one.all, 6);
    EXPECT_DOUBLE_EQ(one.opposing, 10.0 / 6);
    EXPECT_EQ(one.half, 1);
    EXPECT_EQ(one.others, 3);
    EXPECT_DOUBLE_EQ(listed(why, 3).listed, 5) << "the three largest amounts";
    EXPECT_DOUBLE_EQ(listed(why, 3).share, 0.9);
    EXPECT_FALSE(one.holds_little());
    EXPECT_FALSE(one.sums_to_other());
    const WhyList against = listed(of_pairs(4, 3, -5, 0), 1);  // -5 of 2
    EXPECT_DOUBLE_EQ(against.listed, -5);
    EXPECT_FALSE(against.holds_little());
    EXPECT_TRUE(against.sums_to_other());
    const WhyList nothing = listed(of_pairs(0, 0, 0, 0), 1);
    EXPECT_FALSE(nothing.holds_little() || nothing.sums_to_other());
}

TEST(WhyList, TellsNoShortStoryBeyondItsLimits) {
    const auto little = [](double share) { return WhyList{.share = share}.holds_little(); };
    EXPECT_TRUE(little(0.2499));
    EXPECT_FALSE(little(0.25));
    EXPECT_FALSE(little(std::nan("")));
    const auto other = [](double listed, double all) { return WhyList{.listed = listed, .all = all}.sums_to_other(); };
    EXPECT_TRUE(other(3.99, 8));
    EXPECT_FALSE(other(4, 8));
    EXPECT_FALSE(other(12, 8));
    EXPECT_TRUE(other(12.01, 8));
    EXPECT_FALSE(other(-12, -8));
    EXPECT_TRUE(other(-4, 8));
    EXPECT_FALSE(other(1, 0)) << "no share of nothing";
}

TEST(Why, PartsOfASideAreOrderedByAmount) {
    const Eigen::VectorXd sums = Eigen::Vector4d(1, -3, 4, -2);
    EXPECT_EQ(by_amount(sums), (std::vector<Eigen::Index>{2, 1, 3, 0}));
    EXPECT_EQ(by_amount(Eigen::Vector3d(-1, 2, 1)), (std::vector<Eigen::Index>{1, 0, 2})) << "equal ones in the pass's order";
    EXPECT_DOUBLE_EQ(share_of_largest(sums, 1), 0.4);
    EXPECT_DOUBLE_EQ(share_of_largest(sums, 2), 0.7);
    EXPECT_DOUBLE_EQ(share_of_largest(sums, 3), 0.9);
    EXPECT_DOUBLE_EQ(share_of_largest(sums, 9), 1);
}

TEST(Why, TableHoldsTheSum) {
    const Why found = why(*built_in(stones), {.head = head_id(5, 7), .query = Position(33), .key = Position(5)});
    const Table table = table_of(found, 10);
    double pairs = 0, position = 0, total = 0, keys = 0;
    for (const auto& row : table.rows) {
        const std::string& kind = std::get<std::string>(row[0]);
        const double advantage = std::get<double>(row.back());
        EXPECT_NEAR(std::get<double>(row[8]) - std::get<double>(row[9]), advantage, 1e-9);
        if (kind == "pair" || kind == "rest") pairs += advantage;
        if (kind == "key") keys += advantage;
        if (kind == "position") position = advantage;
        if (kind == "total") total = advantage;
    }
    EXPECT_NEAR(pairs + position, total, 1e-4);
    EXPECT_NEAR(keys, pairs, 1e-9);
    EXPECT_EQ(std::ssize(table_of(found, 0).rows), found.advantages.size() + found.query_sums.size() + found.key_sums.size() + 2);
}

}  // namespace why_test
}  // namespace headlight::analyze
