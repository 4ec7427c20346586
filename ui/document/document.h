// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/analyze/heads/head_table.h"
#include "headlight/figure/core/request.h"
#include "headlight/model/generate.h"
#include "headlight/trace/trace.h"
#include "ui/document/head_finder.h"
#include "ui/document/reference_check.h"
#include "ui/document/selection_model.h"
#include "ui/document/state.h"
#include "ui/document/token_predictions.h"
#include "ui/jobs/jobs.h"

#include <QObject>
#include <QTimer>

#include <map>
#include <memory>

namespace headlight::ui {

/// A model that is open, and the name it was asked for with.
struct OpenModel {
    QString reference;  ///< as typed: a path, "novella-7m", "org/name"
    std::shared_ptr<const model::Model> model;
    std::shared_ptr<const text::Tokenizer> tokenizer;
    std::vector<std::pair<std::filesystem::path, std::uintmax_t>> files;  ///< weight files and their sizes when opened
};

/// Weights are mapped, not copied: reading a file that was cut short would end the program. Error when one has changed.
void check_files(const OpenModel&);

/// How a text is continued; kept from one start to the next.
struct ContinueSettings {
    static constexpr int most_tokens = 4096;
    model::GenerateOptions draw{.tokens = 20};  ///< `end` is taken from the model
    bool stop_at_end = true;                    ///< the token that ends a text ends this

    static ContinueSettings stored();
    void store() const;
};

/// The open model reads a picture in place of the text.
bool reads_pictures(const OpenModel&);

/// What the window is about: model, prompt, how it is shown, and the trace of the last finished run. Editing the prompt
/// runs again after a short pause; a run that is out of date is cancelled and its result dropped.
class Document : public QObject {
    Q_OBJECT
public:
    /// filter: what the finder found came later than the options or the trace that it belongs to; pool: the texts that
    /// are pooled came or went.
    enum class Change { model, prompt, trace, options, views, file, filter, pool };
    Q_ENUM(Change)

    Document(Jobs&, QString device, QObject* parent = nullptr);

    SelectionModel& selection() { return selection_; }
    const SelectionModel& selection() const { return selection_; }
    const OpenModel& model() const { return model_; }
    const PromptText& prompt() const { return prompt_; }
    const ViewOptions& options() const { return options_; }
    const OpenViews& views() const { return views_; }
    /// What is shown: of an encoder-decoder model the part of the run that the options choose.
    const std::shared_ptr<const trace::Trace>& trace() const { return trace_; }
    /// The last finished run.
    const std::shared_ptr<const trace::Trace>& run_trace() const { return run_; }
    /// It has several attentions to choose from.
    bool has_parts() const { return run_ && run_->part(model::Stack::cross); }
    /// The one that is shown; decoder where there is no choice.
    model::Stack attention() const { return trace_ && trace_ != run_ ? trace_->config().stack : model::Stack::decoder; }
    const std::shared_ptr<const analyze::HeadTable>& head_table() const { return head_table_; }
    /// What the finder's expression means on this trace.
    const HeadFinder& finder() const { return finder_; }
    /// Under the token strip.
    const TokenPredictions& predictions() const { return predictions_; }
    /// Of the model that is open.
    const ReferenceCheck& reference() const { return reference_; }
    /// The texts of the options' pool file, run through the model; null: none, or still on their way.
    const std::shared_ptr<const figure::TextPool>& pool() const { return pool_; }
    /// The trace belongs to the prompt as it stands now.
    bool up_to_date() const { return trace_ && shown_prompt_ == prompt_; }
    bool opening() const { return opening_; }
    /// True while pins are carried over to a new trace: no step of its own for undo.
    bool adapting() const { return adapting_; }

    void open_model(const QString& reference);
    void set_prompt(const PromptText&);
    /// The prompt has what the open model reads: a text, or a picture.
    bool has_input() const;
    void set_options(const ViewOptions&);
    void set_attention(model::Stack);
    void set_views(const OpenViews&);
    /// These heads and no others, of any layers: the finder lists them, every other head is painted faintly, and those of
    /// the shown layer (else of the layer with most of them) are active. `add`: beside the heads that the filter leaves.
    /// None: away with such a list.
    void choose_heads(std::vector<HeadId>, bool add);
    void run_now();
    /// Ends what the model does with the text; of a continuation what was written so far stays and is run.
    void stop();

    /// Lets the model continue the text: its tokens are added while it writes, then the whole is run. One step for undo.
    /// Gives the reason when that cannot be.
    std::optional<ErrorFacts> generate(const ContinueSettings&);
    std::optional<ErrorFacts> why_no_continuation() const;
    bool continuing() const { return continuing_; }
    /// What was written so far is the text as if typed.
    void end_continuation();
    /// The text that the trace belongs to.
    const PromptText& shown_prompt() const { return shown_prompt_; }

    State state() const;
    /// Undo, redo and sessions: everything at once; the selection again when the text has been run. `other_model`: it is
    /// of a model that is opened next, so nothing is run before.
    void restore(const State&, bool other_model = false);

    QString file() const { return file_; }
    void set_file(const QString&);
    bool modified() const { return modified_; }
    void set_modified(bool);

Q_SIGNALS:
    void changed(headlight::ui::Document::Change change);
    void predictions_changed();
    void reference_changed();
    /// The model has written what it had to, or was stopped; `note`: what there is to say of it.
    void continued(const QString& note);

private:
    using Tables = std::map<model::Stack, std::shared_ptr<const analyze::HeadTable>>;
    static Tables tables_of(const trace::Trace& run);
    void schedule_run();
    void run();
    void accept_model(OpenModel);
    void accept_run(std::shared_ptr<const trace::Trace>, Tables, const PromptText&);
    void take_part();
    void change_options(const ViewOptions&, const std::optional<figure::Selection>& of_part);
    void turn_selection(const trace::Trace& from, const std::optional<figure::Selection>& known);
    void carry_selection();
    void look_at_predictions();
    void take_piece(int number, const QString& piece);
    void run_pool();
    void forget_pool();
    void set_pool(std::shared_ptr<const figure::TextPool>);
    int pause_ms() const;

    Jobs& jobs_;
    QString device_;
    SelectionModel selection_;
    OpenModel model_;
    PromptText prompt_, shown_prompt_;
    ViewOptions options_;
    OpenViews views_;
    std::shared_ptr<const trace::Trace> run_, trace_;
    Tables tables_;  ///< of each part of the run
    std::shared_ptr<const analyze::HeadTable> head_table_;
    HeadFinder finder_;
    TokenPredictions predictions_;
    ReferenceCheck reference_;
    std::shared_ptr<const figure::TextPool> pool_;
    std::optional<figure::Selection> pending_selection_;
    std::vector<std::string> selected_tokens_, selected_keys_;  ///< of the last trace: what the pins stand on
    /// Pins of an encoder-decoder run belong to its texts: the target looks in the decoder's and in the cross attention,
    /// the source is looked at in the cross attention and in the encoder's.
    struct TextPins {
        std::vector<Position> target_queries, target_keys, source_queries, source_keys;
    } pins_;
    QTimer pause_;
    QString file_;
    bool opening_ = false, adapting_ = false, modified_ = false, pooling_ = false;
    bool continuing_ = false;
    int continuations_ = 0;
};

/// The sentence a first start shows.
extern const char* const example_sentence;

}  // namespace headlight::ui
