"""The settings of signing in with others."""

from __future__ import annotations

from typing import Annotated, ClassVar
from urllib.parse import urlsplit

from entrepot.settings import Section, says


def _url(value: str) -> str | None:
    parts = urlsplit(value)
    return None if parts.scheme in ("http", "https") and parts.hostname else "expected an http(s) address"


class OAuth(Section, frozen=True, kw_only=True):
    """Who people may sign in with; the addresses are for tests and for GitHub Enterprise."""

    section: ClassVar[str] = "oauth"

    github_client_id: Annotated[
        str | None, says("the client id at GitHub; none: nobody signs in with GitHub")
    ] = None
    github_client_secret: Annotated[str | None, says("the client secret at GitHub", secret=True)] = None
    github_authorize_url: Annotated[str, says("where GitHub asks people", check=_url)] = (
        "https://github.com/login/oauth/authorize"
    )
    github_token_url: Annotated[str, says("where GitHub gives tokens", check=_url)] = (
        "https://github.com/login/oauth/access_token"  # noqa: S105 (an address)
    )
    github_api_url: Annotated[str, says("where GitHub's API is", check=_url)] = "https://api.github.com"
    google_client_id: Annotated[
        str | None, says("the client id at Google; none: nobody signs in with Google")
    ] = None
    google_client_secret: Annotated[str | None, says("the client secret at Google", secret=True)] = None
    google_authorize_url: Annotated[str, says("where Google asks people", check=_url)] = (
        "https://accounts.google.com/o/oauth2/v2/auth"
    )
    google_token_url: Annotated[str, says("where Google gives tokens", check=_url)] = (
        "https://oauth2.googleapis.com/token"  # noqa: S105 (an address)
    )
    google_api_url: Annotated[str, says("where Google tells who someone is", check=_url)] = (
        "https://openidconnect.googleapis.com/v1"
    )
