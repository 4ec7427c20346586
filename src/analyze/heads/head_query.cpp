// SPDX-License-Identifier: GPL-3.0-or-later
// HeadQuery: the expression is turned into reverse Polish by the shunting-yard method, which needs no recursion, so
// that no text can exhaust the stack.
#include "headlight/analyze/heads/head_query.h"
#include "headlight/base/numbers.h"

#include "analyze/heads/head_query_text.h"
#include "headlight/analyze/heads/head_table.h"
#include "headlight/base/error.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

namespace headlight::analyze {
namespace {

using Node = HeadQuery::Node;
using Term = HeadQuery::Term;
using Token = QueryToken;

bool compare(double value, const std::string& op, double number) {
    if (std::isnan(value) || std::isnan(number)) return false;
    if (op == "<") return value < number;
    if (op == "<=") return value <= number;
    if (op == ">") return value > number;
    if (op == ">=") return value >= number;
    if (op == "!=") return value != number;
    return value == number;
}

std::string mirrored(const std::string& op) {
    if (op == "<") return ">";
    if (op == "<=") return ">=";
    if (op == ">") return "<";
    if (op == ">=") return "<=";
    return op;
}

std::string listed(const std::vector<std::string>& ids) {
    std::string out;
    for (const std::string& id : ids) out += (out.empty() ? "" : ", ") + id;
    return out;
}

/// The one measure that is meant; else the Error at `at`.
std::string sole(const MeasureNames& names, const MeasureNames::Found& found, const std::string& words, const Token& at) {
    if (found.ids.size() == 1) return found.ids.front();
    const bool of_corpus = words == "corpus" || words.starts_with("corpus ") || is_of_corpus(words);
    if (found.ids.empty() && of_corpus && !names.knows_corpus())
        fail_at(at, "No corpus is in use", "a measure of the text, layer or head",
                "Choose a corpus whose measures are to be asked");
    if (found.ids.empty())
        fail_at(at, "No such measure", "the name of a measure, layer or head", "Did you mean " + names.nearest(words) + "?");
    fail_at(at, "More than one measure is called so", "one of " + listed(found.ids));
}

/// "l3h5": a head; "l3": a layer.
struct NamedHead {
    std::int64_t layer = 0;
    std::optional<std::int64_t> head;
};
std::optional<NamedHead> named_head(const std::string& word) {
    const auto number = [](const char*& at, const char* end) -> std::optional<std::int64_t> {
        std::int64_t value = 0;
        const auto result = std::from_chars(at, end, value);
        if (result.ec != std::errc{} || value < 0) return std::nullopt;
        at = result.ptr;
        return value;
    };
    if (word.size() < 2 || word[0] != 'l') return std::nullopt;
    const char *at = word.data() + 1, *end = word.data() + word.size();
    const auto layer = number(at, end);
    if (!layer) return std::nullopt;
    if (at == end) return NamedHead{*layer, std::nullopt};
    if (*at++ != 'h') return std::nullopt;
    const auto head = number(at, end);
    if (!head || at != end) return std::nullopt;
    return NamedHead{*layer, head};
}

class Parser {
public:
    Parser(std::string_view text, const HeadTable& table, const trace::Trace* trace, QueryPhrases* phrases)
        : names_(table), tokens_(query_tokens(text, names_)), table_(table), trace_(trace), phrases_(phrases) {}

    std::vector<Node> run() {
        if (is("heads") && is(ahead(1), "where")) at_ += 2;
        if (now().kind == QueryTokenKind::end) return {};
        while (true) {
            operand();
            while (now().kind == QueryTokenKind::close) close();
            if (now().kind == QueryTokenKind::end) break;
            if (!is("and") && !is("or")) fail_at(now(), "Two conditions without a word between them", "and, or");
            push_operator(is("and") ? Node::Kind::logical_and : Node::Kind::logical_or);
            ++at_;
        }
        while (!pending_.empty()) {
            if (pending_.back().open) fail_at(pending_.back().token, "A parenthesis is not closed", ")");
            pop();
        }
        return std::move(out_);
    }
    std::vector<Term> terms() { return std::move(terms_); }

private:
    struct Pending {
        bool open = false;
        Node::Kind kind = Node::Kind::logical_and;
        Token token;
    };

    static int strength(Node::Kind kind) { return kind == Node::Kind::logical_not ? 3 : kind == Node::Kind::logical_and ? 2 : 1; }

    const Token& now() const { return tokens_[at_]; }
    const Token& ahead(std::size_t by) const { return tokens_[std::min(at_ + by, tokens_.size() - 1)]; }
    static bool is(const Token& token, const char* word) { return token.kind == QueryTokenKind::name && token.text == word; }
    bool is(const char* word) const { return is(now(), word); }
    static bool can_name(const Token& token) {
        return token.kind == QueryTokenKind::name && !is(token, "and") && !is(token, "or") && !is(token, "not");
    }

    void pop() {
        out_.push_back({.kind = pending_.back().kind});
        pending_.pop_back();
    }

    void push_operator(Node::Kind kind) {
        while (!pending_.empty() && !pending_.back().open && strength(pending_.back().kind) >= strength(kind)) pop();
        pending_.push_back({false, kind, now()});
    }

    void close() {
        while (!pending_.empty() && !pending_.back().open) pop();
        if (pending_.empty()) fail_at(now(), "A parenthesis closes nothing", "and, or, or the end");
        pending_.pop_back();
        ++at_;
    }

    /// Any number of "not" and "(" and then one comparison or the name of a head.
    void operand() {
        while (now().kind == QueryTokenKind::open || is("not")) {
            pending_.push_back({now().kind == QueryTokenKind::open, Node::Kind::logical_not, now()});
            ++at_;
        }
        if (now().kind == QueryTokenKind::name && ahead(1).kind != QueryTokenKind::comparison && place_head()) return;
        Node node;
        phrase_.reset();
        const Token& first = now();
        const bool number_first = now().kind == QueryTokenKind::number;
        if (number_first)
            node.number = number();
        else
            node.measure = measure();
        if (now().kind != QueryTokenKind::comparison) fail_at(now(), "A comparison is missing", "< <= > >= = or !=");
        node.op = now().text;
        ++at_;
        if (number_first) {
            node.op = mirrored(node.op);
            node.measure = measure();
        } else {
            node.number = number();
        }
        if (phrase_) compare_phrase(node, number_first ? first : tokens_[at_ - 1]);
        out_.push_back(std::move(node));
    }

    bool place_head() {
        const auto named = named_head(now().text);
        if (!named || names_.find(now().text).whole) return false;
        if (named->layer >= table_.n_layers || named->head.value_or(0) >= table_.n_heads)
            fail_at(now(), "No such head",
                    "layer 0 to " + std::to_string(table_.n_layers - 1) + ", head 0 to " + std::to_string(table_.n_heads - 1));
        out_.push_back({Node::Kind::compare, "layer", "=", static_cast<double>(named->layer)});
        if (named->head) {
            out_.push_back({Node::Kind::compare, "head", "=", static_cast<double>(*named->head)});
            out_.push_back({.kind = Node::Kind::logical_and});
        }
        ++at_;
        return true;
    }

    double number() {
        if (now().kind != QueryTokenKind::number) fail_at(now(), "A number is missing", "a number such as 0.3");
        return tokens_[at_++].number;
    }

    /// Words that are the subject of "attends to": one, or a relation with its subtype, whose colon ends a name. 0: it is none.
    std::size_t subject_length() const {
        std::size_t n = 1;
        if (now().kind != QueryTokenKind::quoted) {
            if (!can_name(now())) return 0;
            while (ahead(n - 1).typed.ends_with(':') && can_name(ahead(n))) ++n;
        }
        return is(ahead(n), "attends") ? n : 0;
    }

    /// WORD attends to [its] WORD; which measure that is depends on the number that follows.
    std::string begin_phrase(std::size_t subject) {
        const Token& begin = now();
        if (!phrases_)
            fail_at(begin, "Attention between words needs a treebank", "a measure, layer or head",
                    "Choose a corpus of a treebank, or ask it with headlight corpus query");
        QueryPhrase phrase;
        phrase.from = {begin.kind == QueryTokenKind::quoted ? begin.text : begin.typed, begin.kind == QueryTokenKind::quoted,
                       begin.column};
        for (std::size_t i = 1; i < subject; ++i) phrase.from.text += ahead(i).typed;
        at_ += subject + 1;
        if (!is("to")) fail_at(now(), "The word \"to\" is missing", "VERB attends to its nsubj");
        ++at_;
        phrase.its = is("its");
        if (phrase.its) ++at_;
        const Token& to = now();
        if (to.kind != QueryTokenKind::name && to.kind != QueryTokenKind::quoted)
            fail_at(to, "A word is missing", "a part of speech, a relation, or a word in quotes");
        phrase.to = {to.kind == QueryTokenKind::quoted ? to.text : to.typed, to.kind == QueryTokenKind::quoted, to.column};
        ++at_;
        phrase_ = phrase;
        return {};
    }

    /// The comparison of a phrase, and "in 50 texts" behind it.
    void compare_phrase(Node& node, const Token& number_token) {
        phrase_->op = node.op;
        phrase_->number = node.number;
        phrase_->percent = number_token.percent;
        phrase_->in_texts = is("in");
        if (phrase_->in_texts) {
            ++at_;
            const Token& count = now();
            const double texts = number();
            if (!is("texts") && !is("text")) fail_at(now(), "The word \"texts\" is missing", "in 50 texts");
            ++at_;
            if (count.percent || texts < 1 || texts != std::floor(texts)) fail_at(count, "Not a number of texts", "1 or more");
            node.op = ">=";
            node.number = texts;
        }
        node.measure = phrases_->measure(*phrase_);
    }

    std::string measure() {
        if (const std::size_t subject = subject_length()) return begin_phrase(subject);
        if (now().kind == QueryTokenKind::quoted) {
            const Token& token = tokens_[at_++];
            return sole(names_, names_.find(token.text), token.text, token);
        }
        if (!can_name(now())) fail_at(now(), "A measure is missing", "a measure such as " + names_.first() + ", layer or head");
        const bool weighted = is("weighted") || is("value-weighted");
        if (is("attention") || (weighted && is(ahead(1), "attention"))) return attention(weighted);
        std::size_t end = at_;
        while (can_name(tokens_[end])) ++end;
        const std::string all = words(end);
        const MeasureNames::Found found = names_.find(all);
        if (found.ids.empty()) {
            // When the beginning is a measure, the mistake is what follows it.
            for (std::size_t shorter = end - 1; shorter > at_; --shorter) {
                const MeasureNames::Found part = names_.find(words(shorter));
                if (!part.whole || part.ids.size() != 1) continue;
                at_ = shorter;
                return part.ids.front();
            }
        }
        std::string id = sole(names_, found, all, now());
        at_ = end;
        return id;
    }

    std::string words(std::size_t end) const {
        std::string out;
        for (std::size_t i = at_; i < end; ++i) out += (i > at_ ? " " : "") + tokens_[i].text;
        return out;
    }

    /// [weighted] attention from TOKEN to TOKEN
    std::string attention(bool weighted) {
        const Token& begin = now();
        at_ += weighted ? 2 : 1;
        if (!trace_) fail_at(begin, "Attention between tokens needs a text", "a measure, layer or head");
        Term term;
        term.weighted = weighted;
        const std::string from = place("from", term.from, Side::queries), to = place("to", term.to, Side::keys);
        term.id = std::string(weighted ? "weighted " : "") + "attention from " + from + " to " + to;
        const auto plain = [](std::string name) {
            std::erase(name, '`');
            return name;
        };
        term.title = plain(from) + " → " + plain(to) + (weighted ? ", weighted" : "");
        if (std::none_of(terms_.begin(), terms_.end(), [&](const Term& t) { return t.id == term.id; })) terms_.push_back(term);
        return term.id;
    }

    /// The word, and a token by its text or position.
    std::string place(const char* word, std::vector<Position>& positions, Side side) {
        if (!is(word)) fail_at(now(), std::string("The word \"") + word + "\" is missing", "attention from `a` to `b`");
        ++at_;
        const Token& token = now();
        if (token.kind == QueryTokenKind::number) {
            const auto position = static_cast<std::int64_t>(token.number);
            const std::int64_t count = side == Side::keys ? trace_->keys() : trace_->tokens();
            if (token.number < 0 || token.number >= static_cast<double>(count) || static_cast<double>(position) != token.number)
                fail_at(token, "No such position", "0 to " + std::to_string(count - 1));
            positions = {Position(position)};
            ++at_;
            return std::to_string(position);
        }
        if (token.kind != QueryTokenKind::name && token.kind != QueryTokenKind::quoted)
            fail_at(token, "A token is missing", "a token of the text such as `the`, or its position from 0");
        positions = tokens_called(*trace_, token.text, side);
        if (positions.empty()) {
            const std::string near = nearest_token(*trace_, token.text, side);
            const std::string text = !trace_->across_texts() ? "text" : side == Side::keys ? "source" : "target";
            fail_at(token, "No such token in the " + text, "a token of the text, or its position from 0",
                    near.empty() ? std::string() : "Did you mean " + near + "?");
        }
        ++at_;
        return "`" + token.text + "`";
    }

    MeasureNames names_;
    std::vector<Token> tokens_;
    std::size_t at_ = 0;
    const HeadTable& table_;
    const trace::Trace* trace_;
    QueryPhrases* phrases_;
    std::optional<QueryPhrase> phrase_;  ///< of the comparison that is being read
    std::vector<Pending> pending_;
    std::vector<Node> out_;
    std::vector<Term> terms_;
};

}  // namespace

HeadQuery HeadQuery::parse(std::string_view expression, const HeadTable& names_from, const trace::Trace* trace,
                           QueryPhrases* phrases) {
    Parser parser(expression, names_from, trace, phrases);
    HeadQuery query;
    query.nodes_ = parser.run();
    query.terms_ = parser.terms();
    return query;
}

std::vector<std::string> HeadQuery::measures() const {
    std::vector<std::string> ids;
    for (const Node& node : nodes_) {
        if (node.kind != Node::Kind::compare || node.measure == "layer" || node.measure == "head") continue;
        if (std::find(ids.begin(), ids.end(), node.measure) == ids.end()) ids.push_back(node.measure);
    }
    return ids;
}

void HeadQuery::measure(const trace::Trace& trace, const CancelToken& cancel) {
    for (Term& term : terms_)
        if (term.values.size() == 0) term.values = attention_between(trace, term.from, term.to, term.weighted, cancel);
}

bool HeadQuery::measured() const noexcept {
    return std::all_of(terms_.begin(), terms_.end(), [](const Term& term) { return term.values.size() > 0; });
}

std::int64_t HeadQuery::cost(const trace::Trace& trace) const noexcept {
    const std::int64_t heads = trace.config().n_layers * trace.config().n_heads;
    std::int64_t weights = 0;
    for (const Term& term : terms_) {
        if (term.values.size() > 0) continue;
        // The lengths of all values cost as much as a row for each dimension of a head.
        const auto rows = static_cast<std::int64_t>(term.from.size()) + (term.weighted ? trace.config().d_head : 0);
        weights += rows * trace.keys() * heads;
    }
    return weights;
}

bool HeadQuery::matches(const HeadTable& table, HeadId id) const {
    if (nodes_.empty()) return true;
    std::vector<bool> stack;
    const auto value_of = [&](const std::string& measure) {
        if (measure == "layer") return static_cast<double>(id.layer.value);
        if (measure == "head") return static_cast<double>(id.head.value);
        for (const Term& term : terms_)
            if (term.id == measure) return term.values.size() > 0 ? term.values(id.layer.value, id.head.value) : kNaN;
        const Eigen::MatrixXd* values = table.find(measure);
        return values ? (*values)(id.layer.value, id.head.value) : kNaN;
    };
    for (const Node& node : nodes_) {
        if (node.kind == Node::Kind::compare) {
            stack.push_back(compare(value_of(node.measure), node.op, node.number));
        } else if (node.kind == Node::Kind::logical_not) {
            stack.back() = !stack.back();
        } else {
            const bool right = stack.back();
            stack.pop_back();
            stack.back() = node.kind == Node::Kind::logical_and ? (stack.back() && right) : (stack.back() || right);
        }
    }
    return stack.back();
}

HeadTable HeadQuery::with_terms(const HeadTable& table) const {
    HeadTable out = table;
    for (const Term& term : terms_) {
        const std::string definition = std::string("Largest ") +
                                       (term.weighted ? "value-weighted weight (Kobayashi 2020)" : "weight") +
                                       " over the pairs of these tokens, on this text.";
        out.measures.push_back({term.id, term.title, definition, "share", 0, 1});
        const bool known = term.values.size() > 0;
        out.values.push_back(known ? term.values : Eigen::MatrixXd::Constant(table.n_layers, table.n_heads, kNaN));
    }
    return out;
}

std::string HeadQuery::why_none(const HeadTable& table) const {
    for (const Node& node : nodes_) {
        const Eigen::MatrixXd* values = node.kind == Node::Kind::compare ? table.find(node.measure) : nullptr;
        if (!values) continue;
        const auto measure = std::find_if(table.measures.begin(), table.measures.end(),
                                          [&](const MeasureInfo& m) { return m.id == node.measure; });
        const bool least = node.op[0] == '<';
        std::optional<HeadId> best;
        bool any = false;
        const auto at = [&](HeadId id) { return (*values)(id.layer.value, id.head.value); };
        for (std::int64_t l = 0; l < table.n_layers; ++l)
            for (std::int64_t h = 0; h < table.n_heads; ++h) {
                const HeadId id{Layer(l), Head(h)};
                if (std::isnan(at(id))) continue;
                any = any || compare(at(id), node.op, node.number);
                if (!best || (least ? at(id) < at(*best) : at(id) > at(*best))) best = id;
            }
        if (any) continue;
        if (!best) return "this text has no " + measure->title;
        return std::string("the ") + (least ? "smallest " : "largest ") + measure->title + " is " + significant(at(*best)) +
               ", L" + std::to_string(best->layer.value) + "H" + std::to_string(best->head.value);
    }
    return "each condition holds for some head, all of them for none";
}

std::vector<HeadId> heads_left_out(const HeadTable& table, const HeadQuery& query) {
    std::vector<HeadId> heads;
    for (std::int64_t layer = 0; layer < table.n_layers; ++layer)
        for (std::int64_t head = 0; head < table.n_heads; ++head)
            if (const HeadId id{Layer(layer), Head(head)}; !query.matches(table, id)) heads.push_back(id);
    return heads;
}

std::string measure_called(std::string_view words, const HeadTable& table) {
    if (words == "layer" || words == "head" || table.find(words)) return std::string(words);
    const MeasureNames names(table);
    Token whole;
    whole.kind = QueryTokenKind::name;
    whole.text = whole.typed = words;
    return sole(names, names.find(words), whole.text, whole);
}

std::vector<HeadId> ranked_heads(const HeadTable& table, const HeadQuery& query, std::string_view sort_by, bool ascending) {
    const std::string id = measure_called(sort_by, table);
    const Eigen::MatrixXd* measure = table.find(id);
    const auto key = [&](HeadId head) {
        if (measure) return (*measure)(head.layer.value, head.head.value);
        return static_cast<double>(id == "layer" ? head.layer.value : head.head.value);
    };
    std::vector<HeadId> heads;
    for (std::int64_t layer = 0; layer < table.n_layers; ++layer) {
        for (std::int64_t head = 0; head < table.n_heads; ++head) {
            const HeadId head_id{Layer(layer), Head(head)};
            if (query.matches(table, head_id)) heads.push_back(head_id);
        }
    }
    std::stable_sort(heads.begin(), heads.end(), [&](HeadId a, HeadId b) {
        const double x = key(a), y = key(b);
        if (std::isnan(x) || std::isnan(y)) return !std::isnan(x) && std::isnan(y);
        return ascending ? x < y : x > y;
    });
    return heads;
}

}  // namespace headlight::analyze
