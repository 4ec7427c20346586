// SPDX-License-Identifier: GPL-3.0-or-later
// The Inspector's section "What it predicts", of views that ask about an answer.
#include "headlight/analyze/prediction/outputs.h"
#include "headlight/analyze/prediction/predictions.h"
#include "headlight/base/numbers.h"
#include "headlight/figure/core/number_text.h"
#include "headlight/figure/core/sides.h"
#include "headlight/intervention/compare/alignment.h"
#include "headlight/intervention/compare/comparison.h"
#include "headlight/model/classes.h"
#include "headlight/model/outline.h"
#include "ui/document/subject.h"
#include "ui/panels/inspector/inspector.h"

#include <algorithm>
#include <cmath>

namespace headlight::ui {

namespace {

constexpr std::int64_t likely_answers = 5;

QString whole_number(double value) { return figure::count_text(std::llround(value)); }

/// An id names the same output in both.
bool same_outputs(const trace::Trace& a, const trace::Trace& b) {
    return model::logit_count(a.config()) == model::logit_count(b.config()) && a.config().labels == b.config().labels &&
           (model::has_classes(a.config()) || intervention::same_tokens(a, b));
}

/// The outputs that are listed: the likeliest of the run that is shown, or of both.
std::vector<std::int64_t> listed_of(const analyze::Outcome& a, const std::optional<analyze::Outcome>& b, figure::Side side) {
    std::vector<std::int64_t> ids;
    const auto add = [&](const analyze::Outcome& of) {
        for (const analyze::TokenScore& each : of.likeliest)
            if (std::ranges::find(ids, each.id) == ids.end()) ids.push_back(each.id);
    };
    if (!b || side != figure::Side::b) add(a);
    if (b && side != figure::Side::a) add(*b);
    return ids;
}

}  // namespace

void Inspector::set_view(const View& view) {
    view_ = view;
    refresh();
}

/// Of the view that is shown: where it is asked, and the token that its chip names; none: it asks about no answer.
std::optional<Inspector::Question> Inspector::question() const {
    const auto& trace = document_.trace();
    const figure::ViewSpec& spec = figure::view_spec(view_);
    const figure::ViewOption* option = option_of(spec, Subject::answer);
    if (!option || !trace || !trace->tokenizer() || !trace->config().has_unembedding) return std::nullopt;
    if (!trace->model() || !model::has_weights(*trace->model())) return std::nullopt;
    // Its two outputs compare tokens, and not what one token may be.
    if (trace->config().class_head.kind == model::HeadKind::question_answering) return std::nullopt;
    // As the view does: the pair that the program has pinned is not asked about.
    const figure::Selection& s = document_.selection().get();
    std::optional<Position> pinned = s.hover_query;
    if (!pinned && !s.pinned_queries.empty() && !(spec.needs.chosen && s.found_pins)) pinned = s.pinned_queries.back();
    return Question{figure::head_position(*trace, spec, pinned), view_value(document_.options(), view_, *option)};
}

/// None: the run has no logits there.
std::optional<Inspector::Answer> Inspector::answer_of(const Asked& asked, const CancelToken& cancel) {
    if (!asked.question) return std::nullopt;
    const trace::Trace& trace = *asked.trace;
    const Position at = asked.question->at;
    Answer out;
    try {
        analyze::Outcome a = analyze::outcome(trace, at, likely_answers);
        cancel.throw_if_cancelled();
        std::optional<analyze::Outcome> b;
        const trace::Trace* other = asked.beside ? asked.beside->pair->b.get() : nullptr;
        const auto at_b = other ? figure::SidePlaces(*asked.beside).query_in_b(at) : std::nullopt;
        if (at_b && same_outputs(trace, *other)) b = analyze::outcome(*other, *at_b, likely_answers);
        std::vector<std::int64_t> ids = listed_of(a, b, asked.side);
        const std::size_t listed = ids.size();
        if (const std::string& typed = asked.question->typed; !typed.empty()) {
            try {
                ids.push_back(analyze::choose_target(trace.config(), *trace.tokenizer(), trace.encoding(), at, typed).id);
            } catch (const Error&) {  // a word that names no token: the view says so
            }
        }
        a = analyze::outcome(trace, at, likely_answers, ids);
        if (b) b = analyze::outcome(*other, *at_b, likely_answers, ids);
        const auto row = [&](std::size_t i) {
            return LooksAt{QString::fromStdString(analyze::output_label(trace, ids[i])),
                           {double(a.asked[i].probability), b ? double(b->asked[i].probability) : kNaN}};
        };
        for (std::size_t i = 0; i < listed; ++i) out.likeliest.push_back(row(i));
        if (b && asked.side == figure::Side::difference)
            std::ranges::stable_sort(out.likeliest, std::greater(),
                                     [](const LooksAt& of) { return std::abs(of.weight.b - of.weight.a); });
        if (out.likeliest.size() > likely_answers) out.likeliest.resize(likely_answers);
        out.entropy = {a.entropy, b ? b->entropy : kNaN};
        if (ids.size() > listed) {
            out.asked = row(listed);
            out.rank = {double(a.ranks[listed] + 1), b ? double(b->ranks[listed] + 1) : kNaN};
        }
    } catch (const Error&) {
        return std::nullopt;
    }
    return out;
}

void Inspector::show_answer(const std::optional<Answer>& answer) {
    answer_section_->setVisible(answer.has_value());
    if (!answer) return;
    const trace::Trace& trace = *asked_->trace;
    const Position at = asked_->question->at;
    const bool classes = model::has_classes(trace.config());
    const bool whole = classes && model::text_class_position(trace.config(), trace.encoding().ids).has_value();
    answer_section_->set_note(whole ? QString() : QStringLiteral("at %1 (%2)").arg(query_token(at), QString::number(at.value)));
    answer_->start(compares());
    const QString probability = classes ? QStringLiteral("The probability of this class.")
                                        : QStringLiteral("The probability of this token, by the softmax of the logits.");
    const auto add = [&](const LooksAt& of) {
        NumberRow* row = answer_->add(of.name, of.weight, probability);
        row->set_wide_bar(true);
        row->set_bar(of.weight.a, false);
    };
    for (const LooksAt& each : answer->likeliest) add(each);
    if (!std::isnan(answer->entropy.a))
        answer_->add(QStringLiteral("entropy"), answer->entropy,
                     QStringLiteral("-sum_t p_t ln p_t over all outputs, in nats: 0 where one is certain."));
    if (answer->asked) {
        if (std::ranges::find(answer->likeliest, answer->asked->name, &LooksAt::name) == answer->likeliest.end())
            add(*answer->asked);
        answer_->add(QStringLiteral("rank of %1").arg(answer->asked->name), answer->rank,
                     QStringLiteral("1: no output has a larger logit."), whole_number);
    }
    answer_->end();
}

}  // namespace headlight::ui
