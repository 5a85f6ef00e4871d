from types import ModuleType

from tests.unit.codegen.documents import whole_document
from tools.codegen import events, operations, problems


def imported(text: str) -> ModuleType:
    module = ModuleType("generated")
    exec(text, module.__dict__)
    return module


def test_problems_table_has_title_and_statuses_in_order() -> None:
    kind = imported(problems.render(whole_document())).PROBLEMS["busy"]
    assert kind == ('The "session" is busy', (409, 429))


def test_events_table_says_what_is_numbered_and_terminal_and_where() -> None:
    kind = imported(events.render(whole_document())).EVENTS["turn.done"]
    assert kind == ("turn.done", True, True, ("turn", "server"))


def test_operations_table_has_scopes_statuses_problems_and_body() -> None:
    operation = imported(operations.render(whole_document())).OPERATIONS["submit_turn"]
    assert operation.scopes == (("sessions:w",), ())
    assert (operation.method, operation.path) == ("POST", "/v1/sessions/{id}/turn")
    assert (operation.success, operation.problems) == ((200,), {409: ("busy",)})
    assert (operation.body_types, operation.body_required) == (("application/json",), True)


def test_operations_table_has_no_scopes_where_no_token_is_asked_for() -> None:
    operation = imported(operations.render(whole_document())).OPERATIONS["live"]
    assert operation.scopes is None
    assert (operation.body_types, operation.body_required) == ((), False)


def test_scopes_are_listed_with_the_read_ones_apart() -> None:
    module = imported(operations.render(whole_document()))
    assert module.SCOPES == ("sessions:w", "sessions:r")
    assert module.READ_SCOPES == ("sessions:r",)
