# SPDX-License-Identifier: GPL-3.0-or-later
"""Headlight from Python: what attention heads, neurons and layers did, as figures and tables in a notebook.

    import headlight
    headlight.figure(outputs.attentions, tokens, view="head", layer=4)          # shown in the notebook; .save("head.pdf"), .data()
    headlight.figure(model, tokenizer, text="The doctor asked.", view="lens")   # a model in memory: every view
    headlight.why("gpt2", text="…", layer=5, head=7, query=12, key=3)           # every question by its name: a table
    headlight.show(cache, tokens, layer=5, head=7)                              # the window, at this head

The program computes and draws; this package finds it, hands over what is in memory and reads the results. It needs NumPy.
`dir(headlight)` lists all questions, `help(headlight.why)` explains one.
"""
from . import _commands
from ._errors import ArgumentError, HeadlightError
from ._figures import Figure, figure
from ._process import __version__, program
from ._sources import release, write
from ._tables import Table
from ._window import Window, show

_OWN = ("ArgumentError", "Figure", "HeadlightError", "Table", "Window", "figure", "program", "release", "show", "write")
__all__ = list(_OWN)


def __getattr__(name):
    """The functions that the program describes."""
    if name.startswith("_"):
        raise AttributeError(f"module 'headlight' has no attribute {name!r}")
    found = _commands.functions()
    if name in found:
        return found[name]
    import difflib
    near = difflib.get_close_matches(name, [*_OWN, *found], 1)
    raise AttributeError(f"module 'headlight' has no attribute {name!r}" + (f"; did you mean {near[0]}?" if near else ""))


def __dir__():
    try:
        return sorted({*_OWN, *_commands.functions()})
    except HeadlightError:  # no program: nothing to ask
        return sorted(_OWN)
