// SPDX-License-Identifier: GPL-3.0-or-later
#include "fetch/transfer.h"

#include "headlight/base/version.h"

#include <QEventLoop>
#include <QNetworkAccessManager>
#include <QNetworkProxyFactory>
#include <QNetworkReply>
#include <QNetworkRequest>
#include <QTimer>

#include <memory>

namespace headlight::fetch {
namespace {

constexpr int kMostRedirects = 10;

/// The proxy of the system or of http_proxy, https_proxy, all_proxy and no_proxy, for these requests alone.
class SystemProxies : public QNetworkProxyFactory {
public:
    QList<QNetworkProxy> queryProxy(const QNetworkProxyQuery& query) override { return systemProxyForQuery(query); }
};

bool is_redirect(int status) { return status == 301 || status == 302 || status == 303 || status == 307 || status == 308; }

/// One request without redirects.
Answer get_once(QNetworkAccessManager& network, const QUrl& url, const TransferOptions& o,
                const std::function<bool(int, std::int64_t)>& begin, const std::function<bool(const QByteArray&)>& sink,
                const CancelToken& cancel, QUrl& next) {
    QNetworkRequest request(url);
    request.setAttribute(QNetworkRequest::RedirectPolicyAttribute, QNetworkRequest::ManualRedirectPolicy);
    request.setHeader(QNetworkRequest::UserAgentHeader, QStringLiteral("headlight/") + QLatin1String(version()));
    request.setRawHeader("Accept-Encoding", "identity");  // lengths and ranges are of the file itself
    if (!o.token.isEmpty()) request.setRawHeader("Authorization", "Bearer " + o.token);
    if (o.from > 0) request.setRawHeader("Range", "bytes=" + QByteArray::number(static_cast<qlonglong>(o.from)) + "-");
    const std::unique_ptr<QNetworkReply> reply(network.get(request));
    reply->setReadBufferSize(4 << 20);

    Answer answer;
    QEventLoop loop;
    QTimer silence, watch;
    silence.setInterval(o.silence_ms);
    silence.setSingleShot(true);
    watch.setInterval(100);
    bool begun = false, refused = false, silent = false;
    const auto take = [&] {
        silence.start();
        answer.status = reply->attribute(QNetworkRequest::HttpStatusCodeAttribute).toInt();
        const bool good = answer.status == 200 || answer.status == 206;
        const QByteArray bytes = reply->read(reply->bytesAvailable());
        if (bytes.isEmpty() || is_redirect(answer.status)) return;
        if (good && sink) {
            if (!begun) {
                begun = true;
                const QVariant length = reply->header(QNetworkRequest::ContentLengthHeader);
                answer.length = length.isValid() ? length.toLongLong() : -1;
                refused = !begin(answer.status, answer.length);
            }
            if (!refused) refused = !sink(bytes);
        } else if (answer.body.size() + bytes.size() <= o.most) {
            answer.body += bytes;
        } else {
            refused = true;
        }
        if (refused) reply->abort();
    };
    QObject::connect(reply.get(), &QNetworkReply::readyRead, &loop, take);
    QObject::connect(reply.get(), &QNetworkReply::finished, &loop, &QEventLoop::quit);
    QObject::connect(&silence, &QTimer::timeout, &loop, [&] {
        silent = true;
        reply->abort();
    });
    QObject::connect(&watch, &QTimer::timeout, &loop, [&] {
        if (cancel.cancelled()) reply->abort();
    });
    silence.start();
    watch.start();
    if (!reply->isFinished()) loop.exec();
    cancel.throw_if_cancelled();
    if (!refused && !silent) take();
    answer.status = reply->attribute(QNetworkRequest::HttpStatusCodeAttribute).toInt();
    answer.retry_after = QString::fromLatin1(reply->rawHeader("Retry-After"));
    answer.reason = QString::fromLatin1(reply->rawHeader("X-Error-Code"));
    if (is_redirect(answer.status)) {
        next = url.resolved(QUrl::fromEncoded(reply->rawHeader("Location")));
        return answer;
    }
    const bool failed = reply->error() != QNetworkReply::NoError;
    if (silent) answer.problem = QStringLiteral("nothing came for %1 s").arg(o.silence_ms / 1000.0);
    if (!silent && failed && !refused && answer.status < 400) answer.problem = reply->errorString();
    answer.cut = !answer.problem.isEmpty() || answer.status >= 500;
    return answer;
}

}  // namespace

Answer get(const QUrl& url, const TransferOptions& options, const std::function<bool(int, std::int64_t)>& begin,
           const std::function<bool(const QByteArray&)>& sink, const CancelToken& cancel) {
    QNetworkAccessManager network;
    network.setProxyFactory(new SystemProxies);  // which it owns
    QUrl at = url;
    TransferOptions o = options;
    for (int hop = 0; hop <= kMostRedirects; ++hop) {
        QUrl next;
        Answer answer = get_once(network, at, o, begin, sink, cancel, next);
        if (!is_redirect(answer.status)) return answer;
        if (!next.isValid() || (next.scheme() != QStringLiteral("https") && next.scheme() != QStringLiteral("http"))) {
            answer.problem = QStringLiteral("a redirect that leads nowhere: %1").arg(next.toString());
            return answer;
        }
        if (at.scheme() == QStringLiteral("https") && next.scheme() == QStringLiteral("http")) {
            answer.problem = QStringLiteral("a redirect from https to http, to %1").arg(next.host());
            return answer;
        }
        // The token is for the hub, not for where the hub keeps its files.
        if (next.host() != url.host() || next.port() != url.port()) o.token.clear();
        at = next;
    }
    Answer answer;
    answer.problem = QStringLiteral("more than %1 redirects").arg(kMostRedirects);
    return answer;
}

}  // namespace headlight::fetch
