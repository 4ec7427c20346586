// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/panels/edits/edits_panel.h"

#include <QToolButton>
#include <QWidget>

namespace headlight::ui {

/// The edits above the view: a chip for each, what all do to the watched answer, and the button that opens their list. It is
/// there while there are edits.
class EditStrip : public QWidget {
    Q_OBJECT
public:
    EditStrip(Document&, EditsPanel&, QWidget* parent = nullptr);

    std::size_t chips() const { return chips_.size(); }
    QToolButton& chip(std::size_t line) { return *chips_.at(line).body; }
    QToolButton& remove_button(std::size_t line) { return *chips_.at(line).remove; }
    QToolButton& list_button() { return *list_; }
    /// "log p ·Mary −0.17 · ·Mary − ·John −2.67"
    QLabel& effect() { return *effect_; }

Q_SIGNALS:
    /// The list, with the caret in this line; none: in the field for another one.
    void line_asked(std::optional<std::size_t> line);
    void list_asked();

protected:
    void resizeEvent(QResizeEvent*) override;

private:
    struct Chip {
        QFrame* frame;
        QToolButton *body, *remove;
    };
    void show_document();
    void make_chips();
    void show_effect();
    void fit();

    Document& document_;
    EditsPanel& panel_;
    std::vector<Chip> chips_;
    class QHBoxLayout* row_;
    QToolButton *add_, *list_;
    QLabel* effect_;
};

}  // namespace headlight::ui
