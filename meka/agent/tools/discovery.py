"""`tool_load` and `tool_search`: how a model finds and takes up the tools whose schemas it was not sent."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rapidfuzz.distance import Levenshtein

from meka.agent.tools.base import Tool, ToolContext, ToolError, ToolOutcome
from meka.agent.tools.function_tool import FunctionTool, object_schema
from meka.agent.tools.names import near_names, segments, typo_budget
from meka.base.levels import Level
from meka.base.text import one_line

MOST_LOADS = 10
MOST_HITS = 10
SUMMARY_CHARACTERS = 250
_MOST_QUERY_WORDS = 16
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")


def discovery_tools() -> tuple[Tool, ...]:
    """The two tools that find the others."""
    names = {"type": "array", "items": {"type": "string"}, "minItems": 1}
    load = FunctionTool(
        name="tool_load",
        description="Load deferred tools by name: returns their descriptions and schemas and makes them "
        "callable from the next request on. At most 10 names a call.",
        parameters=object_schema(["name"], name={"anyOf": [{"type": "string"}, names]}),
        function=load_tools,
        summary_argument="name",
    )
    search = FunctionTool(
        name="tool_search",
        description="Search the names and descriptions of all tools, deferred ones too. At most 10 hits.",
        parameters=object_schema(["query"], query={"type": "string", "description": "Words to look for."}),
        function=search_tools,
        summary_argument="query",
    )
    return load, search


def summarize(description: str, limit: int = SUMMARY_CHARACTERS) -> str:
    """The first whole sentences of `description` that fit `limit` characters, `...` when it was cut."""
    text = one_line(description)
    if len(text) <= limit:
        return text
    kept = ""
    for sentence in _SENTENCE_END.split(text):
        grown = f"{kept} {sentence}".strip()
        if len(grown) + 4 > limit:
            break
        kept = grown
    return f"{kept} ..." if kept else text[: limit - 3].rstrip() + "..."


def load_tools(arguments: Mapping[str, Any], context: ToolContext) -> ToolOutcome:
    """Describe the named tools and make the deferred ones callable. Raises: ToolError when none is known."""
    named = arguments["name"]
    asked = list(dict.fromkeys([named] if isinstance(named, str) else named))
    tools = {tool.name: tool for tool in context.tools()}
    known = [tools[name] for name in asked[:MOST_LOADS] if name in tools]
    sections = [_load_section(name, tools, context) for name in asked[:MOST_LOADS]]
    if len(asked) > MOST_LOADS:
        sections.append(f"({len(asked) - MOST_LOADS} more names were dropped: at most {MOST_LOADS} a call)")
    text = "\n\n---\n\n".join(sections)
    if not known:
        raise ToolError(text)
    return _loading(text, known, context)


def search_tools(arguments: Mapping[str, Any], context: ToolContext) -> ToolOutcome:
    """The tools that match the query's words, best first; where the provider expands references, the deferred
    ones among them are loaded."""
    hits = find_tools(arguments["query"], context.tools())[:MOST_HITS]
    if not hits:
        return ToolOutcome("No tool matches the query.")
    level = context.level()
    text = "\n".join(_hit_line(tool, level, context) for tool in hits)
    return _loading(text, hits, context) if context.expands_references else ToolOutcome(text)


def _loading(text: str, tools: Sequence[Tool], context: ToolContext) -> ToolOutcome:
    """The outcome that makes those of `tools` callable that are not."""
    loaded = tuple(tool.name for tool in tools if not _is_active(tool, context))
    return ToolOutcome(text, loaded=loaded, refers=context.expands_references)


def find_tools(query: str, tools: Sequence[Tool]) -> list[Tool]:
    """The tools that match, best first; misspelt words are tried when no word matches as it stands."""
    words = segments(query)[:_MOST_QUERY_WORDS]
    indexed = [_Indexed.of(tool) for tool in tools]
    for score in (_Indexed.score, _Indexed.score_misspelt):
        scored = [(sum(score(entry, word) for word in words), entry.tool) for entry in indexed]
        hits = sorted((hit for hit in scored if hit[0]), key=lambda hit: (-hit[0], hit[1].name))
        if hits:
            return [tool for _, tool in hits]
    return []


@dataclass(frozen=True, slots=True)
class _Indexed:
    """A tool's words. A word of the name counts more than one of the description, a whole one than a part."""

    tool: Tool
    name_words: frozenset[str]
    description_words: frozenset[str]

    @classmethod
    def of(cls, tool: Tool) -> "_Indexed":
        return cls(tool, frozenset(segments(tool.name)), frozenset(segments(tool.description)))

    def score(self, word: str) -> int:
        if word in self.name_words:
            return 100
        if any(word in name_word for name_word in self.name_words):
            return 60
        if word in self.description_words:
            return 20
        return 10 if any(word in other for other in self.description_words) else 0

    def score_misspelt(self, word: str) -> int:
        if _has_misspelt(word, self.name_words):
            return 40
        return 5 if _has_misspelt(word, self.description_words) else 0


def _has_misspelt(word: str, words: frozenset[str]) -> bool:
    budget = typo_budget(word)
    return any(
        Levenshtein.distance(word, other, score_cutoff=budget) <= budget
        for other in words
        if len(other) > budget
    )


def _is_active(tool: Tool, context: ToolContext) -> bool:
    return not tool.deferred or context.is_active(tool.name)


def _load_section(name: str, tools: Mapping[str, Tool], context: ToolContext) -> str:
    tool = tools.get(name)
    if tool is None:
        return _unknown(name, tools)
    if _is_active(tool, context):
        return f"{name} is already active; call it directly."
    admitted = _admission(tool, context.level())
    if context.expands_references:
        return f"{name} is loaded; {admitted}"
    schema = json.dumps(tool.parameters, indent=2, ensure_ascii=False)
    return f"{admitted}\n\n# {name}\n\n{tool.description}\n\n## Schema\n\n```json\n{schema}\n```"


def _unknown(name: str, tools: Mapping[str, Tool]) -> str:
    near = near_names(name, tools)
    matching = [tool.name for tool in find_tools(name, list(tools.values())) if tool.name not in near]
    sentence = f"There is no tool named '{one_line(name)}'."
    if near:
        sentence += f" Did you mean {', '.join(near)}?"
    if matching:
        sentence += f" Tools that match its words: {', '.join(matching[:MOST_HITS])}."
    return sentence


def _hit_line(tool: Tool, level: Level, context: ToolContext) -> str:
    state = "active" if _is_active(tool, context) else "deferred"
    if state == "deferred" and context.expands_references:
        state = "loaded"
    return f"- {tool.name} ({state}; {_admission(tool, level)}): {summarize(tool.description)}"


def _admission(tool: Tool, level: Level) -> str:
    if level is not Level.NONE and level.holds(tool.level):
        return f"callable at the present level, {level}"
    return f"needs {tool.level}, the session is at {level}: a call would be asked about or refused"
