// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/corpus/corpus.h"
#include "cli/corpus/store_argument.h"
#include "cli/result_file.h"
#include "headlight/base/numbers.h"
#include "headlight/corpus/heads/head_means.h"
#include "headlight/corpus/store/manifest.h"
#include "headlight/corpus/store/segments.h"
#include "headlight/corpus/store/text_store.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace headlight::cli {
namespace {

using nlohmann::ordered_json;

struct CorpusInfoArguments {
    std::string store;
    bool json = false;
};

ordered_json info_json(const std::filesystem::path& store) {
    const corpus::Manifest m = corpus::read_manifest(store);
    const std::vector<corpus::Segment> segments = corpus::segments_of(store, m);
    std::int64_t blocks = 0, chunks = 0;
    ordered_json machines = ordered_json::array();
    for (const corpus::Segment& segment : segments) {
        blocks += std::ssize(segment.blocks);
        chunks += segment.chunks;
        if (std::ranges::find(machines, ordered_json(segment.machine.text())) == machines.end())
            machines.push_back(segment.machine.text());
    }
    ordered_json left_out = ordered_json::array(), notes = ordered_json::array();
    for (const corpus::TextNote& one : m.notes) notes.push_back({{"place", one.place}, {"what", one.what}});
    for (const corpus::LeftOut& one : m.left_out_list) left_out.push_back({{"id", one.id}, {"reason", one.reason}});
    return {{"model", m.model},
            {"model_hash", m.model_hash},
            {"tokenizer", m.tokenizer},
            {"dtype", m.dtype},
            {"unit", enum_word(m.options.reading.unit)},
            {"field", m.options.reading.field},
            {"context", m.options.context},
            {"stride", m.options.stride},
            {"measures", m.options.measures},
            {"texts", m.texts()},
            {"texts_complete", m.texts_complete()},
            {"treebank", m.treebank},
            {"chunks", m.chunks()},
            {"tokens", m.tokens()},
            {"blocks", m.blocks()},
            {"finished_chunks", chunks},
            {"finished_blocks", blocks},
            {"segments", segments.size()},
            {"machines", machines},
            {"left_out", {{"texts", m.left_out_texts()}, {"reasons", m.left_out}, {"list", left_out}}},
            {"noted", {{"kinds", m.noted}, {"list", notes}}}};
}

std::string info_text(const ordered_json& info) {
    std::string out;
    const auto line = [&](std::string label, const std::string& value) {
        label.resize(std::max<std::size_t>(label.size() + 2, 14), ' ');
        out += label + value + "\n";
    };
    const auto number = [&](const char* key) { return with_commas(info[key].get<std::int64_t>()); };
    line("model", info["model"].get<std::string>() + ", " + info["dtype"].get<std::string>());
    line("sha-256", info["model_hash"].get<std::string>());
    line("texts", number("texts") + (info["treebank"].get<bool>() ? " with words" : "") + ", " + number("tokens") +
                      " tokens in " + number("chunks") + " chunks of at most " + number("context"));
    if (!info["texts_complete"].get<bool>()) line("", "not read completely: run with --texts again");
    std::string measures;
    for (const auto& each : info["measures"]) measures += (measures.empty() ? "" : ", ") + each.get<std::string>();
    line("gathered", measures);
    line("finished", number("finished_chunks") + " of " + number("chunks") + " chunks, in " +
                         std::to_string(info["segments"].get<std::size_t>()) + " segments");
    for (const auto& machine : info["machines"]) line("ran on", machine.get<std::string>());
    const auto& left_out = info["left_out"];
    if (left_out["texts"].get<std::int64_t>() > 0)
        line("left out", with_commas(left_out["texts"].get<std::int64_t>()) + " texts");
    for (const auto& one : left_out["list"]) line("", one["id"].get<std::string>() + ": " + one["reason"].get<std::string>());
    for (const auto& [what, count] : info["noted"]["kinds"].items()) {
        line("noted", with_commas(count.get<std::int64_t>()) + " with " + what);
        for (const auto& one : info["noted"]["list"])
            if (one["what"] == what) line("", one["place"].get<std::string>());
    }
    return out;
}

struct CorpusHeadsArguments {
    std::string store;
    corpus::BootstrapOptions bootstrap;
    ResultFile out;
};

int heads(const CorpusHeadsArguments& arguments, const Console& console) {
    arguments.out.check();
    const StorePtr store = corpus::read_store(arguments.store);
    const corpus::HeadMeans means = corpus::head_means(store->merged.arrays, store->text_of_chunk, arguments.bootstrap);
    Result result{.table = corpus::table_of(means), .facts = {}};
    add_facts(result, *store, console);
    result.fact("texts_run", means.texts).fact("first_row_of_causal_models", "left out");
    add_bootstrap_facts(result, arguments.bootstrap, console);
    arguments.out.write(result, console);
    return 0;
}

}  // namespace

Action define_corpus_info(Definition& definition, const Frontend&) {
    auto options = std::make_shared<CorpusInfoArguments>();
    add_store_argument(definition, options->store);
    definition.app->add_flag("--json", options->json, "everything as one JSON object");
    return [options, console = definition.console] {
        const ordered_json info = info_json(options->store);
        console->result(options->json ? info.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n"
                                      : info_text(info));
        return 0;
    };
}

Action define_corpus_heads(Definition& definition, const Frontend&) {
    auto options = std::make_shared<CorpusHeadsArguments>();
    add_store_argument(definition, options->store);
    add_bootstrap_options(definition, options->bootstrap);
    options->out.add(definition);
    return [options, console = definition.console] { return heads(*options, *console); };
}

}  // namespace headlight::cli
