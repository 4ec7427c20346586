// SPDX-License-Identifier: GPL-3.0-or-later
// What the plots of focus_plots.cpp and focus_update_plots.cpp have in common.
#pragma once

#include "figure/focus/focus_plots.h"

namespace headlight::figure::focus {

inline QString text(const std::string& s) { return QString::fromStdString(s); }

inline QString sentences(const std::vector<std::string>& notes) {
    QStringList out;
    for (const auto& note : notes) out << text(note);
    return out.join(u' ');
}

/// What every plot of the series has; `columns` are those of its table.
inline plot::PlotData focus_plot(int figure, const QString& title, const QString& description,
                                 const std::vector<std::string>& notes, std::vector<std::string> columns) {
    plot::PlotData out;
    out.view = "focus-" + std::to_string(figure);
    out.title = title;
    out.description = description + QStringLiteral(" Rene Claus, “Attention Focus Plots”, 2023.");
    out.note = sentences(notes);
    out.columns = std::move(columns);
    return out;
}

inline QString token_name(const TokenLabels& labels, std::int64_t text_index, std::int64_t position) {
    const auto i = static_cast<std::size_t>(position);
    if (text_index == 0 && i < labels.size()) return labels[i].with_position(Position(position));
    return QStringLiteral("token %1 of text %2").arg(position).arg(text_index + 1);
}

inline plot::Axis token_axis(const TokenLabels& labels, const QString& name, plot::Axis::Stands stands) {
    plot::Axis axis;
    axis.label = name;
    axis.labels = labels;
    axis.stands_for = stands;
    axis.integer = axis.tight = true;
    axis.low = -0.5, axis.high = static_cast<double>(labels.size()) - 0.5;
    return axis;
}

}  // namespace headlight::figure::focus
