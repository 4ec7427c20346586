// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/canvas/view_pane.h"
#include "ui/corpus/corpus_window.h"
#include "ui/dialogs/tour.h"
#include "ui/document/autosave.h"
#include "ui/document/history.h"
#include "ui/document/session.h"
#include "ui/map/map_window.h"
#include "ui/model/model_page.h"
#include "ui/panels/edits/edit_strip.h"
#include "ui/panels/edits/edits_panel.h"
#include "ui/panels/heads/heads_panel.h"
#include "ui/panels/inspector/inspector.h"
#include "ui/panels/prompt/prompt_bar.h"
#include "ui/panels/prompt/top_bar.h"
#include "ui/panels/status/error_panel.h"
#include "ui/panels/status/notice_bar.h"
#include "ui/panels/status/status_strip.h"
#include "ui/panels/tools/tool_row.h"
#include "ui/sweep/sweep_window.h"
#include "ui/window/command.h"
#include "ui/window/command_palette.h"
#include "ui/window/context_menus.h"
#include "ui/window/folding_menu_bar.h"
#include "ui/window/stacked_views.h"

#include <QFileSystemWatcher>
#include <QMainWindow>
#include <QPointer>
#include <QSplitter>
#include <QStackedWidget>

#include <map>
#include <memory>

namespace headlight::ui {

/// The window: five pages of one model. That of the text has prompt and tokens above, heads at the left, one or two views in the
/// middle, the inspector at the right; the status is below all. It connects the parts; Document and SelectionModel hold the
/// state.
class MainWindow : public QMainWindow {
    Q_OBJECT
public:
    explicit MainWindow(const model::LoadOptions& = {}, QWidget* parent = nullptr);
    ~MainWindow() override;

    Document& document() { return *document_; }
    Jobs& jobs() { return *jobs_; }
    History& history() { return *history_; }
    TopBar& top_bar() { return *top_bar_; }
    Page page() const { return page_; }
    void show_page(Page);
    ModelPage& model_page() { return *model_page_; }
    PromptBar& prompt_bar() { return *prompt_bar_; }
    HeadsPanel& heads_panel() { return *heads_; }
    Inspector& inspector() { return *inspector_; }
    EditsPanel& edits_panel() { return *edits_; }
    EditStrip& edit_strip() { return *edit_strip_; }
    ToolRow& tool_row() { return *tools_; }
    StatusStrip& status_strip() { return *status_; }
    ErrorPanel& error_panel() { return *errors_; }
    NoticeBar& notice_bar() { return *notice_; }
    ViewPane& left_pane() { return *left_; }
    ViewPane& right_pane() { return *right_; }
    /// The one that keys and exports are about.
    ViewPane& active_pane() {
        if (page_ == Page::model) return model_page_->pane();
        return right_active_ && document_->views().split ? *right_ : *left_;
    }
    QAction& action(Command command) const { return *commands_.at(command); }
    QAction& view_action(const View& view) const { return *view_actions_.at(view); }
    FoldingMenuBar& menus() { return *menus_; }
    ContextMenus& context_menus() { return *context_menus_; }
    QAction& question_action(std::size_t number) const { return *question_actions_.at(number); }
    /// Shows an example sentence.
    QAction& example(std::size_t index) const { return *examples_.at(index); }

    /// A model folder, a session file, a picture or a model's name.
    void open(const QString& path_or_name);
    /// The model that was just opened shows this view first.
    void open_with(const View&);
    Session session() const;
    /// `file`: where it comes from, for messages about it; empty: it is the program's own copy.
    void apply_session(const Session&, const QString& file = {});
    void restore_map();
    bool save_to(const QString& file);
    void show_failure(const Failure&);
    /// A file was cut short while it was mapped. One of the open model: says so and offers to open the model again, until that
    /// has worked.
    void lose_model(const ErrorFacts&);
    /// What the last window had open when it was closed: its session file, or the copy that was kept.
    void reopen_last();
    /// Offers that, unless it is what a start shows anyway.
    void offer_reopening();
    /// Adds a line to the edits and opens their panel; `number`: the number at its end is to be chosen.
    void add_edit(const QString& words, bool number);
    /// In one step of undo; "off …" is switched off.
    void add_edits(const QStringList& words);
    /// Adds a recipe's edits in the place of those that are there.
    void open_recipe(const QString& file);
    void save_recipe(const QString& file);
    void show_view(const View&);
    QString command_for_shown() const;
    /// The tour that is open; null when none is.
    Tour* tour() const { return tour_; }
    /// The page of a corpus; null before it was opened.
    CorpusWindow* corpus() const { return corpus_; }
    /// The page of the map of queries and keys; null before it was opened.
    MapWindow* map() const { return map_; }
    /// The page of sweeps; null before it was opened.
    SweepWindow* sweeps() const { return sweeps_; }
    void sweep(const SweepAsk&);
    void restore_panels(const QByteArray& state) {
        if (!state.isEmpty()) body_->restoreState(state);
    }
    /// Shows the newest session of a window that ended unexpectedly; false: there is none.
    bool restore_lost();
    /// Offers those that no window shows, which stay until they are opened or discarded; false: there is none.
    bool offer_lost();
    QMenu& lost_menu() { return *lost_; }

protected:
    void closeEvent(QCloseEvent*) override;
    void dragEnterEvent(QDragEnterEvent*) override;
    void dropEvent(QDropEvent*) override;
    void keyPressEvent(QKeyEvent*) override;
    void resizeEvent(QResizeEvent*) override;

private:
    void build();
    void connect_parts();
    void make_actions();
    void make_file_actions();
    void make_edit_actions();
    void make_edits_actions();
    void make_view_actions();
    void make_selection_actions();
    void make_help_actions();
    QAction* add(const QString& text, const QKeySequence&, std::function<void()>);
    QAction* add(Command, const QString& text, const QKeySequence&, std::function<void()>);
    void fill_model_menu();
    void fill_menus();
    void fill_recent();
    void refresh_actions();
    void refresh_views();
    /// On or off, of commands that have such a state.
    std::optional<bool> state_of(Command) const;
    /// Why a command cannot work now; empty: it can.
    QString why_not(Command) const;
    void fold_panels();
    void show_panel(QWidget& panel, bool);
    void reset_panels();
    void frame_active_pane();
    void open_text(const QString& file);
    void show_views();
    bool both_sides() const;
    bool right_is_active() const { return right_active_ && document_->views().split && !both_sides(); }
    void show_sides();
    void choose_view();
    void show_title();
    void show_description();
    void watch_model();
    void offer_opening_again();
    void take_change_of(const QString& file);
    void remember(const QString& list, const QString& what);
    void open_folder();
    void open_session_dialog();
    void choose_model();
    void open_picture_dialog();
    void open_picture(const QString& file);
    bool takes_pictures(const QString& doing, const QString& file = {});
    bool takes_texts();
    void add_texts();
    void make_page_actions();
    void make_corpus();
    void make_map();
    void make_sweeps();
    QUndoStack& undo_stack() { return page_ == Page::sweep && sweeps_ ? sweeps_->undo_stack() : history_->stack(); }
    void refresh_undo();
    FigureCanvas& canvas_of_page();
    /// What has the keys of the page.
    QWidget& focus_of_page();
    void fit_rows();
    void add_sweep_actions();
    void show_text_example(const TextExample&);
    void show_example(int index);
    QString session_folder() const;
    void save(bool ask);
    bool may_close();
    void remember_last();
    std::vector<LostSession> lost_sessions();
    void show_lost(const Session&);
    void open_lost(const LostSession&);
    void keep_recovered();
    void show_run_question();
    void ask_about_b();
    void tell_of_b(const ErrorFacts&);
    /// As the dialog was left, or with this format: "pdf".
    void export_figure(const QString& format = {});
    void copy_image();
    void generate();
    void search_tokens();
    void open_palette();
    PaletteItem place_item(const QString& text, const QString& note, Position, bool of_source) const;
    std::vector<PaletteItem> token_items(const QString& typed) const;
    std::vector<PaletteItem> places_for(const QString& typed) const;
    std::vector<PaletteItem> items_for(const QString& typed);
    void start_tour();

    std::unique_ptr<Jobs> jobs_;
    std::unique_ptr<Document> document_;
    std::unique_ptr<History> history_;
    std::unique_ptr<Autosave> autosave_;
    TopBar* top_bar_;
    QStackedWidget* stack_;
    QWidget* text_page_;
    ModelPage* model_page_;
    Page page_ = Page::text;
    std::optional<Page> wanted_page_;  ///< of a session, once its text has been run
    PromptBar* prompt_bar_;
    HeadsPanel* heads_;
    Inspector* inspector_;
    ToolRow* tools_;
    StatusStrip* status_;
    ErrorPanel* errors_;
    NoticeBar* notice_;
    ViewPane *left_, *right_;
    EditsPanel* edits_;
    EditStrip* edit_strip_;
    QSplitter *body_, *centre_split_;
    StackedViews* stacked_;  ///< views above edits
    FoldingMenuBar* menus_;
    QMenu* recent_ = nullptr;
    QString recovering_;     ///< the model of a lost session that is to be shown; empty: of none
    QMenu* lost_ = nullptr;  ///< sessions of windows that ended unexpectedly
    ContextMenus* context_menus_ = nullptr;
    QFileSystemWatcher watcher_;
    std::vector<QAction*> actions_;  ///< all of them, as the palette and the page of shortcuts list them
    std::map<Command, QAction*> commands_;
    std::map<View, QAction*> view_actions_;
    std::vector<QAction*> question_actions_;
    std::vector<QAction*> examples_;
    QPointer<CorpusWindow> corpus_;
    QPointer<MapWindow> map_;
    QPointer<SweepWindow> sweeps_;
    std::optional<intervention::SweepRequest> sweep_request_;  ///< of a session, until its page is opened
    std::optional<SweepNumbers> sweep_numbers_;                ///< likewise
    MapPage map_page_;                                         ///< of the page when it was last open
    bool restores_map_ = false;                                ///< the page is filled when the session's text has been run
    QPointer<Tour> tour_;
    std::map<QWidget*, bool> folded_;  ///< panels that a narrow window hides by itself
    int last_width_ = 0;
    bool right_active_ = false;
    bool shows_both_ = false;     ///< A and B next to each other
    bool asks_to_run_ = false;    ///< the notice is about a long text
    bool asks_about_b_ = false;   ///< the notice is about B
    bool had_pictures_ = false;   ///< the model before reads pictures
    bool recovered_ = false;      ///< a lost session is shown
    bool session_views_ = false;  ///< the model being opened is a session's, which says which views are open
};

}  // namespace headlight::ui
