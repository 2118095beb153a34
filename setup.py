"""The one thing about the package that pyproject.toml cannot say: its description in an index is README.md without the
links to files of the source, which are not there; their names stay."""

import re
from pathlib import Path

from setuptools import setup

README = Path(__file__).with_name("README.md").read_text("utf-8")

setup(
    long_description=re.sub(r"!?\[([^]]*)\]\((?!https?:|#)[^)]*\)", r"\1", README),
    long_description_content_type="text/markdown",
)
