// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/export/export_page.h"
#include "figure/export/svg_tidy.h"
#include "headlight/base/error.h"

#include <QBuffer>
#include <QSvgGenerator>

namespace headlight::figure {

QString svg_element(const Page& page, bool words) {
    QBuffer buffer;
    {
        QSvgGenerator generator;
        generator.setOutputDevice(&buffer);
        generator.setSize(page.size.toSize());
        generator.setViewBox(QRectF(QPointF(0, 0), page.size));
        generator.setResolution(96);  // the painter's unit is a px
        QPainter painter;
        if (!painter.begin(&generator)) throw Error("The SVG could not be begun");
        page.paint(painter);
    }
    page.style.cancel.throw_if_cancelled();
    const QString unit = page.options.width_mm ? QStringLiteral("mm") : QString();
    const double factor = page.options.width_mm ? page.mm_per_px : 1;
    const QString said = !words ? QString()
                                : QStringLiteral("<title>%1</title>\n<desc>%2</desc>\n<metadata>%3</metadata>\n")
                                      .arg(page.title().toHtmlEscaped(), page.provenance.footer().toHtmlEscaped(),
                                           QString::fromStdString(provenance_json(page.provenance)).toHtmlEscaped());
    return QStringLiteral(
               "<svg xmlns=\"http://www.w3.org/2000/svg\" xmlns:xlink=\"http://www.w3.org/1999/xlink\" width=\"%1%3\" "
               "height=\"%2%3\" viewBox=\"0 0 %4 %5\" font-family=\"Inter, 'Noto Sans', sans-serif\" "
               "style=\"font-feature-settings:'calt' 0\" "
               "fill-rule=\"evenodd\" "
               "xml:space=\"preserve\">\n%6%7</svg>\n")
        .arg(QString::number(page.size.width() * factor, 'g', 7), QString::number(page.size.height() * factor, 'g', 7), unit,
             QString::number(page.size.width()), QString::number(page.size.height()), said,
             tidy_svg_body(QString::fromUtf8(buffer.data())));
}

QByteArray page_svg(const Page& page) {
    return xml_document(QStringLiteral("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n") + svg_element(page, true));
}

}  // namespace headlight::figure
