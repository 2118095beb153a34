"""`capfst serve`: its models, its errors, and what it costs the other commands."""

import shlex
import signal
import socket

import pytest
from support.command_line import message, run, run_process, run_python
from support.messages import names
from support.service import serving

WITHOUT_UVICORN = "import sys; sys.modules.update(uvicorn=None)\nfrom capfst.cli import main\nmain()"


@pytest.fixture
def taken():
    """Return a port that is in use."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


def test_a_port_in_use_is_an_error(taken):
    error = message(run_process("serve", "--port", taken, code=1))
    assert names(error, f"127.0.0.1:{taken}", "--port")
    assert error.count("127.0.0.1") == 1


@pytest.mark.parametrize("host", ["no-such-host.invalid", "no..host"])
def test_a_host_that_is_unknown_is_an_error(host):
    assert host in message(run_process("serve", "--host", host, code=1))


def test_a_missing_model_is_an_error():
    assert "missing.fst" in message(run("serve", "--lm", "x=missing.fst", code=1))


def test_a_name_belongs_to_one_model():
    assert b"--lm" in run("serve", "--lm", "en", "--lm", "en=multi", code=2).stderr


@pytest.mark.parametrize("option", ["--port 70000", "--max-body 1X", "--timeout 0"])
def test_a_value_that_is_not_supported_is_an_error(option):
    assert option.split()[0].encode() in run("serve", *shlex.split(option), code=2).stderr


@pytest.mark.parametrize("origin", ["example.org", "https://example.org/a", ""])
def test_what_is_not_an_origin_is_an_error(origin):
    assert f"--cors is {origin!r}" in message(run("serve", "--cors", origin, code=1))


def test_a_missing_extra_is_named():
    done = run_python(WITHOUT_UVICORN, "serve", code=1)
    assert "capfst[serve]" in message(done)


def test_other_commands_do_not_load_it():
    program = "import sys; from capfst.cli import main\nmain()\nprint({'starlette', 'uvicorn'} & set(sys.modules))"
    assert run_python(program, "recase", stdin="new york\n").stdout.splitlines()[-1] == b"set()"


def test_the_variable_names_the_model(contextual_model, monkeypatch):
    monkeypatch.setenv("CAPFST_LM", str(contextual_model))
    with serving() as service:
        assert [model["name"] for model in service.ask("GET", "/models").json["models"]] == ["cap"]


def test_a_language_names_a_model():
    with serving("--lm", "fr", "--lm", "x=de", "--lm", "multi") as service:
        models = service.ask("GET", "/models").json["models"]
        assert [(each["name"], each["languages"][:2]) for each in models] == [
            ("fr", ["fr"]), ("x", ["de"]), ("multi", ["de", "en"]),
        ]  # fmt: skip
        for options, answer in ({}, "der film"), ({"model": "x"}, "der Film"), ({"language": "de"}, "der Film"):
            assert service.post("/recase", {"text": "der film"} | options).json["text"] == answer


def test_another_address_than_that_of_the_machine_is_a_choice():
    with serving() as service, pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.2", service.port))
    with serving("--host", "127.0.0.2") as service, socket.create_connection(("127.0.0.2", service.port)):
        pass


def test_a_signal_right_after_the_address_ends_it_properly():
    for _ in range(5):
        with serving() as service:
            service.process.send_signal(signal.SIGTERM)
            assert service.process.wait() == 0
