// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/base/error.h"
#include "headlight/base/facts_of.h"
#include "headlight/base/job.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <any>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <new>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

namespace headlight {
namespace error_test {

TEST(Error, SaysEveryFactOnOneLine) {
    const Error e(ErrorFacts{.problem = "Wrong shape",
                             .file = "model.safetensors",
                             .item = "wte.weight",
                             .expected = "[4, 8]",
                             .found = "[4, 7]",
                             .hint = "Check config.json"});
    EXPECT_STREQ(e.what(), "Wrong shape: model.safetensors, wte.weight: expected [4, 8], found [4, 7]. Check config.json");
}

TEST(Error, LeavesOutWhatIsNotKnown) {
    EXPECT_STREQ(Error(ErrorFacts{.problem = "no text", .hint = "Type one"}).what(), "no text. Type one");
}

TEST(Error, CutsNamesAndValuesOfAnyLength) {
    const std::string name(400'000, 'x');
    const std::string half = std::string(199, 'x') + "ä" + name;  // the cut is not inside a character
    const Error e(ErrorFacts{.problem = "Unknown " + name, .item = "tensor " + half + ", tensor b", .found = "[" + name});
    EXPECT_LT(std::string(e.what()).size(), 1000u);
    EXPECT_EQ(e.facts().item, "tensor " + std::string(199, 'x') + "…" + " tensor b");
    EXPECT_EQ(e.facts().found, "[" + std::string(199, 'x') + "…");
    // A list keeps its entries.
    std::string list;
    for (int i = 0; i < 60; ++i) list += (i ? ", entry" : "entry") + std::to_string(i);
    EXPECT_EQ(Error(ErrorFacts{.problem = "p", .expected = list}).facts().expected, list);
}

TEST(CancelToken, CopiesShareTheFlag) {
    CancelToken a;
    const CancelToken b = a;
    a.cancel();
    EXPECT_THROW(b.throw_if_cancelled(), Cancelled);
}

TEST(FactsOf, WhatALackOfMemorySaysIsOneSentence) {
    // As LibTorch says it.
    const std::runtime_error at_libtorch(
        "[enforce fail at alloc_cpu.cpp:114] data. DefaultCPUAllocator: not enough memory: you tried to allocate 8589934592 bytes. "
        "Error code 12 (Cannot allocate memory)\nframe #0: c10::ThrowEnforceNotMet(...)");
    const std::runtime_error can_not("DefaultCPUAllocator: can't allocate memory: you tried to allocate 2000 bytes.\nframe #0");
    for (const std::exception* error : std::initializer_list<const std::exception*>{&at_libtorch, &can_not}) {
        const ErrorFacts facts = facts_of(*error);
        EXPECT_EQ(facts.problem, "There is not enough memory");
        EXPECT_FALSE(facts.hint.empty());
    }
    // A GPU's memory is another one, which --memory does not set.
    const std::runtime_error at_cuda("CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity of 79.19 GiB");
    EXPECT_EQ(facts_of(at_cuda).problem, "The GPU does not have enough memory");
    EXPECT_EQ(facts_of(at_libtorch).found, "no room for another 8590 MB");
    EXPECT_EQ(facts_of(std::bad_alloc()).problem, "There is not enough memory");
    EXPECT_EQ(facts_of(std::bad_alloc()).found, "");
    EXPECT_EQ(facts_of(std::runtime_error("The size is wrong\nframe #0: …")).problem, "The size is wrong");
    EXPECT_EQ(facts_of(Error(ErrorFacts{.problem = "no text", .hint = "Type one"})).hint, "Type one");
}

TEST(FactsOf, WhatTheSystemRefusesNamesAFileOnlyIfItIsOfOne) {
    set_file_at_hand("store/merged.safetensors");
    const ErrorFacts thread = facts_of(std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again)));
    EXPECT_EQ(thread.problem, "The system refused an operation");
    EXPECT_EQ(thread.file, "");
    EXPECT_FALSE(thread.found.empty());
    const ErrorFacts file =
        facts_of(std::filesystem::filesystem_error("x", "/a/b", std::make_error_code(std::errc::permission_denied)));
    EXPECT_EQ(file.problem, "The system refused an operation on a file");
    EXPECT_EQ(file.file, "/a/b");
}

TEST(FactsOf, KeepsTheStandardLibrarysWordsFromUsers) {
    set_file_at_hand("store/merged.safetensors");
    const std::vector<std::function<void()>> faults{[] { (void)std::vector<int>{}.at(3); },
                                                    [] { (void)std::string("x").substr(7); },
                                                    [] { std::vector<int>().resize(std::numeric_limits<std::size_t>::max()); },
                                                    [] { (void)std::stoi("x"); },
                                                    [] { (void)std::map<int, int>{}.at(1); },
                                                    [] { (void)std::optional<int>{}.value(); },
                                                    [] { (void)std::any_cast<int>(std::any(1.0)); },
                                                    [] { std::filesystem::create_directory("/proc/version/x"); },
                                                    [] { (void)nlohmann::json::parse("{}").at("key"); }};
    for (const auto& fault : faults) try {
            fault();
            ADD_FAILURE() << "no exception";
        } catch (const std::exception& error) {
            const std::string said = Error(facts_of(error)).what();
            SCOPED_TRACE(said);
            for (const char* word : {"std::", "_M_", "basic_", "stoi", "map::at", "bad_", "filesystem error", "json.exception"})
                EXPECT_EQ(said.find(word), std::string::npos) << word;
            EXPECT_TRUE(said.find("store/merged.safetensors") != std::string::npos ||
                        said.find("/proc/version/x") != std::string::npos);
        }
}

}  // namespace error_test
}  // namespace headlight
