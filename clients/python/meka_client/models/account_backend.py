from enum import StrEnum


class AccountBackend(StrEnum):
    ANTHROPIC_MESSAGES = "anthropic-messages"
    CHATGPT_SUBSCRIPTION = "chatgpt-subscription"
    CLAUDE_SUBSCRIPTION = "claude-subscription"
    LOCAL = "local"
    OPENAI_CHAT_COMPLETIONS = "openai-chat-completions"
    OPENAI_RESPONSES = "openai-responses"

    def __str__(self) -> str:
        return str(self.value)
