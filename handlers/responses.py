"""Answers to prompts."""

from meka.schema.types import ResponseBody
from meka.service.services import Services


def answer_request(services: Services, id: str, request_id: str, body: ResponseBody) -> None:
    services.prompts.answer(id, request_id, body)
