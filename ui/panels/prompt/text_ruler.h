// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/analyze/reach/sections.h"
#include "ui/document/document.h"

#include <QWidget>

namespace headlight::ui {

class TokenStrip;

/// A long text as a whole, below the tokens: its paragraphs, position numbers, pins, what of it the strip shows. A click or a
/// drag moves the strip there. Shift and a drag mark a passage, Shift and a click a paragraph: the passage that the view of reach
/// asks about. Hidden for texts that are short.
class TextRuler : public QWidget {
    Q_OBJECT
public:
    TextRuler(Document&, TokenStrip&, QWidget* parent = nullptr);

    const std::vector<analyze::TextSection>& sections() const { return sections_; }
    /// Of the widget: where a token stands, and the token at a place.
    double x_of(std::int64_t position) const;
    std::optional<Position> position_at(double x) const;
    /// The marked passage; none, or one given by its words.
    std::optional<std::pair<Position, Position>> passage() const;
    QSize sizeHint() const override { return {400, 30}; }

protected:
    void paintEvent(QPaintEvent*) override;
    void mousePressEvent(QMouseEvent*) override;
    void mouseMoveEvent(QMouseEvent*) override;
    void mouseReleaseEvent(QMouseEvent*) override;
    void keyPressEvent(QKeyEvent*) override;
    bool event(QEvent*) override;

private:
    void adopt_text();
    void mark(Position first, Position last);
    void go_to_section(std::int64_t step);
    QString tip(Position) const;

    Document& document_;
    TokenStrip& strip_;
    std::vector<analyze::TextSection> sections_;
    std::int64_t tokens_ = 0;
    std::optional<Position> marking_from_, marking_to_;
};

}  // namespace headlight::ui
