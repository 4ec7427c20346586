// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QRectF>

#include <optional>

namespace headlight::figure {

/// A figure in which a click opens another part, which may be out of sight: the neurons of an MLP, the heads of a line.
class OpensPart {
public:
    virtual ~OpensPart() = default;
    /// Where that part stands, in figure units, once the figure is laid out; empty: none is open.
    virtual std::optional<QRectF> opened_part() const = 0;
};

}  // namespace headlight::figure
