// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/prediction/lens_view.h"
#include "figure/core/wrapped.h"
#include "headlight/base/numbers.h"
#include "headlight/io/file_stamp.h"

#include <algorithm>
#include <cmath>

namespace headlight::figure {
namespace {

/// Candidates listed under an opened row.
constexpr std::int64_t kCandidates = 20;

/// Another file under the same path is another lens.
struct TunedKey {
    io::FileStamp file;
    bool operator==(const TunedKey&) const = default;
};

struct LensKey {
    analyze::StreamPlace at;
    std::int64_t top;
    std::optional<std::int64_t> watched;
    io::FileStamp tuned;
    bool operator==(const LensKey&) const = default;
};

std::int64_t bytes_of(const analyze::LogitLens& lens) {
    std::size_t bytes = lens.states.size() * sizeof(analyze::LensState);
    for (const analyze::LensState& state : lens.states) bytes += state.top.size() * sizeof(analyze::TokenScore);
    return static_cast<std::int64_t>(bytes);
}

std::string read_as(const model::ModelConfig& config, const LensViewOptions& options) {
    if (!options.asked.tuned.empty()) return "tuned lens " + std::filesystem::path(options.asked.tuned).filename().string();
    if (config.class_head.any())
        return config.class_head.dense ? "class head" : config.final_norm ? "final norm and classifier" : "classifier";
    return config.mlm_head ? "masked-word head" : config.final_norm ? "final norm and unembedding" : "unembedding";
}

}  // namespace

double LensLayout::row_top(std::int64_t row) const {
    return sticky_top + heading_height + static_cast<double>(row) * row_height +
           (opened >= 0 && row > opened ? list_height() : 0);
}

double LensLayout::candidate_top(std::int64_t candidate) const {
    return row_top(opened) + row_height + candidate_pad + static_cast<double>(candidate) * candidate_height;
}

double LensLayout::cell_x(std::int64_t column) const {
    if (column == layers) return cells_x + static_cast<double>(shown()) * cell_width + output_gap;
    return cells_x + static_cast<double>((column - first()) / stride) * cell_width;
}

namespace {

LensLayout with_stride(const LensViewData& data, double available_width, double token_text, std::int64_t stride) {
    LensLayout at;
    at.rows = data.lens->positions;
    at.layers = data.lens->layers;
    at.stride = stride;
    if (data.opened) {
        at.opened = data.opened->value;
        at.candidates = std::ssize(data.history.ids);
    }
    constexpr double least_cell = 42, least_output = 72;
    at.token_x = LensLayout::margin + 42;
    const auto fit = [&](double most_token, double next_width) {
        at.token_width = std::clamp(token_text, 60.0, most_token);
        at.next_width = next_width;
        at.cells_x = at.token_x + at.token_width + 12;
        const double room = available_width - at.cells_x - LensLayout::output_gap - next_width - LensLayout::margin;
        return std::floor(room / static_cast<double>(at.shown() + 1));
    };
    double cell = fit(150, 190);
    if (cell < least_cell) cell = fit(110, 140);  // the more layers are in sight
    at.cell_width = std::clamp(cell, least_cell, 120.0);
    at.output_width = std::max(at.cell_width, cell < least_cell ? least_output : 0.0);
    at.next_x = at.cell_x(at.layers) + at.output_width + 14;
    at.width = at.next_x + at.next_width - 14 + LensLayout::margin;
    at.height = at.row_top(at.rows - 1) + LensLayout::row_height + (at.opened == at.rows - 1 ? at.list_height() : 0) + 8 +
                LensLayout::footer_height;
    return at;
}

}  // namespace

LensLayout lens_layout(const LensViewData& data, double available_width, double token_text, bool folds) {
    constexpr double far_too_wide = 1.3;
    const LensLayout whole = with_stride(data, available_width, token_text, 1);
    const double page = std::max(available_width, least_page);
    if (!folds || whole.width <= far_too_wide * page) return whole;
    LensLayout at = whole;
    for (std::int64_t stride = 2; at.width > page && at.shown() > 1; ++stride) at = with_stride(data, page, token_text, stride);
    return at;
}

LensFigure::LensFigure(LensViewData data) : data_(std::move(data)) {
    std::vector<double> all;
    for (std::int64_t l = 0; l < data_.lens->layers; ++l)
        for (std::int64_t p = 0; p < data_.lens->positions; ++p) all.push_back(state(l, p).kl_to_final);
    // The far tail would leave no colour for the rest.
    if (!all.empty()) {
        const auto middle = all.begin() + static_cast<std::ptrdiff_t>(0.98 * static_cast<double>(all.size() - 1));
        std::nth_element(all.begin(), middle, all.end());
        if (*middle > 0) kl_limit_ = *middle;
    }
    at_ = lens_layout(data_, 1180, 80, false);
}

const analyze::LensState& LensFigure::state(std::int64_t column, std::int64_t row) const {
    return data_.lens->state(column == data_.lens->layers ? -1 : column, Position(row));
}

double LensFigure::strength(const analyze::LensState& s) const {
    const double vocab = std::log(static_cast<double>(data_.lens->vocab));
    switch (data_.color) {
        case LensColor::probability: return static_cast<double>(s.top.front().probability);
        case LensColor::rank: return s.watched_rank < 0 ? kNaN : 1 - std::log1p(static_cast<double>(s.watched_rank)) / vocab;
        case LensColor::entropy: return s.entropy / vocab;
        case LensColor::kl: return std::min(1.0, s.kl_to_final / kl_limit_);
    }
    return 0;
}

QString LensFigure::word(std::int64_t id) const {
    const auto found = data_.words.find(id);
    return found == data_.words.end() ? QString::number(id) : found->second;
}

QString LensFigure::named(std::int64_t position) const {
    return draw::label_of(data_.labels[static_cast<std::size_t>(position)]).with_position(Position(position));
}

QString LensFigure::column_name(std::int64_t column) const {
    return column == at_.layers ? QStringLiteral("output") : QStringLiteral("layer %1").arg(column);
}

QString LensFigure::description() const {
    return QStringLiteral(
        "The prediction if the model stopped early. Each row is a token of the text, each column a layer: the model's own final "
        "norm and unembedding read the stream at that point, and the cell names the likeliest token. Read a row from left to "
        "right to see an answer form. The colour is the probability of that token, the rank of a watched token (by default the "
        "one that really follows), the entropy of the whole distribution, or its distance from the model's output "
        "(Kullback-Leibler divergence). Click a cell for its twenty likeliest tokens and their course through the other layers. "
        "After the logit lens of nostalgebraist (2020); a tuned lens (Belrose et al. 2023, Eliciting Latent Predictions from "
        "Transformers with the Tuned Lens) can be given as a file.");
}

std::optional<QRectF> LensFigure::row_of_query(Position position) const {
    if (position.value < 0 || position.value >= at_.rows) return std::nullopt;
    return QRectF(LensLayout::margin, at_.row_top(position.value), at_.width - 2 * LensLayout::margin, LensLayout::row_height);
}

QString LensFigure::cell_tip(std::int64_t column, std::int64_t row) const {
    const analyze::LensState& s = state(column, row);
    QString tip = column_name(column) + QStringLiteral("  %1: ").arg(named(row));
    for (std::size_t k = 0; k < std::min<std::size_t>(5, s.top.size()); ++k)
        tip += (k ? QStringLiteral(", ") : QString()) + word(s.top[k].id) + u' ' +
               QString::number(static_cast<double>(s.top[k].probability), 'f', 4);
    tip += QStringLiteral("  entropy %1 nats  KL to the output %2 nats").arg(s.entropy, 0, 'f', 3).arg(s.kl_to_final, 0, 'f', 3);
    if (s.watched_rank >= 0)
        tip += QStringLiteral("  %1: rank %2, probability %3")
                   .arg(word(s.watched.id), QString::number(s.watched_rank),
                        QString::number(static_cast<double>(s.watched.probability), 'g', 3));
    return tip;
}

QString LensFigure::candidate_tip(std::int64_t column, std::int64_t candidate) const {
    const auto width = std::ssize(data_.history.ids);
    const auto i = static_cast<std::size_t>(column * width + candidate);
    const analyze::TokenScore& score = data_.history.scores[i];
    return column_name(column) + QStringLiteral("  %1: probability %2  rank %3  logit %4")
                                     .arg(word(score.id), QString::number(static_cast<double>(score.probability), 'g', 4),
                                          QString::number(data_.history.ranks[i]),
                                          QString::number(static_cast<double>(score.logit), 'f', 3));
}

std::vector<NamedArray> LensFigure::arrays() const {
    const std::vector<std::int64_t> shape{data_.lens->layers + 1, data_.lens->positions};
    NamedArray id{"top_token_id", shape, {}}, probability{"probability", shape, {}}, entropy{"entropy", shape, {}},
        kl{"kl_to_final", shape, {}}, rank{"watched_rank", shape, {}};
    for (std::int64_t column = 0; column <= data_.lens->layers; ++column)
        for (std::int64_t p = 0; p < data_.lens->positions; ++p) {
            const analyze::LensState& s = state(column, p);
            id.integers.push_back(s.top.front().id);
            probability.values.push_back(s.top.front().probability);
            entropy.values.push_back(static_cast<float>(s.entropy));
            kl.values.push_back(static_cast<float>(s.kl_to_final));
            rank.integers.push_back(s.watched_rank);
        }
    return {id, probability, entropy, kl, rank};
}

std::unique_ptr<Figure> lens_view(TracePtr trace, std::optional<Position> opened, Layer layer, const LensViewOptions& options,
                                  const CancelToken& cancel, const Progress& progress) {
    const model::ModelConfig& c = trace->config();
    const analyze::LensRequest& asked = options.asked;
    analyze::LensOptions lens = analyze::lens_asked(c, *trace->tokenizer(), asked);
    lens.top = std::max(kCandidates, asked.top);
    const io::FileStamp file = asked.tuned.empty() ? io::FileStamp{} : io::stamp_of(asked.tuned);
    if (!asked.tuned.empty())
        lens.tuned = *trace->results().get(
            TunedKey{file}, [&] { return analyze::TunedLens::load(asked.tuned, c); },
            [&](const auto&) { return static_cast<std::int64_t>(file.bytes); });
    LensViewData data;
    // A lens costs as much as many runs, and opening a row needs it again.
    data.lens = trace->results().get(
        LensKey{asked.at, lens.top, lens.watched, file}, [&] { return analyze::logit_lens(*trace, lens, cancel, progress); },
        bytes_of);
    data.labels = analyze::pattern_axes(*trace, analyze::PatternOptions{}).keys;
    data.table = [lens = data.lens, trace, top = asked.top] { return analyze::table_of(*lens, *trace, top); };
    data.causal = c.causal;
    data.color = options.color;
    data.read_as = read_as(c, options);
    const auto& ids = trace->encoding().ids;
    for (std::int64_t p = 0; p < trace->tokens(); ++p) {
        const std::int64_t of = c.causal ? p + 1 : p;
        data.next.push_back(of < trace->tokens() && !model::has_classes(c) ? ids[static_cast<std::size_t>(of)] : -1);
    }
    const auto name = [&](std::int64_t id) {
        if (!data.words.contains(id)) data.words[id] = token_word(*trace, id);
    };
    for (const analyze::LensState& state : data.lens->states) {
        for (std::size_t k = 0; k < std::min<std::size_t>(5, state.top.size()); ++k) name(state.top[k].id);
        if (state.watched_rank >= 0) name(state.watched.id);
    }
    if (opened && opened->value < trace->tokens()) {
        data.opened = opened;
        data.opened_layer = std::clamp<std::int64_t>(layer.value, 0, c.n_layers - 1);
        std::vector<std::int64_t> candidates;
        for (const analyze::TokenScore& each : data.lens->state(data.opened_layer, *opened).top)
            if (std::ssize(candidates) < kCandidates) candidates.push_back(each.id);
        data.history = analyze::lens_history(*trace, *opened, candidates, lens);
        for (const std::int64_t id : candidates) name(id);
    }
    return std::make_unique<LensFigure>(std::move(data));
}

}  // namespace headlight::figure
