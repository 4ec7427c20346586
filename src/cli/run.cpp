// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/command.h"
#include "cli/interrupt.h"
#include "headlight/base/error.h"
#include "headlight/base/facts_of.h"
#include "headlight/base/nearest.h"
#include "headlight/base/working_for.h"
#include "headlight/figure/core/view_spec.h"
#include "headlight/figure/export/export.h"
#include "headlight/io/mapped_file.h"

#include <CLI/Error.hpp>

#include <stdlib.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <span>
#include <system_error>

namespace headlight::cli {
namespace {

constexpr int kDone = 0, kCouldNot = 1, kWrongUsage = 2;

const Command* find(std::span<const Command> in, const std::string& name) {
    for (const Command& command : in)
        if (command.name == name || (!command.alias.empty() && name == "analyze " + std::string(command.alias))) return &command;
    return nullptr;
}

/// The analysis that a word names.
const Command* analysis_called(const std::string& name) { return find(analyses(), "analyze " + name); }

/// Whether the word there names an analysis or a view. A file or folder of that name is a model for the window, unless a word
/// follows that is no option.
bool is_question(const std::vector<std::string>& words, std::size_t at) {
    const std::string& name = words[at];
    if (find(commands(), name) || !(analysis_called(name) || figure::find_view(name))) return false;
    std::error_code ignored;
    const bool alone = at + 1 == words.size() || words[at + 1].starts_with('-');
    return !alone || !std::filesystem::exists(name, ignored);
}

/// Moves options before a command's name behind it: "-q render M" becomes "render -q M". Which word is an option's value is
/// decided by the options that the program's own help lists.
void put_command_first(std::vector<std::string>& words, const Frontend& frontend) {
    const Built window = build(window_command(), frontend);
    std::size_t at = 0;
    while (at < words.size() && words[at].size() > 1 && words[at].front() == '-' && words[at] != "--version") {
        const std::size_t equals = words[at].find('=');
        const CLI::Option* option = window.definition.app->get_option_no_throw(words[at].substr(0, equals));
        if (!option) return;
        at += option->get_expected_min() > 0 && equals == std::string::npos ? 2 : 1;
    }
    if (at == 0 || at >= words.size() || !(find(commands(), words[at]) || is_question(words, at))) return;
    const CommandGroup* group = group_called(words[at]);
    const bool two = group && at + 1 < words.size() && find(group->commands, words[at] + " " + words[at + 1]);
    const auto first = words.begin() + static_cast<std::ptrdiff_t>(at);
    std::rotate(words.begin(), first, first + (two ? 2 : 1));
}

/// The value of an option, given as one word or two; empty: there is none.
std::string_view value_of(std::string_view option, const std::vector<std::string>& words) {
    for (std::size_t i = 0; i < words.size(); ++i) {
        if (words[i].starts_with(option) && words[i].substr(option.size(), 1) == "=")
            return std::string_view(words[i]).substr(option.size() + 1);
        if (words[i] == option && i + 1 < words.size()) return words[i + 1];
    }
    return {};
}

bool draws_a_picture(const std::vector<std::string>& words) {
    const std::string_view out = value_of("--out", words);
    return figure::is_picture(out == "-" ? "out." + std::string(value_of("--format", words)) : std::string(out));
}

/// A question by its name alone, "lens MODEL …": `analyze lens`, and for a picture or where only a view has that name `render
/// --view lens`.
void complete_question(std::vector<std::string>& words) {
    if (words.empty() || !is_question(words, 0)) return;
    const Command* analysis = analysis_called(words.front());
    const std::string view(analysis && !analysis->view.empty() ? analysis->view : words.front());
    if (analysis && !(figure::find_view(view) && draws_a_picture(words))) {
        words.insert(words.begin(), "analyze");
    } else {
        words.front() = "render";
        words.insert(words.end(), {"--view", view});
    }
}

/// Removes the words that name a command and returns it; of a group two words.
const Command& take_command(std::vector<std::string>& words) {
    const Command* command = words.empty() ? nullptr : find(commands(), words.front());
    if (!command) return window_command();
    if (words.size() > 1)
        if (const CommandGroup* group = group_called(words[0]))
            if (const Command* own = find(group->commands, words[0] + " " + words[1])) {
                words.erase(words.begin(), words.begin() + 2);
                return *own;
            }
    words.erase(words.begin());
    return *command;
}

/// File names and tensor names may hold anything: nothing of it may steer the terminal.
std::string printable(std::string_view text) {
    std::string safe;
    for (const char c : text) safe += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
    return safe;
}

void say(const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); }

int say_could_not(const Console& console, std::string_view message) {
    console.clear_progress();
    say("headlight: " + printable(message));
    return kCouldNot;
}

int say_wrong_usage(const CLI::App& app, const std::string& message) {
    say(app.get_name() + ": " + printable(message));
    say("Try: " + app.get_name() + " --help");
    return kWrongUsage;
}

/// Names of a command's options, without the dashes.
std::vector<std::string> option_names(const CLI::App& app) {
    std::vector<std::string> names;
    for (const CLI::Option* option : app.get_options())
        for (const std::string& name : option->get_lnames()) names.push_back(name);
    return names;
}

/// "; it belongs to headlight render", "; did you mean --text?", or nothing.
std::string meant_by(const std::string& typed, const CLI::App& app, const Frontend& frontend) {
    const std::size_t begin = typed.find_first_not_of('-');
    if (begin == std::string::npos) return {};
    const std::string name = typed.substr(begin, typed.find('=') - begin);
    std::string having;
    for (const Command& command : commands()) {
        const std::vector<std::string> names = option_names(*build(command, frontend).definition.app);
        if (command.define != define_window && std::ranges::find(names, name) != names.end())
            having += (having.empty() ? "headlight " : ", headlight ") + std::string(command.name);
    }
    if (!having.empty()) return "; it belongs to " + having;
    const std::string near = nearest(name, option_names(app));
    return near.empty() ? "" : "; did you mean --" + near + "?";
}

std::string unexpected(const CLI::App& app, const Frontend& frontend) {
    std::string message;
    for (const std::string& word : app.remaining()) {
        const bool is_option = word.size() > 1 && word.front() == '-';
        if (!message.empty()) message += "; ";
        message += (is_option ? "Unknown option " : "One word too many: ") + word;
        if (is_option) message += meant_by(word, app, frontend);
        if (is_option) break;  // what follows an unknown option may be its value
    }
    return message;
}

/// The first word alone: "headlight tokenise" is a misspelt command, not a model.
std::string misspelt_command(const std::string& word) {
    std::vector<std::string> names;
    for (const Command& command : commands()) names.emplace_back(command.name);
    for (const Command& analysis : analyses()) names.emplace_back(analysis_name(analysis));
    const std::string near = nearest(word, names);
    return near.empty() ? "" : "Unknown command " + word + "; did you mean headlight " + near + "?";
}

/// "--out -": the command writes a file of its own in a private temporary folder, which goes to standard output when the
/// command is done. Does nothing for a command whose --out names a file.
class StreamedOut {
public:
    /// UsageError: no format, or one where the file's ending says it.
    explicit StreamedOut(const Definition&);
    ~StreamedOut();
    StreamedOut(const StreamedOut&) = delete;
    StreamedOut& operator=(const StreamedOut&) = delete;
    void send() const;

private:
    const Definition& definition_;
    std::filesystem::path folder_;  ///< empty: nothing is streamed
};

StreamedOut::StreamedOut(const Definition& definition) : definition_(definition) {
    if (!definition.out) return;
    const auto& [path, format] = *definition.out;
    if (*path != "-") {
        if (!format.empty()) throw UsageError("--format: it is for --out -; the ending of a file says its format");
        return;
    }
    if (format.empty()) throw UsageError("--out -: standard output has no ending that says the format; add --format");
    std::string name = (std::filesystem::temp_directory_path() / "headlight-XXXXXX").string();
    if (!::mkdtemp(name.data()))
        throw Error(ErrorFacts{.problem = "No temporary folder can be made for --out -",
                               .file = name,
                               .hint = "Set TMPDIR to a folder that can be written"});
    folder_ = name;
    *path = folder_ / ("out." + format);
    definition.console->streamed = *path;
}

StreamedOut::~StreamedOut() {
    std::error_code ignored;
    if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
}

void StreamedOut::send() const {
    if (folder_.empty()) return;
    const auto file = io::MappedFile::open(definition_.console->streamed);
    definition_.console->result({reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size()});
}

int run_action(const Built& built) {
    const Console& console = *built.definition.console;
    try {
        const WorkingFor here(interrupt_token());
        const StreamedOut streamed(built.definition);
        const int code = built.action();
        if (code == kDone) streamed.send();
        return code;
    } catch (const UsageError& e) {
        return say_wrong_usage(*built.definition.app, e.what());
    } catch (const Error& e) {
        return say_could_not(console, e.what());
    } catch (const Cancelled&) {
        say_could_not(console, "Cancelled");
        end_interrupted();
    } catch (...) {
        return say_could_not(console, Error(facts_of_current_exception()).what());
    }
}

}  // namespace

int run_command(const Command& command, std::vector<std::string> words, const Frontend& frontend) {
    install_signal_messages();
    const Built built = build(command, frontend);
    CLI::App& app = *built.definition.app;
    const std::string first = words.empty() ? "" : words.front();
    try {
        std::reverse(words.begin(), words.end());  // CLI11 takes them from the back
        app.parse(words);
    } catch (const CLI::CallForHelp&) {
        std::fputs(app.help().c_str(), stdout);
        return std::fflush(stdout) == 0 ? kDone : kCouldNot;
    } catch (const CLI::CallForVersion& e) {
        std::puts(e.what());
        return std::fflush(stdout) == 0 ? kDone : kCouldNot;
    } catch (const CLI::ExtrasError&) {
        const std::string misspelt = &command == &window_command() ? misspelt_command(first) : "";
        return say_wrong_usage(app, misspelt.empty() ? unexpected(app, frontend) : misspelt);
    } catch (const CLI::ParseError& e) {
        return say_wrong_usage(app, e.what());
    }
    return run_action(built);
}

int run(int argc, const char* const* argv, const Frontend& frontend) {
    std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
    if (!words.empty() && words.front().starts_with('-')) put_command_first(words, frontend);
    complete_question(words);
    const Command& command = take_command(words);
    return run_command(command, std::move(words), frontend);
}

}  // namespace headlight::cli
