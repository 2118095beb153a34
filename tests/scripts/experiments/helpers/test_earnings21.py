"""scripts/experiments/helpers/earnings21.py: the archive, whose tables are read when they are needed."""

import io
import tarfile

import pytest
from helpers import earnings21
from helpers.earnings21 import REFERENCE, Word, sentence_ends

HEAD = "token|speaker|ts|endTs|punctuation|case|tags|wer_tags"
REFERENCES = "transcripts/nlp_references"


@pytest.fixture
def archive(tmp_path):
    """Write an archive of two calls; the tables of the second are not valid."""
    files = {
        f"speech/{REFERENCES}/2.nlp": f"{HEAD}\nbad",
        f"speech/{REFERENCES}/1.nlp": f"{HEAD}\nHi|1|||.|UC|[]|['7']\nTRUE|1||||LC|[]|[]",
        "speech/transcripts/wer_tags/1.wer_tag.json": "{}",
        "speech/output/google/1.nlp": f"{HEAD}\nhi|1|0.5|0.75||LC|[]",
    }
    with tarfile.open(tmp_path / "calls.tar", "w") as tar:
        for name, text in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(text)
            tar.addfile(info, io.BytesIO(text.encode()))
    return tmp_path / "calls.tar"


def test_words_of_calls(archive):
    first, second = earnings21.read(archive).values()
    hi, true = first[REFERENCE]
    assert (hi.text, hi.mark, hi.speaker, hi.times) == ("Hi", ".", "1", None)
    assert true.text == "true"  # a spreadsheet has changed it
    assert first["google"][0].times == (0.5, 0.75)
    with pytest.raises(IndexError):  # only when it is needed
        second[REFERENCE]


def test_sentences_end_at_marks_and_speakers_but_not_after_titles():
    said = [
        *(("1", word) for word in ["Thank", "you,", "Mr.", "Smith.", "It", "is"]),
        *(("2", word) for word in ["Now", "Q?", "A"]),
    ]
    words = [Word(w.rstrip(",.?"), w[len(w.rstrip(",.?")) :], speaker) for speaker, w in said]
    assert sentence_ends(words) == [4, 6, 8, 9]
