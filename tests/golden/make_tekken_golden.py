#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""A small tekken.json (Mistral's tokenizer file) and what transformers' MistralConverter makes of texts with it.

    python tests/golden/make_tekken_golden.py
"""
import base64
import json

import tokenizers
from tokenizers import models, pre_tokenizers, trainers
from transformers.convert_slow_tokenizer import bytes_to_unicode
from transformers.integrations.mistral.tokenizer import MistralConverter

from make_text_golden import FIXTURES, OUT, book_lines

PATTERN = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+"
           r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
SPECIAL = ["<unk>", "<s>", "</s>", "[INST]", "[/INST]"]


def write_model(path):
    t = tokenizers.Tokenizer(models.BPE())
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(tokenizers.Regex(PATTERN), "isolated"),
                                               pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    t.train_from_iterator(book_lines(FIXTURES / "book.txt"),
                          trainers.BpeTrainer(vocab_size=560, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    byte_of = {c: b for b, c in bytes_to_unicode().items()}
    words = [bytes(byte_of[c] for c in word) for word, _ in sorted(t.get_vocab().items(), key=lambda item: item[1])]
    # Bytes come first, in their own order, as in Mistral's files.
    words = [bytes([b]) for b in range(256)] + [w for w in words if len(w) > 1]
    # Two entries more than default_vocab_size counts: they fill the file and are no tokens.
    entries = [dict(rank=i, token_bytes=base64.b64encode(w).decode(), token_str=None) for i, w in enumerate(words)]
    config = dict(pattern=PATTERN, num_vocab_tokens=len(words), default_vocab_size=len(words) - 2 + 8, default_num_special_tokens=8, version="v3")
    special = [dict(rank=i, token_str=s, is_control=True) for i, s in enumerate(SPECIAL)]
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(dict(config=config, vocab=entries, special_tokens=special), separators=(",", ":")))


def main():
    file = FIXTURES / "tekken" / "tekken.json"
    write_model(file)
    t = MistralConverter(str(file)).converted()
    texts = json.loads((OUT / "torture.json").read_text()) + ["[INST] Hi[/INST] Yes</s>", "HTTPServer don't 1234 naïve über"]
    texts += book_lines(FIXTURES / "book.txt")[:60]
    out = dict(texts=texts, ids=[t.encode(x, add_special_tokens=False).ids for x in texts], vocab_size=t.get_vocab_size())
    (OUT / "tekken.json").write_text(json.dumps(out, ensure_ascii=True, separators=(",", ":")) + "\n")
    print(len(texts), "texts,", out["vocab_size"], "tokens")


if __name__ == "__main__":
    main()
