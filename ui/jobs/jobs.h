// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/base/facts_of.h"
#include "headlight/base/job.h"

#include <QObject>
#include <QString>
#include <QThreadPool>

#include <atomic>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>

namespace headlight::ui {

/// Shown to the user when something could not be done: what, where, what to do.
struct Failure {
    QString doing;  ///< "Opening novella-7m"
    ErrorFacts facts;
};

/// Work beside the window. A lane holds at most one job that still matters: starting another cancels the one before and
/// drops its result, even one that has finished and is on its way. All signals and results arrive in the window's thread.
///
/// Each lane has one lasting thread, so that no job waits behind one of another kind: typing is not held up by a corpus of
/// texts, nor the inspector by a lens. Idle threads cost a stack each; LibTorch's OpenMP teams sleep with them.
class Jobs : public QObject {
    Q_OBJECT
public:
    /// model: open, run and continue; texts: run the texts of a corpus; reference: the comparison with a stored one;
    /// probe: of the open model's heads; other: the run beside the prompt's; edits: what each edit does to an answer;
    /// picture: figures that take long, those of the model's page in model_picture; sharpen: better pixels of the figure that is
    /// shown; preview: of an export; file: exports and copies; pins: the first pair of tokens of an attention; finder: attention
    /// that its expression asks for; strip: predictions under the tokens; tensor: the histogram in the list of tensors;
    /// candidates: of a field for a token; models: what the model chooser lists; fetch: downloads; corpus: a run over many texts;
    /// corpus_figure: what its page shows; corpus_open: a store to show, the text of an example; corpus_heads: what the window
    /// takes from it; map: queries and keys laid out; map_attention, map_near: of a point of it; map_marks, map_shares: its
    /// search, its lasso; map_guests: the sentence that is typed into it; ahead: layers that are likely to be read next; sweep:
    /// one edit after another; sweep_figure: what its page shows; sweep_forecast: what it will cost.
    enum class Lane {
        model,
        texts,
        reference,
        probe,
        picture,
        second_picture,
        model_picture,
        sharpen,
        second_sharpen,
        model_sharpen,
        preview,
        file,
        inspector,
        pins,
        finder,
        strip,
        tensor,
        candidates,
        models,
        fetch,
        corpus,
        corpus_figure,
        corpus_open,
        corpus_heads,
        map,
        map_attention,
        map_near,
        map_marks,
        map_shares,
        map_guests,
        ahead,
        other,
        edits,
        sweep,
        sweep_figure,
        sweep_forecast
    };
    Q_ENUM(Lane)
    /// Runs in the window's thread when the work is done and still wanted. May throw: the job has then failed.
    using Deliver = std::function<void()>;
    using Work = std::function<Deliver(const CancelToken&, const Progress&)>;

    explicit Jobs(QObject* parent = nullptr);
    ~Jobs() override;

    /// `doing`: for progress and errors; empty: nothing to show.
    void start(Lane, const QString& doing, Work);
    void cancel(Lane);
    /// Cancels the lane's job and leaves it its lane: finished() comes when the job has ended, with what it still had to write.
    void ask_to_stop(Lane);
    /// From any thread: runs it in the window's thread, in order with what jobs deliver, unless this has been destroyed by then.
    void in_window(std::function<void()>);
    /// Cancels everything and waits until it has ended; nothing is delivered any more.
    void cancel_all();
    bool busy(Lane lane) const { return current_.contains(lane); }
    bool idle() const { return current_.empty(); }
    /// Files that were cut short before (io::MappedFile::blanked() was this then) are none of the open model's: work on it is
    /// not dropped because of them.
    void forgive(int blanked) { forgiven_ = blanked; }
    QString doing(Lane) const;

Q_SIGNALS:
    void started(Lane lane);
    void progressed(Lane lane, const headlight::ProgressStep& step);
    /// The lane is free again: delivered, failed or cancelled by cancel().
    void finished(Lane lane);
    void failed(Lane lane, const Failure& failure);

protected:
    void customEvent(QEvent*) override;

private:
    struct Ticket {
        quint64 number = 0;
        CancelToken token;
        QString doing;
    };
    struct Waiting {
        Ticket ticket;
        Work work;
    };
    bool wanted(Lane, quint64 number) const;
    /// In the lane's thread.
    void run(Lane, const Ticket&, const Work&);
    void finish(Lane, quint64 number, const Deliver&);

    std::map<Lane, Ticket> current_;
    quint64 next_ = 1;
    std::atomic<int> forgiven_ = 0;
    std::map<Lane, QThreadPool> threads_;
    /// Of the two below. What threads hand each other goes through it and not through Qt's queues: ThreadSanitizer cannot see
    /// into Debian's Qt, which is built without it.
    std::mutex handing_over_;
    std::map<Lane, std::deque<Waiting>> waiting_;
    std::deque<std::function<void()>> arrived_;
};

/// Of a file of the model that is no longer what it was while it is open; results made meanwhile are dropped.
ErrorFacts facts_of_lost(const std::filesystem::path& file);

}  // namespace headlight::ui

Q_DECLARE_METATYPE(headlight::ui::Failure)
