"""The HTTP server: pywsgi, hardened."""

from meka.server.server import Server
from meka.server.settings import ServerSettings

__all__ = ["Server", "ServerSettings"]
