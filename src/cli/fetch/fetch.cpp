// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/command.h"
#include "cli/fetch/hub.h"
#include "headlight/base/error.h"

#include <QCoreApplication>
#include <QNetworkProxyFactory>

#include <cstdio>
#include <memory>

namespace headlight::cli {
namespace {

int fetch(const std::string& id, const Console& console) {
    int argc = 1;
    char name[] = "headlight";
    char* argv[] = {name, nullptr};
    const QCoreApplication application(argc, argv);
    QNetworkProxyFactory::setUseSystemConfiguration(true);
    const HubOptions options = hub_options_from_environment(id);
    const Fetched got = fetch_model(options, interruptible(), console.progress());
    console.clear_progress();
    char line[200];
    std::snprintf(line, sizeof line, "%d files, %.1f MB fetched, commit %.12s", got.files,
                  static_cast<double>(got.bytes) / 1e6, got.commit.c_str());
    console.note(line);
    console.result(got.folder.string() + "\n");
    return 0;
}

}  // namespace

Action define_fetch(Definition& definition, const Frontend&) {
    auto id = std::make_shared<std::string>();
    definition.app->add_option("ID", *id, "the id of a model on the hub: gpt2, org/name, org/name@revision")
        ->required()
        ->type_name(" ");
    return [id, console = definition.console] { return fetch(*id, *console); };
}

}  // namespace headlight::cli
