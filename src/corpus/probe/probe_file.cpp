// SPDX-License-Identifier: GPL-3.0-or-later
// A probe as arrays, as JSON, and as a file of its store.
#include "headlight/base/error.h"
#include "headlight/corpus/probe/probe.h"
#include "headlight/io/atomic_file.h"
#include "headlight/io/json_file.h"

#include <algorithm>
#include <array>

namespace headlight::corpus {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kProbeFormat = "headlight-probe";
constexpr int kProbeVersion = 1;

fs::path probe_file(const fs::path& store, const std::string& task) {
    std::string name = task;  // "feature:Number": a colon is no letter of a file name everywhere
    std::ranges::replace_if(
        name, [](char c) { return c == ':' || c == '/' || c == '\\'; }, '-');
    return store / "probes" / (name + ".json");
}

json rows_of(const auto& matrix) {
    json rows = json::array();
    for (Eigen::Index r = 0; r < matrix.rows(); ++r) {
        json& row = rows.emplace_back(json::array());
        for (Eigen::Index c = 0; c < matrix.cols(); ++c) row.push_back(matrix(r, c));
    }
    return rows;
}

template <class Matrix>
Matrix matrix_of(const json& rows, Eigen::Index height) {
    Matrix out(height, static_cast<Eigen::Index>(rows.at(0).size()));
    for (Eigen::Index r = 0; r < out.rows(); ++r)
        for (Eigen::Index c = 0; c < out.cols(); ++c)
            out(r, c) =
                rows.at(static_cast<std::size_t>(r)).at(static_cast<std::size_t>(c)).template get<typename Matrix::Scalar>();
    return out;
}

double number_in(const json& value) { return value.is_null() ? kNaN : value.get<double>(); }

json json_of(const LayerProbe& of) {
    return {{"layer", of.layer},
            {"accuracy", {of.accuracy.mean, of.accuracy.low, of.accuracy.high}},
            {"macro_f1", of.macro_f1},
            {"random_label", of.random_label},
            {"control", of.control},
            {"mdl_bits", of.code.bits},
            {"compression", of.code.compression},
            {"penalty", of.probe.penalty},
            {"constant_features", of.constant_features},
            {"weights", rows_of(of.probe.weights)},
            {"biases", std::vector<double>(of.probe.biases.begin(), of.probe.biases.end())},
            {"confusion", rows_of(of.confusion)},
            {"predicted", of.predicted}};
}

LayerProbe layer_of(const json& in, std::int64_t classes) {
    LayerProbe out;
    out.layer = in.at("layer");
    const json& accuracy = in.at("accuracy");
    out.accuracy = {number_in(accuracy.at(0)), number_in(accuracy.at(1)), number_in(accuracy.at(2))};
    out.macro_f1 = number_in(in.at("macro_f1"));
    out.random_label = number_in(in.at("random_label"));
    out.control = number_in(in.at("control"));
    out.code = {number_in(in.at("mdl_bits")), number_in(in.at("compression"))};
    out.constant_features = in.at("constant_features");
    out.probe.penalty = in.at("penalty");
    out.probe.weights = matrix_of<Eigen::MatrixXd>(in.at("weights"), classes);
    const auto biases = in.at("biases").get<std::vector<double>>();
    out.probe.biases = Eigen::Map<const Eigen::VectorXd>(biases.data(), std::ssize(biases));
    out.confusion = matrix_of<decltype(out.confusion)>(in.at("confusion"), classes);
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
        weights.push_back(rows_of(of.probe.weights));
        biases.push_back(std::vector<double>(of.probe.biases.begin(), of.probe.biases.end()));
        confusion.push_back(rows_of(of.confusion));
    }
    const auto text = [](const json& of) { return of.dump(-1, ' ', false, json::error_handler_t::replace); };
    return "\"class_names\": " + text(result.classes) + ",\n\"confusion\": " + text(confusion) +
           ",\n\"biases\": " + text(biases) + ",\n\"weights\": " + text(weights);
}

void write_probe(const fs::path& store, const Manifest& manifest, const ProbeResult& result) {
    json out = {{"format", kProbeFormat},
                {"version", kProbeVersion},
                {"texts", manifest.texts()},
                {"tokens", manifest.tokens()},
                {"task", result.task},
                {"classes", result.classes},
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
    const fs::path file = probe_file(store, result.task);
    fs::create_directories(file.parent_path());
    io::write_atomically(file, out.dump(-1, ' ', false, json::error_handler_t::replace));
}

ProbeResult read_probe(const fs::path& store, const Manifest& manifest, const std::string& task) {
    const fs::path file = probe_file(store, task);
    if (!fs::exists(file)) {
        std::string known;
        for (const std::string& each : probe_tasks(store)) known += (known.empty() ? "" : ", ") + each;
        throw Error({.problem = "The store has no probe of these labels",
                     .file = store.string(),
                     .expected = known.empty() ? "a probe" : known,
                     .found = task,
                     .hint = "Make it with headlight corpus probe STORE --labels " + task});
    }
    const json in = io::read_json(file);
    try {
        if (in.at("format") != kProbeFormat || in.at("version") != kProbeVersion || in.at("texts") != manifest.texts() ||
            in.at("tokens") != manifest.tokens())
            throw Error({.problem = "The probe is of another version, or of other texts than the store now has",
                         .file = file.string(),
                         .hint = "Make it again with headlight corpus probe STORE --labels " + task});
        ProbeResult out{.task = in.at("task"),
                        .classes = in.at("classes"),
                        .pairs = in.at("pairs"),
                        .majority = number_in(in.at("majority")),
                        .most_frequent_label = number_in(in.at("most_frequent_label")),
                        .n_train = in.at("n_train"),
                        .n_development = in.at("n_development"),
                        .unlabelled = in.at("unlabelled"),
                        .without = in.at("without")};
        for (const json& e : in.at("tested"))
            out.tested.push_back(
                {.span = span_of(e.at(1)), .other = span_of(e.at(2)), .label = e.at(3), .text = e.at(0), .type = e.at(4)});
        for (const json& of : in.at("layers")) out.layers.push_back(layer_of(of, std::ssize(out.classes)));
        return out;
    } catch (const json::exception& error) {
        throw Error({.problem = "The file of the probe is damaged", .file = file.string(), .found = io::plain_reason(error)});
    }
}

std::vector<std::string> probe_tasks(const fs::path& store) {
    std::vector<std::string> out;
    std::error_code code;
    for (const fs::directory_entry& entry : fs::directory_iterator(store / "probes", code))
        if (entry.path().extension() == ".json") out.push_back(entry.path().stem().string());
    std::ranges::sort(out);
    return out;
}

}  // namespace headlight::corpus
