"""What can go wrong with accounts, in words that callers get.

Problem
├── Conflict                EmailTaken, ProviderTaken, LinkNeedsSignIn, KeysFull, AccountChanged
├── Forbidden               SignupClosed, InviteNeeded, CrossSite, NoAccount, NotFresh, EmailUnverified, WrongPassword
├── Unauthenticated         SignInFailed
├── Invalid                 InviteInvalid, LinkInvalid, StateInvalid
├── NotFound                KeyNotFound, SessionNotFound, InviteNotFound, DeletionNotFound, ProviderUnknown
├── TooMany                 TooManyFailures
└── ProviderFailed          502
"""

from __future__ import annotations

from entrepot.http.problems import (
    Conflict,
    FieldError,
    Forbidden,
    Invalid,
    NotFound,
    Problem,
    TooMany,
    Unauthenticated,
)


class EmailTaken(Conflict):
    def __init__(self) -> None:
        super().__init__("There is an account with this e-mail already.", code="EMAIL_TAKEN")


class ProviderTaken(Conflict):
    def __init__(self, provider: str) -> None:
        super().__init__(f"This {provider} account belongs to another account here.", code="PROVIDER_TAKEN")


class LinkNeedsSignIn(Conflict):
    def __init__(self, provider: str) -> None:
        super().__init__(
            f"There is an account with this e-mail. Sign in with its password, then link {provider} to it.",
            code="LINK_NEEDS_SIGN_IN",
        )


class KeysFull(Conflict):
    def __init__(self, keys_max: int) -> None:
        super().__init__(f"An account has at most {keys_max} keys; delete one first.", code="TOO_MANY_KEYS")


class AccountChanged(Conflict):
    def __init__(self) -> None:
        super().__init__("The account has changed meanwhile; try again.", code="ACCOUNT_CHANGED")


class SignupClosed(Forbidden):
    def __init__(self) -> None:
        super().__init__("Accounts are not made here.", code="SIGNUP_CLOSED")


class InviteNeeded(Forbidden):
    def __init__(self) -> None:
        super().__init__("An account needs an invitation; ask the operator for a link.", code="INVITE_NEEDED")


class CrossSite(Forbidden):
    def __init__(self) -> None:
        super().__init__("Another site made this request.", code="CROSS_SITE")


class NoAccount(Forbidden):
    def __init__(self) -> None:
        super().__init__("This is about one's own account, and the admin token has none.", code="NO_ACCOUNT")


class NotFresh(Forbidden):
    def __init__(self, minutes: int) -> None:
        super().__init__(
            f"Without a password this needs a sign-in of the last {minutes} minutes; sign in again.",
            code="SIGN_IN_AGAIN",
        )


class EmailUnverified(Forbidden):
    def __init__(self, provider: str) -> None:
        super().__init__(
            f"{provider} has no verified e-mail for you; verify it there first.", code="EMAIL_UNVERIFIED"
        )


class SignInFailed(Unauthenticated):
    def __init__(self) -> None:
        super().__init__("The e-mail or the password is wrong.", code="SIGN_IN_FAILED")


class WrongPassword(Forbidden):
    def __init__(self) -> None:
        super().__init__("The password is wrong.", code="WRONG_PASSWORD")


class InviteInvalid(Invalid):
    def __init__(self) -> None:
        super().__init__([FieldError("invite", "is used, expired or unknown")], code="INVITE_INVALID")


class LinkInvalid(Invalid):
    def __init__(self) -> None:
        super().__init__([FieldError("token", "is used, expired or unknown")], code="LINK_INVALID")


class TooManyFailures(TooMany):
    def __init__(self, retry_after_seconds: int) -> None:
        super().__init__(
            "Too many failed sign-ins; wait before the next.",
            retry_after_seconds=retry_after_seconds,
            code="TOO_MANY_FAILURES",
        )


class KeyNotFound(NotFound):
    def __init__(self) -> None:
        super().__init__("There is no such key.", code="KEY_NOT_FOUND")


class SessionNotFound(NotFound):
    def __init__(self) -> None:
        super().__init__("There is no such session.", code="SESSION_NOT_FOUND")


class InviteNotFound(NotFound):
    def __init__(self) -> None:
        super().__init__("There is no such invitation.", code="INVITE_NOT_FOUND")


class ProviderUnknown(NotFound):
    def __init__(self, provider: str) -> None:
        super().__init__(f"Signing in with {provider} is not set up here.", code="PROVIDER_UNKNOWN")


class ProviderFailed(Problem):
    status = 502

    def __init__(self, provider: str, reason: str) -> None:
        super().__init__(f"{provider} did not let you in: {reason}.", code="PROVIDER_FAILED")


class StateInvalid(Invalid):
    def __init__(self) -> None:
        super().__init__(
            [FieldError("state", "is not of a sign-in that this browser began; begin again")],
            code="STATE_INVALID",
        )


class DeletionNotFound(NotFound):
    def __init__(self) -> None:
        super().__init__("There is no such deletion.", code="DELETION_NOT_FOUND")
