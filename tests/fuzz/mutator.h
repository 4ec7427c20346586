// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <string_view>

namespace headlight::test {

/// Damages a text in one to four places. The seed is fixed, so a failure can be repeated.
class Mutator {
public:
    explicit Mutator(std::uint64_t seed = 20240607) : random_(seed) {}
    std::string operator()(std::string text) {
        static constexpr std::string_view kBytes = "{}[]\",:0123456789-.eE\\u\xff";
        for (int n = 1 + below(4); n > 0; --n) {
            if (text.empty()) return text;
            const std::size_t at = below(text.size());
            switch (below(6)) {
                case 0: text[at] = static_cast<char>(below(256)); break;
                case 1: text[at] = kBytes[below(kBytes.size())]; break;
                case 2: text.insert(at, 1, kBytes[below(kBytes.size())]); break;
                case 3: text.erase(at, 1 + below(8)); break;
                case 4: text.insert(at, text.substr(below(text.size()), 1 + below(40))); break;
                default: text[at] = static_cast<char>(text[at] ^ (1 << below(8)));
            }
        }
        return text;
    }
    std::size_t below(std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random_); }

private:
    std::mt19937_64 random_;
};

}  // namespace headlight::test
