// SPDX-License-Identifier: GPL-3.0-or-later
// Encoder-decoder models on the command line: files of their traces open again, and what cross attention calls its axes.
#include "headlight/io/npz.h"
#include "headlight/io/safetensors.h"
#include "tests/cli/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <cstring>
#include <map>

namespace headlight {
namespace encoder_decoder_test {

using test::cells_of;
using test::done;
using test::headlight;
using test::joined;
using test::lines_of;
using test::Outcome;
using test::refused;
using test::TempFolder;
using testing::AllOf;
using testing::HasSubstr;

std::string model_called(const std::string& name) { return test::fixture("encoder_decoders/") + name; }

/// As many tokens as the decoder takes, with its start token: none of the three last lengths makes a file without tensors.
TEST(EncoderDecoderTrace, OfTheLongestTargetHasItsTensors) {
    const TempFolder folder;
    for (int words = 38; words <= 40; ++words) {
        std::string target = "a";
        while (std::ssize(target) < 2 * words - 1) target += " a";
        const std::string file = folder / "t.safetensors";
        const auto made = headlight(
            {"trace", model_called("bart"), "--text", "the cat", "--pair", target, "--capture", "logits", "--out", file});
        if (made.code == 0)
            EXPECT_EQ(io::TensorStore::open_file(file).tensors().size(), 1U) << words;
        else
            EXPECT_GT(words, 38) << made.err;
    }
}
const std::string kSource = "the cat, the hat: the cat", kTarget = "die Katze, die";

Outcome on(const std::string& model, const std::vector<std::string>& before, const std::vector<std::string>& behind) {
    return headlight(joined(joined(before, {model, "--text", kSource, "--pair", kTarget}), behind));
}

std::vector<float> numbers_of(const io::TensorView& view) {
    std::vector<float> numbers(static_cast<std::size_t>(view.numel()));
    std::memcpy(numbers.data(), view.bytes.data(), numbers.size() * sizeof(float));
    return numbers;
}

class SavedEncoderDecoder : public testing::TestWithParam<const char*> {};

TEST_P(SavedEncoderDecoder, DrawsAllThreeAttentionsWithoutTheModel) {
    const TempFolder folder;
    for (const char* ending : {"t.safetensors", "t.npz"}) {
        const std::string file = folder / ending;
        done(on(model_called(GetParam()), {"trace"}, {"--out", file}));
        for (const char* attention : {"self", "encoder", "cross"})
            for (const char* view : {"matrix", "model", "head"}) {
                if (std::string(view) != "matrix" && (std::string(attention) != "cross" || std::string(ending) != "t.npz"))
                    continue;
                SCOPED_TRACE(std::string(attention) + " " + view);
                std::vector<std::string> wanted{"--attention", attention, "--view", view};
                if (std::string(view) != "model") wanted = joined(wanted, {"--layer", "1", "--heads", "1"});
                const std::string a = folder / "a.npz", b = folder / "b.npz";
                done(on(model_called(GetParam()), {"render"}, joined(wanted, {"--out", a})));
                done(headlight(joined({"render", file, "--out", b}, wanted)));
                const io::NpzContent x = io::read_npz(a), y = io::read_npz(b);
                ASSERT_EQ(x.arrays.size(), y.arrays.size());
                for (const auto& [name, view_of] : x.arrays) {
                    ASSERT_TRUE(y.arrays.contains(name)) << name;
                    ASSERT_EQ(view_of.shape, y.arrays.at(name).shape) << name;
                    const auto p = numbers_of(view_of), q = numbers_of(y.arrays.at(name));
                    for (std::size_t i = 0; i < p.size(); ++i) ASSERT_NEAR(p[i], q[i], 1e-6) << name << " " << i;
                }
            }
    }
}

TEST_P(SavedEncoderDecoder, SaysWhatItHoldsAndWhatItMisses) {
    const TempFolder folder;
    const std::string file = folder / "t.safetensors";
    done(on(model_called(GetParam()), {"trace"}, {"--out", file}));
    const Outcome info = done(headlight({"info", file, "--json"}));
    const auto json = nlohmann::json::parse(info.out);
    EXPECT_EQ(json.at("text"), kSource);
    EXPECT_EQ(json.at("pair"), kTarget);
    ASSERT_EQ(json.at("parts").size(), 3u);
    const std::int64_t source = json.at("parts").at("encoder").at("keys"), target = json.at("parts").at("decoder").at("keys");
    EXPECT_NE(source, target);
    EXPECT_EQ(json.at("parts").at("cross").at("queries"), target);
    EXPECT_EQ(json.at("parts").at("cross").at("keys"), source);
    bool found = false;
    for (const auto& tensor : json.at("tensors"))
        if (tensor.at("name") == "decoder.blocks.1.cross_attn.hook_pattern") {
            found = true;
            EXPECT_EQ(tensor.at("shape").at(1), target);
            EXPECT_EQ(tensor.at("shape").at(2), source);
        }
    EXPECT_TRUE(found);
    EXPECT_THAT(headlight({"info", file}).out, AllOf(HasSubstr("cross"), HasSubstr(" × ")));
    const Outcome heads = headlight({"analyze", "heads", file, "--attention", "cross"}),
                  of_model = on(model_called(GetParam()), {"analyze", "heads"}, {"--attention", "cross"});
    ASSERT_EQ(heads.code, 0) << heads.err;
    ASSERT_EQ(of_model.code, 0) << of_model.err;
    const auto a = lines_of(heads.out), b = lines_of(of_model.out);
    ASSERT_EQ(a.size(), b.size());
    const auto names = cells_of(a[0]);
    const auto column = static_cast<std::size_t>(std::find(names.begin(), names.end(), "entropy") - names.begin());
    for (std::size_t r = 1; r < a.size(); ++r)
        EXPECT_NEAR(std::stod(cells_of(a[r])[column]), std::stod(cells_of(b[r])[column]), 1e-6);
    EXPECT_EQ(headlight({"render", file, "--view", "neuron", "--out", folder / "n.png"}).code, 1);
    // A file without the cross attention's patterns says which one is missing.
    const std::string part = folder / "part.safetensors";
    done(on(model_called(GetParam()), {"trace"}, {"--capture", "*.attn.hook_pattern", "--out", part}));
    refused(headlight({"render", part, "--view", "matrix", "--out", folder / "n.png"}), 1,
            HasSubstr("decoder.blocks.0.cross_attn.hook_pattern"));
}

INSTANTIATE_TEST_SUITE_P(Models, SavedEncoderDecoder, testing::Values("t5", "bart"));

TEST(CrossAttention, FilesCallItsAxesTargetAndSource) {
    const TempFolder folder;
    for (const std::string view : {"matrix", "head", "model", "neuron", "aggregate", "rollout"}) {
        const std::string file = folder / (view + ".csv");
        done(on(model_called("t5"), {"render"}, {"--attention", "cross", "--view", view, "--out", file}));
        const auto lines = lines_of(test::slurp(file));
        ASSERT_GT(lines.size(), 2u);
        EXPECT_THAT(lines[1], AllOf(HasSubstr("target"), HasSubstr("source_token"))) << view;
        EXPECT_THAT(lines[1], testing::Not(HasSubstr("query"))) << view;
        EXPECT_THAT(lines[1], testing::Not(HasSubstr("key"))) << view;
    }
}

TEST(CrossAttention, AnalysesChooseAnAttention) {
    for (const char* attention : {"self", "encoder"}) {
        const Outcome rollout =
            done(on(model_called("bart"), {"analyze", "rollout"}, {"--attention", attention, "--layer", "1"}));
        EXPECT_THAT(lines_of(rollout.out)[0], HasSubstr("query_token"));
    }
    const Outcome cross = done(on(model_called("bart"), {"analyze", "rollout"}, {"--attention", "cross", "--layer", "1"}));
    EXPECT_THAT(lines_of(cross.out)[0], HasSubstr("source_token"));
    done(on(model_called("bart"), {"analyze", "detect"}, {"--kind", "induction", "--attention", "encoder"}));
    EXPECT_EQ(on(model_called("bart"), {"analyze", "detect"}, {"--kind", "induction", "--attention", "cross"}).code, 1);
    EXPECT_EQ(headlight({"analyze", "heads", test::built_in_model(), "--text", "the cat", "--attention", "cross"}).code, 1);
}

TEST(CrossAttention, AttributionNamesItsHeadsAndSumsToTheLogit) {
    for (const char* name : {"t5", "bart", "marian"}) {
        const Outcome dla = done(on(model_called(name), {"analyze", "attribution"}, {"--position", "2", "--token", "7"}));
        double sum = 0, total = 0, cross = 0;
        const auto names = cells_of(lines_of(dla.out)[0]);
        const auto contribution = static_cast<std::size_t>(std::find(names.begin(), names.end(), "contribution") - names.begin());
        for (const std::string& line : lines_of(dla.out)) {
            const auto cells = cells_of(line);
            if (cells[0].find("component") != std::string::npos) continue;
            const double value = std::stod(cells.at(contribution));
            (cells[0].find("total") != std::string::npos ? total : sum) += value;
            if (cells[0].find("cross_head") != std::string::npos) cross += std::abs(value);
        }
        EXPECT_NEAR(sum, total, 1e-4 * std::max(1.0, std::abs(total))) << name;
        EXPECT_GT(cross, 1e-4) << name;
    }
}

/// What leads into each state, over all its lines.
std::map<std::string, double> sums_into(const std::vector<std::string>& lines, const std::vector<std::string>& names) {
    const auto column = [&](const char* name) {
        return static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
    };
    const std::size_t stack = column("stack"), layer = column("layer"), kind = column("kind"), to = column("to"),
                      head = column("head"), value = column("contribution");
    std::map<std::string, double> sums;
    for (const std::string& line : lines) {
        const auto cells = cells_of(line);
        if (cells.size() <= value || cells[value] == "contribution" || !cells[head].empty()) continue;
        const std::string step = cells[kind].find("mlp") != std::string::npos     ? "mlp"
                                 : cells[kind].find("cross") != std::string::npos ? "cross"
                                                                                  : "attention";
        sums[cells[stack] + cells[layer] + step + cells[to]] += std::stod(cells[value]);
    }
    return sums;
}

TEST(CrossAttention, ContributionsFollowBothTexts) {
    const TempFolder folder;
    for (const char* name : {"t5", "bart"}) {
        const Outcome told =
            done(on(model_called(name), {"analyze", "contributions"}, {"--position", "3", "--threshold", "0.02"}));
        const auto lines = lines_of(told.out);
        EXPECT_EQ(lines[0], "stack,layer,kind,from,to,head,contribution,from_token,to_token");
        EXPECT_THAT(told.out, AllOf(HasSubstr("cross_residual"), HasSubstr("encoder")));
        const auto sums = sums_into(lines, cells_of(lines[0]));
        EXPECT_GT(sums.size(), 6u);
        for (const auto& [state, sum] : sums) EXPECT_NEAR(sum, 1, 1e-6) << state;
        // The view writes the same lines, whichever of the decoder's attentions is chosen.
        for (const char* attention : {"self", "cross"}) {
            const std::string file = folder / (std::string(attention) + ".csv");
            done(on(model_called(name), {"render"},
                    {"--attention", attention, "--view", "contribution-graph", "--query", "3", "--least-share", "0.02", "--out",
                     file}));
            const auto written = lines_of(test::slurp(file));
            EXPECT_EQ(written[1], "stack,layer,kind,from,to,head,contribution,from_token,to_token");
            EXPECT_EQ(written.size(), lines.size() + 1);
        }
        for (const char* edge : {"cross:1:0:3", "encoder:0:0:0"}) {
            done(on(model_called(name), {"render"},
                    {"--view", "contribution-graph", "--query", "3", "--least-share", "0.002", "--edge", edge, "--out",
                     folder / "o.png"}));
        }
        refused(on(model_called(name), {"render"},
                   {"--view", "contribution-graph", "--edge", "cross:1:0", "--out", folder / "o.png"}),
                1, HasSubstr("cross:3:4:13"));
    }
}

TEST(CrossAttention, ImportanceHasRowsOfBothTexts) {
    const Outcome rows = done(on(model_called("t5"), {"analyze", "importance"}, {"--position", "1"}));
    const auto lines = lines_of(rows.out);
    EXPECT_TRUE(lines[0].starts_with("text,")) << lines[0];
    int source = 0, target = 0;
    for (const std::string& line : lines) (line.starts_with("\"source\"") || line.starts_with("source") ? source : target) += 1;
    EXPECT_GT(source, 3);
    EXPECT_EQ(target, 1 + 2);  // the header, and the target up to the position
}

}  // namespace encoder_decoder_test
}  // namespace headlight
