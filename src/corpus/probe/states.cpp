// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/corpus/probe/states.h"

#include "headlight/base/error.h"
#include "headlight/corpus/run/pack.h"
#include "headlight/corpus/run/run.h"
#include "headlight/io/checksum.h"
#include "headlight/io/file_lock.h"
#include "headlight/io/hash.h"
#include "headlight/io/mapped_file.h"
#include "headlight/model/same_products.h"
#include "headlight/trace/encoded.h"
#include "headlight/trace/tensors.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <numeric>
#include <utility>

namespace headlight::corpus {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kDelete = "Delete the folder, and give --model to run the texts again";

fs::path states_folder(const fs::path& store) { return store / "states"; }
fs::path description_file(const fs::path& store) { return states_folder(store) / "states.json"; }
fs::path layer_file(const fs::path& store, std::int64_t layer) {
    char name[40];
    std::snprintf(name, sizeof name, "layer-%03lld.f32", static_cast<long long>(layer));
    return states_folder(store) / name;
}

/// What the files of a store are of.
struct Described {
    std::string texts;  ///< hash of all chunks
    std::int64_t layers = 0, width = 0, rows = 0;
    std::vector<std::string> hashes{};  ///< [layer] SHA-256 of its file
};

std::string hash_of_texts(const Manifest& manifest) {
    std::vector<std::int64_t> blocks(static_cast<std::size_t>(manifest.blocks()));
    std::iota(blocks.begin(), blocks.end(), 0);
    return manifest.hash_of(blocks);
}

/// Of the files that are there; no layers: there are none, or of other texts.
Described described(const Manifest& manifest, const fs::path& store) {
    const fs::path file = description_file(store);
    if (!fs::exists(file)) return {};
    try {
        const json in = io::read_checked_json(file, kDelete);
        const Described found{in.at("texts"), in.at("layers"), in.at("width"), in.at("rows"), in.at("sha256_of_layers")};
        if (found.texts != hash_of_texts(manifest) || found.layers != std::ssize(found.hashes)) return {};
        for (std::int64_t layer = 0; layer < found.layers; ++layer) {
            std::error_code code;
            if (fs::file_size(layer_file(store, layer), code) != static_cast<std::uintmax_t>(found.rows * found.width * 4))
                return {};
        }
        return found;
    } catch (const json::exception&) {
        return {};
    }
}

/// One layer of a file.
class StoredLayer final : public LayerStates {
public:
    StoredLayer(const fs::path& file, std::int64_t width, const std::vector<std::int64_t>& first_row)
        : file_(io::MappedFile::open(file)), width_(width), first_row_(first_row) {}

    ProbeRows pooled(std::span<const ProbeExample> examples) const override {
        const bool pairs = !examples.empty() && examples.front().other.chunk >= 0;
        ProbeRows out(std::ssize(examples), width_ * (pairs ? 2 : 1));
        at::parallel_for(0, std::ssize(examples), 256, [&](std::int64_t first, std::int64_t last) {
            for (std::int64_t e = first; e < last; ++e) {
                const ProbeExample& example = examples[static_cast<std::size_t>(e)];
                mean_of(example.span, out.row(e).data());
                if (pairs) mean_of(example.other, out.row(e).data() + width_);
            }
        });
        return out;
    }

    ProbeRows tokens(std::span<const TokenSpan> spans) const override {
        std::int64_t count = 0;
        for (const TokenSpan& span : spans) count += span.end - span.begin;
        ProbeRows out(count, width_);
        std::int64_t next = 0;
        for (const TokenSpan& span : spans) {
            const auto rows = rows_of(span);
            out.middleRows(next, rows.rows()) = rows;
            next += rows.rows();
        }
        return out;
    }

private:
    Eigen::Map<const ProbeRows> rows_of(const TokenSpan& span) const {
        const auto* states = reinterpret_cast<const float*>(file_->bytes().data());
        const std::int64_t first = first_row_[static_cast<std::size_t>(span.chunk)] + span.begin;
        return {states + first * width_, span.end - span.begin, width_};
    }
    void mean_of(const TokenSpan& span, float* to) const {
        Eigen::Map<Eigen::RowVectorXf>(to, width_) = rows_of(span).colwise().mean();
    }

    std::shared_ptr<const io::MappedFile> file_;
    std::int64_t width_;
    const std::vector<std::int64_t>& first_row_;
};

/// Files of some layers while they are written; removed unless they are kept.
class LayerFiles {
public:
    LayerFiles(const fs::path& store, std::int64_t first, std::int64_t last) : store_(store), first_(first) {
        fs::create_directories(states_folder(store));
        for (std::int64_t layer = first; layer < last; ++layer)
            files_.emplace_back(layer_file(store, layer), std::ios::binary | std::ios::trunc);
    }
    ~LayerFiles() {
        if (kept_) return;
        std::error_code ignored;
        for (std::size_t i = 0; i < files_.size(); ++i) {
            files_[i].close();
            fs::remove(layer_file(store_, first_ + static_cast<std::int64_t>(i)), ignored);
        }
        fs::remove(states_folder(store_), ignored);  // if nothing else is in it
    }
    LayerFiles(const LayerFiles&) = delete;
    LayerFiles& operator=(const LayerFiles&) = delete;

    void append(const trace::Trace& trace) {
        const std::int64_t blocks = trace.config().n_layers;
        for (std::size_t i = 0; i < files_.size(); ++i) {
            const std::int64_t layer = first_ + static_cast<std::int64_t>(i);
            const model::HookPoint hook = layer < blocks ? model::HookPoint{model::Hook::resid_pre, Layer(layer)}
                                                         : model::HookPoint{model::Hook::resid_post, Layer(blocks - 1)};
            const at::Tensor states = trace::tensor(trace, hook).to(at::kCPU, at::kFloat).contiguous();
            files_[i].write(reinterpret_cast<const char*>(states.data_ptr<float>()), states.numel() * 4);
        }
    }
    void flush() {
        for (std::size_t i = 0; i < files_.size(); ++i)
            if (!files_[i].flush())
                throw Error({.problem = "The states of a layer cannot be written",
                             .file = layer_file(store_, first_ + static_cast<std::int64_t>(i)).string(),
                             .hint = "Free space on the disk, or lower --disk"});
    }
    void keep() noexcept { kept_ = true; }

private:
    fs::path store_;
    std::int64_t first_;
    std::vector<std::ofstream> files_;
    bool kept_ = false;
};

std::vector<std::string> hooks_of(std::int64_t first, std::int64_t last, std::int64_t blocks) {
    std::vector<std::string> globs;
    for (std::int64_t layer = first; layer < last; ++layer)
        globs.push_back(layer < blocks ? "blocks." + std::to_string(layer) + ".hook_resid_pre"
                                       : "blocks." + std::to_string(blocks - 1) + ".hook_resid_post");
    return globs;
}

/// Runs all texts and writes the layers from first to last - 1.
void write_layers(const StatesOptions& options, TextStore& texts, std::int64_t first, std::int64_t last, LayerFiles& files,
                  const CancelToken& cancel, const Progress& progress) {
    const at::NoGradGuard no_grad;
    const trace::CapturePlan plan{.globs = hooks_of(first, last, options.model->config().n_layers),
                                  .overview = trace::no_overview};
    std::vector<trace::PackedText> pack;
    std::int64_t tokens = 0;
    const auto run = [&] {
        if (pack.empty()) return;
        const model::SameProducts rows(model::SameProducts::Of::row);
        for (const auto& trace : trace::run_packed(options.model, options.tokenizer, std::exchange(pack, {}), plan, cancel))
            files.append(*trace);
        files.flush();
        tokens = 0;
    };
    for (std::int64_t number = 0; number < texts.chunks(); ++number) {
        cancel.throw_if_cancelled();
        if (progress && number % 16 == 0) progress({"Running texts", "chunk", number, texts.chunks()});
        const Chunk chunk = texts.chunk(number);
        if (tokens + chunk.encoding.size() > kPackedTokens) run();
        tokens += chunk.encoding.size();
        pack.push_back({.text = {.text = bytes_of(chunk, texts.text(chunk.text)),
                                 .encoding = chunk.encoding,
                                 .first_counted = chunk.first_query}});
    }
    run();
}

}  // namespace

void check_model(const Manifest& manifest, const StatesOptions& options) {
    const auto fail = [&](const std::string& what, const std::string& expected, const std::string& found) {
        throw Error({.problem = "The store is of another " + what,
                     .file = options.store.string(),
                     .expected = expected,
                     .found = found,
                     .hint = "Give --model " + manifest.model_path});
    };
    if (options.model->hash() != manifest.model_hash)
        fail("model", manifest.model + " " + manifest.model_hash, options.model->config().name + " " + options.model->hash());
    if (const std::string hash = tokenizer_hash(*options.tokenizer); hash != manifest.tokenizer_hash)
        fail("tokenizer", manifest.tokenizer_hash, hash);
}

std::int64_t state_layers(const Manifest& manifest, const StatesOptions& options) {
    const std::int64_t there = described(manifest, options.store).layers;
    return there > 0 ? there : options.model ? options.model->config().n_layers + 1 : 0;
}

void for_each_layer(const Manifest& manifest, const StatesOptions& options,
                    const std::function<void(std::int64_t layer, const LayerStates&)>& use, const CancelToken& cancel,
                    const Progress& progress) {
    if (options.model) check_model(manifest, options);
    TextStore texts(options.store, manifest);
    std::vector<std::int64_t> first_row{0};
    for (std::int64_t number = 0; number < texts.chunks(); ++number)
        first_row.push_back(first_row.back() + texts.chunk(number).encoding.size());
    const io::FileLock lock(lock_file(options.store, "states"), io::FileLock::Kind::exclusive, "Wait for the other probe", cancel,
                            {});
    std::vector<std::string> hashes;  // of files that are there
    const auto use_layers = [&](std::int64_t first, std::int64_t last, std::int64_t width) {
        for (std::int64_t layer = first; layer < last; ++layer) {
            cancel.throw_if_cancelled();
            const fs::path file = layer_file(options.store, layer);
            if (!hashes.empty() && io::sha256_file(file) != hashes[static_cast<std::size_t>(layer)])
                throw Error({.problem = "The states of a layer are damaged", .file = file.string(), .hint = kDelete});
            use(layer, StoredLayer(file, width, first_row));
        }
    };
    if (const Described there = described(manifest, options.store); there.layers > 0 && there.rows == first_row.back()) {
        hashes = there.hashes;
        use_layers(0, there.layers, there.width);
        return;
    }
    if (!options.model)
        throw Error({.problem = "The store has no states of its tokens",
                     .file = options.store.string(),
                     .expected = "a folder states, or the model " + manifest.model,
                     .hint = "Give --model " + manifest.model_path + ", which runs the texts once"});
    const std::int64_t layers = options.model->config().n_layers + 1, width = options.model->config().d_model,
                       bytes = std::max<std::int64_t>(1, first_row.back() * width * 4),
                       group = std::clamp<std::int64_t>(options.disk_budget / bytes, 1, layers);
    std::error_code ignored;
    fs::remove(description_file(options.store), ignored);
    for (std::int64_t first = 0; first < layers; first += group) {
        const std::int64_t last = std::min(first + group, layers);
        LayerFiles files(options.store, first, last);
        write_layers(options, texts, first, last, files, cancel, progress);
        if (group == layers) {
            for (std::int64_t layer = 0; layer < layers; ++layer) {
                cancel.throw_if_cancelled();
                hashes.push_back(io::sha256_file(layer_file(options.store, layer)));
            }
            io::write_checked_json(description_file(options.store), {{"texts", hash_of_texts(manifest)},
                                                                     {"layers", layers},
                                                                     {"width", width},
                                                                     {"rows", first_row.back()},
                                                                     {"sha256_of_layers", std::exchange(hashes, {})}});
            files.keep();
        }
        use_layers(first, last, width);
    }
}

}  // namespace headlight::corpus
