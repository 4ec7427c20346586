// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/arithmetic/matrix_memory.h"

#include "headlight/model/runtime.h"

#include <ATen/Functions.h>
#include <gtest/gtest.h>

namespace headlight::model {
namespace matrix_memory_test {

constexpr std::int64_t kBytes = 16 << 20;
constexpr std::int64_t kNumbers = kBytes / 4;

TEST(MatrixMemory, ServesTheNextMatrixOfItsSize) {
    const MapLargeTensors converting;
    release_matrix_memory();
    at::Tensor first = matrix_memory({kNumbers / 1024, 1024}, at::kFloat).fill_(1);
    EXPECT_EQ(first.sizes(), (at::IntArrayRef{kNumbers / 1024, 1024}));
    const void* place = first.data_ptr();
    at::Tensor view = first.t().narrow(0, 1, 2);
    first = at::Tensor();
    EXPECT_EQ(matrix_memory_waiting(), 0) << "a view still has it";
    const at::Tensor beside = matrix_memory({kNumbers}, at::kFloat).fill_(2);
    EXPECT_NE(beside.data_ptr(), place);
    EXPECT_EQ(view.min().item<float>(), 1);
    view = at::Tensor();
    EXPECT_EQ(matrix_memory_waiting(), kBytes);
    const at::Tensor larger = matrix_memory({2 * kNumbers}, at::kFloat);
    EXPECT_EQ(matrix_memory_waiting(), kBytes) << "of another size";
    const at::Tensor next = matrix_memory({kNumbers / 2}, at::kDouble);
    EXPECT_EQ(next.data_ptr(), place);
    EXPECT_EQ(matrix_memory_waiting(), 0);
}

TEST(MatrixMemory, GoesBackWithTheLastModelThatConverts) {
    at::Tensor outlives;
    {
        const MapLargeTensors converting;
        release_matrix_memory();
        outlives = matrix_memory({kNumbers}, at::kFloat);
        matrix_memory({kNumbers}, at::kFloat);
        EXPECT_EQ(matrix_memory_waiting(), kBytes);
        matrix_memory({16}, at::kFloat);
        EXPECT_EQ(matrix_memory_waiting(), kBytes) << "small ones are the heap's";
    }
    EXPECT_EQ(matrix_memory_waiting(), 0);
    outlives = at::Tensor();
    matrix_memory({kNumbers}, at::kFloat);
    EXPECT_EQ(matrix_memory_waiting(), 0);
}

}  // namespace matrix_memory_test
}  // namespace headlight::model
