#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ids of models whose numbers are not the places in their SentencePiece file: fairseq's (XLM-R, CamemBERT, mBART), Pegasus,
DeBERTa.

    python tests/golden/make_spiece_layout_golden.py [--train]

The texts of make_sentencepiece_golden.py as the sentencepiece package cuts them, renumbered as the models' tokenizers do,
and checked against transformers' own conversion of the same file (needs protobuf and tiktoken beside it), which cuts a few
torture texts otherwise (control characters, rare white space). Whole encodings, with what stands around a text, are
transformers'.
"""
import argparse
import json
import pathlib
import tempfile

import sentencepiece
import transformers

from make_text_golden import FIXTURES, OUT, RULES, book_lines

# class: (fixture, its file's name for that class, what is added to a piece's place, the unknown token's id)
KINDS = {
    "XLMRobertaTokenizer": ("spiece-fairseq", "sentencepiece.bpe.model", 1, 3),
    "CamembertTokenizer": ("spiece-fairseq", "sentencepiece.bpe.model", 4, 3),
    "MBartTokenizer": ("spiece-fairseq", "sentencepiece.bpe.model", 1, 3),
    "MBart50Tokenizer": ("spiece-fairseq", "sentencepiece.bpe.model", 1, 3),
    "PegasusTokenizer": ("spiece-unigram", "spiece.model", 103, 105),
    "DebertaV2Tokenizer": ("spiece-deberta", "spm.model", 0, 3),
}
WHOLE = ["the old house", "hello, the MASK house MASK", "What is Poirot’s age?"]
PAIR = ("the first text", "and the second")


def train():
    common = dict(input=str(FIXTURES / "book.txt"), minloglevel=2, num_threads=1, input_sentence_size=0, model_type="unigram",
                  vocab_size=400)
    with tempfile.TemporaryDirectory() as temp:
        temp = pathlib.Path(temp)
        points = lambda text: " ".join(f"{ord(c):X}" for c in text)
        (temp / "rules.tsv").write_text("".join(f"{points(a)}\t{points(b)}\n" for a, b in RULES.items()))
        rules = dict(normalization_rule_tsv=str(temp / "rules.tsv"))
        sentencepiece.SentencePieceTrainer.train(model_prefix=str(temp / "spiece-fairseq"), **common, **rules)
        sentencepiece.SentencePieceTrainer.train(model_prefix=str(temp / "spiece-deberta"), pad_id=0, bos_id=1, eos_id=2, unk_id=3,
                                                 pad_piece="[PAD]", bos_piece="[CLS]", eos_piece="[SEP]", unk_piece="[UNK]", **common, **rules)
        for name in ("spiece-fairseq", "spiece-deberta"):
            (FIXTURES / name).mkdir(exist_ok=True)
            (FIXTURES / name / "spiece.model").write_bytes((temp / f"{name}.model").read_bytes())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--train", action="store_true")
    if parser.parse_args().train:
        train()
    texts = json.loads((OUT / "sentence_piece.json").read_text())["texts"] + book_lines(FIXTURES / "book.txt")[:60]
    texts = [t for t in texts if not any(mark in t for mark in ("[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]", "<mask", "Mr.", "``"))]
    out = {"texts": texts, "whole": WHOLE, "pair": PAIR, "kinds": {}}
    for kind, (fixture, file, shift, unknown) in KINDS.items():
        p = sentencepiece.SentencePieceProcessor(model_file=str(FIXTURES / fixture / "spiece.model"))
        ids = [[unknown if i == p.unk_id() else i + shift for i in p.encode(t)] for t in texts]
        with tempfile.TemporaryDirectory() as temp:
            temp = pathlib.Path(temp)
            (temp / file).write_bytes((FIXTURES / fixture / "spiece.model").read_bytes())
            (temp / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": kind}))
            t = getattr(transformers, kind).from_pretrained(temp)
            differ = sum(t(text, add_special_tokens=False).input_ids != i for text, i in zip(texts, ids))
            assert differ * 8 < len(texts), (kind, differ, len(texts))
            encoded = t(*PAIR)
            # transformers 5 leaves Pegasus a space of its own before a mask, where SentencePiece drops the end of a text's space.
            taken = lambda text: not ("MASK" in text and kind == "PegasusTokenizer")
            out["kinds"][kind] = {
                "fixture": fixture, "file": file, "vocab_size": len(t), "ids": ids, "mask": t.mask_token,
                "whole": [t(text.replace("MASK", t.mask_token)).input_ids if taken(text) else None for text in WHOLE],
                "pair": encoded.input_ids, "pair_types": encoded.get("token_type_ids", [0] * len(encoded.input_ids))}
        print(f"{kind}: {len(t)} tokens, transformers cuts {differ} of {len(texts)} texts otherwise")
    (OUT / "spiece_layouts.json").write_text(json.dumps(out, ensure_ascii=True, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
