// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/model/hook_name.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace headlight::model {
namespace hook_name_test {

ModelConfig config_with_everything() {
    ModelConfig c;
    c.n_layers = 2;
    c.type_vocab_size = 2;
    c.embed_norm = true;
    c.mlm_head = true;
    c.gated_mlp = true;
    c.positions = Positions::rotary;
    return c;
}

TEST(HookName, EveryNameComesBackAsTheSamePoint) {
    for (const HookPoint& point : hooks_of(config_with_everything())) {
        const auto parsed = parse_hook(name_of(point));
        ASSERT_TRUE(parsed) << name_of(point);
        EXPECT_EQ(*parsed, point) << name_of(point);
    }
    EXPECT_EQ(name_of({Hook::q, Layer(3)}), "blocks.3.attn.hook_q");
    EXPECT_EQ(name_of({Hook::logits, Layer(0)}), "logits");
}

TEST(HookName, WhatIsNoHookIsNotTakenForOne) {
    for (const char* name : {"", "blocks", "blocks.", "blocks.1", "blocks.x.attn.hook_q", "blocks.-1.attn.hook_q",
                             "blocks.0.hook_embed", "attn.hook_q", "blocks.99999999999999999999.attn.hook_q", "hook_embed "})
        EXPECT_FALSE(parse_hook(name)) << name;
}

TEST(HookName, PostNormModelsNormaliseAfterTheSubLayer) {
    ModelConfig c = config_with_everything();
    c.post_norm = true;
    const auto hooks = hooks_of(c);
    const auto at = [&](Hook hook) { return std::ranges::find(hooks, HookPoint{hook, Layer(1)}) - hooks.begin(); };
    EXPECT_LT(at(Hook::attn_out), at(Hook::ln1_scale));
    EXPECT_LT(at(Hook::ln1_normalized), at(Hook::resid_mid));
    EXPECT_LT(at(Hook::mlp_out), at(Hook::ln2_scale));
    EXPECT_LT(at(Hook::ln2_normalized), at(Hook::resid_post));
}

TEST(GlobMatch, StarsAndQuestionMarks) {
    EXPECT_TRUE(glob_match("blocks.*.attn.hook_?", "blocks.11.attn.hook_q"));
    EXPECT_FALSE(glob_match("blocks.*.attn.hook_?", "blocks.11.attn.hook_rot_q"));
    EXPECT_TRUE(glob_match("*a*b*", "xxaxxabxx"));
    EXPECT_FALSE(glob_match("*a*b", "ab*"));
    EXPECT_TRUE(glob_match("*", ""));
    EXPECT_TRUE(glob_match("a*", "a*"));
    EXPECT_FALSE(glob_match("", "a"));
}

}  // namespace hook_name_test
}  // namespace headlight::model
