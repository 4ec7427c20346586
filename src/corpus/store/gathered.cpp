// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/base/error.h"
#include "headlight/base/nearest.h"
#include "headlight/corpus/store/segments.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <set>

namespace headlight::corpus {

namespace {

const AccumulatorKind& kind_called(const std::string& id) {
    const auto& kinds = accumulator_kinds();
    const auto kind = std::ranges::find_if(kinds, [&](const AccumulatorKind& each) { return each.id == id; });
    if (kind != kinds.end()) return *kind;
    std::vector<std::string> ids;
    for (const AccumulatorKind& each : kinds) ids.emplace_back(each.id);
    const std::string near = nearest(id, ids);
    throw Error({.problem = "There is no such measure to gather",
                 .item = id,
                 .hint = near.empty() ? "headlight corpus run --help lists the choices" : "Did you mean " + near + "?"});
}

}  // namespace

Gathered::Gathered(const std::vector<std::string>& measures, const AccumulatorContext& context) {
    for (const std::string& id : measures) all_.push_back(kind_called(id).make(context));
}

Gathered::Gathered(const std::vector<std::string>& measures, const Arrays& arrays, std::uint64_t seed) {
    for (const std::string& id : measures) all_.push_back(kind_called(id).open(arrays, seed));
}

Gathered Gathered::fresh() const {
    Gathered out;
    for (const auto& each : all_) out.all_.push_back(each->fresh());
    return out;
}

Gathered Gathered::fresh(std::size_t kind) const {
    Gathered alone;
    alone.all_.push_back(all_[kind]->fresh());
    return alone;
}

void Gathered::merge(const Gathered& other) {
    for (std::size_t i = 0; i < all_.size(); ++i) all_[i]->merge(*other.all_[i]);
}

void Gathered::save(Arrays& arrays) const {
    for (const auto& each : all_) each->save(arrays);
}

void Gathered::load(const Arrays& arrays) {
    for (const auto& each : all_) each->load(arrays);
}

trace::CapturePlan Gathered::plan() const {
    std::set<std::string> globs;
    bool numbers = false;
    for (const auto& each : all_) {
        const auto hooks = each->hooks();
        globs.insert(hooks.begin(), hooks.end());
        numbers |= each->overview();
    }
    if (globs.empty()) globs.insert("blocks.0.hook_resid_pre");  // an empty list would mean the default hooks
    return {.globs = {globs.begin(), globs.end()}, .overview = {.pooled = false, .numbers = numbers}};
}

Gathered::OfText::OfText(Gathered& to, const TextRun& run) : to_(to), run_(run) { forget(); }

void Gathered::OfText::forget() {
    patterns_.clear();
    for (const auto& each : to_.all_) patterns_.push_back(each->patterns_of(run_));
}

bool Gathered::OfText::takes_patterns() const {
    return std::ranges::any_of(patterns_, [](const auto& each) { return each && !each->by_rows(); });
}

bool Gathered::OfText::takes_rows() const {
    return std::ranges::any_of(patterns_, [](const auto& each) { return each && each->by_rows(); });
}

void Gathered::OfText::pattern(HeadId head, const trace::HeadPattern& pattern) {
    for (const auto& each : patterns_)
        if (each && !each->by_rows()) each->add(head, pattern);
}

void Gathered::OfText::rows(HeadId head, const trace::HeadRows& rows) {
    for (const auto& each : patterns_)
        if (each && each->by_rows()) each->add_rows(head, rows);
}

bool Gathered::OfText::reads() const noexcept {
    return std::ranges::any_of(patterns_, [](const auto& each) { return each != nullptr; });
}

void Gathered::OfText::finish(const trace::Trace& trace) {
    const at::NoGradGuard no_grad;
    run_.trace = &trace;
    for (const auto& each : patterns_)
        if (each) each->finish(run_);
}

void Gathered::OfText::add() {
    const at::NoGradGuard no_grad;
    for (std::size_t i = 0; i < patterns_.size(); ++i) to_.all_[i]->add(run_, patterns_[i].get());
}

}  // namespace headlight::corpus
