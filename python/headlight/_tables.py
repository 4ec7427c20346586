# SPDX-License-Identifier: GPL-3.0-or-later
"""Tables of numbers."""
import html
import json

import numpy as np

_SHOWN = 20  # rows of a table that is printed


def _column(cells):
    """Whole numbers as int64, numbers with gaps as float64 with NaN, truth values as bool, texts as str; else objects."""
    kinds = {type(cell) for cell in cells}
    if kinds == {int}:
        whole = all(-2**63 <= cell < 2**63 for cell in cells)
        return np.array(cells, dtype=np.int64 if whole else object)
    if kinds == {bool}:
        return np.array(cells, dtype=bool)
    if kinds <= {int, float, type(None)}:
        return np.array([np.nan if cell is None else cell for cell in cells], dtype=np.float64)
    if kinds <= {str, type(None)}:
        return np.array(["" if cell is None else cell for cell in cells], dtype=str)
    return np.array(cells, dtype=object)


def _cell(value):
    return f"{value:.4g}" if isinstance(value, (float, np.floating)) else str(value)


class Table:
    """What the program has computed: `table["score"]` is a column, a NumPy array.

    columns: the columns' names. facts: model, text, options and totals, a dict. definitions: what the columns mean. notes: what
    the program said about the numbers. more: what else its JSON holds.
    """

    def __init__(self, columns, rows, facts=None, definitions=None, notes=(), more=None):
        self.columns = list(columns)
        self.facts = dict(facts or {})
        self.definitions = dict(definitions or {})
        self.notes = list(notes)
        self.more = dict(more or {})
        self._rows = len(rows)
        self._arrays = {name: _column([row[i] for row in rows]) for i, name in enumerate(self.columns)}

    @classmethod
    def from_json(cls, text, notes=()):
        """From the JSON that `--out FILE.json` writes."""
        content = json.loads(text)
        facts = content.pop("facts", None) or content.pop("provenance", None)
        return cls(content.pop("columns", []), content.pop("rows", []), facts, content.pop("definitions", None), notes, content)

    def __len__(self):
        return self._rows

    def __contains__(self, name):
        return name in self._arrays

    def keys(self):
        return list(self.columns)

    def __getitem__(self, name):
        try:
            return self._arrays[name]
        except KeyError:
            raise KeyError(f"{name!r}: the columns are {', '.join(self.columns)}") from None

    def __iter__(self):
        """The rows, each a dict."""
        for i in range(len(self)):
            yield {name: self._arrays[name][i].item() if hasattr(self._arrays[name][i], "item") else self._arrays[name][i]
                   for name in self.columns}

    def to_dict(self):
        """The columns: a dict of arrays."""
        return dict(self._arrays)

    def to_pandas(self):
        """A pandas.DataFrame; its attrs hold the facts."""
        import pandas
        frame = pandas.DataFrame(self._arrays, columns=self.columns)
        frame.attrs["facts"] = self.facts
        return frame

    def _shown(self):
        return [[_cell(self._arrays[name][i]) for name in self.columns] for i in range(min(len(self), _SHOWN))]

    def _size(self):
        return f"{len(self):,} row{'' if len(self) == 1 else 's'} of {len(self.columns)} columns"

    def __repr__(self):
        rows = [self.columns, *self._shown()]
        widths = [max(len(row[i]) for row in rows) for i in range(len(self.columns))]
        numbers = [self._arrays[name].dtype.kind in "if" for name in self.columns]
        lines = ["  ".join(cell.rjust(width) if number else cell.ljust(width)
                           for cell, width, number in zip(row, widths, numbers)).rstrip() for row in rows]
        if len(self) > _SHOWN:
            lines.append("…")
        return "\n".join(lines + [f"[{self._size()}]"])

    def _repr_html_(self):
        head = "".join(f'<th title="{html.escape(self.definitions.get(name, ""))}">{html.escape(name)}</th>' for name in self.columns)
        body = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in self._shown())
        more = f"the first {_SHOWN} of " if len(self) > _SHOWN else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table><p>{more}{self._size()}</p>"
