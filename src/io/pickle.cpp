// SPDX-License-Identifier: GPL-3.0-or-later
// Opcodes: CPython's Lib/pickletools.py, which defines the format.
#include "io/pickle.h"

#include "headlight/base/error.h"
#include "headlight/base/numbers.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdio>
#include <unordered_map>
#include <utility>

namespace headlight::io {
namespace {

constexpr std::size_t kMaxBytes = 32u << 20;
constexpr std::size_t kMaxValues = 2'000'000;
constexpr std::size_t kMaxText = 1u << 20;
constexpr std::string_view kOrderedDict = "collections.OrderedDict";

class Machine {
public:
    Machine(std::span<const std::byte> bytes, const std::filesystem::path& file, std::span<const std::string_view> allowed)
        : bytes_(bytes), file_(file), allowed_(allowed) {}

    Pickle run(std::size_t* used) {
        if (used) bytes_ = bytes_.first(std::min(bytes_.size(), kMaxBytes));
        if (bytes_.size() > kMaxBytes)
            fail("The pickle is too long", "at most " + bytes_text(kMaxBytes), bytes_text(bytes_.size()));
        while (!pickle_.root) step();
        if (used) *used = at_;
        return std::move(pickle_);
    }

private:
    [[noreturn]] void fail(std::string problem, std::string expected = {}, std::string found = {}, std::string hint = {}) const {
        throw Error(ErrorFacts{.problem = std::move(problem),
                               .file = file_.string(),
                               .item = "pickle, byte " + std::to_string(start_),
                               .expected = std::move(expected),
                               .found = std::move(found),
                               .hint = std::move(hint)});
    }

    // Bytes of the pickle.
    std::string_view take(std::size_t size) {
        if (size > bytes_.size() - at_) fail("The pickle is cut short");
        const std::string_view part(reinterpret_cast<const char*>(bytes_.data()) + at_, size);
        at_ += size;
        return part;
    }
    std::uint64_t number(int size) {
        const std::string_view part = take(static_cast<std::size_t>(size));
        std::uint64_t value = 0;
        for (std::size_t i = 0; i < part.size(); ++i)
            value |= static_cast<std::uint64_t>(static_cast<unsigned char>(part[i])) << (8 * i);
        return value;
    }
    std::string_view sized(int size_bytes) {
        const std::uint64_t size = number(size_bytes);
        if (size > kMaxText) fail("A text in the pickle is too long", "at most " + bytes_text(kMaxText), bytes_text(size));
        return take(static_cast<std::size_t>(size));
    }
    std::string_view line() {
        const std::string_view rest(reinterpret_cast<const char*>(bytes_.data()) + at_, bytes_.size() - at_);
        const std::size_t end = rest.find('\n');
        if (end == std::string_view::npos || end > kMaxText) fail("The pickle is cut short", "the end of a line");
        at_ += end + 1;
        return rest.substr(0, end);
    }

    // Values and the stack. A mark is a null pointer on it.
    PickleValue& make(PickleKind kind) {
        if (pickle_.values.size() >= kMaxValues) fail("Too many values in the pickle", "at most " + std::to_string(kMaxValues));
        PickleValue& value = pickle_.values.emplace_back();
        value.kind = kind;
        return value;
    }
    PickleValue& push(PickleKind kind) {
        PickleValue& value = make(kind);
        stack_.push_back(&value);
        return value;
    }
    void push_text(PickleKind kind, std::string_view text) { push(kind).text = text; }
    void push_integer(std::int64_t integer, PickleKind kind = PickleKind::integer) { push(kind).integer = integer; }
    PickleValue* pop() {
        if (stack_.empty() || !stack_.back()) fail("The pickle takes a value that is not there");
        PickleValue* value = stack_.back();
        stack_.pop_back();
        return value;
    }
    PickleValue& top() {
        if (stack_.empty() || !stack_.back()) fail("The pickle takes a value that is not there");
        return *stack_.back();
    }
    std::vector<const PickleValue*> pop_to_mark() {
        const auto mark = std::find(stack_.rbegin(), stack_.rend(), nullptr);
        if (mark == stack_.rend()) fail("The pickle lacks a mark");
        const std::vector<const PickleValue*> items(mark.base(), stack_.end());
        stack_.erase(mark.base() - 1, stack_.end());
        return items;
    }
    void push_tuple(std::vector<const PickleValue*> items) { push(PickleKind::tuple).items = std::move(items); }
    void push_last(std::size_t count) {
        std::vector<const PickleValue*> items(count);
        while (count > 0) items[--count] = pop();
        push_tuple(std::move(items));
    }
    void append(const std::vector<const PickleValue*>& items, PickleKind to, const char* name) {
        PickleValue& target = top();
        if (target.kind != to) fail(std::string("the pickle adds to something that is no ") + name);
        if (to == PickleKind::dict && items.size() % 2) fail("A key without a value in the pickle");
        held_ += items.size();
        // What containers hold is counted too: one value may be put into a list again and again.
        if (held_ > kMaxValues) fail("Too many values in the pickle", "at most " + std::to_string(kMaxValues));
        target.items.insert(target.items.end(), items.begin(), items.end());
    }

    void global(std::string_view module, std::string_view name) {
        const std::string whole = std::string(module) + "." + std::string(name);
        if (std::ranges::find(allowed_, whole) == allowed_.end())
            fail("The pickle asks for something that has no place in a file of weights", "tensors and plain values",
                 whole.size() > 200 ? whole.substr(0, 200) + "…" : whole,
                 "Nothing of it was run. If you trust its origin, save only the state dict as safetensors");
        push(PickleKind::global).text = whole;
    }
    void global_from_stack() {
        const PickleValue* name = pop();
        const PickleValue* module = pop();
        if (name->kind != PickleKind::text || module->kind != PickleKind::text) fail("A global without a name in the pickle");
        global(module->text, name->text);
    }
    void call() {
        const PickleValue* arguments = pop();
        const PickleValue* callable = pop();
        if (callable->kind != PickleKind::global || arguments->kind != PickleKind::tuple)
            fail("The pickle calls something that cannot be called");
        if (callable->text != kOrderedDict) {
            push(PickleKind::call).items = {callable, arguments};
            return;
        }
        push(PickleKind::dict);
        if (arguments->items.empty()) return;
        if (arguments->items.size() > 1 || arguments->items.front()->kind != PickleKind::list)
            fail("An OrderedDict made of something else than a list of pairs");
        for (const PickleValue* pair : arguments->items.front()->items) {
            if ((pair->kind != PickleKind::tuple && pair->kind != PickleKind::list) || pair->items.size() != 2)
                fail("An OrderedDict made of something else than a list of pairs");
            append({pair->items[0], pair->items[1]}, PickleKind::dict, "dict");
        }
    }
    void build() {
        pop();  // attributes of a state dict: "_metadata", the versions of its modules
        if (top().kind != PickleKind::dict) fail("The pickle gives attributes to something that has none");
    }

    void remember(std::uint64_t index) {
        if (memo_.size() >= kMaxValues) fail("Too many values in the pickle", "at most " + std::to_string(kMaxValues));
        memo_[index] = &top();
    }
    void recall(std::uint64_t index) {
        const auto found = memo_.find(index);
        if (found == memo_.end()) fail("The pickle takes a value that is not there", {}, "memo " + std::to_string(index));
        stack_.push_back(found->second);
    }
    template <class T>
    T decimal(std::string_view text) const {
        T value = 0;
        const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (code != std::errc{} || end != text.data() + text.size()) fail("A broken number in the pickle");
        return value;
    }
    void long_integer(std::uint64_t size) {
        if (size > 8) fail("A number in the pickle does not fit into 64 bits", "at most 8 bytes", std::to_string(size));
        std::uint64_t value = number(static_cast<int>(size));
        if (size > 0 && size < 8 && (value >> (8 * size - 1) & 1)) value |= ~std::uint64_t{0} << (8 * size);
        push_integer(static_cast<std::int64_t>(value));
    }
    void text_integer() {
        std::string_view text = line();
        if (text == "00" || text == "01") return push_integer(text == "01", PickleKind::boolean);
        if (text.ends_with('L')) text.remove_suffix(1);
        push_integer(decimal<std::int64_t>(text));
    }
    void big_endian_real() {
        std::uint64_t bits = 0;
        for (const char c : take(8)) bits = bits << 8 | static_cast<unsigned char>(c);
        push(PickleKind::real).real = std::bit_cast<double>(bits);
    }

    void step() {
        start_ = at_;
        const char op = take(1).front();
        switch (op) {
            case '\x80':  // PROTO
                if (const auto version = number(1); version > 5)
                    fail("A pickle of a protocol that is not known", "at most 5", std::to_string(version));
                return;
            case '\x95': number(8); return;  // FRAME
            case '.': pickle_.root = pop(); return;
            case '(': stack_.push_back(nullptr); return;
            case '0':  // POP
                if (stack_.empty()) fail("The pickle takes a value that is not there");
                stack_.pop_back();
                return;
            case '1': pop_to_mark(); return;
            case '2': stack_.push_back(&top()); return;
            case 'N': push(PickleKind::none); return;
            case '\x88': return push_integer(1, PickleKind::boolean);
            case '\x89': return push_integer(0, PickleKind::boolean);
            case 'I':
            case 'L': return text_integer();
            case 'J': return push_integer(static_cast<std::int32_t>(number(4)));
            case 'K': return push_integer(static_cast<std::int64_t>(number(1)));
            case 'M': return push_integer(static_cast<std::int64_t>(number(2)));
            case '\x8a': return long_integer(number(1));
            case '\x8b': return long_integer(number(4));
            case 'G': return big_endian_real();
            case 'X': return push_text(PickleKind::text, sized(4));
            case '\x8c': return push_text(PickleKind::text, sized(1));
            case '\x8d': return push_text(PickleKind::text, sized(8));
            case 'U': return push_text(PickleKind::text, sized(1));
            case 'T': return push_text(PickleKind::text, sized(4));
            case 'V': return push_text(PickleKind::text, line());
            case 'C': return push_text(PickleKind::bytes, sized(1));
            case 'B': return push_text(PickleKind::bytes, sized(4));
            case '\x8e': return push_text(PickleKind::bytes, sized(8));
            case ')': return push_tuple({});
            case '\x85': return push_last(1);
            case '\x86': return push_last(2);
            case '\x87': return push_last(3);
            case 't': return push_tuple(pop_to_mark());
            case ']': push(PickleKind::list); return;
            case 'l': {
                auto items = pop_to_mark();
                push(PickleKind::list).items = std::move(items);
                return;
            }
            case 'a': return append({pop()}, PickleKind::list, "list");
            case 'e': return append(pop_to_mark(), PickleKind::list, "list");
            case '}': push(PickleKind::dict); return;
            case 'd': {
                const auto items = pop_to_mark();
                push(PickleKind::dict);
                return append(items, PickleKind::dict, "dict");
            }
            case 's': {
                const PickleValue* value = pop();
                const PickleValue* key = pop();
                return append({key, value}, PickleKind::dict, "dict");
            }
            case 'u': return append(pop_to_mark(), PickleKind::dict, "dict");
            case 'q': return remember(number(1));
            case 'r': return remember(number(4));
            case 'p': return remember(decimal<std::uint64_t>(line()));
            case '\x94': return remember(memo_.size());
            case 'h': return recall(number(1));
            case 'j': return recall(number(4));
            case 'g': return recall(decimal<std::uint64_t>(line()));
            case 'c': {
                const std::string_view module = line();
                return global(module, line());
            }
            case '\x93': return global_from_stack();
            case 'Q': {
                const PickleValue* id = pop();
                push(PickleKind::persistent).items = {id};
                return;
            }
            case 'R': return call();
            case 'b': return build();
            default: return refuse(op);
        }
    }

    [[noreturn]] void refuse(char op) const {
        static constexpr std::pair<char, const char*> kNames[] = {
            {'i', "INST"},    {'o', "OBJ"},     {'\x81', "NEWOBJ"}, {'\x92', "NEWOBJ_EX"},   {'\x82', "EXT1"},
            {'\x83', "EXT2"}, {'\x84', "EXT4"}, {'P', "PERSID"},    {'\x97', "NEXT_BUFFER"}, {'\x98', "READONLY_BUFFER"}};
        char code[8];
        std::snprintf(code, sizeof code, "0x%02x", static_cast<unsigned char>(op));
        for (const auto& [known, name] : kNames)
            if (known == op)
                fail("The pickle holds more than weights", "tensors and plain values", std::string("opcode ") + name,
                     "Nothing of it was run. If you trust its origin, save only the state dict as safetensors");
        fail("Not a pickle, or a damaged one", {}, std::string("opcode ") + code);
    }

    std::span<const std::byte> bytes_;
    const std::filesystem::path& file_;
    std::span<const std::string_view> allowed_;
    std::size_t at_ = 0, start_ = 0, held_ = 0;
    Pickle pickle_;
    std::vector<PickleValue*> stack_;
    std::unordered_map<std::uint64_t, PickleValue*> memo_;
};

}  // namespace

Pickle read_pickle(std::span<const std::byte> bytes, const std::filesystem::path& file,
                   std::span<const std::string_view> allowed_globals, std::size_t* used) {
    return Machine(bytes, file, allowed_globals).run(used);
}

}  // namespace headlight::io
