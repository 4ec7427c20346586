// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/base/error.h"
#include "headlight/base/job.h"
#include "headlight/io/file_stamp.h"
#include "headlight/model/model.h"
#include "headlight/text/tokenizer.h"

#include <QString>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace headlight::ui {

/// A model that is open, and the name it was asked for with.
struct OpenModel {
    QString reference;  ///< as typed: a path, "novella-7m", "org/name"
    std::shared_ptr<const model::Model> model;
    std::shared_ptr<const text::Tokenizer> tokenizer;
    std::vector<io::FileStamp> files;  ///< weight files as they were when opened
    /// io::MappedFile::blanked() before they were mapped.
    int blanked = 0;
    /// One of them was cut short since: a part of the weights reads as zeros.
    std::optional<ErrorFacts> lost{};
};

/// A model folder, a built-in name, a cached id, or a saved trace. In a job.
OpenModel load_model(const QString& reference, const model::LoadOptions&, const CancelToken&, const Progress&);
/// Weights are mapped, not copied: a file that is cut short reads as zeros from there on. What has changed or was lost
/// since; empty: nothing.
std::optional<ErrorFacts> change_of(const OpenModel&);
/// Throws that as an Error.
void check_files(const OpenModel&);
bool has_file(const OpenModel&, const std::filesystem::path&);
/// A trace without its model, which has its own text.
bool is_saved(const OpenModel&);
/// The model reads a picture instead of a text.
bool reads_pictures(const OpenModel&);

}  // namespace headlight::ui
