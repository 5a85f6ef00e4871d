from tests.unit.codegen.documents import whole_document
from tools.codegen import docs


def page(name: str) -> str:
    return docs.render(whole_document())[name]


def test_operations_page_shows_scope_parameters_body_and_problems() -> None:
    text = page("operations.md")
    assert "### `POST /v1/sessions/{id}/turn`\n" in text
    assert "Scope: [`sessions:w`](scopes.md#sessionsw).\n" in text
    assert (
        "| `id` | path | uuid | The session. |\n| `limit` | query | integer, default 5 | How many. |\n"
        in text
    )
    assert "Body: [Body](schemas.md#body).\n" in text
    assert "| 200 | [Body](schemas.md#body) |  |\n| 409 |  | [`busy`](problems.md#busy) |\n" in text


def test_operations_page_says_when_no_token_is_asked_for() -> None:
    section = page("operations.md").split("### `GET /v1/live`")[1]
    assert "Scope: none, no token is asked for." in section


def test_problems_page_names_the_operations_that_answer_it() -> None:
    busy, unused = page("problems.md").split("## `busy`")[1].split("## `unused`")
    assert "| Status | 409, 429 |" in busy
    assert "| Answered by | [`submit_turn`](operations.md#post-v1sessionsidturn) |" in busy
    assert "no operation of its own" in unused


def test_events_page_shows_payload_and_feeds() -> None:
    text = page("events.md")
    assert "## `turn.done`\n\nIt ended. Numbered, terminal; feeds: turn, server.\n" in text
    assert "| `text` | string | yes | The words, a\\|b. |" in text


def test_scopes_page_names_the_operations_that_ask_for_it() -> None:
    drive, read = page("scopes.md").split("## `sessions:w`")[1].split("## `sessions:r`")
    assert "Asked for by: [`submit_turn`](operations.md#post-v1sessionsidturn).\n" in drive
    assert "no operation of this version" in read


def test_schemas_page_shows_fields_and_choices() -> None:
    assert "| `kind` | `x` or `y` |  |  |" in page("schemas.md")
