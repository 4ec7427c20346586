// SPDX-License-Identifier: GPL-3.0-or-later
// The results that a corpus run gathers. An accumulator is a commutative monoid bit for bit: adding texts in any order,
// splitting them over segments and merging these in any grouping gives the same bytes (docs/corpus.md). So it holds integers,
// FixedSum, examples in a total order, and rows by number of the text, but never a floating-point sum.
#pragma once

#include "headlight/base/ids.h"
#include "headlight/corpus/accumulate/arrays.h"
#include "headlight/corpus/reading/text.h"
#include "headlight/model/config.h"
#include "headlight/trace/encoded.h"
#include "headlight/trace/trace.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace headlight::corpus {

/// A stretch of a text that the model reads in one pass.
struct TextRun {
    std::int64_t number = 0;       ///< of the chunk in the store
    const Text& text;              ///< the unit that it belongs to
    std::int64_t first_byte = 0;   ///< where the chunk begins in Text::text; offsets of the encoding are relative to it
    std::int64_t first_query = 0;  ///< positions before it are only context: an earlier chunk has counted them
    bool begins = true;            ///< it is the first chunk of the text
    bool whole = true;             ///< it is the only one
    const headlight::text::Encoding& encoding;
    const trace::Trace* trace =
        nullptr;  ///< nullptr until the pass is over. Of one stack: the decoder's in an encoder-decoder model
    std::int64_t tokens() const noexcept { return encoding.size(); }
};

/// The results of one text: from its patterns, read during its pass, and from computations that can run in parallel with other
/// texts; several texts may be in one pass.
class TextPatterns {
public:
    virtual ~TextPatterns() = default;
    /// Called once for every head, from several threads at once.
    virtual void add(HeadId, const trace::HeadPattern&) = 0;
    /// True: add_rows() is called instead, for every block of rows (trace::PatternReader::rows()).
    virtual bool by_rows() const { return false; }
    virtual void add_rows(HeadId, const trace::HeadRows&) {}
    /// Called after the pass and before Accumulator::add(), for several texts at once.
    virtual void finish(const TextRun&) {}
};

/// Gathers results from every text. Its state depends only on the set of added texts.
class Accumulator {
public:
    virtual ~Accumulator() = default;
    virtual std::unique_ptr<Accumulator> fresh() const = 0;  ///< an empty one with the same options

    /// Hooks that are read from the trace, as globs.
    virtual std::vector<std::string> hooks() const { return {}; }
    /// Whether the numbers of heads or the lengths of values are read.
    virtual bool overview() const { return false; }
    /// Called before the pass. The result receives the text's patterns and must not outlive the accumulator or the text;
    /// nullptr: no patterns are read.
    virtual std::unique_ptr<TextPatterns> patterns_of(const TextRun&) const { return nullptr; }
    /// Called after the pass, with the result of patterns_of(), one text at a time.
    virtual void add(const TextRun&, TextPatterns*) = 0;

    /// Adds the state of another one of the same kind and options. No text may be in both.
    virtual void merge(const Accumulator&) = 0;
    /// Arrays under names that begin with its id and a dot. load() is the inverse, into a fresh one; Error as Arrays::get().
    virtual void save(Arrays&) const = 0;
    virtual void load(const Arrays&) = 0;
};

/// What an accumulator knows before the first text.
struct AccumulatorContext {
    const model::ModelConfig& config;
    const text::Tokenizer& tokenizer;
    std::uint64_t seed = 0;  ///< of samples
    bool treebank = false;   ///< texts have words
    bool mentions = false;   ///< texts have mentions
};

/// A row of the table of kinds: `--measure heads,neurons,...`.
struct AccumulatorKind {
    const char* id;     ///< "heads": also the prefix of its arrays
    const char* title;  ///< "Measures of heads"
    const char* note;   ///< one line for --help: its content and cost
    bool usual;         ///< gathered unless --measure says otherwise
    bool of_treebank;   ///< only where texts have words
    std::unique_ptr<Accumulator> (*make)(const AccumulatorContext&);
    /// What a file of a run with this seed holds, to be merged with more of it: no model is needed. Errors as Arrays::get().
    std::unique_ptr<Accumulator> (*open)(const Arrays&, std::uint64_t seed);
    bool of_mentions = false;  ///< only where texts have mentions
};
/// For AccumulatorKind::make and ::open.
template <class T>
std::unique_ptr<Accumulator> new_accumulator(T accumulator) {
    return std::make_unique<T>(std::move(accumulator));
}
/// Every kind there is, in the order of the columns and of --help (src/corpus/accumulate/kinds.cpp).
const std::vector<AccumulatorKind>& accumulator_kinds();

}  // namespace headlight::corpus
