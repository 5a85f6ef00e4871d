"""Contains all the data models used in inputs/outputs"""

from .account_backend import AccountBackend
from .account_login_request import AccountLoginRequest
from .account_view import AccountView
from .accounts_response import AccountsResponse
from .answer_outcome import AnswerOutcome
from .authenticated import Authenticated
from .background_report_block import BackgroundReportBlock
from .background_report_block_type import BackgroundReportBlockType
from .background_task_view import BackgroundTaskView
from .background_tasks_response import BackgroundTasksResponse
from .blank import Blank
from .cancel_reason import CancelReason
from .cancel_request import CancelRequest
from .capabilities_body_type_0 import CapabilitiesBodyType0
from .checklist_item import ChecklistItem
from .checklist_status import ChecklistStatus
from .checklist_updated_event import ChecklistUpdatedEvent
from .compact_request_body import CompactRequestBody
from .compact_response import CompactResponse
from .compaction_marker import CompactionMarker
from .compaction_trigger import CompactionTrigger
from .complete_login_request import CompleteLoginRequest
from .config_reload_response import ConfigReloadResponse
from .config_response import ConfigResponse
from .context_compacted_event import ContextCompactedEvent
from .context_compacting_event import ContextCompactingEvent
from .context_compaction_failed_event import ContextCompactionFailedEvent
from .context_response import ContextResponse
from .conversation_rewound_event import ConversationRewoundEvent
from .create_account_request import CreateAccountRequest
from .create_profile_request import CreateProfileRequest
from .create_project_request import CreateProjectRequest
from .create_session_request import CreateSessionRequest
from .deferred_tools import DeferredTools
from .export_session_format import ExportSessionFormat
from .feed_gap_event import FeedGapEvent
from .fork_session_body import ForkSessionBody
from .image_block import ImageBlock
from .image_block_type import ImageBlockType
from .image_input import ImageInput
from .import_response import ImportResponse
from .inbox_block import InboxBlock
from .inbox_block_type import InboxBlockType
from .inbox_class import InboxClass
from .inbox_deferred_event import InboxDeferredEvent
from .inbox_delivered_event import InboxDeliveredEvent
from .inbox_error import InboxError
from .inbox_failed_event import InboxFailedEvent
from .inbox_item_view import InboxItemView
from .inbox_list_response import InboxListResponse
from .inbox_request import InboxRequest
from .inbox_response import InboxResponse
from .inbox_state import InboxState
from .inbox_withdrawn_event import InboxWithdrawnEvent
from .info_response import InfoResponse
from .instructions_response import InstructionsResponse
from .invocation_block import InvocationBlock
from .invocation_block_kind import InvocationBlockKind
from .invocation_block_type import InvocationBlockType
from .list_sessions_response import ListSessionsResponse
from .live_response import LiveResponse
from .live_response_status import LiveResponseStatus
from .login_begun_response import LoginBegunResponse
from .login_begun_response_completes_with import LoginBegunResponseCompletesWith
from .login_status_response import LoginStatusResponse
from .login_status_response_status import LoginStatusResponseStatus
from .message_appended_event import MessageAppendedEvent
from .message_role import MessageRole
from .message_view import MessageView
from .messages_response import MessagesResponse
from .notice_event import NoticeEvent
from .notice_level import NoticeLevel
from .notice_view import NoticeView
from .nudge_block import NudgeBlock
from .nudge_block_type import NudgeBlockType
from .nudge_kind import NudgeKind
from .open_api_document import OpenApiDocument
from .patch_account_request import PatchAccountRequest
from .patch_profile_request import PatchProfileRequest
from .patch_session_request import PatchSessionRequest
from .permission_level import PermissionLevel
from .permission_outcome import PermissionOutcome
from .permission_required_event import PermissionRequiredEvent
from .permission_resolved_event import PermissionResolvedEvent
from .problem_detail import ProblemDetail
from .profile_detail import ProfileDetail
from .profile_view import ProfileView
from .profiles_response import ProfilesResponse
from .project_view import ProjectView
from .projects_response import ProjectsResponse
from .ready_response import ReadyResponse
from .ready_response_status import ReadyResponseStatus
from .redacted_thinking_block import RedactedThinkingBlock
from .redacted_thinking_block_type import RedactedThinkingBlockType
from .resource_block import ResourceBlock
from .resource_block_type import ResourceBlockType
from .response_body import ResponseBody
from .response_body_content_type_0 import ResponseBodyContentType0
from .rewind_request_body import RewindRequestBody
from .rewind_response import RewindResponse
from .scheduled_block import ScheduledBlock
from .scheduled_block_type import ScheduledBlockType
from .search_sessions_response import SearchSessionsResponse
from .session_archive import SessionArchive
from .session_capabilities import SessionCapabilities
from .session_deleted_event import SessionDeletedEvent
from .session_event import SessionEvent
from .session_match_response import SessionMatchResponse
from .session_record_event import SessionRecordEvent
from .session_response import SessionResponse
from .session_totals import SessionTotals
from .session_view import SessionView
from .stop_reason import StopReason
from .summary_source import SummarySource
from .task_reported_event import TaskReportedEvent
from .task_status import TaskStatus
from .text_block import TextBlock
from .text_block_type import TextBlockType
from .text_delta_event import TextDeltaEvent
from .thinking_block import ThinkingBlock
from .thinking_block_type import ThinkingBlockType
from .thinking_display import ThinkingDisplay
from .thinking_mode import ThinkingMode
from .tool_call_completed_event import ToolCallCompletedEvent
from .tool_call_composing_event import ToolCallComposingEvent
from .tool_call_executing_event import ToolCallExecutingEvent
from .tool_call_output_delta_event import ToolCallOutputDeltaEvent
from .tool_change import ToolChange
from .tool_input import ToolInput
from .tool_reference_block import ToolReferenceBlock
from .tool_reference_block_type import ToolReferenceBlockType
from .tool_result_block import ToolResultBlock
from .tool_result_block_type import ToolResultBlockType
from .tool_use_block import ToolUseBlock
from .tool_use_block_type import ToolUseBlockType
from .tool_view import ToolView
from .tools_response import ToolsResponse
from .turn_canceled_event import TurnCanceledEvent
from .turn_context_block import TurnContextBlock
from .turn_context_block_type import TurnContextBlockType
from .turn_error import TurnError
from .turn_event import TurnEvent
from .turn_failed_event import TurnFailedEvent
from .turn_finished_event import TurnFinishedEvent
from .turn_nudged_event import TurnNudgedEvent
from .turn_options_type_0 import TurnOptionsType0
from .turn_record import TurnRecord
from .turn_request import TurnRequest
from .turn_response import TurnResponse
from .turn_source import TurnSource
from .turn_started_event import TurnStartedEvent
from .turn_started_event_source import TurnStartedEventSource
from .turn_status import TurnStatus
from .turn_usage import TurnUsage
from .turns_response import TurnsResponse
from .unanswered_message import UnansweredMessage
from .write_instructions_request import WriteInstructionsRequest

__all__ = (
    "AccountBackend",
    "AccountLoginRequest",
    "AccountsResponse",
    "AccountView",
    "AnswerOutcome",
    "Authenticated",
    "BackgroundReportBlock",
    "BackgroundReportBlockType",
    "BackgroundTasksResponse",
    "BackgroundTaskView",
    "Blank",
    "CancelReason",
    "CancelRequest",
    "CapabilitiesBodyType0",
    "ChecklistItem",
    "ChecklistStatus",
    "ChecklistUpdatedEvent",
    "CompactionMarker",
    "CompactionTrigger",
    "CompactRequestBody",
    "CompactResponse",
    "CompleteLoginRequest",
    "ConfigReloadResponse",
    "ConfigResponse",
    "ContextCompactedEvent",
    "ContextCompactingEvent",
    "ContextCompactionFailedEvent",
    "ContextResponse",
    "ConversationRewoundEvent",
    "CreateAccountRequest",
    "CreateProfileRequest",
    "CreateProjectRequest",
    "CreateSessionRequest",
    "DeferredTools",
    "ExportSessionFormat",
    "FeedGapEvent",
    "ForkSessionBody",
    "ImageBlock",
    "ImageBlockType",
    "ImageInput",
    "ImportResponse",
    "InboxBlock",
    "InboxBlockType",
    "InboxClass",
    "InboxDeferredEvent",
    "InboxDeliveredEvent",
    "InboxError",
    "InboxFailedEvent",
    "InboxItemView",
    "InboxListResponse",
    "InboxRequest",
    "InboxResponse",
    "InboxState",
    "InboxWithdrawnEvent",
    "InfoResponse",
    "InstructionsResponse",
    "InvocationBlock",
    "InvocationBlockKind",
    "InvocationBlockType",
    "ListSessionsResponse",
    "LiveResponse",
    "LiveResponseStatus",
    "LoginBegunResponse",
    "LoginBegunResponseCompletesWith",
    "LoginStatusResponse",
    "LoginStatusResponseStatus",
    "MessageAppendedEvent",
    "MessageRole",
    "MessagesResponse",
    "MessageView",
    "NoticeEvent",
    "NoticeLevel",
    "NoticeView",
    "NudgeBlock",
    "NudgeBlockType",
    "NudgeKind",
    "OpenApiDocument",
    "PatchAccountRequest",
    "PatchProfileRequest",
    "PatchSessionRequest",
    "PermissionLevel",
    "PermissionOutcome",
    "PermissionRequiredEvent",
    "PermissionResolvedEvent",
    "ProblemDetail",
    "ProfileDetail",
    "ProfilesResponse",
    "ProfileView",
    "ProjectsResponse",
    "ProjectView",
    "ReadyResponse",
    "ReadyResponseStatus",
    "RedactedThinkingBlock",
    "RedactedThinkingBlockType",
    "ResourceBlock",
    "ResourceBlockType",
    "ResponseBody",
    "ResponseBodyContentType0",
    "RewindRequestBody",
    "RewindResponse",
    "ScheduledBlock",
    "ScheduledBlockType",
    "SearchSessionsResponse",
    "SessionArchive",
    "SessionCapabilities",
    "SessionDeletedEvent",
    "SessionEvent",
    "SessionMatchResponse",
    "SessionRecordEvent",
    "SessionResponse",
    "SessionTotals",
    "SessionView",
    "StopReason",
    "SummarySource",
    "TaskReportedEvent",
    "TaskStatus",
    "TextBlock",
    "TextBlockType",
    "TextDeltaEvent",
    "ThinkingBlock",
    "ThinkingBlockType",
    "ThinkingDisplay",
    "ThinkingMode",
    "ToolCallCompletedEvent",
    "ToolCallComposingEvent",
    "ToolCallExecutingEvent",
    "ToolCallOutputDeltaEvent",
    "ToolChange",
    "ToolInput",
    "ToolReferenceBlock",
    "ToolReferenceBlockType",
    "ToolResultBlock",
    "ToolResultBlockType",
    "ToolsResponse",
    "ToolUseBlock",
    "ToolUseBlockType",
    "ToolView",
    "TurnCanceledEvent",
    "TurnContextBlock",
    "TurnContextBlockType",
    "TurnError",
    "TurnEvent",
    "TurnFailedEvent",
    "TurnFinishedEvent",
    "TurnNudgedEvent",
    "TurnOptionsType0",
    "TurnRecord",
    "TurnRequest",
    "TurnResponse",
    "TurnSource",
    "TurnsResponse",
    "TurnStartedEvent",
    "TurnStartedEventSource",
    "TurnStatus",
    "TurnUsage",
    "UnansweredMessage",
    "WriteInstructionsRequest",
)
