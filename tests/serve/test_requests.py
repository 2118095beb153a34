"""Each route: what it answers, as the Recaser does, and how it refuses what is wrong."""

import gzip
import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.disk import mounted
from support.service import read_answer, request, serving

import capfst

LINE = "new york has new information for the us"
TEXT = "mr. brown told us\nthat he met the us navy\n"


@pytest.fixture(scope="module")
def recaser() -> capfst.Recaser:
    return capfst.load("en")


@pytest.mark.parametrize("text", [LINE, TEXT, "", "\n\n", "WE USE PyTorch in NEW york", "a" * 20_000, "İ K"])
def test_a_text_is_recased(service, recaser, text):
    assert service.post("/recase", {"text": text}).json == {"text": recaser(text)}


@pytest.mark.parametrize(
    "options",
    [
        {"sentence_case": True},
        {"input_case": "keep"},
        {"oov": "pass"},
        {"context": False},
        {"breaks": False},
        {"markup": "markdown"},
        {"document": True},
        {"cells": True},
        {"wrapped": True},
        {"start_token": "the"},
        {"restore": "punctuation,case", "keep_marks": False},
    ],
    ids=lambda options: next(iter(options)),
)
def test_options_are_those_of_the_recaser(service, recaser, options):
    text = "THE `new york` Zelner. he met zelner in\nnew york at 5 p.m. in may.\n"
    assert service.post("/recase", {"text": text, **options}).json == {"text": recaser(text, **options)}


def test_lines_are_those_of_one_text_and_a_list_is_of_texts(service, recaser):
    lines = ["WE USE PyTorch", "In NEW york", "we do"] * 5
    assert service.post("/recase", {"lines": lines}).json == {"lines": list(recaser.recase_lines(lines))}
    assert service.post("/recase?sentence_case=true", lines).json == recaser(lines, sentence_case=True)
    for lines, option in (
        (["MARY SMITH", "JOHN LONG", "DAISY FRY"], {"cells": True}),
        (
            ["they drove in the old car of his father to", "the sea and stayed there."],
            {"wrapped": True, "sentence_case": True},
        ),
        (["see <!--", "new york", "--> in new york\n", "", "london\nparis"], {"markup": "html"}),
    ):
        recased = service.post("/recase", {"lines": lines, **option}).json["lines"]
        assert list(map(str.lower, recased)) == list(map(str.lower, lines))
        assert "\n".join(recased) == recaser("\n".join(lines), **option)
        assert "\n".join(recased) != recaser("\n".join(lines), sentence_case="sentence_case" in option)


def test_a_text_is_repaired_whatever_others_are_sent_at_the_same_time(service, recaser):
    texts = ["it runs in new york, as said. they left. a line", "the us model is in memory, as said.", "He left."] * 8
    with ThreadPoolExecutor(len(texts)) as pool:
        answers = pool.map(lambda text: service.post("/recase", {"text": text, "repair": True}).json["text"], texts)
    assert list(answers) == [recaser(text, repair=True) for text in texts]


def test_marks_are_restored_in_streams_and_files(service):
    asked = "restore=punctuation,case&sentence_case=true"
    stream = service.ask("POST", f"/recase?{asked}", b'"did we meet in new york"\n', "application/x-ndjson")
    assert stream.body == b'"Did we meet in New York?"\n'
    given, _ = FILES["a.srt"]
    file = service.ask("POST", f"/files?name=a.srt&{asked}", given.replace(b"new york", b"did we meet in new york"))
    assert b"Did we meet in New York?" in file.body
    refused = service.post("/recase", {"text": "und wo warst du", "model": "several", "restore": "punctuation"})
    assert "punctuation" in refused.error


def test_words_are_words_and_never_paths(service, tmp_path):
    listed = tmp_path / "words.txt"
    listed.write_text("ZELNER\n")
    assert service.post("/recase", {"text": "zelner", "words": ["ZelNer"]}).json == {"text": "ZelNer"}
    assert service.post("/recase", {"text": "zelner", "words": {"ZelNer": 30.0}}).json == {"text": "ZelNer"}
    assert service.post("/recase", {"text": "new york", "words": []}).json == {"text": "New York"}
    assert service.post("/recase", {"text": "zelner", "words": [str(listed)]}).json != {"text": "ZELNER"}
    assert "abbreviations" in service.post("/recase", {"text": "x", "abbreviations": [str(listed)]}).error


def test_plain_text_stays_plain(service, recaser):
    answer = service.ask("POST", "/recase?input_case=ignore&words=NAVY", TEXT.encode(), "text/plain; charset=utf-8")
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.body.decode() == recaser(TEXT, input_case="ignore", words={"NAVY": None})


def test_text_continues_other_text(service):
    assert service.post("/recase", {"text": "york", "before": "I live in New"}).json == {"text": "York"}
    assert service.ask("POST", "/recase?before=I+live+in+New", b"york", "text/plain").body == b"York"
    stream = service.ask("POST", "/recase?before=I+live+in+New", b'"york"\n', "application/x-ndjson")
    assert "`before` goes with `text` alone" in stream.error
    for more in {"nbest": 2}, {"confidence": True}, {"document": True}, {"lines": ["york"]}:
        assert "`" in service.post("/recase", {"text": "york", "before": "I live in New"} | more).error


def test_the_log_odds_of_a_word_without_another_casing_are_null(service):
    answer = service.post("/recase", {"text": "we use pytorch", "words": ["PyTorch"], "confidence": True}).json
    assert answer["words"] == [{"start": 7, "end": 14, "word": "PyTorch", "log_odds": None}]


def test_confidence_and_the_best_casings_are_those_of_the_recaser(service, recaser):
    expected = {
        "text": recaser(LINE),
        "words": [change._asdict() for change in recaser.confidence(LINE).changes],
        "nbest": [candidate._asdict() for candidate in recaser.nbest(LINE, 3)],
    }
    details = {"confidence": True, "nbest": 3}
    assert service.post("/recase", {"text": LINE, **details}).json == expected
    assert service.post("/recase", {"lines": [LINE, ""], **details}).json["lines"][0] == expected
    assert service.post("/recase?confidence=true&nbest=3", [LINE]).json == [expected]


def test_a_model_is_chosen_by_its_name(service):
    assert service.post("/recase", {"text": "istanbul'da", "model": "several", "language": "tr"}).json == {
        "text": capfst.load("multi")("istanbul'da", language="tr")
    }
    models = {model["name"]: model for model in service.ask("GET", "/models").json["models"]}
    assert list(models) == ["en", "several"]
    assert "tr" in models["several"]["languages"]
    assert models["en"]["languages"] == []


def test_an_explanation_is_that_of_the_recaser(service, recaser):
    asked = {"text": "an it meeting\nit is", "nbest": 2, "line": 1, "document": True}
    explanation = recaser.explain(asked["text"], n=2, line=1, document=True).to_dict()
    assert service.post("/explain", asked).json == json.loads(json.dumps(explanation))


FILES = {
    "a.txt": (b"new york\nthe us navy", b"New York\nthe US Navy"),
    "vosk.jsonl": (
        b'{"result": [{"conf": 1.0, "end": 1.0, "start": 0.5, "word": "york"}], "text": "york"}\n',
        b'{"result": [{"conf": 1.0, "end": 1.0, "start": 0.5, "word": "York"}], "text": "York"}\n',
    ),
    "a.srt": (b"1\n00:00:01,000 --> 00:00:02,000\nnew york\n", b"1\n00:00:01,000 --> 00:00:02,000\nNew York\n"),
    "a.vtt": (b"WEBVTT\n\n00:01.000 --> 00:02.000\nnew york\n", b"WEBVTT\n\n00:01.000 --> 00:02.000\nNew York\n"),
    "a.jsonl": (b'{"id": "new", "text": "new york"}\n', b'{"id": "new", "text": "New York"}\n'),
    "A.CSV": (b"id,text\nnew,new york\n", b"id,text\nnew,New York\n"),
    "a.md": (b"new york `new york`\n", b"New York `new york`\n"),
    "../../x/a.txt": (b"new york", b"New York"),
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_recased_by_its_suffix(service, name):
    given, expected = FILES[name]
    markup = "&markup=auto" if name.endswith(".md") else ""
    answer = service.ask("POST", f"/files?name={name}{markup}", given)
    assert (answer.status, answer.body) == (200, expected)
    assert answer.headers["content-disposition"].startswith("attachment")


def test_options_apply_to_files(service):
    given = FILES["a.srt"][0].replace(b"new york", b"new [MUSIC] york")
    answer = service.ask("POST", "/files?name=a.srt&remarks=capitalized", given)
    assert answer.body == given.replace(b"new [MUSIC] york", b"New [Music] York")
    assert "remarks" in service.ask("POST", "/files?name=a.srt&remarks=upper", given).error


def test_files_are_removed(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with serving() as service:
        for name, status in (("a.txt", 200), ("a.srt", 400), ("a.exe", 415)):
            assert service.ask("POST", f"/files?name={name}", b"x\ny").status == status
    assert list(tmp_path.iterdir()) == []


def test_a_file_for_which_the_disk_has_no_room_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(disk := tmp_path / "disk"))
    with mounted(disk, 1 << 20):
        with serving() as service:
            for size, status in ((400_000, 200), (600_000, 507), (1_200_000, 507)):  # the answer; the file
                answer = service.ask("POST", "/files?name=a.txt", b"new york\n" * (size // 9))
                assert answer.status == status
                assert status == 200 or "no room" in answer.error
        assert list(disk.iterdir()) == []


def test_a_line_that_is_too_long_for_details_is_refused(service):
    line = "new york " * 300
    assert "2,700 characters" in service.post("/recase", {"text": line, "nbest": 1}).error
    assert service.post("/recase", {"lines": [line], "confidence": True}).status == 200
    assert service.post("/recase?confidence=true", ["", line * 20]).status == 413


REFUSED = {  # body, path, status, what the message names
    "no JSON": (b"{", "/recase", 400, "truncated"),
    "not UTF-8": (b'{"text": "\xff"}', "/recase", 400, "byte 10"),
    "half of a pair of surrogates": (b'{"text": "\\ud800"}', "/recase", 400, "invalid"),
    "deep JSON": (b"[" * 100_000, "/recase", 400, "$[0]"),
    "deep fields": (b'{"text": ' * 5_000, "/recase", 400, "$.text"),
    "no text": (b"{}", "/recase", 400, "`text`"),
    "text and lines": (b'{"text": "", "lines": []}', "/recase", 400, "`lines`"),
    "a number": (b'{"text": 1}', "/recase", 400, "$.text"),
    "an unknown field": (b'{"text": "", "txt": ""}', "/recase", 400, "`txt`"),
    "an unknown value": (b'{"text": "", "oov": "x"}', "/recase", 400, "$.oov"),
    "an unknown model": (b'{"text": "", "model": "../en.fst"}', "/recase", 400, "several"),
    "a language of another model": (b'{"text": "", "language": "de"}', "/recase", 400, "`language`"),
    "two lines": (b'{"text": "a\\nb", "confidence": true}', "/recase", 400, "line"),
    "too many casings": (b'{"text": "a", "nbest": 1000}', "/recase", 400, "$.nbest"),
    "options at two places": (b'{"text": "a"}', "/recase?oov=pass", 400, "query"),
    "options to explain at two places": (b'{"text": "a"}', "/explain?nbest=2", 400, "query"),
    "text in the query": (b'["a"]', "/recase?text=a", 400, "`text`"),
    "an unknown option": (b'["a"]', "/recase?oof=pass", 400, "`oof`"),
    "a long line to explain": (json.dumps({"text": "a " * 2000}).encode(), "/explain", 413, "4,000"),
    "a blank start token": (b'{"text": "a", "start_token": " "}', "/recase", 400, "`start_token`"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_wrong_request_is_refused_with_a_reason(service, case):
    body, path, status, named = REFUSED[case]
    answer = service.ask("POST", path, body, "application/json")
    assert answer.status == status
    assert named in answer.error
    assert "/capfst/" not in answer.error  # no paths of the server


_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda values: st.lists(values, max_size=3) | st.dictionaries(st.text(max_size=5), values, max_size=3),
    max_leaves=5,
)
_fields = st.sampled_from(
    ["text", "lines", "model", "words", "nbest", "confidence", "sentence_case", "language", "oov"]
)
_bodies = st.binary(max_size=20) | (_values | st.dictionaries(_fields, _values)).map(
    lambda value: json.dumps(value).encode()
)


@settings(max_examples=100)
@given(_bodies, st.sampled_from(["/recase", "/explain"]))
def test_any_body_has_an_answer(service, body, path):
    answer = service.ask("POST", path, body, "application/json")
    assert answer.status == 200 or (answer.status in (400, 413) and answer.error)


@pytest.mark.parametrize(
    ("method", "path", "kind", "status"),
    [
        ("POST", "/recase", "", 415),
        ("POST", "/recase", "application/x-www-form-urlencoded", 415),
        ("GET", "/recase", "", 405),
        ("GET", "/../style.css/x", "", 404),
        ("POST", "/recase/", "application/json", 404),
        ("POST", "/files?name=x.exe", "", 415),
        ("POST", "/files", "", 400),
        ("POST", "/files?name=x.txt", "multipart/form-data; boundary=x", 415),
    ],
)
def test_a_wrong_route_or_type_is_refused(service, method, path, kind, status):
    answer = service.ask(method, path, b"x", kind)
    assert answer.status == status
    assert answer.error


def test_a_compressed_file_is_refused_and_a_damaged_one_has_its_name_in_the_error(service):
    assert "compressed" in service.ask("POST", "/files?name=a.txt", b"\x1f\x8b" + b"x" * 100).error
    assert "talk.srt" in service.ask("POST", "/files?name=talk.srt", b"no subtitles\n").error
    damaged = service.ask("POST", "/files?name=talk.jsonl", b"{\n").error
    assert "talk.jsonl" in damaged
    assert "--" not in damaged  # no options of commands


@pytest.mark.parametrize("path", ["/recase", "/explain", "/files?name=a.txt"])
def test_a_compressed_body_is_refused(service, path):
    answer = service.ask("POST", path, gzip.compress(b"{}"), "application/json", content_encoding="gzip")
    assert answer.status == 415
    assert "compressed" in answer.error


def test_limits_of_lines_words_and_sizes(limited):
    assert "6 lines" in limited.post("/recase", {"lines": ["a"] * 6}).error
    assert limited.post("/recase", ["a"] * 6).status == 413
    assert "4 words" in limited.post("/recase", {"text": "a", "words": ["a", "b", "c", "d"]}).error
    assert limited.post("/recase", {"text": "a", "words": ["a" * 201]}).status == 413
    assert "2,000 bytes" in limited.post("/recase", {"text": "a" * 2000}).error
    assert limited.ask("POST", "/files?name=a.txt", b"a" * 3001).status == 413
    assert limited.ask("POST", "/recase", b"a" * 2000, "text/plain").status == 200


def test_requests_over_one_connection(service, recaser):
    lines = [f"{LINE} {k}" for k in range(20)]
    with service.connect() as connection:
        for line in lines:
            connection.sendall(request("POST", "/recase", json.dumps({"text": line}).encode(), "application/json"))
            assert read_answer(connection).json == {"text": recaser(line)}


@pytest.mark.parametrize("size", [1, 1 << 16])
def test_an_offer_of_another_protocol_is_ignored(service, size):
    offer = {"connection": "Upgrade, HTTP2-Settings", "upgrade": "h2c", "http2_settings": "AAEAAEAAAAIAAAAB"}  # Java's
    data = request("POST", "/recase", b'{"text": "new york"}', "application/json", **offer)
    with service.connect() as connection:
        for _ in range(2):
            for start in range(0, len(data), size):
                connection.sendall(data[start : start + size])
            assert read_answer(connection).json == {"text": "New York"}


def test_plain_text_has_no_details(service):
    answer = service.ask("POST", "/recase?confidence=true", b"new york", "text/plain")
    assert answer.status == 400
    assert "`confidence`" in answer.error


def test_other_origins_are_allowed_only_by_name(service):
    origin = {"origin": "https://example.org"}
    assert "access-control-allow-origin" not in service.post("/recase", {"text": "a"}, **origin).headers
    with serving("--cors", "https://Example.org/") as open_service:
        answer = open_service.post("/recase", {"text": "a"}, **origin)
        assert answer.headers["access-control-allow-origin"] == "https://example.org"
        refused = open_service.post("/recase", {"text": "a"}, origin="https://example.com")
        assert "access-control-allow-origin" not in refused.headers


def test_the_description_has_each_route_and_each_option(service):
    description = service.ask("GET", "/openapi.json").json
    assert {"/recase", "/explain", "/files", "/models", "/healthz", "/metrics"} <= set(description["paths"])
    fields = description["components"]["schemas"]["RecaseRequest"]["properties"]
    assert {"text", "lines", "model", "nbest", "confidence", "words", "sentence_case", "input_case"} <= set(fields)
    assert fields["model"]["enum"] == ["en", "several"]
    assert not {"abbreviations", "engine", "align_words"} & set(fields)
    answers = description["paths"]["/recase"]["post"]["responses"]
    assert {"200", *description["components"]["responses"]} == set(answers)
    assert answers["413"] == {"$ref": "#/components/responses/413"}


def test_pages_load_nothing_from_other_hosts(service):
    for path in ("/", "/docs", "/style.css", "/page.js", "/docs.js"):
        answer = service.ask("GET", path)
        assert answer.status == 200
        assert b"://" not in answer.body.replace(b"http://www.w3.org", b"")
        assert "default-src 'none'" in answer.headers["content-security-policy"]


def test_health_and_metrics(service):
    assert service.ask("GET", "/healthz").json == {"status": "ok", "version": capfst.__version__}

    def count() -> float:
        text = service.ask("GET", "/metrics").body.decode()
        (line,) = [
            line
            for line in text.splitlines()
            if line.startswith('capfst_requests_total{route="/explain",status="400"}')
        ]
        return float(line.split()[-1])

    service.post("/explain", {})
    before = count()
    service.post("/explain", {})
    assert count() == before + 1
