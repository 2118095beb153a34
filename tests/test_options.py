"""Test the options: each is defined once, checked, and the same in Python and on the command line."""

import inspect
from dataclasses import fields

import click
import pytest

import capfst
from capfst.cli import cli
from capfst.options import CALLS, ContextOptions, RecaseOptions, TrainOptions, described, flag_of, merged, with_flags

COMMANDS = [("recase", RecaseOptions), ("batch", RecaseOptions), ("train", TrainOptions)]


@pytest.mark.parametrize(("name", "kind"), COMMANDS)
def test_each_command_has_all_options_with_their_defaults(name, kind):
    command = cli.get_command(None, name)
    context = click.Context(command)
    parameters = {each.name: each for each in command.params}
    for field in fields(kind):
        option = parameters[field.name]
        assert [*option.opts, *option.secondary_opts][-1] == flag_of(field)
        assert option.help == field.metadata["help"]
        assert option.process_value(context, option.get_default(context)) == field.default


@pytest.mark.parametrize(
    "name", ["recase --lm", "explain --lm", "serve --lm", "train --base", "train corpus", "batch inputs", "mix lms"]
)
def test_the_shell_completes_the_paths_of_models_and_corpora(name):
    command, parameter = name.split()
    context = click.Context(cli.get_command(None, command))
    named = next(each for each in context.command.params if parameter in (each.name, *each.opts))
    assert [each.type for each in named.shell_complete(context, "ca")] == ["file"]


@pytest.mark.parametrize(("called", "kind"), [(capfst.load, RecaseOptions), (capfst.train, TrainOptions)])
def test_python_has_all_options_with_their_defaults(called, kind):
    parameters = inspect.signature(called).parameters
    assert all(parameters[each.name].default == each.default for each in fields(kind))


def test_python_describes_the_value_that_a_flag_sets():
    described_as = {each.name: described(each) for each in fields(RecaseOptions)}
    assert described_as["breaks"].startswith("False: ")
    assert described_as["keep_marks"].startswith("With `restore`")  # two flags, one for each value


@pytest.mark.parametrize(
    ("kind", "options", "named"),
    [
        (RecaseOptions, {"sentence_case": "no"}, "`sentence_case` is 'no'.*True or False"),
        (RecaseOptions, {"context": ContextOptions()}, "`context` is .*True or False"),
        (TrainOptions, {"context": 1}, "`context` is 1.*True or False"),
        (TrainOptions, {"clean": ContextOptions()}, "`clean` is .*True or False"),
        (RecaseOptions, {"oov": "drop"}, "`oov` is 'drop'.*guess, pass"),
        (RecaseOptions, {"restore": "accents"}, "`restore` is 'accents'.*case, diacritics, both"),
        (RecaseOptions, {"remarks": "upper"}, "`remarks` is 'upper'.*keep, lower, capitalized"),
        (RecaseOptions, {"remarks": "lower", "repair": True}, "`remarks` cannot be used with `repair`"),
        (RecaseOptions, {"remarks": "lower", "only": "starts"}, "`remarks` cannot be used with `repair` and `only`"),
        (RecaseOptions, {"remarks": "lower", "restore": "punctuation"}, "`remarks` needs `restore='punctuation,case'`"),
        (TrainOptions, {"order": 6}, "`order` is 6.*1 to 5"),
        (TrainOptions, {"min_count": 0}, "`min_count` is 0.*1 or more"),
        (TrainOptions, {"prune_threshold": float("nan")}, "`prune_threshold` is nan.*0 or more"),
        (TrainOptions, {"prune_threshold": float("inf")}, "`prune_threshold` is inf.*0 or more"),
        (TrainOptions, {"order": "3"}, "`order` is '3'.*an integer"),
        (TrainOptions, {"min_count": 1.5}, "`min_count` is 1.5.*an integer"),
        (TrainOptions, {"memory": "2G"}, "`memory` is '2G'.*an integer"),
        (TrainOptions, {"cutoffs": [0, 1.5]}, r"`cutoffs` is \(0, 1.5\).*an integer"),
        (TrainOptions, {"prune_threshold": "1e-8"}, "`prune_threshold` is '1e-8'.*a number"),
        (TrainOptions, {"language": ("de", "fr")}, "`language` is .*a str"),
        (TrainOptions, {"column": 1}, r"`column` is \(1,\).*a str"),
        (ContextOptions, {"max_bits": 16.5}, "`max_bits` is 16.5.*an integer"),
        (TrainOptions, {"jobs": 10**20}, "`jobs` is 10*.*1 to 1024"),
        (RecaseOptions, {"start_token": ""}, "`start_token` is ''.*a word"),
        (RecaseOptions, {"start_token": " "}, "`start_token` is ' '.*a word"),
        (RecaseOptions, {"start_token": None}, "`start_token` is None.*a str"),
        (RecaseOptions, {"abbreviations": None}, "`abbreviations` is None.*a list"),
        (TrainOptions, {"errors": "ignore"}, "`errors` is 'ignore'.*strict, replace"),
    ],
)
def test_unsupported_values_are_refused_with_what_is_supported(kind, options, named):
    with pytest.raises(capfst.OptionError, match=named):
        kind(**options)
    with pytest.raises(ValueError, match=named):
        merged(kind(), options, "load")


def test_messages_name_flags_on_the_command_line():
    assert with_flags("`skip_filters`, `breaks` and `order`, not `n` or `here`") == (
        "--skip-filter, --no-breaks and --order, not `n` or `here`"
    )
    assert with_flags("`clean=False`, `errors='replace'`, `jobs=1`, `cd here`") == (
        "--no-clean, --errors replace, --jobs 1, `cd here`"
    )
    assert with_flags("`delimiter=';'` and `encoding='utf-16'`") == "--delimiter ';' and --encoding utf-16"


def test_messages_keep_place_and_remedy_of_a_long_quotation():
    message = str(capfst.CorpusError(f"file.txt, line 3: {'x' * 10_000!r} is not a pair. Write pairs."))
    assert message.startswith("file.txt, line 3: 'xxx")
    assert message.endswith("xxx' is not a pair. Write pairs.")
    assert len(message) < 1010


def test_what_excludes_an_option_is_a_call_or_an_option():
    known = {*CALLS, *(each.name for each in fields(RecaseOptions))}
    for each in fields(RecaseOptions):
        rules = each.metadata
        assert {*rules["not_for"], *rules["idle_with"]} <= known
        assert {*rules["limited"]} <= {*rules["choices"]}


def test_an_option_is_refused_by_calls_only_with_the_values_that_are_limited():
    RecaseOptions(markup="auto", restore="case").check_call("single_line")
    for options in ({"markup": "html"}, {"restore": "punctuation"}, {"repair": True}):
        with pytest.raises(capfst.OptionError, match=f"`{next(iter(options))}.* cannot be used with nbest"):
            RecaseOptions(**options).check_call("single_line")
