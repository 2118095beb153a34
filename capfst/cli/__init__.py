"""The command line: one verb for each step, `capfst VERB --help` for each verb.

Text goes to stdout, everything else to stderr. Exit status: 0; 1 for an error in the input (one line says what, where
and what to do); 2 for a wrong command; 129, 130 or 143 after SIGHUP, Ctrl-C or SIGTERM; 141 if the reader of stdout
has gone.

A module for each group of verbs: `training`, `recasing`, `measuring`, `looking`; what they share is in
`options`, `streams` and `exit_status`. Each command imports what it needs when it runs, so that `--help` need not wait
for NumPy.
"""

from __future__ import annotations

import os

import click

from capfst.cli import looking, measuring, recasing, training
from capfst.cli.exit_status import exit_status
from capfst.version import __version__


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="capfst")
def cli() -> None:
    """Restores the case of text: P = bestpath(S ∘ T ∘ LM).

    \b
    echo "new york has new information" | capfst recase
    capfst train corpus/ -o cap.fst
    capfst recase --lm cap.fst asr.txt
    """


for _module in training, recasing, measuring, looking:
    for _command in _module.COMMANDS:
        cli.add_command(_command)


def main() -> None:
    """Runs the command line."""
    # Matrices are hardly multiplied here, but NumPy's threads for that, one for each core, begin with a tenth of a
    # second's work.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    with exit_status():
        cli.main(standalone_mode=False)
