"""Facts that features read: case tags, positions, the tokens that alignments count; and which words are linked."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from capfst.bilingual.word_facts import COLON, FIRST, INSIDE, OPENING, SENTENCE, annotate, link
from capfst.exceptions import CorpusError
from capfst.io.alignments import Names, parse
from capfst.recaser import Recaser, load


@pytest.fixture(scope="module")
def recaser(monolingual_model):
    return load(monolingual_model, context=False)


def described(recaser: Recaser, text: str, by_words: bool = False):
    buf = np.frombuffer(text.encode(), np.uint8)
    return annotate(buf, recaser.pipeline.loaded.transducer.words(buf), by_words)


def words_of(text) -> list[str]:
    data = text.buf.tobytes()
    return [data[s:e].decode() for s, e in zip(text.words.starts, text.words.ends, strict=True)]


def test_tags_places_and_the_line(recaser):
    text = described(recaser, 'the (EU) "Paris": McX a. It 12\n\nIT')
    seen = list(zip(words_of(text), text.facts["tag"].tolist(), text.facts["position"].tolist(), strict=True))
    cased = [entry for entry in seen if entry[1] < 4]
    assert cased == [
        ("the", 0, FIRST), ("EU", 2, OPENING), ("Paris", 1, OPENING), ("McX", 3, COLON), ("a.", 0, INSIDE),
        ("It", 1, INSIDE), ("IT", 2, FIRST),
    ]  # fmt: skip
    assert text.lines["has_contrast"].tolist() == [1, 0, 0]
    firsts = [fact["lower_hash"] if fact else 0 for fact in (text.facts[0], None, text.facts[-1])]
    assert text.lines["first_hash"].tolist() == firsts
    assert described(recaser, "it is. it").facts["position"][-1] == SENTENCE


@pytest.mark.parametrize(
    ("line", "contrast"),
    [("all lower", 0), ("ALL UPPER", 0), ("One capital", 1), ("12 . ;", 0), ("OK", 0), ("PHP is", 1), ("", 0)],
)
def test_contrast(recaser, line, contrast):
    assert described(recaser, line).lines["has_contrast"].tolist() == [contrast]


@given(text=st.text(st.sampled_from(list("aé \t.'-`<>/12\u00a0\u3000")), max_size=20))
def test_tokens_are_those_of_white_space(recaser, text):
    found = described(recaser, text)
    assert found.lines["n_tokens"].tolist() == [len(text.split())]
    offsets, at = [], 0
    for token in text.split():
        at = text.index(token, at)
        offsets.append((len(text[:at].encode()), len(text[: at + len(token)].encode())))
        at += len(token)
    for start, token in zip(found.words.starts.tolist(), found.facts["token"].tolist(), strict=True):
        begin, end = offsets[token]
        assert begin <= start < end


def links(recaser: Recaser, target: str, source: str, pairs: str, by_words: bool = False) -> list[tuple[str, str]]:
    texts = [described(recaser, text, by_words) for text in (target, source)]
    found = link(*texts, parse(pairs.encode(), len(texts[0].lines), "pairs"), Names("fr", "en", "pairs"), 5)
    words = [words_of(text) for text in texts]
    return [(words[0][i], words[1][k]) for i, k in enumerate(found.tolist()) if k >= 0]


def test_links(recaser):
    assert links(recaser, "le fichier", "the File", "0-0 1-1") == [("le", "the"), ("fichier", "File")]
    # Several words in one token separated by white space; several source words: the same one, or the longest.
    assert links(recaser, "(fichier)", '"File".', "0-0") == [("fichier", "File")]
    assert links(recaser, "fichier", "a Big file", "0-0 1-0 2-0") == [("fichier", "file")]
    assert links(recaser, "calc fichier", "a Calc file", "0-0 1-0 2-0") == [("calc", "Calc")]
    # Not aligned: the same word.
    assert links(recaser, "dans iphone", "An iPhone", "") == [("iphone", "iPhone")]
    assert links(recaser, "a <b> fichier", "x <i> File", "2-2") == [("fichier", "File")]
    assert links(recaser, "a <b> (fichier", "x <i> (File", "2-2", by_words=True) == [("fichier", "File")]


@pytest.mark.parametrize("pairs", ["\n0-2", "\n2-0 0-0", "0-0\n7-7"])
def test_a_pair_out_of_range_is_named_with_its_line(recaser, pairs):
    wrong = next(pair for pair in pairs.split() if pair != "0-0")
    with pytest.raises(CorpusError, match=rf"^pairs, line 6: the pair {wrong} .* en has 2 words .* fr has 2\."):
        links(recaser, "a\nle fichier", "b\nthe file", pairs)


def test_lines_without_a_source_line_are_not_linked(recaser):
    assert links(recaser, "le\nle", "le", "") == [("le", "le")]
