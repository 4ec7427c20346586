// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/where.h"

#include "cli/command.h"
#include "headlight/base/error.h"

namespace headlight::cli {

analyze::HeadQuery read_where(const std::string& expression, const analyze::HeadTable& table, const trace::Trace* trace) {
    try {
        return analyze::HeadQuery::parse(expression, table, trace);
    } catch (const Error& error) {
        throw UsageError(std::string("--where: ") + error.what());
    }
}

std::string read_sort(const std::string& words, const analyze::HeadTable& table) {
    try {
        return analyze::measure_called(words, table);
    } catch (const Error& error) {
        ErrorFacts facts = error.facts();
        facts.item.clear();
        throw UsageError(std::string("--sort: ") + Error(facts).what());
    }
}

}  // namespace headlight::cli
