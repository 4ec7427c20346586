// SPDX-License-Identifier: GPL-3.0-or-later
// Treebanks in CoNLL-U (universaldependencies.org/format.html): ten columns per word, a blank line after every sentence.
#pragma once

#include "headlight/corpus/reading/text.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace headlight::corpus {

/// Reads sentence by sentence. Text::text is "# text", or is rebuilt from FORM and SpaceAfter=No without it; words have their
/// bytes in it. Empty nodes (3.1) are counted, not kept, and neither are arcs of DEPS whose head is one.
class ConlluReader {
public:
    /// Reads the next line without its end; false after the last one.
    using Lines = std::function<bool(std::string& line)>;
    /// `file` appears in errors, and in the ids of sentences without one.
    ConlluReader(Lines lines, std::string file);
    /// Error: no such file.
    explicit ConlluReader(const std::filesystem::path&);

    /// False after the last sentence. Text::notes describe the handling of a broken tree, a missing "# text", empty nodes and
    /// multiword tokens that are not the concatenation of their words. Errors name file and line: not exactly ten columns, ids
    /// out of order, a HEAD that is not a word, forms that are not in "# text", bytes that are not UTF-8.
    bool next(Text&);

    /// "Entity=" in MISC: where mentions of entities begin and end (CorefUD).
    struct EntityMark {
        std::int32_t node = 0;  ///< of Marks::nodes; -1: a multiword token
        std::string value;
        std::int64_t line = 0;
    };
    /// The rest of the sentence that next() gave.
    struct Marks {
        std::int64_t line = 0;  ///< the sentence's first
        bool new_document = false, new_paragraph = false;
        bool space_after = true;          ///< of its last word
        std::vector<std::int32_t> nodes;  ///< words and empty nodes in their order: the word; -1: an empty node
        std::vector<EntityMark> entities;
    };
    const Marks& marks() const noexcept { return marks_; }
    /// "# global.Entity" so far: names of the fields of an entity, such as "eid-etype-head-other".
    const std::string& entity_fields() const noexcept { return entity_fields_; }

    struct Counts {
        std::int64_t sentences = 0, words = 0;
        std::int64_t multiword = 0;    ///< 3-4
        std::int64_t empty_nodes = 0;  ///< 3.1
        std::int64_t shared = 0;       ///< multiword tokens that are not the concatenation of their words
        std::int64_t rebuilt = 0;      ///< sentences without "# text"
        std::int64_t malformed = 0;    ///< sentences whose arcs do not form a tree
    };
    const Counts& counts() const noexcept { return counts_; }

private:
    struct Row;
    struct Sentence;
    bool read_block(Sentence&);
    void read_row(const std::string& line, Sentence&);
    void read_comment(const std::string& line, Sentence&);
    void place_words(const Sentence&, Text&);
    void check_tree(const Sentence&, Text&);
    void note(const Sentence&, Text&, const std::string& what) const;
    [[noreturn]] void fail(std::int64_t line, const std::string& problem, const std::string& expected, const std::string& found,
                           const std::string& hint = {}) const;

    Lines lines_;
    std::string file_, document_, entity_fields_;
    Marks marks_;
    std::int64_t line_ = 0;
    Counts counts_;
};

/// Why the arcs of a sentence do not form a tree: "2 roots", "arcs in a circle"; empty if they do, or if there are none. Heads
/// must be words of the sentence.
std::string tree_problem(const std::vector<Word>&);

/// All sentences of a file.
std::vector<Text> read_conllu(const std::filesystem::path&);

}  // namespace headlight::corpus
