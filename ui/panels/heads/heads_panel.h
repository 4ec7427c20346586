// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/canvas/figure_canvas.h"
#include "ui/document/document.h"
#include "ui/panels/heads/filter_menu.h"
#include "ui/panels/heads/finder_field.h"
#include "ui/panels/heads/head_list_model.h"

#include <QLabel>
#include <QSplitter>
#include <QTableView>
#include <QToolButton>

namespace headlight::ui {

/// The left dock: all heads at once, tinted by a measure, and the finder below.
class HeadsPanel : public QWidget {
    Q_OBJECT
public:
    HeadsPanel(Document&, QWidget* parent = nullptr);

    FigureCanvas& mosaic() { return *mosaic_; }
    /// Filled just before it is shown.
    QMenu& measure_menu() { return *measure_->menu(); }
    FinderField& finder() { return *finder_; }
    QTableView& list() { return *list_; }
    QLabel& finder_message() { return *message_; }
    /// What tints the mosaic when the finder asks for nothing, and how it is called.
    std::string measure() const;
    QString measure_name(const std::string& id) const;
    /// Why the mosaic shows another measure than the chosen one; hidden while it does not.
    QLabel& measure_note() { return *note_; }
    /// Which corpus is used beside the text, or why it is not; hidden while none was asked for.
    QLabel& corpus_note() { return *corpus_note_; }
    QToolButton& leave_corpus_button() { return *leave_corpus_; }
    FilterMenu& filters() { return *filters_; }
    HeadListModel& model() { return *model_; }
    /// Back to the height that the model's shape asks for.
    void reset_share();
    /// Between mosaic and finder.
    QSplitter& splitter() { return *splitter_; }

protected:
    bool eventFilter(QObject*, QEvent*) override;
    void resizeEvent(QResizeEvent*) override;

private:
    void build_layout();
    void share_height();
    void reveal_focus();
    void refresh();
    void fill_menu();
    void show_corpus();
    void show_message();
    void show_mistake(const ErrorFacts&);
    void show_current();
    bool exists(const std::string& measure) const;
    bool may_come(const std::string& measure) const;
    bool is_coming(const std::string& measure) const;
    QString why_instead() const;
    std::vector<std::string> columns() const;
    std::string tint() const;
    void show_differences(const analyze::HeadTable& of_b_minus_a);
    figure::Style style_for_mosaic() const;

    Document& document_;
    FigureCanvas* mosaic_;
    QToolButton* measure_;
    FinderField* finder_;
    QLabel *title_, *note_, *message_, *count_, *corpus_note_;
    QToolButton* leave_corpus_;
    QTableView* list_;
    HeadListModel* model_;
    FilterMenu* filters_;
    QSplitter* splitter_;
    QWidget *mosaic_part_, *finder_part_;
    double mosaic_share_ = 0;  ///< of the height, as the user left it; 0: as the model's shape asks for
    bool following_ = false;
    std::string asked_measure_;
    QString asked_expression_;
    std::vector<std::string> asked_by_expression_;
    bool by_expression_ = false;  ///< the expression was asked after the measure
    QString listed_;              ///< what the list was sorted by
    bool to_top_ = false;
    std::optional<HeadId> listed_focus_;
};

}  // namespace headlight::ui
