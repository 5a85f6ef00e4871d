from enum import StrEnum


class InvocationBlockKind(StrEnum):
    MCP_PROMPT = "mcp_prompt"
    SKILL = "skill"

    def __str__(self) -> str:
        return str(self.value)
