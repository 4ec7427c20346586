// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/io/hash.h"
#include "headlight/io/safetensors.h"
#include "tests/cli/program.h"

#include <nlohmann/json.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace headlight {
namespace trace_test {

using nlohmann::json;
using test::done;
using test::headlight;
using test::joined;
using test::Outcome;
using test::refused;
using test::TempFolder;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string kText = "The doctor asked the nurse because she was late.";

std::vector<float> floats(const io::TensorView& view) {
    std::vector<float> values(static_cast<std::size_t>(view.numel()));
    std::memcpy(values.data(), view.bytes.data(), view.bytes.size());
    return values;
}

TEST(Trace, WritesEveryHookUnderItsName) {
    const TempFolder folder;
    const auto file = folder / "t.safetensors";
    const Outcome outcome = done(headlight({"trace", "novella-7m", "--text", kText, "--capture", "all", "--out", file}));
    EXPECT_THAT(outcome.out, IsEmpty());
    EXPECT_EQ(folder.count(), 1u);
    const io::TensorStore store = io::TensorStore::open_file(file);
    const auto& metadata = store.metadata();
    const json tokens = json::parse(metadata.at("tokens"));
    const auto n = static_cast<std::int64_t>(tokens["ids"].size());
    EXPECT_EQ(tokens, json::parse(headlight({"tokenize", "novella-7m", "--text", kText, "--json"}).out));
    EXPECT_EQ(metadata.at("text"), kText);
    EXPECT_EQ(metadata.at("dtype"), "float32");
    EXPECT_EQ(metadata.at("version"), "0.1.0");
    EXPECT_THAT(metadata.at("model"), testing::EndsWith("/models/novella-7m"));
    EXPECT_EQ(metadata.at("model_hash").size(), 64u);

    using Shape = std::vector<std::int64_t>;
    EXPECT_EQ(store.find("logits")->shape, (Shape{n, 8192}));
    for (int layer = 0; layer < 6; ++layer) {
        const std::string block = "blocks." + std::to_string(layer) + ".";
        EXPECT_EQ(store.find(block + "hook_resid_pre")->shape, (Shape{n, 256}));
        EXPECT_EQ(store.find(block + "attn.hook_q")->shape, (Shape{n, 8, 32}));
        EXPECT_EQ(store.find(block + "attn.hook_result")->shape, (Shape{n, 8, 256}));
        ASSERT_EQ(store.find(block + "attn.hook_pattern")->shape, (Shape{8, n, n}));
        const std::vector<float> pattern = floats(*store.find(block + "attn.hook_pattern"));
        for (std::int64_t row = 0; row < 8 * n; ++row) {
            double sum = 0;
            for (std::int64_t key = 0; key < n; ++key) {
                const float weight = pattern[static_cast<std::size_t>(row * n + key)];
                sum += weight;
                ASSERT_TRUE(weight == 0 || key <= row % n) << "a key that lies ahead";
            }
            ASSERT_NEAR(sum, 1, 1e-5);
        }
    }
}

TEST(Trace, SameCallWritesTheSameFile) {
    const TempFolder folder;
    for (const char* extension : {".safetensors", ".npz"}) {
        std::vector<std::string> hashes;
        for (const char* name : {"a", "b"}) {
            const auto file = folder / (std::string(name) + extension);
            done(headlight({"trace", "novella-7m", "--text", kText, "--out", file, "--quiet"}));
            hashes.push_back(io::sha256_file(file));
        }
        EXPECT_EQ(hashes[0], hashes[1]) << extension;
    }
}

TEST(Trace, CaptureChoosesByGlob) {
    const TempFolder folder;
    const auto file = folder / "t.safetensors";
    refused(headlight({"trace", "novella-7m", "--text", kText, "--capture", "blocks.[0-9].x,logits", "--out", file}), 1,
            HasSubstr("blocks.[0-9].x"));
    EXPECT_EQ(folder.count(), 0u);
    done(headlight({"trace", "novella-7m", "--text", kText, "--capture", "blocks.*.attn.hook_pattern,logits", "--out", file}));
    EXPECT_EQ(io::TensorStore::open_file(file).tensors().size(), 7u);
}

TEST(Trace, ComputesInTheTypeThatWasAskedFor) {
    const TempFolder folder;
    std::map<std::string, io::TensorStore> stores;
    for (const char* dtype : {"float32", "float64", "bfloat16"}) {
        const auto file = folder / (std::string(dtype) + ".safetensors");
        done(headlight({"trace", "novella-7m", "--text", kText, "--capture", "logits", "--dtype", dtype, "--out", file}));
        stores.emplace(dtype, io::TensorStore::open_file(file));
        EXPECT_EQ(stores.at(dtype).metadata().at("dtype"), dtype);
    }
    EXPECT_EQ(stores.at("float64").find("logits")->dtype, io::DType::F64);
    EXPECT_EQ(stores.at("bfloat16").find("logits")->dtype, io::DType::BF16);
    const std::vector<float> f32 = floats(*stores.at("float32").find("logits"));
    std::vector<double> f64(f32.size());
    std::memcpy(f64.data(), stores.at("float64").find("logits")->bytes.data(), f64.size() * 8);
    double largest = 0, difference = 0;
    for (std::size_t i = 0; i < f32.size(); ++i) {
        largest = std::max(largest, std::abs(f64[i]));
        difference = std::max(difference, std::abs(f64[i] - static_cast<double>(f32[i])));
    }
    EXPECT_LT(difference, 2e-5 * largest);
    EXPECT_GT(difference, 0);  // float64 was really computed, not widened at the end
}

TEST(Trace, OneTokenIsEnough) {
    const TempFolder folder;
    done(headlight({"trace", "novella-7m", "--text", "a", "--capture", "all", "--out", folder / "t.npz"}));
}

TEST(Trace, RefusesAndLeavesNothing) {
    const TempFolder folder;
    const auto fails = [&](const std::vector<std::string>& arguments, const std::string& message, int code) {
        const Outcome outcome = refused(headlight(joined({"trace", "novella-7m"}, arguments)), code, HasSubstr(message));
        EXPECT_THAT(outcome.out, IsEmpty());
    };
    const std::string out = folder / "t.npz";
    fails({"--text", kText, "--out", folder / "t.csv"}, "ends neither in .safetensors nor in .npz", 2);
    fails({"--text", kText}, "--out is required", 2);
    fails({"--text", kText, "--capture", ",", "--out", out}, "--capture: no hook is named", 2);
    fails({"--text", kText, "--dtype", "floot32", "--out", out}, "did you mean float32?", 2);
    fails({"--text", kText, "--out", folder / "none/t.npz"}, "No such file", 1);
    fails({"--text", kText, "--out", "/dev/full.npz/x.npz"}, "Cannot create the file", 1);
    fails({"--text", "", "--out", out}, "There is nothing in the text", 1);
    fails({"--text", "\xff", "--out", out}, "UTF-8", 1);
    fails({"--text", kText, "--capture", "hook_patern", "--out", out}, "hook_pattern", 1);
    fails({"--text", kText, "--device", "cuda", "--threads", "1", "--out", "/proc/x.npz"}, "", 1);
    EXPECT_EQ(folder.count(), 0u);
}

// 150,000 tokens: this model has a soft limit (ALiBi), so what stops it is the disk, or memory, told before the run with numbers.
TEST(Trace, RefusesWhatFitsNeitherOntoTheDiskNorIntoMemory) {
    const TempFolder folder;
    std::string text;
    for (int i = 0; i < 150'000; ++i) text += " the";
    const std::string file = folder.write("long.txt", text);
    refused(headlight({"trace", "novella-7m", "--text-file", file, "--capture", "*hook_pattern", "--out", folder / "t.npz"}), 1,
            testing::AllOf(HasSubstr("does not fit onto its disk"), HasSubstr("hook_pattern 432"), HasSubstr("GB free")));
    EXPECT_EQ(folder.count(), 1u);
}

TEST(Trace, SaysBeforeTheWorkThatTheBudgetIsTooSmallOrMoreThanIsFree) {
    const TempFolder folder;
    const auto notes = [&](const char* gigabytes) {
        return done(headlight({"trace", "novella-7m", "--text", kText, "--memory", gigabytes, "--out", folder / "t.npz"})).err;
    };
    EXPECT_THAT(notes("0.0001"), HasSubstr("this run needs about"));
    EXPECT_THAT(notes("0.0001"), HasSubstr("more than --memory allows (100 kB)"));
    EXPECT_THAT(notes("900000"), HasSubstr("--memory is 900000.0 GB, and only"));
    EXPECT_THAT(notes("1"), testing::Not(HasSubstr("--memory")));
}

// The shell's limit on file sizes stands for a full disk: the old file stays, nothing lies beside it.
TEST(Trace, FullDiskLeavesTheOldFile) {
    const TempFolder folder;
    const auto file = folder.write("t.npz", "old");
    const std::string command = "ulimit -f 64; '" + std::string(HEADLIGHT_PROGRAM) + "' trace novella-7m --text 'a b c' --out '" +
                                file.string() + "' 2> /dev/null";
    const int status = std::system(command.c_str());
    EXPECT_EQ(WEXITSTATUS(status), 1);
    EXPECT_EQ(test::slurp(file), "old");
    EXPECT_EQ(folder.count(), 1u);
}

// Learned positions end: more tokens than the model takes is an error that names both numbers, whatever the length.
TEST(Trace, RefusesMoreTokensThanTheModelTakes) {
    const TempFolder folder;
    const std::string model = test::fixture("models/gpt2");
    for (const int words : {60, 100'000}) {
        std::string text;
        for (int i = 0; i < words; ++i) text += "a ";
        const Outcome outcome =
            refused(headlight({"trace", model, "--text", "-", "--out", folder / "t.npz"}, text), 1, HasSubstr("40"));
        EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
        EXPECT_EQ(folder.count(), 0u);
    }
}

}  // namespace trace_test
}  // namespace headlight
