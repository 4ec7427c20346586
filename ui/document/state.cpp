// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/document/state.h"

#include <QCoreApplication>

namespace headlight::ui {

QString view_title(View view) {
    switch (view) {
        case View::head: return QCoreApplication::translate("View", "Head");
        case View::matrix: return QCoreApplication::translate("View", "Matrix");
        case View::model: return QCoreApplication::translate("View", "Model");
        case View::neuron: return QCoreApplication::translate("View", "Neuron");
    }
    return {};
}

std::string view_name(View view) {
    switch (view) {
        case View::head: return "head";
        case View::matrix: return "matrix";
        case View::model: return "model";
        case View::neuron: return "neuron";
    }
    return {};
}

std::optional<View> view_of(const std::string& name) {
    for (const View view : all_views) {
        if (view_name(view) == name) return view;
    }
    return std::nullopt;
}

}  // namespace headlight::ui
