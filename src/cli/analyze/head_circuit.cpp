// SPDX-License-Identifier: GPL-3.0-or-later
// `headlight analyze ov` and `headlight analyze qk`: what a head is wired to do, from its weights alone.
#include "headlight/analyze/circuit/head_circuit.h"
#include "cli/analyze/analyses.h"
#include "cli/result_file.h"
#include "cli/run_text.h"
#include "headlight/analyze/prediction/token_choice.h"
#include "headlight/base/error.h"
#include "headlight/io/atomic_file.h"
#include "headlight/model/runtime.h"

#include <nlohmann/json.hpp>

#include <cmath>

namespace headlight::cli {
namespace {

using analyze::Circuit;
using analyze::CircuitOptions;
using analyze::TokenVectors;
using Json = nlohmann::ordered_json;

struct HeadCircuitArguments {
    ModelArgument model;
    ComputeOptions compute;
    ResultFile out;
    std::int64_t layer = 0, head = 0, top = 10;
    std::string embedding, query;
    std::vector<std::string> tokens;
    bool fold = false, diagonal = false;
};

TokenVectors vectors_of(const std::string& name, TokenVectors otherwise) {
    for (const TokenVectors kind : {TokenVectors::token, TokenVectors::stream, TokenVectors::mlp0, TokenVectors::unembedding})
        if (name == analyze::name_of(kind)) return kind;
    return otherwise;
}

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json pairs(const std::vector<std::complex<double>>& values) {
    Json list = Json::array();
    for (const auto& value : values) list.push_back({value.real(), value.imag()});
    return list;
}

/// Tokens by id and label; a folder without a tokenizer gives ids alone.
class Labels {
public:
    explicit Labels(const std::filesystem::path& folder) {
        try {
            tokenizer_ = text::Tokenizer::load(folder);
        } catch (const Error& e) {
            problem_ = e.what();
        }
    }
    Json token(std::int64_t id) const {
        Json entry = {{"token_id", id}};
        if (tokenizer_) entry["token"] = text::token_label(*tokenizer_, id);
        return entry;
    }
    std::int64_t id_of(const std::string& typed, std::int64_t vocab) const {
        if (tokenizer_) return analyze::choose_token(*tokenizer_, vocab, typed, "--token").id;
        throw Error("Tokens cannot be chosen: " + problem_);
    }

private:
    std::shared_ptr<const text::Tokenizer> tokenizer_;
    std::string problem_;
};

Json entries(const std::vector<analyze::CircuitEntry>& list, const Labels& labels) {
    Json out = Json::array();
    for (const analyze::CircuitEntry& entry : list) {
        Json one = labels.token(entry.id);
        one["value"] = number(entry.value);
        out.push_back(std::move(one));
    }
    return out;
}

Json rows_json(const std::vector<analyze::CircuitRow>& rows, const Labels& labels) {
    Json out = Json::array();
    for (const analyze::CircuitRow& row : rows) {
        Json one = labels.token(row.id);
        one["diagonal"] = number(row.diagonal);
        one["diagonal_rank"] = row.diagonal_rank;
        one["largest"] = entries(row.largest, labels);
        one["smallest"] = entries(row.smallest, labels);
        out.push_back(std::move(one));
    }
    return out;
}

Json diagonal_json(const analyze::DiagonalRanks& d, const CircuitOptions& o, Circuit circuit) {
    Json out = {{"source", analyze::name_of(o.source)}};
    if (circuit == Circuit::qk) out["query"] = analyze::name_of(o.query);
    out["share_smallest"] = d.share_smallest;
    out["share_bottom_10"] = d.share_bottom_10;
    out["share_bottom_5_percent"] = d.share_bottom_5pc;
    out["share_top_10"] = d.share_top_10;
    out["share_largest"] = d.share_largest;
    out["median"] = number(d.median);
    out["ranks"] = d.rank;
    return out;
}

int circuit(const HeadCircuitArguments& o, Circuit which, const Console& console) {
    o.out.check();
    const std::filesystem::path folder = o.model.folder();
    model::start_runtime(o.compute.threads);
    const CancelToken cancel = interruptible();
    const auto model = load_model(folder, o.compute, cancel, console);
    const HeadId id{Layer(o.layer), Head(o.head)};
    CircuitOptions options{.fold_norms = o.fold,
                           .source = vectors_of(o.embedding, TokenVectors::token),
                           .query = vectors_of(o.query, TokenVectors::token)};
    const bool ov = which == Circuit::ov;
    const Labels labels(folder);
    std::vector<std::int64_t> ids;
    for (const std::string& typed : o.tokens) ids.push_back(labels.id_of(typed, model->config().vocab_size));

    const analyze::CircuitSpectrum s = analyze::circuit_spectrum(*model, which, id, options, cancel, console.progress());
    Json json;
    for (const auto& [name, value] : facts_of(*model)) json["facts"][name] = value;
    json["layer"] = o.layer;
    json["head"] = o.head;
    json["kv_head"] = s.kv_head;
    json["fold_norms"] = o.fold;
    json["source"] = analyze::name_of(options.source);
    if (!ov) json["query"] = analyze::name_of(options.query);
    json["eigenvalues"] = pairs(s.eigenvalues);
    const std::string score = ov ? "copying_score" : "matching_score";
    json[score] = number(s.score);
    json["eigenvalues_full"] = pairs(s.full_eigenvalues);
    json[score + "_full"] = number(s.full_score);
    if (!s.full_missing.empty()) json["missing"] = s.full_missing;
    if (ov && !s.between_is_linear) json["note"] = "the masked-word head between this head and W_U is left out";
    json["norms"] = ov ? Json{{"w_v", s.first_norm}, {"w_o", s.second_norm}, {"w_ov", s.norm}}
                       : Json{{"w_q", s.first_norm}, {"w_k", s.second_norm}, {"w_qk", s.norm}};
    if (!ids.empty()) json["rows"] = rows_json(analyze::circuit_rows(*model, which, id, ids, o.top, options, cancel), labels);
    if (o.diagonal) {
        // As in the paper unless told otherwise.
        options.source = vectors_of(o.embedding, TokenVectors::mlp0);
        options.query = vectors_of(o.query, TokenVectors::unembedding);
        json["diagonal"] =
            diagonal_json(analyze::diagonal_ranks(*model, which, id, options, cancel, console.progress()), options, which);
    }
    console.clear_progress();
    io::write_atomically(o.out.path, json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
    console.note("wrote " + o.out.path);
    return 0;
}

Action define(Definition& definition, Circuit which) {
    auto options = std::make_shared<HeadCircuitArguments>();
    CLI::App& app = *definition.app;
    options->model.add(definition);
    app.add_option("--layer", options->layer, "layer, from 0")->required()->type_name("N");
    app.add_option("--head", options->head, "query head, from 0")->required()->type_name("N");
    options->out.add(definition, {".json"});
    app.add_flag("--fold-norms", options->fold, "multiply the norms' gains (and centring) into the matrices");
    definition.restrict_to(app.add_option("--embedding", options->embedding,
                                          "what stands for a token that is read: its row of W_E, behind the embedding norm, "
                                          "or after block 0 without attention (default: token; mlp0 for --diagonal)"),
                           {"token", "stream", "mlp0"});
    if (which == Circuit::qk)
        definition.restrict_to(app.add_option("--query", options->query,
                                              "what stands for a token that looks (default: token; unembedding for --diagonal)"),
                               {"token", "stream", "mlp0", "unembedding"});
    app.add_option("--token", options->tokens, "a token, by id or text, whose row is listed; may be given several times")
        ->type_name("ID|TEXT")
        ->allow_extra_args(false);
    app.add_option("--top", options->top, "entries in each list of a row")
        ->capture_default_str()
        ->type_name("N")
        ->check(CLI::Range(std::int64_t{0}, std::int64_t{1000000}));
    app.add_flag("--diagonal", options->diagonal, "where every token stands in its own row");
    options->compute.add(definition);
    return [options, which, console = definition.console] { return circuit(*options, which, *console); };
}

}  // namespace

Action define_analyze_ov(Definition& definition, const Frontend&) { return define(definition, Circuit::ov); }

Action define_analyze_qk(Definition& definition, const Frontend&) { return define(definition, Circuit::qk); }

}  // namespace headlight::cli
