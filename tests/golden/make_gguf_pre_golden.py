#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the pre-tokenizer that GGUF files call "deepseek-v3" cuts texts, by Hugging Face's tokenizers.

    python tests/golden/make_gguf_pre_golden.py

The patterns are those of DeepSeek-V3's tokenizer.json. The vocabulary is the bytes alone, so that only the cuts count.
"""
import json

import tokenizers
from tokenizers import models, pre_tokenizers

from make_text_golden import OUT

PATTERNS = [
    r"\p{N}{1,3}",
    r"[一-龥぀-ゟ゠-ヿ]+",
    r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
]
MORE = ["他在2024年12月买了3本書、それから帰った。", "カタカナとひらがな and 12345678 numbers", "don't _underscored 'quoted' #tag @name", "été naïve e\u0301 x²+y³=½",
        "a\n\n  b  \r\n c\t\td", "价格：￥1,234.50！(打折)", "emoji 👩‍👩‍👧 and ñ", "--flag=value /path/to.file [x] {y} ~z"]


def main():
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    t = tokenizers.Tokenizer(models.BPE(vocab={c: i for i, c in enumerate(alphabet)}, merges=[]))
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(tokenizers.Regex(p), "isolated") for p in PATTERNS] +
                                              [pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    texts = json.loads((OUT / "torture.json").read_text()) + MORE
    encodings = [t.encode(text) for text in texts]
    out = {"tokens": alphabet, "texts": texts, "ids": [e.ids for e in encodings], "words": [e.word_ids for e in encodings]}
    (OUT / "gguf_pre.json").write_text(json.dumps(out, ensure_ascii=True, separators=(",", ":")) + "\n")
    print(len(texts), "texts,", sum(len(set(e.word_ids)) for e in encodings), "words")


if __name__ == "__main__":
    main()
