"""The command that makes the first run quick: compile."""

from __future__ import annotations

import compileall
import shutil
import tempfile
from pathlib import Path

import click

from capfst.cli.streams import note
from capfst.exceptions import CapfstError

_TEXT = """\
The European Space Agency launched a new satellite from French Guiana on Monday.
Marie O'Neill bought an iPhone in New York, and she wrote to John McDonald about it. He has one, too.
"""


@click.command("compile")
@click.option("--training", is_flag=True, help="Compile also what training needs.")
@click.option("-q", "--quiet", is_flag=True, help="Print errors only.")
def compile_(training: bool, quiet: bool) -> None:
    """Compiles what recasing needs, once.

    Without it, the first run does this. For images of containers, and where the folder of the package cannot be
    written to later.

    \b
    capfst compile --training
    """
    import numpy as np

    from capfst import models
    from capfst.recaser import load
    from capfst.system.compiling import cache_folder
    from capfst.text.unicode import is_utf8
    from capfst.training import train

    if cache_folder() is None:
        raise CapfstError("no folder to keep compiled kernels in can be written: set NUMBA_CACHE_DIR to one that can")
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder, "cap.fst")
        if models.DEFAULT in models.names() and not training:
            shutil.copy(models.find(models.DEFAULT), model)
        else:
            text = Path(folder, "text")
            text.write_text(_TEXT * 50, "utf-8")
            train([text], model, clean=False)
        load(model, document=True).recase(_TEXT)
        recaser = load(model)
        recaser.recase(_TEXT)
        line = _TEXT.split("\n")[1]
        recaser.nbest(line, 2)
        recaser.confidence(line)
        is_utf8(np.frombuffer(_TEXT.encode(), np.uint8))  # of large files
    # Where Python is not to write it itself (PYTHONDONTWRITEBYTECODE), compiling it anew takes half of each start.
    compileall.compile_dir(Path(__file__).parent.parent, quiet=2)
    note(f"compiled kernels are in {cache_folder()}", quiet)


COMMANDS = (compile_,)
