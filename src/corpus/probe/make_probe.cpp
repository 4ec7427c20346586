// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/corpus/probe/make_probe.h"

#include "headlight/corpus/probe/arc_run.h"
#include "headlight/corpus/probe/mix_run.h"
#include "headlight/corpus/probe/probe.h"
#include "headlight/corpus/probe/structural_run.h"

namespace headlight::corpus {

void make_probe(ProbeKind kind, const std::string& labels, const StatesOptions& source, const CancelToken& cancel,
                const Progress& progress) {
    const Manifest manifest = read_manifest(source.store);
    const auto read = [&] {
        TextStore texts(source.store, manifest);
        return read_labels(texts, labels, cancel);
    };
    switch (kind) {
        case ProbeKind::linear:
            write_probe(source.store, manifest, run_probe(manifest, source, read(), {}, cancel, progress));
            break;
        case ProbeKind::mix:
        case ProbeKind::edge:
            write_layer_mix(
                source.store, manifest,
                run_layer_mix(manifest, source, read(), {.kind = kind, .fit = {}, .bootstrap = {}}, cancel, progress));
            break;
        case ProbeKind::structural:
            write_structural(source.store, manifest, run_structural(manifest, source, {}, cancel, progress));
            break;
        case ProbeKind::attention: write_arcs(source.store, manifest, run_arcs(manifest, source, {}, cancel, progress)); break;
    }
}

}  // namespace headlight::corpus
