"""Botocore's errors as ours, each in one line that says what to do. For `jobs.store.bucket`."""

import re
import time
from email.utils import parsedate_to_datetime
from typing import Any

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    NoCredentialsError,
    ParamValidationError,
)

from jobs.errors import (
    AccessDenied,
    Archived,
    Conflict,
    CredentialsExpired,
    NotFound,
    NotSupported,
    PermanentError,
    StoreUnavailable,
    Throttled,
    UserError,
    ZeroshiftError,
)

MISSING = {"404", "NoSuchKey", "NoSuchBucket", "NotFound"}
DENIED = {"403", "AccessDenied", "Forbidden", "InvalidAccessKeyId", "SignatureDoesNotMatch"}
EXPIRED = {"ExpiredToken", "ExpiredTokenException", "InvalidToken", "TokenRefreshRequired"}
LOST = {"412", "PreconditionFailed"}
ARCHIVED = {"InvalidObjectState"}
UNSUPPORTED = {"501", "NotImplemented", "MethodNotAllowed", "405"}
THROTTLED = {
    "429",
    "503",
    "RequestLimitExceeded",
    "ServiceUnavailable",
    "SlowDown",
    "SlowDownRead",
    "SlowDownWrite",
    "Throttling",
    "ThrottlingException",
    "TooManyRequests",
}
# 409: two conditional writes met, neither has lost yet (AWS asks for another try).
BUSY = {"409", "500", "502", "504", "ConditionalRequestConflict", "InternalError"}
BUSY |= {"OperationAborted", "RequestTimeout"}
BUSY_STATUS = {"429", "500", "502", "503", "504"}  # for codes that only one store has
ELSEWHERE = {"301", "307", "PermanentRedirect", "TemporaryRedirect", "AuthorizationHeaderMalformed"}
ELSEWHERE |= {"IllegalLocationConstraintException", "400"}
SKEWED = {"RequestTimeTooSkewed"}
SKEW_S = 900.0  # what S3 allows
SKEW_HINT = "this machine's clock and the store's differ; set the clock (timedatectl set-ntp true)"
DENIED_HINT = "look at the bucket's policy, the object's KMS key, and requester-pays"


def translate(error: BotoCoreError | ClientError, what: str) -> ZeroshiftError:
    """Botocore's error as one of ours, in one line that begins with `what`."""
    if isinstance(error, NoCredentialsError):
        return UserError(f"{what}: no credentials; set AWS_ACCESS_KEY_ID or AWS_PROFILE")
    if isinstance(error, ParamValidationError):
        return PermanentError(f"{what}: {' '.join(str(error).split())}")
    if not isinstance(error, ClientError):
        return StoreUnavailable(f"{what}: {error}")
    return _from_answer(dict(error.response), what)


def upload_error(text: str) -> ClientError:
    """The error that boto3's upload of a file has put into words."""
    code = re.search(r"An error occurred \((\w+)\)", text)
    answer: Any = {"Error": {"Code": code[1] if code else "InternalError", "Message": text}}
    return ClientError(answer, "UploadFile")


def _from_answer(answer: dict[str, Any], what: str) -> ZeroshiftError:
    code = str(answer.get("Error", {}).get("Code", "unknown"))
    if code == "403" and _is_skewed(answer):
        return UserError(f"{what}: {SKEW_HINT}")
    known = _known(code, what) or _elsewhere(code, answer, what)
    if known is not None:
        return known
    status = str(answer.get("ResponseMetadata", {}).get("HTTPStatusCode"))
    if {code, status} & {"429", "503"}:
        return Throttled(f"{what}: the store answered {code}")
    if {code, status} & BUSY_STATUS:
        return StoreUnavailable(f"{what}: the store answered {code}")
    if status == "501":
        return NotSupported(f"{what}: the store does not do this ({code})")
    return PermanentError(f"{what}: {code}: {answer.get('Error', {}).get('Message') or ''}")


def _known(code: str, what: str) -> ZeroshiftError | None:
    if code in MISSING:
        return NotFound(f"{what}: not found")
    if code in DENIED:
        return AccessDenied(f"{what}: access denied ({code}); {DENIED_HINT}")
    if code in EXPIRED:
        return CredentialsExpired(f"{what}: the credentials have expired ({code}); renew them")
    if code in LOST:
        return Conflict(f"{what}: changed by somebody else")
    if code in ARCHIVED:
        return Archived(f"{what}: archived; restore it first, then submit again")
    if code in UNSUPPORTED:
        return NotSupported(f"{what}: the store does not do this ({code})")
    if code in THROTTLED:
        return Throttled(f"{what}: the store answered {code}")
    if code in BUSY:
        return StoreUnavailable(f"{what}: the store answered {code}")
    if code in SKEWED:
        return UserError(f"{what}: {SKEW_HINT}")
    return None


def _is_skewed(answer: dict[str, Any]) -> bool:
    """Whether a refusal without a code, as of a HEAD, came from a machine with another time."""
    metadata = answer.get("ResponseMetadata", {})
    try:
        theirs = parsedate_to_datetime(metadata.get("HTTPHeaders", {})["date"])
        return (
            metadata.get("HTTPStatusCode") == 403 and abs(time.time() - theirs.timestamp()) > SKEW_S
        )
    except (KeyError, TypeError, ValueError):
        return False


def _elsewhere(code: str, answer: dict[str, Any], what: str) -> ZeroshiftError | None:
    """A redirect, or a signature for another region: the setting `region` is wrong."""
    headers = answer.get("ResponseMetadata", {}).get("HTTPHeaders", {})
    region = answer.get("Error", {}).get("Region") or headers.get("x-amz-bucket-region")
    if code not in ELSEWHERE or (code == "400" and region is None):
        return None
    found = f"{region!r}" if region else "another region or under another address"
    fix = f'region = "{region}"' if region else "region, or endpoint_url"
    return UserError(f"{what}: the bucket is in {found} ({code}); set {fix}")
