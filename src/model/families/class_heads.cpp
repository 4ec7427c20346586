// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/families/class_heads.h"

#include "headlight/io/safetensors.h"
#include "model/families/rows.h"
#include "model/load/config_reader.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace headlight::model {
namespace {

constexpr std::int64_t kMaxLabels = 1 << 20;

struct Kind {
    std::string_view ending;  ///< of the class name
    HeadKind kind;
};
constexpr Kind kKinds[] = {{"ForSequenceClassification", HeadKind::sequence_classifier},
                           {"ForTokenClassification", HeadKind::token_classifier},
                           {"ForQuestionAnswering", HeadKind::question_answering},
                           {"ForMultipleChoice", HeadKind::multiple_choice},
                           {"ForImageClassification", HeadKind::image_classifier}};

/// A head: which families have it, which rows it reads, and its modules.
struct HeadRow {
    std::array<std::string_view, 4> families;  ///< none: every other one
    HeadKind kind;
    ClassRow reads;
    std::string_view dense, norm;  ///< empty: none
    std::array<std::string_view, 2> classifier;
    std::string_view activation = "tanh";
    std::string_view activation_field = {};  ///< of config.json, which may name another activation
    bool dense_bias = true, bias = true;
};

constexpr HeadKind kSequence = HeadKind::sequence_classifier, kToken = HeadKind::token_classifier,
                   kAnswer = HeadKind::question_answering, kChoice = HeadKind::multiple_choice,
                   kPicture = HeadKind::image_classifier;
constexpr HeadRow kHeads[] = {
    {{"bert", "nomic-bert"}, kSequence, ClassRow::first, "pooler.dense", "", {"classifier"}},
    {{"albert"}, kSequence, ClassRow::first, "pooler", "", {"classifier"}},
    {{"roberta", "mpnet", "esm"}, kSequence, ClassRow::first, "classifier.dense", "", {"classifier.out_proj"}},
    {{"electra"}, kSequence, ClassRow::first, "classifier.dense", "", {"classifier.out_proj"}, "gelu"},
    {{"distilbert"}, kSequence, ClassRow::first, "pre_classifier", "", {"classifier"}, "relu"},
    {{"deberta", "deberta-v2"}, kSequence, ClassRow::first, "pooler.dense", "", {"classifier"}, "gelu", "pooler_hidden_act"},
    {{"modernbert"},
     kSequence,
     ClassRow::first,
     "head.dense",
     "head.norm",
     {"classifier"},
     "gelu",
     "classifier_activation",
     false},
    {{"modernbert"}, kToken, ClassRow::every, "head.dense", "head.norm", {"classifier"}, "gelu", "classifier_activation", false},
    {{"modernbert"}, kAnswer, ClassRow::every, "head.dense", "head.norm", {"classifier"}, "gelu", "classifier_activation", false},
    {{"modernbert-decoder"},
     kSequence,
     ClassRow::last,
     "head.dense",
     "head.norm",
     {"classifier"},
     "gelu",
     "classifier_activation",
     false,
     false},
    {{"eurobert"}, kSequence, ClassRow::first, "dense", "", {"classifier"}, "gelu"},
    {{"bart", "t5", "mt5", "umt5"}, kSequence, ClassRow::last, "classification_head.dense", "", {"classification_head.out_proj"}},
    {{"mbart"}, kSequence, ClassRow::end, "classification_head.dense", "", {"classification_head.out_proj"}},
    {{"bert", "roberta", "mpnet"}, kChoice, ClassRow::first, "pooler.dense", "", {"classifier"}},
    {{"albert"}, kChoice, ClassRow::first, "pooler", "", {"classifier"}},
    {{"electra"}, kChoice, ClassRow::first, "sequence_summary.summary", "", {"classifier"}, "gelu", "summary_activation"},
    {{"distilbert"}, kChoice, ClassRow::first, "pre_classifier", "", {"classifier"}, "relu"},
    {{"deberta-v2"}, kChoice, ClassRow::first, "pooler.dense", "", {"classifier"}, "gelu", "pooler_hidden_act"},
    {{"modernbert"}, kChoice, ClassRow::first, "head.dense", "head.norm", {"classifier"}, "gelu", "classifier_activation", false},
    {{"clip-vision", "siglip-vision"}, kPicture, ClassRow::patches, "", "", {"classifier"}},
    {{"dinov2", "dinov2_with_registers"}, kPicture, ClassRow::class_and_patches, "", "", {"classifier"}},
    {{}, kSequence, ClassRow::last, "", "", {"score"}, "tanh", {}, true, false},
    {{}, kToken, ClassRow::every, "", "", {"classifier", "score"}},
    {{}, kAnswer, ClassRow::every, "", "", {"qa_outputs"}},
};

/// nullptr: the family has no such head.
const HeadRow* row_of(std::string_view family, HeadKind kind) {
    const auto found = std::ranges::find_if(kHeads, [&](const HeadRow& row) {
        return row.kind == kind &&
               (row.families.front().empty() || std::ranges::find(row.families, family) != row.families.end());
    });
    return found == std::end(kHeads) ? nullptr : &*found;
}

bool is_language_head(Slot slot) {
    return slot == Slot::mlm_weight || slot == Slot::mlm_bias || slot == Slot::mlm_norm_gain || slot == Slot::mlm_norm_bias ||
           slot == Slot::unembed || slot == Slot::unembed_bias;
}

/// As transformers' classifiers with a padding token read the last other one.
std::int64_t padding_of(const ConfigReader& json) {
    const double id = json.signed_number({"pad_token_id"}, -1);
    return id >= 0 && id < static_cast<double>(kMaxVocab) ? static_cast<std::int64_t>(id) : -1;
}

void read_class_head(const ConfigReader& json, ModelConfig& c) {
    const auto kind = std::ranges::find_if(kKinds, [&](const Kind& each) { return c.architecture.ends_with(each.ending); });
    const HeadRow* found = kind == std::end(kKinds) ? nullptr : row_of(c.family, kind->kind);
    if (!found) return;
    const HeadRow& row = *found;
    if (c.stack == Stack::decoder && (row.kind == kToken || (row.kind == kSequence && row.families.front().empty())))
        json.unsupported("architectures", "a sequence classifier of BART, mBART or T5");
    c.class_head.kind = row.kind;
    c.class_head.reads = row.reads;
    c.class_head.dense = !row.dense.empty();
    c.class_head.norm = !row.norm.empty();
    if (c.class_head.dense)
        c.class_head.activation =
            read_activation(json, row.activation_field.empty() ? "-" : row.activation_field, std::string(row.activation));
    if (row.reads == ClassRow::last && c.stack == Stack::whole) c.class_head.pad_id = padding_of(json);
    if (c.family == "mbart") {
        c.class_head.wraps = true;
        c.class_head.end_id = static_cast<std::int64_t>(json.signed_number({"eos_token_id"}, 2));
    }
    if (c.family == "electra" && row.kind == kChoice) {
        json.require_flag("summary_use_proj", true, true);
        if (json.text({"summary_type"}, "first") != "first") json.unsupported("summary_type", "\"first\": the row of [CLS]");
    }
    if (c.family == "modernbert" && (row.kind == kSequence || row.kind == kChoice)) {
        const std::string pooling = json.text({"classifier_pooling"}, "cls");
        if (pooling != "cls" && pooling != "mean") json.unsupported("classifier_pooling", "\"cls\" or \"mean\"");
        if (pooling == "mean") c.class_head.reads = ClassRow::mean;
    }
    if (c.family == "eurobert" && row.kind == kSequence) {
        const std::string pooling = json.text({"classifier_pooling"}, "late");
        if (pooling != "bos" && pooling != "mean") json.unsupported("classifier_pooling", "\"bos\" or \"mean\"");
        if (pooling == "mean") c.class_head.reads = ClassRow::mean;
    }
    c.start_ids.resize(std::min<std::size_t>(c.start_ids.size(), 1));
    c.labels = row.kind == kAnswer   ? std::vector<std::string>{"start", "end"}
               : row.kind == kChoice ? std::vector<std::string>{"choice"}
                                     : read_labels(json);
    // As transformers' pipeline of text classification; of a choice against one whose score is 0.
    c.class_head.independent = json.text({"problem_type"}, "") == "multi_label_classification" || c.labels.size() == 1;
    if (row.kind == kPicture) c.vocab_size = static_cast<std::int64_t>(c.labels.size());
    if (c.family == "clip-vision") c.final_norm = false;  // which is only the pooled [CLS]'s
    c.has_unembedding = true;
    c.mlm_head = c.tied_unembedding = false;
    c.final_softcap = 0;
    c.logit_scale = 1;
}

}  // namespace

namespace {

/// T5ForTokenClassification and its kin: the encoder with a head of its own.
bool is_encoder_alone(const Family& family, const ConfigReader& json) {
    constexpr std::string_view kFamilies[] = {"t5", "mt5", "umt5"};
    return std::ranges::find(kFamilies, family.name) != std::end(kFamilies) &&
           json.architecture().ends_with("ForTokenClassification");
}

ModelConfig whole(ModelConfig c) {
    c.stack = Stack::whole;
    return c;
}

}  // namespace

ModelConfig config_of(const Family& family, const ConfigReader& json) {
    ModelConfig c = is_encoder_alone(family, json) ? whole(family.encoder_config(json)) : family.parse_config(json);
    c.architecture = json.architecture();
    c.family = family.name;
    read_class_head(json, c);
    return c;
}

WeightMap rows_of(const Family& family, const ModelConfig& c) {
    WeightMap map = family.weight_map(c);
    if (!c.class_head.any() && c.other_head.empty()) return map;
    std::erase_if(map.rows, [](const WeightRow& row) { return is_language_head(row.slot); });
    if (!c.class_head.any()) return map;
    const HeadRow& row = *row_of(c.family, c.class_head.kind);
    const std::string dense(row.dense), norm(row.norm);
    if (!dense.empty()) add_linear(map, Slot::mlm_weight, dense, c.d_model, c.d_model, row.dense_bias);
    if (!norm.empty()) add_norm(map, Slot::mlm_norm_gain, norm, c.d_model, false);
    WeightRow weight{
        Slot::unembed, {}, {logit_count(c), (c.d_factored > 0 ? c.d_factored : c.d_model) * head_parts(c)}, Layout::out_in};
    WeightRow bias{Slot::unembed_bias, {}, {logit_count(c)}};
    for (const std::string_view name : row.classifier) {
        if (name.empty()) continue;
        weight.names.push_back(std::string(name) + ".weight");
        bias.names.push_back(std::string(name) + ".bias");
    }
    map.rows.push_back(std::move(weight));
    if (row.bias) map.rows.push_back(std::move(bias));
    return map;
}

Spec spec_of(const Family& family, const ModelConfig& c) {
    Spec spec = family.spec(c);
    if (!c.class_head.any()) return spec;
    std::erase_if(spec.after, [](Block block) { return block == Block::mlm_head || block == Block::unembedding; });
    if (reads_mean(c)) spec.after.push_back(Block::mean_rows);
    if (c.class_head.dense) spec.after.push_back(Block::mlm_head);
    spec.after.push_back(Block::unembedding);
    return spec;
}

void find_other_head(ModelConfig& c, const io::TensorStore& store) {
    constexpr std::string_view kLanguage[] = {"ForCausalLM", "LMHeadModel",   "ForMaskedLM", "ForConditionalGeneration",
                                              "MTModel",     "ForPreTraining"};
    constexpr std::string_view kHead[] = {
        "score.weight",      "classifier.weight",          "classifier.out_proj.weight",
        "qa_outputs.weight", "classification_head.weight", "classification_head.out_proj.weight"};
    if (c.class_head.any() || reads_pictures(c)) return;
    if (std::ranges::any_of(kLanguage, [&](std::string_view ending) { return c.architecture.ends_with(ending); })) return;
    for (const auto& [name, view] : store.tensors())
        if (std::ranges::any_of(kHead,
                                [&](std::string_view head) { return name == head || name.ends_with("." + std::string(head)); })) {
            c.other_head = name;
            c.has_unembedding = c.mlm_head = c.tied_unembedding = false;
            return;
        }
}

std::vector<std::string> read_labels(const ConfigReader& json) {
    const bool listed = json.has("id2label") && json.raw("id2label").is_object();
    const std::int64_t named =
        listed ? static_cast<std::int64_t>(json.raw("id2label").size()) : json.size({"num_labels", "_num_labels"}, kMaxLabels, 2);
    if (named > kMaxLabels) json.wrong("id2label", "at most " + std::to_string(kMaxLabels) + " classes", std::to_string(named));
    std::vector<std::string> labels;
    for (std::int64_t i = 0; i < named; ++i) labels.push_back("LABEL_" + std::to_string(i));
    if (json.has("id2label"))
        for (const auto& [key, label] : json.raw("id2label").items()) {
            std::int64_t id = -1;
            const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), id);
            if (error != std::errc() || end != key.data() + key.size() || id < 0 || id >= named || !label.is_string())
                json.wrong("id2label", "a name for each of 0 to " + std::to_string(named - 1), key.substr(0, 40));
            labels[static_cast<std::size_t>(id)] = label.get<std::string>();
        }
    return labels;
}

}  // namespace headlight::model
