// SPDX-License-Identifier: GPL-3.0-or-later
// A trace without its model, and attention that transformers computed (tests/golden/make_attention_fixture.py).
#include "headlight/io/npz.h"
#include "headlight/io/safetensors.h"
#include "tests/cli/program.h"
#include "tests/support/torch_archive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>

namespace headlight {
namespace saved_trace_test {

using test::done;
using test::headlight;
using test::joined;
using test::little;
using test::Outcome;
using test::refused;
using test::TempFolder;
using testing::AllOf;
using testing::HasSubstr;

const std::string kText = "The doctor asked the nurse because she was late.";
const std::string kFixtures = test::fixture("");

std::string npy(const std::string& type, const std::string& shape, const std::string& data) {
    std::string header = "{'descr': '" + type + "', 'fortran_order': False, 'shape': " + shape + ", }";
    header.resize((header.size() + 10 + 63) / 64 * 64 - 10, ' ');
    return "\x93NUMPY\x01" + std::string(1, '\0') + little(header.size(), 2) + header + data;
}

std::string floats(const std::vector<float>& values) {
    return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

/// Single letters as NumPy's '<U1'.
std::string letters(const std::string& text) {
    std::string data;
    for (const char c : text) data += little(static_cast<unsigned char>(c), 4);
    return npy("<U1", "(" + std::to_string(text.size()) + ",)", data);
}

std::string attention(const std::string& shape, const std::vector<float>& values, const std::string& tokens = "ab") {
    return test::zip_of({{"attention.npy", npy("<f4", shape, floats(values))}, {"tokens.npy", letters(tokens)}});
}

/// The arrays that a view draws.
io::NpzContent drawn(const TempFolder& folder, const std::vector<std::string>& of, const std::vector<std::string>& how) {
    const std::filesystem::path file = folder / "drawn.npz";
    std::filesystem::remove(file);  // of the figure before
    done(headlight(joined(joined({"render"}, of), joined(how, {"--out", file}))));
    return io::read_npz(file);
}

void expect_equal(const io::NpzContent& a, const io::NpzContent& b, double tolerance = 0) {
    ASSERT_EQ(a.arrays.size(), b.arrays.size());
    for (const auto& [name, view] : a.arrays) {
        ASSERT_TRUE(b.arrays.contains(name)) << name;
        const io::TensorView& other = b.arrays.at(name);
        ASSERT_EQ(view.shape, other.shape) << name;
        if (view.dtype != io::DType::F32) continue;
        for (std::int64_t i = 0; i < view.numel(); ++i) {
            float x = 0, y = 0;
            std::memcpy(&x, view.bytes.data() + 4 * i, 4);
            std::memcpy(&y, other.bytes.data() + 4 * i, 4);
            if (std::isnan(x) && std::isnan(y)) continue;
            ASSERT_NEAR(x, y, tolerance) << name << " " << i;
        }
    }
}

TEST(SavedTrace, DrawsWhatTheModelDrew) {
    const TempFolder folder;
    for (const char* ending : {"t.safetensors", "t.npz"}) {
        const std::string file = folder / ending;
        done(headlight({"trace", "novella-7m", "--text", kText, "--out", file}));
        for (const std::string view : {"matrix", "head", "model"}) {
            std::vector<std::string> how{"--view", view};
            if (view != "model") how.insert(how.end(), {"--layer", "4", "--heads", "5"});
            expect_equal(drawn(folder, {"novella-7m", "--text", kText}, how), drawn(folder, {file}, how));
        }
    }
}

TEST(SavedTrace, MeasuresWhatNeedsPatternsOnly) {
    const TempFolder folder;
    const std::string file = folder / "t.safetensors";
    done(headlight({"trace", "novella-7m", "--text", kText, "--capture", "*hook_pattern", "--out", file}));
    const auto table = [&](const std::vector<std::string>& what, const char* name) {
        const std::string out = folder / name;
        done(headlight(joined(joined({"analyze", "heads"}, what), {"--out", out})));
        return io::read_npz(out);
    };
    const io::NpzContent of_model = table({"novella-7m", "--text", kText}, "a.npz"), of_file = table({file}, "b.npz");
    for (const char* measure : {"entropy", "mean_distance", "share_first", "share_previous", "induction"}) {
        ASSERT_TRUE(of_file.arrays.contains(measure)) << measure;
        const io::TensorView &a = of_model.arrays.at(measure), &b = of_file.arrays.at(measure);
        ASSERT_EQ(a.numel(), 48);
        for (std::int64_t i = 0; i < 48; ++i) {
            double x = 0, y = 0;
            std::memcpy(&x, a.bytes.data() + 8 * i, 8);
            std::memcpy(&y, b.bytes.data() + 8 * i, 8);
            if (std::isnan(x) && std::isnan(y)) continue;
            // A pass takes the entropy from its softmax, a saved pattern gives it from weights in float32.
            EXPECT_NEAR(x, y, measure == std::string("entropy") ? 1e-7 : 1e-9) << measure << " " << i;
        }
    }
}

TEST(SavedTrace, SaysWhatIsMissing) {
    const TempFolder folder;
    const std::string file = folder / "t.safetensors", out = folder / "f.svg";
    done(headlight({"trace", "novella-7m", "--text", kText, "--out", file}));
    refused(headlight({"render", file, "--view", "lens", "--out", out}), 1,
            testing::AllOf(HasSubstr("more than attention patterns"), HasSubstr("Open the model itself")));
    EXPECT_THAT(headlight({"analyze", "lens", file, "--text", "x"}).err, HasSubstr("saved trace without its model"));
    refused(headlight({"render", file, "--text", "x", "--view", "head", "--out", out}), 2, HasSubstr("its own text"));
    const std::string no_patterns = folder / "n.safetensors";
    done(headlight({"trace", "novella-7m", "--text", kText, "--capture", "logits", "--out", no_patterns}));
    EXPECT_THAT(headlight({"render", no_patterns, "--view", "head", "--out", out}).err,
                AllOf(HasSubstr("pattern of every layer"), HasSubstr("--capture '*hook_pattern'")));
}

TEST(Attention, EqualsOurOwnOfTheSameModel) {
    const TempFolder folder;
    for (const char* name : {"gpt2", "bert"}) {
        for (const char* layer : {"0", "1"}) {
            const std::vector<std::string> how{"--view", "matrix", "--layer", layer, "--heads", "1"};
            const std::vector<std::string> model{kFixtures + "models/" + name, "--text", "the doctor asked the nurse"};
            expect_equal(drawn(folder, model, how), drawn(folder, {kFixtures + "attention/" + name + ".npz"}, how), 1e-5);
        }
    }
}

struct Bad {
    const char* name;
    std::string content;
    const char* message;
};
void PrintTo(const Bad& bad, std::ostream* out) { *out << bad.name; }

const std::vector<Bad>& bad_files() {
    static const std::vector<Bad> all{
        {"NoArchive", "hello", "Not a zip archive"},
        {"NoAttention", test::zip_of({{"x.npy", npy("<f4", "(1,)", floats({1}))}}), "holds no attention"},
        {"NoTokens", test::zip_of({{"attention.npy", npy("<f4", "(1, 1, 1, 1)", floats({1}))}}), "has no tokens"},
        {"Batch", attention("(1, 1, 1, 2, 2)", {1, 0, 0.5, 0.5}), "attention[:, 0]"},
        {"ThreeAxes", attention("(1, 2, 2)", {1, 0, 0.5, 0.5}), "expected [layer, head, query, key], found [1, 2, 2]"},
        {"NotSquare", attention("(1, 1, 1, 2)", {0.5, 0.5}), "not square"},
        {"Empty", attention("(0, 1, 2, 2)", {}), "Attention is empty"},
        {"TokensTooFew", attention("(1, 1, 2, 2)", {1, 0, 0.5, 0.5}, "a"), "Tokens and attention do not fit"},
        {"NotANumber", attention("(1, 1, 2, 2)", {1, 0, NAN, 0.5}), "layer 0, head 0, query 1, key 0"},
        {"Scores", attention("(1, 1, 2, 2)", {1, 0, -3.5, 0.5}), "not the scores before it"},
        {"WholeNumbers",
         test::zip_of({{"attention.npy", npy("<i4", "(1, 1, 1, 1)", little(1, 4))}, {"tokens.npy", letters("a")}}),
         "expected floating-point numbers, found I32"},
        {"Objects",
         test::zip_of(
             {{"attention.npy", npy("<f4", "(1, 1, 1, 1)", floats({1}))}, {"tokens.npy", npy("|O", "(1,)", "\x80\x03N.")}}),
         "never unpickled"},
        {"BytesDoNotFit", attention("(1, 1, 3, 3)", {1, 0, 0.5, 0.5}), "Shape and bytes do not fit"},
        {"ShapeOverflows", attention("(4294967296, 4294967296, 2, 2)", {1}), "overflows 64 bits"},
        {"NegativeShape", attention("(-1, 1, 2, 2)", {1}), "Wrong shape"},
        {"BigEndian", test::zip_of({{"attention.npy", npy(">f4", "(1, 1, 1, 1)", floats({1}))}, {"tokens.npy", letters("a")}}),
         "type that is not read"},
        {"SentenceB",
         test::zip_of({{"attention.npy", npy("<f4", "(1, 1, 1, 1)", floats({1}))},
                       {"tokens.npy", letters("a")},
                       {"sentence_b_start.npy", npy("<i8", "()", little(5, 8))}}),
         "outside the text"},
    };
    return all;
}

class BadAttention : public testing::TestWithParam<Bad> {};

TEST_P(BadAttention, IsToldByName) {
    const TempFolder folder;
    const std::string file = folder.write("attention.npz", GetParam().content), out = folder / "f.svg";
    refused(headlight({"render", file, "--view", "head", "--layer", "0", "--out", out}), 1,
            testing::AllOf(HasSubstr(GetParam().message), HasSubstr("attention.npz")));
    EXPECT_FALSE(std::filesystem::exists(out));
}

INSTANTIATE_TEST_SUITE_P(All, BadAttention, testing::ValuesIn(bad_files()),
                         [](const auto& bad) { return std::string(bad.param.name); });

TEST(Attention, AListOfLayersIsOneArray) {
    const TempFolder folder;
    const std::vector<float> first{1, 0, 0.5, 0.5}, second{1, 0, 0.25, 0.75};
    const std::string list = folder.write("list.npz", test::zip_of({{"arr_0.npy", npy("<f4", "(1, 2, 2)", floats(first))},
                                                                    {"arr_1.npy", npy("<f4", "(1, 1, 2, 2)", floats(second))},
                                                                    {"tokens.npy", letters("ab")}}));
    const std::string one = folder.write("one.npz", attention("(2, 1, 2, 2)", {1, 0, 0.5, 0.5, 1, 0, 0.25, 0.75}));
    for (const char* layer : {"0", "1"}) {
        const std::vector<std::string> how{"--view", "matrix", "--layer", layer};
        expect_equal(drawn(folder, {list}, how), drawn(folder, {one}, how));
    }
    const std::string uneven = folder.write("uneven.npz", test::zip_of({{"arr_0.npy", npy("<f4", "(1, 2, 2)", floats(first))},
                                                                        {"arr_1.npy", npy("<f4", "(1, 1, 1)", floats({1}))},
                                                                        {"tokens.npy", letters("ab")}}));
    refused(headlight({"info", uneven}), 1, AllOf(HasSubstr("arr_1"), HasSubstr("[1, 2, 2]")));
}

TEST(Attention, ThreeOfThemAreAnEncoderDecoder) {
    const TempFolder folder;
    std::map<std::string, std::string> members{
        {"encoder_attention.npy", npy("<f4", "(1, 1, 3, 3)", floats({1, 0, 0, 0, 1, 0, 0.25, 0.25, 0.5}))},
        {"decoder_attention.npy", npy("<f4", "(1, 1, 2, 2)", floats({1, 0, 0.5, 0.5}))},
        {"cross_attention.npy", npy("<f4", "(1, 1, 2, 3)", floats({0.25, 0.75, 0, 0.5, 0, 0.5}))},
        {"encoder_tokens.npy", letters("abc")},
        {"decoder_tokens.npy", letters("cd")}};
    const auto zip = [&] {
        return test::zip_of(std::vector<std::pair<std::string, std::string>>(members.begin(), members.end()));
    };
    const std::string file = folder.write("three.npz", zip());
    const io::NpzContent cross = drawn(folder, {file}, {"--view", "matrix", "--layer", "0", "--attention", "cross"});
    const auto weights = std::ranges::find_if(cross.arrays, [](const auto& each) { return each.second.numel() == 6; });
    ASSERT_NE(weights, cross.arrays.end());
    for (const char* which : {"encoder", "self"})
        done(headlight({"render", file, "--view", "head", "--layer", "0", "--attention", which, "--out", folder / "f.svg"}));
    EXPECT_THAT(done(headlight({"info", file})).out, AllOf(HasSubstr("a saved trace of three"), HasSubstr("float32")));
    members.erase("decoder_attention.npy");
    refused(headlight({"info", folder.write("two.npz", zip())}), 1, HasSubstr("decoder_attention"));
    refused(headlight({"info", folder.write("rectangle.npz", attention("(1, 1, 1, 2)", {0.5, 0.5}))}), 1,
            HasSubstr("cross_attention"));
}

TEST(Attention, RowsThatDoNotSumToOneAreAWarning) {
    const TempFolder folder;
    const std::string file = folder.write("attention.npz", attention("(1, 1, 2, 2)", {1, 0, 0.5, 0.25}));
    const Outcome outcome = done(headlight({"render", file, "--view", "matrix", "--layer", "0", "--out", folder / "f.csv"}));
    EXPECT_THAT(outcome.err, HasSubstr("1 of 2 rows do not sum to one (the first: layer 0, head 0, query 1: 0.75"));
}

TEST(KvCache, IsTheFormulaOfItsTable) {
    const Outcome outcome = done(headlight(
        {"analyze", "kv-cache", kFixtures + "models/llama-kv2", "--context", "100", "--batch", "3", "--cache-dtype", "float32"}));
    const std::string info = headlight({"info", kFixtures + "models/llama-kv2", "--json"}).out;
    const auto number = [&](const std::string& key) {
        return std::stoll(info.substr(info.find("\"" + key + "\":") + key.size() + 3));
    };
    const long long heads = number("n_heads"), groups = number("n_kv_heads"), width = number("d_head"),
                    layers = number("n_layers");
    const auto row = [&](const char* scheme, const std::string& what, bool own, long long elements) {
        return '"' + std::string(scheme) + "\",\"" + what + "\"," + (own ? "1" : "0") + ",100," + std::to_string(elements) + "," +
               std::to_string(elements * 100 * 3 * 4) + ",";
    };
    EXPECT_THAT(outcome.out,
                HasSubstr(row("MHA", std::to_string(heads) + " key/value heads", false, 2 * heads * width * layers)));
    EXPECT_THAT(outcome.out,
                HasSubstr(row("GQA", std::to_string(groups) + " key/value heads", true, 2 * groups * width * layers)));
    EXPECT_THAT(outcome.out, HasSubstr(row("MQA", "1 key/value head", false, 2 * width * layers)));
    EXPECT_THAT(outcome.out,
                HasSubstr(row("MLA", "latent " + std::to_string(4 * width) + " + rotary " + std::to_string(width / 2), false,
                              (4 * width + width / 2) * layers)));
    EXPECT_EQ(headlight({"analyze", "kv-cache", kFixtures + "models/llama-kv2", "--groups", "3"}).code, 1);
}

}  // namespace saved_trace_test
}  // namespace headlight
