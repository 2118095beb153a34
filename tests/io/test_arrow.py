"""A column in Arrow's layout is recased like its rows, one by one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

pa = pytest.importorskip("pyarrow")

from support.models import in_one_folder, tiny  # noqa: E402

from capfst.io.arrow import NotUtf8Error, recase_array  # noqa: E402
from capfst.recaser import load  # noqa: E402

ROWS = st.lists(st.none() | st.text(st.sampled_from("it works\n\r\tİſßK\0ⱥ𐐨'"), max_size=9), max_size=9)


@pytest.fixture(scope="module")
def recaser(tmp_path_factory):
    path = tmp_path_factory.mktemp("arrow") / "cap.fst"
    tiny().save(path)
    return load(path)


@in_one_folder
@given(rows=ROWS, large=st.booleans(), start=st.integers(0, 3))
def test_the_same_as_row_by_row(recaser, rows, large, start):
    array = pa.array(rows, pa.large_string() if large else pa.string())[start:]
    recased = recase_array(recaser.pipeline.recase_utf8, array)
    recased.validate(full=True)
    assert recased.type == array.type
    assert recased.to_pylist() == [None if row is None else recaser(row) for row in rows[start:]]


def test_something_changes(recaser):
    assert recase_array(recaser.pipeline.recase_utf8, pa.array(["x", "it works"])[1:]).to_pylist() == [
        recaser("it works")
    ]
    assert recaser("it works") == "It works"


def test_rows_that_are_not_utf8_are_refused(recaser):
    rows = pa.array([b"it", b"\xff"]).view(pa.string())
    with pytest.raises(NotUtf8Error):
        recase_array(recaser.pipeline.recase_utf8, rows)
