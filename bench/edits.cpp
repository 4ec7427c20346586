// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/bench.h"
#include "cli/offscreen.h"
#include "headlight/analyze/heads/head_table.h"
#include "headlight/figure/core/request.h"
#include "headlight/intervention/recipe/run.h"
#include "headlight/intervention/recipe/words.h"
#include "headlight/trace/shared_rows.h"

#include <QImage>
#include <QPainter>

namespace headlight::bench {
namespace {

/// A weight that is dragged: another value at each step, in a head of one layer.
class Drag {
public:
    Drag(const Subject& s, std::int64_t tokens, std::shared_ptr<const trace::Trace> unedited)
        : subject_(s),
          tokens_(tokens),
          unedited_(std::move(unedited)),
          sources_(std::make_shared<intervention::Sources>(s.model, s.tokenizer, s.prompt(tokens))) {}

    std::shared_ptr<const trace::Trace> step(std::int64_t layer, bool whole) {
        sources_->set_unedited(whole ? nullptr : unedited_);
        intervention::Recipe recipe;
        const std::string edge = std::to_string(tokens_ / 2) + "<-" + std::to_string(tokens_ / 4);
        value_ = value_ > 0.9 ? 0.05 : value_ + 0.01;
        recipe.edits.push_back(
            intervention::parse_edit("set L" + std::to_string(layer) + "H3 " + edge + " " + std::to_string(value_)));
        return intervention::run_recipe(*sources_, recipe, {}, subject_.cancel);
    }
    /// What the window does with it: the measures of its heads against those of the unedited run, and the map of a later head.
    void show(const std::shared_ptr<const trace::Trace>& b) {
        analyze::head_table(*b);
        figure::ViewState state;
        state.view = "matrix";
        state.beside = figure::beside(unedited_, b);
        state.side = figure::Side::b;
        state.layer = Layer(b->config().n_layers - 1);
        state.heads = {Head(0)};
        const auto made = figure::make_figure(unedited_, state);
        QImage image(1440, 900, QImage::Format_ARGB32_Premultiplied);
        figure::Style style;
        figure::Selection selection;
        selection.layer = state.layer;
        selection.focus = state.focus();
        made->layout(image.size(), style, selection);
        QPainter painter(&image);
        made->paint(painter, QRectF(QPointF(), image.size()), style, selection);
    }

private:
    const Subject& subject_;
    std::int64_t tokens_;
    std::shared_ptr<const trace::Trace> unedited_;
    std::shared_ptr<intervention::Sources> sources_;
    double value_ = 0.05;
};

}  // namespace

Results edits(const Subject& s) {
    Results found;
    const cli::Offscreen offscreen;
    const std::int64_t last = s.model->config().n_layers - 1;
    for (const std::int64_t n : s.lengths({64})) {
        const auto unedited = trace::run(s.model, s.tokenizer, s.prompt(n), {}, s.cancel);
        Drag drag(s, n, unedited);
        std::shared_ptr<const trace::Trace> b;
        const auto run = [&](std::int64_t layer, bool whole) { return [&, layer, whole] { b = drag.step(layer, whole); }; };
        const auto show = [&] { drag.show(b); };
        const std::vector<double> ms =
            warm_in_turns(s, {run(0, true), run(0, false), show, run(last / 2, false), show, run(last, false), show});
        found.push_back({n, "edited, a whole run", ms[0], "ms"});
        const char* names[] = {"first layer", "middle layer", "last layer"};
        for (std::size_t i = 0; i < 3; ++i) {
            found.push_back({n, std::string("edit of the ") + names[i], ms[1 + 2 * i], "ms"});
            found.push_back({n, std::string("shown, edit of the ") + names[i], ms[2 + 2 * i], "ms"});
        }
    }
    return found;
}

Results typing(const Subject& s) {
    Results found;
    for (const std::int64_t n : s.lengths({500, 2000})) {
        const auto earlier = s.run(n - 1, {});
        const trace::Prompt prompt = s.prompt(n);
        const std::vector<double> ms =
            warm_in_turns(s, {[&] { trace::run(s.model, s.tokenizer, prompt, {}, s.cancel); },
                              [&] { trace::run_after(earlier, s.model, s.tokenizer, prompt, {}, s.cancel); }});
        found.push_back({n, "a whole run", ms[0], "ms"});
        found.push_back({n, "the last word typed", ms[1], "ms"});
        found.push_back({n, "the last word typed, of a whole run", ms[1] / ms[0], ""});
    }
    return found;
}

}  // namespace headlight::bench
