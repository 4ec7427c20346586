# SPDX-License-Identifier: GPL-3.0-or-later
"""Head summaries of the built-in model on a real text, from Hugging Face transformers' patterns (fp32, eager) and numpy.

    python tests/golden/make_trace_golden.py

Writes novella_summaries.json. The formulas are written out over whole [query, key] matrices in float64, on purpose
not the way the program does it.
"""
import json
import pathlib

import numpy
import torch
import tokenizers
import transformers

HERE = pathlib.Path(__file__).parent
MODEL = HERE.parent.parent / "models" / "novella-7m"
TEXT = (
    "The old doctor asked the nurse to wait, because the old doctor was late. \u201cYou will find the letter on the table,\u201d "
    "said Mr. Harding, \u201cand the key beside it.\u201d She went to the table; she found the key, but the letter was gone. "
    "When the rain came over the hill the two men ran to the house, and when the rain had gone over the hill they stood "
    "at the window of the house and looked at the wet garden. \u201cThe letter,\u201d said Mr. Harding again, \u201cwas on the "
    "table.\u201d But nobody had seen the letter, and the nurse, who had asked the old doctor twice, only shook her head."
)


def head_summary(a, ids, special):
    """One head's [query, key] pattern -> its head numbers; row 0 of a causal model counts in no mean."""
    n = len(ids)
    i, j = numpy.indices((n, n))
    rows = numpy.arange(1, n)
    same = ids[:, None] == ids[None, :]
    earlier = same & (j < i)
    after_earlier = numpy.zeros_like(same)
    after_earlier[:, 1:] = same[:, :-1] & (j[:, 1:] - 1 < i[:, 1:])
    repeats = rows[earlier[rows].any(axis=1)]

    def per_row(mask, which=rows):
        return float((a * mask)[which].sum(axis=1).mean())

    ordered = numpy.sort(a, axis=1)
    logs = numpy.log(numpy.where(a > 0, a, 1.0))
    return {
        "entropy": float(-(a * logs)[rows].sum(axis=1).mean()),
        "mean_distance": per_row(abs(i - j)),
        "share_self": per_row(i == j),
        "share_previous": per_row(j == i - 1),
        "share_next": per_row(j == i + 1),
        "share_first": per_row(j == 0),
        "share_special": per_row(numpy.broadcast_to(special, (n, n))),
        "top1_minus_top2": float((ordered[rows, -1] - ordered[rows, -2]).mean()),
        "argmax_self": float((a[rows].argmax(axis=1) == rows).mean()),
        "argmax_first": float((a[rows].argmax(axis=1) == 0).mean()),
        "max_weight": float(a[rows].max()),
        "induction": per_row(after_earlier, repeats),
        "duplicate_token": per_row(earlier, repeats),
    }


@torch.no_grad()
def main():
    encoding = tokenizers.Tokenizer.from_file(str(MODEL / "tokenizer.json")).encode(TEXT)
    model = transformers.AutoModelForCausalLM.from_pretrained(MODEL, attn_implementation="eager",
                                                              dtype=torch.float32).eval()
    attentions = model(torch.tensor([encoding.ids]), output_attentions=True).attentions
    ids = numpy.array(encoding.ids)
    special = numpy.array(encoding.special_tokens_mask, dtype=bool)
    heads = [[head_summary(head.double().numpy(), ids, special) for head in layer[0]] for layer in attentions]
    golden = {"text": TEXT, "ids": encoding.ids, "summaries": heads}
    (HERE / "novella_summaries.json").write_text(json.dumps(golden, indent=0, ensure_ascii=True) + "\n")
    print(len(ids), "tokens; repeated:", sum(ids[k] in ids[:k] for k in range(len(ids))))


if __name__ == "__main__":
    main()
