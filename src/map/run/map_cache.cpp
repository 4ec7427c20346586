// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/base/error.h"
#include "headlight/base/version.h"
#include "headlight/io/checksum.h"
#include "headlight/io/hash.h"
#include "headlight/map/run/map_run.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>

namespace headlight::map {
namespace {

/// Incremented when the same options give a different picture.
constexpr const char* kFormat = "headlight map 3";

std::filesystem::path file_of(const std::filesystem::path& folder, const std::string& key) {
    return folder / (key + ".safetensors");
}

template <class T>
std::string hash_of(const std::vector<T>& values) {
    return io::sha256_hex(std::as_bytes(std::span(values)));
}

std::string hash_of(const MapTokens& tokens) { return hash_of(tokens.text) + hash_of(tokens.position) + hash_of(tokens.apart); }

io::ArrayRef array(const char* name, std::vector<std::int64_t> shape, const std::vector<float>& values) {
    return {name, io::DType::F32, std::move(shape), std::as_bytes(std::span(values))};
}

std::vector<float> floats_of(const io::TensorStore& store, const char* name, const std::vector<std::int64_t>& shape,
                             bool may_be_empty = false) {
    const io::TensorView* view = store.find(name);
    if (!view || view->dtype != io::DType::F32 || !(view->shape == shape || (may_be_empty && view->numel() == 0)))
        throw Error("A cached map lacks an array");
    std::vector<float> out(static_cast<std::size_t>(view->numel()));
    if (!out.empty()) std::memcpy(out.data(), view->bytes.data(), view->bytes.size());
    return out;
}

}  // namespace

std::string cache_key(const MapVectors& vectors, std::size_t head, const MapOptions& o) {
    const HeadVectors& h = vectors.heads.at(head);
    const nlohmann::ordered_json facts = {{"format", kFormat},
                                          {"queries", hash_of(*h.queries)},
                                          {"keys", hash_of(*h.keys)},
                                          {"width", h.width},
                                          {"scale", h.score_scale},
                                          {"window", h.window},
                                          {"causal", vectors.causal},
                                          {"tokens", hash_of(vectors.tokens)},
                                          {"source", hash_of(vectors.source)},
                                          {"layer", h.layer.value},
                                          {"head", h.head.value},
                                          {"preset", enum_word(o.preset)},
                                          {"projection", enum_word(o.projection)},
                                          {"dims", o.dims},
                                          {"factor", enum_word(o.scale)},
                                          {"perplexity", perplexity_of(o)},
                                          {"iterations", o.iterations},
                                          {"neighbours", o.neighbours},
                                          {"min_dist", o.min_dist},
                                          {"seed", o.seed},
                                          {"with_apart", o.with_apart}};
    const std::string text = facts.dump();
    return io::sha256_hex(std::as_bytes(std::span(text.data(), text.size())));
}

void write_cached(const std::filesystem::path& folder, const std::string& key, const HeadMap& map) {
    std::error_code failed;
    std::filesystem::create_directories(folder, failed);
    if (failed) throw Error({.problem = "The folder cannot be made: " + failed.message(), .file = folder.string()});
    std::vector<float> numbers;
    for (const auto& [name, member] : head_numbers) numbers.push_back(map.*member);
    io::write_checked_safetensors(
        file_of(folder, key),
        {array("explained", {std::ssize(map.explained)}, map.explained), array("norms", {std::ssize(map.norms)}, map.norms),
         array("numbers", {std::ssize(numbers)}, numbers),
         array("points", {std::ssize(map.points) / map.dims, map.dims}, map.points),
         array("trust", {std::ssize(map.trust)}, map.trust)},
        {{"format", kFormat},
         {"version", version()},
         {"layer", std::to_string(map.layer.value)},
         {"head", std::to_string(map.head.value)},
         {"iterations", std::to_string(map.iterations)},
         {"poor", map.poor}});
}

std::optional<HeadMap> read_cached(const std::filesystem::path& folder, const MapVectors& vectors, std::size_t head,
                                   const MapOptions& options) {
    const HeadVectors& of = vectors.heads.at(head);
    const std::filesystem::path file = file_of(folder, cache_key(vectors, head, options));
    std::error_code none;
    if (!std::filesystem::is_regular_file(file, none)) return std::nullopt;
    try {
        const io::TensorStore store = io::open_checked_safetensors(file, {});
        const auto& facts = store.metadata();
        if (facts.at("format") != kFormat || facts.at("layer") != std::to_string(of.layer.value) ||
            facts.at("head") != std::to_string(of.head.value))
            return std::nullopt;
        const std::int64_t points = of.query_rows().count + of.key_rows().count;
        HeadMap map;
        map.layer = of.layer;
        map.head = of.head;
        map.dims = options.dims;
        map.iterations = map.iterations_wanted = std::stoi(facts.at("iterations"));
        map.poor = facts.at("poor");
        map.points = floats_of(store, "points", {points, options.dims});
        map.norms = floats_of(store, "norms", {points});
        map.trust = floats_of(store, "trust", {points}, true);
        map.explained = floats_of(store, "explained", {options.dims}, true);
        if (!std::ranges::all_of(map.points, [](float x) { return std::isfinite(x); })) return std::nullopt;
        const std::vector<float> numbers = floats_of(store, "numbers", {std::ssize(head_numbers)});
        for (std::size_t i = 0; i < std::size(head_numbers); ++i) map.*head_numbers[i].second = numbers[i];
        return map;
    } catch (const std::exception&) {  // a damaged file is recomputed
        return std::nullopt;
    }
}

}  // namespace headlight::map
