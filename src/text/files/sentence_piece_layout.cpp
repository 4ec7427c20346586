// SPDX-License-Identifier: GPL-3.0-or-later
#include "text/files/sentence_piece_layout.h"

#include <initializer_list>
#include <iterator>

namespace headlight::text {
namespace {

using Layout = SentencePieceLayout;

/// Of mBART; mBART-50 has the second list after it.
constexpr const char* kLanguages[] = {"ar_AR", "cs_CZ", "de_DE", "en_XX", "es_XX", "et_EE", "fi_FI", "fr_XX", "gu_IN",
                                      "hi_IN", "it_IT", "ja_XX", "kk_KZ", "ko_KR", "lt_LT", "lv_LV", "my_MM", "ne_NP",
                                      "nl_XX", "ro_RO", "ru_RU", "si_LK", "tr_TR", "vi_VN", "zh_CN"};
constexpr const char* kMoreLanguages[] = {"af_ZA", "az_AZ", "bn_IN", "fa_IR", "he_IL", "hr_HR", "id_ID", "ka_GE", "km_KH",
                                          "mk_MK", "ml_IN", "mn_MN", "mr_IN", "pl_PL", "ps_AF", "pt_XX", "sv_SE", "sw_KE",
                                          "ta_IN", "te_IN", "th_TH", "tl_XX", "uk_UA", "ur_PK", "xh_ZA", "gl_ES", "sl_SI"};

/// <s>, <pad>, </s> and <unk> instead of the file's <unk>, <s> and </s>.
Layout fairseq(const TokenField& field) {
    Layout layout;
    layout.front = {{field("bos_token", "<s>")},
                    {field("pad_token", "<pad>")},
                    {field("eos_token", "</s>")},
                    {field("unk_token", "<unk>"), Layout::Type::unknown}};
    layout.skip = 3;
    return layout;
}

void add_mask(Layout& layout, const TokenField& field) {
    layout.back.push_back({.content = field("mask_token", "<mask>"), .takes_space = true});
}

void frame_as_roberta(Layout& layout, const std::string& first, const std::string& last) {
    layout.single = {first, "$A", last};
    layout.pair = {first, "$A", last, last, "$B", last};
}

Layout xlm_roberta(const TokenField& field) {
    Layout layout = fairseq(field);
    add_mask(layout, field);
    frame_as_roberta(layout, layout.front[0].content, layout.front[2].content);
    return layout;
}

/// The file's own <s> and </s> are used, after five entries of fairseq's.
Layout camembert(const TokenField& field) {
    Layout layout;
    layout.front = {{"<s>NOTUSED"},
                    {field("pad_token", "<pad>")},
                    {"</s>NOTUSED"},
                    {field("unk_token", "<unk>"), Layout::Type::unknown},
                    {"<unk>NOTUSED"}};
    layout.skip = 1;
    add_mask(layout, field);
    frame_as_roberta(layout, field("bos_token", "<s>"), field("eos_token", "</s>"));
    return layout;
}

Layout mbart(const TokenField& field, bool fifty) {
    Layout layout = fairseq(field);
    for (const char* language : kLanguages) layout.back.push_back({language});
    if (fifty)
        for (const char* language : kMoreLanguages) layout.back.push_back({language});
    add_mask(layout, field);
    const std::string end = layout.front[2].content, language = field("src_lang", "en_XX");
    layout.single = fifty ? std::vector<std::string>{language, "$A", end} : std::vector<std::string>{"$A", end, language};
    layout.pair = layout.single;
    layout.pair.insert(layout.pair.begin() + (fifty ? 2 : 1), "$B");
    return layout;
}

/// Ids 2 and 3 are the masks, up to the offset follow entries that only pretraining used.
Layout pegasus(const TokenField& field, std::int64_t offset) {
    Layout layout;
    const std::string end = field("eos_token", "</s>"), sentence = field("mask_token_sent", "<mask_1>");
    layout.front = {{field("pad_token", "<pad>")}, {end}};
    if (offset > 0) {  // 0: BigBird-Pegasus, whose file has its own mask
        layout.front.push_back({sentence});
        layout.front.push_back({field("mask_token", "<mask_2>")});
    }
    for (std::int64_t i = 2; i < offset; ++i) layout.front.push_back({"<unk_" + std::to_string(i) + ">"});
    layout.skip = 2;
    layout.single = {"$A", end};
    layout.pair = {"$A", "$B", end};
    return layout;
}

/// The file's places are the ids; only [MASK] comes after them.
Layout deberta(const TokenField& field) {
    Layout layout;
    layout.back.push_back({field("mask_token", "[MASK]")});
    const std::string first = field("cls_token", "[CLS]"), last = field("sep_token", "[SEP]");
    layout.single = {first, "$A", last};
    layout.pair = {first, "$A", last, "$B", last};
    layout.pair_types = true;
    return layout;
}

}  // namespace

std::optional<SentencePieceLayout> sentence_piece_layout(const std::string& kind, const TokenField& field,
                                                         std::int64_t pegasus_offset) {
    const auto is = [&](std::initializer_list<const char*> names) {
        for (const char* name : names)
            if (kind.starts_with(name)) return true;
        return false;
    };
    if (is({"xlmroberta", "xlm-roberta"})) return xlm_roberta(field);
    if (is({"camembert"})) return camembert(field);
    if (is({"mbart50"})) return mbart(field, true);
    if (is({"mbart"})) return mbart(field, false);
    if (is({"pegasus"})) return pegasus(field, pegasus_offset);
    if (is({"debertav2", "deberta-v2"})) return deberta(field);
    return std::nullopt;
}

}  // namespace headlight::text
