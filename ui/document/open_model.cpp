// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/document/open_model.h"

#include "headlight/base/numbers.h"
#include "headlight/io/mapped_file.h"
#include "headlight/model/locate.h"
#include "headlight/model/outline.h"
#include "headlight/trace/saved.h"

#include <algorithm>

namespace headlight::ui {

namespace fs = std::filesystem;

OpenModel load_model(const QString& reference, const model::LoadOptions& options, const CancelToken& cancel,
                     const Progress& progress) {
    OpenModel opened;
    opened.reference = reference;
    opened.blanked = io::MappedFile::blanked();
    const auto add_file = [&](const fs::path& file) {
        if (auto stamp = io::stamp_of(file); stamp.there) opened.files.push_back(std::move(stamp));
    };
    if (trace::is_saved(reference.toStdString())) {
        const auto saved = trace::open_saved(reference.toStdString(), cancel, progress);
        opened.model = saved->model();
        opened.tokenizer = saved->tokenizer();
        add_file(reference.toStdString());
        return opened;
    }
    const fs::path folder = model::locate_model(reference.toStdString());
    opened.model = model::Model::load(folder, options, cancel, progress);
    opened.tokenizer = trace::load_tokenizer(folder);
    for (const std::string& name : opened.model->report().files) {
        add_file(fs::path(name).is_absolute() ? fs::path(name) : opened.model->folder() / name);
    }
    return opened;
}

std::optional<ErrorFacts> change_of(const OpenModel& model) {
    if (model.lost) return model.lost;
    for (const io::FileStamp& then : model.files) {
        const io::FileStamp now = io::stamp_of(then.file);
        if (now == then) continue;
        const bool written = now.there && now.bytes == then.bytes;
        return ErrorFacts{.problem = "The model's files are gone or have changed since it was opened",
                          .file = then.file.string(),
                          .expected = bytes_text(then.bytes) + (written ? ", as they were" : ""),
                          .found = !now.there ? "no file"
                                   : written  ? "written again since"
                                              : bytes_text(now.bytes),
                          .hint = "Put the file back, or open the model again. What is on screen stays"};
    }
    return std::nullopt;
}

void check_files(const OpenModel& model) {
    if (const auto change = change_of(model)) throw Error(*change);
}

bool has_file(const OpenModel& model, const fs::path& file) {
    return std::ranges::any_of(model.files,
                               [&](const io::FileStamp& of) { return of.file.lexically_normal() == file.lexically_normal(); });
}

bool is_saved(const OpenModel& opened) { return opened.model && !model::has_weights(*opened.model); }

bool reads_pictures(const OpenModel& opened) {
    return opened.model && !is_saved(opened) && model::reads_pictures(opened.model->config());
}

}  // namespace headlight::ui
