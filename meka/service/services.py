"""The bundle of services that handlers are given."""

from dataclasses import dataclass

from meka.service.accounts import Accounts
from meka.service.archives import Archives
from meka.service.background import Background
from meka.service.compactions import Compactions
from meka.service.discovery import Discovery
from meka.service.held_streams import HeldStreams
from meka.service.history import Histories
from meka.service.idempotency import IdempotencyKeys
from meka.service.inbox import Inboxes
from meka.service.installation import Installation
from meka.service.logins import Logins
from meka.service.profiles import Profiles
from meka.service.projects import Projects
from meka.service.prompts import Prompts
from meka.service.search import Search
from meka.service.sessions import Sessions
from meka.service.streams import Streams
from meka.service.turns import Turns


@dataclass(frozen=True, slots=True)
class Services:
    """One of each. `document` is the contract as it is published, None where `[serve].docs` is off."""

    sessions: Sessions
    histories: Histories
    archives: Archives
    search: Search
    turns: Turns
    discovery: Discovery
    idempotency: IdempotencyKeys
    document: bytes | None
    inboxes: Inboxes
    streams: Streams
    prompts: Prompts
    background: Background
    compactions: Compactions
    installation: Installation
    accounts: Accounts
    logins: Logins
    profiles: Profiles
    projects: Projects
    held_streams: HeldStreams
