// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/where.h"

#include "cli/command.h"
#include "headlight/analyze/heads/model_probe.h"
#include "headlight/base/error.h"

#include <algorithm>

namespace headlight::cli {

corpus::HeadQuestion read_where(const std::string& expression, const analyze::HeadTable& table, const trace::Trace* trace,
                                const corpus::CorpusHeads* corpus) {
    try {
        return corpus::head_question(expression, table, trace, corpus);
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

void probe_if_asked(const std::vector<std::string>& measures, const std::shared_ptr<const model::Model>& model,
                    const std::shared_ptr<const text::Tokenizer>& tokenizer, analyze::HeadTable& table, const Console& console) {
    if (std::any_of(measures.begin(), measures.end(), analyze::is_of_probe))
        analyze::fill_probe(table, *analyze::model_probe(model, tokenizer, interruptible(), console.progress()));
}

}  // namespace headlight::cli
