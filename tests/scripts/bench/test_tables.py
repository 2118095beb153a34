"""scripts/bench/tables.py: tables from recorded results, printed and written into a document."""

import json

from click.testing import CliRunner
from tables import main

SAME = {"cores": 1, "size": "1 M", "is_yardstick": False, "bytes_per_ngram": None, "accuracy": None, "f1": None}
CAPFST = {
    "name": "capfst, 1 M n-grams, LM alone",
    "rates": [7_913_607, 9_000_000, 1],
    "starts": [0.21, 0.2, 0.3],
    "memory": [178e6, 85.2e6],
    "bytes_per_ngram": 51.58,
    "accuracy": 95.171,
    "f1": 85.329,
}
KENLM = {
    "name": "KenLM query, 1 M n-grams (scores)",
    "is_yardstick": True,
    "rates": [11_004_274],
    "starts": [0.012],
    "memory": [29e6, 0.2e6],
    "bytes_per_ngram": 29.3,
}
TRUECASE = {"name": "truecase", "size": "20 M", "rates": [88_847], "starts": [2.97], "memory": [592e6, 549e6]}
BENCH = {"table": "bench", "machine": "A machine.", "contenders": [SAME | each for each in (CAPFST, KENLM, TRUECASE)]}
BENCH_TABLE = """\
|  | cores | tokens/s | × KenLM | first line, s | peak MB | anonymous MB | bytes per n-gram | accuracy | F1 |
| --- | --: | --: | --: | --: | --: | --: | --: | --: | --: |
| capfst, 1 M n-grams, LM alone | 1 | 7,913,607 | 0.719 | 0.21 | 178 | 85 | 51.6 | 95.17 | 85.33 |
| KenLM query, 1 M n-grams (scores) | 1 | 11,004,274 | 1 | 0.01 | 29 | 0 | 29.3 |  |  |
| truecase | 1 | 88,847 |  | 2.97 | 592 | 549 |  |  |  |

A machine."""


def test_tables(tmp_path):
    document, file = tmp_path / "figures.md", tmp_path / "results.json"
    document.write_text("a\n<!-- bench -->\nold\n<!-- /bench -->\nb\n", "utf-8")
    file.write_text(json.dumps(BENCH), "utf-8")
    done = CliRunner().invoke(main, [str(file), "--document", str(document)])
    assert done.output == f"{BENCH_TABLE}\n\n"
    assert document.read_text("utf-8") == f"a\n<!-- bench -->\n{BENCH_TABLE}\n<!-- /bench -->\nb\n"
