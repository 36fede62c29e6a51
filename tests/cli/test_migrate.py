"""`migrate` with the URLs of a deployment: one that may create roles, and the app role's own with its password."""

import base64
from urllib.parse import quote, urlsplit

import pytest

from app.cli.console import DONE, UNREACHABLE
from app.storage.migrate import scram_verifier
from tests.cli.commands import command
from tests.database.copies import with_database
from tests.storage.sessions_made import fetch_as_admin

PASSWORD = "a b/ü:@%"
STORED = "SELECT rolpassword FROM pg_authid WHERE rolname = 'ledger_app'"


def logging_in(url: str, name: str, password: str) -> str:
    """The same URL with a user and a password."""
    parts = urlsplit(url)
    return parts._replace(netloc=f"{name}:{quote(password, safe='')}@{parts.netloc.rpartition('@')[2]}").geturl()


@pytest.mark.req("X-86")
async def test_the_app_role_is_given_the_password_that_the_service_logs_in_with(tmp_path, database_url, migrate_url):
    given_by = {logging_in(database_url, "ledger_app", PASSWORD): True, database_url: False, logging_in(database_url, "x", "y"): False}
    try:
        for url, given in given_by.items():
            await fetch_as_admin(migrate_url, "ALTER ROLE ledger_app PASSWORD NULL")
            ended = command(tmp_path, "migrate", database_url=url, migrate_database_url=migrate_url)
            assert ended.returncode == DONE, ended.stderr
            assert quote(PASSWORD, safe="") not in ended.stderr + ended.stdout
            stored = (await fetch_as_admin(migrate_url, STORED))[0][0]
            assert (stored is not None) == given
            if given:
                salt = base64.b64decode(stored.split(":")[1].split("$")[0])
                assert stored == scram_verifier(PASSWORD, salt)
    finally:
        await fetch_as_admin(migrate_url, "ALTER ROLE ledger_app PASSWORD NULL")


def test_a_login_that_is_refused_is_said_in_a_sentence(tmp_path, database_url, migrate_url):
    nobody, nowhere = logging_in(migrate_url, "nobody_of_that_name", "sesame"), with_database(migrate_url, "nowhere")
    for words, settings in (
        (("migrate",), {"migrate_database_url": nobody}),
        (("migrate",), {"migrate_database_url": nowhere}),
        (("serve", "--port", "0"), {"database_url": nobody}),
        (("serve", "--port", "0"), {"database_url": with_database(database_url, "nowhere")}),
    ):
        ended = command(tmp_path, *words, **settings)
        assert (ended.returncode, "Traceback" in ended.stderr, "sesame" in ended.stderr) == (UNREACHABLE, False, False)
        assert "refuses the service's login" in ended.stderr
