// SPDX-License-Identifier: GPL-3.0-or-later
// A figure on a page: what PNG, SVG, PDF and HTML have in common.
#pragma once

#include "headlight/figure/export/export.h"

#include <QByteArray>

namespace headlight::figure {

struct Page {
    Figure& figure;
    const Selection& selection;
    const Provenance& provenance;
    const ExportOptions& options;
    Style style;
    QString side;    ///< side_words()
    QSizeF content;  ///< px
    QSizeF size;     ///< px, with the footer
    double mm_per_px = 25.4 / 96;

    /// Lays the figure out for export.
    Page(Figure&, const Selection&, const Provenance&, const ExportOptions&, const CancelToken&);
    /// Everything, paper first; the painter's unit is a px of the page.
    void paint(QPainter&) const;
    QString title() const;

private:
    double foot(double across) const;
    void lay_out(double width, double height, std::int64_t rows);
    /// With its physical width it is no taller than a page.
    bool on_paper() const;
    /// Lower, then with shorter lists, then smaller: whatever comes first makes a page of it.
    void fit_paper(double width);
};

/// {"generator": "Headlight 0.1.0", "model": …}; the same bytes for the same input.
std::string provenance_json(const Provenance&);
/// With "tokens" and "token_ids" of the text, in a cross attention also "source_tokens" and "source_token_ids".
std::string data_provenance_json(const Provenance&);
/// The texts there are, each with what its names begin with.
std::vector<std::pair<std::string, const TokenIds*>> texts_of(const Provenance&);
/// In UTF-8, with U+FFFD in place of the characters that no XML 1.0 document may hold: controls, U+FFFE, U+FFFF, halves of
/// surrogate pairs. Markup in it has to be right: what a program writes into it, Qt's own generators too, may be any text.
QByteArray xml_document(QString);

QImage page_image(const Page&);
QByteArray page_png(const Page&);
QByteArray page_svg(const Page&);
QByteArray page_pdf(const Page&);
/// The svg element alone; without `words`, its title and metadata, which a page around it has.
QString svg_element(const Page&, bool words);
/// One file without a network: the SVG in light and in dark, its marks' numbers, and a script that shows them.
QByteArray page_html(const Page&);

QByteArray table_csv(const Figure&, const Provenance&);
QByteArray table_json(const Figure&, const Provenance&);
void write_arrays_npz(const Figure&, const Provenance&, const std::filesystem::path&);

}  // namespace headlight::figure
