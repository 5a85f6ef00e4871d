from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.image_input import ImageInput
    from ..models.turn_options_type_0 import TurnOptionsType0


T = TypeVar("T", bound="TurnRequest")


@_attrs_define
class TurnRequest:
    """A message and how to run it; a text, an image or a skill must be there.

    Attributes:
        message (str): The person's words; may be empty beside images or a skill.
        images (list[ImageInput] | None | Unset):
        stream (bool | None | Unset): Answer with events instead of JSON (default false).
        detach (bool | None | Unset): Only start the turn, which then runs whether or not anybody stays (default false).
        options (None | TurnOptionsType0 | Unset):
    """

    message: str
    images: list[ImageInput] | None | Unset = UNSET
    stream: bool | None | Unset = UNSET
    detach: bool | None | Unset = UNSET
    options: None | TurnOptionsType0 | Unset = UNSET

    def to_dict(self) -> dict[str, Any]:
        from ..models.turn_options_type_0 import TurnOptionsType0  # noqa: PLC0415

        message = self.message

        images: list[dict[str, Any]] | None | Unset
        if isinstance(self.images, Unset):
            images = UNSET
        elif isinstance(self.images, list):
            images = []
            for images_type_0_item_data in self.images:
                images_type_0_item = images_type_0_item_data.to_dict()
                images.append(images_type_0_item)

        else:
            images = self.images

        stream: bool | None | Unset
        if isinstance(self.stream, Unset):
            stream = UNSET
        else:
            stream = self.stream

        detach: bool | None | Unset
        if isinstance(self.detach, Unset):
            detach = UNSET
        else:
            detach = self.detach

        options: dict[str, Any] | None | Unset
        if isinstance(self.options, Unset):
            options = UNSET
        elif isinstance(self.options, TurnOptionsType0):
            options = self.options.to_dict()
        else:
            options = self.options

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "message": message,
            }
        )
        if images is not UNSET:
            field_dict["images"] = images
        if stream is not UNSET:
            field_dict["stream"] = stream
        if detach is not UNSET:
            field_dict["detach"] = detach
        if options is not UNSET:
            field_dict["options"] = options

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.image_input import ImageInput  # noqa: PLC0415
        from ..models.turn_options_type_0 import TurnOptionsType0  # noqa: PLC0415

        d = dict(src_dict)
        message = d.pop("message")

        def _parse_images(data: object) -> list[ImageInput] | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, list):
                    raise TypeError()
                images_type_0 = []
                _images_type_0 = data
                for images_type_0_item_data in _images_type_0:
                    images_type_0_item = ImageInput.from_dict(images_type_0_item_data)

                    images_type_0.append(images_type_0_item)

                return images_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(list[ImageInput] | None | Unset, data)

        images = _parse_images(d.pop("images", UNSET))

        def _parse_stream(data: object) -> bool | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(bool | None | Unset, data)

        stream = _parse_stream(d.pop("stream", UNSET))

        def _parse_detach(data: object) -> bool | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(bool | None | Unset, data)

        detach = _parse_detach(d.pop("detach", UNSET))

        def _parse_options(data: object) -> None | TurnOptionsType0 | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_turn_options_type_0 = TurnOptionsType0.from_dict(data)

                return componentsschemas_turn_options_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | TurnOptionsType0 | Unset, data)

        options = _parse_options(d.pop("options", UNSET))

        turn_request = cls(
            message=message,
            images=images,
            stream=stream,
            detach=detach,
            options=options,
        )

        return turn_request
