// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/analyze/pattern/pair_chain.h"
#include "headlight/analyze/why/why.h"
#include "ui/document/document.h"
#include "ui/panels/inspector/number_rows.h"
#include "ui/panels/inspector/section.h"

#include <QFrame>
#include <QLabel>
#include <QPushButton>
#include <QTimer>
#include <QToolButton>

class QScrollArea;

namespace headlight::ui {

/// The right dock: how the weight of the pinned or hovered pair comes about, number by number; without a key the keys that
/// the query attends to most. Sections below it, which fold: who wrote a pinned pair, what the head writes there, what kind of
/// head it is. With a second run all numbers stand in columns: A, B and B − A. What is seen is explained at the foot, always in
/// sight.
class Inspector : public QWidget {
    Q_OBJECT
public:
    Inspector(Document&, Jobs&, QWidget* parent = nullptr);

    /// The active view, and its description.
    void set_view(const View&);
    void set_view_description(const QString&);
    /// Of the run that the views show; of a difference A's.
    const std::optional<analyze::PairChain>& chain() const;
    /// Of any section.
    NumberRow* row(const QString& name) const;
    Section& writers() { return *writers_section_; }
    Section& kind() { return *kind_section_; }
    QPushButton& all_measures() { return *all_measures_; }
    QPushButton& more() { return *more_; }
    /// As the card shows them; empty outside of the text.
    QString query_token(Position) const;
    QString key_token(Position) const;

Q_SIGNALS:
    void shown();
    /// The pinned weight, explained part by part.
    void why_asked();

protected:
    void resizeEvent(QResizeEvent*) override;
    bool eventFilter(QObject*, QEvent*) override;
    void showEvent(QShowEvent*) override;

private:
    struct Question {
        Position at;
        std::string typed;  ///< names the answer; empty: the likeliest
        bool operator==(const Question&) const = default;
    };
    struct Asked {
        std::shared_ptr<const trace::Trace> trace;
        HeadId head;
        std::optional<Position> query, key;
        analyze::PatternOptions pattern;
        std::shared_ptr<const figure::Beside> beside;
        figure::Side side = figure::Side::a;
        bool pinned = false;               ///< the pair is the pinned one, and not that under the pointer
        std::optional<Question> question;  ///< of a view that asks about an answer
        std::string against;               ///< what the key is compared with, as the chip of the view of a weight says
        bool operator==(const Asked&) const = default;
    };
    using Numbers = NumberRows::Numbers;
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
    /// The likeliest outputs, and the one that is asked about.
    struct Answer {
        std::vector<LooksAt> likeliest;
        Numbers entropy, rank;  ///< rank: of the asked one, from 1
        std::optional<LooksAt> asked;
    };
    std::optional<Question> question() const;
    std::string against() const;
    static std::optional<Answer> answer_of(const Asked&, const CancelToken&);
    void show_answer(const std::optional<Answer>&);
    static std::vector<LooksAt> keys_of(const Asked&);
    /// What wrote the query and the key, in A and in B, or why that cannot be said.
    struct Writers {
        std::optional<analyze::Why> a, b;
        QString problem_a, problem_b;
        bool both() const { return a && b; }
        /// The run that is shown, or the other where that has none.
        const analyze::Why* shown(figure::Side side) const {
            const auto &first = side == figure::Side::b ? b : a, &second = side == figure::Side::b ? a : b;
            return first ? &*first : second ? &*second : nullptr;
        }
    };
    static Writers writers_of(const Asked&, const CancelToken&);
    /// The pair of A's positions in B, where B has both tokens and the head.
    static std::optional<std::pair<Position, Position>> pair_in_b(const Asked&);
    void build();
    void refresh();
    void show_chain(const Chains&);
    void show_update(const Chains&);
    void show_promoted(const analyze::PairChain&, const QString& in);
    void show_keys(const std::vector<LooksAt>&);
    /// Of a layer without softmax weights: that the figure has its implied ones.
    void show_implied();
    void ask_writers();
    void show_writers(const Writers&);
    void add_side(const Writers&, bool of_query);
    void show_kind();
    void show_card();
    void show_story();
    void show_story_soon();
    bool compares() const { return asked_ && asked_->beside; }
    void fit_story();

    Document& document_;
    Jobs& jobs_;
    QLabel *title_, *query_, *query_note_, *key_, *key_note_, *story_title_, *story_;
    QToolButton* pinned_;
    QFrame *card_, *story_rule_;
    QScrollArea* story_area_;
    QWidget* content_;
    NumberRows *answer_, *rows_, *writers_, *update_, *kind_;
    Section *answer_section_, *writers_section_, *update_section_, *kind_section_;
    QPushButton *all_measures_, *more_;
    bool shows_all_measures_ = false, whole_story_ = false;
    View view_ = figure::view_id(0);
    QString view_description_;
    QTimer story_pause_;
    std::optional<Asked> asked_;
    Chains chains_;
    std::optional<std::pair<Asked, Writers>> writers_known_;  ///< the last ones: the pointer comes and goes
    bool chain_shown_ = false;  ///< the numbers are those of asked_, and not of what was asked before
    /// What show_kind() has shown last.
    struct Kind {
        HeadId head;
        std::shared_ptr<const analyze::HeadTable> of_a, of_b;
        bool compares = false, all = false;
        bool operator==(const Kind&) const = default;
    };
    std::optional<Kind> kind_shown_;
};

}  // namespace headlight::ui
