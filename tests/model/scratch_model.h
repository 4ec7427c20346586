// SPDX-License-Identifier: GPL-3.0-or-later
// A copy of a fixture in a temporary folder, to be damaged.
#pragma once

#include "headlight/io/safetensors.h"
#include "tests/model/run_all.h"
#include "tests/support/error_of.h"
#include "tests/support/temp_folder.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace headlight::model {

class ScratchModel {
    const test::TempFolder temporary_;

public:
    const std::filesystem::path folder = temporary_.path();

    explicit ScratchModel(const std::string& fixture_name) {
        for (const auto& entry : std::filesystem::directory_iterator(fixture(fixture_name)))
            std::filesystem::copy_file(entry.path(), folder / entry.path().filename());
    }

    void edit_config(const std::function<void(nlohmann::json&)>& edit) const {
        nlohmann::json config = nlohmann::json::parse(std::ifstream(folder / "config.json"));
        edit(config);
        std::ofstream(folder / "config.json") << config;
    }

    struct Stored {
        std::string name;
        io::DType dtype = io::DType::F32;
        std::vector<std::int64_t> shape;
        std::vector<std::byte> bytes;
        void set_float(std::int64_t index, float value) { std::memcpy(bytes.data() + index * 4, &value, 4); }
    };
    /// Writes model.safetensors anew with whatever `edit` makes of its tensors.
    void edit_weights(const std::function<void(std::vector<Stored>&)>& edit) const {
        std::vector<Stored> tensors;
        {
            const auto store = io::TensorStore::open_folder(folder);
            for (const auto& [name, view] : store.tensors())
                tensors.push_back({name, view.dtype, view.shape, {view.bytes.begin(), view.bytes.end()}});
        }
        edit(tensors);
        std::vector<io::ArrayRef> refs;
        for (const Stored& t : tensors) refs.push_back({t.name, t.dtype, t.shape, t.bytes});
        io::write_safetensors(folder / "model.safetensors", refs, {});
    }
};

using StoredTensors = std::vector<ScratchModel::Stored>;

/// The tensor whose name ends so.
inline ScratchModel::Stored& find(StoredTensors& tensors, std::string_view end) {
    const auto found = std::ranges::find_if(tensors, [&](const auto& t) { return t.name.ends_with(end); });
    if (found == tensors.end()) throw std::runtime_error("the fixture has no tensor " + std::string(end));
    return *found;
}

/// What loading ends in.
inline std::string failure(const std::filesystem::path& folder, const LoadOptions& options = {}) {
    return test::error_of([&] { Model::load(folder, options); }, "loaded");
}

/// What loading the fixture ends in with an edited configuration.
inline std::string config_failure(const std::string& fixture_name, const std::function<void(nlohmann::json&)>& edit) {
    const ScratchModel copy(fixture_name);
    copy.edit_config(edit);
    return failure(copy.folder);
}
inline std::string config_failure(const std::string& fixture_name, const char* field, const nlohmann::json& value) {
    return config_failure(fixture_name, [&](nlohmann::json& config) { config[field] = value; });
}

}  // namespace headlight::model
