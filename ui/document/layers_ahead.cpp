// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/document/layers_ahead.h"

#include "headlight/trace/remade.h"

#include <sys/resource.h>
#include <unistd.h>

namespace headlight::ui {

LayersAhead::LayersAhead(Document& document, Jobs& jobs, QObject* parent) : QObject(parent), document_(document), jobs_(jobs) {
    connect(&jobs_, &Jobs::finished, this, [this](Jobs::Lane lane) {
        if (lane != Jobs::Lane::ahead) look();
    });
    connect(&document_.selection(), &SelectionModel::changed, this, [this](bool hover_only) {
        if (!hover_only) selection_moved();
    });
}

void LayersAhead::selection_moved() {
    if (document_.selection().get().layer.value == made_beside_) return;
    made_beside_ = -1;
    jobs_.cancel(Jobs::Lane::ahead);
}

void LayersAhead::look() {
    const std::shared_ptr<const trace::Trace> trace = document_.trace();
    if (!jobs_.idle() || !trace || !trace::remade_now(*trace).any) return;
    const std::int64_t layer = document_.selection().get().layer.value;
    if (made_of_.lock() == trace && made_beside_ == layer) return;
    made_of_ = trace;
    made_beside_ = layer;
    jobs_.start(Jobs::Lane::ahead, {}, [this, trace, layer](const CancelToken&, const Progress&) -> Jobs::Deliver {
        constexpr int behind_others = 10;
        ::setpriority(PRIO_PROCESS, id_t(::gettid()), behind_others);  // of this lane's thread, and of those that it starts
        try {
            for (const std::int64_t beside : {layer + 1, layer - 1}) trace::make_ahead(*trace, Layer(beside));
        } catch (const Cancelled&) {  // another layer is read: go on when nothing is computed any more
            return [this] {
                made_beside_ = -1;
                look();
            };
        }
        return {};
    });
}

}  // namespace headlight::ui
