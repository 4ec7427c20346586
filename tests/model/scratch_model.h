// SPDX-License-Identifier: GPL-3.0-or-later
// A copy of a fixture in a temporary folder, to be damaged.
#pragma once

#include "headlight/io/safetensors.h"
#include "tests/model/run_all.h"

#include <nlohmann/json.hpp>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include <unistd.h>

namespace headlight::model {

class ScratchModel {
public:
    explicit ScratchModel(const std::string& fixture_name) {
        static std::atomic<int> next{0};
        folder = std::filesystem::temp_directory_path() /
                 ("headlight-model-" + std::to_string(getpid()) + "-" + std::to_string(next++));
        std::filesystem::create_directories(folder);
        for (const auto& entry : std::filesystem::directory_iterator(fixture(fixture_name)))
            std::filesystem::copy_file(entry.path(), folder / entry.path().filename());
    }
    ~ScratchModel() { std::filesystem::remove_all(folder); }
    ScratchModel(const ScratchModel&) = delete;
    ScratchModel& operator=(const ScratchModel&) = delete;

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

    std::filesystem::path folder;
};

}  // namespace headlight::model
