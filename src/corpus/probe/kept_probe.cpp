// SPDX-License-Identifier: GPL-3.0-or-later
#include "corpus/probe/kept_probe.h"

#include "corpus/reading/separated.h"
#include "headlight/base/error.h"
#include "headlight/io/checksum.h"

#include <algorithm>

namespace headlight::corpus {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kProbeFormat = "headlight-probe";
constexpr int kProbeVersion = 1;

fs::path probe_folder(const fs::path& store, ProbeKind kind) {
    const fs::path all = store / "probes";
    return kind == ProbeKind::linear ? all : all / enum_word(kind);
}

fs::path probe_file(const fs::path& store, ProbeKind kind, const std::string& task) {
    std::string name = task;  // "feature:Number": a colon is no letter of a file name everywhere
    std::ranges::replace_if(
        name, [](char c) { return c == ':' || c == '/' || c == '\\'; }, '-');
    return probe_folder(store, kind) / (name + ".json");
}

/// "headlight corpus probe STORE --probe mix --labels upos"
std::string command_of(ProbeKind kind, const std::string& task) {
    std::string out = "headlight corpus probe STORE";
    if (kind != ProbeKind::linear) out += " --probe " + std::string(enum_word(kind));
    return task == kTreeTask ? out : out + " --labels " + task;
}

}  // namespace

void keep_probe(const fs::path& store, const Manifest& manifest, ProbeKind kind, const std::string& task, json content) {
    content["format"] = kProbeFormat;
    content["version"] = kProbeVersion;
    content["texts"] = manifest.texts();
    content["tokens"] = manifest.tokens();
    content["task"] = task;
    const fs::path file = probe_file(store, kind, task);
    fs::create_directories(file.parent_path());
    io::write_checked_json(file, content);
}

void read_kept_probe(const fs::path& store, const Manifest& manifest, ProbeKind kind, const std::string& task,
                     const std::function<void(const json&)>& read) {
    const fs::path file = probe_file(store, kind, task);
    if (!fs::exists(file)) {
        const std::string known = joined(probe_tasks(store, kind), ", ");
        throw Error({.problem = learns_labels(kind) ? "The store has no probe of these labels" : "The store has no such probe",
                     .file = store.string(),
                     .expected = known.empty() ? "a probe" : known,
                     .found = task,
                     .hint = "Run " + command_of(kind, task)});
    }
    const std::string again = "Run it again: " + command_of(kind, task);
    const json in = io::read_checked_json(file, again);
    try {
        if (in.at("format") != kProbeFormat || in.at("version") != kProbeVersion || in.at("texts") != manifest.texts() ||
            in.at("tokens") != manifest.tokens())
            throw Error({.problem = "The probe is of another version, or of other texts than the store now has",
                         .file = file.string(),
                         .hint = again});
        read(in);
    } catch (const json::exception& error) {
        throw Error({.problem = "The file of the probe is damaged",
                     .file = file.string(),
                     .found = io::plain_reason(error),
                     .hint = again});
    }
}

std::vector<std::string> probe_tasks(const fs::path& store, ProbeKind kind) {
    std::vector<std::string> out;
    std::error_code code;
    for (const fs::directory_entry& entry : fs::directory_iterator(probe_folder(store, kind), code))
        if (entry.path().extension() == ".json") out.push_back(entry.path().stem().string());
    std::ranges::sort(out);
    return out;
}

}  // namespace headlight::corpus
