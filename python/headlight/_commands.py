# SPDX-License-Identifier: GPL-3.0-or-later
"""Functions of the program's commands, analyses and views, made from its own description of them."""
import difflib
import inspect
import json
import keyword
import os
import pathlib
import re

import numpy as np

from . import _process, _sources
from ._errors import ArgumentError, HeadlightError
from ._scratch import Folder, temporary
from ._tables import Table

PICTURES = (".svg", ".pdf", ".png", ".html")
_GROUPS = {"analyze": "", "corpus": "run"}  # commands with commands of their own, and which one the group's name stands for
_NOT_HERE = ("", "open", "man", "completion", "bench")
_NOT_OPTIONS = ("help", "version", "json", "announce")
_LONG = 100_000  # bytes: the system limits the length of one argument
# Arguments of attention and models in memory; an option of the program with such a name goes first.
OWN = {"tokens": None, "tokenizer": None, "source_tokens": None, "batch_index": 0, "name": None}


def python_name(name):
    """ "--with" → "with_", "copy-suppression" → "copy_suppression"."""
    plain = name.lstrip("-").replace("-", "_")
    return plain + "_" if keyword.iskeyword(plain) else plain


class Option:
    """One option or argument of a command, as the program describes it."""

    def __init__(self, facts):
        self.flags = [name for name in facts["names"] if name.startswith("--")]
        self.names = [python_name(name) for name in self.flags]
        self.value, self.endings = facts["value"], facts["endings"]
        self.help = facts["help"].replace("; - reads standard input", "")  # here "-" is a text like any other
        self.choices, self.repeats, self.required, self.kind = facts["choices"], facts["repeats"], facts["required"], facts["kind"]
        self.default = self._default(facts["default"])

    def _default(self, text):
        if not self.value:
            return False
        if re.fullmatch(r"-?\d+", text):
            return int(text)
        try:
            return float(text) if text else None
        except ValueError:
            return text

    def described(self):
        what = "flag" if not self.value else self.value if len(self.value) < 100 else "word"
        others = f" (also {', '.join(self.names[1:])})" if len(self.names) > 1 else ""
        return f"{self.names[0]} : {what}\n    {self.help}{others}"

    def words(self, value, folder):
        """The option with its value on the command line; files are written to folder()."""
        flag = self.flags[0]
        if not self.value:
            if not isinstance(value, (bool, np.bool_)):
                raise ArgumentError(f"{self.names[0]}={value!r}: it is True or False")
            return [flag] if value else []
        if isinstance(value, (bool, np.bool_)):
            raise ArgumentError(f"{self.names[0]}={value!r}: it takes a value, {self.value}")
        if hasattr(value, "detach") or isinstance(value, np.ndarray):
            value = _sources.array(value).reshape(-1).tolist()
        if isinstance(value, range):
            value = list(value)
        if isinstance(value, (list, tuple)):
            records = any(isinstance(one, dict) for one in value)
            if self.kind == "file" and (records or not self.repeats):
                return [f"{flag}={self._lines_file(value, records, folder)}"]
            words = [self.word(one) for one in value]
            if self.repeats:
                return [f"{flag}={word}" for word in words]
            joined = ",".join(words)
            if self.names[0] == "ids" and len(joined) > _LONG:
                return [f"{flag}={self._file('ids.txt', joined, folder)}"]
            return [f"{flag}={joined}"]
        return [f"{flag}={self.word(value)}"]

    def _lines_file(self, lines, records, folder):
        """A list of texts, or of records with texts among them, as the file that the option takes."""
        if records:
            lines = [json.dumps(line if isinstance(line, dict) else {"text": self.word(line)}, ensure_ascii=False) for line in lines]
        else:
            lines = [self.word(line) for line in lines]
        for number, line in enumerate(lines):
            if "\n" in line:
                raise ArgumentError(f"{self.names[0]}: text {number} has a line break, and each is one line of a file")
        return self._file(self.names[0] + (".jsonl" if records else ".txt"), "\n".join(lines), folder)

    @staticmethod
    def _file(name, text, folder):
        path = folder() / name
        with temporary("Lists"):
            path.write_text(text + "\n", "utf-8")
        return path

    def word(self, value):
        if isinstance(value, os.PathLike):
            return os.path.expanduser(os.fspath(value))
        if isinstance(value, (float, np.floating)):
            return repr(float(value))
        if isinstance(value, (str, int, np.integer)) and not isinstance(value, bool):
            return str(value)
        raise ArgumentError(f"{self.names[0]}= is of type {type(value).__name__}: expected a text, a number or a path; only the first argument may be "
                            "in memory")


class Command:
    """A command of the program as a function of Python."""

    def __init__(self, facts, described):
        self.name, self.summary, self.view = facts["name"], facts["summary"], facts["view"]
        self.arguments = [Option({**argument, "names": ["--" + argument["value"].lower()]}) for argument in facts["arguments"]]
        options = [Option(option) for option in facts["options"] if any(name.startswith("--") for name in option["names"])]
        self.prints_json = any("--json" in option.flags for option in options)
        self.options = [option for option in options if option.names[0] not in _NOT_OPTIONS]
        self.takes_model = bool(self.arguments) and self.arguments[0].value == "MODEL"
        self.out = next((option for option in self.options if option.names[0] == "out"), None)
        self.described = described
        self.examples = facts["examples"]

    def by_name(self):
        return {name: option for option in self.options for name in option.names}

    def own(self):
        """Those of OWN that no option has taken."""
        return {name: default for name, default in OWN.items() if name not in self.by_name()} if self.takes_model else {}

    def label(self):
        """What a call is written as: "why()", "corpus.query()"."""
        words = self.name.split(" ")
        return ".".join(python_name(word) for word in (words[1:] if words[0] == "analyze" else words)) + "()"

    def signature(self):
        kinds = inspect.Parameter
        parameters = []
        for i, argument in enumerate(self.arguments):
            name = "source" if i == 0 and self.takes_model else argument.names[0]
            default = kinds.empty if argument.required else None
            parameters.append(kinds(name, kinds.POSITIONAL_ONLY, default=default))
        own = self.own()
        for name in ("tokens", "tokenizer"):
            if name in own:
                parameters.append(kinds(name, kinds.POSITIONAL_OR_KEYWORD, default=None))
        parameters += [kinds(option.names[0], kinds.KEYWORD_ONLY, default=option.default) for option in self.options]
        parameters += [kinds(name, kinds.KEYWORD_ONLY, default=default) for name, default in own.items() if name not in ("tokens", "tokenizer")]
        return inspect.Signature(parameters)

    def text(self):
        """The documentation of the function."""
        lines = [self.summary, ""]
        for i, argument in enumerate(self.arguments):
            name = "source" if i == 0 and self.takes_model else argument.names[0]
            lines.append(f"{name} : {argument.value}\n    {argument.help}")
        if self.takes_model:
            lines[-1] += "; or a model in memory with its tokenizer" + (", or attention in memory with its tokens" if "tokens" in self.own() else "")
        lines += [option.described() for option in self.options]
        return "\n".join([*lines, "", "On the command line:", *(f"    {example}" for example in self.examples), ""])


def _check_names(label, known, given):
    for name in given:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            hint = "; figure(…).save(path) writes a file" if name == "out" else f"; did you mean {near[0]}?" if near else ""
            raise ArgumentError(f"{label} has no argument {name}{hint}")


class Call:
    """The words of one call, and the temporary files that they name."""

    def __init__(self, command, args, kwargs, label=None):
        label = label or command.label()
        self.stdin = None
        self._folder = None
        self.prepared = None
        own, by_name = command.own(), command.by_name()
        kwargs = {name: value for name, value in kwargs.items() if value is not None}
        _check_names(label, [name for name in (*by_name, *own) if name != "out"], kwargs)  # whoever takes out has taken it
        positional = len(command.arguments)
        names = [name for name in ("tokens", "tokenizer") if name in own]
        repeats = positional > 0 and command.arguments[-1].repeats
        if len(args) > positional + len(names) and not repeats:
            raise ArgumentError(f"{label} takes {positional + len(names)} arguments without a name, not {len(args)}")
        needed = [argument for argument in command.arguments if argument.required]
        if len(args) < len(needed):
            missing = command.arguments[len(args)]
            raise ArgumentError(f"{label} needs {missing.names[0]}: {missing.help}")
        if repeats:
            word = command.arguments[-1].word
            words = [word(one) for arg in args for one in (arg if isinstance(arg, (list, tuple)) else [arg])]
            args = args[:0]
        else:
            for name, value in zip(names, args[positional:]):
                if name in kwargs:
                    raise ArgumentError(f"{label}: {name} is given twice")
                if value is not None:
                    kwargs[name] = value
            words = []
        try:
            for i, (argument, value) in enumerate(zip(command.arguments, args[:positional])):
                words.append(self._source(value, own, kwargs) if i == 0 and command.takes_model else argument.word(value))
            for name, value in kwargs.items():
                if name not in by_name:
                    raise ArgumentError(f"{label}: {name}= belongs to a source in memory, which is the first argument")
                words += self._option(by_name[name], value)
        except BaseException:
            self.remove()
            raise
        self.words = words

    def _source(self, source, own, kwargs):
        in_memory = {name: kwargs.pop(name) for name in own if name in kwargs}
        path = isinstance(source, (str, os.PathLike))
        # The file of attention in memory holds its own text.
        text = kwargs.get("text") if path or _sources.is_model(source) else kwargs.pop("text", None)
        self.prepared = _sources.prepare(source, text=text, **in_memory)
        return self.prepared.word

    def _option(self, option, value):
        if option.names[0] == "text" and isinstance(value, str):
            data = value.encode("utf-8", "surrogatepass")
            if value == "-" or "\0" in value or len(data) > _LONG:
                self.stdin = data
                return [f"{option.flags[0]}=-"]
        return option.words(value, self.folder)

    def folder(self):
        if self._folder is None:
            self._folder = Folder()
        return self._folder.path

    def named(self, text):
        """A message of the program without the name of a temporary file."""
        return text if self.prepared is None else self.prepared.replaced(text, self.prepared.called)

    def result(self, text):
        """A result of the program without the name of a temporary file."""
        return text if self.prepared is None else self.prepared.replaced(text, self.prepared.name)

    def run(self, words, show=True):
        """Runs the program with these words; its output and its messages."""
        try:
            result, notes = _process.run(words, self.stdin, show)
        except HeadlightError as error:
            raise HeadlightError(self.named(str(error))) from None
        return result, [self.named(note) for note in notes]

    def remove(self):
        """Removes the files of this call, at least what no other uses: a model in memory stays for the next."""
        if self._folder is not None:
            self._folder.remove()
        self.prepared = None


class Arrays(dict):
    """Arrays by name."""

    def __repr__(self):
        return "\n".join(f"{name}: {value.dtype.name} {list(value.shape)}" for name, value in self.items()) or "no arrays"


def _read_arrays(path):
    with np.load(path, allow_pickle=False) as content:
        return Arrays((name, content[name]) for name in content.files)


def perform(command, words, args, kwargs, quiet=False):
    """Runs a command and returns what it has computed: a Table, Arrays, a dict or a text, or the path of `out`."""
    out = kwargs.pop("out", None)
    call = Call(command, args, kwargs)
    try:
        target, read = None, None
        if out is not None:
            if command.out is None:
                raise ArgumentError(f"{command.label()} has no argument out: it writes no file")
            target = pathlib.Path(os.path.expanduser(os.fspath(out)))
        elif command.out is not None:
            for ending, reader in ((".json", None), (".npz", _read_arrays)):
                if ending in command.out.endings:
                    target, read = call.folder() / ("result" + ending), reader
                    break
            else:
                if command.out.required:
                    raise ArgumentError(f"{command.label()} needs out: {command.out.help}")
        line = [*words, *call.words]
        if target is not None:
            line.append(f"--out={target}")
        if command.prints_json and out is None:
            line.append("--json")
        result, notes = call.run(line, not quiet)
        notes = [note for note in notes if note != f"wrote {target}"]
        if not quiet:
            _process.say(notes)
        if out is not None:
            return target
        if target is not None and not target.exists():  # a forecast, which is no result
            return call.result(result.decode("utf-8", "replace"))
        if read:
            return read(target)
        if target is not None:
            return Table.from_json(call.result(target.read_text("utf-8")), notes)
        text = call.result(result.decode("utf-8", "replace"))
        return json.loads(text) if command.prints_json else text
    finally:
        call.remove()


def _function(command, name, words, picture=None):
    """`picture`: the command that draws, and the words that call it, for an `out` that is a picture."""

    def call(*args, **kwargs):
        quiet = bool(kwargs.get("quiet"))
        drawn = str(kwargs.get("out") or "").lower().endswith(PICTURES)
        if drawn and picture:
            return perform(picture, words, args, kwargs, quiet)
        return perform(command, words, args, kwargs, quiet)

    call.__name__ = call.__qualname__ = name
    call.__module__ = "headlight"
    call.__doc__ = command.text()
    call.__signature__ = command.signature()
    return call


class Corpus:
    """Many texts: `headlight.corpus(model, texts=…, out=…)` runs them, the members ask the store that this writes."""

    def __init__(self, functions, run):
        self._functions = functions
        self._run = run
        self.__doc__ = run.__doc__
        self.__signature__ = run.__signature__
        self.__dict__.update(functions)

    def __call__(self, *args, **kwargs):
        return self._run(*args, **kwargs)

    def __dir__(self):
        return sorted(self._functions)

    def __repr__(self):
        return "headlight.corpus: " + ", ".join(sorted(self._functions))


def _of_view(render, view):
    """`render` as the command of one view: its own options and those that all views have."""
    of_views = {flag for one in render.described["views"] for flag in one["options"]}
    command = Command.__new__(Command)
    command.__dict__.update(render.__dict__)
    command.name, command.summary = view["id"], f"{view['title']}: the data that the view draws, or with out=\"….svg\", .pdf, .png or .html the figure."
    command.examples = [f"headlight {view['id']} novella-7m --text \"The doctor asked the nurse.\" --out {view['id']}.svg"]
    command.options = [option for option in render.options
                       if option.names[0] != "view" and (option.flags[0] not in of_views or set(option.flags) & set(view["options"]))]
    return command


def make(described):
    """All functions by their names: commands, analyses and views."""
    commands = {facts["name"]: Command(facts, described) for facts in described["commands"]}
    render = commands["render"]
    views = {view["id"]: view for view in described["views"]}
    functions, groups = {}, {group: {} for group in _GROUPS}
    for name, command in commands.items():
        if name in _NOT_HERE or name in _GROUPS:
            continue
        *group, last = name.split(" ")
        if group == ["analyze"]:
            view = views.get(command.view or last)
            picture = _of_view(render, view) if view else None
            functions[python_name(last)] = _function(command, python_name(last), [last], picture)
        elif group:
            groups[group[0]][python_name(last)] = _function(command, python_name(last), name.split(" "))
        else:
            functions[python_name(name)] = _function(command, python_name(name), [name])
    for view, facts in views.items():
        if python_name(view) not in functions:
            functions[python_name(view)] = _function(_of_view(render, facts), python_name(view), [view])
    for group, of_name in _GROUPS.items():
        if of_name:
            functions[group] = Corpus(groups[group], groups[group][of_name])
    return functions


_made = (None, None)


def functions():
    """All functions of the program that is found now."""
    global _made
    described = _process.description()
    if _made[0] is not described:
        _made = described, make(described)
    return _made[1]


def command(name):
    """One command's description: "render", "open"."""
    described = _process.description()
    for facts in described["commands"]:
        if facts["name"] == name:
            return Command(facts, described)
    raise HeadlightError(f"The program has no command {name}")
