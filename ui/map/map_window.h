// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/figure/map/map_request.h"
#include "headlight/map/run/map_run.h"
#include "headlight/map/run/new_points.h"
#include "headlight/map/search/search.h"
#include "ui/canvas/recipe.h"
#include "ui/document/document.h"
#include "ui/map/map_canvas.h"
#include "ui/map/map_facts.h"
#include "ui/map/map_options.h"
#include "ui/map/token_panel.h"

#include <QElapsedTimer>
#include <QLabel>
#include <QLineEdit>
#include <QProgressBar>
#include <QPushButton>
#include <QStackedWidget>
#include <QTimer>
#include <QToolButton>
#include <QTreeWidget>
#include <QWidget>

#include <memory>
#include <optional>
#include <set>

namespace headlight::ui {

/// The page of the map of queries and keys: all heads at once or one by itself, of the window's text or of many texts. Its head
/// is the window's as long as the map is of the open model.
class MapWindow : public QWidget {
    Q_OBJECT
public:
    /// Opens with what a session has kept.
    MapWindow(Document&, Jobs&, const MapPage& = {}, QWidget* parent = nullptr);
    ~MapWindow() override;

    /// Draws a map; the previous one stays until the new one is ready. Errors appear in the message line.
    /// `anew`: the texts are read again, though they are those on screen.
    void draw(const MapOrder&, bool anew = false);
    const MapOrder& order() const { return order_; }
    /// As a session keeps it.
    MapPage page() const;
    void restore(const MapPage&);
    /// Shows one head by itself; none: all of them.
    void show_head(std::optional<HeadId>);
    /// The current picture.
    Exportable exportable() const;
    void say_written(const QString& file);
    void stop();

    enum class Side { token, search, lasso };
    void show_side(Side);

    MapCanvas& canvas() { return *canvas_; }
    TokenPanel& token_panel() { return *token_; }
    QLabel& message() { return *message_; }
    QComboBox& method() { return *method_; }
    QComboBox& dims() { return *dims_; }
    QComboBox& color() { return *color_; }
    QComboBox& search_kind() { return *search_kind_; }
    QLineEdit& search_field() { return *search_; }
    QTreeWidget& found_heads() { return *found_; }
    QLabel& search_note() { return *search_note_; }
    QLineEdit& typed_field() { return *typed_; }
    QTreeWidget& shares() { return *shares_; }
    QLabel& lasso_note() { return *lasso_note_; }
    QPushButton& pause_button() { return *pause_; }
    QPushButton& export_button() { return *export_; }
    QPushButton& stop_button() { return *stop_; }
    QAction& show_action(std::size_t index) { return *show_actions_.at(index); }
    /// Whether something is being laid out, or is not on screen yet.
    bool settling() const { return frames_.isActive(); }
    const std::shared_ptr<map::MapRun>& running() const { return run_; }
    const std::shared_ptr<const MapTexts>& texts() const { return texts_; }

Q_SIGNALS:
    /// Emitted to open a text of the map, with a token and a head.
    void example_chosen(const headlight::ui::TextExample& example);
    void export_asked(const headlight::ui::Exportable& what);
    /// page() is another now, by the user's doing.
    void page_changed();
    /// "What am I seeing?"
    void explanation_asked(const QString& title, const QString& text);

protected:
    bool event(QEvent*) override;
    void keyPressEvent(QKeyEvent*) override;
    void showEvent(QShowEvent*) override;

private:
    // --- map_build.cpp: widgets ------------------------------------------------------------------------------------------
    void build();
    QLayout* top_row();
    QLayout* look_row();
    QWidget* side();
    void connect_parts();
    // --- map_window.cpp: the page ----------------------------------------------------------------------------------------
    void restyle();
    void show_switches();
    void tell_page();
    void show_work();
    void say(const QString&, bool wrong = false);
    void take_controls();
    void take_look();
    void step_head(int layers, int heads);
    void choose_head(HeadId);
    void follow_selection();
    bool linked() const;
    QString input_word() const;
    bool step_back();
    bool takes(const QKeyEvent&) const;
    void follow_text();
    void ask_for_texts(bool folder);

    // --- map_runs.cpp: background work -----------------------------------------------------------------------
    struct Settling;
    void take_map(std::shared_ptr<map::MapRun>, std::shared_ptr<const MapTexts>, std::shared_ptr<figure::MapFigure>);
    void take_changes();
    void end_run();
    void show_failed(Jobs::Lane, const Failure&);
    void pause_or_go_on();
    void go_on();
    /// Whether the current work is for the map on screen.
    bool current() const { return run_ && settling_ && settling_ == shown_settling_; }
    void keep_shown();
    void name_model();
    void show_options();
    void put_first(std::size_t head);
    figure::MapRequest request() const;

    // --- map_marks.cpp: points, search, lasso ----------------------------------------------------------------------------
    void point_at(const QString& tip, std::optional<figure::MapPoint>);
    void choose_point(const figure::MapPoint&);
    void choose_by_hand(const figure::MapPoint&);
    void pin_token(const figure::MapPoint&);
    void ask_attention();
    void forget_point();
    void ask_nearest(const figure::MapPoint&);
    void forget_nearest();
    void show_lines();
    void open_text();
    void search();
    void take_lasso(const std::vector<std::int32_t>&);
    void clear_hits();
    void clear_marks();
    void step_point(int by);
    void step_towards(QPointF way);
    void place_guests();

    Document& document_;
    Jobs& jobs_;
    MapOrder order_;  ///< requested
    MapOrder shown_;  ///< on screen
    std::shared_ptr<map::MapRun> run_;
    std::shared_ptr<const MapTexts> texts_;
    std::shared_ptr<Settling> settling_, shown_settling_;  ///< of the requested map, and of the one on screen
    std::weak_ptr<const trace::Trace> drawn_trace_;        ///< the run of the window's text in the drawn map
    std::shared_ptr<const map::NewPoints> placer_;         ///< of placer_run_
    std::weak_ptr<map::MapRun> placer_run_;
    QTimer frames_, first_pause_, search_pause_, near_pause_, typing_pause_;
    QElapsedTimer placed_;
    std::vector<figure::MapLine> near_lines_;
    std::optional<figure::MapPoint> near_, chosen_before_;  ///< before the last click
    std::string searched_;  ///< the search behind the marked points; empty: they come from a lasso, or there are none
    map::SearchKind searched_by_ = map::SearchKind::token;
    QString other_model_;  ///< the message that the map is not of the open model; empty: it is
    bool paused_ = false, stopped_ = false, following_ = false;
    std::optional<MapPage> told_;  ///< the last page_changed() was about it

    MapCanvas* canvas_;
    TokenPanel* token_;
    MapOptionsPopover* more_;
    QLabel *message_, *pointed_, *head_name_, *search_note_, *lasso_note_;
    QComboBox *method_, *dims_, *preset_, *color_, *search_kind_;
    QLineEdit *search_, *typed_;
    QTreeWidget *found_, *shares_;
    QProgressBar* progress_;
    QPushButton *texts_button_, *more_button_, *show_button_, *pause_, *stop_, *export_, *all_heads_;
    QToolButton* lasso_tool_;
    std::vector<QToolButton*> tabs_;
    std::vector<QAction*> show_actions_;
    QStackedWidget* side_;
};

}  // namespace headlight::ui
