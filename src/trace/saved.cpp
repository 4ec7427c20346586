// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/trace/saved.h"

#include "headlight/base/error.h"
#include "headlight/io/json_file.h"
#include "headlight/io/npz.h"
#include "headlight/model/hook_name.h"
#include "headlight/model/outline.h"
#include "trace/head_kernels.h"
#include "trace/internals.h"
#include "trace/saved_text.h"

#include <ATen/core/grad_mode.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <utility>

namespace headlight::trace {
namespace {

namespace fs = std::filesystem;
using model::Hook;
using model::HookPoint;

constexpr const char* kFormat = "headlight trace";
constexpr double kRowTolerance = 2e-3;  ///< of a row's sum: float16 and bfloat16 files are rounded

/// What both kinds of files come down to.
struct Content {
    std::map<std::string, io::TensorView> arrays;
    std::map<std::string, std::string> metadata;
};

[[noreturn]] void fail(const fs::path& file, std::string problem, std::string item, std::string expected = {},
                       std::string found = {}, std::string hint = {}) {
    throw Error(ErrorFacts{.problem = std::move(problem),
                           .file = file.string(),
                           .item = std::move(item),
                           .expected = std::move(expected),
                           .found = std::move(found),
                           .hint = std::move(hint)});
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
    std::string text = "[";
    for (std::size_t i = 0; i < shape.size(); ++i) text += (i ? ", " : "") + std::to_string(shape[i]);
    return text + "]";
}

/// The numbers of a view as a tensor: the file's own memory where it is float32.
at::Tensor tensor_of(const io::TensorView& view) {
    const auto type = [&] {
        switch (view.dtype) {
            case io::DType::F64:
                return at::kDouble;
            case io::DType::F32:
                return at::kFloat;
            case io::DType::F16:
                return at::kHalf;
            case io::DType::BF16:
                return at::kBFloat16;
            default:
                fail(view.file, "an array of the wrong type", view.name, "floating-point numbers",
                     std::string(io::name_of(view.dtype)));
        }
    }();
    auto* data = const_cast<std::byte*>(view.bytes.data());  // read only: nothing writes to a kept tensor
    if (reinterpret_cast<std::uintptr_t>(data) % static_cast<std::uintptr_t>(io::size_of(view.dtype)) == 0)
        return at::from_blob(
            data, view.shape, [owner = view.owner](void*) {}, at::TensorOptions(type));
    const at::Tensor copy = at::empty(view.shape, at::TensorOptions(type));
    if (!view.bytes.empty()) std::memcpy(copy.data_ptr(), data, view.bytes.size());
    return copy;
}

/// Weights must be numbers from 0 to 1. Rows that do not sum to one are counted.
struct RowCheck {
    std::int64_t wrong_rows = 0, rows = 0;
    std::string first;
};

void check_pattern(const fs::path& file, const std::string& name, std::int64_t layer, const at::Tensor& pattern,
                   RowCheck& rows) {
    const at::Tensor wide = pattern.to(at::kFloat).contiguous();
    const std::int64_t heads = wide.size(0), tokens = wide.size(1);
    const float* at = wide.data_ptr<float>();
    for (std::int64_t h = 0; h < heads; ++h)
        for (std::int64_t q = 0; q < tokens; ++q, at += tokens) {
            double sum = 0;
            for (std::int64_t k = 0; k < tokens; ++k) {
                const float p = at[k];
                if (!(p >= -1e-6F && p <= 1.0F + 1e-2F))
                    fail(file, "a number that is no attention weight",
                         name + ", layer " + std::to_string(layer) + ", head " + std::to_string(h) + ", query " +
                             std::to_string(q) + ", key " + std::to_string(k),
                         "0 to 1", std::to_string(p), "Save what the softmax gives, not the scores before it");
                sum += p;
            }
            ++rows.rows;
            if (std::abs(sum - 1) <= kRowTolerance) continue;
            if (rows.wrong_rows++ == 0)
                rows.first = "layer " + std::to_string(layer) + ", head " + std::to_string(h) + ", query " +
                             std::to_string(q) + ": " + std::to_string(sum);
        }
}

bool looks_ahead(const at::Tensor& pattern) {
    return pattern.triu(1).ne(0).any().item<bool>();
}

/// The pictures and numbers of every head, as a run would have gathered them; without values there is no share of them.
void add_overview(Trace::Internals& t, const CancelToken& cancel, const Progress& progress) {
    const model::ModelConfig& c = t.model->config();
    const TextFacts facts =
        TextFacts::of(t.encoding.ids, t.encoding.special, c.causal, text::punctuation(*t.tokenizer, t.encoding));
    const auto heads = static_cast<std::size_t>(c.n_layers * c.n_heads);
    t.pooled.resize(heads);
    t.summaries.resize(heads);
    for (std::int64_t layer = 0; layer < c.n_layers; ++layer) {
        cancel.throw_if_cancelled();
        if (progress) progress({"Reading", "layer", layer, c.n_layers});
        const at::Tensor pattern = t.stored.at({Hook::pattern, Layer(layer)}).to(at::kFloat).contiguous();
        const std::int64_t tokens = pattern.size(1);
        const float* data = pattern.data_ptr<float>();
        at::parallel_for(0, c.n_heads, 1, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t h = begin; h < end; ++h) {
                const auto index = static_cast<std::size_t>(layer * c.n_heads + h);
                HeadAccumulator(facts, t.pooled[index], t.summaries[index])
                    .add_rows(data + h * tokens * tokens, 0, tokens, tokens, tokens);
            }
        });
    }
}

void add_row_warning(const RowCheck& rows, RunInfo& info) {
    if (rows.wrong_rows == 0) return;
    info.warnings.push_back(std::to_string(rows.wrong_rows) + " of " + std::to_string(rows.rows) +
                            " rows do not sum to one (the first: " + rows.first +
                            "): shares and entropies are of what is there");
}

/// What remains to be done when encoding, patterns and outline are known.
std::shared_ptr<const Trace> finish(std::unique_ptr<Trace::Internals> t, SavedText text, model::ModelConfig config,
                                    const fs::path& file, std::string hash, const CancelToken& cancel,
                                    const Progress& progress) {
    t->encoding = std::move(text.encoding);
    t->prompt.text = std::move(text.text);
    t->prompt.pair = std::move(text.pair);
    t->tokenizer = tokenizer_of(t->encoding, file);
    t->labels = text::token_labels(*t->tokenizer, t->encoding);
    config.vocab_size = t->tokenizer->vocab_size();
    t->model = model::outline(std::move(config), file, std::move(hash));
    add_overview(*t, cancel, progress);
    for (const auto& [point, tensor] : t->stored) {
        t->kept.push_back(point);
        t->bytes += static_cast<std::int64_t>(tensor.nbytes());
    }
    return std::make_shared<const Trace>(std::move(t));
}

model::ModelConfig plain_config(std::int64_t layers, std::int64_t heads, std::int64_t tokens) {
    model::ModelConfig c;
    c.n_layers = layers;
    c.n_heads = c.n_kv_heads = heads;
    c.context_length = tokens;
    c.has_unembedding = false;
    c.positions = model::Positions::none;
    return c;
}

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

const io::TensorView* whole_numbers(const io::NpzContent& npz, const char* name, std::int64_t size,
                                    const fs::path& file) {
    const auto found = npz.arrays.find(name);
    if (found == npz.arrays.end()) return nullptr;
    const io::TensorView& view = found->second;
    if (view.dtype == io::DType::F64 || view.dtype == io::DType::F32 || view.dtype == io::DType::F16)
        fail(file, "an array of the wrong type", name, "whole numbers", std::string(io::name_of(view.dtype)));
    if (view.numel() != size)
        fail(file, "an array of the wrong size", name, std::to_string(size), shape_text(view.shape));
    return &view;
}

std::string text_of(const io::NpzContent& npz, const char* name) {
    const auto found = npz.texts.find(name);
    return found == npz.texts.end() || found->second.size() != 1 ? std::string() : found->second.front();
}

std::shared_ptr<const Trace> open_attention(const fs::path& file, const io::NpzContent& npz, const CancelToken& cancel,
                                            const Progress& progress) {
    const auto found = npz.arrays.find("attention");
    if (found == npz.arrays.end())
        fail(file, "the file holds no attention", "attention", "an array [layer, head, query, key]",
             npz.arrays.empty() ? "no arrays" : "no such array; there is " + npz.arrays.begin()->first,
             "docs/attention-elsewhere.md has five lines of Python that write it");
    const io::TensorView& view = found->second;
    if (view.shape.size() != 4)
        fail(file, "attention has the wrong number of axes", "attention", "[layer, head, query, key]",
             shape_text(view.shape), view.shape.size() == 5 ? "Choose one text of the batch: attention[:, 0]" : "");
    const std::int64_t layers = view.shape[0], heads = view.shape[1], tokens = view.shape[2];
    if (layers < 1 || heads < 1 || tokens < 1)
        fail(file, "attention is empty", "attention", "at least one layer, head and token", shape_text(view.shape));
    if (view.shape[3] != tokens)
        fail(file, "attention is not square: attention from one text to another is not shown", "attention",
             "as many keys as queries", shape_text(view.shape));

    TokenStrings strings;
    const auto texts = npz.texts.find("tokens");
    if (texts == npz.texts.end()) fail(file, "the file has no tokens", "tokens", std::to_string(tokens) + " texts");
    strings.tokens = texts->second;
    if (static_cast<std::int64_t>(strings.tokens.size()) != tokens)
        fail(file, "tokens and attention do not fit", "tokens",
             std::to_string(tokens) + ", as attention " + shape_text(view.shape) + " has",
             std::to_string(strings.tokens.size()));
    for (std::string& token : strings.tokens)
        if (token.empty()) token = "∅";
    if (const io::TensorView* ids = whole_numbers(npz, "ids", tokens, file)) {
        strings.ids.emplace();
        for (std::int64_t i = 0; i < tokens; ++i) {
            const std::int64_t id = whole_number(*ids, i);
            if (id < 0 || id > 1 << 26)
                fail(file, "an id out of range", "ids, token " + std::to_string(i), "0 to 67108864",
                     std::to_string(id));
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
            fail(file, "the second sentence begins outside the text", "sentence_b_start",
                 "1 to " + std::to_string(tokens - 1), std::to_string(strings.sentence_b_start));
    }
    strings.text = text_of(npz, "text");

    auto t = std::make_unique<Trace::Internals>();
    const at::Tensor all = tensor_of(view);
    RowCheck rows;
    bool causal = tokens > 1;
    for (std::int64_t layer = 0; layer < layers; ++layer) {
        cancel.throw_if_cancelled();
        const at::Tensor pattern = all.select(0, layer);
        check_pattern(file, "attention", layer, pattern, rows);
        causal = causal && !looks_ahead(pattern);
        t->stored[{Hook::pattern, Layer(layer)}] = pattern;
    }
    add_row_warning(rows, t->info);
    t->info.dtype = view.dtype == io::DType::F64 ? "float64" : view.dtype == io::DType::F16 ? "float16" : "float32";
    model::ModelConfig config = plain_config(layers, heads, tokens);
    config.causal = causal;
    config.name = text_of(npz, "model");
    if (config.name.empty()) config.name = file.stem().string();
    return finish(std::move(t), trace::text_of(strings), std::move(config), file, {}, cancel, progress);
}

// ---- a file of `headlight trace`

std::string value(const Content& content, const char* key) {
    const auto found = content.metadata.find(key);
    return found == content.metadata.end() ? std::string() : found->second;
}

std::shared_ptr<const Trace> open_trace(const fs::path& file, const Content& content, const CancelToken& cancel,
                                        const Progress& progress) {
    if (value(content, "tokens").empty()) fail(file, "the trace has no tokens", "tokens");
    if (!value(content, "source_tokens").empty())
        fail(file, "a saved trace of an encoder-decoder model cannot be looked at", "source_tokens", "a trace of one text", "source and target",
             "Open the model itself; NumPy reads the file");
    SavedText text = text_of_trace(value(content, "tokens"), value(content, "text"), value(content, "pair"), file);
    const std::int64_t tokens = text.encoding.size();
    auto t = std::make_unique<Trace::Internals>();
    std::int64_t layers = 0, heads = 0;
    RowCheck rows;
    bool causal = tokens > 1;
    for (const auto& [name, view] : content.arrays) {
        const auto point = model::parse_hook(name);
        if (!point) continue;
        const at::Tensor tensor = tensor_of(view);
        t->stored[*point] = tensor;
        if (model::has_layer(point->hook)) layers = std::max(layers, point->layer.value + 1);
        if (point->hook != Hook::pattern) continue;
        if (view.shape.size() != 3 || view.shape[1] != tokens || view.shape[2] != tokens || view.shape[0] < 1 ||
            (heads > 0 && view.shape[0] != heads))
            fail(file, "a pattern of the wrong shape", name,
                 "[" + (heads > 0 ? std::to_string(heads) : "heads") + ", " + std::to_string(tokens) + ", " +
                     std::to_string(tokens) + "]",
                 shape_text(view.shape));
        heads = view.shape[0];
        check_pattern(file, name, point->layer.value, tensor, rows);
        causal = causal && !looks_ahead(tensor);
    }
    for (std::int64_t layer = 0; layer < std::max<std::int64_t>(layers, 1); ++layer)
        if (!t->stored.contains({Hook::pattern, Layer(layer)}))
            fail(file, "the trace does not hold the pattern of every layer",
                 model::name_of({Hook::pattern, Layer(layer)}), "a tensor [head, query, key]", "none",
                 "Write it with: headlight trace MODEL --text TEXT --capture '*hook_pattern' --out FILE, or without "
                 "--capture");
    add_row_warning(rows, t->info);
    model::ModelConfig config = plain_config(layers, heads, tokens);
    config.causal = causal;
    config.family = value(content, "family");
    config.name = fs::path(value(content, "model")).filename().string();
    if (const std::string text_config = value(content, "config"); !text_config.empty()) {
        const nlohmann::json json = io::parse_json(text_config, file);
        if (json.is_object() && json.contains("causal") && json.at("causal").is_boolean())
            config.causal = json.at("causal").get<bool>();
        if (json.is_object() && json.contains("name") && json.at("name").is_string())
            config.name = json.at("name").get<std::string>();
    }
    t->info.dtype = value(content, "dtype");
    t->info.device = value(content, "device");
    t->info.version = value(content, "version");
    return finish(std::move(t), std::move(text), std::move(config), file, value(content, "model_hash"), cancel,
                  progress);
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

std::shared_ptr<const Trace> open_saved(const fs::path& path, const CancelToken& cancel, const Progress& progress) {
    const at::NoGradGuard no_grad;
    if (path.extension() != ".npz") {
        const io::TensorStore store = io::TensorStore::open_file(path);
        return open_trace(path, {store.tensors(), store.metadata()}, cancel, progress);
    }
    const io::NpzContent npz = io::read_npz(path);
    const auto metadata = npz.texts.find("metadata");
    if (metadata == npz.texts.end() || metadata->second.size() != 1) return open_attention(path, npz, cancel, progress);
    Content content{npz.arrays, {}};
    const nlohmann::json json = io::parse_json(metadata->second.front(), path);
    for (const auto& [key, text] : json.items())
        if (text.is_string()) content.metadata[key] = text.get<std::string>();
    return open_trace(path, content, cancel, progress);
}

}  // namespace headlight::trace
