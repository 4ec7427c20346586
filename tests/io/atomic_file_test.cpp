// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/io/atomic_file.h"

#include "headlight/base/working_for.h"
#include "headlight/io/safetensors.h"
#include "io/open_regular.h"
#include "tests/support/error_of.h"
#include "tests/support/temp_folder.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headlight::io {
namespace atomic_file_test {

using test::error_of;
using test::slurp;
using test::TempFolder;
using testing::HasSubstr;

/// Lets no file of this process grow past a size: the disk is full as far as a writer can tell.
class FullDisk {
public:
    explicit FullDisk(rlim_t size) : before_handler_(std::signal(SIGXFSZ, SIG_IGN)) {
        ::getrlimit(RLIMIT_FSIZE, &before_);
        rlimit limit = before_;
        limit.rlim_cur = size;
        ::setrlimit(RLIMIT_FSIZE, &limit);
    }
    ~FullDisk() {
        ::setrlimit(RLIMIT_FSIZE, &before_);
        std::signal(SIGXFSZ, before_handler_);
    }

private:
    rlimit before_{};
    void (*before_handler_)(int);
};

TEST(AtomicFile, ReplacesTheWholeFile) {
    const TempFolder folder;
    const auto file = folder.write("a.csv", "a long old content");
    write_atomically(file, "new");
    EXPECT_EQ(slurp(file), "new");
    write_atomically(folder / "fresh.csv", [](std::ostream& out) { out << 1.5 << ',' << std::string(1 << 20, 'x'); });
    EXPECT_EQ(slurp(folder / "fresh.csv"), "1.5," + std::string(1 << 20, 'x'));
    EXPECT_EQ(folder.count(), 2u);
}

TEST(AtomicFile, FullDiskLeavesTheTargetUntouched) {
    const TempFolder folder;
    const auto file = folder.write("a.bin", "old");
    for (const std::size_t size : {std::size_t{5'000}, std::size_t{3'000'000}}) {  // fails at the flush, and on the way
        std::string message;
        {
            const FullDisk full(4096);
            message = error_of([&] { write_atomically(file, std::string(size, 'x')); });
        }
        EXPECT_THAT(message, HasSubstr("Cannot write the file: " + file.string()));
        EXPECT_THAT(message, HasSubstr("Free some space"));
        EXPECT_EQ(slurp(file), "old");
        EXPECT_EQ(folder.count(), 1u);
    }
}

TEST(AtomicFile, FullDiskIsSeenByTheArrayWriters) {
    const TempFolder folder;
    const std::vector<std::byte> data(1 << 20);
    std::string message;
    {
        const FullDisk full(4096);
        message = error_of([&] { write_safetensors(folder / "t.safetensors", {{"a", DType::U8, {1 << 20}, data}}, {}); });
    }
    EXPECT_THAT(message, HasSubstr("Cannot write the file"));
    EXPECT_EQ(folder.count(), 0u);
}

TEST(AtomicFile, FullDeviceIsReported) {
    EXPECT_THAT(error_of([] { write_atomically("/dev/full", "x"); }), HasSubstr("No space left on device"));
    EXPECT_NO_THROW(write_atomically("/dev/null", "x"));
    struct stat info {};
    ASSERT_EQ(::stat("/dev/null", &info), 0);
    EXPECT_TRUE(S_ISCHR(info.st_mode));  // written to, not replaced
}

TEST(AtomicFile, AReaderThatDoesNotComeIsNoReasonNotToEnd) {
    const TempFolder folder;
    const std::filesystem::path pipe = folder / "pipe";
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    CancelToken token;
    token.cancel();
    const WorkingFor here(token);
    EXPECT_THROW(write_atomically(pipe, "x"), Cancelled) << "nobody has opened the pipe";
    const Descriptor reader(::open(pipe.c_str(), O_RDONLY | O_NONBLOCK));
    EXPECT_NO_THROW(write_atomically(pipe, "x")) << "there is room";
    EXPECT_THROW(write_atomically(pipe, std::string(1 << 20, 'x')), Cancelled) << "and then none";
    EXPECT_NO_THROW(write_atomically(folder / "file", "x"))
        << "a file does not wait: what is computed is kept after an interrupt";
}

TEST(AtomicFile, ExceptionLeavesTheTargetUntouched) {
    const TempFolder folder;
    const auto file = folder.write("a.txt", "old");
    EXPECT_THROW(write_atomically(file,
                                  [](std::ostream& out) {
                                      out << "half";
                                      throw std::runtime_error("stopped");
                                  }),
                 std::runtime_error);
    EXPECT_EQ(slurp(file), "old");
    EXPECT_EQ(folder.count(), 1u);
}

TEST(AtomicFile, KeepsLinksAndPermissions) {
    const TempFolder folder;
    const auto file = folder.write("real.txt", "old");
    ::chmod(file.c_str(), 0640);
    std::filesystem::create_symlink("real.txt", folder / "link.txt");
    write_atomically(folder / "link.txt", "new");
    EXPECT_TRUE(std::filesystem::is_symlink(folder / "link.txt"));
    EXPECT_EQ(slurp(file), "new");
    struct stat info {};
    ASSERT_EQ(::stat(file.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0640u);
}

TEST(AtomicFile, UnusableTargets) {
    const TempFolder folder;
    std::filesystem::create_directory(folder / "d");
    EXPECT_THAT(error_of([&] { write_atomically(folder / "d", "x"); }), HasSubstr("Is a directory"));
    EXPECT_THAT(error_of([&] { write_atomically(folder / "none/a.txt", "x"); }), HasSubstr("No such file"));
    EXPECT_THAT(error_of([&] { write_atomically("", "x"); }), HasSubstr("expected a file name"));
    EXPECT_THAT(error_of([&] { write_atomically(folder / std::string(300, 'n'), "x"); }), HasSubstr("too long"));
    EXPECT_NO_THROW(check_writable(folder / "new.txt"));
    EXPECT_THAT(error_of([&] { check_writable(folder / "d"); }), HasSubstr("Is a directory"));
    EXPECT_THAT(error_of([&] { check_writable(folder / "none/a.txt"); }), HasSubstr("No such file"));
    EXPECT_THAT(error_of([&] { check_writable(folder.write("f", "") / "a.txt"); }), HasSubstr("Not a directory"));
    if (::geteuid() == 0) return;  // the superuser may write anywhere
    std::filesystem::permissions(folder / "d", std::filesystem::perms::owner_read);
    EXPECT_THAT(error_of([&] { write_atomically(folder / "d/a.txt", "x"); }), HasSubstr("Permission denied"));
}

}  // namespace atomic_file_test
}  // namespace headlight::io
