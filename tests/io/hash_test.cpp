// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/io/hash.h"
#include "tests/support/checksums.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace headlight::io {
namespace hash_test {

namespace fs = std::filesystem;

class KeptHash : public testing::Test {
protected:
    std::string hash(std::chrono::seconds settled = std::chrono::seconds(0)) const {
        return sha256_file(file, {.folder = kept, .least = 3, .settled = settled});
    }
    std::ptrdiff_t entries() const {
        return fs::exists(kept) ? std::distance(fs::directory_iterator(kept), fs::directory_iterator()) : 0;
    }
    void falsify() const {
        for (const fs::directory_entry& entry : fs::directory_iterator(kept))
            write_checked_json(entry.path(), {{"sha256_of_file", std::string(64, 'a')}});
    }
    test::TempFolder folder;
    const std::string file = folder.write("weights", "abc");
    const fs::path kept = folder / "kept" / "hashes";
    const std::string of_abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";  // FIPS 180-2, B.1
};

TEST_F(KeptHash, IsUsedUntilTheFileChanges) {
    EXPECT_EQ(hash(), of_abc);
    ASSERT_EQ(entries(), 1);
    falsify();
    EXPECT_EQ(hash(), std::string(64, 'a')) << "the file is not read again";
    const fs::file_time_type time = fs::last_write_time(file);
    std::ofstream(file) << "abd";
    fs::last_write_time(file, time);
    EXPECT_EQ(hash(), sha256_file(file)) << "another content of the same size and time";
    EXPECT_NE(hash(), of_abc);
    fs::remove(file);
    folder.write("weights", "abc");
    EXPECT_EQ(hash(), of_abc) << "another file of the same name";
}

TEST_F(KeptHash, IsComputedWhereItCannotBeKept) {
    EXPECT_EQ(hash(std::chrono::seconds(1000)), of_abc);
    EXPECT_EQ(entries(), 0) << "the file has just been written";
    EXPECT_EQ(sha256_file(file, {.folder = kept, .least = 4}), of_abc);
    EXPECT_EQ(entries(), 0) << "a small file";
    EXPECT_EQ(sha256_file(file, {}), of_abc);
    EXPECT_EQ(sha256_file(file, {.folder = fs::path(file) / "no folder", .least = 0, .settled = {}}), of_abc);
    EXPECT_EQ(hash(), of_abc);
    for (const fs::directory_entry& entry : fs::directory_iterator(kept)) test::flip_bit(entry.path(), 22);
    EXPECT_EQ(hash(), of_abc) << "what is kept is damaged";
    for (const fs::directory_entry& entry : fs::directory_iterator(kept)) std::ofstream(entry.path()) << "half";
    EXPECT_EQ(hash(), of_abc) << "what is kept is no hash";
    EXPECT_THROW(sha256_file(folder / "none", {.folder = kept, .least = 0, .settled = {}}), std::exception);
}

}  // namespace hash_test
}  // namespace headlight::io
