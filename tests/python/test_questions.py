# SPDX-License-Identifier: GPL-3.0-or-later
"""Questions by their names, answered by the real program on the built-in model."""
import ast
import contextlib
import gc
import inspect
import io
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import numpy as np

from support import NOVELLA, ROOT, SENTENCE, Case, Tokenizer, headlight, patterns, _process
from headlight import _commands

MODEL = str(NOVELLA)


class Described(Case):
    def test_every_analysis_and_view_is_a_function(self):
        described = _process.description()
        names = dir(headlight)
        for command in described["commands"]:
            if command["name"].startswith("analyze "):
                self.assertIn(_commands.python_name(command["name"].split(" ")[1]), names)
            if command["name"].startswith("corpus "):
                self.assertIn(_commands.python_name(command["name"].split(" ")[1]), dir(headlight.corpus))
        for view in described["views"]:
            self.assertIn(_commands.python_name(view["id"]), names)
        for name in ("sweep", "map", "compare", "trace", "generate", "tokenize", "info", "fetch"):
            self.assertIn(name, names)

    def test_nothing_hides_a_question(self):
        own = set(headlight._OWN) | {name for name in vars(headlight) if not name.startswith("_")}
        self.assertFalse(own & set(_commands.functions()))

    def test_arguments_of_what_is_in_memory_are_no_options_of_other_meaning(self):
        for facts in _process.description()["commands"]:
            command = _commands.Command(facts, {})
            taken = set(_commands.OWN) & set(command.by_name())
            self.assertLessEqual(taken, {"tokens"} if command.name in ("generate", "map") else set(), command.name)

    def test_signature_and_help_are_the_program_s(self):
        parameters = inspect.signature(headlight.why).parameters
        self.assertEqual(parameters["top"].default, 10)
        self.assertEqual(parameters["group"].default, "part")
        self.assertIs(parameters["check"].default, False)
        self.assertIsNone(parameters["layer"].default)
        for name in ("tokens", "tokenizer", "source_tokens", "batch_index"):
            self.assertIn(name, parameters)
        self.assertIn("with_", inspect.signature(headlight.compare).parameters)
        self.assertIn("what counts as one part", headlight.why.__doc__)
        self.assertIn("headlight analyze why novella-7m", headlight.why.__doc__)
        # A view without an analysis has its own options and those of all views.
        parameters = inspect.signature(headlight.neuron_map).parameters
        self.assertIn("theme", parameters)
        self.assertNotIn("watch", parameters)
        self.assertNotIn("view", parameters)

    def test_an_unknown_name_says_what_is_near(self):
        with self.raises("did you mean lens", kind=AttributeError):
            headlight.lenz
        self.assertFalse(hasattr(headlight, "nothing_like_this"))


class Answers(Case):
    def program(self, *words):
        done = subprocess.run([headlight.program(), *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=_process.environment())
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_the_numbers_are_those_of_the_command_line(self):
        file = self.folder / "why.npz"
        self.program("why", MODEL, "--text", SENTENCE, "--layer", "5", "--head", "7", "--query", "4", "--key", "2", "--out", str(file))
        table = headlight.why(MODEL, text=SENTENCE, layer=5, head=7, query=4, key=2)
        with np.load(file) as expected:
            self.assertGreater(len(table), 20)
            for name in ("score", "advantage", "query_layer"):
                np.testing.assert_allclose(table[name], expected[name], rtol=1e-12)
            self.assertEqual(table["kind"].dtype.kind, "U")
        self.assertEqual(table.facts["layer"], 5)
        self.assertIn("advantage", table.definitions)

    def test_options_of_every_kind(self):
        with contextlib.redirect_stderr(io.StringIO()):
            watched = headlight.lens(MODEL, text=SENTENCE, top=2, watch=" nurse", at="resid_mid")
            self.assertEqual(watched.facts["at"], "resid_mid")
            edited = headlight.heads(MODEL, text=SENTENCE, edit=["zero L3H1", "zero L3H2"])
            self.assertEqual(edited.facts["edits"], "zero L3H1; zero L3H2")
            ids = headlight.tokenize(MODEL, text=SENTENCE)["ids"]
            by_ids = headlight.lens(MODEL, ids=np.array(ids))
            by_text = headlight.lens(MODEL, text=SENTENCE)
            np.testing.assert_array_equal(by_ids["logit"], by_text["logit"])
            many = headlight.heads(MODEL, texts=[SENTENCE, "One two one two."])
            self.assertEqual(len(many), len(edited))
            pairs = [{"clean": f"The doctor asked the{more}", "corrupt": f"The nurse asked the{more}", "answer": " nurse", "wrong": " doctor"}
                     for more in ("", " old")]
            swept = headlight.sweep(MODEL, pairs=pairs, layers=[4])
            self.assertEqual(len(swept), 8)
        with self.raises("True or False", kind=TypeError):
            headlight.why(MODEL, text=SENTENCE, check="yes")
        with self.raises("takes a value", kind=TypeError):
            headlight.why(MODEL, text=SENTENCE, layer=True)

    def test_lists_for_files(self):
        def words(command, option, value):
            found = _commands.command(command).by_name()[option].words(value, lambda: self.folder)
            return found, [pathlib.Path(word.split("=", 1)[1]).read_text() for word in found if os.path.exists(word.split("=", 1)[1])]

        self.assertEqual(words("sweep", "over", ["a", 5])[1], ["a\n5\n"])
        self.assertEqual(words("map", "texts", ["ä", {"text": "b", "label": 1}])[1], ['{"text": "ä"}\n{"text": "b", "label": 1}\n'])
        self.assertEqual(words("check-tasks", "minimal_pairs", ["x.jsonl", "y"])[0], ["--minimal-pairs=x.jsonl", "--minimal-pairs=y"])
        self.assertEqual(words("check-tasks", "minimal_pairs", [{"sentence_good": "a"}])[1], ['{"sentence_good": "a"}\n'])
        self.assertEqual(words("trace", "ids", [1, 2])[0], ["--ids=1,2"])
        many = [123_456] * 20_000  # more than the command line takes
        self.assertEqual(words("trace", "ids", many)[1][0].split(","), [str(one) for one in many[:-1]] + ["123456\n"])

    def test_texts_that_the_command_line_would_read_otherwise(self):
        for text in ("-", "--layer", "a" * 10):
            tokens = headlight.tokenize(MODEL, text=text)["tokens"]
            self.assertEqual("".join(tokens[1:]).replace("Ġ", ""), text)
        long = "the doctor " * 20_000
        self.assertGreater(len(headlight.tokenize(MODEL, text=long)["ids"]), 39_999)

    def test_results_of_every_kind(self):
        with contextlib.redirect_stderr(io.StringIO()) as said:
            arrays = headlight.trace(MODEL, text=SENTENCE, capture="blocks.2.attn.hook_pattern")
            self.assertEqual(arrays["blocks.2.attn.hook_pattern"].shape[0], 8)
            self.assertEqual(headlight.info(MODEL)["config"]["n_layers"], 6)
            path = headlight.lens(MODEL, text=SENTENCE, out=self.folder / "lens.svg")
            self.assertEqual(path.read_text()[:5], "<?xml")
            self.assertTrue(headlight.matrix(MODEL, text=SENTENCE, layer=4, head=5, out=self.folder / "m.csv").exists())
            matrix = headlight.matrix(MODEL, text=SENTENCE, layer=4, head=5)
            rows = sum(weight for weight, query in zip(matrix["weight"], matrix["query"]) if query == 3)
            self.assertAlmostEqual(rows, 1, places=5)
            cells = headlight.sweep(MODEL, clean="The doctor asked the", corrupt="The nurse asked the", answer=" nurse", wrong=" doctor", layers=[4, 5])
            self.assertEqual(sorted(set(cells["layer"])), [4, 5])
            headlight.sweep(MODEL, clean="The doctor asked the", corrupt="The nurse asked the", answer=" nurse", wrong=" doctor", layers=[4], quiet=True)
        self.assertIn("headlight: swept", said.getvalue())
        self.assertEqual(said.getvalue().count("headlight: swept"), 1)

    def test_a_corpus(self):
        with contextlib.redirect_stderr(io.StringIO()):
            store = headlight.corpus(MODEL, texts=["The doctor asked the nurse.", {"text": "One two one two one two."}], out=self.folder / "store")
            self.assertEqual(headlight.corpus.info(store)["texts"], 2)
            heads = headlight.corpus.heads(store)
            self.assertEqual(len(set(zip(heads["layer"], heads["head"]))), 48)
        with self.raises("corpus.query()", "expr", kind=TypeError):
            headlight.corpus.query(store)
        with self.raises("--texts"):
            headlight.corpus(MODEL, out=self.folder / "other")

    def test_errors_are_the_program_s(self):
        with self.raises("No such model: nowhere"):
            headlight.lens("nowhere", text="a")
        with self.raises("No such head: L77H0", "0 to 5"):
            headlight.why(MODEL, text=SENTENCE, layer=77, head=0)
        with self.raises("did you mean head"):
            headlight.figure(MODEL, text=SENTENCE, view="hed")


class Notebook(Case):
    def test_its_cells_run_and_show_what_they_showed(self):
        file = (ROOT / "docs" / "notebook.ipynb").read_text("utf-8")
        self.assertFalse("headlight-python-" in file)
        cells = json.loads(file)["cells"]
        names = {}
        shown = 0
        for cell in cells:
            if cell["cell_type"] != "code":
                continue
            *body, last = ast.parse("".join(cell["source"])).body
            with contextlib.redirect_stderr(io.StringIO()):
                exec(compile(ast.Module(body, []), "notebook", "exec"), names)
                if not cell["outputs"]:
                    exec(compile(ast.Module([last], []), "notebook", "exec"), names)
                    continue
                value = eval(compile(ast.Expression(last.value), "notebook", "eval"), names)
            (output,) = cell["outputs"]
            self.assertEqual(repr(value), "".join(output["data"]["text/plain"]))
            if "image/svg+xml" in output["data"]:
                self.assertIn("</svg>", value._repr_svg_())
            shown += 1
        self.assertGreaterEqual(shown, 6)


class Figures(Case):
    def test_of_attention_in_memory(self):
        a = patterns(3, 2, 4, 4)
        figure = headlight.figure(a, list("abcd"), view="matrix", layer=1, head=1, theme="dark", size_mm=85, no_footer=True)
        self.assertIs(figure._repr_svg_(), figure.svg)
        self.assertIn("</svg>", figure.svg)
        data = figure.data()
        for query, key, weight in zip(data["query"], data["key"], data["weight"]):
            self.assertAlmostEqual(weight, a[1, 1, query, key], places=6)
        self.assertEqual(figure.save(self.folder / "x.svg").read_text(), figure.svg)
        self.assertEqual(figure.save(str(self.folder / "x.pdf")).read_bytes()[:5], b"%PDF-")
        self.assertEqual(figure.save(self.folder / "x.png").read_bytes()[1:4], b"PNG")
        with np.load(figure.save(self.folder / "x.npz")) as arrays:
            np.testing.assert_allclose(arrays["weights"].reshape(4, 4), a[1, 1], atol=1e-7)
        self.assertEqual(len(headlight.Table.from_json(figure.save(self.folder / "x.json").read_text())), len(data))
        self.assertIn("query", figure.save(self.folder / "x.csv").read_text())
        # What makes it again names a file, not the temporary one.
        for ending in ("svg", "json", "csv"):
            content = (self.folder / ("x." + ending)).read_text()
            self.assertIn("headlight render attention.npz", content)
            self.assertNotIn("headlight-python-", content)
        self.assertIn("headlight render attention.npz", data.facts["command"])
        self.assertIn("&quot;mine&quot;", headlight.figure(a, list("abcd"), name="mine").svg)
        with self.raises("nowhere/x.svg cannot be written"):
            figure.save(self.folder / "nowhere" / "x.svg")
        self.assertIn("the attention in memory", repr(figure))
        with self.raises("needs more than attention patterns", "patterns, and the file holds no model", "the attention in memory"):
            headlight.figure(a, list("abcd"), view="lens")
        with self.raises("no attention weight", "found -1"):
            headlight.figure(-a, list("abcd"))

    def test_of_three_attentions(self):
        output = {"encoder_attentions": list(patterns(2, 2, 4, 4, causal=False)), "decoder_attentions": list(patterns(2, 2, 3, 3)),
                  "cross_attentions": list(patterns(2, 2, 3, 4, causal=False))}
        figure = headlight.figure(output, list("xyz"), source_tokens=list("abcd"), view="matrix", layer=1, head=0, attention="cross")
        data = figure.data()
        self.assertEqual(len(data), 12)
        for target, source, weight in zip(data["target"], data["source"], data["weight"]):
            self.assertAlmostEqual(weight, output["cross_attentions"][1][0, target, source], places=6)


class Parameter:
    _version = 0


class InferenceParameter:
    @property
    def _version(self):
        raise RuntimeError("Inference tensors do not track version counter.")


class Model:
    """As those of transformers: it can only save itself."""

    def __init__(self, parameter=None):
        self.saved = 0
        self.parameter = parameter or Parameter()

    def parameters(self):
        return iter([self.parameter])

    def save_pretrained(self, folder):
        self.saved += 1
        for name in ("config.json", "model.safetensors"):
            shutil.copy(NOVELLA / name, folder)


class ModelsInMemory(Case):
    def folder_of(self, model):
        return headlight._sources._saved[model][2].path

    def test_a_figure(self):
        model = Model()
        figure = headlight.figure(model, Tokenizer(), text=SENTENCE, view="lens")
        expected = headlight.figure(MODEL, text=SENTENCE, view="lens")
        np.testing.assert_array_equal(figure.data()[figure.data().columns[-1]], expected.data()[expected.data().columns[-1]])
        self.assertIn("headlight render Model ", figure.data().facts["command"])
        self.assertEqual(figure.data().facts["model"], "Model")
        self.assertNotIn("headlight-python-", figure.svg)
        folder = self.folder_of(model)
        del model
        gc.collect()
        self.assertTrue(folder.exists(), "the figure uses it")
        del figure
        gc.collect()
        self.assertFalse(folder.exists())

    def test_it_is_written_once_until_its_weights_change(self):
        model, tokenizer = Model(), Tokenizer()
        ids = headlight.tokenize(model, tokenizer, text=SENTENCE)["ids"]
        figure = headlight.figure(model, tokenizer, ids=ids)
        headlight.lens(model, ids=ids)
        self.assertEqual(model.saved, 1)
        first = self.folder_of(model)
        model.parameter._version += 1  # an optimiser's step
        headlight.predictions(model, tokenizer, text=SENTENCE)
        self.assertEqual(model.saved, 2)
        self.assertNotEqual(self.folder_of(model), first)
        self.assertEqual(figure.save(self.folder / "x.pdf").read_bytes()[:5], b"%PDF-")
        model.parameter = Parameter()
        headlight.predictions(model, tokenizer, text=SENTENCE)
        self.assertEqual(model.saved, 3)
        shutil.rmtree(self.folder_of(model))  # as a cleaner of the temporary folder does
        headlight.predictions(model, tokenizer, text=SENTENCE)
        self.assertEqual(model.saved, 4)
        headlight.predictions(model, Tokenizer(), text=SENTENCE)
        self.assertEqual(model.saved, 5, "another tokenizer")

    def test_a_tokenizer_that_comes_later_is_added(self):
        model = Model(InferenceParameter())
        self.assertEqual(headlight.info(model)["config"]["n_layers"], 6)
        with self.raises("tokenizer="):
            headlight.lens(model, text=SENTENCE)
        self.assertGreater(len(headlight.lens(model, Tokenizer(), text=SENTENCE)), 8)
        self.assertEqual(model.saved, 1)

    def test_release(self):
        model = Model()
        headlight.info(model)
        folder = self.folder_of(model)
        headlight.release(model)
        gc.collect()
        self.assertFalse(folder.exists())
        headlight.release(model)
        headlight.info(model)
        self.assertEqual(model.saved, 2)

    def test_what_cannot_be_written_is_refused(self):
        class Adapter(Model):
            def merge_and_unload(self):
                raise AssertionError("the model itself does not change")

        with self.raises("adapter", "merge_and_unload()"):
            headlight.info(Adapter())

        class Quantised(Model):
            def save_pretrained(self, folder):
                raise NotImplementedError("not in 4 bits")

        with self.raises("Quantised.save_pretrained()", "$TMPDIR", "not in 4 bits"):
            headlight.info(Quantised())


class Temporary(Case):
    """What is left on the disk."""

    def python(self, code, **more):
        temporary = self.folder / "tmp"
        temporary.mkdir(exist_ok=True)
        environment = dict(os.environ, TMPDIR=str(temporary), XDG_RUNTIME_DIR=str(self.folder), PYTHONPATH=os.pathsep.join([str(ROOT / "python"), str(ROOT / "tests" / "python")]))
        return temporary, subprocess.Popen([sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, text=True, **more)

    CODE = "import headlight, support; f = headlight.figure(support.patterns(2, 2, 3, 3), list('abc'), quiet=True); print('drawn', flush=True); "

    def test_nothing_after_the_end(self):
        temporary, process = self.python(self.CODE)
        self.assertEqual(process.communicate()[0], "drawn\n")
        self.assertEqual(list(temporary.iterdir()), [])

    def test_what_a_killed_process_has_left_goes_with_the_next(self):
        temporary, killed = self.python(self.CODE + "input()", stdin=subprocess.PIPE)
        killed.stdout.readline()
        self.assertEqual(len(list(temporary.iterdir())), 1)
        _, running = self.python(self.CODE + "input()", stdin=subprocess.PIPE)
        running.stdout.readline()
        self.assertEqual(len(list(temporary.iterdir())), 2, "the first one still runs")
        killed.kill()
        killed.communicate()
        self.assertEqual(self.python(self.CODE)[1].communicate()[0], "drawn\n")
        self.assertEqual(len(list(temporary.iterdir())), 1, "that of the one that runs")
        running.communicate("\n")
        self.assertEqual(list(temporary.iterdir()), [])

    def test_what_a_cleaner_has_removed_is_made_again(self):
        code = self.CODE + "import shutil; shutil.rmtree(f._call.prepared.folder.path.parent); " + self.CODE
        self.assertEqual(self.python(code)[1].communicate()[0], "drawn\ndrawn\n")

    def test_threads_share_one_folder(self):
        code = ("import concurrent.futures, headlight._scratch as s; p = concurrent.futures.ThreadPoolExecutor(); "
                "print(len({f.path.parent for f in p.map(lambda _: s.Folder(), range(50))}))")
        self.assertEqual(self.python(code)[1].communicate()[0], "1\n")

    def test_a_folder_that_cannot_be_written_is_named(self):
        code = "import headlight, support, tempfile; tempfile.tempdir = '/nowhere'; headlight.figure(support.patterns(2, 2, 3, 3), list('abc'))"
        process = self.python(code, stderr=subprocess.PIPE)[1]
        self.assertIn("cannot be written to /nowhere (No such file or directory): start Python with $TMPDIR", process.communicate()[1])

    def test_a_figure_takes_its_file_along(self):
        figure = headlight.figure(patterns(2, 2, 3, 3), list("abc"), quiet=True)
        file = pathlib.Path(figure._call.prepared.word)
        self.assertTrue(file.exists())
        del figure
        gc.collect()
        self.assertFalse(file.parent.exists())


class WindowOpens(Case):
    def setUp(self):
        super().setUp()
        self.set_environment(QT_QPA_PLATFORM="offscreen", HOME=self.folder, XDG_CONFIG_HOME=self.folder / "config", XDG_DATA_HOME=self.folder / "data",
                             XDG_RUNTIME_DIR=self.folder)

    def test_on_attention_in_memory(self):
        try:
            window = headlight.show(patterns(3, 2, 4, 4), list("abcd"), view="matrix", layer=1, head=1, query=2, key=0)
        except headlight.HeadlightError as error:
            if "has no window" in str(error):
                self.skipTest(str(error))
            raise
        self.assertTrue(window.is_open)
        folder = pathlib.Path(window.process.args[4])
        self.assertTrue((folder / "attention.npz").exists())
        window.close()
        self.assertFalse(window.is_open)
        self.assertFalse(folder.exists())

    def test_it_and_its_files_outlive_python(self):
        code = ("import headlight, support; w = headlight.show(support.patterns(2, 2, 3, 3), list('abc')); "
                "print(w.process.pid, w.process.args[4])")
        done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              env=dict(os.environ, PYTHONPATH=os.pathsep.join([str(ROOT / "python"), str(ROOT / "tests" / "python")])))
        if "has no window" in done.stderr:
            self.skipTest(done.stderr)
        process, folder = done.stdout.split()
        self.assertTrue((pathlib.Path(folder) / "attention.npz").exists())
        os.killpg(int(process), signal.SIGTERM)  # an error if it has ended
        until = time.monotonic() + 60
        while os.path.exists(folder) and time.monotonic() < until:
            time.sleep(0.02)
        self.assertFalse(os.path.exists(folder))

    def imitated(self, then):
        """A window that writes its arguments."""
        real = headlight.program()
        return self.imitate(f'[ "$1" != man ] || exec "{real}" "$@"\nprintf "%s\\n" "$@" > "$0.started"\n{then}\n')

    def test_its_arguments(self):
        path = self.imitated("echo there\nsleep 60 & wait")
        long = "the doctor " * 20_000
        window = headlight.show(Model(), Tokenizer(), text=long, view="head", layer=1, heads=[1, 2], query=3, key=0)
        name, model, *words, announce = path.with_name("headlight.started").read_text().splitlines()
        self.assertEqual((name, announce), ("open", "--announce"))
        self.assertEqual(sorted(one.name for one in pathlib.Path(model).iterdir()),
                         ["config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"])
        (file,) = [word.split("=", 1)[1] for word in words if word.startswith("--text-file=")]
        self.assertEqual(pathlib.Path(file).read_text(), long)
        self.assertLessEqual({"--view=head", "--layer=1", "--heads=1,2", "--key=0"}, set(words))
        self.assertTrue({"--query=3", "--position=3"} & set(words))
        window.close()
        self.assertFalse(pathlib.Path(file).exists())

    def test_its_errors_name_no_temporary_file(self):
        self.imitated('echo "headlight open: Broken file: $2" >&2; exit 1')
        with self.assertRaises(headlight.HeadlightError) as caught:
            headlight.show(patterns(2, 2, 3, 3), list("abc"))
        self.assertEqual(str(caught.exception), "Broken file: the attention in memory")

    def test_an_interrupt_leaves_neither_it_nor_its_files(self):
        path = self.imitated("sleep 60 & wait")
        self.interrupted(path, lambda: headlight.show(patterns(2, 2, 3, 3), list("abc")))
        file = pathlib.Path(path.with_name("headlight.started").read_text().splitlines()[1])
        self.assertEqual(file.name, "attention.npz")
        self.assertFalse(file.parent.exists())

    def test_errors_come_before_it(self):
        with self.raises("No such model"):
            headlight.show("nowhere")
        with self.raises("An argument holds a character"):
            headlight.show(MODEL, view="a\0b")
        with self.raises("is not one of", "did you mean"):
            headlight.show(MODEL, view="hed")
        self.set_environment(QT_QPA_PLATFORM=None, DISPLAY=None, WAYLAND_DISPLAY=None)
        with self.raises("display"):
            headlight.show(MODEL)


class Tables(Case):
    TABLE = {"facts": {"model": "m"}, "definitions": {"a": "<b>"}, "columns": ["a", "b", "c", "d", "e"],
             "rows": [[1, 0.5, "x", None, True], [2, None, None, None, False]], "more": [1]}

    def test_columns(self):
        table = headlight.Table.from_json(json.dumps(self.TABLE))
        self.assertEqual([table[name].dtype.kind for name in table.columns], ["i", "f", "U", "f", "b"])
        self.assertTrue(np.isnan(table["b"][1]))
        self.assertEqual(table.more, {"more": [1]})
        first = next(iter(table))
        self.assertEqual((first["a"], first["c"], first["e"]), (1, "x", True))
        large = headlight.Table(["seed"], [[2**63], [1]])["seed"]
        self.assertEqual((large.dtype.kind, large[0]), ("O", 2**63))
        with self.assertRaisesRegex(KeyError, "the columns are a, b"):
            table["z"]

    def test_as_html_and_text(self):
        table = headlight.Table(["<i>"], [[n / 3] for n in range(30)], definitions={"<i>": 'a "b"'})
        page = table._repr_html_()
        self.assertIn("&lt;i&gt;", page)
        self.assertIn('title="a &quot;b&quot;"', page)
        self.assertEqual(page.count("<tr>"), 21)
        self.assertIn("the first 20 of 30 rows", page)
        self.assertIn("9.667", str(headlight.Table(["x"], [[29 / 3]])))

    def test_pandas(self):
        try:
            import pandas  # noqa: F401
        except ImportError:
            self.skipTest("pandas is not installed")
        frame = headlight.Table.from_json(json.dumps(self.TABLE)).to_pandas()
        self.assertEqual(list(frame.columns), self.TABLE["columns"])
        self.assertEqual(frame.attrs["facts"]["model"], "m")


if __name__ == "__main__":
    unittest.main()
