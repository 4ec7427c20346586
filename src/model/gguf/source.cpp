// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/gguf/source.h"

#include "headlight/base/error.h"
#include "headlight/io/gguf.h"
#include "headlight/io/mapped_file.h"
#include "model/gguf/architecture.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <optional>

namespace headlight::model {
namespace {

/// Rows of a tensor as its family wants them: row r comes from row `from(r)` of the file.
using RowOrder = std::function<std::int64_t(std::int64_t)>;

struct Plan {
    const io::GgufTensor* tensor = nullptr;
    std::string name;
    Change change = Change::none;
    std::vector<std::int64_t> shape;  ///< as the store shows it
    at::Tensor out;                   ///< undefined: the file's own memory
    RowOrder order;
};

struct Named {
    std::string name;
    Change change = Change::none;
};

/// "blk.3.attn_q.weight" in Hugging Face's words; nothing for a tensor that is not known.
std::optional<Named> rename(std::string_view name, std::span<const TensorName> table) {
    const std::size_t dot = name.rfind('.');
    if (dot == std::string_view::npos) return std::nullopt;
    std::string stem(name.substr(0, dot));
    const std::string_view suffix = name.substr(dot);
    std::string layer;
    if (stem.starts_with("blk.")) {
        const std::size_t end = stem.find('.', 4);
        if (end == std::string::npos) return std::nullopt;
        layer = stem.substr(4, end - 4);
        stem = "blk.#" + stem.substr(end);
    }
    const auto row = std::ranges::find(table, stem, &TensorName::gguf);
    if (row == table.end()) return std::nullopt;
    std::string ours(row->ours);
    if (const std::size_t at = ours.find('#'); at != std::string::npos) ours.replace(at, 1, layer);
    return Named{ours + std::string(suffix), row->change};
}

[[noreturn]] void fail_rows(const GgufMetadata& m, const io::GgufTensor& t, const std::string& expected) {
    throw Error(ErrorFacts{.problem = "a tensor has the wrong shape",
                           .file = m.file().path().string(),
                           .item = t.name,
                           .expected = expected,
                           .found = std::to_string(t.shape.empty() ? 1 : t.shape.front()) + " rows"});
}

/// Undoes the pairing of rows for rotation: within a head, row (half i, place j) lies at 2 j + i.
RowOrder unpaired(const GgufMetadata& m, const io::GgufTensor& t, const std::string& heads_key) {
    const std::int64_t heads = m.integer(heads_key, m.integer("attention.head_count"));
    const std::int64_t rows = t.shape.empty() ? 1 : t.shape.front();
    if (heads < 1 || rows % (2 * heads) != 0) fail_rows(m, t, "a multiple of twice the " + std::to_string(heads) + " heads");
    const std::int64_t d = rows / heads;
    return [d](std::int64_t row) { return row / d * d + 2 * (row % d % (d / 2)) + row % d / (d / 2); };
}

RowOrder per_head(const GgufMetadata& m, const io::GgufTensor& t) {
    const std::int64_t heads = m.integer("attention.head_count"), rows = t.shape.empty() ? 1 : t.shape.front();
    if (heads < 1 || rows % (3 * heads) != 0) fail_rows(m, t, "a multiple of three times the " + std::to_string(heads) + " heads");
    const std::int64_t d = rows / (3 * heads);
    return [d, heads](std::int64_t row) { return (row / d % 3) * heads * d + row / (3 * d) * d + row % d; };
}

RowOrder per_group(const GgufMetadata& m, const io::GgufTensor& t) {
    const std::int64_t heads = m.integer("attention.head_count"), groups = m.integer("attention.head_count_kv", 1);
    const std::int64_t rows = t.shape.empty() ? 1 : t.shape.front();
    if (groups < 1 || heads < 1 || heads % groups != 0 || rows % (heads + 2 * groups) != 0)
        fail_rows(m, t, "a multiple of " + std::to_string(heads) + " heads and twice " + std::to_string(groups));
    const std::int64_t d = rows / (heads + 2 * groups), queries = heads / groups;
    return [=](std::int64_t row) {
        const std::int64_t group = row / ((queries + 2) * d), part = row / d % (queries + 2), at = row % d;
        if (part < queries) return (group * queries + part) * d + at;
        return (heads + (part - queries) * groups + group) * d + at;
    };
}

RowOrder order_of(const GgufMetadata& m, const io::GgufTensor& t, Change change) {
    const bool rearranged = change == Change::rotate_q || change == Change::rotate_k || change == Change::split_heads ||
                            change == Change::split_groups;
    // A vector is rearranged number by number, so it must not come in blocks.
    const bool fits = t.shape.size() == 2 || (t.shape.size() == 1 && io::layout_of(t.type)->elements == 1);
    if (rearranged && !fits) fail_rows(m, t, "a matrix, or a vector that is not quantised");
    switch (change) {
        case Change::rotate_q: return unpaired(m, t, "attention.head_count");
        case Change::rotate_k: return unpaired(m, t, "attention.head_count_kv");
        case Change::split_heads: return per_head(m, t);
        case Change::split_groups: return per_group(m, t);
        default: return {};
    }
}

std::optional<io::DType> plain_dtype(io::GgmlType type) {
    switch (type) {
        case io::GgmlType::F64: return io::DType::F64;
        case io::GgmlType::F32: return io::DType::F32;
        case io::GgmlType::F16: return io::DType::F16;
        case io::GgmlType::BF16: return io::DType::BF16;
        default: return std::nullopt;
    }
}

void check_readable(const GgufMetadata& m, const io::GgufTensor& t) {
    const io::GgmlLayout& layout = *io::layout_of(t.type);
    if (layout.readable) return;
    throw Error(ErrorFacts{.problem = "a tensor has a quantisation that cannot be read",
                           .file = m.file().path().string(),
                           .item = t.name,
                           .expected = io::readable_ggml_types(),
                           .found = std::string(layout.name),
                           .hint = "Use a file with another quantisation of the same model"});
}

Plan plan_of(const GgufMetadata& m, const io::GgufTensor& t, Named named) {
    check_readable(m, t);
    Plan plan{.tensor = &t, .name = std::move(named.name), .change = named.change, .shape = t.shape, .out = {}, .order = {}};
    if (plan.change == Change::transpose && t.shape.size() != 2) plan.change = Change::none;  // a bias
    plan.order = order_of(m, t, plan.change);
    if (plan.change == Change::transpose) std::swap(plan.shape[0], plan.shape[1]);
    return plan;
}

std::uint16_t to_bfloat16(float x) {
    const auto bits = std::bit_cast<std::uint32_t>(x);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<std::uint16_t>(bits >> 16 | 0x40);  // NaN stays one
    return static_cast<std::uint16_t>((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}

/// Where a row of the file goes, and how far its numbers lie apart there.
struct Place {
    std::int64_t first = 0, step = 1;
};

Place place_of(const Plan& plan, std::int64_t row, std::int64_t width) {
    if (plan.change == Change::transpose) return {row, plan.shape[1]};
    return {row * width, 1};
}

/// Rows [first, last) of the result, read from wherever they lie in the file.
void convert_rows(const Plan& plan, std::int64_t first, std::int64_t last) {
    const io::GgufTensor& t = *plan.tensor;
    const std::int64_t width = t.shape.empty() ? 1 : t.shape.size() == 1 && plan.order ? 1 : t.shape.back();
    const io::GgmlLayout& layout = *io::layout_of(t.type);
    const std::int64_t bytes = width / layout.elements * layout.bytes;
    const bool narrow = plan.out.scalar_type() == at::kBFloat16;
    const bool direct = !narrow && plan.change != Change::transpose;
    std::vector<float> buffer(direct ? 0 : static_cast<std::size_t>(width));
    for (std::int64_t row = first; row < last; ++row) {
        const std::int64_t from = plan.order ? plan.order(row) : row;
        const Place place = place_of(plan, row, width);
        float* numbers = direct ? plan.out.data_ptr<float>() + place.first : buffer.data();
        io::dequantize(t.type, t.bytes.subspan(static_cast<std::size_t>(from * bytes), static_cast<std::size_t>(bytes)), numbers);
        if (plan.change == Change::plus_one)
            for (std::int64_t i = 0; i < width; ++i) numbers[i] -= 1.0f;
        if (direct) continue;
        if (narrow) {
            auto* out = static_cast<std::uint16_t*>(plan.out.data_ptr()) + place.first;
            for (std::int64_t i = 0; i < width; ++i) out[i * place.step] = to_bfloat16(numbers[i]);
        } else {
            float* out = plan.out.data_ptr<float>() + place.first;
            for (std::int64_t i = 0; i < width; ++i) out[i * place.step] = numbers[i];
        }
    }
}

/// Parts of about a million numbers each, so that one large embedding does not leave the other threads waiting.
void convert(const std::vector<Plan>& plans, const CancelToken& cancel, const Progress& progress) {
    struct Part {
        const Plan* plan;
        std::int64_t first, last;
    };
    std::vector<Part> parts;
    for (const Plan& plan : plans) {
        if (!plan.out.defined()) continue;
        const io::GgufTensor& t = *plan.tensor;
        const std::int64_t width = t.shape.empty() ? 1 : t.shape.size() == 1 && plan.order ? 1 : t.shape.back();
        const std::int64_t rows = t.numel() / width, step = std::max<std::int64_t>(1, (1 << 20) / width);
        for (std::int64_t first = 0; first < rows; first += step) parts.push_back({&plan, first, std::min(rows, first + step)});
    }
    const auto total = static_cast<std::int64_t>(parts.size());
    constexpr std::int64_t kBatch = 64;  // between two looks at the cancel token
    for (std::int64_t begin = 0; begin < total; begin += kBatch) {
        cancel.throw_if_cancelled();
        if (progress) progress({"Loading", "part", begin, total});
        at::parallel_for(begin, std::min(total, begin + kBatch), 1, [&](std::int64_t first, std::int64_t last) {
            for (std::int64_t i = first; i < last; ++i) {
                const Part& part = parts[static_cast<std::size_t>(i)];
                convert_rows(*part.plan, part.first, part.last);
            }
        });
    }
}

/// Without its numbers.
io::TensorView header_of(const Plan& plan) {
    io::TensorView view;
    view.name = plan.name;
    view.shape = plan.shape;
    view.file = plan.tensor->file;
    view.dtype = plain_dtype(plan.tensor->type).value_or(io::DType::F32);
    return view;
}

io::TensorView view_of(const Plan& plan) {
    io::TensorView view = header_of(plan);
    if (plan.out.defined()) {
        auto kept = std::make_shared<at::Tensor>(plan.out);
        view.dtype = plan.out.scalar_type() == at::kBFloat16 ? io::DType::BF16 : io::DType::F32;
        view.bytes = {static_cast<const std::byte*>(plan.out.data_ptr()), static_cast<std::size_t>(plan.out.nbytes())};
        view.owner = std::move(kept);
    } else {
        view.bytes = plan.tensor->bytes;
        view.owner = plan.tensor->owner;
    }
    return view;
}

/// A file, what it stands for, and what is to be done with its tensors.
struct Reading {
    std::shared_ptr<const io::GgufFile> file;
    GgufSource source;
    std::vector<Plan> plans;
};

Reading plan(const std::filesystem::path& path) {
    const std::shared_ptr<const io::GgufFile> file = io::GgufFile::open(path);
    const GgufMetadata metadata(*file);
    const GgufArchitecture& architecture = architecture_of(metadata);
    Reading reading{file, {ConfigReader(file->path(), architecture.config(metadata)), {}, {}, {}}, {}};
    for (const auto& [name, tensor] : file->tensors()) {
        if (name == "rope_freqs.weight") {
            reading.source.used_up.push_back(name);
            continue;
        }
        reading.plans.push_back(plan_of(metadata, tensor, rename(name, architecture.tensors).value_or(Named{name})));
    }
    return reading;
}

}  // namespace

GgufSource outline_gguf(const std::filesystem::path& path) {
    Reading reading = plan(path);
    std::map<std::string, io::TensorView> views;
    for (const Plan& each : reading.plans) views.emplace(each.name, header_of(each));
    reading.source.store = io::TensorStore::of(std::move(views), reading.file->files());
    return std::move(reading.source);
}

GgufSource read_gguf(const std::filesystem::path& path, at::ScalarType dtype, const CancelToken& cancel,
                     const Progress& progress) {
    Reading reading = plan(path);
    const auto as = at::TensorOptions(dtype == at::kBFloat16 ? at::kBFloat16 : at::kFloat);
    for (Plan& each : reading.plans)
        if (each.change != Change::none || !plain_dtype(each.tensor->type)) each.out = at::empty(each.shape, as);
    convert(reading.plans, cancel, progress);
    for (const Plan& each : reading.plans)
        if (each.out.defined()) io::MappedFile::release(each.tensor->bytes);
    GgufSource source = std::move(reading.source);
    std::map<std::string, io::TensorView> views;
    for (const Plan& each : reading.plans) {
        source.stored[each.name] = {each.tensor->name, std::string(io::layout_of(each.tensor->type)->name),
                                    each.tensor->shape, static_cast<std::int64_t>(each.tensor->bytes.size()),
                                    !each.out.defined()};
        views.emplace(each.name, view_of(each));
    }
    source.store = io::TensorStore::of(std::move(views), reading.file->files());
    return source;
}

}  // namespace headlight::model
