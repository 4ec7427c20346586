// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/map/map_window.h"

#include "headlight/figure/core/number_text.h"
#include "ui/style/appearance.h"

#include <QAbstractItemView>
#include <QDir>
#include <QFileDialog>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QKeyEvent>
#include <QMenu>
#include <QSettings>
#include <QSignalBlocker>
#include <QSplitter>
#include <QVBoxLayout>

#include <algorithm>
#include <utility>

namespace headlight::ui {
namespace {

constexpr int frame_ms = 33, typing_ms = 200, near_ms = 90, first_ms = 250;
constexpr double key_zoom = 1.25, key_turn = 10;
constexpr int widest_name = 200;  ///< px, of a file on its button

template <class Enum, std::size_t N>
QComboBox* choice(const EnumRow<Enum> (&rows)[N], const char* name) {
    auto* box = new QComboBox;
    for (const EnumRow<Enum>& row : rows) {
        const auto text = [](std::string_view words) { return QString::fromUtf8(words.data(), qsizetype(words.size())); };
        box->addItem(text(row.title), static_cast<int>(row.value));
        box->setItemData(box->count() - 1, text(row.note), Qt::ToolTipRole);
    }
    box->setAccessibleName(QString::fromUtf8(name));
    box->setToolTip(QString::fromUtf8(name));
    return box;
}

QComboBox* color_choice() {
    auto* box = new QComboBox;
    for (const auto& row : figure::map_colors) {
        QString words = QString::fromUtf8(row.title.data(), qsizetype(row.title.size()));
        box->addItem(QStringLiteral("Colour: ") + words, static_cast<int>(row.value));
    }
    box->setAccessibleName(QStringLiteral("Colour of the points"));
    box->setMaxVisibleItems(20);
    box->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    box->setMinimumContentsLength(20);
    box->view()->setMinimumWidth(230);
    return box;
}

QTreeWidget* list(const QStringList& columns, const char* name) {
    auto* tree = new QTreeWidget;
    tree->setHeaderLabels(columns);
    tree->setUniformRowHeights(true);
    tree->setFrameShape(QFrame::NoFrame);
    tree->setAccessibleName(QString::fromUtf8(name));
    tree->setRootIsDecorated(false);
    tree->viewport()->setAutoFillBackground(false);
    QFont small = tree->font();
    small.setPixelSize(12);
    tree->setFont(small);
    tree->header()->setMinimumSectionSize(58);
    for (int c = 1; c < columns.size(); ++c) tree->headerItem()->setTextAlignment(c, Qt::AlignRight | Qt::AlignVCenter);
    tree->header()->setStretchLastSection(false);
    tree->header()->setSectionResizeMode(0, QHeaderView::Stretch);
    for (int c = 1; c < columns.size(); ++c) tree->header()->setSectionResizeMode(c, QHeaderView::ResizeToContents);
    return tree;
}

QLabel* note_label() {
    auto* label = new QLabel;
    label->setProperty("role", "note");
    label->setWordWrap(true);
    return label;
}

/// Switches of the look, each with the member it toggles.
struct LookSwitch {
    const char* title;
    bool figure::MapLook::*on;
};
constexpr LookSwitch look_switches[] = {{"Queries", &figure::MapLook::queries},
                                        {"Keys", &figure::MapLook::keys},
                                        {"First and special tokens", &figure::MapLook::apart},
                                        {"Size by length of the vector", &figure::MapLook::size_by_norm},
                                        {"Tokens beside points", &figure::MapLook::token_labels},
                                        {"Names of regions", &figure::MapLook::region_labels}};

}  // namespace

MapWindow::MapWindow(Document& document, Jobs& jobs, QWidget* parent)
    : QDialog(parent),
      document_(document),
      jobs_(jobs),
      canvas_(new MapCanvas),
      token_(new TokenPanel),
      more_(new MapOptionsPopover(this)),
      message_(note_label()),
      pointed_(new QLabel),
      head_name_(new QLabel),
      search_note_(note_label()),
      lasso_note_(note_label()),
      method_(choice(map::projections, "Projection")),
      dims_(new QComboBox),
      preset_(choice(map::presets, "What counts as near")),
      color_(color_choice()),
      search_kind_(choice(map::search_kinds, "Kind of search")),
      search_(new QLineEdit),
      typed_(new QLineEdit),
      found_(list({QStringLiteral("Head"), QStringLiteral("Spread")}, "Heads by closeness of the hits")),
      shares_(list({QStringLiteral("More of"), QStringLiteral("Points"), QStringLiteral("Here"), QStringLiteral("Else")},
                   "Over-represented inside the lasso")),
      progress_(new QProgressBar),
      texts_button_(new QPushButton),
      more_button_(new QPushButton(QStringLiteral("More …"))),
      show_button_(new QPushButton(QStringLiteral("Show"))),
      pause_(new QPushButton(QStringLiteral("Pause"))),
      stop_(new QPushButton(QStringLiteral("Stop"))),
      export_(new QPushButton(QStringLiteral("Export …"))),
      all_heads_(new QPushButton(QStringLiteral("All heads"))),
      lasso_tool_(new QToolButton),
      side_(new QStackedWidget) {
    setObjectName(QStringLiteral("MapWindow"));
    setWindowTitle(QStringLiteral("Map of queries and keys"));
    setWindowFlag(Qt::WindowMaximizeButtonHint);
    build();
    connect_parts();
    restyle();
    take_look();
    show_work();
    canvas_->set_placeholder(QStringLiteral("Queries and keys of all heads"),
                             QStringLiteral("Type a text in the window, or choose a file of texts."));
    follow_selection();
    resize(1240, 840);
    setMinimumSize(760, 520);
    if (document_.run_trace()) draw(order_);
}

MapWindow::~MapWindow() {
    jobs_.disconnect(this);
    for (const auto lane : {Jobs::Lane::map, Jobs::Lane::map_attention, Jobs::Lane::map_near, Jobs::Lane::map_marks,
                            Jobs::Lane::map_shares, Jobs::Lane::map_guests})
        jobs_.cancel(lane);
}

// --- parts ----------------------------------------------------------------------------------------------------------

QLayout* MapWindow::top_row() {
    auto* menu = new QMenu(texts_button_);
    connect(menu->addAction(QStringLiteral("The text of the window")), &QAction::triggered, this, [this] {
        MapOrder order = order_;
        order.texts.clear();
        draw(order);
    });
    connect(menu->addAction(QStringLiteral("A file of texts …")), &QAction::triggered, this, [this] { ask_for_texts(false); });
    connect(menu->addAction(QStringLiteral("A folder of texts, or a corpus store …")), &QAction::triggered, this,
            [this] { ask_for_texts(true); });
    texts_button_->setMenu(menu);
    texts_button_->setProperty("menu", true);
    texts_button_->setAccessibleName(QStringLiteral("Texts"));
    dims_->addItem(QStringLiteral("2-D"), 2);
    dims_->addItem(QStringLiteral("3-D"), 3);
    dims_->setAccessibleName(QStringLiteral("Dimensions"));
    preset_->setCurrentIndex(preset_->findData(static_cast<int>(order_.options.preset)));
    progress_->setFixedWidth(120);
    progress_->setTextVisible(false);
    for (QPushButton* button : {texts_button_, more_button_, show_button_, pause_, stop_, export_, all_heads_})
        button->setAutoDefault(false);
    auto* row = new QHBoxLayout;
    row->setSpacing(8);
    row->addWidget(texts_button_);
    for (QComboBox* box : {method_, dims_, preset_}) row->addWidget(box);
    row->addWidget(more_button_);
    row->addStretch(1);
    row->addWidget(progress_);
    row->addWidget(pause_);
    row->addWidget(stop_);
    row->addWidget(export_);
    return row;
}

QLayout* MapWindow::look_row() {
    auto* menu = new QMenu(show_button_);
    for (const LookSwitch& look : look_switches) {
        QAction* action = menu->addAction(QString::fromUtf8(look.title));
        action->setCheckable(true);
        action->setChecked(canvas_->look().*look.on);
        connect(action, &QAction::toggled, this,
                [this, on = look.on](bool checked) { canvas_->edit([&](figure::MapLook& l) { l.*on = checked; }); });
        show_actions_.push_back(action);
    }
    show_button_->setMenu(menu);
    show_button_->setProperty("menu", true);
    lasso_tool_->setText(QStringLiteral("Lasso"));
    lasso_tool_->setProperty("kind", "button");
    lasso_tool_->setCheckable(true);
    lasso_tool_->setToolTip(QStringLiteral("Draw around points of one head (or hold Shift)"));
    head_name_->setProperty("role", "title");
    search_->setPlaceholderText(QStringLiteral("Search all heads"));
    search_->setAccessibleName(QStringLiteral("Search all heads"));
    search_->setClearButtonEnabled(true);
    search_kind_->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    search_kind_->setMinimumContentsLength(9);
    search_kind_->view()->setMinimumWidth(170);
    search_->setMinimumWidth(150);
    search_->setMaximumWidth(260);
    auto* row = new QHBoxLayout;
    row->setSpacing(8);
    row->addWidget(all_heads_);
    row->addWidget(head_name_);
    row->addWidget(color_);
    row->addWidget(show_button_);
    row->addWidget(lasso_tool_);
    row->addStretch(1);
    row->addWidget(search_kind_);
    row->addWidget(search_, 2);
    return row;
}

QWidget* MapWindow::side() {
    auto* all = new QWidget;
    auto* column = new QVBoxLayout(all);
    column->setContentsMargins(14, 0, 0, 0);
    auto* tabs = new QHBoxLayout;
    tabs->setSpacing(2);
    const char* const names[] = {"Token", "Search", "Lasso"};
    for (int i = 0; i < 3; ++i) {
        auto* tab = new QToolButton;
        tab->setText(QString::fromUtf8(names[i]));
        tab->setProperty("kind", "tab");
        tab->setCheckable(true);
        tab->setAutoExclusive(true);
        tab->setFocusPolicy(Qt::TabFocus);
        connect(tab, &QToolButton::clicked, this, [this, i] { side_->setCurrentIndex(i); });
        tabs->addWidget(tab);
        tabs_.push_back(tab);
    }
    tabs->addStretch();
    tabs_[0]->setChecked(true);
    const auto page = [this](QLabel* note, QTreeWidget* rows) {
        auto* widget = new QWidget;
        auto* lines = new QVBoxLayout(widget);
        lines->setContentsMargins(0, 0, 0, 0);
        lines->addWidget(note);
        lines->addWidget(rows, 1);
        side_->addWidget(widget);
    };
    side_->addWidget(token_);
    page(search_note_, found_);
    page(lasso_note_, shares_);
    search_note_->setText(
        QStringLiteral("Points of the tokens that are found stand out in every head, and heads are listed by how "
                       "tightly these stand."));
    lasso_note_->setText(
        QStringLiteral("Draw around points of one head with Shift: what they have more of than the others is "
                       "listed here."));
    typed_->setPlaceholderText(QStringLiteral("Type a sentence into the map"));
    typed_->setAccessibleName(QStringLiteral("Sentence whose points appear in every head"));
    typed_->setToolTip(QStringLiteral("Its queries and keys appear in every head as you type; the map’s own points stay"));
    typed_->setClearButtonEnabled(true);
    column->addWidget(typed_);
    column->addLayout(tabs);
    column->addWidget(side_, 1);
    all->setMinimumWidth(220);
    return all;
}

void MapWindow::build() {
    auto* split = new QSplitter;
    split->addWidget(canvas_);
    split->addWidget(side());
    split->setHandleWidth(1);
    split->setStretchFactor(0, 1);
    split->setStretchFactor(1, 0);
    split->setCollapsible(0, false);
    split->setSizes({900, 290});
    canvas_->setAccessibleName(QStringLiteral("Map"));
    pointed_->setProperty("role", "note");
    pointed_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    auto* all = new QVBoxLayout(this);
    all->setContentsMargins(16, 12, 16, 8);
    all->setSpacing(8);
    all->addLayout(top_row());
    all->addLayout(look_row());
    all->addWidget(message_);
    all->addWidget(split, 1);
    all->addWidget(pointed_);
    message_->hide();
    setTabOrder(texts_button_, method_);
    canvas_->setFocus();
}

void MapWindow::connect_parts() {
    for (QComboBox* box : {method_, dims_, preset_})
        connect(box, &QComboBox::currentIndexChanged, this, &MapWindow::take_controls);
    connect(more_, &MapOptionsPopover::changed, this, &MapWindow::take_controls);
    connect(more_button_, &QPushButton::clicked, this, [this] {
        if (const auto& model = document_.model().model) {
            const model::ModelConfig& c = model->config();
            more_->bound_to(c.stack == model::Stack::decoder, c.positions == model::Positions::rotary);
        }
        more_->show_order(order_);
        more_->show_below(more_button_);
    });
    connect(color_, &QComboBox::currentIndexChanged, this, [this] {
        canvas_->edit([&](figure::MapLook& l) { l.color = static_cast<figure::MapColor>(color_->currentData().toInt()); });
    });
    connect(lasso_tool_, &QToolButton::toggled, canvas_, &MapCanvas::set_lasso);
    connect(all_heads_, &QPushButton::clicked, this, [this] {
        if (canvas_->look().single)
            show_head(std::nullopt);
        else
            show_head(canvas_->selection().focus);
    });
    connect(pause_, &QPushButton::clicked, this, &MapWindow::pause_or_go_on);
    connect(stop_, &QPushButton::clicked, this, &MapWindow::stop);
    connect(export_, &QPushButton::clicked, this, [this] {
        if (canvas_->figure() && run_) Q_EMIT export_asked(exportable());
    });
    connect(canvas_, &MapCanvas::head_clicked, this, &MapWindow::choose_head);
    connect(canvas_, &MapCanvas::point_clicked, this, [this](const figure::MapPoint& point) {
        chosen_before_ = canvas_->look().chosen;
        choose_point(point);
    });
    connect(canvas_, &MapCanvas::double_clicked, this, [this](HeadId head) {
        if (canvas_->look().single) return show_head(std::nullopt);
        // The first of the two clicks may have hit a point of the cell, which was not meant.
        canvas_->edit([this](figure::MapLook& look) { look.chosen = chosen_before_; });
        if (!chosen_before_) forget_point();
        show_head(head);
    });
    connect(canvas_, &MapCanvas::pointed_at, this, &MapWindow::point_at);
    connect(canvas_, &MapCanvas::lassoed, this, &MapWindow::take_lasso);
    connect(canvas_, &MapCanvas::look_changed, this, &MapWindow::take_look);
    connect(token_, &TokenPanel::asks, this, &MapWindow::ask_attention);
    connect(token_, &TokenPanel::lines_changed, this, &MapWindow::show_lines);
    connect(token_, &TokenPanel::point_wanted, this, &MapWindow::choose_point);
    connect(token_, &TokenPanel::open_wanted, this, &MapWindow::open_text);
    for (QTimer* timer : {&first_pause_, &search_pause_, &near_pause_, &typing_pause_}) timer->setSingleShot(true);
    search_pause_.setInterval(typing_ms);
    typing_pause_.setInterval(typing_ms);
    near_pause_.setInterval(near_ms);
    first_pause_.setInterval(first_ms);
    connect(&first_pause_, &QTimer::timeout, this, [this] {  // not for each head on the way to another
        const auto single = canvas_->look().single;
        if (const auto index = single && canvas_->figure() ? canvas_->figure()->index_of(*single) : std::nullopt)
            put_first(*index);
    });
    frames_.setInterval(frame_ms);
    connect(&frames_, &QTimer::timeout, this, &MapWindow::take_changes);
    connect(&search_pause_, &QTimer::timeout, this, &MapWindow::search);
    connect(&typing_pause_, &QTimer::timeout, this, &MapWindow::place_guests);
    connect(typed_, &QLineEdit::textChanged, this, [this] { typing_pause_.start(); });
    connect(typed_, &QLineEdit::returnPressed, this, &MapWindow::place_guests);
    connect(&near_pause_, &QTimer::timeout, this, [this] {
        if (near_) ask_nearest(*near_);
    });
    connect(search_, &QLineEdit::textChanged, this, [this] { search_pause_.start(); });
    connect(search_, &QLineEdit::returnPressed, this, &MapWindow::search);
    connect(search_kind_, &QComboBox::currentIndexChanged, this, &MapWindow::search);
    found_->header()->setSectionResizeMode(1, QHeaderView::Fixed);
    found_->header()->resizeSection(1, 84);
    const auto go = [this](QTreeWidgetItem* item) {
        const QVariantList head = item->data(0, Qt::UserRole).toList();
        if (head.size() == 2) show_head(HeadId{Layer(head[0].toLongLong()), Head(head[1].toLongLong())});
    };
    connect(found_, &QTreeWidget::itemClicked, this, go);
    connect(found_, &QTreeWidget::itemActivated, this, go);
    connect(&Appearance::instance(), &Appearance::changed, this, &MapWindow::restyle);
    connect(&document_.selection(), &SelectionModel::changed, this, [this](bool hover_only) {
        if (!hover_only) follow_selection();
    });
    connect(&document_, &Document::changed, this, [this](Document::Change change) {
        restyle();
        if (change == Document::Change::model) name_model();
        const bool other = change == Document::Change::trace || change == Document::Change::model;
        if (!other || !order_.texts.isEmpty() || !document_.run_trace()) return;
        if (drawn_trace_.lock() == document_.run_trace() && linked()) return;
        MapOrder order = order_;
        order.gather.stack = model::Stack::whole;  // the one that the window shows
        draw(order);
    });
    connect(&jobs_, &Jobs::progressed, this, [this](Jobs::Lane lane, const ProgressStep& step) {
        if (lane != Jobs::Lane::map) return;
        progress_->setRange(0, static_cast<int>(step.total));
        progress_->setValue(static_cast<int>(step.done));
        progress_->setToolTip(
            QStringLiteral("%1: %2 of %3")
                .arg(QString::fromStdString(step.what), figure::count_text(step.done), figure::count_text(step.total)));
    });
    connect(&jobs_, &Jobs::finished, this, [this](Jobs::Lane lane) {
        if (lane == Jobs::Lane::map) end_run();
        show_work();
    });
    connect(&jobs_, &Jobs::failed, this, &MapWindow::show_failed);
}

// --- state ----------------------------------------------------------------------------------------------------------

void MapWindow::restyle() {
    figure::Style style;
    style.theme = &Appearance::instance().theme();
    if (linked()) style.filter = document_.finder().filter();
    canvas_->set_style(style);
}

/// A map of a file's texts stays when the window opens another model, and says so as long as that is the case.
void MapWindow::name_model() {
    if (!texts_) return;
    const auto name = [](const OpenModel& opened) { return QString::fromStdString(opened.model->config().name); };
    const OpenModel& now = document_.model();
    setWindowTitle(QStringLiteral("Map of queries and keys – ") + name(texts_->opened()));
    const QString before = std::exchange(other_model_, {});
    if (now.model && now.model != texts_->opened().model && !shown_.texts.isEmpty())
        other_model_ =
            QStringLiteral("This map of %1 was made before the window opened %2: choose its texts again to map them with %2")
                .arg(name(texts_->opened()), name(now));
    if (!other_model_.isEmpty())
        say(other_model_);
    else if (message_->text() == before)
        say({});
}

void MapWindow::say(const QString& text, bool wrong) {
    set_style_property(*message_, "role", wrong ? "error" : "note");
    message_->setText(text);
    message_->setVisible(!text.isEmpty());
}

void MapWindow::show_side(Side which) {
    side_->setCurrentIndex(static_cast<int>(which));
    tabs_.at(static_cast<std::size_t>(which))->setChecked(true);
}

/// Shows the current work and enables what can be started meanwhile.
void MapWindow::show_work() {
    const bool runs = jobs_.busy(Jobs::Lane::map);
    progress_->setVisible(runs);
    stop_->setVisible(runs);
    pause_->setVisible(runs || stopped_);
    pause_->setText(stopped_ && !runs ? QStringLiteral("Go on") : paused_ ? QStringLiteral("Go on") : QStringLiteral("Pause"));
    pause_->setEnabled(current());
    export_->setEnabled(canvas_->figure() != nullptr);
    const QString name = texts_button_->fontMetrics().elidedText(QFileInfo(QDir::cleanPath(order_.texts)).fileName(),
                                                                 Qt::ElideMiddle, widest_name);
    texts_button_->setText(order_.texts.isEmpty() ? QStringLiteral("Text of the window")
                                                  : QString(name).replace(u'&', QLatin1String("&&")));
    texts_button_->setToolTip(order_.texts);
    const bool typable = texts_ && !texts_->of_pictures() && !texts_->vectors().crossed();
    typed_->setEnabled(typable);
}

void MapWindow::take_controls() {
    MapOrder order = order_;
    order.options.projection = static_cast<map::Projection>(method_->currentData().toInt());
    order.options.dims = dims_->currentData().toInt();
    order.options.preset = static_cast<map::Preset>(preset_->currentData().toInt());
    if (more_->isVisible()) more_->read_into(order);
    draw(order);
}

/// Updates buttons and visible heads from the look.
void MapWindow::take_look() {
    const auto single = canvas_->look().single;
    all_heads_->setText(single ? QStringLiteral("All heads") : QStringLiteral("One head"));
    all_heads_->setToolTip(single ? QStringLiteral("Back to the matrix (Esc)")
                                  : QStringLiteral("The head with the frame by itself (Enter)"));
    all_heads_->setEnabled(canvas_->figure() != nullptr);
    head_name_->setText(single ? figure::head_name(*single) : QString());
    head_name_->setVisible(single.has_value());
    lasso_tool_->setEnabled(single.has_value());
    if (!single) lasso_tool_->setChecked(false);
    if (run_) run_->show_first(canvas_->visible_heads());
}

/// Whether the map is of the window's model.
bool MapWindow::linked() const {
    return texts_ && document_.trace() && texts_->opened().model == document_.model().model &&
           (shown_.gather.stack == model::Stack::whole || document_.attention() == shown_.gather.stack);
}

void MapWindow::follow_selection() {
    if (following_ || (texts_ && !linked())) return;
    const HeadId focus = document_.selection().get().focus;
    if (canvas_->selection().focus == focus) return;
    following_ = true;
    choose_head(focus);
    following_ = false;
}

void MapWindow::choose_head(HeadId head) {
    canvas_->set_focus_head(head);
    const auto& figure = canvas_->figure();
    const auto index = figure ? figure->index_of(head) : std::nullopt;
    if (canvas_->look().single && canvas_->look().single != head && index) show_head(head);
    if (!following_ && linked()) {
        following_ = true;
        document_.selection().focus_head(head);
        following_ = false;
    }
}

void MapWindow::show_head(std::optional<HeadId> head) {
    const auto& figure = canvas_->figure();
    const auto index = figure && head ? figure->index_of(*head) : std::nullopt;
    if (head && !index) return;
    const bool between_heads = head && canvas_->look().single;
    canvas_->edit([&](figure::MapLook& look) {
        look.single = head;
        look.lines.clear();
        look.lasso.clear();
        look.hovered.reset();
        if (!between_heads) look.zoom = 1;
        if (!between_heads) look.middle = head ? QPointF(0, 0) : QPointF(0.5, 0.5);
        if (look.chosen && index) look.chosen->head = *index;  // the same token in another head
    });
    forget_nearest();
    if (!head) return;
    first_pause_.start();
    choose_head(*head);
    if (const auto chosen = canvas_->look().chosen) choose_point(*chosen);
}

void MapWindow::step_head(int layers, int heads) {
    const auto& figure = canvas_->figure();
    if (!figure) return;
    HeadId to = canvas_->selection().focus;
    to.layer.value += layers, to.head.value += heads;
    if (!figure->index_of(to)) return;
    choose_head(to);
}

/// One step of Esc; false if there was nothing left to clear.
bool MapWindow::step_back() {
    const figure::MapLook& look = canvas_->look();
    if (!look.lasso.empty()) return canvas_->edit([](figure::MapLook& l) { l.lasso.clear(); }), true;
    if (look.single && canvas_->figure() && canvas_->figure()->map().heads.size() > 1) return show_head(std::nullopt), true;
    if (look.marked || look.chosen) {
        const QSignalBlocker quiet(search_);
        search_->clear();
        return clear_marks(), true;
    }
    return false;
}

void MapWindow::keyPressEvent(QKeyEvent* event) {
    const bool turn = event->modifiers() & Qt::ShiftModifier && canvas_->solid();
    const auto arrow = [&](int layers, int heads) {
        if (event->modifiers() & Qt::ControlModifier) return step_towards(QPointF(heads, layers));
        if (turn) return canvas_->turn_by(key_turn * heads, key_turn * layers);
        step_head(layers, heads);
    };
    const QPointF middle = QRectF(canvas_->viewport()->rect()).center();
    if (event->matches(QKeySequence::Cancel) && step_back()) return;
    if (event->matches(QKeySequence::Find)) {
        search_->setFocus();
        return search_->selectAll();
    }
    if (event->matches(QKeySequence::HelpContents) && canvas_->figure())
        return Q_EMIT explanation_asked(canvas_->figure()->title(), canvas_->figure()->description());
    if (focusWidget() != canvas_) return QDialog::keyPressEvent(event);
    switch (event->key()) {
        case Qt::Key_Left: return arrow(0, -1);
        case Qt::Key_Right: return arrow(0, 1);
        case Qt::Key_Up: return arrow(-1, 0);
        case Qt::Key_Down: return arrow(1, 0);
        case Qt::Key_Return:
        case Qt::Key_Enter: return show_head(canvas_->selection().focus);
        case Qt::Key_BracketLeft: return step_point(-1);
        case Qt::Key_BracketRight: return step_point(1);
        case Qt::Key_Plus:
        case Qt::Key_Equal: return canvas_->zoom_by(key_zoom, middle);
        case Qt::Key_Minus: return canvas_->zoom_by(1 / key_zoom, middle);
        case Qt::Key_0: return canvas_->zoom_to_fit();
        default: return QDialog::keyPressEvent(event);
    }
}

void MapWindow::ask_for_texts(bool folder) {
    const QString start = QSettings().value(QStringLiteral("recent/texts")).toString();
    const QString chosen = folder ? QFileDialog::getExistingDirectory(this, QStringLiteral("Texts of the map"), start)
                                  : QFileDialog::getOpenFileName(this, QStringLiteral("Texts of the map"), start);
    if (chosen.isEmpty()) return;
    QSettings().setValue(QStringLiteral("recent/texts"), QFileInfo(chosen).path());
    MapOrder order = order_;
    order.texts = chosen;
    draw(order, true);  // it may have been written since
}

}  // namespace headlight::ui
