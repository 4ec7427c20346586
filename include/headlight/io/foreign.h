// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <filesystem>
#include <string_view>

namespace headlight::io {

/// Error where a file begins as something that downloads leave in place of a model's file: a pointer of Git LFS, an HTML page.
void refuse_foreign(std::string_view begin, const std::filesystem::path& file);

}  // namespace headlight::io
