// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/model/tensor_stats.h"

#include "headlight/base/error.h"
#include "headlight/io/gguf.h"
#include "headlight/io/python_json.h"
#include "headlight/io/safetensors.h"
#include "headlight/model/locate.h"
#include "model/load/quantization.h"
#include "model/load/weight_source.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

namespace headlight::model {
namespace {

constexpr std::int64_t kPart = 1 << 20;  ///< numbers; a multiple of every quantised block

/// Hands out `count` numbers from `first` on; both are multiples of a block but at the end.
using Reader = std::function<at::Tensor(std::int64_t first, std::int64_t count)>;

Reader reader_of(const io::TensorView& view) {
    return [view](std::int64_t first, std::int64_t count) {
        const std::int64_t size = io::size_of(view.dtype);
        // Copied: the file need not be aligned.
        at::Tensor part = at::empty({count}, at::TensorOptions(scalar_type(view.dtype)));
        if (count > 0) std::memcpy(part.data_ptr(), view.bytes.data() + first * size, static_cast<std::size_t>(count * size));
        return part.to(at::kDouble);
    };
}

Reader reader_of(const io::GgufTensor& tensor) {
    const io::GgmlLayout& layout = *io::layout_of(tensor.type);
    if (!layout.readable)
        throw Error(ErrorFacts{.problem = "A tensor has an unsupported quantisation",
                               .file = tensor.file.string(),
                               .item = tensor.name,
                               .expected = io::readable_ggml_types(),
                               .found = std::string(layout.name)});
    return [tensor, layout](std::int64_t first, std::int64_t count) {
        at::Tensor part = at::empty({count}, at::TensorOptions(at::kFloat));
        const auto begin = static_cast<std::size_t>(first / layout.elements * layout.bytes);
        const auto bytes = static_cast<std::size_t>(count / layout.elements * layout.bytes);
        if (count > 0) io::dequantize(tensor.type, tensor.bytes.subspan(begin, bytes), part.data_ptr<float>());
        return part.to(at::kDouble);
    };
}

/// With its scales: what the model computes with.
Reader reader_of_fp8(const std::filesystem::path& model, const std::string& name) {
    const std::filesystem::path file = folder_of(model) / "config.json";
    const QuantizedStore read = read_quantization(ConfigReader(file, io::read_python_json(file)), io::TensorStore::open(model));
    const auto scale = read.fp8.find(name);
    const at::Tensor all =
        dequantize_fp8(*read.store.find(name), scale == read.fp8.end() ? nullptr : &scale->second, at::kDouble).flatten();
    return [all](std::int64_t first, std::int64_t count) { return all.narrow(0, first, count); };
}

template <class See>
void each_number(const TensorStats& s, const Reader& read, std::int64_t done, const CancelToken& cancel, const Progress& progress,
                 See see) {
    for (std::int64_t first = 0; first < s.elements; first += kPart) {
        cancel.throw_if_cancelled();
        if (progress) progress({"Reading " + s.name, "kB", (done + first) / 1000, 2 * s.elements / 1000});
        const at::Tensor part = read(first, std::min(kPart, s.elements - first));
        const double* numbers = part.data_ptr<double>();
        for (std::int64_t i = 0; i < part.numel(); ++i) see(numbers[i]);
    }
}

void measure(TensorStats& s, const Reader& read, int bins, const CancelToken& cancel, const Progress& progress) {
    double sum = 0;
    std::int64_t finite = 0;
    s.min = std::numeric_limits<double>::infinity();
    s.max = -s.min;
    each_number(s, read, 0, cancel, progress, [&](double x) {
        if (!std::isfinite(x)) {
            ++(std::isnan(x) ? s.nan : s.infinite);
            return;
        }
        sum += x;
        ++finite;
        s.min = std::min(s.min, x);
        s.max = std::max(s.max, x);
    });
    if (finite == 0) {
        s.min = s.max = s.mean = s.deviation = std::numeric_limits<double>::quiet_NaN();
        return;
    }
    s.mean = sum / static_cast<double>(finite);
    const bool flat = !(s.max > s.min);
    const double low = flat ? s.min - 0.5 : s.min, high = flat ? s.max + 0.5 : s.max;
    const int n = flat ? 1 : std::max(1, bins);
    for (int i = 0; i <= n; ++i) s.edges.push_back(i == n ? high : low + (high - low) * i / n);
    s.counts.assign(static_cast<std::size_t>(n), 0);
    double squares = 0;
    each_number(s, read, s.elements, cancel, progress, [&](double x) {
        if (!std::isfinite(x)) return;
        squares += (x - s.mean) * (x - s.mean);
        // The edges themselves decide: the quotient may round across one.
        auto bin = std::clamp<std::int64_t>(static_cast<std::int64_t>((x - low) / (high - low) * n), 0, n - 1);
        while (bin > 0 && x < s.edges[static_cast<std::size_t>(bin)]) --bin;
        while (bin < n - 1 && x >= s.edges[static_cast<std::size_t>(bin + 1)]) ++bin;
        ++s.counts[static_cast<std::size_t>(bin)];
    });
    s.deviation = std::sqrt(squares / static_cast<double>(finite));
}

[[noreturn]] void throw_no_tensor(const std::filesystem::path& model, const std::string& name, std::size_t there) {
    throw Error(ErrorFacts{.problem = "No such tensor",
                           .file = model.string(),
                           .item = name,
                           .expected = "one of " + std::to_string(there) + " tensors in the files"});
}

}  // namespace

std::vector<std::string> tensor_names(const std::filesystem::path& model) {
    std::vector<std::string> names;
    if (const auto gguf = io::gguf_file_of(model)) {
        const auto file = io::GgufFile::open(*gguf);
        for (const auto& [name, tensor] : file->tensors()) names.push_back(name);
    } else {
        const io::TensorStore store = io::TensorStore::open(model);
        for (const auto& [name, view] : store.tensors()) names.push_back(name);
    }
    return names;
}

TensorStats tensor_stats(const std::filesystem::path& model, const std::string& name, int bins, const CancelToken& cancel,
                         const Progress& progress) {
    TensorStats s{.name = name};
    if (const auto path = io::gguf_file_of(model)) {
        const auto gguf = io::GgufFile::open(*path);
        const io::GgufTensor* tensor = gguf->find(name);
        if (!tensor) throw_no_tensor(model, name, gguf->tensors().size());
        s.dtype = io::layout_of(tensor->type)->name;
        s.shape = tensor->shape;
        s.file = tensor->file;
        s.elements = tensor->numel();
        measure(s, reader_of(*tensor), bins, cancel, progress);
        return s;
    }
    const io::TensorStore store = io::TensorStore::open(model);
    const io::TensorView* view = store.find(name);
    if (!view) throw_no_tensor(model, name, store.tensors().size());
    s.dtype = io::name_of(view->dtype);
    s.shape = view->shape;
    s.file = view->file;
    s.elements = view->numel();
    measure(s, view->dtype == io::DType::F8_E4M3 ? reader_of_fp8(model, name) : reader_of(*view), bins, cancel, progress);
    return s;
}

}  // namespace headlight::model
