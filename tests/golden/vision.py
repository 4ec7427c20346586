# SPDX-License-Identifier: GPL-3.0-or-later
"""Models that read pictures: tiny ones, their hooks, and how Pillow scales a picture. Called by make_golden.py; needs Pillow.

Pictures are made here: shapes and ramps of colour, so that every patch differs. A classifier reads the class token; here it
is applied to every position (Vilas et al. 2023, "Analyzing Vision Transformers for Image Classification in Class Embedding
Space"), and its first row must be what the model answers.
"""
import json
import math
import shutil

import numpy as np
import tokenizers
import torch
import transformers as T
from PIL import Image, ImageDraw, ImageOps
from safetensors.torch import save_file
from tokenizers import decoders as token_decoders, models, normalizers, pre_tokenizers, processors

from decoders import lifted

LABELS = ["cat", "dog", "crane", "crane", "golden retriever", "tabby, tabby cat", "r1c1"]
COMMON = dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=4, intermediate_size=24)
# name: (class, config, image processor, its fields, picture, dtype on disk)
TINY = {
    # Not square, so that rows are not mistaken for columns; the picture has the model's size.
    "vit": (T.ViTForImageClassification, T.ViTConfig, dict(COMMON, image_size=[24, 32], patch_size=8), "ViTImageProcessor",
            dict(size=dict(height=24, width=32)), "shapes.png", "float32"),
    "vit-base": (T.ViTModel, T.ViTConfig, dict(COMMON, image_size=16, patch_size=4, qkv_bias=False, hidden_act="gelu_new"),
                 "ViTImageProcessor", dict(size=dict(height=16, width=16)), "scene.png", "float16"),
    "deit": (T.DeiTForImageClassificationWithTeacher, T.DeiTConfig, dict(COMMON, image_size=32, patch_size=8, hidden_act="quick_gelu"),
             "DeiTImageProcessor", dict(size=dict(height=40, width=40), crop_size=dict(height=32, width=32)), "scene.png",
             "float32"),
}
DINO = dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=4, mlp_ratio=2)
# Added later; what stands in the table above says which seeds these get.
TINY |= {
    # Positions of 6 x 6 patches, pictures of 5 x 4.
    "dinov2": (T.Dinov2Model, T.Dinov2Config, dict(DINO, image_size=24, patch_size=4), "BitImageProcessor",
               dict(size=dict(shortest_edge=22), crop_size=dict(height=20, width=16)), "scene.png", "float32"),
    # As the largest: a gated MLP of two thirds; the positions fit.
    "dinov2-gated": (T.Dinov2Model, T.Dinov2Config,
                     dict(DINO, num_attention_heads=2, image_size=16, patch_size=4, use_swiglu_ffn=True, qkv_bias=False),
                     "BitImageProcessor", dict(size=dict(shortest_edge=16), crop_size=dict(height=16, width=16)), "scene.png",
                     "float16"),
    "dinov2-registers": (T.Dinov2WithRegistersModel, T.Dinov2WithRegistersConfig,
                         dict(DINO, image_size=28, patch_size=4, num_register_tokens=3), "BitImageProcessor",
                         dict(size=dict(shortest_edge=24), crop_size=dict(height=16, width=24)), "scene.png", "float32"),
    "siglip": (T.SiglipModel, T.SiglipConfig,
               dict(text_config=dict(COMMON, vocab_size=40, max_position_embeddings=8),
                    vision_config=dict(COMMON, image_size=24, patch_size=8)), "SiglipImageProcessor",
               dict(size=dict(height=24, width=24)), "scene.png", "float32"),
    # Pictures that are not square; as the small ones and the largest.
    "dinov3": (T.DINOv3ViTModel, T.DINOv3ViTConfig,
               dict(COMMON, hidden_size=32, num_register_tokens=2, image_size=16, patch_size=4), "DINOv3ViTImageProcessor",
               dict(size=dict(height=20, width=16)), "scene.png", "float32"),
    "dinov3-gated": (T.DINOv3ViTModel, T.DINOv3ViTConfig,
                     dict(COMMON, num_attention_heads=2, image_size=16, patch_size=4, use_gated_mlp=True, hidden_act="silu",
                          mlp_bias=False, rope_theta=20.0), "DINOv3ViTImageProcessor", dict(size=dict(height=16, width=16)),
                     "shapes.png", "float16"),
    # Sides that are no multiples of the patch's, as google/siglip-so400m-patch14-384 has: what is over is not read.
    "siglip-cut": (T.SiglipModel, T.SiglipConfig,
                   dict(text_config=dict(COMMON, vocab_size=40, max_position_embeddings=8),
                        vision_config=dict(COMMON, image_size=26, patch_size=8)), "SiglipImageProcessor",
                   dict(size=dict(height=26, width=26)), "scene.png", "float32"),
    "vit-cut": (T.ViTForImageClassification, T.ViTConfig, dict(COMMON, image_size=[27, 34], patch_size=8), "ViTImageProcessor",
                dict(size=dict(height=27, width=34)), "scene.png", "float32"),
    "dinov2-cut": (T.Dinov2Model, T.Dinov2Config, dict(DINO, image_size=26, patch_size=4), "BitImageProcessor",
                   dict(size=dict(shortest_edge=24), crop_size=dict(height=22, width=19)), "scene.png", "float32"),
}


def make_pictures(folder):
    folder.mkdir(parents=True, exist_ok=True)
    for name, width, height in (("shapes.png", 32, 24), ("scene.png", 97, 61)):
        x, y = np.meshgrid(np.arange(width), np.arange(height))
        ramp = np.stack([255 * x / width, 255 * y / height, 128 + 100 * np.sin(0.3 * x + 0.2 * y)], -1)
        image = Image.fromarray(ramp.astype(np.uint8))
        draw = ImageDraw.Draw(image)
        draw.ellipse([width * 0.1, height * 0.15, width * 0.45, height * 0.7], fill=(230, 60, 40))
        draw.rectangle([width * 0.55, height * 0.4, width * 0.85, height * 0.9], fill=(250, 240, 210), outline=(10, 10, 60))
        draw.line([0, height - 1, width, 0], fill=(20, 120, 60), width=2)
        image.save(folder / name, optimize=True)


def make_resampled(pictures, out):
    picture = Image.open(pictures / "scene.png")
    tensors = {"picture": torch.from_numpy(np.array(picture))}
    for number, filter in enumerate(("nearest", "lanczos", "bilinear", "bicubic", "box", "hamming")):
        for width, height in ((40, 40), (120, 66)) if filter in ("bilinear", "bicubic") else ((40, 31),):
            small = picture.resize((width, height), number)
            tensors[f"{number}.{width}x{height}"] = torch.from_numpy(np.array(small))
    save_file(tensors, out)


# What google/vit-base-patch16-224, facebook/deit-base-distilled-patch16-224, openai/clip-vit-base-patch32, facebook/dinov2-base,
# google/siglip-base-patch16-224 and facebook/dinov3-vitb16-pretrain-lvd1689m have in their folders.
PREPROCESSORS = {
    "vit": dict(do_normalize=True, do_resize=True, image_mean=[0.5, 0.5, 0.5], image_std=[0.5, 0.5, 0.5], size=224,
                image_processor_type="ViTImageProcessor"),
    "deit": dict(crop_size=224, do_center_crop=True, do_normalize=True, do_resize=True, feature_extractor_type="DeiTFeatureExtractor",
                 image_mean=[0.485, 0.456, 0.406], image_std=[0.229, 0.224, 0.225], resample=3, size=256),
    "clip": dict(crop_size=224, do_center_crop=True, do_normalize=True, do_resize=True, feature_extractor_type="CLIPFeatureExtractor",
                 image_mean=[0.48145466, 0.4578275, 0.40821073], image_std=[0.26862954, 0.26130258, 0.27577711], resample=3, size=224),
    "dinov2": dict(crop_size=dict(height=224, width=224), do_center_crop=True, do_convert_rgb=True, do_normalize=True, do_rescale=True,
                   do_resize=True, image_mean=[0.485, 0.456, 0.406], image_processor_type="BitImageProcessor",
                   image_std=[0.229, 0.224, 0.225], rescale_factor=1 / 255, resample=3, size=dict(shortest_edge=256)),
    "siglip": dict(do_normalize=True, do_rescale=True, do_resize=True, image_mean=[0.5, 0.5, 0.5],
                   image_processor_type="SiglipImageProcessor", image_std=[0.5, 0.5, 0.5], resample=3, rescale_factor=1 / 255,
                   size=dict(height=224, width=224)),
    "dinov3": dict(do_normalize=True, do_rescale=True, do_resize=True, image_mean=[0.485, 0.456, 0.406],
                   image_processor_type="DINOv3ViTImageProcessor", image_std=[0.229, 0.224, 0.225], resample=2, rescale_factor=1 / 255,
                   size=dict(height=224, width=224)),
}
PHOTO_STEP = 97  # of the pixels, one in so many is kept: 97 meets every row and column


def photo(width, height):
    """A sky that fades, a ridge, a fine grid that would alias, grain. tests/model/run/picture_test.cpp draws the same."""
    x, y = np.meshgrid(np.arange(width, dtype=np.uint32), np.arange(height, dtype=np.uint32))
    grain = x * np.uint32(73856093) ^ y * np.uint32(19349663)
    grain = (grain ^ grain >> np.uint32(13)) * np.uint32(1274126177)
    grain = (grain ^ grain >> np.uint32(16)) & np.uint32(31)
    ridge = height // 2 + np.abs((x % 128).astype(np.int64) - 64) // 2
    grid = (x > width // 3 * 2) & (y > height // 3 * 2)
    rgb = []
    for colour in range(3):
        value = np.where(y.astype(np.int64) < ridge, 224 - 60 * colour * y // height, 30 + 25 * colour) + grain
        rgb.append(np.where(grid, 255 * ((x // (2 + colour) + y // 3) & 1), value))
    return np.stack(rgb, -1).astype(np.uint8)


def make_processed(out):
    """Photographs through the processors of three models that people have."""
    tensors = {}
    for name, fields in PREPROCESSORS.items():
        kind = fields.get("image_processor_type", fields.get("feature_extractor_type", "").replace("FeatureExtractor", "ImageProcessor"))
        processor = processor_class(kind).from_dict(fields)
        for width, height in ((640, 427), (375, 500), (150, 113)):
            pixels = processor(Image.fromarray(photo(width, height)), return_tensors="pt")["pixel_values"][0]
            assert pixels.shape == (3, 224, 224), pixels.shape
            tensors[f"{name}.{width}x{height}"] = pixels.flatten()[::PHOTO_STEP].clone()
    save_file(tensors, out, {"preprocessor." + name: json.dumps(fields) for name, fields in PREPROCESSORS.items()})


def make_jpeg(pictures, out):
    """A JPEG that lies on its side, as cameras write it (Exif orientation 6, colours at half the size), and its pixels upright."""
    image = Image.open(pictures / "scene.png").convert("RGB")
    exif = Image.Exif()
    exif[0x0112] = 6
    image.save(pictures / "turned.jpg", quality=90, subsampling="4:2:0", exif=exif)
    upright = ImageOps.exif_transpose(Image.open(pictures / "turned.jpg")).convert("RGB")
    save_file({"picture": torch.from_numpy(np.array(upright))}, out)


def encoder(g, r, layers, attentions, heads, d, names, tokens, causal=False, turn=None):
    """Pre-norm blocks. names(layer): (norm before attention, attention, norm before the MLP, MLP). Layer scale counts to the
    matrix and the bias before it."""
    for i, b in enumerate(layers):
        n = f"blocks.{i}."
        ln1, a, ln2, mlp = names(b)
        out = a.o_proj if hasattr(a, "o_proj") else a.out_proj
        scales = [getattr(b, f"layer_scale{j}", None) for j in (1, 2)]
        scale = 1 if scales[0] is None else scales[0].lambda1
        g[n + "hook_resid_pre"] = r.into(ln1)
        g.norm(n + "ln1", ln1, r)
        q, k, v = (r.out_of(m).view(tokens, heads, d) for m in (a.q_proj, a.k_proj, a.v_proj))
        g[n + "attn.hook_q"], g[n + "attn.hook_k"], g[n + "attn.hook_v"] = q, k, v
        if turn:
            q, k = turn(q), turn(k)
            g[n + "attn.hook_rot_q"], g[n + "attn.hook_rot_k"] = q, k
        g.attention(n, q, k, v, r.into(out).view(tokens, heads, d), attentions[i][0], 1 / math.sqrt(d), out.weight.T * scale,
                    out.bias * scale, r.out_of(out if scales[0] is None else scales[0]), causal=causal)
        g[n + "hook_resid_mid"] = r.into(ln2)
        g.norm(n + "ln2", ln2, r)
        gated = hasattr(mlp, "gate_proj")
        last = mlp.down_proj if hasattr(mlp, "down_proj") else mlp.fc2
        g[n + "mlp.hook_pre"] = r.out_of(mlp.gate_proj if gated else mlp.fc1 if hasattr(mlp, "fc1") else mlp.up_proj)
        if gated:
            g[n + "mlp.hook_pre_linear"] = r.out_of(mlp.up_proj)
        g[n + "mlp.hook_post"] = r.into(last)
        g[n + "hook_mlp_out"] = r.out_of(last if scales[1] is None else scales[1])
        g[n + "hook_resid_post"] = r.out_of(b)


def vit(g, model, r, outputs):
    c = model.config
    t = next((getattr(model, n) for n in ("vit", "deit") if hasattr(model, n)), model)
    e = t.embeddings
    tokens = e.position_embeddings.shape[1]
    rows = [e.cls_token[0]] + ([e.distillation_token[0]] if hasattr(e, "distillation_token") else [])
    g["hook_embed"] = torch.cat(rows + [r.out_of(e.patch_embeddings)])
    g["hook_pos_embed"] = e.position_embeddings[0].clone()
    g.same(g["hook_embed"] + g["hook_pos_embed"], r.out_of(e), "embeddings")
    encoder(g, r, t.layers, outputs.attentions, c.num_attention_heads, c.hidden_size // c.num_attention_heads,
            lambda b: (b.layernorm_before, b.attention, b.layernorm_after, b.mlp), tokens)
    g.norm("ln_final", t.layernorm, r)
    head = getattr(model, "cls_classifier", None) or getattr(model, "classifier", None)
    if head is not None:
        g["logits"] = head(r.out_of(t.layernorm))
        answer = outputs.cls_logits if hasattr(outputs, "cls_logits") else outputs.logits
        g.same(g["logits"][0], answer[0], "logits")


def dinov2(g, model, r, outputs):
    c, e = model.config, model.embeddings
    embedded, patches = r.out_of(e), r.out_of(e.patch_embeddings)
    registers = getattr(e, "register_tokens", torch.zeros(1, 0, c.hidden_size))[0].to(patches.dtype)
    g["hook_embed"] = torch.cat([e.cls_token[0], registers, patches])
    g["hook_pos_embed"] = embedded - g["hook_embed"]
    first = 1 + len(registers)
    g.same(g["hook_pos_embed"][:1], e.position_embeddings[0, :1], "position of [CLS]")
    assert torch.all(g["hook_pos_embed"][1:first] == 0)
    # The sum rounds; the table does not.
    height, width = (n * e.patch_embeddings.patch_size[0] for n in model.sides)
    table = e.interpolate_pos_encoding(torch.zeros(1, 1 + len(patches), c.hidden_size, dtype=patches.dtype), height, width)[0]
    exact = torch.cat([table[:1], torch.zeros(len(registers), c.hidden_size, dtype=table.dtype), table[1:]])
    g.same(exact, g["hook_pos_embed"], "positions")
    g["hook_pos_embed"] = exact
    encoder(g, r, model.encoder.layer, outputs.attentions, c.num_attention_heads, c.hidden_size // c.num_attention_heads,
            lambda b: (b.norm1, b.attention, b.norm2, b.mlp), embedded.shape[0])
    g.norm("ln_final", model.layernorm, r)
    g.same(r.out_of(model.layernorm), outputs.last_hidden_state[0], "last hidden state")


def dinov3(g, model, r, outputs):
    c, e = model.config, model.embeddings
    tokens, first = r.out_of(e).shape[0], 1 + c.num_register_tokens
    patches = r.out_of(e.patch_embeddings).flatten(1).T
    g["hook_embed"] = torch.cat([e.cls_token[0], e.register_tokens[0], patches])
    g.same(g["hook_embed"], r.out_of(e), "embeddings")
    cos, sin = model.rope_embeddings(torch.zeros(1, 3, *(n * c.patch_size for n in model.sides), dtype=patches.dtype))

    def turned(x):
        part = x[first:]
        half = part.shape[-1] // 2
        across = torch.cat((-part[..., half:], part[..., :half]), dim=-1)
        return torch.cat((x[:first], part * cos[:, None] + across * sin[:, None]))
    encoder(g, r, model.model.layer, outputs.attentions, c.num_attention_heads, c.hidden_size // c.num_attention_heads,
            lambda b: (b.norm1, b.attention, b.norm2, b.mlp), tokens, turn=turned)
    g.norm("ln_final", model.norm, r)
    g.same(r.out_of(model.norm), outputs.last_hidden_state[0], "last hidden state")


def siglip(g, model, r, outputs):
    t = model.vision_model
    c, e = t.config, t.embeddings
    g["hook_embed"] = r.out_of(e.patch_embedding).flatten(1).T
    g["hook_pos_embed"] = e.position_embedding.weight.clone()
    g.same(g["hook_embed"] + g["hook_pos_embed"], r.out_of(e), "embeddings")
    encoder(g, r, t.encoder.layers, outputs.attentions, c.num_attention_heads, c.hidden_size // c.num_attention_heads, clip_layers,
            e.position_embedding.weight.shape[0])
    g.norm("ln_final", t.post_layernorm, r)
    g.same(r.out_of(t.post_layernorm), outputs.last_hidden_state[0], "last hidden state")


HOOKS = {"dinov2": dinov2, "dinov2_with_registers": dinov2, "dinov3_vit": dinov3, "siglip": siglip}


def clip_layers(b):
    return b.layer_norm1, b.self_attn, b.layer_norm2, b.mlp


def clip_text(g, model, r, outputs, ids):
    t, c, tokens = model.text_model, model.config.text_config, len(ids)
    g["hook_embed"] = r.out_of(t.embeddings.token_embedding)
    g["hook_pos_embed"] = t.embeddings.position_embedding.weight[:tokens].clone()
    g.same(g["hook_embed"] + g["hook_pos_embed"], r.out_of(t.embeddings), "embeddings")
    encoder(g, r, t.encoder.layers, outputs.text_model_output.attentions, c.num_attention_heads,
            c.hidden_size // c.num_attention_heads, clip_layers, tokens, causal=True)
    g.norm("ln_final", t.final_layer_norm, r)
    g["hook_projected"] = model.text_projection(r.out_of(t.final_layer_norm))
    end = ids.index(c.eos_token_id)
    embeds = outputs.text_embeds[0]
    g.same(g["hook_projected"][end] / g["hook_projected"][end].norm(), embeds / embeds.norm(), "text embedding")


def clip_vision(g, model, r, outputs, ids):
    t, c = model.vision_model, model.config.vision_config
    e = t.embeddings
    tokens = e.position_embedding.weight.shape[0]
    patches = r.out_of(e.patch_embedding).flatten(1).T
    g["hook_embed"] = torch.cat([e.class_embedding[None], patches])
    g["hook_pos_embed"] = e.position_embedding.weight.clone()
    g.same(g["hook_embed"] + g["hook_pos_embed"], r.out_of(e), "embeddings")
    g.norm("embed_ln", t.pre_layrnorm, r)
    encoder(g, r, t.encoder.layers, outputs.vision_model_output.attentions, c.num_attention_heads,
            c.hidden_size // c.num_attention_heads, clip_layers, tokens)
    # The model itself normalises the class token alone.
    last = r.out_of(t.encoder.layers[-1])
    norm = t.post_layernorm
    centred = last - last.mean(-1, keepdim=True)
    g["ln_final.hook_scale"] = (centred.pow(2).mean(-1, keepdim=True) + norm.eps).sqrt()
    g["ln_final.hook_normalized"] = centred / g["ln_final.hook_scale"]
    g["hook_projected"] = model.visual_projection(g["ln_final.hook_normalized"] * norm.weight + norm.bias)
    embeds = outputs.image_embeds[0]
    g.same(g["hook_projected"][0] / g["hook_projected"][0].norm(), embeds / embeds.norm(), "image embedding")


def clip_tokenizer():
    """Bytes, each alone and at the end of a word, and a few merges."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    merges = [("t", "h"), ("th", "e</w>"), ("c", "a"), ("ca", "t</w>"), ("h", "a"), ("ha", "t</w>"), ("i", "n"), ("in", "g</w>")]
    words = alphabet + [a + "</w>" for a in alphabet] + [a + b for a, b in merges] + ["<|startoftext|>", "<|endoftext|>"]
    vocab = {w: i for i, w in enumerate(words)}
    t = tokenizers.Tokenizer(models.BPE(vocab=vocab, merges=merges, end_of_word_suffix="</w>", continuing_subword_prefix="",
                                        unk_token="<|endoftext|>"))
    t.normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.Replace(tokenizers.Regex(r"\s+"), " "),
                                         normalizers.Lowercase()])
    t.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(tokenizers.Regex(r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"), "removed", invert=True),
        pre_tokenizers.ByteLevel(add_prefix_space=False)])
    t.decoder = token_decoders.ByteLevel()
    t.add_special_tokens(words[-2:])
    t.post_processor = processors.RobertaProcessing(("<|endoftext|>", len(words) - 1), ("<|startoftext|>", len(words) - 2),
                                                    trim_offsets=False, add_prefix_space=False)
    return t, len(words)


def make_clip(name, seed, folders, goldens, make_golden):
    tokenizer, vocab = clip_tokenizer()
    torch.manual_seed(seed)
    text = dict(COMMON, vocab_size=vocab, max_position_embeddings=77, bos_token_id=vocab - 2, eos_token_id=vocab - 1)
    vision = dict(hidden_size=24, num_hidden_layers=2, num_attention_heads=3, intermediate_size=20, image_size=24, patch_size=8)
    model = T.CLIPModel(T.CLIPConfig(text_config=text, vision_config=vision, projection_dim=12))
    make_golden.randomise(model, seed)
    folder = folders / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    model.to(torch.float16).save_pretrained(folder)
    steps = dict(size=dict(shortest_edge=24), crop_size=dict(height=24, width=24), image_processor_type="CLIPImageProcessor")
    (folder / "preprocessor_config.json").write_text(json.dumps(steps, indent=2) + "\n")
    tokenizer.save(str(folder / "tokenizer.json"))
    for file in folder.iterdir():
        file.chmod(0o644)
    image = Image.open(folders.parent / "pictures" / "scene.png").convert("RGB")
    pixels = processor_of(folder)(image, return_tensors="pt")["pixel_values"][0]
    sentence = "The cat, the HAT: the café's cat sat"
    ids = tokenizer.encode(sentence).ids
    for suffix, dtype in (("f32", torch.float32), ("f64", torch.float64)):
        make_golden.set_precision(dtype == torch.float64)
        model = T.CLIPModel.from_pretrained(folder, attn_implementation="eager", dtype=dtype).eval()
        r = make_golden.Recorder()
        for module in model.modules():
            r.watch(module)
        with torch.no_grad():
            outputs = model(input_ids=torch.tensor([ids]), pixel_values=pixels[None].to(dtype), output_attentions=True)
            for tower, hooks in (("", clip_text), ("#vision", clip_vision)):
                g = make_golden.Golden()
                hooks(g, model, r, outputs, ids)
                g = {n: t.to(dtype).contiguous().clone() for n, t in g.items()}
                path = goldens / f"{name}{tower}.{suffix}.safetensors"
                if tower:
                    write(g, pixels, torch.from_numpy(np.array(image)), "scene.png", path, dtype)
                else:
                    make_golden.write(g, ids, [0] * len(ids), sentence, "", path)
        make_golden.set_precision(False)


def processor_of(folder):
    fields = json.loads((folder / "preprocessor_config.json").read_text())
    name = fields.pop("image_processor_type")
    return processor_class(name)(**fields)


def processor_class(name):
    """With Pillow; DINOv3's is of torchvision alone."""
    return getattr(T, name + "Pil", None) or getattr(T, name)


@torch.no_grad()
def record(folder, kind, pixels, dtype, make, recorder, hooks):
    model = kind.from_pretrained(folder, attn_implementation="eager", dtype=dtype).eval()
    r, g = recorder(), make()
    for module in model.modules():
        r.watch(module)
    kind = model.config.model_type
    with lifted(model, dtype == torch.float64 and kind in HOOKS):  # tables of positions are made in float32
        if hasattr(model, "rope_embeddings"):
            model.rope_embeddings.__init__(model.config)  # its frequencies once more
            model.rope_embeddings.eval()
        if kind == "siglip":
            outputs = model.vision_model(pixel_values=pixels[None].to(dtype), output_attentions=True)
        else:
            outputs = model(pixel_values=pixels[None].to(dtype), output_attentions=True)
        if hasattr(model.config, "patch_size"):
            model.sides = [side // model.config.patch_size for side in pixels.shape[1:]]
        HOOKS.get(kind, hooks)(g, model, r, outputs)
    return {name: t.to(dtype).contiguous().clone() for name, t in g.items()}


def write(golden, pixels, picture, name, path, dtype):
    tokens = golden["hook_embed"].shape[0]
    tensors = dict(golden, ids=torch.arange(tokens), type_ids=torch.zeros(tokens, dtype=torch.long), pixels=pixels)
    if dtype == torch.float32:
        tensors["picture"] = picture
    save_file(tensors, path, {"picture": name})
    print(f"{path.name}: {len(golden)} hooks, {path.stat().st_size} bytes")


def make_tiny(name, seed, folders, goldens, make_golden):
    kind, config_kind, fields, processor, steps, picture_name, dtype = TINY[name]
    torch.manual_seed(seed)
    labels = {} if config_kind in (T.Dinov2Config, T.Dinov2WithRegistersConfig, T.DINOv3ViTConfig, T.SiglipConfig) else dict(
        id2label=dict(enumerate(LABELS)))
    model = kind(config_kind(**labels, **fields))
    make_golden.randomise(model, seed)
    folder = folders / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    model.to(getattr(torch, dtype)).save_pretrained(folder)
    (folder / "preprocessor_config.json").write_text(json.dumps(dict(steps, image_processor_type=processor), indent=2) + "\n")
    for file in folder.iterdir():
        file.chmod(0o644)
    image = Image.open(folders.parent / "pictures" / picture_name).convert("RGB")
    pixels = processor_of(folder)(image, return_tensors="pt")["pixel_values"][0]
    picture = torch.from_numpy(np.array(image))
    for suffix, precision in (("f32", torch.float32), ("f64", torch.float64)):
        make_golden.set_precision(precision == torch.float64)
        golden = record(folder, kind, pixels, precision, make_golden.Golden, make_golden.Recorder, vit)
        make_golden.set_precision(False)
        write(golden, pixels, picture, picture_name, goldens / f"{name}.{suffix}.safetensors", precision)
