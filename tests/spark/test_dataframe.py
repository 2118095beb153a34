"""Test that a column of a DataFrame is recased as by a Recaser."""

import pickle
import re

import pyarrow as pa
import pytest
from support import java
from support.models import without_context
from support.spark import PROSE

import capfst
from capfst.exceptions import CapfstError

if reason := java.missing():
    pytest.skip(reason, allow_module_level=True)

from capfst.spark.dataframe import _recased, recase
from capfst.spark.session import Sent, send

TEXTS = ["new york's mayor", None, "", "met\nmr. o’neill in PARIS\n", "ⱥⱥ of france", "the iphone"] * 9
TEXTS += ['a "unicodeerror" exception is raised.']
TEXTS += [f"mr. xyzzyson said {line}" for line in PROSE.lower().splitlines()[:300]]

pytestmark = pytest.mark.slow


def test_rows_that_are_not_utf8_are_refused() -> None:
    rows = pa.array([b"it", b"\xff"], pa.binary()).view(pa.string())
    with pytest.raises(CapfstError, match="not UTF-8"):
        _recased(capfst.load(), rows)


@pytest.mark.parametrize("ship", [False, True])
@pytest.mark.parametrize(
    "options",
    [{}, {"sentence_case": True}, {"sentence_case": True, "breaks": False}, {"context": False}, {"oov": "pass"}],
)
def test_a_column_is_recased_as_by_a_recaser(spark, model, ship, options):
    rows = spark.createDataFrame(
        [(k, text, [text]) for k, text in enumerate(TEXTS)], "k long not null, t string, x array<string>"
    )
    recased = recase(rows.repartition(3), "t", model, ship=ship, **options)
    assert recased.schema == rows.schema
    recaser = capfst.load(model, **options)
    expected = [None if text is None else recaser(text) for text in TEXTS]
    assert "New York" in expected[0]
    assert sorted(map(tuple, recased.collect())) == [(k, text, [TEXTS[k]]) for k, text in enumerate(expected)]


def test_an_empty_frame_is_recased(spark, model):
    assert recase(spark.createDataFrame([], "t string"), "t", model).collect() == []


def test_each_option_changes_the_output(spark, model):
    """Each option changes the output, so the test above fails if an option is lost on the way to the workers."""
    texts = [text for text in TEXTS if text is not None]
    options = {"context": False}, {"oov": "pass"}, {}
    assert len({tuple(map(capfst.load(model, **some), texts)) for some in options}) == 3


def test_word_lists_are_sent_with_the_model(spark, model, tmp_path):
    names = tmp_path / "names.txt"
    names.write_text("mayOR\nNEW york\n")
    recased = recase(spark.createDataFrame([("new york's mayor",)], "t string"), "t", model, ship=True, words=names)
    names.unlink()
    assert recased.collect()[0].t == "NEW york's mayOR"


def test_a_model_is_sent_once(spark, model):
    for options in {}, {"context": False}:
        sent = [send(spark, capfst.load(model, **options), ship=True) for _ in range(2)]
        assert sent[0] == sent[1]
        names = [file.rpartition("/")[2] for file in spark.sparkContext.listFiles]
        assert [name for name in names if name.startswith(sent[0].name)] == [sent[0].name]


@pytest.mark.parametrize("ship", [False, True])
def test_a_model_without_context_is_enough(spark, model, tmp_path, ship):
    alone = without_context(model, tmp_path / "alone.fst")
    rows = spark.createDataFrame([(text,) for text in TEXTS[:6]], "t string")
    recaser = capfst.load(alone)
    assert recaser.pipeline.context is None
    recased = [row.t for row in recase(rows, "t", alone, ship=ship).collect()]
    assert recased == [None if text is None else recaser(text) for text in TEXTS[:6]]


@pytest.mark.parametrize(
    ("column", "lm", "options", "named"),
    [
        ("k", "cap.fst", {}, "'k' .*(bigint|long)"),
        ("no", "cap.fst", {}, "'no' .* k, t"),
        ("t", "no.fst", {}, r"/no\.fst"),
        ("t", "cap.fst", {"engine": "no"}, "`engine` is 'no'"),
    ],
)
def test_unusable_arguments_are_refused_at_once(spark, model, column, lm, options, named):
    with pytest.raises(CapfstError, match=named):
        recase(spark.createDataFrame([(1, "a")], "k long, t string"), column, model.with_name(lm), **options)


def test_a_worker_refuses_another_model(model):
    sent = Sent(str(model), "0" * 16, (), None)
    with pytest.raises(CapfstError, match=re.escape(str(model))):
        pickle.loads(pickle.dumps(sent)).recaser()


def test_the_lines_of_wrapped_rows_are_joined_but_not_the_rows():
    recaser = capfst.load(sentence_case=True, wrapped=True)
    row = "he left the house in new york in the\nearly morning. it was late"
    rows = pa.array([row, None, row])
    expected = "He left the house in New York in the\nearly morning. It was late"
    assert _recased(recaser, rows).to_pylist() == [expected, None, expected]
