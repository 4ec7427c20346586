// SPDX-License-Identifier: GPL-3.0-or-later
#include "text/files/beside.h"

#include "headlight/io/python_json.h"
#include "text/files/json_fields.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

namespace headlight::text {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr std::array kFlags{"single_word", "lstrip", "rstrip", "normalized", "special"};

/// Empty without the file.
json read_object(const fs::path& file) {
    std::error_code ignored;
    if (!fs::exists(file, ignored)) return json::object();
    json content = io::read_python_json(file);
    if (!content.is_object()) Field(content, file.string()).fail_expected("an object");
    return content;
}

/// "<s>", or {"content": "<s>", …} with flags.
json token_of(const Field& value, bool special) {
    if (value.json().is_string())
        return {{"content", value.string()}, {"single_word", false}, {"lstrip", false},
                {"rstrip", false},           {"normalized", false},  {"special", special}};
    if (!value.json().is_object()) value.fail_expected("a string or an object with \"content\"");
    json token = {{"content", value.at("content").string()}};
    token["special"] = special || value.boolean_or("special", false);
    for (const char* flag : {"single_word", "lstrip", "rstrip"}) token[flag] = value.boolean_or(flag, false);
    token["normalized"] = value.boolean_or("normalized", !token["special"].get<bool>());
    return token;
}

/// A token that a file lists.
struct Listed {
    json token;
    bool replaces = false;  ///< its flags count though the tokenizer has the token
};

constexpr const char *kConfig = "tokenizer_config.json", *kMap = "special_tokens_map.json", *kAdded = "added_tokens.json";

/// The fields of a tokenizer that have a fixed place; others that name tokens follow.
constexpr std::array<std::string_view, 7> kNames{"bos_token", "eos_token", "unk_token", "sep_token",
                                                 "pad_token", "cls_token", "mask_token"};

/// Reads all files; the tokens come out in the order in which transformers adds them.
class Reader {
public:
    Reader(const fs::path& folder, const json& own) : folder_(folder), own_(own) {
        config_ = read_object(folder / kConfig);
        const auto numbered = config_.find("added_tokens_decoder");
        const bool whole = numbered != config_.end() && !numbered->is_null();
        const json map = whole ? json::object() : read_object(folder / kMap);  // older than added_tokens_decoder
        read_named(map);
        if (whole)
            read_decoder(Field(*numbered, (folder / kConfig).string(), "added_tokens_decoder"));
        else
            read_added_tokens();
        for (const std::string_view name : kNames)
            if (const auto token = named_.find(name); token != named_.end()) out_.push_back({token->second});
        for (const auto& [name, token] : named_)
            if (std::ranges::find(kNames, name) == kNames.end()) out_.push_back({token});
        for (json& token : extra_) out_.push_back({std::move(token)});
    }
    std::vector<Listed> take() { return std::move(out_); }

private:
    /// bos_token …, image_token …: every field that names a token; a value of special_tokens_map.json counts first.
    void read_named(const json& map) {
        for (const auto& [content, file] : {std::pair(&map, kMap), std::pair(&std::as_const(config_), kConfig)}) {
            const std::string path = (folder_ / file).string();
            for (const auto& [key, value] : content->items()) {
                const Field field(value, path, key);
                const bool names = value.is_string() || (value.is_object() && value.contains("content"));
                if (key.ends_with("_token") && names) named_.try_emplace(key, token_of(field, true));
            }
            for (const char* list : {"extra_special_tokens", "additional_special_tokens"}) {
                const auto value = content->find(list);
                if (!extra_.empty() || value == content->end() || value->is_null()) continue;
                if (value->is_object()) {  // of named ones
                    for (const auto& [key, each] : value->items())
                        named_.try_emplace(key, token_of(Field(each, path, std::string(list) + "." + key), true));
                    continue;
                }
                for (const Field& each : Field(*value, path, list).items()) extra_.push_back(token_of(each, true));
            }
        }
    }

    bool is_named(const std::string& content) const {
        return std::ranges::any_of(named_, [&](const auto& each) { return each.second["content"] == content; });
    }
    bool is_special(const std::string& content) const {
        return is_named(content) || std::ranges::any_of(extra_, [&](const json& token) { return token["content"] == content; });
    }

    void read_decoder(const Field& decoder) {
        if (!decoder.json().is_object()) decoder.fail_expected("an object of ids and tokens");
        std::map<std::int64_t, json> by_id;
        for (const auto& [key, value] : decoder.json().items()) {
            const Field field(value, decoder.file(), decoder.path() + "." + key);
            const bool digits = !key.empty() && key.size() < 9 && key.find_first_not_of("0123456789") == std::string::npos;
            if (!digits || std::stoll(key) > kHighestId)
                field.fail("The key of an added token is no id", "a whole number from 0 to " + std::to_string(kHighestId), key);
            if (!value.is_object()) field.fail_expected("an object with \"content\"");
            by_id[std::stoll(key)] = token_of(field, false);
        }
        add(by_id);
    }

    /// {"<token>": id}. Tokens that a field calls special are, and are found in the text as typed.
    void read_added_tokens() {
        const json added = read_object(folder_ / kAdded);
        std::map<std::int64_t, json> by_id;
        for (const auto& [content, id] : added.items()) {
            const std::int64_t number = Field(id, (folder_ / kAdded).string(), content).integer(0, kHighestId);
            // What a tokenizer.json has under this id counts.
            if (std::ranges::any_of(own_, [&](const json& own) { return own.value("id", json()) == number; })) continue;
            json token = token_of(Field(json(content), (folder_ / kAdded).string(), content), is_special(content));
            token["normalized"] = !token["special"].get<bool>();
            by_id[number] = std::move(token);
        }
        add(by_id);
    }

    void add(std::map<std::int64_t, json>& by_id) {
        for (auto& [id, token] : by_id) {
            if (is_named(token["content"].get_ref<const std::string&>())) token["special"] = true;
            out_.push_back({std::move(token), true});
        }
    }

    const fs::path& folder_;
    const json& own_;
    json config_;
    std::map<std::string, json, std::less<>> named_;
    std::vector<json> extra_;
    std::vector<Listed> out_;
};

/// Ids of the model's vocabulary.
class Ids {
public:
    explicit Ids(const json& tokenizer) {
        const auto model = tokenizer.find("model");
        const bool there = model != tokenizer.end() && model->is_object() && model->contains("vocab");
        vocab_ = there ? &(*model)["vocab"] : nullptr;
        if (!vocab_) return;
        if (vocab_->is_array()) {
            for (std::size_t i = 0; i < vocab_->size(); ++i)
                if (const json& entry = (*vocab_)[i]; entry.is_array() && !entry.empty() && entry[0].is_string())
                    listed_.emplace(entry[0].get<std::string>(), static_cast<std::int64_t>(i));
            next_ = static_cast<std::int64_t>(vocab_->size());
        } else if (vocab_->is_object()) {
            for (const auto& [token, id] : vocab_->items())
                if (id.is_number_integer()) next_ = std::max(next_, id.get<std::int64_t>() + 1);
        }
    }
    std::optional<std::int64_t> find(const std::string& token) const {
        if (const auto found = listed_.find(token); found != listed_.end()) return found->second;
        if (!vocab_ || !vocab_->is_object()) return std::nullopt;
        const auto found = vocab_->find(token);
        return found != vocab_->end() && found->is_number_integer() ? std::optional(found->get<std::int64_t>()) : std::nullopt;
    }
    std::int64_t next() const { return next_; }

private:
    const json* vocab_ = nullptr;
    std::map<std::string, std::int64_t> listed_;
    std::int64_t next_ = 0;
};

/// Field names of tokenizer_config.json's class, without "Fast"; where it has none, of the class of config.json's model type.
/// Empty for classes that take a tokenizer.json as it is.
std::string class_of(const json& config, const json& model) {
    const auto text = [](const json& from, const char* key) {
        const auto value = from.find(key);
        return value != from.end() && value->is_string() ? value->get<std::string>() : std::string();
    };
    static const std::map<std::string, std::string, std::less<>> kByType = {
        {"bert", "BertTokenizer"},        {"distilbert", "BertTokenizer"}, {"electra", "BertTokenizer"},
        {"nomic_bert", "BertTokenizer"},  {"gpt2", "GPT2Tokenizer"},       {"gpt_neo", "GPT2Tokenizer"},
        {"gptj", "GPT2Tokenizer"},        {"opt", "GPT2Tokenizer"},        {"phi", "GPT2Tokenizer"},
        {"gpt_neox", "GPTNeoXTokenizer"}, {"mpt", "GPTNeoXTokenizer"},     {"olmo", "GPTNeoXTokenizer"},
        {"roberta", "RobertaTokenizer"},  {"bart", "RobertaTokenizer"}};
    constexpr std::array<std::string_view, 6> kAsItIs{"gpt_bigcode", "granite", "olmo2", "stablelm", "modernbert", "phi3"};
    const std::string type = text(model, "model_type");
    if (std::ranges::find(kAsItIs, type) != kAsItIs.end()) return {};
    std::string name = text(config, "tokenizer_class");
    if (name.empty()) name = text(model, "tokenizer_class");
    if (name.empty()) {
        const auto found = kByType.find(type);
        return found == kByType.end() ? std::string() : found->second;
    }
    if (name.ends_with("Fast")) name.resize(name.size() - 4);
    return name;
}

}  // namespace

void add_tokens_beside(json& tokenizer, const fs::path& folder, bool as_typed) {
    if (!tokenizer.is_object()) return;  // its reader reports it
    json& own = tokenizer["added_tokens"];
    if (own.is_null()) own = json::array();
    if (!own.is_array() || !std::ranges::all_of(own, [](const json& t) { return t.is_object(); })) return;
    const std::vector<Listed> listed = Reader(folder, own).take();
    if (listed.empty()) return;

    const Ids ids(tokenizer);
    std::int64_t next = ids.next();
    std::map<std::string, std::size_t> places;
    for (std::size_t i = 0; i < own.size(); ++i) {
        const json &id = own[i].value("id", json()), &content = own[i].value("content", json());
        if (id.is_number_integer()) next = std::max(next, id.get<std::int64_t>() + 1);
        if (content.is_string()) places.emplace(content.get<std::string>(), i);
    }
    for (Listed each : listed) {
        if (as_typed) each.token["normalized"] = false;
        const std::string content = each.token["content"].get<std::string>();
        if (content.empty()) continue;
        const auto [place, fresh] = places.try_emplace(content, own.size());
        if (fresh) {
            own.push_back(each.token);
            const auto known = ids.find(content);
            own.back()["id"] = known ? *known : next++;
        } else if (each.replaces) {
            for (const char* flag : kFlags) own[place->second][flag] = each.token[flag];
        }
    }
}

void apply_options_beside(json& tokenizer, const fs::path& folder) {
    if (!tokenizer.is_object()) return;
    const std::string file = (folder / kConfig).string();
    const json content = read_object(file);
    const Field config(content, file);
    const std::string kind = class_of(content, read_object(folder / "config.json"));
    const auto is = [&](std::initializer_list<std::string_view> names) { return std::ranges::find(names, kind) != names.end(); };
    const auto stage = [&](const char* name, const char* type) -> json* {
        const auto found = tokenizer.find(name);
        return found != tokenizer.end() && found->is_object() && found->value("type", json()) == type ? &*found : nullptr;
    };
    if (json* normalizer = stage("normalizer", "BertNormalizer");
        normalizer && is({"BertTokenizer", "DistilBertTokenizer", "ElectraTokenizer"})) {
        const auto strips = config.find("strip_accents");
        (*normalizer)["lowercase"] = config.boolean_or("do_lower_case", true);
        (*normalizer)["strip_accents"] = strips ? json(strips->boolean()) : json();
        (*normalizer)["handle_chinese_chars"] = config.boolean_or("tokenize_chinese_chars", true);
    }
    if (json* pre = stage("pre_tokenizer", "ByteLevel");
        pre && is({"GPT2Tokenizer", "RobertaTokenizer", "BartTokenizer", "GPTNeoXTokenizer"}))
        (*pre)["add_prefix_space"] = config.boolean_or("add_prefix_space", false);
}

}  // namespace headlight::text
