// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/figure/picture/picture_file.h"

#include "headlight/base/error.h"

#include <QImageReader>

#include <cstring>

namespace headlight::figure {
namespace {

constexpr int kMostMegabytes = 1024;  ///< decoded, at four bytes a pixel; Qt's own limit is less than a camera's 200 megapixels

}  // namespace

std::shared_ptr<const model::Picture> read_picture(const std::filesystem::path& file) {
    std::error_code none;
    if (!std::filesystem::is_regular_file(file, none))
        throw Error({.problem = "there is no such picture", .file = file.string()});
    QImageReader reader(QString::fromStdString(file.string()));
    QImageReader::setAllocationLimit(kMostMegabytes);
    reader.setAutoTransform(true);
    reader.setDecideFormatFromContent(true);
    const QImage image = reader.read().convertToFormat(QImage::Format_RGB888);
    if (image.isNull())
        throw Error({.problem = "the picture cannot be read",
                     .file = file.string(),
                     .expected = picture_patterns().join(QStringLiteral(", ")).toStdString(),
                     .found = reader.errorString().toStdString()});
    auto picture = std::make_shared<model::Picture>();
    picture->width = image.width(), picture->height = image.height();
    const auto line = static_cast<std::size_t>(picture->width * model::kColours);
    picture->rgb.resize(line * static_cast<std::size_t>(picture->height));
    for (int row = 0; row < image.height(); ++row)
        std::memcpy(picture->rgb.data() + static_cast<std::size_t>(row) * line, image.constScanLine(row), line);
    return picture;
}

QImage image_of(const model::Picture& picture) {
    return QImage(picture.rgb.data(), static_cast<int>(picture.width), static_cast<int>(picture.height),
                  static_cast<qsizetype>(picture.width * model::kColours), QImage::Format_RGB888)
        .copy();
}

QStringList picture_patterns() {
    QStringList patterns;
    for (const QByteArray& format : QImageReader::supportedImageFormats())
        patterns += QStringLiteral("*.") + QString::fromLatin1(format);
    return patterns;
}

}  // namespace headlight::figure
