// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/document/document.h"
#include "ui/panels/prompt/b_line.h"
#include "ui/panels/prompt/generate_popover.h"
#include "ui/panels/prompt/memory_form.h"
#include "ui/panels/prompt/prompt_edit.h"
#include "ui/panels/prompt/text_ruler.h"
#include "ui/panels/prompt/token_strip.h"
#include "ui/panels/tools/ring_toggle.h"

#include <QHBoxLayout>
#include <QPushButton>
#include <QToolButton>

namespace headlight::ui {

/// The text (and sentence B), Run or Stop; below it the tokens.
class PromptBar : public QWidget {
    Q_OBJECT
public:
    PromptBar(Document&, Jobs&, QWidget* parent = nullptr);

    PromptEdit& text() { return *text_; }
    TokenStrip& tokens() { return *tokens_; }
    TextRuler& ruler() { return *ruler_; }
    RingToggle& predictions() { return *predictions_; }
    QPushButton& image_button() { return *image_; }
    /// Places in the row of the text for the first row of a low window.
    QHBoxLayout& lead() { return *lead_; }
    QHBoxLayout& trail() { return *trail_; }
    QPushButton& compare_button() { return *compare_; }
    BLine& b_line() { return *b_line_; }
    QPushButton& edit_button() { return *edit_; }
    /// Without Generate, Compare and Edit, which the menu has.
    void fold_buttons(bool);
    QPushButton& generate_button() { return *generate_; }
    GeneratePopover& generate_settings() { return *generate_settings_; }
    void toggle_pair();
    void open_generate_settings();
    MemoryPopover& memory() { return *memory_; }
    void open_memory();
    /// Length, time and memory of the run; the memory grows with what figures keep.
    void show_facts();

Q_SIGNALS:
    void generate_asked();

private:
    void edited();
    void show_document();
    void show_running();

    Document& document_;
    Jobs& jobs_;
    QToolButton* pair_button_;
    PromptEdit *text_, *pair_;
    QPushButton* image_;  ///< in place of the text where the model reads pictures
    QPushButton *run_, *generate_, *compare_, *edit_;
    QHBoxLayout *lead_, *trail_;
    BLine* b_line_;
    QToolButton* generate_more_;
    GeneratePopover* generate_settings_;
    TokenStrip* tokens_;
    TextRuler* ruler_;
    QToolButton* facts_;  ///< opens who has the memory
    MemoryPopover* memory_;
    RingToggle* predictions_;
    QTimer show_stop_;
    bool stop_shown_ = false;
};

/// "1.9 MB"
QString memory_text(std::int64_t);
/// "14 ms"
QString seconds_text(double);

}  // namespace headlight::ui
