// SPDX-License-Identifier: GPL-3.0-or-later
#include "trace/picture_tokens.h"

#include "headlight/base/error.h"
#include "headlight/model/locate.h"
#include "headlight/model/peek.h"
#include "headlight/trace/pictures.h"
#include "headlight/trace/trace.h"
#include "trace/saved/saved_text.h"

#include <set>
#include <utility>

namespace headlight::trace {
namespace {

std::vector<std::string> names_of(const model::ModelConfig& c) {
    std::vector<std::string> names = {"[CLS]", "[DIST]"};
    names.resize(static_cast<std::size_t>(c.class_tokens - c.registers));
    for (std::int64_t i = 1; i <= c.registers; ++i) names.push_back(std::string("[REG").append(std::to_string(i)).append("]"));
    for (std::int64_t row = 1; row <= model::patch_rows(c); ++row)
        for (std::int64_t column = 1; column <= model::patch_columns(c); ++column)
            names.push_back(std::string("r").append(std::to_string(row)).append("c").append(std::to_string(column)));
    return names;
}

}  // namespace

std::shared_ptr<const text::Tokenizer> picture_tokenizer(const model::ModelConfig& c) {
    const std::vector<std::string> patches = names_of(c);
    std::set<std::string> taken(patches.begin(), patches.end());
    text::Encoding e;
    const auto add = [&](std::string name, bool special) {
        e.ids.push_back(static_cast<std::int64_t>(e.ids.size()));
        e.tokens.push_back(std::move(name));
        e.special.push_back(special);
    };
    for (std::size_t id = 0; id < c.labels.size(); ++id) {
        std::string name = c.labels[id];
        if (name.empty() || taken.contains(name)) name.append(" (").append(std::to_string(id)).append(")");
        taken.insert(name);
        add(std::move(name), false);
    }
    for (std::size_t i = 0; i < patches.size(); ++i) add(patches[i], static_cast<std::int64_t>(i) < c.class_tokens);
    return tokenizer_of(e, {}, patches.front());
}

text::Encoding picture_encoding(const model::ModelConfig& c, const text::Tokenizer& tokenizer, std::vector<float> pixels) {
    text::Encoding e;
    const std::vector<std::string> names = names_of(c);
    for (std::size_t i = 0; i < names.size(); ++i) {
        const auto id = tokenizer.id_of(names[i]);
        if (!id) throw Error({.problem = "The tokenizer is of another model", .item = c.name, .expected = names[i]});
        const auto patch = static_cast<std::int64_t>(i) - c.class_tokens;
        e.ids.push_back(*id);
        e.tokens.push_back(names[i]);
        e.offsets.emplace_back();
        e.type_ids.push_back(0);
        e.special.push_back(patch < 0);
        e.words.push_back(patch < 0 ? -1 : patch);
        e.sequence.push_back(patch < 0 ? -1 : 0);
    }
    e.pixels = std::make_shared<const std::vector<float>>(std::move(pixels));
    return e;
}

text::Encoding picture_encoding(const model::Model& model, const text::Tokenizer& tokenizer, const model::Picture& picture) {
    const model::ModelConfig& c = model.config();
    return picture_encoding(c, tokenizer, model::prepare(picture, model::picture_plan(model.folder(), c), c).pixels);
}

std::shared_ptr<const text::Tokenizer> load_tokenizer(const std::filesystem::path& model) {
    model::ModelConfig config;
    try {
        config = model::read_config(model);
    } catch (const Error&) {
        // A tokenizer can be read without its model; loading the model says what is wrong.
    }
    return model::reads_pictures(config) ? picture_tokenizer(config) : text::Tokenizer::load(model::without_tower(model));
}

}  // namespace headlight::trace
