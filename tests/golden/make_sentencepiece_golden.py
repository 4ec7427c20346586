#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Trains two small SentencePiece models on the tests' book and writes what the sentencepiece package makes of texts.
The BPE one is also written as the vocabulary of a GGUF file (needs gguf): the same ids are expected of it.

    python tests/golden/make_sentencepiece_golden.py [--train]

Ids only, without what a template adds: of the torture texts each, of the book's lines as digests of 16 lines (the first 8
hex digits of a SHA-256 over 32-bit little-endian numbers, count and ids of each line). Texts that hold the name of a
control token are left out: SentencePiece spells them, a model's tokenizer cuts them out.
"""
import argparse
import hashlib
import json
import pathlib
import struct
import tempfile

import gguf
import sentencepiece

from make_text_golden import FIXTURES, GROUP, OUT, RULES, book_lines

MODELS = {"spiece-unigram": "spiece.model", "spiece-bpe": "tokenizer.model"}


def train():
    common = dict(input=str(FIXTURES / "book.txt"), minloglevel=2, num_threads=1, input_sentence_size=0)
    with tempfile.TemporaryDirectory() as temp:
        temp = pathlib.Path(temp)
        points = lambda text: " ".join(f"{ord(c):X}" for c in text)
        (temp / "rules.tsv").write_text("".join(f"{points(a)}\t{points(b)}\n" for a, b in RULES.items()))
        sentencepiece.SentencePieceTrainer.train(  # T5's kind: </s> behind, unknown characters are unknown
            model_prefix=str(temp / "unigram"), model_type="unigram", vocab_size=900, normalization_rule_tsv=str(temp / "rules.tsv"),
            pad_id=0, eos_id=1, unk_id=2, bos_id=-1, user_defined_symbols=["``", "Mr."], **common)
        sentencepiece.SentencePieceTrainer.train(  # Llama's kind: <s> in front, bytes, spaces are kept
            model_prefix=str(temp / "bpe"), model_type="bpe", vocab_size=1000, normalization_rule_name="identity",
            remove_extra_whitespaces=False, byte_fallback=True, split_digits=True, allow_whitespace_only_pieces=True,
            user_defined_symbols=["<tool>"], **common)
        for name, kind in (("spiece-unigram", "unigram"), ("spiece-bpe", "bpe")):
            (FIXTURES / name).mkdir(exist_ok=True)
            (FIXTURES / name / MODELS[name]).write_bytes((temp / f"{kind}.model").read_bytes())


def write_gguf(name, user_defined):
    """As llama.cpp's converter writes it (LlamaModel, _create_vocab_sentencepiece): pieces, scores, types."""
    p = sentencepiece.SentencePieceProcessor(model_file=str(FIXTURES / name / MODELS[name]))
    kinds = gguf.TokenType

    def kind(i):
        for is_it, named in ((p.is_unknown, kinds.UNKNOWN), (p.is_control, kinds.CONTROL), (p.is_unused, kinds.UNUSED), (p.is_byte, kinds.BYTE)):
            if is_it(i):
                return named
        return kinds.USER_DEFINED if p.id_to_piece(i) in user_defined else kinds.NORMAL

    ids = range(p.get_piece_size())
    w = gguf.GGUFWriter(str(FIXTURES / f"{name}.gguf"), "llama")
    w.add_tokenizer_model("llama")
    w.add_tokenizer_pre("default")
    w.add_token_list([p.id_to_piece(i).encode() for i in ids])
    w.add_token_scores([p.get_score(i) for i in ids])
    w.add_token_types([kind(i) for i in ids])
    w.add_bos_token_id(p.bos_id())
    w.add_eos_token_id(p.eos_id())
    w.add_unk_token_id(p.unk_id())
    w.add_add_space_prefix(True)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def digest(lists):
    h = hashlib.sha256()
    for ids in lists:
        h.update(struct.pack(f"<{len(ids) + 1}i", len(ids), *ids))
    return h.hexdigest()[:8]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--train", action="store_true")
    if parser.parse_args().train:
        train()
    write_gguf("spiece-bpe", {"<tool>"})
    torture = json.loads((OUT / "torture.json").read_text())
    torture += ["`` said Mr. Inglethorp", "Mr.", "``", "a ``b`` Mr.Mr.  x", "<tool>", "x<tool> y", " <tool><tool> ", "<0x41>", "\u2581a \u2581"]
    texts = [t for t in torture if not any(c in t for c in ("<s>", "</s>", "<unk>", "<pad>"))]
    lines = book_lines(FIXTURES / "book.txt")
    out = {"texts": texts}
    for name, file in MODELS.items():
        p = sentencepiece.SentencePieceProcessor(model_file=str(FIXTURES / name / file))
        rows = [p.encode(line) for line in lines]
        out[name] = {"ids": [p.encode(t) for t in texts],
                     "book.txt": " ".join(digest(rows[i:i + GROUP]) for i in range(0, len(rows), GROUP))}
    (OUT / "sentence_piece.json").write_text(json.dumps(out, ensure_ascii=True) + "\n")


if __name__ == "__main__":
    main()
