"""What can go wrong with hardware, as a tree.

InfraError
├── NoSuchOffer          the catalogue has no such offer: a user's mistake
├── UnknownGpu           the catalogue has no such GPU: a user's mistake
├── PlanRefused          the plan can't be made: a user's mistake, with the reason
└── ClusterError
    ├── StartFailed      the cluster did not come up in its time; the text names the phase
    │   └── NoCapacity   the provider has no node to give: another offer or a later time may do
    └── TeardownFailed   something of the cluster is still there after it was ended
"""


class InfraError(Exception):
    """Any error of hardware, prices or clusters; its text is one clear line."""


class NoSuchOffer(InfraError):
    """The catalogue has no such offer."""


class UnknownGpu(InfraError):
    """The catalogue has no such GPU."""


class PlanRefused(InfraError):
    """The plan can't be made."""


class ClusterError(InfraError):
    """A cluster did not do what it was told."""


class StartFailed(ClusterError):
    """The cluster did not come up in its time."""


class NoCapacity(StartFailed):
    """The provider has no node to give."""


class TeardownFailed(ClusterError):
    """Something of the cluster is still there after it was ended."""
