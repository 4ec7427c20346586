// SPDX-License-Identifier: GPL-3.0-or-later
// Random damage to archives and pickles: only success or Error may come of it.
#include "headlight/base/error.h"
#include "io/pickle.h"
#include "io/torch_file.h"
#include "io/zip_reader.h"
#include "tests/fuzz/mutator.h"
#include "tests/support/temp_folder.h"
#include "tests/support/torch_archive.h"

#include <gtest/gtest.h>

namespace headlight::io {
namespace torch_file_fuzz_test {

using namespace test;

std::string sound_value() {
    const std::string storage = py_storage("FloatStorage", "0", 8) + "q\x01";
    return py_dict({{"a.weight", py_tensor(storage, 0, {2, 4}, {4, 1})},
                    {"b.weight", py_tensor("h\x01", 1, {2, 2}, {1, 2})},
                    {"steps", py_int(12)},
                    {"names", "](" + py_text("x") + "K\x07\x88Ne"}});
}

TEST(FuzzPickle, DamagedBytes) {
    static constexpr std::string_view kAllowed[] = {"collections.OrderedDict", "torch._utils._rebuild_tensor_v2",
                                                    "torch.FloatStorage"};
    const std::string sound = py_pickle(sound_value());
    Mutator mutate;
    int accepted = 0;
    constexpr int kRuns = 100'000;
    for (int i = 0; i < kRuns; ++i) {
        const std::string damaged = mutate(sound);
        try {
            const Pickle pickle = read_pickle(std::as_bytes(std::span(damaged)), "fuzz", kAllowed);
            ASSERT_NE(pickle.root, nullptr);
            for (const PickleValue& value : pickle.values)
                if (value.kind == PickleKind::global) {
                    EXPECT_NE(std::find(std::begin(kAllowed), std::end(kAllowed), value.text), std::end(kAllowed));
                }
            ++accepted;
        } catch (const Error&) {
        }
    }
    EXPECT_GT(accepted, 0);  // a changed letter in a name is no damage
    EXPECT_LT(accepted, kRuns);
}

TEST(FuzzZip, DamagedBytes) {
    const std::string sound = torch_archive(sound_value(), {std::string(32, 'x')});
    Mutator mutate;
    for (int i = 0; i < 50'000; ++i) {
        const std::string damaged = mutate(sound);
        const auto bytes = std::as_bytes(std::span(damaged));
        try {
            for (const auto& [name, entry] : read_zip(bytes, "fuzz")) {
                if (entry.bytes.empty()) continue;
                EXPECT_GE(entry.bytes.data(), bytes.data());
                EXPECT_LE(entry.bytes.data() + entry.bytes.size(), bytes.data() + bytes.size());
            }
        } catch (const Error&) {
        }
    }
}

TEST(FuzzTorchFile, DamagedPickleInASoundArchive) {
    const TempFolder folder;
    Mutator mutate;
    for (int i = 0; i < 3'000; ++i) {
        const auto file = folder.write("f.bin", torch_archive(mutate(sound_value()), {std::string(32, 'x')}));
        const auto mapped = MappedFile::open(file);
        try {
            for (const TensorView& view : read_torch_file(mapped))
                EXPECT_EQ(static_cast<std::int64_t>(view.bytes.size()), view.numel() * size_of(view.dtype));
        } catch (const Error&) {
        }
    }
}

}  // namespace torch_file_fuzz_test
}  // namespace headlight::io
