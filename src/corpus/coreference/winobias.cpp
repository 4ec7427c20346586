// SPDX-License-Identifier: GPL-3.0-or-later
// Zhao et al. 2018, "Gender Bias in Coreference Resolution: Evaluation and Debiasing Methods".
#include "corpus/coreference/mention_lines.h"
#include "text/unicode/unicode.h"

#include <algorithm>
#include <array>
#include <utility>

namespace headlight::corpus {
namespace {

/// Their lists of occupations (male_occupations.txt and female_occupations.txt, 20 each). A sentence of theirs has two of them,
/// and marks only the one that the pronoun refers to. Files of others name whom they like and mark both: "[The doctor] … {the
/// nurse} … [he]", or in square brackets alone, of which the first is then the one that is meant.
constexpr std::array<std::string_view, 40> kOccupations{
    "accountant",  "analyst",     "assistant", "attendant", "auditor",      "baker",       "carpenter",
    "cashier",     "ceo",         "chief",     "cleaner",   "clerk",        "cook",        "construction worker",
    "counselor",   "designer",    "developer", "driver",    "editor",       "farmer",      "guard",
    "hairdresser", "housekeeper", "janitor",   "laborer",   "lawyer",       "librarian",   "manager",
    "mechanic",    "mover",       "nurse",     "physician", "receptionist", "salesperson", "secretary",
    "sheriff",     "supervisor",  "tailor",    "teacher",   "writer"};
constexpr std::array<std::string_view, 12> kPronouns{"he",   "him",     "his",  "himself", "she",   "her",
                                                     "hers", "herself", "they", "them",    "their", "theirs"};
constexpr std::array<std::string_view, 3> kArticles{"the ", "a ", "an "};

constexpr const char* example_line = "[The developer] argued with {the designer} because [he] …";

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

class WinobiasReader final : public MentionReader {
public:
    WinobiasReader(Lines lines, const std::string& file) : lines_(std::move(lines), file), pair_(file) {
        const std::size_t pro = file.find("pro_stereotyped"), anti = file.find("anti_stereotyped");
        task_ = anti != std::string::npos ? MentionTask::winobias_anti : MentionTask::winobias_pro;
        if (anti != std::string::npos)
            pair_.erase(anti, 5);
        else if (pro != std::string::npos)
            pair_.erase(pro, 4);
    }

    bool next(Text& text) override {
        std::string line;
        do
            if (!lines_.next(line)) return false;
        while (line.find_first_not_of(" \t") == std::string::npos);
        const std::size_t digits = std::min(line.find_first_not_of("0123456789"), line.size());
        if (digits == 0 || digits == line.size() || line[digits] != ' ')
            lines_.fail("A line of WinoBias does not begin with its number", "1 " + std::string(example_line), line);
        text = {};
        text.id = lines_.place();
        text.document = lines_.file();
        text.task = task_;
        text.pair = pair_ + ":" + std::to_string(lines_.number());
        std::vector<Mention> marked;
        char open = 0;  ///< the bracket that a part stands in
        for (const char c : std::string_view(line).substr(std::min(line.find_first_not_of(' ', digits), line.size()))) {
            const std::int64_t at = std::ssize(text.text);
            if (!open && (c == '[' || c == '{')) {
                marked.push_back({c == '[' ? "pronoun" : "other", at, at, at, at});
                open = c;
            } else if ((open == '[' && c == ']') || (open == '{' && c == '}')) {
                marked.back().end = marked.back().head_end = at;
                open = 0;
            } else if (std::string_view("[]{}").find(c) != std::string_view::npos) {
                lines_.fail("The brackets of a line do not match", example_line, line);
            } else {
                text.text += c;
            }
        }
        // Some sentences mark two pronouns of the person: "because [she] needed to cut [her] hair". The first one is asked.
        const auto others =
            std::ranges::stable_partition(marked, [&](const Mention& m) { return is_pronoun(part(text.text, m)); });
        if (open || others.empty() || others.size() > 2)
            lines_.fail("A line does not mark one person or two", "one part or two in brackets beside the pronoun", line);
        if (others.size() == marked.size()) lines_.fail("A line marks no pronoun", "[he], [she], [his], [her] …", line);
        Mention is = marked.front();
        is.chain = "pronoun";
        for (Mention& m : others) {
            m = trimmed(text.text, m);
            if (m.begin == m.end) lines_.fail("The brackets of a line are empty", example_line, line);
        }
        std::ranges::stable_partition(others, [](const Mention& m) { return m.chain != "other"; });
        Mention first = others.front();
        if (first.chain == "other")
            lines_.fail("A line marks nobody whom the pronoun refers to",
                        "that person in square brackets: " + std::string(example_line), line);
        if (others.size() == 2) others.back().chain = "other";
        Mention second = others.size() == 2 ? others.back() : other_person(text.text, first);
        if (second.end == 0)
            lines_.fail("The other person of a line is not known", "a second occupation of WinoBias, such as \"the nurse\"", line,
                        "Beside the occupations of Zhao et al. 2018, table 1, mark the other person: {the nurse}");
        if (second.begin < first.begin) std::swap(first, second);
        text.mentions = {is, first, second};
        return true;
    }

private:
    static std::string part(const std::string& text, const Mention& m) {
        return headlight::text::unicode::case_folded(
            text.substr(static_cast<std::size_t>(m.begin), static_cast<std::size_t>(m.end - m.begin)));
    }
    static bool is_pronoun(const std::string& folded) { return std::ranges::find(kPronouns, folded) != kPronouns.end(); }

    /// Without white space inside the brackets: "[ physician]".
    static Mention trimmed(const std::string& text, Mention m) {
        while (m.begin < m.end && text[static_cast<std::size_t>(m.begin)] == ' ') ++m.begin;
        while (m.begin < m.end && text[static_cast<std::size_t>(m.end - 1)] == ' ') --m.end;
        m.head_begin = m.begin, m.head_end = m.end;
        return m;
    }

    /// The first occupation that is not the marked person, with its article.
    static Mention other_person(const std::string& text, const Mention& marked) {
        std::string folded = text;
        for (char& c : folded) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
        std::size_t best = std::string::npos, length = 0;
        for (const std::string_view name : kOccupations)
            for (std::size_t at = folded.find(name); at != std::string::npos; at = folded.find(name, at + 1)) {
                const std::size_t end = at + name.size();
                const bool whole = (at == 0 || !is_letter(folded[at - 1])) && (end == folded.size() || !is_letter(folded[end]));
                const bool inside = std::cmp_less(at, marked.end) && std::cmp_greater(end, marked.begin);
                if (whole && !inside && at < best) {
                    best = at;
                    length = name.size();
                }
            }
        if (best == std::string::npos) return {};
        std::size_t begin = best;
        for (const std::string_view article : kArticles)
            if (begin == best && folded.substr(0, best).ends_with(article)) begin = best - article.size();
        const auto from = static_cast<std::int64_t>(begin), to = static_cast<std::int64_t>(best + length);
        return {"other", from, to, from, to};
    }

    MentionLines lines_;
    MentionTask task_;
    std::string pair_;
};

}  // namespace

std::unique_ptr<MentionReader> winobias_reader(MentionReader::Lines lines, const std::string& file) {
    return std::make_unique<WinobiasReader>(std::move(lines), file);
}

}  // namespace headlight::corpus
