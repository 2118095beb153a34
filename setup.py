"""What pyproject.toml cannot say: the package's description is README.md with links to files of the source as their
names, because there is nothing beside it where packages are listed."""

import re
from pathlib import Path

from setuptools import setup

readme = Path(__file__).with_name("README.md").read_text("utf-8")
readme = re.sub(r"!\[([^]]*)\]\((?!https:)[^)]*\)", r"\1", readme)
readme = re.sub(r"\[([^]]*)\]\((?!https:|#)([^)]*)\)", r"\1 (`\2`)", readme)

setup(long_description=readme, long_description_content_type="text/markdown")
