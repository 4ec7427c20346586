// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/trace/saved.h"

#include "headlight/base/error.h"
#include "headlight/base/numbers.h"
#include "headlight/io/json_file.h"
#include "headlight/io/npz.h"
#include "headlight/model/hook_name.h"
#include "headlight/model/outline.h"
#include "trace/saved/saved_parts.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

namespace headlight::trace {
namespace {

namespace fs = std::filesystem;
using model::Hook;
using model::HookPoint;

constexpr const char* kFormat = "headlight trace";

/// What both kinds of files come down to.
struct Content {
    std::map<std::string, io::TensorView> arrays;
    std::map<std::string, std::string> metadata;
};

// ---- attention computed elsewhere

std::int64_t whole_number(const io::TensorView& view, std::int64_t index) {
    std::int64_t value = 0;
    const std::int64_t size = io::size_of(view.dtype);
    std::memcpy(&value, view.bytes.data() + index * size, static_cast<std::size_t>(size));
    const bool narrow = view.dtype == io::DType::I32 || view.dtype == io::DType::I16 || view.dtype == io::DType::I8;
    if (narrow) {
        const int shift = static_cast<int>(64 - 8 * size);
        value = static_cast<std::int64_t>(static_cast<std::uint64_t>(value) << shift) >> shift;
    }
    return value;
}

const io::TensorView* whole_numbers(const io::NpzContent& npz, const char* name, std::int64_t size, const fs::path& file) {
    const auto found = npz.arrays.find(name);
    if (found == npz.arrays.end()) return nullptr;
    const io::TensorView& view = found->second;
    if (view.dtype == io::DType::F64 || view.dtype == io::DType::F32 || view.dtype == io::DType::F16)
        fail_saved(file, "An array of the wrong type", name, "whole numbers", std::string(io::name_of(view.dtype)));
    if (view.numel() != size) fail_saved(file, "An array of the wrong size", name, std::to_string(size), shape_text(view.shape));
    return &view;
}

std::string text_of(const io::NpzContent& npz, const char* name) {
    const auto found = npz.texts.find(name);
    return found == npz.texts.end() || found->second.size() != 1 ? std::string() : found->second.front();
}

std::string type_text(io::DType type) {
    return type == io::DType::F64 ? "float64" : type == io::DType::F16 ? "float16" : "float32";
}

/// [layer, head, query, key]
const io::TensorView& attention_of(const fs::path& file, const std::string& name, const io::TensorView& view) {
    if (view.shape.size() != 4)
        fail_saved(file, "Attention has the wrong number of axes", name, "[layer, head, query, key]", shape_text(view.shape),
                   view.shape.size() == 5 ? "Choose one text of the batch: " + name + "[:, 0]" : "");
    if (std::ranges::any_of(view.shape, [](std::int64_t size) { return size < 1; }))
        fail_saved(file, "Attention is empty", name, "at least one layer, head and token", shape_text(view.shape));
    return view;
}

io::TensorView layer_of(const io::TensorView& all, std::int64_t layer) {
    io::TensorView one = all;
    one.shape.erase(one.shape.begin());
    const std::size_t bytes = all.bytes.size() / static_cast<std::size_t>(all.shape.front());
    one.bytes = all.bytes.subspan(static_cast<std::size_t>(layer) * bytes, bytes);
    return one;
}

/// The array "attention", or a list of arrays that numpy.savez named arr_0, arr_1 …, each with or without a batch of one text.
std::vector<io::TensorView> layers_of(const fs::path& file, const io::NpzContent& npz) {
    std::vector<io::TensorView> layers;
    if (const auto found = npz.arrays.find("attention"); found != npz.arrays.end()) {
        const io::TensorView& all = attention_of(file, "attention", found->second);
        for (std::int64_t l = 0; l < all.shape[0]; ++l) layers.push_back(layer_of(all, l));
        return layers;
    }
    for (auto found = npz.arrays.find("arr_0"); found != npz.arrays.end();
         found = npz.arrays.find("arr_" + std::to_string(layers.size()))) {
        io::TensorView one = found->second;
        if (one.shape.size() == 4 && one.shape.front() == 1) one.shape.erase(one.shape.begin());
        if (one.shape.size() != 3 || std::ranges::find(one.shape, 0) != one.shape.end() ||
            (!layers.empty() && (one.shape != layers.front().shape || one.dtype != layers.front().dtype)))
            fail_saved(file, "An array of the list is no layer's attention", found->first,
                       layers.empty() ? "[head, query, key]" : shape_text(layers.front().shape) + ", as arr_0 is",
                       shape_text(found->second.shape));
        layers.push_back(std::move(one));
    }
    if (layers.empty())
        fail_saved(file, "The file holds no attention", "attention", "an array [layer, head, query, key]",
                   npz.arrays.empty() ? "no arrays" : "no such array; there is " + npz.arrays.begin()->first,
                   "docs/attention-elsewhere.md has five lines of Python that write it");
    return layers;
}

const std::vector<std::string>& token_texts(const fs::path& file, const io::NpzContent& npz, const std::string& name,
                                            std::int64_t tokens) {
    const auto texts = npz.texts.find(name);
    if (texts == npz.texts.end()) fail_saved(file, "The file has no tokens", name, std::to_string(tokens) + " texts");
    if (static_cast<std::int64_t>(texts->second.size()) != tokens)
        fail_saved(file, "Tokens and attention do not fit", name, std::to_string(tokens) + ", as the attention has",
                   std::to_string(texts->second.size()));
    return texts->second;
}

std::shared_ptr<const Trace> open_attention(const fs::path& file, const io::NpzContent& npz, const CancelToken& cancel,
                                            const Progress& progress) {
    const std::vector<io::TensorView> all = layers_of(file, npz);
    const io::TensorView& view = all.front();
    const auto layers = static_cast<std::int64_t>(all.size());
    const std::int64_t heads = view.shape[0], tokens = view.shape[1];
    if (view.shape[2] != tokens)
        fail_saved(file, "Attention is not square: that from one text to another is one of three", "attention",
                   "as many keys as queries", shape_text(view.shape),
                   "Write encoder_attention, decoder_attention and cross_attention, with encoder_tokens and decoder_tokens");

    TokenStrings strings;
    strings.tokens = token_texts(file, npz, "tokens", tokens);
    for (std::string& token : strings.tokens)
        if (token.empty()) token = "∅";
    if (const io::TensorView* ids = whole_numbers(npz, "ids", tokens, file)) {
        strings.ids.emplace();
        for (std::int64_t i = 0; i < tokens; ++i) {
            const std::int64_t id = whole_number(*ids, i);
            if (id < 0 || id > 1 << 26)
                fail_saved(file, "An id out of range", "ids, token " + std::to_string(i), "0 to 67108864", std::to_string(id));
            strings.ids->push_back(id);
        }
    }
    if (const io::TensorView* special = whole_numbers(npz, "special", tokens, file)) {
        strings.special.emplace();
        for (std::int64_t i = 0; i < tokens; ++i) strings.special->push_back(whole_number(*special, i) != 0);
    }
    if (const io::TensorView* start = whole_numbers(npz, "sentence_b_start", 1, file)) {
        strings.sentence_b_start = whole_number(*start, 0);
        if (strings.sentence_b_start <= 0 || strings.sentence_b_start >= tokens)
            fail_saved(file, "The second sentence begins outside the text", "sentence_b_start",
                       "1 to " + std::to_string(tokens - 1), std::to_string(strings.sentence_b_start));
    }
    strings.text = text_of(npz, "text");

    auto t = std::make_unique<Trace::Internals>();
    RowCheck rows;
    bool causal = tokens > 1;
    for (std::int64_t layer = 0; layer < layers; ++layer) {
        cancel.throw_if_cancelled();
        const at::Tensor pattern = tensor_of(all[static_cast<std::size_t>(layer)]);
        check_pattern(file, "attention", layer, pattern, rows);
        causal = causal && !looks_ahead(pattern);
        t->stored[{Hook::pattern, Layer(layer)}] = pattern;
    }
    add_row_warning(rows, t->info);
    t->info.dtype = type_text(view.dtype);
    model::ModelConfig config = plain_config(layers, heads, tokens);
    config.causal = causal;
    config.name = text_of(npz, "model");
    if (config.name.empty()) config.name = file.stem().string();
    SavedText text = trace::text_of(strings, file);
    t->encoding = std::move(text.encoding);
    t->prompt.text = std::move(text.text);
    t->prompt.pair = std::move(text.pair);
    t->tokenizer = tokenizer_of(t->encoding, file);
    config.vocab_size = t->tokenizer->vocab_size();
    t->model = model::outline(std::move(config), file, {});
    return finish_saved(std::move(t), cancel, progress);
}

// ---- a file of `headlight trace`

std::string value(const Content& content, const char* key) {
    const auto found = content.metadata.find(key);
    return found == content.metadata.end() ? std::string() : found->second;
}

/// The tensors of one stack, and what they say of it.
struct Stack {
    std::map<HookPoint, at::Tensor> tensors;
    std::int64_t layers = 0, heads = 0;
    bool causal = true;
};

/// The patterns [head, queries, keys] of every layer must be there.
void check_patterns(const fs::path& file, const Stack& stack, Hook hook, const std::string& prefix) {
    for (std::int64_t layer = 0; layer < std::max<std::int64_t>(stack.layers, 1); ++layer)
        if (!stack.tensors.contains({hook, Layer(layer)}))
            fail_saved(file, "The trace does not hold the pattern of every layer", prefix + model::name_of({hook, Layer(layer)}),
                       "a tensor [head, query, key]", "none",
                       "Write it with: headlight trace MODEL --text TEXT --capture '*hook_pattern' --out FILE, or without "
                       "--capture");
}

/// `prefix`: of the names, "encoder." where the file has several stacks; `source`: keys of the cross attention.
Stack read_stack(const fs::path& file, const Content& content, const std::string& prefix, std::int64_t tokens,
                 std::int64_t source, RowCheck& rows) {
    Stack stack;
    stack.causal = tokens > 1;
    for (const auto& [name, view] : content.arrays) {
        if (!name.starts_with(prefix) && !(name == "logits" && source > 0)) continue;
        const auto point = model::parse_hook(name.starts_with(prefix) ? std::string_view(name).substr(prefix.size()) : name);
        if (!point) continue;
        const at::Tensor tensor = tensor_of(view);
        stack.tensors[*point] = tensor;
        if (model::has_layer(point->hook)) stack.layers = std::max(stack.layers, point->layer.value + 1);
        if (point->hook != Hook::pattern && point->hook != Hook::cross_pattern) continue;
        const std::int64_t keys = point->hook == Hook::pattern ? tokens : source;
        if (view.shape.size() != 3 || view.shape[1] != tokens || view.shape[2] != keys || view.shape[0] < 1 ||
            (stack.heads > 0 && view.shape[0] != stack.heads))
            fail_saved(file, "A pattern of the wrong shape", name,
                       "[" + (stack.heads > 0 ? std::to_string(stack.heads) : "heads") + ", " + std::to_string(tokens) + ", " +
                           std::to_string(keys) + "]",
                       shape_text(view.shape));
        stack.heads = view.shape[0];
        check_pattern(file, name, point->layer.value, tensor, rows);
        if (point->hook == Hook::pattern) stack.causal = stack.causal && !looks_ahead(tensor);
    }
    check_patterns(file, stack, Hook::pattern, prefix);
    if (source > 0) check_patterns(file, stack, Hook::cross_pattern, prefix);
    return stack;
}

/// What the file says of the model whose configuration is `key`, beside what its patterns say.
model::ModelConfig config_of(const fs::path& file, const Content& content, const char* key, const Stack& stack,
                             std::int64_t tokens) {
    model::ModelConfig config = plain_config(stack.layers, stack.heads, tokens);
    config.causal = stack.causal;
    config.family = value(content, "family");
    config.name = fs::path(value(content, "model")).filename().string();
    if (const std::string text = value(content, key); !text.empty()) {
        const nlohmann::json json = io::parse_json(text, file);
        if (json.is_object() && json.contains("causal") && json.at("causal").is_boolean())
            config.causal = json.at("causal").get<bool>();
        if (json.is_object() && json.contains("name") && json.at("name").is_string())
            config.name = json.at("name").get<std::string>();
    }
    return config;
}

/// The edits that the run was under, in words.
std::vector<std::string> edits_in(const Content& content, const fs::path& file) {
    const std::string text = value(content, "edits");
    if (text.empty()) return {};
    std::vector<std::string> edits;
    const nlohmann::json json = io::parse_json(text, file);
    if (!json.is_array()) fail_saved(file, "The edits of the trace cannot be read", "edits", "a list of texts", text);
    for (const nlohmann::json& edit : json) {
        if (!edit.is_string()) fail_saved(file, "The edits of the trace cannot be read", "edits", "a list of texts", text);
        edits.push_back(edit.get<std::string>());
    }
    return edits;
}

std::unique_ptr<Trace::Internals> internals_of(const Content& content, text::Encoding encoding, const Prompt& prompt,
                                               std::shared_ptr<const text::Tokenizer> tokenizer) {
    auto t = std::make_unique<Trace::Internals>();
    t->info.dtype = value(content, "dtype");
    t->info.device = value(content, "device");
    t->info.version = value(content, "version");
    t->encoding = std::move(encoding);
    t->prompt = prompt;
    t->tokenizer = std::move(tokenizer);
    return t;
}

/// Encoder, decoder and the attention from the one to the other, as a run leaves them.
std::shared_ptr<const Trace> open_encoder_decoder(const fs::path& file, const Content& content, const SavedText& from,
                                                  const SavedText& to, const CancelToken& cancel, const Progress& progress) {
    const std::string &text = from.text, &pair = to.text;
    const text::Encoding &source = from.encoding, &target = to.encoding;
    text::Encoding both = source;
    both.append(target);
    const auto tokenizer = tokenizer_of(both, file);
    RowCheck rows;
    Stack encoder = read_stack(file, content, "encoder.", source.size(), 0, rows);
    Stack decoder = read_stack(file, content, "decoder.", target.size(), source.size(), rows);

    model::ModelConfig encoder_config = config_of(file, content, "encoder_config", encoder, source.size());
    model::ModelConfig config = config_of(file, content, "config", decoder, target.size());
    encoder_config.stack = model::Stack::encoder;
    config.stack = model::Stack::decoder;
    config.vocab_size = encoder_config.vocab_size = tokenizer->vocab_size();
    model::ModelConfig cross_config = config;
    cross_config.stack = model::Stack::cross;
    cross_config.causal = cross_config.final_norm = false;
    const auto model =
        model::outline(std::move(config), std::move(encoder_config), std::move(cross_config), file, value(content, "model_hash"));

    Prompt prompt;
    prompt.text = text;
    prompt.pair = pair;
    auto of_source = internals_of(content, source, prompt, tokenizer);
    of_source->model = model->part(model::Stack::encoder);
    of_source->stored = std::move(encoder.tensors);
    auto across = internals_of(content, target, prompt, tokenizer);
    across->model = model->part(model::Stack::cross);
    across->source = source;
    for (const HookPoint& own : model::hooks_of(across->model->config()))
        if (const auto found = decoder.tensors.find({*model::in_decoder(own.hook), own.layer}); found != decoder.tensors.end())
            across->stored[own] = found->second;
    auto of_target = internals_of(content, target, prompt, tokenizer);
    of_target->edits = of_source->edits = across->edits = edits_in(content, file);
    add_row_warning(rows, of_target->info);
    of_target->model = model;
    of_target->stored = std::move(decoder.tensors);
    of_target->encoder = finish_saved(std::move(of_source), cancel, progress);
    of_target->cross = finish_saved(std::move(across), cancel, progress);
    of_target->bytes = of_target->encoder->bytes();  // the cross attention's tensors are the decoder's
    return own_parts(finish_saved(std::move(of_target), cancel, progress));
}

/// The three arrays that BertViz's views of an encoder-decoder take, under a trace's names.
std::shared_ptr<const Trace> open_three_attentions(const fs::path& file, const io::NpzContent& npz, const CancelToken& cancel,
                                                   const Progress& progress) {
    Content content;
    const auto add = [&](const std::string& name, const std::string& prefix, Hook hook) -> const io::TensorView& {
        const auto found = npz.arrays.find(name);
        if (found == npz.arrays.end())
            fail_saved(file, "One of three attentions is missing", name, "an array [layer, head, query, key]");
        const io::TensorView& all = attention_of(file, name, found->second);
        for (std::int64_t l = 0; l < all.shape[0]; ++l)
            content.arrays[prefix + model::name_of({hook, Layer(l)})] = layer_of(all, l);
        return all;
    };
    const std::int64_t source = add("encoder_attention", "encoder.", Hook::pattern).shape[2];
    const std::int64_t target = add("decoder_attention", "decoder.", Hook::pattern).shape[2];
    const io::TensorView& cross = add("cross_attention", "decoder.", Hook::cross_pattern);
    const std::string model_name = text_of(npz, "model");
    content.metadata = {{"dtype", type_text(cross.dtype)}, {"model", model_name.empty() ? file.stem().string() : model_name}};
    std::map<std::string, std::int64_t> ids;  // of both texts
    const auto read = [&](const char* name, std::int64_t tokens) {
        TokenStrings strings{.tokens = token_texts(file, npz, name, tokens), .ids = {}, .special = {}, .text = {}};
        strings.ids.emplace();
        for (std::string& token : strings.tokens) {
            if (token.empty()) token = "∅";
            const auto next = static_cast<std::int64_t>(ids.size());
            strings.ids->push_back(ids.emplace(token, next).first->second);
        }
        return trace::text_of(strings, file);
    };
    const SavedText from = read("encoder_tokens", source), to = read("decoder_tokens", target);
    return open_encoder_decoder(file, content, from, to, cancel, progress);
}

std::shared_ptr<const Trace> open_trace(const fs::path& file, const Content& content, const CancelToken& cancel,
                                        const Progress& progress) {
    if (value(content, "tokens").empty()) fail_saved(file, "The trace has no tokens", "tokens");
    if (!value(content, "source_tokens").empty())
        return open_encoder_decoder(file, content,
                                    text_of_trace(value(content, "source_tokens"), value(content, "text"), {}, file),
                                    text_of_trace(value(content, "tokens"), value(content, "pair"), {}, file), cancel, progress);
    SavedText text = text_of_trace(value(content, "tokens"), value(content, "text"), value(content, "pair"), file);
    RowCheck rows;
    const std::int64_t tokens = text.encoding.size();
    Stack stack = read_stack(file, content, "", tokens, 0, rows);
    model::ModelConfig config = config_of(file, content, "config", stack, tokens);
    Prompt prompt;
    prompt.text = std::move(text.text);
    prompt.pair = std::move(text.pair);
    const auto tokenizer = tokenizer_of(text.encoding, file);
    auto t = internals_of(content, std::move(text.encoding), prompt, tokenizer);
    t->edits = edits_in(content, file);
    add_row_warning(rows, t->info);
    config.vocab_size = tokenizer->vocab_size();
    t->model = model::outline(std::move(config), file, value(content, "model_hash"));
    t->stored = std::move(stack.tensors);
    return finish_saved(std::move(t), cancel, progress);
}

}  // namespace

void require_weights(const model::Model& model) {
    if (model::has_weights(model)) return;
    throw Error({.problem = "This needs the model's weights, and what was opened is a saved trace without its model",
                 .file = model.folder().string(),
                 .hint = "Open the model itself"});
}

bool is_saved(const fs::path& path) {
    std::error_code ignored;
    if (!fs::is_regular_file(path, ignored)) return false;
    if (path.extension() == ".npz") return true;
    if (path.extension() != ".safetensors") return false;
    try {
        const io::TensorStore store = io::TensorStore::open_file(path);
        const auto format = store.metadata().find("format");
        return format != store.metadata().end() && format->second == kFormat;
    } catch (const Error&) {
        return false;  // whoever opens it as a model says what is wrong
    }
}

namespace {

std::shared_ptr<const Trace> open_any(const fs::path& path, const CancelToken& cancel, const Progress& progress) {
    const at::NoGradGuard no_grad;
    if (path.extension() != ".npz") {
        const io::TensorStore store = io::TensorStore::open_file(path);
        return open_trace(path, {store.tensors(), store.metadata()}, cancel, progress);
    }
    const io::NpzContent npz = io::read_npz(path);
    const auto metadata = npz.texts.find("metadata");
    if (metadata == npz.texts.end() || metadata->second.size() != 1)
        return npz.arrays.contains("cross_attention") ? open_three_attentions(path, npz, cancel, progress)
                                                      : open_attention(path, npz, cancel, progress);
    Content content{npz.arrays, {}};
    const nlohmann::json json = io::parse_json(metadata->second.front(), path);
    for (const auto& [key, text] : json.items())
        if (text.is_string()) content.metadata[key] = text.get<std::string>();
    return open_trace(path, content, cancel, progress);
}

}  // namespace

std::shared_ptr<const Trace> open_saved(const fs::path& path, const CancelToken& cancel, const Progress& progress) {
    try {
        return open_any(path, cancel, progress);
    } catch (const std::bad_alloc&) {
        throw Error(ErrorFacts{.problem = "There is not enough memory for the saved trace", .file = path.string()});
    }
}

}  // namespace headlight::trace
