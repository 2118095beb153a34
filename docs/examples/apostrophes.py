import pynini
from pynini.lib import utf8

apostrophe = pynini.union("'", "’")
others = pynini.difference(utf8.VALID_UTF8_CHAR, apostrophe)
LOWERING = pynini.closure(pynini.union(pynini.cross(apostrophe, ""), others)).optimize()
