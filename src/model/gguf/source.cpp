// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/gguf/source.h"

#include "headlight/base/error.h"
#include "headlight/io/gguf.h"
#include "headlight/io/mapped_file.h"
#include "model/gguf/architecture.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <optional>

namespace headlight::model {
namespace {

/// The family's row r is row `from(r)` of the file.
using RowOrder = std::function<std::int64_t(std::int64_t)>;

struct Plan {
    const io::GgufTensor* tensor = nullptr;
    std::string name;
    Change change = Change::none;
    std::vector<std::int64_t> shape;  ///< as the store shows it; of several matrices in one tensor as that has it
    at::Tensor out;                   ///< undefined: the file's own memory
    RowOrder order;
    std::int64_t origin = 0;  ///< the row of the result that `out` begins with
    bool deferred = false;    ///< there will be no `out` before somebody asks
};

/// True where the file's memory cannot be used as it is.
bool is_rewritten(Change change) { return change != Change::none && change != Change::experts && change != Change::whole_name; }

struct Named {
    std::string name;
    Change change = Change::none;
};

/// Hugging Face's name for "blk.3.attn_q.weight"; nullopt for an unknown tensor.
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
    return Named{row->change == Change::whole_name ? ours : ours + std::string(suffix), row->change};
}

[[noreturn]] void fail_rows(const GgufMetadata& m, const io::GgufTensor& t, const std::string& expected) {
    throw Error(ErrorFacts{.problem = "A tensor has the wrong shape",
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
    if (heads < 1 || rows % (3 * heads) != 0)
        fail_rows(m, t, "a multiple of three times the " + std::to_string(heads) + " heads");
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
    throw Error(ErrorFacts{.problem = "A tensor has an unsupported quantisation",
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
    if (plan.change == Change::plus_one && t.name.ends_with(".bias")) plan.change = Change::none;
    plan.order = order_of(m, t, plan.change);
    if (plan.change == Change::transpose) std::swap(plan.shape[0], plan.shape[1]);
    const bool latent = plan.change == Change::latent_keys || plan.change == Change::latent_values;
    if ((latent && t.shape.size() != 3) || (plan.change == Change::experts && t.shape.size() < 2))
        throw Error(ErrorFacts{.problem = "A tensor has the wrong shape",
                               .file = m.file().path().string(),
                               .item = t.name,
                               .expected = latent ? "three dimensions" : "at least two dimensions",
                               .found = std::to_string(t.shape.size())});
    return plan;
}

std::uint16_t to_bfloat16(float x) {
    const auto bits = std::bit_cast<std::uint32_t>(x);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<std::uint16_t>(bits >> 16 | 0x40);  // NaN stays one
    return static_cast<std::uint16_t>((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}

/// Where a row of the file goes, and the stride of its numbers there.
struct Place {
    std::int64_t first = 0, step = 1;
};

Place place_of(const Plan& plan, std::int64_t row, std::int64_t width) {
    if (plan.change == Change::transpose) return {row, plan.shape[1]};
    return {(row - plan.origin) * width, 1};
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
    constexpr std::int64_t kBatch = 64;  // between two checks of the cancel token
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

/// A tensor of the store and how it is kept in the file.
struct Given {
    io::TensorView view;
    StoredAs stored;
};

/// Without numbers.
Given header_of(const Plan& plan) {
    Given given;
    given.view.name = plan.name;
    given.view.shape = plan.shape;
    given.view.file = plan.tensor->file;
    given.view.dtype = plain_dtype(plan.tensor->type).value_or(io::DType::F32);
    given.stored = {plan.tensor->name, std::string(io::layout_of(plan.tensor->type)->name), plan.tensor->shape,
                    static_cast<std::int64_t>(plan.tensor->bytes.size()), !plan.out.defined()};
    return given;
}

void take_numbers(io::TensorView& view, const at::Tensor& from) {
    auto kept = std::make_shared<at::Tensor>(from);
    view.dtype = from.scalar_type() == at::kBFloat16 ? io::DType::BF16 : io::DType::F32;
    view.bytes = {static_cast<const std::byte*>(from.data_ptr()), static_cast<std::size_t>(from.nbytes())};
    view.owner = std::move(kept);
}

Given one_of(const Plan& plan) {
    Given given = header_of(plan);
    if (plan.out.defined()) {
        take_numbers(given.view, plan.out);
    } else {
        given.view.bytes = plan.tensor->bytes;
        given.view.owner = plan.tensor->owner;
    }
    return given;
}

/// A matrix for each expert, in the same memory.
void add_experts(const Plan& plan, bool numbers, std::vector<Given>& out) {
    const Given all = numbers && !plan.deferred ? one_of(plan) : header_of(plan);
    const std::size_t at = plan.name.find('@'), count = static_cast<std::size_t>(plan.shape.front());
    for (std::size_t e = 0; e < count; ++e) {
        Given one = all;
        one.view.name.replace(at, 1, std::to_string(e));
        one.view.shape = one.stored.shape = {plan.shape.begin() + 1, plan.shape.end()};
        const std::size_t bytes = all.view.bytes.size() / count;
        one.view.bytes = all.view.bytes.subspan(e * bytes, bytes);
        one.stored.bytes = all.stored.bytes / static_cast<std::int64_t>(count);
        out.push_back(std::move(one));
    }
}

at::Tensor joined_numbers(const at::Tensor& keys, const at::Tensor& values) {
    return at::cat({keys.transpose(1, 2), values}, 1).flatten(0, 1);
}

/// kv_b_proj of its two parts: rows (head, keys' content | values).
Given joined(const Plan& keys, const Plan& values, bool numbers) {
    if (keys.shape[0] != values.shape[0] || keys.shape[1] != values.shape[2])
        throw Error(ErrorFacts{.problem = "Two parts of a tensor do not fit each other",
                               .file = keys.tensor->file.string(),
                               .item = keys.tensor->name + ", " + values.tensor->name});
    Given given = header_of(keys);
    given.view.shape = given.stored.shape = {keys.shape[0] * (keys.shape[2] + values.shape[1]), keys.shape[1]};
    given.stored.tensor += ", " + values.tensor->name;
    given.stored.bytes += static_cast<std::int64_t>(values.tensor->bytes.size());
    if (numbers && !keys.deferred) take_numbers(given.view, joined_numbers(keys.out, values.out));
    return given;
}

/// The tensors of all plans, with or without numbers.
std::vector<Given> given_by(const std::vector<Plan>& plans, bool numbers) {
    std::vector<Given> out;
    const auto other = [&](const Plan& plan, Change change) {
        const auto found = std::ranges::find_if(plans, [&](const Plan& p) { return p.change == change && p.name == plan.name; });
        return found == plans.end() ? nullptr : &*found;
    };
    for (const Plan& plan : plans) {
        if (plan.change == Change::experts) {
            add_experts(plan, numbers, out);
        } else if (plan.change == Change::latent_keys || plan.change == Change::latent_values) {
            const bool keys = plan.change == Change::latent_keys;
            const Plan* part = other(plan, keys ? Change::latent_values : Change::latent_keys);
            // Some files hold the whole tensor as well as its parts.
            if (keys && part && !other(plan, Change::none)) out.push_back(joined(plan, *part, numbers));
        } else {
            out.push_back(numbers && !plan.deferred ? one_of(plan) : header_of(plan));
        }
    }
    return out;
}

bool is_converted(const Plan& plan) { return is_rewritten(plan.change) || !plain_dtype(plan.tensor->type); }

/// Bytes of all numbers that cannot be used where they lie.
std::int64_t bytes_expanded(const std::vector<Plan>& plans, at::ScalarType dtype) {
    std::int64_t bytes = 0;
    for (const Plan& plan : plans) {
        const bool in_place = !is_converted(plan) && dtype == at::kFloat && plan.tensor->type == io::GgmlType::F32;
        if (!in_place) bytes += plan.tensor->numel() * static_cast<std::int64_t>(at::elementSize(dtype));
    }
    return bytes;
}

/// Rows of a plan, each `width` numbers of the file long.
at::Tensor rows_of(Plan plan, std::int64_t first, std::int64_t count, at::ScalarType as) {
    const std::int64_t width = plan.tensor->shape.back();
    std::int64_t begin = 0, end = plan.tensor->numel() / width;
    const bool turned = plan.change == Change::transpose;
    if (!turned) {
        const std::int64_t each = plan.shape.front() > 0 ? end / plan.shape.front() : 0;
        begin = first * each, end = begin + count * each;
        plan.shape.front() = count;
    }
    plan.origin = begin;
    plan.out = at::empty(plan.shape, at::TensorOptions(as));
    const std::int64_t grain = std::max<std::int64_t>(1, (1 << 16) / std::max<std::int64_t>(width, 1));
    at::parallel_for(begin, end, grain, [&](std::int64_t from, std::int64_t to) { convert_rows(plan, from, to); });
    return turned ? plan.out.narrow(0, first, count) : plan.out;
}

/// `file` keeps the tensors that the plans point to.
void add_deferred(const std::shared_ptr<const io::GgufFile>& file, const std::vector<Plan>& plans, at::ScalarType as,
                  std::map<std::string, DeferredTensor>& out) {
    for (const Plan& plan : plans) {
        if (!plan.deferred || plan.change == Change::latent_values) continue;
        if (plan.change == Change::experts) {
            const std::size_t at = plan.name.find('@'),
                              bytes = plan.tensor->bytes.size() / static_cast<std::size_t>(plan.shape[0]);
            for (std::int64_t e = 0; e < plan.shape[0]; ++e) {
                auto tensor = std::make_shared<io::GgufTensor>(*plan.tensor);
                tensor->shape = {plan.shape.begin() + 1, plan.shape.end()};
                tensor->bytes = tensor->bytes.subspan(static_cast<std::size_t>(e) * bytes, bytes);
                Plan own = plan;
                own.tensor = tensor.get();
                own.shape = tensor->shape;
                std::string name = plan.name;
                out[name.replace(at, 1, std::to_string(e))] = {
                    [tensor, own, as](std::int64_t first, std::int64_t count) { return rows_of(own, first, count, as); },
                    tensor->bytes};
            }
        } else if (plan.change == Change::latent_keys) {
            const auto of = [&](Change change) {
                return std::ranges::find_if(plans, [&](const Plan& p) { return p.change == change && p.name == plan.name; });
            };
            const auto values = of(Change::latent_values);
            if (values == plans.end() || of(Change::none) != plans.end()) continue;
            out[plan.name] = {[file, plan, other = *values, as](std::int64_t first, std::int64_t count) {
                                  const auto all = [&](const Plan& p) { return rows_of(p, 0, p.shape.front(), as); };
                                  return joined_numbers(all(plan), all(other)).narrow(0, first, count);
                              },
                              plan.tensor->bytes};
        } else {
            out[plan.name] = {
                [file, plan, as](std::int64_t first, std::int64_t count) { return rows_of(plan, first, count, as); },
                plan.tensor->bytes};
        }
    }
}

/// A file, its content in Hugging Face's terms, and the plan for each tensor.
struct Reading {
    std::shared_ptr<const io::GgufFile> file;
    GgufSource source;
    std::vector<Plan> plans;
};

Reading plan(const std::filesystem::path& path) {
    const std::shared_ptr<const io::GgufFile> file = io::GgufFile::open(path);
    const GgufMetadata metadata(*file);
    const GgufArchitecture& architecture = architecture_of(metadata);
    Reading reading{file, {.config = ConfigReader(file->path(), architecture.config(metadata))}, {}};
    for (const auto& [name, tensor] : file->tensors()) {
        if (is_configuration(name)) {
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
    for (Given& each : given_by(reading.plans, false)) views.emplace(each.view.name, std::move(each.view));
    reading.source.store = io::TensorStore::of(std::move(views), reading.file->files());
    return std::move(reading.source);
}

GgufSource read_gguf(const std::filesystem::path& path, at::ScalarType dtype, std::int64_t room, const CancelToken& cancel,
                     const Progress& progress) {
    Reading reading = plan(path);
    const at::ScalarType as = dtype == at::kBFloat16 ? at::kBFloat16 : at::kFloat;
    GgufSource source = std::move(reading.source);
    source.as_used = bytes_expanded(reading.plans, dtype) > room;
    for (Plan& each : reading.plans) {
        if (!is_converted(each)) continue;
        each.deferred = source.as_used && each.tensor->shape.size() > 1;
        if (!each.deferred) each.out = at::empty(each.shape, at::TensorOptions(as));
    }
    convert(reading.plans, cancel, progress);
    for (const Plan& each : reading.plans)
        if (each.out.defined()) io::MappedFile::release(each.tensor->bytes);
    std::map<std::string, io::TensorView> views;
    for (Given& each : given_by(reading.plans, true)) {
        source.stored[each.view.name] = std::move(each.stored);
        views.emplace(each.view.name, std::move(each.view));
    }
    add_deferred(reading.file, reading.plans, as, source.deferred);
    source.store = io::TensorStore::of(std::move(views), reading.file->files());
    return source;
}

}  // namespace headlight::model
