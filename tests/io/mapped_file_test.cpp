// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/io/mapped_file.h"

#include "tests/support/temp_folder.h"

#include <gtest/gtest.h>

#include <csignal>

namespace headlight::io {
namespace mapped_file_test {

void blank(int, siginfo_t* info, void*) {
    const MappedFile* file = MappedFile::holding(info->si_addr);
    if (!file || !file->blank_from(info->si_addr)) ::_exit(9);
}

TEST(MappedFile, WhatWasCutOffReadsAsZeros) {
    const test::TempFolder folder;
    constexpr std::size_t page = 4096;
    const auto path = folder.write("weights", std::string(5 * page + 10, 'x'));
    const auto other = MappedFile::open(folder.write("other", "yes"));
    auto file = MappedFile::open(path);
    std::filesystem::resize_file(path, page);
    struct sigaction action {
    }, before{};
    action.sa_sigaction = blank;
    action.sa_flags = SA_SIGINFO;
    ASSERT_EQ(::sigaction(SIGBUS, &action, &before), 0);
    const int blanked = MappedFile::blanked();
    EXPECT_EQ(file->bytes()[page - 1], std::byte{'x'});
    EXPECT_TRUE(MappedFile::damaged().empty());
    for (std::size_t at = 2 * page; at < file->bytes().size(); at += page) EXPECT_EQ(file->bytes()[at], std::byte{0});
    EXPECT_EQ(MappedFile::blanked(), blanked + 1) << "once for all that follows";
    EXPECT_EQ(file->bytes()[page], std::byte{0});
    EXPECT_EQ(MappedFile::damaged(), path);
    const auto last = folder.write("last", std::string(2 * page, 'x'));
    auto later = MappedFile::open(last);
    std::filesystem::resize_file(last, 0);
    EXPECT_EQ(later->bytes()[page], std::byte{0});
    ::sigaction(SIGBUS, &before, nullptr);
    EXPECT_EQ(MappedFile::damaged(), last) << "the one that was lost last";
    later.reset();
    EXPECT_EQ(MappedFile::damaged(), path);
    EXPECT_EQ(other->bytes()[0], std::byte{'y'});
    file.reset();
    EXPECT_TRUE(MappedFile::damaged().empty());
    EXPECT_EQ(MappedFile::holding(other->bytes().data()), other.get());
    EXPECT_EQ(MappedFile::holding(&page), nullptr);
}

}  // namespace mapped_file_test
}  // namespace headlight::io
