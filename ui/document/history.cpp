// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/document/history.h"

#include <QDateTime>
#include <QUndoCommand>

#include <utility>
#include <vector>

namespace headlight::ui {

class StateStep : public QUndoCommand {
public:
    enum class Kind { prompt = 1, options, edits, selection, continuation, model };

    StateStep(History& history, State before, State after, Kind kind)
        : history_(history),
          before_(std::move(before)),
          after_(std::move(after)),
          kind_(kind),
          time_(QDateTime::currentMSecsSinceEpoch()) {
        setText(kind == Kind::prompt         ? QStringLiteral("Edit text")
                : kind == Kind::options      ? QStringLiteral("Change options")
                : kind == Kind::edits        ? QStringLiteral("Change the edits")
                : kind == Kind::continuation ? QStringLiteral("Generate")
                : kind == Kind::model        ? QStringLiteral("Open model")
                                             : QStringLiteral("Change selection"));
    }

    /// Every click and every continuation is a step of its own; letters typed, a slider and a weight dragged are not.
    int id() const override {
        return kind_ == Kind::prompt || kind_ == Kind::options || kind_ == Kind::edits ? static_cast<int>(kind_) : -1;
    }
    /// It led to this state, whatever is selected in it.
    bool leads_to(const State& now) const {
        return after_.prompt == now.prompt && after_.options == now.options && after_.model == now.model;
    }
    /// It opened this model; a saved trace brings its own text, and a picture model its own view.
    bool opened(const QString& model) const { return kind_ == Kind::model && after_.model == model; }

    bool mergeWith(const QUndoCommand* other) override {
        const auto* next = static_cast<const StateStep*>(other);
        if (next->time_ - time_ >= history_.merging_ms_) return false;
        if (kind_ == Kind::edits && (!changed_edit() || changed_edit() != next->changed_edit())) return false;
        after_ = next->after_;
        time_ = next->time_;
        return true;
    }

    void undo() override { restore(before_); }
    void redo() override {
        if (first_) {
            first_ = false;  // done already: this step only remembers it
            return;
        }
        restore(after_);
    }
    void set_after(const State& now) { after_ = now; }

    /// Of the texts that the step before does not share.
    std::int64_t text_bytes() const {
        const auto own = [](const QString& text, const QString& before) {
            return text.constData() == before.constData() ? 0 : std::int64_t(text.size()) * 2;
        };
        return own(after_.prompt.text, before_.prompt.text) + own(after_.prompt.pair, before_.prompt.pair) +
               own(after_.options.other.prompt.text, before_.options.other.prompt.text);
    }
    /// Done already, for another stack.
    StateStep* copy() const {
        auto* step = new StateStep(history_, before_, after_, kind_);
        step->time_ = time_;
        return step;
    }

private:
    std::optional<std::size_t> changed_edit() const { return changed_line(before_.options.edits, after_.options.edits); }
    void restore(const State& state) {
        history_.restoring_ = true;
        history_.document_.restore(state);
        history_.last_ = history_.document_.state();
        history_.restoring_ = false;
    }

    History& history_;
    State before_, after_;
    Kind kind_;
    qint64 time_;
    bool first_ = true;
};

History::History(Document& document, QObject* parent) : QObject(parent), document_(document), last_(document.state()) {
    stack_.setUndoLimit(500);
    connect(&document_, &Document::changed, this, [this](Document::Change change) {
        if (change == Document::Change::trace) {
            absorb();
        } else if (change == Document::Change::prompt || change == Document::Change::options ||
                   change == Document::Change::model) {
            look();
        }
    });
    connect(&document_, &Document::continued, this, &History::look);
    connect(&document_.selection(), &SelectionModel::changed, this, [this](bool hover_only) {
        if (!hover_only) look();
    });
}

void History::clear() {
    stack_.clear();
    last_ = document_.state();
}

void History::look() {
    if (restoring_ || document_.adapting() || document_.continuing()) return;
    const State now = document_.state();
    if (now == last_) return;
    if (last_.model.isEmpty() && !now.model.isEmpty()) {  // the first model is where it all begins
        last_ = now;
        return;
    }
    if (StateStep* top = last_step(); top && top->opened(now.model) && now.prompt == last_.prompt && !document_.up_to_date()) {
        top->set_after(last_ = now);  // the view that the model opens with
        return;
    }
    const bool written = now.prompt.written != last_.prompt.written && !now.prompt.written.empty() &&
                         now.prompt.text.size() > last_.prompt.text.size() && now.prompt.text.startsWith(last_.prompt.text);
    using Kind = StateStep::Kind;
    const Kind kind = now.model != last_.model                   ? Kind::model
                      : written                                  ? Kind::continuation
                      : now.prompt != last_.prompt               ? Kind::prompt
                      : now.options.edits != last_.options.edits ? Kind::edits
                      : now.options != last_.options             ? Kind::options
                                                                 : Kind::selection;
    const State before = std::exchange(last_, now);
    stack_.push(new StateStep(*this, before, now, kind));
    forget_old_texts();
}

/// Where the texts of all steps take much, the older half of the steps goes: each step of a text of a megabyte has its own two.
void History::forget_old_texts() {
    constexpr std::int64_t most = std::int64_t{64} << 20;
    const auto step = [this](int i) { return static_cast<const StateStep*>(stack_.command(i)); };
    std::int64_t bytes = 0;
    for (int i = 0; i < stack_.count(); ++i) bytes += step(i)->text_bytes();
    if (bytes <= most || stack_.count() < 2) return;
    std::vector<StateStep*> kept;
    for (int i = stack_.count() / 2; i < stack_.count(); ++i) kept.push_back(step(i)->copy());
    stack_.clear();
    for (StateStep* each : kept) stack_.push(each);
}

/// Pins that moved with the text belong to the edit that moved them.
void History::absorb() {
    last_ = document_.state();
    if (StateStep* top = last_step(); top && (top->opened(last_.model) || top->leads_to(last_))) top->set_after(last_);
}

/// Null after an undo, or when there is none.
StateStep* History::last_step() const {
    if (stack_.index() == 0 || stack_.index() != stack_.count()) return nullptr;
    return const_cast<StateStep*>(static_cast<const StateStep*>(stack_.command(stack_.index() - 1)));
}

}  // namespace headlight::ui
