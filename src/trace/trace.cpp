// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/trace/trace.h"

#include "headlight/base/error.h"
#include "headlight/model/runtime.h"
#include "headlight/trace/remade.h"
#include "trace/hook_sets.h"
#include "trace/internals.h"

#include <algorithm>

namespace headlight::trace {
namespace {

std::size_t head_index(const Trace& trace, Layer layer, Head head) {
    const model::ModelConfig& c = trace.config();
    if (layer.value < 0 || layer.value >= c.n_layers || head.value < 0 || head.value >= c.n_heads) {
        throw Error({.problem = "There is no such head",
                     .expected = std::to_string(c.n_layers) + " layers of " + std::to_string(c.n_heads) + " heads",
                     .found = "layer " + std::to_string(layer.value) + ", head " + std::to_string(head.value)});
    }
    return static_cast<std::size_t>(layer.value * c.n_heads + head.value);
}

}  // namespace

Trace::Trace(std::unique_ptr<Internals> internals) : internals_(std::move(internals)) {
    std::int64_t own = internals_->bytes;
    for (const auto& part : {internals_->encoder, internals_->cross})
        if (part) own -= part->internals().bytes;
    internals_->account.set(std::max<std::int64_t>(0, own));
    keep_to_budget();
}
Trace::~Trace() {
    constexpr std::int64_t kMuch = 32 << 20;
    const bool much = internals_->bytes > kMuch || (internals_->remaker && internals_->remaker->bytes() > kMuch);
    internals_.reset();
    if (much) model::give_memory_back();
}

const model::ModelConfig& Trace::config() const noexcept { return internals_->model->config(); }
const std::shared_ptr<const model::Model>& Trace::model() const noexcept { return internals_->model; }
const std::shared_ptr<const text::Tokenizer>& Trace::tokenizer() const noexcept { return internals_->tokenizer; }
const text::Encoding& Trace::encoding() const noexcept { return internals_->encoding; }
const std::vector<text::TokenLabel>& Trace::labels() const noexcept { return internals_->labels; }
const std::string& Trace::text_a() const noexcept { return internals_->prompt.text; }
const std::string& Trace::text_b() const noexcept { return internals_->prompt.pair; }
const PictureShown& Trace::picture() const noexcept { return internals_->picture; }
const RunInfo& Trace::info() const noexcept { return internals_->info; }
std::int64_t Trace::tokens() const noexcept { return internals_->encoding.size(); }
bool Trace::has_sentence_pair() const noexcept { return !text_b().empty() && config().stack == model::Stack::whole; }
bool Trace::across_texts() const noexcept { return internals_->source.has_value(); }
const text::Encoding& Trace::key_encoding() const noexcept { return across_texts() ? *internals_->source : internals_->encoding; }
const std::vector<text::TokenLabel>& Trace::key_labels() const noexcept {
    return across_texts() ? internals_->source_labels : internals_->labels;
}
std::int64_t Trace::keys() const noexcept { return key_encoding().size(); }
const std::shared_ptr<const Trace>& Trace::part(model::Stack stack) const noexcept {
    static const std::shared_ptr<const Trace> none;
    return stack == model::Stack::encoder ? internals_->encoder : stack == model::Stack::cross ? internals_->cross : none;
}

std::shared_ptr<const Trace> part_of(const std::shared_ptr<const Trace>& trace, model::Stack stack) {
    if (stack == model::Stack::whole || stack == model::Stack::decoder) return trace;
    if (const auto& part = trace->part(stack)) return part;
    throw Error({.problem = "This model has one attention, to its own text",
                 .item = trace->config().name,
                 .expected = "an encoder-decoder model",
                 .hint = "Leave the choice of an attention out"});
}

std::int64_t Trace::bytes() const {
    std::int64_t sum = internals_->bytes + results_.bytes();
    if (!internals_->through_decoder) sum += remade_now(*this).bytes;
    for (const auto stack : {model::Stack::encoder, model::Stack::cross})
        if (const auto& other = part(stack)) sum += other->results_.bytes();
    return sum;
}
std::vector<model::HookPoint> Trace::kept() const { return internals_->kept; }

bool Trace::has(model::HookPoint point) const noexcept {
    if (is_available(*this, point)) return true;
    const auto sources = stored_for(config(), point);
    return std::all_of(sources.begin(), sources.end(), [&](const auto& source) { return is_available(*this, source); });
}

namespace {

/// The name that the remaker has for what it makes; nothing where it does not.
std::optional<model::HookPoint> remade_point(const Trace::Internals& t, model::HookPoint point) {
    if (!t.remaker) return std::nullopt;
    if (t.through_decoder) {
        const auto hook = model::in_decoder(point.hook);
        if (!hook) return std::nullopt;
        point.hook = *hook;
    }
    return t.remaker->makes(point) ? std::optional(point) : std::nullopt;
}

}  // namespace

bool is_available(const Trace& trace, model::HookPoint point) {
    const Trace::Internals& t = trace.internals();
    return t.stored.contains(point) || remade_point(t, point);
}

RemadeNow remade_now(const Trace& trace) noexcept {
    const Trace::Internals& t = trace.internals();
    RemadeNow now = t.encoder ? remade_now(*t.encoder) : RemadeNow{};
    if (!t.remaker) return now;
    return {now.any || t.remaker->makes_layers(), now.bytes + t.remaker->bytes()};
}

void make_ahead(const Trace& trace, Layer layer) {
    if (const auto& remaker = trace.internals().remaker) remaker->make_ahead(layer.value);
}

std::optional<at::Tensor> available_tensor(const Trace& trace, model::HookPoint point) {
    const Trace::Internals& t = trace.internals();
    if (const auto found = t.stored.find(point); found != t.stored.end()) return found->second;
    const auto remade = remade_point(t, point);
    return remade ? std::optional(t.remaker->tensor(*remade)) : std::nullopt;
}

std::optional<at::Tensor> available_rows(const Trace& trace, model::HookPoint point, std::int64_t first, std::int64_t count) {
    const Trace::Internals& t = trace.internals();
    if (point.hook == model::Hook::logits && !t.stored.contains(point) && remade_point(t, point))
        return t.remaker->logit_rows(first, count);
    const std::optional<at::Tensor> whole = available_tensor(trace, point);
    if (!whole) return std::nullopt;
    return whole->narrow(0, first, count);
}

HeadOverview Trace::overview() const noexcept { return internals_->overview; }
const PooledPattern& Trace::pooled(Layer layer, Head head) const {
    if (!overview().pooled) throw Error("This trace was made without an overview of its heads");
    return internals_->pooled[head_index(*this, layer, head)];
}
const std::vector<std::int64_t>& counted_rows(const Trace& trace, HeadId id) {
    trace.head_numbers(id.layer, id.head);  // its errors
    return trace.internals().head_numbers[head_index(trace, id.layer, id.head)].rows;
}

const std::vector<double>& Trace::head_numbers(Layer layer, Head head, bool with_first_row) const {
    model::require_attention(config(), "What is measured of heads");
    const auto without = [] { return Error("This trace was made without numbers of its heads"); };
    if (!overview().numbers) throw without();
    const GatheredNumbers& both = internals_->head_numbers[head_index(*this, layer, head)];
    if (both.usual.empty()) throw without();  // no analysis gathers any
    return with_first_row ? both.with_first_row : both.usual;
}

}  // namespace headlight::trace
