// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/io/safetensors.h"

#include "tests/support/hostile.h"

namespace headlight::io {
namespace safetensors_test {

using test::Hostile;
using test::raw_safetensors;

std::string tensor(const std::string& name, const std::string& dtype, const std::string& shape, const std::string& offsets) {
    return "\"" + name + R"(":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}";
}

std::string one(const std::string& dtype, const std::string& shape, const std::string& offsets, std::size_t data) {
    return raw_safetensors("{" + tensor("w", dtype, shape, offsets) + "}", std::string(data, 'x'));
}

std::string nested(int depth) {
    std::string text = R"({"w":)";
    for (int i = 0; i < depth; ++i) text += "[";
    return raw_safetensors(text, "");
}

const std::vector<Hostile>& cases() {
    static const std::vector<Hostile> all{
        {"Empty", "", "The file is empty"},
        {"ShorterThanTheLengthField", "abc", "cut short", "header length", "expected 8 bytes, found 3 bytes"},
        {"HeaderLongerThanFile", std::string("\xff\0\0\0\0\0\0\0{}", 10), "header is longer than the file", "header length",
         "expected at most 2 bytes, found 255 bytes"},
        {"HeaderLengthOverflows", std::string(8, '\xff') + "{}", "header is longer than the file", "header length",
         "found 18,446,744,073,709,551,615 bytes"},
        {"NoHeader", std::string(8, '\0'), "no header"},
        {"BrokenJson", raw_safetensors(R"({"w": )", ""), "Broken JSON", "line 1, column 6"},
        {"NotUtf8", raw_safetensors("{\"\xff\":1}", ""), "Broken JSON"},
        {"HeaderIsAList", raw_safetensors("[1]", ""), "not a JSON object", "header", "found [1]"},
        {"TextAfterTheHeader", raw_safetensors("{} {}", ""), "Broken JSON"},
        {"NestedTooDeep", nested(100000), "Broken JSON", "", "more than 64 nested levels"},
        {"EntryIsANumber", raw_safetensors(R"({"w":3})", ""), "Broken header entry", "tensor w", "expected an object"},
        {"DtypeMissing", raw_safetensors(R"({"w":{"shape":[1],"data_offsets":[0,4]}})", "1234"), "lacks a field", "tensor w",
         "expected dtype"},
        {"DtypeUnknown", one("F13", "[1]", "[0,4]", 4), "Unknown dtype", "tensor w", "found \"F13\""},
        {"DtypeIsANumber", raw_safetensors(R"({"w":{"dtype":4,"shape":[1],"data_offsets":[0,4]}})", "1234"), "wrong dtype",
         "tensor w", "found 4"},
        {"DtypeLies", one("F64", "[2]", "[0,8]", 8), "do not fit", "tensor w", "expected 16 bytes for F64 [2], found 8 bytes"},
        {"ShapeMissing", raw_safetensors(R"({"w":{"dtype":"F32","data_offsets":[0,4]}})", "1234"), "lacks a field", "tensor w",
         "expected shape"},
        {"ShapeLies", one("F32", "[3]", "[0,8]", 8), "do not fit", "tensor w", "expected 12 bytes for F32 [3], found 8 bytes"},
        {"ShapeNegative", one("F32", "[-1]", "[0,4]", 4), "Wrong shape", "tensor w", "found -1"},
        {"ShapeFraction", one("F32", "[1.5]", "[0,4]", 4), "Wrong shape", "tensor w", "found 1.5"},
        {"ShapeAbove63Bits", one("F32", "[9223372036854775808]", "[0,4]", 4), "Wrong shape", "tensor w"},
        {"SizeOverflows64Bits", one("F32", "[4294967296,4294967296]", "[0,0]", 0), "overflows 64 bits", "tensor w",
         "found F32 [4294967296, 4294967296]"},
        // 2^61 elements of 8 bytes are 2^64 bytes: 0 when the product wraps.
        {"BytesOverflow64Bits", one("F64", "[2305843009213693952]", "[0,0]", 0), "overflows 64 bits", "tensor w"},
        {"OffsetsMissing", raw_safetensors(R"({"w":{"dtype":"F32","shape":[1]}})", "1234"), "lacks a field", "tensor w",
         "expected data_offsets"},
        {"OffsetsAreThree", one("F32", "[1]", "[0,4,8]", 4), "Wrong data_offsets", "tensor w", "found [0,4,8]"},
        {"OffsetsNegative", one("F32", "[1]", "[-4,0]", 4), "Wrong data_offsets", "tensor w", "found [-4,0]"},
        {"OffsetsAbove64Bits", one("F32", "[1]", "[0,18446744073709551620]", 4), "Wrong data_offsets", "tensor w"},
        {"OffsetsBackwards", one("F32", "[1]", "[4,0]", 4), "runs backwards", "tensor w", "found bytes 4 to 0"},
        {"OffsetsOutOfRange", one("F32", "[2]", "[0,8]", 4), "past the end of the file", "tensor w",
         "expected at most 4 bytes of data, found bytes 0 to 8"},
        {"OffsetsHuge", one("U8", "[9223372036854775807]", "[0,9223372036854775807]", 4), "past the end of the file", "tensor w"},
        {"Overlap",
         raw_safetensors("{" + tensor("a", "F32", "[2]", "[0,8]") + "," + tensor("b", "F32", "[2]", "[4,12]") + "}",
                         "123456789012"),
         "Two tensors overlap", "tensor b", "expected a start at or after byte 8, the end of a, found bytes 4 to 12"},
        {"SameRangeTwice",
         raw_safetensors("{" + tensor("a", "F32", "[1]", "[0,4]") + "," + tensor("b", "F32", "[1]", "[0,4]") + "}", "1234"),
         "Two tensors overlap", "tensor b"},
        {"HoleAtTheStart", one("F32", "[1]", "[4,8]", 8), "belong to no tensor", "data section",
         "found bytes 0 to 4 before tensor w"},
        {"HoleBetween",
         raw_safetensors("{" + tensor("a", "F32", "[1]", "[0,4]") + "," + tensor("b", "F32", "[1]", "[8,12]") + "}",
                         "123456789012"),
         "belong to no tensor", "data section", "found bytes 4 to 8 before tensor b"},
        {"BytesAfterTheLast", one("F32", "[1]", "[0,4]", 9), "belong to no tensor", "data section",
         "found bytes 4 to 9 after the last tensor"},
        {"DuplicateName",
         raw_safetensors("{" + tensor("w", "F32", "[1]", "[0,4]") + "," + tensor("w", "F32", "[1]", "[4,8]") + "}", "12345678"),
         "Broken JSON", "line 1", "the key \"w\" for the second time"},
        {"DuplicateField", raw_safetensors(R"({"w":{"dtype":"F32","dtype":"F16","shape":[1],"data_offsets":[0,4]}})", "1234"),
         "Broken JSON", "line 1", "the key \"dtype\" for the second time"},
        {"MetadataIsAList", raw_safetensors(R"({"__metadata__":[1]})", ""), "Broken metadata", "__metadata__"},
        {"MetadataHoldsANumber", raw_safetensors(R"({"__metadata__":{"format":3}})", ""), "Broken metadata",
         "__metadata__.format", "expected a string, found 3"},
    };
    return all;
}

class HostileSafetensors : public testing::TestWithParam<Hostile> {};

TEST_P(HostileSafetensors, IsRefusedByNameAndNumber) {
    test::expect_refused(GetParam(), "model.safetensors", TensorStore::open_file);
}

INSTANTIATE_TEST_SUITE_P(All, HostileSafetensors, testing::ValuesIn(cases()),
                         [](const auto& c) { return std::string(c.param.name); });

TEST(TruncatedSafetensors, EveryLengthIsRefused) {
    test::expect_prefixes_refused(one("F32", "[3]", "[0,12]", 12), "model.safetensors", TensorStore::open_file);
}

}  // namespace safetensors_test
}  // namespace headlight::io
