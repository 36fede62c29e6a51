"""The few services that a command needs on an open store, without an application around them."""

from app.config.settings import Settings
from app.models.tokens import STAND_IN
from app.outbound.tool_servers.servers import ToolServers
from app.services.agents import Agents
from app.services.targets import Targets
from app.services.transfers import Imports
from app.services.write import Writer
from app.storage.store import Store


def importing(store: Store, settings: Settings, servers: ToolServers) -> Imports:
    """Import onto that store; `servers` are asked about the tools of agents that an export brings without their descriptions."""
    targets = Targets(settings.upstreams)
    return Imports(store, Writer(store.ledger, targets.counter(STAND_IN).count), Agents(store.agents, targets, servers))
