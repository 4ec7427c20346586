// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/pattern/model/model_view_store.h"

#include "figure/core/draw.h"

#include <algorithm>
#include <chrono>

namespace headlight::figure {
namespace {

constexpr std::size_t picture_budget = 192U << 20, real_budget = 320U << 20;
constexpr int pooled_side = 128;

Mask mask_of(const ModelViewData& data, Layer layer) {
    return {data.causal, data.windows.empty() ? 0 : data.windows[static_cast<std::size_t>(layer.value)]};
}

QImage picture(const analyze::Matrix& level, const PixelStyle& style, const std::array<QRgb, 256>& ramp,
               const ModelViewData& data, Layer layer) {
    const Mask mask = mask_of(data, layer);
    return map_image(strengths(level, style.transfer), ramp, legal_columns(data.axes, mask, level.rows(), level.cols()),
                     first_columns(data.axes, mask.window, level.rows(), level.cols()));
}

std::shared_ptr<const RealMap> make_real(analyze::Matrix pattern, const PixelStyle& style, const std::array<QRgb, 256>& ramp,
                                         const ModelViewData& data, Layer layer) {
    auto map = std::make_shared<RealMap>();
    map->style = style;
    map->pattern = std::move(pattern);
    analyze::Matrix level = map->pattern;
    while (true) {
        map->levels.push_back(picture(level, style, ramp, data, layer));
        if (std::max(level.rows(), level.cols()) <= 2 * pooled_side) break;
        level = halved(level, style.mean);
    }
    return map;
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

ModelViewStore::~ModelViewStore() {
    if (job_.valid()) job_.wait();
}

void ModelViewStore::begin(const PixelStyle& style, bool patient) {
    clock_.start();
    patient_ = patient;
    refining_ = false;
    if (!(style == style_)) {
        const bool recount = !(style.transfer == style_.transfer);
        style_ = style;
        ramp_ = draw::ramp_table(style.ramp, *style.theme);
        pictures_.clear();
        picture_bytes_ = 0;
        if (recount) count_.reset();
    }
    collect();
}

const ModelViewStore::Picture* ModelViewStore::best(HeadId head, QSize size) const {
    const auto found = pictures_.find(head);
    if (found == pictures_.end() || found->second.empty()) return nullptr;
    const auto& all = found->second;
    const auto exact = std::find_if(all.begin(), all.end(), [&](const Picture& p) { return p.size == size; });
    if (exact != all.end()) return &*exact;
    return &*std::max_element(all.begin(), all.end(),
                              [](const Picture& a, const Picture& b) { return a.size.width() < b.size.width(); });
}

const QImage* ModelViewStore::keep(HeadId head, QSize size, QImage image) {
    if (picture_bytes_ > picture_budget) {
        pictures_.clear();
        picture_bytes_ = 0;
    }
    picture_bytes_ += static_cast<std::size_t>(image.sizeInBytes());
    return &pictures_[head].emplace_back(Picture{size, std::move(image)}).image;
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
    if (!time_left() && (have || !data_.pooled_at_hand)) {
        refining_ = true;
        return have ? &have->image : nullptr;
    }
    auto pooled = data_.pooled(head);
    analyze::Matrix level = std::move(style_.mean ? pooled.mean : pooled.max);
    while (std::max(level.rows(), level.cols()) > side) level = halved(level, style_.mean);
    return keep(head, size, picture(level, style_, ramp_, data_, head.layer));
}

std::int64_t ModelViewStore::real_capacity() const {
    // A float and a pixel a pair, and a third more for the halved pictures.
    const double bytes = double(data_.shape.rows) * double(data_.shape.columns) * (4 + 4 * 4.0 / 3);
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(double(real_budget) / std::max(1.0, bytes)));
}

std::shared_ptr<const RealMap> ModelViewStore::real(HeadId head) {
    const auto found = std::find_if(real_.begin(), real_.end(), [&](const auto& r) { return r.first == head; });
    if (found != real_.end()) {
        real_.splice(real_.begin(), real_, found);
        if (found->second->style == style_) return found->second;
    }
    if (failed_.contains(head)) return nullptr;
    if (patient_) {
        auto map =
            make_real(found != real_.end() ? found->second->pattern : data_.pattern(head), style_, ramp_, data_, head.layer);
        insert(head, map);
        return map;
    }
    start(head);
    refining_ = true;
    return nullptr;
}

void ModelViewStore::start(HeadId head) {
    if (job_.valid()) return;
    const auto found = std::find_if(real_.begin(), real_.end(), [&](const auto& r) { return r.first == head; });
    std::shared_ptr<const RealMap> before = found != real_.end() ? found->second : nullptr;
    under_way_ = head;
    job_ = std::async(std::launch::async, [this, head, before, style = style_, ramp = ramp_] {
        return make_real(before ? before->pattern : data_.pattern(head), style, ramp, data_, head.layer);
    });
}

void ModelViewStore::collect() {
    if (!job_.valid()) return;
    if (job_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
        refining_ = true;
        return;
    }
    try {
        insert(*under_way_, job_.get());
    } catch (const std::exception&) {
        failed_.insert(*under_way_);  // the pooled picture stays; the error shows when the head itself is opened
    }
    under_way_.reset();
}

void ModelViewStore::insert(HeadId head, std::shared_ptr<const RealMap> map) {
    real_.remove_if([&](const auto& r) { return r.first == head; });
    real_.emplace_front(head, std::move(map));
    std::size_t bytes = 0;
    auto last = real_.begin();
    for (auto it = real_.begin(); it != real_.end(); ++it) {
        bytes += it->second->bytes();
        if (bytes > real_budget && it != real_.begin()) break;
        last = it;
    }
    real_.erase(std::next(last), real_.end());
}

const analyze::Matrix* ModelViewStore::pattern(HeadId head) {
    if (data_.shape.lines || std::max(data_.shape.rows, data_.shape.columns) <= pooled_side) return &pattern_now(head);
    const auto found = std::find_if(real_.begin(), real_.end(), [&](const auto& r) { return r.first == head; });
    return found == real_.end() ? nullptr : &found->second->pattern;
}

const analyze::Matrix& ModelViewStore::pattern_now(HeadId head) {
    if (data_.shape.lines || std::max(data_.shape.rows, data_.shape.columns) <= pooled_side) {
        const auto found = short_patterns_.find(head);
        if (found != short_patterns_.end()) return found->second;
        return short_patterns_.emplace(head, data_.pattern(head)).first->second;
    }
    const auto found = std::find_if(real_.begin(), real_.end(), [&](const auto& r) { return r.first == head; });
    if (found != real_.end()) return found->second->pattern;
    insert(head, make_real(data_.pattern(head), style_, ramp_, data_, head.layer));
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
