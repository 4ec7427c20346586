// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/streamed_out.h"

#include "headlight/base/error.h"
#include "headlight/io/mapped_file.h"

#include <stdlib.h>

#include <system_error>

namespace headlight::cli {

StreamedOut::StreamedOut(const Definition& definition) : definition_(definition) {
    if (!definition.out) return;
    const auto& [path, format] = *definition.out;
    if (*path != "-") {
        if (!format.empty()) throw UsageError("--format: it is for --out -; the ending of a file says its format");
        return;
    }
    if (format.empty()) throw UsageError("--out -: standard output has no ending that says the format; add --format");
    std::string name = (std::filesystem::temp_directory_path() / "headlight-XXXXXX").string();
    if (!::mkdtemp(name.data()))
        throw Error(ErrorFacts{.problem = "No temporary folder can be made for --out -",
                               .file = name,
                               .hint = "Set TMPDIR to a folder that can be written"});
    folder_ = name;
    *path = folder_ / ("out." + format);
    definition.console->streamed = *path;
}

StreamedOut::~StreamedOut() {
    std::error_code ignored;
    if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
}

void StreamedOut::send() const {
    if (folder_.empty()) return;
    const auto file = io::MappedFile::open(definition_.console->streamed);
    definition_.console->result({reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size()});
}

}  // namespace headlight::cli
