# SPDX-License-Identifier: GPL-3.0-or-later
"""How the program is found, run, stopped and listened to."""
import concurrent.futures
import io
import os
import pty
import sys
import unittest

from support import Case, headlight, _process

DESCRIBES = 'if [ "$1 $2" = "man --json" ]; then echo called >> "$0.calls"; echo \'{"version": "%s", "commands": [], "views": []}\'; fi\n'


class Found(Case):
    def test_the_environment_names_it(self):
        path = self.imitate("")
        self.assertEqual(headlight.program(), str(path))

    def test_a_name_in_the_environment_that_is_no_program_is_an_error(self):
        self.set_environment(HEADLIGHT=self.folder / "nowhere")
        with self.raises("HEADLIGHT", "nowhere"):
            headlight.program()

    def test_without_any_the_error_says_what_to_set(self):
        self.set_environment(HEADLIGHT=None, PATH=self.folder)
        before, _process._OF_CHECKOUT = _process._OF_CHECKOUT, self.folder / "nowhere"
        self.addCleanup(setattr, _process, "_OF_CHECKOUT", before)
        with self.raises("was not found", "PATH", "HEADLIGHT"):
            headlight.program()
        path = self.imitate("")
        self.set_environment(HEADLIGHT=None, PATH=path.parent)
        self.assertEqual(headlight.program(), str(path))

    def test_another_version_is_refused(self):
        self.imitate(DESCRIBES % "9.9.9")
        with self.raises("headlight 9.9.9", "Install", headlight.__version__):
            headlight.lens
        self.assertNotIn("lens", dir(headlight))

    def test_a_program_that_does_not_describe_itself_is_refused(self):
        self.imitate('echo "headlight man: Unknown option --json" >&2; exit 2\n')
        with self.raises("does not describe", "Unknown option --json", "same version"):
            headlight.lens

    def test_it_is_asked_once_by_all_threads_until_the_file_changes(self):
        path = self.imitate(DESCRIBES % headlight.__version__)
        calls = path.with_name("headlight.calls")
        with concurrent.futures.ThreadPoolExecutor() as threads:
            for described in threads.map(lambda _: _process.description(), range(8)):
                self.assertEqual(described["version"], headlight.__version__)
        self.assertEqual(calls.read_text().count("called"), 1)
        self.imitate(DESCRIBES % headlight.__version__ + "# rebuilt\n")
        _process.description()
        self.assertEqual(calls.read_text().count("called"), 2)


class Running(Case):
    def test_libraries_of_other_programs_are_not_handed_on(self):
        self.imitate('echo "$LD_LIBRARY_PATH|$QT_PLUGIN_PATH|$HOME"\n')
        self.set_environment(LD_LIBRARY_PATH="/conda", QT_PLUGIN_PATH="/cv2", HOME="/somewhere")
        self.assertEqual(_process.run([])[0], b"||/somewhere\n")

    def test_the_error_is_the_program_s_own(self):
        self.imitate('echo "headlight render: Unknown option --laier; did you mean --layer?" >&2; echo "Try: headlight render --help" >&2; exit 2\n')
        with self.assertRaises(headlight.HeadlightError) as caught:
            _process.run(["render"])
        self.assertEqual(str(caught.exception), "Unknown option --laier; did you mean --layer?")

    def test_a_program_that_is_killed_is_an_error(self):
        self.imitate("kill -9 $$\n")
        with self.raises("SIGKILL", "memory"):
            _process.run([])

    def test_much_on_both_streams_does_not_block(self):
        self.imitate('i=0; while [ $i -lt 3000 ]; do echo "headlight: a message of some length, number $i" >&2; echo "a result of some length, number $i"; i=$((i+1)); done\n')
        out, notes = _process.run([])
        self.assertEqual(out.count(b"\n"), 3000)
        self.assertEqual(notes[-1], "a message of some length, number 2999")

    def test_standard_input_takes_any_bytes(self):
        self.imitate("cat\n")
        data = bytes(range(256)) * 4096
        self.assertEqual(_process.run([], data)[0], data)

    def test_an_interrupt_stops_the_work_first(self):
        path = self.imitate('trap \'echo > "$0.stopped"; exit 130\' INT\necho > "$0.started"\nwhile :; do sleep 0.01; done\n')
        self.interrupted(path, lambda: _process.run([]))
        self.assertTrue(path.with_name("headlight.stopped").exists())

    def test_one_that_does_not_stop_is_ended(self):
        path = self.imitate('trap "" INT\necho $$ > "$0.new"; mv "$0.new" "$0.started"\nwhile :; do sleep 0.01; done\n')
        patience, _process._SECONDS_TO_STOP = _process._SECONDS_TO_STOP, 0.1
        self.addCleanup(setattr, _process, "_SECONDS_TO_STOP", patience)
        self.interrupted(path, lambda: _process.run([]))
        with self.assertRaises(ProcessLookupError):
            os.kill(int(path.with_name("headlight.started").read_text()), 0)

    def test_what_does_not_start_leaves_no_descriptors(self):
        self.imitate("")
        before = len(os.listdir("/proc/self/fd"))
        with self.raises("An argument holds a character", "null byte"):
            _process.run(["a\0b"])
        with self.raises("cannot be run", "Argument list too long"):
            _process.run(["a" * 1_000_000])
        self.imitate("")
        (self.folder / "bin" / "headlight").write_bytes(b"\x7fELF no program")
        with self.raises("cannot be run", "format"):
            _process.run([])
        self.assertEqual(len(os.listdir("/proc/self/fd")), before)

    def test_a_machine_without_terminals_has_no_bar(self):
        self.imitate('[ -t 2 ] || echo "headlight: a pipe" >&2\n')
        before = sys.stderr, pty.openpty

        def no_terminals():
            raise OSError("out of pty devices")

        sys.stderr, pty.openpty = Terminal(self.folder / "seen"), no_terminals
        try:
            self.assertEqual(_process.run([])[1], ["a pipe"])
        finally:
            sys.stderr, pty.openpty = before


class Terminal(io.StringIO):
    """Leaves a file once it has shown a bar."""

    def __init__(self, seen):
        super().__init__()
        self.seen = seen

    def isatty(self):
        return True

    def write(self, text):
        if "layers 2 of 4" in text:
            self.seen.touch()
        return super().write(text)


class Bar(Case):
    SCRIPT = 'if [ -t 2 ]; then printf "\\r\\033[KRunning [##  ] layers 2 of 4" >&2; until [ -e "$0.seen" ]; do sleep 0.01; done; printf "\\r\\033[K" >&2; fi\necho "headlight: a note" >&2\n'

    def run_with(self, stream):
        before, sys.stderr = sys.stderr, stream
        try:
            return _process.run([])[1]
        finally:
            sys.stderr = before

    def test_a_terminal_shows_it_and_loses_it_again(self):
        terminal = Terminal(self.imitate(self.SCRIPT).with_name("headlight.seen"))
        self.assertEqual(self.run_with(terminal), ["a note"])
        self.assertIn("Running [##  ] layers 2 of 4", terminal.getvalue())
        self.assertTrue(terminal.getvalue().endswith("\r" + " " * len("Running [##  ] layers 2 of 4") + "\r"), repr(terminal.getvalue()))

    def test_a_file_does_not(self):
        self.imitate(self.SCRIPT)
        file = io.StringIO()
        self.assertEqual(self.run_with(file), ["a note"])
        self.assertEqual(file.getvalue(), "")

    def test_steps_in_pieces_are_no_messages(self):
        messages = _process.Messages(io.StringIO())
        for piece in ("\r\x1b[KRun", "ning\r\x1b", "[KSwee", "ping\r\x1b[Khead", "light: do", "ne\nlast"):
            messages.feed(piece)
        messages.end()
        self.assertEqual(messages.texts(), ["done", "last"])


if __name__ == "__main__":
    unittest.main()
