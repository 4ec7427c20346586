// SPDX-License-Identifier: GPL-3.0-or-later
// Runs texts through a model into a store.
#pragma once

#include "headlight/corpus/run/stop_at.h"
#include "headlight/corpus/store/segments.h"
#include "headlight/corpus/store/text_store.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace headlight::corpus {

using Note = std::function<void(const std::string&)>;

/// The options fixed when a store is made; those not given take defaults then, or the values of an existing store.
struct AskedOptions {
    std::optional<TextUnit> unit;      ///< line
    std::optional<std::string> field;  ///< "text"
    std::int64_t context = 0;          ///< 0: the smaller of 512 and the model's
    std::int64_t stride = 0;           ///< 0: chunks share nothing
    std::int64_t block = 0;            ///< 0: 64 chunks
    std::optional<std::uint64_t> seed;
    std::vector<std::string> measures;  ///< empty: the usual ones
};

/// A loaded model and its store.
struct RunSetup {
    std::filesystem::path store;
    std::shared_ptr<const model::Model> model;
    std::shared_ptr<const headlight::text::Tokenizer> tokenizer;
    AskedOptions options;
    AddTexts texts;  ///< `from` empty: those of the store
};
/// The store, made or opened, with its texts. While another process works on them it waits, with a note. Errors: a store of
/// another model or with other options than requested, no texts, a model that reads pictures or has an encoder and a decoder.
Manifest open_store(const RunSetup&, const CancelToken& = {}, const Progress& = {}, const Note& = {});

/// SHA-256 of a tokenizer's strings and of the tokens of a text.
std::string tokenizer_hash(const headlight::text::Tokenizer&);

/// The next block to run; -1: none is left. Called between blocks.
using NextBlock = std::function<std::int64_t()>;

struct BlockPlan {
    NextBlock next;
    std::int64_t chunks = 0;         ///< that next() will return, as far as known: for the forecast
    double segment_minutes = 1;      ///< 0: a segment is written after every block
    std::function<bool()> enough{};  ///< called after every segment; true: no further block
    std::string name;                ///< segments are "NAME0000.safetensors": different for processes that share a folder
};

struct RunProgress {
    std::int64_t blocks = 0, chunks = 0, tokens = 0;  ///< of this run
    double seconds = 0;
};

/// Runs blocks until none is left, and writes a segment every few minutes, at the end, and when cancelled (finished blocks
/// count, the current one does not). The first blocks give a forecast. A segment keeps growing until it has grown by 256 MB.
/// Errors name the text; blocks finished before are in a segment.
RunProgress run_blocks(const RunSetup&, const Manifest&, const BlockPlan&, const CancelToken& = {}, const Progress& = {},
                       const Note& = {});

struct CorpusRun {
    RunSetup setup;
    std::int64_t part = 1, parts = 1;  ///< blocks whose number mod parts is part - 1
    double segment_minutes = 1;
    std::optional<StopAt> stop_at{};  ///< blocks then run in a shuffled order, and the condition is checked after every segment
};
struct CorpusResult {
    Manifest manifest;
    RunProgress done;
    std::int64_t missing_blocks = 0;  ///< in other parts, or not reached before the run stopped
    std::string stopped{};  ///< if stopped early: "the widest interval of induction is ± 0.0094 (L3H1), over 640 texts"
};
/// The whole run: opens the store, runs the blocks that no segment has, merges, also when cancelled. Parts with the same number
/// of parts may run at once. Errors: stop_at of a part, as check().
CorpusResult run_corpus(const CorpusRun&, const CancelToken& = {}, const Progress& = {}, const Note& = {});

/// Processes that run one store together in a shared folder. Rank 0 distributes blocks, and runs some itself.
class Team {
public:
    virtual ~Team() = default;
    virtual int rank() const = 0;
    virtual int size() const = 0;
    virtual void barrier() = 0;
    virtual void give_out(std::vector<std::int64_t> blocks) = 0;  ///< rank 0, before any request
    virtual std::int64_t next() = 0;                              ///< -1: none is left
    virtual void answer() = 0;                                    ///< rank 0, between chunks: never waits
    virtual void answer_all() = 0;                                ///< rank 0: until all others know that none is left
};
/// run_corpus() of a team: every rank calls it. The result is rank 0's. `part` is ignored. Error: stop_at.
CorpusResult run_corpus(const CorpusRun&, Team&, const CancelToken& = {}, const Progress& = {}, const Note& = {});

/// Merges stores of the same texts, model and options (--part on machines without a common folder) into a new one; of one store:
/// merges its segments again. Needs no model. Notes segments from different machines, and blocks that are in no store. Errors:
/// a store of another model, other options or other texts, a block in two stores, no finished blocks.
void merge_stores(const std::vector<std::filesystem::path>& stores, const std::filesystem::path& out, const Note& = {});

/// A store's texts and model as accumulators know them.
AccumulatorContext context_of(const Manifest&, const model::ModelConfig&, const headlight::text::Tokenizer&);
/// Locks of a store: texts and merged file, or blocks of a part.
std::filesystem::path lock_file(const std::filesystem::path& store, const std::string& name);

}  // namespace headlight::corpus
