from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.message_role import MessageRole
from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.background_report_block import BackgroundReportBlock
    from ..models.compaction_marker import CompactionMarker
    from ..models.image_block import ImageBlock
    from ..models.inbox_block import InboxBlock
    from ..models.invocation_block import InvocationBlock
    from ..models.nudge_block import NudgeBlock
    from ..models.redacted_thinking_block import RedactedThinkingBlock
    from ..models.resource_block import ResourceBlock
    from ..models.scheduled_block import ScheduledBlock
    from ..models.text_block import TextBlock
    from ..models.thinking_block import ThinkingBlock
    from ..models.tool_result_block import ToolResultBlock
    from ..models.tool_use_block import ToolUseBlock
    from ..models.turn_context_block import TurnContextBlock


T = TypeVar("T", bound="MessageView")


@_attrs_define
class MessageView:
    """
    Attributes:
        role (MessageRole):
        content (list[BackgroundReportBlock | ImageBlock | InboxBlock | InvocationBlock | NudgeBlock |
            RedactedThinkingBlock | ResourceBlock | ScheduledBlock | TextBlock | ThinkingBlock | ToolResultBlock |
            ToolUseBlock | TurnContextBlock]):
        created_at (datetime.datetime | Unset): Absent in a turn's answer and in events.
        turn_id (UUID | Unset): The turn that added it; absent when none did.
        turn_label (str | Unset): The place of its turn (`t_0001`, `t_0002`, ...); absent in a turn's answer and in
            events.
        compaction (CompactionMarker | Unset): What made the summary that a message is; absent on every other message.
    """

    role: MessageRole
    content: list[
        BackgroundReportBlock
        | ImageBlock
        | InboxBlock
        | InvocationBlock
        | NudgeBlock
        | RedactedThinkingBlock
        | ResourceBlock
        | ScheduledBlock
        | TextBlock
        | ThinkingBlock
        | ToolResultBlock
        | ToolUseBlock
        | TurnContextBlock
    ]
    created_at: datetime.datetime | Unset = UNSET
    turn_id: UUID | Unset = UNSET
    turn_label: str | Unset = UNSET
    compaction: CompactionMarker | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.background_report_block import BackgroundReportBlock  # noqa: PLC0415
        from ..models.image_block import ImageBlock  # noqa: PLC0415
        from ..models.inbox_block import InboxBlock  # noqa: PLC0415
        from ..models.invocation_block import InvocationBlock  # noqa: PLC0415
        from ..models.nudge_block import NudgeBlock  # noqa: PLC0415
        from ..models.redacted_thinking_block import RedactedThinkingBlock  # noqa: PLC0415
        from ..models.resource_block import ResourceBlock  # noqa: PLC0415
        from ..models.scheduled_block import ScheduledBlock  # noqa: PLC0415
        from ..models.text_block import TextBlock  # noqa: PLC0415
        from ..models.thinking_block import ThinkingBlock  # noqa: PLC0415
        from ..models.tool_use_block import ToolUseBlock  # noqa: PLC0415
        from ..models.turn_context_block import TurnContextBlock  # noqa: PLC0415

        role = self.role.value

        content = []
        for content_item_data in self.content:
            content_item: dict[str, Any]
            if isinstance(content_item_data, TextBlock):
                content_item = content_item_data.to_dict()
            elif isinstance(content_item_data, TurnContextBlock):
                content_item = content_item_data.to_dict()
            elif isinstance(content_item_data, NudgeBlock):
                content_item = content_item_data.to_dict()
            elif isinstance(content_item_data, InboxBlock):
                content_item = content_item_data.to_dict()
            elif isinstance(content_item_data, ScheduledBlock):
                content_item = content_item_data.to_dict()
            elif isinstance(content_item_data, BackgroundReportBlock):
                content_item = content_item_data.to_dict()
            elif isinstance(content_item_data, InvocationBlock):
                content_item = content_item_data.to_dict()
            elif isinstance(content_item_data, ResourceBlock):
                content_item = content_item_data.to_dict()
            elif isinstance(content_item_data, ImageBlock):
                content_item = content_item_data.to_dict()
            elif isinstance(content_item_data, ThinkingBlock):
                content_item = content_item_data.to_dict()
            elif isinstance(content_item_data, RedactedThinkingBlock):
                content_item = content_item_data.to_dict()
            elif isinstance(content_item_data, ToolUseBlock):
                content_item = content_item_data.to_dict()
            else:
                content_item = content_item_data.to_dict()

            content.append(content_item)

        created_at: str | Unset = UNSET
        if not isinstance(self.created_at, Unset):
            created_at = self.created_at.isoformat()

        turn_id: str | Unset = UNSET
        if not isinstance(self.turn_id, Unset):
            turn_id = str(self.turn_id)

        turn_label = self.turn_label

        compaction: dict[str, Any] | Unset = UNSET
        if not isinstance(self.compaction, Unset):
            compaction = self.compaction.to_dict()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "role": role,
                "content": content,
            }
        )
        if created_at is not UNSET:
            field_dict["created_at"] = created_at
        if turn_id is not UNSET:
            field_dict["turn_id"] = turn_id
        if turn_label is not UNSET:
            field_dict["turn_label"] = turn_label
        if compaction is not UNSET:
            field_dict["compaction"] = compaction

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.background_report_block import BackgroundReportBlock  # noqa: PLC0415
        from ..models.compaction_marker import CompactionMarker  # noqa: PLC0415
        from ..models.image_block import ImageBlock  # noqa: PLC0415
        from ..models.inbox_block import InboxBlock  # noqa: PLC0415
        from ..models.invocation_block import InvocationBlock  # noqa: PLC0415
        from ..models.nudge_block import NudgeBlock  # noqa: PLC0415
        from ..models.redacted_thinking_block import RedactedThinkingBlock  # noqa: PLC0415
        from ..models.resource_block import ResourceBlock  # noqa: PLC0415
        from ..models.scheduled_block import ScheduledBlock  # noqa: PLC0415
        from ..models.text_block import TextBlock  # noqa: PLC0415
        from ..models.thinking_block import ThinkingBlock  # noqa: PLC0415
        from ..models.tool_result_block import ToolResultBlock  # noqa: PLC0415
        from ..models.tool_use_block import ToolUseBlock  # noqa: PLC0415
        from ..models.turn_context_block import TurnContextBlock  # noqa: PLC0415

        d = dict(src_dict)
        role = MessageRole(d.pop("role"))

        content = []
        _content = d.pop("content")
        for content_item_data in _content:

            def _parse_content_item(
                data: object,
            ) -> (
                BackgroundReportBlock
                | ImageBlock
                | InboxBlock
                | InvocationBlock
                | NudgeBlock
                | RedactedThinkingBlock
                | ResourceBlock
                | ScheduledBlock
                | TextBlock
                | ThinkingBlock
                | ToolResultBlock
                | ToolUseBlock
                | TurnContextBlock
            ):
                try:
                    if not isinstance(data, dict):
                        raise TypeError()
                    componentsschemas_content_block_view_type_0 = TextBlock.from_dict(
                        data
                    )

                    return componentsschemas_content_block_view_type_0
                except (TypeError, ValueError, AttributeError, KeyError):
                    pass
                try:
                    if not isinstance(data, dict):
                        raise TypeError()
                    componentsschemas_content_block_view_type_1 = (
                        TurnContextBlock.from_dict(data)
                    )

                    return componentsschemas_content_block_view_type_1
                except (TypeError, ValueError, AttributeError, KeyError):
                    pass
                try:
                    if not isinstance(data, dict):
                        raise TypeError()
                    componentsschemas_content_block_view_type_2 = NudgeBlock.from_dict(
                        data
                    )

                    return componentsschemas_content_block_view_type_2
                except (TypeError, ValueError, AttributeError, KeyError):
                    pass
                try:
                    if not isinstance(data, dict):
                        raise TypeError()
                    componentsschemas_content_block_view_type_3 = InboxBlock.from_dict(
                        data
                    )

                    return componentsschemas_content_block_view_type_3
                except (TypeError, ValueError, AttributeError, KeyError):
                    pass
                try:
                    if not isinstance(data, dict):
                        raise TypeError()
                    componentsschemas_content_block_view_type_4 = (
                        ScheduledBlock.from_dict(data)
                    )

                    return componentsschemas_content_block_view_type_4
                except (TypeError, ValueError, AttributeError, KeyError):
                    pass
                try:
                    if not isinstance(data, dict):
                        raise TypeError()
                    componentsschemas_content_block_view_type_5 = (
                        BackgroundReportBlock.from_dict(data)
                    )

                    return componentsschemas_content_block_view_type_5
                except (TypeError, ValueError, AttributeError, KeyError):
                    pass
                try:
                    if not isinstance(data, dict):
                        raise TypeError()
                    componentsschemas_content_block_view_type_6 = (
                        InvocationBlock.from_dict(data)
                    )

                    return componentsschemas_content_block_view_type_6
                except (TypeError, ValueError, AttributeError, KeyError):
                    pass
                try:
                    if not isinstance(data, dict):
                        raise TypeError()
                    componentsschemas_content_block_view_type_7 = (
                        ResourceBlock.from_dict(data)
                    )

                    return componentsschemas_content_block_view_type_7
                except (TypeError, ValueError, AttributeError, KeyError):
                    pass
                try:
                    if not isinstance(data, dict):
                        raise TypeError()
                    componentsschemas_content_block_view_type_8 = ImageBlock.from_dict(
                        data
                    )

                    return componentsschemas_content_block_view_type_8
                except (TypeError, ValueError, AttributeError, KeyError):
                    pass
                try:
                    if not isinstance(data, dict):
                        raise TypeError()
                    componentsschemas_content_block_view_type_9 = (
                        ThinkingBlock.from_dict(data)
                    )

                    return componentsschemas_content_block_view_type_9
                except (TypeError, ValueError, AttributeError, KeyError):
                    pass
                try:
                    if not isinstance(data, dict):
                        raise TypeError()
                    componentsschemas_content_block_view_type_10 = (
                        RedactedThinkingBlock.from_dict(data)
                    )

                    return componentsschemas_content_block_view_type_10
                except (TypeError, ValueError, AttributeError, KeyError):
                    pass
                try:
                    if not isinstance(data, dict):
                        raise TypeError()
                    componentsschemas_content_block_view_type_11 = (
                        ToolUseBlock.from_dict(data)
                    )

                    return componentsschemas_content_block_view_type_11
                except (TypeError, ValueError, AttributeError, KeyError):
                    pass
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_content_block_view_type_12 = (
                    ToolResultBlock.from_dict(data)
                )

                return componentsschemas_content_block_view_type_12

            content_item = _parse_content_item(content_item_data)

            content.append(content_item)

        _created_at = d.pop("created_at", UNSET)
        created_at: datetime.datetime | Unset
        if isinstance(_created_at, Unset):
            created_at = UNSET
        else:
            created_at = datetime.datetime.fromisoformat(_created_at)

        _turn_id = d.pop("turn_id", UNSET)
        turn_id: UUID | Unset
        if isinstance(_turn_id, Unset):
            turn_id = UNSET
        else:
            turn_id = UUID(_turn_id)

        turn_label = d.pop("turn_label", UNSET)

        _compaction = d.pop("compaction", UNSET)
        compaction: CompactionMarker | Unset
        if isinstance(_compaction, Unset):
            compaction = UNSET
        else:
            compaction = CompactionMarker.from_dict(_compaction)

        message_view = cls(
            role=role,
            content=content,
            created_at=created_at,
            turn_id=turn_id,
            turn_label=turn_label,
            compaction=compaction,
        )

        message_view.additional_properties = d
        return message_view

    @property
    def additional_keys(self) -> list[str]:
        return list(self.additional_properties.keys())

    def __getitem__(self, key: str) -> Any:
        return self.additional_properties[key]

    def __setitem__(self, key: str, value: Any) -> None:
        self.additional_properties[key] = value

    def __delitem__(self, key: str) -> None:
        del self.additional_properties[key]

    def __contains__(self, key: str) -> bool:
        return key in self.additional_properties
