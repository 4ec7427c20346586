// SPDX-License-Identifier: GPL-3.0-or-later
// Every hook of every family against Hugging Face transformers (tests/golden/make_golden.py).
#include "headlight/model/runtime.h"
#include "tests/model/run_all.h"
#include "tests/support/case_name.h"

#include <gtest/gtest.h>

#include <set>

namespace headlight::model {
namespace golden_test {

/// Walks the hooks in the order of the pass and stops at the first that differs: that one names the bug.
void expect_golden(const std::filesystem::path& folder, const std::filesystem::path& file, ComputeType type, double tolerance,
                   bool all_hooks, const char* device = "cpu") {
    ASSERT_TRUE(std::filesystem::exists(file)) << "no golden " << file << ": run tests/golden/make_golden.py";
    const Golden golden = read_golden(file);
    const auto model = Model::load(folder, {.dtype = type, .device = device});
    const Collector seen = run_all(*model, golden.input);
    std::size_t compared = 0;
    for (const HookPoint& point : hooks_of(model->config())) {
        const std::string name = name_of(point);
        ASSERT_TRUE(seen.tensors.contains(name)) << "the pass does not visit " << name;
        const auto theirs = golden.tensors.find(name);
        if (theirs == golden.tensors.end()) {
            ASSERT_FALSE(all_hooks) << "the golden lacks " << name;
            continue;
        }
        const at::Tensor ours = seen.tensors.at(name);
        ASSERT_EQ(ours.sizes(), theirs->second.sizes()) << name;
        ASSERT_LE(deviation(name, ours, theirs->second), tolerance) << name << " of " << folder;
        ++compared;
    }
    EXPECT_EQ(compared, golden.tensors.size()) << "the golden has hooks that the model does not visit";
}

class GoldenTest : public testing::TestWithParam<std::string> {};

TEST_P(GoldenTest, EveryHookInFloat32) {
    expect_golden(fixture(GetParam()), golden_file(GetParam(), "f32"), ComputeType::float32, 2e-5, true);
}

TEST_P(GoldenTest, EveryHookInFloat64) {
    expect_golden(fixture(GetParam()), golden_file(GetParam(), "f64"), ComputeType::float64, 1e-10, true);
}

INSTANTIATE_TEST_SUITE_P(Fixtures, GoldenTest, testing::ValuesIn(fixture_names()),
                         [](const auto& each) { return test::case_name(each.param); });

TEST(BuiltInModel, EveryHookOnRealText) {
    const auto folder = std::filesystem::path(HEADLIGHT_SOURCE_DIR) / "models" / "novella-7m";
    expect_golden(folder, golden_file("novella-7m", "f32"), ComputeType::float32, 2e-5, false);
    expect_golden(folder, golden_file("novella-7m", "f64"), ComputeType::float64, 1e-10, false);
}

TEST(Gpu, EveryHookOfEveryFamily) {
    if (!runtime_facts().cuda) GTEST_SKIP() << "there is no GPU, or LibTorch is one without CUDA";
    for (const std::string& name : fixture_names()) {
        expect_golden(fixture(name), golden_file(name, "f32"), ComputeType::float32, 2e-5, true, "cuda");
        expect_golden(fixture(name), golden_file(name, "f64"), ComputeType::float64, 1e-10, true, "cuda");
    }
}

TEST(Registry, EveryFamilyHasAFixtureWithGoldens) {
    std::set<std::string> covered;
    for (const std::string& name : fixture_names())
        if (std::filesystem::exists(golden_file(name, "f32")) && std::filesystem::exists(golden_file(name, "f64")))
            covered.insert(Model::load(fixture(name))->config().family);
    // Those of an encoder and a decoder: encoder_decoder_test.cpp.
    for (const auto& entry : std::filesystem::directory_iterator(tests_folder() / "fixtures" / "encoder_decoders"))
        covered.insert(Model::load(entry.path())->config().family);
    // Those that update a state: state_updates_test.cpp.
    for (const auto& entry : std::filesystem::directory_iterator(tests_folder() / "fixtures" / "state_updates"))
        covered.insert(Model::load(entry.path())->config().family);
    for (const std::string& family : family_names())
        EXPECT_TRUE(covered.contains(family)) << "family " << family << " has no fixture in tests/fixtures/models with goldens";
}

}  // namespace golden_test
}  // namespace headlight::model
