// SPDX-License-Identifier: GPL-3.0-or-later
// Runs a model and keeps every hook; finds the fixtures of each family.
#pragma once

#include "headlight/io/safetensors.h"
#include "model/run/forward.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
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
        tensors[name_of(p)] = t;
        return t;
    }
    void attention_input(Layer layer, const AttentionInput& in) override { inputs[layer.value] = in; }

    std::map<std::string, at::Tensor> tensors;
    std::map<std::int64_t, AttentionInput> inputs;
    std::vector<HookPoint> order;
};

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

/// What transformers computed: hook name -> tensor, and the input.
struct Golden {
    std::map<std::string, at::Tensor> tensors;
    ForwardInput input;
};

inline Golden read_golden(const std::filesystem::path& file) {
    Golden golden;
    const io::TensorStore store = io::TensorStore::open_file(file);
    for (const auto& [name, view] : store.tensors()) golden.tensors[name] = tensor_of(view);
    const auto take = [&](const char* name) {
        const at::Tensor t = golden.tensors.at(name);
        golden.tensors.erase(name);
        return std::vector<std::int64_t>(t.data_ptr<std::int64_t>(), t.data_ptr<std::int64_t>() + t.numel());
    };
    golden.input.ids = take("ids");
    golden.input.type_ids = take("type_ids");
    golden.tensors.erase("picture");
    if (const auto pixels = golden.tensors.find("pixels"); pixels != golden.tensors.end()) {
        const float* data = pixels->second.data_ptr<float>();
        golden.input.pixels = std::make_shared<const std::vector<float>>(data, data + pixels->second.numel());
        golden.tensors.erase(pixels);
    }
    return golden;
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
