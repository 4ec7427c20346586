// SPDX-License-Identifier: GPL-3.0-or-later
// Runs a model and keeps every hook; finds the fixtures of each family.
#pragma once

#include "headlight/io/safetensors.h"
#include "model/run/forward.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

namespace headlight::model {

/// Keeps every tensor it is shown; may replace some.
class Collector : public Observer {
public:
    std::function<bool(HookPoint)> wanted = [](HookPoint) { return true; };
    std::function<at::Tensor(HookPoint, at::Tensor)> replace = [](HookPoint, at::Tensor t) { return t; };

    bool wants(HookPoint p) const override { return wanted(p); }
    at::Tensor visit(HookPoint p, at::Tensor t) override {
        order.push_back(p);
        t = replace(p, t);
        tensors[name_of(p)] = t.to(at::kCPU);
        return t;
    }
    void attention_input(Layer layer, const AttentionInput& in) override { inputs[layer.value] = in; }

    std::map<std::string, at::Tensor> tensors;
    std::map<std::int64_t, AttentionInput> inputs;
    std::vector<HookPoint> order;
};

/// The pass with every hook kept.
inline Collector run_all(const Model& model, const ForwardInput& input) {
    Collector seen;
    forward(model, input, seen, {}, {});
    return seen;
}

inline std::filesystem::path tests_folder() { return std::filesystem::path(HEADLIGHT_SOURCE_DIR) / "tests"; }
inline std::filesystem::path fixture(const std::string& name) { return tests_folder() / "fixtures" / "models" / name; }

inline std::filesystem::path golden_file(const std::string& name, const std::string& precision) {
    return tests_folder() / "golden" / (name + "." + precision + ".safetensors");
}

/// Names of the folders in tests/fixtures/models, sorted, and of their second towers ("clip#vision"). Never empty, so that a
/// test over all of them cannot pass without one.
inline std::vector<std::string> fixture_names() {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(tests_folder() / "fixtures" / "models"))
        if (std::filesystem::exists(entry.path() / "config.json")) names.push_back(entry.path().filename().string());
    for (std::size_t i = 0, n = names.size(); i < n; ++i)
        if (const std::string other = names[i] + "#vision"; std::filesystem::exists(golden_file(other, "f32")))
            names.push_back(other);
    if (names.size() < 50) throw std::runtime_error("fixtures are missing from tests/fixtures/models");
    std::ranges::sort(names);
    return names;
}

inline at::Tensor tensor_of(const io::TensorView& view) {
    const at::ScalarType type = view.dtype == io::DType::F64   ? at::kDouble
                                : view.dtype == io::DType::I64 ? at::kLong
                                : view.dtype == io::DType::U8  ? at::kByte
                                                               : at::kFloat;
    return at::from_blob(const_cast<std::byte*>(view.bytes.data()), view.shape, at::TensorOptions(type)).clone();
}

using Tensors = std::map<std::string, at::Tensor>;

inline Tensors tensors_in(const std::filesystem::path& file) {
    Tensors tensors;
    const io::TensorStore store = io::TensorStore::open_file(file);
    for (const auto& [name, view] : store.tensors()) tensors[name] = tensor_of(view);
    return tensors;
}

/// Takes a list of whole numbers out of the tensors.
inline std::vector<std::int64_t> take_ids(Tensors& tensors, const char* name) {
    const at::Tensor t = tensors.at(name);
    tensors.erase(name);
    return {t.data_ptr<std::int64_t>(), t.data_ptr<std::int64_t>() + t.numel()};
}

/// What transformers computed: hook name -> tensor, and the input.
struct Golden {
    Tensors tensors;
    ForwardInput input;
};

inline Golden read_golden(const std::filesystem::path& file) {
    Golden golden{.tensors = tensors_in(file), .input = {}};
    golden.input.ids = take_ids(golden.tensors, "ids");
    golden.input.type_ids = take_ids(golden.tensors, "type_ids");
    golden.tensors.erase("picture");
    if (const auto pixels = golden.tensors.find("pixels"); pixels != golden.tensors.end()) {
        const float* data = pixels->second.data_ptr<float>();
        golden.input.pixels = std::make_shared<const std::vector<float>>(data, data + pixels->second.numel());
        golden.tensors.erase(pixels);
    }
    return golden;
}

/// Largest difference, relative to the largest number of the reference; patterns absolute. -inf must meet -inf.
inline double deviation(const std::string& name, const at::Tensor& ours, const at::Tensor& theirs) {
    const at::Tensor a = ours.to(at::kDouble), b = theirs.to(at::kDouble);
    const at::Tensor infinite = at::isinf(b);
    if (!at::equal(at::isinf(a), infinite)) return std::numeric_limits<double>::infinity();
    const at::Tensor difference = (a - b).masked_fill(infinite, 0.0).abs();
    if (difference.isnan().any().item<bool>()) return std::numeric_limits<double>::infinity();
    const double largest = name.ends_with("hook_pattern") ? 1.0 : b.masked_fill(infinite, 0.0).abs().max().item<double>();
    return difference.max().item<double>() / largest;
}

/// As many tensors as the other pass, with the same bits.
inline void expect_same_tensors(const Collector& found, const Collector& expected) {
    EXPECT_EQ(found.tensors.size(), expected.tensors.size());
    for (const auto& [name, tensor] : expected.tensors) {
        ASSERT_TRUE(found.tensors.contains(name)) << name;
        EXPECT_TRUE(at::equal(found.tensors.at(name), tensor)) << name;
    }
}

/// All parameters, by the model's own account.
inline std::int64_t counted_parameters(const Model& model) {
    std::int64_t counted = 0;
    for (const auto& [part, count] : model.parameter_counts()) counted += count;
    return counted;
}

/// All numbers that were read of the files.
inline std::int64_t stored_parameters(const Model& model) {
    std::int64_t stored = 0;
    for (const LoadedParameter& p : model.report().loaded)
        stored += std::accumulate(p.shape.begin(), p.shape.end(), std::int64_t{1}, std::multiplies());
    return stored;
}

/// Pixels around 0 for a model that reads pictures; ids only give the number of tokens.
inline ForwardInput some_picture(const ModelConfig& c) {
    ForwardInput input;
    std::vector<float> pixels(static_cast<std::size_t>(kColours * c.image_height * c.image_width));
    std::uint64_t state = 12345;
    for (float& pixel : pixels) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        pixel = static_cast<float>(state >> 40) / static_cast<float>(1 << 23) - 1.0f;
    }
    input.pixels = std::make_shared<const std::vector<float>>(std::move(pixels));
    input.ids.resize(static_cast<std::size_t>(c.context_length));
    return input;
}

/// n legal token ids with repetitions; for a model that reads pictures a picture, whatever n.
inline ForwardInput some_text(const ModelConfig& c, std::int64_t n) {
    if (reads_pictures(c)) return some_picture(c);
    ForwardInput input;
    std::uint64_t state = 12345;
    for (std::int64_t i = 0; i < n; ++i) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        input.ids.push_back(
            static_cast<std::int64_t>((state >> 33) % static_cast<std::uint64_t>(std::min<std::int64_t>(c.vocab_size, 50))));
        if (c.type_vocab_size > 0) input.type_ids.push_back(c.type_vocab_size > 1 && i >= n / 2 ? 1 : 0);
    }
    return input;
}

}  // namespace headlight::model
