"""The description of the API: `/openapi.json`, and `/docs` to read it, without anything from elsewhere."""

from __future__ import annotations

from typing import Any, cast

import msgspec
from litestar import Controller, Litestar, Request, Response, get
from litestar.openapi import OpenAPIConfig
from litestar.openapi.controller import OpenAPIController
from litestar.openapi.spec import Components, SecurityScheme
from litestar.params import FromPath
from litestar.routes import HTTPRoute

from entrepot import __version__
from entrepot.http.caller import Guard, anyone
from entrepot.http.problems import MEDIA_TYPE, NotFound, Unavailable
from entrepot.web.assets import BUILT, CACHE_CONTROL, OWN, Asset, Assets

DOCS_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
BUNDLE = "swagger-ui-bundle.js"

_assets = Assets(OWN, BUILT)

PROBLEM_SCHEMA: dict[str, Any] = {
    "type": "object",
    "description": "What went wrong (RFC 9457).",
    "required": ["type", "title", "status", "detail", "instance", "error", "message", "request_id"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "instance": {"type": "string"},
        "error": {"type": "string", "description": "A stable code."},
        "message": {"type": "string"},
        "request_id": {"type": "string"},
        "errors": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["field", "message"],
                "properties": {"field": {"type": "string"}, "message": {"type": "string"}},
            },
        },
    },
}


class Description(Controller):
    """The routes that describe the others."""

    include_in_schema = False
    guards = [anyone]

    @get("/openapi.json", sync_to_thread=False)
    def openapi(self, request: Request[Any, Any, Any]) -> Response[bytes]:
        state = request.app.state
        if "openapi" not in state:
            state.openapi = msgspec.json.encode(schema_of(request.app))
        return Response(state.openapi, media_type="application/json")

    @get("/docs", sync_to_thread=False)
    def page(self) -> Response[bytes]:
        if _assets.find(BUNDLE) is None:
            raise Unavailable("The page's files are not built: run `make setup`.", code="ASSETS_MISSING")
        page = _assets.find("index.html")
        if page is None:
            raise NotFound("There is no such page.")
        headers = {"Content-Security-Policy": DOCS_POLICY, "Cache-Control": "no-cache"}
        return Response(page.content, media_type=page.media_type, headers=headers)

    @get("/docs/assets/{name:str}", sync_to_thread=False)
    def asset(self, request: Request[Any, Any, Any], name: FromPath[str]) -> Response[bytes]:
        asset = _assets.find(name)
        if asset is None:
            raise NotFound(f"There is no file {name}.")
        return _answer(asset, request)


def openapi_config() -> OpenAPIConfig:
    """What Litestar needs to describe the routes; it serves none of its own pages."""
    config = OpenAPIConfig(
        title="Entrepot",
        version=__version__,
        description="A self-hosted backend for things that report in.",
        use_handler_docstrings=True,
        components=Components(
            security_schemes={
                "bearer": SecurityScheme(
                    type="http", scheme="bearer", description="A key, or the admin token."
                ),
                "session": SecurityScheme(
                    type="apiKey",
                    security_scheme_in="cookie",
                    name="entrepot_session",
                    description="Signed in.",
                ),
            }
        ),
    )
    # Set here and not in the constructor, which wants a subclass of Litestar's own controller with its pages
    # from a CDN.
    config.openapi_controller = cast("type[OpenAPIController]", Description)
    return config


def schema_of(app: Litestar) -> dict[str, Any]:
    """The OpenAPI document: Litestar's, with our problems and what each guard asks for."""
    schema: dict[str, Any] = app.openapi_schema.to_schema()
    components = schema.setdefault("components", {})
    components.setdefault("schemas", {})["Problem"] = PROBLEM_SCHEMA
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    components["responses"] = {"Problem": {"description": "A problem.", "content": content}}
    for route in app.routes:
        if not isinstance(route, HTTPRoute):
            continue
        operations = schema["paths"].get(route.path_format, {})
        for method, (handler, _) in route.route_handler_map.items():
            operation = operations.get(str(method).lower())
            if operation is not None:
                open_to_all = any(getattr(guard, "anonymous", False) for guard in handler.resolve_guards())
                _complete(operation, open_to_all=open_to_all)
                _close_body(handler, operation, components["schemas"])
    return schema


def unguarded(app: Litestar) -> list[str]:
    """The routes that do not say who may call them."""
    return [
        f"{method} {route.path}"
        for route in app.routes
        if isinstance(route, HTTPRoute)
        for method, (handler, _) in route.route_handler_map.items()
        if method != "OPTIONS" and not any(isinstance(guard, Guard) for guard in handler.resolve_guards())
    ]


def _complete(operation: dict[str, Any], *, open_to_all: bool) -> None:
    responses = {status: answer for status, answer in operation["responses"].items() if status < "400"}
    operation["responses"] = {**responses, "default": {"$ref": "#/components/responses/Problem"}}
    if not open_to_all:
        operation["security"] = [{"bearer": []}, {"session": []}]


def _close_body(handler: Any, operation: dict[str, Any], schemas: dict[str, Any]) -> None:
    """Say that a body takes no other fields, where it does not; Litestar leaves that out."""
    field = getattr(handler, "parsed_data_field", None)
    config = getattr(field.annotation, "__struct_config__", None) if field is not None else None
    if config is None or not config.forbid_unknown_fields:
        return
    for content in operation.get("requestBody", {}).get("content", {}).values():
        name = content["schema"].get("$ref", "").rpartition("/")[2]
        if name in schemas:
            schemas[name]["additionalProperties"] = False


def _answer(asset: Asset, request: Request[Any, Any, Any]) -> Response[bytes]:
    headers = {"ETag": asset.etag, "Cache-Control": CACHE_CONTROL, "Vary": "Accept-Encoding"}
    if request.headers.get("if-none-match") == asset.etag:
        return Response(b"", status_code=304, headers=headers)
    if asset.packed is not None and "gzip" in request.headers.get("accept-encoding", ""):
        headers["Content-Encoding"] = "gzip"
        return Response(asset.packed, media_type=asset.media_type, headers=headers)
    return Response(asset.content, media_type=asset.media_type, headers=headers)
