"""The address guard: which addresses may be reached."""

from __future__ import annotations

import pytest

from lycosa.errors import UsageError
from lycosa.fetch.address_guard import AddressGuard, curl_option

PRIVATE = [
    "127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "224.0.0.1",
    "255.255.255.255", "240.0.0.1", "::1", "::", "fe80::1", "fc00::1", "ff02::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1",
    "64:ff9b::7f00:1", "2002:7f00:1::", "::7f00:1", "192.0.2.1", "198.18.0.1",
    "fec0::1", "3fff::1", "2001:db8::1", "64:ff9b:1::7f00:1", "::ffff:0:7f00:1", "4000::1",
]  # fmt: skip


@pytest.mark.parametrize("address", PRIVATE)
def test_private_and_reserved_addresses_are_refused(address: str) -> None:
    """Loopback, private, link-local, shared, multicast, documentation, and IPv4 dressed as IPv6."""
    assert AddressGuard().refuse_address("evil.test", address, 80)


@pytest.mark.parametrize("address", ["93.184.216.34", "2606:2800:220:1::", "64:ff9b::5db8:d822"])
def test_public_addresses_are_admitted(address: str) -> None:
    """The open internet is open, also through NAT64."""
    assert AddressGuard().refuse_address("a.test", address, 80) == ""


def test_the_user_opens_networks_addresses_and_seeds() -> None:
    """allow_private opens a network, connect_to one address and port, a seed its own address."""
    guard = AddressGuard(
        allow_private=["10.0.0.0/8"], connect_to=["*=127.0.0.1:8080"], seed_hosts=["192.168.0.5", "intra.test"]
    )
    assert guard.refuse_address("x.test", "10.9.9.9", 80) == ""
    assert guard.refuse_address("x.test", "127.0.0.1", 8080) == ""
    assert guard.refuse_address("x.test", "127.0.0.1", 22)
    assert guard.refuse_address("192.168.0.5", "192.168.0.5", 80) == ""
    assert guard.refuse_address("x.test", "192.168.0.5", 80)
    assert guard.refuse_address("intra.test", "192.168.0.9", 80) == ""


def test_a_seed_that_was_public_cannot_turn_private() -> None:
    """DNS rebinding: a seed's name that first led to the internet does not open a private address later."""
    guard = AddressGuard(seed_hosts=["seed.test"])
    assert guard.refuse_address("seed.test", "93.184.216.34", 80) == ""
    assert guard.refuse_address("seed.test", "127.0.0.1", 80)


def test_addresses_written_as_hosts_are_checked_before_connecting() -> None:
    """A proxy would hide the address, so a literal one is checked first."""
    assert AddressGuard().refuse_url("http://127.0.0.1/", "127.0.0.1")
    assert AddressGuard().refuse_url("http://[::1]:9/", "::1")
    assert AddressGuard().refuse_url("http://a.test/", "a.test") == ""


@pytest.mark.parametrize("text", ["x", "a=b", "a=b:", "=1.2.3.4", "a=1.2.3.4:http"])
def test_a_wrong_connect_to_is_explained(text: str) -> None:
    """The message says what is expected."""
    with pytest.raises(UsageError, match="allowed: HOST"):
        AddressGuard(connect_to=[text])


def test_a_connect_to_that_leads_nowhere_is_explained() -> None:
    """Also where the name could not even be asked for."""
    with pytest.raises(UsageError, match="could not be resolved"):
        AddressGuard(connect_to=[f"*={'a' * 64}.test:80"])


def test_connect_to_speaks_libcurls_language() -> None:
    """A star becomes libcurl's empty host; IPv6 keeps its brackets."""
    every, one = AddressGuard(connect_to=["a.test:443=[::1]:8443", "*=127.0.0.1:8080"]).connect_to[::-1]
    assert curl_option(every) == "::127.0.0.1:8080"
    assert curl_option(one) == "a.test:443:[::1]:8443"
