"""What is used of Connexion, imported without its second server.

Connexion imports aiohttp for that one wherever it is installed, and its own requirements install it: a good
part of the time that the server takes to start, for code that never runs here.
"""

import sys

_HIDDEN = "aiohttp" not in sys.modules
if _HIDDEN:
    sys.modules["aiohttp"] = None  # type: ignore[assignment]
try:
    from connexion import FlaskApp
    from connexion.apis.flask_api import FlaskApi
    from connexion.exceptions import ProblemException
    from connexion.lifecycle import ConnexionRequest
    from connexion.resolver import Resolver
finally:
    if _HIDDEN:
        del sys.modules["aiohttp"]

__all__ = ["ConnexionRequest", "FlaskApi", "FlaskApp", "ProblemException", "Resolver"]
