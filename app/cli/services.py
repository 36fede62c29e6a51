"""The few services that a command needs on an open store, without an application around them."""

from app.config.settings import Settings
from app.models.tokens import STAND_IN
from app.services.agents import Agents
from app.services.targets import Targets
from app.services.transfers import Imports
from app.services.write import Writer
from app.storage.store import Store


def importing(store: Store, settings: Settings) -> Imports:
    """Import onto that store."""
    targets = Targets(settings.upstreams)
    return Imports(store, Writer(store.ledger, targets.counter(STAND_IN).count), Agents(store.agents, targets))
