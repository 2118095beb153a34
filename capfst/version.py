"""The version, which signatures and reports carry."""

__version__ = "0.2.0"
