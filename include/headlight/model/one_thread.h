// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

namespace headlight::model {

/// While one lives, this thread computes its products alone: for loops that are parallel themselves, since a product's last
/// bits depend on the number of threads.
class OneThread {
public:
    OneThread();
    ~OneThread();
    OneThread(const OneThread&) = delete;
    OneThread& operator=(const OneThread&) = delete;

private:
    int before_ = 1;
};

}  // namespace headlight::model
