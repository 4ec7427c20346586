# SPDX-License-Identifier: GPL-3.0-or-later
"""What is in memory, as the file that the program opens."""
import types
import unittest

import numpy as np

from support import Case, Tensor, Tokenizer, headlight, patterns


class Written(Case):
    def write(self, *args, **kwargs):
        path = self.folder / "attention.npz"
        headlight.write(path, *args, **kwargs)
        with np.load(path) as content:
            return {name: content[name] for name in content.files}

    def check(self, expected, *args, **kwargs):
        found = self.write(*args, **kwargs)["attention"]
        self.assertEqual(found.shape, expected.shape)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-7)

    def test_arrays(self):
        a = patterns(3, 2, 4, 4)
        self.check(a, a, list("abcd"))
        self.check(a[:1], a[0], list("abcd"))
        self.check(a.astype(np.float16), a.astype(np.float16), list("abcd"))
        batched = patterns(3, 5, 2, 4, 4)
        self.check(batched[:, 3], batched, list("abcd"), batch_index=3)
        self.assertEqual(self.write(a.astype(np.float64), list("abcd"))["attention"].dtype, np.float64)
        self.assertEqual(self.write(a.astype(np.float16), list("abcd"))["attention"].dtype, np.float32)

    def test_outputs_of_transformers(self):
        a = patterns(3, 2, 2, 4, 4)
        output = types.SimpleNamespace(logits=None, attentions=tuple(Tensor(layer, "bfloat16") for layer in a), cross_attentions=())
        self.check(a[:, 1], output, list("abcd"), batch_index=1)
        self.check(a[:, 0], output.attentions, list("abcd"))

    def test_a_cache_of_transformerlens(self):
        a = patterns(12, 2, 4, 4)
        # As strings blocks.10 is before blocks.2; its batch is one text.
        cache = {f"blocks.{i}.attn.hook_pattern": Tensor(a[i][None]) for i in range(12)}
        cache["blocks.0.attn.hook_q"] = Tensor(a[0])
        self.check(a, types.SimpleNamespace(cache_dict=cache), list("abcd"))
        del cache["blocks.1.attn.hook_pattern"]
        with self.raises("no pattern of layer 1"):
            self.write(cache, list("abcd"))

    def test_saves_of_nnsight(self):
        a = patterns(11, 1, 2, 4, 4)
        old = type("Proxy", (), {"value": None})
        old.__module__ = "nnsight.intervention"
        proxies = []
        for layer in a:
            proxy = old()
            proxy.value = Tensor(layer)
            proxies.append(proxy)
        self.check(a[:, 0], proxies, list("abcd"))
        self.check(a[:, 0], {i: Tensor(a[i]) for i in reversed(range(11))}, list("abcd"))

    def test_what_generate_returns(self):
        whole = patterns(2, 3, 6, 6)
        steps = [tuple(layer[None, :, :4, :4] for layer in whole)]
        steps += [tuple(layer[None, :, n:n + 1, :n + 1] for layer in whole) for n in (4, 5)]
        output = types.SimpleNamespace(attentions=tuple(steps), sequences=np.array([[1, 2, 3, 4, 5, 6, 2]]))
        found = self.write(output, tokenizer=Tokenizer())
        np.testing.assert_allclose(found["attention"], whole, atol=1e-7)
        self.assertEqual(list(found["tokens"]), ["[CLS]", "the", "doctor", "asked", "a", "nurse"])

    def test_tokens(self):
        a = patterns(1, 2, 3, 3)
        ids = [1, 2, 3]
        for tokens in (ids, np.array([ids]), Tensor(np.array(ids), "int64"), np.array(ids, dtype=float), {"input_ids": [ids]}, "the doctor"):
            found = self.write(a, tokens, Tokenizer())
            self.assertEqual(list(found["tokens"]), ["[CLS]", "the", "doctor"])
            self.assertEqual(list(found["ids"]), ids)
            self.assertEqual(list(found["special"]), [True, False, False])
        self.assertNotIn("ids", self.write(a, np.array(["x", "y", "z"])))
        self.assertEqual(self.write(a, list("xyz"), text="x y z", name="mine")["text"].item(), "x y z")

    def test_padding_of_a_batch_is_left_out(self):
        a = patterns(2, 2, 3, 5, 5)
        encoding = {"input_ids": np.array([[1, 2, 3, 4, 5], [0, 0, 1, 2, 3]]), "attention_mask": np.array([[1] * 5, [0, 0, 1, 1, 1]])}
        found = self.write(a, encoding, Tokenizer(), batch_index=1)
        self.assertEqual(list(found["tokens"]), ["[CLS]", "the", "doctor"])
        np.testing.assert_allclose(found["attention"], a[:, 1][:, :, 2:, 2:], atol=1e-7)

    def test_encoder_and_decoder(self):
        encoder, decoder, cross = patterns(2, 1, 3, 4, 4, causal=False), patterns(2, 1, 3, 2, 2), patterns(2, 1, 3, 2, 4, causal=False)
        output = types.SimpleNamespace(encoder_attentions=tuple(encoder), decoder_attentions=tuple(decoder), cross_attentions=tuple(cross))
        found = self.write(output, ["<s>", "x"], source_tokens=list("abcd"))
        for name, expected in (("encoder", encoder), ("decoder", decoder), ("cross", cross)):
            np.testing.assert_allclose(found[name + "_attention"], expected[:, 0], atol=1e-7)
        self.assertEqual(list(found["encoder_tokens"]), list("abcd"))
        alone = types.SimpleNamespace(encoder_attentions=tuple(encoder))
        self.check(encoder[:, 0], alone, list("abcd"))
        with self.raises("source_tokens"):
            self.write(output, ["<s>", "x"])
        with self.raises("source_tokens has 3 tokens", "encoder attention 4"):
            self.write(output, ["<s>", "x"], source_tokens=list("abc"))
        caches = {f"{part}.{i}.{kind}.hook_pattern": values[i] for i in range(2) for part, kind, values in
                  (("encoder", "attn", encoder), ("decoder", "attn", decoder), ("decoder", "cross_attn", cross))}
        np.testing.assert_allclose(self.write(caches, ["<s>", "x"], source_tokens=list("abcd"))["cross_attention"], cross[:, 0], atol=1e-7)

    def test_an_npz_that_was_written(self):
        a = patterns(2, 2, 3, 3)
        headlight.write(self.folder / "first.npz", a, list("abc"))
        with np.load(self.folder / "first.npz") as content:
            found = self.write(dict(content))
        np.testing.assert_array_equal(found["attention"], a)
        self.assertEqual(list(found["tokens"]), list("abc"))


class Refused(Case):
    """Before the program is called."""

    def figure(self, *args, **kwargs):
        with self.no_program():
            return headlight.figure(*args, **kwargs)

    def test_no_attention(self):
        for output in (types.SimpleNamespace(attentions=None), types.SimpleNamespace(attentions=(None, None)), (None, None),
                       {"logits": 1, "past_key_values": 2}):
            with self.raises('attn_implementation="eager"'):
                self.figure(output, list("abc"))

    def test_wrong_shapes(self):
        a = patterns(2, 2, 3, 3)
        with self.raises("layer 1", "[3, 3]", "[head, query, key]"):
            self.figure([a[0], a[1][0]], list("abc"))
        with self.raises("layer 1 is [1, 3, 3]", "layer 0 [2, 3, 3]"):
            self.figure([a[0], a[1][:1]], list("abc"))
        with self.raises("[3, 3]", "[layer, head, query, key]"):
            self.figure(a[0, 0], list("abc"))
        with self.raises("cross_attention is [1, 2, 2, 3]", "encoder_attention"):
            self.figure({"cross_attention": a[:1, :, :2]}, list("ab"))
        with self.raises("batch_index=2", "0 to 1"):
            self.figure([patterns(2, 2, 3, 3)], list("abc"), batch_index=2)
        with self.raises("is empty", "eager"):
            self.figure([], list("abc"))
        with self.raises("no numbers"):
            self.figure(np.full((1, 1, 1, 1), "x"), list("a"))
        with self.raises("blocks.0.attn.hook_pattern", "ln_final"):
            self.figure({"ln_final.hook_scale": a}, list("abc"))
        with self.raises("A module holds no attention"):
            self.figure(unittest, list("abc"))

    def test_wrong_tokens(self):
        a = patterns(2, 2, 3, 3)
        with self.raises("tokens has 2 tokens, the attention 3"):
            self.figure(a, list("ab"))
        with self.raises("ids", "tokenizer="):
            self.figure(a, [1, 2, 3])
        with self.raises("a text", "tokenizer="):
            self.figure(a, "the doctor")
        with self.raises("Tokens are missing"):
            self.figure(a)
        with self.raises("neither a list of texts nor one of ids"):
            self.figure(a, [1.5, 2, 3], Tokenizer())
        with self.raises("attention_mask of 2"):
            self.figure(a, {"input_ids": [1, 2, 3], "attention_mask": [1, 1]}, Tokenizer())

    def test_arguments_that_do_not_belong(self):
        with self.raises("tokens=", "text="):
            self.figure("novella-7m", ["a", "b"])
        with self.raises("tokenizer="):
            self.figure("novella-7m", Tokenizer(), text="a")
        with self.raises("figure", kind=TypeError):
            headlight.figure()
        with self.raises("laier", "did you mean layer", kind=TypeError):
            self.figure(patterns(1, 1, 3, 3), list("abc"), laier=3)


if __name__ == "__main__":
    unittest.main()
