"""The WSGI application: Flask, routed and validated by Connexion, with our own guard and exit."""

import functools
import importlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any
from urllib.parse import quote

import flask
from werkzeug.exceptions import MethodNotAllowed

from meka.wire.answers import render
from meka.wire.auth import Guard, TokenLookup, scope_rule
from meka.wire.bodies import BodyReader, BodyValidator, Offload, run_here, validated_body
from meka.wire.document import Operation, connexion_document, operations_of
from meka.wire.framework import ConnexionRequest, FlaskApi, FlaskApp, Resolver
from meka.wire.parameters import ParameterValidator
from meka.wire.problems import problem_response

Handler = Callable[..., Any]
HandlerLookup = Callable[[str], Handler]

# What a path may hold as it is (RFC 3986): a problem's `instance` is a URI reference.
_PATH_CHARACTERS = "/:@!$&'()*+,;="


def build_app(
    services: object,
    document: Mapping[str, Any],
    find_token: TokenLookup,
    *,
    find_handler: HandlerLookup | None = None,
    offload: Offload = run_here,
) -> flask.Flask:
    """The application that answers `document`; `offload` reads the bodies that take their time.

    A handler is `<x-openapi-router-controller>.<operationId>`, called as `handler(services, **arguments)`
    with the parameters it names, and `body`. It returns what `meka.wire.answers.render` takes, or raises.
    Raises: an error at once for an operation that has no handler, no rule of access, or a parameter of an
    unknown type.
    """
    readers: dict[str, BodyReader] = {}
    connexion_app = WireApp()
    api = connexion_app.add_api(
        connexion_document(document),
        resolver=_resolver(services, find_handler or import_handler),
        validator_map={
            "body": functools.partial(BodyValidator, readers, offload),
            "parameter": ParameterValidator,
        },
    )
    operations = {operation.handler: operation for operation in operations_of(document)}
    rules = {}
    for endpoint, resolved in api.operations.items():
        rules[endpoint] = scope_rule(operations[resolved.operation_id].definition)
        if resolved.body_schema:
            readers[endpoint] = _body_reader(operations[resolved.operation_id], resolved)
    app: flask.Flask = connexion_app.app
    app.before_request(fixed_path_methods(operations.values()))
    app.before_request(Guard(rules, find_token))
    return app


def fixed_path_methods(operations: Iterable[Operation]) -> Callable[[], None]:
    """The hook that refuses other methods on a path that is written out in the document.

    The router would go on and take its last part for the id of a path with a parameter.
    """
    allowed: dict[str, set[str]] = {}
    for operation in operations:
        if "{" not in operation.path:
            methods = allowed.setdefault(operation.path, set())
            methods |= {operation.method, "HEAD"} if operation.method == "GET" else {operation.method}

    def check() -> None:
        methods = allowed.get(flask.request.path)
        if methods is not None and flask.request.method not in methods:
            raise MethodNotAllowed(sorted(methods))

    return check


def import_handler(name: str) -> Handler:
    """The function with the dotted name `name`."""
    module, _, function = name.rpartition(".")
    handler: Handler = getattr(importlib.import_module(module), function)
    return handler


def _resolver(services: object, find_handler: HandlerLookup) -> Resolver:
    return Resolver(lambda name: functools.partial(find_handler(name), services))


def _body_reader(operation: Operation, resolved: Any) -> BodyReader:
    is_required = bool(resolved.request_body.get("required"))
    return BodyReader(
        resolved.body_schema,
        operation.body_name,
        is_required,
        operation.body_depth,
        operation.body_density,
    )


class PlainParser:
    """Stands where Connexion would split the query by itself: `ParameterValidator` reads it instead."""

    def __init__(self, parameters: object, body: object) -> None:
        """Takes what Connexion gives; nothing of it is needed."""

    def __call__(self, function: Handler) -> Handler:
        """Leaves `function` as it is."""
        return function


class WireApi(FlaskApi):  # type: ignore[misc]
    """Connexion's routes, with requests and answers passed straight through."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.operations: dict[str, Any] = {}
        super().__init__(*args, **kwargs)

    def _add_operation_internal(self, method: str, path: str, operation: Any) -> None:
        super()._add_operation_internal(method, path, operation)
        endpoint = operation.operation_id.replace(".", "_")
        self.operations[f"{self.blueprint.name}.{endpoint}"] = operation

    @classmethod
    def get_request(cls, *args: Any, **params: Any) -> ConnexionRequest:
        """The request without its body: an operation that takes none never reads it."""
        request = flask.request
        return ConnexionRequest(
            request.path,
            request.method,
            headers=request.headers,
            json_getter=validated_body,
            files={},
            path_params=params,
        )

    @classmethod
    def get_response(cls, response: Any, mimetype: Any = None, request: Any = None) -> flask.Response:
        """What a handler returned, as a response."""
        return render(response)


class WireApp(FlaskApp):  # type: ignore[misc]
    """Connexion's application around Flask: no pages of its own, no static files, one exit for errors."""

    def __init__(self) -> None:
        super().__init__(
            "meka.wire",
            server_args={"static_folder": None},
            options={"swagger_ui": False, "serve_spec": False, "uri_parser_class": PlainParser},
        )
        self.api_cls = WireApi

    def create_app(self) -> flask.Flask:
        """Flask without its own answers to OPTIONS and without redirects of doubled slashes."""
        app: flask.Flask = super().create_app()
        app.config["PROVIDE_AUTOMATIC_OPTIONS"] = False
        app.url_map.merge_slashes = False
        app.url_map.strict_slashes = True
        return app

    def set_errors_handlers(self) -> None:
        """Send every error through the one exit."""
        self.add_error_handler(Exception, self.common_error_handler)

    def common_error_handler(self, exception: Exception) -> flask.Response:
        """The answer to whatever was raised."""
        return problem_response(exception, quote(flask.request.path, safe=_PATH_CHARACTERS))
