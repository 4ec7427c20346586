#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes the expected encodings of tests/text from Hugging Face `tokenizers` and `transformers`.

    python tests/golden/make_text_golden.py [--train] [--books DIR] [--treebank FILE] [--sentence-encoder DIR]

An encoding is kept as the first 8 hex digits of a SHA-256 over 32-bit little-endian numbers: count, ids, (begin, end) of each
token in bytes of the text as typed, word ids (-1: none), type ids. Long lists of texts are kept in groups.
--train makes the small tokenizers of tests/fixtures/text anew from the book that lies there.
"""
import argparse
import hashlib
import json
import pathlib
import struct
import unicodedata

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

ROOT = pathlib.Path(__file__).resolve().parent.parent
FIXTURES = ROOT / "fixtures" / "text"
OUT = ROOT / "golden" / "text"
GROUP = 16

LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
          r"|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN2 = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
GPT4O = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
         r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
         r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")


# ---- encodings and digests -------------------------------------------------------------------------------------------

def byte_places(text):
    places = [0]
    for ch in text:
        places.append(places[-1] + len(ch.encode()))
    return places


def numbers(encoding, text, pair=None):
    a, b = byte_places(text), byte_places(pair or "")
    offsets = []
    for (begin, end), sequence in zip(encoding.offsets, encoding.sequence_ids):
        places = b if sequence == 1 else a
        offsets += [places[begin], places[end]] if sequence is not None else [begin, end]
    words = [-1 if w is None else w for w in encoding.word_ids]
    return [len(encoding.ids), *encoding.ids, *offsets, *words, *encoding.type_ids]


def digest(rows):
    h = hashlib.sha256()
    for row in rows:
        h.update(struct.pack(f"<{len(row)}i", *row))
    return h.hexdigest()[:8]


def digests(tokenizer, texts, group=1):
    rows = [numbers(tokenizer.encode(t), t) for t in texts]
    return " ".join(digest(rows[i:i + group]) for i in range(0, len(rows), group))


def load(path):
    t = Tokenizer.from_file(str(path))
    t.no_truncation()
    t.no_padding()
    return t


# ---- texts -----------------------------------------------------------------------------------------------------------

def book_lines(path):
    return path.read_text(encoding="utf-8").split("\n")


def treebank_sentences(path):
    return [line[9:] for line in book_lines(path) if line.startswith("# text = ")]


def sweep_texts():
    """Every character up to the third plane, and the tags, between letters, marks and spaces."""
    points = [c for c in [*range(0x33000), *range(0xE0000, 0xE1000)] if not 0xD800 <= c < 0xE000]
    for i in range(0, len(points), 64):
        yield "".join(f"a{chr(c)}b{chr(c)}\u0301\u0323{chr(c)} " for c in points[i:i + 64])


GREETINGS = """Hello, world! How are you?|Hallo Welt, schöne Grüße aus Österreich|Ça va très bien, où êtes-vous, garçon ?|¿Qué tal, señor Núñez? ¡Mañana!
Olá, não há coração|Buongiorno, perché è così?|Żółć gęślą jaźń|Příliš žluťoučký kůň úpěl ďábelské ódy|Árvíztűrő tükörfúrógép|İstanbul'da ıssız ağaç IĞDIR
Þetta er íslenska ðæö|Đây là tiếng Việt: ngưỡng cửa, Nguyễn|Γειά σου Κόσμε, ΟΔΥΣΣΕΥΣ, ᾳ ᾷ ὧ|Привет, мир! Ёлка и йод, ЩЪЫЬ|Здраво свете, Љубав|Բարեւ աշխարհ, և
שלום עולם, שָׁלוֹם|مرحبا بالعالم، كَيْفَ حَالُكَ؟ ١٢٣|سلام دنیا، می‌خواهم ۴۵۶|ہیلو دنیا|नमस्ते दुनिया, क्षत्रिय श्री ॐ १२३|ওহে বিশ্ব, ক্ষুদ্র ৪৫
ਸਤ ਸ੍ਰੀ ਅਕਾਲ|નમસ્તે દુનિયા|ନମସ୍କାର|வணக்கம் உலகம், க்ஷ|హలో ప్రపంచం, క్ష|ಹಲೋ ವರ್ಲ್ಡ್|ഹലോ വേൾഡ്, ക്ഷ|ආයුබෝවන් ලෝකය|สวัสดีชาวโลก น้ำ ๑๒๓|ສະບາຍດີ ນ້ຳ
བཀྲ་ཤིས་བདེ་ལེགས།|မင်္ဂလာပါ ကမ္ဘာလောက|გამარჯობა მსოფლიო, ᲐᲑᲒ|ሰላም ልዑል፣ ፩፪፫|ᏏᏲ ᎡᎶᎯ, ꭰꭱ|ᐊᐃᓐᖓᐃ|ᚠᚢᚦᚨᚱᚲ|ភាសាខ្មែរ ១២|ᠰᠠᠢᠨ ᠪᠠᠢᠨᠠ|你好，世界！「漢字」、㐀𠀀𪜀
こんにちは世界、カタカナｶﾀｶﾅがぎ|안녕하세요 세계 각갂 \u1100\u1161\u11a8|ꀉꀊ ꆈꌠ|ⵜⴰⵎⴰⵣⵉⵖⵜ|ߒߞߏ|ꤢꤣꤤ|ꦲꦏ꧀ꦱꦫ|ⲁⲃⲅ|𐌰𐌱𐌲 𐤀𐤁 𒀀𒀁 𓀀𓀁|𝔘𝔫𝔦𝔠𝔬𝔡𝔢 𝟙𝟚𝟛 ℕℤℝ"""


def torture_texts():
    texts = ["", " ", "  ", "\n", "\t", "a", "a ", " a", "  a", "a  ", "\r\n", "a\r\nb", "a\r\n\r\nb", "\ra\r", "\x00", "a\x00b",
             "\x00\x00 \x00", "\x01\x02\x7f\x80\x9f", "a\u00a0b", "a\u3000b\u2003c", "\u0085", "\u2028\u2029", "\ufeffa\ufeff",
             "a\u200bb", "a\u00adb", "\u200e\u202eabc\u202c", "\ufffd", "a\ufffdb", "\ufffe\uffff", "\U0010ffff", "\ue000\U000f0000",
             "\u0378\u0530", "\U000e0001\U000e0041"]
    texts += [g for g in GREETINGS.replace("\n", "|").split("|")]
    texts += ["e\u0301", "\u0301", "\u0301e", " \u0301", "a\u0315\u0300\u05ae\u0301b", "a\u0323\u0307", "s\u0323\u0307", "\u1e9b\u0323",
              "\u0344\u0315", "a\u0315\u0344", "\u0f73\u0f71", "Z\u0351\u036b\u0343\u036a\u0302A\u0334\u0335\u034aL\u0361\u0489GO",
              "\u212b\u2126\ufb01\ufb03", "ﬀ ﬃ ſt ﬆ", "①②③ ⅷ ½ ²³ ㎏ ㋿ ㌀", "ｆｕｌｌ　ｗｉｄｔｈ１２３", "ǅ ǈ ẞ ß İ ı ſ K Å", "Σίσυφος ΣΑΣ",
              "\u1100\u1161\u11a8\u1100\u1161", "\uac01\u11a8", "\U0001d15e\U0001d165", "\u2adc\u0338", "A\u030a\u0327B"]
    texts += ["😀", "👍🏽", "👩‍👩‍👧‍👦", "👩🏾‍❤️‍💋‍👨🏻", "🏳️‍🌈", "🇩🇪🇫🇷🇬", "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f", "1️⃣#️⃣", "☺︎☺️",
              "a😀b😀 😀😀", "🫠🫨🪿", "🤌🏿x", "👨‍💻's", "♀♂⚧"]
    texts += ["don't I'll we've they're he'd I'm it's", "DON'T I'LL WE'VE", "don’t ‘quoted’ “double” non‑breaking", "'s", "''s", "'ſ", "'Ll",
              "x'", "'", "''", "'re're", "rock'n'roll", "a'b", "l'été", "1's 2's"]
    texts += ["123", "1234567", "3.14159 1,000,000 1e-5", "a1b2", "٠١٢٣٤ ५६७ ௧௨", "½¾ Ⅻ ①", "12 345", " 42", "007", "x²+y³", "2️⃣0️⃣"]
    texts += ["...", "!?!?", "a.b,c;d:e", "--- *** ===", "(a)[b]{c}<d>", "#$%^&*+=|~`\\/_@", "$5 £6 €7 ¥8", "«a» „b“ ‚c‘ ‹d›", "…—–‐‑‒", "¡¿§¶†‡•",
              "_a_b_", "http://ex.org/a?b=c&d=e#f", "me@ex.org", "C:\\x\\y", "a+b=c", "``quoted''", "\u166d\u2e52\u061d\U00011b00"]
    texts += ["a b  c   d    e", "a \n b", "a\n\nb\n\n\nc", " \n \n ", "\t\ta\t", "a\t\n\r\f\vb", "   \nword", "word   \n", "a \u00a0 b", " \u2003x",
              "def f(x):\n    return x\n\n\nclass A:\n\tpass\n", "line one\nline two\r\nline three"]
    texts += ["<s>", "</s>", "a<s>b", " <s> ", "<s><s>", "<unk>x", "<pad", "[CLS] a [SEP]", "[MASK]", "a [MASK] b", "[mask]", "[UNK][PAD]",
              "<mask>", "a <mask> b", "a  <mask>  b", "x<mask>y", "<|endoftext|>", "a<|endoftext|>\nb", "<|begin_of_text|>hi<|eot_id|>",
              "<<s>", "</ s>", "Hello<tag>world", "single tagged tag tags"]
    texts += ["a" * 99, "a" * 100, "a" * 101, "é" * 100, "é" * 101, "x" * 300, "ab" * 200, " " * 50, "\n" * 40, "中" * 60, "!" * 80, "9" * 50,
              "antidisestablishmentarianism", "Donaudampfschifffahrtsgesellschaft", "pneumono" * 20, "qzxj" * 30]
    return texts


LONG = {  # texts of a million bytes that both sides make for themselves
    "same_letter": lambda: "a" * 1_000_000,
    "letters": lambda: "".join(chr(97 + n % 26) for n in generator(1_000_000)),
    "ideographs": lambda: "".join(chr(0x4E00 + n % 5000) for n in generator(333_333)),
    "signs": lambda: "".join("!?.,;:-*#"[n % 9] for n in generator(1_000_000)),
    "spaces": lambda: " " * 1_000_000,
}


def generator(count):
    state = 12345
    for _ in range(count):
        state = (state * 1103515245 + 12345) % 2**31
        yield state >> 16


# ---- small tokenizers ------------------------------------------------------------------------------------------------

def train():
    book = [str(FIXTURES / "book.txt")]
    wp = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    wp.normalizer = normalizers.BertNormalizer()
    wp.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    wp.train(book, trainers.WordPieceTrainer(vocab_size=3000, special_tokens=specials, show_progress=False))
    wp.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    wp.decoder = decoders.WordPiece()
    save(wp, "wordpiece")
    files = FIXTURES / "wordpiece-files"
    files.mkdir(exist_ok=True)
    vocab = sorted(wp.get_vocab().items(), key=lambda kv: kv[1])
    (files / "vocab.txt").write_text("".join(f"{token}\n" for token, _ in vocab))
    write(files / "tokenizer_config.json", {"tokenizer_class": "BertTokenizer", "do_lower_case": False, "strip_accents": True})

    llama = Tokenizer(models.BPE(ignore_merges=True))
    llama.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(LLAMA3), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    llama.decoder = decoders.ByteLevel()
    llama.train(book, trainers.BpeTrainer(vocab_size=2500, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
                                          show_progress=False))
    llama.add_special_tokens(["<|begin_of_text|>", "<|end_of_text|>", "<|eot_id|>"])
    llama.post_processor = processors.Sequence([
        processors.ByteLevel(trim_offsets=True, add_prefix_space=False),
        processors.TemplateProcessing(single="<|begin_of_text|> $A", pair="<|begin_of_text|> $A <|begin_of_text|>:1 $B:1",
                                      special_tokens=[("<|begin_of_text|>", llama.token_to_id("<|begin_of_text|>"))])])
    save(llama, "llama3")

    train_sentence_piece(book)
    for name, specials, config in (
            ("gpt2-files", ["<|endoftext|>"], None),
            ("roberta-files", ["<s>", "<pad>", "</s>", "<unk>", "<mask>"],
             {"tokenizer_class": "RobertaTokenizer", "add_prefix_space": True})):
        t = Tokenizer(models.BPE())
        t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        t.train(book, trainers.BpeTrainer(vocab_size=2000, special_tokens=specials, show_progress=False,
                                          initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
        (FIXTURES / name).mkdir(exist_ok=True)
        t.model.save(str(FIXTURES / name))
        if config:
            write(FIXTURES / name / "tokenizer_config.json", config)


RULES = {  # what SentencePiece's table of replacements is asked for; its own (NFKC and more) has 200 kB
    "\t": " ", "\n": " ", "\r": " ", "\u3000": " ", "\u00a0": " ", "\u200b": "", "\u00ad": "", "\ufb01": "fi", "\u2026": "...",
    "\u2122": "TM", "\u00bd": "1\u20442", "e\u0301": "\u00e9", "A\u030a": "\u00c5", "\uff21": "A", "\uff01": "!", "\u2460": "1",
    "\uff76": "\u30ab", "\uff76\uff9e": "\u30ac", "s\u0323\u0307": "\u1e69", "\u1100\u1161": "\uac00", "\u0301": "", "\u0323": "."}


def charsmap():
    """The rules above as SentencePiece compiles them, in base64."""
    import base64
    import tempfile
    import sentencepiece
    with tempfile.TemporaryDirectory() as folder:
        rules = pathlib.Path(folder) / "rules.tsv"
        points = lambda text: " ".join(f"{ord(c):X}" for c in text)
        rules.write_text("".join(f"{points(a)}\t{points(b)}\n" for a, b in RULES.items()))
        sentencepiece.SentencePieceTrainer.train(
            input=str(FIXTURES / "book.txt"), model_prefix=folder + "/m", vocab_size=200, hard_vocab_limit=False,
            normalization_rule_tsv=str(rules), minloglevel=2)
        model = (pathlib.Path(folder) / "m.model").read_bytes()
    return base64.b64encode(message_field(message_field(model, 3), 2)).decode()  # normalizer_spec.precompiled_charsmap


def message_field(message, wanted):
    """The last length-delimited field of that number in a protocol buffer."""
    def number(at):
        value = shift = 0
        while True:
            value |= (message[at] & 127) << shift
            shift, at = shift + 7, at + 1
            if message[at - 1] < 128:
                return value, at

    at, found = 0, None
    while at < len(message):
        key, at = number(at)
        if key & 7 == 0:
            _, at = number(at)
        elif key & 7 == 2:
            size, at = number(at)
            if key >> 3 == wanted:
                found = message[at:at + size]
            at += size
        else:
            at += 8 if key & 7 == 1 else 4
    return found


def train_sentence_piece(book):
    """T5's and XLM-R's kind, the same with bytes for what is unknown, and Llama 2's BPE."""
    import base64
    unigram = Tokenizer(models.Unigram())
    unigram.normalizer = normalizers.Sequence([normalizers.Precompiled(base64.b64decode(charsmap())),
                                               normalizers.Replace(Regex(" {2,}"), " ")])
    unigram.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
    unigram.decoder = decoders.Metaspace()
    unigram.train(book, trainers.UnigramTrainer(vocab_size=1500, special_tokens=["<pad>", "</s>", "<unk>"], unk_token="<unk>",
                                                show_progress=False))
    unigram.post_processor = processors.TemplateProcessing(single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 1)])
    save(unigram, "unigram")

    state = json.loads(unigram.to_str())
    pieces = [p for p in state["model"]["vocab"] if p[0] not in ("<pad>", "</s>", "<unk>")]
    vocab = [["<unk>", 0.0], ["<s>", 0.0], ["</s>", 0.0], *([f"<0x{b:02X}>", 0.0] for b in range(256)), *pieces[:900]]
    lowest = min(score for _, score in vocab)
    vocab = [[piece, score if score < 0 or not piece.startswith("<0x") else lowest] for piece, score in vocab]
    special = lambda i, content: {"id": i, "content": content, "single_word": False, "lstrip": False, "rstrip": False,
                                  "normalized": False, "special": True}
    state = {"version": "1.0", "truncation": None, "padding": None,
             "added_tokens": [special(i, c) for i, c in enumerate(["<unk>", "<s>", "</s>"])], "normalizer": None,
             "pre_tokenizer": {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "first", "split": False},
             "post_processor": None, "decoder": {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "first", "split": False},
             "model": {"type": "Unigram", "unk_id": 0, "vocab": vocab, "byte_fallback": True}}
    save(Tokenizer.from_str(json.dumps(state)), "unigram-bytes")

    bpe = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    bpe.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
    bpe.decoder = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse()])
    bpe.train(book, trainers.BpeTrainer(vocab_size=1800, show_progress=False,
                                        special_tokens=["<unk>", "<s>", "</s>", *(f"<0x{b:02X}>" for b in range(256))]))
    # The bytes are pieces of the vocabulary, not strings that are cut out of a text.
    state = json.loads(bpe.to_str())
    state["added_tokens"] = state["added_tokens"][:3]
    save(Tokenizer.from_str(json.dumps(state)), "metaspace-bpe")


def save(tokenizer, name):
    (FIXTURES / name).mkdir(exist_ok=True)
    tokenizer.save(str(FIXTURES / name / "tokenizer.json"), pretty=False)


def write(path, value, indent=0):
    path.write_text(json.dumps(value, ensure_ascii=True, indent=indent) + "\n")


def reference_tokenizers():
    from transformers import BertTokenizerFast, GPT2TokenizerFast, RobertaTokenizerFast
    made = {"novella-7m": load(ROOT.parent / "models" / "novella-7m" / "tokenizer.json"),
            "wordpiece": load(FIXTURES / "wordpiece" / "tokenizer.json"),
            "llama3": load(FIXTURES / "llama3" / "tokenizer.json")}
    for name in ("unigram", "unigram-bytes", "metaspace-bpe"):
        made[name] = load(FIXTURES / name / "tokenizer.json")
    for name, cls in (("wordpiece-files", BertTokenizerFast), ("gpt2-files", GPT2TokenizerFast),
                      ("roberta-files", RobertaTokenizerFast)):
        made[name] = cls.from_pretrained(str(FIXTURES / name)).backend_tokenizer
    return made


# ---- single stages ---------------------------------------------------------------------------------------------------

def stages():
    """Tokenizers that show what one stage does: one token for each byte, so ids are the text behind the stage."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    probe = {"type": "BPE", "vocab": {c: i for i, c in enumerate(alphabet)}, "merges": []}
    bytes_only = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    last = len(alphabet)
    out = {}

    def add(name, normalizer=None, pre=None, post=None, model=probe, added=(), sweep=False, add_bytes=True):
        steps = (pre if isinstance(pre, list) else [pre] if pre else []) + ([bytes_only] if add_bytes else [])
        out[name] = (sweep, {
            "version": "1.0", "truncation": None, "padding": None, "added_tokens": list(added), "normalizer": normalizer,
            "pre_tokenizer": {"type": "Sequence", "pretokenizers": steps} if steps else None, "post_processor": post,
            "decoder": None, "model": model})

    for form in ("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents"):
        add(form, {"type": form}, sweep=True)
    bert = {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": True}
    add("bert", bert, sweep=True)
    add("bert cased", bert | {"lowercase": False})
    add("bert keeps accents", bert | {"strip_accents": False}, sweep=True)
    add("bert dirty", bert | {"clean_text": False, "handle_chinese_chars": False, "strip_accents": True})
    add("strip", {"type": "Strip", "strip_left": True, "strip_right": True})
    add("strip left", {"type": "Strip", "strip_left": True, "strip_right": False})
    add("prepend", {"type": "Prepend", "prepend": "▁"})
    add("replace", {"type": "Replace", "pattern": {"String": "``"}, "content": "\""})
    add("replace all", {"type": "Replace", "pattern": {"String": "a"}, "content": "🅰b"})
    add("replace spaces", {"type": "Replace", "pattern": {"Regex": r"\s+"}, "content": " "})
    add("replace vowels", {"type": "Replace", "pattern": {"Regex": "[aeiou]{2,}|^."}, "content": ""})
    add("normalizer sequence", {"type": "Sequence", "normalizers": [
        {"type": "NFKC"}, {"type": "Lowercase"}, {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
        {"type": "Prepend", "prepend": "▁"}]})

    for kind in ("Whitespace", "WhitespaceSplit", "BertPreTokenizer"):
        add(kind, pre={"type": kind}, sweep=True)
    add("digits", pre={"type": "Digits", "individual_digits": True}, sweep=True)
    add("digit runs", pre={"type": "Digits", "individual_digits": False})
    for behavior in ("Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"):
        add(f"punctuation {behavior}", pre={"type": "Punctuation", "behavior": behavior}, sweep=behavior == "Isolated")
        for invert in (False, True):
            add(f"split {behavior} {invert}", pre={"type": "Split", "pattern": {"Regex": r"\s|\p{Lu}"}, "behavior": behavior,
                                                  "invert": invert})
    add("split literal", pre={"type": "Split", "pattern": {"String": "a"}, "behavior": "MergedWithNext", "invert": False})
    for name, regex in (("llama3", LLAMA3), ("qwen2", QWEN2), ("gpt4o", GPT4O), ("words", r"\w+|[^\w\s]+"),
                        ("lines", r"^.*$"), ("look", r"(?<=\d)\d|\W(?=\s)|\h{4}"), ("empty", r"x*")):
        add(f"regex {name}", pre={"type": "Split", "pattern": {"Regex": regex}, "behavior": "Isolated", "invert": False},
            sweep=name in ("llama3", "qwen2"))
    gpt2 = bytes_only | {"use_regex": True}
    add("byte level", pre=gpt2, sweep=True, add_bytes=False)
    add("prefix space", pre=gpt2 | {"add_prefix_space": True}, add_bytes=False)
    add("prefix space at digits", pre=[{"type": "Digits", "individual_digits": False}, gpt2 | {"add_prefix_space": True}],
        add_bytes=False)
    add("split behind bytes", pre=[gpt2, {"type": "Split", "pattern": {"String": "Ġ"}, "behavior": "MergedWithNext",
                                          "invert": False}], add_bytes=False)

    trim = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}
    words = {"type": "BPE", "vocab": {c: i for i, c in enumerate(alphabet + ["Ġa", "ĠĠ", "Ċ" + "Ġ", "aĠ"])},
             "merges": [["Ġ", "a"], ["Ġ", "Ġ"], ["Ċ", "Ġ"], ["a", "Ġ"]]}
    add("trim offsets", pre=bytes_only | {"add_prefix_space": True}, post=trim, model=words, add_bytes=False)
    add("trim all", pre=bytes_only, post=trim | {"add_prefix_space": False}, model=words, add_bytes=False)
    add("bert template", pre=gpt2, post={"type": "BertProcessing", "sep": ["a", 3], "cls": ["b", 5]}, add_bytes=False)
    add("roberta template", pre=gpt2, post={"type": "RobertaProcessing", "sep": ["a", 3], "cls": ["b", 5], "trim_offsets": True,
                                            "add_prefix_space": False}, add_bytes=False)

    def token(number, content, **flags):
        base = {"id": last + number, "content": content, "single_word": False, "lstrip": False, "rstrip": False,
                "normalized": False, "special": True}
        return base | flags

    tags = [token(0, "<mask>", lstrip=True), token(1, "</s>", rstrip=True), token(2, "tag", single_word=True),
            token(3, "[MASK]", lstrip=True, rstrip=True), token(4, "<s>")]
    add("added tokens", pre=gpt2, added=tags, post=trim, add_bytes=False)
    normal = [token(0, "HELLO", normalized=True, special=False), token(1, "Don'T", normalized=True, special=False),
              token(2, "[MASK]"), token(3, "ÉTÉ", normalized=True, special=False, single_word=True)]
    add("normalized tokens", {"type": "Sequence", "normalizers": [{"type": "NFD"}, {"type": "Lowercase"}]}, pre=gpt2, added=normal,
        add_bytes=False)

    for scheme in ("always", "first", "never"):
        for split in (True, False):
            add(f"metaspace {scheme} {split}", pre={"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": split},
                sweep=scheme == "always" and split)
    add("metaspace of old", pre={"type": "Metaspace", "replacement": "_", "add_prefix_space": True})
    add("metaspace behind others",
        pre=[{"type": "WhitespaceSplit"}, {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": True}],
        added=[token(0, "<mask>", lstrip=True)])
    add("char delimiter", pre={"type": "CharDelimiterSplit", "delimiter": "e"})
    add("nmt", {"type": "Nmt"}, sweep=True)
    table = json.loads((FIXTURES / "unigram" / "tokenizer.json").read_text())["normalizer"]["normalizers"][0]
    add("precompiled", table, sweep=True)
    add("precompiled and lower case", {"type": "Sequence", "normalizers": [{"type": "NFD"}, table, {"type": "Lowercase"}]})
    add("word level", pre={"type": "Whitespace"}, add_bytes=False, model={
        "type": "WordLevel", "unk_token": "[U]", "vocab": {c: i for i, c in enumerate(["[U]", "a", "Hello", ",", "world", "123"])}})
    pieces = [["<unk>", 0.0], *([c, -3.0 - i / 8] for i, c in enumerate("abcdehlo nrst")), ["ab", -5.0], ["he", -4.0], ["hel", -5.5],
              ["lo", -4.5], ["llo", -6.0], ["aa", -6.0], ["aaa", -9.0], [" w", -4.25], ["é", -7.0]]
    add("unigram", model={"type": "Unigram", "unk_id": 0, "vocab": pieces, "byte_fallback": False}, add_bytes=False)
    add("unigram with some bytes", add_bytes=False, model={
        "type": "Unigram", "unk_id": 0, "vocab": pieces + [[f"<0x{b:02X}>", -20.0] for b in range(0x20, 0x100)], "byte_fallback": True})

    letters = {c: i for i, c in enumerate(["<unk>", *"abcdehlmnorst▁ ", "##a", "##b", "##e", "##l", "##o", "e</w>", "##e</w>",
                                           "##o</w>", "a</w>", "he", "hel", "▁a", "##lo</w>"])}
    merges = ["h ##e", "##l ##o</w>"]
    affixes = {"type": "BPE", "vocab": letters, "unk_token": "<unk>", "continuing_subword_prefix": "##",
               "end_of_word_suffix": "</w>", "fuse_unk": False, "byte_fallback": False, "merges": merges[:1] + merges[1:]}
    affixes["vocab"] = letters | {"##lo</w>": letters["##lo</w>"]}
    add("affixes", pre={"type": "WhitespaceSplit"}, model=affixes, add_bytes=False)
    add("fused unknown", pre={"type": "WhitespaceSplit"}, model=affixes | {"fuse_unk": True}, add_bytes=False)
    add("dropped unknown", pre={"type": "WhitespaceSplit"}, model={
        "type": "BPE", "vocab": {c: i for i, c in enumerate(["a", "b", "e", "ab"])}, "merges": ["a b"]}, add_bytes=False)
    fallback = ["<unk>", *(f"<0x{b:02X}>" for b in range(256)), "▁", "a", "t", "h", "e", "▁a", "th", "the", "▁the"]
    add("byte fallback", {"type": "Sequence", "normalizers": [
        {"type": "Prepend", "prepend": "▁"}, {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]},
        model={"type": "BPE", "vocab": {c: i for i, c in enumerate(fallback)}, "unk_token": "<unk>", "fuse_unk": True,
               "byte_fallback": True, "merges": ["▁ a", "t h", "th e", "▁ the"]}, add_bytes=False)
    add("bytes without alphabet", pre=gpt2, model={
        "type": "BPE", "vocab": {c: i for i, c in enumerate(["[U]", "a", "b", "Ġ", "Ã", "©", "Ã©"])}, "unk_token": "[U]",
        "merges": [["Ã", "©"]]}, add_bytes=False)
    # All of CLIP's: lower case, a Split that keeps what it matches, ends of words. No sweep: Rust lowers letters of Unicode 16.
    out["clip"] = (False, json.loads((FIXTURES.parent / "models" / "clip" / "tokenizer.json").read_text()))
    add("fixed length", pre={"type": "FixedLength", "length": 3})
    add("byte level normalizer", {"type": "ByteLevel"}, pre={"type": "FixedLength", "length": 4}, add_bytes=False)
    return out


PAIRS = [("Who asked?", "The nurse."), ("", "b"), ("a", ""), (" a ", " b "), ("don’t", "né ‘x’")]


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--train", action="store_true")
    args.add_argument("--books", type=pathlib.Path)
    args.add_argument("--treebank", type=pathlib.Path)
    args.add_argument("--sentence-encoder", type=pathlib.Path)
    args = args.parse_args()
    OUT.mkdir(exist_ok=True)
    if args.train:
        train()
    torture = torture_texts()
    write(OUT / "torture.json", torture)
    made = reference_tokenizers()
    old = json.loads((OUT / "digests.json").read_text()) if (OUT / "digests.json").exists() else {}
    if args.sentence_encoder:
        made["sentence-encoder"] = load(args.sentence_encoder / "tokenizer.json")
    elif "sentence-encoder" in old:
        made["sentence-encoder"] = None
    result = {}
    for name, t in made.items():
        if t is None:
            result[name] = old[name]
            continue
        sets = {"torture": digests(t, torture), "book.txt": digests(t, book_lines(FIXTURES / "book.txt"), GROUP)}
        sets["pairs"] = " ".join(digest([numbers(t.encode(a, b), a, b)]) for a, b in PAIRS)
        sets["long"] = " ".join(digest([numbers(t.encode(make()), make())]) for make in LONG.values())
        if args.books:
            for book in ("arthur-conan-doyle_the-hound-of-the-baskervilles.txt", "mary-shelley_frankenstein.txt",
                         "kenneth-grahame_the-wind-in-the-willows.txt"):
                sets["books/" + book] = digests(t, book_lines(args.books / book), GROUP)
        if args.treebank:
            sets["ud/" + args.treebank.name] = digests(t, treebank_sentences(args.treebank), GROUP)
        for key, value in old.get(name, {}).items():
            sets.setdefault(key, value)
        result[name] = sets
    write(OUT / "digests.json", result)
    rows = []
    sweep = list(sweep_texts())
    for name, (swept, description) in stages().items():
        t = Tokenizer.from_str(json.dumps(description))
        row = {"name": name, "tokenizer": description, "torture": digests(t, torture, 4)}
        if swept:
            row["sweep"] = digests(t, sweep, 64)
        if rows and description["model"]["vocab"] == rows[0]["tokenizer"]["model"]["vocab"]:
            row["tokenizer"]["model"] = dict(description["model"], vocab="alphabet")
        rows.append(row)
    (OUT / "stages.json").write_text("[\n" + ",\n".join(json.dumps(r) for r in rows) + "\n]\n")


if __name__ == "__main__":
    main()
