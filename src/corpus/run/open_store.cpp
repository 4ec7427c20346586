// SPDX-License-Identifier: GPL-3.0-or-later
#include "corpus/reading/separated.h"
#include "headlight/base/error.h"
#include "headlight/base/numbers.h"
#include "headlight/base/version.h"
#include "headlight/corpus/run/run.h"
#include "headlight/io/file_lock.h"
#include "headlight/io/hash.h"

#include <algorithm>

namespace headlight::corpus {
namespace {

namespace fs = std::filesystem;

void check_model(const model::Model& model) {
    const model::ModelConfig& config = model.config();
    if (model::reads_pictures(config))
        throw Error(
            {.problem = "A corpus run needs a model that reads text", .item = config.name, .found = "a model of pictures"});
    if (model.part(model::Stack::encoder))
        throw Error({.problem = "Corpus runs of encoder-decoder models are not supported yet",
                     .item = config.name,
                     .expected = "a decoder or an encoder"});
}

/// In the order of the kinds, each once.
std::vector<std::string> in_order(const std::vector<std::string>& asked, const Manifest& manifest) {
    std::vector<std::string> ids;
    for (const AccumulatorKind& kind : accumulator_kinds()) {
        if (std::ranges::find(asked, kind.id) == asked.end()) continue;
        if (kind.of_mentions && !manifest.mentions)
            throw Error({.problem = "This can only be gathered from texts with mentions",
                         .item = kind.id,
                         .expected = "CorefUD, CoNLL-2012, GAP or WinoBias",
                         .hint = "Leave it out of --measure"});
        if (kind.of_treebank && !manifest.treebank)
            throw Error({.problem = "This can only be gathered from treebanks",
                         .item = kind.id,
                         .expected = "texts with words (.conllu)",
                         .hint = "Leave it out of --measure"});
        ids.emplace_back(kind.id);
    }
    for (const std::string& id : asked)
        if (std::ranges::find(ids, id) == ids.end()) ids.push_back(id);  // Gathered names it
    return ids;
}

/// Keeps the options that a store was made with.
void check_asked(const AskedOptions& asked, const Manifest& manifest, const fs::path& store) {
    const StoreOptions& there = manifest.options;
    const auto check = [&](const char* item, bool given, const std::string& wanted, const std::string& has) {
        if (given && wanted != has)
            throw Error({.problem = "The store was made with another option",
                         .file = store.string(),
                         .item = item,
                         .expected = has,
                         .found = wanted,
                         .hint = "Leave the option out, or make another store"});
    };
    const auto number = [](auto n) { return std::to_string(n); };
    check("--unit", asked.unit.has_value(), std::string(enum_word(asked.unit.value_or(TextUnit::line))),
          std::string(enum_word(there.reading.unit)));
    check("--field", asked.field.has_value(), asked.field.value_or(""), there.reading.field);
    check("--context", asked.context > 0, number(asked.context), number(there.context));
    check("--stride", asked.stride > 0, number(asked.stride), number(there.stride));
    check("--block", asked.block > 0, number(asked.block), number(there.block));
    check("--seed", asked.seed.has_value(), number(asked.seed.value_or(0)), number(there.seed));
    if (!asked.measures.empty() && !there.measures.empty())
        check("--measure", true, joined(in_order(asked.measures, manifest), ","), manifest.measures_text());
}

void check_same_model(const Manifest& manifest, const Manifest& now, const fs::path& store) {
    const auto check = [&](const char* item, const std::string& has, const std::string& found, const std::string& name) {
        if (has != found)
            throw Error({.problem = "The store is of another model",
                         .file = store.string(),
                         .item = item,
                         .expected = name + has,
                         .found = found,
                         .hint = "Open it with the model it was made with, or make another store"});
    };
    check("model", manifest.model_hash, now.model_hash, manifest.model + " ");
    check("tokenizer", manifest.tokenizer_hash, now.tokenizer_hash, "");
    check("--dtype", manifest.dtype, now.dtype, "");
}

std::int64_t usual_context(const model::ModelConfig& config) {
    constexpr std::int64_t kUsual = 512;
    return config.context_length > 0 ? std::min(kUsual, config.context_length) : kUsual;
}

/// A model that cannot read longer texts decides.
void check_context(const model::ModelConfig& config, std::int64_t context) {
    if (config.context_is_hard_limit && config.context_length > 0 && context > config.context_length)
        throw Error({.problem = "The context is too long for " + config.name,
                     .item = "--context",
                     .expected = "at most " + std::to_string(config.context_length),
                     .found = std::to_string(context)});
}

std::vector<std::string> usual_measures(const Manifest& manifest) {
    std::vector<std::string> ids;
    for (const AccumulatorKind& kind : accumulator_kinds())
        if (kind.usual && (manifest.treebank || !kind.of_treebank) && (manifest.mentions || !kind.of_mentions))
            ids.emplace_back(kind.id);
    return ids;
}

/// Each kind once, with its first place; corpus info lists more.
void note_unusual(const Manifest& manifest, const Note& note) {
    const auto more = [](std::int64_t count) {
        return count > 1 ? " (" + with_commas(count) + " texts; headlight corpus info lists them)" : std::string();
    };
    for (const auto& [what, count] : manifest.noted) {
        const auto first = std::ranges::find(manifest.notes, what, &TextNote::what);
        if (first != manifest.notes.end()) note(first->place + ": " + what + more(count));
    }
    for (const auto& [reason, count] : manifest.left_out) {
        const auto first =
            std::ranges::find_if(manifest.left_out_list, [&](const LeftOut& one) { return one.reason.starts_with(reason); });
        const bool listed = first != manifest.left_out_list.end();
        note((listed ? first->id + ": left out, " + first->reason : "left out, " + reason) + more(count));
    }
}

}  // namespace

fs::path lock_file(const fs::path& store, const std::string& name) { return store / ".locks" / name; }

std::string tokenizer_hash(const headlight::text::Tokenizer& tokenizer) {
    std::string all = tokenizer.description();
    for (std::int64_t id = 0; id < tokenizer.vocab_size(); ++id) all += '\0' + tokenizer.token_of(id);
    for (const std::int64_t id : tokenizer.encode("The doctor asked the nurse, \xC3\xA9t\xC3\xA9 1,234  x\n").ids)
        all += ' ' + std::to_string(id);
    return io::sha256_hex(std::as_bytes(std::span(all.data(), all.size())));
}

AccumulatorContext context_of(const Manifest& manifest, const model::ModelConfig& config,
                              const headlight::text::Tokenizer& tokenizer) {
    return {.config = config,
            .tokenizer = tokenizer,
            .seed = manifest.options.seed,
            .treebank = manifest.treebank,
            .mentions = manifest.mentions};
}

Manifest open_store(const RunSetup& setup, const CancelToken& cancel, const Progress& progress, const Note& note) {
    check_model(*setup.model);
    Manifest now{.program = version(),
                 .model = setup.model->config().name,
                 .model_path = fs::absolute(setup.model->folder()).lexically_normal().string(),
                 .model_hash = setup.model->hash(),
                 .tokenizer = setup.tokenizer->description(),
                 .tokenizer_hash = tokenizer_hash(*setup.tokenizer),
                 .dtype = std::string(enum_word(setup.model->dtype()))};
    bool noted = false;
    const io::FileLock lock(lock_file(setup.store, "texts"), io::FileLock::Kind::exclusive, "Choose another folder for --out",
                            cancel, [&] {
                                if (!std::exchange(noted, true) && note) note("waiting: another process prepares this store");
                            });
    Manifest manifest;
    const AskedOptions& asked = setup.options;
    if (is_store(setup.store)) {
        manifest = read_manifest(setup.store);
        check_same_model(manifest, now, setup.store);
        check_asked(asked, manifest, setup.store);
        if (setup.texts.from.empty() && !manifest.texts_complete())
            throw Error({.problem = "The store's texts were not read completely",
                         .file = setup.store.string(),
                         .expected = "the texts after number " + std::to_string(manifest.texts() - 1),
                         .hint = "Run with --texts " + manifest.additions.back().from +
                                 (manifest.additions.size() > 1 ? " --append" : "") + " again to resume; with --limit " +
                                 std::to_string(manifest.texts()) + " these are all"});
    } else {
        if (setup.texts.from.empty())
            throw Error({.problem = "A new store needs texts", .file = setup.store.string(), .hint = "Give --texts FILE"});
        std::error_code code;
        if (fs::exists(setup.store / "merged.safetensors", code) ||
            fs::directory_iterator(setup.store / "segments", code) != fs::directory_iterator())
            throw Error({.problem = "The folder holds results of a store whose manifest.json is missing",
                         .file = setup.store.string(),
                         .hint = "Choose another folder for --out, or delete this one"});
        manifest = now;
        manifest.options = {.reading = {asked.unit.value_or(TextUnit::line), asked.field.value_or("text")},
                            .context = asked.context > 0 ? asked.context : usual_context(setup.model->config()),
                            .stride = asked.stride,
                            .block = asked.block > 0 ? asked.block : 64,
                            .seed = asked.seed.value_or(0),
                            .measures = {}};
        check_context(setup.model->config(), manifest.options.context);
        manifest.options.stride = Chunker(*setup.tokenizer, manifest.options.context, asked.stride).stride();
    }
    if (!setup.texts.from.empty() && add_texts(setup.store, manifest, *setup.tokenizer, setup.texts, cancel, progress) == 0 &&
        setup.texts.append && note)
        note("no text is new: the store has those of --texts already");
    if (note && !setup.texts.from.empty()) note_unusual(manifest, note);
    if (manifest.texts() == 0)
        throw Error({.problem = "There is no text to run",
                     .file = setup.texts.from.string(),
                     .found = std::to_string(manifest.left_out_texts()) + " texts that cannot be run"});
    if (manifest.options.measures.empty()) {
        manifest.options.measures = asked.measures.empty() ? usual_measures(manifest) : in_order(asked.measures, manifest);
        const Gathered check(manifest.options.measures, context_of(manifest, setup.model->config(), *setup.tokenizer));
        write_manifest(setup.store, manifest);
    }
    return manifest;
}

}  // namespace headlight::corpus
