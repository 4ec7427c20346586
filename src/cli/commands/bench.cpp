// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/command.h"
#include "headlight/base/error.h"

#include <unistd.h>

#include <filesystem>

namespace headlight::cli {

/// `headlight bench ...` hands over to headlight_bench, which is built from bench/ and not installed.
Action define_bench(Definition& definition, const Frontend&) {
    CLI::App* app = definition.app.get();
    app->prefix_command();
    app->set_help_flag();
    return [app]() -> int {
        const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe").replace_filename("headlight_bench");
        std::vector<std::string> words = app->remaining();
        words.insert(words.begin(), program);
        std::vector<char*> argv;
        for (std::string& word : words) argv.push_back(word.data());
        argv.push_back(nullptr);
        ::execv(program.c_str(), argv.data());
        throw Error(ErrorFacts{.problem = "The benchmark program is not here",
                               .file = program,
                               .hint = "Build it from the sources: ninja -C build/release headlight_bench"});
    };
}

}  // namespace headlight::cli
