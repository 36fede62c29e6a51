"""What an operator may say of a tool server; every mistake is named by its field, never by its value."""

import base64
from pathlib import Path

import pytest

from app.config.faults import ConfigError
from app.config.secret import Secret
from app.config.settings import load_settings, secrets_of

KEY = "whsec_" + base64.b64encode(b"k" * 32).decode()
PLAIN = '[tool_servers.desk]\nkind = "http"\nurl = "https://desk.example/tools"\n'


@pytest.fixture
def load(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def read(text, environ=None):
        path = Path("servers.toml")
        path.write_text(text, "utf-8")
        return load_settings(environ or {}, path)

    return read


@pytest.mark.req("T-23")
def test_a_whole_table(load):
    text = """
[tool_servers.desk]
kind = "http"
url = "http://127.0.0.1:9000/tools/"
headers = { "X-Org" = "research" }
headers_env = { "Authorization" = "DESK_TOKEN" }
signing_key_env = "DESK_KEY"
timeout_seconds = 5
result_bytes_max = 2048
allow_private_network = true
[tool_servers.files]
kind = "mcp"
url = "https://files.example/mcp"
"""
    settings = load(text, {"DESK_TOKEN": "Bearer token-1", "DESK_KEY": KEY})
    desk, files = settings.tool_servers["desk"], settings.tool_servers["files"]
    assert (desk.kind, desk.url, desk.timeout_seconds, desk.result_bytes_max) == ("http", "http://127.0.0.1:9000/tools/", 5.0, 2048)
    assert desk.headers == {"X-Org": Secret("research"), "Authorization": Secret("Bearer token-1")}
    assert desk.signing_key == Secret(KEY)
    assert desk.allow_private_network
    assert (files.kind, files.timeout_seconds, files.result_bytes_max, files.allow_private_network) == ("mcp", 60.0, 2**20, False)
    assert {KEY, "Bearer token-1", "research"} <= set(secrets_of(settings))
    assert "token-1" not in repr(settings)
    assert KEY not in repr(settings)


def test_none_is_configured_by_default(load):
    assert load("").tool_servers == {}


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("tool_servers = 3", "tool_servers: a table"),
        ("[tool_servers]\ndesk = 1", "tool_servers.desk: a table"),
        ('[tool_servers.Desk]\nkind = "http"\nurl = "https://a.example"', "tool_servers.Desk: a name"),
        ('[tool_servers.desk]\nurl = "https://a.example"', "tool_servers.desk.kind: missing"),
        ('[tool_servers.desk]\nkind = "stdio"\nurl = "https://a.example"', "tool_servers.desk.kind: one of http, mcp"),
        ('[tool_servers.desk]\nkind = "http"', "tool_servers.desk.url: missing"),
        ('[tool_servers.desk]\nkind = "http"\nurl = "ftp://hidden.example"', "tool_servers.desk.url: an http"),
        ('[tool_servers.desk]\nkind = "http"\nurl = "https://user:hidden@a.example"', "tool_servers.desk.url: no user"),
        ('[tool_servers.desk]\nkind = "http"\nurl = "https://a.example?key=hidden"', "tool_servers.desk.url: visible"),
        (PLAIN + "timeout_second = 3", "tool_servers.desk.timeout_second: unknown; did you mean timeout_seconds"),
        (PLAIN + "timeout_seconds = 0", "tool_servers.desk.timeout_seconds: a number"),
        (PLAIN + "result_bytes_max = 1", "tool_servers.desk.result_bytes_max: a whole number"),
        (PLAIN + 'allow_private_network = "hidden"', "tool_servers.desk.allow_private_network: true or false"),
        (PLAIN + 'headers = { "Webhook-Id" = "hidden" }', "tool_servers.desk.headers: webhook-id is set"),
        (PLAIN + 'headers = { "Mcp-Session-Id" = "hidden" }', "tool_servers.desk.headers: mcp-session-id is set"),
        (PLAIN + 'headers_env = { "X-Key" = "NONE" }', "tool_servers.desk.headers_env.X-Key: the variable"),
        (PLAIN + 'signing_key_env = "NONE"', "tool_servers.desk.signing_key_env: the variable"),
        (PLAIN + 'signing_key_env = "SHORT"', "tool_servers.desk.signing_key_env: `whsec_`"),
        (PLAIN + 'signing_key_env = "BARE"', "tool_servers.desk.signing_key_env: `whsec_`"),
        ('[tool_servers.m]\nkind = "mcp"\nurl = "https://a.example"\nsigning_key_env = "KEY"', "tool_servers.m.signing_key_env: only"),
    ],
)
def test_mistakes(load, text, where):
    hidden = {"SHORT": "whsec_aGlkZGVu", "BARE": base64.b64encode(b"hidden" * 5).decode(), "KEY": KEY}
    with pytest.raises(ConfigError) as caught:
        load(text, hidden)
    assert str(caught.value).startswith(where)
    assert "hidden" not in str(caught.value)
    assert all(value not in str(caught.value) for value in hidden.values())
