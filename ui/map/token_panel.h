// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/figure/map/map_figure.h"
#include "ui/map/map_facts.h"
#include "ui/map/sentence_view.h"

#include <QCheckBox>
#include <QComboBox>
#include <QLabel>
#include <QPushButton>

#include <optional>
#include <vector>

namespace headlight::ui {

/// The selected point of a map: its numbers, its text with the head's attention, the nearest points of the other role.
class TokenPanel : public QWidget {
    Q_OBJECT
public:
    explicit TokenPanel(QWidget* parent = nullptr);

    /// Until the attention is ready, the text is shown without it.
    void show_point(const figure::MapFigure&, const MapTexts&, const figure::MapPoint&);
    void show_attention(const AttentionFound&);
    void show_nearest(const figure::MapFigure&, const MapTexts&, const std::vector<NearPoint>&, const QString& word);
    void clear();
    const std::optional<figure::MapPoint>& point() const { return point_; }

    /// The state of the switches.
    AttentionAsked asked() const;
    /// Lines from the point to tokens of its text: the strongest two, or those above a weight.
    std::vector<figure::MapLine> lines() const;

    QLabel& title() { return *title_; }
    QLabel& facts() { return *facts_; }
    QLabel& note() { return *note_; }
    QLabel& nearest() { return *nearest_; }
    SentenceView& sentence() { return *sentence_; }
    QComboBox& line_choice() { return *lines_; }
    QCheckBox& hide_first() { return *hide_first_; }
    QCheckBox& by_value() { return *by_value_; }
    QCheckBox& over_texts() { return *over_texts_; }
    QPushButton& open_button() { return *open_; }

Q_SIGNALS:
    /// Another attention was requested.
    void asks();
    void lines_changed();
    /// A token of the text was clicked: its point in the listed role.
    void point_wanted(const headlight::figure::MapPoint& point);
    void open_wanted();

private:
    void show_lines();
    std::vector<int> strong() const;

    std::optional<figure::MapPoint> point_;
    std::int32_t first_listed_ = 0;  ///< point of the first listed token
    std::optional<AttentionFound> found_;
    QLabel *title_, *facts_, *note_, *nearest_, *text_title_, *nearest_title_;
    SentenceView* sentence_;
    QComboBox* lines_;
    QCheckBox *hide_first_, *by_value_, *over_texts_;
    QPushButton* open_;
    QWidget* body_;
};

}  // namespace headlight::ui
