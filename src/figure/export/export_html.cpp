// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/export/export_page.h"
#include "headlight/base/error.h"

#include <nlohmann/json.hpp>

#include <QFile>
#include <QHash>
#include <QRegularExpression>
#include <QSet>

#include <cmath>

// Outside any namespace, as the macro asks.
static void start_page_resources() { Q_INIT_RESOURCE(page); }

namespace headlight::figure {
namespace {

/// More would make a page of many megabytes; the strongest marks of such a figure are in its data.
constexpr std::size_t most_marks = 50'000;
/// Where a figure lists no marks, it is asked at points this far apart, in px.
constexpr double probe_step = 3;

std::string_view word_of(Hit::Kind kind) {
    switch (kind) {
        case Hit::Kind::head: return "head";
        case Hit::Kind::query: return "query";
        case Hit::Kind::key: return "key";
        case Hit::Kind::pair: return "pair";
        case Hit::Kind::head_square: return "head";
        default: return "mark";
    }
}

double hundredths(double x) { return std::round(x * 100) / 100; }

std::string path_data(const QPainterPath& path) {
    QString d;
    const auto point = [&](int i) {
        const QPainterPath::Element e = path.elementAt(i);
        return QStringLiteral("%1 %2").arg(hundredths(e.x)).arg(hundredths(e.y));
    };
    for (int i = 0; i < path.elementCount(); ++i) {
        switch (path.elementAt(i).type) {
            case QPainterPath::MoveToElement: d += u'M' + point(i); break;
            case QPainterPath::LineToElement: d += u'L' + point(i); break;
            case QPainterPath::CurveToElement:
                d += u'C' + point(i) + u' ' + point(i + 1) + u' ' + point(i + 2);
                i += 2;
                break;
            case QPainterPath::CurveToDataElement: break;  // read with its beginning
        }
    }
    return d.toStdString();
}

/// Of a figure without a list: each area that the pointer finds, once.
std::vector<MarkPlace> probed(const Page& page) {
    std::vector<MarkPlace> places;
    QSet<QString> seen;
    for (double y = probe_step / 2; y < page.content.height(); y += probe_step) {
        page.style.cancel.throw_if_cancelled();
        for (double x = probe_step / 2; x < page.content.width(); x += probe_step) {
            Hit hit = page.figure.hit_test({x, y}, page.style, page.selection);
            if (hit.kind == Hit::Kind::none || hit.area.isEmpty() || hit.tip.isEmpty()) continue;
            const QRectF& a = hit.area;
            const QString key = QStringLiteral("%1 %2 %3 %4").arg(a.x()).arg(a.y()).arg(a.width()).arg(a.height());
            if (seen.contains(key)) continue;
            if (places.size() > most_marks) return places;
            seen.insert(key);
            places.push_back({std::move(hit), {x, y}});
        }
    }
    return places;
}

nlohmann::json entry_of(const MarkPlace& place) {
    const Hit& hit = place.hit;
    const auto number = [](const std::optional<Position>& p) { return p ? nlohmann::json(p->value) : nlohmann::json(-1); };
    nlohmann::json entry{word_of(hit.kind), hit.tip.toStdString(),
                         hit.head ? nlohmann::json(head_name(*hit.head).toStdString()) : nlohmann::json(nullptr),
                         number(hit.query), number(hit.key)};
    if (place.outline.isEmpty())
        for (const double side : {hit.area.x(), hit.area.y(), hit.area.width(), hit.area.height()})
            entry.push_back(hundredths(side));
    else {
        for (const double at : {place.point.x(), place.point.y()}) entry.push_back(hundredths(at));
        entry.push_back(path_data(place.outline));
        entry.push_back(place.reach);
        if (const QColor& c = place.color; c.isValid())
            entry.push_back(QStringLiteral("rgb(%1 %2 %3 / %4)")
                                .arg(c.red())
                                .arg(c.green())
                                .arg(c.blue())
                                .arg(c.alphaF(), 0, 'f', 3)
                                .toStdString());
    }
    return entry;
}

/// JSON inside a script element: nothing in it ends the element or begins a comment.
QString json_element(const std::string& json) { return QString::fromStdString(json).replace(u'<', QStringLiteral("\\u003c")); }

/// Gradients and clips of the two pictures must not share their names.
QString renamed(QString svg, const QString& prefix) {
    static const QRegularExpression id(QStringLiteral(" id=\"([^\"]+)\"")), use(QStringLiteral("(url\\(#|href=\"#)"));
    svg.replace(id, QStringLiteral(" id=\"%1\\1\"").arg(prefix));
    svg.replace(use, QStringLiteral("\\1%1").arg(prefix));
    return svg.replace(QStringLiteral("<svg "), QStringLiteral("<svg class=\"%1\" aria-hidden=\"true\" ").arg(prefix));
}

QString picture(const Page& page, const Theme& theme) {
    ExportOptions options = page.options;
    options.style.theme = &theme;
    const Page themed(page.figure, page.selection, page.provenance, options, page.style.cancel);
    return renamed(svg_element(themed, false), theme.dark ? QStringLiteral("dark") : QStringLiteral("light"));
}

}  // namespace

QByteArray page_html(const Page& page) {
    start_page_resources();
    QFile file(QStringLiteral(":/headlight/page/figure.html"));
    if (!file.open(QIODevice::ReadOnly)) throw Error("The page of a figure cannot be read from the program");
    const auto listed = page.figure.marks(page.style, page.selection);
    std::vector<MarkPlace> places = listed ? *listed : probed(page);
    std::erase_if(places, [](const MarkPlace& place) { return place.hit.tip.isEmpty(); });
    QString keys = QStringLiteral("Hover or arrow keys: numbers · click or Enter: isolate · Esc: all");
    if (places.empty()) keys.clear();
    if (places.size() > most_marks) {
        keys += QStringLiteral(" · numbers of the first %1 marks only").arg(most_marks);
        places.resize(most_marks);
    }
    nlohmann::json marks = nlohmann::json::array();
    for (const MarkPlace& place : places) marks.push_back(entry_of(place));
    const auto dumped = [](const nlohmann::json& json) {
        return json_element(json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    };
    const Theme &light = Theme::light(), &dark = Theme::dark_theme();
    const QString unit = page.options.width_mm ? QStringLiteral("mm") : QStringLiteral("px");
    const double factor = page.options.width_mm ? page.mm_per_px : 1;
    QHash<QString, QString> parts{
        {QStringLiteral("THEME"), page.options.style.theme->dark ? QStringLiteral("dark") : QStringLiteral("auto")},
        {QStringLiteral("GENERATOR"), QStringLiteral("Headlight %1").arg(QString::fromStdString(page.provenance.version))},
        {QStringLiteral("TITLE"), page.title().toHtmlEscaped()},
        {QStringLiteral("WIDTH"), QString::number(page.size.width() * factor, 'g', 7) + unit},
        {QStringLiteral("VIEW_WIDTH"), QString::number(page.size.width())},
        {QStringLiteral("VIEW_HEIGHT"), QString::number(page.size.height())},
        {QStringLiteral("KEYS"), keys},
        {QStringLiteral("DESCRIPTION"), page.figure.description().toHtmlEscaped()},
        {QStringLiteral("COMMAND"), QString::fromStdString(page.provenance.command).toHtmlEscaped()},
        {QStringLiteral("PROVENANCE"), json_element(provenance_json(page.provenance))},
        {QStringLiteral("MARKS"), dumped(marks)},
        {QStringLiteral("LIGHT"), picture(page, light)},
        {QStringLiteral("DARK"), picture(page, dark)},
    };
    for (const Theme* theme : {&light, &dark}) {
        const QString of = theme->dark ? QStringLiteral("DARK_") : QStringLiteral("LIGHT_");
        for (const auto& [name, color] : {std::pair("PAPER", theme->canvas),
                                          {"TEXT", theme->text},
                                          {"MUTED", theme->muted},
                                          {"LINE", theme->line},
                                          {"ACCENT", theme->accent}})
            parts.insert(of + QLatin1String(name), color.name());
    }
    // In one pass: what is put in may hold words that look like a place.
    const QString form = QString::fromUtf8(file.readAll());
    static const QRegularExpression place(QStringLiteral("@([A-Z_]+)@"));
    QString out;
    qsizetype from = 0;
    for (auto it = place.globalMatch(form); it.hasNext();) {
        const QRegularExpressionMatch match = it.next();
        out += QStringView(form).mid(from, match.capturedStart() - from);
        out += parts.value(match.captured(1));
        from = match.capturedEnd();
    }
    out += QStringView(form).mid(from);
    return xml_document(out);
}

}  // namespace headlight::figure
