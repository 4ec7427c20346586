// SPDX-License-Identifier: GPL-3.0-or-later
// Unigram language model (Kudo 2018, arXiv:1804.10959): of all ways to cut a word into entries the one with the highest
// sum of log-probabilities. Ties and unknown characters as Hugging Face tokenizers has them.
#include "text/models/model.h"
#include "text/unicode/utf8.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <set>

namespace headlight::text {
namespace {

constexpr double kUnknownPenalty = 10.0;

/// Entries by their bytes. The edges of all nodes lie in one table: node and byte -> node.
class Trie {
public:
    void add(std::string_view key, std::int32_t id) {
        std::uint32_t node = 0;
        for (const char c : key) node = child_or_new(node, static_cast<unsigned char>(c));
        ids_[node] = id;
    }
    static constexpr std::uint32_t kNone = UINT32_MAX;
    std::uint32_t child(std::uint32_t node, unsigned char byte) const {
        const std::uint64_t key = key_of(node, byte);
        for (std::size_t i = home(key);; i = (i + 1) & (edges_.size() - 1)) {
            if (edges_[i].key == key) return edges_[i].node;
            if (edges_[i].key == kFree) return kNone;
        }
    }
    std::int32_t id(std::uint32_t node) const { return ids_[node]; }  ///< -1: no entry ends here

private:
    static constexpr std::uint64_t kFree = UINT64_MAX;
    struct Edge {
        std::uint64_t key = kFree;
        std::uint32_t node = 0;
    };
    static std::uint64_t key_of(std::uint32_t node, unsigned char byte) { return std::uint64_t{node} << 8 | byte; }
    std::size_t home(std::uint64_t key) const {
        return static_cast<std::size_t>(key * 0x9E3779B97F4A7C15ULL >> 20) & (edges_.size() - 1);
    }
    void put(std::uint64_t key, std::uint32_t node) {
        std::size_t i = home(key);
        while (edges_[i].key != kFree) i = (i + 1) & (edges_.size() - 1);
        edges_[i] = {key, node};
    }
    std::uint32_t child_or_new(std::uint32_t node, unsigned char byte) {
        if (const std::uint32_t known = child(node, byte); known != kNone) return known;
        if (2 * ids_.size() >= edges_.size()) {
            std::vector<Edge> old(edges_.size() * 2);
            old.swap(edges_);
            for (const Edge& edge : old)
                if (edge.key != kFree) put(edge.key, edge.node);
        }
        const auto fresh = static_cast<std::uint32_t>(ids_.size());
        ids_.push_back(-1);
        put(key_of(node, byte), fresh);
        return fresh;
    }

    std::vector<Edge> edges_ = std::vector<Edge>(1024);
    std::vector<std::int32_t> ids_ = {-1};
};

/// The list of pairs as the object that a vocabulary is read from.
nlohmann::json ids_of(const Field& list) {
    nlohmann::json ids = nlohmann::json::object();
    std::int64_t id = 0;
    for (const Field& item : list.items()) {
        const nlohmann::json& pair = item.json();
        if (!pair.is_array() || pair.size() != 2 || !pair[0].is_string() || !pair[1].is_number() ||
            !std::isfinite(pair[1].get<double>()))
            item.fail_expected("[\"piece\", score]");
        if (!ids.emplace(pair[0].get_ref<const std::string&>(), id++).second)
            item.fail("A vocabulary entry appears twice", "", pair[0].get<std::string>());
    }
    return ids;
}

class Unigram final : public Model {
public:
    Unigram(const Field& f, const nlohmann::json& ids)
        : vocab_(Field(ids, f.file(), "model.vocab")), byte_fallback_(f.boolean_or("byte_fallback", false)) {
        std::set<std::int64_t> unmatched;  // entries that no text is: what a SentencePiece model sets aside
        if (const auto list = f.find("unmatched"))
            for (const Field& id : list->items()) unmatched.insert(id.integer(0, vocab_.size() - 1));
        for (const nlohmann::json& pair : f.at("vocab").json()) {
            const auto id = static_cast<std::int32_t>(scores_.size());
            scores_.push_back(pair[1].get<double>());
            if (!unmatched.contains(id) && !vocab_.token_of(id).empty()) trie_.add(vocab_.token_of(id), id);
        }
        unknown_score_ = *std::ranges::min_element(scores_) - kUnknownPenalty;
        if (const auto unk = f.find("unk_id"))
            unknown_ = static_cast<std::int32_t>(unk->integer(0, vocab_.size() - 1));
        else
            f.fail("The model has no unknown token", "unk_id", "none");
        for (unsigned b = 0; b < 256; ++b) {
            char name[8];
            std::snprintf(name, sizeof name, "<0x%02X>", b);
            bytes_[b] = vocab_.id_of(name).value_or(-1);
        }
    }

    void split(std::string_view word, bool, std::vector<WordToken>& out) const override {
        std::vector<WordToken> pieces = best_path(word);
        for (const WordToken& piece : pieces) {
            if (piece.id == unknown_ && byte_fallback_ && spell(word.substr(piece.begin, piece.end - piece.begin), piece, out))
                continue;
            out.push_back(piece);
        }
    }
    const Vocab& vocab() const noexcept override { return vocab_; }
    std::string name() const override { return "Unigram"; }
    bool byte_fallback() const noexcept override { return byte_fallback_; }

private:
    struct Node {
        double score = 0;
        std::int32_t id = -1;
        std::uint32_t begin = UINT32_MAX;
    };

    std::vector<WordToken> best_path(std::string_view word) const {
        std::vector<Node> ends(word.size() + 1);
        const auto offer = [&](std::size_t begin, std::size_t end, std::int32_t id, double score) {
            Node& node = ends[end];
            const double sum = score + ends[begin].score;
            if (node.begin == UINT32_MAX || sum > node.score) node = {sum, id, static_cast<std::uint32_t>(begin)};
        };
        for (std::size_t begin = 0; begin < word.size();) {
            const std::size_t size = utf8::length(word[begin]);
            bool single = false;
            std::uint32_t node = 0;
            for (std::size_t at = begin; at < word.size(); ++at) {
                node = trie_.child(node, static_cast<unsigned char>(word[at]));
                if (node == Trie::kNone) break;
                const std::int32_t id = trie_.id(node);
                if (id < 0) continue;
                offer(begin, at + 1, id, scores_[static_cast<std::size_t>(id)]);
                single = single || at + 1 == begin + size;
            }
            if (!single) offer(begin, begin + size, unknown_, unknown_score_);
            begin += size;
        }
        std::vector<WordToken> pieces;
        for (std::size_t end = word.size(); end > 0; end = ends[end].begin) {
            const Node& node = ends[end];
            // Unknown neighbours are one unknown piece.
            if (node.id == unknown_ && !pieces.empty() && pieces.back().id == unknown_ && pieces.back().begin == end)
                pieces.back().begin = node.begin;
            else
                pieces.push_back({node.id, node.begin, static_cast<std::uint32_t>(end)});
        }
        std::ranges::reverse(pieces);
        return pieces;
    }

    /// The bytes of an unknown piece, each standing for the whole of it; false when one has no entry.
    bool spell(std::string_view text, const WordToken& piece, std::vector<WordToken>& out) const {
        if (vocab_.id_of(text)) return false;  // the unknown token's own string
        for (const char c : text)
            if (bytes_[static_cast<unsigned char>(c)] < 0) return false;
        for (const char c : text) out.push_back({bytes_[static_cast<unsigned char>(c)], piece.begin, piece.end});
        return true;
    }

    Vocab vocab_;
    std::vector<double> scores_;
    Trie trie_;
    double unknown_score_ = 0;
    std::int32_t unknown_ = 0;
    bool byte_fallback_;
    std::array<std::int32_t, 256> bytes_{};
};

}  // namespace

ModelPtr make_unigram(const Field& f) {
    const nlohmann::json ids = ids_of(f.at("vocab"));
    return std::make_unique<Unigram>(f, ids);
}

}  // namespace headlight::text
