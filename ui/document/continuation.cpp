// SPDX-License-Identifier: GPL-3.0-or-later
// Generating: tokens arrive one by one, the trace of the whole text at the end.
#include "headlight/intervention/recipe/problems.h"
#include "headlight/model/outline.h"
#include "ui/document/document.h"

#include <QSettings>
#include <QStringDecoder>

#include <algorithm>
#include <iterator>

namespace headlight::ui {

namespace {

/// Ids of the text without those that a template adds.
std::vector<std::int64_t> plain_ids(const text::Tokenizer& tokenizer, const std::vector<std::int64_t>& ids) {
    std::vector<std::int64_t> plain;
    std::ranges::copy_if(ids, std::back_inserter(plain), [&](std::int64_t id) { return !tokenizer.is_special(id); });
    return plain;
}

/// Both continuations, up to the first token that differs and behind it.
Document::Continued continued_of(const text::Tokenizer& tokenizer, const std::vector<std::int64_t>& plain,
                                 const std::vector<std::int64_t>& edited) {
    const auto text = [&](const std::vector<std::int64_t>& ids, std::size_t from, std::size_t to) {
        std::string bytes;
        for (std::size_t i = from; i < std::min(to, ids.size()); ++i)
            bytes += tokenizer.is_special(ids[i]) ? text::token_label(tokenizer, ids[i]) : tokenizer.bytes_of(ids[i]);
        return QString::fromStdString(bytes);
    };
    const auto differ = std::ranges::mismatch(plain, edited);
    const auto at = static_cast<std::size_t>(differ.in1 - plain.begin());
    return {.common = text(plain, 0, at),
            .plain = text(plain, at, at + 1),
            .plain_rest = text(plain, at + 1, plain.size()),
            .edited = text(edited, at, at + 1),
            .edited_rest = text(edited, at + 1, edited.size()),
            .note = {}};
}

/// Under the edits that the model and the text have; an edit that fails leaves the unedited text as it is.
Document::Continued continued_under(intervention::Recipe recipe, const OpenModel& opened, const PromptText& before,
                                    const std::vector<std::int64_t>& prompt, const model::GenerateOptions& options,
                                    const std::vector<std::int64_t>& plain, const CancelToken& cancel, const Progress& progress) {
    Document::Continued out;
    try {
        intervention::Sources sources(opened.model, opened.tokenizer, input_of(before, opened));
        const auto problems = intervention::problems_of(sources, recipe, cancel, progress);
        for (std::size_t i = 0; i < problems.size(); ++i)
            if (problems[i]) recipe.edits[i].on = false;
        if (!recipe.any()) {
            out.note = QStringLiteral("No edit fits this text");
            return out;
        }
        const auto edited = intervention::generate_under(sources, recipe, prompt, options, cancel, progress);
        out = continued_of(*opened.tokenizer, plain, edited.made.ids);
    } catch (const Error& error) {
        out.note = QString::fromStdString(error.facts().problem);
    }
    return out;
}

}  // namespace

std::optional<ErrorFacts> Document::why_no_continuation() const {
    if (!model_.model || opening_) return ErrorFacts{.problem = "No model is open yet"};
    if (!model::has_weights(*model_.model))
        return ErrorFacts{.problem = "A saved trace has no weights to continue its text with",
                          .file = model_.model->folder().string(),
                          .hint = "Open the model itself"};
    if (model_.model->part(model::Stack::encoder))
        return ErrorFacts{.problem = "Generating for encoder-decoder models is not supported yet",
                          .found = model_.model->config().family + ", which generates a target from a source",
                          .hint = "headlight generate --text SOURCE --pair TARGET does"};
    if (auto why = model::why_no_continuation(*model_.model)) {
        if (model::fills_masks(model_.model->config()))
            why->hint = "It fills in words instead: pin a token and press \"predictions\"";
        return why;
    }
    if (prompt_.has_pair && !prompt_.pair.isEmpty())
        return ErrorFacts{.problem = "Only a single text can be continued",
                          .found = "a sentence pair",
                          .hint = "Close the line for sentence B"};
    if (prompt_.text.isEmpty()) return ErrorFacts{.problem = "There is no text to continue", .hint = "Type its beginning"};
    return std::nullopt;
}

std::optional<ErrorFacts> Document::generate(const model::GenerateOptions& settings) {
    end_continuation();
    if (auto why = why_no_continuation()) return why;
    pause_.stop();
    reference_.make_way();
    probe_.make_way();
    const int number = ++continuations_;
    continuing_ = true;
    const auto work = [this, number, settings, before = prompt_, opened = model_, recipe = recipe_of(options_.edits)](
                          const CancelToken& cancel, const Progress& progress) -> Jobs::Deliver {
        check_files(opened);
        const text::Tokenizer& tokenizer = *opened.tokenizer;
        model::GenerateOptions options = settings;
        options.end = model::end_tokens(opened.model->folder());
        const std::vector<std::int64_t> prompt = tokenizer.encode(before.text.toStdString()).ids;
        PromptText after = before;
        QStringDecoder decoder(QStringDecoder::Utf8);  // a character may be spread over tokens
        const auto take = [&](std::int64_t id) {
            if (tokenizer.is_special(id)) return;
            const QString piece = decoder(QByteArray::fromStdString(tokenizer.bytes_of(id)));
            after = with_piece(after, piece);
            jobs_.in_window([this, number, piece] { take_piece(number, piece); });
        };
        const model::Generated made = model::generate(*opened.model, prompt, options, take, cancel, progress);
        std::optional<Continued> under_edits;
        if (recipe.any()) under_edits = continued_under(recipe, opened, before, prompt, options, made.ids, cancel, progress);
        std::shared_ptr<const trace::Trace> trace =
            trace::run(opened.model, opened.tokenizer, {.text = after.text.toStdString()}, {}, cancel, progress);
        const Tables tables = tables_of(*trace, cancel, progress);
        QString note = made.ids.size() == 1 ? QStringLiteral("1 token generated")
                                            : QStringLiteral("%1 tokens generated").arg(made.ids.size());
        if (made.ids.size() > 1 && made.seconds > 0)
            note += QStringLiteral(", %1 a second").arg(double(made.ids.size() - 1) / made.seconds, 0, 'f', 0);
        if (made.ended) note += QStringLiteral("; the model ended the text");
        std::vector<std::int64_t> whole = plain_ids(tokenizer, prompt);
        for (const std::int64_t id : plain_ids(tokenizer, made.ids)) whole.push_back(id);
        if (whole != plain_ids(tokenizer, trace->encoding().ids))
            note += QStringLiteral("; re-tokenizing the text gives different tokens than were generated");
        if (under_edits && under_edits->note.isEmpty())
            note +=
                under_edits->same() ? QStringLiteral("; the same under the edits") : QStringLiteral("; others under the edits");
        return [this, after, trace, tables, note, under_edits] {
            continuing_ = false;
            prompt_ = after;
            continued_under_edits_ = under_edits;
            Q_EMIT changed(Change::prompt);
            Q_EMIT continued(note);
            accept_run(trace, tables, after);
        };
    };
    jobs_.start(Jobs::Lane::model, QStringLiteral("Generating with %1").arg(QString::fromStdString(model_.model->config().name)),
                work);
    return std::nullopt;
}

void Document::take_piece(int number, const QString& piece) {
    if (!continuing_ || number != continuations_ || piece.isEmpty()) return;
    prompt_ = with_piece(prompt_, piece);
    set_modified(true);
    Q_EMIT changed(Change::prompt);
}

void Document::end_continuation() {
    if (!continuing_) return;
    continuing_ = false;
    jobs_.cancel(Jobs::Lane::model);
    Q_EMIT continued({});
}

}  // namespace headlight::ui
