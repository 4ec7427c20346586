#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ids of tokenizers whose folder has more files than the tokenizer's own, as transformers' AutoTokenizer gives them.

    python tests/golden/make_beside_golden.py

Each case is a fixture of tests/fixtures/text (one file of it, or all) with further files: added_tokens.json,
tokenizer_config.json, special_tokens_map.json. Needs sentencepiece and protobuf (requirements.txt).
"""
import json
import pathlib
import tempfile

import transformers

from make_text_golden import FIXTURES, OUT

TEXT = ["<|im_start|>user hello <|im_end|>\n", "the <a>old</a> house  <a> x", "a[E1]b [e1] [E1] the [/E1]", "<kit> Kit <kit>s",
        "The Café DU Monde 中文 [MASK]", "<pad><unk>ThE"]
FLAGS = dict(lstrip=False, rstrip=False, single_word=False, normalized=False, special=True)


def token(content, **flags):
    return FLAGS | {"content": content} | flags


CONFIG, ADDED, MAP = "tokenizer_config.json", "added_tokens.json", "special_tokens_map.json"
FAST = "PreTrainedTokenizerFast"


def decoder(size, *tokens):
    return {str(size + i): t for i, t in enumerate(tokens)}


CASES = {}


def case(name, fixture, files, base=None):
    CASES[name] = {"fixture": fixture, "base": base, "files": files}


CHAT = [token("<|im_start|>"), token("<|im_end|>")]
TAGS = [token("<a>", lstrip=True), token("</a>", rstrip=True, special=False), token("<kit>", single_word=True, special=False),
        token("[E1]", normalized=True, special=False)]
for fixture in ("llama3", "unigram", "wordpiece", "metaspace-bpe"):
    case(f"{fixture}: decoder", fixture, {CONFIG: {"tokenizer_class": FAST, "added_tokens_decoder": decoder(90000, *CHAT, *TAGS)}})
    case(f"{fixture}: added_tokens.json", fixture, {CONFIG: {"tokenizer_class": FAST}, ADDED: {"<|im_start|>": 90001, "<a>": 90000, "[E1]": 90005}})
    case(f"{fixture}: added and named", fixture, {
        CONFIG: {"tokenizer_class": FAST, "additional_special_tokens": ["<|im_start|>", "[E1]"], "eos_token": "<|im_end|>"},
        ADDED: {"<|im_start|>": 90001, "<a>": 90000, "[E1]": 90005}})
    case(f"{fixture}: map", fixture, {
        CONFIG: {"tokenizer_class": FAST, "pad_token": "<a>"},
        MAP: {"pad_token": "<pad>", "bos_token": {k: v for k, v in token("<|im_start|>", rstrip=True).items() if k != "special"},
              "additional_special_tokens": ["[E1]", "[/E1]"]}})
    case(f"{fixture}: decoder counts before the other files", fixture, {
        CONFIG: {"tokenizer_class": FAST, "added_tokens_decoder": decoder(90000, *CHAT), "image_token": "<kit>",
                 "extra_special_tokens": ["<a>"]},
        ADDED: {"[E1]": 90005}, MAP: {"additional_special_tokens": ["</a>"]}})
    case(f"{fixture}: an entry of the vocabulary", fixture, {
        CONFIG: {"tokenizer_class": FAST, "extra_special_tokens": {"kit_token": "<kit>"}}, ADDED: {"the": 90000, "ol": 90001}})
case("wordpiece: flags of a token that is there", "wordpiece", {
    CONFIG: {"tokenizer_class": FAST, "added_tokens_decoder": {"4": token("[MASK]", lstrip=True, rstrip=True)}}})
for lower in (True, False, None):
    for strip in (True, False, None):
        options = {k: v for k, v in (("do_lower_case", lower), ("strip_accents", strip)) if v is not None}
        case(f"BertTokenizer {options}", "wordpiece", {CONFIG: {"tokenizer_class": "BertTokenizer"} | options})
case("BertTokenizerFast, ideographs", "wordpiece", {CONFIG: {"tokenizer_class": "BertTokenizerFast", "tokenize_chinese_chars": False}})
case("the class of the model", "wordpiece", {"config.json": {"model_type": "bert"}, CONFIG: {"do_lower_case": False}})
case("a class without options", "wordpiece", {"config.json": {"model_type": "bert"}, CONFIG: {"tokenizer_class": FAST, "do_lower_case": False}})
case("a model whose class is ignored", "wordpiece", {"config.json": {"model_type": "modernbert"},
                                                     CONFIG: {"tokenizer_class": "BertTokenizer", "do_lower_case": False}})
WORDS = {"added_tokens_decoder": decoder(90000, *CHAT, *TAGS)}
case("vocab.txt: decoder", "wordpiece-files", {CONFIG: {"tokenizer_class": "BertTokenizer"} | WORDS})
case("vocab.txt: added_tokens.json", "wordpiece-files", {
    CONFIG: {"tokenizer_class": "BertTokenizer", "additional_special_tokens": ["[E1]"]}, ADDED: {"[E1]": 3001, "[/E1]": 3000}})
case("vocab.json: decoder", "gpt2-files", {CONFIG: {"tokenizer_class": "GPT2Tokenizer"} | WORDS})
case("vocab.json: added_tokens.json", "gpt2-files", {CONFIG: {"tokenizer_class": "GPT2Tokenizer"}, ADDED: {"<a>": 2000, "<|im_start|>": 2001}})
case("RoBERTa's files", "roberta-files", {CONFIG: {"tokenizer_class": "RobertaTokenizer", "add_prefix_space": True} | WORDS})
for fixture, file, kind in (("spiece-bpe", "tokenizer.model", "LlamaTokenizer"),
                            ("spiece-fairseq", "sentencepiece.bpe.model", "XLMRobertaTokenizer")):
    base = {"spiece.model": file}
    case(f"{kind}: decoder", fixture, {CONFIG: {"tokenizer_class": kind, "added_tokens_decoder": decoder(90000, *CHAT, *TAGS[:3])}}, base)
    if kind == "XLMRobertaTokenizer":
        case(f"{kind}: added_tokens.json", fixture, {CONFIG: {"tokenizer_class": kind}, ADDED: {"[E1]": 90001, "<a>": 90000}}, base)
    case(f"{kind}: special ones of added_tokens.json", fixture, {
        CONFIG: {"tokenizer_class": kind, "additional_special_tokens": ["<|im_start|>", "<a>"]},
        ADDED: {"<|im_start|>": 90001, "<a>": 90000}}, base)


def main():
    out = {"texts": TEXT, "cases": {}}
    for name, c in CASES.items():
        with tempfile.TemporaryDirectory() as temp:
            temp = pathlib.Path(temp)
            for file in (FIXTURES / c["fixture"]).iterdir():
                (temp / (c["base"] or {}).get(file.name, file.name)).write_bytes(file.read_bytes())
            for file, content in c["files"].items():
                (temp / file).write_text(json.dumps(content))
            t = transformers.AutoTokenizer.from_pretrained(temp)
            ids = [t(text, add_special_tokens=False).input_ids for text in TEXT]
        print(name, type(t).__name__, len(t))
        out["cases"][name] = {k: v for k, v in c.items() if v} | {"vocab_size": len(t), "ids": ids}
    lines = [f"{json.dumps(name)}: {json.dumps(c, ensure_ascii=False)}" for name, c in out["cases"].items()]
    (OUT / "beside.json").write_text('{"texts": ' + json.dumps(TEXT, ensure_ascii=False) + ',\n"cases": {\n' + ",\n".join(lines) + "\n}}\n")


if __name__ == "__main__":
    main()
