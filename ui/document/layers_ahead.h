// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/document/document.h"
#include "ui/jobs/jobs.h"

#include <QObject>

#include <memory>

namespace headlight::ui {

/// Makes the layers next to the selected one while nothing else is computed, so that they are there when the selection moves. For
/// runs that make layers anew when something reads them. Ends when the selection moves; goes on later where something else reads
/// a layer meanwhile.
class LayersAhead : public QObject {
    Q_OBJECT
public:
    LayersAhead(Document&, Jobs&, QObject* parent);

private:
    void selection_moved();
    void look();

    Document& document_;
    Jobs& jobs_;
    std::weak_ptr<const trace::Trace> made_of_;  ///< the run and the layer that the last job was beside
    std::int64_t made_beside_ = -1;
};

}  // namespace headlight::ui
