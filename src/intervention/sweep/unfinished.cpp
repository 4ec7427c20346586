// SPDX-License-Identifier: GPL-3.0-or-later
#include "intervention/sweep/unfinished.h"

#include "headlight/base/error.h"
#include "headlight/io/atomic_file.h"
#include "headlight/io/checksum.h"

#include <algorithm>
#include <cerrno>
#include <limits>
#include <map>
#include <system_error>

namespace headlight::intervention {
namespace {

constexpr const char* kFormat = "unfinished sweep 2";

// One letter of the states of a pair's cells.
constexpr char kCertain = '0', kMissing = '-', kComputed = 'x';

double real_of(const nlohmann::json& value) { return value.is_null() ? kNaN : value.get<double>(); }

CellState state_of(char letter) {
    return letter == kCertain   ? CellState::certain
           : letter == kMissing ? CellState::missing
           : letter == kComputed
               ? CellState::computed
               : throw Error(ErrorFacts{
                     .problem = "A state of a cell cannot be read", .expected = "0, - or x", .found = std::string(1, letter)});
}

/// As JSON has it: bytes that are no UTF-8, of a file's name say, are replaced.
std::string as_kept(const std::string& value) {
    return nlohmann::json::parse(nlohmann::json(value).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

/// The memory of a pass.
std::int64_t header_of(const std::string& line, const SweepFacts& facts, const LinesFrom& from) {
    std::map<std::string, std::string> kept;
    std::int64_t memory = 0;
    try {
        const nlohmann::json header = nlohmann::json::parse(line);
        if (header.at("headlight").get<std::string>() == kFormat) header.at("sweep").get_to(kept);
        header.at("memory").get_to(memory);
    } catch (const nlohmann::json::exception&) {
        kept.clear();
    }
    if (kept.empty())
        throw Error(ErrorFacts{.problem = "These are not the numbers of a sweep", .file = from.file, .hint = from.unreadable});
    const auto differs = [&](const std::string& name, const std::string& before, const std::string& now) {
        if (before == now) return;
        throw Error(ErrorFacts{.problem = "The numbers that are kept are those of another sweep",
                               .file = from.file,
                               .item = name,
                               .expected = before.empty() ? "none" : before,
                               .found = now.empty() ? "none" : now,
                               .hint = from.other});
    };
    for (const auto& [name, value] : facts) differs(name, kept[name], as_kept(value));
    for (const auto& [name, value] : kept)
        if (std::ranges::find(facts, name, &SweepFacts::value_type::first) == facts.end()) differs(name, value, "");
    return memory;
}

/// A digit that changes on the disk must not become another effect.
std::string checked_line(const nlohmann::ordered_json& line) { return io::with_checksum(line.dump()) + "\n"; }

/// Behind it, a line that a process did not finish.
std::size_t end_of_lines(std::string_view text) { return text.rfind('\n') + 1; }

}  // namespace

std::string header_line(const SweepFacts& facts, std::int64_t memory) {
    nlohmann::ordered_json sweep = nlohmann::ordered_json::object();
    for (const auto& [name, value] : facts) sweep[name] = as_kept(value);
    return checked_line(nlohmann::ordered_json{{"headlight", kFormat}, {"sweep", sweep}, {"memory", memory}});
}

std::string pair_line(std::size_t pair, const BegunPair& begun) {
    std::string states;
    for (const CellState state : begun.states)
        states += state == CellState::certain ? kCertain : state == CellState::missing ? kMissing : kComputed;
    const nlohmann::ordered_json line{{"pair", pair},           {"base", begun.base},
                                      {"other", begun.other},   {"shifted", begun.shifted},
                                      {"beside", begun.beside}, {"states", states}};
    return checked_line(line);
}

std::string pass_line(std::size_t pair, const std::vector<CellSum>& sums) {
    nlohmann::ordered_json line{{"pair", pair}, {"pass", nlohmann::ordered_json::array()}};
    for (const CellSum& sum : sums)
        line["pass"].push_back(sum.of == 1 ? nlohmann::ordered_json{sum.cell, sum.sum}
                                           : nlohmann::ordered_json{sum.cell, sum.sum, sum.taken, sum.of});
    return checked_line(line);
}

SweepContent content_of(std::string_view text, const SweepFacts& facts, std::size_t pairs, std::size_t cells,
                        const LinesFrom& from) {
    SweepContent content;
    const std::size_t whole = end_of_lines(text);
    if (whole == 0) header_of({}, facts, from);
    std::size_t number = 0;
    for (std::size_t at = 0; at < whole;) {
        const std::size_t end = text.find('\n', at);
        const std::string line(text.substr(at, end - at));
        at = end + 1;
        ++number;
        if (!io::checksum_holds(line))
            throw Error(ErrorFacts{.problem = number == 1 ? "These are not the numbers of a sweep, or they are damaged"
                                                          : "A line of a sweep's numbers is damaged",
                                   .file = from.file,
                                   .item = "line " + std::to_string(number),
                                   .hint = from.unreadable});
        if (number == 1) {
            content.memory = header_of(line, facts, from);
            continue;
        }
        const auto in_range = [&](std::size_t index, std::size_t count, const char* what) {
            if (index >= count)
                throw Error(ErrorFacts{.problem = std::string("There is no such ") + what + " in the sweep",
                                       .expected = "0 to " + std::to_string(count - 1),
                                       .found = std::to_string(index)});
            return index;
        };
        try {
            const nlohmann::json json = nlohmann::json::parse(line);
            const std::size_t pair = in_range(json.at("pair").get<std::size_t>(), pairs, "pair");
            if (json.contains("pass")) {
                for (const nlohmann::json& each : json["pass"]) {
                    CellSum sum{in_range(each.at(0).get<std::size_t>(), cells, "cell"), real_of(each.at(1)), 1};
                    if (each.size() > 2) each.at(2).get_to(sum.taken), each.at(3).get_to(sum.of);
                    if (sum.taken < 1 || sum.taken > sum.of)
                        throw Error(ErrorFacts{.problem = "A cell has more parts than it is the mean of",
                                               .expected = "1 to " + std::to_string(sum.of),
                                               .found = std::to_string(sum.taken)});
                    content.sums.emplace_back(pair, sum);
                }
                continue;
            }
            BegunPair begun{.base = real_of(json.at("base")), .other = real_of(json.at("other")), .shifted = json.at("shifted")};
            for (const nlohmann::json& each : json.at("beside")) begun.beside.push_back(real_of(each));
            for (const char letter : json.at("states").get<std::string>()) begun.states.push_back(state_of(letter));
            if (begun.states.size() != cells || (!begun.beside.empty() && begun.beside.size() != cells))
                throw Error(ErrorFacts{.problem = "A pair has another number of cells",
                                       .expected = std::to_string(cells),
                                       .found = std::to_string(begun.states.size())});
            content.pairs.emplace_back(pair, std::move(begun));
        } catch (const nlohmann::json::exception& error) {
            throw Error(ErrorFacts{.problem = "A line of a sweep's numbers cannot be read",
                                   .file = from.file,
                                   .item = "line " + std::to_string(number),
                                   .found = io::plain_reason(error),
                                   .hint = from.unreadable});
        } catch (const Error& error) {
            ErrorFacts wrong = error.facts();
            wrong.file = from.file;
            wrong.item = "line " + std::to_string(number);
            wrong.hint = from.unreadable;
            throw Error(std::move(wrong));
        }
    }
    return content;
}

UnfinishedSweep::Lock::Lock(const std::filesystem::path& of)
    : file_(of.string() + ".lock"), lock_(file_, io::FileLock::Kind::exclusive, "Choose another file for --out", {}, [&] {
          throw Error(ErrorFacts{.problem = "Another process is computing this sweep",
                                 .file = of.string(),
                                 .hint = "Wait until it ends, or choose another file for --out"});
      }) {}

UnfinishedSweep::Lock::~Lock() {
    std::error_code ignored;
    std::filesystem::remove(file_, ignored);  // while it is held: whoever waits for it makes a new one
}

UnfinishedSweep::UnfinishedSweep(std::filesystem::path path, SweepFacts facts, std::int64_t memory, std::size_t pairs,
                                 std::size_t cells)
    : path_(std::move(path)), lock_(path_), facts_(std::move(facts)), content_{.memory = memory} {
    if (!std::filesystem::exists(path_)) return;
    const std::string text = io::read_text(path_, std::numeric_limits<std::uintmax_t>::max());
    const std::size_t whole = end_of_lines(text);
    if (whole > 0)
        content_ = content_of(
            text, facts_, pairs, cells,
            {path_.string(), "Delete the file to begin anew", "Give what that sweep had, or delete the file to begin anew"});
    if (whole < text.size()) std::filesystem::resize_file(path_, whole);
}

void UnfinishedSweep::begin(std::size_t pair, const BegunPair& begun) {
    begun_ += pair_line(pair, begun);
    beside_ = beside_ || !begun.beside.empty();
}

void UnfinishedSweep::add(std::size_t pair, const CellSum& sum) {
    pair_ = pair;
    pass_.push_back(sum);
}

void UnfinishedSweep::end_pass() {
    if (pass_.empty() && !beside_) return;
    std::string lines = std::move(begun_);
    begun_.clear();
    beside_ = false;
    if (!pass_.empty()) lines += pass_line(pair_, pass_);
    pass_.clear();
    write(lines);
}

void UnfinishedSweep::write(const std::string& lines) {
    std::error_code ignored;
    if (!out_ && (!std::filesystem::exists(path_, ignored) || std::filesystem::file_size(path_, ignored) == 0)) {
        // Whole or not at all: a process killed here must not leave a file that says nothing.
        io::write_atomically(path_, header_line(facts_, content_.memory) + lines);
        return;
    }
    if (!out_) out_.reset(std::fopen(path_.c_str(), "ab"));
    if (!out_ || std::fwrite(lines.data(), 1, lines.size(), out_.get()) != lines.size() || std::fflush(out_.get()) != 0)
        throw Error(ErrorFacts{.problem = "Cannot write what an unfinished sweep has",
                               .file = path_.string(),
                               .found = std::generic_category().message(errno)});
}

}  // namespace headlight::intervention
