"""English prose and verse, for tests of line breaks and casing."""

from pydoc_data.topics import topics

PROSE = " ".join(" ".join(topics[name].split()) for name in ("objects", "assignment", "class", "import"))
"""The text of four help topics in a line."""
SENTENCES = PROSE.replace(". ", ".\n")
POEM = "Season of mists and mellow fruitfulness,\nClose bosom-friend\nof the maturing sun;\n" * 50
