"""The OpenAI Chat Completions protocol."""

from meka.agent.providers.base import ModelRequest, ProviderSettings
from meka.agent.providers.calls import ToolNames, names_for
from meka.agent.providers.chat_reply import ChatDecoder
from meka.agent.providers.chat_request import MessageWriter, build_body
from meka.agent.providers.images import ImageEncoder
from meka.agent.providers.wire import Outgoing, bearer
from meka.base.ids import Ids

DEFAULT_BASE_URL = "https://api.openai.com/v1"
MAX_TOOL_NAME_BYTES = 64


class ChatCompletionsWire:
    """Requests and replies of `POST /chat/completions`."""

    path = "/chat/completions"
    default_max_request_bytes: int | None = None
    always_streams = False
    sends_result_images = False
    expands_references = False

    def __init__(self, settings: ProviderSettings, ids: Ids) -> None:
        self._settings = settings
        self._ids = ids
        self._images = ImageEncoder(vision=settings.vision)

    def build(self, request: ModelRequest) -> Outgoing:
        names = names_for(request, self._settings.max_tool_name_bytes or MAX_TOOL_NAME_BYTES)
        body = build_body(request, self._settings, MessageWriter(names, self._images))
        accept = "text/event-stream" if request.stream else "application/json"
        headers = {"Content-Type": "application/json", "Accept": accept, **bearer(self._settings)}
        return Outgoing(body, headers, names)

    def decoder(self, names: ToolNames) -> ChatDecoder:
        return ChatDecoder(names, self._ids)
