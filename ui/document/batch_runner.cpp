// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/document/batch_runner.h"

#include "headlight/trace/texts.h"

#include <utility>

namespace headlight::ui {

BatchRunner::BatchRunner(Jobs& jobs) : jobs_(jobs) {
    connect(&jobs_, &Jobs::finished, this, [this](Jobs::Lane lane) {
        if (lane == Jobs::Lane::texts && std::exchange(running_, false)) Q_EMIT given_up();
    });
}

void BatchRunner::run(const QString& file, const OpenModel& opened) {
    running_ = false;
    jobs_.cancel(Jobs::Lane::texts);
    set(nullptr);
    if (file.isEmpty() || !opened.model || reads_pictures(opened)) return;
    running_ = true;
    jobs_.start(Jobs::Lane::texts, QStringLiteral("Running the texts"),
                [this, path = std::filesystem::path(file.toStdString()), opened](const CancelToken& cancel,
                                                                                 const Progress& progress) -> Jobs::Deliver {
                    check_files(opened);
                    auto texts = std::make_shared<figure::TextBatch>();
                    texts->file = path.string();
                    texts->traces =
                        trace::run_texts(opened.model, opened.tokenizer, io::read_text_lines(path), path, cancel, progress);
                    return [this, texts] {
                        running_ = false;
                        set(texts);
                    };
                });
}

void BatchRunner::set(std::shared_ptr<const figure::TextBatch> texts) {
    if (texts == texts_) return;
    texts_ = std::move(texts);
    Q_EMIT changed();
}

}  // namespace headlight::ui
