"""GitHub and Google, as a client of OAuth 2 with PKCE sees them."""

from __future__ import annotations

import base64
import hashlib
from typing import Any, Literal
from urllib.parse import urlencode

import aiohttp
import msgspec

from entrepot.accounts.errors import ProviderFailed
from entrepot.accounts.rules import is_email
from entrepot.accounts.settings import OAuth

CALL_SECONDS_MAX = 10.0
ANSWER_BYTES_MAX = 256 * 1024

ProviderName = Literal["github", "google"]


class Provider(msgspec.Struct, frozen=True, kw_only=True):
    """One who vouches for people, and our registration there."""

    name: ProviderName
    title: str
    scope: str
    client_id: str
    client_secret: str
    authorize_url: str
    token_url: str
    api_url: str

    def authorize(self, *, state: str, verifier: str, redirect_uri: str) -> str:
        """Where to send the browser."""
        query = {
            "client_id": self.client_id,
            "redirect_uri": redirect_uri,
            "response_type": "code",
            "scope": self.scope,
            "state": state,
            "code_challenge": challenge_of(verifier),
            "code_challenge_method": "S256",
        }
        return f"{self.authorize_url}{'&' if '?' in self.authorize_url else '?'}{urlencode(query)}"


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """Whom a provider vouches for; `email` only when the provider has verified it."""

    id: str
    name: str
    email: str | None


def providers_of(settings: OAuth) -> dict[str, Provider]:
    """The providers that are set up."""
    found = {}
    if settings.github_client_id and settings.github_client_secret:
        found["github"] = Provider(
            name="github",
            title="GitHub",
            scope="read:user user:email",
            client_id=settings.github_client_id,
            client_secret=settings.github_client_secret,
            authorize_url=settings.github_authorize_url,
            token_url=settings.github_token_url,
            api_url=settings.github_api_url.rstrip("/"),
        )
    if settings.google_client_id and settings.google_client_secret:
        found["google"] = Provider(
            name="google",
            title="Google",
            scope="openid email profile",
            client_id=settings.google_client_id,
            client_secret=settings.google_client_secret,
            authorize_url=settings.google_authorize_url,
            token_url=settings.google_token_url,
            api_url=settings.google_api_url.rstrip("/"),
        )
    return found


def challenge_of(verifier: str) -> str:
    """PKCE's S256: what the provider is told first, of what it is told later."""
    return base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")


class ProviderClient:
    """Asks providers who someone is; the token serves for that alone, and is kept nowhere."""

    def __init__(self) -> None:
        self._http: aiohttp.ClientSession | None = None

    async def profile(self, provider: Provider, *, code: str, verifier: str, redirect_uri: str) -> Profile:
        """Whom this code is of."""
        form = {
            "grant_type": "authorization_code",
            "client_id": provider.client_id,
            "client_secret": provider.client_secret,
            "code": code,
            "redirect_uri": redirect_uri,
            "code_verifier": verifier,
        }
        answer = _dict(await self._call(provider, "POST", provider.token_url, data=form))
        token = answer.get("access_token")
        if not isinstance(token, str):
            raise ProviderFailed(provider.title, "it gave no token")
        return await (self._github if provider.name == "github" else self._google)(provider, token)

    async def close(self) -> None:
        if self._http is not None:
            await self._http.close()
            self._http = None

    async def _github(self, provider: Provider, token: str) -> Profile:
        user = _dict(await self._call(provider, "GET", f"{provider.api_url}/user", token=token))
        emails = await self._call(provider, "GET", f"{provider.api_url}/user/emails", token=token)
        verified = [entry for entry in _dicts(emails) if entry.get("verified") is True and entry.get("email")]
        # The primary one first, since false sorts before true.
        verified.sort(key=lambda entry: entry.get("primary") is not True)
        email = str(verified[0]["email"]) if verified else None
        return _profile(provider, user, "id", user.get("name") or user.get("login"), email)

    async def _google(self, provider: Provider, token: str) -> Profile:
        user = _dict(await self._call(provider, "GET", f"{provider.api_url}/userinfo", token=token))
        email = str(user["email"]) if user.get("email_verified") is True and user.get("email") else None
        return _profile(provider, user, "sub", user.get("name"), email)

    async def _call(
        self,
        provider: Provider,
        method: str,
        url: str,
        *,
        data: dict[str, str] | None = None,
        token: str | None = None,
    ) -> Any:
        headers = {"Accept": "application/json", "User-Agent": "entrepot"}
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        if self._http is None:
            self._http = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=CALL_SECONDS_MAX))
        try:
            async with self._http.request(
                method, url, data=data, headers=headers, allow_redirects=False
            ) as response:
                body = await response.content.read(ANSWER_BYTES_MAX)
                if response.status != 200:
                    raise ProviderFailed(provider.title, f"it answered {response.status}")
                return msgspec.json.decode(body)
        except (aiohttp.ClientError, TimeoutError, OSError):
            raise ProviderFailed(provider.title, "it can't be reached") from None
        except msgspec.DecodeError:
            raise ProviderFailed(provider.title, "its answer is not JSON") from None


def _profile(provider: Provider, user: dict[str, Any], id_name: str, name: Any, email: str | None) -> Profile:
    found = user.get(id_name)
    if not isinstance(found, int | str) or not str(found):
        raise ProviderFailed(provider.title, "it did not say who you are")
    if email is not None and not is_email(email):
        email = None
    return Profile(id=str(found), name=str(name or email or provider.title), email=email)


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []
