// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/io/json_file.h"

#include "headlight/base/error.h"
#include "headlight/base/numbers.h"
#include "headlight/io/foreign.h"
#include "io/open_regular.h"

#include <unistd.h>

#include <cerrno>
#include <iterator>
#include <system_error>
#include <utility>
#include <vector>

namespace headlight::io {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxDepth = 64;

/// Walks the text and tells others how far the parser has read.
struct MarkingIterator {
    using iterator_category = std::forward_iterator_tag;
    using value_type = char;
    using difference_type = std::ptrdiff_t;
    using pointer = const char*;
    using reference = const char&;

    const char* at = nullptr;
    const char** mark = nullptr;

    reference operator*() const { return *at; }
    MarkingIterator& operator++() {
        *mark = ++at;
        return *this;
    }
    MarkingIterator operator++(int) {
        MarkingIterator before = *this;
        ++*this;
        return before;
    }
    bool operator==(const MarkingIterator& other) const { return at == other.at; }
};

/// Builds the document as the library's own handler would, but refuses doubled keys and deep nesting.
class Builder : public nlohmann::json_sax<json> {
public:
    json take() { return std::move(root_); }
    const std::string& reason() const { return reason_; }

    bool null() override { return value(nullptr); }
    bool boolean(bool v) override { return value(v); }
    bool number_integer(number_integer_t v) override { return value(v); }
    bool number_unsigned(number_unsigned_t v) override { return value(v); }
    bool number_float(number_float_t v, const string_t&) override { return value(v); }
    bool string(string_t& v) override { return value(std::move(v)); }
    bool binary(binary_t& v) override { return value(std::move(v)); }
    bool start_object(std::size_t) override { return open(json::object()); }
    bool start_array(std::size_t) override { return open(json::array()); }
    bool end_object() override { return close(); }
    bool end_array() override { return close(); }

    bool key(string_t& name) override {
        auto& object = stack_.back()->get_ref<json::object_t&>();
        auto [place, fresh] = object.try_emplace(std::move(name));
        if (!fresh) return fail("the key \"" + place->first + "\" for the second time in one object");
        slot_ = &place->second;
        return true;
    }

    bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& e) override {
        // "parse error at line 1, column 2: syntax error …": only the last part is for people.
        const std::string text = plain_reason(e);
        const std::size_t column = text.find("column ");
        const std::size_t colon = column == std::string::npos ? column : text.find(": ", column);
        return fail(colon == std::string::npos ? text : text.substr(colon + 2));
    }

private:
    bool fail(std::string reason) {
        reason_ = std::move(reason);
        return false;
    }

    json* place(json&& v) {
        if (stack_.empty()) return &(root_ = std::move(v));
        if (stack_.back()->is_array()) {
            auto& array = stack_.back()->get_ref<json::array_t&>();
            return &array.emplace_back(std::move(v));
        }
        return &(*slot_ = std::move(v));
    }

    template <class T>
    bool value(T&& v) {
        place(json(std::forward<T>(v)));
        return true;
    }

    bool open(json&& container) {
        if (stack_.size() >= kMaxDepth) return fail("more than " + std::to_string(kMaxDepth) + " nested levels");
        stack_.push_back(place(std::move(container)));
        return true;
    }

    bool close() {
        stack_.pop_back();
        return true;
    }

    json root_;
    std::vector<json*> stack_;  // a container stays where it is while it is open: only its last child is open
    json* slot_ = nullptr;
    std::string reason_;
};

std::string line_and_column(std::string_view text, std::size_t offset) {
    std::size_t line = 1, column = 1;
    for (const char c : text.substr(0, offset)) {
        ++column;
        if (c == '\n') {
            ++line;
            column = 1;
        }
    }
    return "line " + std::to_string(line) + ", column " + std::to_string(column);
}

}  // namespace

std::string plain_reason(const json::exception& e) {
    const std::string_view text = e.what();
    const std::size_t end = text.starts_with('[') ? text.find("] ") : std::string_view::npos;
    return std::string(end == std::string_view::npos ? text : text.substr(end + 2));
}

std::string read_text(const std::filesystem::path& path, std::uintmax_t limit) {
    const OpenFile file = open_regular(path);
    if (file.size > limit)
        throw Error(ErrorFacts{.problem = "The file is too big",
                               .file = path.string(),
                               .expected = "at most " + bytes_text(limit),
                               .found = bytes_text(file.size)});
    std::string text(file.size, '\0');
    std::size_t done = 0;
    while (done < text.size()) {
        const ssize_t got = ::read(file.fd.get(), text.data() + done, text.size() - done);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0)
            throw Error(ErrorFacts{
                .problem = "Cannot read the file", .file = path.string(), .found = std::generic_category().message(errno)});
        if (got == 0) break;  // it shrank while we read
        done += static_cast<std::size_t>(got);
    }
    text.resize(done);
    return text;
}

json parse_json(std::string_view text, const std::filesystem::path& file) {
    const char* mark = text.data();
    Builder builder;
    const MarkingIterator first{text.data(), &mark};
    const MarkingIterator last{text.data() + text.size(), &mark};
    if (!json::sax_parse(first, last, &builder)) {
        const std::size_t offset = static_cast<std::size_t>(mark - text.data());
        throw Error(ErrorFacts{.problem = text.empty() ? "The file is empty" : "Broken JSON",
                               .file = file.string(),
                               .item = line_and_column(text, offset == 0 ? 0 : offset - 1),
                               .found = builder.reason()});
    }
    return builder.take();
}

json read_json(const std::filesystem::path& path) {
    const std::string text = read_text(path);
    refuse_foreign(text, path);
    return parse_json(text, path);
}

}  // namespace headlight::io
