"""Who may ask: loopback alone without keys, a bearer key with scopes otherwise.

A rejected token is never repeated, logged or told apart from an unknown one; ids of other tenants are simply not found,
by the services below.
"""

from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.requests import Request

from app.api.problems import Problem
from app.api.services import Services
from app.config.settings import Settings
from app.entries.errors import Unavailable
from app.services.scope import LOCAL, LOCAL_TENANT, Scope

_PUBLIC = Scope(LOCAL_TENANT, frozenset())


class Access:
    """The admission rule of one server."""

    def __init__(self, settings: Settings) -> None:
        self._local = settings.auth == "local"

    async def admit(self, request: Request, scope: str | None) -> Scope:
        """The tenant and scopes of a request. Raises `unauthorized` or `scope-missing`; None as scope is a public route."""
        services: Services | None = request.app.state.services
        if scope is None:
            return _PUBLIC
        if services is None:
            raise Unavailable("The service is starting; try again.")
        if self._local:
            return LOCAL
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        found = await services.keys.authenticate(token.strip()) if scheme.lower() == "bearer" and token.strip() else None
        if found is None:
            raise Problem("unauthorized", headers={"www-authenticate": 'Bearer realm="context-ledger"'})
        if scope not in found.scopes:
            raise Problem("scope-missing", f"This route needs a key with the scope `{scope}`.")
        return found


def is_loopback_name(host: str) -> bool:
    """Whether a `Host` or the host of an `Origin` names this machine: `localhost` or a loopback address, with any port."""
    try:
        name = urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return False
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return False
