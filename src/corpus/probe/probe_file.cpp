// SPDX-License-Identifier: GPL-3.0-or-later
// A probe as arrays, as JSON, and as a file of its store.
#include "corpus/probe/kept_probe.h"
#include "headlight/base/error.h"
#include "headlight/corpus/probe/probe.h"

#include <algorithm>

namespace headlight::corpus {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

json json_of(const LayerProbe& of) {
    return {{"layer", of.layer},
            {"accuracy", interval_json(of.accuracy)},
            {"macro_f1", of.macro_f1},
            {"random_label", of.random_label},
            {"control", of.control},
            {"mdl_bits", of.code.bits},
            {"compression", of.code.compression},
            {"penalty", of.probe.penalty},
            {"constant_features", of.constant_features},
            {"weights", json_rows(of.probe.weights)},
            {"biases", std::vector<double>(of.probe.biases.begin(), of.probe.biases.end())},
            {"confusion", json_rows(of.confusion)},
            {"predicted", of.predicted}};
}

LayerProbe layer_of(const json& in, std::int64_t classes) {
    LayerProbe out;
    out.layer = in.at("layer");
    out.accuracy = interval_in(in.at("accuracy"));
    out.macro_f1 = number_in(in.at("macro_f1"));
    out.random_label = number_in(in.at("random_label"));
    out.control = number_in(in.at("control"));
    out.code = {number_in(in.at("mdl_bits")), number_in(in.at("compression"))};
    out.constant_features = in.at("constant_features");
    out.probe.penalty = in.at("penalty");
    out.probe.weights = matrix_in<Eigen::MatrixXd>(in.at("weights"), classes);
    const auto biases = in.at("biases").get<std::vector<double>>();
    out.probe.biases = Eigen::Map<const Eigen::VectorXd>(biases.data(), std::ssize(biases));
    out.confusion = matrix_in<decltype(out.confusion)>(in.at("confusion"), classes);
    out.predicted = in.at("predicted").get<std::vector<std::int32_t>>();
    return out;
}

json span_json(const TokenSpan& span) { return {span.chunk, span.begin, span.end}; }
TokenSpan span_of(const json& in) { return {in.at(0), in.at(1), in.at(2)}; }

}  // namespace

std::vector<analyze::NamedArray> arrays_of(const ProbeResult& result) {
    if (result.layers.empty()) return {};
    const auto layers = std::ssize(result.layers), classes = std::ssize(result.classes),
               features = result.layers.front().probe.weights.cols();
    analyze::NamedArray weights{"weights", {layers, classes, features}, {}}, biases{"biases", {layers, classes}, {}},
        confusion{"confusion", {layers, classes, classes}, {}};
    for (const LayerProbe& of : result.layers)
        for (Eigen::Index c = 0; c < classes; ++c) {
            for (Eigen::Index f = 0; f < features; ++f) weights.values.push_back(static_cast<float>(of.probe.weights(c, f)));
            biases.values.push_back(static_cast<float>(of.probe.biases(c)));
            for (Eigen::Index p = 0; p < classes; ++p) confusion.integers.push_back(of.confusion(c, p));
        }
    return {std::move(weights), std::move(biases), std::move(confusion), analyze::text_array("class_names", result.classes)};
}

std::string json_members(const ProbeResult& result) {
    json weights = json::array(), biases = json::array(), confusion = json::array();
    for (const LayerProbe& of : result.layers) {
        weights.push_back(json_rows(of.probe.weights));
        biases.push_back(std::vector<double>(of.probe.biases.begin(), of.probe.biases.end()));
        confusion.push_back(json_rows(of.confusion));
    }
    return "\"class_names\": " + dumped(result.classes) + ",\n\"confusion\": " + dumped(confusion) +
           ",\n\"biases\": " + dumped(biases) + ",\n\"weights\": " + dumped(weights);
}

void write_probe(const fs::path& store, const Manifest& manifest, const ProbeResult& result) {
    json out = {{"classes", result.classes},
                {"unit", result.unit},
                {"pairs", result.pairs},
                {"majority", result.majority},
                {"most_frequent_label", result.most_frequent_label},
                {"n_train", result.n_train},
                {"n_development", result.n_development},
                {"unlabelled", result.unlabelled},
                {"without", result.without}};
    json& layers = out["layers"] = json::array();
    for (const LayerProbe& of : result.layers) layers.push_back(json_of(of));
    json& tested = out["tested"] = json::array();
    for (const ProbeExample& e : result.tested)
        tested.push_back({e.text, span_json(e.span), span_json(e.other), e.label, e.type});
    if (!result.heads.empty())
        out["heads"] = {{"layer", result.heads.layer},
                        {"n_heads", result.heads.n_heads},
                        {"difference", json_rows(result.heads.difference)},
                        {"stream", std::vector<double>(result.heads.stream.begin(), result.heads.stream.end())}};
    keep_probe(store, manifest, ProbeKind::linear, result.task, std::move(out));
}

ProbeResult read_probe(const fs::path& store, const Manifest& manifest, const std::string& task) {
    ProbeResult out;
    read_kept_probe(store, manifest, ProbeKind::linear, task, [&](const json& in) {
        out = {.task = in.at("task"),
               .classes = in.at("classes"),
               .unit = in.value("unit", "word"),
               .pairs = in.at("pairs"),
               .majority = number_in(in.at("majority")),
               .most_frequent_label = number_in(in.at("most_frequent_label")),
               .n_train = in.at("n_train"),
               .n_development = in.at("n_development"),
               .unlabelled = in.at("unlabelled"),
               .without = in.at("without")};
        const auto known = [&](std::int32_t label) {
            if (label < 0 || label >= std::ssize(out.classes))
                throw Error({.problem = "The file of the probe is damaged",
                             .file = store.string(),
                             .item = "probes/" + task,
                             .hint = "Run headlight corpus probe again"});
            return label;
        };
        for (const json& e : in.at("tested"))
            out.tested.push_back(
                {.span = span_of(e.at(1)), .other = span_of(e.at(2)), .label = known(e.at(3)), .text = e.at(0), .type = e.at(4)});
        for (const json& of : in.at("layers")) {
            out.layers.push_back(layer_of(of, std::ssize(out.classes)));
            const LayerProbe& layer = out.layers.back();
            const auto classes = std::ssize(out.classes);
            if (layer.probe.weights.cols() != out.layers.front().probe.weights.cols() || layer.probe.biases.size() != classes ||
                layer.confusion.cols() != classes)
                known(-1);
            const std::vector<std::int32_t>& predicted = layer.predicted;
            std::ranges::for_each(predicted, known);
            if (predicted.size() != out.tested.size()) known(-1);
        }
        if (const auto at = in.find("heads"); at != in.end()) {
            DirectionHeads& heads = out.heads;
            heads.layer = at->at("layer");
            heads.n_heads = at->at("n_heads");
            heads.difference = matrix_in<Eigen::MatrixXd>(at->at("difference"), std::ssize(out.classes));
            const json& stream = at->at("stream");
            heads.stream.resize(std::ssize(out.classes));
            for (Eigen::Index c = 0; c < heads.stream.size(); ++c)
                heads.stream[c] = number_in(stream.at(static_cast<std::size_t>(c)));
            if (heads.n_heads < 1 || heads.difference.cols() % heads.n_heads != 0 ||
                heads.layer != heads.difference.cols() / heads.n_heads)
                known(-1);
            heads.share = heads.difference.array().colwise() / heads.stream.array();
        }
    });
    return out;
}

}  // namespace headlight::corpus
