# SPDX-License-Identifier: GPL-3.0-or-later
"""Causal tracing with Gaussian noise (Meng et al. 2022, arXiv:2202.05262) on fixtures, with transformers.

Writes tests/golden/sweep/noise.json. For each fixture: token ids, the noised positions, the answer, the standard deviation of the
subject's embeddings, the noise of each draw [draw, subject token, width], the probability of the answer without noise and with it,
and the probability, averaged over draws, after one state of the run without noise is put back: `stream` [layer, position], the
output of a block; `mlp` and `attention` [layer, position], the outputs of the sublayers in a window of layers around each.

    python tests/golden/make_noise_golden.py
"""

import json
import pathlib

import torch
from transformers import AutoModelForCausalLM

ROOT = pathlib.Path(__file__).resolve().parents[2]
IDS = [5, 9, 31, 17, 60, 44, 23, 12]
SUBJECT, DRAWS, WINDOW = [2, 3], 3, 2


def parts_of(model):
    """Token embedding, then of each block itself, its attention and its MLP."""
    body = getattr(model, "transformer", None) or getattr(model, "gpt_neox", None) or model.model
    layers = getattr(body, "h", None) or body.layers
    attention = ["attn", "self_attn", "self_attention", "attention"]
    of = lambda layer: next(getattr(layer, name) for name in attention if hasattr(layer, name))
    return model.get_input_embeddings(), list(layers), [of(layer) for layer in layers], [layer.mlp for layer in layers]


def first(output):
    return output[0] if isinstance(output, tuple) else output


def golden(name):
    torch.manual_seed(11)
    model = AutoModelForCausalLM.from_pretrained(ROOT / "tests/fixtures/models" / name, dtype=torch.float64,
                                                 attn_implementation="eager").eval()
    embedding, blocks, attentions, mlps = parts_of(model)
    ids = torch.tensor([IDS])
    own = embedding(torch.tensor(IDS)[SUBJECT]).detach()
    deviation = own.flatten().std().item()
    noise = (3 * deviation * torch.randn(DRAWS, len(SUBJECT), own.shape[1], dtype=torch.float64)).float().double()

    def run(shift=None, restore=()):
        """Probabilities behind the last token; `restore`: modules, with a tensor for one position each."""
        handles = []
        if shift is not None:
            def add(_, __, output):
                output = output.clone()
                output[0, SUBJECT] += shift
                return output
            handles.append(embedding.register_forward_hook(add))
        for module, position, state in restore:
            def put(_, __, output, position=position, state=state):
                changed = first(output).clone()
                changed[0, position] = state
                return (changed, *output[1:]) if isinstance(output, tuple) else changed
            handles.append(module.register_forward_hook(put))
        with torch.no_grad():
            out = model(ids).logits[0, -1].softmax(-1)
        for handle in handles:
            handle.remove()
        return out

    kept = {}
    handles = [m.register_forward_hook(lambda m, _, output: kept.__setitem__(m, first(output)[0].detach().clone()))
               for m in (*blocks, *attentions, *mlps)]
    clean = run()
    for handle in handles:
        handle.remove()
    answer = int(clean.argmax())

    def restored(modules, position):
        return sum(run(shift, [(m, position, kept[m][position]) for m in modules])[answer].item() for shift in noise) / DRAWS

    layers, positions = range(len(blocks)), range(len(IDS))
    window = lambda l: range(max(0, l - WINDOW // 2), min(len(blocks), l - (-WINDOW // 2)))
    sublayers = {} if name == "bloom" else {  # whose sublayers add the stream themselves
        "mlp": [[restored([mlps[i] for i in window(l)], p) for p in positions] for l in layers],
        "attention": [[restored([attentions[i] for i in window(l)], p) for p in positions] for l in layers],
    }
    return {
        "deviation": deviation, "answer": answer, "noise": noise.tolist(), "clean": clean[answer].item(),
        "corrupt": [run(shift)[answer].item() for shift in noise],
        "stream": [[restored([blocks[l]], p) for p in positions] for l in layers], **sublayers,
    }


out = {"ids": IDS, "subject": SUBJECT, "window": WINDOW,
       "models": {name: golden(name) for name in ("gpt2", "llama-mha", "gpt-neox", "bloom")}}
file = ROOT / "tests/golden/sweep/noise.json"
file.write_text(json.dumps(out, separators=(",", ":")) + "\n")
print(file.stat().st_size, {name: (m["clean"], m["corrupt"]) for name, m in out["models"].items()})
