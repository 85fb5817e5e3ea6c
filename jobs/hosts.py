"""What the name of a host says of where it is, without asking anybody."""

from ipaddress import ip_address


def is_this_machine(host: str) -> bool:
    """Whether `host` is this machine alone: loopback by its number, or by its one known name."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
