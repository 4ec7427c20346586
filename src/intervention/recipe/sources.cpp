// SPDX-License-Identifier: GPL-3.0-or-later
#include "intervention/recipe/sources.h"

#include "headlight/base/error.h"
#include "headlight/intervention/recipe/words.h"
#include "intervention/recipe/directions.h"
#include "intervention/recipe/over.h"
#include "intervention/recipe/selection.h"

#include <filesystem>
#include <random>
#include <system_error>

namespace headlight::intervention {

void fail_edit(const Edit& edit, const std::string& problem, const std::string& expected, const std::string& found,
               const std::string& hint) {
    throw Error(
        {.problem = problem, .item = "edit \"" + words_of(edit) + "\"", .expected = expected, .found = found, .hint = hint});
}

Sources::Sources(std::shared_ptr<const model::Model> model, std::shared_ptr<const text::Tokenizer> tokenizer,
                 trace::Prompt prompt)
    : internals_(std::make_unique<Internals>()) {
    internals_->encodings = trace::encodings_of(*model, *tokenizer, prompt);
    internals_->model = std::move(model);
    internals_->tokenizer = std::move(tokenizer);
    internals_->prompt = std::move(prompt);
}

Sources::~Sources() = default;

void Sources::set_unedited(std::shared_ptr<const trace::Trace> trace) { internals_->unedited = std::move(trace); }

void Sources::set_picture_reader(std::function<trace::Prompt(const std::string&)> read) {
    internals_->read_picture = std::move(read);
}

std::string hook_name(const model::Model& model, const StackPoint& p) {
    const bool own = p.stack != model::Stack::encoder && p.stack != model::Stack::cross;
    return model::name_of(p.point, own ? model.config() : model.part(p.stack)->config());
}

namespace {

at::Tensor wide_of(const std::shared_ptr<const trace::Trace>& run, const StackPoint& p) {
    return trace::tensor(*trace::part_of(run, p.stack), p.point).to(at::kCPU).to(at::kDouble);
}

}  // namespace

const model::Model& Sources::Internals::part(const Edit& edit) const {
    if (edit.stack != model::Stack::encoder && edit.stack != model::Stack::cross) return *model;
    if (const auto& other = model->part(edit.stack)) return *other;
    fail_edit(edit, "This model has one attention, to its own text", "an encoder-decoder model", model->config().name);
}

const text::Encoding& Sources::Internals::rows_of(const Edit& edit) const {
    const bool keys = edit.site == Site::k || edit.site == Site::v;
    return edit.stack == model::Stack::encoder || (edit.stack == model::Stack::cross && keys) ? encodings.source : encodings.own;
}

const text::Encoding& Sources::Internals::keys_of(const Edit& edit) const {
    return edit.stack == model::Stack::encoder || edit.stack == model::Stack::cross ? encodings.source : encodings.own;
}

const std::shared_ptr<const trace::Trace>& Sources::Internals::plain(const CancelToken& cancel, const Progress& progress) {
    if (!unedited) unedited = trace::run(model, tokenizer, prompt, {}, cancel, progress);
    return unedited;
}

std::shared_ptr<const trace::Trace> Sources::Internals::run_of(const std::string& text, const std::string& target,
                                                               const CancelToken& cancel, const Progress& progress) {
    auto& kept = runs[{text, target}];
    if (kept) {
        const auto has = [&](const std::string& name) {
            const auto owns = [&](const std::shared_ptr<const trace::Trace>& stack) {
                if (!stack) return false;
                for (const model::HookPoint& point : stack->kept())
                    if (model::name_of(point, stack->config()) == name) return true;
                return false;
            };
            return owns(kept) || owns(kept->part(model::Stack::encoder)) || owns(kept->part(model::Stack::cross));
        };
        if (std::ranges::all_of(wanted, has)) return kept;
    }
    trace::Prompt other = prompt;
    other.ids.clear();
    if (model::reads_pictures(model->config())) {
        if (!read_picture) throw Error("A picture cannot be read here");
        other = read_picture(text);
    } else {
        other.text = text;
        if (!target.empty() || !model->part(model::Stack::encoder)) other.pair = target;
    }
    trace::CapturePlan plan{.globs = {wanted.begin(), wanted.end()}, .overview = trace::no_overview};
    kept = trace::run(model, tokenizer, other, plan, cancel, progress);
    return kept;
}

at::Tensor Sources::Internals::in_plain(const StackPoint& p, const CancelToken& cancel, const Progress& progress) {
    if (unedited && trace::part_of(unedited, p.stack)->has(p.point)) return wide_of(unedited, p);
    // The default plan keeps what nearly every edit asks for; what it does not is kept by a run of its own.
    if (!unedited && trace::part_of(plain(cancel, progress), p.stack)->has(p.point)) return wide_of(unedited, p);
    trace::CapturePlan plan{.globs = {hook_name(*model, p)}, .overview = trace::no_overview};
    return wide_of(trace::run(model, tokenizer, prompt, plan, cancel, progress), p);
}

at::Tensor Sources::Internals::in_text(const Edit& edit, const std::string& text, const StackPoint& p, const CancelToken& cancel,
                                       const Progress& progress) {
    return wide_of(run_of(text, edit.source.target, cancel, progress), p);
}

const std::vector<std::string>& Sources::Internals::texts_of(const Edit& edit, const CancelToken& cancel) {
    const auto [found, fresh] = texts.try_emplace(edit.source.what);
    if (!fresh) return found->second;
    try {
        found->second = texts_of_file(edit.source.what, model->config(), cancel);
    } catch (...) {
        texts.erase(found);
        throw;
    }
    return found->second;
}

at::Tensor Sources::Internals::mean_of(const Edit& edit, const StackPoint& p, const CancelToken& cancel,
                                       const Progress& progress) {
    at::Tensor& kept = means[{edit.source.what, edit.source.from, edit.without_first, p}];
    if (kept.defined()) return kept;
    const bool by_position = edit.source.from == From::reference;
    const std::int64_t here = rows_of(edit).size();
    at::Tensor sum;
    std::int64_t count = 0, line = 0;
    for (const std::string& text : texts_of(edit, cancel)) {
        ++line;
        at::Tensor t = in_text(edit, text, p, cancel, progress);
        runs.erase({text, edit.source.target});  // a file may have thousands
        if (by_position && t.size(0) != here)
            fail_edit(edit, "A mean per position needs texts of one length", std::to_string(here) + " tokens",
                      std::to_string(t.size(0)) + " in text " + std::to_string(line) + " of " + edit.source.what);
        if (!by_position && edit.without_first) t = t.narrow(0, 1, t.size(0) - 1);
        const at::Tensor part = by_position ? t : t.sum(0, true);
        sum = sum.defined() ? sum + part : part;
        count += by_position ? 1 : t.size(0);
    }
    if (count == 0) fail_edit(edit, "There is no position to take a mean of", "a text of two tokens or more", "one token");
    return kept = sum / static_cast<double>(count);
}

const std::string& Sources::Internals::drawn(const Edit& edit, std::uint64_t seed, const CancelToken& cancel) {
    const std::int64_t here = rows_of(edit).size();
    std::vector<const std::string*> donors;
    const bool pictures = model::reads_pictures(model->config());  // which are all of one length
    const auto fits = [&](const std::string& text) {
        std::error_code ignored;  // a picture that is no file is another one
        if (pictures) return !std::filesystem::equivalent(text, prompt.image, ignored);
        return text != prompt.text && tokenizer->encode(text, std::nullopt, prompt.add_special_tokens).size() == here;
    };
    for (const std::string& text : texts_of(edit, cancel))
        if (fits(text)) donors.push_back(&text);
    if (donors.empty())
        fail_edit(edit, "No other text of the file has the length of this one", std::to_string(here) + " tokens",
                  edit.source.what);
    std::mt19937_64 draw(seed);
    return *donors[draw() % donors.size()];
}

at::Tensor Sources::Internals::direction(const Edit& edit, const StackPoint& p, const std::vector<std::int64_t>& shape,
                                         const CancelToken& cancel, const Progress& progress) {
    if (edit.source.from != From::difference) return direction_of(edit, *model, *tokenizer, shape.back());
    const at::Tensor t = in_plain(p, cancel, progress);
    const auto mean = [&](const Positions& positions) {
        const Rows rows = rows_at(edit, positions, rows_of(edit), {}, *this);
        if (rows.all) return t.mean(0);
        return t.index_select(0, at::tensor(rows.at, at::kLong)).mean(0);
    };
    return mean(edit.source.plus) - mean(edit.source.minus);
}

}  // namespace headlight::intervention
