// SPDX-License-Identifier: GPL-3.0-or-later
// A text of a corpus, as a reader returns it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace headlight::corpus {

/// An arc of the enhanced graph: a word may have several heads.
struct EnhancedArc {
    std::int32_t head = 0;   ///< index of a word
    std::string relation{};  ///< "nmod:of"
};

/// A word of a treebank's sentence, with its place in the sentence's text.
struct Word {
    std::string form{};
    std::string upos{}, xpos{};  ///< "_" is kept as an empty string
    std::string relation{};      ///< DEPREL, with its subtype: "nsubj:pass"
    std::int32_t head = -1;      ///< index of the word it depends on; -1: the root, or not given
    std::int64_t begin = 0,
                 end = 0;      ///< bytes of Text::text. Words of a multiword token that is not their concatenation share its span
    bool shares_span = false;  ///< set for such words: arcs inside the span are left out and counted
    std::string features{};    ///< FEATS: "Number=Sing|Person=3"
    std::int32_t sentence = 0;            ///< number of its sentence in the text, which is one sentence unless it is a document
    std::vector<EnhancedArc> enhanced{};  ///< DEPS, without the root and heads that are empty nodes
};

/// A mention of an entity, of a text with coreference.
struct Mention {
    std::string chain{};              ///< names the entity: mentions of a text with the same one refer to the same thing
    std::int64_t begin = 0, end = 0;  ///< bytes of Text::text; of a discontinuous mention from its first word to its last
    std::int64_t head_begin = 0, head_end = 0;  ///< its head word; of a question the whole mention
};

/// The use of a text's mentions: chains to be resolved, or one question whose mentions are the pronoun, then the name that
/// stands first in the text and the other one; the answer is the name in the pronoun's chain.
enum class MentionTask { chains, gap, winobias_pro, winobias_anti };
inline constexpr int kMentionTasks = 4;

/// What a reader did about something unusual in a text that is run all the same.
struct TextNote {
    std::string place;  ///< "FILE:LINE"
    std::string what;   ///< "2 roots: the arcs count as they are"
};

/// One unit of a corpus: a line, a paragraph, a document, a record or a sentence.
struct Text {
    std::string id{};                             ///< "FILE:LINE", or the treebank's sent_id
    std::string document{};                       ///< the file, or the treebank's newdoc id
    std::string text{};                           ///< UTF-8
    std::vector<Word> words{};                    ///< of a treebank or of CorefUD, else empty; sentences one after another
    std::map<std::string, std::string> fields{};  ///< further columns of a record, for filters
    std::vector<Mention> mentions{};              ///< of a text with coreference; chains by head, then begin
    MentionTask task = MentionTask::chains;
    std::string pair{};             ///< of WinoBias: the same for the two versions of a sentence
    std::vector<TextNote> notes{};  ///< of the reader; a store lists them in its manifest
};

}  // namespace headlight::corpus
