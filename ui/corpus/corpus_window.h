// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/figure/corpus/corpus_views.h"
#include "ui/canvas/figure_canvas.h"
#include "ui/document/document.h"
#include "ui/document/state.h"

#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QProgressBar>
#include <QPushButton>
#include <QSpinBox>
#include <QTimer>
#include <QTreeWidget>
#include <QWidget>

namespace headlight::ui {

class CorpusForm;
struct CorpusOrder;

/// The page of a corpus: makes or opens a store, runs texts in the background, and shows the store as it grows. A store is
/// shown without its model; an example opens on the page of the text with its pair pinned.
class CorpusWindow : public QWidget {
    Q_OBJECT
public:
    CorpusWindow(Document&, Jobs&, QWidget* parent = nullptr);
    ~CorpusWindow() override;

    /// Shows a store; errors appear in the message line.
    void open_store(const QString& folder);
    /// Runs texts with the open model. The store is shown as soon as its first part exists.
    void run(const CorpusOrder&);

    FigureCanvas& canvas() { return *canvas_; }
    QTreeWidget& views() { return *views_; }
    QComboBox& measure() { return *measure_; }
    QComboBox& labels() { return *labels_; }
    QPushButton& probe_button() { return *probe_; }
    QLineEdit& question() { return *question_; }
    QLineEdit& token() { return *token_; }
    QSpinBox& layer() { return *layer_; }
    QSpinBox& head() { return *head_; }
    QSpinBox& neuron() { return *neuron_; }
    QLabel& facts() { return *facts_; }
    QLabel& message() { return *message_; }
    QPushButton& stop_button() { return *stop_; }
    QPushButton& use_button() { return *use_; }
    QPushButton& export_button() { return *export_; }
    const std::shared_ptr<const corpus::StoredCorpus>& stored() const { return stored_; }
    void choose_view(const QString& id);
    /// The current figure, recomputed for the file.
    void write(const QString& file);
    /// Whether a job in the lane for files belongs to this page.
    bool exporting() const { return exporting_; }

Q_SIGNALS:
    /// Clicked: a head of a figure.
    void head_chosen(headlight::HeadId head);
    /// Clicked: an example, a trigger or a sentence.
    void example_chosen(const headlight::ui::TextExample& example);
    void written(const QString& file);

private:
    void build();
    void fill_views();
    void fill_measures();
    void fill_labels();
    void show_store(figure::StorePtr);
    void bound_boxes();
    void refresh();
    enum class Reread { in_passing, last };
    void reread(Reread);
    void end_run();
    /// Runs the probe that the view shows, of the labels of the box.
    void probe();
    void show_probe();
    void stop();
    void show_work();
    void show_failed(Jobs::Lane, const Failure&);
    void show_controls();
    void restyle();
    void clicked(const figure::Hit&);
    /// Numbers from the options of a clicked mark: "chunk", and "query" and "key" (tokens, of several the first and "query_last",
    /// "key_last") or "word" and "target".
    using Places = std::map<std::string, std::int64_t>;
    void open_example(const Places&);
    void use();
    void choose_heads(const std::vector<HeadId>&, bool add);
    bool fits_window() const;
    void ask_for_texts();
    void ask_for_store();
    void ask_for_file();
    void say(const QString&, bool wrong = false);
    const figure::CorpusView* current_view() const;
    figure::CorpusRequest request() const;
    /// Without the open model where another one ran the store. Hashing reads the weights: not for the GUI thread.
    static figure::CorpusRequest for_store(figure::CorpusRequest, const corpus::StoredCorpus&);

    Document& document_;
    Jobs& jobs_;
    SelectionModel selection_;  ///< only for the figures on this page
    figure::StorePtr stored_;
    QString running_;                           ///< folder of the store of the current run
    OpenModel running_with_;                    ///< the window may open another model meanwhile
    QTimer reread_;                             ///< during a run
    bool clicked_ = false;                      ///< a head of the answer was selected
    std::pair<std::string, std::string> cell_;  ///< of a confusion matrix, selected: label and prediction
    bool follows_run_ = false;                  ///< no other store was opened meanwhile
    enum class Outcome { stopped, finished, failed } outcome_ = Outcome::stopped;  ///< of the run
    bool stopping_ = false, exporting_ = false, probing_ = false;
    bool figure_failed_ = false;  ///< reported by the message
    QTreeWidget* views_;
    FigureCanvas* canvas_;
    QLabel *facts_, *message_, *pointed_, *measure_label_;
    QComboBox *measure_, *x_, *y_, *labels_;
    QPushButton* probe_;
    QSpinBox *layer_, *head_, *neuron_;
    QLineEdit *question_, *token_;
    QProgressBar* progress_;
    QPushButton *run_, *stop_, *use_, *export_;
};

}  // namespace headlight::ui
