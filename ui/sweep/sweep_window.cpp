// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/sweep/sweep_window.h"

#include "headlight/figure/core/number_text.h"
#include "headlight/intervention/sweep/request_fields.h"
#include "ui/style/appearance.h"
#include "ui/style/widgets.h"

#include <QApplication>
#include <QClipboard>
#include <QDateTime>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QScrollArea>
#include <QSignalBlocker>
#include <QSplitter>
#include <QVBoxLayout>

#include <utility>

namespace headlight::ui {
namespace {

using namespace intervention;

constexpr int least_beside = 300, least_form = 280;  ///< px of the largest cells, and of the form
constexpr int kFrameMs = 200, kTypingMs = 500, kMergingMs = 700;

/// The one field in which they differ; none: several do, as when a sweep is asked from the window.
std::optional<std::size_t> changed_field(const SweepRequest& a, const SweepRequest& b) {
    const auto x = fields_of(a), y = fields_of(b);
    std::optional<std::size_t> found;
    for (std::size_t i = 0; i < x.size(); ++i)
        if (x[i].words != y[i].words && std::exchange(found, i)) return std::nullopt;
    return found;
}

}  // namespace

/// What is typed into one field in quick succession is one step.
class SweepStep : public QUndoCommand {
public:
    SweepStep(SweepWindow& page, SweepRequest before, SweepRequest after)
        : QUndoCommand(QStringLiteral("Change the sweep")), page_(page), before_(std::move(before)), after_(std::move(after)) {}
    int id() const override { return 1; }
    bool mergeWith(const QUndoCommand* other) override {
        const auto* next = static_cast<const SweepStep*>(other);
        if (next->time_ - time_ >= kMergingMs || !field_ || field_ != next->field_) return false;
        after_ = next->after_;
        time_ = next->time_;
        return true;
    }
    void undo() override { page_.put_request(before_); }
    void redo() override {
        if (!std::exchange(first_, false)) page_.put_request(after_);
    }

private:
    SweepWindow& page_;
    SweepRequest before_, after_;
    std::optional<std::size_t> field_ = changed_field(before_, after_);
    qint64 time_ = QDateTime::currentMSecsSinceEpoch();
    bool first_ = true;  ///< done already: this step only remembers it
};

SweepWindow::SweepWindow(Document& document, Jobs& jobs, QWidget* parent)
    : QWidget(parent),
      document_(document),
      jobs_(jobs),
      form_(new SweepForm(jobs)),
      canvas_(new FigureCanvas(selection_)),
      largest_(new LargestCells(document)),
      results_(new QSplitter),
      forecast_(wrapped_label("note")),
      message_(wrapped_label("note")),
      pointed_(role_label("note")),
      progress_(new QProgressBar),
      start_(new QPushButton(QStringLiteral("Sweep"))),
      stop_(new QPushButton(QStringLiteral("Stop"))),
      go_on_(new QPushButton(QStringLiteral("Go on"))),
      export_(new QPushButton(QStringLiteral("Export …"))),
      copy_command_(new QPushButton(QStringLiteral("Copy as command"))) {
    setObjectName(QStringLiteral("SweepWindow"));
    setAttribute(Qt::WA_StyledBackground);
    build();
    connect_parts();
    restyle();
    form_->fit(document_.model());
    follow_window();
    initial_ = last_ = request();
    undo_.clear();
    show_work();
    show_cell();
    canvas_->set_placeholder(QStringLiteral("One edit after another"),
                             QStringLiteral("Choose what is edited and what is measured, then press Sweep."));
}

SweepWindow::~SweepWindow() {
    jobs_.disconnect(this);
    for (const auto lane : {Jobs::Lane::sweep, Jobs::Lane::sweep_figure, Jobs::Lane::sweep_forecast}) jobs_.cancel(lane);
}

void SweepWindow::build() {
    start_->setProperty("kind", "primary");
    progress_->setFixedWidth(160);
    progress_->setTextVisible(false);
    pointed_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    canvas_->set_margins(16, 12);
    canvas_->setAccessibleName(QStringLiteral("Figure of the sweep"));

    auto* scroll = new QScrollArea;
    form_->setProperty("role", "clear");
    scroll->setWidget(form_);
    scroll->setWidgetResizable(true);
    scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    scroll->setMinimumWidth(least_form);
    auto* left = new QWidget;
    auto* fields = new_column(left, {0, 0, 8, 0}, 8);
    fields->addWidget(scroll, 1);
    fields->addWidget(forecast_);
    fields->addWidget(start_);

    auto* top = new QHBoxLayout;
    top->addWidget(message_, 1);
    add_widgets(*top, {progress_, stop_, go_on_, copy_command_, export_});
    auto* figure = new QWidget;
    auto* of_figure = new_column(figure, {0, 0, 0, 0});
    of_figure->addWidget(canvas_, 1);
    of_figure->addWidget(pointed_);
    largest_->setProperty("role", "clear");
    auto* beside = scroll_area(largest_);
    beside->setMinimumSize(least_beside, 120);
    results_->addWidget(figure);
    results_->addWidget(beside);
    results_->setHandleWidth(1);
    results_->setStretchFactor(0, 1);
    results_->setChildrenCollapsible(false);
    auto* right = new QWidget;
    auto* column = new_column(right, {8, 0, 0, 0});
    column->addLayout(top);
    column->addWidget(results_, 1);
    auto* split = new QSplitter;
    split->addWidget(left);
    split->addWidget(right);
    split->setHandleWidth(1);
    split->setStretchFactor(1, 1);
    split->setCollapsible(0, false);
    split->setCollapsible(1, false);
    split->setSizes({310, 860});
    auto* all = new_column(this, {16, 12, 16, 8});
    all->addWidget(split);
}

void SweepWindow::connect_parts() {
    frames_.setInterval(kFrameMs);
    pause_.setInterval(kTypingMs);
    pause_.setSingleShot(true);
    connect(&frames_, &QTimer::timeout, this, [this] {
        if (!jobs_.busy(Jobs::Lane::sweep_figure)) refresh();
    });
    connect(&pause_, &QTimer::timeout, this, &SweepWindow::forecast_now);
    connect(form_, &SweepForm::changed, this, &SweepWindow::ask_forecast);
    connect(form_, &SweepForm::changed, this, &SweepWindow::look_at_request);
    connect(start_, &QPushButton::clicked, this, &SweepWindow::start);
    connect(stop_, &QPushButton::clicked, this, &SweepWindow::stop);
    connect(go_on_, &QPushButton::clicked, this, &SweepWindow::go_on);
    connect(largest_, &LargestCells::cell_chosen, this, &SweepWindow::choose_cell);
    connect(largest_, &LargestCells::edit_asked, this, &SweepWindow::use_edit);
    connect(largest_, &LargestCells::text_asked, this, &SweepWindow::text_asked);
    connect(export_, &QPushButton::clicked, this, [this] {
        if (result_) Q_EMIT export_asked(exportable());
    });
    connect(copy_command_, &QPushButton::clicked, this, [this] {
        QApplication::clipboard()->setText(command());
        say(QStringLiteral("Copied: %1").arg(command()));
    });
    connect(canvas_, &FigureCanvas::pointed_at, pointed_, &QLabel::setText);
    connect(canvas_, &FigureCanvas::clicked, this, [this](const figure::Hit& hit) {
        for (const auto& [name, value] : hit.options)
            if (name == "cell") choose_cell(std::stoul(value));
    });
    connect(canvas_, &FigureCanvas::failed, this,
            [this](const ErrorFacts& facts) { say(QString::fromUtf8(Error(facts).what()), true); });
    connect(&Appearance::instance(), &Appearance::changed, this, &SweepWindow::restyle);
    connect(&document_, &Document::changed, this, [this](Document::Change change) {
        if (change == Document::Change::model) {
            form_->fit(document_.model());
            offered_for_.clear();
        }
        follow_window();
        if (change == Document::Change::model) {
            if (reads_) to_read_.reset();  // of the model before
            show_work();
        }
        read_numbers();
    });
    connect(&document_.selection(), &SelectionModel::changed, this, [this](bool hover_only) {
        if (!hover_only) follow_selection();
    });
    connect(&jobs_, &Jobs::progressed, this, [this](Jobs::Lane lane, const ProgressStep& step) {
        if (lane != Jobs::Lane::sweep) return;
        progress_->setRange(0, static_cast<int>(step.total));
        progress_->setValue(static_cast<int>(step.done));
        say(QStringLiteral("%1 of %2 cells").arg(figure::count_text(step.done), figure::count_text(step.total)));
    });
    connect(&jobs_, &Jobs::finished, this, [this](Jobs::Lane lane) {
        if (lane == Jobs::Lane::sweep) end_run();
        show_work();
    });
    connect(&jobs_, &Jobs::failed, this, &SweepWindow::show_failed);
}

/// The window's texts or pictures are those of the page: its second one where it compares two.
void SweepWindow::follow_window() {
    const PromptText &text = document_.prompt(), &other = document_.options().other.prompt;
    const bool two = document_.model().model && document_.model().model->part(model::Stack::encoder);
    const auto input = reads_pictures(document_.model()) ? &PromptText::image : &PromptText::text;
    form_->follow_texts(text.*input, document_.options().other.on ? other.*input : QString(), two ? text.pair : QString());
}

void SweepWindow::look_at_request() {
    try {
        form_->request();
    } catch (const Error&) {  // a list that is being typed
        return;
    }
    const SweepRequest now = request();
    if (now == last_) return;
    SweepRequest before = std::exchange(last_, now);
    if (!restoring_) undo_.push(new SweepStep(*this, std::move(before), now));
    Q_EMIT session_changed();
}

void SweepWindow::put_request(const SweepRequest& request) {
    restoring_ = true;
    form_->set_request(request);
    follow_window();
    look_at_request();
    restoring_ = false;
}

void SweepWindow::restore(const std::optional<SweepRequest>& request, std::optional<SweepNumbers> numbers) {
    const QSignalBlocker quiet(this);
    put_request(request.value_or(initial_));
    undo_.clear();
    for (const auto lane : {Jobs::Lane::sweep, Jobs::Lane::sweep_figure}) jobs_.cancel(lane);
    ++started_;
    run_.reset();
    shown_.reset();
    result_.reset();
    cell_.reset();
    numbers_.reset();
    canvas_->set_figure(nullptr);
    say({});
    show_cell();
    show_work();
    to_read_ = std::move(numbers);
    reads_ = false;
    read_numbers();
}

std::optional<SweepNumbers> SweepWindow::numbers() const {
    return to_read_ ? to_read_ : of_open_model() ? numbers_ : std::nullopt;
}

/// The head of the window is framed, and what else is selected there.
void SweepWindow::follow_selection() {
    if (!result_ || !of_open_model()) return;
    const HeadId focus = document_.selection().get().focus;
    if (selection_.get().focus != focus) selection_.focus_head(focus);
}

void SweepWindow::ask(const SweepAsk& what) {
    SweepRequest request = form_->own_request();
    SweepOptions& o = request.options;
    o.grid = what.grid;
    o.layers = what.layers;
    o.heads = what.heads;
    const bool of_attention = sites_of(o.grid).front() == Site::pattern;
    if (o.ablation == Ablation::knockout && !of_attention) o.ablation = Ablation::zero;
    if ((o.ablation == Ablation::zero || o.ablation == Ablation::mean) && of_attention) o.ablation = Ablation::knockout;
    form_->set_request(request);
    follow_window();
    start_->setFocus();
}

void SweepWindow::choose_cell(std::size_t cell) {
    if (!result_ || cell >= result_->cells.size()) return;
    cell_ = cell;
    const SweepCell& of = result_->cells[cell];
    figure::Selection own;
    own.layer = Layer(of.layer);
    own.focus = {Layer(of.layer), Head(of.head < 0 ? 0 : of.head * readers_of(of))};
    own.heads = {own.focus.head};
    if (of.position >= 0) own.pinned_queries = {Position(of.position)};
    if (of.source >= 0) own.pinned_keys = {Position(of.source)};
    if (of.neuron >= 0) own.neuron = analyze::NeuronId{Layer(of.layer), Neuron(of.neuron)};
    selection_.set(own);
    show_cell();
    if (of_open_model()) select_in_window(of);
}

std::int64_t SweepWindow::readers_of(const SweepCell& cell) const {
    return row_of(cell.site).axis == Axis::kv_head ? result_->axes.heads / result_->axes.kv_heads : 1;
}

/// Tokens of the text that was run where they stand in the window's text.
void SweepWindow::select_in_window(const SweepCell& cell) {
    SelectionModel& selection = document_.selection();
    const auto& trace = document_.trace();
    if (!trace || cell.layer >= selection.layers()) return;
    if (cell.head >= 0) {
        selection.focus_head({Layer(cell.layer), Head(cell.head * readers_of(cell))});
    } else {
        figure::Selection next = selection.get();
        next.layer = Layer(cell.layer);
        selection.set(next);
    }
    if (cell.neuron >= 0) selection.keep_neuron({Layer(cell.layer), Neuron(cell.neuron)});
    // A position of many pairs is no token of a text.
    if (cell.position < 0 || !result_->position_names.empty() || !shown_->asked.pairs.empty()) return;
    const SweepPair& pair = run_->pairs().front();
    const SweepText& text = text_that_runs(shown_->asked) == shown_->asked.clean ? pair.clean : pair.corrupt;
    const OpenModel& opened = document_.model();
    const std::vector<std::int64_t> there =
        intervention::positions_in(trace->encoding(), text, shown_->asked, *opened.model, *opened.tokenizer);
    const auto at = [&](std::int64_t position) { return there.at(static_cast<std::size_t>(position)); };
    if (at(cell.position) < 0) return;
    if (cell.source >= 0 && at(cell.source) >= 0)
        selection.pin_pair(selection.get().focus, Position(at(cell.position)), Position(at(cell.source)));
    else if (selection.get().pinned_queries != std::vector{Position(at(cell.position))})
        selection.pin_query(Position(at(cell.position)), false);
}

void SweepWindow::show_cell() {
    results_->widget(1)->setVisible(result_ != nullptr);
    if (!cell_ || !result_) return largest_->show(result_, {});
    const CellEdit edit = edit_of(shown_->asked, run_->pairs().front(), *result_, result_->cells[*cell_]);
    const bool can = !edit.words.empty();
    largest_->show(result_, LargestCells::Chosen{.cell = *cell_,
                                                 .edit = QString::fromStdString(can ? edit.words : edit.why_not),
                                                 .can_edit = can,
                                                 .for_text = edits_window()});
}

/// Beside the figure where both have room, else below it.
void SweepWindow::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    const auto direction = width() >= least_form + 2 * least_beside + 160 ? Qt::Horizontal : Qt::Vertical;
    if (results_->orientation() == direction) return;
    results_->setOrientation(direction);
    results_->setSizes(direction == Qt::Horizontal ? QList{width() - least_form - least_beside, least_beside}
                                                   : QList{height() - 220, 220});
}

void SweepWindow::use_edit() {
    if (!cell_ || !result_) return;
    const CellEdit edit = edit_of(shown_->asked, run_->pairs().front(), *result_, result_->cells[*cell_]);
    if (edit.words.empty()) return say(QString::fromStdString(edit.why_not));
    const QString words = QString::fromStdString(edit.words);
    if (edits_window()) {
        document_.add_edit(words);
        return say(QStringLiteral("Added to the edits of the window's text: %1").arg(words));
    }
    QApplication::clipboard()->setText(words);
    say(QStringLiteral("Copied, because the sweep edits another text than the window shows: %1").arg(words));
}

bool SweepWindow::edits_window() const {
    return of_open_model() && run_->pairs().size() == 1 &&
           QString::fromStdString(text_that_runs(shown_->asked)) ==
               (reads_pictures(document_.model()) ? document_.prompt().image : document_.prompt().text);
}

void SweepWindow::show_work() {
    const bool runs = jobs_.busy(Jobs::Lane::sweep);
    progress_->setVisible(runs);
    stop_->setVisible(runs);
    stop_->setEnabled(!stopping_);
    stop_->setText(stopping_ ? QStringLiteral("Stopping …") : QStringLiteral("Stop"));
    go_on_->setVisible(!runs && result_ && !result_->complete);
    start_->setEnabled(!runs && !cannot_);
    export_->setEnabled(result_ != nullptr);
    copy_command_->setEnabled(shown_.has_value());
}

void SweepWindow::restyle() {
    figure::Style style;
    style.theme = &Appearance::instance().theme();
    canvas_->set_style(style);
}

void SweepWindow::say(const QString& text, bool wrong) {
    set_style_property(*message_, "role", wrong ? "error" : "note");
    message_->setText(text);
}

void SweepWindow::say_written(const QString& file) { say(QStringLiteral("Wrote %1").arg(file)); }

void SweepWindow::keyPressEvent(QKeyEvent* event) {
    if (event->matches(QKeySequence::HelpContents) && canvas_->shown())
        return Q_EMIT explanation_asked(canvas_->shown()->title(), canvas_->shown()->description());
    // Return in a field starts it, as it runs a text.
    const bool in_field = focusWidget() && focusWidget()->testAttribute(Qt::WA_InputMethodEnabled);
    if ((event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter) && in_field && start_->isEnabled()) return start();
    QWidget::keyPressEvent(event);
}

void SweepWindow::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    read_numbers();
    ask_forecast();
}

}  // namespace headlight::ui
