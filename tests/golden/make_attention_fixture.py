# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes tests/fixtures/attention: attention that transformers computed, by the lines of docs/attention-elsewhere.md."""
import pathlib

import numpy as np
import torch
import transformers

here = pathlib.Path(__file__).resolve().parent.parent / "fixtures"
TEXT = "the doctor asked the nurse"


def write(name, out, **more):
    model = transformers.AutoModel.from_pretrained(here / "models" / name, attn_implementation="eager")
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_file=str(here / "models" / name / "tokenizer.json"))
    model.eval()
    inputs = tokenizer(TEXT, return_tensors="pt")
    inputs.pop("token_type_ids", None)
    with torch.no_grad():
        attentions = model(**inputs, output_attentions=True).attentions
    np.savez(here / "attention" / out, attention=torch.stack(attentions)[:, 0].numpy(),
             tokens=np.array(tokenizer.convert_ids_to_tokens(inputs["input_ids"][0])), **more)


(here / "attention").mkdir(exist_ok=True)
write("gpt2", "gpt2.npz")
write("bert", "bert.npz", text=TEXT)
