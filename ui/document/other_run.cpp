// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/document/other_run.h"

#include "headlight/analyze/heads/head_table.h"
#include "headlight/figure/picture/picture_file.h"
#include "headlight/intervention/compare/comparison.h"

#include <utility>

namespace headlight::ui {

namespace {

trace::Prompt input_of(const PromptText& prompt, const OpenModel& model) {
    if (reads_pictures(model))
        return {.image = prompt.image.toStdString(), .picture = figure::read_picture(prompt.image.toStdString())};
    const bool encodes = model.model->part(model::Stack::encoder) != nullptr;
    return {.text = prompt.text.toStdString(), .pair = prompt.has_pair || encodes ? prompt.pair.toStdString() : std::string()};
}

/// Measures that both runs have.
std::shared_ptr<const analyze::HeadTable> differences_of(const trace::Trace& a, const trace::Trace& b) {
    const bool alike = a.config().n_layers == b.config().n_layers && a.config().n_heads == b.config().n_heads;
    if (!alike || !a.has_overview() || !b.has_overview()) return nullptr;
    auto table = std::make_shared<analyze::HeadTable>(analyze::head_table(a));
    const analyze::HeadTable other = analyze::head_table(b);
    for (std::size_t m = 0; m < table->measures.size(); ++m) {
        analyze::MeasureInfo& measure = table->measures[m];
        const Eigen::MatrixXd* values = other.find(measure.id);
        table->values[m] = values ? Eigen::MatrixXd(*values - table->values[m])
                                  : Eigen::MatrixXd::Constant(table->n_layers, table->n_heads, kNaN);
        measure.title += ", B − A";
        measure.definition = "B − A: " + measure.definition;
        measure.group = figure::kDifferenceGroup;
    }
    table->queries.clear();
    return table;
}

}  // namespace

OtherRun::OtherRun(Jobs& jobs, QString device) : jobs_(jobs), device_(std::move(device)) {
    connect(&jobs_, &Jobs::failed, this, [this](Jobs::Lane lane, const Failure& failure) {
        if (lane != Jobs::Lane::other) return;
        problem_ = failure.facts;  // and what was tried stays known, or every change of an option would try it again
        b_ = nullptr;
        parts_.clear();
        Q_EMIT changed();
    });
}

OtherRun::Made OtherRun::made_of(const OtherInput& input, const OpenModel& open, const PromptText& a) {
    const auto or_own = [](const QString& own, const QString& of_a) { return own.isEmpty() ? of_a : own; };
    const PromptText& b = input.prompt;
    return {.prompt = {.text = or_own(b.text, a.text),
                       .pair = or_own(b.pair, a.pair),
                       .has_pair = a.has_pair || !b.pair.isEmpty(),
                       .image = or_own(b.image, a.image)},
            .model = or_own(input.model, open.reference)};
}

void OtherRun::clear() {
    a_ = b_ = nullptr;
    other_model_ = {};
    made_.reset();
    const bool had_problem = std::exchange(problem_, {}).has_value();
    if (!std::exchange(parts_, {}).empty() || had_problem) Q_EMIT changed();
}

OtherRun::Parts OtherRun::parts_of(const std::shared_ptr<const trace::Trace>& a, const std::shared_ptr<const trace::Trace>& b) {
    Parts parts;
    const auto add = [&](model::Stack stack, const std::shared_ptr<const trace::Trace>& of_a,
                         const std::shared_ptr<const trace::Trace>& of_b) {
        if (of_a && of_b) parts[stack] = {figure::beside(of_a, of_b), differences_of(*of_a, *of_b)};
    };
    add(model::Stack::decoder, a, b);
    for (const model::Stack stack : {model::Stack::encoder, model::Stack::cross}) add(stack, a->part(stack), b->part(stack));
    return parts;
}

void OtherRun::look(const OtherInput& input, const OpenModel& open, const PromptText& prompt,
                    const std::shared_ptr<const trace::Trace>& a) {
    if (!input.on || !a || !open.model || is_saved(open)) {
        jobs_.cancel(Jobs::Lane::other);
        return clear();
    }
    const Made wanted = made_of(input, open, prompt);
    if (made_ == wanted && a_ == a && (b_ || problem_ || jobs_.busy(Jobs::Lane::other))) return;
    const bool own_model = wanted.model == open.reference;
    const bool same_b = b_ && made_ == wanted && (!own_model || b_->model() == open.model);
    problem_.reset();
    made_ = wanted;
    a_ = a;
    auto known = same_b ? b_ : nullptr;
    if (!known) b_ = nullptr;
    parts_.clear();
    Q_EMIT changed();
    if (other_model_.reference != wanted.model) other_model_ = {};  // two models at most
    OpenModel model = own_model ? open : other_model_;
    jobs_.start(Jobs::Lane::other, QStringLiteral("Running B"),
                [this, wanted, own_model, a, known, model, device = device_](const CancelToken& cancel,
                                                                             const Progress& progress) mutable -> Jobs::Deliver {
                    if (!model.model) model = load_model(wanted.model, device.toStdString(), cancel, progress);
                    check_files(model);
                    const auto b =
                        known ? known
                              : trace::run(model.model, model.tokenizer, input_of(wanted.prompt, model), {}, cancel, progress);
                    const Parts parts = parts_of(a, b);
                    return [this, own_model, model, b, parts] {
                        if (!own_model) other_model_ = model;
                        b_ = b;
                        parts_ = parts;
                        Q_EMIT changed();
                    };
                });
}

std::shared_ptr<const figure::Beside> OtherRun::beside(model::Stack stack) const {
    const auto part = parts_.find(stack);
    return part == parts_.end() ? nullptr : part->second.beside;
}

std::shared_ptr<const analyze::HeadTable> OtherRun::differences(model::Stack stack) const {
    const auto part = parts_.find(stack);
    return part == parts_.end() ? nullptr : part->second.differences;
}

}  // namespace headlight::ui
