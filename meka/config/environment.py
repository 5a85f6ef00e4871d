"""What the environment says above the file: flag, then variable, then key, then default."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypeVar

from meka.base.durations import DurationError, parse_duration
from meka.base.levels import Level
from meka.config.advice import settle_permissions
from meka.config.decode import Seconds
from meka.config.model import Config, SandboxBackend

Choice = TypeVar("Choice", bound=StrEnum)
DEFAULT_MCP_TOOL_TIMEOUT: Seconds = 600.0


@dataclass(frozen=True, slots=True)
class Flags:
    """What a command line says above the environment; None where it says nothing."""

    permission: Level | None = None
    sandbox_backend: SandboxBackend | None = None
    profile: str | None = None
    stream: bool | None = None


def apply_overrides(
    config: Config, environ: Mapping[str, str], flags: Flags | None = None
) -> tuple[Config, tuple[str, ...]]:
    """`config` under `flags` and the environment, and what to warn of."""
    flags = flags or Flags()
    warnings: list[str] = []
    level = flags.permission or _choice("MEKA_PERMISSION", Level, environ, warnings)
    permissions, permission_warnings = settle_permissions(config.permissions, level)
    sandbox = flags.sandbox_backend or _choice("MEKA_SANDBOX_BACKEND", SandboxBackend, environ, warnings)
    changed = replace(
        config,
        permissions=permissions,
        shell=replace(config.shell, sandbox_backend=sandbox or config.shell.sandbox_backend),
        default_profile=flags.profile if flags.profile is not None else config.default_profile,
        display=replace(config.display, stream=config.display.stream and flags.stream is not False),
    )
    return changed, (*warnings, *permission_warnings)


def _choice(
    variable: str, kind: type[Choice], environ: Mapping[str, str], warnings: list[str]
) -> Choice | None:
    value = environ.get(variable)
    if value is None:
        return None
    if value in tuple(kind):
        return kind(value)
    warnings.append(f"{variable} is none of {', '.join(kind)} and is ignored")
    return None


def mcp_tool_timeout(environ: Mapping[str, str]) -> tuple[Seconds, tuple[str, ...]]:
    """How long one MCP tool call may take (`MEKA_MCP_TOOL_TIMEOUT`), and what to warn of."""
    value = environ.get("MEKA_MCP_TOOL_TIMEOUT")
    if value is None:
        return DEFAULT_MCP_TOOL_TIMEOUT, ()
    try:
        seconds = parse_duration(value)
    except DurationError:
        seconds = 0.0
    if seconds > 0:
        return seconds, ()
    return DEFAULT_MCP_TOOL_TIMEOUT, ("MEKA_MCP_TOOL_TIMEOUT is no duration above zero; 10m is used",)
