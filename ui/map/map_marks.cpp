// SPDX-License-Identifier: GPL-3.0-or-later
// Points of the map: hovered, selected, found by a search, inside the lasso.
#include "headlight/figure/core/number_text.h"
#include "headlight/map/gather/gather.h"
#include "headlight/map/pictures.h"
#include "headlight/text/alignment.h"
#include "ui/map/map_window.h"
#include "ui/style/widgets.h"

#include <QPointer>
#include <QSignalBlocker>

#include <algorithm>
#include <cmath>
#include <utility>

namespace headlight::ui {
namespace {

constexpr int row_height = 24;
constexpr std::size_t nearest_shown = 8, nearest_pointed = 3;

std::int64_t count_of(const std::vector<std::uint8_t>& marks) { return std::ranges::count(marks, 1); }

QString percent(double share) { return QString::number(100 * share, 'f', share < 0.0995 ? 1 : 0) + QStringLiteral(" %"); }

void set_numbers_right(QTreeWidgetItem* item) {
    for (int c = 1; c < item->columnCount(); ++c) item->setTextAlignment(c, Qt::AlignRight | Qt::AlignVCenter);
    item->setSizeHint(0, QSize(0, row_height));
}

}  // namespace

/// Shows the numbers at once, the nearest points a moment later.
void MapWindow::point_at(const QString& tip, std::optional<figure::MapPoint> point) {
    if (point && near_ == point) return;  // its nearest points stand beside it
    pointed_->setText(tip);
    if (near_ == point) return;
    near_ = point;
    near_pause_.stop();
    if (point && texts_) near_pause_.start();
    if (!near_lines_.empty()) {
        near_lines_.clear();
        show_lines();
    }
}

/// Of another map or another head: points have other numbers there.
void MapWindow::forget_nearest() {
    near_pause_.stop();
    jobs_.cancel(Jobs::Lane::map_near);
    near_.reset();
    near_lines_.clear();
    pointed_->clear();
}

void MapWindow::ask_nearest(const figure::MapPoint& point) {
    if (!texts_) return;
    jobs_.start(
        Jobs::Lane::map_near, {},
        [self = QPointer(this), texts = texts_, options = run_->options(), point](const CancelToken& cancel,
                                                                                  const Progress&) -> Jobs::Deliver {
            const auto near = nearest_before_projection(*texts, point.head, options, point.point, nearest_pointed, cancel);
            return [self, near, point, texts, preset = options.preset] {
                if (!self || self->texts_ != texts || !self->canvas_->figure() || self->near_ != point) return;
                const figure::MapFigure& figure = *self->canvas_->figure();
                self->near_lines_.clear();
                QStringList words;
                for (const NearPoint& at : near) {
                    const figure::MapToken token = figure::map_token(figure.map(), at.point);
                    words << QStringLiteral("%1 (%2)").arg(figure::map_token_text(token.of.tokens[token.at]),
                                                           figure::value_text(at.value, 2));
                    self->near_lines_.push_back({point.point, at.point, 0, true});
                }
                const bool key = figure::map_token(figure.map(), point.point).key;
                self->pointed_->setText(QStringLiteral("%1 · nearest %2 by %3: %4")
                                            .arg(self->pointed_->text(), key ? QStringLiteral("queries") : QStringLiteral("keys"),
                                                 QString::fromUtf8(nearness_word(preset)), words.join(QStringLiteral(", "))));
                self->show_lines();
            };
        });
}

void MapWindow::choose_by_hand(const figure::MapPoint& point) {
    if (!canvas_->figure() || !texts_) return;
    choose_point(point);
    pin_token(point);
}

void MapWindow::choose_point(const figure::MapPoint& point) {
    const auto& figure = canvas_->figure();
    if (!figure || !texts_) return;
    const map::HeadMap& head = figure->map().heads.at(point.head);
    const bool other_head = canvas_->selection().focus != HeadId{head.layer, head.head};
    canvas_->edit([&](figure::MapLook& look) {
        look.chosen = point;
        look.lines.clear();
    });
    if (other_head) choose_head({head.layer, head.head});
    token_->show_point(*figure, *texts_, point);
    show_side(Side::token);
    ask_attention();
}

/// A point of the window's own text is a token of its views. In the cells of all heads points are too small to mean one.
void MapWindow::pin_token(const figure::MapPoint& point) {
    if (!canvas_->look().single || !linked() || !shown_.texts.isEmpty() || drawn_trace_.lock() != document_.run_trace()) return;
    const figure::MapToken token = figure::map_token(canvas_->figure()->map(), point.point);
    figure::Selection next = document_.selection().get();
    next.pinned_queries = token.key ? std::vector<Position>{} : std::vector{token.position()};
    next.pinned_keys = token.key ? std::vector{token.position()} : std::vector<Position>{};
    next.found_pins = false;
    document_.selection().set(next);
}

void MapWindow::forget_point() {
    jobs_.cancel(Jobs::Lane::map_attention);
    token_->clear();
    show_lines();
}

/// Includes the nearest points of the other role.
void MapWindow::ask_attention() {
    if (!texts_ || !token_->point()) return;
    jobs_.start(Jobs::Lane::map_attention, QStringLiteral("Reading attention"),
                [self = QPointer(this), texts = texts_, options = run_->options(), asked = token_->asked()](
                    const CancelToken& cancel, const Progress& progress) -> Jobs::Deliver {
                    const auto near = nearest_before_projection(*texts, asked.head, options, asked.point, nearest_shown, cancel);
                    const AttentionFound found = attention_of(*texts, asked, cancel, progress);
                    return [self, texts, found, near, preset = options.preset] {
                        if (!self || self->texts_ != texts || !self->canvas_->figure()) return;
                        self->token_->show_attention(found);
                        self->token_->show_nearest(*self->canvas_->figure(), *texts, near,
                                                   QString::fromUtf8(nearness_word(preset)));
                        self->show_lines();
                    };
                });
}

/// Lines for the selected point's attention, and for the nearest points of the hovered one.
void MapWindow::show_lines() {
    std::vector<figure::MapLine> lines = token_->lines();
    lines.insert(lines.end(), near_lines_.begin(), near_lines_.end());
    if (canvas_->look().lines == lines) return;
    canvas_->edit([&](figure::MapLook& look) { look.lines = std::move(lines); });
}

void MapWindow::open_text() {
    const auto& point = token_->point();
    if (!point || !texts_ || !canvas_->figure()) return;
    if (texts_->opened().model != document_.model().model)
        return say(QStringLiteral("The map is of %1: open that model in the window to see its texts there")
                       .arg(QString::fromStdString(texts_->opened().model->config().name)),
                   true);
    if (!shown_.texts.isEmpty() && texts_->opened().model->config().stack == model::Stack::decoder)
        return say(QStringLiteral("A text of this model is a source with a target: type both into the window"), true);
    const map::QueryKeyMap& map = canvas_->figure()->map();
    const figure::MapToken token = figure::map_token(map, point->point);
    const map::HeadMap& head = map.heads.at(point->head);
    TextExample example;
    // The window's own text is already open, with its pair.
    std::vector<Position> pins{token.position()};
    const auto text = static_cast<std::size_t>(token.text());
    if (!shown_.texts.isEmpty() && map.pictures) {
        example.image = QString::fromStdString(map.pictures->shown.at(text).file);
    } else if (!shown_.texts.isEmpty()) {
        example.text = QString::fromStdString(texts_->text(text, token.key));
        // A part of a longer text may have other tokens by itself.
        const map::TokenRange range = texts_->range(text, token.key);
        const auto begin = token.of.tokens.begin();
        const std::vector<std::string> there(begin + range.first, begin + range.second);
        const auto now = text::align_tokens(there, texts_->opened().tokenizer->encode(example.text.toStdString()).tokens);
        const std::int64_t at = now.at(static_cast<std::size_t>(token.position().value));
        pins = at < 0 ? std::vector<Position>{} : std::vector{Position(at)};
    }
    (token.key ? example.keys : example.queries) = pins;
    example.head = HeadId{head.layer, head.head};
    Q_EMIT example_chosen(example);
}

void MapWindow::search() {
    search_pause_.stop();
    const std::string sought = search_->text().trimmed().toStdString();
    if (!texts_ || !run_ || !canvas_->figure()) return;
    if (sought.empty()) return clear_hits();
    jobs_.cancel(Jobs::Lane::map_shares);  // the hits replace the points of the lasso
    show_side(Side::search);
    const auto kind = chosen_value<map::SearchKind>(*search_kind_);
    jobs_.start(
        Jobs::Lane::map_marks, QStringLiteral("Searching"),
        [self = QPointer(this), texts = texts_, run = run_, kind, sought](const CancelToken& cancel,
                                                                          const Progress&) -> Jobs::Deliver {
            map::TokenText spelled;
            if (const auto& tokenizer = texts->opened().tokenizer; tokenizer && !texts->of_pictures())
                spelled = [tokenizer](std::int64_t id) { return tokenizer->bytes_of(id); };
            const map::QueryKeyMap map = run->map();
            const std::vector<std::uint8_t> hits = map::find_points(map, kind, sought, spelled);
            cancel.throw_if_cancelled();
            const auto of_keys = hits.begin() + static_cast<std::ptrdiff_t>(map::query_count(map));
            const std::vector<std::uint8_t> of_queries(hits.begin(), of_keys);
            std::vector<std::pair<HeadId, double>> rows;
            const std::vector<map::HeadHits> ranked = map::heads_by_tightness(map, of_queries);
            for (const map::HeadHits& hit : ranked)
                rows.emplace_back(HeadId{map.heads[hit.head].layer, map.heads[hit.head].head}, hit.dispersion);
            const std::int64_t queries = count_of(of_queries), keys = std::count(of_keys, hits.end(), 1);
            return [self, texts, hits, ranked, rows, queries, keys, kind, sought] {
                if (!self || self->texts_ != texts || !self->canvas_->figure()) return;
                const QString words = QString::fromStdString(sought);
                self->searched_ = sought;
                self->searched_by_ = kind;
                self->canvas_->edit([&](figure::MapLook& look) {
                    figure::mark_points(look, self->canvas_->figure()->map(), hits, ranked, words);
                });
                self->found_->clear();
                if (queries + keys == 0) return self->search_note_->setText(QStringLiteral("No token is “%1”.").arg(words));
                self->search_note_->setText(
                    QStringLiteral(
                        "%1 queries and %2 keys in each of %3 heads. Spread: mean distance of two hits over that of any "
                        "two points; heads where the hits stand tightest come first.")
                        .arg(figure::count_text(queries), figure::count_text(keys), figure::count_text(std::ssize(rows))));
                for (const auto& [head, spread] : rows) {
                    auto* item = new QTreeWidgetItem(
                        self->found_,
                        {figure::head_name(head), std::isfinite(spread) ? figure::value_text(spread, 3) : QStringLiteral("–")});
                    item->setData(0, Qt::UserRole, QVariantList{qlonglong(head.layer.value), qlonglong(head.head.value)});
                    set_numbers_right(item);
                }
            };
        });
}

void MapWindow::take_lasso(const std::vector<std::int32_t>& points) {
    if (!texts_ || !canvas_->figure()) return;
    show_side(Side::lasso);
    shares_->clear();
    {
        const QSignalBlocker quiet(search_);  // its hits are not what is marked
        search_->clear();
        found_->clear();
    }
    if (points.empty()) {
        clear_marks();
        return lasso_note_->setText(QStringLiteral("The lasso contains no points."));
    }
    jobs_.cancel(Jobs::Lane::map_marks);
    auto marked = std::make_shared<std::vector<std::uint8_t>>(map::point_count(canvas_->figure()->map()));
    for (const std::int32_t point : points) (*marked)[static_cast<std::size_t>(point)] = 1;
    searched_.clear();
    const QString words = QStringLiteral("%1 points of the lasso").arg(figure::count_text(std::ssize(points)));
    canvas_->edit([&](figure::MapLook& look) {
        look.marked = marked;
        look.marked_words = words;
        look.spreads.reset();
    });
    lasso_note_->setText(words + u'.');
    jobs_.start(
        Jobs::Lane::map_shares, {},
        [self = QPointer(this), texts = texts_, points, words, shown = canvas_->figure()->drawn_points()](
            const CancelToken&, const Progress&) -> Jobs::Deliver {
            map::QueryKeyMap tokens_alone;
            tokens_alone.tokens = texts->vectors().tokens;
            tokens_alone.source = texts->vectors().source;
            const std::vector<figure::MapShare> shares = figure::over_represented(tokens_alone, points, shown);
            return [self, texts, shares, words] {
                if (!self || self->texts_ != texts) return;
                self->lasso_note_->setText(shares.empty()
                                               ? words + QStringLiteral(". Nothing is clearly over-represented among them.")
                                               : words + QStringLiteral(": shares here and among the others."));
                for (const figure::MapShare& share : shares) {
                    auto* item = new QTreeWidgetItem(
                        self->shares_, {share.kind == QLatin1String("token") || share.kind == QLatin1String("role")
                                            ? share.value
                                            : share.kind + u' ' + share.value,
                                        figure::count_text(share.inside), percent(share.share), percent(share.elsewhere)});
                    item->setToolTip(0, QStringLiteral("z = %1, log-odds ratio with a prior (Monroe et al. 2008)")
                                            .arg(figure::value_text(share.z, 2)));
                    set_numbers_right(item);
                }
            };
        });
}

/// The hits of a search alone: the selected point and what a lasso marked stay.
void MapWindow::clear_hits() {
    jobs_.cancel(Jobs::Lane::map_marks);
    found_->clear();
    if (std::exchange(searched_, {}).empty()) return;
    canvas_->edit([](figure::MapLook& look) {
        look.marked.reset();
        look.marked_words.clear();
        look.spreads.reset();
    });
}

void MapWindow::clear_marks() {
    clear_hits();
    jobs_.cancel(Jobs::Lane::map_shares);
    near_lines_.clear();
    forget_point();
    canvas_->edit([](figure::MapLook& look) {
        const auto guests = look.guests;
        look = kept_look(look);
        look.guests = guests;
    });
}

/// The token before or after the chosen one in its text, in the same role.
void MapWindow::step_point(int by) {
    if (!canvas_->figure() || !texts_) return;
    const map::QueryKeyMap& map = canvas_->figure()->map();
    const auto index = canvas_->figure()->index_of(canvas_->selection().focus);
    if (!index) return;
    const auto chosen = canvas_->look().chosen;
    if (!chosen) return choose_by_hand({*index, 0});
    const figure::MapToken token = figure::map_token(map, chosen->point);
    const map::TokenRange range = texts_->range(static_cast<std::size_t>(token.text()), token.key);
    const std::int64_t to = static_cast<std::int64_t>(token.at) + by;
    if (to >= range.first && to < range.second) choose_by_hand({*index, chosen->point + by});
}

/// The nearest point on that side of the chosen one, in the single view.
void MapWindow::step_towards(QPointF way) {
    if (const auto point = canvas_->next_point(canvas_->look().chosen, way)) choose_by_hand(*point);
}

/// The sentence that is typed, among the points of the map.
void MapWindow::place_guests() {
    typing_pause_.stop();
    placed_.start();
    const QString typed = typed_->text().trimmed();
    if (!run_ || !texts_ || typed.isEmpty()) {
        jobs_.cancel(Jobs::Lane::map_guests);
        if (canvas_->look().guests) canvas_->edit([](figure::MapLook& look) { look.guests.reset(); });
        return;
    }
    jobs_.start(Jobs::Lane::map_guests, QStringLiteral("Placing the sentence"),
                [self = QPointer(this), texts = texts_, run = run_, known = placer_run_.lock() == run_ ? placer_ : nullptr,
                 order = shown_, typed](const CancelToken& cancel, const Progress&) -> Jobs::Deliver {
                    map::GatherOptions gather = order.gather;
                    gather.budget = 0;
                    const OpenModel& opened = texts->opened();
                    const auto vectors =
                        map::gather_texts(opened.model, opened.tokenizer,
                                          {corpus::Text{.id = "the sentence", .text = typed.toStdString()}}, gather, cancel);
                    std::shared_ptr<const map::NewPoints> placer = known;
                    if (!placer)
                        placer = std::make_shared<const map::NewPoints>(texts->shared_vectors(), run->options(), 0, cancel);
                    const map::QueryKeyMap placed = placer->place(*vectors, run->map(), 0, cancel);
                    auto guests = std::make_shared<figure::MapGuests>();
                    guests->tokens = placed.tokens.tokens;
                    for (const map::HeadMap& head : placed.heads) guests->points.push_back(head.points);
                    return [self, run, placer, guests] {
                        if (!self || self->run_ != run) return;
                        self->placer_ = placer;
                        self->placer_run_ = run;
                        self->canvas_->edit([&](figure::MapLook& look) { look.guests = guests; });
                    };
                });
}

}  // namespace headlight::ui
