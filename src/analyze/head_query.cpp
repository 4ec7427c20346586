// SPDX-License-Identifier: GPL-3.0-or-later
// HeadQuery: the expression is turned into reverse Polish by the shunting-yard method, which needs no recursion, so
// that no text can exhaust the stack.
#include "headlight/analyze/head_table.h"
#include "headlight/base/error.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace headlight::analyze {
namespace {

using Node = HeadQuery::Node;

struct Token {
    enum class Kind { name, number, comparison, open, close, end } kind = Kind::end;
    std::string text;  ///< lower case
    double number = 0;
    std::int64_t column = 1;
};

[[noreturn]] void fail(const std::string& what, const Token& at, const std::string& expected,
                       const std::string& hint = {}) {
    throw Error(ErrorFacts{.problem = what,
                           .item = "column " + std::to_string(at.column),
                           .expected = expected,
                           .found = at.kind == Token::Kind::end ? "the end" : "\"" + at.text + "\"",
                           .hint = hint});
}

bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || c == '_' || (static_cast<unsigned char>(c) & 0x80) != 0;
}
bool is_digit(char c) {
    return c >= '0' && c <= '9';
}
bool is_space(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

class Lexer {
public:
    explicit Lexer(std::string_view text) : text_(text) {
        std::transform(text_.begin(), text_.end(), text_.begin(),
                       [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    }

    Token next() {
        while (at_ < text_.size() && is_space(text_[at_])) ++at_;
        Token token;
        token.column = column();
        if (at_ == text_.size()) return token;
        const char c = text_[at_];
        if (is_letter(c)) {
            const std::size_t begin = at_;
            while (at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_]))) ++at_;
            token.kind = Token::Kind::name;
            token.text = text_.substr(begin, at_ - begin);
        } else if (is_digit(c) || c == '.' || c == '-' || c == '+') {
            number(token);
        } else if (c == '(' || c == ')') {
            token.kind = c == '(' ? Token::Kind::open : Token::Kind::close;
            token.text = text_.substr(at_++, 1);
        } else {
            comparison(token);
        }
        return token;
    }

private:
    /// 1-based, counted in characters, not bytes.
    std::int64_t column() {
        for (; counted_ < at_; ++counted_)
            if ((static_cast<unsigned char>(text_[counted_]) & 0xC0) != 0x80) ++characters_;
        return characters_ + 1;
    }

    void number(Token& token) {
        token.kind = Token::Kind::number;
        const char* begin = text_.data() + at_ + (text_[at_] == '+' ? 1 : 0);
        const auto result = std::from_chars(begin, text_.data() + text_.size(), token.number);
        const auto length = static_cast<std::size_t>(result.ptr - (text_.data() + at_));
        token.text = text_.substr(at_, std::max<std::size_t>(length, 1));
        if (result.ec != std::errc{}) fail("Not a number", token, "a number such as 0.3");
        at_ += length;
    }

    void comparison(Token& token) {
        static constexpr std::array<std::string_view, 7> operators = {"<=", ">=", "!=", "==", "<", ">", "="};
        for (const std::string_view op : operators) {
            if (text_.compare(at_, op.size(), op) != 0) continue;
            token.kind = Token::Kind::comparison;
            token.text = op == "==" ? "=" : std::string(op);
            at_ += op.size();
            return;
        }
        token.kind = Token::Kind::comparison;
        token.text = text_.substr(at_, 1);
        fail("Not understood in a question about heads", token,
             "a measure, a number, < <= > >= = !=, and, or, not, ( or )");
    }

    std::string text_;
    std::size_t at_ = 0;
    std::size_t counted_ = 0;  ///< bytes that characters_ counts
    std::int64_t characters_ = 0;
};

std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < a.size(); ++i) {
        std::size_t diagonal = std::exchange(row[0], i + 1);
        for (std::size_t j = 0; j < b.size(); ++j) {
            const std::size_t changed = diagonal + (a[i] == b[j] ? 0 : 1);
            diagonal = row[j + 1];
            row[j + 1] = std::min({row[j + 1] + 1, row[j] + 1, changed});
        }
    }
    return row.back();
}

/// The known name closest to what was typed; a name that begins or ends with it counts as close ("self" -> share_self).
std::string nearest(const std::vector<std::string>& names, const std::string& typed) {
    const auto cost = [&](const std::string& name) {
        const bool part = typed.size() >= 3 && name.find(typed) != std::string::npos;
        return part ? std::size_t{1} : edit_distance(name, typed);
    };
    return *std::min_element(names.begin(), names.end(),
                             [&](const std::string& a, const std::string& b) { return cost(a) < cost(b); });
}

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

class Parser {
public:
    Parser(std::string_view text, std::vector<std::string> names) : lexer_(text), names_(std::move(names)) {
        advance();
    }

    std::vector<Node> run() {
        if (token_.kind == Token::Kind::end) return {};
        while (true) {
            operand();
            while (token_.kind == Token::Kind::close) close();
            if (token_.kind == Token::Kind::end) break;
            if (token_.kind != Token::Kind::name || (token_.text != "and" && token_.text != "or"))
                fail("Two conditions without a word between them", token_, "and, or");
            push_operator(token_.text == "and" ? Node::Kind::logical_and : Node::Kind::logical_or);
            advance();
        }
        while (!pending_.empty()) {
            if (pending_.back().open) fail("A parenthesis is not closed", pending_.back().token, ")");
            pop();
        }
        return std::move(out_);
    }

private:
    struct Pending {
        bool open = false;
        Node::Kind kind = Node::Kind::logical_and;
        Token token;
    };

    static int strength(Node::Kind kind) {
        return kind == Node::Kind::logical_not ? 3 : kind == Node::Kind::logical_and ? 2 : 1;
    }

    void advance() { token_ = lexer_.next(); }

    void pop() {
        out_.push_back({pending_.back().kind, {}, {}, 0});
        pending_.pop_back();
    }

    void push_operator(Node::Kind kind) {
        while (!pending_.empty() && !pending_.back().open && strength(pending_.back().kind) >= strength(kind)) pop();
        pending_.push_back({false, kind, token_});
    }

    void close() {
        while (!pending_.empty() && !pending_.back().open) pop();
        if (pending_.empty()) fail("A parenthesis closes nothing", token_, "and, or, or the end");
        pending_.pop_back();
        advance();
    }

    /// Any number of "not" and "(" and then one comparison.
    void operand() {
        while (token_.kind == Token::Kind::open || (token_.kind == Token::Kind::name && token_.text == "not")) {
            pending_.push_back({token_.kind == Token::Kind::open, Node::Kind::logical_not, token_});
            advance();
        }
        Node node{Node::Kind::compare, {}, {}, 0};
        const bool number_first = token_.kind == Token::Kind::number;
        if (number_first)
            node.number = number();
        else
            node.measure = measure();
        if (token_.kind != Token::Kind::comparison) fail("A comparison is missing", token_, "< <= > >= = or !=");
        node.op = token_.text;
        advance();
        if (number_first) {
            node.op = mirrored(node.op);
            node.measure = measure();
        } else {
            node.number = number();
        }
        out_.push_back(std::move(node));
    }

    double number() {
        if (token_.kind != Token::Kind::number) fail("A number is missing", token_, "a number such as 0.3");
        const double value = token_.number;
        advance();
        return value;
    }

    std::string measure() {
        const bool word = token_.text == "and" || token_.text == "or" || token_.text == "not";
        if (token_.kind != Token::Kind::name || word)
            fail("A measure is missing", token_, "a measure such as " + names_.front() + ", layer or head");
        if (std::find(names_.begin(), names_.end(), token_.text) == names_.end())
            fail("No such measure", token_, "the name of a measure, layer or head",
                 "Did you mean " + nearest(names_, token_.text) + "?");
        std::string name = token_.text;
        advance();
        return name;
    }

    Lexer lexer_;
    std::vector<std::string> names_;
    Token token_;
    std::vector<Pending> pending_;
    std::vector<Node> out_;
};

}  // namespace

HeadQuery HeadQuery::parse(std::string_view expression, const HeadTable& names_from) {
    std::vector<std::string> names;
    for (const MeasureInfo& measure : names_from.measures) names.push_back(measure.id);
    names.insert(names.end(), {"layer", "head"});
    HeadQuery query;
    query.tokens_ = Parser(expression, std::move(names)).run();
    return query;
}

bool HeadQuery::matches(const HeadTable& table, HeadId id) const {
    if (tokens_.empty()) return true;
    std::vector<bool> stack;
    const auto value_of = [&](const std::string& measure) {
        if (measure == "layer") return static_cast<double>(id.layer.value);
        if (measure == "head") return static_cast<double>(id.head.value);
        const Eigen::MatrixXd* values = table.find(measure);
        return values ? (*values)(id.layer.value, id.head.value) : std::numeric_limits<double>::quiet_NaN();
    };
    for (const Node& node : tokens_) {
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

}  // namespace headlight::analyze
