// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/bench.h"
#include "headlight/io/json_file.h"

#include <algorithm>
#include <ctime>

namespace headlight::bench {
namespace {

std::vector<std::string_view> lines_of(std::string_view text) {
    std::vector<std::string_view> lines;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        lines.push_back(text.substr(at, end - at));
        at = end + 1;
    }
    return lines;
}

}  // namespace

// The fastest round counts, in processor time: it is the least disturbed one of a machine that may be shared.
Results tokenizer(const Subject& s) {
    const std::string text = s.text_file.empty() ? s.prompt(250'000).text : io::read_text(s.text_file);
    Results found;
    for (const bool by_lines : {true, false}) {
        double best = 0;
        std::int64_t tokens = 0;
        const std::vector<std::string_view> parts = by_lines ? lines_of(text) : std::vector<std::string_view>{text};
        for (int round = 0; round < s.repeats; ++round) {
            s.cancel.throw_if_cancelled();
            tokens = 0;
            const std::clock_t start = std::clock();
            for (const std::string_view part : parts) tokens += s.tokenizer->encode(part).size();
            const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
            if (round == 0 || seconds < best) best = seconds;
        }
        const std::string how = by_lines ? ", by lines" : "";
        found.push_back({0, "text" + how, static_cast<double>(text.size()) / 1e6 / best, "MB/s"});
        found.push_back({0, "tokens" + how, static_cast<double>(tokens) / best, "tokens/s"});
    }
    return found;
}

}  // namespace headlight::bench
