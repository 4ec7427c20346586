// SPDX-License-Identifier: GPL-3.0-or-later
// Shared by the readers of mentions.
#pragma once

#include "headlight/base/job.h"
#include "headlight/corpus/coreference/mention_files.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace headlight::corpus {

/// Lines with their numbers, without CR and byte order mark. Error for a line that is not UTF-8.
class MentionLines {
public:
    MentionLines(MentionReader::Lines lines, std::string file) : lines_(std::move(lines)), file_(std::move(file)) {}
    bool next(std::string& line);
    std::int64_t number() const noexcept { return number_; }
    const std::string& file() const noexcept { return file_; }
    /// "FILE:LINE"
    std::string place() const { return file_ + ":" + std::to_string(number_); }
    [[noreturn]] void fail(const std::string& problem, const std::string& expected, const std::string& found,
                           const std::string& hint = {}) const {
        fail_at(number_, problem, expected, found, hint);
    }
    [[noreturn]] void fail_at(std::int64_t line, const std::string& problem, const std::string& expected,
                              const std::string& found, const std::string& hint = {}) const;

private:
    MentionReader::Lines lines_;
    std::string file_;
    std::int64_t number_ = 0;
};

/// A mention as nodes of a document: words, and the empty nodes of CorefUD.
struct NodeSpan {
    std::string chain;
    std::vector<std::int64_t> nodes;  ///< ascending
    std::int64_t head = 0;            ///< from 1, of `nodes`; 0: not given
    std::int64_t line = 0;
};

/// Mentions of a document while they open and close: nested, crossing, and in several parts.
class OpenSpans {
public:
    struct Part {
        std::int64_t number = 1, of = 1;
    };
    explicit OpenSpans(const MentionLines& lines) : lines_(lines) {}
    void open(const std::string& chain, Part, std::int64_t node, std::int64_t head, std::int64_t line);
    /// The last one of the chain that is open. Error if there is none.
    void close(const std::string& chain, Part, std::int64_t node, std::int64_t line);
    /// All mentions of the document, in the order in which they close. Error for one that is open.
    std::vector<NodeSpan> finish();

private:
    struct Open {
        NodeSpan span;
        Part part;
        std::int64_t first = 0;  ///< node
    };
    const MentionLines& lines_;
    std::vector<Open> open_, waiting_;  ///< waiting_: for their next part
    std::vector<NodeSpan> closed_;
    std::int64_t nodes_ = 0;  ///< of all mentions that have closed
};

/// By head, then begin, then the longest, then chain: the order of chains in Text::mentions.
void sort_mentions(std::vector<Mention>&);

std::unique_ptr<MentionReader> corefud_reader(MentionReader::Lines, const std::string& file);
std::unique_ptr<MentionReader> conll2012_reader(MentionReader::Lines, const std::string& file);
std::unique_ptr<MentionReader> gap_reader(MentionReader::Lines, const std::string& file);
std::unique_ptr<MentionReader> winobias_reader(MentionReader::Lines, const std::string& file);
/// As mention_format() of one argument.
std::optional<MentionFormat> mention_format(const std::filesystem::path&, const CancelToken&);
/// The header of GAP's files.
bool is_gap_header(std::string_view line);

}  // namespace headlight::corpus
