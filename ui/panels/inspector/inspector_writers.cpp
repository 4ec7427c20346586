// SPDX-License-Identifier: GPL-3.0-or-later
// The Inspector's section "Who wrote this": the largest writers of a pinned pair's query and key (docs/views/why.md).
#include "headlight/base/numbers.h"
#include "headlight/figure/core/part_name.h"
#include "headlight/figure/core/sides.h"
#include "headlight/intervention/compare/comparison.h"
#include "ui/document/subject.h"
#include "ui/panels/inspector/inspector.h"
#include "ui/style/widgets.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace headlight::ui {

namespace {

constexpr std::size_t key_writers = 4, query_writers = 3, writers_of_two_runs = 2;
constexpr double least_position = 0.05;    ///< a smaller part of the advantage is left to the tip
constexpr std::int64_t pairs_listed = 10;  ///< as many as the view lists by default

const std::vector<analyze::StreamPart>& parts_of(const analyze::Why& why, bool of_query) {
    return of_query ? why.query_parts : why.key_parts;
}
const Eigen::VectorXd& sums_of(const analyze::Why& why, bool of_query) { return of_query ? why.query_sums : why.key_sums; }

/// NaN: the run has no such part.
double sum_of(const analyze::Why& why, bool of_query, const analyze::StreamPart& part) {
    const auto& parts = parts_of(why, of_query);
    const auto found = std::ranges::find(parts, part);
    return found == parts.end() ? kNaN : sums_of(why, of_query)[found - parts.begin()];
}

QString share_text(double share) { return QStringLiteral("%1 %").arg(std::lround(100 * share)); }

QString over(const analyze::Why& why) {
    switch (why.of.against) {
        case analyze::Against::no_sinks: return QStringLiteral("advantage without sinks");
        case analyze::Against::key: return QStringLiteral("advantage over key %1").arg(why.of.other);
        case analyze::Against::row: break;
    }
    return QStringLiteral("advantage over the row");
}

}  // namespace

std::string Inspector::against() const {
    const View view = view_of_a_weight();
    const figure::ViewOption* option = option_of(figure::view_spec(view), Subject::against);
    return option ? view_value(document_.options(), view, *option) : std::string();
}

Inspector::Writers Inspector::writers_of(const Asked& asked, const CancelToken& cancel) {
    Writers out;
    const auto why_of = [&](const trace::Trace& trace, Position query, Position key, const std::string& against,
                            std::optional<analyze::Why>& why, QString& problem) {
        try {
            why = analyze::why(trace, analyze::why_options(trace, asked.head, query, key, {.against = against}, cancel), cancel);
        } catch (const Error& error) {
            problem = QString::fromStdString(error.facts().problem);
        }
    };
    why_of(*asked.trace, *asked.query, *asked.key, asked.against, out.a, out.problem_a);
    const auto pair = pair_in_b(asked);
    if (!pair) return out;
    // Compared with the same keys, so that the numbers have one meaning.
    std::string against = out.a ? std::string(enum_word(out.a->of.against)) : asked.against;
    if (out.a && out.a->of.against == analyze::Against::key) {
        const auto other = figure::SidePlaces(*asked.beside).key_in_b(Position(out.a->of.other));
        if (!other) {
            out.problem_b = QStringLiteral("Its text lacks the key that is compared with");
            return out;
        }
        against = std::to_string(other->value);
    }
    why_of(*asked.beside->pair->b, pair->first, pair->second, against, out.b, out.problem_b);
    return out;
}

/// Asked when the numbers of the pair are there, since it takes longer than they do, and only while the section is unfolded.
void Inspector::ask_writers() {
    if (!chain_shown_) return;
    writers_section_->setVisible(chain() && chain()->legal);
    if (!chain() || !chain()->legal) return;
    if (writers_known_ && writers_known_->first == *asked_) return show_writers(writers_known_->second);
    writers_->start(false);
    if (writers_section_->folded() || !isVisible()) return;
    if (!asked_->pinned) {
        writers_->add_note(QStringLiteral("Pin this pair to see what wrote its query and its key."));
        return;
    }
    jobs_.start(Jobs::Lane::inspector, QStringLiteral("Computing who wrote this"),
                [this, asked = *asked_](const CancelToken& cancel, const Progress&) -> Jobs::Deliver {
                    return [this, asked, writers = writers_of(asked, cancel)] {
                        writers_known_ = {asked, writers};
                        show_writers(writers);
                        Q_EMIT shown();
                    };
                });
}

void Inspector::show_writers(const Writers& writers) {
    writers_->start(writers.both());
    const analyze::Why* why = writers.shown(asked_->side);
    const auto note = [&](const QString& run, const QString& problem) {
        if (!problem.isEmpty()) writers_->add_note(compares() ? QStringLiteral("%1: %2").arg(run, problem) : problem);
    };
    note(QStringLiteral("A"), writers.problem_a);
    note(QStringLiteral("B"), writers.problem_b);
    if (!why) return;
    if (!std::isfinite(why->advantage)) {
        writers_->add_note(QStringLiteral("The query sees no other key: there is nothing to compare this one with."));
        return;
    }
    const auto numbers = [&](double analyze::Why::*of) {
        return writers.both() ? Numbers{*writers.a.*of, *writers.b.*of} : Numbers{why->*of, kNaN};
    };
    writers_->add(writers.both() ? QStringLiteral("advantage") : over(*why), numbers(&analyze::Why::advantage),
                  QStringLiteral("The score of this pair less the mean of those of the other keys that are compared, by their "
                                 "weights. The parts of either side add up to it, with those that are not listed and what "
                                 "depends on the distance alone."),
                  score_text);
    if (std::abs(why->position_advantage) >= least_position)
        writers_->add(QStringLiteral("of it position"), numbers(&analyze::Why::position_advantage),
                      QStringLiteral("What depends on the distance of query and key alone."), score_text);
    add_side(writers, false);
    add_side(writers, true);
    if (!writers.both()) {
        const analyze::WhyList list = analyze::listed(*why, pairs_listed);
        if (list.holds_little())
            writers_->add_note(QStringLiteral("No short story by pair: the %1 strongest hold %2 of what adds up here.")
                                   .arg(pairs_listed)
                                   .arg(share_text(list.share)));
        else if (list.sums_to_other())
            writers_->add_note(QStringLiteral("No short story by pair: the %1 strongest add up to %2, all pairs to %3.")
                                   .arg(QString::number(pairs_listed), score_text(list.listed), score_text(list.all)));
    }
    QPushButton* open = link_button(QStringLiteral("open Why"));
    open->setToolTip(QStringLiteral("All parts of this weight, pair by pair"));
    connect(open, &QPushButton::clicked, this, [this, head = asked_->head, query = *asked_->query, key = *asked_->key] {
        document_.selection().pin_pair(head, query, key);  // what the program has pinned is no question
        Q_EMIT why_asked();
    });
    auto* foot = new QWidget;
    auto* row = new_row(foot, {0, 0, 0, 0});
    row->addWidget(open);
    row->addStretch(1);
    writers_->add(foot);
    writers_->end();
}

/// The largest writers of one side; of two runs those that differ most.
void Inspector::add_side(const Writers& writers, bool of_query) {
    const bool both = writers.both();
    const analyze::Why& why = *writers.shown(asked_->side);
    std::vector<analyze::StreamPart> parts = parts_of(why, of_query);
    if (both)
        for (const auto& of : {writers.a, writers.b})
            for (const analyze::StreamPart& part : parts_of(*of, of_query))
                if (std::ranges::find(parts, part) == parts.end()) parts.push_back(part);
    const auto numbers = [&](const analyze::StreamPart& part) {
        return both ? Numbers{sum_of(*writers.a, of_query, part), sum_of(*writers.b, of_query, part)}
                    : Numbers{sum_of(why, of_query, part), kNaN};
    };
    const auto amount = [&](const analyze::StreamPart& part) {
        const auto [a, b] = numbers(part);
        const auto there = [](double x) { return std::isnan(x) ? 0 : x; };
        return both ? std::abs(there(b) - there(a)) : std::abs(a);
    };
    std::ranges::stable_sort(parts, std::greater(), amount);
    const Eigen::VectorXd& sums = sums_of(why, of_query);
    const Position at = of_query ? *asked_->query : *asked_->key;
    const QString side = QStringLiteral("%1 %2 (%3)")
                             .arg(of_query ? QStringLiteral("query") : QStringLiteral("key"),
                                  of_query ? query_token(at) : key_token(at), QString::number(at.value));
    const QString held = both ? QStringLiteral("differ most")
                              : QStringLiteral("the three largest hold %1").arg(share_text(analyze::share_of_largest(sums, 3)));
    writers_->add_note(side + QStringLiteral(": ") + held);
    const double largest = parts.empty() ? 1 : std::max(1e-9, sums.cwiseAbs().maxCoeff());
    const std::size_t most = both ? writers_of_two_runs : of_query ? query_writers : key_writers;
    for (std::size_t i = 0; i < std::min(most, parts.size()); ++i) {
        const Numbers of = numbers(parts[i]);
        NumberRow* row = writers_->add(
            figure::part_name(parts[i].component, parts[i].layer, parts[i].index), of,
            QStringLiteral("What this part of the stream adds to the score of the pair, less what it adds to the other keys that "
                           "are compared, by their weights; norms as they were in the run."),
            signed_aligned_text);
        row->set_wide_bar(true);
        row->set_bar(of.a / largest);
    }
}

}  // namespace headlight::ui
