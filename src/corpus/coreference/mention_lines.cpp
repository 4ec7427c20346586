// SPDX-License-Identifier: GPL-3.0-or-later
#include "corpus/coreference/mention_lines.h"

#include "corpus/reading/line_reader.h"
#include "headlight/base/error.h"
#include "headlight/base/numbers.h"
#include "headlight/base/working_for.h"
#include "text/unicode/utf8.h"

#include <algorithm>
#include <system_error>
#include <tuple>
#include <utility>

namespace headlight::corpus {

bool MentionLines::next(std::string& line) {
    if (!lines_(line)) return false;
    ++number_;
    if (line.ends_with('\r')) line.pop_back();
    if (number_ == 1 && line.starts_with("\xEF\xBB\xBF")) line.erase(0, 3);
    if (const auto bad = headlight::text::utf8::first_invalid(line))
        fail("A line is not UTF-8", "UTF-8", "byte " + std::to_string(*bad + 1) + " of the line", "Convert the file with iconv");
    return true;
}

void MentionLines::fail_at(std::int64_t line, const std::string& problem, const std::string& expected, const std::string& found,
                           const std::string& hint) const {
    throw Error({.problem = problem,
                 .file = file_,
                 .item = "line " + std::to_string(line),
                 .expected = expected,
                 .found = found,
                 .hint = hint});
}

void OpenSpans::open(const std::string& chain, Part part, std::int64_t node, std::int64_t head, std::int64_t line) {
    const auto part_text = [&] { return chain + "[" + std::to_string(part.number) + "/" + std::to_string(part.of) + "]"; };
    if (part.number < 1 || part.number > part.of)
        lines_.fail_at(line, "A part of a mention is not counted as 1/2, 2/2", "a part from 1 to the number of parts",
                       part_text());
    if (part.number == 1) {
        open_.push_back({{chain, {}, head, line}, part, node});
        return;
    }
    const auto continued = std::ranges::find_if(waiting_.rbegin(), waiting_.rend(), [&](const Open& each) {
        return each.span.chain == chain && each.part.of == part.of && each.part.number + 1 == part.number;
    });
    if (continued == waiting_.rend())
        lines_.fail_at(line, "A mention continues that has not begun",
                       chain + "[" + std::to_string(part.number - 1) + "/" + std::to_string(part.of) + "] before it", part_text(),
                       "Correct the numbers of the parts");
    Open span = std::move(*continued);
    waiting_.erase(std::next(continued).base());
    span.part = part;
    span.first = node;
    open_.push_back(std::move(span));
}

void OpenSpans::close(const std::string& chain, Part part, std::int64_t node, std::int64_t line) {
    const auto found = std::ranges::find_if(open_.rbegin(), open_.rend(), [&](const Open& each) {
        return each.span.chain == chain && each.part.number == part.number && each.part.of == part.of;
    });
    if (found == open_.rend())
        lines_.fail_at(line, "A mention closes that is not open", "(" + chain + " before it", chain + ")",
                       "Add its beginning, or remove the end");
    Open span = std::move(*found);
    open_.erase(std::next(found).base());
    constexpr std::int64_t most = 10'000'000;  // nested a hundred thousand deep they would be as many as its square
    nodes_ += node - span.first + 1;
    if (nodes_ > most)
        lines_.fail_at(line, "The mentions of a document have too many words together", "at most " + with_commas(most),
                       with_commas(nodes_), "Are mentions closed where they end?");
    for (std::int64_t n = span.first; n <= node; ++n) span.span.nodes.push_back(n);
    if (part.number < part.of)
        waiting_.push_back(std::move(span));
    else
        closed_.push_back(std::move(span.span));
}

std::vector<NodeSpan> OpenSpans::finish() {
    for (const std::vector<Open>* each : {&open_, &waiting_})
        if (!each->empty()) {
            const NodeSpan& span = each->front().span;
            lines_.fail_at(span.line, "A mention is open at the end of its document", span.chain + ") behind it",
                           "(" + span.chain, each == &waiting_ ? "A part of it is missing" : "Add its end");
        }
    return std::exchange(closed_, {});
}

void sort_mentions(std::vector<Mention>& mentions) {
    std::ranges::sort(mentions, {}, [](const Mention& m) { return std::tuple(m.head_begin, m.begin, -m.end, m.chain); });
}

std::optional<MentionFormat> mention_format(const std::filesystem::path& file) {
    return mention_format(file, WorkingFor::token());
}

std::optional<MentionFormat> mention_format(const std::filesystem::path& file, const CancelToken& cancel) {
    const std::filesystem::path unpacked = unpacked_name(file);
    const std::string name = unpacked.filename().string(), suffix = unpacked.extension().string();
    if (name.find("pro_stereotyped") != std::string::npos || name.find("anti_stereotyped") != std::string::npos)
        return MentionFormat::winobias;
    if (suffix.ends_with("conll")) return MentionFormat::conll2012;
    const bool plain = suffix.empty() || suffix == ".txt" || suffix == ".text", table = suffix == ".tsv" || suffix == ".tab";
    if (suffix != ".conllu" && !plain && !table) return std::nullopt;
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(file, ignored)) return std::nullopt;  // whoever opens it says what it is
    LineReader lines(file, cancel);
    std::string line;
    while (lines.next(line)) {
        if (line.find_first_not_of(" \t") == std::string::npos) continue;
        if (table) return is_gap_header(line) ? std::optional(MentionFormat::gap) : std::nullopt;
        if (plain) return line.starts_with("#begin document") ? std::optional(MentionFormat::conll2012) : std::nullopt;
        if (line.front() != '#') break;
        if (line.starts_with("#begin document")) return MentionFormat::conll2012;
        const std::size_t key = line.find_first_not_of(" \t", 1);
        if (key != std::string::npos && std::string_view(line).substr(key).starts_with("global.Entity"))
            return MentionFormat::corefud;
    }
    return std::nullopt;
}

std::unique_ptr<MentionReader> MentionReader::make(MentionFormat format, Lines lines, const std::string& file) {
    switch (format) {
        case MentionFormat::corefud: return corefud_reader(std::move(lines), file);
        case MentionFormat::conll2012: return conll2012_reader(std::move(lines), file);
        case MentionFormat::gap: return gap_reader(std::move(lines), file);
        case MentionFormat::winobias: break;
    }
    return winobias_reader(std::move(lines), file);
}

}  // namespace headlight::corpus
