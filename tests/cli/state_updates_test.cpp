// SPDX-License-Identifier: GPL-3.0-or-later
// Models whose layers have no softmax on the command line.
#include "tests/cli/program.h"

#include <nlohmann/json.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace headlight {
namespace state_updates_test {

using nlohmann::json;
using test::done;
using test::headlight;
using test::Outcome;
using test::TempFolder;
using testing::AllOf, testing::HasSubstr;

const std::string kFolder = std::string(HEADLIGHT_SOURCE_DIR) + "/tests/fixtures/state_updates/mamba2";
const char* kText = "the cat, the hat: the cat";

TEST(StateUpdateCommands, InfoNamesTheMixersAndHooks) {
    const json info = json::parse(done(headlight({"info", kFolder, "--json"})).out);
    EXPECT_THAT(info.dump(), AllOf(HasSubstr("state_space"), HasSubstr("blocks.1.attn.hook_implied")));
    EXPECT_THAT(info.dump(), testing::Not(HasSubstr("hook_pattern")));
}

TEST(StateUpdateCommands, LensPredictionsAndGenerationWork) {
    const TempFolder folder;
    for (const char* analysis : {"lens", "predictions"})
        done(headlight({"analyze", analysis, kFolder, "--text", kText, "--out", (folder.path() / "out.csv").string()}));
    done(headlight({"generate", kFolder, "--prompt", kText, "--tokens", "3"}));
    done(headlight(
        {"trace", kFolder, "--text", kText, "--capture", "*hook_implied", "--out", (folder.path() / "t.npz").string()}));
}

TEST(StateUpdateCommands, WhatNeedsAttentionIsRefusedByName) {
    const std::vector<std::vector<std::string>> commands = {
        {"analyze", "heads", kFolder, "--text", kText},
        {"analyze", "rollout", kFolder, "--text", kText},
        {"analyze", "contributions", kFolder, "--text", kText},
        {"analyze", "attribution", kFolder, "--text", kText},
        {"analyze", "focus", kFolder, "--text", kText, "--layer", "0", "--head", "0"},
        {"analyze", "induction", kFolder},
        {"analyze", "ov", kFolder, "--layer", "0", "--head", "0"},
        {"analyze", "composition", kFolder},
        {"analyze", "kv-cache", kFolder},
        {"render", kFolder, "--text", kText, "--view", "rollout", "--out", "out.png"},
    };
    for (const auto& words : commands) {
        const Outcome outcome = headlight(words);
        EXPECT_EQ(outcome.code, 1) << outcome.command << outcome.out;
        EXPECT_THAT(outcome.err, HasSubstr("softmax attention")) << outcome.command;
    }
}

}  // namespace state_updates_test
}  // namespace headlight
