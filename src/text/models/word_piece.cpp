// SPDX-License-Identifier: GPL-3.0-or-later
// WordPiece as BERT reads it (Wu et al. 2016, arXiv:1609.08144): the longest entry that fits, from left to right.
#include "text/models/model.h"
#include "text/unicode/utf8.h"

#include <algorithm>

namespace headlight::text {
namespace {

class WordPiece final : public Model {
public:
    explicit WordPiece(const Field& f)
        : vocab_(f.at("vocab")),
          prefix_(f.string_or("continuing_subword_prefix", "##")),
          most_characters_(f.has("max_input_chars_per_word")
                               ? static_cast<std::size_t>(f.at("max_input_chars_per_word").integer(0, INT32_MAX))
                               : 100) {
        const std::string unknown = f.string_or("unk_token", "[UNK]");
        const auto id = vocab_.id_of(unknown);
        if (!id) {
            f.fail("The unknown token is not in the vocabulary", "an entry for unk_token", unknown);
        }
        unknown_ = *id;
    }

    void split(std::string_view word, bool, std::vector<WordToken>& out) const override {
        const std::size_t before = out.size();
        if (utf8::count(word) > most_characters_ || !match(word, out)) {
            out.resize(before);
            out.push_back({unknown_, 0, static_cast<std::uint32_t>(word.size())});
        }
    }
    const Vocab& vocab() const noexcept override { return vocab_; }
    std::string name() const override { return "WordPiece"; }
    std::string continuation() const override { return prefix_; }

private:
    bool match(std::string_view word, std::vector<WordToken>& out) const {
        std::string piece;
        for (std::size_t begin = 0; begin < word.size();) {
            const std::size_t lead = begin > 0 ? prefix_.size() : 0;
            // No entry is longer than the longest, so a long word need not be tried whole.
            const std::size_t limit = begin + std::min(word.size() - begin, vocab_.longest());
            std::size_t end = utf8::floor(word, limit);
            piece.assign(prefix_, 0, lead);
            piece += word.substr(begin, end - begin);
            std::optional<std::int32_t> id;
            while (end > begin) {
                id = vocab_.id_of(std::string_view(piece).substr(0, lead + end - begin));
                if (id) break;
                end = utf8::floor(word, end - 1);
            }
            if (!id) return false;
            out.push_back({*id, static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)});
            begin = end;
        }
        return true;
    }

    Vocab vocab_;
    std::string prefix_;
    std::size_t most_characters_;
    std::int32_t unknown_ = 0;
};

/// Every word is an entry or unknown.
class WordLevel final : public Model {
public:
    explicit WordLevel(const Field& f) : vocab_(f.at("vocab")) {
        const std::string unknown = f.string_or("unk_token", "<unk>");
        const auto id = vocab_.id_of(unknown);
        if (!id) f.fail("The unknown token is not in the vocabulary", "an entry for unk_token", unknown);
        unknown_ = *id;
    }
    void split(std::string_view word, bool, std::vector<WordToken>& out) const override {
        out.push_back({vocab_.id_of(word).value_or(unknown_), 0, static_cast<std::uint32_t>(word.size())});
    }
    const Vocab& vocab() const noexcept override { return vocab_; }
    std::string name() const override { return "WordLevel"; }

private:
    Vocab vocab_;
    std::int32_t unknown_ = 0;
};

}  // namespace

ModelPtr make_word_level(const Field& f) { return std::make_unique<WordLevel>(f); }

ModelPtr make_word_piece(const Field& f) { return std::make_unique<WordPiece>(f); }

}  // namespace headlight::text
