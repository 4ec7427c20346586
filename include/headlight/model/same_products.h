// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

namespace headlight::model {

/// While one lives, matrix products of float32 that this thread asks for are cut into the same tiles on any number of threads,
/// each computed by one: a library of its own cuts differently for 1, 2 and 8 threads, and the last bits differ. Of one machine's
/// instruction set and one product library the bits are then the same.
class SameProducts {
public:
    /// `row`: with oneDNN or OpenBLAS (product_library()) the bits of a row do not depend on the other rows either, nor on its
    /// place among them. Tiles are then filled up, and a few rows cost a tile; OpenBLAS's tiles have an eighth to a
    /// quarter more rows than are used.
    enum class Of { product, row };
    explicit SameProducts(Of = Of::product) noexcept;
    ~SameProducts();
    static bool of_rows() noexcept;  ///< one of rows lives on this thread
    SameProducts(const SameProducts&) = delete;
    SameProducts& operator=(const SameProducts&) = delete;

private:
    Of of_;
};

}  // namespace headlight::model
