// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "figure/core/axis_words.h"
#include "figure/pattern/model/model_view_layout.h"
#include "figure/pattern/model/model_view_raster.h"
#include "headlight/base/memory_account.h"
#include "headlight/figure/core/figure.h"

#include <QElapsedTimer>

#include <atomic>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <set>

namespace headlight::figure {

/// What the model view shows, without a model behind it: filled from a trace by model_view(), by hand in tests.
struct ModelViewData {
    ModelShape shape;
    analyze::PatternAxes axes;
    AxisWords words;
    QString attention;  ///< which one of an encoder-decoder model
    bool causal = true;
    std::vector<std::int64_t> windows;  ///< [layer] how far a query sees, 0: no limit; empty: none has one
    std::vector<QString> labels;        ///< [layer] what sets it apart where layers differ: "local 512"; empty: nothing
    QString together;                   ///< "mean" or "max", with shape.together
    std::map<HeadId, QString> names;    ///< of the cells that put heads together: "mean of 8 heads of layer 3"
    QString name_of(HeadId) const;
    QString weight_name;  ///< what a weight is, where it is not the plain softmax weight
    /// [rows, columns]; may be called from another thread.
    std::function<analyze::Matrix(HeadId)> pattern;
    std::function<analyze::PooledMap(HeadId)> pooled;
    bool pooled_at_hand = true;  ///< false: pooled() runs the whole pattern, so it is called beside painting
    /// At most so many cells a side, of texts whose patterns are too large to be held; called from another thread. Empty: there
    /// are none, and pooled() has to do.
    std::function<analyze::PooledMap(HeadId, std::int64_t side)> finer;
};

/// Everything that the pixels of a thumbnail depend on beside its head and size.
struct PixelStyle {
    const Theme* theme = nullptr;
    Ramp ramp = Ramp::ink;
    HeadPalette palette = HeadPalette::category10;
    Transfer transfer;
    bool mean = false;
    bool operator==(const PixelStyle&) const = default;
};

/// A pattern at its full size, with pictures of it at full and at halved sizes down to 128. Of a text that is too long for that
/// the first picture is of cells that cover several pairs.
struct RealMap {
    PixelStyle style;
    analyze::Matrix pattern;  ///< empty where cells cover several pairs
    std::vector<QImage> levels;
    std::size_t bytes() const;
};

/// The pixels of the model view, made once and drawn at every zoom and pan. Shared by figures of the same data. For the
/// thread that paints; what takes longer than a frame is left to sharpening().
class ModelViewStore : public std::enable_shared_from_this<ModelViewStore> {
public:
    explicit ModelViewStore(ModelViewData);
    /// Makes the patterns of a view of lines now, so that painting does not.
    void prepare(const CancelToken&);
    const ModelViewData& data() const { return data_; }
    /// Of a cell's lines.
    QColor color(HeadId) const;

    /// Begins a frame: forgets pixels of another style, and starts the clock of what may be made in it.
    /// `patient`: make everything at full quality in this frame (exports).
    void begin(const PixelStyle&, bool patient);
    /// Something coarser than wanted was handed out: paint again soon.
    bool refining() const { return refining_; }
    /// Makes what the last frame wanted, as much as fits some 50 ms but at least one map. Empty while another one is at work.
    Sharpening sharpening();

    /// Lines of a head as an image of `size` px; a coarser one when the frame's time is up.
    const QImage* lines(HeadId, QSize size, double line_width);
    /// The pooled map whose side is the smallest of at least `side` px, else a coarser one; null: there is none yet.
    const QImage* map(HeadId, int side);
    /// The full pattern with its pictures; null until it is there.
    std::shared_ptr<const RealMap> real(HeadId);
    /// How many heads' full patterns are kept at once; asking for more in a frame would never settle. 0: there are none.
    std::int64_t real_capacity() const;
    /// The full pattern if it is at hand: always for short texts, else when real() has brought it.
    const analyze::Matrix* pattern(HeadId);
    /// The full pattern of a head, waited for.
    const analyze::Matrix& pattern_now(HeadId);

    /// Of all pairs of all heads: how many there are, and how many are too faint to be drawn. For short texts.
    struct Count {
        std::int64_t all = 0, left_out = 0;
    };
    Count count();
    /// Cells a side of the pooled map at this level of detail, and of the largest one.
    int map_side(int wanted) const;
    int full_side() const;

private:
    static constexpr int pooled_side = 128;
    struct Picture {
        QSize size;
        QImage image;
    };
    const QImage* keep(HeadId, QSize, QImage);
    const Picture* best(HeadId, QSize) const;
    bool time_left() const { return patient_ || clock_.nsecsElapsed() < 7'000'000; }
    /// A pooled map of a side, or the full pattern (side 0).
    struct Wanted {
        HeadId head;
        int side = 0;
    };
    const std::shared_ptr<const RealMap>* find_real(HeadId) const;
    std::int64_t whole_bytes() const;
    bool holds_whole() const;
    using MakeReal = std::function<std::shared_ptr<const RealMap>(HeadId, const RealMap* before, const CancelToken&)>;
    MakeReal real_maker() const;
    bool short_text() const { return data_.shape.lines || std::max(data_.shape.rows, data_.shape.columns) <= pooled_side; }
    void insert(HeadId, std::shared_ptr<const RealMap>);
    void drop_pictures();
    void report();

    ModelViewData data_;
    PixelStyle style_;
    std::array<QRgb, 256> ramp_{};
    bool patient_ = false, refining_ = false;
    QElapsedTimer clock_;
    std::map<HeadId, std::vector<Picture>> pictures_;
    std::size_t picture_bytes_ = 0;
    std::map<HeadId, analyze::Matrix> short_patterns_;
    std::optional<Count> count_;
    std::list<std::pair<HeadId, std::shared_ptr<const RealMap>>> real_;  ///< last used first
    std::set<HeadId> failed_;
    std::vector<Wanted> wanted_;          ///< by the last frame
    std::weak_ptr<const void> busy_;      ///< held by the sharpening that is at work
    std::atomic<bool> gives_up_ = false;  ///< the next frame begins without pictures: only the thread that paints touches them
    MemoryAccount account_{MemoryUse::pictures, [this](std::int64_t) {
                               gives_up_ = true;
                               return account_.bytes();
                           }};
};

}  // namespace headlight::figure
