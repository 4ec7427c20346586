// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/corpus/corpus_window.h"

#include "headlight/corpus/probe/labels.h"
#include "headlight/corpus/probe/probe_kind.h"
#include "headlight/corpus/store/text_store.h"
#include "headlight/corpus/syntax/word_tokens.h"
#include "headlight/figure/core/number_text.h"
#include "ui/corpus/corpus_form.h"
#include "ui/style/appearance.h"
#include "ui/style/widgets.h"

#include <QFileDialog>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QPointer>
#include <QSplitter>
#include <QVBoxLayout>

#include <set>
#include <tuple>

namespace headlight::ui {
namespace {

constexpr int kRereadMs = 5000;
constexpr int kRowHeight = 26;

/// Positions of `now` that have bytes of a token of `then`, an encoding of the same text; a special token matches the special
/// token with its id.
std::vector<Position> same_bytes(const text::Encoding& then, std::int64_t token, const text::Encoding& now) {
    const auto t = static_cast<std::size_t>(token);
    std::vector<Position> out;
    for (std::size_t p = 0; p < now.ids.size(); ++p) {
        const bool special = then.special.at(t);
        const text::ByteRange &a = then.offsets.at(t), &b = now.offsets[p];
        const bool same =
            special ? now.special[p] && now.ids[p] == then.ids[t] : !now.special[p] && a.begin < b.end && b.begin < a.end;
        if (same) out.emplace_back(static_cast<std::int64_t>(p));
    }
    return out;
}

QSpinBox* index_box(const char* name) {
    auto* box = new QSpinBox;
    box->setRange(0, 1'000'000);
    box->setAccessibleName(QString::fromUtf8(name));
    box->setPrefix(QString::fromUtf8(name) + u' ');
    return box;
}

}  // namespace

CorpusWindow::CorpusWindow(Document& document, Jobs& jobs, QWidget* parent)
    : QWidget(parent),
      document_(document),
      jobs_(jobs),
      views_(new QTreeWidget),
      canvas_(new FigureCanvas(selection_)),
      facts_(role_label("note")),
      message_(wrapped_label("note")),
      pointed_(role_label("note")),
      measure_label_(new QLabel(QStringLiteral("Measure"))),
      measure_(new QComboBox),
      x_(new QComboBox),
      y_(new QComboBox),
      labels_(new QComboBox),
      probe_(new QPushButton(QStringLiteral("Run probe"))),
      layer_(index_box("Layer")),
      head_(index_box("Head")),
      neuron_(index_box("Neuron")),
      question_(new QLineEdit),
      token_(new QLineEdit),
      progress_(new QProgressBar),
      run_(new QPushButton(QStringLiteral("Run texts …"))),
      stop_(new QPushButton(QStringLiteral("Stop"))),
      use_(new QPushButton(QStringLiteral("Use in the window"))),
      export_(new QPushButton(QStringLiteral("Export …"))) {
    setObjectName(QStringLiteral("CorpusWindow"));
    setAttribute(Qt::WA_StyledBackground);
    build();
    fill_views();
    restyle();
    show_controls();
    canvas_->set_placeholder(QStringLiteral("No corpus is open"),
                             QStringLiteral("Run the model over your own texts, or open the store of an earlier run."));
    reread_.setInterval(kRereadMs);
    connect(&reread_, &QTimer::timeout, this, [this] { reread(Reread::in_passing); });
    connect(&Appearance::instance(), &Appearance::changed, this, &CorpusWindow::restyle);
    connect(&jobs_, &Jobs::progressed, this, [this](Jobs::Lane lane, const ProgressStep& step) {
        if (lane != Jobs::Lane::corpus) return;
        progress_->setRange(0, static_cast<int>(step.total));
        progress_->setValue(static_cast<int>(step.done));
        const QString unit = QString::fromStdString(step.unit);
        progress_->setToolTip(
            step.total > 0
                ? QStringLiteral("%1 of %2 %3s").arg(figure::count_text(step.done), figure::count_text(step.total), unit)
                : QString::fromStdString(step.what));
        if (!stored_) facts_->setText(progress_->toolTip());
    });
    connect(&jobs_, &Jobs::finished, this, [this](Jobs::Lane lane) {
        if (lane == Jobs::Lane::corpus) std::exchange(probing_, false) ? show_probe() : end_run();
        if (lane == Jobs::Lane::file) exporting_ = false;
        show_work();
    });
    connect(&jobs_, &Jobs::failed, this, &CorpusWindow::show_failed);
}

CorpusWindow::~CorpusWindow() {
    jobs_.disconnect(this);
    jobs_.cancel(Jobs::Lane::corpus);
    jobs_.cancel(Jobs::Lane::corpus_figure);
    jobs_.cancel(Jobs::Lane::corpus_open);
}

void CorpusWindow::build() {
    auto* open = new QPushButton(QStringLiteral("Open store …"));
    for (QPushButton* button : {run_, open, stop_, use_, export_, probe_}) button->setAutoDefault(false);
    show_work();
    progress_->setFixedWidth(220);
    progress_->setTextVisible(false);  // the style draws a thin bar
    facts_->setTextInteractionFlags(Qt::TextSelectableByMouse);
    views_->setHeaderHidden(true);
    views_->setRootIsDecorated(false);
    views_->setIndentation(12);
    views_->setFrameShape(QFrame::NoFrame);
    canvas_->set_margins(16, 12);
    views_->setAccessibleName(QStringLiteral("Figures of the corpus"));
    canvas_->setAccessibleName(QStringLiteral("Figure"));
    measure_->setAccessibleName(QStringLiteral("Measure"));
    x_->setAccessibleName(QStringLiteral("To the right"));
    y_->setAccessibleName(QStringLiteral("Upwards"));
    question_->setPlaceholderText(QStringLiteral("heads where VERB attends to its nsubj > 60 %"));
    labels_->setAccessibleName(QStringLiteral("Labels of the probe"));
    labels_->setToolTip(QStringLiteral("What the probe predicts: %1").arg(QString::fromStdString(corpus::label_words())));
    labels_->setEditable(true);
    labels_->setInsertPolicy(QComboBox::NoInsert);
    labels_->setMinimumContentsLength(14);
    question_->setAccessibleName(QStringLiteral("Question about words"));
    auto* top = new QHBoxLayout;
    add_widgets(*top, {run_, open});
    top->addSpacing(12);
    top->addWidget(facts_, 1);
    add_widgets(*top, {progress_, stop_, use_, export_});
    auto* controls = new QHBoxLayout;
    add_widgets(*controls, {measure_label_, measure_, x_, y_, layer_, head_, neuron_, labels_, probe_});
    controls->addWidget(question_, 1);
    token_->setPlaceholderText(QStringLiteral("a token with its space: “ Mr”"));
    token_->setAccessibleName(QStringLiteral("Token whose neurons are listed"));
    controls->addWidget(token_, 1);
    connect(token_, &QLineEdit::returnPressed, this, &CorpusWindow::refresh);
    controls->addStretch();
    auto* right = new QWidget;
    auto* column = new_column(right, {10, 0, 0, 0});
    column->addLayout(controls);
    column->addWidget(canvas_, 1);
    column->addWidget(pointed_);
    auto* split = new QSplitter;
    split->addWidget(views_);
    split->addWidget(right);
    split->setStretchFactor(1, 1);
    split->setSizes({240, 900});
    auto* all = new_column(this, {16, 12, 16, 8}, 10);
    all->addLayout(top);
    all->addWidget(message_);
    all->addWidget(split, 1);
    message_->hide();
    connect(run_, &QPushButton::clicked, this, &CorpusWindow::ask_for_texts);
    connect(open, &QPushButton::clicked, this, &CorpusWindow::ask_for_store);
    connect(stop_, &QPushButton::clicked, this, &CorpusWindow::stop);
    connect(export_, &QPushButton::clicked, this, &CorpusWindow::ask_for_file);
    connect(views_, &QTreeWidget::currentItemChanged, this, [this] {
        clicked_ = false;
        show_controls();
        refresh();
    });
    for (QComboBox* box : {measure_, x_, y_}) connect(box, &QComboBox::currentIndexChanged, this, &CorpusWindow::refresh);
    connect(labels_, &QComboBox::currentIndexChanged, this, [this] {
        cell_ = {};
        refresh();
    });
    connect(probe_, &QPushButton::clicked, this, &CorpusWindow::probe);
    connect(layer_, &QSpinBox::valueChanged, this, &CorpusWindow::bound_boxes);  // layers may differ in width
    for (QSpinBox* box : {layer_, head_, neuron_}) connect(box, &QSpinBox::valueChanged, this, &CorpusWindow::refresh);
    connect(question_, &QLineEdit::returnPressed, this, [this] {
        clicked_ = false;
        refresh();
    });
    connect(canvas_, &FigureCanvas::pointed_at, pointed_, &QLabel::setText);
    connect(canvas_, &FigureCanvas::clicked, this, &CorpusWindow::clicked);
    connect(canvas_, &FigureCanvas::brushed, this, &CorpusWindow::choose_heads);
    connect(use_, &QPushButton::clicked, this, &CorpusWindow::use);
    connect(&document_, &Document::changed, this, &CorpusWindow::restyle);  // the finder's filter
}

void CorpusWindow::fill_views() {
    std::map<std::string, QTreeWidgetItem*> groups;
    for (const figure::CorpusView& view : figure::corpus_views()) {
        QTreeWidgetItem*& group = groups[view.group];
        if (!group) {
            group = new QTreeWidgetItem(views_, {QString::fromStdString(view.group)});
            group->setFlags(Qt::ItemIsEnabled);
            QFont bold = views_->font();
            bold.setBold(true);
            group->setFont(0, bold);
            group->setSizeHint(0, QSize(0, kRowHeight));
            group->setExpanded(true);
        }
        auto* item = new QTreeWidgetItem(group, {QString::fromStdString(view.title)});
        item->setData(0, Qt::UserRole, QString::fromStdString(view.id));
        item->setSizeHint(0, QSize(0, kRowHeight));
        item->setFlags(Qt::NoItemFlags);  // until a store has it
    }
}

/// Disables views whose data the store did not gather, with the reason.
void CorpusWindow::show_store(figure::StorePtr stored) {
    const bool other = !stored_ || stored_->folder != stored->folder;
    stored_ = std::move(stored);
    facts_->setText(QString::fromStdString(corpus::corpus_words(*stored_)));
    facts_->setToolTip(QString::fromStdString(stored_->folder.string()));
    QTreeWidgetItem* first = nullptr;
    for (int g = 0; g < views_->topLevelItemCount(); ++g)
        for (int i = 0; i < views_->topLevelItem(g)->childCount(); ++i) {
            QTreeWidgetItem* item = views_->topLevelItem(g)->child(i);
            const figure::CorpusView& view = figure::corpus_view(item->data(0, Qt::UserRole).toString().toStdString());
            const bool there = view.gathered.empty() || stored_->has(view.gathered);
            item->setFlags(there ? Qt::ItemIsEnabled | Qt::ItemIsSelectable : Qt::NoItemFlags);
            item->setToolTip(
                0,
                there ? QString() : QStringLiteral("This store did not gather “%1”").arg(QString::fromStdString(view.gathered)));
            if (there && !first) first = item;
        }
    if (other) fill_measures();
    fill_labels();
    bound_boxes();
    QTreeWidgetItem* current = views_->currentItem();
    if (first && (!current || !(current->flags() & Qt::ItemIsSelectable)))
        views_->setCurrentItem(first);
    else
        refresh();
}

void CorpusWindow::fill_measures() {
    const auto& known = analyze::head_measures();
    for (const auto& [box, initial] :
         {std::pair(measure_, "induction"), std::pair(x_, "mean_distance"), std::pair(y_, "entropy")}) {
        const QSignalBlocker quiet(box);
        box->clear();
        for (const std::string& id : figure::corpus_measure_ids(*stored_)) {
            const auto info = std::ranges::find(known, id, &analyze::MeasureInfo::id);
            if (info != known.end()) box->addItem(QString::fromStdString(info->title), QString::fromStdString(id));
        }
        box->setCurrentIndex(std::max(0, box->findData(QString::fromUtf8(initial))));
    }
}

/// Limits the boxes to the heads and neurons that the store has.
void CorpusWindow::bound_boxes() {
    if (!stored_) return;
    const figure::CorpusShape shape = figure::corpus_shape(*stored_);
    const auto bound = [](QSpinBox* box, std::int64_t count) {
        const QSignalBlocker quiet(box);
        if (count > 0) box->setMaximum(static_cast<int>(count - 1));
    };
    bound(layer_, shape.layers);
    bound(head_, shape.heads);
    const auto layer = static_cast<std::size_t>(layer_->value());
    if (layer < shape.neurons.size()) bound(neuron_, shape.neurons[layer]);
}

void CorpusWindow::choose_view(const QString& id) {
    for (int g = 0; g < views_->topLevelItemCount(); ++g)
        for (int i = 0; i < views_->topLevelItem(g)->childCount(); ++i)
            if (QTreeWidgetItem* item = views_->topLevelItem(g)->child(i); item->data(0, Qt::UserRole).toString() == id)
                views_->setCurrentItem(item);
}

figure::CorpusRequest CorpusWindow::request() const {
    figure::CorpusRequest out;
    const figure::CorpusView* const view = current_view();
    out.view = view ? view->id : std::string();
    const auto id = [](const QComboBox* box) { return box->currentData().toString().toStdString(); };
    if (measure_->count() > 0) out.measure = id(measure_), out.x = id(x_), out.y = id(y_);
    out.head = {Layer(layer_->value()), Head(head_->value())};
    if (!clicked_ && view && view->head_optional) out.head = {Layer(-1), Head(-1)};  // the best one
    out.neuron = {Layer(layer_->value()), Neuron(neuron_->value())};
    if (view && view->of_labels()) out.labels = labels_->currentText().toStdString();
    if (view && view->of_classes) std::tie(out.label, out.predicted) = cell_;
    out.question = question_->text().trimmed().toStdString();
    out.token = token_->text().toStdString();
    if (view && view->with_model) {
        out.model = document_.model().model;
        out.tokenizer = document_.model().tokenizer;
    }
    return out;
}

figure::CorpusRequest CorpusWindow::for_store(figure::CorpusRequest asked, const corpus::StoredCorpus& stored) {
    if (asked.model && asked.model->hash() != stored.manifest.model_hash) asked.model = nullptr;
    return asked;
}

void CorpusWindow::fill_labels() {
    const QSignalBlocker quiet(labels_);
    const QString chosen = labels_->currentText();
    labels_->clear();
    if (const figure::CorpusView* view = current_view(); view && view->of_labels() && stored_) {
        std::vector<std::string> names = corpus::probe_tasks(stored_->folder, *view->probe);
        const auto probed = std::ssize(names);
        if (stored_->manifest.treebank)
            for (const std::string& each : corpus::treebank_labels())
                if (std::ranges::find(names, each) == names.end()) names.push_back(each);
        for (std::ptrdiff_t i = 0; i < std::ssize(names); ++i) {
            labels_->addItem(QString::fromStdString(names[static_cast<std::size_t>(i)]));
            if (i >= probed)
                labels_->setItemData(static_cast<int>(i), QStringLiteral("not probed yet: Run probe"), Qt::ToolTipRole);
        }
    }
    if (labels_->findText(chosen) < 0 && !chosen.isEmpty() && labels_->isVisibleTo(this)) labels_->addItem(chosen);
    labels_->setCurrentIndex(std::max(0, labels_->findText(chosen)));
    if (labels_->currentText() != chosen) cell_ = {};
}

/// Null: none is chosen.
const figure::CorpusView* CorpusWindow::current_view() const {
    const QTreeWidgetItem* item = views_->currentItem();
    const QString id = item ? item->data(0, Qt::UserRole).toString() : QString();
    return id.isEmpty() ? nullptr : &figure::corpus_view(id.toStdString());
}

void CorpusWindow::show_controls() {
    static const figure::CorpusView none;
    const figure::CorpusView* const chosen = current_view();
    const figure::CorpusView& view = chosen ? *chosen : none;
    measure_label_->setVisible(view.of_measure || view.of_axes);
    measure_label_->setText(view.of_axes ? QStringLiteral("Measures") : QStringLiteral("Measure"));
    measure_->setVisible(view.of_measure);
    x_->setVisible(view.of_axes);
    y_->setVisible(view.of_axes);
    layer_->setVisible(view.of_head || view.of_neuron);
    head_->setVisible(view.of_head);
    neuron_->setVisible(view.of_neuron);
    labels_->setVisible(view.of_labels());
    probe_->setVisible(view.probe.has_value());
    question_->setVisible(view.of_question);
    token_->setVisible(view.of_token);
    canvas_->set_lasso(view.id == "corpus-map");
    fill_labels();
}

void CorpusWindow::refresh() {
    const figure::CorpusRequest asked = request();
    show_work();
    if (!stored_ || asked.view.empty()) return;
    selection_.focus_head(asked.head);  // ringed; none where the view shows the best one
    canvas_->set_outdated(true);
    jobs_.start(Jobs::Lane::corpus_figure, {},
                [self = QPointer(this), stored = stored_, asked](const CancelToken& cancel, const Progress&) -> Jobs::Deliver {
                    std::shared_ptr<figure::Figure> made = figure::corpus_figure(stored, for_store(asked, *stored), cancel);
                    return [self, made] {
                        if (!self) return;
                        self->canvas_->set_figure(made);
                        if (std::exchange(self->figure_failed_, false)) self->say({});
                    };
                });
}

void CorpusWindow::open_store(const QString& folder) {
    say({});
    follows_run_ = false;
    jobs_.start(Jobs::Lane::corpus_open, {},
                [self = QPointer(this), folder](const CancelToken&, const Progress&) -> Jobs::Deliver {
                    auto stored = corpus::read_store(folder.toStdString());
                    return [self, stored] {
                        if (self) self->show_store(stored);
                    };
                });
}

void CorpusWindow::clicked(const figure::Hit& hit) {
    Places places;
    static const std::set<std::string> known = {"chunk", "query",  "query_last", "key", "key_last",
                                                "word",  "target", "layer",      "head"};
    std::pair<std::string, std::string> cell;
    for (const auto& [name, value] : hit.options) {
        if (known.contains(name)) places[name] = std::stoll(value);
        if (name == "label") cell.first = value;
        if (name == "predicted") cell.second = value;
    }
    if (places.contains("chunk")) return open_example(places);
    if (!cell.first.empty()) {
        cell_ = cell;
        return refresh();
    }
    if (!hit.head) return;
    {
        const QSignalBlocker layer(layer_), head(head_);
        layer_->setValue(static_cast<int>(hit.head->layer.value));
        head_->setValue(static_cast<int>(hit.head->head.value));
    }
    clicked_ = true;
    selection_.focus_head(*hit.head);
    Q_EMIT head_chosen(*hit.head);
    if (const figure::CorpusView* view = current_view(); view && view->head_optional) refresh();
}

void CorpusWindow::open_example(const Places& places) {
    const figure::CorpusRequest asked = request();
    const figure::CorpusView& view = figure::corpus_view(asked.view);
    TextExample example;
    if (places.contains("head"))
        example.head = HeadId{Layer(places.at("layer")), Head(places.at("head"))};
    else if (view.of_head)
        example.head = asked.head;
    if (view.of_neuron) example.neuron = asked.neuron;
    jobs_.start(Jobs::Lane::corpus_open, {},
                [self = QPointer(this), stored = stored_, places, example, tokenizer = document_.model().tokenizer](
                    const CancelToken&, const Progress&) mutable -> Jobs::Deliver {
                    corpus::TextStore texts(stored->folder, stored->manifest);
                    const corpus::Chunk at = texts.chunk(places.at("chunk"));
                    const corpus::Text& text = texts.text(at.text);
                    const auto begin = static_cast<std::size_t>(at.first_byte), end = static_cast<std::size_t>(at.end_byte);
                    example.text = QString::fromStdString(text.text.substr(begin, end - begin));
                    const corpus::WordTokens words = corpus::word_tokens(text, at.encoding, at.first_byte);
                    // A chunk by itself, and other models, may have other tokens: the pins are matched by bytes.
                    const text::Encoding now = tokenizer ? tokenizer->encode(example.text.toStdString()) : at.encoding;
                    const auto pins = [&](const std::string& token, const char* word) {
                        std::vector<std::int64_t> then;
                        if (const auto first = places.find(token); first != places.end()) {
                            const auto last = places.find(token + "_last");
                            const std::int64_t final_token = last == places.end() ? first->second : last->second;
                            for (std::int64_t t = first->second; t <= final_token; ++t) then.push_back(t);
                        }
                        if (places.contains(word)) then = words.of_word.at(static_cast<std::size_t>(places.at(word)));
                        std::vector<Position> out;
                        for (const std::int64_t t : then)
                            for (const Position p : same_bytes(at.encoding, t, now))
                                if (std::ranges::find(out, p) == out.end()) out.push_back(p);
                        return out;
                    };
                    example.queries = pins("query", "word");
                    example.keys = pins("key", "target");
                    return [self, example] {
                        if (self) Q_EMIT self->example_chosen(example);
                    };
                });
}

/// Whether the store is of the window's model, judging by name and shape.
bool CorpusWindow::fits_window() const {
    if (!stored_ || !document_.trace() || !document_.model().model) return false;
    const model::ModelConfig& open = document_.trace()->config();
    const figure::CorpusShape shape = figure::corpus_shape(*stored_);
    return stored_->manifest.model == open.name && shape.layers == open.n_layers && shape.heads == open.n_heads;
}

/// Heads selected with a lasso on a figure: the finder takes them, so that every view of the window and of this page paints the
/// others faintly.
void CorpusWindow::choose_heads(const std::vector<HeadId>& heads, bool add) {
    if (fits_window()) return document_.choose_heads(heads, add);
    say(QStringLiteral("These heads belong to %1, which is not the model of the window's text")
            .arg(stored_ ? QString::fromStdString(stored_->manifest.model) : QString()));
}

void CorpusWindow::ask_for_texts() {
    if (!document_.model().model) return say(QStringLiteral("Open a model in the window first: the texts are run with it"), true);
    CorpusForm form(QString::fromStdString(document_.model().model->config().name), this);
    if (form.exec() == QDialog::Accepted) run(form.order());
}

void CorpusWindow::ask_for_store() {
    const QString folder = QFileDialog::getExistingDirectory(this, QStringLiteral("Store of a corpus"));
    if (!folder.isEmpty()) open_store(folder);
}

void CorpusWindow::ask_for_file() {
    const QString file = QFileDialog::getSaveFileName(this, QStringLiteral("Export the figure"),
                                                      QString::fromStdString(request().view) + QStringLiteral(".png"),
                                                      QStringLiteral("Pictures and data (*.png *.svg *.pdf *.csv *.npz *.json)"));
    if (!file.isEmpty()) write(file);
}

void CorpusWindow::say(const QString& text, bool wrong) {
    figure_failed_ = false;  // the message no longer reports it
    set_style_property(*message_, "role", wrong ? "error" : "note");
    message_->setText(text);
    message_->setVisible(!text.isEmpty());
}

void CorpusWindow::restyle() {
    figure::Style style;
    style.theme = &Appearance::instance().theme();
    if (fits_window()) style.filter = document_.finder().filter();
    canvas_->set_style(style);
}

}  // namespace headlight::ui
