# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes tests/golden/analyze/*.json: what the analyses must find, from Hugging Face transformers and NumPy alone.

    python tests/golden/make_analyze_golden.py [REPOSITORY]

For the built-in model and every folder in tests/fixtures/models: the chain behind chosen pairs, one query of the neuron
view, prepared maps, and every measure of every head. Everything is computed in float64 from q, k, v and the patterns
that the reference implementation uses (eager attention). Definitions: docs/measures.md and the headers of
include/headlight/analyze.
"""
import json
import sys
import unicodedata
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer
from transformers import AutoConfig, AutoModel, AutoModelForCausalLM

BUILT_IN = "models/novella-7m"
TEXTS = {
    "doctor": ("The old doctor asked the nurse to wait, because the old doctor was late.", None),
    "words": ("Unfashionably, Mr. Brocklehurst mistrusted handkerchiefs; handkerchiefs mistrusted him.", None),
    "tiny": ("The cats asked; the cat asked.", None),
    "pair": ("The cats asked.", "The old cat waited."),
    "one": ("a", None),
    "marks": (".,. , !? ,", None),
}
MAPS_OF = ("novella-7m", "bert", "bloom-h6", "llama-kv2")  # the others would repeat the same arithmetic


class Run:
    """Everything of one forward pass as float64 NumPy arrays; per layer: q, k, v, raw_q, raw_k [head, token, d_head],
    pattern [head, query, key], resid_pre [token, d_model], w_o [head, d_head, d_model]."""

    def __init__(self, model, config, inputs):
        self.kept, hooks = {}, []

        def keep(name):
            return lambda module, args, output: self.kept.__setitem__(name, output[0] if isinstance(output, tuple) else output)

        def keep_input(name):
            def hook(module, args, kwargs):
                self.kept[name] = args[0] if args else kwargs["hidden_states"]
            return hook

        self.family = config.model_type
        body = getattr(model, "transformer", None) or getattr(model, "bert", None) or getattr(model, "model", None) or model
        self.blocks = {"bloom": lambda: body.h, "gpt2": lambda: body.h, "bert": lambda: body.encoder.layer,
                       "llama": lambda: body.layers}[self.family]()
        for l, block in enumerate(self.blocks):
            hooks.append(block.register_forward_pre_hook(keep_input(f"pre{l}"), with_kwargs=True))
            for name, module in self.projections(block).items():
                hooks.append(module.register_forward_hook(keep(f"{name}{l}")))
        if self.family == "llama":
            hooks.append(body.rotary_emb.register_forward_hook(
                lambda module, args, output: self.kept.__setitem__("rotary", output)))
        norm = {"bloom": "ln_f", "gpt2": "ln_f", "llama": "norm"}.get(self.family)
        if norm:
            hooks.append(getattr(body, norm).register_forward_pre_hook(keep_input("final"), with_kwargs=True))
        with torch.no_grad():
            output = model(**inputs, output_attentions=True)
        for hook in hooks:
            hook.remove()

        heads = config.num_attention_heads if self.family != "bloom" else config.n_head
        kv_heads = getattr(config, "num_key_value_heads", None) or heads
        width = config.hidden_size
        d_head = getattr(config, "head_dim", None) or width // heads
        self.heads, self.group, self.d_head = heads, heads // kv_heads, d_head
        self.scale = d_head ** -0.5 if getattr(config, "scale_attn_weights", True) else 1.0
        self.causal = self.family != "bert"
        self.layers = [self.layer(l, output.attentions[l][0], kv_heads) for l in range(len(self.blocks))]
        self.tokens = inputs["input_ids"].shape[1]
        self.read_out(model, body, config, norm)

    def projections(self, block):
        if self.family == "bloom":
            return {"qkv": block.self_attention.query_key_value}
        if self.family == "gpt2":
            return {"qkv": block.attn.c_attn}
        if self.family == "bert":
            own = block.attention.self
            return {"q": own.query, "k": own.key, "v": own.value}
        return {"q": block.self_attn.q_proj, "k": block.self_attn.k_proj, "v": block.self_attn.v_proj}

    def layer(self, l, pattern, kv_heads):
        def split(x, n):
            return x.reshape(-1, n, self.d_head).transpose(1, 0, 2)

        block, out = self.blocks[l], {}
        if self.family == "bloom":
            fused = array(self.kept[f"qkv{l}"])[0].reshape(-1, self.heads, 3, self.d_head)
            q, k, v = (fused[:, :, part].transpose(1, 0, 2) for part in range(3))
            w_o = array(block.self_attention.dense.weight).T
        elif self.family == "gpt2":
            q, k, v = (split(x, self.heads) for x in np.split(array(self.kept[f"qkv{l}"])[0], 3, axis=-1))
            w_o = array(block.attn.c_proj.weight)
        else:
            q = split(array(self.kept[f"q{l}"])[0], self.heads)
            k = split(array(self.kept[f"k{l}"])[0], kv_heads)
            v = split(array(self.kept[f"v{l}"])[0], kv_heads)
            dense = block.attention.output.dense if self.family == "bert" else block.self_attn.o_proj
            w_o = array(dense.weight).T
        out["raw_q"], out["raw_k"] = q, k
        if self.family == "llama":
            cos, sin = (array(x)[0] for x in self.kept["rotary"])
            q, k = rotate(q, cos, sin), rotate(k, cos, sin)
        for name, x in (("k", k), ("v", v), ("raw_k", out["raw_k"])):
            out[name] = np.repeat(x, self.group if x.shape[0] == kv_heads else 1, axis=0)
        out.update(q=q, pattern=array(pattern), resid_pre=array(self.kept[f"pre{l}"])[0],
                   w_o=w_o.reshape(self.heads, self.d_head, -1))
        return out

    def read_out(self, model, body, config, norm):
        self.w_u = None
        if not (norm and getattr(model, "lm_head", None)):
            return
        self.w_u = array(model.lm_head.weight).T
        self.gain = array(getattr(body, norm).weight)
        final = array(self.kept["final"])[0]
        self.centred = self.family != "llama"
        eps = getattr(config, "layer_norm_epsilon", None) or getattr(config, "rms_norm_eps", None)
        spread = final.var(-1) if self.centred else (final ** 2).mean(-1)
        self.sigma = np.sqrt(spread + eps)

    def position(self, head, i, j):
        if self.family != "bloom":
            return None
        n = 2 ** int(np.floor(np.log2(self.heads)))
        slopes = [2.0 ** (-8.0 * (r + 1) / n) for r in range(n)] + [2.0 ** (-4.0 * (2 * r + 1) / n) for r in range(n)]
        return -slopes[head] * (i - j)

    def effects(self, update, i):
        if self.centred:
            update = update - update.mean()
        return (update / self.sigma[i] * self.gain) @ self.w_u


def array(x):
    return x.detach().to(torch.float64).numpy()


def rotate(x, cos, sin):
    half = x.shape[-1] // 2
    turned = np.concatenate([-x[..., half:], x[..., :half]], -1)
    return x * cos + turned * sin


def extremes(effects, n=5):
    order = np.argsort(effects, kind="stable")
    return [[int(t), effects[t]] for t in order[::-1][:n]], [[int(t), effects[t]] for t in order[:n]]


def chain(run, l, h, i, j):
    data = run.layers[l]
    row, q, k, v, w_o = data["pattern"][h, i], data["q"][h, i], data["k"][h, j], data["v"][h], data["w_o"][h]
    content, position = run.scale * (q @ k), run.position(h, i, j)
    if run.family == "llama":
        rotated, content = content, run.scale * (data["raw_q"][h, i] @ data["raw_k"][h, j])
        position = rotated - content
    score = content + (position or 0)
    legal = i + 1 if run.causal else run.tokens
    update, stream = row @ v @ w_o, data["resid_pre"][i]
    out = dict(layer=l, head=h, query=i, key=j, weight=row[j], rank=1 + int((row[:legal] > row[j]).sum()), of=legal,
               qk=q @ k, content=content, position=position, score=score,
               raw_value_norm=np.linalg.norm(v[j]), value_norm=np.linalg.norm(v[j] @ w_o),
               weighted_value_norm=row[j] * np.linalg.norm(v[j] @ w_o),
               update_ratio=np.linalg.norm(update) / np.linalg.norm(stream),
               update_cosine=update @ stream / np.linalg.norm(update) / np.linalg.norm(stream))
    if run.w_u is not None:
        out["promoted"], out["suppressed"] = extremes(run.effects(update, i))
        out["pair_promoted"], out["pair_suppressed"] = extremes(run.effects(row[j] * (v[j] @ w_o), i))
    return out


def neuron(run, l, h, i):
    data = run.layers[l]
    keys = range(i + 1 if run.causal else run.tokens)
    dots = [run.scale * (data["q"][h, i] @ data["k"][h, j]) for j in keys]
    return dict(layer=l, head=h, query=i, q=data["q"][h, i], dot=dots,
                score=[d + (run.position(h, i, j) or 0) for j, d in zip(keys, dots)], weight=data["pattern"][h, i],
                value_norm=np.linalg.norm(data["v"][h] @ data["w_o"][h], axis=-1))


def excesses(run, p, pairs, by_distance):
    """Of every query that has a pair which counts: its summed excess (docs/measures.md, Evidence for a kind of head)."""
    n, first, sums = run.tokens, 1 if run.causal else 0, []
    for i in range(n):
        of_query = []
        for j in np.flatnonzero(pairs[i] & (np.arange(n) <= (i if run.causal else n))):
            to_key = [p[k, j] for k in range(first, n) if k != j and not pairs[k, j] and (j <= k or not run.causal)]
            as_far = [p[k, k - (i - j)] for k in range(first, n) if k >= i - j and not pairs[k, k - (i - j)]]
            if to_key and (as_far or not by_distance):
                of_query.append(p[i, j] - np.mean(to_key) - (np.mean(as_far) if by_distance else 0))
        if of_query:
            sums.append(np.sum(of_query))
    return sums


def measures(run, ids, special, texts, sentences, with_first_row=False):
    """{measure: [layer, head]}; row 0 of causal models is left out unless asked for. texts: each token as written; sentences:
    0, 1 or, of special tokens, None."""
    n, first = run.tokens, 1 if run.causal and not with_first_row else 0
    rows, keys = np.arange(first, n), np.arange(n)
    legal = keys + 1 if run.causal else np.full(n, n)  # keys that each query may look at
    copies = (ids[None, :] == ids[:, None]) & (keys[None, :] < keys[:, None])  # [query, earlier position]
    behind = np.zeros_like(copies)
    behind[:, 1:] = copies[:, :-1]
    repeats = [i for i in rows if copies[i].any()]
    clark = np.array([t in (".", ",") for t in texts]) & ~special
    marks = np.array([bool(t) and all(unicodedata.category(c)[0] == "P" for c in t) for t in texts]) & ~special
    framed = not run.causal and special[0]
    separators = special.copy()
    separators[0] = separators[0] and not framed
    sep_rows = [i for i in rows if separators[i]]
    other_rows = [i for i in rows if not separators[i]]
    separated = not run.causal and separators.any()
    sought = {"induction_excess": behind & ~special[:, None], "duplicate_excess": copies & ~special[:, None],
              "previous_excess": keys[:, None] - 1 == keys[None, :]}
    of = np.array([-1 if s is None else s for s in sentences])
    other = (of[:, None] >= 0) & (of[None, :] == 1 - of[:, None]) & (keys[None, :] < legal[:, None])  # [query, key]
    table = {}

    def put(name, l, h, values):
        table.setdefault(name, np.full((len(run.layers), run.heads), np.nan))
        table[name][l, h] = np.mean(values) if len(values) else np.nan

    for l, data in enumerate(run.layers):
        for h in range(run.heads):
            p = data["pattern"][h]
            ordered = np.sort(p, axis=-1)[:, ::-1]
            safe = np.where(p > 0, p, 1)
            smooth = np.where(keys[None, :] < legal[:, None], 0.9999 * p + 0.0001 / legal[:, None], 1)
            smooth_entropy = -(smooth * np.log(smooth)).sum(-1)
            put("entropy", l, h, -(p * np.log(safe)).sum(-1)[rows])
            put("entropy_smoothed", l, h, smooth_entropy[rows])
            put("entropy_uniform", l, h, np.log(legal)[rows])
            put("mean_distance", l, h, (p * np.abs(keys[:, None] - keys[None, :])).sum(-1)[rows])
            put("share_self", l, h, np.diag(p)[rows])
            put("share_previous", l, h, [p[i, i - 1] if i else 0 for i in rows] if n > 1 else [])
            put("share_next", l, h, [p[i, i + 1] if i + 1 < n else 0 for i in rows] if n > 1 else [])
            put("share_first", l, h, p[rows, 0])
            put("share_special", l, h, p[:, special].sum(-1)[rows])
            put("share_punctuation", l, h, p[:, clark].sum(-1)[rows])
            put("share_any_punctuation", l, h, p[:, marks].sum(-1)[rows])
            put("share_same_token", l, h, (p * copies).sum(-1)[rows])
            put("top1_minus_top2", l, h, [ordered[i, 0] - ordered[i, 1] for i in rows if legal[i] > 1])
            put("argmax_self", l, h, p.argmax(-1)[rows] == rows)
            put("argmax_first", l, h, p.argmax(-1)[rows] == 0)
            put("variability", l, h, [])
            if 1 in of:
                put("share_other_sentence", l, h, [p[i, other[i]].sum() for i in rows if other[i].any()])
            update, stream, z = p @ data["v"][h] @ data["w_o"][h], data["resid_pre"], p @ data["v"][h]
            sizes = np.linalg.norm(update, axis=-1), np.linalg.norm(stream, axis=-1)
            put("update_magnitude", l, h, (sizes[0] / sizes[1])[rows])
            put("update_orientation", l, h, ((update * stream).sum(-1) / sizes[0] / sizes[1])[rows])
            put("update_inner", l, h, (np.linalg.norm(z, axis=-1) / sizes[1])[rows])
            written = np.linalg.norm(data["v"][h] @ data["w_o"][h], axis=-1)
            weighted = p * written
            shares = weighted / weighted.sum(-1, keepdims=True)
            put("vw_share_first", l, h, shares[rows, 0])
            put("vw_share_self", l, h, np.diag(shares)[rows])
            put("vw_share_special", l, h, shares[:, special].sum(-1)[rows])
            put("value_norm", l, h, written)
            put("weighted_value_norm", l, h, weighted.sum(-1)[rows])
            put("induction", l, h, [p[i, behind[i]].sum() for i in repeats])
            put("previous_token", l, h, [p[i, i - 1] for i in rows if i])
            put("duplicate_token", l, h, [p[i, copies[i]].sum() for i in repeats])
            put("max_weight", l, h, [p[1:].max()] if n > 1 else [])
            for name, pairs in sought.items():
                put(name, l, h, excesses(run, p, pairs, name != "previous_excess"))
            put("share_cls", l, h, p[rows, 0] if framed else [])
            put("entropy_cls", l, h, smooth_entropy[:1] if framed else [])
            put("share_sep", l, h, p[:, separators].sum(-1)[rows] if separated else [])
            put("sep_to_sep", l, h, p[:, separators].sum(-1)[sep_rows] if separated else [])
            put("other_to_sep", l, h, p[:, separators].sum(-1)[other_rows] if separated else [])
    return table


def averages(runs, tables, with_first_row):
    """Means over texts of {measure: [layer, head]}, and Vig & Belinkov's variability over the first ten tokens,
    without attention to the first one."""
    out = {}
    for name in tables[0]:
        values = np.stack([t[name] for t in tables])
        counts = (~np.isnan(values)).sum(0)
        out[name] = np.where(counts > 0, np.nansum(values, 0) / np.maximum(counts, 1), np.nan)
    for l in range(len(runs[0].layers)):
        for h in range(runs[0].heads):
            differences = total = 0.0
            for i in range(10):
                for j in range(1, i + 1 if runs[0].causal else 10):
                    a = np.array([r.layers[l]["pattern"][h][i, j] for r in runs if r.tokens > max(i, j)])
                    if len(a) > 1:
                        differences, total = differences + np.abs(a - a.mean()).sum(), total + a.sum()
            out["variability"][l, h] = differences / (2 * total) if total else np.nan
    return out


def probe(model, tokenizer, n=20, batch=2, seed=4):
    """The random-token probe, drawn with SplitMix64 as analyze/induction_probe.h says."""
    state, low = seed, (1 << 64) - 1

    def uniform():
        nonlocal state
        state = (state + 0x9E3779B97F4A7C15) & low
        z = ((state ^ state >> 30) * 0xBF58476D1CE4E5B9) & low
        z = ((z ^ z >> 27) * 0x94D049BB133111EB) & low
        return ((z ^ z >> 31) >> 11) / 2 ** 53

    special = {i for i, t in tokenizer.get_added_tokens_decoder().items() if t.special}
    first = len(tokenizer.encode("").ids)  # <s>
    scores, all_ids = {"induction": 0, "previous": 0, "duplicate": 0}, []
    for _ in range(batch):
        ids = [i for i in range(tokenizer.get_vocab_size()) if i not in special]
        for i in range(n):
            j = i + int(uniform() * (len(ids) - i))
            ids[i], ids[j] = ids[j], ids[i]
        all_ids.append(ids[:n])
        tokens = tokenizer.encode("").ids + ids[:n] * 2
        with torch.no_grad():
            a = np.stack([array(x)[0] for x in model(torch.tensor([tokens]), output_attentions=True).attentions])
        second, both = np.arange(first + n, first + 2 * n), np.arange(max(1, first), first + 2 * n)
        for name, queries, back in (("induction", second, n - 1), ("previous", both, 1), ("duplicate", second, n)):
            scores[name] = scores[name] + a[:, :, queries, queries - back].mean(-1) / batch
    return dict(n=n, batch=batch, seed=seed, ids=all_ids, **scores)


def maps(run, l, h, special, words, pair_start):
    p, data = run.layers[l]["pattern"][h], run.layers[l]
    raw = np.linalg.norm(data["v"][h], axis=-1)
    written = np.linalg.norm(data["v"][h] @ data["w_o"][h], axis=-1)

    def normalised(x):
        sums = x.sum(-1, keepdims=True)
        return np.divide(x, sums, out=np.zeros_like(x), where=sums != 0)

    def merged(x):
        groups = []
        for t in range(run.tokens):
            same = t and words[t] >= 0 and words[t] == words[t - 1] and t != pair_start
            groups[-1].append(t) if same else groups.append([t])
        columns = np.stack([x[:, g].sum(-1) for g in groups], -1)
        return np.stack([columns[g].mean(0) for g in groups])

    keep = ~np.array(special)
    hidden = p.copy()
    hidden[:, ~keep] = 0
    hidden[:, 0] = 0
    shown = keep & (np.arange(run.tokens) != 0)
    a = slice(0, pair_start)
    b = slice(pair_start, run.tokens)
    return dict(plain=p, merge_words=merged(p), hide=normalised(hidden)[keep][:, shown], hide_only=hidden[keep][:, shown],
                value_norm=normalised(p * raw), output_norm=normalised(p * written),
                merge_output_norm=merged(normalised(p * written)), a_to_b=p[a, b], b_to_a=p[b, a], b_to_b=p[b, b])


def rounded(x):
    if isinstance(x, dict):
        return {k: rounded(v) for k, v in x.items()}
    if isinstance(x, (list, tuple)):
        return [rounded(v) for v in x]
    if isinstance(x, np.ndarray):
        return rounded(x.tolist())
    if isinstance(x, (float, np.floating)):
        return None if np.isnan(x) else round(float(f"{x:.7g}"), 7)
    return int(x) if isinstance(x, np.integer) else x


def golden(folder, name):
    config = AutoConfig.from_pretrained(folder)
    kind = AutoModel if config.model_type == "bert" else AutoModelForCausalLM
    model = kind.from_pretrained(folder, attn_implementation="eager", dtype=torch.float64).eval()
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    built_in = name == Path(BUILT_IN).name
    wanted = {"doctor": built_in, "words": built_in, "tiny": not built_in, "pair": config.model_type == "bert",
              "marks": built_in or name == "bert"}
    cases, runs = {}, []
    for case, (text, pair) in TEXTS.items():
        if not wanted.get(case, True):
            continue
        encoded = tokenizer.encode(text, pair)
        ids = np.array(encoded.ids)
        words = [-1 if w is None else w for w in encoded.word_ids]
        special = np.array([s is None for s in encoded.sequence_ids])
        pair_start = encoded.type_ids.index(1) if pair else len(ids)
        texts = [tokenizer.decode([i], skip_special_tokens=False).strip() for i in encoded.ids]
        inputs = {"input_ids": torch.tensor([encoded.ids])}
        if config.model_type == "bert":
            inputs["token_type_ids"] = torch.tensor([encoded.type_ids])
        run = Run(model, config, inputs)
        n, last, heads = run.tokens, len(run.layers) - 1, run.heads
        for data in run.layers:  # the reference closes on itself before anything is written
            scores = run.scale * data["q"] @ data["k"].transpose(0, 2, 1)
            for h in range(heads):
                scores[h] += np.array([[run.position(h, i, j) or 0 for j in range(n)] for i in range(n)])
            if run.causal:
                scores += np.triu(np.full((n, n), -np.inf), 1)
            e = np.exp(scores - scores.max(-1, keepdims=True))
            assert np.abs(e / e.sum(-1, keepdims=True) - data["pattern"]).max() < 1e-5, name
        pairs = [(4, 5, 13, 4), (3, 0, 9, 8), (5, 7, 16, 0), (0, 2, 6, 6)] if case == "doctor" else \
            [(0, 0, n - 1, n // 2), (last, heads - 1, n // 2, 0), (last, heads // 2, n - 1, n - 1)]
        of = dict(text=text, pair=pair, ids=ids.tolist(), chains=[chain(run, *p) for p in pairs],
                  neuron=neuron(run, *pairs[0][:3]), measures=measures(run, ids, special, texts, encoded.sequence_ids))
        if built_in or name == "bert":
            of["measures_with_first_row"] = measures(run, ids, special, texts, encoded.sequence_ids, True)
            if not pair:
                runs.append((run, of))
        if case in ("words", "tiny", "pair") and name in MAPS_OF:
            l, h = pairs[1][:2]
            of["maps"] = dict(layer=l, head=h, **maps(run, l, h, special, words, pair_start))
        cases[case] = of
    out = dict(model=name, cases=cases)
    if built_in:
        out["probe"] = probe(model, tokenizer)
    for key in ("measures", "measures_with_first_row") if runs else ():
        tables = [of[key] for _, of in runs]
        out["averages" + key[len("measures"):]] = averages([run for run, _ in runs], tables, key != "measures")
    return out


def main():
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).resolve().parents[2])
    out = root / "tests/golden/analyze"
    out.mkdir(parents=True, exist_ok=True)
    folders = [root / BUILT_IN] + sorted(p.parent for p in root.glob("tests/fixtures/models/*/config.json"))
    for folder in folders:
        path = out / f"{folder.name}.json"
        path.write_text(json.dumps(rounded(golden(folder, folder.name)), separators=(",", ":")) + "\n")
        print(path.relative_to(root), path.stat().st_size)


if __name__ == "__main__":
    main()
