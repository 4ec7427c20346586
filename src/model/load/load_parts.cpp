// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/load/load_parts.h"

#include "model/load/as_used.h"

#include <algorithm>
#include <set>
#include <utility>

namespace headlight::model {
namespace {

bool has(const std::vector<std::string>& names, const std::string& name) { return std::ranges::find(names, name) != names.end(); }

/// An encoder's parameter under the name it has in the whole model.
LoadedParameter of_encoder(LoadedParameter loaded) {
    loaded.parameter = "encoder." + loaded.parameter;
    return loaded;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
    const std::size_t at = text.find(from);
    return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

}  // namespace

void add_report_of_encoder(LoadReport& whole, const LoadReport& encoder) {
    std::set<std::string> used;
    for (const LoadReport* each : {&std::as_const(whole), &encoder})
        for (const LoadedParameter& loaded : each->loaded) used.insert(loaded.tensor);
    for (const LoadedParameter& loaded : encoder.loaded) whole.loaded.push_back(of_encoder(loaded));
    // Each map leaves the tensors of the other stack unused.
    std::vector<std::string> ignored, unused;
    for (const std::vector<std::string>* list : {&std::as_const(whole).ignored, &encoder.ignored})
        for (const std::string& name : *list)
            if (!used.contains(name) && !has(ignored, name)) ignored.push_back(name);
    for (const std::string& name : whole.unused)
        if (!used.contains(name) && !has(ignored, name)) unused.push_back(name);
    std::ranges::sort(ignored);
    whole.ignored = std::move(ignored);
    whole.unused = std::move(unused);
    whole.bytes_mapped += encoder.bytes_mapped;
    whole.bytes_copied += encoder.bytes_copied;
}

LayerWeights cross_layer(const LayerWeights& decoder) {
    LayerWeights own;
    own.ln1 = decoder.ln_cross;
    own.q = decoder.cross_q;
    own.k = decoder.cross_k;
    own.v = decoder.cross_v;
    own.o = decoder.cross_o;
    return own;
}

std::unique_ptr<Model::Internals> cross_attentions_of(const Model::Internals& m) {
    auto cross = std::make_unique<Model::Internals>();
    cross->folder = m.folder;
    cross->compute = m.compute;
    cross->dtype = m.dtype;
    cross->device = m.device;
    cross->embed = m.embed;  // a model with weights has one
    cross->config = m.config;
    ModelConfig& c = cross->config;
    c.stack = Stack::cross;
    c.causal = false;
    c.positions = Positions::none;
    c.relative_buckets = 0;
    c.relative_by_layer = false;
    c.n_kv_heads = c.n_heads;
    c.has_unembedding = c.final_norm = c.embed_norm = false;
    c.start_ids.clear();
    cross->spec.layer = {Block::cross_attention};
    for (const LayerWeights& l : m.layers) cross->layers.push_back(cross_layer(l));
    if (m.as_used) cross->as_used = std::make_shared<WeightsAsUsed>(m.as_used);
    cross->report.files = m.report.files;
    for (LoadedParameter loaded : m.report.loaded) {
        if (loaded.parameter.find("cross") == std::string::npos) continue;
        loaded.parameter = replaced(replaced(loaded.parameter, ".cross_attn.", ".attn."), ".ln_cross.", ".ln1.");
        cross->report.loaded.push_back(std::move(loaded));
    }
    return cross;
}

}  // namespace headlight::model
