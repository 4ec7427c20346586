// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/document/subject.h"

#include "ui/document/document.h"

#include <algorithm>
#include <iterator>

namespace headlight::ui {

namespace {

/// Options that are the subject of a view, by their names.
struct SubjectOption {
    const char* option;
    Subject subject;
};
constexpr SubjectOption subject_options[] = {
    {"token", Subject::answer},   {"watch", Subject::answer},    {"target", Subject::answer},  {"promotes", Subject::answer},
    {"minus", Subject::contrast}, {"passage", Subject::passage}, {"against", Subject::against}};

}  // namespace

std::optional<Subject> subject_of(const figure::ViewOption& option) {
    const auto* found = std::ranges::find_if(subject_options, [&](const auto& row) { return option.name == row.option; });
    return found == std::end(subject_options) ? std::nullopt : std::optional(found->subject);
}

const figure::ViewOption* option_of(const figure::ViewSpec& spec, Subject subject) {
    const auto found = std::ranges::find_if(spec.options, [&](const auto& option) { return subject_of(option) == subject; });
    return found == spec.options.end() ? nullptr : &*found;
}

View view_of_a_weight() {
    const auto specs = figure::view_specs();
    const auto found = std::ranges::find_if(specs, [](const auto& spec) { return option_of(spec, Subject::against) != nullptr; });
    return found == specs.end() ? figure::view_id(0) : found->id;
}

std::vector<Subject> subjects_of(const figure::ViewSpec& spec) {
    const figure::ViewNeeds& needs = spec.needs;
    std::vector<Subject> subjects;
    if (needs.query || needs.key || needs.pattern) subjects.push_back(Subject::at);
    if (needs.key || needs.pattern || needs.hover) subjects.push_back(Subject::to);
    for (const Subject each : {Subject::answer, Subject::contrast})
        if (option_of(spec, each)) subjects.push_back(each);
    if (needs.neuron) subjects.push_back(Subject::neuron);
    for (const Subject each : {Subject::passage, Subject::against})
        if (option_of(spec, each)) subjects.push_back(each);
    return subjects;
}

QString subject_word(Subject subject) {
    switch (subject) {
        case Subject::at: return QStringLiteral("at");
        case Subject::to: return QStringLiteral("to");
        case Subject::answer: return QStringLiteral("answer");
        case Subject::contrast: return QStringLiteral("−");
        case Subject::neuron: return QStringLiteral("neuron");
        case Subject::passage: return QStringLiteral("passage");
        case Subject::against: return QStringLiteral("against");
    }
    return {};
}

void set_subject(ViewOptions& options, Subject subject, const std::string& value) {
    for (const figure::ViewSpec& spec : figure::view_specs())
        if (const figure::ViewOption* option = option_of(spec, subject))
            set_view_value(options, spec.id, option->name,
                           value.empty() || (value == "next" && !option->next) ? option->initial : value);
    // The effects of edits are those on the same answer.
    const QString token = value == "next" ? QString() : QString::fromStdString(value);
    if (subject == Subject::answer) options.edits.watched = token;
    if (subject == Subject::contrast) options.edits.against = token;
}

namespace {

template <class Forgotten>
ViewOptions without(ViewOptions options, Forgotten forgotten) {
    for (auto& [view, values] : options.values)
        std::erase_if(values, [&, &spec = figure::view_spec(view)](const auto& value) {
            const figure::ViewOption* option = spec.option(value.first);
            return option && forgotten(*option, value.second);
        });
    std::erase_if(options.values, [](const auto& of_view) { return of_view.second.empty(); });
    return options;
}

std::string against_of(const Document& document) {
    const View view = view_of_a_weight();
    const figure::ViewOption* option = option_of(figure::view_spec(view), Subject::against);
    return option ? view_value(document.options(), view, *option) : std::string();
}

bool is_position(const std::string& value) {
    return !value.empty() && value.find_first_not_of("0123456789") == std::string::npos;
}

}  // namespace

bool explains_weight(const Document& document) {
    const View view = view_of_a_weight();
    const OpenViews& views = document.views();
    return views.left == view || (views.split && views.right == view);
}

bool can_compare_with_key(const Document& document, Position key) {
    const auto& trace = document.trace();
    const figure::Selection& s = document.selection().get();
    if (!trace || trace->across_texts() || s.found_pins || s.pinned_queries.empty() || s.pinned_keys.empty()) return false;
    if (s.pinned_keys.back() == key || key.value < 0 || key.value >= trace->keys()) return false;
    return !trace->config().causal || key <= s.pinned_queries.back();
}

bool compare_with_key(Document& document, Position key) {
    if (!can_compare_with_key(document, key)) return false;
    const std::string value = compared_key(document) == key ? std::string() : std::to_string(key.value);
    document.edit_options([&](ViewOptions& o) { set_subject(o, Subject::against, value); });
    return true;
}

std::optional<Position> compared_key(const Document& document) {
    const std::string value = against_of(document);
    return is_position(value) ? std::optional(Position(QString::fromStdString(value).toLongLong())) : std::nullopt;
}

ViewOptions without_answers(ViewOptions options) {
    options.edits.watched.clear();  // those of the chips
    options.edits.against.clear();
    return without(std::move(options), [](const figure::ViewOption& option, const std::string& value) {
        return option.token && !(option.next && value == "next");
    });
}

ViewOptions without_passages(ViewOptions options) {
    return without(std::move(options), [](const figure::ViewOption& option, const std::string& value) {
        const auto subject = subject_of(option);
        return subject == Subject::passage || (subject == Subject::against && is_position(value));
    });
}

bool looks_default(const ViewOptions& options, const View& view) { return with_default_looks(options, view) == options; }

ViewOptions with_default_looks(ViewOptions options, const View& view) {
    const figure::ViewSpec& spec = figure::view_spec(view);
    if (const auto found = options.values.find(view); found != options.values.end()) {
        std::erase_if(found->second, [&](const auto& value) {
            const figure::ViewOption* option = spec.option(value.first);
            return option && !subject_of(*option);
        });
        if (found->second.empty()) options.values.erase(found);
    }
    if (!spec.needs.pattern) return options;
    const analyze::PairFilter pairs = options.pattern.filter;  // which tokens, not how they look
    options.pattern = {};
    options.pattern.filter = pairs;
    options.transfer = {};
    return options;
}

}  // namespace headlight::ui
