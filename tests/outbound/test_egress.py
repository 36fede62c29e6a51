"""The guard: what may be connected to, and that nothing is connected to otherwise."""

import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID
from hypothesis import given
from hypothesis import strategies as st

from app.outbound.client import Clients
from app.outbound.egress import EgressRefused, GuardedResolver, check_url, is_public
from tests.outbound.kit import Hosts, failures, hello, outgoing, provider, run, text, upstream


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "127.8.8.8", "0.0.0.0", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "169.254.0.1", "100.64.0.1",
        "100.100.100.200", "168.63.129.16", "192.0.0.192", "192.0.2.1", "198.18.0.1", "224.0.0.1", "239.255.255.250", "240.0.0.1",
        "255.255.255.255", "::", "::1", "fe80::1", "fe80::1%eth0", "fc00::1", "fd00:ec2::254", "fec0::1", "ff02::1", "2001:db8::1",
        "::ffff:127.0.0.1", "::ffff:8.8.8.8", "::ffff:10.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "2002:7f00:1::1",
        "2002:a00:1::", "2001:0:4136:e378:8000:63bf:3fff:fdd2", "localhost", "", "127.1", "2130706433", "0x7f000001",
    ],
)  # fmt: skip
def test_what_is_not_public_is_refused(address):
    assert not is_public(address)


@pytest.mark.parametrize("address", ["8.8.8.8", "1.1.1.1", "104.18.7.192", "2606:4700::6812:7c0", "64:ff9b::808:808", "2002:808:808::1"])
def test_what_is_public_is_not(address):
    assert is_public(address)


@given(st.ip_addresses(v=4, network="10.0.0.0/8") | st.ip_addresses(v=4, network="169.254.0.0/16") | st.ip_addresses(v=6, network="fc00::/7"))
def test_no_address_of_a_private_network_passes(address):
    assert not is_public(str(address))
    assert not is_public(f"::ffff:{address}")


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd", "ftp://example.com/v1", "gopher://example.com", "https://", "https:///v1", "https://user:pass@example.com/v1",
        "https://user@example.com/v1", "example.com/v1", "", "http://[::1", "http://127.0.0.1/v1", "http://[::1]:80/v1",
        "http://[::ffff:8.8.8.8]/v1", "http://169.254.169.254/latest",
    ],
)  # fmt: skip
def test_urls_that_are_refused(url):
    with pytest.raises(EgressRefused) as caught:
        check_url(url, allow_private_network=False)
    assert not caught.value.retryable
    assert "pass" not in str(caught.value)


def test_urls_that_pass():
    check_url("https://api.example.com/v1", allow_private_network=False)
    check_url("https://8.8.8.8/v1", allow_private_network=False)
    check_url("http://127.0.0.1:8081/v1", allow_private_network=True)
    with pytest.raises(EgressRefused):
        check_url("file:///v1", allow_private_network=True)


async def test_an_answer_with_one_private_address_is_refused_whole():
    hosts = Hosts(mixed_test=["8.8.8.8", "127.0.0.1"], fine_test=["8.8.8.8", "1.1.1.1"], none_test=[], many_test=["8.8.8.8"] * 65)
    guard = GuardedResolver(hosts)
    assert [found["host"] for found in await guard.resolve("fine.test", 443)] == ["8.8.8.8", "1.1.1.1"]
    for host in ("mixed.test", "none.test", "many.test"):
        with pytest.raises(EgressRefused):
            await guard.resolve(host, 443)


@pytest.mark.parametrize("host", ["127.0.0.1", "mixed.test", "localhost.test"])
async def test_a_private_address_is_never_connected_to(host):
    clients = Clients(resolver=Hosts(mixed_test=["8.8.8.8", "127.0.0.1"], localhost_test=["127.0.0.1"]))
    async with provider(hello) as seen:
        items, dispatch = await run(outgoing(upstream(seen.url.replace("127.0.0.1", host), allow_private_network=False)), clients)
    await clients.aclose()
    assert seen.bodies == []
    (failed,) = failures(items)
    assert isinstance(failed.fault, EgressRefused)
    assert failed.retry_in_ms is None
    assert "allow_private_network" in failed.fault.detail
    assert host not in failed.fault.detail
    assert dispatch.attempts[0].status == "failed"


async def test_the_machines_own_name_is_refused_with_the_real_resolver():
    clients = Clients()
    async with provider(hello) as seen:
        items, _ = await run(outgoing(upstream(seen.url.replace("127.0.0.1", "localhost"), allow_private_network=False)), clients)
    await clients.aclose()
    assert seen.bodies == []
    assert isinstance(failures(items)[0].fault, EgressRefused)


async def test_a_host_is_looked_up_once_a_connection_and_keeps_its_name():
    hosts = Hosts(models_test=["127.0.0.1"])
    clients = Clients(resolver=hosts)
    async with provider(hello) as seen:
        items, _ = await run(outgoing(upstream(seen.url.replace("127.0.0.1", "models.test"))), clients)
    await clients.aclose()
    assert text(items) == "Hello"
    assert hosts.asked == 1
    assert seen.headers[0]["host"].startswith("models.test:")


async def test_one_pool_does_not_serve_the_other():
    hosts = Hosts(models_test=["127.0.0.1"])
    clients = Clients(resolver=hosts)
    async with provider(hello) as seen:
        url = seen.url.replace("127.0.0.1", "models.test")
        items, _ = await run(outgoing(upstream(url)), clients)
        assert text(items) == "Hello"
        items, _ = await run(outgoing(upstream(url, allow_private_network=False)), clients)
    await clients.aclose()
    assert len(seen.bodies) == 1
    assert isinstance(failures(items)[0].fault, EgressRefused)


async def test_an_unknown_host_may_be_tried_again():
    clients = Clients(resolver=Hosts())
    items, _ = await run(outgoing(upstream("https://nowhere.test/v1", retries_max=0, allow_private_network=False)), clients)
    await clients.aclose()
    assert failures(items)[0].fault.retryable
    assert "resolved" in failures(items)[0].fault.detail


def certified(name: str, folder: Path) -> ssl.SSLContext:
    """A server's side of TLS with a certificate for that name, which nobody has signed but itself."""
    key, names = ec.generate_private_key(ec.SECP256R1()), x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    made = x509.CertificateBuilder().subject_name(names).issuer_name(names).public_key(key.public_key()).serial_number(x509.random_serial_number())
    signed = made.not_valid_before(now - timedelta(hours=1)).not_valid_after(now + timedelta(days=1)).sign(key, hashes.SHA256())
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()) + signed.public_bytes(Encoding.PEM)
    (folder / "server.pem").write_bytes(pem)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(folder / "server.pem")
    return context


async def test_tls_is_asked_for_the_name_and_an_unknown_certificate_is_refused(tmp_path):
    context = certified("models.test", tmp_path)
    names = []
    context.sni_callback = lambda sock, name, _: names.append(name)
    clients = Clients(resolver=Hosts(models_test=["127.0.0.1"]))
    async with provider(hello, context) as seen:
        url = seen.url.replace("http://127.0.0.1", "https://models.test")
        items, _ = await run(outgoing(upstream(url)), clients)
    await clients.aclose()
    assert names == ["models.test"]
    assert seen.bodies == []
    (failed,) = failures(items)
    assert (failed.retry_in_ms, "certificate" in failed.fault.detail) == (None, True)
