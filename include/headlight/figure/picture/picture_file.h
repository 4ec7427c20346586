// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/trace/trace.h"

#include <QImage>
#include <QStringList>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace headlight::figure {

/// Any format that Qt reads, turned upright as its Exif data says; transparency is dropped, as Pillow's convert("RGB")
/// does. Error names the file.
std::shared_ptr<const model::Picture> read_picture(const std::filesystem::path&);

/// The same pixels for painting.
QImage image_of(const model::Picture&);
/// The part that the model saw.
QImage seen_of(const trace::PictureShown&);

/// "*.png", "*.jpg" … for file dialogs and drops.
QStringList picture_patterns();
/// A file, or the pictures of a folder by their names. Error if there is none.
std::vector<std::string> picture_files(const std::filesystem::path& file_or_folder);

}  // namespace headlight::figure
