# SPDX-License-Identifier: GPL-3.0-or-later
"""Figures."""
import os
import pathlib

from . import _process
from ._commands import PICTURES, Call, command
from ._scratch import replacing
from ._tables import Table


class Figure:
    """A figure of the program; a notebook shows it."""

    def __init__(self, call, quiet):
        self._call = call  # with the temporary file of attention in memory, as long as this lives
        self._quiet = quiet
        self._svg = self._written("figure.svg", show=True)
        self._table = None

    def _render(self, path, show):
        words = self._call.words
        if not str(path).lower().endswith(PICTURES):
            looks = _process.description()["picture_options"]
            words = [word for word in words if word.split("=", 1)[0] not in looks]
        _, notes = self._call.run(["render", *words, f"--out={path}"], show and not self._quiet)
        return [note for note in notes if note != f"wrote {path}"]

    def _written(self, name, show=False):
        """The text of a file of this name."""
        path = self._call.folder() / name
        try:
            self.notes = self._render(path, show)
            if show and not self._quiet:
                _process.say(self.notes)
            return self._call.result(path.read_text("utf-8"))
        finally:
            path.unlink(missing_ok=True)

    @property
    def svg(self):
        """The figure as SVG, a text."""
        return self._svg

    def save(self, path):
        """Writes the figure (.svg, .pdf, .png, .html) or its data (.csv, .json, .npz); returns the path."""
        path = pathlib.Path(os.path.expanduser(os.fspath(path)))
        ending = path.suffix.lower()
        if ending in (".svg", ".csv", ".json"):
            text = self._svg if ending == ".svg" else self._written(path.name)
            with replacing(path) as file:
                file.write(text.encode("utf-8"))
        else:
            self._render(path, show=True)
        return path

    def data(self):
        """The numbers that the figure shows, as a Table; its facts say how to make the figure again."""
        if self._table is None:
            self._table = Table.from_json(self._written("figure.json"), self.notes)
        return self._table

    def _repr_svg_(self):
        return self._svg

    def __repr__(self):
        return self._call.named("<headlight.Figure: " + " ".join(self._call.words) + ">")


def figure(source, tokens=None, tokenizer=None, *, view="head", quiet=False, **options):
    """A figure of a run.

    source
        attention in memory: the output of a transformers model, its `attentions`, what `generate()` returns, a cache of
        TransformerLens, arrays that nnsight has saved, an array [layer, head, query, key] or a list of [batch, head, query, key];
        a model of transformers in memory; or the path or id of a model, a saved trace or an .npz of attention
    tokens
        of attention in memory: texts, or ids, a BatchEncoding or a text, with tokenizer=
    tokenizer
        of a model in memory, or of ids
    view
        the view: "head", "matrix", "lens" …; attention alone has those that need no weights
    options
        those of headlight.render(), such as text=, layer=, heads=, query=, key=, theme=, size_mm=, attention=; and of attention in
        memory: batch_index= (which text of a batch), source_tokens= (the encoder's tokens), name= (the model's)
    """
    render = command("render")
    return Figure(Call(render, [source], {"tokens": tokens, "tokenizer": tokenizer, "view": view, **options}, "figure()"), quiet)
