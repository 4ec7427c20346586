// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/figure/core/part_name.h"

namespace headlight::figure {

QString head_part(HeadId id, bool cross) { return head_name(id) + (cross ? QStringLiteral(" cross") : QString()); }

QString part_name(analyze::Component component, std::int64_t layer, std::int64_t index) {
    using analyze::Component;
    const auto of_layer = [layer](const QString& name) { return layer < 0 ? name : QStringLiteral("L%1 ").arg(layer) + name; };
    const auto head = [&](bool cross) {
        if (index >= 0) return head_part({Layer(layer), Head(index)}, cross);
        return of_layer(cross ? QStringLiteral("cross heads") : QStringLiteral("heads"));
    };
    switch (component) {
        case Component::embed: return QStringLiteral("embedding");
        case Component::pos: return QStringLiteral("position");
        case Component::token_type: return QStringLiteral("token type");
        case Component::head: return head(false);
        case Component::attn_bias: return of_layer(QStringLiteral("b_O"));
        case Component::mlp: return layer < 0 ? QStringLiteral("MLPs") : of_layer(QStringLiteral("MLP"));
        case Component::cross_head: return head(true);
        case Component::cross_bias: return of_layer(QStringLiteral("cross b_O"));
        case Component::neuron: return of_layer(QStringLiteral("neuron %1").arg(index));
        case Component::mlp_bias: return of_layer(QStringLiteral("b_out"));
        case Component::conv: return of_layer(QStringLiteral("convolution"));
        case Component::norm_bias: return QStringLiteral("norms' biases");
        case Component::nonlinear: return QStringLiteral("nonlinear rest");
        case Component::final_bias: break;
    }
    return QStringLiteral("fixed bias");  // of the reading: b_U and the final norm, or the neuron's own and its norm's
}

}  // namespace headlight::figure
