"""From the one endpoint that names a broker to the others that it has."""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import ip_address

from engine.protocols.negotiated.config import Address
from engine.protocols.negotiated.options import Options

FRONTEND_STEP = 100  # from the workers' tcp port to the clients'
PEER_STEP = 200  # to the port where the fallback connects


def listed(text: str) -> tuple[str, ...]:
    """The endpoints in a setting that are separated by commas."""
    return tuple(part.strip() for part in text.split(",") if part.strip())


def beside(endpoint: str, step: int, name: str) -> str:
    """``tcp://HOST:PORT`` with the port ``step`` higher; of another transport the same with ``-name``.

    Raises ValueError where a tcp endpoint has no port to count from.
    """
    if not endpoint.startswith("tcp://"):
        return f"{endpoint}-{name}"
    host, _, port = endpoint.rpartition(":")
    if not port.isdecimal() or not 0 < int(port) <= 65_535 - step:
        raise ValueError(f"{endpoint}: no port {step} higher; set negotiated.{name}")
    return f"{host}:{int(port) + step}"


def clients_of(endpoint: str) -> str:
    """Where the clients of a broker connect."""
    return beside(endpoint, FRONTEND_STEP, "frontend")


def peer_of(endpoint: str) -> str:
    """Where the fallback of a broker connects."""
    return beside(endpoint, PEER_STEP, "peer")


def addresses(workers: Iterable[str], options: Options, own: bool = False) -> tuple[Address, ...]:
    """Workers' endpoints with their clients'. ``frontend`` counts for our ``own`` broker only.

    An endpoint with a wildcard can be bound but not connected to, so nobody is told of it.
    """
    named = [endpoint for endpoint in workers if "*" not in endpoint and "://0.0.0.0" not in endpoint]
    frontend = options.frontend if own else ""
    return tuple(Address(endpoint, frontend or clients_of(endpoint)) for endpoint in named)


def configured(options: Options, clients: bool) -> frozenset[str]:
    """Where an operator says that brokers of the group are, for clients or for workers."""
    named = [end for text in (options.primary, options.fallback, options.group) for end in listed(text)]
    return frozenset(known.clients if clients else known.workers for known in addresses(named, options))


def on_this_machine(endpoint: str) -> bool:
    """Whether an endpoint is in this process or at a loopback address. An ipc path may be anybody's, so it is not."""
    scheme, _, rest = endpoint.partition("://")
    if scheme != "tcp":
        return scheme == "inproc"
    host, _, port = rest.rpartition(":")
    if not (port.isascii() and port.isdecimal()):
        return False
    try:
        return host == "localhost" or ip_address(host.removeprefix("[").removesuffix("]")).is_loopback
    except ValueError:
        return False


def whereabouts(first: str, here: str) -> list[tuple[str, str]]:
    """At which broker a peer is and, where that is another one than it was told of first, what becomes of that one."""
    where = [("broker", here)]
    if here != first:
        where.append(("told of", f"{first}, which is asked again when {here} is silent"))
    return where
