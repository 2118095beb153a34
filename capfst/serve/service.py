"""The service: what each route does with a request.

In: requests of Starlette. Out: its answers; or a RefusedError, which app.py turns into one.
"""

import asyncio
import os
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager
from functools import partial
from itertools import islice
from threading import Thread
from typing import Any, Literal, TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4 as METRICS
from starlette.requests import Request
from starlette.responses import Response

from capfst.exceptions import CapfstError
from capfst.options import ServeOptions
from capfst.recaser import Recaser
from capfst.serve import requests
from capfst.serve.answers import JSONAnswer, RefusedError
from capfst.serve.body import Body, Budget, JSONLines, Streams, Upload
from capfst.serve.connection import Waiting, connection_of
from capfst.serve.requests import UNSET, ExplainRequest, FileRequest, RecaseRequest
from capfst.serve.work import Batches, in_time
from capfst.system.stopping import check, stop_all
from capfst.text.language import NAME as UNICODE
from capfst.version import __version__

Result = TypeVar("Result")

JSON, TEXT = "application/json", "text/plain"
JSON_LINES = ("application/x-ndjson", "application/ndjson", "application/jsonl")

_SHORT = 1 << 13  # characters of a text that is recased together with others
_FILES = 8  # that are recased at once
_ARRIVING = 16  # files
_BODIES = 16  # of the largest size, which may be in memory at once
_DECODE = {JSON: requests.decoder(RecaseRequest | list[str]), TEXT: requests.decoder(str)}
_decode_explain = requests.decoder(ExplainRequest)


_SECONDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30)
_TEXTS = (1, 2, 4, 8, 16, 32, 64, 128, 256)


class Metrics:
    """Counts and times of a service, as Prometheus reads them at `/metrics`."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        counter, histogram = partial(Counter, registry=self.registry), partial(Histogram, registry=self.registry)
        self.requests = counter("capfst_requests", "Requests, by route and status.", ["route", "status"])
        self.seconds = histogram("capfst_request_seconds", "Time to answer a request.", ["route"], buckets=_SECONDS)
        self.batch = histogram("capfst_batch_texts", "Texts that were recased by one call.", buckets=_TEXTS)
        self.closed = counter("capfst_connections_closed", "Connections that were closed, by reason.", ["reason"])

    def watch(self, name: str, help: str, value: Callable[[], float]) -> None:
        """Add a measure that is read when it is asked for."""
        Gauge(name, help, registry=self.registry).set_function(value)

    def answered(self, route: str, status: int, seconds: float) -> None:
        self.requests.labels(route, status).inc()
        self.seconds.labels(route).observe(seconds)


class Service:
    """Recasers by name, and what they need to serve requests."""

    def __init__(self, recasers: Mapping[str, Recaser], limits: ServeOptions) -> None:
        self.recasers, self.limits = recasers, limits
        self.metrics = Metrics()
        jobs = limits.jobs or os.cpu_count() or 1
        # Several, so that fast calls need not wait for slow ones.
        self._pools = [ThreadPoolExecutor(jobs, name) for name in ("short", "recase", "explain")]
        self._short_pool, self._pool, self._slow_pool = self._pools
        self._handled = _Crowd(limits.max_requests, "requests")
        self._slow = _Crowd(max(1, limits.max_requests // 4), "explanations, details or files are waiting")
        self._recased_files = _Crowd(_FILES, "files at once")
        self._bodies, self._files = Waiting(limits.max_requests), Waiting(_ARRIVING)
        self.streams = Streams(limits.max_requests, limits.max_body)
        self.batches = Batches(self._short_pool, self.metrics.batch.observe, limits.timeout)
        self.budget = Budget(_BODIES * limits.max_body, self._bodies, self.streams.waiting)
        self.metrics.watch("capfst_arriving", "Bodies that are arriving.", lambda: len(self._bodies) + len(self._files))
        self.metrics.watch("capfst_streams", "Open streams.", lambda: len(self.streams.open))

    def recaser(self, name: str | None) -> Recaser:
        """Return the Recaser of a model; of the first one, if the name is None."""
        if name is None:
            return next(iter(self.recasers.values()))
        if name not in self.recasers:
            raise RefusedError(400, f"`model` is {name!r}. Use one of {', '.join(self.recasers)}.")
        return self.recasers[name]

    async def recase(self, request: Request) -> Response | JSONLines:
        """Recase a text, lines, a list of texts, or a stream."""
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind in JSON_LINES:
            return await self._stream(request)
        if kind not in _DECODE:
            raise RefusedError(415, f"the content type is {kind!r}. Send {JSON}, {JSON_LINES[0]} or {TEXT}.")
        async with self._body(request) as body, self._handled:
            given = _DECODE[kind](body)
            asked = requests.from_body(request, given)
            requests.check(asked, self.limits, is_plain=kind == TEXT)
            answers = await self._answers(request, asked, isinstance(given, list))
        if kind == TEXT:
            return Response(answers[0], media_type=TEXT)
        if isinstance(given, list):
            return JSONAnswer(answers)
        if asked.lines is not UNSET:
            return JSONAnswer({"lines": answers})
        return JSONAnswer({"text": answers[0]} if isinstance(answers[0], str) else answers[0])

    def _body(self, request: Request) -> AbstractAsyncContextManager[bytes]:
        return Body(request, self.budget, self._bodies).read(self.limits.max_body)

    async def _answers(self, request: Request, asked: Any, is_list: bool) -> list[Any]:
        """Return the answer to the text of a request, or one for each of its lines, or texts (`is_list`)."""
        recaser, options = self.recaser(asked.model), asked.options()
        texts = asked.lines if asked.text is UNSET else [asked.text]
        if asked.before:
            call = partial(recaser, asked.text, before=asked.before, **options)
            return [await self._in_thread(request, self._pool, call)]
        if asked.nbest is not UNSET or asked.confidence:
            return await self._slowly(request, lambda: [_details(recaser, text, asked, options) for text in texts])
        if asked.text is not UNSET:
            return [await self._recased(request, recaser, asked.text, options)]
        lines = recaser if is_list else partial(_lines, recaser)
        return await self._in_thread(request, self._pool, lambda: lines(texts, **options))

    async def _recased(self, request: Request, recaser: Recaser, text: str, options: dict[str, Any]) -> str:
        """Return a recased text; a short line together with those of other requests."""
        shared = ("cells", "document", "repair", "wrapped")  # among the lines of one text
        is_alone = any(options.get(name, getattr(recaser.options, name)) for name in shared)
        if "\n" in text or len(text) > _SHORT or is_alone:
            return await self._in_thread(request, self._pool, partial(recaser, text, **options))
        words = tuple(options.get("words", {}).items())
        key = (recaser, *(options | {"words": words}).items())
        gone = connection_of(request).is_gone
        return await self.batches.add(key, lambda texts: recaser(texts, **options), text, gone)

    async def _stream(self, request: Request) -> JSONLines:
        asked = requests.from_query(request, lines=[])
        requests.check(asked, self.limits, is_plain=True)
        recaser, options = self.recaser(asked.model), asked.options()
        # An unsupported option is an error of the request, not of each line.
        pipeline = await self._in_thread(request, self._pool, partial(recaser.pipeline_with, options, "recase"))
        pipeline.options.check_call("json_lines")
        in_thread = partial(self._in_thread, request, self._pool)
        return JSONLines(request, self.budget, in_thread, lambda texts: recaser(texts, **options), self.streams)

    async def explain(self, request: Request) -> Response:
        async with self._body(request) as body, self._handled:
            asked = requests.from_body(request, _decode_explain(body))
            requests.check(asked, self.limits)
            call = partial(self.recaser(asked.model).explain, asked.text, asked.nbest, asked.line, **asked.options())
            return JSONAnswer(await self._slowly(request, lambda: call().to_dict()))

    async def files(self, request: Request) -> Response:
        asked = requests.from_query(request, FileRequest)
        requests.check(asked, self.limits)
        recaser, upload = self.recaser(asked.model), Upload(asked)
        try:
            with upload.given.open("wb") as file:
                async for piece in Body(request, self.budget, self._files).pieces(self.limits.max_file):
                    file.write(piece)
            async with self._recased_files, self._handled:
                await self._slowly(request, partial(upload.recase, recaser))
        except BaseException:
            upload.remove()
            raise
        return upload

    async def _slowly(self, request: Request, call: Callable[[], Result]) -> Result:
        """Make a call that takes milliseconds or more in a thread, unless too many of them wait."""
        async with self._slow:
            return await self._in_thread(request, self._slow_pool, call)

    async def _in_thread(self, request: Request, pool: Executor, call: Callable[[], Result]) -> Result:
        """Make a call in a thread. It ends, with RefusedError, when the request's time is over or its client gone."""
        call = in_time(call, self.limits.timeout, connection_of(request).is_gone)
        return await asyncio.get_running_loop().run_in_executor(pool, call)

    def message(self, error: CapfstError) -> str:
        """Return an error for clients: it has the names of models, not their paths."""
        text = str(error)
        for name, recaser in self.recasers.items():
            text = text.replace(recaser.model.path, name)
        return text

    async def models(self, request: Request) -> Response:
        return JSONAnswer({"models": [_described(name, recaser) for name, recaser in self.recasers.items()]})

    async def health(self, request: Request) -> Response:
        status, code = ("stopping", 503) if self.streams.is_stopping else ("ok", 200)
        return JSONAnswer({"status": status, "version": __version__}, code)

    async def measures(self, request: Request) -> Response:
        return Response(generate_latest(self.metrics.registry), media_type=METRICS)

    def close(self, seconds: float) -> bool:
        """End the threads. Return whether all have ended, for which this waits a number of seconds."""

        def wait() -> None:
            for pool in self._pools:
                pool.shutdown()

        stop_all()
        for pool in self._pools:
            pool.shutdown(wait=False, cancel_futures=True)
        ending = Thread(target=wait, daemon=True)
        ending.start()
        ending.join(seconds)
        return not ending.is_alive()


class _Crowd(asyncio.Semaphore):
    """Counts those that are in its context; RefusedError if there are too many."""

    def __init__(self, most: int, what: str) -> None:
        super().__init__(most)
        self._what = what

    async def acquire(self) -> Literal[True]:
        if self.locked():
            raise RefusedError(429, f"too many {self._what}. Try again later.")
        return await super().acquire()


def _lines(recaser: Recaser, lines: list[str], **options: Any) -> list[str]:
    """Return the lines of one text in their best casing."""
    recased = iter(recaser("\n".join(lines), **options).split("\n"))
    return ["\n".join(islice(recased, line.count("\n") + 1)) for line in lines]


def _details(recaser: Recaser, line: str, asked: Any, options: dict[str, Any]) -> dict[str, Any]:
    """Return a line in its best casing, with the words that this changes (`confidence`), and its n best casings."""
    check()
    result: dict[str, Any] = {}
    if asked.confidence:
        text, changes = recaser.confidence(line, **options)
        result = {"text": text, "words": [change._asdict() for change in changes]}  # infinite log-odds become null
    if asked.nbest is not UNSET:
        casings = recaser.nbest(line, asked.nbest, **options)
        result.setdefault("text", casings[0].text)
        result["nbest"] = [candidate._asdict() for candidate in casings]
    return result


def _described(name: str, recaser: Recaser) -> dict[str, Any]:
    model, pipeline, chosen = recaser.model, recaser.pipeline, recaser.options.language
    known = [chosen] if chosen else model.symbols.language.names
    return {
        "name": name,
        "languages": [language for language in known if language != UNICODE],
        "restores": model.symbols.language.restored,
        "input_case": pipeline.input_case,
        "words": len(model.symbols) - 1,
        "signature": str(model.signature),
    }
