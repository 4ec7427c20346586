// SPDX-License-Identifier: GPL-3.0-or-later
#include "text/post_processors/post_processor.h"

namespace headlight::text {

PostProcessorPtr make_post_processor(const Field& f, const VocabView& vocab) {
    const std::string type =
        f.type({"Sequence", "TemplateProcessing", "BertProcessing", "RobertaProcessing", "ByteLevel"}, "post-processor");
    if (type == "Sequence") return make_post_processor_sequence(f, vocab);
    if (type == "TemplateProcessing") return make_template_processing(f, vocab);
    if (type == "BertProcessing") return make_bert_processing(f, vocab);
    if (type == "RobertaProcessing") return make_roberta_processing(f, vocab);
    return make_byte_level_processor(f);
}

std::int32_t checked_id(const Field& id, const VocabView& vocab) {
    const auto value = static_cast<std::int32_t>(id.integer(0, kHighestId));
    if (vocab.token_of(value).empty()) {
        id.fail("The post-processor adds an id that is not in the vocabulary", "", std::to_string(value));
    }
    return value;
}

Segment special_segment(const std::vector<std::int32_t>& ids, std::int64_t type_id) {
    Segment s;
    s.type_id = type_id;
    for (const std::int32_t id : ids) s.tokens.push_back({id, 0, 0, -1});
    return s;
}

}  // namespace headlight::text
