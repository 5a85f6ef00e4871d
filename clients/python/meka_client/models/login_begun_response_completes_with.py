from enum import StrEnum


class LoginBegunResponseCompletesWith(StrEnum):
    CALLBACK_URL = "callback_url"
    CODE = "code"

    def __str__(self) -> str:
        return str(self.value)
