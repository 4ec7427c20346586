# SPDX-License-Identifier: GPL-3.0-or-later
"""What is in memory, as the file that the program opens."""
import types
import unittest

import numpy as np

from support import Case, Tensor, Tokenizer, headlight, patterns


class Written(Case):
    def write(self, *args, **kwargs):
        path = headlight.write(self.folder / "attention.npz", *args, **kwargs)
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

    def test_bfloat16_of_jax(self):
        try:
            from ml_dtypes import bfloat16  # JAX's name of it in NumPy
        except ImportError:
            self.skipTest("ml_dtypes is not installed")
        a = patterns(3, 2, 4, 4).astype(bfloat16)
        self.check(a.astype(np.float32), a, list("abcd"))

    def test_a_cache_of_transformerlens(self):
        a = patterns(12, 2, 4, 4)
        # As strings blocks.10 is before blocks.2; its batch is one text.
        cache = {f"blocks.{i}.attn.hook_pattern": Tensor(a[i][None]) for i in range(12)}
        cache["blocks.0.attn.hook_q"] = Tensor(a[0])
        self.check(a, types.SimpleNamespace(cache_dict=cache), list("abcd"))
        del cache["blocks.1.attn.hook_pattern"]
        with self.raises("Layer 1 is missing"):
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
        with self.raises("Layer 0 is missing"):
            self.write({4: Tensor(a[4]), 5: Tensor(a[5])}, list("abcd"))

    def test_what_generate_returns(self):
        whole = patterns(2, 3, 6, 6)
        steps = [tuple(layer[None, :, :4, :4] for layer in whole)]
        steps += [tuple(layer[None, :, n:n + 1, :n + 1] for layer in whole) for n in (4, 5)]
        output = types.SimpleNamespace(attentions=tuple(steps), sequences=np.array([[1, 2, 3, 4, 5, 6, 2]]))
        found = self.write(output, tokenizer=Tokenizer())
        np.testing.assert_allclose(found["attention"], whole, atol=1e-7)
        self.assertEqual(list(found["tokens"]), ["[CLS]", "the", "doctor", "asked", "a", "nurse"])
        # Without use_cache each step has all queries.
        output.attentions = tuple(tuple(layer[None, :, :n, :n] for layer in whole) for n in (4, 5, 6))
        np.testing.assert_allclose(self.write(output, tokenizer=Tokenizer())["attention"], whole, atol=1e-7)
        # A window that slides over the keys does not say which ones it has left out.
        output.attentions = (steps[0], tuple(layer[None, :, 4:5, 1:5] for layer in whole))
        with self.raises("step 1 is [2, 3, 1, 4]", "expected 5 keys"):
            self.write(output, tokenizer=Tokenizer())
        output.beam_indices = np.zeros((1, 7))
        with self.raises("beam search", "num_beams=1"):
            self.write(output, tokenizer=Tokenizer())

    def test_what_generate_returns_of_an_encoder_decoder(self):
        encoder, own, cross = patterns(2, 1, 3, 4, 4, causal=False), patterns(2, 3, 3, 3), patterns(2, 3, 3, 4, causal=False)

        def steps(whole, keys, first):
            return tuple(tuple(layer[None, :, first(n):n, :keys(n)] for layer in whole) for n in (1, 2, 3))

        for first in (lambda n: n - 1, lambda n: 0):  # with and without use_cache
            output = types.SimpleNamespace(sequences=np.array([[1, 2, 3, 4]]), encoder_attentions=tuple(encoder),
                                           decoder_attentions=steps(own, lambda n: n, first), cross_attentions=steps(cross, lambda n: 4, first))
            found = self.write(output, tokenizer=Tokenizer(), source_tokens=[3, 4, 5, 6])
            self.assertEqual(list(found["decoder_tokens"]), ["[CLS]", "the", "doctor"])
            np.testing.assert_allclose(found["decoder_attention"], own, atol=1e-7)
            np.testing.assert_allclose(found["cross_attention"], cross, atol=1e-7)

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

    def test_padding_of_both_sides_is_left_out(self):
        output = {"encoder_attentions": patterns(2, 2, 3, 4, 4, causal=False), "decoder_attentions": patterns(2, 2, 3, 3, 3),
                  "cross_attentions": patterns(2, 2, 3, 3, 4, causal=False)}
        target = {"input_ids": [[1, 2, 3], [1, 2, 0]], "attention_mask": np.array([[1, 1, 1], [1, 1, 0]])}
        origin = {"input_ids": [[3, 4, 5, 6], [0, 3, 4, 5]], "attention_mask": np.array([[1] * 4, [0, 1, 1, 1]])}
        found = self.write(output, target, Tokenizer(), source_tokens=origin, batch_index=1)
        self.assertEqual((list(found["decoder_tokens"]), list(found["encoder_tokens"])), (["[CLS]", "the"], ["doctor", "asked", "a"]))
        for name, queries, keys in (("encoder", slice(1, 4), slice(1, 4)), ("decoder", slice(2), slice(2)), ("cross", slice(2), slice(1, 4))):
            np.testing.assert_allclose(found[name + "_attention"], output[name + "_attentions"][:, 1, :, queries, keys], atol=1e-7)

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
        whole = {**found, "ids": np.array([7, 8, 9]), "special": np.array([True, False, False]), "text": np.array(["a b"]),
                 "model": np.array(["mine"]), "sentence_b_start": np.array(2)}
        again = self.write(whole)
        self.assertEqual(sorted(again), sorted(whole))
        for name, values in whole.items():
            np.testing.assert_array_equal(again[name], values)
        self.assertEqual(sorted(self.write(whole, list("xyz"), name="other")), ["attention", "model", "tokens"])

    def test_the_file_is_written_whole_and_under_its_name(self):
        a = patterns(1, 1, 2, 2)
        self.set_environment(HOME=self.folder)
        path = headlight.write("~/maps", a, list("ab"))
        self.assertEqual(path, self.folder / "maps")
        before = path.read_bytes()
        with self.raises("Tokens are missing"):
            headlight.write(path, a)
        self.assertEqual(path.read_bytes(), before)
        self.assertEqual([one.name for one in self.folder.iterdir()], ["maps"])
        with self.raises("nowhere/x.npz cannot be written: No such file"):
            headlight.write(self.folder / "nowhere" / "x.npz", a, list("ab"))


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
        with self.raises("cross attention alone", "encoder_attention"):
            self.figure({"cross_attention": a[:1, :, :2]}, list("ab"))
        with self.raises("batch_index=2", "0 to 1"):
            self.figure([patterns(2, 2, 3, 3)], list("abc"), batch_index=2)
        for alone in (a, list(a), a[0]):
            with self.raises("batch_index=1", "1 text"):
                self.figure(alone, list("abc"), batch_index=1)
        encoder, decoder, cross = ({part + "_attention": a} for part in ("encoder", "decoder", "cross"))
        for some, said in ((cross, "is cross attention alone"), ({**decoder, **cross}, "decoder and cross"), ({**encoder, **cross}, "encoder and cross"),
                           ({**encoder, **decoder}, "decoder and encoder")):
            with self.raises(said, "together"):
                self.figure(some, list("abc"), source_tokens=list("abc"))
        with self.raises("is empty", "eager"):
            self.figure([], list("abc"))
        for values in (np.full((1, 1, 1, 1), "x"), np.full((1, 1, 1, 1, 1), "x"), [np.full((1, 1, 1), "x")]):
            with self.raises("no numbers"):
                self.figure(values, list("a"))
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
        with self.raises("attention_mask that is no array"):
            self.figure(a, {"input_ids": [1, 2, 3], "attention_mask": [[1, 1], [1]]}, Tokenizer())

    def test_arguments_that_do_not_belong(self):
        with self.raises("tokens=", "text="):
            self.figure("novella-7m", ["a", "b"])
        with self.raises("tokenizer="):
            self.figure("novella-7m", Tokenizer(), text="a")
        with self.raises("figure", kind=TypeError):
            headlight.figure()
        with self.raises("batch_index=", "text="):
            self.figure("novella-7m", text="a", batch_index=1)
        with self.no_program():
            for label, call in (("figure()", headlight.figure), ("show()", headlight.show), ("render()", headlight.render)):
                with self.raises(f"{label} has no argument laier; did you mean layer", kind=TypeError):
                    call(patterns(1, 1, 3, 3), list("abc"), laier=3)
            for call in (headlight.figure, headlight.show):
                with self.raises("has no argument out", "figure(…).save(path)", kind=TypeError):
                    call(patterns(1, 1, 3, 3), list("abc"), out="x.svg")
            with self.raises("other= is of type object", "in memory", kind=TypeError):
                headlight.compare("novella-7m", text="a", other=object())
            with self.raises("tokens=", "first argument", kind=TypeError):
                headlight.show(tokens=list("abc"))
            with self.raises("text 0", "line break", kind=TypeError):
                headlight.heads("novella-7m", texts=["a\nb"])


if __name__ == "__main__":
    unittest.main()
