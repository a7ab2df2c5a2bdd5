"""A provider that runs here: a real HTTP server that speaks OAuth 2 with PKCE, as GitHub and as Google do."""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

CLIENT_ID = "client-1"
CLIENT_SECRET = "provider's word to us"


class LocalProvider:
    """Whom it vouches for, and what it has given out."""

    def __init__(self) -> None:
        self.id: int | str = 4711
        self.name = "Grace"
        self.email = "grace@example.com"
        self.verified = True
        self.refuses = False
        self.breaks = False
        self.codes: dict[str, dict[str, str]] = {}
        self.tokens: set[str] = set()
        self.url = ""

    def settings(self) -> dict[str, str]:
        """The settings of an installation that uses it, as both providers."""
        return {
            f"oauth_{name}_{key}": value
            for name in ("github", "google")
            for key, value in {
                "client_id": CLIENT_ID,
                "client_secret": CLIENT_SECRET,
                "authorize_url": f"{self.url}/authorize",
                "token_url": f"{self.url}/token",
                "api_url": f"{self.url}/api",
            }.items()
        }

    def authorize(self, query: dict[str, str]) -> str:
        """The address that the browser is sent back to."""
        assert query["client_id"] == CLIENT_ID
        assert query["response_type"] == "code"
        assert query["code_challenge_method"] == "S256"
        back = {"state": query["state"]}
        if self.refuses:
            back["error"] = "access_denied"
        else:
            back["code"] = secrets.token_urlsafe(8)
            self.codes[back["code"]] = query
        return f"{query['redirect_uri']}?{urlencode(back)}"

    def token(self, form: dict[str, str]) -> dict[str, Any]:
        """A token for a code that was given out, once, to who knows its verifier."""
        query = self.codes.pop(form["code"], None)
        digest = hashlib.sha256(form["code_verifier"].encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
        known = (form["client_id"], form["client_secret"]) == (CLIENT_ID, CLIENT_SECRET)
        if query is None or not known or challenge != query["code_challenge"]:
            return {"error": "bad_verification_code"}
        if form["redirect_uri"] != query["redirect_uri"]:
            return {"error": "redirect_uri_mismatch"}
        token = secrets.token_urlsafe(8)
        self.tokens.add(token)
        return {"access_token": token, "token_type": "bearer"}

    def api(self, path: str) -> Any:
        if path == "/api/user":
            return {"id": self.id, "login": "grace", "name": self.name, "email": self.email}
        if path == "/api/user/emails":
            other = {"email": "old@example.com", "verified": False, "primary": False}
            return [other, {"email": self.email, "verified": self.verified, "primary": True}]
        return {"sub": str(self.id), "name": self.name, "email": self.email, "email_verified": self.verified}


@contextmanager
def running_provider() -> Iterator[LocalProvider]:
    provider = LocalProvider()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            query = {name: values[0] for name, values in parse_qs(parts.query).items()}
            if parts.path == "/authorize":
                self.send_response(302)
                self.send_header("Location", provider.authorize(query))
                self.send_header("Content-Length", "0")
                self.end_headers()
            elif self.headers.get("Authorization", "").removeprefix("Bearer ") not in provider.tokens:
                self._answer(401, {"message": "Bad credentials"})
            else:
                self._answer(200, provider.api(parts.path))

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            form = {name: values[0] for name, values in parse_qs(body).items()}
            if provider.breaks:
                self._answer(500, {})
            else:
                self._answer(200, provider.token(form))

        def _answer(self, status: int, document: Any) -> None:
            body = json.dumps(document).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    provider.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
