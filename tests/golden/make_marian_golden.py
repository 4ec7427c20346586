#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ids of a Marian tokenizer: two SentencePiece models, one for each text, numbered by one vocab.json.

    python tests/golden/make_marian_golden.py

The ids are those of transformers' MarianTokenizer. With sacremoses installed they are the same: its normaliser of punctuation is
made, but not called on the way to ids.
"""
import json
import pathlib
import shutil
import tempfile

import sentencepiece
import transformers

from make_text_golden import FIXTURES, OUT, book_lines

SOURCE, TARGET = "spiece-unigram", "spiece-fairseq"
CODES = [">>fra<<", ">>deu<<"]


def pieces(fixture):
    p = sentencepiece.SentencePieceProcessor(model_file=str(FIXTURES / fixture / "spiece.model"))
    return [p.id_to_piece(i) for i in range(p.vocab_size()) if not (p.is_control(i) or p.is_unknown(i))]


def main():
    names = ["</s>", "<unk>"] + sorted(set(pieces(SOURCE)) | set(pieces(TARGET))) + CODES + ["<pad>"]
    vocab = {name: i for i, name in enumerate(names)}
    texts = json.loads((OUT / "sentence_piece.json").read_text())["texts"] + book_lines(FIXTURES / "book.txt")[:60]
    texts = [t for t in texts if not any(mark in t for mark in ("</s>", "<unk>", "<pad>", ">>", "<s>", "Mr.", "``"))]
    with tempfile.TemporaryDirectory() as temp:
        temp = pathlib.Path(temp)
        for fixture, name in ((SOURCE, "source.spm"), (TARGET, "target.spm")):
            shutil.copy(FIXTURES / fixture / "spiece.model", temp / name)
        (temp / "vocab.json").write_text(json.dumps(vocab))
        (temp / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "MarianTokenizer", "source_lang": "en", "target_lang": "fr"}))
        t = transformers.MarianTokenizer.from_pretrained(temp)
        sources = [t(text).input_ids for text in texts]
        targets = [t(text_target=text, add_special_tokens=False).input_ids for text in texts]
        coded = {f"{code} the old house": t(f"{code} the old house").input_ids for code in CODES}
    out = {"source": SOURCE, "target": TARGET, "vocab": vocab, "texts": texts, "source_ids": sources, "target_ids": targets, "coded": coded}
    (OUT / "marian.json").write_text(json.dumps(out, ensure_ascii=True, separators=(",", ":")) + "\n")
    print(len(texts), "texts,", len(vocab), "entries")


if __name__ == "__main__":
    main()
