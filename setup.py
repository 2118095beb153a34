"""What pyproject.toml cannot express: how kernels are built, and the long description."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py

ROOT = Path(__file__).parent


class BuildPackage(build_py):
    """Copy the package, without modules of former builds that the source no longer has: they may have kernels."""

    def run(self) -> None:
        if not self.editable_mode:
            shutil.rmtree(Path(self.build_lib, "capfst"), ignore_errors=True)
        super().run()


class BuildKernels(build_ext):
    """Build the C module that calls kernels, then the libraries of kernels, for the levels that CAPFST_LEVELS selects.

    CAPFST_LEVELS is as for capfst.kernels.build, or `prebuilt`: then the libraries in the source tree are used, and
    numba is not needed.
    """

    def run(self) -> None:
        super().run()
        built = ROOT if self.inplace or self.editable_mode else Path(self.build_lib).absolute()
        if os.environ.get("CAPFST_LEVELS") == "prebuilt":
            libraries = Path("capfst", "kernels", "lib")
            if built != ROOT:
                shutil.copytree(ROOT / libraries, built / libraries, dirs_exist_ok=True)
            return
        # capfst is imported from where its C module is; the packages that it needs, from where pip has installed them.
        path = os.pathsep.join(filter(None, [str(built), os.environ.get("PYTHONPATH")]))
        command = [sys.executable, "-m", "capfst.kernels.build", str(ROOT / "build" / "kernels")]
        environment = os.environ | {"PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(command, cwd=built, env=environment, check=False)
        if done.returncode:
            sys.exit(done.returncode)


# README.md without images, and with links to files of the source as their names: package indexes show it on its own.
readme = (ROOT / "README.md").read_text("utf-8")
readme = re.sub(r"!\[([^]]*)\]\((?!https:)[^)]*\)", r"\1", readme)
readme = re.sub(r"\[([^]]*)\]\((?!https:|#)([^)]*)\)", r"\1 (`\2`)", readme)

# One wheel serves all versions of Python from 3.10 on.
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
    cmdclass={"build_ext": BuildKernels, "build_py": BuildPackage},
)
