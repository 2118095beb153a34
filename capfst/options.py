"""The options of recasing and of training, each defined once.

`RecaseOptions` are those of `capfst.load` and of a Recaser's calls, of `capfst recase`, `capfst batch` and requests to
`capfst serve`; `TrainOptions` those of `capfst.train` and `capfst train`; `ServeOptions` those of `capfst serve`. A
field that is added here becomes an option in all of these places: its name is the keyword in Python and, with hyphens,
the flag on the command line.
"""

from __future__ import annotations

import inspect
import math
import os
import re
import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import Field, dataclass, field, fields, replace
from functools import cache
from numbers import Integral, Real
from textwrap import fill
from typing import Any, ClassVar, Literal, NamedTuple, TypeVar

from capfst.exceptions import OptionError, quantity

Value = TypeVar("Value")
Options = TypeVar("Options", "RecaseOptions", "TrainOptions")
Called = TypeVar("Called", bound=Callable[..., Any])
Errors = Literal["strict", "replace"]
Path = str | os.PathLike[str]
UserEntry = tuple[str, float | None]
"""A word or phrase that the user gives at recasing, and its weight."""

MAX_WEIGHT = 1000
"""Of an entry of a word list, in nats. More would decide nothing else, and be lost in the rounding of costs."""
MAX_ORDER = 5
MAX_CASINGS = 1_000_000  # of one line
FORMATS = (
    "text", "srt", "vtt", "ass", "ssa", "sbv", "ttml", "lrc", "textgrid", "po", "ctm", "stm", "kaldi", "json",
    "transcript", "whisper", "vosk", "google", "azure", "aws", "deepgram", "assemblyai", "youtube", "speechmatics",
    "rev", "sherpa",
)  # fmt: skip
"""Plain text, and files whose texts are parts of them (io/formats.py)."""
KEEP = "keep"
REMARKS = (KEEP, "lower", "capitalized")
"""Values of `remarks`."""
MAX_JOBS = 1024
"""Each thread may hold a few megabytes of text."""
LISTS = ("medicine", "places", "tech")
"""Word lists of names, by which `words` may call them: the tables words_….tsv of grammars/."""
PUNCTUATION = ("punctuation", "punctuation,case")
"""Values of `restore`: marks alone, and marks and case."""
START_TOKEN = "and"
"""Beaufays & Strope 2013, §3.2.2."""
CALLS = {
    "before": "`before`",
    "cues": "subtitles and transcripts, whose lines are joined",
    "doc": "a Doc",
    "explain": "explain",
    "json_lines": "a stream of JSON lines",
    "recase_lines": "recase_lines",
    "respelled": "a model that restores diacritics",
    "running": "subtitles, transcripts, JSON and the like",
    "single_line": "nbest, confidence, explain or sentences",
    "source": "a source",
    "stream": "a stream",
    "uncased": "a model that does not restore case",
}
"""Calls and kinds of text that some options cannot be used with, as messages name them."""


def option(
    default: Value,
    help: str,
    *,
    choices: tuple[str, ...] = (),
    least: float | None = None,
    most: float | None = None,
    kind: str | None = None,
    flag: str | None = None,
    group: str | None = None,
    not_for: tuple[str, ...] = (),
    idle_with: tuple[str, ...] = (),
    limited: tuple[str, ...] = (),
    requires: str | None = None,
) -> Value:
    """Define an option as a field of a dataclass.

    Args:
        help: a sentence for `--help` and the reference.
        choices: the supported values, besides None if that is the default.
        least, most: the range of a number.
        kind: the click type that reads it, by its name in `cli/options.py`; `pair`: a boolean has both flags.
        flag: the flag on the command line, if it is not the name; `--no-…` is the flag of a boolean that is True.
        group: the heading in `--help`, if it is not the GROUP of the class.
        not_for: those of `CALLS` that refuse it.
        idle_with: those of `CALLS`, and options, with which it has no effect; the command line refuses these, too.
        limited: the values for which `not_for` and `idle_with` hold, if not for all values except the default.
        requires: the option without which it has no effect; the command line refuses that.
    """
    metadata = {
        "help": help, "choices": choices, "least": least, "most": most, "kind": kind, "flag": flag, "group": group,
        "not_for": not_for, "idle_with": idle_with, "limited": limited, "requires": requires,
    }  # fmt: skip
    made: Value = field(default=default, metadata=metadata)
    return made


class _Validated:
    """Checks the values against the definitions of their fields. One value of a repeatable option becomes a tuple."""

    def __post_init__(self) -> None:
        for each in fields(self):  # type: ignore[arg-type]
            value, rules = getattr(self, each.name), each.metadata
            if isinstance(each.default, tuple) and not isinstance(value, tuple):
                is_one = isinstance(value, (str, os.PathLike, int))
                if not is_one and not isinstance(value, Iterable):
                    raise OptionError(f"`{each.name}` is {value!r}. Use one value, or a list of values.")
                value = (value,) if is_one else tuple(value)
                object.__setattr__(self, each.name, value)
            if value is None and each.default is None:
                continue
            choices, least, most = rules["choices"], rules["least"], rules["most"]
            given = value if isinstance(each.default, tuple) else (value,)
            kind = str(each.type).removesuffix(" | None").removeprefix("tuple[").removesuffix(", ...]")
            accepted, wanted = _TYPES.get(kind, (object, ""))
            if choices and value not in choices:
                raise OptionError(f"`{each.name}` is {value!r}. Use one of {', '.join(choices)}.")
            if not choices and not all(isinstance(one, accepted) for one in given):
                raise OptionError(f"`{each.name}` is {value!r}. Use {wanted}.")
            if (least is not None and not least <= value < math.inf) or (most is not None and value > most):
                limits = f"{least} to {most}" if most is not None else f"{least} or more"
                raise OptionError(f"`{each.name}` is {value}. Use {limits}.")


class Rescoring(NamedTuple):
    """How the hypotheses of a recognizer are scored: by its own score + weight · (ln P + word_bonus · words)."""

    weight: float
    word_bonus: float = 0.0  # nats

    def check(self) -> Rescoring:
        """Return it; OptionError if a number is not supported."""
        if not (0 <= self.weight < math.inf and abs(self.word_bonus) < math.inf):
            given = f"the weight {self.weight:g} and {self.word_bonus:g} nats per word"
            raise OptionError(
                f"hypotheses cannot be scored with {given}. Use a weight of 0 or more, and finite numbers."
            )
        return self


IN_LATTICES = Rescoring(0.5, 8.0)
"""By default. A word costs about 8 nats, so that paths with more words score neither worse nor better."""

CASING, TRANSLATIONS, RUNNING = "Casing", "Translations", "Running"
TEXT, VOCABULARY, LM, CONTEXT = "Text", "Vocabulary", "Language model", "Context model"


@dataclass(frozen=True, kw_only=True)
class RecaseOptions(_Validated):
    """How text is recased.

    `words` accepts a path, any iterable of paths, or a mapping of entries to their weights (None: no weight), which is
    kept as (entry, weight) pairs.

    Raises:
        OptionError: a value that is not supported.
    """

    GROUP: ClassVar[str] = CASING

    sentence_case: bool = option(
        False,
        "Treat each line as one or more sentences and capitalize the first word of each.",
        not_for=("uncased",),
    )
    only: str | None = option(
        None,
        "Change only these words. starts: capitalize first words of sentences, and I.  [default: change all words]",
        choices=("starts",),
        not_for=("uncased", "respelled", "explain"),
    )
    start_token: str = option(
        START_TOKEN,
        "Word put in front of each line and removed afterwards, so that position alone does not capitalize the line's"
        " first word. <unk>, or a word that the model lacks, matches any word.",
    )
    breaks: bool = option(
        True, "Treat each line as one sentence: do not split it after . ? ! or ….", flag="--no-breaks"
    )
    context: bool = option(True, "Use the n-gram model alone, without its context model.", flag="--no-context")
    oov: str = option(
        "guess",
        "Words that the model has never seen: guess their case from their context, or leave them in lower case.",
        choices=("guess", "pass"),
    )
    document: bool = option(
        False,
        "Treat the lines between blank lines as one document, and share evidence about names across it.",
        not_for=("before", "source", "stream", "json_lines"),
        idle_with=("single_line", "running", "context"),
    )
    cells: bool = option(
        False,
        "Treat each line as a cell of a table or an entry of a list, such as a name: the cells are evidence for each"
        " other's capitals.",
        not_for=("before", "single_line", "source", "stream", "json_lines", "recase_lines", "running", "uncased"),
        idle_with=("context",),
    )
    wrapped: bool = option(
        False,
        "Recase the lines of a paragraph of hard-wrapped text as one text. Blank lines separate paragraphs.",
        not_for=("before", "source", "stream", "explain"),
        idle_with=("single_line", "running", "cues"),
    )
    language: str | None = option(
        None,
        "Language of the text, such as de, for a model of several languages.  [default: detected per sentence]",
    )
    abbreviations: tuple[Path, ...] = option(
        (),
        "Your own abbreviations, one per line, after which no sentence ends (repeatable).",
        kind="files",
    )
    markup: str = option(
        "auto",
        "Markup whose code, tags, comments and link targets stay unchanged. auto: that of a file's suffix, such as .md"
        " or .html; none for other text.",
        choices=("auto", "none", "markdown", "html"),
        not_for=("before", "single_line", "source", "stream", "recase_lines"),
        limited=("markdown", "html"),
    )
    words: tuple[str | UserEntry, ...] = option(
        (),
        "Word list: words and phrases to write as they are listed, one per line, each with an optional weight in nats"
        f" after a tab; or the name of an included list: {', '.join(LISTS)} (repeatable).",
        kind="files",
        not_for=("uncased",),
        idle_with=("only",),
    )
    restore: str | None = option(
        None,
        "punctuation, or punctuation,case: insert commas, periods and question marks, if the model has learned them."
        " punctuation,case: also capitalize the first word of each sentence. case, diacritics or both: require a model"
        " that restores this.  [default: what the model restores, without punctuation]",
        choices=("case", "diacritics", "both", *PUNCTUATION),
        not_for=("single_line", "source", "doc"),
        limited=PUNCTUATION,
    )
    keep_marks: bool = option(
        True,
        "With --restore punctuation: keep the marks of the input, or first remove commas, periods and the like after"
        " words.  [default: keep them]",
        kind="pair",
        flag="--no-keep-marks",
        not_for=("single_line", "stream"),
        requires="restore",
    )
    input_case: str | None = option(
        None,
        "Use of the case in the input. ignore: none. keep: leave words with a capital as they are, except in lines in"
        " capitals and in Title Case. evidence: weigh it against the context, by how reliable it is in the line and the"
        " text.  [default: evidence, if the model has learned it, else ignore]",
        choices=("ignore", "keep", "evidence"),
        not_for=("uncased",),
        limited=("keep",),
    )
    repair: bool = option(
        False,
        "Find the stretches without case, or without case and marks, in text that otherwise has both, and restore only"
        " these; marks if the model has learned them.",
        not_for=("before", "single_line", "source", "stream", "doc", "json_lines", "recase_lines"),
    )
    remarks: str = option(
        KEEP,
        "Sounds and remarks in brackets in subtitles, such as [MUSIC]: keep them as they are, write them in lower case,"
        " or capitalize their first word. Names get capitals.",
        choices=REMARKS,
        not_for=("single_line", "source", "stream", "recase_lines", "uncased"),
    )
    align_words: bool = option(
        False,
        "Alignment indices count the words in the output of `capfst tokenize`, not whitespace-separated words.",
        group=TRANSLATIONS,
        requires="source",
    )
    engine: str = option(
        "fast",
        "Search with compiled kernels, or, slowly, with OpenFst. Both give the same text.",
        choices=("fast", "openfst"),
        group=RUNNING,
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "words", _user_words(self.words))
        super().__post_init__()
        if not self.start_token.strip():
            raise OptionError(f"`start_token` is {self.start_token!r}. Use a word, such as {START_TOKEN}.")
        if self.repair and (self.restores_marks or self.input_case or self.only):
            raise OptionError(
                "`repair` cannot be used with `restore`, `input_case` and `only`, which it sets itself. Leave them out."
            )
        if self.remarks != KEEP and (self.repair or self.only):
            raise OptionError("`remarks` cannot be used with `repair` and `only`, which keep remarks. Leave one out.")
        for name in "only", "sentence_case", "remarks":
            if self.restore == PUNCTUATION[0] and getattr(self, name) not in (None, False, KEEP):
                raise OptionError(f"`{name}` needs `restore={PUNCTUATION[1]!r}`, because marks alone change no word.")

    @property
    def restores_marks(self) -> bool:
        """Whether marks are inserted."""
        return self.restore in PUNCTUATION

    @property
    def capitalizes_first(self) -> bool:
        """Whether the first word of each sentence gets a capital."""
        return self.sentence_case or self.only is not None or self.restore == PUNCTUATION[1]

    def check_call(self, call: str, where: str = "") -> None:
        """Raise OptionError if an option cannot be used with this one of `CALLS`."""
        for each in _refused_by(call):
            value, rules = getattr(self, each.name), each.metadata
            if value in rules["limited"] if rules["limited"] else value != each.default:
                setting = f"{each.name}={value!r}" if rules["limited"] or value is False else each.name
                raise OptionError(f"{where}`{setting}` cannot be used with {CALLS[call]}. Leave it out.")


@cache
def _refused_by(call: str) -> list[Field[Any]]:
    """Return the options that this one of `CALLS` refuses, with some of their values or with all but the default."""
    return [each for each in fields(RecaseOptions) if call in each.metadata["not_for"]]


def _user_words(words: Any) -> tuple[str | UserEntry, ...]:
    """Return the option `words` as paths, and entries with their weights."""
    if isinstance(words, Mapping):
        words = words.items()
    elif isinstance(words, (str, os.PathLike)):
        words = (words,)
    elif not isinstance(words, Iterable):
        raise OptionError(f"`words` is {words!r}. Use the path of a file, or a mapping of entries to weights.")
    return tuple(_user_entry(*each) if isinstance(each, tuple) else os.fsdecode(each) for each in words)


def _user_entry(text: Any, weight: Any) -> UserEntry:
    is_weight = weight is None or isinstance(weight, Real)
    if not (isinstance(text, str) and is_weight):
        raise OptionError(f"`words` has the entry {text!r}: {weight!r}. Use a str, and a number or None as its weight.")
    if weight is not None and not abs(weight) <= MAX_WEIGHT:
        raise OptionError(f"`words` has a weight out of range for {text!r}. Use -{MAX_WEIGHT} to {MAX_WEIGHT}.")
    return text, weight if weight is None else float(weight)


MAX_DOMAINS = 6  # of one language
MIN_BITS, MAX_BITS = 8, 30


@dataclass(frozen=True, kw_only=True)
class ContextOptions(_Validated):
    """How much a context model learns from, and its maximal size.

    Raises:
        OptionError: a value that is not supported.
    """

    max_labels: int = option(100_000_000, "Learn from at most this many labels of the corpus.", least=1)
    max_domains: int = option(MAX_DOMAINS, "Distinguish at most this many domains.", least=1, most=MAX_DOMAINS)
    max_bits: int = option(
        24,
        "Learn a table of at most 2 to the power of this number of rows in stage 1. The file keeps the most important"
        " one of every few rows, in 4 bytes.",
        least=MIN_BITS,
        most=MAX_BITS,
    )


_TYPES: dict[str, tuple[Any, str]] = {
    "bool": (bool, "True or False"),
    "bool | ContextOptions": ((bool, ContextOptions), "True or False"),
    "str": (str, "a str"),
    "int": (Integral, "an integer"),
    "float": (Real, "a number"),
}
"""By the annotation of an option: the types of its values, and their name in messages. Numbers of NumPy count."""


@dataclass(frozen=True, kw_only=True)
class TrainOptions(_Validated):
    """How a model is trained.

    `words`, `skip_filters`, `field`, `column` and `cutoffs` also accept one value, or any iterable of values. `context`
    also accepts `ContextOptions`.

    Raises:
        OptionError: a value that is not supported.
    """

    GROUP: ClassVar[str] = TEXT

    base: Path | None = option(
        None,
        "Model to adapt to the corpus: its path, or the name of a bundled model, such as en.  [default: none]",
        kind="model",
    )
    words: tuple[Path, ...] = option(
        (),
        "Word list: words and names to add to the vocabulary, one per line, cased as inside a sentence (repeatable)."
        " If a tab and a number of occurrences follow each entry, the list is only evidence.",
        kind="files",
        group=VOCABULARY,
    )
    min_count: int = option(
        1,
        "Map surface forms that occur less often than this to <unk>, except those in word lists.",
        least=1,
        group=VOCABULARY,
    )
    max_words: int | None = option(
        None,
        "Keep this many of the most frequent surface forms, names in mixed case such as PyTorch, and those in word"
        " lists; map the others to <unk>.  [default: keep all]",
        least=1,
        group=VOCABULARY,
    )
    order: int = option(3, "Length of the longest n-grams.", least=1, most=MAX_ORDER, group=LM)
    cutoffs: tuple[int, ...] = option(
        (),
        "Drop n-grams that occur at most this often: one count per order, starting from 1; the last count also applies"
        " to all higher orders. 0,0,1 drops n-grams of order 3 and higher that occur once.",
        kind="cutoffs",
        flag="--cutoff",
        group=LM,
    )
    max_ngrams: int | None = option(
        None,
        "Prune by entropy (Stolcke 1998), weighed by how ambiguous the case of the words is, to at most this many"
        " n-grams over all orders.  [default: no pruning]",
        least=1,
        group=LM,
    )
    prune_threshold: float | None = option(
        None,
        "Prune n-grams whose removal raises the model's entropy by less than this, in nats (Stolcke 1998)."
        "  [default: no pruning]",
        least=0,
        group=LM,
    )
    context: bool | ContextOptions = option(
        True, "Train the n-gram model alone, without a context model.", flag="--no-context", group=CONTEXT
    )
    clean: bool = option(True, "Learn from every line, not only from well-cased sentences.", flag="--no-clean")
    skip_filters: tuple[str, ...] = option(
        (),
        "Disable this cleaning filter (repeatable). The report lists the filters' names.",
        kind="names",
        flag="--skip-filter",
    )
    pretokenized: bool = option(False, "Tokens are separated by white space: do not tokenize further.")
    language: str | None = option(
        None,
        "Language whose casing rules apply, such as tr, or several: de,fr.  [default: Unicode's rules]",
    )
    restore: str | None = option(
        None,
        "What the model restores: case, diacritics of cased text, or both; or case and, on request, punctuation."
        "  [default: case; with --grammar, both]",
        choices=("case", "diacritics", "both", PUNCTUATION[1]),
    )
    grammar: Path | None = option(
        None,
        "Pynini grammar (.far or .py) whose deletions the model learns to restore, instead of diacritics.",
        kind="file",
    )
    field: tuple[str, ...] = option(
        (),
        "Field of .jsonl and .json objects that holds text: its name, or a path such as a.b[].c (repeatable).",
        kind="names",
    )
    column: tuple[str, ...] = option(
        (),
        "Column of .tsv, .csv and .parquet files that holds text: its name, or its number from 1 (repeatable).",
        kind="names",
    )
    delimiter: str | None = option(
        None,
        "Character between the fields of .csv and .tsv files, such as ; or \\t.  [default: a comma, or a tab]",
    )
    encoding: str = option("utf-8", "Encoding of the text, such as latin-1, cp1252 or utf-16. The output has the same.")
    errors: Errors = option(
        "strict", "Bytes that are not UTF-8: raise an error, or replace them with U+FFFD.",
        choices=("strict", "replace"),
    )  # fmt: skip
    memory: int | None = option(
        None,
        "Memory limit, such as 2G; data that does not fit goes to temporary files.  [default: no limit]",
        kind="size",
        group=RUNNING,
    )
    tmp: Path | None = option(None, "Folder for temporary files.  [default: the system's]", kind="file", group=RUNNING)
    jobs: int | None = option(
        None, "Number of threads.  [default: one per core]", least=1, most=MAX_JOBS, group=RUNNING
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        cutoffs = self.cutoffs
        if cutoffs and (cutoffs[0] != 0 or len(cutoffs) > self.order or list(cutoffs) != sorted(cutoffs)):
            given = ",".join(map(str, cutoffs))
            raise OptionError(
                f"`cutoffs` is {given}. Use at most {quantity(self.order, 'number')} in ascending order, of which the"
                " first is 0, such as 0,0,1. To drop rare words, use `min_count`."
            )

    @property
    def prunes(self) -> bool:
        """Whether the LM is pruned by entropy."""
        return self.max_ngrams is not None or self.prune_threshold is not None

    @property
    def restores_marks(self) -> bool:
        """Whether the model learns punctuation."""
        return self.restore in PUNCTUATION

    @property
    def of_context(self) -> ContextOptions:
        """What the context model learns from."""
        return self.context if isinstance(self.context, ContextOptions) else ContextOptions()

    @property
    def restored(self) -> str | None:
        """What `restore` says about words."""
        return "case" if self.restores_marks else self.restore


LISTENING, LIMITS = "Listening", "Limits"


@dataclass(frozen=True, kw_only=True)
class ServeOptions(_Validated):
    """Where a service listens, and what it accepts.

    Raises:
        OptionError: a value that is not supported.
    """

    GROUP: ClassVar[str] = LIMITS

    host: str = option(
        "127.0.0.1",
        "Address to listen on. Any other than that of the machine itself lets others use the service.",
        group=LISTENING,
    )
    port: int = option(8000, "Port to listen on; 0 selects a free one.", least=0, most=65535, group=LISTENING)
    cors: tuple[str, ...] = option(
        (),
        "Origin, such as https://example.org, whose pages may call the service, and whose host is accepted as a name of"
        " the service; * for any (repeatable).",
        kind="names",
        group=LISTENING,
    )
    max_body: int = option(4 << 20, "Largest body of a request, and longest line of a stream.", kind="size")
    max_file: int = option(32 << 20, "Largest file to recase.", kind="size")
    max_lines: int = option(10_000, "Most lines, or texts, of a request.", least=1)
    max_words: int = option(1_000, "Most words and phrases that a request may list.", least=0)
    max_requests: int = option(
        256,
        "Requests that are handled at once; further ones get status 429. Also the limit of arriving bodies, and of open"
        " streams; beyond it, the one that has waited longest is closed.",
        least=1,
    )
    max_connections: int = option(
        4096,
        "Connections that are open at once. Beyond it, the one that has waited longest for a request is closed; if none"
        " waits, the new one gets status 503.",
        least=1,
    )
    timeout: int = option(
        30,
        "Seconds that a request may take to arrive, to be answered, and to be read by the client; in streams, the"
        " longest pause. Also the time in which a stopping service finishes its requests.",
        least=1,
    )
    jobs: int | None = option(
        None, "Number of threads.  [default: one per core]", least=1, most=MAX_JOBS, group=RUNNING
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        origins = tuple(origin.lower().removesuffix("/") for origin in self.cors)  # as browsers send them
        object.__setattr__(self, "cors", origins)
        for origin in origins:
            if not re.fullmatch(r"\*|null|[^/\s]+://[^/\s]+", origin):
                raise OptionError(f"`cors` is {origin!r}. Use an origin, such as https://example.org, or *.")


def flag_of(option: Field[Any]) -> str:
    """Return the flag of an option on the command line."""
    flag: str | None = option.metadata["flag"]
    return flag or "--" + option.name.replace("_", "-")


_ELSEWHERE = {
    "align": "--align",
    "format": "--format",
    "line": "--line",
    "master": "--master",
    "score": "capfst score",
    "train_bilingual": "capfst train-bilingual",
    "tune_on": "--tune",
    "weights": "--weights",
}
"""Arguments and functions that messages name, besides the options above, as the command line has them."""


def with_flags(message: str) -> str:
    """Return a message for the command line: the options that it names in backticks, as Python has them, become flags.

    `order` becomes --order, `restore='both'` --restore both, and `clean=False` --no-clean.
    """
    flags = {
        each.name: flag_of(each) for kind in (ServeOptions, TrainOptions, RecaseOptions) for each in fields(kind)
    } | _ELSEWHERE

    def flag(found: re.Match[str]) -> str:
        name, value = found.groups()
        if name not in flags:
            return found[0]
        value = value and value.strip("'")
        return flags[name] if value in (None, "True", "False") else f"{flags[name]} {shlex.quote(value)}"

    return re.sub(r"`(\w+)(?:=([^`]+))?`", flag, message)


def merged(options: Options, changes: Mapping[str, Any], call: str) -> Options:
    """Return the options with changes from keyword arguments of `call`; TypeError for an unknown keyword, as Python."""
    known = {each.name for each in fields(options)}
    for name in changes:
        if name not in known:
            raise TypeError(f"{call}() got an unexpected keyword argument {name!r}")
    return replace(options, **changes) if changes else options


def documented(kind: type) -> Callable[[Called], Called]:
    """Decorate a function or class whose `**options` are fields of `kind`: list them in its signature and docstring."""

    def decorate(called: Called) -> Called:
        signature = inspect.signature(called)
        own = [each for each in signature.parameters.values() if each.kind is not inspect.Parameter.VAR_KEYWORD]
        more = [
            inspect.Parameter(each.name, inspect.Parameter.KEYWORD_ONLY, default=each.default, annotation=each.type)
            for each in fields(kind)
        ]
        called.__signature__ = signature.replace(parameters=[*own, *more])  # type: ignore[attr-defined]
        listed = [
            fill(f"{each.name}: {described(each)}", 112, initial_indent="    ", subsequent_indent="        ")
            for each in fields(kind)
        ]
        called.__doc__ = "\n".join([inspect.cleandoc(called.__doc__ or ""), "", "Options:", *listed])
        return called

    return decorate


def described(option: Field[Any]) -> str:
    """Return the help of an option, for Python: that of a flag `--no-…` alone describes False."""
    text = option.metadata["help"].replace(" (repeatable)", "")
    text = re.sub(r" +\[default: (.*?)\]", r" By default, \1.", text)
    text = re.sub(r"--([\w-]+)", lambda flag: f"`{flag[1].replace('-', '_')}`", text)
    if option.metadata["kind"] == "size":
        text = text.replace("such as 2G", "in bytes")
    if option.default is True and option.metadata["kind"] != "pair":
        text = f"False: {text[0].lower()}{text[1:]}"
    return text
