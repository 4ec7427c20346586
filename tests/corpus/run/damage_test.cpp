// SPDX-License-Identifier: GPL-3.0-or-later
// Stores whose files are damaged, deleted or replaced: never other numbers, never another library's message.
#include "headlight/corpus/probe/probe.h"
#include "headlight/corpus/store/stored_corpus.h"
#include "headlight/io/file_lock.h"
#include "tests/corpus/runs.h"
#include "tests/support/checksums.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

namespace headlight::corpus {
namespace damage_test {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

constexpr const char* kTexts = "The old doctor.\nTwo of the nurses slept.\nThree kings came.\nThe end.\n";

class DamagedStore : public testing::Test {
protected:
    void SetUp() override {
        setup_ = run_setup(folder_ / "store", folder_.write("a.txt", kTexts), {"heads", "distances"});
        setup_.options.block = 2;
        run_store(setup_);
    }
    std::string opening() const {
        return error_of([&] { read_store(setup_.store); });
    }

    test::TempFolder folder_;
    RunSetup setup_;
    fs::path merged_ = folder_ / "store/merged.safetensors", segment_ = folder_ / "store/segments/0000.safetensors",
             manifest_ = folder_ / "store/manifest.json";
};

TEST_F(DamagedStore, IsMergedAgainFromItsSegments) {
    const auto sound = read_store(setup_.store);
    EXPECT_FALSE(sound->merged.rebuilt);
    const std::string bytes = saved_bytes(Gathered(sound->manifest.options.measures, sound->merged.arrays, 0));
    const std::string file = test::slurp(merged_);
    for (const std::size_t byte : {file.size() / 3, file.size() / 2, file.size() - 5}) {
        folder_.write("store/merged.safetensors", file);
        test::flip_bit(merged_, byte);
        const auto rebuilt = read_store(setup_.store);
        EXPECT_TRUE(rebuilt->merged.rebuilt);
        EXPECT_TRUE(saved_bytes(Gathered(rebuilt->manifest.options.measures, rebuilt->merged.arrays, 0)) == bytes);
        EXPECT_EQ(rebuilt->merged.chunks, 4);
    }
    folder_.write("store/merged.safetensors", file.substr(0, 100));
    EXPECT_TRUE(read_store(setup_.store)->merged.rebuilt) << "cut short";
    merge_stores({setup_.store}, setup_.store);
    EXPECT_TRUE(test::slurp(merged_) == file) << "headlight corpus merge writes it again";
    fs::remove_all(setup_.store / "segments");
    test::flip_bit(merged_, file.size() - 5);
    EXPECT_THAT(opening(), AllOf(HasSubstr("damaged"), HasSubstr("merged.safetensors"), HasSubstr("Run the texts again")));
}

TEST_F(DamagedStore, RefusesADamagedSegmentByName) {
    test::flip_bit(segment_, test::slurp(segment_).size() - 5);
    EXPECT_THAT(error_of([&] { run_store(setup_); }),
                AllOf(HasSubstr("damaged"), HasSubstr("segments/0000.safetensors"), HasSubstr("Delete the file")));
    fs::remove(segment_);
    run_store(setup_);
    EXPECT_EQ(opening(), "no error");
}

TEST_F(DamagedStore, RefusesADamagedManifest) {
    const std::string sound = test::slurp(manifest_);
    for (std::size_t byte = 40; byte < sound.size(); byte += 11) {
        folder_.write("store/manifest.json", sound);
        test::flip_bit(manifest_, byte);
        ASSERT_THAT(opening(), HasSubstr("manifest.json")) << byte;
    }
}

TEST_F(DamagedStore, TakesNoMemoryForBlocksThatItHasNot) {
    const auto with_blocks = [&](const fs::path& file, const std::string& blocks) {
        std::map<std::string, std::string> metadata;
        const Arrays arrays = Arrays::read(file, {}, &metadata);
        metadata["blocks"] = blocks;
        arrays.write(file, metadata);
    };
    with_blocks(segment_, "0-99999999,200000000-299999999,400000000-499999999");
    EXPECT_THAT(error_of([&] { run_store(setup_); }),
                AllOf(HasSubstr("blocks"), HasSubstr("0 to 1"), HasSubstr("0000.safetensors")));
    with_blocks(merged_, "0-1,3000000");
    EXPECT_THAT(opening(), HasSubstr("0000.safetensors")) << "nor from the segments";
}

TEST_F(DamagedStore, ReadsNoFileOutsideIt) {
    const std::string sound = test::slurp(manifest_), name = "texts/0000.safetensors";
    for (const std::string& other : {std::string("../a.txt"), (folder_ / "a.txt").string(), std::string("texts/0001.safetensors"),
                                     std::string("texts/../texts/0000.safetensors")}) {
        std::string text = sound;
        text.replace(text.find(name), name.size(), other);
        folder_.write("store/manifest.json", text);
        test::renew_checksum(manifest_);
        EXPECT_THAT(opening(), AllOf(HasSubstr("parts"), HasSubstr("expected texts/0000.safetensors"))) << other;
    }
}

TEST_F(DamagedStore, RefusesCountsThatNoStoreHas) {
    const std::string sound = test::slurp(manifest_);
    for (const auto& [field, value] :
         {std::pair("\"chunks\": 4", "\"chunks\": 9223372036854775807"), std::pair("\"texts\": 4", "\"texts\": -4"),
          std::pair("\"block\": 2", "\"block\": 1"), std::pair("\"first_text\": 0", "\"first_text\": 77")}) {
        std::string text = sound;
        for (std::size_t at = 0; (at = text.find(field, at)) != std::string::npos; at += 1)
            text.replace(at, std::string(field).size(), value);
        folder_.write("store/manifest.json", text);
        test::renew_checksum(manifest_);
        EXPECT_THAT(opening(), HasSubstr("The manifest does not fit its texts")) << value;
    }
}

TEST_F(DamagedStore, KeptProbesAreRefusedByName) {
    test::TempFolder other;
    const Manifest manifest = read_manifest(setup_.store);
    ProbeResult probe{.task = "upos", .classes = {"NOUN", "VERB"}, .majority = 0.5};
    write_probe(setup_.store, manifest, probe);
    const fs::path file = setup_.store / "probes/upos.json";
    EXPECT_EQ(read_probe(setup_.store, manifest, "upos").majority, 0.5);
    const std::string sound = test::slurp(file);
    for (std::size_t byte = 0; byte < sound.size(); byte += 3) {
        folder_.write("store/probes/upos.json", sound);
        test::flip_bit(file, byte, 1);
        ASSERT_THAT(error_of([&] { read_probe(setup_.store, manifest, "upos"); }),
                    AllOf(HasSubstr("damaged"), HasSubstr("upos.json"), HasSubstr("Run it again")))
            << byte;
    }
}

TEST_F(DamagedStore, ThatIsDeletedOrReplacedEndsTheRun) {
    const Manifest manifest = read_manifest(setup_.store);
    const auto run = [&](const std::function<void()>& between) {
        std::int64_t next = 0;
        return error_of([&] {
            run_blocks(setup_, manifest,
                       {.next =
                            [&] {
                                if (next == 1) between();
                                return next < 2 ? next++ : -1;
                            },
                        .chunks = 4,
                        .segment_minutes = 1000,
                        .name = "x"});
        });
    };
    const RunSetup other =
        run_setup(folder_ / "other", folder_.write("b.txt", "Other texts.\nAre here.\nThree.\nFour.\n"), {"heads", "distances"});
    run_store(other);
    EXPECT_THAT(run([&] {
                    fs::remove_all(setup_.store / "segments");
                    fs::copy_file(other.store / "manifest.json", manifest_, fs::copy_options::overwrite_existing);
                }),
                AllOf(HasSubstr("replaced"), HasSubstr(setup_.store.string())));
    EXPECT_FALSE(fs::exists(setup_.store / "segments"));
    write_manifest(setup_.store, manifest);
    EXPECT_THAT(run([&] { fs::remove_all(setup_.store); }), AllOf(HasSubstr("deleted"), HasSubstr(setup_.store.string())));
    EXPECT_FALSE(fs::exists(setup_.store)) << "nothing is left that looks like a store";
}

TEST(NewStore, OfARunWithoutTextsIsRemoved) {
    const test::TempFolder folder;
    const RunSetup empty = run_setup(folder / "a/store", folder.write("a.txt", "\n\n"), {"heads"});
    EXPECT_THAT(error_of([&] { run_store(empty); }), HasSubstr("no text"));
    EXPECT_FALSE(fs::exists(folder / "a/store"));
    const RunSetup bad = run_setup(folder / "store", folder.write("b.jsonl", "{\"text\": 1\n"), {"heads"});
    EXPECT_NE(error_of([&] { run_store(bad); }), "no error");
    EXPECT_FALSE(fs::exists(folder / "store"));
    folder.write("kept/notes.txt", "mine");
    RunSetup kept = empty;
    kept.store = folder / "kept";
    EXPECT_NE(error_of([&] { run_store(kept); }), "no error");
    std::vector<std::string> left;
    for (const auto& each : fs::directory_iterator(folder / "kept")) left.push_back(each.path().filename());
    EXPECT_EQ(left, std::vector<std::string>{"notes.txt"}) << "what was there stays";
}

/// One of several processes that run parts of a store fails while another one still prepares its texts.
TEST(NewStore, OfAnotherPartIsLeftAlone) {
    const test::TempFolder folder;
    CorpusRun run;
    run.setup = run_setup(folder / "store", folder.write("a.txt", "\n\n"), {"heads"});
    run.part = 1;
    run.parts = 2;
    const auto fails = [&] { EXPECT_THAT(error_of([&] { run_corpus(run); }), HasSubstr("no text")); };
    {
        const io::FileLock other(lock_file(run.setup.store, "run"), io::FileLock::Kind::shared, "", {}, {});
        fails();
        EXPECT_TRUE(fs::exists(lock_file(run.setup.store, "run")));
    }
    fs::remove_all(run.setup.store);
    fails();
    EXPECT_FALSE(fs::exists(run.setup.store)) << "nobody else runs in it";
}

TEST(StoreLocks, AreSharedAsTheUmaskSays) {
    const test::TempFolder folder;
    const mode_t before = ::umask(0002);
    run_store(run_setup(folder / "store", folder.write("a.txt", "One.\n"), {"heads"}));
    ::umask(before);
    int locks = 0;
    for (const auto& each : fs::directory_iterator(folder / "store/.locks")) {
        ++locks;
        EXPECT_EQ(each.status().permissions(), fs::perms(0664)) << each.path();
    }
    EXPECT_GE(locks, 3);
}

}  // namespace damage_test
}  // namespace headlight::corpus
