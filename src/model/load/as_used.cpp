// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/load/as_used.h"

#include "headlight/base/error.h"
#include "headlight/base/working_for.h"
#include "headlight/io/mapped_file.h"
#include "headlight/model/as_used.h"
#include "model/load/load_parts.h"
#include "model/load/place.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>

namespace headlight::model {
namespace {

/// The tensor that a slot is kept in belongs to a layer.
bool is_of_layer(Slot slot) {
    static constexpr std::string_view kMembers[] = {
#define HEADLIGHT_SLOT(slot, member, name) #member,
#include "model/families/slots.def"
    };
    const std::string_view member = kMembers[static_cast<std::size_t>(slot)];
    return member.starts_with("l.") || member == "none";
}

LayerPart half_of(const ResolvedRow& r) {
    return parameter_name(r).find(".mlp.") != std::string::npos ? LayerPart::mlp : LayerPart::attention;
}

/// A row is a token's.
bool is_out_in(const ResolvedRow& r) { return r.row->layout == Layout::out_in || r.row->slot == Slot::embed; }

}  // namespace

bool is_deferred(const Source& source, const ResolvedRow& r, const Model::Internals& m) {
    if (!source.as_used || r.view->shape.size() < 2 || r.row->slot == Slot::mixer_conv_weight) return false;
    const bool of_vocabulary = r.row->slot == Slot::embed || r.row->slot == Slot::unembed;
    if (of_vocabulary ? m.config.d_factored > 0 : !is_of_layer(r.row->slot)) return false;
    return source.deferred.contains(r.view->name) || r.view->dtype == io::DType::F8_E4M3 || scalar_type(r.view->dtype) != m.dtype;
}

WeightsAsUsed::WeightsAsUsed(std::shared_ptr<const Source> source, std::shared_ptr<const WeightMap> map,
                             std::vector<ResolvedRow> rows, const Model::Internals& m, std::int64_t kept)
    : source_(std::move(source)),
      map_(std::move(map)),
      shape_(std::make_unique<Model::Internals>()),
      room_(kept),
      units_(2 * m.layers.size()),
      blanked_(io::MappedFile::blanked()) {
    shape_->config = m.config;
    shape_->dtype = m.dtype;
    shape_->qkv_layout = map_->qkv;
    shape_->layers = m.layers;
    for (ResolvedRow& r : rows) {
        if (r.row->slot == Slot::embed)
            embed_ = r;
        else if (r.row->slot == Slot::unembed)
            unembed_ = r;
        else
            units_[static_cast<std::size_t>(2 * r.layer) + static_cast<std::size_t>(half_of(r))].rows.push_back(r);
    }
    if (m.config.tied_unembedding && !unembed_) unembed_ = embed_;
    if (!unembed_) return;
    const std::int64_t bytes = unembed_->view->numel() * static_cast<std::int64_t>(at::elementSize(m.dtype));
    keeps_unembedding_ = bytes <= room_ / 3 * 2;
    if (keeps_unembedding_) account_.set(bytes);
}

at::Tensor WeightsAsUsed::numbers(const ResolvedRow& r, std::int64_t first, std::int64_t count, bool check) const {
    const at::Tensor tensor = rows_of(*source_, r, first, count, shape_->dtype);
    if (io::MappedFile::blanked() != blanked_) {
        const auto& files = source_->store.files();
        const auto lost =
            std::ranges::find_if(files, [this](const auto& file) { return io::MappedFile::blanked(file) > blanked_; });
        if (lost != files.end())
            throw Error(ErrorFacts{.problem = "A file of the model was cut short while it was read",
                                   .file = lost->string(),
                                   .item = r.view->name,
                                   .hint = "Put the file back and open the model again"});
    }
    if (check) check_finite(*r.view, tensor, first);
    return tensor;
}

std::shared_ptr<const LayerWeights> WeightsAsUsed::layer(std::int64_t layer, LayerPart part) const {
    if (decoder_) return std::make_shared<const LayerWeights>(cross_layer(*decoder_->layer(layer, part)));
    const auto lock = lock_while_wanted(mutex_);
    Unit& unit = units_[static_cast<std::size_t>(2 * layer) + static_cast<std::size_t>(part)];
    if (auto now = unit.now.lock()) return now;
    auto& latest = latest_[static_cast<std::size_t>(part)];
    latest.reset();  // its memory may do for the new one
    const at::NoGradGuard no_grad;
    auto made = std::make_shared<LayerWeights>(shape_->layers[static_cast<std::size_t>(layer)]);
    std::int64_t bytes = 0;
    for (const ResolvedRow& r : unit.rows) {
        WorkingFor::token().throw_if_cancelled();
        const at::Tensor tensor = numbers(r, 0, r.view->shape.front(), !unit.checked);
        bytes += static_cast<std::int64_t>(tensor.nbytes());
        io::MappedFile::release(bytes_in_file(*source_, *r.view));
        place(*shape_, *made, r, tensor);
    }
    unit.checked = true;
    unit.now = made;
    if (account_.bytes() + bytes <= room_) {
        account_.add(bytes);
        kept_.push_back(made);
    } else {
        latest = made;
    }
    return made;
}

at::Tensor WeightsAsUsed::columns(const ResolvedRow& r, std::int64_t first, std::int64_t count, bool check) const {
    const at::NoGradGuard no_grad;
    at::Tensor tensor =
        is_out_in(r) ? numbers(r, first, count, check).t() : numbers(r, 0, r.view->shape.front(), check).narrow(1, first, count);
    if (r.row->times != 1) tensor = tensor * r.row->times;
    if (r.row->plus != 0) tensor = tensor + r.row->plus;
    return tensor;
}

at::Tensor WeightsAsUsed::embedding(std::int64_t first, std::int64_t count) const {
    return decoder_ ? decoder_->embedding(first, count) : columns(*embed_, first, count, true).t();
}

at::Tensor WeightsAsUsed::embedding(const at::Tensor& ids) const {
    if (decoder_) return decoder_->embedding(ids);
    std::vector<at::Tensor> rows;
    for (std::int64_t i = 0; i < ids.size(0); ++i) rows.push_back(embedding(ids.data_ptr<std::int64_t>()[i], 1));
    return at::cat(rows);
}

at::Tensor WeightsAsUsed::unembedding(std::int64_t first, std::int64_t count) const {
    const auto lock = lock_while_wanted(mutex_);
    if (!keeps_unembedding_) {
        const bool check = first + count > checked_tokens_;
        if (check && first <= checked_tokens_) checked_tokens_ = first + count;
        const at::Tensor part = columns(*unembed_, first, count, check);
        io::MappedFile::release(bytes_in_file(*source_, *unembed_->view));
        return part;
    }
    if (!whole_unembedding_.defined()) {
        const bool out_in = is_out_in(*unembed_);
        whole_unembedding_ = columns(*unembed_, 0, unembed_->view->shape[out_in ? 0 : 1], true);
    }
    return whole_unembedding_.narrow(1, first, count);
}

std::int64_t bytes_as_used(const Model& model) noexcept {
    const auto& encoder = model.part(Stack::encoder);
    return model.internals().bytes_as_used + (encoder ? encoder->internals().bytes_as_used : 0);
}

std::shared_ptr<const LayerWeights> weights_of(const Model::Internals& m, Layer layer, LayerPart part) {
    if (m.as_used) return m.as_used->layer(layer.value, part);
    return {std::shared_ptr<const void>(), &m.layers.at(static_cast<std::size_t>(layer.value))};
}

at::Tensor embedding_rows(const Model::Internals& m, const at::Tensor& ids) {
    return m.embed.is_meta() ? m.as_used->embedding(ids) : m.embed.index_select(0, ids);
}

at::Tensor embedding_rows(const Model::Internals& m, std::int64_t first, std::int64_t count) {
    return m.embed.is_meta() ? m.as_used->embedding(first, count) : m.embed.narrow(0, first, count);
}

at::Tensor unembedding_columns(const Model::Internals& m, std::int64_t first, std::int64_t count) {
    const at::Tensor& w_u = m.unembed.weight;
    return w_u.is_meta() ? m.as_used->unembedding(first, count) : w_u.narrow(1, first, count);
}

}  // namespace headlight::model
