"""scripts/experiments/paragraphs.py: the same sentences, one per line and four per line."""

from click.testing import CliRunner
from paragraphs import main


def test_table(tmp_path):
    lines = "We saw Anna in Rome.", "The dog of Anna is in Rome now.", "He said that the dog sleeps.", "Rome has a dog."
    turned = [lines[(k + k // 4) % 4] for k in range(200)]  # each sentence ends some line of four
    for name, text in ("corpus.txt", turned), ("text.txt", lines):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in text))
    done = CliRunner().invoke(main, [str(tmp_path / "corpus.txt"), "--text", str(tmp_path / "text.txt")])
    assert done.exit_code == 0, done.output
    rows = [line.strip("| ").split(" | ") for line in done.output.splitlines() if "line | " in line]
    assert [row[:2] for row in rows] == [["one sentence per line", "200"], ["four per line", "200"]]
    assert all(float(f1) == 100 for row in rows for f1 in row[2:])
