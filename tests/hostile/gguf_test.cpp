// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/io/gguf.h"

#include "tests/support/gguf_bytes.h"
#include "tests/support/hostile.h"

namespace headlight::io {
namespace gguf_test {

using namespace test;

std::string counts(std::uint64_t tensors, std::uint64_t keys, const std::string& rest = "") {
    return "GGUF" + raw<std::uint32_t>(3) + raw(tensors) + raw(keys) + rest;
}

std::string one_entry(std::uint32_t type, const std::string& value) {
    return gguf_file({gguf_entry("key", type, value)}, {}, "");
}

std::string list_of(std::uint32_t type, std::uint64_t count, const std::string& values) {
    return raw(type) + raw(count) + values;
}

std::string one_tensor(const std::vector<std::uint64_t>& sizes, std::uint32_t type, std::uint64_t offset, std::size_t data) {
    return gguf_file({}, {gguf_tensor("w", sizes, type, offset)}, std::string(data, 'x'));
}

std::string nested(int depth) {
    std::string value;
    for (int i = 0; i < depth; ++i) value += list_of(9, 1, "");
    return one_entry(9, value + list_of(0, 0, ""));
}

constexpr std::uint64_t kHuge = 1ull << 63;

const std::vector<Hostile>& cases() {
    static const std::vector<Hostile> all{
        {"Empty", "", "The file is empty"},
        {"AnotherFormat", "PK\x03\x04 and so on", "Not a GGUF file", "first bytes", "expected GGUF, found \"PK??\""},
        {"OnlyTheMagic", "GGUF", "Not a GGUF file"},
        {"VersionOne", "GGUF" + raw<std::uint32_t>(1) + std::string(16, '\0'), "This version", "version", "found 1"},
        {"VersionOfTheFuture", "GGUF" + raw<std::uint32_t>(9) + std::string(16, '\0'), "This version", "version", "found 9"},
        {"OtherByteOrder", "GGUF" + raw<std::uint32_t>(3u << 24) + std::string(16, '\0'), "other byte order"},
        {"CutInTheCounts", std::string("GGUF") + raw<std::uint32_t>(3) + "abc", "cut short", "tensor count",
         "expected 8 bytes at byte 8, found 3"},
        {"TensorCountLies", counts(1ull << 40, 0), "no room for what it counts", "tensor count", "found 1099511627776"},
        {"KeyCountLies", counts(0, ~0ull), "no room for what it counts", "metadata count", "found 18446744073709551615"},
        {"KeyLongerThanFile", counts(0, 1, raw<std::uint64_t>(1000) + std::string(20, 'k')), "A string is longer than the file",
         "metadata entry 0", "found 1,000 bytes"},
        {"KeyLengthOverflows", counts(0, 1, raw<std::uint64_t>(~0ull) + std::string(20, 'k')), "A string is longer than the file",
         "metadata entry 0", "found 18,446,744,073,709,551,615"},
        {"KeyEmpty", gguf_file({gguf_entry("", 0, "x")}, {}, ""), "cannot be a name", "metadata entry 0"},
        {"KeyNotAscii", gguf_file({gguf_entry("k\xff", 0, "x")}, {}, ""), "cannot be a name", "", "found \"k?\""},
        {"KeyTooLong", gguf_file({gguf_entry(std::string(300, 'k'), 0, "x")}, {}, ""), "cannot be a name", "metadata entry 0"},
        {"KeyTwice", gguf_file({gguf_entry("k", 0, "x"), gguf_entry("k", 0, "y")}, {}, ""), "The same key twice", "k"},
        {"ValueTypeUnknown", one_entry(13, "x"), "Unknown type of a value", "key", "found 13"},
        {"ValueCut", one_entry(10, "abc"), "cut short", "key", "expected 8 bytes"},
        {"BoolIsSeven", one_entry(7, "\x07"), "Wrong value", "key", "found 7"},
        {"StringLongerThanFile", one_entry(8, raw<std::uint64_t>(99) + "short"), "A string is longer than the file", "key",
         "expected at most 5 bytes, found 99"},
        {"ArrayLongerThanFile", one_entry(9, list_of(0, 99, "12345")), "An array is longer than the file", "key",
         "expected at most 5 elements, found 99"},
        {"ArrayCountOverflows", one_entry(9, list_of(10, kHuge, "12345678")), "An array is longer than the file", "key",
         "found 9223372036854775808"},
        {"ArrayOfUnknownType", one_entry(9, list_of(77, 1, "x")), "Unknown type of a value", "key", "found 77"},
        {"ArrayOfStringsLies", one_entry(9, list_of(8, 3, gguf_text("") + gguf_text("") + gguf_text("").substr(0, 4) + "xxxx")),
         "A string is longer than the file", "key"},
        {"ArraysNestedTooDeep", nested(5000), "nested too deep", "key", "at most 8 levels"},
        {"AlignmentZero", gguf_file({gguf_entry("general.alignment", 4, raw<std::uint32_t>(0))}, {}, ""), "Wrong alignment",
         "general.alignment", "found 0"},
        {"AlignmentThree", gguf_file({gguf_entry("general.alignment", 4, raw<std::uint32_t>(3))}, {}, ""), "Wrong alignment",
         "general.alignment", "found 3"},
        {"AlignmentIsText", gguf_file({gguf_entry("general.alignment", 8, gguf_text("32"))}, {}, ""), "Wrong alignment",
         "general.alignment"},
        {"AlignmentHuge", gguf_file({gguf_entry("general.alignment", 10, raw(kHuge))}, {}, ""), "Wrong alignment",
         "general.alignment"},
        {"TensorNameEmpty", gguf_file({}, {gguf_tensor("", {1}, 0, 0)}, "1234"), "cannot be a name", "tensor 0"},
        {"TensorOfFiveDimensions", one_tensor({1, 1, 1, 1, 1}, 0, 0, 4), "Too many dimensions", "tensor w", "found 5"},
        {"TensorOfABillionDimensions", counts(1, 0, gguf_text("w") + raw<std::uint32_t>(1u << 30) + std::string(64, 'x')),
         "Too many dimensions", "tensor w"},
        {"TensorSizeZero", one_tensor({0}, 0, 0, 4), "Wrong shape", "tensor w", "found 0"},
        {"TensorSizeAbove63Bits", one_tensor({kHuge}, 0, 0, 4), "Wrong shape", "tensor w"},
        {"TensorSizesOverflow", one_tensor({1ull << 32, 1ull << 32}, 0, 0, 4), "overflows 64 bits", "tensor w",
         "found F32 [4294967296, 4294967296]"},
        // 2^62 numbers of Q4_1 would be fewer bytes than 2^63, but not as floats.
        {"NumbersOverflow", one_tensor({1ull << 62}, 3, 0, 4), "overflows 64 bits", "tensor w"},
        {"TensorTypeUnknown", one_tensor({1}, 4, 0, 4), "Unknown type of a tensor", "tensor w", "found 4"},
        {"TensorTypeHuge", one_tensor({1}, ~0u, 0, 4), "Unknown type of a tensor", "tensor w"},
        {"RowsAreNoBlocks", one_tensor({33, 2}, 3, 0, 80), "no whole blocks", "tensor w",
         "expected a multiple of 32 for Q4_1, found [2, 33]"},
        {"OffsetNotAligned", one_tensor({1}, 0, 4, 64), "not aligned", "tensor w", "found 4"},
        {"OffsetPastTheEnd", one_tensor({1}, 0, 64, 8), "past the end of the file", "tensor w",
         "expected at most 8 bytes of data, found 4 bytes at byte 64"},
        {"OffsetOverflows", one_tensor({1}, 0, ~0ull - 31, 8), "past the end of the file", "tensor w"},
        {"TensorLongerThanFile", one_tensor({100}, 0, 0, 8), "past the end of the file", "tensor w", "found 400 bytes"},
        {"TensorWithoutData", counts(1, 0, gguf_tensor("w", {1}, 0, 0)), "past the end of the file", "tensor w"},
        {"Overlap", gguf_file({}, {gguf_tensor("a", {12}, 0, 0), gguf_tensor("b", {4}, 0, 32)}, std::string(64, 'x')),
         "Two tensors overlap", "tensor b", "byte 48, the end of a, found byte 32"},
        {"TensorTwice", gguf_file({}, {gguf_tensor("a", {1}, 0, 0), gguf_tensor("a", {1}, 0, 32)}, std::string(64, 'x')),
         "The same tensor twice", "tensor a"},
    };
    return all;
}

class HostileGguf : public testing::TestWithParam<Hostile> {};

TEST_P(HostileGguf, IsRefusedByNameAndNumber) { expect_refused(GetParam(), "model.gguf", GgufFile::open); }

INSTANTIATE_TEST_SUITE_P(All, HostileGguf, testing::ValuesIn(cases()), [](const auto& c) { return std::string(c.param.name); });

TEST(TruncatedGguf, EveryLengthIsRefused) {
    const std::string whole = gguf_file({gguf_entry("a", 8, gguf_text("text")), gguf_entry("b", 9, list_of(4, 1, "1234"))},
                                        {gguf_tensor("w", {3}, 0, 0)}, std::string(12, 'x'));
    expect_prefixes_refused(whole, "model.gguf", GgufFile::open);
}

}  // namespace gguf_test
}  // namespace headlight::io
