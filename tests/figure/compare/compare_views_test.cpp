// SPDX-License-Identifier: GPL-3.0-or-later
// Differences of two runs of the built-in model: what is drawn is B's number minus A's, of the token that stands for it.
#include "figure/core/own_scale.h"
#include "headlight/analyze/pattern/pattern_view.h"
#include "headlight/analyze/prediction/predictions.h"
#include "headlight/base/error.h"
#include "headlight/figure/core/sides.h"
#include "headlight/figure/core/view_spec.h"
#include "headlight/figure/export/export.h"
#include "headlight/intervention/compare/comparison.h"
#include "tests/figure/novella.h"
#include "tests/figure/painting.h"
#include "tests/support/temp_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <set>

namespace headlight::figure {
namespace compare_views_test {

// A: <s> The doctor said he was late because the nurse took his keys .        (14 tokens)
// B: <s> The doctor said she was late because the nurse took her old keys .   (15 tokens)
constexpr std::int64_t kHe = 4, kWas = 5, kHis = 11, kKeys = 12, kKeysOfB = 13, kHerOfB = 11, kOldOfB = 12;

class CompareViews : public testing::Test {
protected:
    static void SetUpTestSuite() {
        a_ = novella("The doctor said he was late because the nurse took his keys.");
        // Loaded for itself, as the window does: the same model by its hash.
        const std::filesystem::path folder = a_->model()->folder();
        b_ = trace::run(model::Model::load(folder), text::Tokenizer::load(folder),
                        {.text = "The doctor said she was late because the nurse took her old keys."});
        beside_ = beside(a_, b_);
    }
    static void TearDownTestSuite() {
        beside_.reset();
        a_.reset();
        b_.reset();
    }
    static ViewState state(const std::string& view) {
        ViewState s;
        s.view = view;
        s.layer = Layer(4);
        s.heads = {Head(0)};
        s.beside = beside_;
        s.side = Side::difference;
        return s;
    }
    /// Of every view that has one, with a pinned query.
    static std::vector<ViewState> differences() {
        std::vector<ViewState> all;
        for (const ViewSpec& spec : view_specs()) {
            if (!spec.difference || !why_missing(spec, *a_, {}).empty()) continue;
            all.push_back(state(spec.id));
            all.back().query = Position(kKeys);
        }
        return all;
    }
    static std::string error_of(const ViewState& s, const TracePtr& a = a_) {
        try {
            make_figure(a, s);
        } catch (const Error& error) {
            return error.facts().problem;
        }
        return {};
    }
    static std::size_t column(const Table& table, const std::string& name) {
        return static_cast<std::size_t>(std::ranges::find(table.columns, name) - table.columns.begin());
    }

    /// Of the row with these whole numbers; NaN: there is none.
    static double number(const Table& table, const std::vector<std::pair<std::string, std::int64_t>>& names,
                         const std::string& value) {
        for (const auto& row : table.rows)
            if (std::ranges::all_of(names,
                                    [&](const auto& name) { return row[column(table, name.first)] == Table::Cell(name.second); }))
                return std::get<double>(row[column(table, value)]);
        return std::numeric_limits<double>::quiet_NaN();
    }

    static inline TracePtr a_, b_;
    static inline std::shared_ptr<const Beside> beside_;
};

TEST_F(CompareViews, MatrixAndHeadDrawBMinusAOfThePartners) {
    const analyze::Matrix a = analyze::pattern(*a_, {Layer(4), Head(0)}, {}), b = analyze::pattern(*b_, {Layer(4), Head(0)}, {});
    const Table matrix = make_figure(a_, state("matrix"))->table();
    const auto drawn = [&](std::int64_t query, std::int64_t key) {
        return number(matrix, {{"query", query}, {"key", key}}, "difference");
    };
    EXPECT_NEAR(drawn(kWas, kHe), b(kWas, kHe) - a(kWas, kHe), 1e-6);
    EXPECT_NEAR(drawn(kKeys, kHe), b(kKeysOfB, kHe) - a(kKeys, kHe), 1e-6);
    EXPECT_NEAR(drawn(kKeys, kHis), -a(kKeys, kHis), 1e-6) << "a key that only A has";
    EXPECT_NEAR(drawn(kKeys, -1 - kHerOfB), b(kKeysOfB, kHerOfB), 1e-6) << "a key that only B has";
    EXPECT_TRUE(std::isnan(drawn(kHis, kHe))) << "a query that only A has";

    ViewState two = state("head");
    two.heads = {Head(0), Head(3)};
    const analyze::Matrix a3 = analyze::pattern(*a_, {Layer(4), Head(3)}, {}),
                          b3 = analyze::pattern(*b_, {Layer(4), Head(3)}, {});
    const double mean = (b(kWas, kHe) - a(kWas, kHe) + b3(kWas, kHe) - a3(kWas, kHe)) / 2.0;
    const auto lines = make_figure(a_, two)->arrays();
    const std::int64_t keys = lines[0].shape[2];
    const auto at = static_cast<std::size_t>(kWas * keys + kHe);
    const auto less = static_cast<std::size_t>(lines[0].shape[1] * keys) + at;
    EXPECT_NEAR(lines[0].values[at] - lines[0].values[less], mean, 1e-6) << "what is more, and what is less";
}

TEST_F(CompareViews, ARowThatOnlyBHasIsDrawnInB) {
    const auto figure = make_figure(a_, state("compare-head"));
    const Style style;
    const QImage image = painted(*figure, {900, 0}, style);
    // Head 0 of layer 4 attends to the token itself or the one before it: one dark cell in each row.
    const analyze::Matrix b = analyze::pattern(*b_, {Layer(4), Head(0)}, {});
    ASSERT_GT(b(kOldOfB, kHerOfB), 0.3);
    std::set<QRgb> colors;
    for (int y = 0; y < image.height(); ++y)
        for (int x = 0; x < image.width(); ++x) {
            const Hit hit = figure->hit_test(QPointF(x + 0.5, y + 0.5), style, {});
            if (hit.kind == Hit::Kind::pair && hit.value && hit.tip.startsWith(QStringLiteral("B ")) &&
                std::abs(*hit.value - b(kOldOfB, kHerOfB)) < 1e-7 && hit.area.adjusted(4, 4, -4, -4).contains(QPointF(x, y)))
                colors.insert(image.pixel(x, y));
        }
    ASSERT_EQ(colors.size(), 1U);
    EXPECT_NE(*colors.begin(), style.theme->canvas.rgb());
}

TEST_F(CompareViews, PredictionsAndMlpSubtractTheNumbersOfA) {
    const auto of_a = analyze::predictions(*a_, 1), of_b = analyze::predictions(*b_, 1);
    const Table predictions = make_figure(a_, state("predictions"))->table();
    std::set<std::int64_t> positions;
    for (const auto& row : predictions.rows) {
        const std::int64_t at = std::get<std::int64_t>(row[column(predictions, "position")]);
        const std::int64_t in_b = at < kHis ? at : at + 1;
        positions.insert(at);
        EXPECT_NEAR(std::get<double>(row[column(predictions, "a")]), of_a[static_cast<std::size_t>(at)].log_probability, 1e-6);
        EXPECT_NEAR(std::get<double>(row[column(predictions, "b")]), of_b[static_cast<std::size_t>(in_b)].log_probability, 1e-6);
    }
    // Without the first token, and without the two that another one stands for or nothing does.
    EXPECT_EQ(positions, (std::set<std::int64_t>{1, 2, 3, 5, 6, 7, 8, 9, 10, 12, 13}));

    ViewState of_mlp = state("mlp");
    of_mlp.query = Position(kKeys);
    const Table difference = make_figure(a_, of_mlp)->table();
    of_mlp.side = Side::b;
    const Table b = make_figure(a_, of_mlp)->table();
    ASSERT_GT(difference.rows.size(), 3U);
    std::size_t compared = 0;
    for (const auto& row : difference.rows)
        for (const auto& neuron : b.rows) {
            if (neuron[column(b, "neuron")] != row[0]) continue;
            EXPECT_EQ(neuron[column(b, "coefficient")], row[column(difference, "b")]) << "B at the partner of the pin";
            ++compared;
        }
    EXPECT_GE(compared, difference.rows.size());
}

TEST_F(CompareViews, EveryDifferenceIsZeroBetweenEqualRunsAndSubtractsTheViewsOwnNumbers) {
    const auto same = beside(a_, a_);
    std::size_t tables = 0;
    for (ViewState s : differences()) {
        SCOPED_TRACE(s.view);
        if (s.view == "sparsity")
            s.values = {{"scheme", "topk"}, {"budget", "2"}};  // the usual numbers keep all of a text so short
        s.beside = same;
        const Table none = make_figure(a_, s)->table();
        if (std::ranges::find(none.columns, "a") == none.columns.end()) continue;  // a map
        ++tables;
        EXPECT_GT(none.rows.size(), 0U);
        for (const auto& row : none.rows) {
            EXPECT_EQ(std::get<double>(row[column(none, "difference")]), 0.0);
            EXPECT_EQ(row[column(none, "a")], row[column(none, "b")]);
        }
        s.beside = beside_;
        const Table both = make_figure(a_, s)->table();
        EXPECT_GT(both.rows.size(), 0U);
        ViewState alone = s;
        alone.side = Side::a;
        const Table own = make_figure(a_, alone)->table();
        double largest = 0;
        for (const auto& row : both.rows) {
            const double a = std::get<double>(row[column(both, "a")]), b = std::get<double>(row[column(both, "b")]);
            EXPECT_EQ(std::get<double>(row[column(both, "difference")]), b - a);
            EXPECT_TRUE(std::ranges::any_of(own.rows,
                                            [&](const auto& of_a) {
                                                const auto same_name = [&](const std::string& name) {
                                                    return name == "a" || name == "b" || name == "difference" ||
                                                           of_a[column(own, name)] == row[column(both, name)];
                                                };
                                                return std::ranges::all_of(both.columns, same_name) &&
                                                       std::ranges::find(of_a, Table::Cell(a)) != of_a.end();
                                            }))
                << "A's number is the view's own: " << a;
            largest = std::max(largest, std::abs(b - a));
        }
        // Two texts differ, weights do not depend on them.
        EXPECT_EQ(largest > 0, s.view != "composition");
    }
    EXPECT_GE(tables, 20U);
}

/// Whichever side is shown: a colour, the length of a bar and a place mean one number.
TEST_F(CompareViews, AAndBHaveOneScale) {
    std::set<std::string> scaled, wider;
    for (ViewState s : differences()) {
        SCOPED_TRACE(s.view);
        if (s.view == "lens") s.values = {{"shade", "kl"}};
        const auto ends = [&](Side side, bool alone) {
            ViewState of = s;
            of.side = side;
            if (alone) of.beside.reset();
            const auto figure = make_figure(alone && side == Side::b ? b_ : a_, of);
            const auto* own = dynamic_cast<const OwnScale*>(figure.get());
            return own ? own->scale_ends() : std::vector<ScaleEnds>();
        };
        const auto a = ends(Side::a, false), b = ends(Side::b, false), alone = ends(Side::a, true);
        if (a.empty() || a.size() != b.size()) continue;
        scaled.insert(s.view);
        EXPECT_EQ(a, b);
        ASSERT_EQ(alone.size(), a.size());
        for (std::size_t i = 0; i < a.size(); ++i) {
            EXPECT_LE(a[i].low, alone[i].low);
            EXPECT_GE(a[i].high, alone[i].high);
        }
        if (a != alone) wider.insert(s.view);
    }
    for (const char* view : {"attribution", "mlp", "neuron-map", "lens", "rollout", "focus-4"})
        EXPECT_TRUE(scaled.contains(view)) << view;
    EXPECT_GE(wider.size(), 8U) << testing::PrintToString(wider);
}

TEST_F(CompareViews, RowsOfRolloutAndOfDriversAreThoseOfThePartners) {
    for (const char* view : {"rollout", "flow"}) {
        ViewState s = state(view);
        s.values["up-to"] = "chosen";
        const Table difference = make_figure(a_, s)->table();
        s.side = Side::b;
        const Table b = make_figure(a_, s)->table();
        EXPECT_EQ(number(difference, {{"query", kKeys}, {"key", kHe}}, "b"),
                  number(b, {{"query", kKeysOfB}, {"key", kHe}}, view));
        EXPECT_TRUE(std::isnan(number(difference, {{"query", kHis}, {"key", kHe}}, "b"))) << "a query that only A has";
    }
}

/// The first column says in words which part a row is of.
TEST_F(CompareViews, PartsOfASumHaveNames) {
    for (const char* view : {"attribution", "drivers"}) {
        ViewState s = state(view);
        s.query = Position(kKeys);
        const auto figure = make_figure(a_, s);
        const Table table = figure->table();
        const auto first_of = [&](const std::string& component) {
            return std::ranges::find_if(
                table.rows, [&](const auto& row) { return row[column(table, "component")] == Table::Cell(component); });
        };
        ExportOptions output;
        output.size_px = {900, 0};
        const test::TempFolder folder;
        export_figure(*figure, {}, {}, output, folder / "parts.svg");
        const std::string svg = test::slurp(folder / "parts.svg");
        const auto head = first_of("head"), source = first_of("head_source");
        ASSERT_NE(head, table.rows.end()) << view;
        ASSERT_NE(source, table.rows.end()) << view;
        const auto number = [&](const auto& row, const char* name) {
            return std::get<std::int64_t>((*row)[column(table, name)]);
        };
        const auto name = [&](const auto& row) {
            return ">L" + std::to_string(number(row, "layer")) + "H" + std::to_string(number(row, "index"));
        };
        const std::int64_t position = number(source, "source");
        EXPECT_NE(svg.find(name(head) + "<"), std::string::npos) << view << name(head);
        const std::string words = name(source) + " from " + a_->labels()[static_cast<std::size_t>(position)].text + " (" +
                                  std::to_string(position) + ")<";
        EXPECT_NE(svg.find(words), std::string::npos) << view << words;
    }
}

TEST_F(CompareViews, RefusesWhatHasNoPartner) {
    ViewState pinned = state("attribution");
    pinned.query = Position(kHis);
    EXPECT_THAT(error_of(pinned), testing::HasSubstr("no partner")) << "not B's last token in its place";
    pinned.query = Position(kKeys);
    EXPECT_EQ(error_of(pinned), "");
    EXPECT_EQ(error_of(state("neuron")), "") << "the scores of the last token, where none is pinned";

    const std::filesystem::path gpt2 = std::filesystem::path(HEADLIGHT_SOURCE_DIR) / "tests/fixtures/models/gpt2";
    const TracePtr small =
        trace::run(model::Model::load(gpt2), text::Tokenizer::load(gpt2), {.text = "He was late.", .pair = {}});
    const TracePtr a = novella("He was late.");
    ViewState other = state("mlp");
    other.beside = beside(a, small);
    EXPECT_THAT(error_of(other, a), testing::HasSubstr("by their numbers")) << "not the last layer of a shallower model";
    other.view = "predictions";
    EXPECT_THAT(error_of(other, a), testing::HasSubstr("two tokenizers"));
}

TEST_F(CompareViews, SaysWhichOptionsADifferenceDoesNotHave) {
    ViewState weighted = state("matrix");
    weighted.pattern.weighting = analyze::Weighting::value_norm;
    EXPECT_THAT(error_of(weighted), testing::HasSubstr("attention weight"));
    ViewState parts = state("matrix");
    parts.values["parts"] = "1";
    EXPECT_THAT(error_of(parts), testing::HasSubstr("Parts of the score"));
    ViewState without_first = state("matrix");
    without_first.pattern.hide_sinks = true;
    EXPECT_EQ(error_of(without_first), "");
}

TEST_F(CompareViews, PositionsOfASelectionAreThoseOfTheRunThatIsDrawn) {
    const SidePlaces places(*beside_);
    EXPECT_EQ(places.query_in_b(Position(kKeys)), Position(kKeysOfB));
    EXPECT_FALSE(places.key_in_b(Position(kHis)));
    Selection selection;
    selection.pinned_queries = {Position(kHis), Position(kKeys)};
    selection.hover_key = Position(kHe);
    const Selection in_b = places.in_b(selection);
    EXPECT_EQ(in_b.pinned_queries, std::vector<Position>{Position(kKeysOfB)});
    EXPECT_EQ(in_b.hover_key, Position(kHe));
    Hit hit;
    hit.query = Position(kKeysOfB);
    hit.key = Position(kOldOfB);
    EXPECT_EQ(places.in_a(hit).query, Position(kKeys));
    EXPECT_FALSE(places.in_a(hit).key) << "A has no such token";
    // An export paints the pin where B's token is.
    ViewState s = state("matrix");
    s.side = Side::b;
    s.query = Position(kKeys);
    EXPECT_EQ(selection_of(s).pinned_queries, std::vector<Position>{Position(kKeysOfB)});
    s.side = Side::difference;
    EXPECT_EQ(selection_of(s).pinned_queries, std::vector<Position>{Position(kKeys)});
}

TEST_F(CompareViews, AFileOfBSaysSoInItsTitleAndAboveTheFigure) {
    Request request;
    static_cast<ViewState&>(request) = state("matrix");
    const auto words = [&](Side side) {
        request.side = side;
        return side_words(options_of(request));
    };
    EXPECT_EQ(words(Side::a), QString());
    EXPECT_EQ(words(Side::difference), QString()) << "these say it themselves";
    EXPECT_EQ(words(Side::b), QStringLiteral("B: “The doctor said she was late because the nurse took her old keys.”"));
    EXPECT_EQ(side_words({{"edits", "zero L5H7"}}), QStringLiteral("edited: zero L5H7")) << "of an edited run alone";
    const auto figure = make_figure(a_, request);
    ExportOptions output;
    output.size_px = {700, 0};
    const Provenance provenance = provenance_of(*a_, request, "svg");
    const test::TempFolder folder;
    export_figure(*figure, {}, provenance, output, folder / "b.svg");
    const std::string svg = test::slurp(folder / "b.svg");
    EXPECT_NE(svg.find("· B: “The doctor said she was late"), std::string::npos);
    EXPECT_NE(svg.find(">B: “The doctor said she was late"), std::string::npos);
}

/// Where the words stand.
TEST_F(CompareViews, TheLineAboveTheTitleIsFreeInEveryView) {
    const QSizeF canvas(900, 700);
    Style style;
    style.exporting = true;
    std::size_t checked = 0;
    for (const ViewSpec& spec : view_specs()) {
        ViewState s = state(spec.id);
        s.side = Side::a;
        if (!spec.compares) s.beside = nullptr;
        s.query = Position(kKeys);
        s.key = Position(kHe);
        if (!why_missing(spec, *a_, s).empty()) continue;
        const auto figure = make_figure(a_, s);
        const QImage image = painted(*figure, canvas, style, selection_of(s));
        std::size_t ink = 0;
        for (int y = 4; y < 19; ++y)
            for (int x = image.width() / 2; x < image.width(); ++x) ink += image.pixel(x, y) != style.theme->canvas.rgb();
        EXPECT_EQ(ink, 0U) << spec.id;
        ++checked;
    }
    EXPECT_GT(checked, 30U);
}

}  // namespace compare_views_test
}  // namespace headlight::figure
