// SPDX-License-Identifier: GPL-3.0-or-later
// Fetching against a hub of our own that misbehaves in every way a network can.
#include "cli/fetch/hub.h"
#include "headlight/base/error.h"
#include "headlight/io/hash.h"
#include "headlight/model/peek.h"
#include "support/temp_folder.h"

#include <QCoreApplication>
#include <QCryptographicHash>
#include <QTcpServer>
#include <QTcpSocket>
#include <QTimer>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace headlight::cli {
namespace {

namespace fs = std::filesystem;
using test::slurp;
using test::TempFolder;
using testing::AllOf;
using testing::HasSubstr;

const std::string kCommit(40, 'a');
const fs::path kModel = fs::path(HEADLIGHT_SOURCE_DIR) / "tests/fixtures/models/gpt2";

/// A hub with one model, org/tiny. `answer` may spoil any request: it is given the path and how often it was asked.
class Server : public QTcpServer {
public:
    struct Request {
        QByteArray path, range, authorization;
        int nth = 1;  ///< of this path
    };
    struct Reply {
        QByteArray bytes;      ///< status line, headers and body as they go out
        qsizetype cut = -1;    ///< only so many bytes of it, then the connection is closed
        bool hang = false;     ///< nothing at all
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
        return "HTTP/1.1 " + status + "\r\nContent-Length: " + QByteArray::number(body.size()) + "\r\nConnection: close\r\n" + headers + "\r\n" + body;
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
            const QByteArray git = QCryptographicHash::hash("blob " + QByteArray::number(bytes.size()) + QByteArray(1, '\0') + bytes, QCryptographicHash::Sha1).toHex();
            const QByteArray sha = QCryptographicHash::hash(bytes, QCryptographicHash::Sha256).toHex();
            siblings += (siblings.isEmpty() ? "" : ",") + QByteArray("{\"rfilename\":\"") + name.c_str() + "\",\"size\":" + QByteArray::number(bytes.size()) + ",\"blobId\":\"" + git + "\"" +
                        (large ? ",\"lfs\":{\"sha256\":\"" + sha + "\",\"size\":" + QByteArray::number(bytes.size()) + "}" : QByteArray()) + "}";
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
        if (out.hang) return;
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
        if (!QCoreApplication::instance()) new QCoreApplication(argc, argv);
    }
    HubOptions options() const {
        return {.id = "org/tiny", .endpoint = server.address(), .token = "secret", .cache = folder.path(), .attempts = 3, .first_wait_ms = 1, .silence_ms = 300};
    }
    Fetched fetch() { return fetch_model(options(), {}, {}); }
    std::string failure() {
        try {
            fetch();
        } catch (const Error& e) {
            return e.what();
        }
        return "fetched";
    }
    bool is_weights(const Server::Request& r) const { return r.path.endsWith("/model.safetensors"); }
    void expect_whole(const Fetched& got) {
        EXPECT_EQ(got.folder, folder / ("models--org--tiny/snapshots/" + kCommit));
        EXPECT_EQ(got.files, 3);
        for (const char* name : {"config.json", "tokenizer.json", "model.safetensors"}) EXPECT_EQ(slurp(got.folder / name), slurp(kModel / name)) << name;
        EXPECT_TRUE(model::peek(got.folder).problem.empty()) << model::peek(got.folder).problem;
        for (const auto& blob : fs::directory_iterator(folder / "models--org--tiny/blobs")) EXPECT_NE(blob.path().extension(), ".incomplete");
    }

    TempFolder folder;
    Server server;
};

TEST_F(Fetch, LaysFilesOutAsTheCacheHasThem) {
    expect_whole(fetch());
    EXPECT_EQ(slurp(folder / "models--org--tiny/refs/main"), kCommit);
    const fs::path weights = folder / ("models--org--tiny/snapshots/" + kCommit + "/model.safetensors");
    EXPECT_TRUE(fs::is_symlink(weights));
    EXPECT_EQ(fs::read_symlink(weights), fs::path("../../blobs") / io::sha256_file(kModel / "model.safetensors"));
    EXPECT_FALSE(fs::exists(weights.parent_path() / "README.md"));
    for (const Server::Request& request : server.seen) EXPECT_EQ(request.authorization, "Bearer secret");
    const std::size_t before = server.seen.size();
    EXPECT_EQ(fetch().bytes, 0);  // again: only the list is asked for
    EXPECT_EQ(server.seen.size(), before + 1);
}

TEST_F(Fetch, GoesOnWhereTheConnectionWasCut) {
    server.spoil = [&](const Server::Request& r) -> std::optional<Server::Reply> {
        if (!is_weights(r) || r.nth > 2) return std::nullopt;
        const QByteArray whole = server.good(r);
        return Server::Reply{whole, whole.size() - (r.nth == 1 ? 9000 : 3000)};
    };
    expect_whole(fetch());
    std::vector<QByteArray> ranges;
    for (const Server::Request& r : server.seen)
        if (is_weights(r)) ranges.push_back(r.range);
    ASSERT_EQ(ranges.size(), 3u);
    EXPECT_TRUE(ranges[0].isEmpty());
    const qint64 size = static_cast<qint64>(server.files["model.safetensors"].size());
    EXPECT_EQ(ranges[1], "bytes=" + QByteArray::number(size - 9000) + "-");
    EXPECT_EQ(ranges[2], "bytes=" + QByteArray::number(size - 3000) + "-");
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
    const Fetched got = fetch();
    expect_whole(got);
    EXPECT_EQ(got.bytes, 5000);
}

TEST_F(Fetch, BeginsAnewWhenTheServerKnowsNoRanges) {
    server.spoil = [&](const Server::Request& r) -> std::optional<Server::Reply> {
        if (!is_weights(r)) return std::nullopt;
        Server::Request plain = r;
        plain.range.clear();
        const QByteArray whole = server.good(plain);
        return Server::Reply{whole, r.nth == 1 ? whole.size() - 5000 : -1};
    };
    expect_whole(fetch());
}

TEST_F(Fetch, SilenceCountsAsCut) {
    server.spoil = [&](const Server::Request& r) -> std::optional<Server::Reply> {
        if (is_weights(r) && r.nth == 1) return Server::Reply{{}, -1, true};
        return std::nullopt;
    };
    expect_whole(fetch());
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
    EXPECT_THAT(failure(), HasSubstr("broken JSON"));
    server.close();
    EXPECT_THAT(failure(), HasSubstr("cannot be reached"));
}

TEST_F(Fetch, TheTokenStaysWithTheHub) {
    Server elsewhere;
    server.spoil = [&](const Server::Request& r) -> std::optional<Server::Reply> {
        if (!is_weights(r)) return std::nullopt;
        return Server::Reply{Server::reply("302 Found", "", "Location: " + QByteArray::fromStdString(elsewhere.address()) + r.path + "\r\n")};
    };
    expect_whole(fetch());
    ASSERT_EQ(elsewhere.seen.size(), 1u);
    EXPECT_TRUE(elsewhere.seen.front().authorization.isEmpty());
}

TEST_F(Fetch, NamesThatLeadElsewhereAreNotWritten) {
    HubOptions bad = options();
    for (const char* id : {"../x", "a/b/c", "", "a/..", "a b"}) {
        bad.id = id;
        EXPECT_THROW(fetch_model(bad, {}, {}), Error) << id;
    }
    server.files["../evil.json"] = "x";
    expect_whole(fetch());
    EXPECT_FALSE(fs::exists(folder / "evil.json"));
}

TEST_F(Fetch, Cancelled) {
    server.spoil = [](const Server::Request&) { return Server::Reply{{}, -1, true}; };
    HubOptions slow = options();
    slow.silence_ms = 60'000;
    CancelToken cancel;
    QTimer::singleShot(150, [&] { cancel.cancel(); });
    EXPECT_THROW(fetch_model(slow, cancel, {}), Cancelled);
}

}  // namespace
}  // namespace headlight::cli
