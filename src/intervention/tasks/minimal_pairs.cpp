// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/intervention/tasks/minimal_pairs.h"

#include "headlight/base/error.h"
#include "headlight/io/json_file.h"
#include "headlight/io/text_lines.h"
#include "headlight/trace/replay.h"

#include <algorithm>
#include <numeric>

namespace headlight::intervention {
namespace {

std::string field_of(const nlohmann::json& line, const char* field) {
    const auto found = line.find(field);
    return found != line.end() && found->is_string() ? found->get<std::string>() : std::string();
}

}  // namespace

Paradigm read_paradigm(const std::filesystem::path& file) {
    Paradigm out;
    for (const io::TextLine& line : io::read_text_lines(file)) {
        const auto fail = [&](const std::string& problem, const char* field, const std::string& found) {
            throw Error(ErrorFacts{.problem = problem,
                                   .file = file.string(),
                                   .item = "line " + std::to_string(line.number) + (*field ? ", " + std::string(field) : ""),
                                   .expected = "an object with the texts sentence_good and sentence_bad",
                                   .found = found});
        };
        const nlohmann::json json = io::parse_json(line.text, file);
        if (!json.is_object()) fail("A minimal pair is not a JSON object", "", json.dump());
        for (const char* field : {"sentence_good", "sentence_bad"})
            if (field_of(json, field).empty())
                fail("A minimal pair lacks a sentence", field, json.contains(field) ? json[field].dump() : "nothing");
        if (out.pairs.empty()) {
            out.name = field_of(json, "UID");
            out.field = field_of(json, "field");
            out.term = field_of(json, "linguistics_term");
        }
        out.pairs.push_back({field_of(json, "sentence_good"), field_of(json, "sentence_bad")});
    }
    if (out.name.empty()) out.name = file.stem().string();
    return out;
}

std::vector<std::filesystem::path> paradigm_files(const std::vector<std::string>& paths) {
    std::vector<std::filesystem::path> files;
    for (const std::string& path : paths) {
        if (!std::filesystem::is_directory(path)) {
            files.emplace_back(path);
            continue;
        }
        std::vector<std::filesystem::path> of_folder;
        for (const auto& entry : std::filesystem::directory_iterator(path))
            if (entry.path().extension() == ".jsonl") of_folder.push_back(entry.path());
        if (of_folder.empty())
            throw Error(ErrorFacts{.problem = "The folder has no file of minimal pairs", .file = path, .expected = "*.jsonl"});
        std::ranges::sort(of_folder);
        files.insert(files.end(), of_folder.begin(), of_folder.end());
    }
    return files;
}

double SentenceLikelihood::sum() const { return std::accumulate(tokens.begin(), tokens.end(), 0.0); }

SentenceLikelihood likelihood_of(const model::Model& model, const text::Tokenizer& tokenizer, const std::string& sentence,
                                 const CancelToken& cancel) {
    const model::ModelConfig& c = model.config();
    if (!c.causal || head_of(c) != model::HeadKind::language_model || has_cross_attention(c))
        throw Error(ErrorFacts{.problem = "This model gives a sentence no probability",
                               .item = c.name,
                               .expected = "a model that predicts the next token of one text"});
    const text::Encoding encoding = tokenizer.encode(sentence);
    std::vector<std::int64_t> ids = encoding.ids;
    std::vector<bool> special(encoding.special.begin(), encoding.special.end());
    const auto end = tokenizer.id_of("<|endoftext|>");
    if (!special.empty() && !special.front() && end) {
        ids.insert(ids.begin(), *end);
        special.insert(special.begin(), true);
    }
    const auto count = std::ssize(ids);
    SentenceLikelihood out;
    if (count == 0) return out;
    const at::Tensor logs =
        count < 2 ? at::Tensor() : at::log_softmax(trace::replay(model, {ids, {}}, {}, cancel).to(at::kDouble), 1);
    for (std::int64_t i = 0; i < count; ++i) {
        if (special[static_cast<std::size_t>(i)]) continue;  // what a template adds at the end is no part of the sentence
        out.ids.push_back(ids[static_cast<std::size_t>(i)]);
        out.tokens.push_back(i == 0 ? 0 : logs[i - 1][ids[static_cast<std::size_t>(i)]].item<double>());
    }
    return out;
}

ParadigmResult run_paradigm(const Paradigm& paradigm, const model::Model& model, const text::Tokenizer& tokenizer,
                            const CancelToken& cancel, const Progress& progress) {
    ParadigmResult out{.name = paradigm.name, .field = paradigm.field, .term = paradigm.term, .accuracy = {}, .first_token = {}};
    out.pairs = std::ssize(paradigm.pairs);
    std::int64_t preferred = 0, first_preferred = 0, differ = 0, done = 0;
    double sum = 0;
    for (const SentencePair& pair : paradigm.pairs) {
        if (progress) progress({"Running " + paradigm.name, "pair", done++, out.pairs});
        const SentenceLikelihood good = likelihood_of(model, tokenizer, pair.good, cancel),
                                 bad = likelihood_of(model, tokenizer, pair.bad, cancel);
        sum += good.sum() - bad.sum();
        preferred += good.sum() > bad.sum();
        const auto at = static_cast<std::size_t>(std::ranges::mismatch(good.ids, bad.ids).in1 - good.ids.begin());
        if (at == good.ids.size() || at == bad.ids.size()) continue;
        ++differ;
        first_preferred += good.tokens[at] > bad.tokens[at];
    }
    out.difference = sum / static_cast<double>(out.pairs);
    out.accuracy = corpus::share_interval(preferred, out.pairs);
    out.first_token = corpus::share_interval(first_preferred, differ);
    return out;
}

analyze::Table table_of(const std::vector<ParadigmResult>& results) {
    analyze::Table table{{"paradigm", "field", "term", "pairs", "accuracy", "low", "high", "difference", "first_token"}, {}};
    table.definitions = {
        {"accuracy", "share of pairs in which the acceptable sentence has the higher log P"},
        {"low", "lower end of Wilson's 95 % interval of the accuracy"},
        {"high", "upper end of it"},
        {"difference", "mean log P(acceptable) - log P(unacceptable), nats, summed over tokens"},
        {"first_token", "share of pairs in which the first token that differs is likelier in the acceptable one"}};
    double accuracy = 0, difference = 0, first = 0;
    std::int64_t pairs = 0;
    for (const ParadigmResult& r : results) {
        table.add({r.name, r.field, r.term, r.pairs, r.accuracy.mean, r.accuracy.low, r.accuracy.high, r.difference,
                   r.first_token.mean});
        accuracy += r.accuracy.mean, difference += r.difference, first += r.first_token.mean, pairs += r.pairs;
    }
    const auto n = static_cast<double>(results.size());
    if (results.size() > 1)
        table.add(
            {std::string("mean"), std::string(), std::string(), pairs, accuracy / n, kNaN, kNaN, difference / n, first / n});
    return table;
}

}  // namespace headlight::intervention
