// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/bench.h"
#include "headlight/base/error.h"

#include <algorithm>
#include <chrono>
#include <ctime>

namespace headlight::bench {

void Subject::load(const std::filesystem::path& from) {
    folder = from;
    model = model::Model::load(folder, {}, cancel);
    tokenizer = text::Tokenizer::load(folder);
}

std::vector<std::int64_t> Subject::lengths(std::vector<std::int64_t> standard) const {
    const model::ModelConfig& c = model->config();
    std::vector<std::int64_t> result = tokens.empty() ? std::move(standard) : tokens;
    std::erase_if(result,
                  [&](std::int64_t n) { return c.context_is_hard_limit && c.context_length > 0 && n > c.context_length; });
    if (result.empty())
        throw Error({.problem = "The model takes none of the lengths to measure",
                     .expected = "at most " + std::to_string(c.context_length) + " tokens"});
    return result;
}

// Words of the vocabulary, common ones more often than rare ones, as in real text.
trace::Prompt Subject::prompt(std::int64_t count) const {
    trace::Prompt prompt;
    prompt.add_special_tokens = false;
    std::uint64_t state = 88172645463325252ULL;
    const auto vocabulary = static_cast<double>(tokenizer->vocab_size());
    for (std::int64_t i = 0; i < count; ++i) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        const double u = static_cast<double>(state >> 11) / 9007199254740992.0;
        const std::string word = tokenizer->bytes_of(static_cast<std::int64_t>(u * u * u * vocabulary));
        const bool plain = !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
            return c == ' ' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z');
        });
        prompt.text += (plain && word.front() == ' ' ? "" : " ") + (plain ? word : "a");
    }
    const text::Encoding encoding = tokenizer->encode(prompt.text, std::nullopt, false);
    if (encoding.size() < count)
        throw Error({.problem = "The model's tokenizer makes fewer tokens of a plain text than it has words",
                     .found = std::to_string(encoding.size()) + " tokens"});
    prompt.text.resize(static_cast<std::size_t>(encoding.offsets[static_cast<std::size_t>(count - 1)].end));
    return prompt;
}

std::shared_ptr<const trace::Trace> Subject::run(std::int64_t count, const trace::CapturePlan& plan) const {
    return trace::run(model, tokenizer, prompt(count), plan, cancel);
}

double milliseconds(const std::function<void()>& work) {
    const auto start = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

Rounds rounds_of(int rounds, const std::vector<std::function<void()>>& works, const CancelToken& cancel) {
    Rounds times{std::vector<std::vector<double>>(works.size()), std::vector<std::vector<double>>(works.size())};
    for (int round = 0; round < rounds; ++round)
        for (std::size_t i = 0; i < works.size(); ++i) {
            cancel.throw_if_cancelled();
            const std::clock_t start = std::clock();
            times.wall[i].push_back(milliseconds(works[i]));
            times.processor[i].push_back(1e3 * static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
        }
    return times;
}

std::vector<double> medians(const std::vector<std::vector<double>>& times) {
    std::vector<double> out;
    for (const std::vector<double>& each : times) out.push_back(median(each));
    return out;
}

std::vector<double> warm_in_turns(const Subject& s, const std::vector<std::function<void()>>& works) {
    for (const auto& work : works) work();
    return medians(rounds_of(s.repeats, works, s.cancel).wall);
}

}  // namespace headlight::bench
