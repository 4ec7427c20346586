# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes a model of the shape of another one with the random weights of transformers' initialisation, and its tokenizer: what a probe
finds in its states was not learnt (docs/studies/probes.md).

    python tests/golden/make_random_model.py models/novella-7m FOLDER [SEED]
"""
import shutil
import sys
from pathlib import Path

import torch
from transformers import AutoConfig, AutoModelForCausalLM

source, folder = Path(sys.argv[1]), Path(sys.argv[2])
torch.manual_seed(int(sys.argv[3]) if len(sys.argv) > 3 else 0)
AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(source)).save_pretrained(folder)
for name in ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json"):
    if (source / name).exists():
        shutil.copy(source / name, folder / name)
