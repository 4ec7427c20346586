// SPDX-License-Identifier: GPL-3.0-or-later
#include "corpus/reading/records.h"

#include "corpus/reading/separated.h"
#include "headlight/base/error.h"
#include "headlight/base/nearest.h"
#include "headlight/io/json_file.h"
#include "headlight/text/tokenizer.h"
#include "text/unicode/utf8.h"

#include <algorithm>

namespace headlight::corpus {
namespace {

using nlohmann::json;

[[noreturn]] void throw_without_field(const LineReader& lines, const std::string& field, const std::vector<std::string>& there) {
    const std::string list = joined(there, ", ");
    const std::string near = nearest(field, there);
    throw Error({.problem = "There is no field for the text",
                 .file = lines.file().string(),
                 .item = lines.place(),
                 .expected = "a field " + field,
                 .found = list.empty() ? "none" : list,
                 .hint = near.empty() ? "--field names the text field" : "Did you mean --field " + near + "?"});
}

/// True: it is listed instead of being read. A line that is cut or not UTF-8 is neither JSON nor a row.
bool left_out(const LineReader& lines, const std::string& line, const std::string& id, const TextTaker& take) {
    if (lines.cut()) {
        take.leave_out(id, "longer than 64 MiB");
        return true;
    }
    const auto invalid = text::utf8::first_invalid(line);
    if (invalid) take.leave_out(id, "not UTF-8 (byte " + std::to_string(*invalid) + ")");
    return invalid.has_value();
}

json parse_line(const LineReader& lines, const std::string& line) {
    ErrorFacts facts;
    try {
        json record = io::parse_json(line, lines.file());
        if (record.is_object()) return record;
        facts.problem = "A line is no record";
        facts.found = record.type_name();
    } catch (const Error& error) {
        facts = error.facts();
    }
    facts.file = lines.file().string();
    facts.item = lines.place();
    facts.expected = "one JSON object a line";
    throw Error(std::move(facts));
}

/// Rows of a file with quotes (RFC 4180): a field in quotes may hold separators, line ends and doubled quotes.
class CsvReader {
public:
    CsvReader(const std::filesystem::path& file, char separator, const CancelToken& cancel)
        : lines_(file, cancel), separator_(separator) {}
    /// False: the end. Error for an open quote, or for text after a closing one.
    bool next(std::vector<std::string>& row) {
        row.clear();
        if (!lines_.next(line_)) return false;
        line_number_ = lines_.number();
        cut_ = lines_.cut();
        for (std::size_t at = 0;; ++at) {
            row.emplace_back();
            at = at < line_.size() && line_[at] == '"' ? quoted(at + 1, row.back()) : plain(at, row.back());
            if (at >= line_.size()) return true;
        }
    }
    std::int64_t line_number() const noexcept { return line_number_; }  ///< the row's first
    bool cut() const noexcept { return cut_; }
    const LineReader& lines() const noexcept { return lines_; }

private:
    std::size_t plain(std::size_t at, std::string& field) const {
        const std::size_t end = std::min(line_.find(separator_, at), line_.size());
        field = line_.substr(at, end - at);
        return end;
    }
    std::size_t quoted(std::size_t at, std::string& field) {
        while (true) {
            const std::size_t quote = line_.find('"', at);
            field += line_.substr(at, std::min(quote, line_.size()) - at);
            if (field.size() > LineReader::kLongest) fail("A quote is open for more than 64 MiB");
            if (quote == std::string::npos) {
                field += '\n';
                if (!lines_.next(line_)) fail("A quote is never closed");
                cut_ = cut_ || lines_.cut();
                at = 0;
            } else if (quote + 1 < line_.size() && line_[quote + 1] == '"') {
                field += '"';
                at = quote + 2;
            } else if (quote + 1 == line_.size() || line_[quote + 1] == separator_) {
                return quote + 1;
            } else {
                fail("There is text after a closing quote");
            }
        }
    }
    [[noreturn]] void fail(const char* problem) const {
        throw Error({.problem = problem,
                     .file = lines_.file().string(),
                     .item = "line " + std::to_string(line_number_),
                     .hint = "A quote inside a field in quotes is written twice"});
    }

    LineReader lines_;
    char separator_;
    std::string line_;
    std::int64_t line_number_ = 0;
    bool cut_ = false;
};

}  // namespace

bool TextTaker::operator()(Text&& text) const {
    if (text.text.find_first_not_of(" \t\r\n") == std::string::npos) {
        leave_out(text.id, "empty");
        return true;
    }
    if (const auto invalid = text::utf8::first_invalid(text.text)) {
        leave_out(text.id, "not UTF-8 (byte " + std::to_string(*invalid) + ")");
        return true;
    }
    if (text.text.size() > text::kLongestText) {
        leave_out(text.id, "longer than 10 MiB");
        return true;
    }
    return take_(std::move(text));
}

bool read_jsonl(const std::filesystem::path& file, const std::string& name, const std::string& field, const TextTaker& take,
                const CancelToken& cancel) {
    LineReader lines(file, cancel);
    for (std::string line; lines.next(line);) {
        cancel.throw_if_cancelled();
        const std::string id = name + ":" + std::to_string(lines.number());
        if (line.find_first_not_of(" \t") == std::string::npos || left_out(lines, line, id, take)) continue;
        const json record = parse_line(lines, line);
        const auto found = record.find(field);
        if (found == record.end()) {
            std::vector<std::string> there;
            for (const auto& [key, value] : record.items()) there.push_back(key);
            throw_without_field(lines, field, there);
        }
        if (!found->is_string() && !found->is_null())
            throw Error({.problem = "The text field is not a string",
                         .file = file.string(),
                         .item = lines.place() + ", " + field,
                         .expected = "a string",
                         .found = found->type_name()});
        Text text{
            .id = id, .document = name, .text = found->is_null() ? "" : found->get<std::string>(), .words = {}, .fields = {}};
        for (const auto& [key, value] : record.items()) {
            if (key == field || value.is_null() || value.is_structured()) continue;
            text.fields[key] = value.is_string() ? value.get<std::string>() : value.dump();
        }
        if (!take(std::move(text))) return false;
    }
    return true;
}

bool read_csv(const std::filesystem::path& file, const std::string& name, const std::string& field, char separator,
              const TextTaker& take, const CancelToken& cancel) {
    CsvReader csv(file, separator, cancel);
    std::vector<std::string> header, row;
    if (!csv.next(header)) {
        take.leave_out(name, "empty");
        return true;
    }
    const auto column = static_cast<std::size_t>(std::ranges::find(header, field) - header.begin());
    if (column == header.size()) throw_without_field(csv.lines(), field, header);
    while (csv.next(row)) {
        cancel.throw_if_cancelled();
        if (row.size() == 1 && row[0].empty()) continue;  // a blank line
        const std::string id = name + ":" + std::to_string(csv.line_number());
        if (csv.cut()) {
            take.leave_out(id, "longer than 64 MiB");
            continue;
        }
        if (row.size() != header.size())
            throw Error({.problem = "A row has a different number of columns than the header",
                         .file = file.string(),
                         .item = "line " + std::to_string(csv.line_number()),
                         .expected = std::to_string(header.size()),
                         .found = std::to_string(row.size()),
                         .hint = "A field with separators, quotes or line ends in it stands in quotes"});
        Text text{.id = id, .document = name, .text = row[column], .words = {}, .fields = {}};
        bool decodable = true;
        for (std::size_t c = 0; c < row.size(); ++c) {
            if (c == column || row[c].empty()) continue;
            decodable = decodable && !text::utf8::first_invalid(row[c]);
            text.fields[header[c]] = row[c];
        }
        if (!decodable)
            take.leave_out(id, "a field that is not UTF-8");
        else if (!take(std::move(text)))
            return false;
    }
    return true;
}

}  // namespace headlight::corpus
