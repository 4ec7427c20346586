// SPDX-License-Identifier: GPL-3.0-or-later
// The Inspector's section "What it predicts", of views that ask about an answer.
#include "headlight/analyze/prediction/outputs.h"
#include "headlight/analyze/prediction/predictions.h"
#include "headlight/base/numbers.h"
#include "headlight/figure/core/number_text.h"
#include "headlight/figure/core/sides.h"
#include "headlight/intervention/compare/comparison.h"
#include "headlight/model/outline.h"
#include "ui/document/subject.h"
#include "ui/panels/inspector/inspector.h"

#include <algorithm>
#include <cmath>

namespace headlight::ui {

namespace {

constexpr std::size_t likely_answers = 5;

/// All outputs at a position, likeliest first.
class Outcome {
public:
    Outcome(const trace::Trace& trace, Position at) : all_(analyze::next_tokens(trace, at, model::logit_count(trace.config()))) {}

    const std::vector<analyze::TokenScore>& all() const { return all_; }
    double probability(std::int64_t id) const {
        const auto found = std::ranges::find(all_, id, &analyze::TokenScore::id);
        return found == all_.end() ? kNaN : double(found->probability);
    }
    double rank(std::int64_t id) const {  ///< from 1
        const auto found = std::ranges::find(all_, id, &analyze::TokenScore::id);
        return found == all_.end() ? kNaN : double(found - all_.begin() + 1);
    }
    double entropy() const {
        double sum = 0;
        for (const analyze::TokenScore& each : all_)
            if (each.probability > 0) sum -= double(each.probability) * std::log(double(each.probability));
        return sum;
    }

private:
    std::vector<analyze::TokenScore> all_;
};

}  // namespace

void Inspector::set_view(const View& view) {
    view_ = view;
    refresh();
}

/// Of the view that is shown: where it is asked, and the token that its chip names; none: it asks about no answer.
std::optional<Inspector::Question> Inspector::question() const {
    const auto& trace = document_.trace();
    const figure::ViewOption* option = option_of(figure::view_spec(view_), Subject::answer);
    if (!option || !trace || !trace->tokenizer() || !trace->config().has_unembedding) return std::nullopt;
    if (!trace->model() || !model::has_weights(*trace->model())) return std::nullopt;
    const Position last(trace->tokens() - 1);
    const Position at = model::has_classes(trace->config()) ? analyze::output_position(*trace)
                                                            : document_.selection().get().query().value_or(last);
    return Question{at, view_value(document_.options(), view_, *option)};
}

/// None: the run has no logits there.
std::optional<Inspector::Answer> Inspector::answer_of(const Asked& asked, const CancelToken& cancel) {
    if (!asked.question) return std::nullopt;
    const trace::Trace& trace = *asked.trace;
    const model::ModelConfig& config = trace.config();
    Answer out;
    try {
        const Outcome a(trace, asked.question->at);
        cancel.throw_if_cancelled();
        std::optional<Outcome> b;
        if (asked.beside) {
            const trace::Trace& other = *asked.beside->pair->b;
            const auto at = figure::SidePlaces(*asked.beside).query_in_b(asked.question->at);
            if (at && model::logit_count(other.config()) == model::logit_count(config)) b.emplace(other, *at);
        }
        const auto numbers = [&](double (Outcome::*of)(std::int64_t) const, std::int64_t id) {
            return Numbers{(a.*of)(id), b ? ((*b).*of)(id) : kNaN};
        };
        for (std::size_t i = 0; i < std::min(likely_answers, a.all().size()); ++i) {
            const std::int64_t id = a.all()[i].id;
            out.likeliest.push_back(
                {QString::fromStdString(analyze::output_label(trace, id)), numbers(&Outcome::probability, id)});
        }
        out.entropy = {a.entropy(), b ? b->entropy() : kNaN};
        if (const std::string& typed = asked.question->typed; !typed.empty()) {
            const std::int64_t id =
                analyze::choose_target(config, *trace.tokenizer(), trace.encoding(), asked.question->at, typed).id;
            out.asked = LooksAt{QString::fromStdString(analyze::output_label(trace, id)), numbers(&Outcome::probability, id)};
            out.rank = numbers(&Outcome::rank, id);
        }
    } catch (const Error&) {
        if (out.likeliest.empty()) return std::nullopt;  // else a word that names no token: the view says so
    }
    return out;
}

void Inspector::show_answer(const std::optional<Answer>& answer) {
    answer_section_->setVisible(answer.has_value());
    if (!answer) return;
    const Position at = asked_->question->at;
    const bool classes = model::has_classes(asked_->trace->config());
    answer_section_->set_note(classes ? QString() : QStringLiteral("at %1 (%2)").arg(query_token(at), QString::number(at.value)));
    answer_->start(compares());
    const QString probability = classes ? QStringLiteral("The probability of this class.")
                                        : QStringLiteral("The probability of this token, by the softmax of the logits.");
    const auto add = [&](const LooksAt& of) {
        NumberRow* row = answer_->add(of.name, of.weight, probability);
        row->set_wide_bar(true);
        row->set_bar(of.weight.a, false);
    };
    for (const LooksAt& each : answer->likeliest) add(each);
    answer_->add(QStringLiteral("entropy"), answer->entropy,
                 QStringLiteral("-sum_t p_t ln p_t over all outputs, in nats: 0 where one is certain."));
    if (answer->asked) {
        if (std::ranges::find(answer->likeliest, answer->asked->name, &LooksAt::name) == answer->likeliest.end())
            add(*answer->asked);
        answer_->add(QStringLiteral("rank of %1").arg(answer->asked->name), answer->rank,
                     QStringLiteral("1: nothing is likelier."),
                     [](double rank) { return figure::count_text(std::llround(rank)); });
    }
    answer_->end();
}

}  // namespace headlight::ui
