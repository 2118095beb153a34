"""Recase the results of Kaldi or Vosk while they come, by a service.

capfst serve &
nc localhost 5050 < audio.raw | python live_service.py

Kaldi's TCP decoder ends partial results with a carriage return, and final ones with a line break. Vosk's results are
JSON, here one per line.
"""

import json
import re
import sys
from urllib.request import Request, urlopen

URL = sys.argv[1] if len(sys.argv) > 1 else "http://localhost:8000"


def recase(text: str) -> str:
    body = json.dumps({"text": text}).encode()
    with urlopen(Request(f"{URL}/recase", body, {"content-type": "application/json"})) as answer:
        return json.load(answer)["text"]


def recase_vosk(result: dict) -> dict:
    """Recase the text of a partial or final result, and give its timed words the same case."""
    for text, words in (("partial", "partial_result"), ("text", "result")):
        if text in result:
            result[text] = recase(result[text])
        if words in result:
            for timed, word in zip(result[words], result[text].split(), strict=True):
                timed["word"] = word
    return result


def show(result: bytes) -> None:
    text, end = re.fullmatch(r"(.*?)([\r\n]?)", result.decode()).groups()
    recased = json.dumps(recase_vosk(json.loads(text)), ensure_ascii=False) if text.startswith("{") else recase(text)
    print(recased, end=end, flush=True)


waiting = b""
while data := sys.stdin.buffer.read1():
    *results, waiting = re.split(rb"(?<=[\r\n])", waiting + data)
    for result in results:
        show(result)
if waiting:
    show(waiting)
