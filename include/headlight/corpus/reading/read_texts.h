// SPDX-License-Identifier: GPL-3.0-or-later
// Reads texts from files: plain text, JSONL, CSV and TSV, CoNLL-U, files with mentions; each also as .gz and .zst.
#pragma once

#include "headlight/base/enum_table.h"
#include "headlight/base/job.h"
#include "headlight/corpus/reading/text.h"

#include <filesystem>
#include <functional>
#include <string>

namespace headlight::corpus {

/// The unit of a plain file that makes one text.
enum class TextUnit { line, paragraph, document };
inline constexpr EnumRow<TextUnit> text_units[] = {{TextUnit::line, "line", "line", "every line that is not blank"},
                                                   {TextUnit::paragraph, "paragraph", "paragraph", "lines between blank lines"},
                                                   {TextUnit::document, "document", "document", "the whole file"}};
constexpr const auto& enum_rows(TextUnit) { return text_units; }

struct ReadOptions {
    TextUnit unit = TextUnit::line;
    std::string field = "text";  ///< the field of a record that holds the text
};

/// A text that is not run, and why: it is counted and listed, never skipped silently.
struct LeftOut {
    std::string id;      ///< "FILE:LINE", or the file
    std::string reason;  ///< "empty", "not UTF-8 (byte 12)", "longer than 10 MiB", "unknown kind of file"
};

/// Receives one text after another; returning false stops the reading.
using TakeText = std::function<bool(Text&&)>;

/// Streams the texts of a file, or of all files in a folder and its subfolders in the order of their paths (except hidden
/// ones). The suffix decides the format: .jsonl .ndjson .csv .tsv .conllu; files with mentions as mention_format(); others are
/// plain text, in a folder only .txt .text .md and names without a suffix. Text::id is "FILE:LINE" with FILE relative to the
/// folder; other scalar fields of a record are Text::fields. A byte order mark and CR before LF are removed. Empty and
/// undecodable texts and subfolders without permission go to `left_out`. Errors with file and line: a malformed record, a record
/// without the field, a column too many or too few, an open quote, damaged or truncated compressed files; Parquet and Arrow, with
/// a line of Python that converts them to JSONL; no such file.
void read_texts(const std::filesystem::path&, const ReadOptions&, const TakeText&, const std::function<void(LeftOut)>& left_out,
                const CancelToken& = {});

}  // namespace headlight::corpus
