"""The service: what each route does with a request.

In: requests of Starlette. Out: its answers; or a RefusedError, which app.py turns into one.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from functools import partial
from threading import Thread
from typing import Any, TypeVar

from starlette.requests import Request
from starlette.responses import Response

from capfst.exceptions import CapfstError
from capfst.options import ServeOptions
from capfst.recaser import Recaser
from capfst.serve import requests
from capfst.serve.answers import JSONAnswer, RefusedError
from capfst.serve.batching import Batches
from capfst.serve.body import Budget, connection_of, read_body
from capfst.serve.deadline import Deadline
from capfst.serve.details import details
from capfst.serve.metrics import CONTENT_TYPE, Metrics
from capfst.serve.requests import UNSET
from capfst.serve.streaming import JSONLines, Streams
from capfst.serve.uploads import recased_file
from capfst.serve.waiting import Waiting
from capfst.system.stopping import stop_all
from capfst.text.language import NAME as UNICODE
from capfst.version import __version__

Result = TypeVar("Result")

JSON, TEXT = "application/json", "text/plain"
JSON_LINES = ("application/x-ndjson", "application/ndjson", "application/jsonl")

_SHORT = 1 << 13  # characters of a text that is recased together with others
_FILES = 8  # that are recased at once
_BODIES = 16  # of the largest size, which may be in memory at once


class _Handled:
    """Counts requests while they are handled; RefusedError if there are too many."""

    def __init__(self, most: int) -> None:
        self._most, self._n = most, 0

    async def __aenter__(self) -> None:
        if self._n >= self._most:
            raise RefusedError(429, "too many requests. Try again later.")
        self._n += 1

    async def __aexit__(self, *error: object) -> None:
        self._n -= 1


class Service:
    """Recasers by name, and what they need to serve requests."""

    def __init__(self, recasers: Mapping[str, Recaser], limits: ServeOptions) -> None:
        self.recasers, self.limits = recasers, limits
        self.metrics = Metrics()
        jobs = limits.jobs or os.cpu_count() or 1
        # Several, so that fast calls need not wait for slow ones.
        self._short_pool = ThreadPoolExecutor(jobs, "short")
        self._pool = ThreadPoolExecutor(jobs, "recase")
        self._slow_pool = ThreadPoolExecutor(jobs, "explain")
        self._handled = _Handled(limits.max_requests)
        self._n_slow, self._most_slow = 0, max(1, limits.max_requests // 4)
        self._n_files = 0
        self._bodies, self._files, streams = Waiting(), Waiting(), Waiting()
        self.batches = Batches(self._short_pool, self.metrics.batch.observe, limits.timeout)
        self.budget = Budget(_BODIES * limits.max_body, self._bodies, streams)
        self.metrics.watch("capfst_arriving", "Bodies that are arriving.", lambda: len(self._bodies) + len(self._files))
        self.stopping = asyncio.Event()
        self.streams = Streams(limits.max_requests, limits.max_body, self.budget, streams, self.stopping)
        self.metrics.watch("capfst_streams", "Open streams.", lambda: self.streams.number)

    def recaser(self, name: str | None) -> Recaser:
        """Return the Recaser of a model; of the first one, if the name is None."""
        if name is None:
            return next(iter(self.recasers.values()))
        if name not in self.recasers:
            raise RefusedError(400, f"`model` is {name!r}. Use one of {', '.join(self.recasers)}.")
        return self.recasers[name]

    async def recase(self, request: Request) -> Response | JSONLines:
        """POST /recase"""
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind in JSON_LINES:
            return await self._stream(request)
        if kind not in (JSON, TEXT):
            raise RefusedError(415, f"the content type is {kind!r}. Send {JSON}, {JSON_LINES[0]} or {TEXT}.")
        async with read_body(request, self.limits, self.budget, self._bodies) as body, self._handled:
            asked = requests.decoded(bytes.decode if kind == TEXT else requests.decode_recase, body)
            if isinstance(asked, str):
                query = self._query(request, text=asked)
                requests.check_plain(query)
                return Response(await self._recased(request, query), media_type=TEXT)
            if isinstance(asked, list):
                return JSONAnswer(await self._recased_list(request, self._query(request, lines=asked)))
            if request.scope["query_string"]:
                raise RefusedError(400, "options are in the query and in the body. Put all into the body.")
            requests.check(asked, self.limits)
            return JSONAnswer(await self._answer(request, asked))

    def _query(self, request: Request, kind: Any = requests.RecaseRequest, **body: Any) -> Any:
        """Return a request whose options are in the query, together with its body."""
        query = requests.from_query(request.query_params.multi_items(), kind)
        for name, value in body.items():
            setattr(query, name, value)
        requests.check(query, self.limits)
        return query

    async def _answer(self, request: Request, asked: Any) -> dict[str, Any]:
        """Return the answer to an object with `text` or `lines`."""
        if (asked.text is UNSET) == (asked.lines is UNSET):
            raise RefusedError(400, "send either `text` or `lines`.")
        has_details = asked.nbest is not UNSET or asked.confidence
        if has_details and asked.text is not UNSET:
            (answer,) = await self._details(request, asked, [asked.text])
            return answer
        if has_details:
            return {"lines": await self._details(request, asked, asked.lines)}
        if asked.text is not UNSET:
            return {"text": await self._recased(request, asked)}
        recaser = self.recaser(asked.model)
        lines, options = asked.lines, asked.options()
        recased = await self._in_thread(request, self._pool, lambda: list(recaser.recase_lines(lines, **options)))
        return {"lines": recased}

    async def _recased(self, request: Request, asked: Any) -> str:
        """Return a recased text; a short line together with those of other requests."""
        recaser = self.recaser(asked.model)
        text, options = asked.text, asked.options()
        chosen = recaser.options
        is_alone = options.get("document", chosen.document) or options.get("wrapped", chosen.wrapped)
        if "\n" in text or len(text) > _SHORT or is_alone:
            return await self._in_thread(request, self._pool, partial(recaser, text, **options))
        words = options.get("words")
        key = (recaser, *(options | ({"words": tuple(words.items())} if words else {})).items())
        gone = connection_of(request).is_gone
        return await self.batches.add(key, lambda texts: recaser(texts, **options), text, gone)

    async def _recased_list(self, request: Request, asked: Any) -> list[Any]:
        """Return texts that are each on their own."""
        if asked.nbest is not UNSET or asked.confidence:
            return await self._details(request, asked, asked.lines)
        recaser = self.recaser(asked.model)
        return await self._in_thread(request, self._pool, lambda: recaser(asked.lines, **asked.options()))

    async def _details(self, request: Request, asked: Any, lines: list[str]) -> list[dict[str, Any]]:
        requests.check_details(asked, lines)
        recaser = self.recaser(asked.model)
        nbest = None if asked.nbest is UNSET else asked.nbest
        return await self._slowly(request, partial(details, recaser, lines, nbest, asked.confidence, asked.options()))

    async def _stream(self, request: Request) -> JSONLines:
        query = self._query(request)
        requests.check_plain(query)
        recaser, options = self.recaser(query.model), query.options()
        if options.get("document"):
            raise RefusedError(400, "`document` is for whole texts, not for a stream. Send `text` or `lines`.")
        # An unsupported option is an error of the request, not of each line.
        await self._in_thread(request, self._pool, partial(recaser.pipeline_with, options, "recase"))
        in_thread = partial(self._in_thread, request, self._pool)
        return JSONLines(request, in_thread, lambda texts: recaser(texts, **options), self.streams)

    async def explain(self, request: Request) -> Response:
        """POST /explain"""
        async with read_body(request, self.limits, self.budget, self._bodies) as body, self._handled:
            asked = requests.decoded(requests.decode_explain, body)
            requests.check(asked, self.limits)
            recaser = self.recaser(asked.model)
            call = partial(recaser.explain, asked.text, asked.nbest, asked.line, **asked.options())
            return JSONAnswer(await self._slowly(request, lambda: call().to_dict()))

    async def files(self, request: Request) -> Response:
        """POST /files?name=film.srt"""
        query = self._query(request, requests.FileRequest)
        recaser = self.recaser(query.model)
        in_thread = partial(self._recase_file, request)
        return await recased_file(request, query, recaser, self.limits, self._files, in_thread)

    async def _recase_file(self, request: Request, call: Callable[[], Any]) -> None:
        """Recase a file that has arrived, unless too many are being recased."""
        if self._n_files == _FILES:
            raise RefusedError(429, "too many files at once. Try again later.")
        self._n_files += 1
        try:
            async with self._handled:
                await self._slowly(request, call)
        finally:
            self._n_files -= 1

    async def _slowly(self, request: Request, call: Callable[[], Any]) -> Any:
        """Make a call that takes milliseconds or more in a thread, unless too many of them wait."""
        if self._n_slow >= self._most_slow:
            raise RefusedError(429, "too many explanations, details or files are waiting. Try again later.")
        self._n_slow += 1
        try:
            return await self._in_thread(request, self._slow_pool, call)
        finally:
            self._n_slow -= 1

    async def _in_thread(self, request: Request, pool: Executor, call: Callable[[], Result]) -> Result:
        """Make a call in a thread. It ends, with RefusedError, when the request's time is over or its client gone."""
        deadline = Deadline(self.limits.timeout, connection_of(request).is_gone)
        return await asyncio.get_running_loop().run_in_executor(pool, deadline.keep, call)

    def message(self, error: CapfstError) -> str:
        """Return an error for clients: it has the names of models, not their paths."""
        text = str(error)
        for name, recaser in self.recasers.items():
            text = text.replace(recaser.model.path, name)
        return text

    async def models(self, request: Request) -> Response:
        """GET /models"""
        return JSONAnswer({"models": [_described(name, recaser) for name, recaser in self.recasers.items()]})

    async def health(self, request: Request) -> Response:
        """GET /healthz"""
        is_stopping = self.stopping.is_set()
        status = "stopping" if is_stopping else "ok"
        return JSONAnswer({"status": status, "version": __version__}, 503 if is_stopping else 200)

    async def measures(self, request: Request) -> Response:
        """GET /metrics"""
        return Response(self.metrics.text(), media_type=CONTENT_TYPE)

    def close(self, seconds: float) -> bool:
        """End the threads. Return whether all have ended, for which this waits a number of seconds."""
        stop_all()
        endings = []
        for pool in (self._short_pool, self._pool, self._slow_pool):
            pool.shutdown(wait=False, cancel_futures=True)
            endings.append(Thread(target=pool.shutdown, daemon=True))  # which waits
            endings[-1].start()
        end = time.monotonic() + seconds
        for ending in endings:
            ending.join(max(0, end - time.monotonic()))
        return not any(ending.is_alive() for ending in endings)


def _described(name: str, recaser: Recaser) -> dict[str, Any]:
    model, pipeline, chosen = recaser.model, recaser.pipeline, recaser.options.language
    known = [chosen] if chosen else pipeline.loaded.languages
    return {
        "name": name,
        "languages": [language for language in known if language != UNICODE],
        "restores": model.symbols.language.restored,
        "input_case": pipeline.input_case,
        "words": len(model.symbols) - 1,
        "signature": str(model.signature),
    }
