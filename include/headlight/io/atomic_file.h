// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <filesystem>
#include <functional>
#include <ostream>
#include <string_view>

namespace headlight::io {

/// Lets `write` fill a temporary file beside `target`, syncs it and renames it over `target`.
/// On any failure (full disk, exception in `write`) the temporary file is removed, `target` is as before, and Error is
/// thrown. Devices and pipes take the bytes directly; waiting for their reader is cancelled by WorkingFor's token.
void write_atomically(const std::filesystem::path& target, const std::function<void(std::ostream&)>& write);
void write_atomically(const std::filesystem::path& target, std::string_view content);

/// Tells before long work what writing would tell after it: no such folder, a folder of that name, no permission.
void check_writable(const std::filesystem::path& target);

}  // namespace headlight::io
