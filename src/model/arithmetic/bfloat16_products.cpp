// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/arithmetic/bfloat16_products.h"

#include "headlight/base/lanes.h"
#include "headlight/base/working_for.h"
#include "headlight/model/blas_kernels.h"
#include "headlight/model/one_thread.h"
#include "model/arithmetic/each_tile.h"
#include "model/arithmetic/signal_stack.h"

#include <oneapi/dnnl/dnnl.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <compare>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace headlight::model {

bool computes_bfloat16_products() {
    const auto isa = static_cast<unsigned>(dnnl::get_effective_cpu_isa()),
               of_bfloat16 = static_cast<unsigned>(dnnl::cpu_isa::avx512_core_bf16);
    return (isa & of_bfloat16) == of_bfloat16;
}

namespace bfloat16_products {
namespace {

/// Bits of x rounded to bfloat16, in the upper half; NaN stays NaN.
inline __attribute__((always_inline)) std::uint32_t rounded(float x) {
    const auto bits = std::bit_cast<std::uint32_t>(x);
    const std::uint32_t nearest = bits + 0x7fffU + ((bits >> 16) & 1U), quiet = bits | 0x00400000U;
    return (x == x ? nearest : quiet) & 0xffff0000U;
}

/// A row of the first factor, filled up to `width` with zeros.
HEADLIGHT_WIDE void rounded_row(const float* __restrict x, std::int64_t n, std::int16_t* __restrict out) {
    for (std::int64_t j = 0; j < n; ++j) out[j] = static_cast<std::int16_t>(rounded(x[j]) >> 16);
}
void first_factor(const float* x, std::int64_t n, std::int64_t width, std::int16_t* out) {
    rounded_row(x, n, out);
    std::fill(out + n, out + width, std::int16_t{0});
}

/// The second factor as oneDNN's kernels read it without copying (BA16a64b2a): blocks of 64 columns, in each all rows two by two,
/// the pairs of each column side by side. Rows are filled up to whole tiles of AMX.
constexpr std::int64_t kBlockColumns = 64, kRowsOfTile = 32;
constexpr std::int64_t up_to(std::int64_t n, std::int64_t step) { return (n + step - 1) / step * step; }

std::int64_t packed_size(std::int64_t k, std::int64_t n) { return up_to(k, kRowsOfTile) * up_to(n, kBlockColumns); }

using Columns = std::array<float, kBlockColumns>;

/// Into the upper or the lower half of each number.
HEADLIGHT_WIDE void rounded_columns(const Columns& x, bool upper, std::uint32_t* __restrict out) {
    for (std::size_t j = 0; j < kBlockColumns; ++j) out[j] |= rounded(x[j]) >> (upper ? 0 : 16);
}

/// b [rows, columns], or with `turned` [columns, rows], its rows in memory `step` apart.
struct SecondFactor {
    const float* b;
    std::int64_t step;
    bool turned;
    std::int64_t rows, columns;
};

/// One block of columns, from `first` on; rows that the factor lacks of `height` are 0.
void pack_block(const SecondFactor& f, std::int64_t first, std::int64_t height, std::int16_t* out) {
    const std::int64_t count = std::min(kBlockColumns, f.columns - first), all = up_to(height, kRowsOfTile);
    std::memset(out, 0, static_cast<std::size_t>(all * kBlockColumns) * sizeof *out);
    constexpr std::int64_t kAtOnce = 16;
    std::array<Columns, kAtOnce> some{};
    for (std::int64_t row = 0; row < f.rows; row += kAtOnce) {
        const std::int64_t rows = std::min(kAtOnce, f.rows - row);
        for (std::int64_t j = 0; j < count; ++j)
            for (std::int64_t r = 0; r < rows; ++r)
                some[static_cast<std::size_t>(r)][static_cast<std::size_t>(j)] =
                    f.turned ? f.b[(first + j) * f.step + row + r] : f.b[(row + r) * f.step + first + j];
        for (std::int64_t r = 0; r < rows; ++r) {
            auto* pairs = reinterpret_cast<std::uint32_t*>(out + (row + r) / 2 * 2 * kBlockColumns);
            rounded_columns(some[static_cast<std::size_t>(r)], (row + r) % 2 == 1, pairs);
        }
    }
}

const dnnl::engine& engine() {
    static const auto* const cpu = new dnnl::engine(dnnl::engine::kind::cpu, 0);  // threads may end after static objects
    return *cpu;
}

/// C [m, n] = or, with `adds`, += A [m, k] B of bfloat16, B packed. (oneDNN's fast kernels write no rows that are farther apart.)
struct Shape {
    std::int64_t m, n, k;
    bool adds;
    auto operator<=>(const Shape&) const = default;
};

class Kernel {
public:
    explicit Kernel(const Shape& s) {
        using Memory = dnnl::memory;
        const OneThread alone;  // tiles go to threads here
        const Memory::desc a({s.m, s.k}, Memory::data_type::bf16, Memory::format_tag::ab),
            b({s.k, s.n}, Memory::data_type::bf16, Memory::format_tag::BA16a64b2a),
            c({s.m, s.n}, Memory::data_type::f32, Memory::format_tag::ab);
        dnnl::primitive_attr how;
        how.set_scratchpad_mode(dnnl::scratchpad_mode::user);
        if (s.adds) {
            dnnl::post_ops sum;
            sum.append_sum(1.0F);
            how.set_post_ops(sum);
        }
#if DNNL_VERSION_MAJOR >= 3
        const dnnl::matmul::primitive_desc made(engine(), a, b, c, how);
#else
        const dnnl::matmul::primitive_desc made(dnnl::matmul::desc(a, b, c), how, engine());
#endif
        product_ = dnnl::matmul(made);
        a_ = a, b_ = b, c_ = c;
        scratch_ = made.scratchpad_desc();
    }

private:
    friend class Call;
    dnnl::matmul product_;
    dnnl::memory::desc a_, b_, c_, scratch_;
};

/// Of a shape, compiled once.
const Kernel& kernel(const Shape& shape) {
    static std::mutex mutex;
    static auto& made = *new std::map<Shape, Kernel>;
    const std::lock_guard lock(mutex);
    return made.try_emplace(shape, shape).first->second;
}

/// A thread's calls of a kernel.
class Call {
public:
    explicit Call(const Shape& shape) : kernel_(kernel(shape)) {
        scratch_.resize(std::max(scratch_.size(), kernel_.scratch_.get_size()));
        room_.set_data_handle(scratch_.data());
    }

    void operator()(const std::int16_t* a, const std::int16_t* b, float* c) {
        a_.set_data_handle(const_cast<std::int16_t*>(a));
        b_.set_data_handle(const_cast<std::int16_t*>(b));
        c_.set_data_handle(c);
        const std::array<dnnl_exec_arg_t, 4> all = {{{DNNL_ARG_SRC, a_.get()},
                                                     {DNNL_ARG_WEIGHTS, b_.get()},
                                                     {DNNL_ARG_DST, c_.get()},
                                                     {DNNL_ARG_SCRATCHPAD, room_.get()}}};
        dnnl::error::wrap_c_api(
            dnnl_primitive_execute(kernel_.product_.get(), stream_.get(), static_cast<int>(all.size()), all.data()),
            "oneDNN's product of bfloat16 fails");
    }

private:
    const Kernel& kernel_;
    static thread_local dnnl::stream stream_;
    static thread_local std::vector<std::byte> scratch_;
    dnnl::memory a_{kernel_.a_, engine(), nullptr}, b_{kernel_.b_, engine(), nullptr}, c_{kernel_.c_, engine(), nullptr},
        room_{kernel_.scratch_, engine(), nullptr};
};
thread_local dnnl::stream Call::stream_(engine());
thread_local std::vector<std::byte> Call::scratch_;

/// Memory of the thread for rows of the first factor and for a tile of the result, not set. Kept: it would come and go with every
/// tile.
template <class T>
T* own_memory(std::int64_t n) {
    thread_local std::unique_ptr<T[]> memory;
    thread_local std::int64_t size = 0;
    if (n > size) memory = std::make_unique_for_overwrite<T[]>(static_cast<std::size_t>(size = n));
    return memory.get();
}

at::Tensor packed_blocks(const at::Tensor& heads, bool keys) {
    const std::int64_t count = heads.size(0), n = heads.size(1), d = heads.size(2), blocks = (n + kBlockKeys - 1) / kBlockKeys;
    const std::int64_t columns = keys ? kBlockKeys : d, height = keys ? d : kBlockKeys;
    const std::int64_t across = up_to(columns, kBlockColumns) / kBlockColumns, size = packed_size(height, columns);
    at::Tensor out = at::empty({count, blocks, size}, at::kShort);
    const float* const from = heads.data_ptr<float>();
    std::int16_t* const to = out.data_ptr<std::int16_t>();
    at::parallel_for(0, count * blocks, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
            const std::int64_t first = i % blocks * kBlockKeys, some = std::min(kBlockKeys, n - first);
            const SecondFactor block{from + (i / blocks * n + first) * d, d, keys, keys ? d : some, keys ? some : d};
            for (std::int64_t j = 0; j < across; ++j)
                if (j * kBlockColumns < block.columns)
                    pack_block(block, j * kBlockColumns, height, to + i * size + j * (size / across));
                else
                    std::fill_n(to + i * size + j * (size / across), size / across, std::int16_t{0});
        }
    });
    return out;
}

}  // namespace

at::Tensor product(const at::Tensor& a_rows, const at::Tensor& b) {
    constexpr std::int64_t kRows = 128, kStrip = 512, kAtOnce = 16 * kRows;
    const at::Tensor a = a_rows.stride(1) == 1 ? a_rows : a_rows.contiguous();
    const bool turned = b.stride(1) != 1;
    const std::int64_t m = a.size(0), k = a.size(1), n = b.size(1);
    at::Tensor out = at::empty({m, n}, a.options());
    if (m == 0 || n == 0) return out;
    have_signal_stack();

    const SecondFactor factor{b.data_ptr<float>(), b.stride(turned ? 1 : 0), turned, k, n};
    const std::int64_t block = packed_size(k, kBlockColumns);
    const at::Tensor packed = at::empty({up_to(n, kBlockColumns) / kBlockColumns, block}, at::kShort);
    std::int16_t* const columns = packed.data_ptr<std::int16_t>();
    for_each_tile(packed.size(0), 0,
                  [&](std::int64_t i, float*) { pack_block(factor, i * kBlockColumns, k, columns + i * block); });

    const at::Tensor rows = at::empty({std::min(kAtOnce, up_to(m, kRows)), k}, at::kShort);
    std::int16_t* const firsts = rows.data_ptr<std::int16_t>();
    const std::int64_t across = (n + kStrip - 1) / kStrip;
    float* const outs = out.data_ptr<float>();
    for (std::int64_t from = 0; from < m; from += kAtOnce) {
        if (m > kAtOnce) WorkingFor::token().throw_if_cancelled();
        const std::int64_t some = std::min(kAtOnce, m - from);
        const float* const numbers = a.data_ptr<float>() + from * a.stride(0);
        at::parallel_for(0, up_to(some, kRows), 16, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t r = begin; r < end; ++r)
                first_factor(numbers + r * a.stride(0), r < some ? k : 0, k, firsts + r * k);
        });
        for_each_tile(across * (up_to(some, kRows) / kRows), kRows * kStrip, [&](std::int64_t index, float* tile) {
            const std::int64_t row = index / across * kRows, column = index % across * kStrip,
                               strip = std::min(kStrip, n - column);
            Call({kRows, strip, k, false})(firsts + row * k, columns + column / kBlockColumns * block, tile);
            for (std::int64_t r = 0; r < std::min(kRows, some - row); ++r)
                std::copy_n(tile + r * strip, strip, outs + (from + row + r) * n + column);
        });
    }
    return out;
}

at::Tensor packed_keys(const at::Tensor& keys) { return packed_blocks(keys, true); }
at::Tensor packed_values(const at::Tensor& values) { return packed_blocks(values, false); }

void scores(const Rows& q, std::int64_t d, const std::int16_t* packed, std::int64_t count, float* s, std::int64_t step) {
    const std::int64_t size = packed_size(d, kBlockKeys);
    auto* const rows = own_memory<std::int16_t>(kTileRows * d);
    for (std::int64_t r = 0; r < kTileRows; ++r) first_factor(q.first + r * q.step, r < q.rows ? d : 0, d, rows + r * d);
    auto* const out = own_memory<float>(kTileRows * kBlockKeys);
    Call product({kTileRows, kBlockKeys, d, false});
    for (std::int64_t first = 0; first < count; first += kBlockKeys, packed += size) {
        product(rows, packed, out);
        const std::int64_t some = std::min(kBlockKeys, count - first);
        for (std::int64_t r = 0; r < q.rows; ++r) std::copy_n(out + r * kBlockKeys, some, s + r * step + first);
    }
}

void mix(const Rows& pattern, std::int64_t count, const std::int16_t* packed, std::int64_t d, float* z, std::int64_t step) {
    const std::int64_t width = kBlockKeys, size = packed_size(width, d);
    auto* const rows = own_memory<std::int16_t>(kTileRows * width);
    std::fill(rows + pattern.rows * width, rows + kTileRows * width, std::int16_t{0});
    auto* const out = own_memory<float>(kTileRows * d);
    std::fill_n(out, kTileRows * d, 0.0F);
    Call product({kTileRows, d, width, true});
    for (std::int64_t first = 0; first < count; first += kBlockKeys, packed += size) {
        const std::int64_t some = std::min(kBlockKeys, count - first);
        for (std::int64_t r = 0; r < pattern.rows; ++r)
            first_factor(pattern.first + r * pattern.step + first, some, kBlockKeys, rows + r * width);
        product(rows, packed, out);
    }
    for (std::int64_t r = 0; r < pattern.rows; ++r) std::copy_n(out + r * d, d, z + r * step);
}

}  // namespace bfloat16_products
}  // namespace headlight::model
