// SPDX-License-Identifier: GPL-3.0-or-later
// Wrong kinds of paths, and model folders whose parts do not match.
#include "headlight/io/hash.h"
#include "headlight/io/json_file.h"
#include "headlight/io/mapped_file.h"
#include "headlight/io/safetensors.h"
#include "tests/support/error_of.h"
#include "tests/support/temp_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headlight::io {
namespace path_test {

using test::error_of;
using test::raw_safetensors;
using test::TempFolder;
using testing::AllOf;
using testing::HasSubstr;

// Every reader goes through the same check; each is tried, so that none opens a path in its own way.
void expect_refused(const std::filesystem::path& path, const std::string& part) {
    const auto matches = AllOf(HasSubstr(part), HasSubstr(path.string()));
    EXPECT_THAT(error_of([&] { MappedFile::open(path); }), matches);
    EXPECT_THAT(error_of([&] { TensorStore::open_file(path); }), matches);
    EXPECT_THAT(error_of([&] { read_json(path); }), matches);
    EXPECT_THAT(error_of([&] { read_text(path); }), matches);
    EXPECT_THAT(error_of([&] { sha256_file(path); }), matches);
}

TEST(HostilePath, Missing) { expect_refused("/nonexistent/model.safetensors", "No such file"); }
TEST(HostilePath, Folder) { expect_refused("/tmp", "expected a regular file, found a folder"); }
TEST(HostilePath, Device) { expect_refused("/dev/zero", "expected a regular file, found a device"); }

TEST(HostilePath, PipeDoesNotBlock) {
    const TempFolder folder;
    const std::filesystem::path pipe = folder / "pipe";
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    expect_refused(pipe, "expected a regular file, found a pipe");
}

TEST(HostilePath, Unreadable) {
    if (::geteuid() == 0) GTEST_SKIP() << "the superuser may read everything";
    const TempFolder folder;
    const std::filesystem::path file = folder.write("secret", "x");
    std::filesystem::permissions(file, std::filesystem::perms::none);
    expect_refused(file, "Permission denied");
}

TEST(HostilePath, LinkToItself) {
    const TempFolder folder;
    std::filesystem::create_symlink("loop", folder / "loop");
    expect_refused(folder / "loop", "Cannot open the file");
}

TEST(HostileText, AboveTheLimit) {
    const TempFolder folder;
    EXPECT_THAT(error_of([&] { read_text(folder.write("long", "12345"), 4); }), HasSubstr("expected at most 4 bytes, found 5"));
}

struct FolderCase {
    const char* name;
    std::vector<std::pair<std::string, std::string>> files;
    std::vector<std::string> parts;
};

void PrintTo(const FolderCase& c, std::ostream* out) { *out << c.name; }

std::string holding(const std::string& name) {
    return raw_safetensors("{\"" + name + R"(":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})", "x");
}

const std::string kIndex = "model.safetensors.index.json";

const std::vector<FolderCase>& folders() {
    static const std::vector<FolderCase> all{
        {"NoWeights", {{"config.json", "{}"}}, {"No weights", "expected one of model.safetensors"}},
        {"OnlyPytorch", {{"pytorch_model.bin", "x"}}, {"Not a file of PyTorch", "pytorch_model.bin"}},
        {"IndexIsBroken", {{kIndex, "{\n \"weight_map\":"}}, {"Broken JSON", kIndex, "line 2, column"}},
        {"IndexIsAList", {{kIndex, "[]"}}, {"Broken shard index", "weight_map"}},
        {"IndexHasNoMap", {{kIndex, "{}"}}, {"Broken shard index", "weight_map"}},
        {"IndexIsEmpty", {{kIndex, R"({"weight_map":{}})"}}, {"Broken shard index", "at least one tensor"}},
        {"IndexNamesANumber", {{kIndex, R"({"weight_map":{"a":1}})"}}, {"weight_map.a", "expected a file name"}},
        {"IndexLeadsOutside",
         {{kIndex, R"({"weight_map":{"a":"../a.safetensors"}})"}},
         {"weight_map.a", "in the same folder", "../a.safetensors"}},
        {"IndexIsAbsolute", {{kIndex, R"({"weight_map":{"a":"/dev/zero"}})"}}, {"weight_map.a", "/dev/zero"}},
        {"IndexDoublesATensor",
         {{kIndex, R"({"weight_map":{"a":"1.safetensors","a":"2.safetensors"}})"}},
         {"the key \"a\" for the second time"}},
        {"ShardMissing", {{kIndex, R"({"weight_map":{"a":"1.safetensors"}})"}}, {"No such file", "1.safetensors"}},
        {"ShardCutShort",
         {{kIndex, R"({"weight_map":{"a":"1.safetensors"}})"}, {"1.safetensors", holding("a").substr(0, 20)}},
         {"1.safetensors", "header is longer than the file"}},
        {"IndexedTensorMissing",
         {{kIndex, R"({"weight_map":{"a":"1.safetensors","b":"1.safetensors"}})"}, {"1.safetensors", holding("a")}},
         {"1.safetensors", "tensor b", "found nowhere"}},
        {"IndexedTensorElsewhere",
         {{kIndex, R"({"weight_map":{"a":"2.safetensors","b":"1.safetensors"}})"},
          {"1.safetensors", holding("a")},
          {"2.safetensors", holding("b")}},
         {"tensor a", "expected in 2.safetensors", "found in 1.safetensors"}},
        {"TensorInTwoShards",
         {{kIndex, R"({"weight_map":{"a":"1.safetensors","b":"2.safetensors"}})"},
          {"1.safetensors", holding("a")},
          {"2.safetensors", holding("a")}},
         {"The same tensor in two files", "tensor a", "2.safetensors", "already in 1.safetensors"}},
    };
    return all;
}

class HostileFolder : public testing::TestWithParam<FolderCase> {};

TEST_P(HostileFolder, IsRefusedByName) {
    const TempFolder folder;
    for (const auto& [name, content] : GetParam().files) folder.write(name, content);
    const std::string message = error_of([&] { TensorStore::open_folder(folder.path()); });
    for (const std::string& part : GetParam().parts) EXPECT_THAT(message, HasSubstr(part));
}

INSTANTIATE_TEST_SUITE_P(All, HostileFolder, testing::ValuesIn(folders()),
                         [](const auto& c) { return std::string(c.param.name); });

TEST(HostileFolder, IsAFile) {
    EXPECT_THAT(error_of([] { TensorStore::open_folder("/dev/null"); }), HasSubstr("Not a folder"));
    EXPECT_THAT(error_of([] { TensorStore::open_folder("/nonexistent"); }), HasSubstr("No such folder"));
}

}  // namespace path_test
}  // namespace headlight::io
