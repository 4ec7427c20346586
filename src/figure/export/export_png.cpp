// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/export/export_page.h"
#include "headlight/base/error.h"
#include "headlight/base/numbers.h"

#include <QBuffer>
#include <QImageWriter>

#include <cmath>

namespace headlight::figure {
namespace {

constexpr double most_pixels = 400e6;  ///< 1.6 GB
constexpr int band = 4096;             ///< rows painted at once: painters stop at 32,767

/// Ends the encoding when the export is cancelled.
class CancellableBuffer : public QBuffer {
public:
    explicit CancellableBuffer(const CancelToken& cancel) : cancel_(cancel) {}

protected:
    qint64 writeData(const char* data, qint64 size) override { return cancel_.cancelled() ? -1 : QBuffer::writeData(data, size); }

private:
    const CancelToken& cancel_;
};

}  // namespace

QImage page_image(const Page& page) {
    const double scale = page.options.scale;
    if (!(scale > 0) || scale > 16)
        throw Error({.problem = "A picture cannot have this scale", .expected = "1 to 4", .found = std::to_string(scale)});
    const double width = std::round(page.size.width() * scale), height = std::round(page.size.height() * scale);
    if (width * height > most_pixels || width > 32'000)
        throw Error({.problem = "The picture would be too large",
                     .expected = "at most 400 million pixels, 32,000 in a row",
                     .found = with_commas(static_cast<long long>(width)) + " x " + with_commas(static_cast<long long>(height)),
                     .hint = "Use a smaller scale, or PDF, whose size does not matter"});
    QImage image(static_cast<int>(width), static_cast<int>(height), QImage::Format_ARGB32_Premultiplied);
    if (image.isNull())
        throw Error({.problem = "There is not enough memory for the picture",
                     .found = std::to_string(width) + " x " + std::to_string(height) + " pixels",
                     .hint = "Use a smaller scale, or PDF, whose size does not matter"});
    image.fill(Qt::transparent);
    for (int top = 0; top < image.height(); top += band) {
        // A view of some rows of the image, not a copy.
        QImage rows(image.scanLine(top), image.width(), std::min(band, image.height() - top), image.bytesPerLine(),
                    image.format());
        QPainter painter(&rows);
        painter.setRenderHints(QPainter::Antialiasing | QPainter::TextAntialiasing);
        painter.translate(0, -top);
        painter.scale(scale, scale);
        page.paint(painter);
    }
    if (!page.options.transparent) image = image.convertToFormat(QImage::Format_RGB32);
    const double per_meter = scale * 1000 / page.mm_per_px;
    image.setDotsPerMeterX(static_cast<int>(std::lround(per_meter)));
    image.setDotsPerMeterY(static_cast<int>(std::lround(per_meter)));
    return image;
}

QByteArray page_png(const Page& page) {
    QImage image = page_image(page);
    image.setText(QStringLiteral("Title"), page.title());
    image.setText(QStringLiteral("Description"), page.provenance.footer().replace(u'\n', u' '));
    image.setText(QStringLiteral("Software"), QStringLiteral("Headlight ") + QString::fromStdString(page.provenance.version));
    image.setText(QStringLiteral("Provenance"), QString::fromStdString(provenance_json(page.provenance)));
    CancellableBuffer buffer(page.style.cancel);
    QImageWriter writer(&buffer, "png");
    const bool written = writer.write(image);
    page.style.cancel.throw_if_cancelled();
    if (!written) throw Error({.problem = "The picture could not be encoded", .found = writer.errorString().toStdString()});
    return buffer.data();
}

}  // namespace headlight::figure
