// SPDX-License-Identifier: GPL-3.0-or-later
// Files of one and of two columns of a journal: every view of the list fits its page.
#include "figure/export/export_page.h"
#include "figure/table/table_figure.h"
#include "headlight/figure/core/view_spec.h"
#include "tests/figure/novella.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace headlight::figure {
namespace page_test {

ExportOptions of_width(double mm) {
    ExportOptions options;
    options.width_mm = mm;
    return options;
}

QSizeF size_mm(Figure& figure, const ExportOptions& options, const Provenance& provenance = {}) {
    const Page page(figure, {}, provenance, options, {});
    return page.size * page.mm_per_px;
}

TEST(Page, EveryViewFitsOneAndTwoColumns) {
    const trace::CapturePlan plan{.globs = {}, .overview = {.pooled = true, .numbers = true}};
    const TracePtr a = novella("The doctor asked the nurse a question. She asked the doctor why, and the doctor answered her",
                               plan),
                   b = novella("The farmer asked the teacher a question. He asked the farmer why, and the farmer answered him",
                               plan);
    for (const ViewSpec& spec : view_specs()) {
        Request request;
        request.view = spec.id;
        request.layer = Layer(3), request.heads = {Head(1)}, request.query = Position(9);
        if (spec.compares) request.beside = beside(a, b);
        if (!why_missing(spec, *a, request).empty()) continue;
        const auto figure = make_figure(a, request);
        for (const double width : {85.0, 178.0}) {
            const QSizeF size = size_mm(*figure, of_width(width), provenance_of(*a, request, "svg"));
            EXPECT_LE(size.height(), page_height_mm + 0.01) << spec.id << " at " << width << " mm";
            EXPECT_NEAR(size.width(), width, 0.01) << spec.id << ": no narrower, its type would be smaller still";
        }
    }
}

std::unique_ptr<Figure> list_of(std::size_t rows) {
    TableSection section;
    section.title = QStringLiteral("A list");
    section.columns = {table_column(ColumnKind::text, "name", "name"), table_column(ColumnKind::bar, "value", "value")};
    for (std::size_t i = 0; i < rows; ++i)
        section.rows.push_back({{TableCell::of(QStringLiteral("row")), TableCell::of(1.0 / double(i + 1))}, {}, {}, {}});
    return table_figure(one_section("list", std::move(section)));
}

TEST(Page, ListsShowAsManyRowsAsFitAndFilesOfDataAll) {
    const auto list = list_of(400);
    ExportOptions options = of_width(85);
    const double whole = size_mm(*list, options).height();
    EXPECT_LE(whole, page_height_mm);
    EXPECT_GT(whole, 0.9 * page_height_mm) << "one more row would not fit";
    EXPECT_EQ(list->table().rows.size(), 400U);
    options.list_rows = 10;
    const double ten = size_mm(*list, options).height();
    EXPECT_LT(ten, 0.5 * whole);
    const auto shorter = list_of(10);
    EXPECT_NEAR(size_mm(*shorter, options).height(), ten, 8) << "but for the note that there are more";
    options.width_mm.reset();
    options.list_rows.reset();
    const Page page(*list, {}, {}, options, {});
    EXPECT_GT(page.size.height(), 400 * 20) << "a picture without a physical width has no page";
}

TEST(Page, AChosenHeightIsNoPage) {
    const auto list = list_of(400);
    ExportOptions options = of_width(178);
    options.size_px.setHeight(3000);
    EXPECT_GT(size_mm(*list, options).height(), page_height_mm);
}

}  // namespace page_test
}  // namespace headlight::figure
