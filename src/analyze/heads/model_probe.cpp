// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/heads/model_probe.h"

#include "headlight/base/error.h"
#include "headlight/io/checksum.h"
#include "headlight/io/hash.h"
#include "headlight/io/json_file.h"
#include "headlight/model/keep.h"
#include "headlight/model/outline.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <span>

namespace headlight::analyze {
namespace {

constexpr std::int64_t least_random_tokens = 8;
constexpr std::int64_t few_parameters = 500'000'000;
constexpr int kept_version = 3;

/// The parts that are kept, by the names of their measures.
struct KeptPart {
    const char* measure;
    Eigen::MatrixXd InductionProbe::*values;
};
constexpr std::array<KeptPart, 3> kept_parts{{{"probe_induction", &InductionProbe::induction},
                                              {"probe_previous", &InductionProbe::previous},
                                              {"probe_duplicate", &InductionProbe::duplicate}}};

/// Of one model. Who wants the probe while another thread runs it waits for that one.
struct ProbeSlot {
    std::mutex running, mutex;
    std::shared_ptr<const InductionProbe> probe;
};
struct ProbeKey {
    bool operator==(const ProbeKey&) const = default;
};

std::shared_ptr<ProbeSlot> slot_of(const model::Model& model) {
    return *model.results().get(
        ProbeKey{}, [] { return std::make_shared<ProbeSlot>(); }, [](const auto&) { return std::int64_t{0}; });
}

std::shared_ptr<const InductionProbe> remember(const model::Model& model, InductionProbe probe) {
    const auto slot = slot_of(model);
    const std::lock_guard lock(slot->mutex);
    return slot->probe = std::make_shared<const InductionProbe>(std::move(probe));
}

std::filesystem::path file_of(const model::Model& model) {
    return model::kept_file(model, "induction-probe." + std::string(enum_word(model.dtype())) + ".json");
}

/// With what the model reads: another tokenizer beside the same weights draws other tokens, or puts others around them.
nlohmann::json plan_json(const model::Model& model, const text::Tokenizer& tokenizer, const ProbeOptions& plan) {
    std::vector<std::int64_t> read;
    for (const std::vector<std::int64_t>& ids : probe_ids(tokenizer, model.config().vocab_size, plan)) {
        const text::Encoding encoding = tokenizer.encode_ids(ids);
        read.insert(read.end(), encoding.ids.begin(), encoding.ids.end());
    }
    return {{"version", kept_version},
            {"n", plan.n},
            {"batch", plan.batch},
            {"seed", plan.seed},
            {"ids", io::sha256_hex(std::as_bytes(std::span(read)))}};
}

void keep_probe(const model::Model& model, const text::Tokenizer& tokenizer, const ProbeOptions& plan,
                const InductionProbe& probe) {
    nlohmann::json out = {{"format", "headlight-induction-probe"}, {"plan", plan_json(model, tokenizer, plan)}};
    for (const KeptPart& part : kept_parts) {
        const Eigen::MatrixXd& values = probe.*part.values;
        nlohmann::json& rows = out[part.measure] = nlohmann::json::array();
        for (Eigen::Index l = 0; l < values.rows(); ++l) {
            nlohmann::json& row = rows.emplace_back(nlohmann::json::array());
            for (Eigen::Index h = 0; h < values.cols(); ++h) row.push_back(values(l, h));
        }
    }
    try {
        const std::filesystem::path file = file_of(model);
        if (file.empty()) return;
        std::filesystem::create_directories(file.parent_path());
        io::write_checked_json(file, out);
    } catch (const std::exception&) {  // a full or read-only disk: it is run again the next time
    }
}

/// Empty when it is not what this plan gives.
std::optional<InductionProbe> read_kept(const model::Model& model, const text::Tokenizer& tokenizer, const ProbeOptions& plan) {
    try {
        const std::filesystem::path file = file_of(model);
        if (file.empty() || !std::filesystem::exists(file)) return std::nullopt;
        const nlohmann::json in = io::read_checked_json(file, {});
        if (in.at("plan") != plan_json(model, tokenizer, plan)) return std::nullopt;
        InductionProbe probe;
        const auto layers = static_cast<std::size_t>(model.config().n_layers),
                   heads = static_cast<std::size_t>(model.config().n_heads);
        for (const KeptPart& part : kept_parts) {
            const nlohmann::json& rows = in.at(part.measure);
            Eigen::MatrixXd& values = probe.*part.values;
            values.resize(model.config().n_layers, model.config().n_heads);
            if (rows.size() != layers) return std::nullopt;
            for (std::size_t l = 0; l < layers; ++l) {
                if (rows[l].size() != heads) return std::nullopt;
                for (std::size_t h = 0; h < heads; ++h)
                    values(static_cast<Eigen::Index>(l), static_cast<Eigen::Index>(h)) = rows[l][h].get<double>();
            }
        }
        return probe;
    } catch (const std::exception&) {  // cut short, or written by something else
        return std::nullopt;
    }
}

}  // namespace

std::optional<ProbeOptions> probe_plan(const model::Model& model, const text::Tokenizer& tokenizer) {
    const model::ModelConfig& c = model.config();
    if (!model::has_weights(model) || model::reads_pictures(c) || model.part(model::Stack::encoder) ||
        c.stack != model::Stack::whole)
        return std::nullopt;
    std::int64_t parameters = 0;
    for (const auto& [part, count] : model.parameter_counts()) parameters += count;
    ProbeOptions plan{.n = 50, .batch = 4};
    if (parameters >= few_parameters) plan = {.n = 25, .batch = 2};
    std::int64_t candidates = 0;
    const std::int64_t vocabulary = std::min(c.vocab_size, tokenizer.vocab_size());
    for (std::int64_t id = 0; id < vocabulary && candidates < plan.n; ++id)
        candidates += !tokenizer.is_special(id) && !tokenizer.token_of(id).empty() ? 1 : 0;
    plan.n = std::min(plan.n, candidates);
    if (c.context_is_hard_limit && c.context_length > 0)
        plan.n = std::min(plan.n, (c.context_length - tokenizer.encode_ids({}).size()) / 2);
    return plan.n >= least_random_tokens ? std::optional(plan) : std::nullopt;
}

std::int64_t probe_tokens(const model::ModelConfig& c, const text::Tokenizer& tokenizer, const ProbeOptions& plan) {
    const std::int64_t runs = !c.causal && tokenizer.mask_id() ? 2 : 1;
    return plan.batch * runs * (2 * plan.n + tokenizer.encode_ids({}).size());
}

std::shared_ptr<const InductionProbe> known_probe(const model::Model& model) {
    const auto slot = slot_of(model);
    const std::lock_guard lock(slot->mutex);
    return slot->probe;
}

std::shared_ptr<const InductionProbe> kept_probe(const model::Model& model, const text::Tokenizer& tokenizer,
                                                 const ProbeOptions& plan) {
    if (auto known = known_probe(model)) return known;
    auto kept = read_kept(model, tokenizer, plan);
    return kept ? remember(model, std::move(*kept)) : nullptr;
}

std::shared_ptr<const InductionProbe> model_probe(const std::shared_ptr<const model::Model>& model,
                                                  const std::shared_ptr<const text::Tokenizer>& tokenizer,
                                                  const CancelToken& cancel, const Progress& progress) {
    const auto slot = slot_of(*model);
    const std::lock_guard one(slot->running);
    if (auto known = known_probe(*model)) return known;
    const std::optional<ProbeOptions> plan = probe_plan(*model, *tokenizer);
    if (!plan)
        throw Error({.problem = "There is no probe of random tokens for this model",
                     .item = model->config().name,
                     .expected = "weights, and a text of at least " + std::to_string(2 * least_random_tokens) + " tokens"});
    if (auto kept = kept_probe(*model, *tokenizer, *plan)) return kept;
    InductionProbe probe = induction_probe(model, tokenizer, *plan, cancel, progress);
    keep_probe(*model, *tokenizer, *plan, probe);
    return remember(*model, std::move(probe));
}

bool is_of_probe(std::string_view measure_id) noexcept {
    return std::any_of(kept_parts.begin(), kept_parts.end(), [&](const KeptPart& part) { return measure_id == part.measure; });
}

void fill_probe(HeadTable& table, const InductionProbe& probe) {
    for (std::size_t m = 0; m < table.measures.size(); ++m)
        for (const KeptPart& part : kept_parts) {
            const Eigen::MatrixXd& values = probe.*part.values;
            if (table.measures[m].id == part.measure && values.rows() == table.n_layers && values.cols() == table.n_heads)
                table.values[m] = values;
        }
}

}  // namespace headlight::analyze
