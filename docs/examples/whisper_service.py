"""Recase the JSON of Whisper by a service.

capfst serve &
python whisper_service.py < talk.json > cased.json
"""

import json
import sys
from urllib.request import Request, urlopen

URL = sys.argv[1] if len(sys.argv) > 1 else "http://localhost:8000"


def recase(text: str) -> str:
    body = json.dumps({"text": text, "sentence_case": True}).encode()
    with urlopen(Request(f"{URL}/recase", body, {"content-type": "application/json"})) as answer:
        return json.load(answer)["text"]


result = json.load(sys.stdin)
# Sentences continue over segments, so all are recased together. Only case changes, so positions stay.
text = "".join(segment["text"] for segment in result["segments"])
recased = recase(text)
result["text"] = recased
start = 0
for segment in result["segments"]:
    end = start + len(segment["text"])
    segment["text"] = recased[start:end]
    for word in segment.get("words", []):
        start = text.index(word["word"], start)
        word["word"] = recased[start : start + len(word["word"])]
    start = end
json.dump(result, sys.stdout, ensure_ascii=False)
