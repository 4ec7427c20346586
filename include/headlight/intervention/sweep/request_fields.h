// SPDX-License-Identifier: GPL-3.0-or-later
// The fields of a sweep's request (base/fields.h), once for its command, session files, undo and form.
#pragma once

#include "headlight/base/fields.h"
#include "headlight/intervention/sweep/pairs.h"

#include <type_traits>

namespace headlight::intervention {

void describe(Describes<SweepRequest> auto& r, const auto& field) {
    auto& o = r.options;
    const bool one = r.pairs.empty(), patches = o.ablation == Ablation::none, noised = patches && !o.noise.empty(),
               resamples = o.ablation == Ablation::resample, of_texts = resamples || o.ablation == Ablation::mean;
    field(Field{"pairs", "Pairs",
                "pairs of texts with answers, one JSON object a line; or a task of check-tasks: ioi, greater-than, induction …"}
              .as(FieldKind::file),
          r.pairs);
    field(
        Field{"clean", "Clean text", "the text with the right answer"}.as(FieldKind::lines).when(one, "a sweep without --pairs"),
        r.clean);
    field(Field{"corrupt", "Corrupt text", "the same with what is asked about changed"}
              .as(FieldKind::lines)
              .when(one && patches && !noised, "patching one pair: without --pairs, --noise and --ablate"),
          r.corrupt);
    field(Field{"target", "Target", "encoder-decoder models: what the decoder reads; the other texts are the encoder's"}
              .or_if_empty("what the decoder reads"),
          r.target);
    field(Field{"answer", "Answer", "the right next token, with its leading space, or the class of a picture; several: repeat it"}
              .as(FieldKind::token)
              .when(one && o.metric != Metric::kl && o.metric != Metric::loss,
                    "a sweep without --pairs whose metric reads an answer"),
          r.answers);
    field(Field{"wrong", "Wrong", "the wrong one, for logit-diff"}
              .as(FieldKind::token)
              .when(one && o.metric == Metric::logit_diff, "--metric logit-diff, without --pairs"),
          r.wrong);
    field(Field{"site", "Site", "what is edited, cell by cell"}.written(), o.grid);
    field(Field{"metric", "Metric", "what is measured"}.written(), o.metric);
    field(Field{"position", "Read at", "where the answer is read: END, a token's number, a named position"}
              .called("POSITION")
              .when(o.metric != Metric::loss, "metrics other than the loss, which is that of the whole text"),
          r.position);
    field(Field{"at", "Names", "names a position of --clean: subject=\"The Eiffel Tower\", or its tokens: subject=1-4"}
              .called("NAME=PLACE")
              .when(one && uses_places(r), "--by-name, --noise or --position, without --pairs"),
          r.places);
    field(Field{"by-name", "Sweep over named positions",
                "positions are the named ones (END is one), as for pairs of unequal length"}
              .when(has_position(o.grid), "sites that have positions"),
          o.by_name);
    field(Field{"direction", "Direction", "denoise: run the corrupt text with parts of the clean run; noise: the other way round"}
              .written()
              .when(patches, "patching: an ablation has one text"),
          o.direction);
    field(Field{"ablate", "Edit", "edit the clean text alone"}, o.ablation);
    field(Field{"attention", "Attention", "encoder-decoder models: whose heads and patterns are edited"}, o.attention);
    field(Field{"effect", "Effect", "total; direct: other heads keep their outputs; both: one against the other, as a scatter"}
              .when(o.to.empty(), "a sweep without --to, whose effect is that of the path"),
          o.effect);
    field(
        Field{"to", "Through", "only the path through these queries, keys or values: L5H7.k; several: repeat it (path patching)"}
            .as(FieldKind::names)
            .called("HEAD.SITE")
            .or_if_empty("all later parts"),
        o.to);
    field(
        Field{"method", "Method", "exact; attribution: estimates from one backward pass; both: also the error of the estimates"},
        o.method);
    field(Field{"window", "Window", "layers edited at once, around each layer"}.within(1, 1000).called("W"), o.window);
    field(Field{"layers", "Layers", "only these: 0,2,5-7"}.or_if_empty("all"), o.layers);
    field(Field{"heads", "Heads", "only these: 0,2,5-7"}.or_if_empty("all").when(has_head(o.grid), "sites that have heads"),
          o.heads);
    field(Field{"noise", "Noise on",
                "causal tracing: the corrupt text is the clean one with noise on the embeddings of this named place (--at)"}
              .called("NAME")
              .or_if_empty("none: the corrupt text")
              .when(patches, "patching: an ablation has one text"),
          o.noise);
    field(Field{"noise-scale", "Scale", "standard deviation of the noise, in those of the place's embeddings"}
              .within(1e-6, 1e6)
              .called("X")
              .when(noised, "--noise"),
          o.noise_scale);
    field(Field{"noise-draws", "Draws", "how often noise is drawn, for each text"}.within(1, 1000).when(noised, "--noise"),
          o.noise_draws);
    field(Field{"over", "Texts",
                "--ablate mean, resample: texts (the files of pictures) in place of the pairs' clean ones, one a line"}
              .as(FieldKind::file)
              .or_if_empty("the clean texts")
              .when(of_texts, "--ablate mean and resample"),
          r.over);
    field(Field{"per-position", "Mean of each position",
                "--over: the mean position by position, of texts that have the length of the clean one"}
              .when(o.ablation == Ablation::mean && !r.over.empty(), "--ablate mean with --over FILE"),
          o.per_position);
    field(Field{"donors", "Donors", "texts that --ablate resample draws from, at most"}.within(1, 1000).when(resamples,
                                                                                                             "--ablate resample"),
          o.donors);
    field(Field{"draws", "Resamples", "resamples of the pairs for intervals"}
              .within(100, 1'000'000)
              .when(!one || noised, "several pairs: one has no interval"),
          o.bootstrap.draws);
    field(Field{"seed", "Seed", "of noise, donors and resamples"}
              .within(0, 2'147'483'647)
              .called("S")
              .when(!one || noised || resamples, "what is drawn: --pairs, --noise and --ablate resample"),
          o.bootstrap.seed);
}

}  // namespace headlight::intervention
