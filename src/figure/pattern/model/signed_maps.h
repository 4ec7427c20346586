// SPDX-License-Identifier: GPL-3.0-or-later
// A grid of small maps of signed numbers, one a head, all on one scale symmetric around 0.
#pragma once

#include "headlight/analyze/pattern/pattern_view.h"
#include "headlight/figure/core/figure.h"

#include <QStringList>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace headlight::figure {

struct SignedMaps {
    std::string view = "model";
    QString title, description;
    QString words;  ///< under the title
    std::int64_t layers = 0, heads = 0;
    std::vector<analyze::Matrix> maps;  ///< [layer * head]; not finite: masked; empty: the head has none
    std::vector<double> values;         ///< [layer * head], what the inspector says of a head
    std::function<QString(std::size_t)> tip;
    std::vector<bool> rows;  ///< of every map: false is hatched; empty: none is
    QString scale_name;
    QStringList notes;
    Table table;
    std::string array;  ///< name of the maps in an export
};
std::unique_ptr<Figure> signed_maps_figure(SignedMaps);
/// The largest |x|, for a scale symmetric around 0; 1 where there is none.
float symmetric_limit(const std::vector<analyze::Matrix>&);

}  // namespace headlight::figure
