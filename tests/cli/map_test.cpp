// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/io/npz.h"
#include "tests/cli/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace headlight {
namespace map_command_test {

using test::done;
using test::headlight;
using test::joined;
using test::Outcome;
using test::refused;
using test::TempFolder;
using testing::HasSubstr;

const char* kTexts =
    "The doctor asked the nurse because she was late.\nThe nurse was late again, the doctor said.\nA cat sat on the mat.\n";

using Shape = std::vector<std::int64_t>;

TEST(Map, WritesArraysOfEveryHead) {
    const TempFolder folder;
    const auto texts = folder.write("texts.txt", kTexts);
    const std::string out = folder / "map.npz";
    const Outcome outcome = done(
        headlight({"map", "novella-7m", "--texts", texts, "--method", "umap", "--iterations", "20", "--points", "--out", out}));
    EXPECT_THAT(outcome.err, HasSubstr("faithfulness to attention"));
    const io::NpzContent content = io::read_npz(out);
    const std::int64_t tokens = content.arrays.at("text").shape[0];
    EXPECT_EQ(content.arrays.at("queries").shape, (Shape{6, 8, tokens, 2}));
    EXPECT_EQ(content.arrays.at("keys").shape, (Shape{6, 8, tokens, 2}));
    EXPECT_EQ(content.arrays.at("trust").shape, (Shape{6, 8, 2 * tokens}));
    EXPECT_EQ(content.arrays.at("queries_original").shape, (Shape{6, 8, tokens, 32}));
    EXPECT_EQ(content.arrays.at("keys_original").shape, (Shape{6, 8, tokens, 32}));
    const std::string of_one = folder / "one.npz";
    done(headlight({"map", "novella-7m", "--texts", texts, "--points", "--layer", "4", "--head", "2", "--out", of_one}));
    const io::NpzContent one = io::read_npz(of_one);
    for (const char* name : {"queries_original", "keys_original"}) {
        const auto all = content.arrays.at(name).bytes, own = one.arrays.at(name).bytes;
        const auto size = static_cast<std::size_t>(tokens) * 32 * sizeof(float);
        ASSERT_EQ(own.size(), size) << name;
        EXPECT_EQ(std::memcmp(all.data() + (4 * 8 + 2) * size, own.data(), size), 0) << name << " are in the order of the heads";
        EXPECT_TRUE(std::ranges::any_of(own, [](std::byte b) { return b != std::byte{}; })) << name;
    }
    test::refused(headlight({"map", "novella-7m", "--texts", texts, "--points", "--out", folder / "map.csv"}), 2,
                  testing::AllOf(HasSubstr("--points"), HasSubstr(".npz")));
    for (const char* name : {"scale_c", "trustworthiness", "continuity", "faithfulness", "attention_near"})
        EXPECT_EQ(content.arrays.at(name).shape, (Shape{6, 8})) << name;
    EXPECT_EQ(std::ssize(content.texts.at("tokens")), tokens);
    EXPECT_EQ(content.texts.at("texts").at(2), "A cat sat on the mat.");
    std::vector<float> points(static_cast<std::size_t>(content.arrays.at("queries").numel()));
    std::memcpy(points.data(), content.arrays.at("queries").bytes.data(), points.size() * sizeof(float));
    EXPECT_TRUE(std::ranges::all_of(points, [](float v) { return std::isfinite(v); }));
}

TEST(Map, WritesARowAPointInThreeDimensionsTheSameForASeed) {
    const TempFolder folder;
    const auto texts = folder.write("texts.txt", kTexts);
    // A pass on another number of threads may sum in another order, which depends on the processor.
    const auto made = [&](const std::string& name) {
        done(headlight({"map", "novella-7m", "--texts", texts, "--method", "tsne", "--iterations", "30", "--dims", "3", "--layer",
                        "4", "--seed", "3", "--threads", "2", "--out", folder / name}));
        return test::slurp(folder / name);
    };
    const std::string csv = made("a.csv");
    EXPECT_EQ(csv, made("b.csv"));
    EXPECT_EQ(csv.substr(0, csv.find('\n')), "layer,head,role,text,position,token,x,y,z,norm,trust");
    const auto rows = std::ranges::count(csv, '\n') - 1;
    EXPECT_EQ(rows % 16, 0) << "eight heads, queries and keys";
    EXPECT_GT(rows, 16 * 20);
}

std::uint32_t big_endian(const std::string& bytes, std::size_t at) {
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<unsigned char>(bytes.at(at + i));
    return value;
}

TEST(Map, WritesPicturesWithTheCommandThatMakesThemAgain) {
    const TempFolder folder;
    const auto texts = folder.write("texts.txt", kTexts);
    const auto made = [&](const std::string& name, const std::vector<std::string>& more) {
        const Outcome outcome = done(headlight(joined({"map", "novella-7m", "--texts", texts, "--out", folder / name}, more)));
        EXPECT_THAT(outcome.err, HasSubstr("wrote "));
        return std::pair(test::slurp(folder / name), outcome.err);
    };
    const auto [svg, said] = made("map.svg", {"--mark", "DOCTOR", "--theme", "dark", "--color", "text", "--size-mm", "178"});
    EXPECT_THAT(said, HasSubstr("2 hits of “DOCTOR”; they stand closest in L"));
    EXPECT_THAT(svg, HasSubstr("Queries and keys of all heads"));
    EXPECT_THAT(svg, HasSubstr("headlight map novella-7m"));
    EXPECT_THAT(svg, HasSubstr("--method pca --preset scores --seed 0 --color text --mark DOCTOR --theme dark --size-mm 178"));

    // One head in space, turned: another picture, whose size is that of --width and --scale.
    const std::vector<std::string> space = {"--layer", "2", "--head", "5", "--dims", "3", "--width", "600", "--scale", "1"};
    const std::string front = made("front.png", space).first;
    EXPECT_EQ(big_endian(front, 16), 600u);
    const std::vector<std::string> turned = joined(space, {"--yaw", "40", "--pitch", "-20"});
    const std::string side = made("side.png", turned).first;
    EXPECT_NE(front, side);
    EXPECT_EQ(side, made("again.png", turned).first);
    EXPECT_THAT(made("front.svg", turned).first, HasSubstr("--yaw 40 --pitch -20 --layer 2 --head 5 --width 600 --scale 1"));

    EXPECT_THAT(made("older.svg", {"--preset", "attentionviz"}).first, HasSubstr("--preset cosine")) << "its earlier name";
    refused(headlight({"map", "novella-7m", "--texts", texts, "--yaw", "40", "--out", folder / "m.png"}), 2,
            HasSubstr("--dims 3"));
    const Outcome none = done(headlight({"map", "novella-7m", "--texts", texts, "--mark", "zebra", "--out", folder / "m.png"}));
    EXPECT_THAT(none.err, HasSubstr("no token matches --mark zebra"));
    refused(headlight({"map", "novella-7m", "--texts", texts, "--mark", "(", "--mark-by", "regex", "--out", folder / "m.png"}), 1,
            HasSubstr("regular expression"));
}

TEST(Map, OfPicturesIsOfTheirPatches) {
    const std::string tests = HEADLIGHT_SOURCE_DIR "/tests/fixtures/", vit = tests + "models/vit";
    const TempFolder folder;
    const Outcome rows = done(headlight({"map", vit, "--image", tests + "pictures", "--out", folder / "m.csv"}));
    EXPECT_THAT(rows.err, HasSubstr("3 pictures, "));
    EXPECT_THAT(test::slurp(folder / "m.csv"), HasSubstr("\"query\",1,5,\"r2c1\""));
    const std::string shapes = tests + "pictures/shapes.png";
    done(headlight({"map", vit, "--image", shapes, "--layer", "1", "--head", "0", "--out", folder / "m.svg"}));
    const std::string svg = test::slurp(folder / "m.svg");
    EXPECT_THAT(svg, HasSubstr("--image " + shapes));
    EXPECT_THAT(svg, HasSubstr("of 1 picture"));
    done(headlight({"map", vit, "--image", shapes, "--layer", "1", "--head", "0", "--no-thumbnails", "--out", folder / "p.svg"}));
    const auto images = [](const std::string& text) {
        std::size_t count = 0;
        for (std::size_t at = text.find("<image"); at != std::string::npos; at = text.find("<image", at + 1)) ++count;
        return count;
    };
    EXPECT_GT(images(svg), images(test::slurp(folder / "p.svg")) + 10);

    refused(headlight({"map", vit, "--text", "a", "--out", folder / "m.csv"}), 1, HasSubstr("reads pictures"));
    refused(headlight({"map", "novella-7m", "--image", shapes, "--out", folder / "m.csv"}), 1, HasSubstr("reads texts"));
    const TempFolder nothing;
    refused(headlight({"map", vit, "--image", nothing.path().string(), "--out", folder / "m.csv"}), 1, HasSubstr("no pictures"));
}

TEST(Map, ReportsWhatItCannotDraw) {
    const TempFolder folder;
    const auto texts = folder.write("texts.txt", kTexts);
    refused(headlight({"map", "novella-7m", "--out", folder / "m.csv"}), 2, HasSubstr("--texts"));
    refused(headlight({"map", "novella-7m", "--texts", texts, "--tokens", "3", "--out", folder / "m.csv"}), 1,
            HasSubstr("No text fits into the budget"));
    refused(headlight({"map", "novella-7m", "--texts", texts, "--layer", "9", "--out", folder / "m.csv"}), 1,
            HasSubstr("layer 0 to 5"));
    done(headlight({"map", "novella-7m", "--text", "a", "--method", "tsne", "--out", folder / "one.csv"}));
}

}  // namespace map_command_test
}  // namespace headlight
