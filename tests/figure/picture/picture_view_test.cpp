// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/picture/picture_views.h"

#include "figure/core/draw.h"
#include "figure/picture/picture_layout.h"
#include "headlight/analyze/pattern/aggregate.h"
#include "headlight/base/error.h"
#include "headlight/figure/core/view_spec.h"
#include "headlight/figure/export/export.h"
#include "headlight/figure/picture/picture_file.h"
#include "headlight/io/safetensors.h"
#include "headlight/trace/trace.h"
#include "tests/figure/painting.h"
#include "tests/support/temp_folder.h"

#include <gtest/gtest.h>

#include <set>

namespace headlight::figure {
namespace picture_view_test {

const std::string kTests = std::string(HEADLIGHT_SOURCE_DIR) + "/tests/";
const Style style;

TracePtr trace_of(const std::string& name) {
    const std::string folder = kTests + "fixtures/models/" + name, file = kTests + "fixtures/pictures/shapes.png";
    return trace::run(model::Model::load(folder), trace::load_tokenizer(folder), {.image = file, .picture = read_picture(file)});
}

ViewState state_of(const std::string& view, const trace::Trace& trace) {
    ViewState state;
    state.view = view;
    for (std::int64_t h = 0; h < (view_spec(view).needs.focus ? 1 : trace.config().n_heads); ++h) state.heads.emplace_back(h);
    return state;
}

TEST(PictureFile, PixelsAndErrors) {
    const auto picture = read_picture(kTests + "fixtures/pictures/shapes.png");
    EXPECT_EQ(picture->width, 32);
    EXPECT_EQ(picture->height, 24);
    const QImage image = image_of(*picture);
    EXPECT_EQ(qRed(image.pixel(31, 20)), picture->rgb[(20 * 32 + 31) * 3]);
    EXPECT_THROW(read_picture(kTests + "fixtures/pictures/none.png"), Error);
    EXPECT_THROW(read_picture(kTests + "fixtures/models/vit/config.json"), Error);
}

// As Pillow has it, upright. Two decoders of JPEG may round a colour apart.
TEST(PictureFile, AJpegOnItsSideStandsUpright) {
    const auto picture = read_picture(kTests + "fixtures/pictures/turned.jpg");
    const io::TensorStore golden = io::TensorStore::open_file(kTests + "golden/turned.safetensors");
    const io::TensorView& expected = *golden.find("picture");
    ASSERT_EQ(expected.shape, (std::vector<std::int64_t>{picture->height, picture->width, 3}));
    EXPECT_GT(picture->height, picture->width);
    int apart = 0;
    for (std::size_t i = 0; i < picture->rgb.size(); ++i)
        apart = std::max(apart, std::abs(int(picture->rgb[i]) - int(expected.bytes[i])));
    EXPECT_LE(apart, 2);
}

TEST(PictureLayout, PanelsAreLargestThatAreAllInSight) {
    for (const std::int64_t panels : {1, 2, 5, 13, 25}) {
        const PictureLayout l = picture_layout(panels, 4.0 / 3, {1000, 700});
        for (std::int64_t i = 0; i < panels; ++i) {
            EXPECT_LE(l.picture(i).right(), 1000 - PictureLayout::margin + 0.5) << panels;
            EXPECT_NEAR(l.panel.width() / l.panel.height(), 4.0 / 3, 0.05);
            for (std::int64_t j = 0; j < i; ++j) EXPECT_FALSE(l.picture(i).intersects(l.picture(j)));
        }
        EXPECT_GE(l.panel.width(), PictureLayout::narrowest * 0.9) << panels;
        if (panels <= 5) {
            EXPECT_LE(l.size.height(), 701) << panels;
        }
    }
}

TEST(PictureView, TableHoldsTheRowOfTheQuery) {
    const TracePtr trace = trace_of("vit");
    const auto figure = picture_view(trace, Layer(1), {Head(0), Head(2)}, Position(5), {}, {});
    const analyze::Matrix pattern = analyze::pattern(*trace, {Layer(1), Head(2)}, {});
    const Table t = figure->table();
    ASSERT_EQ(t.rows.size(), 2u * 13u);
    for (std::int64_t key = 0; key < 13; ++key) {
        const auto& row = t.rows[static_cast<std::size_t>(13 + key)];
        EXPECT_EQ(std::get<std::string>(row[3]), "r2c1");
        EXPECT_FLOAT_EQ(static_cast<float>(std::get<double>(row[8])), pattern(5, key));
        if (key > 0) {
            EXPECT_EQ(std::get<std::int64_t>(row[6]), (key - 1) / 4 + 1);
            EXPECT_EQ(std::get<std::int64_t>(row[7]), (key - 1) % 4 + 1);
        }
    }
    const auto arrays = figure->arrays();
    EXPECT_EQ(arrays[0].shape, (std::vector<std::int64_t>{2, 3, 4}));
    EXPECT_FLOAT_EQ(arrays[0].values.back(), pattern(5, 12));
    EXPECT_FLOAT_EQ(arrays[1].values.back(), pattern(5, 0));
}

TEST(PictureView, MeanAndRolloutAreTheAnalyses) {
    const TracePtr trace = trace_of("deit");
    const std::vector<Head> heads = {Head(0), Head(1), Head(2), Head(3)};
    const auto mean = picture_view(trace, Layer(0), heads, Position(0), {}, {.what = PictureViewOptions::What::mean});
    std::vector<HeadId> ids;
    for (const Head h : heads) ids.push_back({Layer(0), h});
    const analyze::Matrix expected = analyze::aggregate_pattern(*trace, ids, analyze::Aggregate::mean);
    EXPECT_FLOAT_EQ(mean->arrays()[0].values.front(), expected(0, 2));
    EXPECT_EQ(mean->arrays()[1].values.size(), 2u);
    const auto rollout = picture_view(trace, Layer(1), heads, Position(0), {}, {.what = PictureViewOptions::What::rollout});
    double sum = 0;
    for (const auto& array : rollout->arrays())
        for (const float value : array.values) sum += value;
    EXPECT_NEAR(sum, 1, 1e-5);
}

TEST(PictureView, APatchIsPointedAtWhereItIsPainted) {
    const TracePtr trace = trace_of("vit");
    const auto figure = picture_view(trace, Layer(0), {Head(0), Head(1)}, Position(0), {}, {});
    figure->layout({900, 500}, style, {});
    const PictureLayout l = picture_layout(3, 4.0 / 3, {900, 500});
    const QRectF second = l.picture(2);
    const QPointF at = second.topLeft() + QPointF(second.width() * 0.9, second.height() * 0.5);
    const Hit hit = figure->hit_test(at, style, {});
    EXPECT_EQ(hit.kind, Hit::Kind::query);
    EXPECT_EQ(hit.query->value, 1 + 1 * 4 + 3);
    EXPECT_FLOAT_EQ(static_cast<float>(*hit.value), analyze::pattern(*trace, {Layer(0), Head(1)}, {})(0, 8));
    EXPECT_TRUE(hit.tip.contains(QStringLiteral("r2c4")));
    EXPECT_TRUE(hit.area.contains(at));
    EXPECT_EQ(figure->hit_test(l.caption_of(1).topLeft() + QPointF(3, 12), style, {}).head, (HeadId{Layer(0), Head(0)}));
}

TEST(PictureView, SquaresAreOfTheClassTokensThereAre) {
    const test::TempFolder folder;
    const auto svg_of = [&](const std::string& name) {
        const auto figure = picture_view(trace_of(name), Layer(0), {Head(0)}, Position(0), {}, {});
        ExportOptions output;
        output.size_px = figure->layout({900, 600}, style, {});
        export_figure(*figure, {}, {}, output, folder / "picture.svg");
        return test::slurp(folder / "picture.svg");
    };
    EXPECT_NE(svg_of("vit").find("square above: weight on [CLS]"), std::string::npos);
    EXPECT_NE(svg_of("dinov2-registers").find("weight on [CLS], [REG1], [REG2], [REG3], and their sum"), std::string::npos);
    EXPECT_EQ(svg_of("siglip").find("above"), std::string::npos);

    const analyze::Matrix pattern = analyze::pattern(*trace_of("dinov2-registers"), {Layer(0), Head(0)}, {});
    double sum = 0;
    for (Eigen::Index key = 0; key < 4; ++key) sum += static_cast<double>(pattern(0, key));
    EXPECT_NE(svg_of("dinov2-registers").find(">" + draw::weight_text(sum).toStdString() + "<"), std::string::npos) << sum;
}

/// Every view either says why a picture has none of it, or draws.
TEST(PictureView, EveryViewIsThereOrSaysWhy) {
    for (const char* name : {"vit-base", "deit", "dinov2-registers", "dinov3", "siglip"}) {
        const TracePtr trace = trace_of(name);
        std::set<std::string> drawn;
        for (const ViewSpec& spec : view_specs()) {
            SCOPED_TRACE(std::string(name) + " " + spec.id);
            if (spec.missing && !spec.missing(*trace).empty()) continue;
            try {
                const auto figure = make_figure(trace, state_of(spec.id, *trace));
                const QSizeF size = figure->layout({900, 600}, style, {});
                painted_part(*figure, size.boundedTo({1200, 1200}), QRectF({}, size), style);
                drawn.insert(spec.id);
            } catch (const Error& error) {
                ADD_FAILURE() << error.what();
            }
        }
        for (const char* view : {"picture", "head", "matrix", "model", "neuron", "focus", "rollout", "architecture"})
            EXPECT_TRUE(drawn.contains(view)) << view;
        EXPECT_EQ(drawn.contains("lens"), trace->config().has_unembedding);
    }
}

TEST(PictureView, ATextHasNone) {
    const std::string folder = kTests + "fixtures/models/bert";
    const TracePtr text = trace::run(model::Model::load(folder), trace::load_tokenizer(folder), {.text = "the cat"});
    EXPECT_THROW(make_figure(text, state_of("picture", *text)), Error);
}

}  // namespace picture_view_test
}  // namespace headlight::figure
