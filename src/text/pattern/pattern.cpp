// SPDX-License-Identifier: GPL-3.0-or-later
#include "text/pattern/pattern.h"

#include "text/pattern/regex.h"
#include "text/pattern/scanners.h"

namespace headlight::text {
namespace {

class Literal final : public Pattern {
public:
    explicit Literal(std::string wanted) : wanted_(std::move(wanted)) {}
    void find(std::string_view text, Budget*, std::vector<Span>& out) const override {
        if (wanted_.empty()) return;
        for (std::size_t at = text.find(wanted_); at != text.npos; at = text.find(wanted_, at + wanted_.size())) {
            out.push_back({static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(at + wanted_.size())});
        }
    }

private:
    std::string wanted_;
};

class Gpt2 final : public Pattern {
public:
    void find(std::string_view text, Budget*, std::vector<Span>& out) const override { scanners::gpt2(text, out); }
};

class Gpt4 final : public Pattern {
public:
    explicit Gpt4(std::size_t digits) : digits_(digits) {}
    void find(std::string_view text, Budget*, std::vector<Span>& out) const override { scanners::gpt4(text, digits_, out); }

private:
    std::size_t digits_;
};

constexpr std::string_view kGpt2 = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
constexpr std::string_view kGpt4Head = R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|)";
constexpr std::string_view kGpt4Tail = R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

}  // namespace

PatternPtr make_gpt2_pattern() { return std::make_unique<Gpt2>(); }

PatternPtr make_pattern(const Field& f) {
    if (const auto literal = f.find("String")) return std::make_unique<Literal>(literal->string());
    const auto field = f.find("Regex");
    if (!field) f.fail_expected(R"({"String": …} or {"Regex": …})");
    const std::string& regex = field->string();
    if (regex == kGpt2) return make_gpt2_pattern();
    for (const auto& [middle, digits] : {std::pair<std::string_view, std::size_t>{R"(\p{N}{1,3})", 3}, {R"(\p{N})", 1}}) {
        if (regex == std::string(kGpt4Head) + std::string(middle) + std::string(kGpt4Tail)) {
            return std::make_unique<Gpt4>(digits);
        }
    }
    return make_regex(*field);
}

}  // namespace headlight::text
