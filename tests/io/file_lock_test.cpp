// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/io/file_lock.h"
#include "headlight/io/file_stamp.h"
#include "tests/support/error_of.h"
#include "tests/support/temp_folder.h"

#include <chrono>
#include <filesystem>
#include <functional>
#include <iterator>
#include <memory>

#include <gtest/gtest.h>

namespace headlight::io {
namespace file_lock_test {

using test::TempFolder;

std::ptrdiff_t open_files() {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), std::filesystem::directory_iterator());
}

TEST(FileLock, AWaitThatIsCancelledLeavesNoFileOpen) {
    const TempFolder folder;
    const auto file = folder / "lock";
    const FileLock held(file, FileLock::Kind::exclusive, "", {}, {});
    const auto before = open_files();
    for (int i = 0; i < 5; ++i) {
        const CancelToken stop;
        EXPECT_THROW(FileLock(file, FileLock::Kind::exclusive, "", stop, [&] { stop.cancel(); }), Cancelled);
    }
    EXPECT_EQ(open_files(), before);
}

TEST(FileLock, MakesItsFolderAgainThatAnotherRemoved) {
    const TempFolder folder;
    const auto file = folder / ".locks/run";
    auto held = std::make_unique<FileLock>(file, FileLock::Kind::exclusive, "", CancelToken(), std::function<void()>());
    const FileLock next(file, FileLock::Kind::exclusive, "", {}, [&] {
        std::filesystem::remove_all(file.parent_path());
        held.reset();
    });
    EXPECT_TRUE(std::filesystem::exists(file));
}

TEST(FileLock, TakesAFileThatIsANameAlone) {
    const TempFolder folder;
    const auto before = std::filesystem::current_path();
    std::filesystem::current_path(folder / "");
    EXPECT_NO_THROW(FileLock("lock", FileLock::Kind::exclusive, "", {}, {}));
    std::filesystem::current_path(before);
    EXPECT_TRUE(std::filesystem::exists(folder / "lock"));
}

TEST(FileLock, NamesThePlaceThatIsInTheWay) {
    const TempFolder folder;
    const auto place = folder.write("plain", "x");
    const std::string said =
        test::error_of([&] { FileLock(place / ".locks/run", FileLock::Kind::exclusive, "Do this", {}, {}); });
    EXPECT_NE(said.find(place.string() + ": found Not a directory. Do this"), std::string::npos) << said;
}

TEST(FileStamp, AnOverwrittenFileOfTheSameSizeHasAnotherOne) {
    const TempFolder folder;
    const auto file = folder.write("weights", "one");
    const FileStamp one = stamp_of(file);
    EXPECT_TRUE(one.there);
    EXPECT_EQ(one.bytes, 3U);
    EXPECT_EQ(stamp_of(file), one);
    folder.write("weights", "two");
    std::filesystem::last_write_time(file, one.changed + std::chrono::seconds(1));  // clocks of file systems may be coarse
    EXPECT_NE(stamp_of(file), one);
    std::filesystem::remove(file);
    EXPECT_FALSE(stamp_of(file).there);
}

}  // namespace file_lock_test
}  // namespace headlight::io
