// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/analyze/table.h"
#include "headlight/base/fields.h"
#include "headlight/base/ids.h"
#include "headlight/base/job.h"
#include "headlight/text/tokenizer.h"
#include "headlight/trace/trace.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace headlight::analyze {

/// A token and its place in a distribution over the vocabulary.
struct TokenScore {
    std::int64_t id = 0;
    float logit = 0;
    float probability = 0;
};

/// Which state of a layer is read.
enum class StreamPlace { resid_pre, resid_mid, resid_post };
inline constexpr EnumRow<StreamPlace> stream_places[] = {{StreamPlace::resid_pre, "resid_pre", "Before the layer"},
                                                         {StreamPlace::resid_mid, "resid_mid", "After attention"},
                                                         {StreamPlace::resid_post, "resid_post", "After the layer"}};
constexpr const auto& enum_rows(StreamPlace) { return stream_places; }
constexpr const char* name_of(StreamPlace place) { return enum_word(place).data(); }

/// A tuned lens (Belrose 2023): for each layer an affine map A h + b that is applied before the model's own read-out.
/// A safetensors file with, for each layer N, either `N.A` [d_model, d_model] and `N.b` [d_model], or what the
/// tuned-lens package saves, `N.weight` and `N.bias` (also behind `layer_translators.`), which stand for
/// h + weight h + bias. Metadata `at` says which state it was made for; resid_pre when it does not, as in that package.
class TunedLens {
public:
    /// Error when a layer is missing or the shapes are those of another model.
    static std::shared_ptr<const TunedLens> load(const std::filesystem::path&, const model::ModelConfig&);
    ~TunedLens();
    StreamPlace made_for() const noexcept;
    const std::filesystem::path& file() const noexcept;

    struct Internals;
    const Internals& internals() const noexcept { return *internals_; }

private:
    explicit TunedLens(std::unique_ptr<Internals>);
    std::unique_ptr<Internals> internals_;
};

/// What is asked of a lens.
struct LensRequest {
    StreamPlace at = StreamPlace::resid_post;
    std::int64_t top = 10;  ///< rows of a state in tables
    std::string tuned{};    ///< file of a tuned lens; empty: none
    std::string watch{};    ///< a token as typed; empty: what the text has
};
void describe(Describes<LensRequest> auto& r, const auto& field) {
    field(Field{"at", "State of the layers", "which state of each layer is read"}, r.at);
    field(Field{"top", "Tokens in tables", "tokens to list for each state"}.within(1, 100'000), r.top);
    field(Field{"tuned", "Tuned lens", "a tuned lens: safetensors with N.A and N.b, or N.weight and N.bias, of each layer N"}
              .as(FieldKind::file)
              .or_if_empty("path of a .safetensors file"),
          r.tuned);
    field(Field{"watch", "Watched token", "a token to list in every state (default: the next token of the text)"}.as(
              FieldKind::token),
          r.watch);
}

struct LensOptions {
    StreamPlace at = StreamPlace::resid_post;
    std::int64_t top = 10;                  ///< tokens to list for each state
    std::optional<std::int64_t> watched{};  ///< a token whose rank is wanted everywhere
    bool watch_text = false;                ///< watch what the text has: the token behind each position (encoders: at it)
    std::shared_ptr<const TunedLens> tuned{};
};

/// Without the tuned lens, which is a file to be loaded. Error for a token that does not exist.
LensOptions lens_asked(const model::ModelConfig&, const text::Tokenizer&, const LensRequest&);

/// What the model would say if it stopped at one state.
struct LensState {
    std::vector<TokenScore> top;     ///< largest first
    double entropy = 0;              ///< nats
    double kl_to_final = 0;          ///< nats, KL(model's output || this state), the loss of a tuned lens; 0: the same
    std::int64_t watched_rank = -1;  ///< 0: the watched token is the likeliest; -1: none is watched here
    TokenScore watched{};
};

/// softmax(LN_f(state) W_U + b_U) of every layer and position; the norm's statistics are those of the state itself
/// (nostalgebraist 2020). Encoders: through the whole masked-word head. Classifiers of texts and tokens: the class logits that
/// their head gives each state; a head that reads the mean of all tokens is given one token's state.
struct LogitLens {
    StreamPlace at = StreamPlace::resid_post;
    std::int64_t layers = 0, positions = 0, vocab = 0;
    /// Question answering: `top` holds start (0) and end (1), probabilities are a softmax over the tokens of the text, and rank,
    /// entropy and divergence are those of the watched one (start unless asked) over the tokens, of which there are `vocab`.
    bool over_tokens = false;
    std::optional<std::int64_t> watched;
    std::vector<LensState> states;  ///< [layer, position], then a last row: the model's output

    /// Layer -1 is the model's output.
    const LensState& state(std::int64_t layer, Position position) const {
        const std::int64_t row = layer < 0 ? layers : layer;
        return states.at(static_cast<std::size_t>(row * positions + position.value));
    }
};

/// Errors: a model without unembedding, a watched id outside the vocabulary, a tuned lens made for another
/// state.
LogitLens logit_lens(const trace::Trace&, const LensOptions& = {}, const CancelToken& = {}, const Progress& = {});

/// Some tokens through the layers at one position: the history behind a cell of the lens.
struct LensHistory {
    std::vector<std::int64_t> ids;
    std::int64_t layers = 0;
    std::vector<TokenScore> scores;   ///< [layer, id], then a last row: the model's output
    std::vector<std::int64_t> ranks;  ///< likewise; 0: the likeliest
};
LensHistory lens_history(const trace::Trace&, Position, const std::vector<std::int64_t>& ids, const LensOptions& = {});

/// Error when the model gives no logits, naming the hooks that can be read instead.
void require_unembedding(const model::ModelConfig&, const std::string& what);

/// Whether a vector of the residual stream can be read by W_U as it is: not where there is none, nor where embeddings are
/// narrower than the stream (ALBERT, ELECTRA), whose masked-word head stands between the two, nor where the logits are of
/// classes.
bool unembeds_stream(const model::ModelConfig&);
/// Error that names `what` where it cannot.
void require_stream_unembedding(const model::ModelConfig&, const std::string& what);

/// A row for each of the `top` likeliest tokens of a state, and one for the watched token where it is not among them:
/// layer, position, rank, token_id, token, logit, probability; of rank 0 also kl_to_final, entropy, text_token and, where a
/// token is watched, watched_id, watched_token, watched_rank, watched_probability.
Table table_of(const LogitLens&, const trace::Trace&, std::int64_t top);

}  // namespace headlight::analyze
