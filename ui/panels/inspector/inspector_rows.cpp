// SPDX-License-Identifier: GPL-3.0-or-later
// The Inspector's numbers. Beside a second run they stand in columns: A, B and B − A.
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

QString score_text(double value) { return aligned_text(value); }

/// "−0.15"; "0" where nothing of it is left.
QString aligned_number(double value, int decimals) {
    const QString text = QString::number(value, 'f', decimals);
    return text.toDouble() == 0 ? QStringLiteral("0") : QString(text).replace(u'-', QChar(0x2212));
}

QString rank_text(double value) { return figure::count_text(std::llround(value)); }

}  // namespace

const std::optional<analyze::PairChain>& Inspector::chain() const {
    return asked_ && asked_->side == figure::Side::b ? chains_.b : chains_.a;
}

void Inspector::clear_rows() {
    while (QLayoutItem* item = rows_layout_->takeAt(0)) {
        if (item->widget()) {
            item->widget()->hide();
            item->widget()->deleteLater();
        }
        delete item;
    }
    if (!compares()) return;
    auto* heading = new NumberRow({});
    heading->set_columns({QStringLiteral("A"), QStringLiteral("B"), QStringLiteral("B − A")}, {});
    heading->set_heading();
    rows_layout_->addWidget(heading);
}

NumberRow* Inspector::add_row(const QString& name, const QString& shown, const QString& exact) {
    auto* row = new NumberRow(name);
    row->set_value(shown, exact);
    rows_layout_->addWidget(row);
    return row;
}

NumberRow* Inspector::add_numbers(const QString& name, Numbers of, const QString& definition, QString (*text)(double)) {
    NumberRow* row = add_row(name, text(of.a), exact_text(of.a));
    if (compares()) {
        const double change = of.b - of.a;
        // All three with the decimals of the larger one: more would leave no room for the name.
        const double largest = std::fmax(std::abs(of.a), std::abs(of.b));
        const int decimals = largest > 0 ? std::clamp(2 - int(std::floor(std::log10(largest))), 0, 5) : 0;
        const auto shown = [&](double x) {
            return std::isnan(x) ? QStringLiteral("–") : text != number_text ? text(x) : aligned_number(x, decimals);
        };
        const QString difference = shown(change);
        row->set_columns({shown(of.a), shown(of.b), change > 0 && difference != u"0" ? u'+' + difference : difference},
                         {exact_text(of.a), exact_text(of.b), exact_text(change)});
    }
    row->set_definition(definition);
    return row;
}

void Inspector::add_rule() {
    auto* holder = new QWidget;
    auto* layout = new_column(holder, {0, 3, 0, 3});
    auto* rule = new QFrame;
    rule->setProperty("role", "rule");
    layout->addWidget(rule);
    rows_layout_->addWidget(holder);
}

void Inspector::add_note(const QString& text, int weight) {
    QLabel* note = wrapped_label("note", text);
    note->setFont(figure::ui_font(12, weight));
    note->setTextFormat(Qt::PlainText);
    note->setContentsMargins(0, 4, 0, 4);
    rows_layout_->addWidget(note);
}

/// Columns as wide as their widest number.
void Inspector::end_rows() {
    add_rule();
    std::vector<NumberRow*> rows;
    std::vector<int> widths;
    for (int i = 0; i < rows_layout_->count(); ++i) {
        auto* row = qobject_cast<NumberRow*>(rows_layout_->itemAt(i)->widget());
        if (!row || row->columns().isEmpty()) continue;
        rows.push_back(row);
        const std::vector<int> needed = row->needed_widths();
        widths.resize(needed.size());
        for (std::size_t c = 0; c < needed.size(); ++c) widths[c] = std::max(widths[c], needed[c]);
    }
    for (NumberRow* row : rows) row->set_column_widths(widths);
    Q_EMIT shown();
}

NumberRow* Inspector::row(const QString& name) const {
    for (int i = 0; i < rows_layout_->count(); ++i) {
        auto* row = qobject_cast<NumberRow*>(rows_layout_->itemAt(i)->widget());
        if (row && row->text() == name) return row;
    }
    return nullptr;
}

/// What this text has of the head, by kind of question; what it does not have is left out.
void Inspector::show_head() {
    clear_rows();
    if (!document_.head_table()) return;
    const analyze::HeadTable& table = *document_.head_table();
    const analyze::HeadTable* other = compares() ? document_.table_of_b().get() : nullptr;
    const HeadId head = asked_->head;
    const auto value = [head](const Eigen::MatrixXd* of) { return of ? (*of)(head.layer.value, head.head.value) : kNaN; };
    add_note(QStringLiteral("Click a token to pin it as the query; Shift+click pins a key."));
    for (const std::string& group : analyze::measure_groups()) {
        bool first = true;
        for (std::size_t m = 0; m < table.measures.size(); ++m) {
            const analyze::MeasureInfo& measure = table.measures[m];
            const Numbers numbers{value(&table.values[m]), other ? value(other->find(measure.id)) : kNaN};
            if (measure.group != group || (std::isnan(numbers.a) && std::isnan(numbers.b))) continue;
            if (std::exchange(first, false)) add_note(QString::fromStdString(group), QFont::DemiBold);
            auto* row = add_numbers(QString::fromStdString(measure.title), numbers, QString::fromStdString(measure.definition));
            // Short, beside a title: the list and the mosaic say "3 repeats".
            if (!compares() && !analyze::repeats_text(table, measure.id).empty())
                row->set_value(row->shown() + QStringLiteral(", n = %1").arg(table.queries.at(measure.id)), row->exact());
        }
    }
    end_rows();
}

void Inspector::show_keys(const std::vector<LooksAt>& keys) {
    chains_ = {};
    clear_rows();
    add_note(document_.trace()->across_texts() ? QStringLiteral("attends to, in the source (softmax weight)")
                                               : QStringLiteral("attends to (softmax weight)"));
    const figure::Theme& theme = Appearance::instance().theme();
    for (const LooksAt& key : keys) {
        NumberRow* row = add_numbers(key.name, key.weight, {});
        row->set_wide_bar(true);
        row->set_bar(key.weight.a, false);
        row->set_bar_color(figure::head_color(theme, document_.options().palette, asked_->head.head.value));
    }
    end_rows();
}

void Inspector::show_chain(const Chains& chains) {
    chains_ = chains;
    clear_rows();
    const analyze::PairChain& c = *chains.a;
    if (const auto& named = chains.figure_a ? chains.figure_a : chains.figure_b) {
        const auto weight = [](const std::optional<InFigure>& in) { return in ? in->weight : kNaN; };
        add_numbers(named->name, {weight(chains.figure_a), weight(chains.figure_b)},
                    QStringLiteral("What the figure shows for the pair as the tools above it say. Of words: the columns of a "
                                   "word's tokens summed, their rows averaged (Clark 2019, 4.1)."));
        if (named->of_words)
            add_note(QStringLiteral("The numbers below are of one token pair, %1 → %2, not of the words.")
                         .arg(query_token(*asked_->query), key_token(*asked_->key)));
        add_rule();
    }
    if (compares() && !chains.b)
        add_note(QStringLiteral("B has no such pair: its text lacks one of the two tokens, or its model the head."));
    if (!c.legal && !(chains.b && chains.b->legal)) {
        add_numbers(QStringLiteral("weight (softmax)"), {0, chains.b ? 0 : kNaN}, {});
        add_note(QStringLiteral(
            "This key comes after the query. The model is causal: a token cannot attend ahead, so there is no score."));
        return end_rows();
    }
    /// Of what a masked pair does not have.
    const auto of_legal = [&](auto number) {
        return Numbers{c.legal ? double(number(c)) : kNaN, chains.b && chains.b->legal ? double(number(*chains.b)) : kNaN};
    };
    using Chain = analyze::PairChain;
    add_numbers(QStringLiteral("weight (softmax)"), {c.weight, chains.b ? chains.b->weight : kNaN},
                QStringLiteral("The attention weight a_ij of query i on key j: the softmax of the scores over all keys that the "
                               "query may attend to."));
    const QString rank = QStringLiteral("1: no key has a larger weight. Of as many keys as the query may attend to.");
    if (compares())
        add_numbers(QStringLiteral("rank"), of_legal([](const Chain& of) { return of.rank; }), rank, rank_text);
    else
        add_row(QStringLiteral("rank"), QStringLiteral("%1 of %2").arg(figure::count_text(c.rank), figure::count_text(c.of)),
                QString::number(c.rank))
            ->set_definition(rank);
    add_rule();
    add_numbers(QStringLiteral("score"), of_legal([](const Chain& of) { return of.score; }),
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
    auto* content = add_numbers(rotary ? QStringLiteral("q·k%1, unrotated").arg(scale) : QStringLiteral("q·k%1").arg(scale),
                                of_legal([](const Chain& of) { return of.content; }),
                                QStringLiteral("The product of query q_i and key k_j, scaled") +
                                    (rotary ? QStringLiteral("; of the vectors before the rotation.") : QStringLiteral(".")),
                                score_text);
    content->set_indent(true);
    content->set_bar(c.content / largest);
    if (legal.position) {
        auto* term =
            add_numbers(rotary ? QStringLiteral("by the rotation")
                               : QStringLiteral("position (%1)").arg(QString::fromStdString(legal.position_kind)),
                        of_legal([](const Chain& of) { return of.position.value_or(kNaN); }),
                        rotary ? QStringLiteral("The score minus the product before the rotation: what the positions do to it.")
                               : QStringLiteral("What the distance i - j alone adds to the score."),
                        score_text);
        term->set_indent(true);
        term->set_bar(position / largest);
    } else if (!legal.position_kind.empty()) {
        add_row(QStringLiteral("position"), QString::fromStdString(legal.position_kind), {})->set_indent(true);
    }
    add_rule();
    add_numbers(QStringLiteral("|value|"), of_legal([](const Chain& of) { return of.value_norm; }),
                QStringLiteral("|v_j W_O|: the length of what this key's value writes into the stream for a weight of 1 "
                               "(Kobayashi 2020)."));
    add_numbers(QStringLiteral("weight · |value|"), of_legal([](const Chain& of) { return of.weighted_value_norm; }),
                QStringLiteral("a_ij |v_j W_O|: the length of what it writes with its weight (Kobayashi 2020)."));
    add_numbers(QStringLiteral("update / stream"), of_legal([](const Chain& of) { return of.update_ratio; }),
                QStringLiteral("|u_i| / |h_i|: the length of the head's whole update u_i = z_i W_O, over all keys, beside the "
                               "stream h_i that it is added to."))
        ->set_bar(c.update_ratio);
    add_numbers(QStringLiteral("cos(update, stream)"), of_legal([](const Chain& of) { return of.update_cosine; }),
                QStringLiteral("The cosine of u_i and h_i: 0 orthogonal, negative where the head takes away from what is there."))
        ->set_bar(c.update_cosine);
    add_rule();
    if (!compares()) {
        show_promoted(c, {});
    } else {
        if (asked_->side != figure::Side::b) show_promoted(c, QStringLiteral(" in A"));
        if (asked_->side != figure::Side::a && chains.b) show_promoted(*chains.b, QStringLiteral(" in B"));
    }
    end_rows();
}

void Inspector::show_promoted(const analyze::PairChain& c, const QString& in) {
    if (c.promoted.empty()) return;
    add_note(QStringLiteral("the head promotes%1 (logit of the next token)").arg(in));
    double most = 1e-9;
    for (const auto& effect : c.promoted) most = std::max(most, std::abs(effect.logit));
    for (const auto& effect : c.promoted) {
        auto* row =
            add_row(QString::fromStdString(effect.label),
                    (effect.logit > 0 ? QStringLiteral("+") : QString()) + aligned_text(effect.logit), exact_text(effect.logit));
        row->set_definition(
            QStringLiteral("What the head's whole update adds to this token's logit by the direct path: through "
                           "the final norm, whose size is that of the whole stream, and W_U."));
        row->set_wide_bar(true);
        row->set_bar(effect.logit / most * 0.9, false);
    }
}

}  // namespace headlight::ui
