# SPDX-License-Identifier: GPL-3.0-or-later
"""What the tests of the Python package share. They need NumPy alone: torch, transformers and other programs are imitated by objects
with the same members."""
import contextlib
import os
import pathlib
import signal
import stat
import sys
import tempfile
import threading
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

import numpy as np  # noqa: E402

import headlight  # noqa: E402
from headlight import _process  # noqa: E402

NOVELLA = ROOT / "models" / "novella-7m"
SENTENCE = "The doctor asked the nurse because she was late."


class Case(unittest.TestCase):
    """A folder of its own for everything that is written, the cache included."""

    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory())) if hasattr(self, "enterContext") else self._entered()
        self.set_environment(XDG_CACHE_HOME=self.folder / "cache")

    def _entered(self):  # Python before 3.11
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        return pathlib.Path(folder.name)

    def set_environment(self, **values):
        """None removes a variable; all of them are back after the test."""
        for name, value in values.items():
            before = os.environ.get(name)
            self.addCleanup(os.environ.__setitem__, name, before) if before is not None else self.addCleanup(os.environ.pop, name, None)
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = str(value)

    def imitate(self, script):
        """A program that this shell script imitates becomes $HEADLIGHT."""
        path = self.folder / "bin" / "headlight"
        path.parent.mkdir(exist_ok=True)
        path.write_text("#!/bin/sh\n" + script)
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        self.set_environment(HEADLIGHT=path)
        return path

    @contextlib.contextmanager
    def raises(self, *parts, kind=headlight.HeadlightError):
        """The block raises an error whose message has these parts."""
        with self.assertRaises(kind) as caught:
            yield
        for part in parts:
            self.assertIn(part, str(caught.exception))

    def interrupted(self, path, call):
        """Ctrl+C reaches Python during the call, once the imitated program at `path` has written its file .started."""

        def interrupt():
            until = time.monotonic() + 60
            while not path.with_name(path.name + ".started").exists() and time.monotonic() < until:
                time.sleep(0.01)
            os.kill(os.getpid(), signal.SIGINT)

        thread = threading.Thread(target=interrupt, daemon=True)
        thread.start()
        with self.assertRaises(KeyboardInterrupt):
            call()
        thread.join(60)

    @contextlib.contextmanager
    def no_program(self):
        """The program is not called in this block; what it says of its commands is known."""
        _process.description()
        run = _process.run

        def called(words, *_, **__):
            raise AssertionError(f"the program was called: {words}")

        _process.run = called
        try:
            yield
        finally:
            _process.run = run


def patterns(*shape, causal=True, seed=0):
    """Attention [..., query, key] whose rows sum to one."""
    values = np.random.default_rng(seed).random(shape) + 0.01
    if causal:
        values = np.tril(values)
    return values / values.sum(-1, keepdims=True)


class Dtype:
    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return "torch." + self.name


class Tensor:
    """A tensor of torch on a GPU, with a gradient: numpy() works after detach() and cpu(), and not in bfloat16."""

    def __init__(self, values, dtype="float32", ready=()):
        self.values, self.dtype, self._ready = values, Dtype(dtype), ready
        self.shape = values.shape

    def detach(self):
        return Tensor(self.values, self.dtype.name, (*self._ready, "detach"))

    def cpu(self):
        return Tensor(self.values, self.dtype.name, (*self._ready, "cpu"))

    def float(self):
        return Tensor(self.values, "float32", self._ready)

    def numpy(self):
        if self.dtype.name == "bfloat16":
            raise TypeError("Got unsupported ScalarType BFloat16")
        if {"detach", "cpu"} - set(self._ready):
            raise TypeError("can't convert cuda:0 device type tensor to numpy")
        return self.values.astype(self.dtype.name)

    def __getitem__(self, at):
        return Tensor(self.values[at], self.dtype.name, self._ready)


class Tokenizer:
    """A tokenizer of transformers that splits at spaces."""
    words = ["[PAD]", "[CLS]", "the", "doctor", "asked", "a", "nurse"]
    all_special_ids = [0, 1]
    folder = NOVELLA

    def __call__(self, text):
        return {"input_ids": [1] + [self.words.index(word) for word in text.split()]}

    def convert_ids_to_tokens(self, ids):
        return [self.words[i] for i in ids]

    def save_pretrained(self, folder):
        for name in ("tokenizer.json", "tokenizer_config.json"):
            if (self.folder / name).exists():
                (pathlib.Path(folder) / name).write_bytes((self.folder / name).read_bytes())
