"""Use every command, every public name and every route of the capfst that is installed: what each wheel must do.

A new one needs an example here. Where the packages of an extra are not installed, the error must name the extra.
"""

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from urllib.request import Request, urlopen

import capfst
from capfst.cli import cli
from capfst.kernels.library import own_level

EXAMPLES = Path(__file__).resolve().parents[1] / "docs" / "examples"
CORPUS, HELD_OUT = EXAMPLES / "corpus.txt", EXAMPLES / "held-out.txt"
PAIRS = [EXAMPLES / f"pairs.{end}" for end in ("fr", "en", "align")]
TEXT = "US Senator O'Neill bought an iPhone in New York"
LOWER = TEXT.lower()
SUBTITLE = "1\n00:00:01,000 --> 00:00:02,000\n{}\n"

# Arguments, stdin, and a pattern of what is shown. Files that a command writes, later ones read.
COMMANDS: dict[str, tuple[list[str | Path], str, str]] = {
    "train": ([CORPUS, "-o", "cap.fst", "--no-clean"], "", "n-grams by order"),
    "recase": (["--lm", "cap.fst"], "an it meeting in new york", "^an IT meeting in New York$"),
    "batch": (["--lm", "cap.fst", HELD_OUT, "-o", "out"], "", "files: 1 done, 0 done before, 0 failed"),
    "explain": ([LOWER], "", rf"^{TEXT}\n-ln P [\d.]+ = LM [\d.]+ \+ context"),
    "score": ([HELD_OUT, "out/held-out.txt"], "", "^all +26 +21 +80.77$"),
    "errors": ([HELD_OUT, "out/held-out.txt", "--lm", "cap.fst"], "", "^sentence-initial +4 +4 +100.00"),
    "perplexity": (["--lm", "cap.fst", HELD_OUT], "", r"^Perplexity including OOVs:\t\d"),
    "tokenize": (["--lm", "cap.fst"], "An IT meeting.", r"^An IT meeting \.$"),
    "info": (["--lm", "fr"], "", "^German, English, Spanish, French"),
    "models": ([], "", r"^en .* English(.|\n)*^multi .* German"),
    "mix": (["cap.fst", "cap.fst", "--weights", "0.5,0.5", "-o", "mixed.fst"], "", r"weights: cap\.fst 0\.5000"),
    "export": (["--lm", "cap.fst", "-o", "cap.arpa"], "", "^$"),  # read by import
    "import": (["cap.arpa", "-o", "imported.fst"], "", r"imported\.fst: no context model"),
    "train-bilingual": ([*PAIRS, "--lm", "cap.fst", "-o", "pairs.fst"], "", "pairs of lines"),
    "serve": ([], "", ""),  # below
}

# The content type and body of a POST, or None for a GET, and a part of the answer.
ROUTES: dict[str, tuple[tuple[str, str] | None, str]] = {
    "/recase": (("application/json", f'{{"text": "{LOWER}"}}'), TEXT),
    "/explain": (("application/json", f'{{"text": "{LOWER}"}}'), '"reasons":'),
    "/files?name=a.srt": (("text/plain", SUBTITLE.format(LOWER)), SUBTITLE.format(TEXT)),
    "/models": (None, '"name":"en"'),
    "/healthz": (None, '"status":"ok"'),
    "/metrics": (None, "capfst_requests"),
    "/openapi.json": (None, '"openapi":"3.1.0"'),
    "/docs": (None, "docs.js"),
    "/docs.js": (None, "openapi.json"),
    "/": (None, "page.js"),
    "/page.js": (None, "explain"),
    "/style.css": (None, "{"),
}

# A package of the extra, and a command that needs it.
EXTRAS: dict[str, tuple[str, list[str | Path]]] = {
    "explain": ("graphviz", ["explain", "us", "-o", "us.svg"]),
    "openfst": ("pynini", ["recase", "--engine", "openfst", HELD_OUT]),
    "parquet": ("pyarrow", ["batch", "table.parquet", "-o", "tables"]),
    "serve": ("uvicorn", ["serve", "--port", "0"]),
    "spark": ("pyspark", ["batch", HELD_OUT, "-o", "spark", "--runner", "spark"]),
    "wiki": ("mwxml", ["train", "wiki.xml", "-o", "wiki.fst"]),
}


def raises(error: type[Exception], call: Callable[[], object]) -> bool:
    try:
        call()
    except error:
        return True
    return False


def trained() -> capfst.Trained:
    return capfst.train(CORPUS, "trained.fst", clean=False, context=capfst.ContextOptions(max_bits=8))


def trained_bilingual() -> capfst.TrainedBilingual:
    return capfst.train_bilingual(*PAIRS, "trained.fst", lm="cap.fst")


@cache
def explained() -> capfst.Explanation:
    return capfst.load().explain(LOWER)


SCORED = {"references": [TEXT], "hypotheses": [LOWER]}
FILES = {"references": HELD_OUT, "hypotheses": HELD_OUT}
# Whether a public name does what it is for.
NAMES: dict[str, Callable[[], object]] = {
    "__version__": lambda: re.match(r"\d+\.\d+\.\d+", capfst.__version__),
    "load": lambda: capfst.load()(LOWER) == TEXT and capfst.load("cap.fst")("an it meeting") == "an IT meeting",
    "Recaser": lambda: isinstance(capfst.load(), capfst.Recaser),
    "RecaseOptions": lambda: capfst.load(oov="pass").options == capfst.RecaseOptions(oov="pass"),
    "Candidate": lambda: capfst.load().nbest(LOWER, 2)[0] > capfst.Candidate(0.0, TEXT),
    "BestPath": lambda: (
        isinstance(best := next(capfst.load().recase_lattices("0 1 new\n1 2 yolk\n1 2 york\n2")), capfst.BestPath)
        and best.text == "New York"
    ),
    "Recased": lambda: isinstance(recased := capfst.load().confidence(LOWER), capfst.Recased) and recased.text == TEXT,
    "Change": lambda: all(isinstance(each, capfst.Change) for each in capfst.load().confidence(LOWER).changes),
    "Stretch": lambda: isinstance(capfst.load().stretches(f"{TEXT}.\n" * 5 + f"{LOWER}\n" * 8)[0], capfst.Stretch),
    "Stream": lambda: (
        isinstance(made := capfst.load().stream(), capfst.Stream) and made.add(LOWER) + made.end() == TEXT
    ),
    "Hypothesis": lambda: capfst.load().stream().revise("new york") == capfst.Hypothesis("", "New York"),
    "Explanation": lambda: isinstance(explained(), capfst.Explanation) and "iPhone" in str(explained()),
    "ExplainedCasing": lambda: isinstance(explained().casings[0], capfst.ExplainedCasing),
    "ExplainedWord": lambda: isinstance(explained().words[0], capfst.ExplainedWord),
    "ExplainedForm": lambda: isinstance(explained().words[0].forms[0], capfst.ExplainedForm),
    "Reason": lambda: isinstance(explained().words[0].forms[0].reasons[0], capfst.Reason),
    "NGram": lambda: isinstance(explained().words[0].forms[0].ngram, capfst.NGram),
    "LatticeArc": lambda: isinstance(explained().arcs[0], capfst.LatticeArc),
    "train": lambda: trained().load()("an it meeting") == "an IT meeting",
    "Trained": lambda: isinstance(trained(), capfst.Trained),
    "TrainOptions": lambda: raises(capfst.OptionError, lambda: capfst.TrainOptions(order=0)),
    "ContextOptions": lambda: capfst.ContextOptions(max_bits=8).max_bits == 8,
    "train_bilingual": lambda: trained_bilingual().pairs > 0,
    "TrainedBilingual": lambda: isinstance(trained_bilingual(), capfst.TrainedBilingual),
    "translate_cased": lambda: capfst.translate_cased(lambda texts: texts, LOWER) == TEXT,
    "score": lambda: 0 < capfst.score(**SCORED).accuracy < 100,
    "score_files": lambda: capfst.score_files(**FILES).accuracy == 100,
    "Scores": lambda: isinstance(capfst.score(**SCORED), capfst.Scores),
    "compare_hypotheses": lambda: capfst.compare_hypotheses(references=HELD_OUT, hypotheses=[HELD_OUT] * 2),
    "analyze_errors": lambda: capfst.analyze_errors(**SCORED).lines == 1,
    "analyze_files": lambda: "0" in capfst.analyze_files(**FILES).text(3),
    "ErrorAnalysis": lambda: isinstance(capfst.analyze_errors(**SCORED), capfst.ErrorAnalysis),
    "CapfstError": lambda: raises(capfst.CapfstError, lambda: capfst.load("missing")),
    "ModelError": lambda: raises(capfst.ModelError, lambda: capfst.load("missing")),
    "OptionError": lambda: raises(capfst.OptionError, lambda: capfst.load("fr", language="de")),
    "CorpusError": lambda: raises(capfst.CorpusError, lambda: capfst.train("missing", "cap.fst")),
}


def check(is_right: object, problem: str) -> None:
    if not is_right:
        raise SystemExit(f".ci/smoke.py: {problem}")


def check_examples(kind: str, examples: set[str], wanted: set[str]) -> None:
    check(examples >= wanted, f"{kind} without an example: {wanted - examples}")
    check(examples <= wanted, f"{kind} that do not exist: {examples - wanted}")


def lacks(extra: str) -> bool:
    return find_spec(EXTRAS[extra][0]) is None


def run(arguments: list[str | Path], stdin: str = "") -> tuple[int, str]:
    """Run capfst; return its status, and what it shows."""
    command = [sys.executable, "-X", "utf8", "-m", "capfst", *map(str, arguments)]
    done = subprocess.run(command, input=stdin, capture_output=True, encoding="utf-8", timeout=120, check=False)
    return done.returncode, done.stdout + done.stderr


def check_commands() -> None:
    check_examples("commands", {*COMMANDS}, {*cli.list_commands(None)})
    for name, (arguments, stdin, pattern) in COMMANDS.items():
        if name == "serve":
            continue
        status, shown = run([name, *arguments], stdin)
        check(status == 0 and re.search(pattern, shown, re.MULTILINE), f"capfst {name}: status {status}: {shown}")


def check_extras() -> list[str]:
    """Check the errors about the extras that are not installed; return these."""
    Path("table.parquet").write_bytes(b"PAR1")
    Path("wiki.xml").write_bytes(b"<mediawiki/>")
    missing = [extra for extra in EXTRAS if lacks(extra)]
    for extra in missing:
        status, shown = run(EXTRAS[extra][1])
        is_named = f"capfst[{extra}]" in shown and "error: " in shown and "Traceback" not in shown
        check(status == 1 and is_named, f"without the extra {extra}: status {status}: {shown}")
    return missing


def check_names() -> None:
    check_examples("public names", {*NAMES}, {*capfst.__all__})
    for name, works in NAMES.items():
        check(works(), f"capfst.{name} does not do what it does in the example")


def check_routes() -> None:
    from capfst.serve.app import PAGE  # noqa: PLC0415  (it needs the extra)

    command = [sys.executable, "-m", "capfst", "serve", "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as service:
        try:
            address = next(iter(re.findall(r"http://\S+", service.stderr.readline())), None)  # type: ignore[union-attr]
            check(address, "capfst serve does not start")
            answers = {}
            for route, (body, part) in ROUTES.items():
                request = Request(f"{address}{route}")
                if body is not None:
                    request = Request(f"{address}{route}", body[1].encode(), {"content-type": body[0]})
                with urlopen(request, timeout=60) as answer:
                    answers[route] = answer.read().decode()
                check(part in answers[route], f"{route}: {answers[route]}")
        finally:
            service.terminate()
    described = set(re.findall(r'"(/\w[\w.]*)":{"(?:get|post)":', answers["/openapi.json"]))
    check_examples("routes", {route.partition("?")[0] for route in ROUTES}, described | {"/docs", *PAGE})
    check(service.returncode == 0 or sys.platform == "win32", f"capfst serve: status {service.returncode}")


def main() -> None:
    begin = time.monotonic()
    check_commands()
    check_names()
    missing = check_extras()
    if "serve" not in missing:
        check_routes()
    without = f" without the extras {', '.join(missing)}" if missing else ""
    print(f"capfst {capfst.__version__} works, with the kernels for {own_level()},{without} ", end="")
    print(f"in {time.monotonic() - begin:.0f} s")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:  # Windows does not remove a mapped file
        os.chdir(folder)
        try:
            main()
        finally:
            os.chdir(EXAMPLES)
