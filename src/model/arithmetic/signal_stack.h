// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

namespace headlight::model {

/// Gives this thread, and the threads that it computes with, a stack of their own for signal handlers (sigaltstack). oneDNN's
/// AVX-512 kernels point the stack register at a workspace on the heap while they run: a handler without SA_ONSTACK would write
/// its frame into whatever lies before that workspace. Costs a check of a thread-local flag after the first call.
void have_signal_stack();

}  // namespace headlight::model
