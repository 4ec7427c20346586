// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/io/npz.h"

#include "headlight/base/error.h"
#include "headlight/base/job.h"
#include "headlight/io/array_stream.h"
#include "tests/support/temp_folder.h"
#include "tests/support/torch_archive.h"

#include <sys/stat.h>
#include <zlib.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <thread>

namespace headlight::io {
namespace npz_test {

using test::little;
using test::TempFolder;

std::uint64_t number(const std::string& text, std::size_t at, int size) {
    std::uint64_t value = 0;
    for (int i = 0; i < size; ++i) value |= std::uint64_t{static_cast<unsigned char>(text.at(at + i))} << (8 * i);
    return value;
}

/// Reads a stored zip by its central directory, checking what unzip and Python check: that local header, central
/// entry, sizes and checksum agree.
std::map<std::string, std::string> unzip(const std::string& zip) {
    std::map<std::string, std::string> members;
    const std::size_t end = zip.size() - 22;
    EXPECT_EQ(zip.substr(end, 4), "PK\x05\x06");
    std::size_t at = number(zip, end + 16, 4);
    const std::uint64_t count = number(zip, end + 10, 2);
    for (std::uint64_t i = 0; i < count; ++i) {
        EXPECT_EQ(zip.substr(at, 4), "PK\x01\x02");
        const std::uint64_t crc = number(zip, at + 16, 4), size = number(zip, at + 24, 4);
        const std::size_t name_size = number(zip, at + 28, 2), extra = number(zip, at + 30, 2);
        const std::size_t local = number(zip, at + 42, 4);
        const std::string name = zip.substr(at + 46, name_size);
        EXPECT_EQ(zip.substr(local, 4), "PK\x03\x04");
        EXPECT_EQ(zip.substr(local + 30, name_size), name);
        EXPECT_EQ(zip.substr(local + 14, 12), zip.substr(at + 16, 12));
        const std::string data = zip.substr(local + 30 + name_size + number(zip, local + 28, 2), size);
        EXPECT_EQ(crc32(0, reinterpret_cast<const Bytef*>(data.data()), static_cast<uInt>(data.size())), crc) << name;
        members[name] = data;
        at += 46 + name_size + extra;
    }
    EXPECT_EQ(at, end);
    return members;
}

struct Npy {
    std::string dict, data;
};

Npy parse_npy(const std::string& file) {
    EXPECT_EQ(file.substr(0, 8), std::string("\x93NUMPY\x01\0", 8));
    const std::size_t length = number(file, 8, 2);
    EXPECT_EQ((10 + length) % 64, 0u);
    EXPECT_EQ(file.at(9 + length), '\n');
    std::string dict = file.substr(10, length);
    dict.erase(dict.find_last_not_of(" \n") + 1);
    return {dict, file.substr(10 + length)};
}

template <class T>
ArrayRef array(std::string name, DType dtype, std::vector<std::int64_t> shape, const std::vector<T>& data) {
    return {std::move(name), dtype, std::move(shape), std::as_bytes(std::span<const T>(data))};
}

TEST(Npz, HoldsEveryArrayInNumpyTerms) {
    const TempFolder folder;
    const std::vector<float> f32{1, 2, 3, 4, 5, 6};
    const std::vector<std::int64_t> i64{-1};
    const std::vector<std::uint16_t> bf16{0x3F80, 0xC040};  // 1, -3
    write_npz(folder / "a.npz",
              {array("blocks.0.hook_q", DType::F32, {1, 2, 3}, f32),
               array("n", DType::I64, {}, i64),
               array("half", DType::BF16, {2}, bf16),
               {"empty", DType::F64, {0, 3}, {}}},
              {{"model", "n\u00f8vella \U0001F600"}});
    const auto members = unzip(test::slurp(folder / "a.npz"));
    ASSERT_EQ(members.size(), 5u);
    const Npy q = parse_npy(members.at("blocks.0.hook_q.npy"));
    EXPECT_EQ(q.dict, "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2, 3), }");
    ASSERT_EQ(q.data.size(), 24u);
    EXPECT_EQ(std::memcmp(q.data.data(), f32.data(), 24), 0);
    EXPECT_EQ(parse_npy(members.at("n.npy")).dict, "{'descr': '<i8', 'fortran_order': False, 'shape': (), }");
    const Npy half = parse_npy(members.at("half.npy"));
    EXPECT_EQ(half.dict, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }");
    const float expected[] = {1, -3};
    ASSERT_EQ(half.data.size(), 8u);
    EXPECT_EQ(std::memcmp(half.data.data(), expected, 8), 0);
    const Npy metadata = parse_npy(members.at("metadata.npy"));
    const std::u32string json = U"{\"model\":\"n\u00f8vella \U0001F600\"}";
    EXPECT_EQ(metadata.dict, "{'descr': '<U" + std::to_string(json.size()) + "', 'fortran_order': False, 'shape': (), }");
    ASSERT_EQ(metadata.data.size(), json.size() * 4);
    EXPECT_EQ(std::memcmp(metadata.data.data(), json.data(), metadata.data.size()), 0);
}

// A chunk border must not cut a bfloat16 or lose one: more elements than one chunk holds.
TEST(Npz, WidensLongBfloat16) {
    const TempFolder folder;
    std::vector<std::uint16_t> bf16(300'001);
    for (std::size_t i = 0; i < bf16.size(); ++i) bf16[i] = static_cast<std::uint16_t>(i * 7);
    write_npz(folder / "a.npz", {array("x", DType::BF16, {300'001}, bf16)}, {});
    const Npy x = parse_npy(unzip(test::slurp(folder / "a.npz")).at("x.npy"));
    ASSERT_EQ(x.data.size(), bf16.size() * 4);
    for (std::size_t i = 0; i < bf16.size(); ++i) ASSERT_EQ(number(x.data, 4 * i, 4), std::uint64_t{bf16[i]} << 16) << i;
}

TEST(Npz, IsTheSameFileForTheSameInput) {
    const TempFolder folder;
    const std::vector<float> a{1}, b{2};
    write_npz(folder / "1.npz", {array("a", DType::F32, {1}, a), array("b", DType::F32, {1}, b)}, {{"k", "v"}});
    write_npz(folder / "2.npz", {array("b", DType::F32, {1}, b), array("a", DType::F32, {1}, a)}, {{"k", "v"}});
    EXPECT_EQ(test::slurp(folder / "1.npz"), test::slurp(folder / "2.npz"));
}

TEST(Npz, HoldsTextsOfAnyWidth) {
    const TempFolder folder;
    const std::vector<std::string> texts{"a", "", "äöü ☃ 𝄞", "cut \xE2\x98"};
    write_npz(folder / "t.npz", {}, {}, {{"texts", {2, 2}, texts}});
    const NpzContent content = read_npz(folder / "t.npz");
    EXPECT_EQ(content.texts.at("texts"), (std::vector<std::string>{"a", "", "äöü ☃ 𝄞", "cut \uFFFD\uFFFD"}));
    EXPECT_EQ(content.text_shapes.at("texts"), (std::vector<std::int64_t>{2, 2}));
    EXPECT_THROW(write_npz(folder / "u.npz", {}, {}, {{"texts", {3}, texts}}), Error);
    EXPECT_THROW(write_npz(folder / "u.npz", {}, {{"a", "b"}}, {{"metadata", {4}, texts}}), Error);
}

TEST(Npz, RefusesNamesThatCollide) {
    const TempFolder folder;
    const std::vector<float> a{1};
    const ArrayRef x = array("x", DType::F32, {1}, a), metadata = array("metadata", DType::F32, {1}, a);
    EXPECT_THROW(write_npz(folder / "x.npz", {x, x}, {}), Error);
    EXPECT_THROW(write_npz(folder / "x.npz", {metadata}, {}), Error);
    EXPECT_EQ(folder.count(), 0u);
}

/// An array in parts of `part` elements, made when they are asked for. `order`: the names as they are fed.
struct Fed {
    std::vector<float> values;
    std::size_t part;
    std::vector<std::string>& order;
    ArrayStream stream(const std::string& name) const {
        return {name, DType::F32, {std::ssize(values)}, [name, this](const PutBytes& put) {
                    order.push_back(name);
                    for (std::size_t i = 0; i < values.size(); i += part) {
                        const std::vector<float> made(
                            values.begin() + static_cast<std::ptrdiff_t>(i),
                            values.begin() + static_cast<std::ptrdiff_t>(std::min(i + part, values.size())));
                        put(std::as_bytes(std::span(made)));
                    }
                }};
    }
};

TEST(Npz, AStreamIsTheSameFileInBothFormats) {
    const TempFolder folder;
    std::vector<std::string> order;
    const Fed a{{1, 2, 3, 4, 5, 6, 7}, 3, order}, b{std::vector<float>(100'000, 0.5F), 7'000, order}, none{{}, 1, order};
    const std::vector<std::uint16_t> half{0x3F80, 0xC040};
    const ArrayRef bf16 = array("h", DType::BF16, {2}, half);
    const std::vector<ArrayRef> whole = {
        array("b", DType::F32, {100'000}, b.values), array("a", DType::F32, {7}, a.values), {"none", DType::F32, {0}, {}}, bf16};
    const std::vector<ArrayStream> streams = {
        b.stream("b"), a.stream("a"), none.stream("none"), {"h", DType::BF16, {2}, [&](const PutBytes& put) {
                                                                put(bf16.bytes.first(2)), put(bf16.bytes.last(2));
                                                            }}};
    write_npz(folder / "whole.npz", whole, {{"k", "v"}});
    stream_npz(folder / "stream.npz", streams, {{"k", "v"}});
    EXPECT_EQ(test::slurp(folder / "stream.npz"), test::slurp(folder / "whole.npz"));
    EXPECT_EQ(order, (std::vector<std::string>{"a", "b", "none"})) << "each once, and none before it is written";
    write_safetensors(folder / "whole.safetensors", whole, {{"k", "v"}});
    order.clear();
    stream_safetensors(folder / "stream.safetensors", streams, {{"k", "v"}});
    EXPECT_EQ(test::slurp(folder / "stream.safetensors"), test::slurp(folder / "whole.safetensors"));
    EXPECT_EQ(order, (std::vector<std::string>{"a", "b", "none"}));

    // A pipe cannot be gone back in.
    const auto pipe = folder / "pipe.npz";
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    std::string through;
    std::thread reader([&] { through = test::slurp(pipe); });
    stream_npz(pipe, streams, {{"k", "v"}});
    reader.join();
    EXPECT_EQ(through, test::slurp(folder / "whole.npz"));
}

TEST(Npz, AStreamThatEndsEarlyLeavesTheOldFile) {
    const TempFolder folder;
    const std::vector<float> few{1, 2};
    const auto bytes = std::as_bytes(std::span(few));
    const auto with = [&](std::int64_t size, bool cancelled) {
        return std::vector<ArrayStream>{{"x", DType::F32, {size}, [=](const PutBytes& put) {
                                             put(bytes);
                                             if (cancelled) throw Cancelled();
                                         }}};
    };
    for (const char* name : {"t.npz", "t.safetensors"}) {
        const auto file = folder.write(name, "old");
        const auto write = [&](const std::vector<ArrayStream>& streams) {
            file.extension() == ".npz" ? stream_npz(file, streams, {}) : stream_safetensors(file, streams, {});
        };
        EXPECT_THROW(write(with(2, true)), Cancelled);
        EXPECT_THROW(write(with(1, false)), Error) << "more than the shape has";
        EXPECT_THROW(write(with(3, false)), Error) << "fewer";
        EXPECT_EQ(test::slurp(file), "old");
    }
    EXPECT_EQ(folder.count(), 2u);
}

/// A member that says it unpacks to `size` bytes of a few packed ones.
std::string claiming(std::uint32_t size) {
    const std::string name = "attention.npy", content = "few";
    const std::string common = little(20, 2) + little(0, 2) + little(8, 2) + little(0, 4) + little(0, 4) +
                               little(content.size(), 4) + little(size, 4) + little(name.size(), 2) + little(0, 2);
    const std::string local = "PK\x03\x04" + common + name + content;
    const std::string central = "PK\x01\x02" + little(20, 2) + common + little(0, 10) + little(0, 4) + name;
    return local + central + "PK\x05\x06" + little(0, 4) + little(1, 2) + little(1, 2) + little(central.size(), 4) +
           little(local.size(), 4) + little(0, 2);
}

TEST(Npz, ABombIsRefusedBeforeItIsUnpacked) {
    const TempFolder folder;
    const auto failure = [&](std::uint32_t size) -> std::string {
        try {
            read_npz(folder.write("bomb.npz", claiming(size)));
        } catch (const Error& e) {
            EXPECT_EQ(e.facts().file, folder / "bomb.npz");
            return e.what();
        }
        return "read";
    };
    EXPECT_NE(failure(0xF0000000u).find("unpacks to too much"), std::string::npos) << failure(0xF0000000u);
    EXPECT_NE(failure(1000).find("cannot be unpacked"), std::string::npos) << failure(1000);
}

}  // namespace npz_test
}  // namespace headlight::io
