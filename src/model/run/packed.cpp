// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/run/packed.h"

#include "headlight/base/error.h"
#include "model/blocks/pack.h"
#include "model/run/steps.h"

#include <ATen/Parallel.h>

#include <algorithm>

namespace headlight::model {
namespace {

/// Shows each text its own rows.
class PackObserver final : public Observer {
public:
    explicit PackObserver(Pack& pack) : pack_(pack) {}
    bool wants(HookPoint point) const override {
        return std::ranges::any_of(pack_.texts, [&](const Pass& text) { return text.observer.wants(point); });
    }
    bool wants_pattern_tiles() const override {
        return std::ranges::any_of(pack_.texts, [](const Pass& text) { return text.observer.wants_pattern_tiles(); });
    }
    at::Tensor visit(HookPoint point, at::Tensor rows) override {
        const auto texts = std::ssize(pack_.texts);
        std::vector<at::Tensor> shown(pack_.texts.size()), seen(pack_.texts.size());
        const auto show = [&](std::int64_t first, std::int64_t last) {
            for (auto i = static_cast<std::size_t>(first); i < static_cast<std::size_t>(last); ++i) {
                shown[i] = pack_.of_text(i, rows);
                seen[i] = pack_.texts[i].hook(point.hook, point.layer, shown[i]);
            }
        };
        rows.is_cpu() ? at::parallel_for(0, texts, 1, show) : show(0, texts);
        for (std::size_t i = 0; i < seen.size(); ++i)
            if (!seen[i].is_same(shown[i])) return at::cat(seen);
        return rows;
    }

private:
    Pack& pack_;
};

RopeTable joined(const Pack& pack, RopeTable Pass::*table) {
    if (!(pack.texts.front().*table).cos.defined()) return {};
    const auto all = [&](at::Tensor RopeTable::*part) {
        std::vector<at::Tensor> each;
        for (const Pass& text : pack.texts) each.push_back((text.*table).*part);
        return each.front().defined() ? at::cat(each) : at::Tensor();
    };
    return {all(&RopeTable::cos), all(&RopeTable::sin), all(&RopeTable::growth)};
}

at::Tensor joined(const Pack& pack, at::Tensor Pass::*ids) {
    std::vector<at::Tensor> all;
    for (const Pass& text : pack.texts) all.push_back(text.*ids);
    return all.front().defined() ? at::cat(all) : at::Tensor();
}

}  // namespace

void forward_packed(const Model& model, std::span<const PackedText> texts, const CancelToken& cancel, const Progress& progress) {
    const Model::Internals& m = model.internals();
    if (reads_pictures(m.config) || has_cross_attention(m.config))
        throw Error(ErrorFacts{.problem = "Only texts of one stack can be packed", .file = m.folder.string()});
    if (texts.empty()) return;
    require_attention(m.config, "A pass over several texts");
    at::internal::lazy_init_num_threads();
    Pack pack;
    pack.texts.reserve(texts.size());
    std::int64_t rows = 0;
    for (const PackedText& text : texts) {
        pack.texts.push_back(start_pass(m, text.input, text.observer, nullptr));
        pack.texts.back().cancel = cancel;
        pack.starts.push_back(rows);
        rows += pack.texts.back().tokens();
    }
    PackObserver observer(pack);
    Pass pass{.model = m,
              .input = texts.front().input,
              .observer = observer,
              .ids = joined(pack, &Pass::ids),
              .type_ids = joined(pack, &Pass::type_ids),
              .rope = joined(pack, &Pass::rope),
              .local_rope = joined(pack, &Pass::local_rope),
              .resid_pre = {},
              .shared_norm = {},
              .cancel = cancel,
              .pack = &pack};
    run_pass(pass, false, progress);
}

}  // namespace headlight::model
