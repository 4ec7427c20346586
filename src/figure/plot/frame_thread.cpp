// SPDX-License-Identifier: GPL-3.0-or-later
// Frames for workers: the widget that draws one is made in the application's thread.
#include "figure/plot/frame.h"
#include "headlight/base/error.h"

#include <QCoreApplication>
#include <QThread>

#include <chrono>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>

namespace headlight::figure::plot {

namespace {

/// A frame that a worker waits for and the window's thread makes.
struct Order {
    std::mutex lock;
    std::condition_variable changed;
    bool taken = false, abandoned = false, ready = false;
    Frame frame;
    std::exception_ptr failure;
};

constexpr std::chrono::seconds patience{10};

}  // namespace

Frame make_frame(const PlotData& data, const QRectF& room, const Style& style) {
    QCoreApplication* application = QCoreApplication::instance();
    if (!application || QThread::currentThread() == application->thread()) return build_frame(data, room, style);
    // Exports are laid out by workers, but a widget may be made in one thread only.
    const auto order = std::make_shared<Order>();
    const auto fill = [order, &data, room, &style] {
        {
            const std::lock_guard guard(order->lock);
            if (order->abandoned) return;  // data and style are gone
            order->taken = true;
        }
        try {
            order->frame = build_frame(data, room, style);
        } catch (...) {
            order->failure = std::current_exception();
        }
        const std::lock_guard guard(order->lock);
        order->ready = true;
        order->changed.notify_all();
    };
    QMetaObject::invokeMethod(application, fill, Qt::QueuedConnection);
    std::unique_lock guard(order->lock);
    // The window's thread does not come while it waits for this very worker to end.
    if (!order->changed.wait_for(guard, patience, [&] { return order->ready; }) && !order->taken) {
        order->abandoned = true;
        throw Error("the plot could not be laid out: the window does not answer");
    }
    order->changed.wait(guard, [&] { return order->ready; });
    if (order->failure) std::rethrow_exception(order->failure);
    return std::move(order->frame);
}

}  // namespace headlight::figure::plot
