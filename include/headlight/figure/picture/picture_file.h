// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/model/picture.h"

#include <QImage>
#include <QStringList>

#include <filesystem>
#include <memory>

namespace headlight::figure {

/// Any format that Qt reads, turned upright as its Exif data says; transparency is dropped, as Pillow's convert("RGB")
/// does. Error names the file.
std::shared_ptr<const model::Picture> read_picture(const std::filesystem::path&);

/// The same pixels for painting.
QImage image_of(const model::Picture&);

/// "*.png", "*.jpg" … for file dialogs and drops.
QStringList picture_patterns();

}  // namespace headlight::figure
