// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/intervention/recipe/words.h"

#include "headlight/base/nearest.h"
#include "intervention/recipe/reader.h"

#include <cctype>

namespace headlight::intervention {
namespace {

/// Words of a person that stand for a site.
struct Alias {
    std::string_view word;
    Site site;
};
constexpr Alias kAliases[] = {
    {"mlp", Site::mlp_out}, {"attn", Site::attn_out}, {"resid", Site::resid_post}, {"neurons", Site::post}};

std::vector<std::string> site_words() {
    std::vector<std::string> words;
    for (const SiteRow& row : sites) words.emplace_back(row.word);
    for (const Alias& alias : kAliases) words.emplace_back(alias.word);
    return words;
}

std::optional<Site> site_called(std::string_view word) {
    for (const SiteRow& row : sites)
        if (row.word == word) return row.site;
    for (const Alias& alias : kAliases)
        if (alias.word == word) return alias.site;
    return std::nullopt;
}

/// A target as far as it is read: what its letter says of the units, 0 where there is none.
struct Target {
    model::Stack stack = model::Stack::decoder;
    std::vector<Place> places{};
    char letter = 0;
    std::optional<Site> site{};
    std::size_t column = 1;
};

constexpr std::string_view kLetters = "HNEG";

std::vector<Span> read_spans(Reader& in) {
    std::vector<Span> spans;
    do {
        const std::int64_t first = in.number("a number");
        const std::int64_t last = in.take('-') ? in.number("the end of the range") : first;
        if (last < first) in.fail("A range ends before it begins", std::to_string(first) + " or more", std::to_string(last));
        spans.push_back({first, last});
        // A comma before a letter begins the next place.
    } while (in.peek() == ',' && std::isdigit(static_cast<unsigned char>(in.peek(1))) && in.take(','));
    return spans;
}

void read_place(Reader& in, Target& target) {
    Place place;
    if (!in.take('L'))
        in.fail("Cannot read where the edit is", "a layer as L3, a head such as L3H5, or a site as L3.mlp", in.rest());
    place.layers = read_spans(in);
    const char letter = in.peek();
    if (letter && kLetters.find(letter) != std::string_view::npos) {
        in.skip();
        if (target.letter && target.letter != letter)
            in.fail("All units of an edit must be of one kind", std::string(1, target.letter), std::string(1, letter));
        target.letter = letter;
        place.units = read_spans(in);
    }
    target.places.push_back(place);
}

Target read_target(Reader& in) {
    Target target;
    target.column = in.column();
    for (const auto& row : model::stacks) {
        if (row.value == model::Stack::decoder || !in.view().starts_with(std::string(row.word) + ".")) continue;
        in.skip(row.word.size() + 1);
        target.stack = row.value;
    }
    if (in.peek() == 'L' && std::isdigit(static_cast<unsigned char>(in.peek(1)))) {
        do read_place(in, target);
        while (in.take(','));
        if (in.at_end()) return target;
        if (!in.take('.')) in.fail("Cannot read where the edit is", "a site behind a point, as in L3.mlp", in.rest());
    }
    const std::string word(in.rest());
    target.site = site_called(word);
    if (!target.site)
        in.fail("There is no such site", "a layer as L3, a head such as L3H5, or a site as L3.mlp", word,
                nearest(word, site_words()));
    in.skip(word.size());
    return target;
}

Site site_of(Operation operation, const Target& target, Reader& in) {
    const auto needs = [&](const char* expected) {
        in.fail_at(target.column, "This operation does not apply to this place", expected,
                   target.letter ? std::string(1, target.letter) : "a layer");
    };
    if (operation == Operation::forbid || operation == Operation::force) {
        if (target.letter != 'E' || target.site.value_or(Site::router) != Site::router) needs("an expert such as L3E2");
        return Site::router;
    }
    if (is_of_pattern(operation)) {
        if ((target.letter && target.letter != 'H') || target.site.value_or(Site::pattern) != Site::pattern)
            needs("a head such as L3H5, or layers");
        return Site::pattern;
    }
    if (!target.site) {
        switch (target.letter) {
            case 'H': return Site::z;
            case 'N': return Site::post;
            case 'E': return Site::experts;
            default:
                in.fail_at(target.column, "An edit of a layer needs a site",
                           "L3.mlp, L3.attn, L3.resid_post, or heads as L3H0-11", "no site");
        }
    }
    const Axis axis = row_of(*target.site).axis;
    const bool fits = !target.letter || (axis == Axis::head && target.letter == 'H') ||
                      (axis == Axis::neuron && target.letter == 'N') || (axis == Axis::expert && target.letter == 'E') ||
                      (axis == Axis::kv_head && (target.letter == 'H' || target.letter == 'G'));
    if (!fits)
        needs(axis == Axis::none      ? "the whole layer: this site has no units"
              : axis == Axis::head    ? "H"
              : axis == Axis::kv_head ? "H or G"
              : axis == Axis::neuron  ? "N"
                                      : "E");
    return *target.site;
}

PositionName read_position(Reader& in) {
    PositionName name;
    if (std::isdigit(static_cast<unsigned char>(in.peek()))) {
        name.offset = in.number("a position");
        return name;
    }
    while (std::isalnum(static_cast<unsigned char>(in.peek())) || in.peek() == '_' ||
           static_cast<unsigned char>(in.peek()) >= 0x80) {
        name.name += in.peek();
        in.skip();
    }
    if (name.name.empty())
        in.fail("Cannot read a position", "an index, END, a range as 4-7, a class as punctuation, or a named position",
                in.rest());
    // "END-2" counts back; "END-END" and "S2-END" are ranges. A digit behind the sign is an offset.
    const char sign = in.peek();
    if ((sign == '+' || sign == '-') && std::isdigit(static_cast<unsigned char>(in.peek(1)))) {
        in.skip();
        name.offset = in.number("an offset") * (sign == '-' ? -1 : 1);
    }
    return name;
}

Positions read_positions(Reader& in) {
    Positions positions;
    if (in.take('*')) return positions;
    do {
        PositionRange range;
        const std::size_t column = in.column();
        range.first = read_position(in);
        const auto of_class =
            range.first.offset == 0 && !range.first.name.empty() ? enum_value<TokenClass>(range.first.name) : std::nullopt;
        if (of_class) {
            range = {.of_class = *of_class};
        } else {
            range.last = in.take('-') ? read_position(in) : range.first;
            if (range.first.name.empty() && range.last.name.empty() && range.last.offset < range.first.offset)
                in.fail_at(column, "A range ends before it begins", std::to_string(range.first.offset) + " or more",
                           std::to_string(range.last.offset));
        }
        positions.push_back(range);
    } while (in.take(','));
    return positions;
}

template <class T>
T whole(Reader& in, T (*read)(Reader&)) {
    T value = read(in);
    if (!in.at_end()) in.fail("Cannot read this", "the end of the word", in.rest());
    return value;
}

std::vector<std::string> option_words() {
    return {"from", "over", "where", "token", "neuron", "ov", "difference", "without", "norm"};
}

/// The words behind the target, one at a time.
class EditReader {
public:
    EditReader(std::string_view text, const std::vector<Word>& words) : text_(text), words_(words) {}

    Edit read() {
        Edit edit;
        if (next_is("off")) edit.on = false;
        const Word& word = next("an operation");
        const auto operation = word.quoted ? std::nullopt : enum_value<Operation>(word.text);
        if (!operation) {
            std::string all;
            for (const std::string& each : enum_words<Operation>()) all += (all.empty() ? "" : ", ") + each;
            fail(word, "There is no such operation", all, nearest(word.text, enum_words<Operation>()));
        }
        edit.operation = *operation;
        read_where(edit);
        while (at_ < words_.size()) read_option(edit);
        check(edit);
        return edit;
    }

private:
    [[noreturn]] void fail(const Word& word, const std::string& problem, const std::string& expected,
                           const std::string& right = {}) const {
        fail_in_words(text_, word.column, problem, expected, word.text, right);
    }
    const Word& next(const char* expected) {
        if (at_ == words_.size()) fail_in_words(text_, text_.size() + 1, "The edit ends too early", expected, "the end", {});
        return words_[at_++];
    }
    /// Without the marks a misspelt option, or a file's name, would be taken for a text.
    const std::string& quoted(const char* expected) {
        const Word& word = next(expected);
        if (!word.quoted) fail(word, "A text stands without its quotation marks", expected + (": " + in_quotes(word.text)));
        return word.text;
    }
    /// An id needs no marks.
    const std::string& token() {
        const bool is_id =
            at_ < words_.size() && !words_[at_].quoted && words_[at_].text.find_first_not_of("0123456789") == std::string::npos;
        return is_id ? words_[at_++].text : quoted("a token in quotation marks, or its id");
    }
    bool next_is(std::string_view word) {
        if (at_ >= words_.size() || words_[at_].quoted || words_[at_].text != word) return false;
        ++at_;
        return true;
    }
    Reader reader(const Word& word) const { return Reader(text_, word.text, word.column); }

    void read_where(Edit& edit) {
        if (next_is("where")) {
            edit.finder = next("an expression as \"induction > 0.3\"").text;
            edit.site = is_of_pattern(edit.operation) ? Site::pattern : Site::z;
            return;
        }
        const Word& word = next("a place as L9H6, L3.mlp or L3N512");
        Reader in = reader(word);
        const Target target = read_target(in);
        edit.stack = target.stack;
        edit.where = target.places;
        // "zero L7-8 where EXPR" speaks of heads.
        const bool finds = at_ < words_.size() && !words_[at_].quoted && words_[at_].text == "where";
        const bool heads = finds && !target.site && !target.letter;
        edit.site = heads && !is_of_pattern(edit.operation) ? Site::z : site_of(edit.operation, target, in);
        edit.groups = target.letter == 'G';
    }

    void read_option(Edit& edit) {
        const Word word = next("");
        if (word.quoted) return read_file(edit, word);
        if (word.text.starts_with("@")) {
            Reader in(text_, std::string_view(word.text).substr(1), word.column + 1);
            edit.positions = whole(in, read_positions);
            return;
        }
        if (const auto arrow = word.text.find("<-"); arrow != std::string::npos) {
            Reader to(text_, std::string_view(word.text).substr(0, arrow), word.column);
            Reader from(text_, std::string_view(word.text).substr(arrow + 2), word.column + arrow + 2);
            edit.edges = Edges{whole(to, read_positions), whole(from, read_positions)};
            return;
        }
        if (const auto number = number_in(word.text)) {
            edit.value = *number;
            has_value_ = true;
            if (next_is("norm")) edit.unit = Unit::norm;
            return;
        }
        if (word.text == "from") return read_text(edit);
        if (word.text == "over") return read_over(edit);
        if (word.text == "where") {
            edit.finder = next("an expression as \"induction > 0.3\"").text;
            return;
        }
        if (word.text == "without") {
            if (next_is("first"))
                edit.without_first = true;
            else if (next_is("value") && next_is("bias"))
                edit.without_value_bias = true;
            else
                fail(next("\"first\" or \"value bias\""), "Unknown word after without",
                     "\"without first\" or \"without value bias\"");
            return;
        }
        if (edit.operation == Operation::swap) {
            Reader in = reader(word);
            Target other = read_target(in);
            if (other.places.size() != 1 || other.letter != 'H') fail(word, "Cannot read the other head", "a head such as L9H7");
            edit.source = {.from = From::head, .place = other.places.front()};
            return;
        }
        if (has_direction(edit.operation)) return read_direction(edit, word);
        fail(word, "Cannot read this word of the edit", "a number, @POSITIONS, QUERY<-KEY, from, over, where or without",
             nearest(word.text, option_words()));
    }

    void read_text(Edit& edit) {
        edit.source = {.from = From::text, .what = quoted("a text in quotation marks")};
        if (next_is("to")) edit.source.target = quoted("the decoder's text in quotation marks");
    }

    void read_over(Edit& edit) {
        edit.source = {.from = From::texts, .what = next("a file of texts").text};
        if (next_is("draw")) {
            const Word& number = next("a number");
            Reader in = reader(number);
            edit.source.index = in.number("a number");
            return;
        }
        if (!next_is("per")) return;
        if (!next_is("position")) fail(next("position"), "Cannot read this word of the edit", "\"per position\"");
        edit.source.from = From::reference;
    }

    void read_file(Edit& edit, const Word& word) {
        if (!has_direction(edit.operation))
            fail(word, "This operation reads no file", "a number, @POSITIONS or QUERY<-KEY; texts come behind \"from\"");
        edit.source = {.from = From::file, .what = word.text};
    }

    void read_direction(Edit& edit, const Word& word) {
        if (word.text == "token") {
            edit.source = {.from = From::token, .what = token()};
        } else if (word.text == "neuron" || word.text == "ov") {
            const Word& named = next("a neuron as L3N5, or a head and a number as L9H6.0");
            std::string_view text = named.text;
            const bool neuron = word.text == "neuron";
            const auto point = text.find('.');
            Reader in(text_, text.substr(0, point), named.column);
            Target unit;
            read_place(in, unit);
            if (!in.at_end() || unit.letter != (neuron ? 'N' : 'H') || (neuron && point != std::string_view::npos))
                fail(named, "Cannot read what the direction is of",
                     neuron ? "a neuron as L3N5" : "a head and a number as L9H6.0");
            edit.source = {.from = neuron ? From::neuron : From::singular, .place = unit.places.front()};
            if (point != std::string_view::npos) {
                Reader index(text_, text.substr(point + 1), named.column + point + 1);
                edit.source.index = index.number("which direction");
            }
        } else if (word.text == "difference") {
            edit.source.from = From::difference;
            for (Positions* of : {&edit.source.plus, &edit.source.minus}) {
                const Word& named = next("positions as @12");
                if (!named.text.starts_with("@"))
                    fail(named, "Cannot read the positions of a difference",
                         "two lists of positions, as in \"difference @12 @4\"");
                Reader in(text_, std::string_view(named.text).substr(1), named.column + 1);
                *of = whole(in, read_positions);
            }
        } else {
            edit.source = {.from = From::file, .what = word.text};
        }
    }

    void check(const Edit& edit) const {
        const auto missing = [&](const char* expected) {
            fail_in_words(text_, text_.size() + 1, "The edit ends too early", expected, "the end", {});
        };
        const auto refuse = [&](const std::string& problem, const std::string& expected, const std::string& found) {
            fail_in_words(text_, 1, problem, expected, found, {});
        };
        const std::string word(enum_word(edit.operation));
        const bool valued = has_value(edit.operation);
        if (valued && !has_value_) missing("a number");
        if (!valued && has_value_) refuse(word + " takes no number", "none", number_word(edit.value));
        if (edit.unit == Unit::norm && edit.operation != Operation::add)
            refuse("Only add accepts the unit norm", "a number alone", "norm");
        const bool edged =
            edit.operation == Operation::knockout || edit.operation == Operation::set || edit.operation == Operation::write;
        if (edged && !edit.edges) missing("an edge such as 12<-4");
        if (!edged && edit.edges) refuse(word + " does not apply to single edges", "@POSITIONS", "an edge");
        if (edged && !edit.positions.empty())
            refuse("An edge already names its positions", "QUERY<-KEY alone", "@" + positions_text(edit.positions));
        if (edit.operation == Operation::set && !(edit.value >= 0 && edit.value <= 1))
            refuse("The weight of set must be a share of the row", "0 to 1; write takes any number", number_word(edit.value));
        if (edit.operation == Operation::temperature && !(edit.value > 0))
            refuse("Wrong temperature", "more than 0", number_word(edit.value));
        const bool texts = edit.source.from == From::texts || edit.source.from == From::reference;
        if (has_direction(edit.operation) && (texts || edit.source.from == From::none || edit.source.from == From::text))
            missing("a direction: FILE, token \"TEXT\", neuron L3N5, ov L9H6.0 or difference @12 @4");
        if (edit.operation == Operation::patch && edit.source.from != From::text) missing("from \"TEXT\"");
        if (edit.operation == Operation::resample && edit.source.from != From::texts) missing("over FILE");
        if (edit.operation == Operation::swap && edit.source.from != From::head)
            missing("the other head, as in \"swap L9H6 L9H7\"");
        if (texts && edit.operation != Operation::mean && edit.operation != Operation::resample)
            refuse(word + " reads no file of texts", "from \"TEXT\"", "over");
        if (edit.source.from == From::text && edit.operation != Operation::patch && edit.operation != Operation::freeze)
            refuse(word + " reads no other text", "patch or freeze", "from");
        if (edit.without_value_bias && (edit.operation != Operation::zero || edit.site != Site::z))
            refuse("Only a zeroed head keeps its value bias", "zero of a head",
                   word + " of " + std::string(row_of(edit.site).word));
        if (edit.without_first && edit.operation != Operation::mean) refuse("Only a mean leaves position 0 out", "mean", word);
        if ((edit.site == Site::pattern || edit.site == Site::scores || edit.site == Site::sink) &&
            !is_of_pattern(edit.operation) && !copies_run(edit.operation) && edit.operation != Operation::scale &&
            edit.operation != Operation::zero)
            refuse(word + " does not apply to attention weights",
                   "one of knockout, set, write, temperature, uniform, diagonal, previous, first, swap", word);
        if (edit.site == Site::norm && edit.operation != Operation::freeze && edit.operation != Operation::scale &&
            edit.operation != Operation::patch)
            refuse(word + " does not apply to a norm's scale", "freeze, patch or scale", word);
    }

    std::string_view text_;
    const std::vector<Word>& words_;
    std::size_t at_ = 0;
    bool has_value_ = false;
};

std::string spans_text(const std::vector<Span>& spans) {
    std::string text;
    for (const Span& span : spans) {
        text += (text.empty() ? "" : ",") + std::to_string(span.first);
        if (span.last != span.first) text += "-" + std::to_string(span.last);
    }
    return text;
}

char letter_of(const Edit& edit) {
    switch (row_of(edit.site).axis) {
        case Axis::neuron: return 'N';
        case Axis::expert: return 'E';
        case Axis::kv_head: return edit.groups ? 'G' : 'H';
        default: return 'H';
    }
}

/// What read_target() takes for this site without its word.
bool site_goes_without_saying(const Edit& edit) {
    if (is_of_pattern(edit.operation)) return !edit.where.empty();
    const bool units = !edit.where.empty() && !edit.where.front().units.empty();
    if (edit.operation == Operation::forbid || edit.operation == Operation::force) return true;
    if (!units) return edit.site == Site::z && !edit.finder.empty() && !edit.where.empty();
    return edit.site == Site::z || edit.site == Site::post || edit.site == Site::experts;
}

std::string position_name_text(const PositionName& name) {
    if (name.name.empty()) return std::to_string(name.offset);
    if (name.offset == 0) return name.name;
    return name.name + (name.offset > 0 ? "+" : "") + std::to_string(name.offset);
}

std::string edge_end(const Positions& positions) { return positions.empty() ? "*" : positions_text(positions); }

std::string source_text(const Edit& edit) {
    const Source& s = edit.source;
    switch (s.from) {
        case From::none: return {};
        case From::text: return " from " + in_quotes(s.what) + (s.target.empty() ? "" : " to " + in_quotes(s.target));
        case From::texts: return " over " + in_quotes(s.what) + (s.index > 0 ? " draw " + std::to_string(s.index) : "");
        case From::reference: return " over " + in_quotes(s.what) + " per position";
        case From::file: return " " + in_quotes(s.what);
        case From::token: return " token " + in_quotes(s.what);
        case From::neuron: return " neuron L" + spans_text(s.place.layers) + "N" + spans_text(s.place.units);
        case From::singular:
            return " ov L" + spans_text(s.place.layers) + "H" + spans_text(s.place.units) + "." + std::to_string(s.index);
        case From::difference: return " difference @" + edge_end(s.plus) + " @" + edge_end(s.minus);
        case From::head: return " L" + spans_text(s.place.layers) + "H" + spans_text(s.place.units);
    }
    return {};
}

}  // namespace

Edit parse_edit(std::string_view text) {
    const std::vector<Word> words = words_in(text);
    return EditReader(text, words).read();
}

std::string positions_text(const Positions& positions) {
    std::string text;
    for (const PositionRange& range : positions) {
        text += text.empty() ? "" : ",";
        if (range.of_class != TokenClass::none) {
            text += enum_word(range.of_class);
            continue;
        }
        text += position_name_text(range.first);
        if (range.last != range.first) text += "-" + position_name_text(range.last);
    }
    return text;
}

std::string place_text(const Edit& edit) {
    std::string text;
    for (const Place& place : edit.where) {
        text += (text.empty() ? "L" : ",L") + spans_text(place.layers);
        if (!place.units.empty()) text += letter_of(edit) + spans_text(place.units);
    }
    if (!site_goes_without_saying(edit)) text += (text.empty() ? "" : ".") + std::string(row_of(edit.site).word);
    if (edit.stack == model::Stack::encoder || edit.stack == model::Stack::cross)
        text = std::string(enum_word(edit.stack)) + "." + text;
    return text;
}

std::string words_of(const Edit& edit) {
    std::string text = edit.on ? "" : "off ";
    text += enum_word(edit.operation);
    if (const std::string place = place_text(edit); !place.empty()) text += " " + place;
    if (!edit.finder.empty()) text += " where " + in_quotes(edit.finder);
    if (edit.edges) text += " " + edge_end(edit.edges->queries) + "<-" + edge_end(edit.edges->keys);
    text += source_text(edit);
    if (has_value(edit.operation)) text += " " + number_word(edit.value) + (edit.unit == Unit::norm ? " norm" : "");
    if (edit.without_value_bias) text += " without value bias";
    if (edit.without_first) text += " without first";
    if (!edit.positions.empty()) text += " @" + positions_text(edit.positions);
    return text;
}

}  // namespace headlight::intervention
