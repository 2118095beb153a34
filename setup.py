"""What pyproject.toml cannot say: how kernels are built; and the description, which is README.md with links to files of
the source as their names, because there is nothing beside it where packages are listed."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).parent


class BuildKernels(build_ext):
    """Build the C module that calls kernels, then the libraries of kernels: for this machine, or for what the variable
    CAPFST_LEVELS names (`all`, or as capfst.kernels.build has it). `prebuilt` stands for those that are in the source's
    folder already, for which numba is not needed."""

    def run(self) -> None:
        super().run()
        built = ROOT if self.inplace or self.editable_mode else Path(self.build_lib).absolute()
        command = [sys.executable, "-m", "capfst.kernels.build", "--objects", str(ROOT / "build" / "kernels")]
        levels = os.environ.get("CAPFST_LEVELS", "").split()
        if levels == ["prebuilt"]:
            libraries = Path("capfst", "kernels", "lib")
            if built != ROOT:
                shutil.copytree(ROOT / libraries, built / libraries, dirs_exist_ok=True)
            return
        # capfst is imported from where its C module is; what it needs, from where pip has put that.
        path = os.pathsep.join(filter(None, [str(built), os.environ.get("PYTHONPATH")]))
        environment = os.environ | {"PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run([*command, *levels], cwd=built, env=environment, check=False)
        if done.returncode:
            sys.exit(done.returncode)


readme = (ROOT / "README.md").read_text("utf-8")
readme = re.sub(r"!\[([^]]*)\]\((?!https:)[^)]*\)", r"\1", readme)
readme = re.sub(r"\[([^]]*)\]\((?!https:|#)([^)]*)\)", r"\1 (`\2`)", readme)

# One wheel for all versions of Python from this one on.
call = Extension(
    "capfst.kernels._call",
    ["capfst/kernels/_call.c"],
    include_dirs=[numpy.get_include()],
    define_macros=[("Py_LIMITED_API", "0x030A0000")],
    py_limited_api=True,
)
setup(
    long_description=readme,
    long_description_content_type="text/markdown",
    ext_modules=[call],
    options={"bdist_wheel": {"py_limited_api": "cp310"}},
    cmdclass={"build_ext": BuildKernels},
)
