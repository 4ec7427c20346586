// SPDX-License-Identifier: GPL-3.0-or-later
// Activations and the cap of scores in float32, against float64 and against themselves at another place of a row.
#include "model/arithmetic/kernels.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

namespace headlight::model {
namespace activation_test {

template <class T>
using Row = std::function<void(std::vector<T>&)>;

struct Function {
    const char* name;
    Row<float> in_float;
    Row<double> in_double;
};

template <class T>
Row<T> activation(Activation a) {
    return [a](std::vector<T>& x) {
        std::vector<T> post(x.size());
        kernels::activate(x.data(), static_cast<const T*>(nullptr), post.data(), static_cast<std::int64_t>(x.size()), a);
        x = post;
    };
}

template <class T>
Row<T> softcap(T cap) {
    return [cap](std::vector<T>& x) { kernels::softcap(x.data(), static_cast<std::int64_t>(x.size()), cap); };
}

Function of(const char* name, Activation a) { return {name, activation<float>(a), activation<double>(a)}; }

std::vector<Function> functions() {
    return {of("gelu", Activation::gelu),
            of("gelu_tanh", Activation::gelu_tanh),
            of("gelu_bloom", Activation::gelu_bloom),
            of("relu", Activation::relu),
            of("silu", Activation::silu),
            of("quick_gelu", Activation::quick_gelu),
            of("tanh", Activation::tanh),
            {"softcap 1", softcap<float>(1), softcap<double>(1)},
            {"softcap 30", softcap<float>(30), softcap<double>(30)}};
}

std::vector<float> values() {
    std::vector<float> out{0.0F, -0.0F, 1e-30F, -1e-30F, 87.5F, -87.5F, 88.5F, -88.5F, 300.0F, -300.0F, 1e6F, -1e6F};
    for (int i = -30'000; i <= 30'000; ++i) out.push_back(static_cast<float>(i) * 0.001F);
    return out;
}

TEST(Activations, AreThoseOfFloat64) {
    const std::vector<float> x = values();
    for (const Function& f : functions()) {
        std::vector<float> y = x;
        std::vector<double> expected(x.begin(), x.end());
        f.in_float(y);
        f.in_double(expected);
        for (std::size_t i = 0; i < x.size(); ++i)
            ASSERT_NEAR(static_cast<double>(y[i]), expected[i], 3e-7 * std::max(1.0, std::abs(static_cast<double>(x[i]))))
                << f.name << " of " << x[i];
    }
}

TEST(Activations, OfSmallNumbersKeepTheirDigits) {
    for (float x = 1e-20F; x < 1; x *= 1.7F) {
        std::vector<float> y{x, -x};
        std::vector<double> expected{static_cast<double>(x), static_cast<double>(-x)};
        for (const Function& f : functions()) {
            std::vector<float> out = y;
            std::vector<double> exact = expected;
            f.in_float(out);
            f.in_double(exact);
            for (std::size_t i = 0; i < 2; ++i)
                EXPECT_NEAR(static_cast<double>(out[i]), exact[i], 4e-7 * std::abs(exact[i])) << f.name << " of " << y[i];
        }
    }
}

TEST(Activations, ANumberHasTheSameBitsAnywhereInARow) {
    const std::vector<float> x = values();
    for (const Function& f : functions()) {
        std::vector<float> whole = x;
        f.in_float(whole);
        for (std::size_t n = 1; n < 70; ++n) {
            const std::size_t first = 977 * n % (x.size() - n);
            std::vector<float> part(x.begin() + static_cast<std::ptrdiff_t>(first),
                                    x.begin() + static_cast<std::ptrdiff_t>(first + n));
            f.in_float(part);
            for (std::size_t i = 0; i < n; ++i)
                ASSERT_EQ(std::bit_cast<std::uint32_t>(part[i]), std::bit_cast<std::uint32_t>(whole[first + i]))
                    << f.name << " of " << x[first + i] << ", " << i << " of " << n;
        }
    }
}

TEST(Activations, NaNStaysNaN) {
    for (const Function& f : functions()) {
        std::vector<float> x(40, 1.0F);
        x[3] = x[39] = std::numeric_limits<float>::quiet_NaN();
        f.in_float(x);
        for (const std::size_t i : {std::size_t{3}, std::size_t{39}}) EXPECT_TRUE(std::isnan(x[i])) << f.name;
        EXPECT_TRUE(std::isfinite(x[4])) << f.name;
    }
}

}  // namespace activation_test
}  // namespace headlight::model
