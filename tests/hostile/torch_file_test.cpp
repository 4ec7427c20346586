// SPDX-License-Identifier: GPL-3.0-or-later
// Archives that want to run something, to fill memory, or that are spoilt.
#include "headlight/io/safetensors.h"
#include "tests/support/hostile.h"
#include "tests/support/torch_archive.h"

#include <utility>

namespace headlight::io {
namespace torch_file_test {

using namespace test;

std::string floats(int count) { return std::string(static_cast<std::size_t>(count) * 4, 'x'); }

std::string tensor_file(std::int64_t offset, const std::vector<std::int64_t>& shape, const std::vector<std::int64_t>& strides,
                        const std::string& type = "FloatStorage", std::int64_t count = 4,
                        const std::string& storage = floats(4)) {
    return torch_archive(py_dict({{"w", py_tensor(py_storage(type, "0", count), offset, shape, strides)}}), {storage});
}

/// A call of something at the place of a tensor.
std::string calls(const std::string& module, const std::string& name, const std::string& argument) {
    return torch_archive(py_dict({{"w", py_global(module, name) + py_tuple(argument) + "R"}}), {});
}

std::string repeated(const std::string& piece, int times) {
    std::string out;
    for (int i = 0; i < times; ++i) out += piece;
    return out;
}

const std::vector<Hostile>& cases() {
    const std::string good = tensor_file(0, {2, 2}, {2, 1});
    const std::string stack_global = py_dict({{"w", "\x8c\x02os\x8c\x06system\x93" + py_tuple(py_text("touch pwned")) + "R"}});
    const std::string tensor = py_tensor(py_storage("FloatStorage", "0", 4), 0, {4}, {1});
    static const std::vector<Hostile> all{
        {"OsSystem", calls("os", "system", py_text("touch pwned")), "no place in a file of weights", "os.system"},
        {"PosixSystem", calls("posix", "system", py_text("id")), "no place", "posix.system"},
        {"Eval", calls("builtins", "eval", py_text("1")), "no place", "builtins.eval"},
        {"Eval2", calls("__builtin__", "eval", py_text("1")), "no place", "__builtin__.eval"},
        {"Getattr", calls("builtins", "getattr", py_text("x") + py_text("y")), "no place", "builtins.getattr"},
        {"Subprocess", calls("subprocess", "Popen", py_text("sh")), "no place", "subprocess.Popen"},
        {"TorchLoad", calls("torch", "load", py_text("x")), "no place", "torch.load"},
        {"TorchSubmodule", calls("torch._utils", "_rebuild_tensor_v2.__globals__", py_text("x")), "no place", "__globals__"},
        {"StackGlobal", torch_archive(stack_global, {}), "no place", "os.system"},
        {"LineFeedInTheName", torch_archive(py_dict({{"w", "\x8c\x0ctorch\nFloat.\x8c\x07Storage\x93"}}), {}), "no place"},
        {"Inst", torch_archive("(ios\nsystem\n", {}), "more than weights", "INST"},
        {"NewObject", torch_archive(py_global("collections", "OrderedDict") + ")\x81", {}), "more than weights", "NEWOBJ"},
        {"Extension", torch_archive("\x82\x01", {}), "more than weights", "EXT1"},
        {"PersistentText", torch_archive("Pevil\n", {}), "more than weights", "PERSID"},
        {"BuildOnATensor", torch_archive(py_dict({{"w", tensor + "}b"}}), {floats(4)}), "attributes to something that has none"},
        {"CallOfATensor", torch_archive(py_dict({{"w", tensor + ")R"}}), {floats(4)}), "cannot be called"},
        {"UnknownOpcode", torch_archive("\xff", {}), "Not a pickle", "0xff"},
        {"Protocol9", zip_of({{"a/data.pkl", "\x80\x09}."}}), "protocol", "found 9"},
        {"PickleEmpty", zip_of({{"a/data.pkl", ""}}), "cut short"},
        {"PickleWithoutEnd", zip_of({{"a/data.pkl", "\x80\x02}"}}), "cut short"},
        {"TextLongerThanThePickle", zip_of({{"a/data.pkl", "X\xff\xff\xff\x7f"}}), "too long"},
        {"StackEmpty", torch_archive("0", {}), "not there"},
        {"NoMark", torch_archive("t", {}), "lacks a mark"},
        {"MemoMissing", torch_archive("h\x05", {}), "not there", "memo 5"},
        {"OddDict", torch_archive("}(" + py_text("a") + "u", {}), "key without a value"},
        {"LongInteger", torch_archive("\x8a\xff" + std::string(255, 'x'), {}), "64 bits"},
        // Each level holds the last ten times: 10^20 values for whoever follows them all.
        {"MemoBomb", torch_archive("]q\x01" + repeated("(" + repeated("h\x01", 10) + "tq\x01", 20), {}), "Not a state dict"},
        {"ListGrowsWithoutEnd", torch_archive("](" + repeated("2", 1'500'000) + "e", {}), "not there"},
        {"DeepNesting", torch_archive(repeated("(", 1'000'000) + "N" + repeated("t", 1'000'000), {}), "Not a state dict"},
        {"ManyValues", torch_archive(repeated("N", 2'100'000), {}), "Too many values"},
        {"RootIsAList", torch_archive("]", {}), "Not a state dict"},
        {"RootIsATensor", torch_archive(tensor, {floats(4)}), "Not a state dict", "single tensor"},
        {"NoTensors", torch_archive(py_dict({{"a", py_int(1)}}), {}), "No tensors"},
        {"KeyIsANumber", torch_archive("}(" + py_int(1) + tensor + "u", {floats(4)}), "without a name"},
        {"NameTwice", torch_archive(py_dict({{"w", tensor}, {"w", tensor}}), {floats(4)}), "The same name twice", "tensor w"},
        {"StorageShorterThanTensor", tensor_file(0, {3, 2}, {2, 1}), "storage is shorter than its tensor", "tensor w"},
        {"OffsetPastTheEnd", tensor_file(4, {1}, {1}), "storage is shorter", "found 4"},
        {"StridePastTheEnd", tensor_file(0, {2}, {4}), "storage is shorter"},
        {"StrideOverflows", tensor_file(0, {1LL << 40, 1LL << 10}, {1LL << 40, 1}), "overflow"},
        {"ShapeOverflows", tensor_file(0, {1LL << 40, 1LL << 40}, {0, 0}), "overflows 64 bits"},
        {"ExpandedBomb", tensor_file(0, {1 << 30}, {0}), "repeat more numbers"},
        {"NegativeSize", tensor_file(0, {-1}, {1}), "wrong size", "found -1"},
        {"NegativeOffset", tensor_file(-1, {1}, {1}), "wrong storage offset", "found -1"},
        {"NegativeStride", tensor_file(3, {2}, {-1}), "wrong stride"},
        {"StridesDoNotFit", tensor_file(0, {2, 2}, {1}), "Size and stride do not fit"},
        {"ManyDimensions", tensor_file(0, std::vector<std::int64_t>(17, 1), std::vector<std::int64_t>(17, 1)), "at most 16"},
        {"StorageCutShort", tensor_file(0, {4}, {1}, "FloatStorage", 4, floats(3)), "wrong size", "expected 16 bytes"},
        {"StorageMissing", torch_archive(py_dict({{"w", tensor}}), {}), "storage of a tensor is missing", "data/0"},
        {"StorageOverflows", tensor_file(0, {4}, {1}, "FloatStorage", std::int64_t{1} << 62), "overflows"},
        {"Complex", tensor_file(0, {2}, {1}, "ComplexFloatStorage"), "type that is not read", "ComplexFloat"},
        {"Quantised", tensor_file(0, {2}, {1}, "QInt8Storage"), "type that is not read", "QInt8"},
        {"UnknownStorage", tensor_file(0, {2}, {1}, "EvilStorage"), "no place", "torch.EvilStorage"},
        {"BigEndian", zip_of({{"a/data.pkl", py_pickle("}")}, {"a/byteorder", "big"}}), "byte order", "found big"},
        {"TwoPickles", zip_of({{"a/data.pkl", py_pickle("}")}, {"b/data.pkl", py_pickle("}")}}), "Two pickles"},
        {"OtherArchive", zip_of({{"word/document.xml", "x"}}), "no file of PyTorch"},
        {"NameTwiceInTheArchive", zip_of({{"a/data.pkl", "x"}, {"a/data.pkl", "x"}}), "A name twice"},
        {"DamagedPickle",
         [&] {
             std::string f = good;
             f[f.find("_rebuild") + 1] ^= 1;
             return f;
         }(),
         "checksum differs"},
        {"LfsPointer", "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n", "A pointer of Git LFS",
         "git lfs pull"},
        {"Empty", "", "The file is empty"},
    };
    return all;
}

class HostileTorchFile : public testing::TestWithParam<Hostile> {};

TEST_P(HostileTorchFile, IsRefusedByName) {
    const auto before = std::filesystem::current_path();
    Hostile hostile = GetParam();
    hostile.expected_found = std::exchange(hostile.item, "");  // the detail is anywhere in the message
    expect_refused(hostile, "pytorch_model.bin", TensorStore::open_file);
    EXPECT_FALSE(std::filesystem::exists(before / "pwned"));
}

INSTANTIATE_TEST_SUITE_P(All, HostileTorchFile, testing::ValuesIn(cases()),
                         [](const auto& c) { return std::string(c.param.name); });

TEST(HostileTorchFile, EveryPrefixIsRefused) {
    expect_prefixes_refused(tensor_file(0, {2, 2}, {2, 1}), "pytorch_model.bin", TensorStore::open_file);
}

}  // namespace torch_file_test
}  // namespace headlight::io
