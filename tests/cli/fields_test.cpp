// SPDX-License-Identifier: GPL-3.0-or-later
// Every field of every request travels through every dialect: its option, the words that make a result again, and JSON.
#include "cli/fields.h"
#include "headlight/analyze/architecture/kv_cache.h"
#include "headlight/analyze/circuit/composition.h"
#include "headlight/analyze/circuit/copy_suppression.h"
#include "headlight/analyze/circuit/importance.h"
#include "headlight/analyze/contribution/contributions.h"
#include "headlight/analyze/focus/focus.h"
#include "headlight/analyze/prediction/mlp.h"
#include "headlight/analyze/prediction/predictions.h"
#include "headlight/analyze/prediction/refinement.h"
#include "headlight/analyze/sparsity/sparsity.h"
#include "headlight/analyze/why/why.h"
#include "headlight/figure/map/map_request.h"
#include "headlight/intervention/compare/layers.h"
#include "headlight/intervention/sweep/request_fields.h"
#include "headlight/io/fields_json.h"
#include "headlight/model/generate.h"
#include "support/error_of.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <set>

namespace headlight::cli {
namespace {

using testing::HasSubstr;

template <class T>
void change(const Field& field, T& value) {
    if constexpr (std::is_same_v<T, bool>) {
        value = !value;
    } else if constexpr (std::is_enum_v<T>) {
        const auto& rows = enum_rows(T{});
        value = enum_word(value) == rows[0].word ? rows[1].value : rows[0].value;
    } else if constexpr (is_number<T>) {
        value = static_cast<T>(static_cast<double>(value) == field.high ? field.low : field.high);
        if (!field.bounded()) value = 7;
    } else if constexpr (std::is_same_v<T, Indices>) {
        value = {1, 3, 4};
    } else if constexpr (std::is_same_v<T, Strings>) {
        value = {"a b", "c"};
    } else {
        value = "it's";
    }
}

std::vector<std::string> line_of(const OptionWords& words) {
    std::vector<std::string> line;
    for (const auto& [name, value] : words) {
        line.push_back("--" + name);
        if (!value.empty()) line.push_back(value);
    }
    return line;
}

template <class Request>
Request parsed(std::vector<std::string> line) {
    Request request;
    Definition definition("test");
    add_fields(definition, request);
    std::ranges::reverse(line);  // CLI11 takes them from the back
    definition.app->parse(line);
    return request;
}

template <class Request>
class Requests : public testing::Test {};
using Described =
    testing::Types<analyze::SparsityOptions, figure::MapRequest, intervention::SweepRequest, model::GenerateOptions,
                   analyze::CompositionRequest, analyze::ContributionRequest, analyze::CopySuppressionRequest,
                   analyze::FocusOptions, analyze::ImportanceRequest, analyze::KvCacheOptions, analyze::LensRequest,
                   analyze::LogitRequest, analyze::MemoriesRequest, analyze::PredictionsRequest, analyze::RefinementRequest,
                   analyze::WhyRequest, intervention::CompareOptions, intervention::LayerOptions>;
TYPED_TEST_SUITE(Requests, Described);

/// The requests that differ from the default in one field each, and one that differs in all.
template <class Request>
std::vector<std::pair<std::string, Request>> changed_requests() {
    std::vector<std::pair<std::string, Request>> all;
    Request everything;
    for (std::size_t i = 0; i < fields_of(everything).size(); ++i) {
        Request one;
        std::string name;
        for (Request* request : {&one, &everything}) {
            std::size_t at = 0;
            describe(*request, [&](const Field& field, auto& value) {
                if (at++ == i) change(field, value), name = field.name;
            });
        }
        all.emplace_back(name, one);
    }
    all.emplace_back("all", everything);
    return all;
}

TYPED_TEST(Requests, HaveFieldsWithNamesOfTheirOwnThatAreExplained) {
    std::set<std::string> names;
    for (const FieldValue& each : fields_of(TypeParam())) {
        EXPECT_TRUE(names.insert(std::string(each.field.name)).second) << each.field.name;
        EXPECT_FALSE(each.field.title.empty()) << each.field.name;
        EXPECT_FALSE(each.field.help.empty()) << each.field.name;
    }
}

TYPED_TEST(Requests, TravelThroughJson) {
    for (const auto& [name, request] : changed_requests<TypeParam>()) {
        const nlohmann::json written = io::fields_json(request);
        TypeParam read;
        io::read_fields(written, read, "file");
        EXPECT_EQ(io::fields_json(read), written) << name;
        EXPECT_NE(written, io::fields_json(TypeParam())) << name << ": the change is not in the JSON";
    }
}

TYPED_TEST(Requests, AreMadeAgainByTheirWords) {
    int travelled = 0;
    for (const auto& [name, request] : changed_requests<TypeParam>()) {
        const OptionWords words = changed_fields(request);
        const TypeParam again = parsed<TypeParam>(line_of(words));
        EXPECT_EQ(changed_fields(again), words) << name;
        travelled += std::ranges::any_of(words, [&](const auto& each) { return each.first.ends_with(name); });
    }
    EXPECT_GT(travelled, 0);
}

TYPED_TEST(Requests, AreReadUnderEarlierNames) {
    for (const auto& [name, request] : changed_requests<TypeParam>()) {
        OptionWords words = changed_fields(request);
        describe(request, [&](const Field& field, const auto&) {
            for (auto& [option, value] : words)
                if (option == field.flag() && !field.former.empty()) option = field.former;
        });
        EXPECT_EQ(changed_fields(parsed<TypeParam>(line_of(words))), changed_fields(request)) << name;
    }
}

TYPED_TEST(Requests, RefuseNumbersOutOfRangeInEveryDialect) {
    for (const FieldValue& each : fields_of(TypeParam())) {
        if (!each.field.bounded()) continue;
        const std::string beyond = field_words(each.field.high + 1);
        EXPECT_THROW(parsed<TypeParam>({each.field.option(), beyond}), CLI::ParseError) << each.field.name;
        TypeParam read;
        const std::string message = test::error_of([&] {
            io::read_fields({{each.field.key(), each.field.high + 1}}, read, "file.json");
        });
        EXPECT_THAT(message, HasSubstr("file.json")) << each.field.name;
        EXPECT_THAT(message, HasSubstr(each.field.key())) << each.field.name;
    }
}

TYPED_TEST(Requests, RefuseFractionsOfWholeNumbersInEveryDialect) {
    TypeParam all;
    describe(all, [&](const Field& field, const auto& value) {
        using T = std::decay_t<decltype(value)>;
        if constexpr (is_number<T> && std::is_integral_v<T>) {
            const double between = static_cast<double>(field.low) + 0.5;
            EXPECT_THROW(parsed<TypeParam>({field.option(), field_words(between)}), CLI::ParseError) << field.name;
            TypeParam read;
            EXPECT_THAT(test::error_of([&] {
                            io::read_fields({{field.key(), between}}, read, "file.json");
                        }),
                        testing::AllOf(HasSubstr("file.json"), HasSubstr(field.key()), HasSubstr("a whole number")))
                << field.name;
        } else if constexpr (std::is_same_v<T, Indices>) {
            TypeParam read;
            EXPECT_THAT(test::error_of([&] {
                            io::read_fields({{field.key(), {1, 2.5}}}, read, "file.json");
                        }),
                        testing::AllOf(HasSubstr("file.json"), HasSubstr(field.key()), HasSubstr("whole numbers")))
                << field.name;
        }
    });
}

TYPED_TEST(Requests, RefuseFieldsThatMeanNothing) {
    for (const auto& [name, request] : changed_requests<TypeParam>()) {
        bool relevant = true;
        describe(request, [&, &name = name](const Field& field, const auto&) {
            if (field.name == name) relevant = field.relevant;
        });
        if (name == "all" || relevant) continue;
        const auto given = [&name = name](const Field& field) { return field.name == name; };
        EXPECT_THAT(test::error_of([&, &request = request] { check_relevant(request, given); }),
                    HasSubstr("--" + name + " is for "))
            << name;
        TypeParam reset = request;
        reset_fields(reset, [](const Field& field) { return !field.relevant; });
        EXPECT_EQ(io::fields_json(reset), io::fields_json(TypeParam())) << name;
        for (const auto& [changed, words] : changed_fields(request))
            EXPECT_NE(changed, name) << "is written though it means nothing";
    }
}

TEST(RequestJson, ErrorsNameFileAndKey) {
    figure::MapRequest read;
    EXPECT_THAT(test::error_of([&] {
                    io::read_fields({{"method", "magic"}}, read, "s.headlight");
                }),
                testing::AllOf(HasSubstr("s.headlight"), HasSubstr("method"), HasSubstr("pca, "), HasSubstr("magic")));
    EXPECT_THAT(test::error_of([&] {
                    io::read_fields({{"tokens", "many"}}, read, "s.headlight");
                }),
                testing::AllOf(HasSubstr("wrong kind"), HasSubstr("tokens"), HasSubstr("many")));
}

}  // namespace
}  // namespace headlight::cli
