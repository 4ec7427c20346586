// SPDX-License-Identifier: GPL-3.0-or-later
#include "intervention/recipe/pattern_edits.h"

#include "headlight/base/numbers.h"
#include "headlight/intervention/recipe/words.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace headlight::intervention {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

/// log of the sum of e^x.
double log_sum(const std::vector<double>& x) {
    const double top = x.empty() ? kNever : *std::ranges::max_element(x);
    if (top == kNever) return kNever;
    double sum = 0;
    for (const double each : x) sum += std::exp(each - top);
    return top + std::log(sum);
}

/// The rows of a pass that are selected.
std::vector<std::int64_t> rows_of_pass(const Rows& rows, std::int64_t start, std::int64_t count) {
    std::vector<std::int64_t> local;
    if (rows.all) {
        local.resize(static_cast<std::size_t>(count));
        std::iota(local.begin(), local.end(), 0);
        return local;
    }
    for (const std::int64_t at : rows.at)
        if (at >= start && at < start + count) local.push_back(at - start);
    return local;
}

}  // namespace

void Notes::set(const std::string& key, std::string note) {
    const std::lock_guard lock(mutex_);
    for (auto& [known, text] : notes_)
        if (known == key) {
            text = std::move(note);
            return;
        }
    notes_.emplace_back(key, std::move(note));
}

std::vector<std::string> Notes::all() const {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> notes;
    for (const auto& [key, text] : notes_) notes.push_back(text);
    return notes;
}

PatternEdits::PatternEdits(const model::ModelConfig& c, std::int64_t layer, at::Tensor sinks,
                           std::shared_ptr<const PassRows> rows, std::shared_ptr<Notes> notes)
    : causal_(c.causal && c.stack != model::Stack::cross),
      across_(c.stack == model::Stack::cross),
      window_(across_ ? 0 : model::window_of(c, layer)),
      sinks_(std::move(sinks)),
      rows_(std::move(rows)),
      notes_(std::move(notes)) {}

std::size_t PatternEdits::add(PatternStep step) {
    const Operation o = step.edit.operation;
    const bool shifts = o == Operation::knockout || o == Operation::set || o == Operation::temperature;
    step.at_scores = shifts && std::ranges::all_of(steps_, &PatternStep::at_scores);
    steps_.push_back(std::move(step));
    return steps_.size() - 1;
}

bool PatternEdits::sees(std::int64_t query, std::int64_t key, std::int64_t keys) const {
    return across_ || model::legal_keys(query, keys, causal_, window_).has(key);
}

void PatternEdits::note(const PatternStep& step, const char* kind, const std::string& text) const {
    const std::string words = words_of(step.edit);
    notes_->set(words + kind, words + ": " + text);
}

std::vector<bool> PatternEdits::edited_keys(const PatternStep& step, std::int64_t key0, std::int64_t count) const {
    std::vector<bool> edited(static_cast<std::size_t>(count), step.keys.all);
    for (const std::int64_t key : step.keys.at)
        if (key >= key0 && key < key0 + count) edited[static_cast<std::size_t>(key - key0)] = true;
    return edited;
}

/// False where the row cannot be expressed by scores; `instead` has its weights then.
bool PatternEdits::shift_scores(std::vector<double>& scores, Row& instead, const PatternStep& step, double sink) {
    const std::size_t count = scores.size();
    if (step.edit.operation == Operation::temperature) {
        const double t = step.edit.value;
        // The sink's own score stays in the pass: what divides it too is the same shift of all the others.
        for (double& score : scores) score = score / t + (sink == kNever ? 0 : sink * (1 - 1 / t));
        return true;
    }
    const std::vector<bool> edited = edited_keys(step, instead.key0, static_cast<std::int64_t>(count));
    std::vector<double> kept, out;
    std::int64_t masked = 0;
    for (std::size_t k = 0; k < count; ++k) {
        if (edited[k] && scores[k] == kNever) ++masked;
        if (scores[k] != kNever) (edited[k] ? out : kept).push_back(scores[k]);
    }
    if (masked > 0 && !step.keys.all && step.edit.operation == Operation::set)
        note(step, "masked", "keys that the model masks are left as they are; write changes them");
    if (out.empty()) return true;
    if (sink != kNever) kept.push_back(sink);
    const double others = log_sum(kept);
    if (step.edit.operation == Operation::knockout) {
        if (others == kNever) {
            instead.weights.assign(count, 0);
            note(step, "empty", "the row of position " + std::to_string(instead.query) + " is empty: its z is 0");
            return false;
        }
        for (std::size_t k = 0; k < count; ++k)
            if (edited[k]) scores[k] = kNever;
        const double factor = 1 + std::exp(log_sum(out) - others);
        if (factor > 5)
            note(step, "factor",
                 "the edited keys had " + significant(100 * (1 - 1 / factor)) + " % of row " + std::to_string(instead.query) +
                     ": the other weights grow " + significant(factor) + "-fold");
        return true;
    }
    const double weight = step.edit.value, all = weight * static_cast<double>(out.size());
    if (all > 1 + 1e-9)
        fail_edit(step.edit, "The weights of a row sum to more than 1",
                  "at most " + significant(1.0 / static_cast<double>(out.size())) + " each",
                  significant(weight) + " on " + std::to_string(out.size()) + " keys of row " + std::to_string(instead.query));
    if (all >= 1 - 1e-12 || others == kNever) {
        instead.weights.assign(count, 0);
        for (std::size_t k = 0; k < count; ++k)
            if (edited[k] && scores[k] != kNever) instead.weights[k] = weight;
        return false;
    }
    for (std::size_t k = 0; k < count; ++k)
        if (edited[k] && scores[k] != kNever) scores[k] = weight > 0 ? others + std::log(weight / (1 - all)) : kNever;
    return true;
}

at::Tensor PatternEdits::at_scores(std::size_t index, const at::Tensor& scores) {
    if (index == 0) written_.clear();  // a step at the scores is among the first ones
    const PatternStep& step = steps_[index];
    const std::int64_t start = rows_->start(scores.size(1)), keys = scores.size(2);
    const std::vector<std::int64_t> rows = rows_of_pass(step.queries, start, scores.size(1));
    if (rows.empty()) return scores;
    const at::Tensor heads = at::tensor(step.heads, at::TensorOptions(at::kLong)).to(scores.device());
    at::Tensor part = scores.index_select(0, heads).to(at::kCPU).to(at::kDouble).contiguous();
    auto* data = part.data_ptr<double>();
    for (std::size_t h = 0; h < step.heads.size(); ++h) {
        const std::int64_t head = step.heads[h];
        const double sink = sinks_.defined() ? sinks_[head].item<double>() : kNever;
        for (const std::int64_t r : rows) {
            if (written_.contains({head, r})) continue;
            double* from = data + (static_cast<std::int64_t>(h) * part.size(1) + r) * keys;
            std::vector<double> row(from, from + keys);
            Row instead{.weights = {}, .head = head, .query = start + r, .key0 = across_ ? 0 : start + part.size(1) - keys};
            if (shift_scores(row, instead, step, sink))
                std::ranges::copy(row, from);
            else
                written_[{head, r}] = {index, std::move(instead.weights)};
        }
    }
    at::Tensor out = scores.clone(at::MemoryFormat::Contiguous);
    out.index_copy_(0, heads, part.to(scores.device(), scores.scalar_type()));
    return out;
}

at::Tensor PatternEdits::at_sink(const at::Tensor& share) {
    share_ = share.to(at::kCPU).to(at::kDouble).contiguous();
    return share;
}

void PatternEdits::change(Row& row, const PatternStep& step, const std::vector<std::vector<double>>& other, std::int64_t index) {
    std::vector<double>& w = row.weights;
    const auto count = static_cast<std::int64_t>(w.size()), keys = row.key0 + count;
    const auto key_seen = [&](std::int64_t k) { return sees(row.query, row.key0 + k, keys); };
    const Operation o = step.edit.operation;
    const auto total = [&] { return std::accumulate(w.begin(), w.end(), row.sink); };
    const auto give_all_to = [&](std::int64_t key) {
        const std::int64_t k = key - row.key0;
        if (k < 0 || k >= count || !key_seen(k))
            return note(step, "masked",
                        "position " + std::to_string(row.query) + " does not see its key: the row stays as it is");
        std::ranges::fill(w, 0.0);
        w[static_cast<std::size_t>(k)] = 1 - row.sink;
    };
    switch (o) {
        case Operation::zero: std::ranges::fill(w, 0.0); return;
        case Operation::scale:
            for (double& each : w) each *= step.edit.value;
            return;
        case Operation::temperature: {
            const double before = total(), power = 1 / step.edit.value;
            for (double& each : w) each = each > 0 ? std::pow(each, power) : 0;
            row.sink = row.sink > 0 ? std::pow(row.sink, power) : 0;
            const double now = total();
            if (now > 0)
                for (double& each : w) each *= before / now;
            return;
        }
        case Operation::uniform: {
            std::int64_t seen = 0;
            for (std::int64_t k = 0; k < count; ++k) seen += key_seen(k);
            for (std::int64_t k = 0; k < count; ++k)
                w[static_cast<std::size_t>(k)] = key_seen(k) ? (1 - row.sink) / static_cast<double>(seen) : 0;
            return;
        }
        case Operation::diagonal: return give_all_to(row.query);
        case Operation::previous: return give_all_to(std::max<std::int64_t>(row.query - 1, 0));
        case Operation::first: return give_all_to(0);
        case Operation::swap: w = other[static_cast<std::size_t>(index)]; return;
        default: break;
    }
    std::vector<double> set(w.size(), -1);  // what a key gets; below 0: nothing
    if (copies_run(o)) {
        const std::int64_t query = step.to_query.at(static_cast<std::size_t>(row.query));
        const at::Tensor there = step.source[row.head][query];
        const double* from = there.data_ptr<double>();
        if (step.same_texts) {
            for (std::int64_t k = 0; k < count; ++k) w[static_cast<std::size_t>(k)] = from[row.key0 + k];
            return;
        }
        for (std::int64_t k = 0; k < count; ++k) {
            const std::int64_t key = step.to_key.at(static_cast<std::size_t>(row.key0 + k));
            if (key >= 0 && key_seen(k)) set[static_cast<std::size_t>(k)] = from[key];
        }
    } else {
        const std::vector<bool> edited = edited_keys(step, row.key0, count);
        bool masked = false;
        for (std::int64_t k = 0; k < count; ++k) {
            const auto at = static_cast<std::size_t>(k);
            if (!edited[at]) continue;
            masked = masked || !key_seen(k);
            if (key_seen(k) || o == Operation::write) set[at] = o == Operation::knockout ? 0 : step.edit.value;
        }
        if (masked && o == Operation::write && !step.keys.all) note(step, "masked", "this writes to keys that the model masks");
    }
    double given = 0, rest = row.sink;
    std::int64_t spare = 0, asked = 0;
    for (std::size_t k = 0; k < w.size(); ++k) {
        if (set[k] >= 0)
            given += set[k], ++asked;
        else
            rest += w[k], spare += key_seen(static_cast<std::int64_t>(k));
    }
    if (o == Operation::write) {
        const std::vector<bool> edited = edited_keys(step, row.key0, count);
        for (std::size_t k = 0; k < w.size(); ++k)
            if (edited[k] && !(step.keys.all && !key_seen(static_cast<std::int64_t>(k)))) w[k] = step.edit.value;
        return;
    }
    if (asked == 0) return;
    if (o == Operation::set && given > 1 + 1e-9)
        fail_edit(step.edit, "The weights of a row sum to more than 1", "at most 1",
                  significant(given) + " in row " + std::to_string(row.query));
    const double before = o == Operation::knockout ? total() : 1;
    const double factor = rest > 0 ? (before - given) / rest : 0;
    for (std::size_t k = 0; k < w.size(); ++k) {
        if (set[k] >= 0)
            w[k] = set[k];
        else if (rest > 0)
            w[k] *= factor;
        else if (o != Operation::knockout && spare > 0 && key_seen(static_cast<std::int64_t>(k)))
            w[k] = (before - given) / static_cast<double>(spare);
    }
    row.sink *= factor;
    if (o == Operation::knockout && rest <= 0)
        note(step, "empty", "the row of position " + std::to_string(row.query) + " is empty: its z is 0");
}

at::Tensor PatternEdits::at_pattern(const at::Tensor& pattern) {
    const std::int64_t queries = pattern.size(1), keys = pattern.size(2), start = rows_->start(queries);
    std::vector<std::int64_t> used;  // of a long text a pattern in float64 is large
    for (const PatternStep& step : steps_) {
        used.insert(used.end(), step.heads.begin(), step.heads.end());
        if (step.edit.operation == Operation::swap) used.push_back(step.other_head);
    }
    std::ranges::sort(used);
    used.erase(std::ranges::unique(used).begin(), used.end());
    const at::Tensor heads = at::tensor(used, at::TensorOptions(at::kLong)).to(pattern.device());
    at::Tensor wide = pattern.index_select(0, heads).to(at::kCPU).to(at::kDouble).contiguous();
    at::Tensor share = sinks_.defined() && share_.defined() ? share_.clone() : at::Tensor();
    auto* data = wide.data_ptr<double>();
    const auto row_at = [&](std::int64_t head, std::int64_t r) {
        const auto slot = std::ranges::lower_bound(used, head) - used.begin();
        return data + (slot * queries + r) * keys;
    };
    bool changed = false;
    for (std::size_t index = 0; index < steps_.size(); ++index) {
        const PatternStep& step = steps_[index];
        const std::vector<std::int64_t> rows = rows_of_pass(step.queries, start, queries);
        std::vector<std::vector<double>> other;  // before any row of this step changes
        if (step.edit.operation == Operation::swap)
            for (const std::int64_t r : rows) other.emplace_back(row_at(step.other_head, r), row_at(step.other_head, r) + keys);
        for (const std::int64_t head : step.heads)
            for (std::size_t i = 0; i < rows.size(); ++i) {
                const std::int64_t r = rows[i];
                double* at = row_at(head, r);
                const auto written = written_.find({head, r});
                const bool own = written != written_.end() && written->second.first == index;
                if (step.at_scores && (written == written_.end() || written->second.first > index)) continue;
                changed = true;
                if (step.at_scores && own) {
                    std::ranges::copy(written->second.second, at);
                    continue;
                }
                Row row{.weights = {at, at + keys},
                        .sink = share.defined() ? share[head][r].item<double>() : 0,
                        .head = head,
                        .query = start + r,
                        .key0 = across_ ? 0 : start + queries - keys};
                change(row, step, other, static_cast<std::int64_t>(i));
                std::ranges::copy(row.weights, at);
                if (share.defined()) share[head][r].fill_(row.sink);
            }
    }
    if (!changed) return pattern;
    at::Tensor out = pattern.clone(at::MemoryFormat::Contiguous);
    out.index_copy_(0, heads, wide.to(pattern.device(), pattern.scalar_type()));
    return out;
}

}  // namespace headlight::intervention
