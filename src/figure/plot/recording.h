// SPDX-License-Identifier: GPL-3.0-or-later
// What somebody painted, kept to be painted again: on screen, into PNG, SVG or PDF. QCustomPlot paints into it, so that
// no widget outlives a layout, text stays text, and lines fall on the pixels of the real target.
#pragma once

#include <QFont>
#include <QPaintDevice>
#include <QPainter>
#include <QPainterPath>
#include <QString>
#include <QTransform>

#include <memory>
#include <optional>
#include <vector>

namespace headlight::figure::plot {

struct Command {
    QPainterPath path;          ///< or
    std::vector<QLineF> lines;  ///< or
    QString text;
    QPointF baseline;  ///< of the text: its left end
    double width = 0;  ///< of the text, px
    QFont font;
    QPen pen;
    QBrush brush;
    QTransform transform;
    std::optional<QRectF> clip;
    bool antialiased = true;
};

class Recording {
public:
    void add(Command command) { commands_.push_back(std::move(command)); }
    const std::vector<Command>& commands() const { return commands_; }
    bool empty() const { return commands_.empty(); }
    /// Everything again, at the painter's place.
    void replay(QPainter&) const;

private:
    std::vector<Command> commands_;
};

/// A sheet of 96 dpi whose painters write into a Recording.
class RecordingDevice : public QPaintDevice {
public:
    RecordingDevice(Recording&, QSize);
    ~RecordingDevice() override;
    QPaintEngine* paintEngine() const override;

protected:
    int metric(PaintDeviceMetric) const override;

private:
    QSize size_;
    std::unique_ptr<QPaintEngine> engine_;
};

}  // namespace headlight::figure::plot
