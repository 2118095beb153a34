"""Modules that several experiments share; they are not programs."""
