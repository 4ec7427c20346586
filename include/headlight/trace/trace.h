// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/base/ids.h"
#include "headlight/base/job.h"
#include "headlight/base/results.h"
#include "headlight/model/model.h"
#include "headlight/model/picture.h"
#include "headlight/text/tokenizer.h"
#include "headlight/trace/capture.h"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace headlight::trace {

/// Max- and mean-pooled picture of one head's pattern, at most 128 x 128 cells, made while the run had the pattern.
/// Cell (r, c) covers queries [r*T/rows, (r+1)*T/rows) and keys likewise. Mean is over the legal pairs of the cell;
/// cells with none are 0.
struct PooledPattern {
    std::int64_t rows = 0, cols = 0;
    std::vector<float> max;   ///< [rows, cols]
    std::vector<float> mean;  ///< [rows, cols]
};

/// How the numbers came about; written into every export.
struct RunInfo {
    std::string device, dtype, version;
    int threads = 1;
    double seconds = 0;
    std::vector<std::string> warnings;  ///< "2,300 tokens on a model made for 2,048: …"
};

/// A picture as the model saw it: `seen` is the part of it that was scaled to the model's size, in pixels of the picture.
struct PictureShown {
    std::string file;
    std::shared_ptr<const model::Picture> pixels;
    model::PictureRect seen;
};

/// What one forward pass on one text or picture left behind. Immutable; shared by pointer; safe to read from any thread.
class Trace {
public:
    ~Trace();
    const model::ModelConfig& config() const noexcept;
    const std::shared_ptr<const model::Model>& model() const noexcept;
    const std::shared_ptr<const text::Tokenizer>& tokenizer() const noexcept;
    const text::Encoding& encoding() const noexcept;
    const std::vector<text::TokenLabel>& labels() const noexcept;
    const std::string& text_a() const noexcept;
    const std::string& text_b() const noexcept;    ///< empty without a pair; the target, where text_a() is a source
    bool has_sentence_pair() const noexcept;       ///< text_b() is a sentence B of this trace's own text
    const PictureShown& picture() const noexcept;  ///< what the model was shown; no pixels where it read a text
    const RunInfo& info() const noexcept;
    std::int64_t tokens() const noexcept;
    /// What the columns of its patterns are: the text itself, but the source in the trace of a cross attention.
    std::int64_t keys() const noexcept;
    const text::Encoding& key_encoding() const noexcept;
    const std::vector<text::TokenLabel>& key_labels() const noexcept;
    bool across_texts() const noexcept;          ///< the rows are another text than the columns
    std::int64_t bytes() const;                  ///< memory of the stored tensors, of the overview and of results()
    bool has(model::HookPoint) const noexcept;   ///< stored, or made from q and k, z or mlp.hook_pre on demand
    std::vector<model::HookPoint> kept() const;  ///< what the plan asked for and what interventions replaced, in pass order

    /// The run of an encoder-decoder model is its decoder's trace, and has two more: of the encoder, and of the decoder's
    /// attention to the encoder's output, whose hooks are q, k, pattern … by the usual names. nullptr: there is none.
    const std::shared_ptr<const Trace>& part(model::Stack) const noexcept;

    HeadOverview overview() const noexcept;          ///< what was gathered of it
    const PooledPattern& pooled(Layer, Head) const;  ///< Error without pooled maps
    /// What gather_head_numbers() has gathered of a head (analyze/heads/head_table.h names them). `with_first_row`: row 0 of a
    /// causal model counts like any other. Error without them.
    const std::vector<double>& head_numbers(Layer, Head, bool with_first_row = false) const;

    /// What was computed from this run and is needed again while it lives.
    Results& results() const noexcept { return results_; }

    struct Internals;  ///< src/trace/internals.h; tensors: headlight/trace/tensors.h
    const Internals& internals() const noexcept { return *internals_; }
    explicit Trace(std::unique_ptr<Internals>);

private:
    std::unique_ptr<Internals> internals_;
    mutable Results results_;
};

/// The trace itself for Stack::whole and Stack::decoder, else a part of it. Error when the model has no such part.
std::shared_ptr<const Trace> part_of(const std::shared_ptr<const Trace>&, model::Stack);

/// One text (or pair), or one picture, to run. Encoder-decoder models: source and target; without a target the decoder has only
/// its start tokens, and predicts the first one.
struct Prompt {
    std::string text{};
    std::string pair{};  ///< sentence B; empty: none
    bool add_special_tokens = true;
    std::vector<std::int64_t> ids{};                  ///< token ids to run instead of a text, which must be empty then
    std::string image{};                              ///< the file that the picture is from
    std::shared_ptr<const model::Picture> picture{};  ///< for models that read pictures; no text then
};

/// What a decoder reads of a target: its start tokens, then the text without what a template adds. The decoder of a classifier
/// reads the source, shifted by its start token, whatever the target.
text::Encoding target_encoding(const model::ModelConfig& decoder, const text::Tokenizer&, const std::string& target,
                               const text::Encoding& source = {});

/// What a run needs beside the model: the tokenizer of its folder. Of a model that reads pictures the names of its
/// classes (its output) and, behind them, of its patches (its input): "[CLS]", "r1c1" ...
std::shared_ptr<const text::Tokenizer> load_tokenizer(const std::filesystem::path& model);

/// Runs the model. Errors: empty text, a picture for a model that reads text and the other way round, more tokens than the model
/// takes (names both), memory (Forecast::text()). Cancelled within one layer. Bit-equal results for equal input.
std::shared_ptr<const Trace> run(std::shared_ptr<const model::Model>, std::shared_ptr<const text::Tokenizer>, const Prompt&,
                                 const CapturePlan& = {}, const CancelToken& = {}, const Progress& = {});

}  // namespace headlight::trace
