#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tiny classifiers in tests/fixtures/class_heads, and the class logits that transformers computes for them.

    python tests/golden/make_class_golden.py [--only NAME,…]

tests/golden/class_heads.f32.safetensors and .f64: of each model "NAME.ids" and "NAME.logits" ([class] of a sequence classifier,
[token, class] of a token classifier, [token, 2] of start and end, [1] of one of several choices). Encoder-decoder models read the same
text as source and, shifted, as target. Classifiers of pictures have "NAME.pixels" ([colour, y, x]) in place of ids. Weights and precisions: see make_golden.py.
"""
import argparse
import json
import pathlib
import shutil

import torch
import transformers as T
from safetensors.torch import load_file, save_file

import decoders
import encoder_decoders
import make_golden

MODELS = make_golden.ROOT / "fixtures" / "class_heads"
GOLDEN = make_golden.GOLDEN
F64 = torch.float64
VOCAB, CLASSES = 24, 3
NAMES = {0: "NEGATIVE", 1: "neutral", 2: "POSITIVE"}
TAGS = {0: "O", 1: "B-PER", 2: "I-PER"}

wide = dict(hidden_size=8, num_hidden_layers=2, num_attention_heads=2, intermediate_size=12, max_position_embeddings=40)
gpt = dict(n_embd=8, n_layer=2, n_head=2, n_positions=40)
kv = dict(wide, num_key_value_heads=1, head_dim=4)
ENCODER = dict(bos_token_id=2, eos_token_id=3, pad_token_id=0)
DECODER = dict(bos_token_id=1, eos_token_id=2, pad_token_id=3)
t5 = dict(d_model=8, d_kv=4, d_ff=12, num_layers=2, num_heads=2, eos_token_id=2, pad_token_id=3, decoder_start_token_id=3)
bart = dict(d_model=8, encoder_layers=2, decoder_layers=2, encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=12,
            decoder_ffn_dim=12, max_position_embeddings=40, decoder_start_token_id=2, forced_eos_token_id=2)
alternating = dict(layer_types=["full_attention", "sliding_attention"], sliding_window=4)

# name: (class, config class, fields). Names with a tokenizer (TOKENIZED) have its vocabulary.
TINY = {
    "bert": (T.BertForSequenceClassification, T.BertConfig, wide),
    "bert-token": (T.BertForTokenClassification, T.BertConfig, wide),
    "bert-answer": (T.BertForQuestionAnswering, T.BertConfig, wide),
    "roberta": (T.RobertaForSequenceClassification, T.RobertaConfig, dict(wide, problem_type="multi_label_classification")),
    "roberta-token": (T.RobertaForTokenClassification, T.RobertaConfig, wide),
    "roberta-answer": (T.RobertaForQuestionAnswering, T.RobertaConfig, wide),
    "xlm-roberta": (T.XLMRobertaForSequenceClassification, T.XLMRobertaConfig, dict(wide, num_labels=1)),
    "xlm-roberta-token": (T.XLMRobertaForTokenClassification, T.XLMRobertaConfig, wide),
    "distilbert": (T.DistilBertForSequenceClassification, T.DistilBertConfig,
                   dict(dim=8, n_layers=2, n_heads=2, hidden_dim=12, max_position_embeddings=40)),
    "distilbert-token": (T.DistilBertForTokenClassification, T.DistilBertConfig,
                         dict(dim=8, n_layers=2, n_heads=2, hidden_dim=12, max_position_embeddings=40)),
    "distilbert-answer": (T.DistilBertForQuestionAnswering, T.DistilBertConfig,
                          dict(dim=8, n_layers=2, n_heads=2, hidden_dim=12, max_position_embeddings=40)),
    "albert": (T.AlbertForSequenceClassification, T.AlbertConfig, dict(wide, embedding_size=4)),
    "albert-token": (T.AlbertForTokenClassification, T.AlbertConfig, dict(wide, embedding_size=4)),
    "electra": (T.ElectraForSequenceClassification, T.ElectraConfig, dict(wide, embedding_size=6)),
    "electra-token": (T.ElectraForTokenClassification, T.ElectraConfig, dict(wide, embedding_size=6)),
    "deberta-v2": (T.DebertaV2ForSequenceClassification, T.DebertaV2Config,
                   dict(wide, relative_attention=True, position_buckets=6, max_relative_positions=16, share_att_key=True,
                        norm_rel_ebd="layer_norm", pos_att_type=["p2c", "c2p"], position_biased_input=False)),
    "deberta-v2-token": (T.DebertaV2ForTokenClassification, T.DebertaV2Config, dict(wide, type_vocab_size=0)),
    "modernbert": (T.ModernBertForSequenceClassification, T.ModernBertConfig, dict(wide, classifier_pooling="cls")),
    "modernbert-mean": (T.ModernBertForSequenceClassification, T.ModernBertConfig, dict(wide, classifier_pooling="mean")),
    "modernbert-token": (T.ModernBertForTokenClassification, T.ModernBertConfig, wide),
    "modernbert-answer": (T.ModernBertForQuestionAnswering, T.ModernBertConfig, wide),
    "nomic-bert": (T.NomicBertForSequenceClassification, T.NomicBertConfig, wide),
    "gpt2": (T.GPT2ForSequenceClassification, T.GPT2Config, gpt),
    "gpt2-token": (T.GPT2ForTokenClassification, T.GPT2Config, gpt),
    "gpt2-answer": (T.GPT2ForQuestionAnswering, T.GPT2Config, gpt),
    "bloom": (T.BloomForSequenceClassification, T.BloomConfig, dict(hidden_size=8, n_layer=2, n_head=2)),
    "bloom-token": (T.BloomForTokenClassification, T.BloomConfig, dict(hidden_size=8, n_layer=2, n_head=2)),
    "opt": (T.OPTForSequenceClassification, T.OPTConfig,
            dict(hidden_size=8, num_hidden_layers=2, num_attention_heads=2, ffn_dim=12, max_position_embeddings=40)),
    # As OPT-350M: the classifier reads the narrower output.
    "opt-narrow": (T.OPTForSequenceClassification, T.OPTConfig,
                   dict(hidden_size=8, num_hidden_layers=2, num_attention_heads=2, ffn_dim=12, max_position_embeddings=40,
                        word_embed_proj_dim=4, do_layer_norm_before=False)),
    "gpt-neo": (T.GPTNeoForSequenceClassification, T.GPTNeoConfig,
                dict(hidden_size=8, num_layers=2, num_heads=2, max_position_embeddings=40, window_size=4, intermediate_size=12,
                     attention_types=[[["global", "local"], 1]])),
    "gptj": (T.GPTJForSequenceClassification, T.GPTJConfig, dict(gpt, rotary_dim=4)),
    "gpt-neox": (T.GPTNeoXForSequenceClassification, T.GPTNeoXConfig, dict(wide, rotary_pct=0.5)),
    "gpt-bigcode": (T.GPTBigCodeForSequenceClassification, T.GPTBigCodeConfig, gpt),
    "falcon": (T.FalconForSequenceClassification, T.FalconConfig,
               dict(hidden_size=8, num_hidden_layers=2, num_attention_heads=2, ffn_hidden_size=12)),
    "mpt": (T.MptForSequenceClassification, T.MptConfig, dict(d_model=8, n_layers=2, n_heads=2, expansion_ratio=4, max_seq_len=40)),
    "llama": (T.LlamaForSequenceClassification, T.LlamaConfig, kv),
    "llama-token": (T.LlamaForTokenClassification, T.LlamaConfig, kv),
    "llama-answer": (T.LlamaForQuestionAnswering, T.LlamaConfig, kv),
    "mistral": (T.MistralForSequenceClassification, T.MistralConfig, dict(kv, sliding_window=4)),
    "qwen2": (T.Qwen2ForSequenceClassification, T.Qwen2Config, dict(kv, tie_word_embeddings=True)),
    "qwen3": (T.Qwen3ForSequenceClassification, T.Qwen3Config, dict(kv, tie_word_embeddings=True, num_labels=1)),
    "gemma": (T.GemmaForSequenceClassification, T.GemmaConfig, kv),
    # The cap is the language head's alone.
    "gemma2": (T.Gemma2ForSequenceClassification, T.Gemma2Config,
               dict(kv, **alternating, final_logit_softcapping=0.5, attn_logit_softcapping=5.0, query_pre_attn_scalar=7)),
    "gemma3": (T.Gemma3TextForSequenceClassification, T.Gemma3TextConfig, dict(kv, **alternating, query_pre_attn_scalar=7)),
    "phi": (T.PhiForSequenceClassification, T.PhiConfig, wide),
    "phi3": (T.Phi3ForSequenceClassification, T.Phi3Config, dict(wide, num_key_value_heads=1)),
    "stablelm": (T.StableLmForSequenceClassification, T.StableLmConfig, dict(wide, num_key_value_heads=1, partial_rotary_factor=0.5)),
    "mixtral": (T.MixtralForSequenceClassification, T.MixtralConfig, dict(kv, num_local_experts=3, num_experts_per_tok=2)),
    "smollm3": (T.SmolLM3ForSequenceClassification, T.SmolLM3Config, dict(wide, num_key_value_heads=1)),
    "bart": (T.BartForSequenceClassification, T.BartConfig, bart),
    "bart-answer": (T.BartForQuestionAnswering, T.BartConfig, bart),
    "t5": (T.T5ForSequenceClassification, T.T5Config, t5),
    "t5-answer": (T.T5ForQuestionAnswering, T.T5Config, t5),
    "umt5": (T.UMT5ForSequenceClassification, T.UMT5Config, t5),
    "umt5-answer": (T.UMT5ForQuestionAnswering, T.UMT5Config, t5),
    "deberta": (T.DebertaForSequenceClassification, T.DebertaConfig,
                dict(wide, relative_attention=True, pos_att_type=["p2c", "c2p"], position_biased_input=False)),
    "deberta-token": (T.DebertaForTokenClassification, T.DebertaConfig, wide),
    "deberta-answer": (T.DebertaForQuestionAnswering, T.DebertaConfig, dict(wide, type_vocab_size=2)),
    "bert-choice": (T.BertForMultipleChoice, T.BertConfig, wide),
    "roberta-choice": (T.RobertaForMultipleChoice, T.RobertaConfig, wide),
    "albert-choice": (T.AlbertForMultipleChoice, T.AlbertConfig, dict(wide, embedding_size=4)),
    "electra-choice": (T.ElectraForMultipleChoice, T.ElectraConfig, dict(wide, embedding_size=6)),
    "distilbert-choice": (T.DistilBertForMultipleChoice, T.DistilBertConfig,
                          dict(dim=8, n_layers=2, n_heads=2, hidden_dim=12, max_position_embeddings=40)),
    "deberta-v2-choice": (T.DebertaV2ForMultipleChoice, T.DebertaV2Config, dict(wide, type_vocab_size=0)),
    "modernbert-choice": (T.ModernBertForMultipleChoice, T.ModernBertConfig, dict(wide, classifier_pooling="mean")),
    "mpnet-choice": (T.MPNetForMultipleChoice, T.MPNetConfig, wide),
    "mbart": (T.MBartForSequenceClassification, T.MBartConfig, bart),
    "mbart-answer": (T.MBartForQuestionAnswering, T.MBartConfig, bart),
    "t5-token": (T.T5ForTokenClassification, T.T5Config, t5),
    "umt5-token": (T.UMT5ForTokenClassification, T.UMT5Config, t5),
}
# Classifiers that read several rows of a picture, and its height and width.
COMMON = dict(hidden_size=8, num_hidden_layers=2, num_attention_heads=2, intermediate_size=12)
DINO = dict(hidden_size=8, num_hidden_layers=2, num_attention_heads=2, mlp_ratio=2, image_size=16, patch_size=4)
SMALL = dict(text_config=dict(COMMON, vocab_size=40, max_position_embeddings=8), vision_config=dict(COMMON, image_size=16, patch_size=4))
PICTURES = {
    "clip-picture": (T.CLIPForImageClassification, T.CLIPConfig, SMALL, (16, 16)),
    "siglip-picture": (T.SiglipForImageClassification, T.SiglipConfig, SMALL, (16, 16)),
    # Positions of 4 x 4 patches, pictures of 3 x 5.
    "dinov2-picture": (T.Dinov2ForImageClassification, T.Dinov2Config, DINO, (12, 20)),
    "dinov2-registers-picture": (T.Dinov2WithRegistersForImageClassification, T.Dinov2WithRegistersConfig,
                                 dict(DINO, num_register_tokens=2), (16, 16)),
}
TOKENIZED = ("bert", "bert-token", "bert-answer", "modernbert-mean", "gpt2", "bart", "bert-choice", "mbart")
ENCODERS = ("Bert", "Roberta", "Albert", "Electra", "Deberta")


def is_encoder(kind):
    return any(name in kind.__name__ for name in ENCODERS)


def make_tiny(name, seed):
    kind, config_kind, fields = TINY[name]
    encoder = is_encoder(kind)
    tokenizer, vocab = None, VOCAB
    if name in TOKENIZED:
        tokenizer, vocab = make_golden.wordpiece_tokenizer() if encoder else make_golden.byte_level_tokenizer(False)
    special = {} if "eos_token_id" in fields else ENCODER if encoder else DECODER
    if "Roberta" in kind.__name__:
        special = dict(bos_token_id=2, eos_token_id=3, pad_token_id=1)
    labels = {} if any(name in kind.__name__ for name in ("QuestionAnswering", "MultipleChoice")) else dict(id2label=TAGS if "Token" in kind.__name__ else NAMES)
    if "num_labels" in fields:
        labels = {}
    elif name == "mistral":  # without names, and another number than the two that are not written
        labels = dict(num_labels=CLASSES)
    if labels.get("id2label"):
        labels["label2id"] = {v: k for k, v in labels["id2label"].items()}
    config = config_kind(vocab_size=vocab, **special, **labels, **fields)
    torch.manual_seed(seed)
    model = kind(config)
    make_golden.randomise(model, seed)
    model.tie_weights()
    folder = MODELS / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    model.save_pretrained(folder)
    for extra in folder.glob("generation_config.json"):
        extra.unlink()
    if tokenizer:
        if name in ("bart", "mbart"):
            from tokenizers import processors
        if name == "mbart":  # <s> stands for the language
            tokenizer.post_processor = processors.TemplateProcessing("$A </s> <s>", "$A </s> $B </s> <s>", [("<s>", 1), ("</s>", 2)])
        if name == "bart":
            tokenizer.post_processor = processors.TemplateProcessing("<s> $A </s>", "<s> $A </s> </s> $B </s>",
                                                                     [("<s>", 1), ("</s>", 2)])
        tokenizer.save(str(folder / "tokenizer.json"))
    print(name, sum(f.stat().st_size for f in folder.iterdir()))


def make_picture_classifier(name, seed):
    kind, config_kind, fields, (height, width) = PICTURES[name]
    torch.manual_seed(seed)
    model = kind(config_kind(**fields, id2label=NAMES, label2id={v: k for k, v in NAMES.items()}))
    make_golden.randomise(model, seed)
    folder = MODELS / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    model.save_pretrained(folder)
    size = dict(height=height, width=width)
    plan = dict(image_processor_type="ViTImageProcessor", do_resize=True, size=size, resample=2, do_rescale=True, do_normalize=True,
                rescale_factor=1 / 255, image_mean=[0.5, 0.5, 0.5], image_std=[0.5, 0.5, 0.5])
    (folder / "preprocessor_config.json").write_text(json.dumps(plan, indent=2) + "\n")
    print(name, sum(f.stat().st_size for f in folder.iterdir()))


@torch.no_grad()
def classes_of_picture(name, seed, dtype):
    kind, _, _, (height, width) = PICTURES[name]
    model = kind.from_pretrained(MODELS / name, attn_implementation="eager", dtype=dtype).eval()
    pixels = torch.randn((3, height, width), generator=torch.Generator().manual_seed(seed))
    make_golden.set_precision(dtype == F64)
    with decoders.lifted(model, dtype == F64):
        logits = model(pixel_values=pixels.to(dtype)[None]).logits[0]
    make_golden.set_precision(False)
    return pixels, logits.to(dtype).contiguous()


def ids_of(name, config):
    """Every position of a kind: [CLS] … [SEP] of encoders; padding behind a decoder's text, which does not count; an end token."""
    n = 9
    text = [4 + (7 * i * i + 3 * i) % (config.vocab_size - 4) if config.vocab_size < 40 else 6 + (11 * i) % 50 for i in range(n)]
    if is_encoder(TINY[name][0]):
        return [2] + text + [3]
    if "MBart" in TINY[name][0].__name__:
        return text + [2, 1]
    if config.is_encoder_decoder:
        return [1] + text + [2]
    padded = "Sequence" in TINY[name][0].__name__ and config.pad_token_id is not None
    return text + [config.pad_token_id] * 2 if padded else text


@torch.no_grad()
def logits_of(name, dtype):
    kind = TINY[name][0]
    eager = {"experts_implementation": "eager"} if name == "mixtral" else {}
    model = kind.from_pretrained(MODELS / name, attn_implementation="eager", dtype=dtype, **eager).eval()
    ids = ids_of(name, model.config)
    make_golden.set_precision(dtype == F64)
    with decoders.lifted(model, dtype == F64), encoder_decoders.buckets_in_float32():
        rows = torch.tensor([ids])
        if "MultipleChoice" in kind.__name__:  # one of them
            outputs = model(input_ids=rows[None], attention_mask=torch.ones_like(rows)[None])
        else:
            outputs = model(input_ids=rows)
    make_golden.set_precision(False)
    logits = torch.stack((outputs.start_logits[0], outputs.end_logits[0]), 1) if hasattr(outputs, "start_logits") else outputs.logits[0]
    return ids, logits.to(dtype).contiguous()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only")
    only = parser.parse_args().only
    only = only and only.split(",")
    torch.set_num_threads(1)
    for precision, dtype in (("f32", torch.float32), ("f64", F64)):
        path = GOLDEN / f"class_heads.{precision}.safetensors"
        tensors = load_file(path) if only else {}
        for seed, name in enumerate(TINY):
            if only and name not in only:
                continue
            if precision == "f32":
                make_tiny(name, 4000 + seed)
            ids, logits = logits_of(name, dtype)
            tensors[name + ".ids"], tensors[name + ".logits"] = torch.tensor(ids), logits
        for seed, name in enumerate(PICTURES):
            if only and name not in only:
                continue
            if precision == "f32":
                make_picture_classifier(name, 4900 + seed)
            tensors[name + ".pixels"], tensors[name + ".logits"] = classes_of_picture(name, 4900 + seed, dtype)
        save_file(tensors, path)


if __name__ == "__main__":
    main()
