# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes tests/golden/importance.json and tests/golden/copy_suppression.json.

    python tests/golden/make_importance_golden.py [REPOSITORY]

Importance: gradients by the autograd of Hugging Face transformers, blank-out by plain passes. Copy suppression: NumPy on
the reference's tensors; ablation by a hook on the reference's output projection. All in float64. Definitions:
include/headlight/analyze/circuit/importance.h and copy_suppression.h.
"""
import json
import sys
from pathlib import Path

import numpy as np
import torch
from scipy import stats
from tokenizers import Tokenizer
from transformers import AutoConfig, AutoModelForCausalLM

from make_analyze_golden import Run, array

CASES = {
    "novella-7m": ("The old doctor asked the nurse to wait, because the old doctor was late.", 13, [(5, 7), (3, 0)]),
    "llama-kv2": ("The cats asked; the old cat asked.", 9, [(1, 2), (0, 1)]),
}


def probability(model, ids, position, target):
    with torch.no_grad():
        return float(torch.softmax(model(torch.tensor([ids])).logits[0, position], -1)[target])


def importance(model, tokenizer, text, position):
    ids = tokenizer.encode(text).ids
    part = ids[:position + 1]
    with torch.no_grad():
        out = model(torch.tensor([part]), output_attentions=True)
    p = torch.softmax(out.logits[0, -1], -1)
    target = int(p.argmax())
    # Behind BLOOM's embedding norm; Llama has none.
    start = model.transformer.word_embeddings_layernorm if model.config.model_type == "bloom" else model.get_input_embeddings()
    kept = []
    handle = start.register_forward_hook(lambda module, args, out: kept.append(out.detach().requires_grad_(True)) or kept[-1])
    torch.softmax(model(torch.tensor([part])).logits[0, -1], -1)[target].backward()
    handle.remove()
    x = kept[0]
    product = (x * x.grad).sum(-1)[0]
    unknown = tokenizer.token_to_id("<unk>")
    blank = [float(p[target]) - probability(model, part[:j] + [unknown] + part[j + 1:], position, target) for j in range(len(part))]
    attention = np.stack([array(a)[0, :, -1].mean(0) for a in out.attentions])
    gradient = product.detach().numpy()
    return dict(text=text, position=position, target=target, probability=float(p[target]), gradient_x_input=gradient, blank_out=blank,
                attention=attention, spearman_blank=[stats.spearmanr(a, np.abs(blank)).statistic for a in attention],
                kendall_gradient=[stats.kendalltau(a, np.abs(gradient)).statistic for a in attention],
                **attention_gradient(model, tokenizer, ids))


def attention_gradient(model, tokenizer, ids):
    out = model(torch.tensor([ids]), output_attentions=True)
    for a in out.attentions:
        a.retain_grad()
    loss = torch.nn.functional.cross_entropy(out.logits[0, :-1], torch.tensor(ids[1:]))
    loss.backward()
    special = {t.content for t in tokenizer.get_added_tokens_decoder().values() if t.special}

    def group(j):
        text = tokenizer.decode([ids[j]], skip_special_tokens=False)
        return "first" if j == 0 else "special" if text in special else "punctuation" if text in (".", ",") else "other"

    groups = np.array([group(j) for j in range(len(ids))])
    rows, keys = np.tril_indices(len(ids))
    seen = rows > 0
    rows, keys = rows[seen], keys[seen]
    result = {}
    for name in ("first", "special", "punctuation", "other"):
        chosen = groups[keys] == name
        result[name] = [[float(np.abs(array(a.grad)[0, h][rows[chosen], keys[chosen]]).mean()) if chosen.any() else None
                         for h in range(a.shape[1])] for a in out.attentions]
    return dict(loss=float(loss), gradient=result)


def copy_suppression(model, config, tokenizer, text, heads):
    ids = np.array(tokenizer.encode(text).ids)
    run = Run(model, config, {"input_ids": torch.tensor([ids.tolist()])})
    body = model.transformer if config.model_type == "bloom" else model.model
    final = body.ln_f if config.model_type == "bloom" else body.norm
    n, w_u = len(ids), run.w_u

    def logits(output=None, l=0, old=None):
        handle = None
        if output is not None:
            delta = torch.from_numpy(output - old)
            delta[0] = 0
            block = run.blocks[l]
            dense = block.self_attention.dense if config.model_type == "bloom" else block.self_attn.o_proj
            handle = dense.register_forward_hook(lambda module, args, out: out + delta)
        with torch.no_grad():
            result = array(model(torch.tensor([ids.tolist()])).logits)[0]
        if handle:
            handle.remove()
        return result

    def log_softmax(x):
        x = x - x.max(-1, keepdims=True)
        return x - np.log(np.exp(x).sum(-1, keepdims=True))

    def divergence(a, b):
        p, q = log_softmax(a[1:]), log_softmax(b[1:])
        return float((np.exp(p) * (p - q)).sum(-1).mean())

    usual, cases = logits(), []
    for l, h in heads:
        data = run.layers[l]
        a, v, w_o = data["pattern"][h], data["v"][h], data["w_o"][h]
        written = v @ w_o  # [source, d_model]
        with torch.no_grad():
            lens = array(final(torch.from_numpy(data["resid_pre"])[None]))[0] @ w_u
        update = a @ written
        pairs = []
        for d in range(1, n):
            direct = run.effects(update[d], d)
            for s in range(d + 1):
                if a[d, s] > 0.1:
                    token = ids[s]
                    pairs.append([d, s, a[d, s], int((lens[d] > lens[d, token]).sum()), direct[token],
                                  int((direct < direct[token]).sum()), run.effects(a[d, s] * written[s], d)[token]])
        kept = np.zeros_like(update)
        for d in range(n):
            order = sorted(range(d + 1), key=lambda s: (int((lens[d] > lens[d, ids[s]]).sum()), s))
            for s in order[:max(1, int(np.ceil(0.05 * (d + 1) - 1e-9)))]:
                u = w_u[:, ids[s]]
                along = written[s] @ u / (u @ u)
                if along < 0:
                    kept[d] += a[d, s] * along * u
        rest = (update - kept)[1:].mean(0)
        preserved = divergence(usual, logits(kept + rest, l, update))
        ablated = divergence(usual, logits(np.tile(update[1:].mean(0), (n, 1)), l, update))
        cases.append(dict(layer=l, head=h, pairs=pairs, kl_preserved=preserved, kl_ablated=ablated))
    return dict(text=text, heads=cases)


def plain(x):
    if isinstance(x, dict):
        return {k: plain(v) for k, v in x.items()}
    if isinstance(x, (list, tuple, np.ndarray)):
        return [plain(v) for v in x]
    if isinstance(x, (float, np.floating)):
        return None if np.isnan(x) else float(f"{x:.8g}")
    return int(x) if isinstance(x, np.integer) else x


def main():
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).resolve().parents[2])
    importances, suppressions = {}, {}
    for name, (text, position, heads) in CASES.items():
        folder = root / ("models" if name == "novella-7m" else "tests/fixtures/models") / name
        config = AutoConfig.from_pretrained(folder)
        model = AutoModelForCausalLM.from_pretrained(folder, attn_implementation="eager", dtype=torch.float64).eval()
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        importances[name] = importance(model, tokenizer, text, position)
        suppressions[name] = copy_suppression(model, config, tokenizer, text, heads)
    for name, content in (("importance", importances), ("copy_suppression", suppressions)):
        (root / f"tests/golden/{name}.json").write_text(json.dumps(plain(content), separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
