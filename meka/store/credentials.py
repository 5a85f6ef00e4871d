"""Secrets of accounts: here and nowhere else, and never in a repr, a log line or an answer."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from meka.store.codec import clean_json, from_micros, load_json, to_micros
from meka.store.connection import Tx
from meka.store.models import ALL, CREDENTIALS


class CredentialKind(StrEnum):
    """What an account signs in with."""

    API_KEY = "api_key"
    OAUTH = "oauth"


@dataclass(frozen=True, slots=True)
class Credential:
    """An account's secret; equal to another only when nothing was written in between."""

    account: str
    kind: CredentialKind
    secret: Mapping[str, Any] = field(repr=False)
    updated_at: datetime


def get(tx: Tx, account: str) -> Credential | None:
    """An account's secret."""
    row = tx.row(CREDENTIALS.select(ALL).where(CREDENTIALS.account == account))
    if row is None:
        return None
    return Credential(
        account=row["account"],
        kind=CredentialKind(row["kind"]),
        secret=load_json(row["secret"]),
        updated_at=from_micros(row["updated_at"]),
    )


def put(tx: Tx, account: str, kind: CredentialKind, secret: Mapping[str, Any]) -> Credential:
    """Store an account's secret in place of any that is there."""
    clean, text = clean_json(dict(secret))
    stored = Credential(account, kind, clean, tx.now())
    values = {
        CREDENTIALS.account: account,
        CREDENTIALS.kind: kind.value,
        CREDENTIALS.secret: text,
        CREDENTIALS.updated_at: to_micros(stored.updated_at),
    }
    tx.execute(CREDENTIALS.replace(values))
    return stored


def put_if_unchanged(tx: Tx, seen: Credential, secret: Mapping[str, Any]) -> Credential | None:
    """Store a refreshed secret over the one `seen`; None, and nothing done, when another came first."""
    if get(tx, seen.account) != seen:
        return None
    return put(tx, seen.account, seen.kind, secret)


def delete(tx: Tx, account: str) -> bool:
    """Remove an account's secret; whether there was one."""
    return tx.execute(CREDENTIALS.delete().where(CREDENTIALS.account == account)) > 0


def rename(tx: Tx, old: str, new: str) -> bool:
    """Let the secret follow its account's name; False, nothing done, when there is none or `new` has one."""
    if get(tx, new) is not None:
        return False
    return tx.execute(CREDENTIALS.update({CREDENTIALS.account: new}).where(CREDENTIALS.account == old)) > 0


def list_names(tx: Tx) -> list[str]:
    """The accounts that have a secret, by name."""
    return [
        row["account"]
        for row in tx.rows(CREDENTIALS.select(CREDENTIALS.account).order_by(CREDENTIALS.account))
    ]
