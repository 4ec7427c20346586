// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/base/job.h"

namespace headlight::cli {

/// The token that interruptible() gives, whether or not a command has asked for it yet.
CancelToken interrupt_token();

}  // namespace headlight::cli
