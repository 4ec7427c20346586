// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/document/session.h"
#include "ui/style/form.h"
#include "ui/style/popover.h"

namespace headlight::ui {

/// The options that are not in the row above the map: the choice of texts, of vectors, and their scale.
class MapOptionsPopover : public Popover {
    Q_OBJECT
public:
    explicit MapOptionsPopover(QWidget* parent = nullptr);

    void show_order(const MapOrder&);
    void read_into(MapOrder&) const;
    /// Sets the model's attentions to choose from, and whether it rotates.
    void bound_to(bool two_texts, bool rotary);

Q_SIGNALS:
    void changed();

private:
    Form<MapOrder>* form_;
};

}  // namespace headlight::ui
