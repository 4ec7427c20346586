// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/model/keep.h"

#include <cstdlib>

namespace headlight::model {

namespace fs = std::filesystem;

fs::path kept_folder() {
    const auto folder = [](const char* variable) {
        const char* value = std::getenv(variable);
        const fs::path path = value ? value : "";
        return path.is_absolute() ? path : fs::path();  // the XDG specification: relative ones count as unset
    };
    fs::path cache = folder("XDG_CACHE_HOME");
    if (cache.empty() && !folder("HOME").empty()) cache = folder("HOME") / ".cache";
    return cache.empty() ? cache : cache / "headlight";
}

fs::path kept_file(const Model& model, std::string_view name) {
    const fs::path folder = kept_folder();
    return folder.empty() || model.hash().empty() ? fs::path() : folder / "models" / model.hash() / name;
}

}  // namespace headlight::model
