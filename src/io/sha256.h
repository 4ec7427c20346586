// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstddef>
#include <memory>
#include <string>

struct evp_md_ctx_st;

namespace headlight::io {

/// SHA-256 of bytes that come in pieces.
class Sha256 {
public:
    Sha256();
    void add(const void* data, std::size_t size);
    std::string hex();  ///< lower case; nothing may be added after it

private:
    std::unique_ptr<evp_md_ctx_st, void (*)(evp_md_ctx_st*)> context_;
};

}  // namespace headlight::io
