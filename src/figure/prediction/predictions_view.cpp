// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/core/axis_words.h"
#include "figure/prediction/prediction_views.h"
#include "figure/table/table_figure.h"
#include "headlight/analyze/prediction/outputs.h"
#include "headlight/analyze/prediction/predictions.h"
#include "headlight/base/numbers.h"
#include "headlight/model/classes.h"

#include <cmath>

namespace headlight::figure {

QString logit_name(const trace::Trace& trace, const analyze::AttributionOptions& logit) {
    const QString token = token_word(trace, logit.token);
    return logit.minus ? token + QStringLiteral(" − ") + token_word(trace, *logit.minus) : token;
}

QString token_word(const trace::Trace& trace, std::int64_t id) {
    return QString::fromStdString(analyze::output_label(trace, id));
}

namespace {

draw::Label label_of_id(const trace::Trace& trace, std::int64_t id) { return {{}, token_word(trace, id), false}; }

double mean_of(const std::vector<analyze::TokenPrediction>& all) {
    double sum = 0;
    for (std::size_t i = 1; i < all.size(); ++i) sum += all[i].log_probability;
    return all.size() > 1 ? sum / static_cast<double>(all.size() - 1) : kNaN;
}

struct PredictionsKey {
    std::int64_t top;
    bool operator==(const PredictionsKey&) const = default;
};

constexpr std::size_t most_next = 100;  ///< drawn of a token

TableSection next_tokens(TableData& data, const TracePtr& run, std::int64_t top, const CancelToken& cancel) {
    const trace::Trace& trace = *run;
    const auto found = trace.results().get(  // a pin makes another figure
        PredictionsKey{top}, [&] { return analyze::predictions(trace, top, cancel); },
        [](const std::vector<analyze::TokenPrediction>& all) {
            std::size_t bytes = all.size() * sizeof(analyze::TokenPrediction);
            for (const auto& each : all) bytes += each.next.size() * sizeof(analyze::TokenScore);
            return static_cast<std::int64_t>(bytes);
        });
    const std::vector<analyze::TokenPrediction>& all = *found;
    data.table = [found, run] { return analyze::table_of(*found, *run->tokenizer()); };
    TableSection section;
    section.title = QStringLiteral("How well each token was predicted");
    const double mean = mean_of(all);
    section.note =
        std::isfinite(mean)
            ? QStringLiteral(
                  "Mean log-probability %1 nats a token, perplexity %2. Rank 0 is the likeliest token. "
                  "The first token has nothing before it.")
                  .arg(draw::number_text(mean, 3), draw::number_text(std::exp(-mean), mean < -std::log(1000.0) ? 0 : 1))
            : QStringLiteral("The first token has nothing before it.");
    section.columns = {
        table_column(ColumnKind::token, "token", "token"),
        table_column(ColumnKind::bar, "log_probability", "log-probability", "of this token given those before it, in nats"),
        table_column(ColumnKind::number, "rank", "rank", "of this token among all; 0: the likeliest", 0),
        table_column(ColumnKind::number, "next_entropy", "entropy after", "of the distribution of the next token, in nats", 2),
        table_column(ColumnKind::text, "next", "what may come next",
                     "likeliest tokens after this one, with their probabilities")};
    for (std::size_t i = 0; i < all.size(); ++i) {
        const analyze::TokenPrediction& p = all[i];
        TableRow& row = section.rows.emplace_back();
        row.query = Position(static_cast<std::int64_t>(i));
        TableCell next;
        for (const analyze::TokenScore& t : std::span(p.next).first(std::min(p.next.size(), most_next)))
            next.tokens.emplace_back(label_of_id(trace, t.id), static_cast<double>(t.probability));
        row.cells = {TableCell::of(draw::label_of(trace.labels(), *row.query)), TableCell::of(p.log_probability),
                     TableCell::of(p.rank < 0 ? kNaN : static_cast<double>(p.rank)), TableCell::of(p.entropy), std::move(next)};
    }
    return section;
}

TableSection masked_token(TableData& data, const TracePtr& run, Position position, std::int64_t top, const CancelToken& cancel) {
    const trace::Trace& trace = *run;
    const analyze::MaskedCandidates found = analyze::masked_candidates(trace, position, std::max<std::int64_t>(top, 20), cancel);
    data.table = [listed = found, top, run]() mutable {
        listed.candidates.resize(std::min(listed.candidates.size(), static_cast<std::size_t>(top)));
        return analyze::table_of(listed, *run->tokenizer());
    };
    TableSection section;
    section.title = QStringLiteral("%1 masked").arg(draw::label_of(trace.labels(), position).with_position(position));
    section.note = QStringLiteral("The token itself has log-probability %1 nats and rank %2 (0: the likeliest).")
                       .arg(draw::number_text(found.log_probability, 3), draw::count_text(found.rank));
    section.hint = QStringLiteral("Pin another token to mask that one.");
    section.columns = {
        {.kind = ColumnKind::text, .id = "rank", .title = QStringLiteral("rank")},
        {.kind = ColumnKind::token, .id = "token", .title = QStringLiteral("candidate")},
        {.kind = ColumnKind::bar, .id = "probability", .title = QStringLiteral("probability"), .decimals = 4, .limit = 1},
        {.kind = ColumnKind::number, .id = "logit", .title = QStringLiteral("logit"), .decimals = 3}};
    for (std::size_t k = 0; k < found.candidates.size(); ++k) {
        const analyze::TokenScore& t = found.candidates[k];
        section.rows.emplace_back().cells = {TableCell::of(QString::number(k)), TableCell::of(label_of_id(trace, t.id)),
                                             TableCell::of(static_cast<double>(t.probability)),
                                             TableCell::of(static_cast<double>(t.logit))};
    }
    return section;
}

/// Classes of a text or picture: a bar each.
TableSection classes_of_text(const TracePtr& run, const std::vector<analyze::ClassScore>& scores) {
    const model::ModelConfig& c = run->config();
    TableSection section;
    section.title =
        QStringLiteral("Classes of the %1").arg(model::reads_pictures(c) ? QStringLiteral("picture") : QStringLiteral("text"));
    const QString read = draw::label_of(run->labels(), scores.front().position).with_position(scores.front().position);
    section.note =
        reads_mean(c) ? capitalized(QString::fromStdString(model::rows_text(c))) + u'.' : QStringLiteral("Read at %1.").arg(read);
    section.note += c.class_head.independent
                        ? QStringLiteral(" Each probability is a sigmoid of its logit: classes do not exclude each other.")
                        : QStringLiteral(" Probabilities are the softmax of the logits.");
    section.columns = {
        table_column(ColumnKind::text, "class", "class"),
        {.kind = ColumnKind::bar, .id = "probability", .title = QStringLiteral("probability"), .decimals = 4, .limit = 1},
        table_column(ColumnKind::number, "logit", "logit", "", 3)};
    for (const analyze::ClassScore& each : scores) {
        TableRow& row = section.rows.emplace_back();
        row.cells = {TableCell::of(token_word(*run, each.id)), TableCell::of(each.probability), TableCell::of(each.logit)};
    }
    return section;
}

/// The likeliest class of every token, and the others that may be right.
TableSection classes_of_tokens(const TracePtr& run, const std::vector<analyze::ClassScore>& scores) {
    TableSection section;
    section.title = QStringLiteral("Class of each token");
    section.columns = {
        table_column(ColumnKind::token, "token", "token"),
        table_column(ColumnKind::text, "class", "class"),
        {.kind = ColumnKind::bar, .id = "probability", .title = QStringLiteral("probability"), .decimals = 3, .limit = 1},
        table_column(ColumnKind::text, "others", "other classes", "with their probabilities")};
    for (const analyze::ClassScore& each : scores) {
        if (each.rank > 0) {
            section.rows.back().cells.back().tokens.emplace_back(label_of_id(*run, each.id), each.probability);
            continue;
        }
        TableRow& row = section.rows.emplace_back();
        row.query = each.position;
        row.cells = {TableCell::of(draw::label_of(run->labels(), each.position)), TableCell::of(token_word(*run, each.id)),
                     TableCell::of(each.probability), TableCell{}};
    }
    return section;
}

/// Tokens as start or as end of the answer.
TableSection ends_of_answer(const TracePtr& run, const std::vector<analyze::ClassScore>& scores, std::int64_t id) {
    TableSection section;
    section.title = id == 0 ? QStringLiteral("Start of the answer") : QStringLiteral("End of the answer");
    section.note = QStringLiteral("Probabilities are the softmax of the logits over the tokens.");
    section.columns = {
        table_column(ColumnKind::token, "token", "token"),
        {.kind = ColumnKind::bar, .id = "probability", .title = QStringLiteral("probability"), .decimals = 4, .limit = 1},
        table_column(ColumnKind::number, "logit", "logit", "", 3)};
    for (const analyze::ClassScore& each : scores) {
        if (each.id != id) continue;
        TableRow& row = section.rows.emplace_back();
        row.query = each.position;
        row.cells = {TableCell::of(draw::label_of(run->labels(), each.position).with_position(each.position)),
                     TableCell::of(each.probability), TableCell::of(each.logit)};
    }
    return section;
}

TableData class_table(const TracePtr& trace, std::int64_t top) {
    const bool answer = head_of(trace->config()) == model::HeadKind::question_answering;
    const bool whole = model::class_position(trace->config(), trace->encoding().ids).has_value();
    const auto scores = analyze::class_predictions(*trace, whole ? std::max<std::int64_t>(top, 20) : top);
    TableData data;
    data.view = "predictions";
    data.table = [scores, trace] { return analyze::table_of(scores, *trace); };
    data.title = QStringLiteral("Predicted classes");
    data.description =
        answer  ? QStringLiteral("The likeliest first and last tokens of the answer, with their probabilities among all tokens.")
        : whole ? QStringLiteral("The classes of the model, likeliest first, with their probabilities and logits.")
                : QStringLiteral("The likeliest class of every token, its probability, and other classes.");
    if (answer)
        data.sections = {ends_of_answer(trace, scores, 0), ends_of_answer(trace, scores, 1)};
    else
        data.sections = {whole ? classes_of_text(trace, scores) : classes_of_tokens(trace, scores)};
    return data;
}

}  // namespace

std::unique_ptr<Figure> predictions_view(TracePtr trace, std::optional<Position> position, std::int64_t top,
                                         const CancelToken& cancel) {
    if (model::has_classes(trace->config())) return table_figure(class_table(trace, top));
    TableData data;
    data.view = "predictions";
    const bool causal = trace->config().causal;
    data.title = causal ? QStringLiteral("Predictions of the next token") : QStringLiteral("Candidates of a masked token");
    data.description =
        causal ? QStringLiteral(
                     "One row per token: its log-probability given the tokens before it, its rank in the whole vocabulary, "
                     "and the model's predictions for the next token. A long bar to the left is a token that came as a "
                     "surprise.")
               : QStringLiteral(
                     "One token is replaced by the mask, the text is run again, and the model's candidates for the "
                     "gap are listed with their probabilities. Devlin et al. 2019, BERT.");
    data.sections = {causal ? next_tokens(data, trace, top, cancel)
                            : masked_token(data, trace, position.value_or(Position(trace->tokens() / 2)), top, cancel)};
    return table_figure(std::move(data));
}

}  // namespace headlight::figure
