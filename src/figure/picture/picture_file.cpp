// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/figure/picture/picture_file.h"

#include "headlight/base/error.h"
#include "headlight/base/numbers.h"
#include "headlight/io/mapped_file.h"

#include <QBuffer>
#include <QCoreApplication>
#include <QDir>
#include <QFileInfo>
#include <QImageReader>

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <mutex>

namespace headlight::figure {
namespace {

/// Qt's lines and those that libpng writes by itself on standard error while a picture is read: the Error says what is wrong.
class Quiet {
public:
    Quiet() : lock_(mutex) {
        static std::once_flag once;
        std::call_once(once, [] { before = qInstallMessageHandler(pass_on); });
        on = true;
        std::fflush(stderr);
        kept_ = ::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
        if (const int nothing = kept_ < 0 ? -1 : ::open("/dev/null", O_WRONLY | O_CLOEXEC); nothing >= 0) {
            ::dup2(nothing, STDERR_FILENO);
            ::close(nothing);
        }
    }
    ~Quiet() {
        on = false;
        if (kept_ < 0) return;
        ::dup2(kept_, STDERR_FILENO);
        ::close(kept_);
    }
    Quiet(const Quiet&) = delete;
    Quiet& operator=(const Quiet&) = delete;

private:
    static void pass_on(QtMsgType type, const QMessageLogContext& context, const QString& message) {
        if (on) return;
        if (before)
            before(type, context, message);
        else
            std::fprintf(stderr, "%s\n", qPrintable(message));
    }
    static inline QtMessageHandler before = nullptr;
    static inline thread_local bool on = false;
    static inline std::mutex mutex;
    const std::lock_guard<std::mutex> lock_;
    int kept_ = -1;
};

std::string reason_of(const QImageReader& reader) {
    if (reader.error() == QImageReader::UnsupportedFormatError)
        return "another format, or not a picture; these are read: " + picture_patterns().join(QStringLiteral(", ")).toStdString();
    return reader.errorString().toStdString();
}

constexpr int kMostMegabytes = 1024;  ///< decoded, at four bytes a pixel; Qt's own limit is less than a camera's 200 megapixels

}  // namespace

std::shared_ptr<const model::Picture> read_picture(const std::filesystem::path& file) {
    if (!QCoreApplication::instance()) throw Error("A picture is read before Qt is started");  // an SVG's text would abort
    const auto bytes = io::MappedFile::open(file);  // a regular file: neither a pipe nor a device
    QByteArray content = QByteArray::fromRawData(reinterpret_cast<const char*>(bytes->bytes().data()),
                                                 static_cast<qsizetype>(bytes->bytes().size()));
    QBuffer buffer(&content);
    buffer.open(QIODevice::ReadOnly);
    const Quiet quiet;
    QImageReader reader(&buffer);
    QImageReader::setAllocationLimit(kMostMegabytes);
    reader.setAutoTransform(true);
    reader.setDecideFormatFromContent(true);
    if (const QSize size = reader.size(); double(size.width()) * size.height() * 4 > double(kMostMegabytes) * (1 << 20))
        throw Error({.problem = "The picture is too large",
                     .file = file.string(),
                     .expected = "at most 1 GB, at four bytes a pixel",
                     .found = with_commas(size.width()) + " x " + with_commas(size.height()) + " pixels"});
    const QImage image = reader.read().convertToFormat(QImage::Format_RGB888);
    if (image.isNull()) throw Error({.problem = "The picture cannot be read", .file = file.string(), .found = reason_of(reader)});
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

QImage seen_of(const trace::PictureShown& shown) {
    const model::PictureRect& r = shown.seen;
    return image_of(*shown.pixels).copy(QRectF(r.x, r.y, r.width, r.height).toRect());
}

QStringList picture_patterns() {
    QStringList patterns;
    for (const QByteArray& format : QImageReader::supportedImageFormats())
        patterns += QStringLiteral("*.") + QString::fromLatin1(format);
    return patterns;
}

std::vector<std::string> picture_files(const std::filesystem::path& place) {
    const QString path = QString::fromStdString(place.string());
    if (!QFileInfo(path).isDir()) return {place.string()};
    const QDir folder(path, {}, QDir::Name | QDir::IgnoreCase, QDir::Files);
    std::vector<std::string> files;
    for (const QString& name : folder.entryList(picture_patterns())) files.push_back(folder.filePath(name).toStdString());
    if (files.empty())
        throw Error({.problem = "The folder has no pictures",
                     .file = place.string(),
                     .expected = picture_patterns().join(QStringLiteral(", ")).toStdString()});
    return files;
}

}  // namespace headlight::figure
