// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/export/export_page.h"
#include "headlight/base/error.h"

#include <QBuffer>
#include <QPageSize>
#include <QPdfWriter>

#include <algorithm>

namespace headlight::figure {
namespace {

constexpr double most_points = 14'400;  ///< a page's largest side (PDF 1.4, annex C)

QByteArray xmp(const Page& page) {
    const QString text = QStringLiteral(
        "<?xpacket begin=\"\uFEFF\" id=\"W5M0MpCehiHzreSzNTczkc9d\"?>\n"
        "<x:xmpmeta xmlns:x=\"adobe:ns:meta/\"><rdf:RDF xmlns:rdf=\"http://www.w3.org/1999/02/22-rdf-syntax-ns#\">\n"
        "<rdf:Description rdf:about=\"\" xmlns:dc=\"http://purl.org/dc/elements/1.1/\">\n"
        "<dc:title><rdf:Alt><rdf:li xml:lang=\"x-default\">%1</rdf:li></rdf:Alt></dc:title>\n"
        "<dc:description><rdf:Alt><rdf:li xml:lang=\"x-default\">%2</rdf:li></rdf:Alt></dc:description>\n"
        "<dc:source>%3</dc:source>\n"
        "</rdf:Description></rdf:RDF></x:xmpmeta>\n<?xpacket end=\"r\"?>\n");
    return xml_document(text.arg(page.title().toHtmlEscaped(), page.provenance.footer().toHtmlEscaped(),
                                 QString::fromStdString(provenance_json(page.provenance)).toHtmlEscaped()));
}

/// The clock does not belong into a file that must come out the same again. Same length: offsets stay right.
void fix_date(QByteArray& pdf) {
    const QByteArray key("/CreationDate (D:");
    const auto at = pdf.indexOf(key);
    if (at < 0) return;
    const QByteArray fixed("20000101000000");
    const auto digits = at + key.size();
    if (digits + fixed.size() <= pdf.size()) pdf.replace(digits, fixed.size(), fixed);
}

}  // namespace

QByteArray page_pdf(const Page& page) {
    const double points_per_px = page.mm_per_px / 25.4 * 72;
    QSizeF points = page.size * points_per_px;
    const double largest = std::max(points.width(), points.height());
    if (largest > most_points) points *= most_points / largest;
    QBuffer buffer;
    buffer.open(QIODevice::WriteOnly);
    {
        QPdfWriter writer(&buffer);
        writer.setResolution(1200);
        writer.setPageSize(QPageSize(points, QPageSize::Point, QString(), QPageSize::ExactMatch));
        writer.setPageMargins(QMarginsF(0, 0, 0, 0));
        writer.setTitle(page.title());
        writer.setCreator(QStringLiteral("Headlight ") + QString::fromStdString(page.provenance.version));
        writer.setDocumentXmpMetadata(xmp(page));
        QPainter painter;
        if (!painter.begin(&writer)) throw Error("The PDF could not be begun");
        painter.scale(points.width() * 1200 / 72 / page.size.width(), points.height() * 1200 / 72 / page.size.height());
        page.paint(painter);
        painter.end();
    }
    QByteArray bytes = buffer.data();
    fix_date(bytes);
    return bytes;
}

}  // namespace headlight::figure
