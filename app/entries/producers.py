"""Who made a provider's opaque block, and so who may get it back (X-23)."""

from typing import NamedTuple

_PREFIX = "#sha256:"


class Producer(NamedTuple):
    """A transport, an account of the operator's and a model. `prefix` is the digest of everything that came before the answer, for
    models that bind a block to it (wire-format notes 4.2); else empty.

    Its text, `dialect/account/model`, with `#sha256:<hex>` behind it for a bound one, is what stands in a part. Neither dialects nor
    accounts hold a slash.
    """

    dialect: str
    account: str
    model: str
    prefix: str = ""

    def __str__(self) -> str:
        return f"{self.dialect}/{self.account}/{self.model}" + (f"#{self.prefix}" if self.prefix else "")


def read_producer(text: str) -> Producer | None:
    """The producer that a part names; None for a text of another form, as imports leave it, which names nobody who may get a block back."""
    dialect, _, rest = text.partition("/")
    account, slash, model = rest.partition("/")
    if not (dialect and account and slash and model):
        return None
    model, mark, prefix = model.rpartition(_PREFIX) if _PREFIX in model else (model, "", "")
    return Producer(dialect, account, model, f"sha256:{prefix}" if mark else "")
