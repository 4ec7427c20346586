// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/model/peek.h"

#include "headlight/io/gguf.h"
#include "headlight/model/load_report.h"
#include "headlight/model/locate.h"
#include "model/families/class_heads.h"
#include "model/gguf/source.h"
#include "model/load/config_reader.h"
#include "model/load/named_config.h"
#include "model/load/quantization.h"
#include "model/load/source.h"
#include "model/load/weight_source.h"

namespace headlight::model {
namespace {

/// config.json, or what a GGUF file says instead.
ConfigReader config_reader_of(const std::filesystem::path& path) {
    if (const auto gguf = io::gguf_file_of(path)) return outline_gguf(*gguf).config;
    return named_config(path).config;
}

ModelConfig config_of(const ConfigReader& json, const Family& family, const std::filesystem::path& path) {
    ModelConfig config = model::config_of(family, json);
    config.name = name_of_model(path);
    return config;
}

}  // namespace

ModelConfig read_config(const std::filesystem::path& path) {
    const ConfigReader json = config_reader_of(path);
    return config_of(json, family_for(json), path);
}

Peek peek(const std::filesystem::path& path) {
    Peek out;
    try {
        out.config.name = name_of_model(path);
        const ConfigReader json = config_reader_of(path);
        out.config.architecture = json.architecture();
        const Family& family = family_for(json);
        out.config = config_of(json, family, path);
        io::TensorStore store = outline_of(path);
        for (const auto& file : store.files()) {
            std::error_code ignored;
            const std::uintmax_t bytes = std::filesystem::file_size(file, ignored);
            if (!ignored) out.bytes += bytes;
        }
        store = read_quantization(json, std::move(store)).store;
        find_other_head(out.config, store);
        WeightMap map = rows_of(family, out.config);
        add_prefixes_in_the_wild(map, store);
        LoadReport report;
        bool head_absent = false;
        resolve(map, out.config.n_layers, store, folder_of(path), report, head_absent);
    } catch (const std::exception& error) {
        out.problem = error.what();
    }
    return out;
}

}  // namespace headlight::model
