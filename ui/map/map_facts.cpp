// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/map/map_facts.h"

#include "headlight/analyze/pattern/pattern_view.h"
#include "headlight/trace/encoded.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

namespace headlight::ui {
namespace {

using analyze::Matrix;

double dot(const float* a, const float* b, std::int64_t width) {
    double sum = 0;
    for (std::int64_t c = 0; c < width; ++c) sum += static_cast<double>(a[c]) * static_cast<double>(b[c]);
    return sum;
}

/// The tokens as the model read them, so that a text is not tokenized again.
trace::EncodedText encoded(const map::MapTokens& tokens, map::TokenRange range, const headlight::text::Tokenizer& tokenizer) {
    trace::EncodedText out;
    for (std::int64_t i = range.first; i < range.second; ++i) {
        const std::int64_t id = tokens.token_ids[static_cast<std::size_t>(i)];
        const bool special = tokenizer.is_special(id);
        const auto begin = static_cast<std::int64_t>(out.text.size());
        if (!special) out.text += tokenizer.bytes_of(id);
        headlight::text::Encoding& e = out.encoding;
        e.ids.push_back(id);
        e.tokens.push_back(tokens.tokens[static_cast<std::size_t>(i)]);
        e.offsets.push_back(special ? headlight::text::ByteRange{}
                                    : headlight::text::ByteRange{begin, static_cast<std::int64_t>(out.text.size())});
        e.type_ids.push_back(0);
        e.special.push_back(special);
        e.words.push_back(special ? -1 : i - range.first);
        e.sequence.push_back(special ? -1 : 0);
    }
    return out;
}

Matrix scores_alone(const MapTexts& texts, std::size_t head, std::size_t text) {
    const map::MapVectors& vectors = texts.vectors();
    const map::HeadVectors& of = vectors.heads.at(head);
    const map::Rows queries = of.query_rows(), keys = of.key_rows();
    const map::TokenRange rows = texts.range(text, false), columns = texts.range(text, true);
    std::vector<map::TokenRange> ranges;
    for (std::size_t t = 0; t < texts.texts(); ++t) ranges.push_back(texts.range(t, true));
    Matrix out = Matrix::Zero(rows.second - rows.first, columns.second - columns.first);
    for (std::int64_t q = rows.first; q < rows.second; ++q) {
        const auto [first, last] = map::legal_keys(vectors, of, ranges, q);
        double most = -std::numeric_limits<double>::infinity(), sum = 0;
        std::vector<double> scores;
        for (std::int64_t k = first; k < last; ++k) {
            scores.push_back(of.score_scale * dot(queries.row(q), keys.row(k), of.width));
            most = std::max(most, scores.back());
        }
        for (double& score : scores) sum += score = std::exp(score - most);
        for (std::int64_t k = first; k < last; ++k)
            out(q - rows.first, k - columns.first) = static_cast<float>(scores[static_cast<std::size_t>(k - first)] / sum);
    }
    return out;
}

void hide_first(Matrix& pattern) {
    if (pattern.cols() == 0) return;
    pattern.col(0).setZero();
    for (Eigen::Index r = 0; r < pattern.rows(); ++r)
        if (const float sum = pattern.row(r).sum(); sum > 0) pattern.row(r) /= sum;
}

}  // namespace

const char* nearness_word(map::Preset preset) noexcept { return preset == map::Preset::scores ? "q·k" : "distance"; }

std::vector<NearPoint> nearest_before_projection(const MapTexts& texts, std::size_t head, const map::MapOptions& options,
                                                 std::int32_t point, std::size_t most, const CancelToken& cancel) {
    const map::HeadVectors& of = texts.vectors().heads.at(head);
    std::vector<NearPoint> found;
    if (!of.broken.empty()) return found;
    const std::int64_t queries = of.query_rows().count, count = queries + of.key_rows().count;
    const bool key = point >= queries, by_score = options.preset == map::Preset::scores;
    const std::shared_ptr<const map::Placed> placed = texts.placed(head, options);
    const map::Rows rows = placed->rows();
    const auto raw = [&](std::int64_t i) { return i < queries ? of.query_rows().row(i) : of.key_rows().row(i - queries); };
    const auto value = [&](std::int64_t i) {
        if (by_score) return dot(raw(point), raw(i), of.width);
        const float *a = rows.row(point), *b = rows.row(i);
        if (placed->metric == map::Metric::cosine) {
            const double lengths = std::sqrt(dot(a, a, rows.width) * dot(b, b, rows.width));
            return lengths > 0 ? 1 - dot(a, b, rows.width) / lengths : 1.0;
        }
        double square = 0;
        for (std::int64_t c = 0; c < rows.width; ++c) {
            const double between = static_cast<double>(a[c]) - static_cast<double>(b[c]);
            square += between * between;
        }
        return std::sqrt(square);
    };
    const std::int64_t first = key ? 0 : queries;
    for (std::int64_t i = first; i < (key ? queries : count); ++i) {
        if ((i - first) % 1024 == 0) cancel.throw_if_cancelled();
        if (!placed->apart[static_cast<std::size_t>(i)]) found.push_back({static_cast<std::int32_t>(i), value(i)});
    }
    const auto nearer = [&](const NearPoint& a, const NearPoint& b) {
        if (a.value != b.value) return by_score ? a.value > b.value : a.value < b.value;
        return a.point < b.point;
    };
    most = std::min(most, found.size());
    std::partial_sort(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(most), found.end(), nearer);
    found.resize(most);
    return found;
}

MapTexts::MapTexts(std::shared_ptr<const map::MapVectors> vectors, OpenModel opened,
                   std::vector<std::shared_ptr<const trace::Trace>> traces)
    : vectors_(std::move(vectors)),
      opened_(std::move(opened)),
      traces_(std::move(traces)),
      queries_(map::text_ranges(vectors_->tokens)),
      keys_(map::text_ranges(vectors_->key_tokens())) {}

std::string MapTexts::text(std::size_t text, bool keys) const {
    if (text < traces_.size()) return traces_[text]->across_texts() && !keys ? traces_[text]->text_b() : traces_[text]->text_a();
    return vectors_->texts.at(text);
}

bool MapTexts::of_pictures() const { return opened_.model && model::reads_pictures(opened_.model->config()); }

bool MapTexts::can_run() const {
    return !traces_.empty() || (opened_.model && opened_.tokenizer && opened_.model->config().stack != model::Stack::decoder &&
                                !vectors_->crossed() && !of_pictures());
}

std::shared_ptr<const trace::Trace> MapTexts::run(std::size_t text, const CancelToken& cancel) const {
    if (text < traces_.size()) return traces_[text];
    if (!can_run()) return nullptr;
    {
        const std::lock_guard lock(mutex_);
        const auto known = std::ranges::find(kept_, text, &Kept::text);
        if (known != kept_.end()) {
            kept_.splice(kept_.begin(), kept_, known);
            return known->run;
        }
    }
    // Only what weights and their values are made of: all of it would fill the budget with a few texts.
    const bool rotary = opened_.model->config().positions == model::Positions::rotary;
    trace::CapturePlan plan;
    plan.globs = {rotary ? "*attn.hook_rot_q" : "*attn.hook_q", rotary ? "*attn.hook_rot_k" : "*attn.hook_k", "*attn.hook_v"};
    plan.overview = trace::no_overview;
    const auto made = trace::run_encoded(opened_.model, opened_.tokenizer,
                                         encoded(vectors_->tokens, range(text, false), *opened_.tokenizer), plan, cancel);
    const std::lock_guard lock(mutex_);
    kept_.push_front({text, made});
    std::int64_t bytes = 0;
    for (auto at = kept_.begin(); at != kept_.end();) {
        bytes += at->run->bytes();
        at = bytes > budget_ && at != kept_.begin() ? kept_.erase(at) : std::next(at);
    }
    return made;
}

std::shared_ptr<const map::Placed> MapTexts::placed(std::size_t head, const map::MapOptions& options) const {
    {
        const std::lock_guard lock(mutex_);
        if (placed_ && placed_of_ == std::pair(head, options)) return placed_;
    }
    const auto made = std::make_shared<const map::Placed>(map::placed(*vectors_, vectors_->heads.at(head), options));
    const std::lock_guard lock(mutex_);
    placed_of_ = {head, options};
    return placed_ = made;
}

AttentionFound attention_of(const MapTexts& texts, const AttentionAsked& asked, const CancelToken& cancel,
                            const Progress& progress) {
    const map::MapVectors& vectors = texts.vectors();
    const map::HeadVectors& of = vectors.heads.at(asked.head);
    const auto queries = std::ssize(vectors.tokens.tokens);
    const bool key = asked.point >= queries;
    const map::MapTokens& tokens = key ? vectors.key_tokens() : vectors.tokens;
    const auto token = static_cast<std::size_t>(key ? asked.point - queries : asked.point);
    const auto text = static_cast<std::size_t>(tokens.text[token]);
    const std::int64_t position = tokens.position[token];
    AttentionFound out{asked, {}, 0, !texts.can_run()};
    const auto line_of = [&](std::size_t t) {
        analyze::PatternOptions options;
        if (asked.by_value) options.weighting = analyze::Weighting::value_norm;
        const auto trace = texts.run(t, cancel);
        Matrix pattern =
            trace ? analyze::pattern(*trace, {of.layer, of.head}, options, cancel) : scores_alone(texts, asked.head, t);
        if (asked.hide_first) hide_first(pattern);
        std::vector<float> line;
        for (Eigen::Index i = 0; i < (key ? pattern.rows() : pattern.cols()); ++i)
            line.push_back(key ? pattern(i, position) : pattern(position, i));
        return line;
    };
    if (!asked.over_texts) {
        out.weights = line_of(text);
        out.texts = 1;
        return out;
    }
    const map::TokenRange own = texts.range(text, !key);
    std::vector<double> sums(static_cast<std::size_t>(own.second - own.first));
    std::vector<std::int64_t> counts(sums.size());
    for (std::size_t t = 0; t < texts.texts(); ++t) {
        cancel.throw_if_cancelled();
        if (progress)
            progress({"Reading attention", "text", static_cast<std::int64_t>(t), static_cast<std::int64_t>(texts.texts())});
        const map::TokenRange range = texts.range(t, key);
        if (range.second - range.first <= position) continue;
        const std::vector<float> line = line_of(t);
        ++out.texts;
        for (std::size_t i = 0; i < std::min(line.size(), sums.size()); ++i) sums[i] += static_cast<double>(line[i]), ++counts[i];
    }
    for (std::size_t i = 0; i < sums.size(); ++i)
        out.weights.push_back(counts[i] > 0 ? static_cast<float>(sums[i] / static_cast<double>(counts[i])) : 0.0F);
    return out;
}

}  // namespace headlight::ui
