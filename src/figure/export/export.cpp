// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/figure/export/export.h"

#include "figure/core/draw.h"
#include "figure/export/export_page.h"
#include "headlight/base/error.h"
#include "headlight/base/nearest.h"
#include "headlight/figure/core/sides.h"
#include "headlight/io/atomic_file.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <optional>
#include <utility>

namespace headlight::figure {

namespace {

constexpr std::int64_t fewest_rows = 5, most_rows = 4096;  ///< of a list that is cut to fit
constexpr double widening = 1.12, most_widening = 2.4;     ///< of a figure that becomes smaller by it

}  // namespace

Page::Page(Figure& f, const Selection& s, const Provenance& p, const ExportOptions& o, const CancelToken& cancel)
    : figure(f), selection(s), provenance(p), options(o), style(o.style), side(side_words(p.options)) {
    style.exporting = true;
    style.cancel = cancel;
    style.zoom = 1;
    double width = o.width_mm ? *o.width_mm / mm_per_px : o.size_px.width();
    if (!(width >= 1) || width > 100'000)
        throw Error({.problem = "A figure cannot be this wide", .expected = "1 to 100,000 px", .found = std::to_string(width)});
    const double height = o.size_px.height() > 0 ? std::max(50.0, o.size_px.height() - foot(width)) : 0;
    lay_out(width, height, o.list_rows.value_or(0));
    if (!o.width_mm) return;
    if (height == 0 && !on_paper()) fit_paper(width);
    // A figure that needs more room than asked for keeps the physical width and gets smaller.
    mm_per_px = *o.width_mm / size.width();
    if (height == 0) mm_per_px = std::min(mm_per_px, page_height_mm / size.height());
}

double Page::foot(double across) const { return options.footer ? draw::footer_height(provenance, across) : 0; }

void Page::lay_out(double width, double height, std::int64_t rows) {
    style.list_rows = rows;
    content = figure.layout(QSizeF(width, height), style, selection);
    // The figure may be narrower than asked for, and the footer then has more lines.
    size = QSizeF(std::ceil(content.width()), 0);
    size.setHeight(std::ceil(content.height() + foot(size.width())));
}

bool Page::on_paper() const { return size.height() * *options.width_mm <= page_height_mm * size.width(); }

void Page::fit_paper(double width) {
    const auto fits = [&](double across, double height, std::int64_t rows) {
        lay_out(across, height, rows);
        return on_paper();
    };
    const auto fits_somehow = [&](double across, std::int64_t rows) {
        const double paper = across * page_height_mm / *options.width_mm - foot(across);
        return fits(across, 0, rows) || fits(across, paper, rows);
    };
    /// As many rows as there is room for.
    const auto with_lists = [&](double across) {
        if (options.list_rows || !fits_somehow(across, fewest_rows)) return false;
        std::int64_t low = fewest_rows, high = most_rows;
        while (high - low > 1) {
            const std::int64_t middle = (low + high) / 2;
            (fits_somehow(across, middle) ? low : high) = middle;
        }
        return fits_somehow(across, low);
    };
    for (double across = width; across <= most_widening * width; across *= widening)
        if (fits_somehow(across, options.list_rows.value_or(0)) || with_lists(across)) return;
    lay_out(width, 0, options.list_rows.value_or(fewest_rows));
}

void Page::paint(QPainter& painter) const {
    style.cancel.throw_if_cancelled();
    if (!options.transparent) painter.fillRect(QRectF(QPointF(0, 0), size), style.theme->canvas);
    figure.paint(painter, QRectF(QPointF(0, 0), content), style, selection);
    paint_side_words(painter, QRectF(QPointF(0, 0), content), side, *style.theme);
    if (options.footer)
        draw::footer(painter, QRectF(0, content.height(), size.width(), size.height() - content.height()), provenance,
                     *style.theme);
}

QString Page::title() const {
    const QString of = QStringLiteral("%1 · %2").arg(QString::fromStdString(provenance.model), figure.title());
    return side.isEmpty() ? of : of + QStringLiteral(" · ") + side;
}

namespace {

nlohmann::ordered_json provenance_members(const Provenance& p) {
    nlohmann::ordered_json out;
    out["generator"] = "Headlight " + p.version;
    out["model"] = p.model;
    out["model_hash"] = p.model_hash;
    p.image.empty() ? out["text"] = p.text : out["image"] = p.image;
    if (!p.pair.empty()) out["pair"] = p.pair;
    out["dtype"] = p.dtype;
    nlohmann::ordered_json options = nlohmann::ordered_json::object();
    for (const auto& [name, value] : p.options) options[name] = value;
    out["options"] = options;
    out["command"] = p.command;
    return out;
}

std::string dumped(const nlohmann::ordered_json& json) {
    // Texts may hold bytes that are not UTF-8.
    return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace

std::string provenance_json(const Provenance& p) { return dumped(provenance_members(p)); }

std::string data_provenance_json(const Provenance& p) {
    nlohmann::ordered_json out = provenance_members(p);
    for (const auto& [name, text] : texts_of(p)) {
        out[name + "tokens"] = text->tokens;
        out[name + "token_ids"] = text->ids;
    }
    return dumped(out);
}

std::vector<std::pair<std::string, const TokenIds*>> texts_of(const Provenance& p) {
    std::vector<std::pair<std::string, const TokenIds*>> texts;
    if (!p.tokens.ids.empty()) texts.emplace_back("", &p.tokens);
    if (!p.source.ids.empty()) texts.emplace_back("source_", &p.source);
    return texts;
}

QByteArray xml_document(QString document) {
    for (qsizetype i = 0; i < document.size(); ++i) {
        QChar& c = document[i];
        if (c.isHighSurrogate() && i + 1 < document.size() && document[i + 1].isLowSurrogate())
            ++i;
        else if ((c < u' ' && c != u'\n' && c != u'\t' && c != u'\r') || c.isSurrogate() || c > QChar(0xFFFD))
            c = QChar::ReplacementCharacter;
    }
    return document.toUtf8();
}

namespace {

std::string extension_of(const std::filesystem::path& path) {
    std::string extension = path.extension().string();
    std::ranges::transform(extension, extension.begin(), [](unsigned char c) { return std::tolower(c); });
    return extension;
}

std::optional<Format> known_format(const std::string& extension) {
    return extension.empty() ? std::nullopt : enum_value<Format>(std::string_view(extension).substr(1));
}

}  // namespace

std::vector<std::string> file_endings() {
    std::vector<std::string> endings = enum_words<Format>();
    for (std::string& ending : endings) ending.insert(0, ".");
    return endings;
}

Format format_of(const std::filesystem::path& path) {
    const std::string extension = extension_of(path);
    if (const auto format = known_format(extension)) return *format;
    throw Error({.problem = "The file's extension does not say a known format",
                 .file = path.string(),
                 .expected = either_of(file_endings()),
                 .found = extension.empty() ? "none" : extension});
}

bool is_picture(const std::filesystem::path& path) {
    const auto format = known_format(extension_of(path));
    return format && !is_data(*format);
}

void export_figure(Figure& figure, const Selection& selection, const Provenance& provenance, const ExportOptions& options,
                   const std::filesystem::path& path, const CancelToken& cancel) {
    const Format format = format_of(path);
    const Page page(figure, selection, provenance, options, cancel);  // also for data: what is drawn depends on the layout
    QByteArray bytes;
    switch (format) {
        case Format::png: bytes = page_png(page); break;
        case Format::svg: bytes = page_svg(page); break;
        case Format::pdf: bytes = page_pdf(page); break;
        case Format::html: bytes = page_html(page); break;
        case Format::csv: bytes = table_csv(figure, provenance); break;
        case Format::json: bytes = table_json(figure, provenance); break;
        case Format::npz: return write_arrays_npz(figure, provenance, path);
    }
    cancel.throw_if_cancelled();
    io::write_atomically(path, std::string_view(bytes.constData(), static_cast<std::size_t>(bytes.size())));
}

QImage export_image(Figure& figure, const Selection& selection, const Provenance& provenance, const ExportOptions& options,
                    const CancelToken& cancel) {
    return page_image(Page(figure, selection, provenance, options, cancel));
}

}  // namespace headlight::figure
