# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds the program and runs it."""
import codecs
import contextlib
import json
import os
import pathlib
import re
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

from ._errors import HeadlightError

__version__ = "0.1.0"

# Set by conda, environment modules, PySide and OpenCV for their own libraries, which the program must not load.
_FOREIGN = ("LD_LIBRARY_PATH", "QT_PLUGIN_PATH", "QT_QPA_PLATFORM_PLUGIN_PATH", "QT_QPA_FONTDIR")
_OF_CHECKOUT = pathlib.Path(__file__).resolve().parents[2] / "build" / "release" / "bin" / "headlight"
_OF_WHEEL = pathlib.Path(__file__).resolve().parent / "native" / "bin" / "headlight"  # packaging/build-wheel puts it there
_SECONDS_TO_STOP = 10
_SECONDS_BEFORE_BAR = 0.7
_SECONDS_BETWEEN_STEPS = 0.2


def program():
    """The path of the program: $HEADLIGHT, else the one of the wheel or that this package's checkout has built, else the one on PATH."""
    named = os.environ.get("HEADLIGHT")
    if named:
        found = shutil.which(os.path.expanduser(named))
        if not found:
            raise HeadlightError(f"HEADLIGHT names no program: {named}. Set it to the path of headlight, or unset it")
        return os.path.abspath(found)
    for own in (_OF_WHEEL, _OF_CHECKOUT):
        if os.access(own, os.X_OK):
            return str(own)
    found = shutil.which("headlight")
    if not found:
        raise HeadlightError("The program headlight was not found. Put it on PATH, or set the environment variable HEADLIGHT to its path")
    return os.path.abspath(found)


def main():
    """The command `headlight` that a wheel installs: becomes the program."""
    os.execve(_OF_WHEEL, [str(_OF_WHEEL), *sys.argv[1:]], environment())


def environment():
    return {name: value for name, value in os.environ.items() if name not in _FOREIGN}


class Messages:
    """What the program writes to standard error: lines for a person, and a bar that each step draws again."""
    BAR = "\r\x1b[K"

    def __init__(self, bar=None):
        self.lines = []
        self._bar = bar
        self._rest = ""
        self._drawn = ""
        self._from = time.monotonic() + _SECONDS_BEFORE_BAR

    def feed(self, data):
        *lines, self._rest = (self._rest + data).split("\n")
        for line in lines:
            if text := line.rsplit(self.BAR, 1)[-1].strip("\r"):
                self.lines.append(text)

    def draw(self):
        """The bar as it stands, unless the work has only just begun."""
        step = self._rest.rsplit(self.BAR, 1)[-1]
        if self._bar is not None and step and not step.startswith("headlight") and step != self._drawn and time.monotonic() >= self._from:
            self._put(step)

    def _put(self, text):
        # Spaces, since a notebook knows no "clear to the end of the line".
        self._bar.write("\r" + text.ljust(len(self._drawn)) + "\r" * (not text))
        self._bar.flush()
        self._drawn = text

    def end(self):
        """Removes the bar."""
        if self._rest:
            self.feed("\n")
        if self._drawn:
            self._put("")

    def texts(self):
        """The lines without the program's name and its hint at --help."""
        return [re.sub(r"^headlight(-mpi)?( [a-z-]+)*: ", "", line) for line in self.lines if not line.startswith("Try: headlight")]


def _shows_bar():
    """On a terminal and in a notebook, where standard error understands a carriage return."""
    return sys.stderr is not None and (sys.stderr.isatty() or "ipykernel" in sys.modules)


def _open_terminal():
    """Both ends of a terminal: the program draws its bar on nothing else. A pipe, without a bar, where there are no terminals."""
    import pty
    import tty
    try:
        ours, its = pty.openpty()
    except OSError:
        return os.pipe()
    tty.setraw(its)
    return ours, its


def _wait_out(process, seconds):
    """Asks the process to stop, and ends it when it does not."""
    for stop, patience in ((signal.SIGINT, seconds), (signal.SIGKILL, None)):
        try:
            process.send_signal(stop)
            process.wait(patience)
            return
        except subprocess.TimeoutExpired:
            continue
        except KeyboardInterrupt:
            process.kill()


@contextlib.contextmanager
def starting(path):
    """Why a program does not start, as an error."""
    try:
        yield
    except OSError as error:
        raise HeadlightError(f"{path} cannot be run: {error.strerror or error}") from error
    except ValueError as error:
        raise HeadlightError(f"An argument holds a character that no command line can ({error}): only text= takes it") from error


def _closed_by(pair, *stacks):
    """Both ends of a pipe, each closed with its stack."""
    for descriptor, stack in zip(pair, stacks):
        stack.callback(os.close, descriptor)
    return pair


def run(words, stdin=None, show=True):
    """Runs `headlight WORDS`; returns its standard output (bytes) and its messages. Ctrl+C stops the work and the program.

    stdin: bytes. show: print its messages on standard error, with a bar while it works.
    """
    path = program()
    bar = sys.stderr if show and _shows_bar() else None
    messages = Messages(bar)
    result = bytearray()
    with contextlib.ExitStack() as ours:
        ours.callback(messages.end)
        with contextlib.ExitStack() as its:
            errors, its_errors = _closed_by(_open_terminal() if bar else os.pipe(), ours, its)
            out, its_out = _closed_by(os.pipe(), ours, its)
            with starting(path), tempfile.TemporaryFile() if stdin else open(os.devnull, "rb") as typed:
                if stdin:
                    typed.write(stdin)
                    typed.seek(0)
                process = subprocess.Popen([path, *words], stdin=typed, stdout=its_out, stderr=its_errors, env=environment(),
                                           start_new_session=True)  # Ctrl+C reaches it through us alone
        try:
            _collect(out, errors, result, messages)
            process.wait()
        except BaseException:
            _wait_out(process, _SECONDS_TO_STOP)
            raise
    texts = messages.texts()
    if process.returncode < 0:
        name = signal.Signals(-process.returncode).name
        raise HeadlightError("\n".join(texts + [f"The program was ended by {name}" + (": is there too little memory?" if name == "SIGKILL" else "")]))
    if process.returncode:
        raise HeadlightError("\n".join(texts) or f"The program ended with exit code {process.returncode}")
    return bytes(result), texts


def _collect(out, errors, result, messages):
    """Reads both pipes until the program closes them."""
    with selectors.DefaultSelector() as waiting:
        waiting.register(out, selectors.EVENT_READ)
        waiting.register(errors, selectors.EVENT_READ)
        decode = codecs.getincrementaldecoder("utf-8")(errors="replace").decode
        while waiting.get_map():
            messages.draw()
            for key, _ in waiting.select(_SECONDS_BETWEEN_STEPS):
                try:
                    data = os.read(key.fd, 1 << 16)
                except OSError:  # a terminal whose other end is closed
                    data = b""
                if not data:
                    waiting.unregister(key.fd)
                elif key.fd == out:
                    result += data
                else:
                    messages.feed(decode(data))


def say(texts):
    """Prints the program's messages as the program does."""
    for text in texts:
        print("headlight: " + text, file=sys.stderr)


def _read_description(path):
    """What the program says of its commands: half a second, once for a process of Python."""
    other = f"Install the program and the package of the same version (this package is {__version__})"
    try:
        described = json.loads(run(["man", "--json"], show=False)[0])
        version = described["version"]
    except (HeadlightError, ValueError, KeyError, TypeError) as error:
        raise HeadlightError(f"{path} does not describe its commands ({error}). {other}") from error
    if version != __version__:
        raise HeadlightError(f"{path} is headlight {version}. {other}")
    return described


_described = {}
_one_at_a_time = threading.Lock()


def description():
    """The program's commands, options and views: what `headlight man --json` prints."""
    path = program()
    facts = os.stat(path)
    key = path, facts.st_mtime_ns, facts.st_size
    with _one_at_a_time:
        if key not in _described:
            described = _read_description(path)
            _described.clear()
            _described[key] = described
        return _described[key]
