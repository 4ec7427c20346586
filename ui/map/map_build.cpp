// SPDX-License-Identifier: GPL-3.0-or-later
// The widgets of the map page and what connects them.
#include "headlight/figure/core/number_text.h"
#include "ui/map/map_window.h"
#include "ui/style/appearance.h"
#include "ui/style/widgets.h"

#include <QAbstractItemView>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QMenu>
#include <QSplitter>
#include <QVBoxLayout>

namespace headlight::ui {
namespace {

constexpr int frame_ms = 33, typing_ms = 200, near_ms = 90, first_ms = 250;

template <class Enum, std::size_t N>
QComboBox* choice(const EnumRow<Enum> (&rows)[N], const char* name) {
    auto* box = new QComboBox;
    add_choices(*box, rows);
    box->setAccessibleName(QString::fromUtf8(name));
    box->setToolTip(QString::fromUtf8(name));
    return box;
}

QComboBox* color_choice() {
    auto* box = new QComboBox;
    add_choices(*box, figure::map_colors, [](const QString& words) { return QStringLiteral("Colour: ") + words; });
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

/// Calls switched(title, on) for each switch of the look.
template <class Look, class Switched>
void visit_switches(Look& look, const Switched& switched) {
    figure::describe_look(look, 2, [&](const Field& field, auto& value) {
        if constexpr (std::is_same_v<std::decay_t<decltype(value)>, bool>) switched(field.title, value);
    });
}

}  // namespace

MapWindow::MapWindow(Document& document, Jobs& jobs, const MapPage& page, QWidget* parent)
    : QWidget(parent),
      document_(document),
      jobs_(jobs),
      canvas_(new MapCanvas),
      token_(new TokenPanel),
      more_(new MapOptionsPopover(this)),
      message_(wrapped_label("note")),
      pointed_(role_label("note")),
      head_name_(role_label("title")),
      search_note_(wrapped_label("note")),
      lasso_note_(wrapped_label("note")),
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
    setAttribute(Qt::WA_StyledBackground);
    build();
    connect_parts();
    restyle();
    take_look();
    show_work();
    canvas_->set_placeholder(QStringLiteral("Queries and keys of all heads"),
                             QStringLiteral("Type a text in the window, or choose a file of texts."));
    follow_selection();
    restore(page);
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
    QAction *own = menu->addAction(QString()), *file = menu->addAction(QString()), *files = menu->addAction(QString());
    connect(menu, &QMenu::aboutToShow, this, [this, own, file, files] {
        const bool pictures = reads_pictures(document_.model());
        own->setText(QStringLiteral("The %1 of the window").arg(input_word()));
        file->setText(pictures ? QStringLiteral("A picture …") : QStringLiteral("A file of texts …"));
        files->setText(pictures ? QStringLiteral("A folder of pictures …")
                                : QStringLiteral("A folder of texts, or a corpus store …"));
    });
    connect(own, &QAction::triggered, this, [this] {
        MapOrder order = order_;
        order.texts.clear();
        draw(order);
    });
    connect(file, &QAction::triggered, this, [this] { ask_for_texts(false); });
    connect(files, &QAction::triggered, this, [this] { ask_for_texts(true); });
    texts_button_->setMenu(menu);
    texts_button_->setProperty("menu", true);
    texts_button_->setAccessibleName(QStringLiteral("Texts"));
    dims_->addItem(QStringLiteral("2-D"), 2);
    dims_->addItem(QStringLiteral("3-D"), 3);
    dims_->setAccessibleName(QStringLiteral("Dimensions"));
    progress_->setFixedWidth(120);
    progress_->setTextVisible(false);
    auto* row = new QHBoxLayout;
    row->setSpacing(8);
    add_widgets(*row, {texts_button_, method_, dims_, preset_, more_button_});
    row->addStretch(1);
    add_widgets(*row, {progress_, pause_, stop_, export_});
    return row;
}

QLayout* MapWindow::look_row() {
    auto* menu = new QMenu(show_button_);
    visit_switches(canvas_->look(), [&](std::string_view title, bool on) {
        QAction* action = menu->addAction(QString::fromUtf8(title.data(), static_cast<qsizetype>(title.size())));
        action->setCheckable(true);
        action->setChecked(on);
        connect(action, &QAction::toggled, this, [this, title](bool checked) {
            canvas_->edit([&](figure::MapLook& look) {
                visit_switches(look, [&](std::string_view each, bool& value) {
                    if (each == title) value = checked;
                });
            });
        });
        show_actions_.push_back(action);
    });
    show_button_->setMenu(menu);
    show_button_->setProperty("menu", true);
    lasso_tool_->setText(QStringLiteral("Lasso"));
    lasso_tool_->setProperty("kind", "button");
    lasso_tool_->setCheckable(true);
    lasso_tool_->setToolTip(QStringLiteral("Draw around points of one head (or hold Shift)"));
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
    add_widgets(*row, {all_heads_, head_name_, color_, show_button_, lasso_tool_});
    row->addStretch(1);
    row->addWidget(search_kind_);
    row->addWidget(search_, 2);
    return row;
}

void MapWindow::show_switches() {
    std::size_t at = 0;
    visit_switches(canvas_->look(), [&](std::string_view, bool on) { show_actions_[at++]->setChecked(on); });
}

QWidget* MapWindow::side() {
    auto* all = new QWidget;
    auto* column = new_column(all, {14, 0, 0, 0});
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
        auto* lines = new_column(widget, {0, 0, 0, 0});
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
    lasso_note_->setText(QStringLiteral("Shift+drag around points of one head to list what is over-represented among them."));
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
    pointed_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    auto* all = new_column(this, {16, 12, 16, 8}, 8);
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
    connect(color_, &QComboBox::currentIndexChanged, this,
            [this] { canvas_->edit([&](figure::MapLook& l) { l.color = chosen_value<figure::MapColor>(*color_); }); });
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
        choose_by_hand(point);
    });
    connect(canvas_, &MapCanvas::double_clicked, this, [this](HeadId head) {
        if (canvas_->look().single) return show_head(std::nullopt);
        // The first of the two clicks may have hit a point of the cell, which was not meant.
        canvas_->edit([this](figure::MapLook& look) { look.chosen = chosen_before_; });
        if (!chosen_before_) forget_point();
        show_head(head);
    });
    connect(canvas_, &MapCanvas::zoomed_into, this, &MapWindow::show_head);
    connect(canvas_, &MapCanvas::zoomed_out_of, this, [this](HeadId head) {
        if (canvas_->figure()->map().heads.size() == 1) return;
        show_head(std::nullopt);
        canvas_->lay_out();
        const figure::MapLook to = canvas_->figure()->around(head);
        canvas_->edit([&](figure::MapLook& look) { look.zoom = to.zoom, look.middle = to.middle; });
    });
    connect(canvas_, &MapCanvas::pointed_at, this, &MapWindow::point_at);
    connect(canvas_, &MapCanvas::lassoed, this, &MapWindow::take_lasso);
    connect(canvas_, &MapCanvas::look_changed, this, &MapWindow::take_look);
    connect(token_, &TokenPanel::asks, this, &MapWindow::ask_attention);
    connect(token_, &TokenPanel::lines_changed, this, &MapWindow::show_lines);
    connect(token_, &TokenPanel::point_wanted, this, &MapWindow::choose_by_hand);
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
    connect(typed_, &QLineEdit::textChanged, this, [this] {
        typing_pause_.start();
        tell_page();
    });
    connect(typed_, &QLineEdit::returnPressed, this, &MapWindow::place_guests);
    connect(&near_pause_, &QTimer::timeout, this, [this] {
        if (near_) ask_nearest(*near_);
    });
    connect(search_, &QLineEdit::textChanged, this, [this] {
        search_pause_.start();
        tell_page();
    });
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
        if (change == Document::Change::trace || change == Document::Change::model) follow_text();
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

}  // namespace headlight::ui
