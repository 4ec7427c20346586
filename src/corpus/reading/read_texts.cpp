// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/corpus/reading/read_texts.h"

#include "corpus/reading/records.h"
#include "headlight/base/error.h"
#include "headlight/corpus/coreference/mention_files.h"
#include "headlight/corpus/reading/conllu.h"
#include "headlight/text/tokenizer.h"

#include <algorithm>
#include <utility>

namespace headlight::corpus {
namespace {

namespace fs = std::filesystem;

enum class FileKind { plain, jsonl, csv, tsv, conllu, columnar, unknown };

FileKind kind_of(const fs::path& file) {
    const std::string suffix = unpacked_name(file).extension().string();
    if (suffix == ".jsonl" || suffix == ".ndjson") return FileKind::jsonl;
    if (suffix == ".csv") return FileKind::csv;
    if (suffix == ".tsv" || suffix == ".tab") return FileKind::tsv;
    if (suffix == ".conllu") return FileKind::conllu;
    if (suffix == ".parquet" || suffix == ".arrow") return FileKind::columnar;
    if (suffix.empty() || suffix == ".txt" || suffix == ".text" || suffix == ".md") return FileKind::plain;
    return FileKind::unknown;
}

[[noreturn]] void throw_columnar(const fs::path& file) {
    const std::string name = file.filename().string(), out = file.stem().string() + ".jsonl";
    const std::string read = file.extension() == ".arrow" ? "import datasets; datasets.Dataset.from_file('" + name +
                                                                "').to_json('" + out + "', force_ascii=False)"
                                                          : "import pandas; pandas.read_parquet('" + name + "').to_json('" + out +
                                                                "', orient='records', lines=True, force_ascii=False)";
    throw Error({.problem = "Parquet and Arrow files are not supported",
                 .file = file.string(),
                 .expected = "plain text, JSONL, CSV, TSV or CoNLL-U",
                 .hint = "This writes JSONL: python3 -c \"" + read + "\""});
}

bool is_blank(const std::string& line) { return line.find_first_not_of(" \t") == std::string::npos; }

bool read_plain(const fs::path& file, const std::string& name, TextUnit unit, const TextTaker& take, const CancelToken& cancel) {
    LineReader lines(file);
    std::string open;  // paragraph or document so far
    std::int64_t first = 1;
    bool begun = unit == TextUnit::document, cut = false;  // a paragraph begins with a line that is not blank
    const auto finish = [&] {
        const std::string id = unit == TextUnit::document ? name : name + ":" + std::to_string(first);
        const bool too_long = std::exchange(cut, false);
        begun = false;
        if (too_long) {
            take.leave_out(id, "longer than 10 MiB");
            open.clear();
            return true;
        }
        return take({.id = id, .document = name, .text = std::exchange(open, {}), .words = {}, .fields = {}});
    };
    for (std::string line; lines.next(line);) {
        cancel.throw_if_cancelled();
        const bool blank = is_blank(line);
        if (unit != TextUnit::document && blank) {
            if (begun && !finish()) return false;
            continue;
        }
        if (!std::exchange(begun, true)) first = lines.number();
        if (lines.number() > first) open += '\n';
        cut = cut || lines.cut() || open.size() + line.size() > text::kLongestText;
        if (!cut) open += line;
        if (unit == TextUnit::line && !finish()) return false;
    }
    return !begun || finish();
}

template <class Reader>
bool take_all(Reader& reader, const TextTaker& take, const CancelToken& cancel) {
    for (Text text; reader.next(text); text = {}) {
        cancel.throw_if_cancelled();
        if (!take(std::move(text))) return false;
    }
    return true;
}

bool read_treebank(const fs::path& file, const std::string& name, const TextTaker& take, const CancelToken& cancel) {
    LineReader lines(file);
    ConlluReader reader([&](std::string& line) { return lines.next(line); }, name);
    return take_all(reader, take, cancel);
}

bool read_mentions(const fs::path& file, MentionFormat format, const std::string& name, const TextTaker& take,
                   const CancelToken& cancel) {
    LineReader lines(file);
    const auto reader = MentionReader::make(
        format, [&](std::string& line) { return lines.next(line); }, name);
    return take_all(*reader, take, cancel);
}

bool read_file(const fs::path& file, const std::string& name, const ReadOptions& options, const TextTaker& take,
               const CancelToken& cancel) {
    if (const auto format = mention_format(file)) return read_mentions(file, *format, name, take, cancel);
    switch (kind_of(file)) {
        case FileKind::jsonl: return read_jsonl(file, name, options.field, take, cancel);
        case FileKind::csv: return read_csv(file, name, options.field, ',', take, cancel);
        case FileKind::tsv: return read_csv(file, name, options.field, '\t', take, cancel);
        case FileKind::columnar: throw_columnar(file);
        case FileKind::conllu: return read_treebank(file, name, take, cancel);
        case FileKind::unknown:
        case FileKind::plain: break;
    }
    return read_plain(file, name, options.unit, take, cancel);
}

/// Relative paths of the files below a folder, sorted, without hidden files and folders.
std::vector<fs::path> files_of(const fs::path& folder) {
    std::vector<fs::path> files;
    for (auto at = fs::recursive_directory_iterator(folder); at != fs::recursive_directory_iterator(); ++at) {
        if (at->path().filename().string().starts_with(".")) {
            if (at->is_directory()) at.disable_recursion_pending();
        } else if (at->is_regular_file()) {
            files.push_back(fs::relative(at->path(), folder));
        }
    }
    std::ranges::sort(files, {}, [](const fs::path& path) { return path.generic_string(); });
    return files;
}

}  // namespace

void read_texts(const fs::path& path, const ReadOptions& options, const TakeText& take,
                const std::function<void(LeftOut)>& left_out, const CancelToken& cancel) {
    const TextTaker taker(take, left_out);
    std::error_code code;
    if (!fs::is_directory(path, code)) {
        read_file(path, path.filename().string(), options, taker, cancel);
        return;
    }
    std::vector<fs::path> files;
    try {
        files = files_of(path);
    } catch (const fs::filesystem_error& error) {
        throw Error({.problem = "Cannot read the folder", .file = path.string(), .found = error.code().message()});
    }
    for (const fs::path& file : files) {
        const std::string name = file.generic_string();
        if (kind_of(file) == FileKind::unknown && !mention_format(path / file))
            taker.leave_out(name, "unknown kind of file");
        else if (!read_file(path / file, name, options, taker, cancel))
            return;
    }
}

}  // namespace headlight::corpus
