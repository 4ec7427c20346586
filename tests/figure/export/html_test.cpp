// SPDX-License-Identifier: GPL-3.0-or-later
// A figure as one page: what stands in the file, and what a browser makes of it.
#include "figure/export/export_page.h"
#include "headlight/figure/core/view_spec.h"
#include "tests/figure/novella.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <QDir>
#include <QFile>
#include <QProcess>
#include <QRegularExpression>
#include <QStandardPaths>
#include <QTemporaryDir>
#include <QUrl>

#include <algorithm>
#include <set>

namespace headlight::figure {
namespace html_test {

constexpr const char* sentence = "The doctor asked the nurse: </script><b>@MARKS@ & \"why\"?";

TracePtr trace_of_sentence() {
    static const TracePtr trace = novella(sentence, {.globs = {}, .overview = {.pooled = true, .numbers = true}});
    return trace;
}

QString html_of(const std::string& view, const ExportOptions& options = {}) {
    Request request;
    request.view = view;
    request.layer = Layer(4), request.heads = {Head(5)}, request.query = Position(9);
    const TracePtr trace = trace_of_sentence();
    const auto figure = make_figure(trace, request);
    const Provenance provenance = provenance_of(*trace, request, "html");
    return QString::fromUtf8(page_html(Page(*figure, {}, provenance, options, {})));
}

QString element(const QString& page, const QString& id) {
    const QRegularExpression found(QStringLiteral("id=\"%1\"[^>]*>(.*?)</").arg(id),
                                   QRegularExpression::DotMatchesEverythingOption);
    return found.match(page).captured(1);
}

nlohmann::json marks_of(const QString& page) {
    return nlohmann::json::parse(element(page, QStringLiteral("marks")).toStdString());
}

TEST(Html, TheMarksAreThoseThatThePointerFinds) {
    for (const char* view : {"head", "matrix", "lens", "attribution", "why"}) {
        const QString page = html_of(view);
        const nlohmann::json marks = marks_of(page);
        EXPECT_GT(marks.size(), 10U) << view;
        Request request;
        request.view = view;
        request.layer = Layer(4), request.heads = {Head(5)}, request.query = Position(9);
        const auto figure = make_figure(trace_of_sentence(), request);
        const Provenance provenance = provenance_of(*trace_of_sentence(), request, "html");
        const ExportOptions options;
        const Page laid(*figure, {}, provenance, options, {});
        std::size_t told = 0;
        for (const auto& mark : marks) {
            if (mark[7].is_string()) continue;
            const QPointF middle(mark[5].get<double>() + mark[7].get<double>() / 2,
                                 mark[6].get<double>() + mark[8].get<double>() / 2);
            if (figure->hit_test(middle, laid.style, {}).tip.toStdString() == mark[1].get<std::string>()) ++told;
        }
        EXPECT_GT(told, 0U) << view;
        const auto areas = std::ranges::count_if(marks, [](const auto& mark) { return !mark[7].is_string(); });
        EXPECT_GE(static_cast<double>(told), 0.9 * static_cast<double>(areas)) << view << ": few lie under others";
    }
}

TEST(Html, NothingInATextBecomesMarkup) {
    const QString page = html_of("head");
    EXPECT_EQ(page.count(QStringLiteral("</script>")), 3) << "provenance, marks and the script";
    EXPECT_FALSE(page.contains(QStringLiteral("<b>")));
    const auto provenance = nlohmann::json::parse(element(page, QStringLiteral("provenance")).toStdString());
    EXPECT_EQ(provenance.at("text"), sentence);
}

TEST(Html, NeedsNothingFromOutside) {
    const QString page = html_of("matrix");
    EXPECT_TRUE(page.contains(QStringLiteral("default-src 'none'")));
    for (const char* from : {"src=\"http", "url(http", "<link", "@import", "fetch(", "XMLHttpRequest"})
        EXPECT_FALSE(page.contains(QLatin1String(from))) << from;
    const qsizetype script = page.lastIndexOf(QStringLiteral("<script>"));
    EXPECT_LT(page.size() - script, 15'000);
}

TEST(Html, ThePicturesOfBothThemesShareNoName) {
    for (const char* view : {"head", "matrix", "model"}) {
        const QString page = html_of(view);
        EXPECT_EQ(page.count(QStringLiteral("<svg class=\"light\"")), 1);
        EXPECT_EQ(page.count(QStringLiteral("<svg class=\"dark\"")), 1);
        std::set<QString> ids;
        static const QRegularExpression id(QStringLiteral(" id=\"([^\"]+)\""));
        for (auto it = id.globalMatch(page); it.hasNext();) {
            const QString name = it.next().captured(1);
            EXPECT_TRUE(ids.insert(name).second) << view << ": " << name.toStdString();
        }
    }
}

TEST(Html, EqualInputGivesEqualBytes) { EXPECT_EQ(html_of("lens"), html_of("lens")); }

/// Marks without a drawing.
class Dots : public Figure {
public:
    explicit Dots(std::size_t count) : count_(count) {}
    std::string view() const override { return "dots"; }
    QSizeF layout(QSizeF, const Style&, const Selection&) override { return {100, 50}; }
    void paint(QPainter&, const QRectF&, const Style&, const Selection&) const override {}
    Hit hit_test(QPointF, const Style&, const Selection&) const override { return {}; }
    std::optional<std::vector<MarkPlace>> marks(const Style&, const Selection&) const override {
        Hit hit;
        hit.kind = Hit::Kind::legend;
        hit.tip = QStringLiteral("a dot");
        hit.area = {1, 2, 3, 4};
        return std::vector<MarkPlace>(count_, {hit, hit.area.center()});
    }
    Table table() const override { return {}; }
    std::vector<NamedArray> arrays() const override { return {}; }
    QString title() const override { return QStringLiteral("Dots"); }
    QString description() const override { return {}; }

private:
    std::size_t count_;
};

TEST(Html, SaysWhenItListsNotAllMarks) {
    const auto page_of = [](std::size_t count) {
        Dots dots(count);
        const Provenance provenance;
        const ExportOptions options;
        return QString::fromUtf8(page_html(Page(dots, {}, provenance, options, {})));
    };
    const QString words = QStringLiteral("numbers of the first 50000 marks only");
    EXPECT_FALSE(page_of(50'000).contains(words));
    const QString page = page_of(50'001);
    EXPECT_TRUE(page.contains(words));
    EXPECT_EQ(marks_of(page).size(), 50'000U);
}

/// What a browser has after it has run the page; empty: there is no browser that runs here.
QString run_in_browser(const QString& file, const QString& hash) {
    const QString browser = QStandardPaths::findExecutable(QStringLiteral("chromium"));
    if (browser.isEmpty()) return {};
    const QTemporaryDir home;
    QProcess process;
    QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
    environment.insert(QStringLiteral("HOME"), home.path());
    process.setProcessEnvironment(environment);
    QUrl url = QUrl::fromLocalFile(file);
    url.setFragment(hash);
    process.start(browser, {QStringLiteral("--headless"), QStringLiteral("--no-sandbox"), QStringLiteral("--disable-gpu"),
                            QStringLiteral("--disable-dev-shm-usage"),
                            QStringLiteral("--user-data-dir=") + home.filePath(QStringLiteral("data")),
                            QStringLiteral("--dump-dom"), url.toString(QUrl::FullyEncoded)});
    if (!process.waitForFinished(120'000)) {
        process.kill();
        process.waitForFinished();
        return {};
    }
    return QString::fromUtf8(process.readAllStandardOutput());
}

TEST(Html, ABrowserShowsTheNumberAndIsolatesTheHead) {
    const QTemporaryDir folder;
    const auto write = [&](const char* name, const QString& text) {
        QFile file(folder.filePath(QLatin1String(name)));
        EXPECT_TRUE(file.open(QIODevice::WriteOnly));
        file.write(text.toUtf8());
        return file.fileName();
    };
    const QString control = write("control.html", QStringLiteral("<p id=\"said\"></p><script>said.textContent='runs'</script>"));
    if (!run_in_browser(control, {}).contains(QStringLiteral("runs"))) GTEST_SKIP() << "no browser that runs here";
    const QString page = html_of("head");
    const nlohmann::json marks = marks_of(page);
    const auto token = std::ranges::find_if(marks, [](const auto& mark) { return mark[0] == "query" && mark[3] == 9; });
    ASSERT_NE(token, marks.end());
    const auto place = std::distance(marks.begin(), token);
    const auto same = std::ranges::count_if(marks, [](const auto& mark) { return mark[3] == 9; });
    const QString seen = run_in_browser(write("figure.html", page), QStringLiteral("mark=%1&isolated=%1").arg(place));
    EXPECT_TRUE(seen.contains(QStringLiteral("data-isolated=\"%1\"").arg(same))) << seen.right(3000).toStdString();
    EXPECT_EQ(element(seen, QStringLiteral("said")).toStdString(), QString::fromStdString((*token)[1].get<std::string>())
                                                                       .toHtmlEscaped()
                                                                       .replace(QStringLiteral("&quot;"), QStringLiteral("\""))
                                                                       .toStdString());
    EXPECT_TRUE(
        seen.contains(QStringLiteral("id=\"veil\" width=\"100%\" height=\"100%\" mask=\"url(#hole)\" visibility=\"visible\"")));
}

}  // namespace html_test
}  // namespace headlight::figure
