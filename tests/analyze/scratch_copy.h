// SPDX-License-Identifier: GPL-3.0-or-later
// A copy of a tiny model in a temporary folder, with some of its weights changed.
#pragma once

#include "headlight/io/safetensors.h"
#include "tests/analyze/traces.h"
#include "tests/support/temp_folder.h"

#include <cstring>
#include <functional>
#include <string>
#include <vector>

namespace headlight::analyze {

class ScratchCopy {
    struct Stored {
        std::string name;
        io::DType dtype = io::DType::F32;
        std::vector<std::int64_t> shape;
        std::vector<std::byte> bytes;
    };

public:
    /// A float32 tensor of the file.
    class Values {
    public:
        explicit Values(Stored& stored) : stored_(stored) {}
        std::int64_t size() const { return static_cast<std::int64_t>(stored_.bytes.size() / 4); }
        std::int64_t shape(std::size_t axis) const { return stored_.shape.at(axis); }
        void set(std::int64_t index, float value) { std::memcpy(stored_.bytes.data() + index * 4, &value, 4); }

    private:
        Stored& stored_;
    };

    explicit ScratchCopy(const std::string& fixture) {
        for (const auto& entry : std::filesystem::directory_iterator(source_folder() / "tests/fixtures/models" / fixture))
            std::filesystem::copy_file(entry.path(), folder / entry.path().filename());
    }

    /// Changes every tensor whose name ends so. Call before the model is loaded.
    void edit(const std::string& ending, const std::function<void(Values)>& change) const {
        std::vector<Stored> tensors;
        {
            const auto store = io::TensorStore::open_folder(folder);
            for (const auto& [name, view] : store.tensors())
                tensors.push_back({name, view.dtype, view.shape, {view.bytes.begin(), view.bytes.end()}});
        }
        for (Stored& each : tensors)
            if (each.name.size() >= ending.size() && each.name.substr(each.name.size() - ending.size()) == ending)
                change(Values(each));
        std::vector<io::ArrayRef> refs;
        for (const Stored& t : tensors) refs.push_back({t.name, t.dtype, t.shape, t.bytes});
        io::write_safetensors(folder / "model.safetensors", refs, {});
    }

    test::TempFolder temporary;
    std::filesystem::path folder = temporary.path();
};

}  // namespace headlight::analyze
