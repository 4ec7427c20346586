// SPDX-License-Identifier: GPL-3.0-or-later
#include "fetch/transfer.h"
#include "headlight/base/error.h"
#include "headlight/base/numbers.h"
#include "headlight/fetch/fetch.h"
#include "headlight/io/atomic_file.h"
#include "headlight/io/file_lock.h"
#include "headlight/io/gguf.h"
#include "headlight/io/json_file.h"
#include "headlight/model/hook_name.h"
#include "headlight/model/peek.h"

#include <QCryptographicHash>
#include <QElapsedTimer>
#include <QFile>
#include <QThread>
#include <QUrlQuery>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <utility>
#include <vector>

namespace headlight::fetch {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kPublicHub = "https://huggingface.co";
constexpr std::array<const char*, 18> kSmallFiles{"config.json",
                                                  "generation_config.json",
                                                  "tokenizer.json",
                                                  "tokenizer_config.json",
                                                  "special_tokens_map.json",
                                                  "added_tokens.json",
                                                  "vocab.json",
                                                  "vocab.txt",
                                                  "merges.txt",
                                                  "spiece.model",
                                                  "tokenizer.model",
                                                  "sentencepiece.bpe.model",
                                                  "spm.model",
                                                  "source.spm",
                                                  "target.spm",
                                                  "tekken.json",
                                                  "chat_template.jinja",
                                                  "preprocessor_config.json"};

constexpr std::size_t kListed = 12;  ///< files named in one message

std::string variable(const char* name) {
    const char* value = std::getenv(name);
    return value ? value : "";
}

/// One file of the repository as the hub lists it.
struct RemoteFile {
    std::string name;
    std::string hash;  ///< SHA-256 of a large file, else git's SHA-1: the blob's name
    bool sha256 = false;
    std::int64_t size = -1;
};

class Hub {
public:
    Hub(const HubOptions& o, const CancelToken& cancel, const Progress& progress) : o_(o), cancel_(cancel), progress_(progress) {
        if (!is_id(o_.id))
            throw Error(ErrorFacts{.problem = "Not the id of a model", .item = o_.id, .expected = "NAME or ORG/NAME"});
        if (!is_plain(o_.revision)) throw Error(ErrorFacts{.problem = "Not a revision", .item = o_.revision});
        std::string entry = "models--" + o_.id;
        if (const std::size_t slash = entry.find('/'); slash != std::string::npos) entry.replace(slash, 1, "--");
        entry_ = o_.cache / entry;
        entry_name_ = std::move(entry);
    }

    Fetched run() {
        const std::vector<RemoteFile> files = wanted(list());
        Fetched out;
        out.version = commit_;
        out.reference = o_.revision == "main" ? o_.id : o_.id + "@" + o_.revision;
        out.folder = entry_ / "snapshots" / commit_;
        fs::create_directories(entry_ / "blobs");
        fs::create_directories(entry_ / "refs");
        fs::create_directories(out.folder);
        for (const RemoteFile& file : files) total_ += std::max<std::int64_t>(file.size, 0);
        for (const RemoteFile& file : files) {
            if (!fs::exists(entry_ / "blobs" / file.hash)) out.bytes += fetch_alone(file);
            before_ += std::max<std::int64_t>(file.size, 0);
            link(file, out.folder);
            ++out.files;
        }
        io::write_atomically(entry_ / "refs" / o_.revision, commit_);
        return out;
    }

private:
    static bool is_plain(const std::string& name) {
        return !name.empty() && name != "." && name != ".." &&
               std::ranges::all_of(name, [](unsigned char c) { return std::isalnum(c) || c == '-' || c == '_' || c == '.'; });
    }
    static bool is_id(const std::string& id) {
        const std::size_t slash = id.find('/');
        if (slash == std::string::npos) return is_plain(id);
        return is_plain(id.substr(0, slash)) && is_plain(id.substr(slash + 1));
    }
    static bool is_hash(const std::string& text, std::size_t length) {
        return text.size() == length && std::ranges::all_of(text, [](unsigned char c) { return std::isxdigit(c); });
    }

    [[noreturn]] void fail(const std::string& problem, const std::string& item = {}, const std::string& expected = {},
                           const std::string& found = {}, const std::string& hint = {}) const {
        throw Error(ErrorFacts{.problem = problem,
                               .file = o_.endpoint + "/" + o_.id,
                               .item = item,
                               .expected = expected,
                               .found = found,
                               .hint = hint});
    }

    [[noreturn]] void fail_answer(const Answer& answer, const std::string& item) const {
        const std::string status = "status " + std::to_string(answer.status);
        const bool gated = answer.reason == QStringLiteral("GatedRepo");
        switch (answer.status) {
            case 401:
            case 403:
                if (answer.reason == QStringLiteral("RepoNotFound"))
                    fail("There is no such model, or it is private", item, {}, status,
                         "Check the spelling of " + o_.id + "; for a private model set HF_TOKEN to a token of yours");
                fail(!o_.token.empty() ? "the token is not allowed to read this model"
                     : gated           ? "the model is gated"
                                       : "the model is gated, private, or not there",
                     item, {}, status,
                     o_.token.empty() ? "Ask for access on the model's page, then set HF_TOKEN to a token of yours"
                                      : "Ask for access on the model's page, or use another token in HF_TOKEN");
            case 404:
                fail("There is no such model or revision", item, {}, status,
                     "Check the spelling of " + o_.id + " and " + o_.revision);
            case 429:
                fail(
                    "the hub has had too many requests", item, {}, status,
                    answer.retry_after.isEmpty() ? "Try again later" : "Try again in " + answer.retry_after.toStdString() + " s");
            default: break;
        }
        if (answer.status >= 400) fail("The hub could not answer", item, {}, status, "Try again later");
        fail("The hub cannot be reached, or broke off", item, {}, answer.problem.toStdString(),
             "Check the connection; HF_ENDPOINT and the usual proxy variables are honoured. What came so far is kept");
    }

    TransferOptions transfer(std::int64_t from = 0) const {
        return {.token = QByteArray::fromStdString(o_.token), .from = from, .silence_ms = o_.silence_ms};
    }

    void wait_before(int attempt) const {
        for (int left = o_.first_wait_ms << std::min(attempt - 1, 6); left > 0; left -= 50) {
            cancel_.throw_if_cancelled();
            QThread::msleep(static_cast<unsigned long>(std::min(left, 50)));
        }
    }

    std::vector<RemoteFile> list() {
        const QUrl url(QString::fromStdString(o_.endpoint + "/api/models/" + o_.id + "/revision/" + o_.revision + "?blobs=true"));
        if (!url.isValid() || url.host().isEmpty()) fail("Not an address of a hub", "HF_ENDPOINT", "https://…", o_.endpoint);
        Answer answer;
        for (int attempt = 1;; ++attempt) {
            answer = get(url, transfer(), {}, {}, cancel_);
            if (answer.status == 200 && answer.problem.isEmpty()) break;
            if (!answer.cut || attempt >= o_.attempts) fail_answer(answer, "list of files");
            wait_before(attempt);
        }
        const json root = io::parse_json(answer.body.toStdString(), o_.endpoint + "/api/models/" + o_.id);
        if (!root.is_object() || !root.contains("sha") || !root["sha"].is_string() || !root.contains("siblings") ||
            !root["siblings"].is_array())
            fail("The hub's list of files cannot be read", "sha, siblings");
        commit_ = root["sha"].get<std::string>();
        if (!is_hash(commit_, 40)) fail("The hub's list of files cannot be read", "sha", "a commit", commit_.substr(0, 80));
        std::vector<RemoteFile> files;
        for (const json& each : root["siblings"])
            if (auto file = remote_file(each)) files.push_back(std::move(*file));
        return files;
    }

    /// Nothing for entries that are no plain file with a hash: folders of other formats, names that lead elsewhere.
    static std::optional<RemoteFile> remote_file(const json& each) {
        if (!each.is_object() || !each.contains("rfilename") || !each["rfilename"].is_string()) return std::nullopt;
        RemoteFile file{.name = each["rfilename"].get<std::string>(), .hash = {}};
        if (!is_plain(file.name)) return std::nullopt;
        if (each.contains("size") && each["size"].is_number_unsigned()) file.size = each["size"].get<std::int64_t>();
        const bool large = each.contains("lfs") && each["lfs"].is_object() && each["lfs"].contains("sha256") &&
                           each["lfs"]["sha256"].is_string();
        if (large)
            file.hash = each["lfs"]["sha256"].get<std::string>();
        else if (each.contains("blobId") && each["blobId"].is_string())
            file.hash = each["blobId"].get<std::string>();
        file.sha256 = large;
        if (!is_hash(file.hash, large ? 64 : 40)) return std::nullopt;
        return file;
    }

    std::vector<RemoteFile> wanted(const std::vector<RemoteFile>& all) const {
        const auto has = [&](const std::string& end) {
            return std::ranges::any_of(all, [&](const RemoteFile& f) { return f.name.ends_with(end); });
        };
        const auto named = [&](const RemoteFile& f) {
            return std::ranges::any_of(o_.files, [&](const std::string& glob) { return model::glob_match(glob, f.name); });
        };
        const bool safetensors = has(".safetensors"), torch = has("pytorch_model.bin") || has("pytorch_model.bin.index.json");
        const bool gguf = !safetensors && !torch;
        std::vector<RemoteFile> chosen;
        std::vector<std::string> weights;
        for (const RemoteFile& file : all) {
            const bool small = std::ranges::find(kSmallFiles, file.name) != kSmallFiles.end();
            const bool by_kind = safetensors
                                     ? file.name.ends_with(".safetensors") || file.name.ends_with(".safetensors.index.json")
                                 : torch ? file.name.starts_with("pytorch_model") &&
                                               (file.name.ends_with(".bin") || file.name.ends_with(".bin.index.json"))
                                         : file.name.ends_with(".gguf");
            const bool weight = o_.files.empty() ? by_kind : named(file);
            if (small || weight) chosen.push_back(file);
            if (weight && !small) weights.push_back(file.name);
        }
        const bool config = std::ranges::any_of(chosen, [](const RemoteFile& f) { return f.name == "config.json"; });
        if (weights.empty() || (!config && !std::ranges::all_of(weights, is_gguf)))
            fail("The repository is no model that can be opened", o_.files.empty() ? "weights" : o_.files.front(),
                 "config.json and weights, or a .gguf file", listed(all));
        if (gguf && o_.files.empty() && models_of(weights) > 1)
            fail("The repository has several GGUF files", listed(weights), "one that is chosen", {},
                 "Name it with --file, as in --file '" + weights.front() + "'");
        return chosen;
    }

    static bool is_gguf(const std::string& name) { return name.ends_with(".gguf"); }

    /// Parts of one model ("x-00001-of-00003.gguf") count once.
    static std::size_t models_of(const std::vector<std::string>& names) {
        std::vector<std::string> stems;
        for (const std::string& name : names) {
            const auto part = io::gguf_part_of(name);
            stems.push_back(part ? part->name(1) : name);
        }
        std::ranges::sort(stems);
        return static_cast<std::size_t>(std::ranges::unique(stems).begin() - stems.begin());
    }

    static std::string listed(const std::vector<std::string>& names) {
        std::string list;
        for (std::size_t i = 0; i < names.size() && i < kListed; ++i) list += (i ? ", " : "") + names[i];
        return names.size() > kListed ? list + " and " + std::to_string(names.size() - kListed) + " more" : list;
    }
    static std::string listed(const std::vector<RemoteFile>& files) {
        std::vector<std::string> names;
        for (const RemoteFile& file : files) names.push_back(file.name);
        return names.empty() ? "no files" : listed(names);
    }

    /// Two programs that want the same file wait for each other; the later one finds it whole, or goes on with it.
    std::int64_t fetch_alone(const RemoteFile& file) {
        const io::FileLock lock(
            lock_of(o_.cache, entry_name_, file.hash), io::FileLock::Kind::exclusive, kCacheHint, cancel_, [&] {
                if (progress_)
                    progress_({"Waiting for another program that fetches " + file.name, "kB", before_ / 1000, total_ / 1000});
            });
        return fs::exists(entry_ / "blobs" / file.hash) ? 0 : fetch(file);
    }

    /// Bytes that came over the wire. The file has its name only when size and hash are right.
    std::int64_t fetch(const RemoteFile& file) {
        const fs::path target = entry_ / "blobs" / file.hash, partial = entry_ / "blobs" / (file.hash + ".incomplete");
        const QUrl url(QString::fromStdString(o_.endpoint + "/" + o_.id + "/resolve/" + commit_ + "/" + file.name));
        std::int64_t came = 0;
        for (int attempt = 1;; ++attempt) {
            std::error_code none;
            std::int64_t have = fs::exists(partial, none) ? static_cast<std::int64_t>(fs::file_size(partial, none)) : 0;
            if (file.size >= 0 && have > file.size) have = 0;
            if (file.size < 0 || have < file.size || file.size == 0) {
                const Answer answer = fetch_part(file, url, partial, have, came);
                const bool whole = answer.problem.isEmpty() && (answer.status == 200 || answer.status == 206);
                if (!whole && !answer.cut && answer.status != 416) fail_answer(answer, file.name);
                if (answer.status == 416) fs::remove(partial, none);  // the partial file is of another version
                const std::int64_t now = fs::exists(partial, none) ? static_cast<std::int64_t>(fs::file_size(partial, none)) : 0;
                if (!whole || (file.size >= 0 && now < file.size)) {
                    if (attempt >= o_.attempts) {
                        if (!whole) fail_answer(answer, file.name);
                        fail("A file came with the wrong length", file.name, bytes_text(static_cast<std::uint64_t>(file.size)),
                             std::to_string(now));
                    }
                    wait_before(attempt);
                    continue;
                }
            }
            check(file, partial);
            fs::rename(partial, target);
            return came;
        }
    }

    Answer fetch_part(const RemoteFile& file, const QUrl& url, const fs::path& partial, std::int64_t have, std::int64_t& came) {
        QFile out(QString::fromStdString(partial.string()));
        std::int64_t at = have;
        bool too_long = false, disk = false;
        const auto begin = [&](int status, std::int64_t) {
            if (status == 200) at = 0;  // the server begins anew, whatever was asked for
            return out.open(at > 0 ? QIODevice::WriteOnly | QIODevice::Append : QIODevice::WriteOnly | QIODevice::Truncate) ||
                   !(disk = true);
        };
        const auto sink = [&](const QByteArray& bytes) {
            if (file.size >= 0 && at + bytes.size() > file.size) return !(too_long = true);
            if (out.write(bytes) != bytes.size()) return !(disk = true);
            at += bytes.size();
            came += bytes.size();
            tell(file, at);
            return true;
        };
        const Answer answer = get(url, transfer(have), begin, sink, cancel_);
        if (out.isOpen() && !out.flush()) disk = true;
        const QString disk_problem = out.errorString();
        out.close();
        if (disk)
            throw Error(ErrorFacts{.problem = "Cannot write the file",
                                   .file = partial.string(),
                                   .found = disk_problem.toStdString(),
                                   .hint = "Free some space or set HF_HUB_CACHE to another folder"});
        if (too_long) {
            std::error_code none;
            fs::remove(partial, none);
            fail("A file came with the wrong length", file.name, bytes_text(static_cast<std::uint64_t>(file.size)), "more");
        }
        if (file.size == 0 && answer.status == 200) std::ofstream(partial, std::ios::app);
        return answer;
    }

    /// At most ten times a second.
    void tell(const RemoteFile& file, std::int64_t at) {
        if (!progress_ || (told_.isValid() && told_.elapsed() < 100)) return;
        told_.start();
        progress_({"Fetching " + file.name, "kB", (before_ + at) / 1000, total_ / 1000});
    }

    void check(const RemoteFile& file, const fs::path& partial) const {
        QFile in(QString::fromStdString(partial.string()));
        QCryptographicHash hash(file.sha256 ? QCryptographicHash::Sha256 : QCryptographicHash::Sha1);
        if (!in.open(QIODevice::ReadOnly)) throw Error(ErrorFacts{.problem = "Cannot read the file", .file = partial.string()});
        if (!file.sha256) hash.addData("blob " + QByteArray::number(in.size()) + QByteArray(1, '\0'));  // git's id of a blob
        for (QByteArray bytes = in.read(4 << 20); !bytes.isEmpty(); bytes = in.read(4 << 20)) {
            cancel_.throw_if_cancelled();
            hash.addData(bytes);
        }
        in.close();
        const std::string found = hash.result().toHex().toStdString();
        if (found == file.hash) return;
        std::error_code none;
        fs::remove(partial, none);
        fail("A file came damaged: its hash differs", file.name, file.hash, found, "Try again");
    }

    void link(const RemoteFile& file, const fs::path& folder) const {
        const fs::path name = folder / file.name;
        std::error_code none;
        if (fs::exists(name, none)) return;
        fs::remove(name, none);
        std::error_code failed;
        fs::create_symlink(fs::path("../../blobs") / file.hash, name, failed);
        if (failed && !fs::exists(name, none))  // another program may have made it meanwhile
            throw Error(ErrorFacts{.problem = "Cannot write to the cache", .file = name.string(), .found = failed.message()});
    }

    const HubOptions& o_;
    const CancelToken& cancel_;
    const Progress& progress_;
    fs::path entry_;
    std::string entry_name_;  ///< "models--org--name"
    std::string commit_;
    std::int64_t before_ = 0, total_ = 0;  ///< bytes of the files that are done, of all
    QElapsedTimer told_;
};

/// What `hf auth login` wrote.
std::string stored_token() {
    fs::path file = variable("HF_TOKEN_PATH");
    if (file.empty() && !variable("HF_HOME").empty()) file = fs::path(variable("HF_HOME")) / "token";
    if (file.empty() && !variable("XDG_CACHE_HOME").empty()) file = fs::path(variable("XDG_CACHE_HOME")) / "huggingface/token";
    if (file.empty() && !variable("HOME").empty()) file = fs::path(variable("HOME")) / ".cache/huggingface/token";
    std::ifstream in(file);
    std::string token;
    in >> token;
    return token;
}

}  // namespace

HubOptions hub_options_from_environment(const std::string& reference) {
    const std::string offline = variable("HF_HUB_OFFLINE");
    if (offline == "1" || offline == "true" || offline == "TRUE" || offline == "ON" || offline == "YES")
        throw Error(ErrorFacts{.problem = "Nothing is fetched while HF_HUB_OFFLINE is set", .item = reference});
    HubOptions o;
    const std::size_t at = reference.find('@');
    if (at != std::string::npos) o.revision = reference.substr(at + 1);
    o.id = reference.substr(0, at);
    o.endpoint = variable("HF_ENDPOINT").empty() ? kPublicHub : variable("HF_ENDPOINT");
    while (o.endpoint.ends_with('/')) o.endpoint.pop_back();
    o.token = variable("HF_TOKEN").empty() ? stored_token() : variable("HF_TOKEN");
    const std::vector<fs::path> folders = model::cache_folders();
    if (!folders.empty()) o.cache = folders.front();
    return o;
}

Fetched fetch_from_hub(const HubOptions& options, const CancelToken& cancel, const Progress& progress) {
    if (options.cache.empty())
        throw Error(ErrorFacts{.problem = "There is no folder for the cache", .hint = "Set HF_HUB_CACHE or HOME"});
    return Hub(options, cancel, progress).run();
}

}  // namespace headlight::fetch
