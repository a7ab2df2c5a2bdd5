"""Litestar as we use it: our problems for its errors, a guard on every route, HEAD wherever there is GET."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import msgspec
from litestar import Litestar, Request, Response
from litestar.config.app import AppConfig
from litestar.datastructures import State
from litestar.di import Provide
from litestar.exceptions import (
    HTTPException,
    MethodNotAllowedException,
    NotFoundException,
    SerializationException,
    ValidationException,
)
from litestar.types import ControllerRouterHandler

from entrepot.http.asgi import ASGIApp, Receive, Scope, Send
from entrepot.http.bodies import field_errors
from entrepot.http.caller import Authenticator, Caller, caller_of
from entrepot.http.exchange import exchange_of
from entrepot.http.problems import (
    MEDIA_TYPE,
    FieldError,
    Invalid,
    MethodNotAllowed,
    NotFound,
    Problem,
    WrongType,
    document,
    internal,
)
from entrepot.http.stores import problem_of
from entrepot.tables import TablesError
from entrepot.web.description import openapi_config, unguarded

_BODY = "entrepot.body"

METHODS = ("DELETE", "GET", "PATCH", "POST", "PUT")

log = logging.getLogger("entrepot.request")

AnyRequest = Request[Any, Any, Any]


def frame(routes: Sequence[ControllerRouterHandler], authenticator: Authenticator) -> ASGIApp:
    """The framework's application with these routes; one that declares no guard is refused.

    A route's `opt={"body_bytes_max": n}` is its own bound on bodies.
    """
    app = Litestar.from_config(
        AppConfig(
            route_handlers=list(routes),
            dependencies={"caller": Provide(_caller)},
            exception_handlers={Exception: _answer_error},
            before_request=_read_json,
            openapi_config=openapi_config(),
            # The edge bounds bodies, streamed ones too.
            request_max_body_size=None,
            state=State({"authenticator": authenticator}),
            logging_config=None,
            debug=False,
        )
    )
    if missing := unguarded(app):
        raise ValueError(f"routes without a guard: {', '.join(missing)}")
    return Frame(app)


class Frame:
    """Litestar behind HEAD, and with the route's template noted for logs and metrics."""

    def __init__(self, app: Litestar) -> None:
        self.litestar = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        exchange = exchange_of(scope)
        inner: Any = dict(scope)
        if scope["method"] == "HEAD":
            inner["method"] = "GET"
        try:
            # Litestar names the same ASGI messages by types of its own.
            await self.litestar(inner, receive, send)  # type: ignore[arg-type]
        finally:
            exchange.route = inner.get("path_template", "")


async def _caller(request: AnyRequest) -> Caller:
    return await caller_of(request)


async def _read_json(request: AnyRequest) -> None:
    bytes_max = request.route_handler.opt.get("body_bytes_max")
    if bytes_max is not None:
        exchange_of(request.scope).body_bytes_max = bytes_max
    if _body_type(request) is None:
        return
    body = await request.body()
    # Kept for naming all wrong fields: Litestar's error handlers can't wait for a body.
    request.scope[_BODY] = body  # type: ignore[literal-required]
    given = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if not body or given == "application/json":
        return
    if not (given.startswith("application/") and given.endswith("+json")):
        raise WrongType(given, "application/json")


def _body_type(request: AnyRequest) -> Any:
    field = getattr(request.route_handler, "parsed_data_field", None)
    return field.annotation if field is not None else None


def _answer_error(request: AnyRequest, error: Exception) -> Response[bytes]:
    exchange = exchange_of(request.scope)
    problem = _problem_of(request, error)
    return Response(
        document(problem, request_id=exchange.request_id, instance=exchange.instance),
        status_code=problem.status,
        media_type=MEDIA_TYPE,
        headers=problem.headers,
    )


def _problem_of(request: AnyRequest, error: Exception) -> Problem:
    if isinstance(error, Problem):
        return error
    if isinstance(error, MethodNotAllowedException):
        return MethodNotAllowed(request.scope["method"], _methods_at(request))
    if isinstance(error, NotFoundException):
        return NotFound(f"There is nothing at {exchange_of(request.scope).instance}.")
    if isinstance(error, ValidationException):
        return _invalid(request, error)
    if isinstance(error, TablesError) and (refused := problem_of(error)):
        return refused
    if isinstance(error, HTTPException) and error.status_code < 500:
        malformed = isinstance(error.__cause__, SerializationException)
        return Problem(error.detail, status=error.status_code, code="MALFORMED_JSON" if malformed else None)
    if not exchange_of(request.scope).client_left:
        log.error("a request failed", exc_info=error)
    return internal()


def _invalid(request: AnyRequest, error: ValidationException) -> Problem:
    entries = (
        [entry for entry in error.extra if isinstance(entry, dict)] if isinstance(error.extra, list) else []
    )
    kind = _body_type(request)
    if kind is None:
        found = [_field_error(entry) for entry in entries]
        return Invalid(found) if found else Problem(error.detail)
    body: bytes = request.scope.get(_BODY, b"")  # type: ignore[assignment]
    if not body:
        return Problem("A JSON body is expected.", code="BODY_MISSING")
    # Litestar names the first wrong field of a body; a caller wants to know of all.
    of_parameters = [_field_error(entry) for entry in entries if _is_parameter(entry)]
    found = [*of_parameters, *field_errors(msgspec.json.decode(body), kind)]
    return Invalid(found or [_field_error(entry) for entry in entries])


def _is_parameter(entry: dict[str, Any]) -> bool:
    return entry.get("source") not in (None, "body")


def _field_error(entry: dict[str, Any]) -> FieldError:
    message = str(entry.get("message", "is wrong")).replace("`", "")
    return FieldError(str(entry.get("key", "")), message[:1].lower() + message[1:])


def _methods_at(request: AnyRequest) -> list[str]:
    path = exchange_of(request.scope).instance.rstrip("/") or "/"
    found = ["OPTIONS"]
    for method in METHODS:
        try:
            request.app.asgi_router.handle_routing(path=path, method=method)
        except HTTPException:
            continue
        found.append(method)
    return [*found, "HEAD"] if "GET" in found else found
