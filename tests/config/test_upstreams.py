"""What an operator may say of an upstream; every mistake is named by its field, never by its value."""

from pathlib import Path

import pytest

from app.config.faults import ConfigError
from app.config.prices import Prices
from app.config.secret import Secret
from app.config.settings import load_settings, secrets_of
from app.config.upstreams import IMPORT_ACCOUNT, AwsKeys, ModelLimits, Timeouts
from app.entries import producers

PLAIN = '[upstreams.local]\ndialect = "openai-chat"\nbase_url = "http://127.0.0.1:8081/v1/"\n'


@pytest.fixture
def load(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def read(text, environ=None):
        path = Path("upstreams.toml")
        path.write_text(text, "utf-8")
        return load_settings(environ or {}, path)

    return read


def test_the_scripted_one_is_always_there(load):
    assert set(load("").upstreams) == {"scripted"}
    assert load("").upstreams["scripted"].base_url is None
    assert set(load(PLAIN).upstreams) == {"scripted", "local"}


def test_a_whole_table(load):
    text = """
connect_timeout_seconds = 3
retries_max = 5
[upstreams.gateway]
dialect = "openai-chat"
base_url = "https://gateway.example/v1"
api_key_env = "GATEWAY_KEY"
headers = { "X-Org" = "research" }
headers_env = { "X-Token" = "GATEWAY_TOKEN" }
allow_private_network = true
idle_timeout_seconds = 300
metadata = true
exact_counting = true
quirks = { tool_choice = false }
[upstreams.gateway.models."gemma-3"]
context_window = 8192
max_output_tokens = 2048
[upstreams.gateway.models.big]
context_window = 1000000
max_input_tokens = 900000
max_output_tokens = 64000
tokenizer = "o200k_base"
[upstreams.gateway.models.big.prices]
currency = "EUR"
input = 3_000_000
cached = 300_000
cache_write = 3_750_000
output = 15_000_000
[upstreams.gateway.models.known.prices]
currency = "USD"
input = 0
output = 1
"""
    settings = load(text, {"GATEWAY_KEY": "sk-gateway", "GATEWAY_TOKEN": "token-1"})
    gateway = settings.upstreams["gateway"]
    assert gateway.api_key == Secret("sk-gateway")
    assert gateway.headers == {"X-Org": Secret("research"), "X-Token": Secret("token-1")}
    assert gateway.timeouts == Timeouts(connect_seconds=3.0, idle_seconds=300.0)
    assert (gateway.retries_max, gateway.allow_private_network) == (5, True)
    assert gateway.quirks == {"tool_choice": False}
    assert gateway.models == {"gemma-3": ModelLimits(8192, 2048), "big": ModelLimits(1000000, 64000, "o200k_base", 900000)}
    assert gateway.prices_of("big") == Prices("EUR", 3_000_000, 15_000_000, 300_000, 3_750_000)
    assert (gateway.prices_of("known"), gateway.prices_of("gemma-3")) == (Prices("USD", 0, 1), None)
    assert (gateway.metadata, gateway.exact_counting, gateway.preset) == (True, True, None)
    assert {"sk-gateway", "token-1", "research"} <= set(secrets_of(settings))


def test_a_preset_may_say_where_a_server_is_and_what_it_speaks(load):
    named = load('[upstreams.m]\npreset = "mistral"\n').upstreams["m"]
    assert (named.preset, named.dialect, named.base_url) == ("mistral", "", None), "filled in where presets are known"
    told = load('[upstreams.m]\npreset = "vllm"\ndialect = "openai-chat"\nbase_url = "http://h/v1/"\n').upstreams["m"]
    assert (told.preset, told.dialect, told.base_url) == ("vllm", "openai-chat", "http://h/v1")
    assert not told.metadata
    assert not told.exact_counting


@pytest.mark.req("X-86")
def test_nothing_secret_is_printed(load):
    settings = load(PLAIN + 'api_key_env = "KEY"\nheaders = { "X-Key" = "hunter22" }\n', {"KEY": "hunter23"})
    assert "hunter" not in repr(settings.upstreams)


def test_a_key_that_is_not_set_yet_is_no_key(load):
    assert load(PLAIN + 'api_key_env = "UNSET"\n').upstreams["local"].api_key is None
    assert load(PLAIN).upstreams["local"].base_url == "http://127.0.0.1:8081/v1"
    assert load(PLAIN).upstreams["local"].allow_private_network is False


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('base_ur = "x"', "upstreams.local.base_ur: unknown; did you mean base_url"),
        ("allow_private_network = 3", "upstreams.local.allow_private_network: true or false"),
        ("retries_max = 11", "upstreams.local.retries_max: a whole number from 0 to 10"),
        ("idle_timeout_seconds = 0", "upstreams.local.idle_timeout_seconds: a number"),
        ("headers = 3", "upstreams.local.headers: a table"),
        ('headers = { "X Bad" = "x" }', "upstreams.local.headers: a header's name"),
        ('headers = { "X-A" = "1", "x-a" = "2" }', "given twice"),
        ('headers_env = { "X-A" = "NOT_SET" }', "upstreams.local.headers_env.X-A: the variable it names is not set"),
        ('[upstreams.local.models."m".prices]\ninput = 1', 'upstreams.local.models."m".prices.currency: missing'),
        ('[upstreams.local.prices]\ncurrency = "usd"', "upstreams.local.prices.currency: three capital letters such as USD"),
        ('[upstreams.local.prices]\ncurrency = "USD"\ninput = 1.5', "upstreams.local.prices.input: a whole number from 0 to 1000000000000"),
        ("[upstreams.local.prices]\nreasoning = 1", "upstreams.local.prices.reasoning: unknown"),
        ("prices = 3", "upstreams.local.prices: a table"),
        ('[upstreams.local.models."m"]\ncontext_window = 1', 'upstreams.local.models."m".max_output_tokens: missing'),
        ('[upstreams.local.models."m"]\ncontext_windw = 1', 'upstreams.local.models."m".context_windw: unknown; did you mean context_window'),
        ('[upstreams.local.models."m"]\ncontext_window = 9\nmax_output_tokens = 10', "max_output_tokens: a whole number from 1 to 9"),
        ('[upstreams.local.models."m"]\ncontext_window = 9\nmax_output_tokens = 9\nmax_input_tokens = 10', "max_input_tokens: a whole number"),
        ('metadata = "maybe"', "upstreams.local.metadata: true or false"),
        ("preset = 3", "upstreams.local.preset: a text"),
        ('[upstreams.scripted]\ndialect = "openai-chat"', "upstreams.scripted: this upstream is built in"),
        ('[upstreams."Bad Name"]\ndialect = "openai-chat"', "a name is lower-case"),
        ('[upstreams.b]\nbase_url = "http://h/v1"', "upstreams.b.dialect: missing"),
        ('account = "No Good"', "upstreams.local.account: lower-case letters"),
        ('aws_region = "us-east-1"', "upstreams.local.aws_access_key_id_env: missing"),
        ('aws_access_key_id_env = "ID"\naws_secret_access_key_env = "KEY"', "upstreams.local.aws_region: missing"),
        ('aws_region = "us-east-1"\naws_access_key_id_env = "ID"', "upstreams.local.aws_secret_access_key_env: missing"),
        ('aws_region = "East 1"\naws_access_key_id_env = "ID"\naws_secret_access_key_env = "KEY"', "upstreams.local.aws_region: a region such as"),
        ('aws_secret_access_key = "x"', "upstreams.local.aws_secret_access_key: unknown; did you mean aws_secret_access_key_env"),
        ('account = "import"', "upstreams.local.account: `import` stands for the unknown accounts"),
        ('[upstreams.b]\ndialect = "openai-chat"', "upstreams.b.base_url: missing"),
    ],
)
def test_a_mistake_is_named(load, line, message):
    with pytest.raises(ConfigError, match=message):
        load(PLAIN + line + "\n")


@pytest.mark.parametrize(
    "url", ["ftp://h/v1", "h/v1", "https://", "https://u:hunter22@h/v1", "https://h/v1?key=hunter22", "https://h/v1#x", "https://h/v 1"]
)
def test_a_base_url_is_plain(load, url):
    with pytest.raises(ConfigError, match=r"upstreams\.b\.base_url:") as caught:
        load(f'[upstreams.b]\ndialect = "openai-chat"\nbase_url = "{url}"\n')
    assert "hunter" not in str(caught.value)


@pytest.mark.req("X-86")
@pytest.mark.parametrize("value", ["hunter22\r\nX-Evil: 1", "hunter22\n", "hunter\0", "hünter", " hunter", "hunter ", "hunter\x7f"])
def test_a_key_cannot_write_headers_and_is_not_repeated(load, value):
    with pytest.raises(ConfigError, match=r"upstreams\.local\.api_key_env: visible ASCII") as caught:
        load(PLAIN + 'api_key_env = "KEY"\n', {"KEY": value})
    assert "nter" not in str(caught.value)
    with pytest.raises(ConfigError, match=r"upstreams\.local\.headers_env\.X-Key: visible ASCII") as caught:
        load(PLAIN + 'headers_env = { "X-Key" = "KEY" }\n', {"KEY": value})
    assert "nter" not in str(caught.value)


AWS = PLAIN + 'aws_region = "eu-west-1"\naws_access_key_id_env = "ID"\naws_secret_access_key_env = "KEY"\naws_session_token_env = "TOKEN"\n'


@pytest.mark.req("X-86")
def test_keys_of_aws_come_from_the_variables_that_are_named(load):
    settings = load(AWS, {"ID": "AKIAMADEUP", "KEY": "hunter/22+", "TOKEN": "hunter23==", "AWS_REGION": "other", "AWS_SESSION_TOKEN": "other"})
    local = settings.upstreams["local"]
    assert local.aws == AwsKeys("eu-west-1", Secret("AKIAMADEUP"), Secret("hunter/22+"), Secret("hunter23=="))
    assert local.has_key
    assert {"AKIAMADEUP", "hunter/22+", "hunter23=="} <= set(secrets_of(settings))
    assert "hunter" not in repr(settings.upstreams)


def test_keys_of_aws_that_are_not_set_yet_are_no_keys_and_a_token_may_be_left_out(load):
    environ = {"AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "y"}
    for given in ({}, {"ID": "a"}, {"KEY": "b"}, {"ID": "a", "KEY": ""}):
        assert load(AWS, environ | given).upstreams["local"].aws is None
        assert not load(AWS, environ | given).upstreams["local"].has_key
    assert load(AWS, {"ID": "a", "KEY": "b"}).upstreams["local"].aws == AwsKeys("eu-west-1", Secret("a"), Secret("b"))
    assert load(PLAIN, environ).upstreams["local"].aws is None


@pytest.mark.req("X-86")
@pytest.mark.parametrize(
    ("variable", "field"), [("ID", "aws_access_key_id_env"), ("KEY", "aws_secret_access_key_env"), ("TOKEN", "aws_session_token_env")]
)
def test_a_key_of_aws_cannot_write_headers_and_is_not_repeated(load, variable, field):
    with pytest.raises(ConfigError, match=rf"upstreams\.local\.{field}: visible ASCII") as caught:
        load(AWS, {"ID": "a", "KEY": "b", "TOKEN": "c", variable: "hunter22\r\nX-Evil: 1"})
    assert "hunter" not in str(caught.value)


def test_the_account_of_imports_is_nobodys(load):
    assert IMPORT_ACCOUNT == producers.IMPORT_ACCOUNT
    with pytest.raises(ConfigError, match=r"upstreams\.import\.account"):
        load(PLAIN.replace("local", "import"))
    assert load(PLAIN.replace("local", "import") + 'account = "mine"').upstreams["import"].account == "mine"
