// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/document/document.h"
#include "ui/style/own_tip.h"

#include <QAbstractScrollArea>
#include <QHash>

namespace headlight::ui {

/// One chip per token on one line that scrolls and never wraps. Hover and click select the position everywhere:
/// a click the query, Shift+click the key, Ctrl+click adds; while a weight is explained, Shift+click on a second key compares
/// with it.
class TokenStrip : public QAbstractScrollArea {
    Q_OBJECT
public:
    TokenStrip(Document&, QWidget* parent = nullptr);

    /// Of a token that looks, in the strip's viewport; empty outside of the text.
    QRect chip_rect(Position) const;
    /// Of a token of the source, which stands in front of the target while the cross attention is shown.
    QRect source_rect(Position) const;
    void reveal(Position);
    /// Scrolls so that the token stands in the middle.
    void centre(Position);
    /// The first and the last token of the text that looks which are in sight; none where only a source is.
    std::optional<std::pair<Position, Position>> in_sight() const;
    /// The token at a point of the viewport, and whether it is one of the source.
    std::optional<std::pair<Position, bool>> token_at(QPointF) const;
    /// For screen readers: the tokens in order, those of the source first.
    int count() const { return int(chips_.size()); }
    QString spoken(int index) const;
    bool pinned(int index) const;
    QRect rect_of(std::size_t index) const;
    /// As a click does.
    void press(int index, Qt::KeyboardModifiers);
    /// Tokens whose text contains this (no case), in order.
    std::vector<Position> find(const QString& text) const;
    /// What stands under a token: log-probability and rank; empty where nothing is known. What the tooltip says of it.
    QString prediction_text(Position) const;
    QString prediction_tip(Position) const;
    /// Whose words the token belongs to, in a chat; empty elsewhere.
    QString role(Position) const;
    /// The model wrote it.
    bool written(Position) const;
    QSize sizeHint() const override { return {400, 28}; }
    QSize minimumSizeHint() const override { return {80, 28}; }

protected:
    void paintEvent(QPaintEvent*) override;
    void resizeEvent(QResizeEvent*) override;
    void mouseMoveEvent(QMouseEvent*) override;
    void mousePressEvent(QMouseEvent*) override;
    void mouseReleaseEvent(QMouseEvent*) override;
    void wheelEvent(QWheelEvent*) override;
    bool viewportEvent(QEvent*) override;
    void keyPressEvent(QKeyEvent*) override;
    void scrollContentsBy(int, int) override { viewport()->update(); }

private:
    struct Chip {
        QString faint, text;  ///< continuation mark, then the token
        int x = 0, width = 0, faint_width = 0;
        bool special = false;
        int sentence = 0;
        QString role;
        bool source = false;        ///< it is only attended to
        std::int64_t position = 0;  ///< in its text
        bool written = false;
    };
    void rebuild();
    void update_range();
    void follow_pin(bool reveal_it);
    Chip* add_chip(const text::TokenLabel&, int least, int sentence);
    const Chip* at(QPointF) const;
    void paint_chip(QPainter&, const Chip&) const;
    bool compared(const Chip&) const;
    void paint_prediction(QPainter&, const Chip&) const;
    void paint_masked(QPainter&) const;
    void paint_roles(QPainter&) const;
    /// Taller while predictions are shown, and for a chat.
    void adopt_height();
    void set_height();

    Document& document_;
    std::vector<Chip> chips_;
    OwnTip tip_;
    QHash<QString, double> widths_;     ///< of labels that were measured
    std::size_t first_ = 0;             ///< of the text that looks; before it the source
    std::optional<Position> followed_;  ///< the pinned query that was last brought into sight
    TextRange written_;                 ///< of the text that was shown last
    int width_ = 0;
    bool predicting_ = false;
    bool chat_ = false;
    std::optional<QPointF> drag_from_;
    int drag_value_ = 0;
    bool dragging_ = false;
};

}  // namespace headlight::ui
