"""Models that OpenFst wrote in other layouts become the same models again."""

import random
from pathlib import Path

import pytest
from hypothesis import given
from support.command_line import message, run
from support.models import Model, backoff_models, in_one_folder, random_model, tiny, vector

from capfst.exceptions import ModelError, OptionError
from capfst.fst.read import CapFst
from capfst.models.convert import import_model


def as_vector(model: Model, path: Path) -> None:
    vector(model).write(str(path))


def as_const(model: Model, path: Path) -> None:
    pywrapfst = pytest.importorskip("pywrapfst")
    pywrapfst.convert(vector(model), "const").write(str(path))


@in_one_folder
@given(model=backoff_models())
@pytest.mark.parametrize("write", [as_vector, as_const])
def test_models_are_the_same_again(model: Model, write, tmp_path: Path) -> None:
    saved = model.save(tmp_path / "cap.fst")
    write(model, tmp_path / "other.fst")
    import_model(tmp_path / "other.fst", tmp_path / "again.fst")
    again = CapFst.open(tmp_path / "again.fst")
    assert (tmp_path / "again.fst").read_bytes() == (tmp_path / "cap.fst").read_bytes()
    assert again.signature == saved.signature


def test_pynini_reads_and_writes_a_model(tmp_path: Path) -> None:
    pynini = pytest.importorskip("pynini")
    random_model(random.Random(1), 3).save(tmp_path / "cap.fst")
    pynini.Fst.read(str(tmp_path / "cap.fst")).write(str(tmp_path / "other.fst"))
    import_model(tmp_path / "other.fst", tmp_path / "again.fst")
    assert (tmp_path / "again.fst").read_bytes() == (tmp_path / "cap.fst").read_bytes()


@pytest.mark.parametrize("write", [as_vector, as_const])
def test_each_damage_is_an_error(tmp_path: Path, write) -> None:
    write(tiny(), tmp_path / "other.fst")
    content = (tmp_path / "other.fst").read_bytes()
    for size in range(4, len(content)):
        (tmp_path / "cut.fst").write_bytes(content[:size])
        with pytest.raises(ModelError, match=r"cut\.fst: "):
            import_model(tmp_path / "cut.fst", tmp_path / "again.fst")
    rng = random.Random(1)
    for _ in range(300):
        damaged = bytearray(content)
        damaged[rng.randrange(4, len(content))] = rng.randrange(256)
        (tmp_path / "cut.fst").write_bytes(damaged)
        try:
            import_model(tmp_path / "cut.fst", tmp_path / "again.fst")
        except ModelError:
            assert not (tmp_path / "again.fst").exists()
        else:
            CapFst.open(tmp_path / "again.fst")
            (tmp_path / "again.fst").unlink()


def test_a_model_that_breaks_the_conventions(tmp_path: Path) -> None:
    fst = vector(tiny())
    fst.add_state()
    fst.write(str(tmp_path / "other.fst"))
    with pytest.raises(ModelError, match="state 4: it does not have the right number of ε arcs"):
        import_model(tmp_path / "other.fst", tmp_path / "again.fst")
    tiny().save(tmp_path / "cap.fst")
    with pytest.raises(ModelError, match="needs no conversion"):
        import_model(tmp_path / "cap.fst", tmp_path / "again.fst")
    with pytest.raises(OptionError, match="records `language`"):
        import_model(tmp_path / "cap.fst", tmp_path / "again.fst", language="tr", restore=None)


@pytest.mark.cli
def test_the_message_is_a_command_that_works(tmp_path: Path) -> None:
    as_vector(tiny(), tmp_path / "other.fst")
    error = message(run("info", "--lm", tmp_path / "other.fst", code=1))
    _, *arguments = error.split("`")[1].replace("aligned.fst", str(tmp_path / "aligned.fst")).split()
    assert b"no context model" in run(*arguments).stderr
    run("info", "--lm", tmp_path / "aligned.fst")
