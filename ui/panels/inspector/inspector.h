// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/analyze/pattern/pair_chain.h"
#include "ui/document/document.h"
#include "ui/panels/inspector/number_row.h"

#include <QFrame>
#include <QLabel>
#include <QTimer>
#include <QToolButton>

class QScrollArea;
class QVBoxLayout;

namespace headlight::ui {

/// The right dock: how the weight of the pinned or hovered pair comes about, number by number; without a key the keys that
/// the query attends to most; without a query the measures of the head. Beside a second run all numbers stand in columns: A, B
/// and B − A. What is seen is explained below, always in sight.
class Inspector : public QWidget {
    Q_OBJECT
public:
    Inspector(Document&, Jobs&, QWidget* parent = nullptr);

    /// The description of the active view.
    void set_view_description(const QString&);
    /// Of the run that the views show; of a difference A's.
    const std::optional<analyze::PairChain>& chain() const;
    NumberRow* row(const QString& name) const;
    /// As the card shows them; empty outside of the text.
    QString query_token(Position) const;
    QString key_token(Position) const;

Q_SIGNALS:
    void shown();

protected:
    void resizeEvent(QResizeEvent*) override;

private:
    struct Asked {
        std::shared_ptr<const trace::Trace> trace;
        HeadId head;
        std::optional<Position> query, key;
        analyze::PatternOptions pattern;
        std::shared_ptr<const figure::Beside> beside;
        figure::Side side = figure::Side::a;
        bool operator==(const Asked&) const = default;
    };
    /// In A and in B; NaN: not there.
    struct Numbers {
        double a = 0, b = 0;
    };
    struct LooksAt {
        QString name;
        Numbers weight;
    };
    /// What the figure's cell for the pair shows, where it is not the token pair's own weight.
    struct InFigure {
        QString name;  ///< "in the figure (words)"
        double weight = 0;
        bool of_words = false;  ///< of several tokens
    };
    static std::optional<InFigure> in_figure(const trace::Trace&, HeadId, Position query, Position key,
                                             const analyze::PatternOptions&);
    /// Why the weight is as it is, in A and in B, and what the figures show in its place.
    struct Chains {
        std::optional<analyze::PairChain> a, b;
        std::optional<InFigure> figure_a, figure_b;
    };
    static Chains chains_of(const Asked&, const CancelToken&);
    static std::vector<LooksAt> keys_of(const Asked&);
    void build();
    void refresh();
    void show_head();
    void show_chain(const Chains&);
    void show_promoted(const analyze::PairChain&, const QString& in);
    void show_keys(const std::vector<LooksAt>&);
    void show_card();
    void show_story();
    void show_story_soon();
    void clear_rows();
    NumberRow* add_row(const QString& name, const QString& shown, const QString& exact);
    NumberRow* add_numbers(const QString& name, Numbers, const QString& definition, QString (*text)(double) = number_text);
    void end_rows();
    bool compares() const { return asked_ && asked_->beside; }
    void add_rule();
    void add_note(const QString& text, int weight = 400);
    void fit_story();

    Document& document_;
    Jobs& jobs_;
    QLabel *title_, *query_, *query_note_, *key_, *key_note_, *story_title_, *story_;
    QToolButton* pinned_;
    QFrame *card_, *story_rule_;
    QScrollArea* story_area_;
    QWidget* rows_;
    QVBoxLayout* rows_layout_;
    QString view_description_;
    QTimer story_pause_;
    std::optional<Asked> asked_;
    Chains chains_;
};

}  // namespace headlight::ui
