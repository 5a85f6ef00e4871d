"""The OpenAI Responses protocol: always streamed, folded where the whole reply was asked for."""

from meka.agent.providers.base import ModelRequest, ProviderSettings
from meka.agent.providers.calls import ToolNames, names_for
from meka.agent.providers.images import ImageEncoder
from meka.agent.providers.responses_reply import ResponsesDecoder
from meka.agent.providers.responses_request import ItemWriter, build_body
from meka.agent.providers.wire import Outgoing, bearer
from meka.base.ids import Ids

DEFAULT_BASE_URL = "https://api.openai.com/v1"
MAX_TOOL_NAME_BYTES = 64


class ResponsesWire:
    """Requests and replies of `POST /responses`."""

    path = "/responses"
    default_max_request_bytes: int | None = None
    always_streams = True
    sends_result_images = True
    expands_references = False

    def __init__(self, settings: ProviderSettings, ids: Ids) -> None:
        self._settings = settings
        self._ids = ids
        self._images = ImageEncoder(vision=settings.vision)

    def build(self, request: ModelRequest) -> Outgoing:
        names = names_for(request, self._settings.max_tool_name_bytes or MAX_TOOL_NAME_BYTES)
        body = build_body(request, self._settings, ItemWriter(self._settings.backend, names, self._images))
        headers = {
            "Content-Type": "application/json",
            "Accept": "text/event-stream",
            **bearer(self._settings),
        }
        return Outgoing(body, headers, names)

    def decoder(self, names: ToolNames) -> ResponsesDecoder:
        return ResponsesDecoder(names, self._ids)
