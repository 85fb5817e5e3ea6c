"""What can go wrong with a job, as a tree.

ZeroshiftError
├── UserError            the request or the settings are wrong: one line, exit status 2
│   ├── ManifestError
│   └── SettingsError
├── TemporaryError       worth trying again
│   ├── StoreUnavailable     the bucket did not answer, to the end of the retries
│   │   └── Throttled            it asked us to slow down, to the end of the retries
│   ├── Conflict             somebody else changed the object first
│   └── RowsSpooled          rows could not be written, and wait on the worker's disk
└── PermanentError       trying again changes nothing
    ├── NotFound             no such object, job or model
    ├── AccessDenied         the bucket refuses us
    │   └── CredentialsExpired   fresh ones may do
    ├── Archived             the object must be restored before it can be read
    ├── NotSupported         the store does not know the request
    ├── Unreadable           a record that another version has written, or nobody of ours
    ├── IllegalMove          a job can't go from this state to that one
    ├── JobFailed            the job ended without results
    └── RowsMissing          inputs and rows do not match: the job must not be called done

Foreign errors are translated where they enter (`jobs.store.bucket` for botocore's).
"""


class ZeroshiftError(Exception):
    """Any error of ours; its text is one clear line."""


class UserError(ZeroshiftError):
    """The request or the settings are wrong."""


class ManifestError(UserError):
    """The manifest is wrong: the text names the field, what was found and what is allowed."""


class SettingsError(UserError):
    """A setting is missing or wrong."""


class TemporaryError(ZeroshiftError):
    """Worth trying again."""


class StoreUnavailable(TemporaryError):
    """The bucket did not answer."""


class Throttled(StoreUnavailable):
    """The bucket asked us to slow down."""


class Conflict(TemporaryError):
    """A conditional write lost: the object exists or has changed."""


class RowsSpooled(TemporaryError):
    """Rows could not be written: the text names shard, file and why."""


class PermanentError(ZeroshiftError):
    """Trying again changes nothing."""


class NotFound(PermanentError):
    """No such object, job or model."""


class AccessDenied(PermanentError):
    """The bucket refuses us."""


class CredentialsExpired(AccessDenied):
    """The credentials were good once; fresh ones may do."""


class Archived(PermanentError):
    """The object must be restored before it can be read."""


class NotSupported(PermanentError):
    """The store does not know the request."""


class Unreadable(PermanentError):
    """A record that this version can't read: it is left as it is."""


class IllegalMove(PermanentError):
    """A job can't go from this state to that one."""


class JobFailed(PermanentError):
    """The job ended without results."""


class RowsMissing(PermanentError):
    """Inputs and rows do not match."""
