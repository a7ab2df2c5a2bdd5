"""Failed sign-ins, counted in the store: all processes see one count, a restart forgets none, and TTL ends each window.

A try is counted before the password is looked at and taken back when it was right, so that many at once can't pass
the bound together.
"""

from __future__ import annotations

import logging

from entrepot.accounts import rules
from entrepot.accounts.errors import TooManyFailures
from entrepot.accounts.model import FailureCounts
from entrepot.tables import Database, TablesError

log = logging.getLogger(__name__)


class FailureBook:
    """Bounds failures of one e-mail from one address, and of one address whatever the e-mail."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._counts = FailureCounts(db)

    async def reserve(self, address: str, email: str | None = None) -> list[str]:
        """Count a try as failed; give `release` the answer when it was not. Raises TooManyFailures."""
        taken: list[str] = []
        address = rules.counted_address(address)
        bounds = [(rules.subject("address", address), rules.FAILURES_OF_ADDRESS_MAX)]
        if email is not None:
            pair = rules.subject("pair", address, email.casefold())
            bounds.insert(0, (pair, rules.FAILURES_OF_PAIR_MAX))
        for subject, most in bounds:
            now = self._db.now()
            counted = await self._counts.failed(subject, now + rules.FAILURE_WINDOW_SECONDS)
            taken.append(subject)
            if counted.failures > most:
                # A try that was not let through is no failure.
                await self.release(taken)
                raise TooManyFailures(max(1, counted.expiresAtUtc - now))
        return taken

    async def release(self, taken: list[str]) -> None:
        """Take back what `reserve` counted."""
        for subject in taken:
            try:
                await self._counts.passed(subject)
            except TablesError as error:
                # The window may have ended meanwhile. One count too many is no reason to refuse who was right.
                log.info("a failure count was not taken back", exc_info=error)
