// SPDX-License-Identifier: GPL-3.0-or-later
// Damaged input for a reader: success and Error are the only outcomes. Anything else (a crash, a sanitizer's report, a standard
// library's exception) is a finding. A fixed number of inputs from a fixed seed, or with HEADLIGHT_FUZZ_SECONDS=N new ones for N
// seconds each; HEADLIGHT_FUZZ_SEED repeats a run. The last input stays as a file where the test says.
#pragma once

#include "headlight/base/error.h"
#include "headlight/io/checksum.h"
#include "tests/fuzz/mutator.h"
#include "tests/support/temp_folder.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iostream>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace headlight::test {

using Damage = std::function<std::string(Mutator&, const std::string&)>;
using Read = std::function<void(const std::string& bytes)>;

inline std::uint64_t fuzz_seed() {
    const char* seed = std::getenv("HEADLIGHT_FUZZ_SEED");
    if (seed) return std::strtoull(seed, nullptr, 10);
    return std::getenv("HEADLIGHT_FUZZ_SECONDS") ? std::random_device()() : 20261128;
}

/// Bytes and words that text readers know, besides random ones.
inline std::string damaged_text(Mutator& mutate, const std::string& seed) { return mutate(seed); }

/// Whole numbers at the edges over two, four or eight bytes, and what Mutator does.
inline std::string damaged_bytes(Mutator& mutate, const std::string& seed) {
    std::string bytes = mutate.below(3) == 0 ? mutate(seed) : seed;
    static constexpr std::int64_t kEdges[] = {0,
                                              -1,
                                              1,
                                              -7,
                                              127,
                                              255,
                                              32767,
                                              65535,
                                              1 << 20,
                                              2147483647,
                                              -2147483648LL,
                                              std::numeric_limits<std::int64_t>::max(),
                                              std::numeric_limits<std::int64_t>::min()};
    for (std::size_t n = 1 + mutate.below(3); n > 0 && bytes.size() > 8; --n) {
        const std::int64_t edge = kEdges[mutate.below(std::size(kEdges))];
        const std::size_t width = std::size_t{1} << mutate.below(4), at = mutate.below(bytes.size() - 8);
        std::memcpy(bytes.data() + at, &edge, width);
    }
    return bytes;
}

/// Numbers of a JSON text replaced, and what Mutator does.
inline std::string damaged_json(Mutator& mutate, const std::string& seed) {
    static constexpr const char* kValues[] = {"0",
                                              "-1",
                                              "9223372036854775807",
                                              "-9223372036854775808",
                                              "1e308",
                                              "null",
                                              "\"\"",
                                              "[]",
                                              "{}",
                                              "true",
                                              "2147483648",
                                              "0.5",
                                              "100000000",
                                              "\"../x\"",
                                              "[[[]]]"};
    std::string text = seed;
    for (std::size_t n = 1 + mutate.below(2); n > 0 && !text.empty(); --n) {
        const std::size_t from = text.find_first_of("0123456789", mutate.below(text.size()));
        if (from == std::string::npos || mutate.below(4) == 0) {
            text = mutate(text);
            continue;
        }
        const std::size_t end = std::min(text.find_first_not_of("0123456789.e+-", from), text.size());
        text.replace(from, end - from, kValues[mutate.below(std::size(kValues))]);
    }
    return text;
}

/// A safetensors file with other numbers, shapes, arrays or metadata, and a checksum that holds.
inline std::string damaged_arrays(Mutator& mutate, const std::string& seed, const std::string& only = {}) {
    static const TempFolder folder;
    const io::TensorStore store = io::TensorStore::open_file(folder.write("seed.safetensors", seed));
    std::vector<io::ArrayRef> arrays;
    std::vector<std::string> held;  // their bytes
    std::vector<std::size_t> of_interest;
    held.reserve(store.tensors().size());
    for (const auto& [name, view] : store.tensors()) {
        if (only.empty() || name.starts_with(only)) of_interest.push_back(arrays.size());
        const std::string& own = held.emplace_back(reinterpret_cast<const char*>(view.bytes.data()), view.bytes.size());
        arrays.push_back({name, view.dtype, view.shape, std::as_bytes(std::span(own))});
    }
    std::map<std::string, std::string> metadata = store.metadata();
    for (std::size_t n = 1 + mutate.below(2); n > 0; --n) {
        const std::size_t which = of_interest[mutate.below(of_interest.size())];
        io::ArrayRef& array = arrays[which];
        std::string& bytes = held[which];
        const auto size = static_cast<std::size_t>(io::size_of(array.dtype)), count = bytes.size() / size;
        static constexpr std::int64_t kEdges[] = {
            0, -1, 1, -7, 7, 1'000'000, std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()};
        std::int64_t edge = kEdges[mutate.below(std::size(kEdges))];
        if (size < 8 && edge == std::numeric_limits<std::int64_t>::max()) edge = (std::int64_t{1} << (8 * size - 1)) - 1;
        if (size < 8 && edge == std::numeric_limits<std::int64_t>::min()) edge = std::int64_t{1} << (8 * size - 1);
        switch (mutate.below(9)) {
            case 0:  // all of them
                for (std::size_t i = 0; i < count; ++i) std::memcpy(bytes.data() + i * size, &edge, size);
                break;
            case 1:  // the last row is missing
                if (!array.shape.empty() && array.shape[0] > 0) {
                    bytes.resize(bytes.size() / static_cast<std::size_t>(array.shape[0]) *
                                 static_cast<std::size_t>(array.shape[0] - 1));
                    --array.shape[0];
                }
                break;
            case 2:  // other axes
                if (mutate.below(2))
                    array.shape.push_back(1);
                else if (array.shape.size() > 1)
                    std::swap(array.shape.front(), array.shape.back());
                break;
            case 3:
                for (auto& [key, value] : metadata)
                    if (mutate.below(3) == 0) value = mutate(value);
                break;
            case 4:  // nothing
                array.shape.assign(std::max<std::size_t>(1, array.shape.size()), mutate.below(2) ? 0 : 1 << 12);
                array.shape[0] = 0;
                bytes.clear();
                break;
            default:
                if (count > 0)
                    for (std::size_t times = 1 + mutate.below(4); times > 0; --times)
                        std::memcpy(bytes.data() + mutate.below(count) * size, &edge, size);
        }
        array.bytes = std::as_bytes(std::span(bytes));
    }
    if (mutate.below(16) == 0)
        arrays.erase(arrays.begin() + static_cast<std::ptrdiff_t>(of_interest[mutate.below(of_interest.size())]));
    for (auto& [key, value] : metadata)
        std::erase_if(value, [](char c) { return static_cast<unsigned char>(c) > 0x7e || c < 0x20; });
    io::write_checked_safetensors(folder / "out.safetensors", arrays, metadata);
    return slurp(folder / "out.safetensors");
}

/// A file that is written again for every input: the readers open files, not memory.
class InputFile {
public:
    explicit InputFile(const std::string& name) : name_(name) {}
    std::filesystem::path operator()(const std::string& bytes) const { return folder_.write(name_, bytes); }
    std::filesystem::path path() const { return folder_ / name_; }

private:
    TempFolder folder_;
    std::string name_;
};

/// `runs` inputs made of the seeds, which must be sound.
inline void expect_only_errors(const std::vector<std::string>& seeds, int runs, const Damage& damage, const Read& read) {
    const std::uint64_t first = fuzz_seed();
    const char* seconds = std::getenv("HEADLIGHT_FUZZ_SECONDS");
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds ? std::atoi(seconds) : 0);
    if (seconds) std::cerr << "HEADLIGHT_FUZZ_SEED=" << first << "\n";
    for (const std::string& seed : seeds) ASSERT_NO_THROW(read(seed)) << "a sound input";
    int accepted = 0, count = 0;
    Mutator mutate(first);
    for (; seconds ? std::chrono::steady_clock::now() < end : count < runs; ++count) {
        const std::string input = damage(mutate, seeds[mutate.below(seeds.size())]);
        try {
            read(input);
            ++accepted;
        } catch (const Error&) {
        } catch (const std::exception& error) {
            const std::filesystem::path kept =
                std::filesystem::temp_directory_path() / ("headlight-finding-" + std::to_string(first));
            std::ofstream(kept, std::ios::binary) << input;
            FAIL() << error.what() << "\nat input " << count << ", kept as " << kept;
        }
    }
    if (seconds) std::cerr << count << " inputs, " << accepted << " accepted\n";
}

}  // namespace headlight::test
