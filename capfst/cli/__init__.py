"""The command line: one verb per step; `capfst VERB --help` describes each.

Text goes to stdout, everything else to stderr. Exit status: 0; 1 for an error in the input (one line gives the problem,
its place and a remedy); 2 for invalid usage; 129, 130 or 143 after SIGHUP, Ctrl-C or SIGTERM; 141 if the reader of
stdout is gone.

Commands share `options`, `hints`, `streams` and `exit_status`. A command's module is imported when it is needed, and it
imports the rest of capfst when it runs: `--help` does not wait for NumPy.
"""

from __future__ import annotations

import gc

_collects = gc.isenabled()
gc.disable()  # what is imported here stays in use; searching it for garbage takes longer than a tenth of a short run
import os
from importlib import import_module

import click

from capfst.cli.exit_status import exit_status
from capfst.version import __version__

gc.freeze()
if _collects:
    gc.enable()

COMMANDS = {
    "recase": "recase",
    "batch": "batch",
    "explain": "explain",
    "serve": "serve",
    "train": "train",
    "train-bilingual": "train",
    "score": "scores",
    "errors": "scores",
    "perplexity": "scores",
    "tokenize": "models",
    "info": "models",
    "models": "models",
    "mix": "models",
    "import": "models",
    "export": "models",
}
"""The modules of the commands."""


class _Group(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        module = import_module(f"capfst.cli.{COMMANDS[name]}")
        command: click.Command = getattr(module, "import_" if name == "import" else name.replace("-", "_"))
        return command


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="capfst")
def cli() -> None:
    """Restore the case of text: P = bestpath(S ∘ T ∘ LM).

    \b
    echo "new york has new information" | capfst recase
    capfst train corpus/ -o cap.fst
    capfst recase --lm cap.fst asr.txt
    """


def main() -> None:
    """Run the command line."""
    # NumPy starts threads for matrix products, one per core, which takes a tenth of a second and which capfst hardly
    # uses.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    with exit_status():
        cli.main(standalone_mode=False)
