// SPDX-License-Identifier: GPL-3.0-or-later
// tokenizer_bench speed TOKENIZER FILE [SECONDS]  MB/s on one thread, line by line and in one call, as JSON
// tokenizer_bench dump TOKENIZER                  encodes records from standard input (32-bit length, bytes), one JSON
// line each
#include "headlight/base/error.h"
#include "headlight/io/json_file.h"
#include "headlight/text/tokenizer.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <iostream>

namespace {

using headlight::text::Tokenizer;

std::vector<std::string_view> lines_of(std::string_view text) {
    std::vector<std::string_view> lines;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        lines.push_back(text.substr(at, end - at));
        at = end + 1;
    }
    return lines;
}

/// Best MB/s of repeated passes in processor time: the machine may be shared, so the fastest pass is the least
/// disturbed.
double best_speed(const Tokenizer& t, const std::vector<std::string_view>& parts, double seconds, std::size_t& tokens) {
    using Clock = std::chrono::steady_clock;
    std::size_t bytes = 0;
    for (const auto part : parts) bytes += part.size();
    double best = 0;
    for (const auto start = Clock::now(); best == 0 || Clock::now() - start < std::chrono::duration<double>(seconds);) {
        tokens = 0;
        const std::clock_t begin = std::clock();
        for (const auto part : parts) tokens += t.encode(part).ids.size();
        const double took = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
        best = std::max(best, static_cast<double>(bytes) / 1e6 / took);
    }
    return best;
}

int speed(int argc, char** argv) {
    const auto t = Tokenizer::from_json_file(argv[2]);
    const std::string text = headlight::io::read_text(argv[3]);
    const double seconds = argc > 4 ? std::atof(argv[4]) : 3.0;
    std::size_t by_line = 0;
    std::size_t at_once = 0;
    const double lines = best_speed(*t, lines_of(text), seconds, by_line);
    const double whole = best_speed(*t, {text}, seconds, at_once);
    std::printf("{\"lines_mb_s\": %.2f, \"whole_mb_s\": %.2f, \"lines_tokens\": %zu, \"whole_tokens\": %zu}\n", lines, whole,
                by_line, at_once);
    return 0;
}

template <class T, class F>
void print_array(const char* name, const std::vector<T>& values, F print) {
    std::printf("\"%s\": [", name);
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (i > 0) std::fputc(',', stdout);
        print(values[i]);
    }
    std::fputc(']', stdout);
}

int dump(char** argv) {
    const auto t = Tokenizer::load(argv[2]);
    char size_bytes[4];
    while (std::cin.read(size_bytes, 4)) {
        std::uint32_t size = 0;
        std::memcpy(&size, size_bytes, 4);
        std::string text(size, '\0');
        std::cin.read(text.data(), size);
        const auto number = [](std::int64_t v) { std::printf("%lld", static_cast<long long>(v)); };
        try {
            const auto e = t->encode(text);
            std::fputc('{', stdout);
            print_array("ids", e.ids, number);
            std::fputs(", ", stdout);
            print_array("words", e.words, number);
            std::fputs(", ", stdout);
            print_array("types", e.type_ids, number);
            std::fputs(", ", stdout);
            print_array("offsets", e.offsets, [](const headlight::text::ByteRange& r) {
                std::printf("[%lld,%lld]", static_cast<long long>(r.begin), static_cast<long long>(r.end));
            });
            std::puts("}");
        } catch (const headlight::Error& error) {
            std::printf("{\"error\": \"%s\"}\n", error.facts().problem.c_str());
        }
    }
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        if (argc >= 4 && std::strcmp(argv[1], "speed") == 0) return speed(argc, argv);
        if (argc >= 3 && std::strcmp(argv[1], "dump") == 0) return dump(argv);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "tokenizer_bench: %s\n", error.what());
        return 1;
    }
    std::fputs("usage: tokenizer_bench speed TOKENIZER.json FILE [SECONDS]\n       tokenizer_bench dump MODEL_FOLDER\n", stderr);
    return 2;
}
