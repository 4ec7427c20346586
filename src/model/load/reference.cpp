// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/model/reference.h"

#include "headlight/base/error.h"
#include "headlight/base/numbers.h"
#include "headlight/io/safetensors.h"
#include "headlight/model/locate.h"
#include "model/internals.h"
#include "model/load/weight_source.h"
#include "model/run/forward.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <cstdio>
#include <cstring>

namespace headlight::model {
namespace {

/// A list of whole numbers ("ids") of the file; Error if it is missing.
std::vector<std::int64_t> numbers_of(const io::TensorStore& store, const std::string& name, const std::filesystem::path& file) {
    const io::TensorView* view = store.find(name);
    if (!view || view->dtype != io::DType::I64 || view->shape.size() != 1)
        throw Error(ErrorFacts{.problem = "The reference cannot be read",
                               .file = file.string(),
                               .item = name,
                               .expected = "I64 [tokens]",
                               .found = view ? std::string(io::name_of(view->dtype)) : "no such tensor"});
    std::vector<std::int64_t> numbers(static_cast<std::size_t>(view->numel()));
    if (!numbers.empty()) std::memcpy(numbers.data(), view->bytes.data(), numbers.size() * sizeof(std::int64_t));
    return numbers;
}

/// Compares each tensor with the one of the same name in the file.
class Comparer : public Observer {
public:
    Comparer(const io::TensorStore& store, ReferenceCheck& check) : store_(store), check_(check) {}

    bool wants(HookPoint point) const override {
        return (point.hook == Hook::logits || point.hook == Hook::pattern) && store_.find(name_of(point));
    }
    at::Tensor visit(HookPoint point, at::Tensor ours) override {
        const io::TensorView& view = *store_.find(name_of(point));
        if (view.shape != std::vector<std::int64_t>(ours.sizes().begin(), ours.sizes().end()))
            throw Error(ErrorFacts{.problem = "The reference belongs to another model or text",
                                   .file = check_.file.string(),
                                   .item = view.name,
                                   .expected = shape_text(std::vector<std::int64_t>(ours.sizes().begin(), ours.sizes().end())),
                                   .found = shape_text(view.shape)});
        if (view.dtype != io::DType::F64 && view.dtype != io::DType::F32 && view.dtype != io::DType::F16 &&
            view.dtype != io::DType::BF16)
            throw Error(ErrorFacts{.problem = "The reference cannot be read",
                                   .file = check_.file.string(),
                                   .item = view.name,
                                   .expected = "floating-point numbers",
                                   .found = std::string(io::name_of(view.dtype))});
        bool mapped = false;
        const at::Tensor theirs = to_tensor(view, at::kDouble, at::kCPU, mapped);
        const at::Tensor mine = ours.to(at::kCPU).to(at::kDouble);
        // Two masked pairs (-inf) do not differ.
        const at::Tensor difference = (mine - theirs).abs().masked_fill(mine.eq(theirs), 0.0);
        const double most = difference.numel() == 0 ? 0.0 : difference.max().item<double>();
        std::optional<double>& so_far = point.hook == Hook::logits ? check_.logits : check_.patterns;
        if (!so_far || !(most <= *so_far)) {
            so_far = most;
            if (point.hook == Hook::pattern) check_.worst_pattern = view.name;
        }
        return ours;
    }

private:
    const io::TensorStore& store_;
    ReferenceCheck& check_;
};

std::string number_text(double x) {
    char text[32];
    std::snprintf(text, sizeof text, "%.2g", x);
    return text;
}

}  // namespace

std::optional<std::filesystem::path> reference_file(const std::filesystem::path& model) {
    const std::filesystem::path file = folder_of(model) / "reference.safetensors";
    std::error_code none;
    return std::filesystem::is_regular_file(file, none) ? std::optional(file) : std::nullopt;
}

std::optional<ReferenceCheck> check_reference(const Model& model, const CancelToken& cancel, const Progress& progress) {
    const auto file = reference_file(model.folder());
    if (!file) return std::nullopt;
    ReferenceCheck check{.file = *file};
    try {
        const at::NoGradGuard no_grad;
        const io::TensorStore store = io::TensorStore::open_file(*file);
        ForwardInput input;
        input.ids = numbers_of(store, "ids", *file);
        if (model.config().type_vocab_size > 0 && store.find("type_ids")) input.type_ids = numbers_of(store, "type_ids", *file);
        check.tokens = static_cast<std::int64_t>(input.ids.size());
        Comparer comparer(store, check);
        forward(model, input, comparer, cancel, progress);
        if (!check.logits && !check.patterns) check.problem = "The reference holds neither logits nor patterns of this model";
    } catch (const Error& error) {
        check.problem = error.what();
    }
    return check;
}

std::string text_of(const ReferenceCheck& check) {
    if (!check.problem.empty()) return check.problem;
    std::string text = std::to_string(check.tokens) + " tokens: ";
    if (check.logits) text += "max |Δlogit| " + number_text(*check.logits);
    if (check.logits && check.patterns) text += ", ";
    if (check.patterns) text += "max |Δpattern| " + number_text(*check.patterns);
    return text;
}

}  // namespace headlight::model
