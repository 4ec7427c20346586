// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/document/corpus_in_use.h"

#include "headlight/base/facts_of.h"

#include <QDir>
#include <QFileInfo>

#include <utility>

namespace headlight::ui {

CorpusInUse::CorpusInUse(Jobs& jobs) : jobs_(jobs) {}

QString CorpusInUse::name() const { return QFileInfo(QDir::cleanPath(folder_)).fileName(); }

void CorpusInUse::look(const QString& folder, const OpenModel& opened) {
    reading_ = false;
    jobs_.cancel(Jobs::Lane::corpus_heads);
    const bool same = folder == folder_;
    folder_ = folder;
    if (!same) set(nullptr, {});
    if (folder.isEmpty() || !opened.model) return set(nullptr, {});
    reading_ = true;
    jobs_.start(Jobs::Lane::corpus_heads, QStringLiteral("Reading the corpus"),
                [this, folder, opened, called = name()](const CancelToken&, const Progress&) -> Jobs::Deliver {
                    std::shared_ptr<const corpus::CorpusHeads> heads;
                    QString why;
                    try {
                        const auto stored = corpus::read_store(folder.toStdString());
                        if (stored->manifest.model_hash == opened.model->hash())
                            heads = corpus::heads_of_corpus(*stored);
                        else
                            why = QStringLiteral("%1 was run with %2, and not with the model that is open")
                                      .arg(called, QString::fromStdString(stored->manifest.model));
                    } catch (const std::exception& error) {
                        why = QStringLiteral("%1: %2").arg(called, QString::fromUtf8(Error(facts_of(error)).what()));
                    }
                    return [this, heads, why] {
                        reading_ = false;
                        set(heads, why);
                    };
                });
}

void CorpusInUse::set(std::shared_ptr<const corpus::CorpusHeads> heads, const QString& why_not) {
    if (heads == found_ && why_not == why_not_) return;
    found_ = std::move(heads);
    why_not_ = why_not;
    Q_EMIT changed();
}

}  // namespace headlight::ui
