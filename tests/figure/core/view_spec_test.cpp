// SPDX-License-Identifier: GPL-3.0-or-later
// The list of views: what every row has to keep to, and what is said about values that are wrong.
#include "headlight/base/error.h"
#include "headlight/figure/core/view_places.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>

namespace headlight::figure {
namespace view_spec_test {

TEST(ViewSpecs, IdsAreUnique) {
    std::set<std::string> ids;
    for (const ViewSpec& spec : view_specs()) {
        EXPECT_TRUE(ids.insert(spec.id).second) << spec.id;
        EXPECT_FALSE(spec.title.empty()) << spec.id;
        EXPECT_TRUE(static_cast<bool>(spec.make)) << spec.id;
        EXPECT_EQ(find_view(spec.id), &spec);
    }
    EXPECT_EQ(find_view("no such view"), nullptr);
}

/// A view without a place could not be reached in the window.
TEST(ViewPlaces, EveryViewStandsInOnePlaceAndEveryKeyOpensOne) {
    std::map<std::string, int> places;
    std::set<char> keys;
    std::set<std::string> titles;
    std::size_t pills = 0;
    for (const ViewQuestion& question : view_questions()) {
        EXPECT_TRUE(titles.insert(question.title).second) << question.title;
        for (const ViewPlace& place : question.places) {
            ++pills;
            EXPECT_TRUE(titles.insert(place.title).second) << place.title;
            EXPECT_TRUE(place.key == 0 || keys.insert(place.key).second) << place.title;
            ASSERT_FALSE(place.presets.empty()) << place.title;
            for (const ViewPreset& preset : place.presets) {
                ++places[preset.view];
                const auto seat = seat_of(preset.view);
                ASSERT_TRUE(seat) << preset.view;
                EXPECT_EQ(&place_at(*seat), &place);
                EXPECT_EQ(place.presets[seat->preset].view, preset.view);
            }
        }
    }
    EXPECT_LE(pills, 23U);
    for (const ViewPlace& place : model_views().places) {
        ++places[place.presets.at(0).view];
        EXPECT_FALSE(seat_of(place.presets[0].view)) << "it is on the page of the model";
    }
    for (const ViewSpec& spec : view_specs()) EXPECT_EQ(places[spec.id], 1) << spec.id;
    EXPECT_EQ(places.size(), view_specs().size()) << "no place for what is no view";
}

TEST(ViewSpecs, DefaultsOfOptionsAreValuesAndSameNamesAreTheSameOption) {
    std::map<std::string, const ViewOption*> known;
    for (const ViewSpec& spec : view_specs())
        for (const ViewOption& option : spec.options) {
            const std::string where = spec.id + " " + option.name;
            EXPECT_LE(option.low, option.high) << where;
            EXPECT_EQ(option.kind == OptionKind::choice, !option.choices.empty()) << where;
            if (option.kind == OptionKind::flag)
                EXPECT_TRUE(option.initial.empty()) << where;
            else
                EXPECT_NO_THROW(check_values(spec, {{option.name, option.initial}})) << where;
            const auto [at, added] = known.emplace(option.name, &option);
            if (added) continue;
            // The command line knows an option by its name alone.
            EXPECT_EQ(at->second->kind, option.kind) << where;
            EXPECT_EQ(at->second->choices, option.choices) << where;
        }
}

/// Everything a view needs to be known for stands in its row. Ids that are also ordinary words (columns, JSON keys, words of
/// errors) count only where they stand for a view.
TEST(ViewSpecs, NoIdStandsOutsideItsRow) {
    namespace fs = std::filesystem;
    const std::set<std::string> words{"head",         "neuron", "model",     "focus",       "predictions", "experts",
                                      "architecture", "mlp",    "aggregate", "composition", "rollout",     "picture"};
    const std::regex quoted("\"([a-z0-9-]+)\""), of_a_view("([Vv]iew\\w*|\\bid|left|right)\\s*(==|!=|=|\\(|\\{)\\s*$");
    std::size_t files = 0;
    for (const char* room : {"src/figure/core", "src/cli", "ui"})
        for (const auto& entry : fs::recursive_directory_iterator(fs::path(HEADLIGHT_SOURCE_DIR) / room)) {
            const std::string name = fs::relative(entry.path(), HEADLIGHT_SOURCE_DIR).string();
            if (!name.ends_with(".cpp") && !name.ends_with(".h")) continue;
            if (name.starts_with("src/cli/analyze/")) continue;  // analyses have their own names
            if (name == "ui/dialogs/tour.cpp") continue;         // explains three views
            if (name == "src/figure/core/view_places.cpp") continue;
            ++files;
            std::ifstream file(entry.path());
            for (std::string line; std::getline(file, line);)
                for (std::sregex_iterator at(line.begin(), line.end(), quoted), end; at != end; ++at) {
                    const std::string id = (*at)[1], before = line.substr(0, static_cast<std::size_t>(at->position()));
                    if (line.substr(0, line.find_first_not_of(' ') + 2).ends_with("//") || !find_view(id)) continue;
                    EXPECT_TRUE(words.contains(id) && !std::regex_search(before, of_a_view)) << name << ": " << line;
                }
        }
    EXPECT_GT(files, 60U);
}

ViewSpec sample() {
    ViewSpec spec;
    spec.id = "sample";
    spec.options = {{.name = "top", .kind = OptionKind::integer, .initial = "5", .low = 1, .high = 100},
                    {.name = "share", .kind = OptionKind::number, .initial = "0.5", .low = 0, .high = 10},
                    {.name = "word", .kind = OptionKind::choice, .initial = "a", .choices = {{"a", "A"}, {"b", "B"}}},
                    {.name = "on", .kind = OptionKind::flag},
                    {.name = "free", .kind = OptionKind::text}};
    return spec;
}

std::string expected_of(const ViewValues& values) {
    try {
        check_values(sample(), values);
    } catch (const Error& error) {
        return error.facts().expected.empty() ? error.facts().problem : error.facts().expected;
    }
    return "fine";
}

TEST(ViewSpecs, WrongValuesNameTheWholeRange) {
    EXPECT_EQ(expected_of({{"top", "100"}, {"share", "10"}, {"word", "b"}, {"on", "1"}, {"free", "any thing"}}), "fine");
    EXPECT_EQ(expected_of({{"top", "0"}}), "1 to 100");
    EXPECT_EQ(expected_of({{"top", "2.5"}}), "a whole number");
    EXPECT_EQ(expected_of({{"share", "10.5"}}), "0 to 10");
    EXPECT_EQ(expected_of({{"share", "nan"}}), "a number");
    EXPECT_EQ(expected_of({{"share", "inf"}}), "a number");
    EXPECT_EQ(expected_of({{"word", "c"}}), "one of a, b");
    EXPECT_EQ(expected_of({{"unknown", "1"}}), "The view has no such option");
}

TEST(ViewSpecs, OnlyValuesThatDifferFromTheDefaultAreKept) {
    EXPECT_EQ(tidy(sample(), {{"top", "5"}, {"word", "b"}, {"unknown", "1"}}), (ViewValues{{"word", "b"}}));
}

}  // namespace view_spec_test
}  // namespace headlight::figure
