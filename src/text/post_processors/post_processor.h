// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "text/files/json_fields.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace headlight::text {

/// A token with its place in the text as typed.
struct PlacedToken {
    std::int32_t id = 0;
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
    std::int32_t word = -1;
};

/// A stretch of the result: sentence A, sentence B, or what a template puts between.
struct Segment {
    std::vector<PlacedToken> tokens;
    std::int64_t type_id = 0;
    std::int64_t sequence = -1;  ///< 0 = A, 1 = B, -1 = added by a template
    std::string_view typed;      ///< the sentence the offsets point into
    /// Added tokens that took other characters along ("  <mask>"): position and the string they stood for.
    std::vector<std::pair<std::size_t, std::string>> spellings;
};

/// The vocabulary as post-processors see it.
struct VocabView {
    std::function<const std::string&(std::int32_t)> token_of;  ///< empty string: no such id
};

/// Works on the list of segments: one or two at first.
class PostProcessor {
public:
    virtual ~PostProcessor() = default;
    virtual void process(std::vector<Segment>&, bool add_special_tokens, const VocabView&) const = 0;
    /// Whether it rearranges sentences into a template; only one of a sequence may.
    virtual bool is_template() const noexcept { return false; }
};

using PostProcessorPtr = std::unique_ptr<const PostProcessor>;

/// Builds what a value of the key "post_processor" describes; Error for a type or a token id that is not known.
PostProcessorPtr make_post_processor(const Field&, const VocabView&);

PostProcessorPtr make_template_processing(const Field&, const VocabView&);
PostProcessorPtr make_bert_processing(const Field&, const VocabView&);
PostProcessorPtr make_roberta_processing(const Field&, const VocabView&);
PostProcessorPtr make_byte_level_processor(const Field&);
PostProcessorPtr make_post_processor_sequence(const Field&, const VocabView&);

/// Shrinks offsets so that they leave out white space at the ends of each token.
void trim_offsets(Segment&, bool add_prefix_space, const VocabView&);

/// The id of a ("token", id) pair or of a template's list, checked against the vocabulary.
std::int32_t checked_id(const Field& id, const VocabView&);

Segment special_segment(const std::vector<std::int32_t>& ids, std::int64_t type_id);

}  // namespace headlight::text
