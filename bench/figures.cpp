// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/bench.h"
#include "cli/offscreen.h"
#include "figure/plot/plot_data.h"
#include "headlight/figure/pattern/pattern_views.h"

#include <QImage>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

namespace headlight::bench {
namespace {

using namespace figure;

constexpr int kFramesOfAMove = 24;

/// A canvas like the window's: shows a part of a figure at a zoom, and finds the mark under the pointer.
class Canvas {
public:
    QSizeF size() const { return image_.size(); }
    Style& style() { return style_; }
    Selection& selection() { return selection_; }

    void show(Figure& figure, QPointF corner = {0, 0}) {
        image_.fill(style_.theme->canvas);
        QPainter painter(&image_);
        painter.scale(style_.zoom, style_.zoom);
        painter.translate(-corner);
        figure.paint(painter, QRectF(corner, size() / style_.zoom), style_, selection_);
    }
    /// Until nothing better is on its way.
    void settle(Figure& figure, QPointF corner) {
        do {
            show(figure, corner);
            if (const Sharpening work = figure.sharpening()) work({})();
        } while (figure.refining());
    }
    void hover(Figure& figure, QPointF at, QPointF corner = {0, 0}) {
        const Hit hit = figure.hit_test(at, style_, selection_);
        selection_.hover_head = hit.head;
        selection_.hover_query = hit.query;
        selection_.hover_key = hit.key;
        show(figure, corner);
    }
    void unhover() { selection_.hover_head.reset(), selection_.hover_query.reset(), selection_.hover_key.reset(); }

private:
    QImage image_{1440, 900, QImage::Format_ARGB32_Premultiplied};
    Style style_;
    Selection selection_;
};

/// Makes each figure five times from nothing, then pans, zooms and hovers as the window does.
class Paints {
public:
    explicit Paints(TracePtr trace) : trace_(std::move(trace)) {
        const auto& config = trace_->config();
        focus_ = {Layer{config.n_layers / 2}, Head{config.n_heads / 2}};
        canvas_.selection().layer = focus_.layer;
        canvas_.selection().focus = focus_;
        for (std::int64_t h = 0; h < config.n_heads; ++h) all_.push_back(Head{h});
        canvas_.selection().heads = all_;
    }

    Results run() {
        model();
        head();
        matrix();
        neuron();
        mosaic();
        plots();
        return std::move(out_);
    }

private:
    using Make = std::function<std::unique_ptr<Figure>()>;

    /// The figure made and painted from nothing, five times; the last one is handed back.
    std::unique_ptr<Figure> first_paint(const std::string& view, const Make& make) {
        std::unique_ptr<Figure> figure;
        canvas_.style().zoom = 1;
        canvas_.unhover();
        timed(view + ", first paint", 5, [&](int) {
            figure.reset();  // its shared pixels go with it
            figure = make();
            size_ = figure->layout(canvas_.size(), canvas_.style(), canvas_.selection());
            canvas_.show(*figure);
        });
        return figure;
    }
    void frames(const std::string& view, const std::string& what, const std::function<void(int)>& step) {
        timed(view + ", " + what, kFramesOfAMove, step);
    }
    void timed(const std::string& what, int times, const std::function<void(int)>& step) {
        std::vector<double> ms;
        for (int i = 0; i < times; ++i) ms.push_back(milliseconds([&] { step(i); }));
        out_.push_back({trace_->tokens(), what, median(ms), "ms"});
        out_.push_back({trace_->tokens(), what + ", worst", *std::max_element(ms.begin(), ms.end()), "ms"});
    }
    /// Across the content along a diagonal.
    QPointF along(int i) const {
        const double t = (i + 0.5) / kFramesOfAMove;
        return {size_.width() * t, size_.height() * t};
    }
    void zoom_and_pan(const std::string& view, Figure& figure) {
        const QPointF middle(size_.width() * 0.45, size_.height() * 0.5);
        const auto corner = [&] {
            const QSizeF seen = canvas_.size() / canvas_.style().zoom;
            return middle - QPointF(seen.width() / 2, seen.height() / 2);
        };
        const double most = figure.max_zoom();
        frames(view, "zoom from all to one cell", [&](int i) {
            canvas_.style().zoom = std::pow(most, i / double(kFramesOfAMove - 1));
            canvas_.show(figure, corner());
        });
        for (const auto& [zoom, what] : {std::pair{2.0, "pan at 2x"},
                                         {std::min(12.0, most), "pan among maps with labels"},
                                         {most, "pan among single cells"}}) {
            canvas_.style().zoom = zoom;
            canvas_.settle(figure, corner());
            frames(view, what, [&](int i) { canvas_.show(figure, corner() + QPointF(7.0 * i, 5.0 * i) / zoom); });
        }
        canvas_.style().zoom = 1;
    }

    void model() {
        auto figure = first_paint("model", [&] { return model_view(trace_, {}, {}); });
        frames("model", "hover", [&](int i) { canvas_.hover(*figure, along(i)); });
        canvas_.unhover();
        ModelViewOptions detail;
        detail.detail = focus_;
        frames("model", "open and close the detail", [&](int i) {
            figure = model_view(trace_, {}, i % 2 ? ModelViewOptions{} : detail);
            figure->layout(canvas_.size(), canvas_.style(), canvas_.selection());
            canvas_.show(*figure);
        });
        zoom_and_pan("model", *figure);
    }
    void head() {
        auto figure = first_paint("head", [&] { return head_view(trace_, focus_.layer, all_, {}); });
        const double x = size_.width() * 0.12;
        frames("head", "jump a page", [&](int i) {
            canvas_.show(*figure, {0, std::max(0.0, along(i).y() - canvas_.size().height())});
        });
        constexpr double wheel = 60;  // pixels of a step of the mouse wheel
        canvas_.show(*figure);
        frames("head", "scroll", [&](int i) { canvas_.show(*figure, {0, wheel * i}); });
        canvas_.show(*figure);
        frames("head", "hover", [&](int i) { canvas_.hover(*figure, {x, 150 + 20.0 * i}); });
        canvas_.unhover();
    }
    void matrix() {
        auto figure = first_paint("matrix", [&] { return matrix_view(trace_, {focus_}, {}); });
        frames("matrix", "hover", [&](int i) { canvas_.hover(*figure, along(i)); });
        canvas_.unhover();
        zoom_and_pan("matrix", *figure);
    }
    void neuron() {
        const Position last{trace_->tokens() - 1};
        auto figure = first_paint("neuron", [&] { return neuron_view(trace_, focus_, last, {}); });
        frames("neuron", "scroll", [&](int i) {
            canvas_.show(*figure, {0, std::max(0.0, along(i).y() - canvas_.size().height())});
        });
        frames("neuron", "hover", [&](int i) { canvas_.hover(*figure, {300.0 + 10 * i, 150 + 20.0 * i}); });
        canvas_.unhover();
        frames("neuron", "another query", [&](int i) {
            figure = neuron_view(trace_, focus_, Position{std::max<std::int64_t>(0, last.value - i)}, {});
            figure->layout(canvas_.size(), canvas_.style(), canvas_.selection());
            canvas_.show(*figure);
        });
    }
    void mosaic() {
        const auto table = std::make_shared<const analyze::HeadTable>(analyze::head_table(*trace_));
        auto figure = first_paint("heads", [&] { return heads_mosaic(table, table->measures.front().id, {}); });
        frames("heads", "hover", [&](int i) { canvas_.hover(*figure, along(i)); });
        canvas_.unhover();
    }

    /// A cloud as large as a chapter's (one dot a token and head), and a scatter of a large model's heads.
    void plots() {
        const auto cloud = [](std::int64_t heads, std::int64_t marks, bool one_each) {
            plot::PlotData data;
            data.view = "plot";
            data.focus_fades = !one_each;
            plot::Series s;
            std::mt19937 random(1);
            for (std::int64_t i = 0; i < heads * marks; ++i) {
                s.x.push_back(double(random()) / 4294967296.0);
                s.y.push_back(double(random()) / 4294967296.0);
                const Head head(i % heads);
                s.heads.push_back(one_each ? HeadId{Layer(i / 32), Head(i % 32)} : HeadId{Layer(0), head});
                s.colors.push_back(plot::Color::of_head(s.heads.back().head));
                if (!one_each) s.queries.emplace_back(i / heads);
            }
            data.panels.emplace_back().series.push_back(std::move(s));
            return plot::plot_figure(std::move(data));
        };
        auto points = first_paint("plot", [&] { return cloud(16, 6250, false); });
        timed("plot, marks of 100,000 points beside the window", 1, [&](int) { canvas_.settle(*points, {}); });
        frames("plot", "brush 100,000 points", [&](int i) { canvas_.hover(*points, along(i)); });
        frames("plot", "find one of 100,000 points",
               [&](int i) { points->hit_test(along(i), canvas_.style(), canvas_.selection()); });
        auto heads = first_paint("plot", [&] { return cloud(1000, 1, true); });
        frames("plot", "brush 1,000 heads", [&](int i) { canvas_.hover(*heads, along(i)); });
        canvas_.unhover();
    }

    TracePtr trace_;
    Canvas canvas_;
    HeadId focus_;
    std::vector<Head> all_;
    QSizeF size_;
    Results out_;
};

}  // namespace

Results figures(const Subject& s) {
    const cli::Offscreen offscreen;
    Results found;
    for (const std::int64_t n : s.lengths({1024})) {
        const Results more = Paints(s.run(n)).run();
        found.insert(found.end(), more.begin(), more.end());
    }
    return found;
}

}  // namespace headlight::bench
