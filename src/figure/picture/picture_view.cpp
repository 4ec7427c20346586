// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/core/heads_text.h"
#include "figure/pattern/weight_name.h"
#include "figure/picture/picture_figure.h"
#include "headlight/analyze/pattern/aggregate.h"
#include "headlight/analyze/rollout/rollout.h"
#include "headlight/base/error.h"
#include "headlight/figure/picture/picture_file.h"

#include <QFileInfo>

#include <algorithm>
#include <cmath>
#include <limits>

namespace headlight::figure {
namespace {

/// What the model saw of the picture, at most so many pixels wide: a photograph's millions would only make work.
constexpr int kWidestPicture = 1600;

QImage drawn_part(const trace::PictureShown& shown) {
    const QImage image = seen_of(shown);
    return image.width() > kWidestPicture ? image.scaledToWidth(kWidestPicture, Qt::SmoothTransformation) : image;
}

void add_panels(PictureViewData& data, const trace::Trace& trace, const std::vector<Head>& heads,
                const analyze::PatternOptions& options, PictureViewOptions::What what, const CancelToken& cancel) {
    using What = PictureViewOptions::What;
    std::vector<HeadId> ids;
    for (const Head head : heads) ids.push_back({data.layer, head});
    if (what == What::heads) {
        for (const HeadId id : ids) {
            cancel.throw_if_cancelled();
            data.names.push_back("Head " + std::to_string(id.head.value));
            data.heads.emplace_back(id);
            data.weights.push_back(analyze::pattern(trace, id, options, cancel));
        }
        return;
    }
    data.heads.emplace_back();
    if (what == What::rollout) {
        data.names.push_back("rollout up to layer " + std::to_string(data.layer.value));
        data.weights.push_back(std::move(analyze::rollout(trace, {.layer = data.layer}, cancel).maps.front()));
        return;
    }
    const auto how = what == What::mean ? analyze::Aggregate::mean : analyze::Aggregate::max;
    data.names.push_back(aggregate_name(how, ids).toStdString());
    data.weights.push_back(analyze::aggregate_pattern(trace, ids, how, options, cancel));
}

}  // namespace

std::unique_ptr<Figure> picture_view(TracePtr trace, Layer layer, const std::vector<Head>& heads, Position query,
                                     const analyze::PatternOptions& options, const PictureViewOptions& view,
                                     const CancelToken& cancel) {
    const trace::PictureShown& shown = trace->picture();
    if (!shown.pixels) throw Error({.problem = "The model read no picture", .item = trace->config().name});
    const model::ModelConfig& c = trace->config();
    const bool rollout = view.what == PictureViewOptions::What::rollout;
    const analyze::PatternOptions used = rollout ? analyze::PatternOptions{} : options;
    PictureViewData data;
    data.picture = drawn_part(shown);
    data.file = QFileInfo(QString::fromStdString(shown.file)).fileName();
    data.rows = model::patch_rows(c), data.columns = model::patch_columns(c), data.class_tokens = c.class_tokens;
    data.layer = layer;
    data.query = query;
    for (const text::TokenLabel& label : trace->labels()) data.names_of_tokens.push_back(QString::fromStdString(label.text));
    data.axes = analyze::pattern_axes(*trace, used);
    data.weight_name = rollout ? QStringLiteral("share of what the patch gave") : weight_name(used, *trace);
    data.reveal = view.over == PictureViewOptions::Over::reveal;
    add_panels(data, *trace, heads, used, view.what, cancel);
    data.title = rollout ? QStringLiteral("Rollout over the picture, up to layer %1").arg(layer.value)
                         : QStringLiteral("Layer %1 over the picture").arg(layer.value);
    data.description =
        QStringLiteral(
            "How much one token (the outlined patch, or [CLS]) attends to each patch, laid over the picture. The picture is "
            "drawn as the model saw it: scaled and cut to its size, in its grid of patches. What goes to the class tokens "
            "stands beside each panel. All panels have one scale. Point at a patch to see what it attends to, click to keep it. ") +
        (rollout ? QStringLiteral(
                       "Rollout follows attention through all layers below: Abnar & Zuidema, “Quantifying Attention Flow in "
                       "Transformers”, 2020.")
                 : QStringLiteral(
                       "Dosovitskiy et al., “An Image is Worth 16x16 Words”, 2021; maps of heads as in Caron et al., “Emerging "
                       "Properties in Self-Supervised Vision Transformers”, 2021."));
    return std::make_unique<PictureFigure>(std::move(data));
}

PictureFigure::PictureFigure(PictureViewData data)
    : data_(std::move(data)),
      grey_(data_.picture.convertToFormat(QImage::Format_Grayscale8).convertToFormat(QImage::Format_RGB32)) {
    for (const analyze::Matrix& map : data_.weights) {
        largest_.resize(std::max(largest_.size(), static_cast<std::size_t>(map.rows())));
        for (std::int64_t token = data_.class_tokens; token < tokens(); ++token)
            if (const std::int64_t column = data_.axes.key_column(Position(token)); column >= 0)
                for (Eigen::Index row = 0; row < map.rows(); ++row) {
                    double& largest = largest_[static_cast<std::size_t>(row)];
                    largest = std::max(largest, static_cast<double>(map(row, column)));
                }
    }
}

std::vector<ScaleEnds> PictureFigure::scale_ends() const {
    std::vector<ScaleEnds> ends;
    for (const double largest : largest_) ends.push_back({0, largest});
    return ends;
}

QSizeF PictureFigure::place(QSizeF available, const Style&, const Selection&) {
    // Of the model's grid, not of the file: a picture may have been squeezed into a square.
    const double aspect = static_cast<double>(data_.columns) / static_cast<double>(data_.rows);
    layout_ = picture_layout(std::ssize(data_.weights) + 1, aspect, available);
    return layout_.size;
}

Position PictureFigure::query_of(const Style& style, const Selection& selection) const {
    const std::optional<Position> wanted = style.exporting ? std::nullopt : selection.query();
    return wanted && wanted->value >= 0 && wanted->value < tokens() ? *wanted : data_.query;
}

PictureFigure::Shown PictureFigure::shown(const Style& style, Position query) const {
    Shown out;
    out.query = query;
    const std::int64_t row = data_.axes.query_row(query);
    const double largest = row >= 0 ? largest_.at(static_cast<std::size_t>(row)) : 0;
    for (const analyze::Matrix& map : data_.weights) {
        Row& one = out.rows.emplace_back();
        one.weights = Eigen::VectorXf::Constant(tokens(), std::numeric_limits<float>::quiet_NaN());
        for (std::int64_t token = 0; row >= 0 && token < tokens(); ++token)
            if (const std::int64_t column = data_.axes.key_column(Position(token)); column >= 0)
                one.weights[token] = map(row, column);
    }
    const bool linear = style.transfer.curve == Transfer::Curve::linear;
    if (linear && largest > 0) {  // the largest weight of a patch, rounded up to two digits
        const double digits = std::pow(10, 1 - std::floor(std::log10(largest)));
        out.full = std::min(1.0, std::ceil(largest * digits - 1e-6) / digits);
    }
    for (Row& one : out.rows) {
        const Eigen::VectorXf known = one.weights.array().isNaN().select(0.0F, one.weights);
        one.strengths = apply(style.transfer, known);
        if (linear) one.strengths = (one.strengths / static_cast<float>(out.full)).cwiseMin(1.0F);
    }
    return out;
}

QString PictureFigure::token_name(Position token) const {
    return data_.names_of_tokens.at(static_cast<std::size_t>(token.value));
}

QRectF PictureFigure::patch(const QRectF& picture, std::int64_t token) const {
    const std::int64_t at = token - data_.class_tokens;
    const double w = picture.width() / static_cast<double>(data_.columns), h = picture.height() / static_cast<double>(data_.rows);
    return {picture.left() + static_cast<double>(at % data_.columns) * w,
            picture.top() + static_cast<double>(at / data_.columns) * h, w, h};
}

QRectF PictureFigure::chip(const QRectF& caption, std::int64_t token) const {
    constexpr double side = 14;
    const double right = caption.right() - static_cast<double>(data_.class_tokens - 1 - token) * (side + 4);
    return {right - side, caption.center().y() - side / 2 - 1, side, side};
}

void PictureFigure::draw_meanings(Scene& out, std::int64_t map, const Shown& pinned) const {
    const std::int64_t panel = map + 1;
    const QRectF picture = layout_.picture(panel), caption = layout_.caption_of(panel);
    const auto of = static_cast<std::size_t>(map);
    if (map >= 0 && data_.heads[of])
        out.means(caption, {.kind = Hit::Kind::head, .head = data_.heads[of], .tip = QString::fromStdString(data_.names[of])});
    const Eigen::VectorXf weights = map < 0 ? Eigen::VectorXf() : pinned.rows[of].weights;
    const auto hit = [this, of, weights, query = pinned.query](std::int64_t token) {
        Hit at{.kind = Hit::Kind::query,
               .query = Position(token),
               .tip = QStringLiteral("%1 (%2)").arg(token_name(Position(token)), QString::number(token))};
        if (weights.size() == 0) return at;
        const float weight = weights[token];
        if (!std::isnan(weight)) at.value = weight;
        at.tip = QStringLiteral("%1  %2 (%3) → %4  %5")
                     .arg(QString::fromStdString(data_.names[of]), token_name(query), QString::number(query.value), at.tip,
                          std::isnan(weight) ? QStringLiteral("hidden") : draw::value_text(weight));
        return at;
    };
    for (std::int64_t i = 0; i < data_.class_tokens; ++i) out.means(chip(caption, i).adjusted(-2, -2, 2, 2), hit(i));
    out.means(picture, data_.rows, data_.columns, [this, hit](std::int64_t row, std::int64_t column) {
        return hit(data_.class_tokens + row * data_.columns + column);
    });
}

Table PictureFigure::table() const {
    Table t{{"layer", "panel", "query", "query_token", "key", "key_token", "row", "column", "weight"}, {}};
    const Shown all = shown({}, data_.query);
    for (std::size_t m = 0; m < all.rows.size(); ++m)
        for (std::int64_t token = 0; token < tokens(); ++token) {
            const float weight = all.rows[m].weights[token];
            if (std::isnan(weight)) continue;
            const std::int64_t at = token - data_.class_tokens;
            const auto place = [&](std::int64_t n) { return at < 0 ? Table::Cell{} : Table::Cell{n + 1}; };
            t.rows.push_back({data_.layer.value, data_.names[m], data_.query.value, token_name(data_.query).toStdString(), token,
                              token_name(Position(token)).toStdString(), place(at / data_.columns), place(at % data_.columns),
                              static_cast<double>(weight)});
        }
    return t;
}

std::vector<NamedArray> PictureFigure::arrays() const {
    NamedArray weights{"weights", {std::ssize(data_.weights), data_.rows, data_.columns}, {}};
    NamedArray classes{"class_weights", {std::ssize(data_.weights), data_.class_tokens}, {}};
    for (const Row& row : shown({}, data_.query).rows) {
        weights.values.insert(weights.values.end(), row.weights.data() + data_.class_tokens,
                              row.weights.data() + row.weights.size());
        classes.values.insert(classes.values.end(), row.weights.data(), row.weights.data() + data_.class_tokens);
    }
    return {weights, classes};
}

}  // namespace headlight::figure
