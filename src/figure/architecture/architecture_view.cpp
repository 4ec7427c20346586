// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/architecture/architecture_view.h"

#include "figure/core/axis_words.h"
#include "figure/core/wrapped.h"
#include "headlight/model/as_used.h"
#include "headlight/model/reference.h"

#include <algorithm>
#include <array>

namespace headlight::figure {
namespace {

constexpr double box_height = 44, block_gap = 14, branch = 46, frame_pad = 16, knot = 6, tensor_row_height = 22, bar_height = 18,
                 line_height = 16, detail_size = 11.5;
constexpr double wide_enough = 760;  ///< the parameters stand beside the diagram, else under it
constexpr std::array<const char*, 7> kParts{"embedding", "positions", "attention", "mlp", "norms", "unembedding", "convolution"};

QString part_title(const std::string& part) {
    return part == "mlp" ? QStringLiteral("MLP") : capitalized(QString::fromStdString(part));
}

QString short_count(std::int64_t n) {
    if (n >= 1'000'000'000) return draw::number_text(static_cast<double>(n) / 1e9, 2) + QStringLiteral(" B");
    if (n >= 1'000'000) return draw::number_text(static_cast<double>(n) / 1e6, 2) + QStringLiteral(" M");
    if (n >= 10'000) return draw::number_text(static_cast<double>(n) / 1e3, 1) + QStringLiteral(" k");
    return draw::count_text(n);
}

QString parameter_share(double share) { return draw::number_text(100 * share, 1) + QStringLiteral(" %"); }

}  // namespace

ArchitectureFigure::ArchitectureFigure(std::shared_ptr<const model::Model> model)
    : model_(std::move(model)), blocks_(model::blocks_of(*model_)) {
    const auto counts = model_->parameter_counts();
    for (const auto& [part, count] : counts) total_ += count;
    for (const char* part : kParts) {
        const auto found = counts.find(part);
        const std::int64_t count = found == counts.end() ? 0 : found->second;
        if (count > 0) parts_.push_back({part, count, static_cast<double>(count) / static_cast<double>(total_)});
    }
    const model::LoadReport& report = model_->report();
    const model::ModelConfig& c = model_->config();
    const auto megabytes = [](std::int64_t bytes) {
        return draw::number_text(static_cast<double>(bytes) / 1e6, 1) + QStringLiteral(" MB");
    };
    facts_ = {
        QStringLiteral("%1, %2").arg(QString::fromStdString(c.family),
                                     QString::fromStdString(c.architecture.empty() ? "no architecture named" : c.architecture)),
        QStringLiteral("width %1, %2 layers, %3")
            .arg(draw::count_text(c.d_model), draw::count_text(c.n_layers),
                 !model::reads_pictures(c)
                     ? QStringLiteral("vocabulary %1").arg(draw::count_text(c.vocab_size)) +
                           (c.class_head.any() ? QStringLiteral(", %1 classes").arg(draw::count_text(logit_count(c))) : QString())
                 : c.has_unembedding ? QStringLiteral("%1 classes").arg(draw::count_text(c.vocab_size))
                                     : QStringLiteral("no classes")),
        model::reads_pictures(c) ? QStringLiteral("pictures of %1 × %2 pixels in %3 × %4 patches")
                                       .arg(c.image_width)
                                       .arg(c.image_height)
                                       .arg(model::patch_columns(c))
                                       .arg(model::patch_rows(c))
        : c.context_length > 0 ? QStringLiteral("context length %1 tokens").arg(draw::count_text(c.context_length))
                               : QStringLiteral("no length of text is said"),
        QStringLiteral("%1 tensors in %2 %3")
            .arg(report.loaded.size())
            .arg(report.files.size())
            .arg(report.files.size() == 1 ? QStringLiteral("file") : QStringLiteral("files")),
        report.bytes_mapped == 0   ? QStringLiteral("%1, converted when they were loaded").arg(megabytes(report.bytes_copied))
        : report.bytes_copied == 0 ? QStringLiteral("%1, read where they lie in the file").arg(megabytes(report.bytes_mapped))
                                   : QStringLiteral("%1 read where they lie in the file, %2 converted")
                                         .arg(megabytes(report.bytes_mapped), megabytes(report.bytes_copied))};
    if (const std::int64_t as_used = model::bytes_as_used(*model_); as_used > 0)
        facts_.push_back(QStringLiteral("%1 stay in the file and are converted as they are used: all at once need more memory")
                             .arg(megabytes(as_used)));
    if (!report.unused.empty())
        facts_.push_back(QStringLiteral("%1 tensors of the files are not used").arg(report.unused.size()));
    for (const std::string& note : report.notes) facts_.push_back(QString::fromStdString(note));
    for (const std::string& absent : report.optional_missing)
        facts_.push_back(QStringLiteral("without %1").arg(QString::fromStdString(absent)));
    if (const auto check = model::check_reference(*model_))
        facts_.push_back(QStringLiteral("against the reference, ") + QString::fromStdString(model::text_of(*check)));
}

void ArchitectureFigure::place_blocks(const std::vector<model::BlockInfo>& blocks, double& y, double left, double right) {
    for (const model::BlockInfo& block : blocks) {
        const double width = right - left - (block.adds ? branch : 0);
        const QStringList detail = wrapped(QString::fromStdString(block.detail), ui_font(detail_size), width - 24);
        const double height = box_height + line_height * static_cast<double>(std::max<qsizetype>(0, detail.size() - 1));
        boxes_.push_back({QRectF(block.adds ? left + branch : left, y, width, height), &block, detail});
        y += height + block_gap + (block.adds ? knot : 0);
    }
}

QSizeF ArchitectureFigure::place(QSizeF available, const Style&, const Selection&) {
    boxes_.clear();
    slices_.clear();
    const bool beside = available.width() >= wide_enough;
    const double diagram =
        beside ? std::min(480.0, available.width() * 0.52) : std::max(300.0, available.width() - 2 * page_margin);
    const double left = page_margin, right = page_margin + diagram;
    stream_x_ = left + frame_pad + 12;
    stream_top_ = page_margin;
    double y = page_margin + 14;
    place_blocks(blocks_.before, y, left + frame_pad, right - frame_pad);
    const double top = y;
    y += frame_pad + 16;
    place_blocks(blocks_.layer, y, left + frame_pad, right - frame_pad);
    repeated_ = QRectF(left, top, diagram, y - top + frame_pad - block_gap);
    y = repeated_.bottom() + block_gap;
    place_blocks(blocks_.after, y, left + frame_pad, right - frame_pad);
    stream_bottom_ = y + 4;

    parts_at_ = beside ? QPointF(right + 32, page_margin + 14) : QPointF(page_margin, stream_bottom_ + 28);
    parts_width_ = beside ? std::min(420.0, available.width() - right - 32 - page_margin) : diagram;
    double x = parts_at_.x();
    double row = parts_at_.y() + 30 + bar_height + 14;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
        const double width = parts_[i].share * parts_width_;
        slices_.push_back(
            {QRectF(x, parts_at_.y() + 30, width, bar_height), QRectF(parts_at_.x(), row, parts_width_, tensor_row_height), i});
        x += width;
        row += tensor_row_height;
    }
    const double parts_bottom = row + 18 + static_cast<double>(facts_.size()) * 18 + page_margin;
    return {beside ? parts_at_.x() + parts_width_ + page_margin : right + page_margin,
            std::max(stream_bottom_ + page_margin, parts_bottom)};
}

QColor ArchitectureFigure::color_of(const std::string& part, const Style& style) const {
    const auto at = std::find(kParts.begin(), kParts.end(), part);
    return head_color(*style.theme, style.palette, static_cast<std::int64_t>(at - kParts.begin()));
}

void ArchitectureFigure::draw_box(Scene& out, const Box& box, const Style& style) const {
    const Theme& theme = *style.theme;
    const QColor color = color_of(box.block->part, style);
    out.box(box.area, 6, draw::blended(theme.canvas, color, 0.12), draw::blended(theme.canvas, color, 0.7));
    const QFont title = ui_font(13, QFont::DemiBold), small = ui_font(detail_size);
    const QString count = short_count(box.block->parameters);
    const double count_width = draw::text_width(count, small);
    const double room = box.area.width() - 24;
    if (box.block->parameters > 0)
        out.text({box.area.right() - 12, box.area.top() + 19}, count, small, theme.muted, draw::Align::right);
    const double line = box.detail.isEmpty() ? draw::centred_baseline(box.area.center().y(), title) : box.area.top() + 19;
    out.text({box.area.left() + 12, line}, draw::elided(QString::fromStdString(box.block->title), title, room - count_width - 8),
             title, theme.text);
    double y = box.area.top() + 36;
    for (const QString& part : box.detail) {
        out.text({box.area.left() + 12, y}, part, small, theme.muted);
        y += line_height;
    }
    out.means(box.area, {.kind = Hit::Kind::legend, .value = static_cast<double>(box.block->parameters)}, [block = box.block] {
        return QStringLiteral("%1  %2  %3 parameters")
            .arg(QString::fromStdString(block->title), QString::fromStdString(block->detail),
                 draw::count_text(block->parameters));
    });
}

void ArchitectureFigure::draw_stream(Scene& out, const Style& style) const {
    const Theme& theme = *style.theme;
    const QPen pen(theme.muted, 1.5);
    // The stream runs behind the boxes that change it, and past those that read it and add to it.
    out.line({stream_x_, stream_top_}, {stream_x_, stream_bottom_}, pen);
    for (const Box& box : boxes_) {
        if (!box.block->adds) continue;
        const double in = box.area.top() - block_gap / 2, end = box.area.bottom() + block_gap / 2;
        const double corner = box.area.left() + 18;
        QPainterPath path(QPointF(stream_x_, in));
        path.lineTo(corner, in);
        path.lineTo(corner, box.area.top());
        path.moveTo(corner, box.area.bottom());
        path.lineTo(corner, end);
        path.lineTo(stream_x_ + knot, end);
        out.path(path, pen);
        out.circle({stream_x_, end}, knot, pen, theme.canvas);
        out.line({stream_x_ - knot + 2, end}, {stream_x_ + knot - 2, end}, pen);
        out.line({stream_x_, end - knot + 2}, {stream_x_, end + knot - 2}, pen);
    }
}

void ArchitectureFigure::draw_parts(Scene& out, const Style& style) const {
    const Theme& theme = *style.theme;
    const QFont title = ui_font(13, QFont::DemiBold), small = ui_font(12);
    out.text({parts_at_.x(), parts_at_.y() + 14}, QStringLiteral("%1 parameters").arg(draw::count_text(total_)), title,
             theme.text);
    for (const Slice& slice : slices_) {
        const PartShare& part = parts_[slice.part];
        const QColor color = color_of(part.part, style);
        out.box(slice.bar, 0, color);
        const double line = draw::centred_baseline(slice.row.center().y(), small);
        out.box(QRectF(slice.row.left(), slice.row.center().y() - 5, 10, 10), 2, color);
        out.text({slice.row.left() + 18, line}, part_title(part.part), small, theme.text);
        out.text({slice.row.right() - 64, line}, draw::count_text(part.parameters), small, theme.text, draw::Align::right);
        out.text({slice.row.right(), line}, parameter_share(part.share), small, theme.muted, draw::Align::right);
        for (const QRectF& area : {slice.bar, slice.row})
            out.means(area, {.kind = Hit::Kind::legend, .value = part.share}, [&part] {
                return QStringLiteral("%1  %2 parameters  %3")
                    .arg(part_title(part.part), draw::count_text(part.parameters), parameter_share(part.share));
            });
    }
    double y = (slices_.empty() ? parts_at_.y() + 30 : slices_.back().row.bottom()) + 26;
    for (const QString& fact : facts_) {
        out.text({parts_at_.x(), y}, draw::elided(fact, small, parts_width_), small, theme.muted);
        y += 18;
    }
}

void ArchitectureFigure::draw_on(Scene& out, const QRectF&, const Style& style, const Selection&) const {
    const Theme& theme = *style.theme;
    out.box(repeated_, 10, {}, theme.faint);
    draw_stream(out, style);
    for (const Box& box : boxes_) draw_box(out, box, style);
    const QFont small = ui_font(12, QFont::DemiBold);
    out.text({repeated_.right() - frame_pad, repeated_.top() + 20},
             QStringLiteral("layer, %1 times").arg(draw::count_text(blocks_.n_layers)), small, theme.muted, draw::Align::right);
    draw_parts(out, style);
}

Table ArchitectureFigure::table() const {
    Table table;
    table.columns = {"section", "block", "detail", "parameters", "times"};
    const auto add = [&](const char* section, const std::vector<model::BlockInfo>& blocks, std::int64_t times) {
        for (const model::BlockInfo& block : blocks)
            table.rows.push_back(
                {std::string(section), block.title, block.detail, block.parameters, block.layers > 0 ? block.layers : times});
    };
    add("before", blocks_.before, 1);
    add("layer", blocks_.layer, blocks_.n_layers);
    add("after", blocks_.after, 1);
    for (const PartShare& part : parts_)
        table.rows.push_back(
            {std::string("part"), part.part, parameter_share(part.share).toStdString(), part.parameters, std::int64_t{1}});
    return table;
}

std::vector<NamedArray> ArchitectureFigure::arrays() const {
    NamedArray counts{"part_parameters", {static_cast<std::int64_t>(parts_.size())}, {}};
    for (const PartShare& part : parts_) counts.values.push_back(static_cast<float>(part.parameters));
    return {counts};
}

QString ArchitectureFigure::title() const { return QString::fromStdString(model_->config().name); }

QString ArchitectureFigure::description() const {
    return QStringLiteral(
        "The blocks of this model in the order that a text passes them, from the specification that the computation itself "
        "follows. The line is the residual stream; ⊕ is where a block's output is added to it. The framed blocks are repeated "
        "in every layer; the number in a block is what one of it has. The bar shows where the parameters are; an unembedding "
        "tied to the token embedding counts once.");
}

std::unique_ptr<Figure> architecture_view(std::shared_ptr<const model::Model> model) {
    return std::make_unique<ArchitectureFigure>(std::move(model));
}

}  // namespace headlight::figure
