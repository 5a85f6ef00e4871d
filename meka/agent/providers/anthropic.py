"""The Anthropic Messages protocol."""

from meka.agent.providers.anthropic_reply import AnthropicDecoder
from meka.agent.providers.anthropic_request import MAX_IMAGE_SIDE, MessageWriter, build_body, request_headers
from meka.agent.providers.anthropic_tools import plan_tools
from meka.agent.providers.base import ModelRequest, ProviderSettings
from meka.agent.providers.calls import ToolNames, names_for
from meka.agent.providers.images import ImageEncoder
from meka.agent.providers.wire import Outgoing
from meka.base.ids import Ids

DEFAULT_BASE_URL = "https://api.anthropic.com"
MAX_TOOL_NAME_BYTES = 128
NATIVE = "native"


class AnthropicWire:
    """Requests and replies of `POST /v1/messages`."""

    path = "/v1/messages"
    default_max_request_bytes: int | None = 30 * 1024 * 1024
    always_streams = False
    sends_result_images = True

    def __init__(self, settings: ProviderSettings, ids: Ids) -> None:
        self.expands_references = settings.deferred_tools == NATIVE
        self._settings = settings
        self._ids = ids
        self._images = ImageEncoder(vision=settings.vision, max_side=MAX_IMAGE_SIDE)

    def build(self, request: ModelRequest) -> Outgoing:
        names = names_for(request, self._settings.max_tool_name_bytes or MAX_TOOL_NAME_BYTES)
        plan = plan_tools(request, expands_references=self.expands_references)
        writer = MessageWriter(self._settings.backend, names, self._images, plan.expandable)
        body = build_body(request, self._settings, plan, writer)
        headers = request_headers(self._settings, thinking=request.thinking, defers=bool(plan.waiting))
        return Outgoing(body, headers, names)

    def decoder(self, names: ToolNames) -> AnthropicDecoder:
        return AnthropicDecoder(names, self._ids)
