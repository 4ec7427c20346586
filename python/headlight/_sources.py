# SPDX-License-Identifier: GPL-3.0-or-later
"""What can be looked at: paths, attention in memory, models in memory. Each becomes the words that name it on the command line."""
import os
import pathlib
import re
import tempfile
import weakref
from collections.abc import Mapping

import numpy as np

from ._errors import ArgumentError, HeadlightError
from ._scratch import Folder, replacing, temporary

SHAPE = "[head, query, key] or [batch, head, query, key]"
_EAGER = 'load the model with attn_implementation="eager" and call it with output_attentions=True'
_CACHE_NAME = re.compile(r"^(?:(?P<stack>encoder|decoder)\.)?(?:blocks\.)?(?P<layer>\d+)\.(?P<kind>attn|cross_attn)\.(?:hook_pattern|hook_attn)$")


_THREE = '{"encoder_attention": …, "decoder_attention": …, "cross_attention": …}'


class Prepared:
    """The word that names a source on the command line, and of one in memory the folder that has to live as long as it is used, what
    it is called in messages, and the name that stands for its temporary path in results."""

    def __init__(self, word, folder=None, called=None, name=None):
        self.word, self.folder, self.called, self.name = word, folder, called, name

    def replaced(self, text, name):
        return text if self.folder is None else text.replace(self.word, name)


# ---- arrays

def array(value):
    """A NumPy array of a NumPy, torch or JAX array, or of what nnsight has saved. NumPy has no bfloat16: it becomes float32."""
    if type(value).__module__.split(".")[0] == "nnsight" and hasattr(value, "value"):
        value = value.value  # of nnsight before 0.5
    if hasattr(value, "detach"):
        value = value.detach().cpu()
        value = (value.float() if "bfloat16" in str(value.dtype) else value).numpy()
    value = np.asarray(value)
    return value.astype(np.float32) if value.dtype.name == "bfloat16" else value


def _is_array(value):
    return hasattr(value, "shape") and hasattr(value, "dtype")


def _layer(value, layer, batch):
    if value is None:
        raise HeadlightError(f"Layer {layer} has no attention (None): {_EAGER}")
    one = array(value)
    if one.dtype.kind not in "fiu":
        raise HeadlightError(f"Layer {layer} holds no numbers but {one.dtype.name}: expected attention {SHAPE}")
    if one.ndim == 4:
        one = one[_of_batch(batch, one.shape[0])]
    elif one.ndim == 3:
        _of_batch(batch, 1)
    else:
        raise HeadlightError(f"The attention of layer {layer} is {list(one.shape)}: expected {SHAPE}")
    return one


def _of_batch(batch, texts):
    if not 0 <= batch < texts:
        raise HeadlightError(f"batch_index={batch}: the attention is of {texts} text{'' if texts == 1 else 's'}: 0 to {texts - 1}")
    return batch


def _stack(layers, batch):
    """[layer, head, query, key] of a list of layers."""
    layers = [_layer(value, i, batch) for i, value in enumerate(layers)]
    if not layers:
        raise HeadlightError(f"The list of attentions is empty: {_EAGER}")
    for i, layer in enumerate(layers):
        if layer.shape != layers[0].shape:
            raise HeadlightError(f"The attention of layer {i} is {list(layer.shape)}, that of layer 0 {list(layers[0].shape)}: expected one shape")
    return np.stack(layers)


def _of_steps(steps, batch, cross):
    """What generate() returns, a list of layers for every token, as [layer, head, query, key] of all tokens. A step has the queries
    that are new, or without use_cache those of all tokens so far."""
    stacked = [_stack(step, batch) for step in steps]
    if cross:
        return stacked[-1] if stacked[-1].shape[2] > stacked[0].shape[2] else np.concatenate(stacked, axis=2)
    tokens = stacked[-1].shape[-1]
    whole = np.zeros((*stacked[0].shape[:2], tokens, tokens), dtype=stacked[0].dtype)
    at = 0
    for number, step in enumerate(stacked):
        queries, keys = step.shape[-2:]
        if keys - queries not in (0, at):
            raise HeadlightError(f"The attention of step {number} is {list(step.shape)}: expected {at + queries} keys, those of all tokens so far")
        whole[:, :, keys - queries:keys, :keys] = step
        at = keys
    return whole


def _layers(of_layer):
    """The layers of {layer: attention} in their order, none of them missing."""
    missing = [layer for layer in range(len(of_layer)) if layer not in of_layer]
    if missing:
        raise HeadlightError(f"Layer {missing[0]} is missing: expected the attention of every layer, or a list, whose layers count from 0")
    return [of_layer[layer] for layer in range(len(of_layer))]


def _attention(value, batch, cross=False):
    """[layer, head, query, key] of an array or a list of layers."""
    if value is None:
        raise HeadlightError(f"There is no attention (None): {_EAGER}")
    if _is_array(value):
        whole = array(value)
        if whole.dtype.kind not in "fiu":
            raise HeadlightError(f"The attention holds no numbers but {whole.dtype.name}")
        if whole.ndim == 5:
            return whole[:, _of_batch(batch, whole.shape[1])]
        if whole.ndim not in (3, 4):
            raise HeadlightError(f"The attention is {list(whole.shape)}: expected [layer, head, query, key], [layer, batch, head, query, key] or [head, query, key]")
        _of_batch(batch, 1)
        return whole[None] if whole.ndim == 3 else whole
    value = _layers(value) if isinstance(value, Mapping) else list(value)  # nnsight: {layer: attention}
    if value and isinstance(value[0], (list, tuple)):
        return _of_steps(value, batch, cross)
    return _stack(value, batch)


def _of_cache(cache, batch):
    """The attentions in a cache of TransformerLens, or in any mapping with its names: {"attention": …} or the three of an
    encoder-decoder model."""
    found = {}
    for name, value in cache.items():
        if match := _CACHE_NAME.match(str(name)):
            kind = "cross" if match["kind"] == "cross_attn" else match["stack"] or "own"
            found.setdefault(kind, {})[int(match["layer"])] = value
    if not found:
        names = ", ".join(str(name) for name in list(cache)[:5])
        raise HeadlightError(f"There is no attention in the mapping: expected blocks.0.attn.hook_pattern and so on, or attention; it has {names or 'nothing'}")
    stacks = {kind: _stack(_layers(layers), batch) for kind, layers in found.items()}
    return stacks.get("own", stacks.get("decoder")), stacks.get("encoder"), stacks.get("cross")


_NAMES = (("attention", "attentions", "decoder_attention", "decoder_attentions"), ("encoder_attention", "encoder_attentions"),
          ("cross_attention", "cross_attentions"))


def _get(source, names):
    """The first of these members that is there, and whether any name is known."""
    known = False
    for name in names:
        if isinstance(source, Mapping):
            there, value = name in source, source.get(name) if name in source else None
        else:
            there, value = hasattr(source, name), getattr(source, name, None)
        known = known or there
        if value is not None and not (isinstance(value, (list, tuple)) and not value):  # transformers has () for no cross attention
            return value, True
    return None, known


def attentions(source, batch):
    """(decoder or own, encoder, cross) of a source, each [layer, head, query, key] or None."""
    source = getattr(source, "cache_dict", source)  # of TransformerLens
    if _is_array(source) or (isinstance(source, (list, tuple)) and not hasattr(source, "_fields")):
        return _attention(source, batch), None, None
    found = [_get(source, names) for names in _NAMES]
    if any(known for _, known in found):
        if all(value is None for value, _ in found):
            raise HeadlightError(f"The output has no attentions (None): {_EAGER}")
        if _get(source, ("beam_indices",))[0] is not None:
            raise HeadlightError("The output is of a beam search, whose rows change beams from step to step: run the model on its sequences, "
                                 "or generate with num_beams=1")
        return tuple(None if value is None else _attention(value, batch, number == 2) for number, (value, _) in enumerate(found))
    if isinstance(source, Mapping) and source and not all(isinstance(key, (int, np.integer)) for key in source):
        if hasattr(source, "logits") or "logits" in source or "last_hidden_state" in source:
            raise HeadlightError(f"The output has no attentions: {_EAGER}")
        return _of_cache(source, batch)
    if isinstance(source, Mapping) or hasattr(source, "__iter__"):
        return _attention(source, batch), None, None
    raise HeadlightError(f"A {type(source).__name__} holds no attention: expected a path or id of a model, a model of transformers, the "
                         "attentions of a run, a cache of TransformerLens or arrays")


# ---- tokens

def is_tokenizer(value):
    return hasattr(value, "convert_ids_to_tokens")


def _input_ids(tokens):
    if isinstance(tokens, Mapping) and "input_ids" in tokens:
        return tokens["input_ids"]
    return getattr(tokens, "input_ids", None)


class Tokens:
    """texts: list of str; ids: list of int, or None; used: which positions of the attention are no padding, or None: all."""

    def __init__(self, tokens, tokenizer, batch, name):
        self.ids = self.used = None
        if isinstance(tokens, str):
            if tokenizer is None:
                raise HeadlightError(f"{name} is a text: pass tokenizer= as well, or a list of tokens")
            tokens = tokenizer(tokens)
        if (ids := _input_ids(tokens)) is not None:
            mask = tokens["attention_mask"] if isinstance(tokens, Mapping) and "attention_mask" in tokens else getattr(tokens, "attention_mask", None)
            if mask is not None:
                self.used = self._numbers(mask, batch, name, "has an attention_mask that is no array of numbers").astype(bool)
            tokens = ids
        tokens = tokens.tolist() if _is_array(tokens) and array(tokens).dtype.kind in "UO" else tokens
        if not _is_array(tokens):
            tokens = list(tokens)
            if all(isinstance(token, str) for token in tokens):
                self.texts = tokens
                return
        self._take_ids(tokens, tokenizer, batch, name)

    @staticmethod
    def _numbers(values, batch, name, otherwise):
        """The numbers of one text; `otherwise`: what is wrong if they are none."""
        try:
            values = array(values)
        except (TypeError, ValueError):  # rows of unequal length
            values = np.array(None)
        if values.dtype.kind not in "biuf" or (values.dtype.kind == "f" and not np.all(values == np.round(values))):
            raise HeadlightError(f"{name} {otherwise}")
        if values.ndim == 2:
            values = values[_of_batch(batch, values.shape[0])]
        if values.ndim != 1:
            raise HeadlightError(f"{name} is {list(values.shape)}: expected [token] or [batch, token]")
        return values

    def _take_ids(self, tokens, tokenizer, batch, name):
        ids = self._numbers(tokens, batch, name, "is neither a list of texts nor one of ids")
        if tokenizer is None:
            raise HeadlightError(f"{name} is a list of ids: pass tokenizer= as well, or the tokens as texts")
        self.ids = [int(i) for i in ids]
        if self.used is not None:
            if len(self.used) != len(self.ids):
                raise HeadlightError(f"{name} has {len(self.ids)} ids and an attention_mask of {len(self.used)}: expected one length")
            self.ids = [i for i, used in zip(self.ids, self.used) if used]
        self.texts = [str(text) for text in tokenizer.convert_ids_to_tokens(self.ids)]

    def check(self, length, name, attention):
        if len(self.texts) != length:
            raise HeadlightError(f"{name} has {len(self.texts)} tokens, {attention} {length}: expected one for each")


def _cut(attention, queries, keys):
    """Without the padding of a batch."""
    if queries is not None and len(queries) == attention.shape[2]:
        attention = attention[:, :, queries]
    if keys is not None and len(keys) == attention.shape[3]:
        attention = attention[:, :, :, keys]
    return attention


def _floats(attention):
    kind = np.float64 if attention.dtype == np.float64 else np.float32
    return np.ascontiguousarray(attention, dtype=kind)


def _square(attention, name):
    if attention.shape[2] != attention.shape[3]:
        raise HeadlightError(f"{name} is {list(attention.shape)}: expected as many keys as queries. Cross attention is shown with that of "
                             f"encoder and decoder: pass the whole output, or {_THREE}")


def _tokens_of(source, name):
    """The tokens that a source brings: ids of generate() (the last one has no attention yet), tokens of an NPZ."""
    if isinstance(source, Mapping) and name in source:
        return source[name]
    if name == "tokens" and (ids := getattr(source, "sequences", None)) is not None:
        return ids[..., :-1]
    return None


def write(path, source, tokens=None, tokenizer=None, *, source_tokens=None, text=None, batch_index=0, name=None):
    """Writes attention in memory to an .npz that the program opens (docs/attention-elsewhere.md); see headlight.figure(). Returns the path."""
    arrays = _arrays(source, tokens, tokenizer, source_tokens, text, batch_index, name)
    path = pathlib.Path(os.path.expanduser(os.fspath(path)))
    with replacing(path) as file:
        np.savez(file, **arrays)
    return path


def _arrays(source, tokens, tokenizer, source_tokens, text, batch_index, name):
    """What the .npz holds."""
    if is_tokenizer(tokens) and tokenizer is None:
        tokens, tokenizer = None, tokens
    own, encoder, cross = attentions(source, batch_index)
    there = [label for label, attention in (("decoder", own), ("encoder", encoder), ("cross", cross)) if attention is not None]
    if len(there) == 2 or there == ["cross"]:
        raise HeadlightError(f"There is {' and '.join(there)} attention alone: pass that of encoder, decoder and cross attention together, as "
                             f"{_THREE}, or one of encoder and decoder")
    written = source if tokens is None and isinstance(source, Mapping) else {}  # such as an .npz that was opened
    if tokens is None:
        tokens = _tokens_of(source, "tokens")
    if source_tokens is None:
        source_tokens = _tokens_of(source, "encoder_tokens")
    arrays = {key: np.asarray(written[key]) for key in ("ids", "special", "text", "model", "sentence_b_start") if key in written}
    if cross is not None:
        if tokens is None:
            tokens = _tokens_of(source, "decoder_tokens")
        if tokens is None or source_tokens is None:
            raise HeadlightError("Tokens are missing: tokens= are the decoder's, source_tokens= the encoder's")
        target, origin = Tokens(tokens, tokenizer, batch_index, "tokens"), Tokens(source_tokens, tokenizer, batch_index, "source_tokens")
        for label, attention, queries, keys in (("encoder", encoder, origin, origin), ("decoder", own, target, target), ("cross", cross, target, origin)):
            attention = _cut(attention, queries.used, keys.used)
            queries.check(attention.shape[2], "tokens" if queries is target else "source_tokens", f"the {label} attention")
            keys.check(attention.shape[3], "source_tokens" if keys is origin else "tokens", f"the {label} attention")
            arrays[label + "_attention"] = _floats(attention)
        arrays.update(encoder_tokens=np.array(origin.texts, dtype=str), decoder_tokens=np.array(target.texts, dtype=str))
    else:
        attention, what, given = (own, "attention", tokens) if own is not None else (encoder, "encoder_attention", source_tokens if source_tokens is not None else tokens)
        _square(attention, what)
        if given is None:
            raise HeadlightError("Tokens are missing: pass tokens= (texts, or ids with tokenizer=)")
        known = Tokens(given, tokenizer, batch_index, "tokens")
        attention = _cut(attention, known.used, known.used)
        known.check(attention.shape[3], "tokens", "the attention")
        arrays.update(attention=_floats(attention), tokens=np.array(known.texts, dtype=str))
        if known.ids is not None:
            arrays["ids"] = np.array(known.ids, dtype=np.int64)
            special = set(getattr(tokenizer, "all_special_ids", ()))
            if special:
                arrays["special"] = np.array([i in special for i in known.ids])
    if text:
        arrays["text"] = np.array([text])
    if name:
        arrays["model"] = np.array([name])
    return arrays


# ---- models in memory

_saved = weakref.WeakKeyDictionary()  # model → (its parameters, its tokenizer, folder)


def is_model(source):
    return callable(getattr(source, "save_pretrained", None)) and not is_tokenizer(source)


def _parameters(model):
    """(parameter, version) of each: a version counts what an optimiser or an assignment has changed."""

    def version(parameter):
        try:
            return parameter._version
        except (AttributeError, RuntimeError):  # torch: "Inference tensors do not track version counter"
            return 0

    return [(weakref.ref(one), version(one)) for one in (model.parameters() if hasattr(model, "parameters") else ())]


def _same(before, now):
    return len(before) == len(now) and all(old() is new() and counted == counts for (old, counted), (new, counts) in zip(before, now))


def save_model(model, tokenizer):
    """The folder with a model in memory: written once, and again after its weights have changed. The folder goes with its last user."""
    if hasattr(model, "merge_and_unload"):
        raise HeadlightError("The model is an adapter on another one: pass model.merge_and_unload()")
    parameters = _parameters(model)
    before, known, folder = _saved.get(model, ([], None, None))
    fits = folder is not None and folder.path.is_dir() and _same(before, parameters) and (tokenizer is None or known is None or known is tokenizer)
    if fits and (tokenizer is None or tokenizer is known):
        return folder
    if not fits:
        release(model)
        folder = Folder()
    for part in (None if fits else model, tokenizer):
        try:
            if part is not None:
                part.save_pretrained(_path_of(model, folder))
        except Exception as error:
            raise HeadlightError(f"{type(part).__name__}.save_pretrained() to $TMPDIR ({tempfile.gettempdir()}) failed ({error}): pass the model of "
                                 "transformers itself, or the attention of a run") from error
    _saved[model] = parameters, tokenizer, folder
    return folder


def _path_of(model, folder):
    path = folder.path / type(model).__name__  # figures name a model after its folder
    path.mkdir(exist_ok=True)
    return path


def release(model):
    """Forgets the copy of a model in memory on the disk; the next call writes it again. It is removed with the last figure of it."""
    _saved.pop(model, None)


def prepare(source, tokens=None, tokenizer=None, *, source_tokens=None, text=None, batch_index=0, name=None):
    """The word that names the source on the command line: a path as it is, anything else in a temporary folder.

    text: of attention in memory, what its file says; everything else takes it as an option.
    """
    if is_tokenizer(tokens) and tokenizer is None:
        tokens, tokenizer = None, tokens
    path = isinstance(source, (str, os.PathLike))
    if path or is_model(source):
        for argument, value in (("tokens", tokens), ("source_tokens", source_tokens), ("batch_index", batch_index or None), ("name", name)):
            if value is not None:
                raise ArgumentError(f"{argument}= belongs to attention in memory; a model reads text=")
    if path:
        if tokenizer is not None:
            raise ArgumentError("tokenizer= belongs to what is in memory; a path brings its own")
        return Prepared(os.path.expanduser(os.fspath(source)))
    if is_model(source):
        if tokenizer is None and text is not None:
            raise ArgumentError("A model in memory needs its tokenizer to read a text: pass tokenizer=, or ids=")
        folder = save_model(source, tokenizer)
        return Prepared(str(_path_of(source, folder)), folder, "the model in memory", type(source).__name__)
    arrays = _arrays(source, tokens, tokenizer, source_tokens, text, batch_index, name)
    folder = Folder()
    with temporary("The attention"):
        np.savez(folder.path / "attention.npz", **arrays)
    return Prepared(str(folder.path / "attention.npz"), folder, "the attention in memory", "attention.npz")
