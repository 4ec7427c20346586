// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/load/weight_source.h"

#include "headlight/base/error.h"
#include "headlight/base/working_for.h"
#include "headlight/model/hook_name.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <set>

namespace headlight::model {
namespace {

constexpr std::size_t kListed = 12;  ///< tensors named in one message

std::string show(const std::vector<std::int64_t>& shape) {
    std::string text = "[";
    for (std::size_t i = 0; i < shape.size(); ++i) text += (i ? ", " : "") + std::to_string(shape[i]);
    return text + "]";
}

std::string with_numbers(std::string name, std::int64_t layer, std::int64_t expert) {
    const auto put = [&](char mark, std::int64_t number) {
        if (const auto at = name.find(mark); at != std::string::npos) name.replace(at, 1, std::to_string(number));
    };
    put('#', layer);
    put('@', expert);
    return name;
}

const io::TensorView* find(const WeightMap& map, const WeightRow& row, std::int64_t layer, const io::TensorStore& store,
                           std::int64_t expert = 0) {
    for (const std::string& name : row.names)
        for (const std::string& prefix : map.prefixes)
            if (const io::TensorView* view = store.find(prefix + with_numbers(name, layer, expert))) return view;
    return nullptr;
}

/// The prefix of this folder's tensors, for messages about missing ones.
std::string prefix_in_use(const WeightMap& map, const io::TensorStore& store) {
    for (const std::string& prefix : map.prefixes)
        if (!prefix.empty() &&
            std::ranges::any_of(store.tensors(), [&](const auto& entry) { return entry.first.starts_with(prefix); }))
            return prefix;
    return {};
}

[[noreturn]] void throw_missing(const std::vector<std::string>& missing, const io::TensorStore& store,
                                const std::filesystem::path& folder) {
    std::string list;
    for (std::size_t i = 0; i < missing.size() && i < kListed; ++i) list += (i ? ", " : "") + missing[i];
    if (missing.size() > kListed) list += " and " + std::to_string(missing.size() - kListed) + " more";
    throw Error(ErrorFacts{.problem = std::to_string(missing.size()) + (missing.size() == 1 ? " tensor is" : " tensors are") +
                                      " missing from the model",
                           .file = folder.string(),
                           .item = list,
                           .found = std::to_string(store.tensors().size()) + " other tensors",
                           .hint = "The weights and config.json may be of different models, or a file was not downloaded"});
}

void check_view(const WeightRow& row, const io::TensorView& view) {
    if (view.shape != row.shape)
        throw Error(ErrorFacts{.problem = "A tensor has the wrong shape",
                               .file = view.file.string(),
                               .item = view.name,
                               .expected = show(row.shape) + " from config.json",
                               .found = show(view.shape)});
    switch (view.dtype) {
        case io::DType::F64:
        case io::DType::F32:
        case io::DType::F16:
        case io::DType::BF16:
        case io::DType::F8_E4M3: return;
        default:
            throw Error(ErrorFacts{.problem = "A weight is not floating-point",
                                   .file = view.file.string(),
                                   .item = view.name,
                                   .expected = "F64, F32, F16, BF16 or F8_E4M3",
                                   .found = std::string(io::name_of(view.dtype))});
    }
}

/// Index of the first number in [first, last) whose exponent bits are all ones (NaN and Inf), or -1. Reads the bits, so
/// that it runs at memory speed and unaligned tensors do not matter.
template <class Bits>
std::int64_t first_not_finite(const std::byte* data, std::int64_t first, std::int64_t last, Bits exponent) {
    constexpr std::int64_t kBlock = 4096;
    for (std::int64_t begin = first; begin < last; begin += kBlock) {
        const std::int64_t end = std::min(last, begin + kBlock);
        unsigned bad = 0;
        for (std::int64_t i = begin; i < end; ++i) {
            Bits bits;
            std::memcpy(&bits, data + i * static_cast<std::int64_t>(sizeof(Bits)), sizeof(Bits));
            bad |= (bits & exponent) == exponent;
        }
        if (!bad) continue;
        for (std::int64_t i = begin; i < end; ++i) {
            Bits bits;
            std::memcpy(&bits, data + i * static_cast<std::int64_t>(sizeof(Bits)), sizeof(Bits));
            if ((bits & exponent) == exponent) return i;
        }
    }
    return -1;
}

std::int64_t scan(const io::TensorView& view, std::int64_t first, std::int64_t last) {
    switch (view.dtype) {
        case io::DType::F64: return first_not_finite<std::uint64_t>(view.bytes.data(), first, last, 0x7ff0000000000000u);
        case io::DType::F32: return first_not_finite<std::uint32_t>(view.bytes.data(), first, last, 0x7f800000u);
        case io::DType::F8_E4M3: return first_not_finite<std::uint8_t>(view.bytes.data(), first, last, std::uint8_t{0x7f});
        case io::DType::F16: return first_not_finite<std::uint16_t>(view.bytes.data(), first, last, std::uint16_t{0x7c00});
        default: return first_not_finite<std::uint16_t>(view.bytes.data(), first, last, std::uint16_t{0x7f80});
    }
}

/// `place`: where the number stands among the view's bytes.
[[noreturn]] void throw_not_finite(const io::TensorView& view, std::int64_t flat, std::int64_t place) {
    const bool wide = view.dtype == io::DType::F32 || view.dtype == io::DType::F64;
    std::vector<std::int64_t> at(view.shape.size());
    std::int64_t rest = flat;
    for (std::size_t i = view.shape.size(); i-- > 0; rest /= view.shape[i]) at[i] = rest % view.shape[i];
    const std::int64_t bytes = io::size_of(view.dtype);
    std::uint64_t bits = 0;
    std::memcpy(&bits, view.bytes.data() + place * bytes, static_cast<std::size_t>(bytes));
    const int mantissa = view.dtype == io::DType::F64 ? 52 : wide ? 23 : view.dtype == io::DType::F16 ? 10 : 7;
    // E4M3 has no infinities.
    const bool nan = view.dtype == io::DType::F8_E4M3 || (bits & ((std::uint64_t{1} << mantissa) - 1)) != 0;
    throw Error(ErrorFacts{.problem = "A weight is not finite",
                           .file = view.file.string(),
                           .item = view.name + " at " + show(at),
                           .expected = "finite numbers",
                           .found = nan ? "NaN" : "Inf",
                           .hint = "The file is damaged or the training diverged"});
}

}  // namespace

at::ScalarType scalar_type(io::DType dtype) {
    switch (dtype) {
        case io::DType::F64: return at::kDouble;
        case io::DType::F32: return at::kFloat;
        case io::DType::F16: return at::kHalf;
        case io::DType::BF16: return at::kBFloat16;
        case io::DType::I64: return at::kLong;
        case io::DType::I32: return at::kInt;
        case io::DType::I16: return at::kShort;
        case io::DType::I8: return at::kChar;
        case io::DType::U8: return at::kByte;
        case io::DType::Bool: return at::kBool;
        case io::DType::F8_E4M3: throw Error("Only weights may be 8-bit floating point");
    }
    throw Error("Unknown number type");
}

std::string parameter_name(Slot slot, std::int64_t layer) {
    static constexpr const char* kNames[] = {
#define HEADLIGHT_SLOT(slot, member, name) name,
#include "model/families/slots.def"
    };
    return with_numbers(kNames[static_cast<std::size_t>(slot)], layer, 0);
}

std::string parameter_name(const ResolvedRow& r) {
    std::string name = parameter_name(r.row->slot, r.layer);
    if (r.row->experts == 0) return name;
    if (r.row->slot == Slot::q_norm_gain || r.row->slot == Slot::k_norm_gain)
        return name.insert(name.rfind('.') + 1, "heads." + std::to_string(r.expert) + ".");
    const bool numbered = r.row->names.front().find('@') != std::string::npos;
    return name.insert(name.rfind('.') + 1, numbered ? "experts." + std::to_string(r.expert) + "." : "shared.");
}

void add_prefixes_in_the_wild(WeightMap& map, const io::TensorStore& store) {
    const auto row = std::ranges::find(map.rows, Slot::embed, &WeightRow::slot);
    if (row == map.rows.end() || find(map, *row, 0, store)) return;
    const std::string& name = row->names.front();
    std::vector<std::string> around;  // prefixes of the embedding's name
    for (const auto& [theirs, view] : store.tensors())
        if (theirs.ends_with("." + name) && view.shape == row->shape)
            around.push_back(theirs.substr(0, theirs.size() - name.size()));
    if (around.size() > 1)
        throw Error(ErrorFacts{.problem = "The weights hold more than one model",
                               .file = store.files().empty() ? "" : store.files().front().string(),
                               .item = around[0] + name + ", " + around[1] + name,
                               .expected = "one " + name,
                               .found = std::to_string(around.size())});
    if (around.empty()) return;
    // The head may have a shorter prefix than the embedding: "module.lm_head" and "module.transformer.wte".
    std::vector<std::string> prefixes;
    for (std::string prefix = around.front(); !prefix.empty();) {
        prefixes.push_back(prefix);
        const std::size_t dot = prefix.size() < 2 ? std::string::npos : prefix.rfind('.', prefix.size() - 2);
        prefix = dot == std::string::npos ? "" : prefix.substr(0, dot + 1);
    }
    for (std::string& prefix : prefixes)
        if (std::ranges::find(map.prefixes, prefix) == map.prefixes.end()) map.prefixes.push_back(std::move(prefix));
}

namespace {

std::vector<std::int64_t> layers_of(const WeightRow& row, std::int64_t n_layers) {
    if (!row.layers.empty()) return row.layers;
    std::vector<std::int64_t> all;
    for (std::int64_t l = row.first_layer; l < n_layers; ++l) all.push_back(l);
    return all;
}

}  // namespace

Fit fit_of(const WeightMap& map, std::int64_t n_layers, const io::TensorStore& store) {
    Fit fit;
    std::set<std::string> used;
    for (const WeightRow& row : map.rows) {
        const bool per_layer = row.shared || row.names.front().find('#') != std::string::npos;
        for (const std::int64_t layer : per_layer ? layers_of(row, n_layers) : std::vector<std::int64_t>{0})
            for (std::int64_t expert = 0; expert < std::max<std::int64_t>(1, row.experts); ++expert) {
                const io::TensorView* view = find(map, row, layer, store, expert);
                if (view && view->shape == row.shape)
                    ++fit.met, used.insert(view->name);
                else if (!row.optional && !row.head)
                    fit.missing.push_back(with_numbers(row.names.front(), layer, expert));
            }
    }
    for (const auto& [name, view] : store.tensors())
        if (!used.contains(name) &&
            std::ranges::none_of(map.ignored, [&](const std::string& glob) { return glob_match(glob, name); }))
            fit.beyond.push_back(name);
    return fit;
}

io::TensorStore with_pieces(const WeightMap& map, std::int64_t n_layers, const io::TensorStore& store,
                            const std::function<void(const io::TensorView& piece, const io::TensorView& whole)>& made) {
    std::map<std::string, io::TensorView> views = store.tensors();
    std::set<std::string> split;
    for (const WeightRow& row : map.rows)
        for (const std::int64_t layer : row.piece.of.empty() ? std::vector<std::int64_t>() : layers_of(row, n_layers)) {
            if (find(map, row, layer, store)) continue;
            WeightRow whole_row = row;
            whole_row.names = row.piece.of;
            whole_row.shape = {row.experts, row.piece.count * row.shape[0], row.shape[1]};
            const io::TensorView* whole = find(map, whole_row, layer, store);
            if (!whole || whole->dtype == io::DType::F8_E4M3) continue;
            check_view(whole_row, *whole);
            if (whole->bytes.empty())
                throw Error(
                    {.problem = "Experts of this file are in one tensor that is converted as it is used, which is not read",
                     .file = whole->file.string(),
                     .item = whole->name,
                     .hint = "Give more memory (--memory GB), or another quantisation of the model"});
            split.insert(whole->name);
            const std::size_t parts = static_cast<std::size_t>(row.experts * row.piece.count),
                              bytes = whole->bytes.size() / parts;
            for (std::int64_t expert = 0; expert < row.experts; ++expert) {
                io::TensorView piece = *whole;
                piece.name = with_numbers(row.names.front(), layer, expert);
                piece.shape = row.shape;
                piece.bytes =
                    piece.bytes.subspan(static_cast<std::size_t>(expert * row.piece.count + row.piece.index) * bytes, bytes);
                made(piece, *whole);
                views[piece.name] = std::move(piece);
            }
        }
    for (const std::string& name : split) views.erase(name);
    return io::TensorStore::of(std::move(views), store.files());
}

const io::TensorView* find(const WeightMap& map, Slot slot, const io::TensorStore& store) {
    const auto row = std::ranges::find(map.rows, slot, &WeightRow::slot);
    return row == map.rows.end() ? nullptr : find(map, *row, 0, store);
}

std::vector<ResolvedRow> resolve(const WeightMap& map, std::int64_t n_layers, const io::TensorStore& store,
                                 const std::filesystem::path& folder, LoadReport& report, bool& head_absent) {
    head_absent = std::ranges::any_of(map.rows, &WeightRow::head) &&
                  std::ranges::none_of(map.rows, [&](const WeightRow& row) { return row.head && find(map, row, 0, store); });
    if (head_absent) report.optional_missing.push_back(map.head_name);

    const std::string prefix = prefix_in_use(map, store);
    std::vector<ResolvedRow> resolved;
    std::vector<std::string> missing;
    std::set<std::string> used;
    for (const WeightRow& row : map.rows) {
        if (row.head && head_absent) continue;
        const bool per_layer = row.shared || row.names.front().find('#') != std::string::npos;
        for (std::int64_t layer = row.first_layer; layer < (per_layer ? n_layers : 1); ++layer) {
            if (!row.layers.empty() && std::ranges::find(row.layers, layer) == row.layers.end()) continue;
            for (std::int64_t expert = 0; expert < std::max<std::int64_t>(1, row.experts); ++expert) {
                const io::TensorView* view = find(map, row, layer, store, expert);
                if (!view) {
                    if (row.optional) continue;
                    missing.push_back(prefix + with_numbers(row.names.front(), layer, expert));
                    continue;
                }
                used.insert(view->name);
                resolved.push_back({&row, layer, view, expert});
            }
        }
    }
    if (!missing.empty()) throw_missing(missing, store, folder);
    for (const ResolvedRow& r : resolved) check_view(*r.row, *r.view);

    for (const auto& [name, view] : store.tensors()) {
        if (used.contains(name)) continue;
        const bool known = std::ranges::any_of(map.ignored, [&](const std::string& glob) { return glob_match(glob, name); });
        (known ? report.ignored : report.unused).push_back(name);
    }
    return resolved;
}

void check_finite(const std::vector<ResolvedRow>& rows, const CancelToken& cancel, const Progress& progress) {
    // Pieces of equal size over all tensors, so that one large embedding does not leave the other threads waiting.
    constexpr std::int64_t kPiece = 1 << 20;
    struct Piece {
        const io::TensorView* view;
        std::int64_t first, last;
    };
    std::vector<Piece> pieces;
    for (const ResolvedRow& r : rows)
        for (std::int64_t first = 0, n = r.view->numel(); first < n; first += kPiece)
            pieces.push_back({r.view, first, std::min(n, first + kPiece)});

    const auto total = static_cast<std::int64_t>(pieces.size());
    std::vector<std::int64_t> bad(pieces.size(), -1);
    constexpr std::int64_t kBatch = 64;  // between two checks of the cancel token
    for (std::int64_t begin = 0; begin < total; begin += kBatch) {
        cancel.throw_if_cancelled();
        if (progress) progress({"Loading", "part", begin, total});
        at::parallel_for(begin, std::min(total, begin + kBatch), 1, [&](std::int64_t first, std::int64_t last) {
            for (std::int64_t i = first; i < last; ++i) {
                const auto& piece = pieces[static_cast<std::size_t>(i)];
                bad[static_cast<std::size_t>(i)] = scan(*piece.view, piece.first, piece.last);
            }
        });
    }
    for (std::size_t i = 0; i < pieces.size(); ++i)
        if (bad[i] >= 0) throw_not_finite(*pieces[i].view, bad[i], bad[i]);
}

void check_finite(const io::TensorView& view, const at::Tensor& rows, std::int64_t first) {
    const bool narrow = rows.scalar_type() == at::kBFloat16;
    io::TensorView read = view;
    read.dtype = narrow ? io::DType::BF16 : rows.scalar_type() == at::kDouble ? io::DType::F64 : io::DType::F32;
    read.bytes = {static_cast<const std::byte*>(rows.data_ptr()), static_cast<std::size_t>(rows.nbytes())};
    const std::int64_t total = rows.numel(), each = rows.size(0) > 0 ? total / rows.size(0) : 0;
    std::atomic<std::int64_t> bad = -1;
    at::parallel_for(0, total, 1 << 20, [&](std::int64_t begin, std::int64_t end) {
        if (const std::int64_t at = scan(read, begin, end); at >= 0) bad = at;
    });
    if (bad < 0) return;
    read.bytes = read.bytes.subspan(static_cast<std::size_t>(bad * io::size_of(read.dtype)));
    throw_not_finite(read, bad + first * each, 0);
}

namespace {

/// In pieces: an embedding of a large vocabulary takes a second.
at::Tensor converted(const at::Tensor& from, at::ScalarType dtype) {
    constexpr std::int64_t kPiece = 1 << 25;
    const std::int64_t numbers = from.numel();
    if (from.scalar_type() == dtype) return from;
    at::Tensor out = at::empty(from.sizes(), at::TensorOptions(dtype));
    const at::Tensor source = from.view({numbers});
    at::Tensor target = out.view({numbers});
    for (std::int64_t first = 0; first < numbers; first += kPiece) {
        WorkingFor::token().throw_if_cancelled();
        const std::int64_t count = std::min(kPiece, numbers - first);
        target.narrow(0, first, count).copy_(source.narrow(0, first, count));
    }
    return out;
}

}  // namespace

at::Tensor to_tensor(const io::TensorView& view, at::ScalarType dtype, at::Device device, bool& mapped) {
    const at::ScalarType stored = scalar_type(view.dtype);
    auto* data = const_cast<std::byte*>(view.bytes.data());  // read only: nothing in the pass writes to a weight
    at::Tensor tensor;
    const bool aligned = reinterpret_cast<std::uintptr_t>(data) % static_cast<std::uintptr_t>(io::size_of(view.dtype)) == 0;
    if (aligned) {
        tensor = at::from_blob(
            data, view.shape, [owner = view.owner](void*) {}, at::TensorOptions(stored));
    } else {
        tensor = at::empty(view.shape, at::TensorOptions(stored));
        if (!view.bytes.empty()) std::memcpy(tensor.data_ptr(), data, view.bytes.size());
    }
    mapped = aligned && stored == dtype && device.is_cpu();
    if (mapped) return tensor;
    return device.is_cpu() ? converted(tensor, dtype) : tensor.to(device, dtype);
}

}  // namespace headlight::model
