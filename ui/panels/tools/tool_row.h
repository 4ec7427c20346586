// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/document/document.h"
#include "ui/panels/tools/attention_switch.h"
#include "ui/panels/tools/ring_toggle.h"
#include "ui/panels/tools/transfer_popover.h"

#include <QLabel>
#include <QSlider>
#include <QToolButton>
#include <QWidget>

#include <functional>
#include <map>

namespace headlight::ui {

/// Above the canvas: the views as tabs, and at the right how weights are prepared and drawn, shared by all views.
class ToolRow : public QWidget {
    Q_OBJECT
public:
    ToolRow(Document&, QWidget* parent = nullptr);

    /// The view of the side that has the focus.
    void set_view(const View&);
    QToolButton& tab(const View& view) { return *tabs_.at(view); }
    TransferPopover& transfer() { return *popover_; }
    /// False where the view has no use for it.
    bool open_transfer();
    RingToggle& hide_sinks() { return *sinks_; }
    RingToggle& hide_special() { return *special_; }
    RingToggle& words() { return *words_; }
    QToolButton& more() { return *more_; }
    QToolButton& view_options() { return *drawing_; }
    QToolButton& pair_filter() { return *filter_; }
    QToolButton& pool() { return *pool_; }
    QToolButton& examples() { return *examples_; }
    QToolButton& tensors() { return *tensors_; }
    QToolButton& split() { return *split_; }
    AttentionSwitch& attention() { return *attention_; }
    /// Of the view's option that is worth one; hidden in other views.
    QSlider& slider() { return *slider_; }

Q_SIGNALS:
    void view_asked(const headlight::ui::View& view);
    void pool_asked();
    void tensors_asked();
    void example_asked(int index);

protected:
    void resizeEvent(QResizeEvent*) override;

private:
    QToolButton* menu_button(const QString& name);
    void build_menus();
    void show_document();
    void fit_tabs();
    void fill_options(QMenu&);
    void add_field(QMenu&, const figure::ViewOption&);
    void set_value(const std::string& name, const std::string& value);
    std::string value_of(const figure::ViewOption&) const;
    QString options_text() const;
    void make_slider();
    void show_slider();
    const figure::ViewOption* slider_option() const;
    QString pool_text() const;
    void edit(const std::function<void(ViewOptions&)>&);

    Document& document_;
    View view_ = "head";
    std::map<View, QToolButton*> tabs_;
    std::map<View, QAction*> folded_;  ///< the same in the menu, where there is no room for the tab
    QWidget* tools_;
    QToolButton *more_, *drawing_, *transfer_, *filter_, *split_, *pool_, *examples_, *tensors_;
    RingToggle *sinks_, *special_, *words_;
    QLabel *slider_name_, *slider_value_;
    QSlider* slider_;
    TransferPopover* popover_;
    AttentionSwitch* attention_;
};

QString filter_name(analyze::PairFilter);

}  // namespace headlight::ui
