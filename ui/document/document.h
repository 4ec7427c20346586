// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/analyze/heads/head_table.h"
#include "headlight/figure/core/request.h"
#include "headlight/model/generate.h"
#include "headlight/trace/trace.h"
#include "ui/document/batch_runner.h"
#include "ui/document/corpus_in_use.h"
#include "ui/document/heads/head_finder.h"
#include "ui/document/heads/head_probe.h"
#include "ui/document/open_model.h"
#include "ui/document/other_run.h"
#include "ui/document/reference_check.h"
#include "ui/document/selection_model.h"
#include "ui/document/state.h"
#include "ui/document/token_predictions.h"
#include "ui/jobs/jobs.h"

#include <QObject>
#include <QTimer>

#include <functional>
#include <map>
#include <memory>

namespace headlight::ui {

/// The state of the window: model, prompt, how it is shown, and the trace of the last finished run. Editing the prompt runs
/// it again after a short pause; an outdated run is cancelled and its result dropped.
class Document : public QObject {
    Q_OBJECT
public:
    /// filter: the finder's result, the probe of the heads, or the measures of a corpus, arrived after the options or the trace
    /// it belongs to; batch: the texts of the batch arrived or were dropped; run: why_not_run() has changed; other: the run
    /// beside this one has arrived, or went.
    enum class Change { model, prompt, trace, options, views, file, filter, batch, run, other };
    Q_ENUM(Change)

    Document(Jobs&, model::LoadOptions, QObject* parent = nullptr);

    SelectionModel& selection() { return selection_; }
    const SelectionModel& selection() const { return selection_; }
    const OpenModel& model() const { return model_; }
    const PromptText& prompt() const { return prompt_; }
    const ViewOptions& options() const { return options_; }
    const OpenViews& views() const { return views_; }
    /// The trace that is shown: of an encoder-decoder model, the part of the run that the options choose.
    const std::shared_ptr<const trace::Trace>& trace() const { return trace_; }
    /// The last finished run.
    const std::shared_ptr<const trace::Trace>& run_trace() const { return run_; }
    /// The run has several attentions to choose from.
    bool has_parts() const { return run_ && run_->part(model::Stack::cross); }
    /// The one that is shown; decoder where there is no choice.
    model::Stack attention() const { return trace_ && trace_ != run_ ? trace_->config().stack : model::Stack::decoder; }
    const std::shared_ptr<const analyze::HeadTable>& head_table() const { return measured_.table; }
    /// Of the run that the views show, or B - A; A's where the two have other numbers of heads.
    std::shared_ptr<const analyze::HeadTable> shown_table() const;
    /// Of B, with what is known of its model; null: there is none, or it has other numbers of heads.
    const std::shared_ptr<const analyze::HeadTable>& table_of_b() const { return of_b_.table; }
    /// Selects the head that shows most, and pins its strongest pair.
    void show_interesting();
    /// The finder's result on this trace.
    const HeadFinder& finder() const { return finder_; }
    /// The predictions under the token strip.
    const TokenPredictions& predictions() const { return predictions_; }
    /// Of the open model.
    const ReferenceCheck& reference() const { return reference_; }
    const HeadProbe& probe() const { return probe_; }
    /// The texts of the options' file; null: there are none, or they are still running.
    const std::shared_ptr<const figure::TextBatch>& batch() const { return texts_.texts(); }
    /// The run beside this one.
    const OtherRun& other() const { return other_; }
    /// The shown trace and the same part of the other run; null: there is none.
    std::shared_ptr<const figure::Beside> beside() const;
    void set_side(figure::Side);
    /// A and B next to each other.
    void set_both_sides();
    /// A until B is there.
    figure::Side shown_side() const;
    /// The text of A has become another one altogether since B's was chosen: they share less than half of the tokens of the
    /// shorter. Until keep_b() there is nothing beside A.
    struct Unrelated {
        std::int64_t shared = 0, of = 0;
    };
    const std::optional<Unrelated>& unrelated_b() const { return unrelated_b_; }
    void keep_b();
    /// B's text was chosen beside another text of A.
    bool b_is_of_another_text() const;
    /// B is wanted: another text or model, or edits that can be read.
    bool has_other() const { return options_.other.on || any_edit(options_.edits); }

    /// The edits under which B runs. Each of these is one step of undo; words that cannot be read are kept, and B runs without
    /// them (problem_of_edit()).
    const EditList& edits() const { return options_.edits; }
    void set_edits(const EditList&);
    /// As the last one; "off …" is switched off. Where A alone was shown, B is shown from now on.
    void add_edit(const QString& words);
    void add_edits(const QStringList& words);
    void set_edit(std::size_t line, const QString& words);
    /// Gives the line that is on and begins like this these words, or adds them: a weight that is dragged.
    void put_edit(const QString& beginning, const QString& words);
    void enable_edit(std::size_t line, bool on);
    void remove_edit(std::size_t line);
    void move_edit(std::size_t from, std::size_t to);
    /// Why a line has no part in B: it cannot be read, or the model or the text does not have what it names; none: it has, or is
    /// off.
    std::optional<ErrorFacts> problem_of_edit(std::size_t line) const;
    /// What is remarkable about it in B: an edge that the model masks, a row without weight.
    QStringList notes_of_edit(std::size_t line) const;
    /// What is taken from the store of the options.
    const CorpusInUse& corpus() const { return corpus_; }
    /// A run has gone on in this store.
    void reread_corpus(const QString& folder);
    /// The way back: measures of the text in place of the corpus', and no filter that asks the corpus.
    void leave_corpus();
    /// The trace belongs to the open model and to the prompt as it stands now.
    bool up_to_date() const { return trace_ && of_open_model_ && shown_prompt_ == prompt_; }
    bool opening() const { return opening_.has_value(); }
    /// True while pins are carried over to a new trace, which is no undo step.
    bool adapting() const { return adapting_; }

    /// Why the text as it stands has no trace and none is on its way.
    enum class NotRun {
        no,
        stopped,
        refused,   ///< with an error
        long_text  ///< run_now() runs it; long_text_note() says what that takes
    };
    NotRun why_not_run() const { return not_run_; }
    const QString& long_text_note() const { return long_text_note_; }

    void open_model(const QString& reference);
    /// What the first run of the model that is being opened selects.
    void look_first(const FirstLook&);
    /// Opens the open model again, which then computes in this type, as do those that are opened later. The type stays as it was
    /// where that fails.
    void set_compute_type(model::ComputeType);
    model::ComputeType compute_type() const { return load_.dtype; }
    /// A file of the open model was cut short: nothing is run or generated until a model is opened.
    void lose_model(const ErrorFacts&);
    /// Runs the probe if its measures tint or find the heads, however long it takes.
    void ask_for_shown();
    void set_prompt(const PromptText&);
    /// The prompt has the input that the open model reads: a text or a picture.
    bool has_input() const;
    void set_options(const ViewOptions&);
    /// `change` is made to a copy, which takes their place.
    void edit_options(const std::function<void(ViewOptions&)>& change);
    void edit_views(const std::function<void(OpenViews&)>& change);
    void edit_prompt(const std::function<void(PromptText&)>& change);
    void set_attention(model::Stack);
    void set_views(const OpenViews&);
    /// Restricts the views to these heads of any layers: the finder lists them, all others are painted faintly, and those of
    /// the shown layer (or of the layer with most of them) become active. `add`: in addition to the heads that match the
    /// filter. An empty list removes the restriction.
    void choose_heads(std::vector<HeadId>, bool add);
    void run_now();
    /// Stops opening, running or generating; the tokens generated so far stay and are run.
    void stop();

    /// Lets the model continue the text: tokens are added as they are generated, then the whole text is run. One undo step.
    /// Returns the reason when this model or prompt cannot be continued.
    std::optional<ErrorFacts> generate(const model::GenerateOptions&);
    std::optional<ErrorFacts> why_no_continuation() const;
    bool continuing() const { return continuing_; }
    /// The last generated tokens beside those that the model generates under the edits, with the same settings and draws.
    struct Continued {
        QString common;             ///< what both begin with
        QString plain, plain_rest;  ///< the first token that differs, and what follows; empty: it has ended, or nothing differs
        QString edited, edited_rest;
        QString note;  ///< why there is nothing to show, or what is remarkable
        bool same() const { return plain.isEmpty() && edited.isEmpty(); }
    };
    /// None: nothing was generated since the text or the edits changed, or no edit is on.
    const std::optional<Continued>& continued_under_edits() const { return continued_under_edits_; }
    /// Keeps the tokens generated so far as if they had been typed.
    void end_continuation();
    /// The text that the trace belongs to.
    const PromptText& shown_prompt() const { return shown_prompt_; }

    State state() const;
    /// For undo, redo and sessions; opens the state's model. The selection is restored once the text has been run. With the
    /// name of a session's file selection_lacks() says what of the selection the model or the text does not have.
    void restore(const State&, const QString& session_file = {});

    QString file() const { return file_; }
    void set_file(const QString&);
    bool modified() const { return modified_; }
    void set_modified(bool);

Q_SIGNALS:
    void changed(headlight::ui::Document::Change change);
    void predictions_changed();
    void reference_changed();
    void selection_lacks(const headlight::ErrorFacts& facts);
    /// Generating has ended or was stopped; `note`: a line for the status strip.
    void continued(const QString& note);

private:
    /// Of one part of a run: the measures of its heads, and the head and the pair of tokens that show most.
    struct Measured {
        std::shared_ptr<const analyze::HeadTable> table;
        HeadId head;
        std::optional<analyze::InterestingPair> pair;  ///< none for a single token
    };
    using Tables = std::map<model::Stack, Measured>;
    static Tables tables_of(const trace::Trace& run, const CancelToken&, const Progress&);
    void schedule_run();
    enum class Asked { by_edit, by_hand };
    void run(Asked = Asked::by_edit);
    void end_run(NotRun);
    void accept_model(OpenModel, const model::LoadOptions&);
    void accept_run(std::shared_ptr<const trace::Trace>, Tables, const PromptText&);
    void take_part();
    void change_options(const ViewOptions&, const std::optional<figure::Selection>& of_part);
    void pin_first_pair();
    void turn_selection(const trace::Trace& from, const std::optional<figure::Selection>& known);
    std::optional<ErrorFacts> carry_selection();
    void look_at_predictions();
    void look_at_other();
    void judge_b();
    bool is_other_text() const;
    void look_for_heads();
    void change_edits(const EditList&, bool show);
    bool add_probe();
    void take_probe();
    void add_corpus();
    void take_corpus();
    void begin_opening(const QString& reference, const model::LoadOptions&);
    void end_opening();
    void choose_again(const figure::Selection& chosen);
    void take_piece(int number, const QString& piece);
    int pause_ms() const;

    Jobs& jobs_;
    model::LoadOptions load_;
    SelectionModel selection_;
    OpenModel model_;
    PromptText prompt_, shown_prompt_;
    ViewOptions options_;
    OpenViews views_;
    std::shared_ptr<const trace::Trace> run_, trace_;
    Tables tables_;      ///< of each part of the run
    Measured measured_;  ///< of what is shown
    /// The measures of B's heads, and what they are made of.
    struct OfB {
        std::shared_ptr<const analyze::HeadTable> measures, of_a;
        HeadFinder::CorpusPtr corpus;
        std::shared_ptr<const analyze::HeadTable> table;
        bool operator==(const OfB&) const = default;
    };
    OfB of_b_;
    std::optional<Unrelated> unrelated_b_;
    QString b_chosen_for_;      ///< the text of A then
    bool b_kept_ = false;       ///< although it is unrelated
    QString tokens_chosen_on_;  ///< the model that the tokens in the views' options are of
    HeadFinder finder_;
    TokenPredictions predictions_;
    ReferenceCheck reference_;
    HeadProbe probe_;
    BatchRunner texts_;
    OtherRun other_;
    CorpusInUse corpus_;
    std::optional<figure::Selection> pending_selection_;
    FirstLook wanted_look_;                                     ///< of the first run of the model that is being opened
    bool finds_pair_ = false;                                   ///< for a chosen head, to pin it
    std::optional<figure::Selection> first_look_;               ///< chosen by the program, on the text and model that are shown
    std::vector<std::string> selected_tokens_, selected_keys_;  ///< of the last trace, which the pins refer to
    /// Pins of an encoder-decoder run, by text: target tokens are queries of the decoder's and of the cross attention, source
    /// tokens are keys of the cross attention and both in the encoder's.
    struct TextPins {
        std::vector<Position> target_queries, target_keys, source_queries, source_keys;
    } pins_;
    QTimer pause_;
    QString file_;
    QString wanted_model_;  ///< the state's: the open one, or the one that is opened to restore a state
    QString session_file_;  ///< that the pending selection comes from
    NotRun not_run_ = NotRun::no;
    QString long_text_note_;
    struct Opening {
        QString reference;
        model::LoadOptions load;
    };
    std::optional<Opening> opening_;  ///< the model that is on its way
    bool adapting_ = false, modified_ = false;
    bool of_open_model_ = false;  ///< the run, and what is made from it
    bool continuing_ = false;
    int continuations_ = 0;
    std::optional<Continued> continued_under_edits_;
};

/// The sentence a first start shows.
extern const char* const example_sentence;

}  // namespace headlight::ui
