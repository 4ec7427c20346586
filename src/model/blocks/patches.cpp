// SPDX-License-Identifier: GPL-3.0-or-later
// From a picture to rows of the stream (Dosovitskiy et al. 2021, section 3.1), and CLIP's projection out of it.
#include "model/blocks/pass.h"

#include <cstring>

namespace headlight::model {
namespace {

/// The numbers of each patch in the order of the convolution's kernel: [patch, colour * row * column].
at::Tensor unfolded(const ModelConfig& c, const at::Tensor& pixels) {
    const std::int64_t p = c.patch_size, rows = patch_rows(c), columns = patch_columns(c);
    const std::vector<std::int64_t> split = {kColours, rows, p, columns, p}, order = {1, 3, 0, 2, 4};
    // Pixels beyond whole patches are not read, as the reference's convolution has it.
    return pixels.narrow(1, 0, rows * p)
        .narrow(2, 0, columns * p)
        .view(split)
        .permute(order)
        .reshape({rows * columns, kColours * p * p});
}

}  // namespace

at::Tensor patch_embedding(Pass& pass) {
    const Model::Internals& m = pass.model;
    const ModelConfig& c = m.config;
    // A copy, because others hold the same pixels and may not see them changed.
    at::Tensor pixels = at::empty({kColours, c.image_height, c.image_width}, at::kFloat);
    std::memcpy(pixels.data_ptr(), pass.input.pixels->data(), pass.input.pixels->size() * sizeof(float));
    const at::Tensor patches = apply(pass, m.patch, unfolded(c, pixels.to(m.device, m.dtype)));
    std::vector<at::Tensor> rows;
    for (const at::Tensor* token : {&m.class_embed, &m.distill_embed})
        if (token->defined()) rows.push_back(token->unsqueeze(0));
    if (m.register_embed.defined()) rows.push_back(m.register_embed);
    rows.push_back(patches);
    return pass.hook(Hook::embed, at::cat(rows));
}

at::Tensor project(Pass& pass, const at::Tensor& x) { return pass.hook(Hook::projected, apply(pass, pass.model.projection, x)); }

}  // namespace headlight::model
