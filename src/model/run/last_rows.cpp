// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/run/last_rows.h"

#include "model/run/steps.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>

namespace headlight::model {

bool rows_stay(const ModelConfig& c, std::int64_t tokens, std::int64_t others) {
    return c.causal && c.stack == Stack::whole && !reads_pictures(c) && c.type_vocab_size == 0 && c.position_pad_id < 0 &&
           rotation_stays(c, std::min(tokens, others), std::max(tokens, others));
}

void forward_last_rows(const Model& model, const ForwardInput& text, const EarlierRows& earlier, Observer& observer,
                       const CancelToken& cancel, const Progress& progress) {
    at::internal::lazy_init_num_threads();
    const at::NoGradGuard no_grad;
    const ForwardInput last{.ids = {text.ids.begin() + earlier.rows, text.ids.end()}, .type_ids = {}};
    Pass pass = start_pass(model.internals(), last, observer, nullptr, &earlier);
    pass.cancel = cancel;
    run_pass(pass, false, progress);
}

}  // namespace headlight::model
