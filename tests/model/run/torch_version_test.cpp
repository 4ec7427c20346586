// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/base/error.h"
#include "headlight/model/runtime.h"

#include <ATen/Version.h>
#include <gtest/gtest.h>
#include <torch/csrc/api/include/torch/version.h>

namespace headlight::model {
namespace {

TEST(TorchVersion, OfThisBuildIsItsOwn) {
    EXPECT_NE(at::show_config().find("TORCH_VERSION="), std::string::npos) << "the check would find nothing";
    EXPECT_NO_THROW(require_same_torch(TORCH_VERSION, at::show_config()));
}

TEST(TorchVersion, AnotherMinorIsNamedAnotherPatchIsNot) {
    EXPECT_NO_THROW(require_same_torch("2.7.0", "PERF_WITH_AVX=1, TORCH_VERSION=2.7.1, USE_CUDA=ON"));
    try {
        require_same_torch("2.7.1", "PERF_WITH_AVX=1, TORCH_VERSION=2.15.0, USE_CUDA=ON");
        FAIL() << "2.15 is not 2.7";
    } catch (const Error& error) {
        const std::string text = error.what();
        EXPECT_NE(text.find("2.7"), std::string::npos) << text;
        EXPECT_NE(text.find("2.15.0"), std::string::npos) << text;
        EXPECT_NE(text.find("HEADLIGHT_TORCH_DIR"), std::string::npos) << text;
    }
    EXPECT_THROW(require_same_torch("2.1.0", "TORCH_VERSION=2.15.0"), Error);
}

}  // namespace
}  // namespace headlight::model
