// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/intervention/sweep/pairs.h"

#include "headlight/analyze/prediction/outputs.h"
#include "headlight/analyze/prediction/token_choice.h"
#include "headlight/base/error.h"
#include "headlight/base/index_list.h"
#include "headlight/base/numbers.h"
#include "headlight/model/classes.h"
#include "headlight/text/alignment.h"
#include "headlight/trace/pictures.h"
#include "headlight/trace/trace.h"
#include "headlight/trace/variants.h"
#include "intervention/recipe/log_probabilities.h"
#include "intervention/recipe/over.h"
#include "intervention/recipe/pair_lines.h"
#include "intervention/sweep/plan.h"

#include <algorithm>
#include <charconv>

namespace headlight::intervention {
namespace {

/// What turns the texts of a sweep, or the files of its pictures, into what the model reads.
struct SweepReader {
    const model::Model& model;
    const text::Tokenizer& tokenizer;
    const PictureReader& picture;

    bool of_pictures() const { return model::reads_pictures(model.config()); }
    text::Encoding encode(const std::string& text) const {
        if (!of_pictures()) return tokenizer.encode(text);
        if (!picture) throw Error("A picture cannot be read here");
        return trace::picture_encoding(model, tokenizer, *picture(text));
    }
    /// The token that a person means (choose_token()), or a file's text is, which is no id. Of a model that reads pictures the
    /// class of this name or number.
    std::int64_t answer_id(const std::string& answer, analyze::Digits) const;
};

std::map<std::string, PlaceText> places_of(const nlohmann::json& line, const std::string& where) {
    std::map<std::string, PlaceText> places;
    const auto found = line.find("positions");
    if (found == line.end() || found->is_null()) return places;
    if (!found->is_object())
        throw Error(
            ErrorFacts{.problem = "Named positions are not an object", .item = where + ", positions", .found = found->dump()});
    for (const auto& [name, value] : found->items()) places[name] = place_of(value, where + ", positions, " + name);
    return places;
}

void name_answers(const model::ModelConfig& c, const text::Tokenizer& tokenizer, SweepPair& pair) {
    const auto names = [&](const std::vector<std::int64_t>& ids) {
        std::vector<std::string> words;
        for (const std::int64_t id : ids) words.push_back(analyze::output_label(c, tokenizer, id));
        return words;
    };
    pair.answer_words = names(pair.answers);
    pair.wrong_words = names(pair.wrong);
}

/// "subject=The Eiffel Tower", "subject=1-4": words, or positions.
std::map<std::string, PlaceText> typed_places(const std::vector<std::string>& typed) {
    std::map<std::string, PlaceText> places;
    for (const std::string& text : typed) {
        const std::size_t equals = text.find('=');
        if (equals == std::string::npos || equals == 0)
            throw Error(ErrorFacts{.problem = "A named position cannot be read",
                                   .item = "--at",
                                   .expected = "NAME=WORDS or NAME=POSITIONS",
                                   .found = text});
        const std::string where = text.substr(equals + 1);
        PlaceText& place = places[text.substr(0, equals)];
        if (where.find_first_not_of("0123456789,-") == std::string::npos)
            place.positions = index_list(where);
        else
            place.words = where;
    }
    return places;
}

std::int64_t SweepReader::answer_id(const std::string& answer, analyze::Digits digits) const {
    if (answer.empty()) throw Error(ErrorFacts{.problem = "An answer is empty"});
    if (has_classes(model.config())) return model::class_of(model.config(), answer, "answer");
    return analyze::choose_token(tokenizer, model.config().vocab_size, answer, "answer", digits).id;
}

/// `position`: END (the last token; the mask, where the text has one; of a classifier where its class is read), an index, or a
/// name of `places`. END is a place of every text. Errors name what is not there.
SweepText sweep_text(const SweepReader& reader, const text::Encoding& encoding, const std::string& text,
                     const std::string& position, const std::map<std::string, PlaceText>& places = {},
                     bool words_may_lack = false) {
    const text::Tokenizer& tokenizer = reader.tokenizer;
    SweepText out{.ids = encoding.ids,
                  .type_ids = encoding.type_ids,
                  .pixels = encoding.pixels,
                  .labels = text::token_labels(tokenizer, encoding)};
    for (const auto& [name, place] : places) {
        if (!place.words.empty() && words_may_lack && text.find(place.words) == std::string::npos) continue;
        out.places[name] = place.words.empty() ? place.positions : positions_of(encoding, text, place.words, name);
    }
    const auto with_end = [&] {
        out.places.emplace("END", std::vector{out.end});
        return out;
    };
    if (position == "END") {
        out.end = out.pixels ? 0 : encoding.size() - 1;
        if (const auto read = model::class_position(reader.model.config(), out.ids)) {
            out.end = *read;
            return with_end();
        }
        const auto mask = tokenizer.mask_id();
        if (const auto at = std::ranges::find(out.ids, mask.value_or(-1)); at != out.ids.end()) out.end = at - out.ids.begin();
        return with_end();
    }
    if (const auto named = out.places.find(position); named != out.places.end() && !named->second.empty()) {
        out.end = named->second.back();
        model::require_class_position(reader.model.config(), out.ids, out.end, "--position");
        return with_end();
    }
    const auto [end, error] = std::from_chars(position.data(), position.data() + position.size(), out.end);
    if (error != std::errc() || end != position.data() + position.size())
        throw Error(ErrorFacts{.problem = "The position of the answer cannot be read",
                               .item = "--position",
                               .expected = "END, a number or the name of a position",
                               .found = position});
    model::require_class_position(reader.model.config(), out.ids, out.end, "--position");
    return with_end();
}

/// Where the answer of the corrupt text is read that is read elsewhere than at END: at the same words where both texts have them,
/// else where the clean text's position is aligned.
std::int64_t end_in_corrupt(const SweepPair& pair, const std::string& position, const std::map<std::string, PlaceText>& words) {
    const auto named = pair.corrupt.places.find(position);
    if (words.contains(position) && named != pair.corrupt.places.end() && !named->second.empty()) return named->second.back();
    const std::vector<std::int64_t> from = text::align_without_ends(pair.corrupt.ids, pair.clean.ids);
    const auto at = std::ranges::find(from, pair.clean.end);
    if (at == from.end())
        throw Error(ErrorFacts{.problem = "The position of the answer has no counterpart in the corrupt text",
                               .item = "--position",
                               .found = position});
    return at - from.begin();
}

/// Positions of the second text are those of the first, aligned as those of the sweep are.
SweepPair sweep_pair(const SweepReader& reader, const std::string& clean, const std::string& corrupt,
                     const std::vector<std::string>& answers, const std::vector<std::string>& wrong, const std::string& position,
                     const std::map<std::string, PlaceText>& places, analyze::Digits digits) {
    SweepPair pair;
    pair.clean = sweep_text(reader, reader.encode(clean), clean, position, places);
    if (!pair.clean.ids.empty() && (pair.clean.end < 0 || pair.clean.end >= std::ssize(pair.clean.ids)))
        throw Error(ErrorFacts{.problem = "The position of the answer is not in the text",
                               .item = "--position",
                               .expected = "0 to " + std::to_string(std::ssize(pair.clean.ids) - 1),
                               .found = std::to_string(pair.clean.end)});
    if (!corrupt.empty()) {
        std::map<std::string, PlaceText> words;
        for (const auto& [name, place] : places)
            if (!place.words.empty()) words.emplace(name, place);
        pair.corrupt = sweep_text(reader, reader.encode(corrupt), corrupt, "END", words, true);
        if (position != "END") {
            pair.corrupt.end = end_in_corrupt(pair, position, words);
            pair.corrupt.places["END"] = {pair.corrupt.end};
        }
        const std::vector<std::int64_t> from = partners_in(pair.corrupt, pair.clean);
        // What stands at a position of the clean text stands where the corrupt one is aligned with it.
        for (const auto& [name, rows] : pair.clean.places) {
            if (pair.corrupt.places.contains(name)) continue;
            std::vector<std::int64_t>& own = pair.corrupt.places[name];
            for (const std::int64_t row : rows)
                if (const auto at = std::ranges::find(from, row); at != from.end()) own.push_back(at - from.begin());
        }
    }
    for (const std::string& answer : answers) pair.answers.push_back(reader.answer_id(answer, digits));
    for (const std::string& answer : wrong) pair.wrong.push_back(reader.answer_id(answer, digits));
    name_answers(reader.model.config(), reader.tokenizer, pair);
    return pair;
}

std::vector<SweepPair> read_pairs(const SweepReader& reader, const std::filesystem::path& file, const std::string& position) {
    // Pictures beside the file are named from there.
    const auto named = [&](const std::string& text) {
        return reader.of_pictures() && !text.empty() ? (file.parent_path() / text).string() : text;
    };
    std::vector<SweepPair> pairs;
    for_each_pair(file, [&](const nlohmann::json& json, const std::string& where) {
        const std::string clean = string_of(json, "clean", where);
        if (clean.empty()) throw Error(ErrorFacts{.problem = "A pair has no clean text", .item = where + ", clean"});
        SweepPair& pair = pairs.emplace_back(sweep_pair(reader, named(clean), named(string_of(json, "corrupt", where)),
                                                        strings_of(json, "answer", where), strings_of(json, "wrong", where),
                                                        position, places_of(json, where), analyze::Digits::text));
        pair.group = string_of(json, "group", where);
    });
    return pairs;
}

}  // namespace

std::vector<double> answer_chances(const std::shared_ptr<const model::Model>& model, const SweepText& text) {
    const trace::Variants run(model, token_ids(text), {.first = text.end, .last = text.end + 1});
    const at::Tensor chances = log_probabilities(model->config(), run.logits()[0].to(at::kDouble)).exp().contiguous();
    return {chances.data_ptr<double>(), chances.data_ptr<double>() + chances.numel()};
}

std::vector<std::string> answer_notes(const std::shared_ptr<const model::Model>& model, const text::Tokenizer& tokenizer,
                                      const SweepRequest& asked, const std::vector<SweepPair>& pairs) {
    std::vector<std::string> notes;
    if (has_classes(model->config())) return notes;
    const std::int64_t vocabulary = model->config().vocab_size;
    const auto percent = [](double chance) { return significant(100 * chance) + " %"; };
    const auto text_of_wrong = [](const SweepPair& pair) -> const SweepText& {
        return pair.corrupt.ids.empty() ? pair.clean : pair.corrupt;
    };
    if (asked.pairs.empty()) {
        const auto add = [&](const std::vector<std::string>& typed, const char* option, const SweepText& text) {
            for (const std::string& each : typed) {
                const analyze::TokenChoice choice = analyze::choose_token(tokenizer, vocabulary, each, option);
                if (choice.note.empty()) continue;
                std::string& note = notes.emplace_back(option + (": " + choice.note));
                if (choice.other < 0) continue;
                const std::vector<double> chances = answer_chances(model, text);
                const double own = chances[static_cast<std::size_t>(choice.id)],
                             spaced = chances[static_cast<std::size_t>(choice.other)];
                if (spaced > own) note += ", which is likelier here: " + percent(spaced) + " against " + percent(own);
            }
        };
        add(asked.answers, "--answer", pairs.front().clean);
        add(asked.wrong, "--wrong", text_of_wrong(pairs.front()));
        return notes;
    }
    std::int64_t some = 0;
    std::string example;
    for (const SweepPair& pair : pairs) {
        bool likelier = false;
        for (const auto& [ids, text] : {std::pair{&pair.answers, &pair.clean}, {&pair.wrong, &text_of_wrong(pair)}}) {
            std::vector<double> chances;
            for (const std::int64_t id : *ids) {
                const std::string bytes = tokenizer.bytes_of(id);
                if (bytes.empty() || bytes.front() == ' ') continue;
                const auto spaced = tokenizer.encode(" " + bytes, std::nullopt, false).ids;
                if (spaced.size() != 1 || spaced[0] == id || spaced[0] >= vocabulary) continue;
                if (chances.empty()) chances = answer_chances(model, *text);
                if (chances[static_cast<std::size_t>(spaced[0])] <= chances[static_cast<std::size_t>(id)]) continue;
                likelier = true;
                if (example.empty())
                    example = text::token_label(tokenizer, spaced[0]) + " for " + text::token_label(tokenizer, id) + " in pair " +
                              std::to_string(&pair - pairs.data() + 1);
            }
        }
        some += likelier;
    }
    if (some > 0)
        notes.push_back("In " + with_commas(some) + " of " + with_commas(std::ssize(pairs)) +
                        " pairs an answer is likelier with a leading space: " + example);
    return notes;
}

void propose_answers(const std::shared_ptr<const model::Model>& model, const text::Tokenizer& tokenizer, SweepPair& pair,
                     Metric metric) {
    const bool right = pair.answers.empty() && metric != Metric::kl && metric != Metric::loss;
    const bool wrong = pair.wrong.empty() && metric == Metric::logit_diff;
    if (!right && !wrong) return;
    const auto likeliest = [&](const SweepText& text, const std::vector<std::int64_t>& without) {
        std::vector<double> chances = answer_chances(model, text);
        for (const std::int64_t id : without) chances[static_cast<std::size_t>(id)] = -1;
        return std::ranges::max_element(chances) - chances.begin();
    };
    if (right) pair.answers = {likeliest(pair.clean, pair.wrong)};
    if (wrong) pair.wrong = {likeliest(pair.corrupt.ids.empty() ? pair.clean : pair.corrupt, pair.answers)};
    name_answers(model->config(), tokenizer, pair);
}

std::string answer_text(const model::Model& model, const text::Tokenizer& tokenizer, std::int64_t id) {
    const PictureReader none;
    const SweepReader reader{model, tokenizer, none};
    const auto is_read = [&](const std::string& answer) {
        try {
            return reader.answer_id(answer, analyze::Digits::id) == id;
        } catch (const Error&) {
            return false;  // several tokens, or no UTF-8
        }
    };
    if (const model::ModelConfig& c = model.config(); c.class_head.any() && !model::reads_pictures(c)) {
        const std::string& label = c.labels.at(static_cast<std::size_t>(id));
        return is_read(label) ? label : std::to_string(id);
    }
    for (const std::string& name : {tokenizer.bytes_of(id), text::token_label(tokenizer, id)})
        if (is_read(name)) return name;
    return std::to_string(id);
}

std::vector<std::int64_t> positions_in(const text::Encoding& there, const SweepText& of, const SweepRequest& asked,
                                       const model::Model& model, const text::Tokenizer& tokenizer) {
    const PictureReader none;
    SweepText other = sweep_text({model, tokenizer, none}, there, {}, "END");
    if (asked.position != "END") {
        const std::vector<std::int64_t> from = text::align_without_ends(of.ids, other.ids);
        other.end = from.at(static_cast<std::size_t>(of.end));
        if (other.end < 0) return from;
    }
    return partners_in(of, other);
}

void put_behind_encoder(SweepPair& pair, const model::ModelConfig& decoder, const text::Tokenizer& tokenizer,
                        const std::string& target) {
    for (SweepText* text : {&pair.clean, &pair.corrupt}) {
        if (text->ids.empty()) continue;
        const text::Encoding encoding =
            trace::target_encoding(decoder, tokenizer, target, tokenizer.encode_ids(text->ids, false));
        const std::int64_t end = model::class_position(decoder, encoding.ids).value_or(encoding.size() - 1);
        *text = {.ids = encoding.ids,
                 .source = std::move(text->ids),
                 .end = end,
                 .places = {{"END", {end}}},
                 .labels = text::token_labels(tokenizer, encoding),
                 .source_labels = std::move(text->labels)};
    }
}

std::shared_ptr<const std::vector<SweepText>> texts_over(const SweepRequest& asked, const model::Model& model,
                                                         const text::Tokenizer& tokenizer, const PictureReader& picture,
                                                         const CancelToken& cancel) {
    const model::ModelConfig& c = model.config();
    const SweepReader reader{model, tokenizer, picture};
    auto texts = std::make_shared<std::vector<SweepText>>();
    for (const std::string& text : texts_of_file(asked.over, c, cancel)) {
        cancel.throw_if_cancelled();
        SweepPair pair{.clean = sweep_text(reader, reader.encode(text), text, "END")};
        if (has_cross_attention(c)) put_behind_encoder(pair, c, tokenizer, asked.target);
        texts->push_back(std::move(pair.clean));
    }
    return texts;
}

std::vector<SweepPair> pairs_of(const SweepRequest& asked, const model::Model& model, const text::Tokenizer& tokenizer,
                                const PictureReader& picture) {
    const model::ModelConfig& c = model.config();
    const SweepReader reader{model, tokenizer, picture};
    if (reader.of_pictures() && !c.has_unembedding)
        throw Error(ErrorFacts{.problem = "This model gives no class logits, so there is no metric of its edits",
                               .item = c.name,
                               .expected = "a model that classifies pictures (ViTForImageClassification)"});
    std::vector<SweepPair> pairs;
    if (has_cross_attention(c) && (asked.position != "END" || !asked.places.empty()))
        throw Error(ErrorFacts{.problem = "The answer of an encoder-decoder model follows what the decoder reads",
                               .item = "--position, --at",
                               .hint = "Give that text: --target"});
    if (!asked.target.empty() && (!has_cross_attention(c) || c.class_head.any()))  // a classifier's decoder reads the source
        throw Error(ErrorFacts{.problem = "This model reads no second text", .item = "--target", .found = asked.target});
    if (!asked.pairs.empty())
        pairs = read_pairs(reader, asked.pairs, asked.position);
    else
        pairs.push_back(sweep_pair(reader, asked.clean, asked.options.ablation == Ablation::none ? asked.corrupt : "",
                                   asked.answers, asked.wrong, asked.position, typed_places(asked.places), analyze::Digits::id));
    if (has_cross_attention(c))
        for (SweepPair& pair : pairs) put_behind_encoder(pair, c, tokenizer, asked.target);
    if (asked.options.ablation != Ablation::none || !asked.options.noise.empty()) return pairs;
    for (const SweepPair& pair : pairs)
        if (pair.corrupt.ids.empty())
            throw Error(ErrorFacts{.problem = "A pair has no corrupt text to patch from or into",
                                   .file = asked.pairs,
                                   .item = "pair " + std::to_string(&pair - pairs.data() + 1),
                                   .hint = "Give one: --corrupt, or ablate: --ablate zero"});
    return pairs;
}

}  // namespace headlight::intervention
