// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/document/document.h"
#include "ui/panels/tools/attention_switch.h"
#include "ui/panels/tools/options_popover.h"
#include "ui/panels/tools/ring_toggle.h"
#include "ui/panels/tools/side_switch.h"
#include "ui/panels/tools/transfer_popover.h"

#include <QLabel>
#include <QSlider>
#include <QToolButton>
#include <QWidget>

#include <map>

namespace headlight::ui {

/// Above the canvas: the views as tabs, and below them how weights are prepared and drawn.
class ToolRow : public QWidget {
    Q_OBJECT
public:
    ToolRow(Document&, Jobs&, QWidget* parent = nullptr);

    /// The view of the side that has the focus.
    void set_view(const View&);
    QToolButton& tab(const View& view) { return *tabs_.at(view); }
    OptionsPopover& options() { return *options_; }
    /// False if the view does not use it.
    bool open_transfer();
    RingToggle& hide_sinks() { return *sinks_; }
    RingToggle& hide_special() { return *special_; }
    RingToggle& words() { return *words_; }
    QToolButton& more() { return *more_; }
    QToolButton& view_options() { return *drawing_; }
    QToolButton& batch() { return *batch_; }
    QToolButton& examples() { return *examples_; }
    QToolButton& tensors() { return *tensors_; }
    QToolButton& split() { return *split_; }
    AttentionSwitch& attention() { return *attention_; }
    SideSwitch& side() { return *side_; }
    /// Of the view's option with a slider; hidden in other views.
    QSlider& slider() { return *slider_; }

Q_SIGNALS:
    void view_asked(const headlight::ui::View& view);
    void batch_asked();
    void tensors_asked();
    void example_asked(int index);

protected:
    void resizeEvent(QResizeEvent*) override;

private:
    QToolButton* menu_button(const QString& name);
    void build_menus();
    void show_document();
    void fit_tabs();
    QString options_text() const;
    void make_slider();
    void show_slider();
    const figure::ViewOption* slider_option() const;
    QString batch_text() const;

    Document& document_;
    View view_ = figure::view_id(0);
    std::map<View, QToolButton*> tabs_;
    std::map<View, QAction*> views_in_menu_;  ///< those without a tab
    std::map<View, QAction*> folded_;         ///< the same in the menu, where a tab has no room
    QWidget* tools_;
    QToolButton *more_, *drawing_, *transfer_, *filter_, *split_, *batch_, *examples_, *tensors_;
    RingToggle *sinks_, *special_, *words_;
    QLabel *slider_name_, *slider_value_;
    QSlider* slider_;
    TransferPopover* popover_;
    OptionsPopover* options_;
    AttentionSwitch* attention_;
    SideSwitch* side_;
};

}  // namespace headlight::ui
