// SPDX-License-Identifier: GPL-3.0-or-later
// Files whose texts have mentions of entities, for coreference.
#pragma once

#include "headlight/base/enum_table.h"
#include "headlight/corpus/reading/text.h"

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace headlight::corpus {

enum class MentionFormat {
    corefud,    ///< CoNLL-U with "# global.Entity" before the first sentence and Entity= in MISC (Universal Anaphora, CorefUD)
    conll2012,  ///< "#begin document", mentions in the last column as (12|(3)|12)
    gap,        ///< Webster et al. 2018: a table with tabs between its eleven columns
    winobias    ///< Zhao et al. 2018: "1 [The developer] argued with the designer because [he] did not like the design."
};
inline constexpr EnumRow<MentionFormat> mention_formats[] = {{MentionFormat::corefud, "corefud", "CorefUD"},
                                                             {MentionFormat::conll2012, "conll-2012", "CoNLL-2012"},
                                                             {MentionFormat::gap, "gap", "GAP"},
                                                             {MentionFormat::winobias, "winobias", "WinoBias"}};
constexpr const auto& enum_rows(MentionFormat) { return mention_formats; }

/// Recognises CorefUD by the comments at the beginning of a .conllu file, CoNLL-2012 by a first line "#begin document" or a
/// suffix that ends in "conll", GAP by the header of a .tsv file, WinoBias by "pro_stereotyped" or "anti_stereotyped" in the
/// file's name.
std::optional<MentionFormat> mention_format(const std::filesystem::path&);

/// Reads text by text: a document (CorefUD, CoNLL-2012) or a line. Text::words are those of CorefUD, with the sentences of the
/// document; else there are none. Byte order marks and CR before LF are removed. Errors name file, line and value.
class MentionReader {
public:
    using Lines = std::function<bool(std::string& line)>;
    virtual ~MentionReader() = default;
    /// False after the last one.
    virtual bool next(Text&) = 0;
    /// `file`: its name in errors and ids.
    static std::unique_ptr<MentionReader> make(MentionFormat, Lines, const std::string& file);
};

}  // namespace headlight::corpus
