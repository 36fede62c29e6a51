"""Where settings come from, what wins, and that each wrong one is refused by name and never by value."""

import dataclasses
from pathlib import Path

import pytest

from app.config.faults import ConfigError
from app.config.secret import Secret
from app.config.settings import PREFIX, SETTINGS, Settings, load_settings, secrets_of


@pytest.fixture(autouse=True)
def empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def write(text: str, name: str = "settings.toml") -> Path:
    path = Path(name)
    path.write_text(text, "utf-8")
    return path


def test_nothing_given_means_the_defaults():
    assert load_settings({}) == Settings()
    assert (Settings().host, Settings().port, Settings().lease_seconds, Settings().auth) == ("127.0.0.1", 8080, 30.0, "local")


def test_every_setting_has_a_row_a_variable_and_a_default_that_its_own_parser_takes():
    names = [field.name for field in dataclasses.fields(Settings) if field.name not in ("upstreams", "tool_servers")]
    assert [row.name for row in SETTINGS] == names
    for row in SETTINGS:
        assert row.env == PREFIX + row.name.upper()
        assert row.default is None or row.parse(row.default) == row.default, row.name
        assert row.meaning.endswith("."), row.name


def test_the_file_is_read_and_variables_win():
    path = write('port = 9000\npool_size = 7\nlog_level = "debug"\ncors_origins = ["https://a.example"]\n')
    settings = load_settings({"CONTEXT_LEDGER_PORT": "9001", "CONTEXT_LEDGER_CORS_ORIGINS": "https://b.example, https://c.example/"}, path)
    assert (settings.port, settings.pool_size, settings.log_level) == (9001, 7, "debug")
    assert settings.cors_origins == ("https://b.example", "https://c.example")


def test_the_file_is_found_by_argument_then_variable_then_name():
    write("port = 1\n", "context-ledger.toml")
    named, given = write("port = 2\n", "named.toml"), write("port = 3\n", "given.toml")
    assert load_settings({}).port == 1
    assert load_settings({"CONTEXT_LEDGER_CONFIG": str(named)}).port == 2
    assert load_settings({"CONTEXT_LEDGER_CONFIG": str(named)}, given).port == 3


def test_a_file_that_was_named_has_to_be_there():
    with pytest.raises(ConfigError, match="there is no such file"):
        load_settings({"CONTEXT_LEDGER_CONFIG": "nowhere.toml"})


def test_an_empty_variable_is_unset():
    assert load_settings({"CONTEXT_LEDGER_DATABASE_URL": "", "CONTEXT_LEDGER_PORT": ""}) == Settings()


@pytest.mark.req("X-86")
def test_urls_and_keys_are_secret():
    settings = load_settings({"CONTEXT_LEDGER_DATABASE_URL": "postgresql://u:hunter22@h/d", "CONTEXT_LEDGER_BOOTSTRAP_KEY": "clk_first"})
    assert settings.database_url == Secret("postgresql://u:hunter22@h/d")
    assert "hunter22" not in repr(settings)
    assert "clk_first" not in repr(settings)
    assert set(secrets_of(settings)) == {"postgresql://u:hunter22@h/d", "clk_first"}


@pytest.mark.parametrize(
    ("environ", "text", "message"),
    [
        ({"CONTEXT_LEDGER_LEASE_SECOND": "1"}, "", "CONTEXT_LEDGER_LEASE_SECOND: unknown variable; did you mean CONTEXT_LEDGER_LEASE_SECONDS?"),
        ({"CONTEXT_LEDGER_SERVICE_HOST": "10.0.0.1"}, "", "enableServiceLinks"),
        ({}, "pool_sise = 3", "pool_sise: unknown setting; did you mean pool_size?"),
        ({"CONTEXT_LEDGER_PORT": "http"}, "", "CONTEXT_LEDGER_PORT: a whole number from 0 to 65535"),
        ({"CONTEXT_LEDGER_PORT": "70000"}, "", "CONTEXT_LEDGER_PORT: a whole number from 0 to 65535"),
        ({"CONTEXT_LEDGER_PORT": "9" * 5000}, "", "CONTEXT_LEDGER_PORT: a whole number from 0 to 65535"),
        ({"CONTEXT_LEDGER_LEASE_SECONDS": "nan"}, "", "CONTEXT_LEDGER_LEASE_SECONDS: a number"),
        ({}, "lease_seconds = inf", "lease_seconds: a number"),
        ({}, "port = true", "port: a whole number"),
        ({}, 'metrics_enabled = "perhaps"', "metrics_enabled: true or false"),
        ({}, 'auth = "none"', "auth: one of local, keys"),
        ({}, 'cors_origins = ["*"]', "cors_origins: origins such as"),
        ({}, 'host = "0.0.0.0"', "host: with auth = local only a loopback address"),
        ({}, "upstreams = 3", r"upstreams: a table"),
        ({}, "port = ]", r"settings.toml: not TOML \(at line 1"),
    ],
)
def test_what_is_wrong_is_named(environ, text, message):
    with pytest.raises(ConfigError, match=message):
        load_settings(environ, write(text))


@pytest.mark.req("X-86")
@pytest.mark.parametrize("name", ["DATABASE_URL", "MIGRATE_DATABASE_URL", "BOOTSTRAP_KEY"])
def test_a_bad_secret_is_not_repeated(name):
    with pytest.raises(ConfigError) as caught:
        load_settings({PREFIX + name: "hunter22\nhunter23"})
    assert PREFIX + name in str(caught.value)
    assert "hunter" not in str(caught.value)
    assert caught.value.__cause__ is None


@pytest.mark.req("X-86")
@pytest.mark.parametrize(
    "url",
    [
        "postgresql://app:hunter22/3@h/x", "postgresql://app:hunter22@h:port/x", "postgresql://app:hunter22@[::1/x", "postgres//app:hunter22@h/x",
        "mysql://app:hunter22@h/x", "postgresql://app:hun@ter22@h/x:y@z", "app:hunter22@h", "postgresql://app:hunter22@h:1:2/x",
    ],
)  # fmt: skip
@pytest.mark.parametrize("name", ["DATABASE_URL", "MIGRATE_DATABASE_URL"])
def test_a_database_url_that_no_driver_can_read_is_refused_without_repeating_it(name, url):
    with pytest.raises(ConfigError, match="postgresql://user:password@host:5432/database") as caught:
        load_settings({PREFIX + name: url})
    assert "hunter" not in str(caught.value)
    assert "ter22" not in str(caught.value)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize(
    ("url", "kept"),
    [
        ("postgresql://u:p@h/d", None),
        ("postgres://u@h:5432/d", "postgresql://u@h:5432/d"),
        ("postgresql+asyncpg://u:p@h/d", "postgresql://u:p@h/d"),
        ("postgresql://u:p%40%2Fx@[::1]:5432/d?sslmode=require", None),
        ("postgresql://u:p@h1:1,h2:2/d", None),
        ("postgresql:///d?host=/run/pg", None),
        ("postgresql://u:p@/d?host=/run/pg&port=5433", None),
        ("postgresql://u:p@h", None),
        ("postgresql://u:p@h?application_name=x", None),
    ],
)
def test_every_form_of_a_database_url_is_taken(url, kept):
    assert load_settings({"CONTEXT_LEDGER_DATABASE_URL": url}).database_url == Secret(kept or url)


@pytest.mark.req("X-86")
def test_a_broken_file_is_not_quoted():
    with pytest.raises(ConfigError) as caught:
        load_settings({}, write('bootstrap_key = "hunter22'))
    assert "hunter" not in str(caught.value)


@pytest.mark.req("X-88")
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "[::1]", "127.8.9.1"])
def test_loopback_addresses_need_no_key(host):
    assert load_settings({"CONTEXT_LEDGER_HOST": host}).host == host


@pytest.mark.req("X-88")
@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.4", "ledger.example"])
def test_another_address_needs_keys(host):
    with pytest.raises(ConfigError, match="auth = keys"):
        load_settings({"CONTEXT_LEDGER_HOST": host})
    assert load_settings({"CONTEXT_LEDGER_HOST": host, "CONTEXT_LEDGER_AUTH": "keys"}).host == host


def test_variables_of_tests_and_benchmarks_are_left_alone():
    assert load_settings({"CONTEXT_LEDGER_SHARED": "x", "CONTEXT_LEDGER_TEST_DATABASE_URL": "y", "OTHER": "z"}) == Settings()
