// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/map/gather/gather.h"

#include "headlight/base/error.h"
#include "headlight/base/numbers.h"
#include "headlight/corpus/accumulate/examples.h"
#include "headlight/corpus/reading/read_texts.h"
#include "headlight/corpus/store/text_store.h"
#include "headlight/corpus/syntax/word_tokens.h"
#include "headlight/map/pictures.h"
#include "headlight/trace/encoded.h"
#include "headlight/trace/saved.h"
#include "headlight/trace/tensors.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

namespace headlight::map {
namespace {

using model::Hook;
using Numbers = std::vector<float>;

/// The stack whose attention is drawn.
model::Stack stack_of(const model::ModelConfig& whole, model::Stack asked) {
    if (whole.stack != model::Stack::decoder && asked != model::Stack::whole)
        throw Error({.problem = "The model has one stack",
                     .item = std::string(enum_word(asked)),
                     .hint = "Encoders, decoders and cross attentions are chosen in encoder-decoder models"});
    return asked == model::Stack::whole ? whole.stack : asked;
}

std::string beginning_of(const std::string& text) {
    constexpr std::size_t kBytes = 60;
    std::string out = text.substr(0, text.find('\n'));
    if (out.size() <= kBytes) return out;
    std::size_t end = kBytes;
    while (end > 0 && (static_cast<unsigned char>(out[end]) & 0xC0) == 0x80) --end;
    return out.substr(0, end) + "…";
}

std::string name_of(const trace::PictureShown& picture) { return std::filesystem::path(picture.file).filename().string(); }

void check_heads(const model::ModelConfig& c, const std::vector<HeadId>& heads) {
    for (const HeadId& id : heads)
        if (id.layer.value < 0 || id.layer.value >= c.n_layers || id.head.value < 0 || id.head.value >= c.n_heads)
            throw Error(
                {.problem = "The model has no such head",
                 .expected = "layer 0 to " + std::to_string(c.n_layers - 1) + ", head 0 to " + std::to_string(c.n_heads - 1),
                 .found = "L" + std::to_string(id.layer.value) + "H" + std::to_string(id.head.value)});
}

/// Appends what traces have, one after the other.
class Collector {
public:
    Collector(const model::ModelConfig& c, const GatherOptions& options) {
        model::require_attention(c, "The map of queries and keys");
        out_.model = c.name;
        out_.causal = c.causal;
        out_.rotated = options.rotated && c.positions == model::Positions::rotary;
        out_.layers = c.n_layers;
        out_.heads_per_layer = c.n_heads;
        check_heads(c, options.heads);
        for (std::int64_t l = 0; l < c.n_layers; ++l)
            for (std::int64_t h = 0; h < c.n_heads; ++h)
                if (options.heads.empty() || std::ranges::find(options.heads, HeadId{Layer(l), Head(h)}) != options.heads.end())
                    add_head(c, Layer(l), Head(h));
        note(c);
        pictures_ = {model::patch_rows(c), model::patch_columns(c), c.class_tokens};
    }

    /// `tags` [token] of the trace's text; empty: not known.
    void add(const trace::Trace& trace, const std::string& name, const std::vector<std::string>& tags = {}) {
        const auto text = static_cast<std::int32_t>(out_.tokens.names.size());
        out_.texts.push_back(trace.text_a());
        append(out_.tokens, trace.encoding(), trace, text, name);
        out_.tokens.tags.insert(out_.tokens.tags.end(), tags.begin(), tags.end());
        out_.tokens.tags.resize(out_.tokens.tokens.size());
        tagged_ = tagged_ || !tags.empty();
        if (trace.picture().pixels) pictures_.shown.push_back(trace.picture());
        if (trace.across_texts()) append(out_.source, trace.key_encoding(), trace, text, name);
        Layer read(-1);
        at::Tensor q, k;
        for (std::size_t i = 0; i < out_.heads.size(); ++i) {
            HeadVectors& head = out_.heads[i];
            if (head.layer != read) {
                read = head.layer;
                q = vectors(trace, read, Hook::q);
                k = vectors(trace, read, Hook::k);
            }
            const std::int64_t group = trace.config().n_heads / trace.config().n_kv_heads;
            append(*queries_[i], q.select(1, head.head.value));
            if (keys_[i]) append(*keys_[i], k.select(1, head.head.value / group));
            head.width = q.size(2);
        }
    }

    std::shared_ptr<const MapVectors> finish() {
        std::size_t owner = 0;
        if (!tagged_) out_.tokens.tags.clear();
        if (!pictures_.shown.empty()) out_.pictures = std::make_shared<const MapPictures>(std::move(pictures_));
        for (std::size_t i = 0; i < out_.heads.size(); ++i) {
            if (keys_[i]) owner = i;
            out_.heads[i].queries = queries_[i];
            out_.heads[i].keys = keys_[owner];
            out_.heads[i].broken = not_finite(out_.heads[i]);
        }
        return std::make_shared<const MapVectors>(std::move(out_));
    }
    MapVectors& result() { return out_; }

private:
    void add_head(const model::ModelConfig& c, Layer layer, Head head) {
        const std::int64_t group = c.n_heads / c.n_kv_heads;
        const bool shares =
            !out_.heads.empty() && out_.heads.back().layer == layer && out_.heads.back().head.value / group == head.value / group;
        out_.heads.push_back({.layer = layer,
                              .head = head,
                              .score_scale = model::score_scale_of(c, layer.value),
                              .window = model::window_of(c, layer.value)});
        queries_.push_back(std::make_shared<Numbers>());
        keys_.push_back(shares ? nullptr : std::make_shared<Numbers>());
    }

    void note(const model::ModelConfig& c) {
        if (c.positions == model::Positions::rotary)
            out_.notes.emplace_back(out_.rotated ? "Queries and keys after the rotation by their positions"
                                                 : "Queries and keys before the rotation by their positions");
        if (c.latent.any() && !out_.rotated) out_.notes.emplace_back("The content part of queries and keys");
        if (model::has_position_term(c))
            out_.notes.emplace_back("Scores also have position terms besides q·k, which the map does not show");
        if (c.n_kv_heads < c.n_heads)
            out_.notes.emplace_back(std::to_string(c.n_heads / c.n_kv_heads) + " heads each share their keys");
    }

    /// [position, head, width]
    at::Tensor vectors(const trace::Trace& trace, Layer layer, Hook which) const {
        if (out_.rotated) return trace::tensor(trace, {which == Hook::q ? Hook::rot_q : Hook::rot_k, layer});
        const at::Tensor x = trace::before_rotation(trace, layer, which);
        const model::Latent& latent = trace.config().latent;
        return latent.any() ? x.narrow(2, 0, latent.content) : x;
    }

    static void append(Numbers& to, const at::Tensor& rows) {
        const at::Tensor plain = rows.to(at::kCPU, at::kFloat).contiguous();
        to.insert(to.end(), plain.data_ptr<float>(), plain.data_ptr<float>() + plain.numel());
    }

    static void append(MapTokens& to, const headlight::text::Encoding& encoding, const trace::Trace& trace, std::int32_t text,
                       const std::string& name) {
        to.names.push_back(name);
        for (std::size_t i = 0; i < encoding.ids.size(); ++i) {
            const std::int64_t id = encoding.ids[i];
            const bool special =
                encoding.special[i] || (!encoding.pixels && trace.tokenizer() && trace.tokenizer()->is_special(id));
            to.tokens.push_back(encoding.tokens[i]);
            to.token_ids.push_back(id);
            to.text.push_back(text);
            to.position.push_back(static_cast<std::int32_t>(i));
            to.apart.push_back(i == 0 || special ? 1 : 0);
        }
    }

    MapVectors out_;
    MapPictures pictures_;
    bool tagged_ = false;
    std::vector<std::shared_ptr<Numbers>> queries_, keys_;  ///< [head]; keys null: same as the previous head's
};

/// The part of speech of each token's word; of a token over several, of the first.
std::vector<std::string> tags_of(const corpus::Text& text, const corpus::Chunk& chunk) {
    std::vector<std::string> tags;
    if (text.words.empty()) return tags;
    const corpus::WordTokens words = corpus::word_tokens(text, chunk.encoding, chunk.first_byte);
    for (const std::vector<std::int32_t>& of_token : words.of_token)
        tags.push_back(of_token.empty() ? "" : text.words[static_cast<std::size_t>(of_token.front())].upos);
    return tags;
}

trace::CapturePlan plan_of(const model::ModelConfig& c, bool rotated) {
    trace::CapturePlan plan;
    plan.globs = rotated && c.positions == model::Positions::rotary
                     ? std::vector<std::string>{"*attn.hook_rot_q", "*attn.hook_rot_k"}
                     : std::vector<std::string>{"*attn.hook_q", "*attn.hook_k"};
    plan.overview = trace::no_overview;
    return plan;
}

void check_memory(const model::ModelConfig& c, std::size_t heads, std::int64_t tokens, const trace::CapturePlan& plan) {
    const std::int64_t bytes = static_cast<std::int64_t>(heads) * tokens * c.d_head * 2 * 4;
    const std::int64_t available = trace::forecast(c, 1, plan).available;
    if (bytes > available)
        throw Error({.problem = "Queries and keys of " + with_commas(tokens) + " tokens in " +
                                with_commas(static_cast<std::int64_t>(heads)) + " heads do not fit into memory",
                     .expected = "at most " + with_commas(available / 1'000'000) + " MB",
                     .found = with_commas(bytes / 1'000'000) + " MB",
                     .hint = "Choose fewer tokens, or one head"});
}

}  // namespace

ChosenTexts choose_texts(std::int64_t texts, const std::function<std::int64_t(std::int64_t)>& tokens_of, std::int64_t budget,
                         std::uint64_t seed) {
    std::vector<std::pair<std::uint64_t, std::int64_t>> order;
    for (std::int64_t t = 0; t < texts; ++t) order.emplace_back(budget > 0 ? corpus::draw(seed, t, 0) : 0, t);
    std::sort(order.begin(), order.end());
    ChosenTexts out;
    std::int64_t in_vain = 0, shortest = -1;
    for (const auto& [draw, text] : order) {
        const std::int64_t tokens = tokens_of(text);
        if (budget > 0 && out.tokens + tokens > budget) {
            if (shortest < 0 || tokens < shortest) shortest = tokens;
            if (!out.texts.empty() && ++in_vain == 100) break;
            continue;
        }
        in_vain = 0;
        out.texts.push_back(text);
        out.tokens += tokens;
        if (out.tokens == budget) break;
    }
    if (out.texts.empty())
        throw Error({.problem = texts == 0 ? "There is no text" : "No text fits into the budget of tokens",
                     .expected = texts == 0 ? "" : "at most " + with_commas(budget) + " tokens",
                     .found = texts == 0 ? "" : with_commas(shortest) + " in the shortest text",
                     .hint = texts == 0 ? "" : "Raise the budget, or cut the texts into shorter ones"});
    std::sort(out.texts.begin(), out.texts.end());
    out.left_out = texts - std::ssize(out.texts);
    return out;
}

std::shared_ptr<const MapVectors> gather(const std::vector<std::shared_ptr<const trace::Trace>>& traces,
                                         const GatherOptions& options) {
    if (traces.empty()) throw Error("A map needs a text");
    const model::Stack stack = stack_of(traces.front()->config(), options.stack);
    std::optional<Collector> collector;
    for (const auto& whole : traces) {
        trace::require_weights(*whole->model());
        const auto trace = trace::part_of(whole, stack);
        if (!collector) collector.emplace(trace->config(), options);
        collector->add(*trace, whole->picture().pixels ? name_of(whole->picture()) : beginning_of(whole->text_a()));
    }
    return collector->finish();
}

std::shared_ptr<const MapVectors> gather_texts(const std::shared_ptr<const model::Model>& model,
                                               const std::shared_ptr<const headlight::text::Tokenizer>& tokenizer,
                                               const std::vector<corpus::Text>& texts, const GatherOptions& options,
                                               const CancelToken& cancel, const Progress& progress) {
    const model::ModelConfig& whole = model->config();
    if (model::reads_pictures(whole))
        throw Error({.problem = whole.name + " reads pictures", .hint = "Give it pictures in place of texts"});
    const model::Stack stack = stack_of(whole, options.stack);
    const bool two_texts = whole.stack == model::Stack::decoder;
    const model::ModelConfig& c = two_texts && stack != model::Stack::decoder ? model->part(stack)->config() : whole;
    const trace::CapturePlan plan = plan_of(c, options.rotated);
    const auto split = [&](const std::string& text) {
        const std::size_t tab = two_texts ? text.find('\t') : std::string::npos;
        return tab == std::string::npos ? std::pair{text, std::string()} : std::pair{text.substr(0, tab), text.substr(tab + 1)};
    };
    const auto tokens_of = [&](std::int64_t t) {
        cancel.throw_if_cancelled();
        const auto [first, second] = split(texts[static_cast<std::size_t>(t)].text);
        return tokenizer->encode(stack == model::Stack::decoder && two_texts ? second : first).size();
    };
    const ChosenTexts chosen = choose_texts(std::ssize(texts), tokens_of, options.budget, options.seed);

    Collector collector(c, options);
    MapVectors& result = collector.result();
    check_memory(c, result.heads.size(), chosen.tokens, plan);
    std::optional<corpus::Chunker> chunker;
    if (!two_texts) chunker.emplace(*tokenizer, whole.context_length > 0 ? whole.context_length : std::int64_t{1} << 40, 0);
    std::int64_t done = 0;
    for (const std::int64_t t : chosen.texts) {
        const corpus::Text& text = texts[static_cast<std::size_t>(t)];
        if (progress) progress({"Running texts", "text", done++, std::ssize(chosen.texts)});
        try {
            if (two_texts) {
                const auto [first, second] = split(text.text);
                const auto run = trace::run(model, tokenizer, {.text = first, .pair = second}, plan, cancel);
                collector.add(*trace::part_of(run, stack), beginning_of(first));
                continue;
            }
            for (corpus::Chunk& chunk : chunker->chunks(text)) {
                std::string part = corpus::bytes_of(chunk, text);
                const std::string name = beginning_of(part);
                const std::vector<std::string> tags = tags_of(text, chunk);
                const auto run = trace::run_encoded(
                    model, tokenizer, {.text = std::move(part), .encoding = std::move(chunk.encoding)}, plan, cancel);
                collector.add(*run, name, tags);
            }
        } catch (const Error& error) {
            ErrorFacts facts = error.facts();
            facts.item = text.id + (facts.item.empty() ? "" : ", " + facts.item);
            throw Error(facts);
        }
    }
    result.model = whole.name;
    result.tokens.left_out = chosen.left_out;
    return collector.finish();
}

GatheredPictures gather_pictures(const std::shared_ptr<const model::Model>& model,
                                 const std::shared_ptr<const headlight::text::Tokenizer>& tokenizer,
                                 const std::vector<std::string>& files,
                                 const std::function<std::shared_ptr<const model::Picture>(const std::string& file)>& read,
                                 const GatherOptions& options, const CancelToken& cancel, const Progress& progress) {
    const model::ModelConfig& c = model->config();
    if (!model::reads_pictures(c))
        throw Error({.problem = c.name + " reads texts", .hint = "Give it texts in place of pictures"});
    const std::int64_t each = c.class_tokens + model::patch_rows(c) * model::patch_columns(c);
    const ChosenTexts chosen = choose_texts(
        std::ssize(files), [each](std::int64_t) { return each; }, options.budget, options.seed);
    trace::CapturePlan plan = plan_of(c, options.rotated);
    plan.globs.emplace_back("*attn.hook_v");
    Collector collector(c, options);
    check_memory(c, collector.result().heads.size(), chosen.tokens, plan);
    GatheredPictures out;
    std::int64_t done = 0;
    for (const std::int64_t at : chosen.texts) {
        if (progress) progress({"Running pictures", "picture", done++, std::ssize(chosen.texts)});
        const std::string& file = files[static_cast<std::size_t>(at)];
        out.runs.push_back(trace::run(model, tokenizer, {.image = file, .picture = read(file)}, plan, cancel));
        collector.add(*out.runs.back(), name_of(out.runs.back()->picture()));
    }
    collector.result().tokens.left_out = chosen.left_out;
    out.vectors = collector.finish();
    return out;
}

std::vector<corpus::Text> texts_of(const std::filesystem::path& from, const std::function<void(corpus::LeftOut)>& left_out,
                                   const CancelToken& cancel) {
    std::vector<corpus::Text> out;
    if (corpus::is_store(from)) {
        const corpus::Manifest manifest = corpus::read_manifest(from);
        corpus::TextStore store(from, manifest);
        for (std::int64_t t = 0; t < store.texts(); ++t) {
            cancel.throw_if_cancelled();
            out.push_back(store.text(t));
        }
        return out;
    }
    corpus::read_texts(
        from, {},
        [&](corpus::Text&& text) {
            out.push_back(std::move(text));
            return true;
        },
        left_out ? left_out : [](const corpus::LeftOut&) {}, cancel);
    return out;
}

}  // namespace headlight::map
