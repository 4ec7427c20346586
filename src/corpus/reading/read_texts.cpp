// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/corpus/reading/read_texts.h"

#include "corpus/coreference/mention_lines.h"
#include "corpus/reading/records.h"
#include "headlight/base/error.h"
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
    LineReader lines(file, cancel);
    std::string open;  // paragraph or document so far
    std::int64_t first = 1, paragraphs = 0;
    bool begun = unit == TextUnit::document, cut = false;  // a paragraph begins with a line that is not blank
    const auto finish = [&](bool ended) {
        const std::string id = unit == TextUnit::document ? name : name + ":" + std::to_string(first);
        const bool too_long = std::exchange(cut, false);
        begun = false;
        if (too_long) {
            take.leave_out(id, "longer than 10 MiB");
            open.clear();
            return true;
        }
        Text text{.id = id, .document = name, .text = std::exchange(open, {}), .words = {}, .fields = {}};
        if (unit == TextUnit::paragraph && ++paragraphs == 1 && ended && lines.number() > first)
            text.notes.push_back({name, "no blank line: the file is one paragraph (--unit line makes every line a text)"});
        return take(std::move(text));
    };
    for (std::string line; lines.next(line);) {
        cancel.throw_if_cancelled();
        const bool blank = is_blank(line);
        if (unit != TextUnit::document && blank) {
            if (begun && !finish(false)) return false;
            continue;
        }
        if (!std::exchange(begun, true)) first = lines.number();
        if (lines.number() > first) open += '\n';
        cut = cut || lines.cut() || open.size() + line.size() > text::kLongestText;
        if (!cut) open += line;
        if (unit == TextUnit::line && !finish(false)) return false;
    }
    return !begun || finish(true);
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
    LineReader lines(file, cancel);
    ConlluReader reader([&](std::string& line) { return lines.next(line); }, name);
    return take_all(reader, take, cancel);
}

bool read_mentions(const fs::path& file, MentionFormat format, const std::string& name, const TextTaker& take,
                   const CancelToken& cancel) {
    LineReader lines(file, cancel);
    const auto reader = MentionReader::make(
        format, [&](std::string& line) { return lines.next(line); }, name);
    return take_all(*reader, take, cancel);
}

bool read_file(const fs::path& file, const std::string& name, const ReadOptions& options, const TextTaker& take,
               const CancelToken& cancel) {
    if (const auto format = mention_format(file, cancel)) return read_mentions(file, *format, name, take, cancel);
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

/// Paths below a folder, relative to it, without hidden files and folders.
struct Found {
    std::vector<fs::path> files;
    std::vector<LeftOut> folders;  ///< that cannot be read
};

void find_files(const fs::path& top, const fs::path& below, Found& found) {
    std::error_code code;
    fs::directory_iterator at(top / below, code);
    for (; !code && at != fs::directory_iterator(); at.increment(code)) {
        const fs::path path = below / at->path().filename();
        if (path.filename().string().starts_with(".")) continue;
        std::error_code ignored;
        if (at->is_directory(ignored) && !at->is_symlink(ignored))  // a link may lead back up
            find_files(top, path, found);
        else if (at->is_regular_file(ignored))
            found.files.push_back(path);
    }
    if (!code) return;
    if (below.empty()) throw Error({.problem = "Cannot read the folder", .file = top.string(), .found = code.message()});
    found.folders.push_back({below.generic_string(), "a folder that cannot be read (" + code.message() + ")"});
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
    Found found;
    find_files(path, {}, found);
    std::ranges::sort(found.files, {}, [](const fs::path& file) { return file.generic_string(); });
    std::ranges::sort(found.folders, {}, &LeftOut::id);
    for (LeftOut& folder : found.folders) taker.leave_out(std::move(folder.id), std::move(folder.reason));
    for (const fs::path& file : found.files) {
        const std::string name = file.generic_string();
        if (kind_of(file) == FileKind::unknown && !mention_format(path / file, cancel))
            taker.leave_out(name, "unknown kind of file");
        else if (!read_file(path / file, name, options, taker, cancel))
            return;
    }
}

}  // namespace headlight::corpus
