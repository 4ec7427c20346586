// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/pattern/model/model_view_store.h"

#include "figure/core/draw.h"
#include "headlight/base/memory.h"

#include <algorithm>
#include <utility>

namespace headlight::figure {
namespace {

constexpr int sharpening_ms = 50;

/// Bytes of pictures of all heads, at least those of a large screen, and of full patterns with theirs: an eighth of what the
/// program may take each, or less.
std::int64_t picture_budget() { return std::clamp<std::int64_t>(memory_budget() / 8, 64 << 20, 192 << 20); }
std::int64_t real_budget() { return std::min<std::int64_t>(memory_budget() / 8, 320 << 20); }

Mask mask_of(const ModelViewData& data, Layer layer) {
    return {data.causal, data.windows.empty() ? 0 : data.windows[static_cast<std::size_t>(layer.value)]};
}

QImage picture(const analyze::Matrix& level, const PixelStyle& style, const std::array<QRgb, 256>& ramp,
               const ModelViewData& data, Layer layer) {
    const Mask mask = mask_of(data, layer);
    return map_image(strengths(level, style.transfer), ramp, legal_columns(data.axes, mask, level.rows(), level.cols()),
                     first_columns(data.axes, mask.window, level.rows(), level.cols()));
}

std::shared_ptr<RealMap> make_real(analyze::Matrix pattern, const PixelStyle& style, const std::array<QRgb, 256>& ramp,
                                   const ModelViewData& data, Layer layer, int side, const CancelToken& cancel = {}) {
    auto map = std::make_shared<RealMap>();
    map->style = style;
    map->pattern = std::move(pattern);
    analyze::Matrix level = map->pattern;
    while (true) {
        cancel.throw_if_cancelled();
        map->levels.push_back(picture(level, style, ramp, data, layer));
        if (std::max(level.rows(), level.cols()) <= 2 * side) break;
        level = halved(level, style.mean);
    }
    return map;
}

QImage make_pooled(HeadId head, int side, const PixelStyle& style, const std::array<QRgb, 256>& ramp, const ModelViewData& data) {
    auto pooled = data.pooled(head);
    analyze::Matrix level = std::move(style.mean ? pooled.mean : pooled.max);
    while (std::max(level.rows(), level.cols()) > side) level = halved(level, style.mean);
    return picture(level, style, ramp, data, head.layer);
}

}  // namespace

std::size_t RealMap::bytes() const {
    std::size_t sum = static_cast<std::size_t>(pattern.size()) * sizeof(float);
    for (const QImage& level : levels) sum += static_cast<std::size_t>(level.sizeInBytes());
    return sum;
}

QString ModelViewData::name_of(HeadId cell) const {
    const auto found = names.find(cell);
    return found != names.end() ? found->second : head_name(cell);
}

ModelViewStore::ModelViewStore(ModelViewData data) : data_(std::move(data)) {}

void ModelViewStore::prepare(const CancelToken& cancel) {
    if (!data_.shape.lines) return;
    for (std::int64_t l = 0; l < data_.shape.grid_layers(); ++l)
        for (std::int64_t h = 0; h < data_.shape.grid_heads(); ++h) {
            cancel.throw_if_cancelled();
            pattern_now({Layer{l}, Head{h}});
        }
}

void ModelViewStore::begin(const PixelStyle& style, bool patient) {
    clock_.start();
    patient_ = patient;
    refining_ = false;
    wanted_.clear();
    if (gives_up_.exchange(false)) {
        drop_pictures();
        real_.clear();
        report();
    }
    if (!(style == style_)) {
        const bool recount = !(style.transfer == style_.transfer);
        style_ = style;
        ramp_ = draw::ramp_table(style.ramp, *style.theme);
        drop_pictures();
        if (recount) count_.reset();
    }
}

const ModelViewStore::Picture* ModelViewStore::best(HeadId head, QSize size) const {
    const auto found = pictures_.find(head);
    if (found == pictures_.end() || found->second.empty()) return nullptr;
    const auto& all = found->second;
    const auto exact = std::ranges::find(all, size, &Picture::size);
    if (exact != all.end()) return &*exact;
    return &*std::ranges::max_element(all, {}, [](const Picture& p) { return p.size.width(); });
}

const QImage* ModelViewStore::keep(HeadId head, QSize size, QImage image) {
    if (static_cast<std::int64_t>(picture_bytes_) > picture_budget()) drop_pictures();
    picture_bytes_ += static_cast<std::size_t>(image.sizeInBytes());
    report();
    return &pictures_[head].emplace_back(Picture{size, std::move(image)}).image;
}

void ModelViewStore::drop_pictures() {
    pictures_.clear();
    picture_bytes_ = 0;
}

void ModelViewStore::report() {
    std::size_t bytes = picture_bytes_;
    for (const auto& [head, map] : real_) bytes += map->bytes();
    account_.set(static_cast<std::int64_t>(bytes));
}

const QImage* ModelViewStore::lines(HeadId head, QSize size, double line_width) {
    const Picture* have = best(head, size);
    if (have && have->size == size) return &have->image;
    if (have && !time_left()) {
        refining_ = true;
        return &have->image;
    }
    return keep(head, size, lines_image(strengths(pattern_now(head), style_.transfer), size, line_width, color(head)));
}

QColor ModelViewStore::color(HeadId cell) const {
    if (data_.shape.is_together(cell)) return style_.theme->text;
    return head_color(*style_.theme, style_.palette, cell.layer.value);
}

int ModelViewStore::full_side() const {
    return static_cast<int>(std::min<std::int64_t>(pooled_side, std::max(data_.shape.rows, data_.shape.columns)));
}

int ModelViewStore::map_side(int wanted) const {
    int side = full_side();
    while (side > 8 && (side + 1) / 2 >= wanted) side = (side + 1) / 2;
    return side;
}

const QImage* ModelViewStore::map(HeadId head, int wanted) {
    const int side = map_side(wanted);
    const QSize size(side, side);  // the longer side names the level, whatever the map's shape
    const Picture* have = best(head, size);
    if (have && have->size == size) return &have->image;
    if (patient_ || (data_.pooled_at_hand && time_left())) return keep(head, size, make_pooled(head, side, style_, ramp_, data_));
    if (failed_.contains(head)) return have ? &have->image : nullptr;
    refining_ = true;
    if (!data_.pooled_at_hand) wanted_.push_back({head, side});
    return have ? &have->image : nullptr;
}

namespace {

constexpr std::int64_t finer_side = 4096;
/// Of a cell: a pixel, and a third more for the halved pictures.
constexpr double picture_bytes = 4 * 4.0 / 3;

}  // namespace

/// Of a whole pattern with its pictures.
std::int64_t ModelViewStore::whole_bytes() const {
    return static_cast<std::int64_t>(double(data_.shape.rows) * double(data_.shape.columns) * (sizeof(float) + picture_bytes));
}

bool ModelViewStore::holds_whole() const { return whole_bytes() <= std::max(real_budget(), memory_left() / 4); }

std::int64_t ModelViewStore::real_capacity() const {
    if (!holds_whole() && !data_.finer) return 0;
    const double bytes = holds_whole() ? double(whole_bytes()) : double(finer_side * finer_side) * picture_bytes;
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(double(real_budget()) / std::max(1.0, bytes)));
}

/// As the frame wants it; for any thread. `before`: the same map in another style.
ModelViewStore::MakeReal ModelViewStore::real_maker() const {
    return [&data = data_, whole = holds_whole(), style = style_, ramp = ramp_](HeadId head, const RealMap* before,
                                                                                const CancelToken& cancel) {
        if (whole) {
            const bool known = before && before->pattern.size() > 0;
            return make_real(known ? before->pattern : data.pattern(head), style, ramp, data, head.layer, pooled_side, cancel);
        }
        analyze::PooledMap pooled = data.finer(head, finer_side);
        auto map = make_real(style.mean ? std::move(pooled.mean) : std::move(pooled.max), style, ramp, data, head.layer,
                             pooled_side, cancel);
        map->pattern.resize(0, 0);
        return map;
    };
}

const std::shared_ptr<const RealMap>* ModelViewStore::find_real(HeadId head) const {
    const auto found = std::ranges::find(real_, head, [](const auto& r) { return r.first; });
    return found == real_.end() ? nullptr : &found->second;
}

std::shared_ptr<const RealMap> ModelViewStore::real(HeadId head) {
    const auto found = std::ranges::find(real_, head, [](const auto& r) { return r.first; });
    if (found != real_.end()) {
        real_.splice(real_.begin(), real_, found);
        if (found->second->style == style_) return found->second;
    }
    if (failed_.contains(head)) return nullptr;
    if (patient_) {
        auto map = real_maker()(head, found != real_.end() ? found->second.get() : nullptr, {});
        insert(head, map);
        return map;
    }
    wanted_.push_back({head});
    refining_ = true;
    return nullptr;
}

Sharpening ModelViewStore::sharpening() {
    if (wanted_.empty() || !busy_.expired()) return {};
    const auto busy = std::make_shared<char>();
    busy_ = busy;
    std::vector<std::pair<Wanted, std::shared_ptr<const RealMap>>> wanted;
    for (const Wanted& each : std::exchange(wanted_, {})) {
        const auto* before = each.side == 0 ? find_real(each.head) : nullptr;
        wanted.emplace_back(each, before ? *before : nullptr);
    }
    return [self = shared_from_this(), wanted = std::move(wanted), style = style_, ramp = ramp_, busy,
            make_real = real_maker()](const CancelToken& cancel) -> std::function<void()> {
        const ModelViewData& data = self->data_;
        std::vector<std::function<void()>> made;
        QElapsedTimer clock;
        clock.start();
        for (const auto& [each, before] : wanted) {
            cancel.throw_if_cancelled();
            if (!made.empty() && clock.elapsed() > sharpening_ms) break;
            const HeadId head = each.head;
            try {
                if (each.side == 0) {
                    auto map = make_real(head, before.get(), cancel);
                    made.push_back([self, head, map] { self->insert(head, map); });
                } else {
                    const QImage image = make_pooled(head, each.side, style, ramp, data);
                    made.push_back([self, head, image, size = QSize(each.side, each.side), style] {
                        if (style == self->style_) self->keep(head, size, image);
                    });
                }
            } catch (const Cancelled&) {
                throw;
            } catch (const std::exception&) {  // what is coarse stays; the error shows when the head itself is opened
                made.push_back([self, head] { self->failed_.insert(head); });
            }
        }
        return [made = std::move(made), busy] {
            for (const auto& keep_it : made) keep_it();
        };
    };
}

void ModelViewStore::insert(HeadId head, std::shared_ptr<const RealMap> map) {
    real_.remove_if([&](const auto& r) { return r.first == head; });
    real_.emplace_front(head, std::move(map));
    std::size_t bytes = 0;
    auto last = real_.begin();
    for (auto it = real_.begin(); it != real_.end(); ++it) {
        bytes += it->second->bytes();
        if (static_cast<std::int64_t>(bytes) > real_budget() && it != real_.begin()) break;
        last = it;
    }
    real_.erase(std::next(last), real_.end());
    report();
}

const analyze::Matrix* ModelViewStore::pattern(HeadId head) {
    if (short_text()) return &pattern_now(head);
    const auto* found = find_real(head);
    return found && (*found)->pattern.size() > 0 ? &(*found)->pattern : nullptr;
}

const analyze::Matrix& ModelViewStore::pattern_now(HeadId head) {
    if (short_text()) {
        const auto found = short_patterns_.find(head);
        if (found != short_patterns_.end()) return found->second;
        return short_patterns_.emplace(head, data_.pattern(head)).first->second;
    }
    if (const analyze::Matrix* found = pattern(head)) return *found;
    insert(head, make_real(data_.pattern(head), style_, ramp_, data_, head.layer, pooled_side));
    return real_.front().second->pattern;
}

ModelViewStore::Count ModelViewStore::count() {
    if (count_) return *count_;
    Count count;
    for (std::int64_t l = 0; l < data_.shape.grid_layers(); ++l) {
        const Mask mask = mask_of(data_, Layer{l});
        const auto legal = legal_columns(data_.axes, mask, data_.shape.rows, data_.shape.columns);
        const auto first = first_columns(data_.axes, mask.window, data_.shape.rows, data_.shape.columns);
        for (std::int64_t h = 0; h < data_.shape.grid_heads(); ++h) {
            const auto drawn = strengths(pattern_now({Layer{l}, Head{h}}), style_.transfer);
            for (Eigen::Index r = 0; r < drawn.rows(); ++r) {
                const auto begin = first.empty() ? 0 : first[static_cast<std::size_t>(r)];
                const auto seen = legal[static_cast<std::size_t>(r)] - begin;
                count.all += seen;
                count.left_out += (drawn.row(r).segment(begin, seen).array() < least_drawn).count();
            }
        }
    }
    count_ = count;
    return count;
}

}  // namespace headlight::figure
