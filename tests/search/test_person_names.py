"""person_names.py: v. and Ms by the names next to them."""

import pytest

from capfst.recaser import Recaser, load
from capfst.text.unicode import lower

LINES = """
The case of Roe v. Wade was decided.
He cited Brown v. Board of Education.
In Smith v. Jones he said so.
United States v. Microsoft Corp.
In England v. France he scored.
Plessy v. Ferguson was overruled by Brown v. Board of Education.
People v. Turner and R v. Dudley
Eugene V. Debs was there.
The Eugene V. Debs Foundation
He is John V. Smith.
Henry V. He was king.
V. Putin
Roe v.
Ms Smith came late.
Then Ms Jones left with Ms Maria Lopez.
We thank Ms Patel and Mr Singh.
Ms. Smith came late.
MS Word and MS Excel
The MS was found.
MS
"""


@pytest.fixture(scope="module")
def recaser() -> Recaser:
    return load(sentence_case=True)


@pytest.mark.parametrize("line", [line for line in LINES.strip().split("\n") if line not in ("Roe v.", "MS")])
def test_golden(recaser: Recaser, line: str) -> None:
    assert recaser(lower(line)) == recaser(line.upper()) == line
    assert recaser(lower(line), engine="openfst") == line
    assert recaser.nbest(lower(line), 1)[0].text == recaser.confidence(lower(line)).text == line


def test_a_whole_text_is_recased_as_its_lines(recaser: Recaser) -> None:
    assert recaser(lower(LINES)).split("\n") == recaser(lower(LINES).split("\n"))


def test_models_without_the_words(contextual_model) -> None:
    names = load(contextual_model).pipeline.loaded.person_names
    assert names is not None
    assert names.versus.word == names.ms.word == 0
    assert load(contextual_model)("roe v. wade and ms smith").lower() == "roe v. wade and ms smith"
