"""A worker for tests: does what its request says."""

import os
import time

from meka.agent.childside import send, take_request


def main() -> None:
    request, payload = take_request()
    send(payload * request.get("times", 1))
    if "code" in request:
        os._exit(request["code"])
    if request.get("hang"):
        send(str(os.getpid()).encode())
        time.sleep(600)
