"""Archives from outside: nobody vouches for them, so everything is checked before anything is stored."""

import base64
import binascii
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from meka.agent.blocks import Role, ToolResult, to_records
from meka.agent.images import PASSED_THROUGH, sniff
from meka.agent.turn import Source, Status
from meka.base.clock import parse_rfc3339
from meka.base.errors import InvalidBodyError
from meka.base.levels import Level
from meka.service.archive import FORMAT, FORMAT_VERSION, Packed
from meka.service.archive_blocks import BlockFaultError, images_in, read_blocks
from meka.store.blobs import Blob
from meka.store.messages import LogKind, LogRow
from meka.store.scratchpad import ScratchpadText
from meka.store.sessions import SessionRow
from meka.store.turns import TurnRow, TurnUsage

_LARGEST_COUNT = 2**53
_COUNTERS = ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
_NAME_CHARACTERS = 4096


class ArchiveError(InvalidBodyError):
    """Why an archive cannot be imported, in a sentence that says where."""

    def __init__(self, sentence: str) -> None:
        super().__init__(f"invalid session import request body: {sentence}")
        self.sentence = sentence


@dataclass(frozen=True, slots=True)
class Unpacked:
    """A whole archive: its sessions, parents before their children, and its images by hash."""

    sessions: Sequence[Packed]
    images: Mapping[str, Blob]


@dataclass(frozen=True, slots=True)
class Terms:
    """What sessions may name here. `choose_profile` takes the profile a session names, or None for none, and
    raises InvalidBodyError for one that is not configured."""

    choose_profile: Callable[[str | None], str]
    projects: Sequence[str]

    def check_project(self, name: str) -> str:
        """Empty for none. Raises: InvalidBodyError."""
        if name and name not in self.projects:
            known = ", ".join(self.projects) or "none"
            raise InvalidBodyError(f"no project named '{name}' (configured: {known})")
        return name


def read_archive(document: object, terms: Terms) -> Unpacked:
    """The archive in a JSON value. Raises: ArchiveError; InvalidBodyError for what it names."""
    whole = _Fields(document, "the archive")
    written_as = (whole.get("format", str), whole.get("format_version", int))
    if written_as != (FORMAT, FORMAT_VERSION):
        raise ArchiveError(f"only `{FORMAT}` of `format_version` {FORMAT_VERSION} is read here")
    images = {
        digest: _image(digest, record) for digest, record in whole.get("images", dict, default={}).items()
    }
    packed = [
        _session(record, f"sessions[{place}]", images, terms)
        for place, record in enumerate(whole.get("sessions", list))
    ]
    whole.refuse_others()
    _check_tree(packed)
    return Unpacked(packed, images)


def count_sessions(document: object) -> int:
    """How many sessions a JSON value claims to hold; 0 for what is no archive."""
    found = document.get("sessions") if isinstance(document, dict) else None
    return len(found) if isinstance(found, list) else 0


class _Fields:
    """An object of the archive, its fields taken one by one; what is left over is refused."""

    def __init__(self, record: object, where: str) -> None:
        if not isinstance(record, dict):
            raise ArchiveError(f"`{where}` must be an object")
        self._record: dict[str, Any] = record
        self._where = where
        self._taken: set[str] = set()

    def get(self, name: str, kind: type, *, default: Any = ...) -> Any:
        """A field of exactly this type; without a default it has to be there."""
        self._taken.add(name)
        if self._record.get(name) is None and default is not ...:
            return default
        if name not in self._record:
            raise ArchiveError(f"`{self.path(name)}` is missing")
        value = self._record[name]
        if type(value) is not kind:
            raise self.fault(name, f"must be of type {_KIND_NAMES[kind]}")
        return value

    def moment(self, name: str, *, default: Any = ...) -> Any:
        """A field that is a moment."""
        text = self.get(name, str, default=default)
        return text if text is default else self._parsed(name, text, parse_rfc3339)

    def uuid(self, name: str, *, default: Any = ...) -> Any:
        """A field that is a UUID in its canonical spelling."""
        text = self.get(name, str, default=default)
        if text is not default and str(self._parsed(name, text, UUID)) != text:
            raise self.fault(name, "is no UUID in its usual spelling")
        return text

    def choice(self, name: str, choices: Any, *, default: Any = ...) -> Any:
        """A field that is one of an enum's values."""
        text = self.get(name, str, default=default)
        return text if text is default else self._parsed(name, text, choices)

    def count(self, name: str, *, default: Any = ...) -> Any:
        """A field that is a number of things."""
        number = self.get(name, int, default=default)
        if number is not default and not 0 <= number <= _LARGEST_COUNT:
            raise self.fault(name, "is out of range")
        return number

    def _parsed(self, name: str, text: str, parse: Callable[[str], Any]) -> Any:
        try:
            return parse(text)
        except (ValueError, OverflowError):
            raise self.fault(name, "is not what can stand there") from None

    def path(self, name: str) -> str:
        """A field's place in the archive."""
        return f"{self._where}.{name}" if self._where != "the archive" else name

    def fault(self, name: str, sentence: str) -> ArchiveError:
        """What is wrong with a field."""
        return ArchiveError(f"`{self.path(name)}` {sentence}")

    def refuse_others(self) -> None:
        """Raises: ArchiveError when the object has a field that nobody asked for."""
        if others := set(self._record) - self._taken:
            raise self.fault(min(others)[:64], "is not a known field")


_KIND_NAMES = {dict: "object", list: "array", str: "string", int: "integer", bool: "boolean"}


def _image(digest: str, record: object) -> Blob:
    """An image, which is the one of its hash and of the type it says (a browser may be shown it)."""
    fields = _Fields(record, f"images.{digest[:64]}")
    media_type, encoded = fields.get("media_type", str), fields.get("data", str)
    fields.refuse_others()
    try:
        data = base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        raise fields.fault("data", "is not base64") from None
    if hashlib.sha256(data).hexdigest() != digest:
        raise fields.fault("data", "does not have the hash that it stands under")
    if media_type not in PASSED_THROUGH or sniff(data) != media_type:
        raise fields.fault("media_type", "is not that of its bytes")
    return Blob(digest, media_type, data)


def _session(record: object, where: str, images: Mapping[str, Blob], terms: Terms) -> Packed:
    fields = _Fields(record, where)
    held = _hashes(fields, images)
    row = _row(fields, terms)
    packed = Packed(
        row,
        _turns(fields, row.id),
        _Log(row.id, frozenset(held)).read(fields),
        _scratchpad(fields),
        held,
    )
    fields.refuse_others()
    return packed


def _row(fields: _Fields, terms: Terms) -> SessionRow:
    capabilities = fields.get("capabilities", dict, default={})
    if not all(isinstance(value, bool) for value in capabilities.values()):
        raise fields.fault("capabilities", "must hold booleans")
    directory = fields.get("working_directory", str, default="")
    if directory and (not directory.startswith("/") or "\0" in directory or ".." in directory.split("/")):
        raise fields.fault("working_directory", "is not an absolute path")
    return SessionRow(
        id=fields.uuid("id"),
        parent_id=fields.uuid("parent_id", default=None),
        created_at=fields.moment("created_at"),
        updated_at=fields.moment("updated_at"),
        working_directory=directory,
        permission=fields.choice("permission", Level).value,
        approvals=fields.get("approvals", bool),
        profile=terms.choose_profile(fields.get("profile", str, default=None)),
        project=terms.check_project(fields.get("project", str, default="")),
        capabilities=capabilities,
        title=_line(fields, "title"),
        first_words=_line(fields, "first_words"),
        spawn=fields.get("spawn", dict, default=None),
        revision=fields.count("revision"),
        context_tokens=fields.count("context_tokens", default=None),
    )


def _line(fields: _Fields, name: str) -> str | None:
    """A title: one line of at most 200 characters."""
    text: str | None = fields.get(name, str, default=None)
    if text is not None and (len(text) > 200 or " ".join(text.split()) != text or not text):
        raise fields.fault(name, "is not one line of at most 200 characters")
    return text


def _hashes(fields: _Fields, images: Mapping[str, Blob]) -> list[str]:
    held = fields.get("images", list, default=[])
    if not all(isinstance(digest, str) and digest in images for digest in held):
        raise fields.fault("images", "names an image that the archive does not hold")
    return list(dict.fromkeys(held))


def _turns(fields: _Fields, session_id: str) -> list[TurnRow]:
    found = [
        _turn(_Fields(record, f"{fields.path('turns')}[{place}]"), session_id)
        for place, record in enumerate(fields.get("turns", list))
    ]
    if len({turn.id for turn in found}) < len(found):
        raise fields.fault("turns", "holds a turn twice")
    return found


def _turn(fields: _Fields, session_id: str) -> TurnRow:
    usage = _Fields(fields.get("usage", dict), fields.path("usage"))
    ended_at: datetime | None = fields.moment("ended_at", default=None)
    status = fields.choice("status", Status, default=None)
    if (ended_at is None) != (status is None):
        raise fields.fault("status", "and `ended_at` go together")
    error_type = fields.get("error_type", str, default=None)
    turn = TurnRow(
        id=fields.uuid("id"),
        session_id=session_id,
        source=fields.choice("source", Source).value,
        started_at=fields.moment("started_at"),
        permission=fields.choice("permission", Level).value,
        ended_at=ended_at,
        status=None if status is None else status.value,
        stop_reason=fields.get("stop_reason", str, default=None),
        error_type=error_type,
        error_detail=fields.get("error_detail", str, default=None if error_type is None else ""),
        profile=fields.get("profile", str, default=None),
        usage=TurnUsage(*(usage.count(name) for name in _COUNTERS)),
    )
    usage.refuse_others()
    fields.refuse_others()
    return turn


def _scratchpad(fields: _Fields) -> list[ScratchpadText]:
    found = []
    for place, record in enumerate(fields.get("scratchpad", list, default=[])):
        entry = _Fields(record, f"{fields.path('scratchpad')}[{place}]")
        name = entry.get("name", str)
        if not name.strip() or len(name) > _NAME_CHARACTERS:
            raise entry.fault("name", "is blank or too long")
        found.append(ScratchpadText(name, entry.moment("created_at"), entry.get("content", str)))
        entry.refuse_others()
    if len({entry.name for entry in found}) < len(found):
        raise fields.fault("scratchpad", "holds a name twice")
    return found


class _Log:
    """Reads the log of one session, whose images are `held`."""

    def __init__(self, session_id: str, held: frozenset[str]) -> None:
        self._session_id = session_id
        self._held = held

    def read(self, fields: _Fields) -> list[LogRow]:
        """The rows, numbered from 1."""
        return [
            self._row(_Fields(record, f"{fields.path('log')}[{place}]"), place + 1)
            for place, record in enumerate(fields.get("log", list))
        ]

    def _row(self, fields: _Fields, seq: int) -> LogRow:
        kind = fields.choice("kind", LogKind)
        role = fields.choice("role", Role, default=None)
        meta = fields.get("meta", dict, default=None)
        content = self._content(fields.get("content", list, default=[]), fields.path("content"))
        if (kind is LogKind.MESSAGE) != (role is not None):
            raise fields.fault("role", "is what messages have, and they alone")
        if role is Role.ASSISTANT and any(block["type"] == ToolResult.type for block in content):
            raise fields.fault("content", "holds results in a message of the model's")
        self._check_meta(kind, meta, fields)
        row = LogRow(
            seq,
            self._session_id,
            kind,
            None if role is None else role.value,
            content,
            fields.moment("created_at"),
            fields.uuid("turn_id", default=None),
            meta,
        )
        fields.refuse_others()
        return row

    def _content(self, records: object, where: str) -> list[dict[str, Any]]:
        try:
            blocks = read_blocks(records, where)
        except BlockFaultError as fault:
            raise ArchiveError(str(fault)) from None
        for image in images_in(blocks):
            if image.hash not in self._held:
                raise ArchiveError(f"`{where}` shows an image that the session does not hold")
        return to_records(blocks)

    def _check_meta(self, kind: LogKind, meta: Mapping[str, Any] | None, fields: _Fields) -> None:
        """What a rewrite says of other rows is a list of numbers, or one."""
        said = _Fields(meta or {}, fields.path("meta"))
        match kind:
            case LogKind.WITHDRAWAL:
                _check_numbers(said, "seqs", said.get("seqs", list))
            case LogKind.BOUNDARY:
                _check_numbers(said, "keep", said.get("keep", list))
            case LogKind.REWIND:
                said.count("before")
                _check_numbers(said, "seqs", said.get("seqs", list, default=[]))
            case LogKind.REPAIR | LogKind.REDACTION:
                self._check_contents(said)
            case LogKind.MESSAGE:
                said.get("compaction", dict, default=None)

    def _check_contents(self, said: _Fields) -> None:
        for place, record in enumerate(said.get("contents", list)):
            each = _Fields(record, f"{said.path('contents')}[{place}]")
            each.count("seq")
            self._content(each.get("content", list), each.path("content"))
            each.refuse_others()


def _check_numbers(said: _Fields, name: str, numbers: Sequence[object]) -> None:
    if not all(type(number) is int and 0 <= number <= _LARGEST_COUNT for number in numbers):
        raise said.fault(name, "must hold numbers of rows")


def _check_tree(packed: Sequence[Packed]) -> None:
    """One root, and each other session behind the one that spawned it."""
    seen: set[str] = set()
    for place, each in enumerate(packed):
        parent = each.row.parent_id
        if each.row.id in seen:
            raise ArchiveError(f"`sessions[{place}].id` is there twice")
        if (parent is None) != (place == 0) or (parent is not None and parent not in seen):
            raise ArchiveError(f"`sessions[{place}].parent_id` does not name a session before it")
        seen.add(each.row.id)
    if not packed:
        raise ArchiveError("`sessions` is empty")
