// SPDX-License-Identifier: GPL-3.0-or-later
// `headlight analyze ov` and `headlight analyze qk`: what a head is wired to do, from its weights alone.
#include "headlight/analyze/circuit/head_circuit.h"

#include "cli/analyze/analyses.h"
#include "cli/analyze/analysis.h"
#include "headlight/base/error.h"

#include <nlohmann/json.hpp>

#include <cmath>

namespace headlight::cli {
namespace {

using analyze::Circuit;
using analyze::CircuitOptions;
using analyze::TokenVectors;
using Json = nlohmann::ordered_json;

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
    std::int64_t id_of(const std::string& typed, std::int64_t vocab, const Console& console) const {
        if (tokenizer_) return typed_token(*tokenizer_, vocab, typed, "--token", console);
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
    Json out = {{"source", enum_word(o.source)}};
    if (circuit == Circuit::qk) out["query"] = enum_word(o.query);
    out["share_smallest"] = d.share_smallest;
    out["share_bottom_10"] = d.share_bottom_10;
    out["share_bottom_5_percent"] = d.share_bottom_5pc;
    out["share_top_10"] = d.share_top_10;
    out["share_largest"] = d.share_largest;
    out["median"] = number(d.median);
    out["ranks"] = d.rank;
    return out;
}

template <Circuit which>
struct HeadCircuitCommand : Analysis {
    std::int64_t layer = 0, head = 0, top = 10;
    std::string embedding, query;
    std::vector<std::string> tokens;
    bool fold = false, diagonal = false;

    void add(Definition& definition) {
        CLI::App& app = *definition.app;
        app.add_option("--layer", layer, "layer, from 0")->required()->type_name("N");
        app.add_option("--head", head, "query head, from 0")->required()->type_name("N");
        app.add_flag("--fold-norms", fold, "multiply the norms' gains (and centring) into the matrices");
        definition.restrict_to(app.add_option("--embedding", embedding,
                                              "what stands for a token that is read: its row of W_E, behind the embedding norm, "
                                              "or after block 0 without attention (default: token; mlp0 for --diagonal)"),
                               {"token", "stream", "mlp0"});
        if (which == Circuit::qk)
            definition.restrict_to(
                app.add_option("--query", query, "what stands for the query token (default: token; unembedding for --diagonal)"),
                {"token", "stream", "mlp0", "unembedding"});
        app.add_option("--token", tokens, "a token, by id or text, whose row is listed; may be given several times")
            ->type_name("ID|TEXT")
            ->allow_extra_args(false);
        add_count(definition, "--top", top, "entries in each list of a row", 0, 1000000);
        app.add_flag("--diagonal", diagonal, "rank of every token in its own row");
    }

    Result run(const Console& console) const {
        refuse_unused(*cli_app, {{"--top", tokens.empty(), "the rows that it lists are those of --token"}});
        const Weights weights = load_model_alone(console);
        const model::Model& loaded = *weights.model;
        const HeadId id{Layer(layer), Head(head)};
        CircuitOptions options{.fold_norms = fold,
                               .source = enum_value<TokenVectors>(embedding).value_or(TokenVectors::token),
                               .query = enum_value<TokenVectors>(query).value_or(TokenVectors::token)};
        const Labels labels(weights.folder);
        std::vector<std::int64_t> ids;
        for (const std::string& typed : tokens) ids.push_back(labels.id_of(typed, loaded.config().vocab_size, console));

        Json json = spectrum_json(
            loaded, analyze::circuit_spectrum(loaded, which, id, options, weights.cancel, console.progress()), options);
        if (!ids.empty())
            json["rows"] = rows_json(analyze::circuit_rows(loaded, which, id, ids, top, options, weights.cancel), labels);
        if (diagonal) {
            // By default as in the paper.
            options.source = enum_value<TokenVectors>(embedding).value_or(TokenVectors::mlp0);
            options.query = enum_value<TokenVectors>(query).value_or(TokenVectors::unembedding);
            json["diagonal"] = diagonal_json(
                analyze::diagonal_ranks(loaded, which, id, options, weights.cancel, console.progress()), options, which);
        }
        return {.table = {}, .facts = {}, .document = json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n"};
    }

    Json spectrum_json(const model::Model& loaded, const analyze::CircuitSpectrum& s, const CircuitOptions& options) const {
        const bool ov = which == Circuit::ov;
        Json json;
        json["facts"] = Json::parse(facts_json(facts_of(loaded)));
        json["layer"] = layer;
        json["head"] = head;
        json["kv_head"] = s.kv_head;
        json["fold_norms"] = fold;
        json["source"] = enum_word(options.source);
        if (!ov) json["query"] = enum_word(options.query);
        json["eigenvalues"] = pairs(s.eigenvalues);
        const std::string score = ov ? "copying_score" : "matching_score";
        json[score] = number(s.score);
        json["eigenvalues_full"] = pairs(s.full_eigenvalues);
        json[score + "_full"] = number(s.full_score);
        if (!s.full_missing.empty()) json["missing"] = s.full_missing;
        if (ov && !s.between_is_linear) json["note"] = "the masked-word head between this head and W_U is left out";
        json["norms"] = ov ? Json{{"w_v", s.first_norm}, {"w_o", s.second_norm}, {"w_ov", s.norm}}
                           : Json{{"w_q", s.first_norm}, {"w_k", s.second_norm}, {"w_qk", s.norm}};
        return json;
    }
};

}  // namespace

Action define_analyze_ov(Definition& definition, const Frontend&) {
    return define_analysis<HeadCircuitCommand<Circuit::ov>>(definition, kWeights, {".json"});
}

Action define_analyze_qk(Definition& definition, const Frontend&) {
    return define_analysis<HeadCircuitCommand<Circuit::qk>>(definition, kWeights, {".json"});
}

}  // namespace headlight::cli
