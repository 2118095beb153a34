"""JSON of recognizers: the texts and the words with their times get the same case."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from capfst import CorpusError, Recaser, load
from capfst.io.formats import reader
from capfst.io.transcripts import PRESETS
from capfst.io.word_lattices import sentence
from capfst.options import FORMATS, Rescoring

TEXT = "i met john smith in new york. he is from the u.s."
CASED = "I met John Smith in New York. He is from the U.S."


def words(text: str, key: str = "word", **more: Any) -> list[dict[str, Any]]:
    return [{"start": k / 10, "end": k / 10 + 0.1, key: word, **more} for k, word in enumerate(text.split())]


def plain(text: str) -> str:
    return text.replace("york.", "york").replace("York.", "York").removesuffix(".")


def halves(text: str) -> list[str]:
    return [text[: text.index(" smith" if "smith" in text else " Smith")], text[text.lower().index(" smith") :]]


def aws(text: str) -> list[dict[str, Any]]:
    items = [{"type": "pronunciation", "alternatives": [{"content": word}]} for word in plain(text).split()]
    return [*items, {"type": "punctuation", "alternatives": [{"content": "."}]}]


def files(text: str) -> dict[str, Any]:
    """Return the output of each recognizer for the text."""
    segments = [{"id": k, "text": part, "words": words(part)} for k, part in enumerate(halves(text))]
    alternative = {"transcript": text, "confidence": 0.9, "words": words(text)}
    deepgram = [
        {**word, "punctuated_word": word["word"], "word": plain(word["word"]), "speaker": 0} for word in words(text)
    ]
    azure = {"Display": text, "Lexical": plain(text), "ITN": plain(text), "Words": words(plain(text), "Word")}
    tokens = [{"text": "[_BEG_]"}, *({"text": text[k : k + 3]} for k in range(0, len(text), 3))]
    return {
        "whisper": {"text": f" {text}", "segments": segments, "language": "en"},
        "faster-whisper": segments,
        "whisper segments": [{"start": each["id"], "end": 9, "text": each["text"], "words": None} for each in segments],
        "whisperx": {"segments": [{**each, "speaker": "A"} for each in segments], "word_segments": words(text)},
        "transformers": {"text": text, "chunks": [{"text": part, "timestamp": [0, 1]} for part in halves(text)]},
        "whisper.cpp": {"transcription": [{"offsets": {"from": 0}, "text": text, "tokens": tokens}]},
        "vosk": {"result": words(text), "text": text},
        "vosk alternatives": {"alternatives": [{"confidence": 1.5, "result": words(text), "text": text}]},
        "kaldi": {"status": 0, "result": {"hypotheses": [{"transcript": text, "word-alignment": words(text)}]}},
        "google": {"results": [{"alternatives": [alternative]}, {"alternatives": [{"words": words(text, tag=1)}]}]},
        "azure": {"RecognitionStatus": "Success", "DisplayText": text, "NBest": [azure]},
        "azure batch": {
            "source": "in new york",
            "combinedRecognizedPhrases": [{"channel": 0, "lexical": plain(text), "display": text}],
            "recognizedPhrases": [{"nBest": [{"lexical": plain(text), "display": text, "words": words(plain(text))}]}],
        },
        "aws": {"jobName": "in paris", "results": {"transcripts": [{"transcript": text}], "items": aws(text)}},
        "deepgram": {"results": {"channels": [{"alternatives": [{
            "transcript": text, "words": deepgram, "paragraphs": {"transcript": f"\nSpeaker 0: {text}"}}]}]}},
        "assemblyai": {"id": "paris", "text": text, "words": words(text, "text"), "utterances": [
            {"speaker": "A", "text": text, "words": words(text, "text", speaker="A")}]},
    }  # fmt: skip


@pytest.fixture(scope="module")
def recaser() -> Recaser:
    return load(sentence_case=True)


def recased(recaser: Recaser, text: str, format: str = "transcript", fields: tuple[str, ...] = ()) -> str:
    parts = reader("speech.json", format, fields).read([text.encode()])
    return b"".join(part.written(recaser.pipeline.recase_text(part.text)) for part in parts).decode()


@pytest.mark.parametrize("recognizer", files(TEXT))
def test_texts_and_words_get_the_same_case(recaser: Recaser, recognizer: str) -> None:
    data, expected = files(TEXT)[recognizer], files(CASED)[recognizer]
    for indent in (None, 1):
        text = json.dumps(data, indent=indent)
        out = recased(recaser, text)
        assert json.loads(out) == expected
        assert out.lower() == text.lower()
    whisper = recognizer in ("faster-whisper", "whisperx", "transformers", "whisper.cpp")
    preset = "whisper" if whisper else "vosk" if recognizer == "kaldi" else recognizer.partition(" ")[0]
    assert json.loads(recased(recaser, json.dumps(data), preset)) == expected


SAID, TIMES = ["so", "we", "went", "on"], [0.5, 0.75, 1.5, 3]


def timed(word: str, begin: str, end: str, write: Callable[[float], Any]) -> list[dict[str, Any]]:
    """Return words of a quarter of a second with their begin, and their end or, if that is not its name, duration."""
    return [
        {begin: write(time), end: write(0.25 + time * ("end" in end)), word: text}
        for text, time in zip(SAID, TIMES, strict=True)
    ]


def milliseconds(time: float) -> int:
    return round(1000 * time)


def ticks(time: float) -> int:
    return round(1e7 * time)


PHRASE = " ".join(SAID)
TIMED: dict[str, Any] = {
    "whisper": {"text": PHRASE, "segments": [
        {"start": 0.5, "end": 3.25, "text": PHRASE, "words": timed("word", "start", "end", float)}]},
    "vosk": {"result": timed("word", "start", "end", float), "text": PHRASE},
    "kaldi": {"result": {"hypotheses": [
        {"transcript": PHRASE, "word-alignment": timed("word", "start", "length", float)}]}},
    "google": {"results": [{"alternatives": [
        {"transcript": PHRASE, "words": timed("word", "startTime", "endTime", lambda time: f"{time:.3f}s")}]}]},
    "azure": {"DisplayText": PHRASE, "NBest": [
        {"Display": PHRASE, "Lexical": PHRASE, "Words": timed("Word", "Offset", "Duration", ticks)}]},
    "azure batch": {"recognizedPhrases": [{"nBest": [
        {"display": PHRASE, "words": timed("word", "offsetInTicks", "durationInTicks", ticks)}]}]},
    "aws": {"results": {"transcripts": [{"transcript": PHRASE}], "items": [
        {**item, "alternatives": [{"content": item.pop("content")}]}
        for item in timed("content", "start_time", "end_time", str)]}},
    "deepgram": {"results": {"channels": [{"alternatives": [
        {"transcript": PHRASE, "words": timed("word", "start", "end", float)}]}]}},
    "assemblyai": {"text": PHRASE, "words": timed("text", "start", "end", milliseconds)},
    "words alone": {"words": timed("word", "start", "end", float)},
}  # fmt: skip


@pytest.mark.parametrize("recognizer", TIMED)
def test_pauses(recognizer: str) -> None:
    (part,) = reader("a", "transcript").read([json.dumps(TIMED[recognizer]).encode()])
    assert part.text == f"{PHRASE}\n".encode()
    assert part.pauses().ends.tolist() == [2, 5, 10]
    assert part.pauses().seconds.tolist() == pytest.approx([0, 0.5, 1.25])


@pytest.mark.parametrize("time", ["", "x", "nan", float("inf"), None, [0.5], {"from": 1}, "1e999", True])
def test_times_that_are_none(time: object) -> None:
    said = [{"word": word, "start": k, "end": time if k > 1 else k + 0.5} for k, word in enumerate(SAID)]
    (part,) = reader("a", "transcript").read([json.dumps({"words": said}).encode()])
    assert part.pauses().ends.tolist() == [2]
    assert part.pauses().seconds.tolist() == [0.5]


def test_pauses_of_segments() -> None:
    segments = [{"start": k, "end": k + 1, "text": text} for k, text in enumerate(["so we", "went", "on again"])]
    (part,) = reader("a", "whisper").read([json.dumps({"segments": segments}).encode()])
    assert part.pauses().ends.tolist() == [10]  # after the segment that is a word


def test_pauses_of_other_words() -> None:
    """Times of words that are not those of the text are not used."""
    said = {"text": "so we went", "words": timed("word", "start", "end", float)}
    (part,) = reader("a", "assemblyai").read([json.dumps(said).encode()])
    assert part.pauses().ends.size == 0


def test_the_presets_are_the_formats() -> None:
    assert set(PRESETS) == set(FORMATS[FORMATS.index("transcript") + 1 :])
    assert all(reader("a", name) for name in FORMATS if name != "text")


def test_a_sentence_continues_over_objects(recaser: Recaser) -> None:
    lines = [{"result": words(part), "text": part} for part in ("i live in new", "york")]
    for text in (
        "\n".join(map(json.dumps, lines)),
        json.dumps(lines),
        "\n".join(json.dumps(x, indent=2) for x in lines),
    ):
        out = recased(recaser, text)
        assert '"New"' in out
        assert '"York"' in out
        assert '"I live in New"' in out


def test_speakers_and_alternatives_are_apart(recaser: Recaser) -> None:
    turns = [{"speaker": name, "text": text} for name, text in (("a", "i live in new"), ("b", "york is far"))]
    (part,) = reader("x", "transcript").read([json.dumps({"utterances": turns, "text": ""}).encode()])
    assert part.text.splitlines() == [b"i live in new", b"york is far"]
    results = [{"alternatives": [{"transcript": f"{name}{k}"} for name in "ab"]} for k in range(2)]
    (part,) = reader("x", "transcript").read([json.dumps({"results": results}).encode()])
    assert part.text.splitlines() == [b"a0 a1", b"b0 b1"]


HYPOTHESES = ["eye met angela merkel", "i met angela merkel", "i met angela merkle"]
SCORED: dict[str, tuple[str, str, list[float], Callable[[list[Any]], Any]]] = {
    "vosk": ("text", "confidence", [300.5, 300, 290], lambda found: {"alternatives": found}),
    "kaldi": ("transcript", "likelihood", [-1, -2, -9], lambda found: {"result": {"hypotheses": found}}),
    "google": ("transcript", "confidence", [0.9, 0.5, 1e-9], lambda found: {"results": [{"alternatives": found}]}),
    "azure": ("Display", "Confidence", [0.9, 0.5, 1e-9], lambda found: {"NBest": found}),
    "deepgram": ("transcript", "confidence", [1, 0.5, 1e-9], lambda found: {"channel": {"alternatives": found}}),
    "whisper": ("text", "avg_logprob", [-0.25, -0.5, -9], lambda found: {"hypotheses": found}),
}


def rescored(recaser: Recaser, text: str, weight: float, bonus: float = 0) -> str:
    transcript = reader("speech.json", "transcript")
    transcript.cost = lambda text: recaser.pipeline.best_words(sentence(text), Rescoring(weight, bonus))[0]
    parts = transcript.read([text.encode()])
    return b"".join(part.written(recaser.pipeline.recase_text(part.text)) for part in parts).decode()


@pytest.mark.parametrize("recognizer", SCORED)
def test_alternatives_in_the_order_of_their_scores(recaser: Recaser, recognizer: str) -> None:
    """Alternatives are recased each on its own, and moved with all that they have."""
    name, score, scores, whole = SCORED[recognizer]

    def written(order: list[int], case: Callable[[str], str]) -> str:
        return json.dumps(
            whole([{score: scores[k], "tokens": [k, {}], name: case(HYPOTHESES[k])} for k in order]), indent=1
        )

    text = written([1, 2, 0], str)
    for weight, order in ((0, [0, 1, 2]), (0.5, [1, 0, 2])):
        assert rescored(recaser, text, weight) == written(order, recaser)
    assert recased(recaser, text) == written([1, 2, 0], recaser)


def test_longer_alternatives(recaser: Recaser) -> None:
    text = '{"alternatives": [{"confidence": 1, "text": "new york\\nis"}, {"confidence": 1, "text": "new york"}]}'
    assert rescored(recaser, text, 1, 99).lower() == text
    assert json.loads(rescored(recaser, text, 1, -99))["alternatives"][0]["text"] == "New York"


def alternatives(scores: str, after: str = "", before: str = "") -> str:
    items = [f'{{"confidence": {score}, "transcript": "in new {score}"}}' for score in scores.split()]
    return f'{{"alternatives": [{before}{f",{after}".join(items)}]}}'


def test_each_list_of_alternatives_has_its_own_order(recaser: Recaser) -> None:
    """Lists in which an alternative has no score keep their order; so does the space between alternatives."""

    def written(first: str, second: str) -> str:
        results = [alternatives(first, "\n ", before=" "), alternatives("0.2 0.7 0.0"), alternatives("0.2")]
        return f'{{"results": [{", ".join(results)}]}}\n{{"results": [{alternatives(second, "  ")}]}}'

    text = written("0.2 0.7 0.3", "0.1 0.2")
    assert rescored(recaser, text, 0).lower() == written("0.7 0.3 0.2", "0.2 0.1")
    assert rescored(recaser, f"[{text.replace(chr(10) + '{', ',{')}]", 0)[1:-1].lower() == written(
        "0.7 0.3 0.2", "0.2 0.1"
    ).replace("\n{", ",{")
    (part,) = reader("speech.json", "transcript").read([text.encode()])
    assert part.written(part.text.upper()).decode() == text.replace("in new", "IN NEW")


@pytest.mark.parametrize("score", ["true", "null", "{}", "NaN", "Infinity", "[1]", "-0.5"])
def test_scores_that_are_none(recaser: Recaser, score: str) -> None:
    text = f'{{"results": [{alternatives(f"0.1 {score}")}]}}'
    assert rescored(recaser, text, 1).lower() == text.lower()


def test_numbers_written_differently(recaser: Recaser) -> None:
    azure = {"NBest": [{"Display": "at 22 bond street in london.", "Lexical": "at twenty two bond street in london",
                        "Words": words("at twenty two bond street in london", "Word")}]}  # fmt: skip
    out = json.loads(recased(recaser, json.dumps(azure)))["NBest"][0]
    assert out["Display"] == "At 22 Bond Street in London."
    assert out["Lexical"] == "At twenty two Bond Street in London"
    assert [word["Word"] for word in out["Words"]] == out["Lexical"].split()


def test_segments_in_capitals_are_apart(recaser: Recaser) -> None:
    texts = [" so i went to london.", " WE WENT TO NEW YORK WITH MARY", " and saw NASA."]
    data = {"segments": [{"text": text, "words": words(text)} for text in texts]}
    out = json.loads(recased(recaser, json.dumps(data)))["segments"]
    assert [each["text"] for each in out] == [
        " So I went to London.",
        " We went to New York with Mary",
        " And saw NASA.",
    ]
    assert [word["word"] for each in out for word in each["words"]] == "".join(each["text"] for each in out).split()


def test_other_fields_with_the_same_words_follow(recaser: Recaser) -> None:
    timed = [{"word": plain(word), "punct": word} for word in TEXT.split()]
    data = {"text": plain(TEXT), "punct": TEXT, "words": timed,
            "times": [[word, 0.1] for word in TEXT.split()], "id": "in new york"}  # fmt: skip
    out = json.loads(recased(recaser, json.dumps(data)))
    assert out["punct"] == CASED.replace("He is", "he is")
    assert [word["punct"] for word in out["words"]] == out["punct"].split() == [word for word, _ in out["times"]]
    assert out["id"] == "in new york"


def test_escapes_and_order_stay(recaser: Recaser) -> None:
    text = '{"text" : "caf\\u00e9 in \\u006eew york\\t\\"john\\"", "b":1.50, "segments":[{"text":"caf\\u00E9"}]}'
    out = recased(recaser, text)
    assert '"Caf\\u00e9 in \\u004eew York\\t\\"John\\""' in out
    assert '"b":1.50' in out
    assert '{"text":"Caf\\u00E9"}' in out
    assert json.loads(out)["segments"][0]["text"] == "Café"


def test_the_lines_of_captions_are_wrapped(recaser: Recaser) -> None:
    text = r"""{"events": [{"segs": [{"utf8": "i met john smith in new\nyork \\n\t."}]},
        {"segs": [{"utf8": "- yes.\n- no"}]}]}"""
    cased = text.replace("i met john smith in new", "I met John Smith in New").replace("york", "York")
    assert recased(recaser, text) == cased.replace("- yes", "- Yes").replace("- no", "- No")


def test_captions_mark_another_speaker(recaser: Recaser) -> None:
    text = '{"events": [{"segs": [{"utf8": "i live"}, {"utf8": " >>"}, {"utf8": " in"}, {"utf8": ">> york"}]}]}'
    cased = text.replace("i live", "I live").replace(" in", " In").replace("york", "York")
    assert recased(recaser, text) == cased


def test_sounds_in_captions_get_no_marks() -> None:
    text = '{"events": [{"segs": [{"utf8": "where are"}, {"utf8": " you"}]}, {"segs": [{"utf8": "[Music]"}]}]}'
    marked = load(restore="punctuation,case", sentence_case=True)
    assert recased(marked, text) == text.replace("where", "Where").replace("you", "you?")


def test_fields(recaser: Recaser) -> None:
    text = json.dumps({"a": {"b": [{"c": "i live"}, {"c": "in paris"}]}, "d.e": "i live in paris", "f": "york"})
    out = json.loads(recased(recaser, text, fields=("a.b[].c", r"d\.e")))
    assert out == {"a": {"b": [{"c": "I live"}, {"c": "in Paris"}]}, "d.e": "I live in Paris", "f": "york"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[{"a": {"b": "in paris"}, "c": ["x"]}]', r"speech.json: not of a recognizer .*: a\.b, c\[\]\."),
        ('{"a": 1}', "speech.json: not of a recognizer .*: none"),
        ('{"text": "in paris"}', "speech.json: not of a recognizer .*: text"),
        ("[1, 2]", "speech.json: not of a recognizer"),
        ('[{"text": "in paris", "words": [}]', "speech.json, line 1: invalid JSON"),
        ("in paris", "speech.json, line 1: invalid JSON"),
    ],
)
def test_another_file_is_refused(text: str, message: str) -> None:
    with pytest.raises(CorpusError, match=message):
        list(reader("speech.json", "transcript").read([text.encode()]))


def test_objects_without_text_may_end_a_part(recaser: Recaser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("capfst.io.text_file.BLOCK", 1)
    text = '{"segments": []}\n{"segments": []}\n\n'
    parts = reader("speech.json", "whisper").read([bytes([byte]) for byte in text.encode()])
    assert b"".join(part.written(part.text) for part in parts).decode() == text


def test_without_text(recaser: Recaser) -> None:
    for text in (
        "",
        "[]",
        " \n",
        '{"alternatives": []}',
        '{"text": "", "result": []}',
        '[{"text": "", "words": [{"word": ""}]}]',
    ):
        assert recased(recaser, text, "vosk") == text
