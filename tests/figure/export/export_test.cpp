// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/figure/export/export.h"

#include "figure/pattern/matrix/matrix_view.h"
#include "figure/table/stacked_figure.h"
#include "headlight/base/error.h"
#include "headlight/io/npz.h"
#include "tests/figure/synthetic.h"
#include "tests/support/temp_folder.h"

#include <gmock/gmock.h>

#include <QImageReader>
#include <QXmlStreamReader>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <sstream>

namespace headlight::figure {
namespace export_test {

namespace fs = std::filesystem;

class Export : public testing::Test {
protected:
    void SetUp() override {
        selection_.layer = Layer(4);
        selection_.heads = {Head(1)};
        selection_.pinned_queries = {Position(3)};
        provenance_ = {.model = "tiny & <co>",
                       .model_hash = "0123456789abcdef",
                       .text = "a \"b\" %1\n##c",
                       .pair = "",
                       .dtype = "float32",
                       .version = "0.1.0",
                       .image = "",
                       .options = {{"view", "head"}, {"layer", "4"}},
                       .command = "headlight render tiny --view head"};
    }

    std::string exported(const std::string& name, const ExportOptions& options = {}) {
        HeadViewData data = synthetic::heads(6, 2, [](int h, int i, int j) {
            return j > i ? 0.F : h == 1 && j == 0 ? 0.5F : 0.5F / static_cast<float>(i + 1);
        });
        data.axes.queries[3].label = data.axes.keys[3].label = token_.toStdString();
        const auto figure = head_figure(std::move(data));
        export_figure(*figure, selection_, provenance_, options, folder_ / name);
        return test::slurp(folder_ / name);
    }

    static ExportOptions wide(double mm) {
        ExportOptions options;
        options.width_mm = mm;
        return options;
    }

    const test::TempFolder folder_;
    Selection selection_;
    Provenance provenance_;
    QString token_ = QStringLiteral("·doctor");
};

using testing::HasSubstr;
using testing::Not;

TEST_F(Export, EveryFormatIsByteIdenticalTheSecondTime) {
    for (const char* extension : {"png", "svg", "pdf", "csv", "json", "npz"}) {
        const std::string first = exported(std::string("a.") + extension), second = exported(std::string("b.") + extension);
        EXPECT_GT(first.size(), 100U) << extension;
        EXPECT_TRUE(first == second) << extension;
    }
}

TEST_F(Export, SvgHasTextAsTextOpacityAndProvenance) {
    const std::string svg = exported("a.svg", wide(178));
    EXPECT_THAT(svg, HasSubstr(">·doctor</text>"));
    EXPECT_THAT(svg, HasSubstr("width=\"178mm\""));
    EXPECT_THAT(svg, HasSubstr("stroke-opacity=\"0.5000"));
    EXPECT_THAT(svg, HasSubstr("tiny &amp; &lt;co&gt;"));
    EXPECT_THAT(svg, Not(HasSubstr("<image"))) << "lines are lines";
    // a number is one element, its digits placed one by one
    EXPECT_THAT(svg, testing::ContainsRegex("<text x=\"[0-9.]+ [0-9.]+ [0-9.]+ [0-9.]+ [0-9.]+\" [^>]*>0.500</text>"));
    QXmlStreamReader reader(QByteArray::fromStdString(svg));
    QString metadata;
    while (!reader.atEnd())
        if (reader.readNext() == QXmlStreamReader::StartElement && reader.name() == QLatin1String("metadata"))
            metadata = reader.readElementText();
    EXPECT_FALSE(reader.hasError()) << reader.errorString().toStdString();
    EXPECT_EQ(nlohmann::json::parse(metadata.toStdString())["text"], provenance_.text);
}

TEST_F(Export, SvgAndXmpAreXmlWhateverTheTextHolds) {
    const std::u16string hostile =
        u"a\x01\x1b[0m\uFFFE\uFFFF\x0b]]></text><b>&\"\n\r" + std::u16string{u'\0', 0xD800, u'x', 0xDC00} + u"😀";
    token_ = QString::fromStdU16String(hostile);
    provenance_.text = provenance_.pair = token_.toStdString() + "\xEF\xBF\xBE";
    provenance_.command += provenance_.text;
    const std::string svg = exported("a.svg"), pdf = exported("a.pdf");
    const auto packet = pdf.find("<?xpacket begin"), end = pdf.find("<?xpacket end", packet);
    ASSERT_LT(packet, end);
    for (const std::string& xml : {svg, pdf.substr(packet, end - packet)}) {
        QXmlStreamReader reader(QByteArray::fromStdString(xml));
        QString text;
        while (!reader.atEnd())
            if (reader.readNext() == QXmlStreamReader::Characters) text += reader.text();
        EXPECT_FALSE(reader.hasError()) << reader.errorString().toStdString() << " in " << reader.lineNumber();
        EXPECT_TRUE(text.contains(QStringLiteral("]]></text><b>&"))) << text.toStdString();
        EXPECT_TRUE(text.contains(QStringLiteral("😀")));
    }
}

TEST_F(Export, PdfHasFontsAndNoClock) {
    const std::string pdf = exported("a.pdf", wide(85));
    for (const char* part : {"/CreationDate (D:20000101000000", "/FontFile", "/ToUnicode", "/CA 0.5", "headlight render tiny"})
        EXPECT_NE(pdf.find(part), std::string::npos) << part;
    // Qt keeps pages to whole points
    const auto box = pdf.find("/MediaBox [0 0 ");
    ASSERT_NE(box, std::string::npos);
    EXPECT_NEAR(std::stod(pdf.substr(box + 15)), 85 / 25.4 * 72, 0.5);
}

TEST_F(Export, PngHasSizeTextAndTransparency) {
    ExportOptions options;
    options.size_px = {700, 0};
    options.scale = 3;
    options.transparent = true;
    exported("a.png", options);
    QImageReader reader(QString::fromStdString((folder_ / "a.png").string()));
    const QImage image = reader.read();
    EXPECT_EQ(image.width(), 2100);
    EXPECT_EQ(qAlpha(image.pixel(image.width() - 2, 2)), 0);
    EXPECT_EQ(image.text(QStringLiteral("Software")), QStringLiteral("Headlight 0.1.0"));
    const auto provenance = nlohmann::json::parse(image.text(QStringLiteral("Provenance")).toStdString());
    EXPECT_EQ(provenance["model"], provenance_.model);
    EXPECT_EQ(provenance["options"]["layer"], "4");
}

TEST_F(Export, TallPicturesArePaintedInBandsWithoutSeams) {
    const auto figure = head_figure(synthetic::heads(400, 1, [](int, int i, int j) { return j == 0 || i == j ? 0.5F : 0.F; }));
    ExportOptions options;
    options.footer = false;
    options.scale = 1;
    options.size_px = {600, 0};
    const QImage banded = export_image(*figure, {}, provenance_, options);
    ASSERT_GT(banded.height(), 4096 + 500);
    // the same in one go
    QImage whole(banded.size(), QImage::Format_RGB32);
    whole.fill(Qt::white);
    QPainter painter(&whole);
    Style style;
    style.exporting = true;
    figure->paint(painter, QRectF(QPointF(0, 0), figure->layout({600, 0}, style, {})), style, {});
    painter.end();
    for (int y = 4000; y < 4200; ++y)
        for (int x = 0; x < whole.width(); ++x) {
            const QColor a = banded.pixelColor(x, y), b = whole.pixelColor(x, y);
            ASSERT_LE(std::abs(a.red() - b.red()) + std::abs(a.green() - b.green()), 4) << x << ' ' << y;
        }
}

TEST_F(Export, CsvQuotesTokensAndCarriesProvenanceInOneLine) {
    const std::string csv = exported("a.csv");
    std::istringstream lines(csv);
    std::string comment, header, row;
    std::getline(lines, comment), std::getline(lines, header), std::getline(lines, row);
    EXPECT_EQ(nlohmann::json::parse(comment.substr(2))["text"], provenance_.text);
    EXPECT_EQ(header, "layer,head,query,query_token,key,key_token,weight,opacity");
    EXPECT_EQ(row, "4,1,0,\"t0\",0,\"t0\",0.5,0.5");
}

TEST_F(Export, JsonHoldsTheTable) {
    const auto json = nlohmann::json::parse(exported("a.json"));
    EXPECT_EQ(json["view"], "head");
    EXPECT_EQ(json["rows"].size(), 21U);
    EXPECT_EQ(json["rows"][0][3], "t0");
    EXPECT_EQ(json["provenance"]["generator"], "Headlight 0.1.0");
}

TEST_F(Export, DataFilesNameTokensAndHoldWholeNumbersAsSuch) {
    provenance_.tokens = {{"t0", "Ġ…", "\xFF"}, {7, 50'000'000'001, 9}};
    exported("a.npz");
    const io::NpzContent npz = io::read_npz(folder_ / "a.npz");
    EXPECT_EQ(npz.texts.at("tokens"), (std::vector<std::string>{"t0", "Ġ…", "\uFFFD"}));
    for (const char* name : {"token_ids", "heads", "query_positions", "key_positions"})
        EXPECT_EQ(npz.arrays.at(name).dtype, io::DType::I64) << name;
    std::int64_t id = 0;
    std::memcpy(&id, npz.arrays.at("token_ids").bytes.data() + 8, 8);
    EXPECT_EQ(id, 50'000'000'001) << "no float32 holds it";
    const std::string csv = exported("a.csv");
    const auto comment = nlohmann::json::parse(csv.substr(2, csv.find('\n') - 2));
    EXPECT_EQ(comment["tokens"][1], "Ġ…");
    EXPECT_EQ(comment["token_ids"][0], 7);
    EXPECT_THAT(exported("a.svg"), Not(HasSubstr("token_ids"))) << "pictures name their text alone";
}

TEST_F(Export, ACancelledExportEndsAndLeavesNothing) {
    CancelToken cancelled;
    cancelled.cancel();
    const auto figure = head_figure(synthetic::heads(6, 2, [](int, int, int) { return 0.2F; }));
    for (const char* name : {"c.png", "c.svg", "c.pdf", "c.csv"}) {
        EXPECT_THROW(export_figure(*figure, selection_, provenance_, {}, folder_ / name, cancelled), Cancelled) << name;
        EXPECT_FALSE(fs::exists(folder_ / name)) << name;
    }
}

TEST_F(Export, TheSmallestTypeGrowsWithTheWidthUntilTheFigureFits) {
    const auto figure = head_figure(synthetic::heads(6, 2, [](int, int, int) { return 0.2F; }));
    const double narrow = smallest_type(*figure, selection_, provenance_, wide(30)),
                 wider = smallest_type(*figure, selection_, provenance_, wide(60)),
                 page = smallest_type(*figure, selection_, provenance_, wide(200));
    EXPECT_GT(narrow, 1);
    EXPECT_GT(wider, 1.5 * narrow);
    EXPECT_GT(page, wider);
    const auto found = width_for_type(*figure, selection_, provenance_, wide(30), 5);
    ASSERT_TRUE(found);
    EXPECT_GE(smallest_type(*figure, selection_, provenance_, wide(*found)), 4.98);
    EXPECT_FALSE(width_for_type(*figure, selection_, provenance_, wide(30), 40)) << "no width has type this large";
}

/// As wide as there is room, within limits.
class Blank final : public Figure {
public:
    Blank(double least, double most) : least_(least), most_(most) {}
    std::string view() const override { return "blank"; }
    QString title() const override { return QStringLiteral("Blank"); }
    QString description() const override { return {}; }
    QSizeF layout(QSizeF room, const Style&, const Selection&) override {
        width = std::clamp(room.width(), least_, most_);
        return {width, 100};
    }
    void paint(QPainter&, const QRectF&, const Style&, const Selection&) const override {}
    Hit hit_test(QPointF, const Style&, const Selection&) const override { return {}; }
    Table table() const override { return {}; }
    std::vector<NamedArray> arrays() const override { return {}; }
    double width = 0;

private:
    double least_, most_;
};

TEST_F(Export, TheFooterOfANarrowFigureHasRoomForAllItsLines) {
    provenance_.text = std::string(200, 'w');
    const auto size = [&](double width) {
        Blank narrow(100, 200);
        ExportOptions options;
        options.size_px = {width, 0};
        return export_image(narrow, selection_, provenance_, options).size();
    };
    EXPECT_EQ(size(900), size(200));
}

TEST_F(Export, PartsOfAPageAreAsWideAsTheWidest) {
    StackedParts parts{.view = "blank", .title = {}, .description = {}, .parts = {}, .table = {}, .arrays = {}};
    auto plot = std::make_unique<Blank>(100, 2000), table = std::make_unique<Blank>(530, 530);
    const Blank& first = *plot;
    parts.parts.push_back(std::move(plot));
    parts.parts.push_back(std::move(table));
    const auto page = stacked_figure(std::move(parts));
    EXPECT_EQ(page->layout({320, 0}, {}, {}), QSizeF(530, 200));
    EXPECT_EQ(first.width, 530);
    EXPECT_EQ(page->layout({800, 0}, {}, {}), QSizeF(800, 200));
    EXPECT_EQ(first.width, 800);
}

TEST_F(Export, NothingIsLeftWhenTheFolderIsMissing) {
    const auto figure = head_figure(synthetic::heads(3, 1, [](int, int, int) { return 0.5F; }));
    EXPECT_THROW(export_figure(*figure, {}, provenance_, {}, folder_ / "missing" / "a.svg"), Error);
    EXPECT_FALSE(fs::exists(folder_ / "missing"));
}

TEST_F(Export, UnknownFormatsAndSizesAreRefusedByName) {
    EXPECT_THROW(format_of("figure.bmp"), Error);
    EXPECT_THROW(format_of("figure"), Error);
    EXPECT_EQ(format_of("a/b.PDF"), Format::pdf);
    const auto figure = head_figure(synthetic::heads(3, 1, [](int, int, int) { return 0.5F; }));
    for (double width : {-5.0, 90'000.0}) {
        ExportOptions options;
        options.size_px = {width, 0};
        EXPECT_THROW(export_image(*figure, {}, provenance_, options), Error) << width;
    }
}

TEST_F(Export, MatrixBecomesRectanglesInVectorFiles) {
    MatrixViewData data;
    const HeadViewData source =
        synthetic::heads(6, 1, [](int, int i, int j) { return j > i ? 0.F : 1.F / static_cast<float>(i + 1); });
    data.heads = {{Layer(4), Head(0)}};
    data.weights = source.weights;
    data.axes = source.axes;
    const auto figure = matrix_figure(std::move(data));
    export_figure(*figure, {}, provenance_, {}, folder_ / "m.svg");
    const std::string svg = test::slurp(folder_ / "m.svg");
    EXPECT_THAT(svg, Not(HasSubstr("<image")));
    EXPECT_THAT(svg, HasSubstr(">t5</text>"));
}

}  // namespace export_test
}  // namespace headlight::figure
