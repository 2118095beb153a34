"""Those that wait for their clients: connections without a request, bodies that are arriving, streams between lines.

A client that stalls costs nothing but its place. So where places are limited, the one that has waited longest gives way
to one that comes.
"""

from __future__ import annotations

from typing import Protocol


class Guest(Protocol):
    """One that can be asked to leave."""

    def give_way(self) -> None:
        """End, because others come."""


class Waiting(dict[Guest, None]):
    """Guests that wait, in the order in which they began to."""

    def add(self, guest: Guest) -> None:
        """Note that a guest begins to wait."""
        self[guest] = None

    def discard(self, guest: Guest) -> None:
        """Note that a guest does not wait any longer, if it did."""
        self.pop(guest, None)

    def drop_oldest(self) -> bool:
        """Let the guest give way that has waited longest. Return whether there was one."""
        guest = next(iter(self), None)
        if guest is None:
            return False
        del self[guest]
        guest.give_way()
        return True
