"""Who made a provider's opaque block, and so who may get it back (X-23)."""

from typing import NamedTuple

_PREFIX = "#sha256:"
BROKEN = "sha256:" + "0" * 64
"""The prefix of a block that was given with something that is not in the ledger: its answer can never go back as it was."""
IMPORT_ACCOUNT = "import"
"""The account in the producers of imported blocks: a file does not tell whose models made them, and no upstream may call its account so."""


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
    """The producer that a part names; None for a text of another form, which names nobody who may get a block back."""
    dialect, _, rest = text.partition("/")
    account, slash, model = rest.partition("/")
    if not (dialect and account and slash and model):
        return None
    model, mark, prefix = model.rpartition(_PREFIX) if _PREFIX in model else (model, "", "")
    return Producer(dialect, account, model, f"sha256:{prefix}" if mark else "")


def imported_producer(dialect: str, model: str | None) -> str:
    """The producer of a block that stands in a file: `dialect/import/model`, which is nobody's who gets a block back.

    The model tells it from a block of another one; `unknown` where the file does not say. A slash in a dialect becomes a dash.
    """
    return str(Producer(dialect.replace("/", "-"), IMPORT_ACCOUNT, model or "unknown"))
