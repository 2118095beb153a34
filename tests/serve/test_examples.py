"""The examples that call a service, with results of recognizers: only case changes, in texts and words alike."""

import json
import subprocess
import sys
from pathlib import Path

from support.command_line import TIMEOUT
from support.service import Service

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"


def run(service: Service, script: str, stdin: bytes) -> bytes:
    command = [sys.executable, EXAMPLES / script, service.url.rstrip("/")]
    done = subprocess.run(command, input=stdin, capture_output=True, check=False, timeout=TIMEOUT)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def test_results_of_kaldi_keep_their_line_ends(service):
    given = b"i live in\ri live in new york\rhe lives in new york\n\ni live in paris"
    recased = b"I live in\rI live in New York\rhe lives in New York\n\nI live in Paris"
    assert run(service, "live_service.py", given) == recased


def test_results_of_vosk_have_one_case_in_text_and_words(service):
    given = (EXAMPLES / "vosk.jsonl").read_bytes()
    recased = run(service, "live_service.py", given)
    assert recased.lower() == given
    partial, timed, final, silence = map(json.loads, recased.splitlines())
    assert (partial["partial"], silence) == ("the US told", {"text": ""})
    assert " ".join(word["word"] for word in timed["partial_result"]) == timed["partial"]
    assert final["text"] == "the US told us in New York"
    assert " ".join(word["word"] for word in final["result"]) == final["text"]


def test_results_of_whisper_have_one_case_in_text_segments_and_words(service):
    given = (EXAMPLES / "whisper.json").read_bytes()
    recased = run(service, "whisper_service.py", given)
    assert recased.lower() == given.rstrip()
    result = json.loads(recased)
    text = " Senator O'Neill met us in New York. She works for NASA. No, the NASA in Washington."
    assert result["text"] == text
    assert "".join(segment["text"] for segment in result["segments"]) == text
    assert "".join(word["word"] for segment in result["segments"] for word in segment["words"]) == text
