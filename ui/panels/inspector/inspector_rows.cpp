// SPDX-License-Identifier: GPL-3.0-or-later
// The Inspector's numbers. With a second run they stand in columns: A, B and B − A.
#include "headlight/analyze/heads/head_table.h"
#include "headlight/base/numbers.h"
#include "headlight/figure/core/number_text.h"
#include "ui/panels/inspector/inspector.h"
#include "ui/style/appearance.h"
#include "ui/style/widgets.h"

#include <QVBoxLayout>

#include <algorithm>
#include <cmath>
#include <utility>

namespace headlight::ui {

namespace {

QString rank_text(double value) { return figure::count_text(std::llround(value)); }

/// Of a pair in A and in B; a masked pair has none.
NumberRows::Numbers numbers_of(const std::optional<analyze::PairChain>& a, const std::optional<analyze::PairChain>& b,
                               double (*number)(const analyze::PairChain&)) {
    const auto of = [number](const std::optional<analyze::PairChain>& chain) {
        return chain && chain->legal ? number(*chain) : kNaN;
    };
    return {of(a), of(b)};
}

}  // namespace

const std::optional<analyze::PairChain>& Inspector::chain() const {
    return asked_ && asked_->side == figure::Side::b ? chains_.b : chains_.a;
}

NumberRow* Inspector::row(const QString& name) const {
    for (const NumberRows* rows : {answer_, rows_, writers_, update_, kind_})
        if (NumberRow* found = rows->row(name)) return found;
    return nullptr;
}

/// What this text has of the head, by kind of question; what it does not have is left out.
void Inspector::show_kind() {
    const bool measured = document_.head_table() != nullptr;
    kind_section_->setVisible(measured);
    if (!measured) return;
    const analyze::HeadTable& table = *document_.head_table();
    const analyze::HeadTable* other = compares() ? document_.table_of_b().get() : nullptr;
    const HeadId head = asked_->head;
    // The pointer passes over many tokens of one head.
    const Kind kind{head, document_.head_table(), compares() ? document_.table_of_b() : nullptr, compares(), shows_all_measures_};
    if (std::exchange(kind_shown_, kind) == kind) return;
    const auto value = [head](const Eigen::MatrixXd* of) {
        const bool has = of && head.layer.value < of->rows() && head.head.value < of->cols();
        return has ? (*of)(head.layer.value, head.head.value) : kNaN;
    };
    std::vector<std::size_t> there;
    for (std::size_t m = 0; m < table.measures.size(); ++m) {
        if (!std::isnan(value(&table.values[m])) || (other && !std::isnan(value(other->find(table.measures[m].id)))))
            there.push_back(m);
    }
    kind_->start(compares());
    const auto add = [&](std::size_t m) {
        const analyze::MeasureInfo& measure = table.measures[m];
        auto* row = kind_->add(QString::fromStdString(measure.title),
                               {value(&table.values[m]), other ? value(other->find(measure.id)) : kNaN},
                               QString::fromStdString(measure.definition));
        // Short, after a title: the list and the mosaic say "3 repeats".
        if (!compares() && !analyze::repeats_text(table, measure.id).empty())
            row->set_value(row->shown() + QStringLiteral(", n = %1").arg(table.queries.at(measure.id)), row->exact());
    };
    if (shows_all_measures_) {
        for (const std::string& group : analyze::measure_groups()) {
            bool first = true;
            for (const std::size_t m : there) {
                if (table.measures[m].group != group) continue;
                if (std::exchange(first, false)) kind_->add_note(QString::fromStdString(group), QFont::DemiBold);
                add(m);
            }
        }
    } else {
        // What heads are called after; a model that reads both ways has no first token to rest on, but special ones.
        static constexpr const char* first[] = {"probe_induction", "induction",     "share_previous",
                                                "share_first",     "share_special", "entropy"};
        std::size_t most = 5;
        for (const char* id : first) {
            const auto found = std::ranges::find(there, id, [&](std::size_t m) { return table.measures[m].id; });
            if (found == there.end() || (std::string_view(id) == "share_special" && table.causal) || most == 0) continue;
            add(*found);
            --most;
        }
    }
    all_measures_->setText(shows_all_measures_ ? QStringLiteral("the first five measures")
                                               : QStringLiteral("all %1 measures").arg(there.size()));
    kind_->end();
}

void Inspector::show_keys(const std::vector<LooksAt>& keys) {
    chains_ = {};
    for (Section* section : {writers_section_, update_section_}) section->hide();
    rows_->start(compares());
    rows_->add_note(document_.trace()->across_texts() ? QStringLiteral("attends to, in the source (softmax weight)")
                                                      : QStringLiteral("attends to (softmax weight)"));
    const figure::Theme& theme = Appearance::instance().theme();
    for (const LooksAt& key : keys) {
        NumberRow* row = rows_->add(key.name, key.weight, {});
        row->set_wide_bar(true);
        row->set_bar(key.weight.a, false);
        row->set_bar_color(figure::head_color(theme, document_.options().palette, asked_->head.head.value));
    }
    rows_->end();
}

void Inspector::show_implied() {
    chains_ = {};
    for (Section* section : {writers_section_, update_section_}) section->hide();
    rows_->start(false);
    rows_->add_note(
        QStringLiteral("This layer updates a state and has no softmax. Its implied weights are in the head, matrix and "
                       "model view: point at a cell for the number."));
    rows_->end();
}

void Inspector::show_chain(const Chains& chains) {
    chains_ = chains;
    chain_shown_ = true;
    rows_->start(compares());
    const analyze::PairChain& c = *chains.a;
    if (const auto& named = chains.figure_a ? chains.figure_a : chains.figure_b) {
        const auto weight = [](const std::optional<InFigure>& in) { return in ? in->weight : kNaN; };
        rows_->add(named->name, {weight(chains.figure_a), weight(chains.figure_b)},
                   QStringLiteral("What the figure shows for the pair as the tools above it say. Of words: the columns of a "
                                  "word's tokens summed, their rows averaged (Clark 2019, 4.1)."));
        if (named->of_words)
            rows_->add_note(QStringLiteral("The numbers below are of one token pair, %1 → %2, not of the words.")
                                .arg(query_token(*asked_->query), key_token(*asked_->key)));
        rows_->add_rule();
    }
    if (compares() && !chains.b)
        rows_->add_note(QStringLiteral("B has no such pair: its text lacks one of the two tokens, or its model the head."));
    if (!c.legal && !(chains.b && chains.b->legal)) {
        rows_->add(QStringLiteral("weight (softmax)"), {0, chains.b ? 0 : kNaN}, {});
        rows_->add_note(QStringLiteral(
            "This key comes after the query. The model is causal: a token cannot attend ahead, so there is no score."));
        for (Section* section : {writers_section_, update_section_}) section->hide();
        return rows_->end();
    }
    using Chain = analyze::PairChain;
    const auto of_legal = [&](double (*number)(const Chain&)) { return numbers_of(chains.a, chains.b, number); };
    rows_->add(QStringLiteral("weight (softmax)"), {c.weight, chains.b ? chains.b->weight : kNaN},
               QStringLiteral("The attention weight a_ij of query i on key j: the softmax of the scores over all keys that the "
                              "query may attend to."));
    const QString rank = QStringLiteral("1: no key has a larger weight. Of as many keys as the query may attend to.");
    if (compares())
        rows_->add(QStringLiteral("rank"), of_legal([](const Chain& of) { return double(of.rank); }), rank, rank_text);
    else
        rows_
            ->add_text(QStringLiteral("rank"),
                       QStringLiteral("%1 of %2").arg(figure::count_text(c.rank), figure::count_text(c.of)),
                       QString::number(c.rank))
            ->set_definition(rank);
    rows_->add_rule();
    rows_->add(QStringLiteral("score"), of_legal([](const Chain& of) { return of.score; }),
               QStringLiteral("What the softmax sees: the sum of the parts below."), score_text);
    const analyze::PairChain& legal = c.legal ? c : *chains.b;
    const double position = c.position.value_or(0);
    const double largest = std::max({std::abs(c.content), std::abs(position), 1e-9}) * 1.05;
    const double root = 1 / (legal.scale * legal.scale);
    const QString scale = legal.scale == 1                           ? QString()
                          : std::abs(root - std::round(root)) < 1e-4 ? QStringLiteral(" / √%1").arg(std::lround(root))
                                                                     : QStringLiteral(" · %1").arg(legal.scale, 0, 'g', 4);
    // The neuron view's q·k is after the rotation; here the rotation's share is a term.
    const bool rotary = legal.position && legal.position_kind == "rotary";
    auto* content = rows_->add(rotary ? QStringLiteral("q·k%1, unrotated").arg(scale) : QStringLiteral("q·k%1").arg(scale),
                               of_legal([](const Chain& of) { return of.content; }),
                               QStringLiteral("The product of query q_i and key k_j, scaled") +
                                   (rotary ? QStringLiteral("; of the vectors before the rotation.") : QStringLiteral(".")),
                               score_text);
    content->set_indent(true);
    content->set_bar(c.content / largest);
    if (legal.position) {
        auto* term =
            rows_->add(rotary ? QStringLiteral("by the rotation")
                              : QStringLiteral("position (%1)").arg(QString::fromStdString(legal.position_kind)),
                       of_legal([](const Chain& of) { return of.position.value_or(kNaN); }),
                       rotary ? QStringLiteral("The score minus the product before the rotation: what the positions do to it.")
                              : QStringLiteral("What the distance i - j alone adds to the score."),
                       score_text);
        term->set_indent(true);
        term->set_bar(position / largest);
    } else if (!legal.position_kind.empty()) {
        rows_->add_text(QStringLiteral("position"), QString::fromStdString(legal.position_kind), {})->set_indent(true);
    }
    rows_->add_rule();
    rows_->add(QStringLiteral("|value|"), of_legal([](const Chain& of) { return of.value_norm; }),
               QStringLiteral("|v_j W_O|: the length of what this key's value writes into the stream for a weight of 1 "
                              "(Kobayashi 2020)."));
    rows_->add(QStringLiteral("weight · |value|"), of_legal([](const Chain& of) { return of.weighted_value_norm; }),
               QStringLiteral("a_ij |v_j W_O|: the length of what it writes with its weight (Kobayashi 2020)."));
    rows_->end();
    show_update(chains);
    ask_writers();
}

void Inspector::show_update(const Chains& chains) {
    using Chain = analyze::PairChain;
    update_section_->show();
    update_->start(compares());
    const auto of_legal = [&](double (*number)(const Chain&)) { return numbers_of(chains.a, chains.b, number); };
    update_
        ->add(QStringLiteral("update / stream"), of_legal([](const Chain& of) { return of.update_ratio; }),
              QStringLiteral("|u_i| / |h_i|: the length of the head's whole update u_i = z_i W_O, over all keys, next to the "
                             "stream h_i that it is added to."))
        ->set_bar(chains.a->update_ratio);
    update_
        ->add(QStringLiteral("cos(update, stream)"), of_legal([](const Chain& of) { return of.update_cosine; }),
              QStringLiteral("The cosine of u_i and h_i: 0 orthogonal, negative where the head takes away from what is there."))
        ->set_bar(chains.a->update_cosine);
    if (!compares()) {
        show_promoted(*chains.a, {});
    } else {
        if (asked_->side != figure::Side::b) show_promoted(*chains.a, QStringLiteral(" in A"));
        if (asked_->side != figure::Side::a && chains.b) show_promoted(*chains.b, QStringLiteral(" in B"));
    }
    update_->end();
}

void Inspector::show_promoted(const analyze::PairChain& c, const QString& in) {
    if (c.promoted.empty()) return;
    update_->add_note(QStringLiteral("the head promotes%1 (logit of the next token)").arg(in));
    double most = 1e-9;
    for (const auto& effect : c.promoted) most = std::max(most, std::abs(effect.logit));
    for (const auto& effect : c.promoted) {
        auto* row =
            update_->add_text(QString::fromStdString(effect.label), signed_aligned_text(effect.logit), exact_text(effect.logit));
        row->set_definition(
            QStringLiteral("What the head's whole update adds to this token's logit by the direct path: through "
                           "the final norm, whose size is that of the whole stream, and W_U."));
        row->set_wide_bar(true);
        row->set_bar(effect.logit / most * 0.9, false);
    }
}

}  // namespace headlight::ui
