// SPDX-License-Identifier: GPL-3.0-or-later
// The Inspector's section "Who wrote this": the largest writers of a pinned pair's query and key (docs/views/why.md).
#include "headlight/base/numbers.h"
#include "headlight/figure/core/part_name.h"
#include "headlight/intervention/compare/comparison.h"
#include "ui/panels/inspector/inspector.h"
#include "ui/style/widgets.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace headlight::ui {

namespace {

constexpr std::size_t key_writers = 4, query_writers = 3, writers_beside_b = 2;
constexpr std::int64_t pairs_of_a_story = 10;  ///< as many as the view lists by default

const std::vector<analyze::StreamPart>& parts_of(const analyze::Why& why, bool of_query) {
    return of_query ? why.query_parts : why.key_parts;
}
const Eigen::VectorXd& sums_of(const analyze::Why& why, bool of_query) { return of_query ? why.query_sums : why.key_sums; }

/// NaN: the run has no such part.
double sum_of(const std::optional<analyze::Why>& why, bool of_query, const analyze::StreamPart& part) {
    if (!why) return kNaN;
    const auto& parts = parts_of(*why, of_query);
    const auto found = std::ranges::find(parts, part);
    return found == parts.end() ? kNaN : sums_of(*why, of_query)[found - parts.begin()];
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

Inspector::Writers Inspector::writers_of(const Asked& asked, const CancelToken& cancel) {
    Writers out;
    try {
        out.a = analyze::why(*asked.trace, analyze::why_options(*asked.trace, asked.head, asked.query, asked.key, {}, cancel),
                             cancel);
        if (const auto pair = pair_in_b(asked)) {
            const trace::Trace& b = *asked.beside->pair->b;
            // Compared with the same keys, so that the numbers have one meaning.
            const analyze::WhyRequest request{.against = std::string(enum_word(out.a->of.against))};
            out.b = analyze::why(b, analyze::why_options(b, asked.head, pair->first, pair->second, request, cancel), cancel);
        }
    } catch (const Error& error) {
        out.problem = QString::fromStdString(error.facts().problem);
    }
    return out;
}

/// Asked when the numbers of the pair are there, since it takes longer than they do, and only while the section is unfolded.
void Inspector::ask_writers() {
    if (!asked_ || !chain() || !asked_->key) return writers_section_->hide();
    writers_section_->show();
    writers_->start(false);
    if (writers_section_->folded()) return;
    if (!asked_->pinned) {
        writers_->add_note(QStringLiteral("Pin this pair to see what wrote its query and its key."));
        return;
    }
    jobs_.start(Jobs::Lane::inspector, QStringLiteral("Computing who wrote this"),
                [this, asked = *asked_](const CancelToken& cancel, const Progress&) -> Jobs::Deliver {
                    return [this, writers = writers_of(asked, cancel)] { show_writers(writers); };
                });
}

void Inspector::show_writers(const Writers& writers) {
    const bool columns = compares() && writers.a && writers.b;
    writers_->start(columns);
    if (!writers.problem.isEmpty() || !writers.a) {
        writers_->add_note(writers.problem);
        return Q_EMIT shown();
    }
    const analyze::Why& why = asked_->side == figure::Side::b && writers.b ? *writers.b : *writers.a;
    if (!std::isfinite(why.advantage)) {
        writers_->add_note(QStringLiteral("The query sees no other key: there is nothing to compare this one with."));
        return Q_EMIT shown();
    }
    const auto advantage = [](const std::optional<analyze::Why>& of) { return of ? of->advantage : kNaN; };
    writers_->add(over(why), {columns ? advantage(writers.a) : why.advantage, columns ? advantage(writers.b) : kNaN},
                  QStringLiteral("The score of this pair less the mean of those of the other keys that are compared, by their "
                                 "weights. The parts below add up to it, with those that are not listed."),
                  score_text);
    add_side(writers, false, columns ? writers_beside_b : key_writers);
    add_side(writers, true, columns ? writers_beside_b : query_writers);
    if (const analyze::WhyList list = analyze::listed(why, pairs_of_a_story); list.holds_little())
        writers_->add_note(QStringLiteral("No short story by pair: the %1 strongest hold %2 of what adds up here.")
                               .arg(pairs_of_a_story)
                               .arg(share_text(list.share)));
    QPushButton* open = link_button(QStringLiteral("open Why"));
    open->setToolTip(QStringLiteral("All parts of this weight, pair by pair"));
    connect(open, &QPushButton::clicked, this, &Inspector::why_asked);
    auto* foot = new QWidget;
    auto* row = new_row(foot, {0, 0, 0, 0});
    row->addWidget(open);
    row->addStretch(1);
    writers_->add(foot);
    writers_->end();
    Q_EMIT shown();
}

/// The largest writers of one side; of two runs those that differ most.
void Inspector::add_side(const Writers& writers, bool of_query, std::size_t most) {
    const bool columns = compares() && writers.a && writers.b;
    const bool of_b = !columns && asked_->side == figure::Side::b && writers.b.has_value();
    const analyze::Why& why = of_b ? *writers.b : *writers.a;
    std::vector<analyze::StreamPart> parts = parts_of(why, of_query);
    if (columns)
        for (const analyze::StreamPart& part : parts_of(*writers.b, of_query))
            if (std::ranges::find(parts, part) == parts.end()) parts.push_back(part);
    const auto numbers = [&](const analyze::StreamPart& part) {
        return Numbers{sum_of(of_b ? writers.b : writers.a, of_query, part), columns ? sum_of(writers.b, of_query, part) : kNaN};
    };
    const auto amount = [&](const analyze::StreamPart& part) {
        const auto [a, b] = numbers(part);
        const auto there = [](double x) { return std::isnan(x) ? 0 : x; };
        return columns ? std::abs(there(b) - there(a)) : std::abs(a);
    };
    std::ranges::stable_sort(parts, std::greater(), amount);
    const Eigen::VectorXd& sums = sums_of(why, of_query);
    const Position at = of_query ? *asked_->query : *asked_->key;
    writers_->add_note(QStringLiteral("%1 %2 (%3): the three largest hold %4")
                           .arg(of_query ? QStringLiteral("query") : QStringLiteral("key"),
                                of_query ? query_token(at) : key_token(at), QString::number(at.value),
                                share_text(analyze::share_of_largest(sums, 3))));
    const double largest = parts.empty() ? 1 : std::max(1e-9, sums.cwiseAbs().maxCoeff());
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
