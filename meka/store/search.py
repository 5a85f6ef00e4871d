"""Full-text search over what was said: an index that each row of the log keeps up to date as it is appended.

    search_texts   the words of each message that is still part of its conversation (what a compaction left
                   out of the view is), as a person, a job or the model said them; seq is the message's
    search_titles  what each session is called
    search_index, title_index   FTS5 over the two, kept by triggers

FTS5 takes a run of letters for a word, so letters of scripts that are written without spaces are set apart by
a separator before they are indexed; a word of a query in such a script is a phrase of its characters, and
where any word will do, any of its characters does.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from meka.store.connection import Tx

MAX_WORDS = 32
EXCERPT_CHARACTERS = 200
CANDIDATES = 10_000
"""The newest messages that match are ranked, so that the commonest word costs what this many do."""

_TITLES = 1_000
_CHUNK = 500
_LEAD_CHARACTERS = 60
_SUMMARY_MARK = "(summary) "
_LONG_CHARACTERS = 50_000
_SEPARATOR = "\x1f"
_BEGIN, _END = "\x02", "\x03"
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
_LINE_ENDS = re.compile(r"[\r\n\x85\u2028\u2029]")
# Points and vowel signs of Hebrew and Arabic, which SQLite would take for gaps between words.
_POINTS = re.compile(
    "[\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc]"
)
# Thai, Lao, Tibetan, Burmese, Khmer, kana, and the characters of Chinese.
_UNSPACED = re.compile(
    "[\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u1950-\u19ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U0001b000-\U0001b16f\U00020000-\U0003ffff]"
)
_USER_WORDS: Mapping[str, str] = {
    "text": "text",
    "inbox": "body",
    "scheduled": "prompt",
    "invocation": "directive",
}
_REPLY_WORDS: Mapping[str, str] = {"text": "text"}


@dataclass(frozen=True, slots=True)
class Hit:
    """A session that was found; without an excerpt where its title alone holds the words."""

    session_id: str
    excerpt: str | None = None


@dataclass(frozen=True, slots=True)
class _Found:
    seq: int
    is_summary: bool
    rank: float


def words_of(role: str | None, content: Sequence[Mapping[str, Any]]) -> str:
    """What a message says, by the records of its blocks: no calls, results or thinking, nothing of meka's."""
    members = _USER_WORDS if role == "user" else _REPLY_WORDS
    said = [str(block[members[block["type"]]]) for block in content if block.get("type") in members]
    return "\n".join(words for words in said if words.strip())


def note_message(
    tx: Tx,
    session_id: str,
    seq: int,
    role: str | None,
    content: Sequence[Mapping[str, Any]],
    is_summary: bool,
) -> None:
    """Index a message, or what it says now."""
    words = words_of(role, content)
    if not words:
        forget(tx, [seq])
        return
    tx.sql(
        """INSERT INTO search_texts (seq, session_id, is_summary, text) VALUES (?, ?, ?, ?)
        ON CONFLICT (seq) DO UPDATE SET text = excluded.text""",
        (seq, session_id, is_summary, prepared(words)),
    )


def note_content(tx: Tx, session_id: str, seq: int, content: Sequence[Mapping[str, Any]]) -> None:
    """A message of the view was given other content."""
    found = tx.sql("SELECT role FROM messages WHERE seq = ? AND session_id = ?", (seq, session_id))
    if found:
        note_message(tx, session_id, seq, found[0][0], content, False)


def forget(tx: Tx, seqs: Sequence[int]) -> None:
    """These messages are no part of their conversation any more."""
    for seq in seqs:
        tx.sql("DELETE FROM search_texts WHERE seq = ?", (seq,))


def copy(tx: Tx, from_session_id: str, to_session_id: str, numbers: Mapping[int, int]) -> None:
    """Index a log that was copied as its origin is indexed; `numbers` has the new seq of each."""
    for (seq,) in tx.sql("SELECT seq FROM search_texts WHERE session_id = ?", (from_session_id,)):
        tx.sql(
            """INSERT INTO search_texts (seq, session_id, is_summary, text)
            SELECT ?, ?, is_summary, text FROM search_texts WHERE seq = ?""",
            (numbers[seq], to_session_id, seq),
        )


def note_title(tx: Tx, session_id: str) -> None:
    """Index what a session is called now."""
    found = tx.sql("SELECT COALESCE(title, first_words) FROM sessions WHERE id = ?", (session_id,))
    if not found:
        return
    if found[0][0] is None:
        tx.sql("DELETE FROM search_titles WHERE session_id = ?", (session_id,))
        return
    tx.sql(
        """INSERT INTO search_titles (session_id, text) VALUES (?, ?)
        ON CONFLICT (session_id) DO UPDATE SET text = excluded.text""",
        (session_id, prepared(found[0][0])),
    )


def prepared(text: str) -> str:
    """`text` as it is indexed and searched for; without the separators it reads as it did."""
    text = _CONTROLS.sub(" ", unicodedata.normalize("NFC", text))
    if text.isascii():
        return text
    return _UNSPACED.sub(rf"{_SEPARATOR}\g<0>{_SEPARATOR}", _POINTS.sub("", text))


def find(tx: Tx, query: str, *, limit: int, include_children: bool) -> list[Hit]:
    """The sessions whose conversations hold the words, best first.

    Tried in turn, until something is found: all words (by their stems), all as beginnings of words, any of
    them, any as a beginning.
    """
    words = [prepared(word) for word in _words(query)]
    if not words:
        return []
    parts = [part for word in words for part in word.split(_SEPARATOR) if part]
    for expression, with_titles in (
        (" AND ".join(map(_phrase, words)), True),
        (" AND ".join(map(_beginning, words)), True),
        (" OR ".join(map(_phrase, parts)), False),
        (" OR ".join(map(_beginning, parts)), False),
    ):
        hits = _hits(tx, expression, words, with_titles, limit, include_children)
        if hits:
            return hits
    return []


def _words(query: str) -> list[str]:
    """The words of a query, each once; what holds no letter is none."""
    words = (word for word in query.split() if any(map(_is_letter, word)))
    return list(dict.fromkeys(words))[:MAX_WORDS]


def _phrase(word: str) -> str:
    """A word as FTS5's language has it."""
    return '"' + word.replace('"', '""') + '"'


def _beginning(word: str) -> str:
    return _phrase(word) + " *"


def _is_letter(character: str) -> bool:
    category = unicodedata.category(character)
    return category[0] in "LN" or category == "Co"


def _hits(
    tx: Tx, expression: str, words: Sequence[str], with_titles: bool, limit: int, include_children: bool
) -> list[Hit]:
    best = _best_messages(tx, expression)
    titled = _titled(tx, expression) if with_titles else []
    ranked = sorted(best, key=lambda session_id: (best[session_id].rank, -best[session_id].seq))
    in_title = set(titled)
    first = [each for each in ranked if each in in_title] + [each for each in titled if each not in best]
    order = [*first, *(each for each in ranked if each not in in_title)]
    chosen = order[:limit] if include_children else _roots(tx, order, limit)
    return [
        Hit(each, _excerpt(tx, expression, words, best[each]) if each in best else None) for each in chosen
    ]


def _best_messages(tx: Tx, expression: str) -> dict[str, _Found]:
    """The best message of each session, among the newest that match."""
    rows = tx.sql(
        """SELECT t.session_id, t.seq, t.is_summary, bm25(search_index)
        FROM search_index JOIN search_texts t ON t.seq = search_index.rowid
        WHERE search_index MATCH ? ORDER BY search_index.rowid DESC LIMIT ?""",
        (expression, CANDIDATES),
    )
    best: dict[str, _Found] = {}
    for session_id, seq, is_summary, rank in rows:
        if session_id not in best or rank < best[session_id].rank:
            best[session_id] = _Found(seq, bool(is_summary), rank)
    return best


def _titled(tx: Tx, expression: str) -> list[str]:
    rows = tx.sql(
        """SELECT t.session_id FROM title_index JOIN search_titles t ON t.id = title_index.rowid
        WHERE title_index MATCH ? ORDER BY title_index.rowid DESC LIMIT ?""",
        (expression, _TITLES),
    )
    return [row[0] for row in rows]


def _roots(tx: Tx, session_ids: Sequence[str], limit: int) -> list[str]:
    """The first so many of these that nobody spawned."""
    found: list[str] = []
    for start in range(0, len(session_ids), _CHUNK):
        some = session_ids[start : start + _CHUNK]
        marks = ", ".join("?" * len(some))
        rows = tx.sql(f"SELECT id FROM sessions WHERE parent_id IS NULL AND id IN ({marks})", some)  # noqa: S608
        roots = {row[0] for row in rows}
        found += [each for each in some if each in roots]
        if len(found) >= limit:
            break
    return found[:limit]


def _excerpt(tx: Tx, expression: str, words: Sequence[str], found: _Found) -> str:
    """The line of a message that most of the words are on; of a very long one, where a word first stands."""
    ((text,),) = tx.sql("SELECT text FROM search_texts WHERE seq = ?", (found.seq,))
    marked = _marked_start(text, words) if len(text) > _LONG_CHARACTERS else _marked(tx, expression, found)
    lines = _LINE_ENDS.split(marked)
    line = " ".join(max(lines, key=lambda each: each.count(_BEGIN)).replace(_SEPARATOR, "").split())
    return (_SUMMARY_MARK if found.is_summary else "") + _around(line)


def _marked(tx: Tx, expression: str, found: _Found) -> str:
    rows = tx.sql(
        """SELECT highlight(search_index, 0, ?, ?) FROM search_index
        WHERE search_index MATCH ? AND rowid = ?""",
        (_BEGIN, _END, expression, found.seq),
    )
    return str(rows[0][0])


def _marked_start(text: str, words: Sequence[str]) -> str:
    """Where one of the words first stands as it was asked for, marked; else how the text begins.

    FTS5 takes the square of the hits in a text to mark them: minutes, for some megabytes of one word.
    """
    lowered = text.lower()
    places = [place for place in (lowered.find(word.lower()) for word in words) if place >= 0]
    place = min(places, default=0)
    start = max(0, place - EXCERPT_CHARACTERS)
    return text[start:place] + _BEGIN + text[place : place + 2 * EXCERPT_CHARACTERS]


def _around(line: str) -> str:
    """The part of a line around the first of its words, the marks taken out."""
    position = max(line.find(_BEGIN), 0)
    plain = line.replace(_BEGIN, "").replace(_END, "")
    if len(plain) <= EXCERPT_CHARACTERS:
        return plain
    start = max(0, min(position - _LEAD_CHARACTERS, len(plain) - EXCERPT_CHARACTERS))
    end = start + EXCERPT_CHARACTERS
    return ("…" if start else "") + plain[start:end].strip() + ("…" if end < len(plain) else "")
