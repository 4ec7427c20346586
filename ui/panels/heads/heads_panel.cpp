// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/heads/heads_panel.h"

#include "headlight/analyze/heads/head_table.h"
#include "headlight/analyze/heads/model_probe.h"
#include "headlight/figure/core/number_text.h"
#include "headlight/figure/pattern/pattern_views.h"
#include "ui/panels/heads/head_row_delegate.h"
#include "ui/panels/tools/attention_switch.h"
#include "ui/style/appearance.h"
#include "ui/style/typeset.h"
#include "ui/style/widgets.h"

#include <QHBoxLayout>
#include <QHeaderView>
#include <QKeyEvent>
#include <QMenu>
#include <QRegularExpression>
#include <QSettings>
#include <QTimer>
#include <QVBoxLayout>

#include <algorithm>
#include <utility>

namespace headlight::ui {
namespace {

const QString share_setting = QStringLiteral("heads/mosaic_share");
constexpr double most_unasked = 0.6;  ///< of the height, until the user drags the line
constexpr int least_part = 120;
constexpr const char *difference_column = "B − A", *a_column = "in A",
                     *moved_column = "attention moved";  ///< of the list of a difference; a title has a space

/// Of a measure of a corpus: that of the text's.
std::string group_of(const std::string& id) {
    const auto& known = analyze::head_measures();
    const auto of_text = std::ranges::find(known, id.substr(analyze::corpus_prefix.size()), &analyze::MeasureInfo::id);
    return of_text == known.end() ? std::string() : of_text->group;
}

}  // namespace

HeadsPanel::HeadsPanel(Document& document, QWidget* parent)
    : QWidget(parent),
      document_(document),
      mosaic_(new FigureCanvas(document.selection())),
      measure_(new QToolButton),
      finder_(new FinderField(document)),
      title_(role_label("title")),
      note_(wrapped_label("note")),
      message_(wrapped_label("error")),
      count_(role_label("note")),
      corpus_note_(wrapped_label("note")),
      leave_corpus_(new QToolButton),
      list_(new QTableView),
      model_(new HeadListModel(this)),
      filters_(new FilterMenu(document, this)),
      splitter_(new QSplitter(Qt::Vertical)),
      mosaic_part_(new QWidget),
      finder_part_(new QWidget) {
    setObjectName(QStringLiteral("HeadsPanel"));
    setAttribute(Qt::WA_StyledBackground);
    mosaic_->setAccessibleName(QStringLiteral("All heads"));
    mosaic_->set_margins(0, 0);
    mosaic_->set_in_panel();
    measure_->setProperty("kind", "quiet");
    measure_->setPopupMode(QToolButton::InstantPopup);
    measure_->setAccessibleName(QStringLiteral("Measure that tints the heads"));
    measure_->setMenu(new QMenu(measure_));
    connect(measure_->menu(), &QMenu::aboutToShow, this, &HeadsPanel::fill_menu);
    note_->hide();
    message_->hide();
    leave_corpus_->setProperty("kind", "quiet");
    leave_corpus_->setProperty("plain", true);
    leave_corpus_->setText(QStringLiteral("✕"));
    leave_corpus_->setAccessibleName(QStringLiteral("Leave the corpus"));
    leave_corpus_->setToolTip(QStringLiteral("Back to the measures of the text alone"));
    connect(leave_corpus_, &QToolButton::clicked, &document_, &Document::leave_corpus);
    list_->setModel(model_);
    list_->setAccessibleName(QStringLiteral("Heads found"));
    list_->setItemDelegate(new HeadRowDelegate(document_, list_));
    list_->setShowGrid(false);
    list_->setSelectionBehavior(QAbstractItemView::SelectRows);
    list_->setSelectionMode(QAbstractItemView::SingleSelection);
    list_->sortByColumn(1, Qt::DescendingOrder);
    list_->verticalHeader()->hide();
    list_->verticalHeader()->setDefaultSectionSize(25);
    list_->horizontalHeader()->setHighlightSections(false);
    list_->horizontalHeader()->setSectionsClickable(true);
    list_->horizontalHeader()->setTextElideMode(Qt::ElideRight);
    list_->horizontalHeader()->setMinimumSectionSize(40);
    list_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    list_->setAutoScroll(false);  // a list that is filled again stays where it is
    list_->setMouseTracking(true);
    list_->setTabKeyNavigation(false);
    build_layout();

    connect(&document_, &Document::changed, this, [this](Document::Change change) {
        using Change = Document::Change;
        if (change == Change::trace || change == Change::options || change == Change::filter || change == Change::other)
            refresh();
        if (change == Change::model && mosaic_->shown()) mosaic_->set_outdated(true);
    });
    connect(&document_.selection(), &SelectionModel::changed, this, [this](bool hover_only) {
        if (!hover_only) show_current();
    });
    connect(&Appearance::instance(), &Appearance::changed, this, &HeadsPanel::refresh);
    connect(mosaic_, &FigureCanvas::clicked, this, [this](const figure::Hit& hit, Qt::KeyboardModifiers modifiers) {
        if (hit.head) document_.selection().focus_head(*hit.head, modifiers & Qt::ControlModifier);
    });
    connect(finder_, &QLineEdit::textEdited, this,
            [this](const QString& text) { document_.edit_options([&](ViewOptions& o) { o.finder = text; }); });
    finder_->installEventFilter(this);
    connect(list_->selectionModel(), &QItemSelectionModel::currentRowChanged, this, [this](const QModelIndex& now) {
        if (!following_ && now.isValid()) document_.selection().focus_head(model_->heads()[std::size_t(now.row())]);
    });
    connect(list_, &QTableView::entered, this,
            [this](const QModelIndex& index) { document_.selection().hover_head(model_->heads()[std::size_t(index.row())]); });
    connect(list_->horizontalHeader(), &QHeaderView::sectionClicked, this, [this](int column) {
        model_->sort_by_click(column);
        to_top_ = true;
        show_current();
    });
    list_->viewport()->installEventFilter(new LeaveFilter([this] { document_.selection().clear_hover(); }, list_));
    mosaic_share_ = std::clamp(QSettings().value(share_setting).toDouble(), 0.0, 0.95);
    connect(splitter_, &QSplitter::splitterMoved, this, [this] {
        mosaic_share_ = double(mosaic_part_->height()) / std::max(1, splitter_->height());
        QSettings().setValue(share_setting, mosaic_share_);
        reveal_focus();
    });
    refresh();
}

void HeadsPanel::build_layout() {
    auto* whole = new_column(this, {0, 10, 0, 8});
    splitter_->setObjectName(QStringLiteral("HeadsSplitter"));
    splitter_->setHandleWidth(10);
    splitter_->setChildrenCollapsible(false);
    whole->addWidget(splitter_);
    const auto part = [this](QWidget* widget) {
        widget->setMinimumHeight(least_part);
        splitter_->addWidget(widget);
        auto* rows = new_column(widget, {16, 0, 0, 0}, 4);
        return rows;
    };
    QVBoxLayout* column = part(mosaic_part_);
    const auto inset = [](QLayout* row) {
        row->setContentsMargins(0, 0, 16, 0);
        return row;
    };
    auto* heads = new QHBoxLayout;
    heads->addWidget(title_);
    heads->addStretch();
    heads->addWidget(measure_);
    column->addLayout(inset(heads));
    heads->setContentsMargins(0, 0, 12, 0);
    auto* note = new QHBoxLayout;
    note->addWidget(note_);
    column->addLayout(inset(note));
    auto* corpus = new QHBoxLayout;
    corpus->addWidget(corpus_note_, 1);
    corpus->addWidget(leave_corpus_, 0, Qt::AlignTop);
    column->addLayout(inset(corpus));
    corpus->setContentsMargins(0, 0, 12, 0);
    auto* mosaic = new QHBoxLayout;
    mosaic->addWidget(mosaic_);
    mosaic->setContentsMargins(0, 0, 6, 0);
    column->addLayout(mosaic, 1);
    column = part(finder_part_);
    // The line is in the middle of the handle, which is as tall as a pointer needs: one drags what one sees.
    auto* rule = new QFrame;
    rule->setProperty("role", "rule");
    rule->setAttribute(Qt::WA_TransparentForMouseEvents);
    new_column(splitter_->handle(1), {16, splitter_->handleWidth() / 2, 16, 0})->addWidget(rule, 0, Qt::AlignTop);
    column->addSpacing(6);
    auto* find = new QHBoxLayout;
    find->addWidget(role_label("title", QStringLiteral("Find heads")));
    find->addStretch();
    find->addWidget(count_);
    find->addWidget(filters_);
    column->addLayout(inset(find));
    find->setContentsMargins(0, 0, 12, 0);
    column->addSpacing(2);
    auto* field = new QVBoxLayout;
    field->setSpacing(2);
    add_widgets(*field, {finder_, message_, &filters_->name()});
    column->addLayout(inset(field));
    column->addSpacing(4);
    column->addWidget(list_, 1);
}

/// Until the user drags the line the mosaic is as tall as its square cells, but leaves the finder a good part. It is never taller
/// than they are, so that with few layers the list has the rest.
void HeadsPanel::share_height() {
    const int all = splitter_->height() - splitter_->handleWidth();
    const auto& table = document_.finder().table();
    if (all <= 0 || !table) return;
    int top = int(std::lround(mosaic_share_ * splitter_->height()));
    if (mosaic_->shown()) {
        mosaic_part_->layout()->activate();  // a note above the mosaic came or went
        const int titles = mosaic_part_->height() - mosaic_->height(), width = mosaic_->viewport()->width();
        const int most = int(std::ceil(figure::mosaic_height(table->n_layers, table->n_heads, width))) + titles;
        mosaic_part_->setMaximumHeight(std::max(most, least_part));
        if (mosaic_share_ <= 0) {
            top = std::min(most, int(most_unasked * all));
            // Cells are whole pixels high: no more than they take.
            const QSizeF fitted = mosaic_->shown()->layout(QSizeF(width, std::max(1, top - titles)), mosaic_->style_in_use(),
                                                           document_.selection().get());
            top = std::min(top, int(std::ceil(fitted.height())) + titles);
        }
    }
    splitter_->setSizes({top, all - top});
}

void HeadsPanel::reset_share() {
    mosaic_share_ = 0;
    QSettings().remove(share_setting);
    share_height();
}

void HeadsPanel::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    QTimer::singleShot(0, this, [this] {  // once the parts have their new sizes
        share_height();
        reveal_focus();
    });
}

/// The selected head is never out of sight.
void HeadsPanel::reveal_focus() {
    const auto& figure = mosaic_->shown();
    if (const auto cell = figure ? figure->place_of_head(document_.selection().get().focus) : std::nullopt)
        mosaic_->reveal(*cell, 60);
}

/// Some head has it on this text.
bool HeadsPanel::exists(const std::string& measure) const {
    const auto table = document_.shown_table();
    const auto* values = table ? table->find(measure) : nullptr;
    return values && !values->array().isNaN().all();
}

/// It is of the probe of this model, which can be run.
bool HeadsPanel::may_come(const std::string& measure) const {
    return document_.shown_side() == figure::Side::a && analyze::is_of_probe(measure) &&
           document_.trace() == document_.run_trace() && document_.probe().possible() && !document_.probe().found();
}

bool HeadsPanel::is_coming(const std::string& measure) const { return may_come(measure) && document_.probe().pending(); }

/// The chosen one. Without a choice, or where this text has no values of it, what says most: how far attention moved between
/// the runs that are compared; what random tokens say of induction, which no text can disturb; and the entropy of models that
/// cannot be probed.
std::string HeadsPanel::measure() const {
    const std::string& chosen = document_.options().measure;
    if (exists(chosen) || is_coming(chosen)) return chosen;
    if (chosen.empty() && document_.shown_side() == figure::Side::difference && exists(moved_measure)) return moved_measure;
    const bool of_induction = chosen.empty() || chosen == "induction";
    return of_induction && (exists("probe_induction") || is_coming("probe_induction")) ? "probe_induction" : "entropy";
}

/// "entropy", "13 → ·John", "induction on random tokens": attention between tokens and what a probe says by their titles.
QString HeadsPanel::measure_name(const std::string& id) const {
    if (id == moved_measure) return QString::fromUtf8(moved_column);
    const auto& measures = document_.finder().table()->measures;
    const auto at = std::ranges::find(measures, id, &analyze::MeasureInfo::id);
    const bool titled = id.find(' ') != std::string::npos || analyze::is_of_probe(id);
    return at != measures.end() && titled ? QString::fromStdString(at->title) : QString::fromStdString(id).replace(u'_', u' ');
}

/// Empty: the chosen measure is shown.
QString HeadsPanel::why_instead() const {
    if (document_.trace() && model::has_implied_maps(document_.trace()->config()))
        return QStringLiteral("Measures are of softmax attention, and this model has layers that update a state instead.");
    const std::string &chosen = document_.options().measure, shown = measure();
    const bool of_difference = document_.shown_side() == figure::Side::difference;
    const analyze::HeadTable& table = of_difference ? *document_.head_table() : *document_.shown_table();
    const auto title = [&](const std::string& id) {
        for (const auto& m : table.measures)
            if (m.id == id) return QString::fromStdString(m.title);
        return QString::fromStdString(id);
    };
    if (chosen.empty() || chosen == shown)
        return is_coming(shown) ? QStringLiteral("The random-token probe is on its way.") : QString();
    const auto repeats = table.queries.find(chosen);
    if (analyze::is_of_corpus(chosen))
        return QStringLiteral("The corpus is %1: “%2” is shown.")
            .arg(document_.corpus().reading() ? QStringLiteral("being read") : QStringLiteral("not used"), title(shown));
    const bool of_probe = analyze::is_of_probe(chosen), of_a = document_.shown_side() == figure::Side::a;
    const bool beside = !of_a && of_probe;
    const QString why = beside ? QStringLiteral("“%1” is of the model without edits, not of a run").arg(title(chosen))
                        : document_.trace()->across_texts() ? QStringLiteral("Source and target are two texts")
                        : may_come(chosen)                  ? QStringLiteral("The random-token probe has not been run")
                        : reads_pictures(document_.model()) ? QStringLiteral("Patches of a picture do not repeat")
                        : repeats != table.queries.end() && repeats->second == 0
                            ? QStringLiteral("No token of this text comes twice")
                            : QStringLiteral("This text has no “%1”").arg(title(chosen));
    return QStringLiteral("%1: “%2” is shown.").arg(why, title(shown));
}

std::vector<std::string> HeadsPanel::columns() const {
    // What tints the mosaic, with its bar, then the others that were asked for.
    std::vector<std::string> shown{tint()};
    const auto add = [&](const std::string& id) {
        if (shown.size() < 3 && std::find(shown.begin(), shown.end(), id) == shown.end()) shown.push_back(id);
    };
    for (const std::string& id : document_.finder().query().measures()) add(id);
    if (shown.size() == 1) add(measure());
    if (shown.size() == 1) add(shown[0] != "entropy" ? "entropy" : exists("induction") ? "induction" : "max_weight");
    return shown;
}

/// What was asked last: the finder's expression, of which the first measure counts, or a measure.
std::string HeadsPanel::tint() const {
    const std::vector<std::string> asked = document_.finder().query().measures();
    const auto& table = document_.finder().table();
    const bool known =
        !asked.empty() && table && table->find(asked.front()) && document_.shown_side() != figure::Side::difference;
    return by_expression_ && known ? asked.front() : measure();
}

/// The list of a difference: B - A of the measure, sorted by its size, beside A's where A has it.
void HeadsPanel::show_differences(const analyze::HeadTable& of_b_minus_a) {
    auto table = std::make_shared<analyze::HeadTable>(*document_.finder().table());
    const std::string id = measure();
    std::vector<std::string> columns;
    const auto copy = [&](const analyze::HeadTable& from, const char* title) {
        const auto at = std::ranges::find(from.measures, id, &analyze::MeasureInfo::id);
        if (at == from.measures.end()) return;
        analyze::MeasureInfo measure = *at;
        const Eigen::MatrixXd values = from.values[std::size_t(at - from.measures.begin())];
        measure.id = measure.title = title;
        table->measures.push_back(std::move(measure));
        table->values.push_back(values);
        columns.push_back(title);
    };
    copy(of_b_minus_a, id == moved_measure ? moved_column : difference_column);
    copy(*document_.head_table(), a_column);
    model_->show(table, columns, document_.finder().query());
}

/// Esc empties the field first; Ctrl+E belongs to the window, not to the field's end of line.
bool HeadsPanel::eventFilter(QObject* watched, QEvent* event) {
    if (watched == finder_ && event->type() == QEvent::ShortcutOverride &&
        static_cast<QKeyEvent*>(event)->keyCombination() == (Qt::CTRL | Qt::Key_E)) {
        event->ignore();
        return true;
    }
    if (watched == finder_ && event->type() == QEvent::KeyPress && static_cast<QKeyEvent*>(event)->key() == Qt::Key_Escape &&
        !finder_->text().isEmpty()) {
        document_.edit_options([&](ViewOptions& o) { o.finder.clear(); });
        return true;
    }
    return QWidget::eventFilter(watched, event);
}

void HeadsPanel::refresh() {
    const HeadFinder& found = document_.finder();
    const auto& table = found.table();
    if (finder_->text() != document_.options().finder) finder_->setText(document_.options().finder);
    show_message();
    show_corpus();
    mosaic_->set_style(style_for_mosaic());
    title_->setText(document_.has_parts() ? QStringLiteral("%1 heads").arg(AttentionSwitch::title(document_.attention()))
                                          : QStringLiteral("Heads"));
    if (!table) {
        mosaic_->set_figure(nullptr);
        note_->hide();
        model_->show(nullptr, {}, {});
        count_->clear();
        return;
    }
    const std::vector<std::string> of_expression = found.query().measures();
    if (document_.options().measure != asked_measure_) by_expression_ = false;
    if (of_expression != asked_by_expression_ || document_.options().finder != asked_expression_)
        by_expression_ = !of_expression.empty();
    asked_expression_ = document_.options().finder;
    asked_measure_ = document_.options().measure;
    asked_by_expression_ = of_expression;
    const std::string tinted = tint();
    const auto differences =
        document_.shown_side() == figure::Side::difference ? document_.other().differences(document_.attention()) : nullptr;
    measure_->setText(measure_name(tinted));
    note_->setText(why_instead());
    note_->setVisible(!note_->text().isEmpty());
    following_ = true;
    if (differences)
        show_differences(*differences);
    else
        model_->show(table, columns(), found.query());
    following_ = false;
    const QString listed = finder_->text() + u' ' + QString::fromStdString(tinted);
    if (std::exchange(listed_, listed) != listed) to_top_ = true;
    const QString all = figure::count_text(found.all()), matching = figure::count_text(found.matching());
    count_->setText(found.working()                   ? QStringLiteral("measuring …")
                    : found.matching() == found.all() ? QStringLiteral("%1 heads").arg(all)
                    : found.mistake()                 ? QStringLiteral("%1 of %2, as before").arg(matching, all)
                                                      : QStringLiteral("%1 of %2").arg(matching, all));
    auto* header = list_->horizontalHeader();
    header->setSectionResizeMode(0, QHeaderView::Fixed);
    const HeadId last{Layer(table->n_layers - 1), Head(table->n_heads - 1)};
    list_->setColumnWidth(0,
                          QFontMetrics(figure::ui_font(12.5, QFont::DemiBold)).horizontalAdvance(figure::head_name(last)) + 12);
    for (int c = 1; c < model_->columnCount(); ++c) header->setSectionResizeMode(c, QHeaderView::Stretch);
    if (model_->columnCount() == 3) {  // the measure with the bar gets what the other leaves
        header->setSectionResizeMode(2, QHeaderView::Fixed);
        list_->setColumnWidth(2, std::clamp(header->sectionSizeHint(2) + 12, 64, 96));
    }

    mosaic_->set_figure(figure::heads_mosaic(differences ? differences : table, tinted,
                                             found.filter() ? found.filter()->dimmed : std::vector<HeadId>(),
                                             document_.options().measure_to_data));
    share_height();
    show_current();
}

figure::Style HeadsPanel::style_for_mosaic() const {
    figure::Style style;
    style.theme = &Appearance::instance().theme();
    style.palette = document_.options().palette;
    style.ramp = document_.options().ramp;
    return style;
}

void HeadsPanel::show_message() {
    const HeadFinder& found = document_.finder();
    const auto mark = [this](const char* role, bool invalid) {
        set_style_property(*message_, "role", role);
        set_style_property(*finder_, "invalid", invalid);
    };
    if (found.mistake()) {
        mark("error", true);
        show_mistake(*found.mistake());
    } else if (found.table() && !found.working() && found.matching() == 0) {
        mark("note", false);
        message_->setTextFormat(Qt::PlainText);
        message_->setText(QStringLiteral("No head matches: %1. The views are unchanged.")
                              .arg(QString::fromStdString(found.query().why_none(*found.table()))));
        message_->show();
    } else {
        mark("note", false);
        message_->hide();
    }
}

/// The part of the expression around the error, marked, and what is wrong.
void HeadsPanel::show_mistake(const ErrorFacts& facts) {
    QString text = QString::fromStdString(facts.problem);
    if (!facts.expected.empty()) text += QStringLiteral(": expected %1").arg(QString::fromStdString(facts.expected));
    if (!facts.found.empty()) text += QStringLiteral(", found %1").arg(QString::fromStdString(facts.found));
    if (!facts.hint.empty()) text += QStringLiteral(". ") + QString::fromStdString(facts.hint);
    text = text.toHtmlEscaped();
    const auto column = QRegularExpression(QStringLiteral("column (\\d+)")).match(QString::fromStdString(facts.item));
    if (column.hasMatch()) {
        // Columns count characters; QString counts UTF-16 units.
        const auto characters = finder_->text().toUcs4();
        const auto part = [&](qsizetype begin, qsizetype end) {
            begin = std::clamp<qsizetype>(begin, 0, characters.size());
            end = std::clamp<qsizetype>(end, begin, characters.size());
            return QString::fromUcs4(reinterpret_cast<const char32_t*>(characters.data() + begin), end - begin).toHtmlEscaped();
        };
        const qsizetype at = column.captured(1).toInt() - 1;
        QString found = QString::fromStdString(facts.found);
        if (found.startsWith('"') && found.endsWith('"')) found = found.mid(1, found.size() - 2);
        const qsizetype end = at + std::max<qsizetype>(1, found.toUcs4().size());
        const QString wrong = at < characters.size() ? part(at, end) : QStringLiteral("&nbsp;&nbsp;");
        const figure::Theme& theme = Appearance::instance().theme();
        const QColor &mark = theme.negative, &ground = theme.panel;
        const auto mixed = [](int over, int under) { return (over + 2 * under) / 3; };
        const QColor tint(mixed(mark.red(), ground.red()), mixed(mark.green(), ground.green()),
                          mixed(mark.blue(), ground.blue()));
        text = QStringLiteral("%1%2<span style=\"background-color:%8\"><b>%3</b></span>%4<br>%5 %6: %7")
                   .arg(at > 14 ? QStringLiteral("…") : QString(), part(at - 14, at), wrong,
                        part(end, end + 8) + (end + 8 < characters.size() ? QStringLiteral("…") : QString()),
                        QStringLiteral("Column"), column.captured(1), text, tint.name());
    }
    message_->setTextFormat(Qt::RichText);
    message_->setText(text);
    message_->show();
}

/// Thirty measures are too many for one menu: there is a submenu for each group, filled when it is opened.
void HeadsPanel::fill_menu() {
    QMenu* menu = measure_->menu();
    qDeleteAll(menu->findChildren<QMenu*>(QString(), Qt::FindDirectChildrenOnly));
    menu->clear();
    if (!document_.head_table()) return;
    const auto add = [&](QMenu& into, const analyze::MeasureInfo& measure) {
        QAction* action = into.addAction(QString::fromStdString(measure.title));
        action->setCheckable(true);
        action->setChecked(measure.id == this->measure());
        action->setToolTip(typeset(QString::fromStdString(measure.definition)));
        action->setEnabled(exists(measure.id) || may_come(measure.id));
        if (action->isChecked()) {  // its group shows where it is
            into.menuAction()->setCheckable(true);
            into.menuAction()->setChecked(true);
        }
        connect(action, &QAction::triggered, this, [this, id = measure.id] {
            document_.edit_options([&](ViewOptions& o) { o.measure = id; });
            document_.ask_for_shown();  // also when it was chosen already, and its probe was stopped
        });
    };
    QAction* automatic = menu->addAction(QStringLiteral("What says most of this run"));
    automatic->setToolTip(
        QStringLiteral("Of a comparison, how far attention moved; else induction on random tokens, or the entropy"));
    automatic->setCheckable(true);
    automatic->setChecked(document_.options().measure.empty());
    connect(automatic, &QAction::triggered, this, [this] {
        document_.edit_options([](ViewOptions& o) { o.measure.clear(); });
        document_.ask_for_shown();
    });
    menu->addSeparator();
    for (const std::string& group : analyze::measure_groups()) {
        QMenu* into = menu->addMenu(QString::fromStdString(group));
        into->setToolTipsVisible(true);
        for (const analyze::MeasureInfo& measure : document_.head_table()->measures)
            if (measure.group == group) add(*into, measure);
    }
    if (const auto& corpus = document_.corpus().found(); corpus && !corpus->table.measures.empty()) {
        menu->addSeparator();
        QMenu* of_corpus = menu->addMenu(QStringLiteral("Corpus %1").arg(document_.corpus().name()));
        for (const std::string& group : analyze::measure_groups()) {
            QMenu* into = of_corpus->addMenu(QString::fromStdString(group));
            into->setToolTipsVisible(true);
            for (const analyze::MeasureInfo& measure : corpus->table.measures)
                if (group_of(measure.id) == group) add(*into, measure);
            if (into->menuAction()->isChecked()) {
                of_corpus->menuAction()->setCheckable(true);
                of_corpus->menuAction()->setChecked(true);
            }
        }
    }
    menu->addSeparator();
    QAction* to_data = menu->addAction(QStringLiteral("Colours span the data"));
    to_data->setToolTip(QStringLiteral("From the smallest to the largest value, not over all that the measure may be"));
    to_data->setCheckable(true);
    to_data->setChecked(document_.options().measure_to_data);
    connect(to_data, &QAction::triggered, this,
            [this](bool on) { document_.edit_options([&](ViewOptions& o) { o.measure_to_data = on; }); });
}

/// The sign that measures and words are those of a corpus.
void HeadsPanel::show_corpus() {
    const CorpusInUse& corpus = document_.corpus();
    const bool asked = !document_.options().corpus.isEmpty();
    corpus_note_->setVisible(asked);
    leave_corpus_->setVisible(asked);
    if (!asked) return;
    corpus_note_->setText(corpus.found()                ? QStringLiteral("Corpus %1").arg(corpus.name())
                          : !corpus.why_not().isEmpty() ? QStringLiteral("Corpus not used: %1").arg(corpus.why_not())
                                                        : QStringLiteral("Reading the corpus %1 …").arg(corpus.name()));
    corpus_note_->setToolTip(
        corpus.found() ? QStringLiteral("%1. Its measures are in the list of the mosaic, and the finder knows “corpus entropy”%2")
                             .arg(QString::fromStdString(corpus.found()->words),
                                  corpus.found()->index ? QStringLiteral(" and “VERB attends to its nsubj > 60 %”") : QString())
                       : document_.options().corpus);
}

void HeadsPanel::show_current() {
    reveal_focus();
    const int row = model_->row_of(document_.selection().get().focus);
    following_ = true;
    if (row < 0) {
        list_->clearSelection();
        list_->setCurrentIndex({});
    } else if (list_->currentIndex().row() != row || !list_->selectionModel()->hasSelection()) {
        list_->setCurrentIndex(model_->index(row, 0));
    }
    // Once the rows are laid out: to where the answer is, or to a head that has just been selected.
    const HeadId focus = document_.selection().get().focus;
    const bool moved = std::exchange(listed_focus_, focus) != focus;
    if (std::exchange(to_top_, false))
        QTimer::singleShot(0, list_, [this] { list_->scrollToTop(); });
    else if (moved)
        QTimer::singleShot(0, list_, [this] { list_->scrollTo(list_->currentIndex()); });
    following_ = false;
    list_->viewport()->update();
}

}  // namespace headlight::ui
