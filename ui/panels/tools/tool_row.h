// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/document/document.h"
#include "ui/panels/tools/attention_switch.h"
#include "ui/panels/tools/options_popover.h"
#include "ui/panels/tools/side_switch.h"
#include "ui/panels/tools/subject_chips.h"
#include "ui/panels/tools/view_pills.h"

#include <QHBoxLayout>
#include <QToolButton>
#include <QWidget>

namespace headlight::ui {

/// Above the canvas: the questions, the views of the open one, what the view is about, and how it looks.
class ToolRow : public QWidget {
    Q_OBJECT
public:
    ToolRow(Document&, Jobs&, QWidget* parent = nullptr);

    /// The view of the side that has the focus.
    void set_view(const View&);
    ViewPills& views() { return *views_; }
    SubjectChips& subject() { return *subject_; }
    OptionsPopover& options() { return *options_; }
    /// The options with the scale of weights in front; false if the view does not use it.
    bool open_transfer();
    QToolButton& view_options() { return *drawing_; }
    QToolButton& batch() { return *batch_; }
    QToolButton& examples() { return *examples_; }
    QToolButton& pairs() { return *filter_; }
    QToolButton& split() { return *split_; }
    AttentionSwitch& attention() { return *attention_; }
    SideSwitch& side() { return *side_; }

Q_SIGNALS:
    void view_asked(const headlight::ui::View& view);
    void batch_asked();
    void example_asked(int index);

protected:
    void resizeEvent(QResizeEvent*) override;

private:
    QToolButton* menu_button(const QString& name);
    void build_menus();
    void show_document();
    void arrange();
    QString batch_text() const;

    Document& document_;
    View view_ = figure::view_id(0);
    ViewPills* views_;
    SubjectChips* subject_;
    QWidget *room_, *line_;  ///< of the chips; below the questions
    QToolButton *drawing_, *filter_, *split_, *batch_, *examples_;
    OptionsPopover* options_;
    AttentionSwitch* attention_;
    SideSwitch* side_;
    QHBoxLayout *first_, *second_, *third_;
};

}  // namespace headlight::ui
