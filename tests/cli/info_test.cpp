// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/cli/program.h"

#include <nlohmann/json.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headlight {
namespace info_test {

using nlohmann::json;
using test::built_in_model;
using test::done;
using test::headlight;
using test::Outcome;
using test::refused;
using test::TempFolder;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(InfoJson, IsTheDocumentedObject) {
    const Outcome outcome = done(headlight({"info", "novella-7m", "--json"}));
    EXPECT_THAT(outcome.err, IsEmpty());
    const json root = json::parse(outcome.out);
    for (const char* key : {"name", "family", "architecture", "folder", "hash", "config", "parameters", "tokenizer", "tensors",
                            "load_report", "files"})
        EXPECT_TRUE(root.contains(key)) << key;
    EXPECT_EQ(root["family"], "bloom");
    EXPECT_EQ(root["config"]["n_layers"], 6);
    EXPECT_EQ(root["config"]["positions"], "alibi");
    EXPECT_EQ(root["hash"].get<std::string>().size(), 64u);

    // Parts add up, and to what the file holds: every tensor of this model is a parameter.
    std::int64_t parts = 0, elements = 0;
    for (const auto& [part, count] : root["parameters"]["parts"].items()) parts += count.get<std::int64_t>();
    EXPECT_EQ(parts, root["parameters"]["total"]);
    for (const json& tensor : root["tensors"]) {
        std::int64_t n = 1;
        for (const json& size : tensor["shape"]) n *= size.get<std::int64_t>();
        elements += n;
        EXPECT_FALSE(tensor["parameters"].empty()) << tensor["name"];
    }
    EXPECT_EQ(elements, parts);
    EXPECT_TRUE(root["load_report"]["unused"].empty());
    EXPECT_GE(root["load_report"]["loaded"].size(), root["tensors"].size());
}

TEST(Info, ForPeopleNamesThePartsAndFiles) {
    const Outcome outcome = done(headlight({"info", "novella-7m", "--tensors"}));
    for (const char* part :
         {"BloomForCausalLM", "attention", "total", "model.safetensors", "n_layers", "byte-level BPE", "query_key_value.weight"})
        EXPECT_THAT(outcome.out, HasSubstr(part));
}

// A copy of the built-in model with one file replaced: what a damaged download looks like.
void expect_refused(const std::string& file, const std::string& content, const std::vector<std::string>& parts) {
    const TempFolder folder;
    for (const auto& entry : std::filesystem::directory_iterator(built_in_model()))
        std::filesystem::create_symlink(entry.path(), folder.path() / entry.path().filename());
    std::filesystem::remove(folder / file);
    if (content != "(none)") folder.write(file, content);
    const Outcome outcome = headlight({"info", folder.path()});
    EXPECT_EQ(outcome.code, 1) << file;
    EXPECT_THAT(outcome.out, IsEmpty());
    for (const std::string& part : parts) EXPECT_THAT(outcome.err, HasSubstr(part));
}

TEST(Info, RefusesDamagedModels) {
    const std::string weights = test::slurp(built_in_model() + "/model.safetensors");
    expect_refused("config.json", "(none)", {"config.json"});
    expect_refused("config.json", "{\"model_type\": ", {"Broken JSON", "config.json", "line 1"});
    expect_refused("config.json", "[]", {"config.json"});
    expect_refused("config.json", R"({"model_type":"quaternion"})", {"config.json", "quaternion"});
    expect_refused("model.safetensors", "(none)", {"No weights", "model.safetensors"});
    expect_refused("model.safetensors", "", {"The file is empty", "model.safetensors"});
    expect_refused("model.safetensors", weights.substr(0, 5000), {"header is longer than the file"});
    expect_refused("model.safetensors", weights.substr(0, weights.size() - 1), {"past the end of the file", "tensor "});
    EXPECT_EQ(headlight({"info", "/dev/null"}).code, 1);
    EXPECT_EQ(headlight({"info", "/nonexistent"}).code, 1);
}

TEST(Info, TellsHowATensorIsSpread) {
    const std::string name = "h.0.self_attention.query_key_value.weight";
    const json listed = json::parse(headlight({"info", "novella-7m", "--json"}).out)["tensors"];
    std::string full;
    for (const json& tensor : listed)
        if (tensor["name"].get<std::string>().ends_with(name)) full = tensor["name"];
    ASSERT_FALSE(full.empty());
    const Outcome outcome = done(headlight({"info", "novella-7m", "--tensor", full, "--bins", "8", "--json"}));
    const json root = json::parse(outcome.out);
    for (const char* key :
         {"name", "dtype", "shape", "file", "elements", "nan", "infinite", "min", "max", "mean", "std", "histogram"})
        EXPECT_TRUE(root.contains(key)) << key;
    EXPECT_EQ(root["histogram"]["edges"].size(), 9u);
    std::int64_t sum = 0;
    for (const json& count : root["histogram"]["counts"]) sum += count.get<std::int64_t>();
    EXPECT_EQ(sum, root["elements"]);
    EXPECT_EQ(root["histogram"]["edges"].front(), root["min"]);
    EXPECT_EQ(root["histogram"]["edges"].back(), root["max"]);

    const Outcome text = done(headlight({"info", "novella-7m", "--tensor", full}));
    for (const char* part : {"histogram", "mean", "NaN", "####"}) EXPECT_THAT(text.out, HasSubstr(part));
    refused(headlight({"info", "novella-7m", "--tensor", full + "s"}), 1, HasSubstr("Did you mean " + full));
}

}  // namespace info_test
}  // namespace headlight
