// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/pattern/neuron/neuron_view_figure.h"

namespace headlight::figure {
namespace {

/// Before a query is opened: the head view of one head, whose queries open the table.
class CollapsedNeuron final : public Figure {
public:
    CollapsedNeuron(std::unique_ptr<Figure> lines, HeadId head, QString attention)
        : lines_(std::move(lines)), head_(head), attention_(std::move(attention)) {}

    std::string view() const override { return "neuron"; }
    QSizeF layout(QSizeF available, const Style& style, const Selection& selection) override {
        return lines_->layout(available, style, selection);
    }
    void paint(QPainter& painter, const QRectF& exposed, const Style& style, const Selection& s) const override {
        lines_->paint(painter, exposed, style, s);
    }
    Hit hit_test(QPointF point, const Style& style, const Selection& selection) const override {
        Hit hit = lines_->hit_test(point, style, selection);
        if (hit.kind == Hit::Kind::query) {
            hit.kind = Hit::Kind::row_toggle;
            hit.tip += QStringLiteral("  click: number by number");
        }
        return hit;
    }
    Table table() const override { return lines_->table(); }
    std::vector<NamedArray> arrays() const override { return lines_->arrays(); }
    QString title() const override {
        return with_attention(QStringLiteral("Layer %1  head %2").arg(head_.layer.value).arg(head_.head.value), attention_);
    }
    QString description() const override { return neuron_description(false); }
    std::optional<QRectF> row_of_query(Position position) const override { return lines_->row_of_query(position); }
    std::optional<QRectF> row_of_key(Position position) const override { return lines_->row_of_key(position); }
    bool refining() const override { return lines_->refining(); }
    Sharpening sharpening() override { return lines_->sharpening(); }

private:
    std::unique_ptr<Figure> lines_;
    HeadId head_;
    QString attention_;
};

/// A saved trace may be of a type that only another version knows.
std::string dtype_note(const std::string& dtype) {
    const auto type = enum_value<model::ComputeType>(dtype);
    return type ? std::string(enum_row(*type).title) : dtype;
}

}  // namespace

std::unique_ptr<Figure> neuron_view(TracePtr trace, HeadId head, Position query, const NeuronViewOptions& options) {
    if (options.collapsed)
        return std::make_unique<CollapsedNeuron>(head_view(trace, head.layer, {head.head}, analyze::PatternOptions{}), head,
                                                 attention_name(trace->config()));
    NeuronViewData data;
    data.words = axis_words(*trace);
    data.attention = attention_name(trace->config());
    data.view = analyze::neuron_view(*trace, head, query);
    analyze::PatternAxes axes = analyze::pattern_axes(*trace, analyze::PatternOptions{});
    data.query = axes.queries[static_cast<std::size_t>(query.value)];
    data.labels = std::move(axes.keys);
    data.model = trace->config().name;
    data.dtype = dtype_note(trace->info().dtype);
    return std::make_unique<NeuronFigure>(std::move(data), options);
}

}  // namespace headlight::figure
