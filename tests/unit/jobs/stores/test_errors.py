"""Every error of botocore leaves the store as one of ours, in one line."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from botocore.exceptions import (
    ClientError,
    ConnectTimeoutError,
    EndpointConnectionError,
    NoCredentialsError,
    ParamValidationError,
    ReadTimeoutError,
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
)
from jobs.store.errors import translate

CODES = {
    "404": NotFound,
    "NoSuchKey": NotFound,
    "NoSuchBucket": NotFound,
    "403": AccessDenied,
    "AccessDenied": AccessDenied,
    "InvalidAccessKeyId": AccessDenied,
    "SignatureDoesNotMatch": AccessDenied,
    "ExpiredToken": CredentialsExpired,
    "412": Conflict,
    "PreconditionFailed": Conflict,
    "InvalidObjectState": Archived,
    "NotImplemented": NotSupported,
    "ConditionalRequestConflict": StoreUnavailable,
    "KeyTooLongError": PermanentError,
    "SlowDown": Throttled,
    "InternalError": StoreUnavailable,
    "ServiceUnavailable": Throttled,
    "Throttling": Throttled,
    "TooManyRequests": Throttled,
    "RequestTimeout": StoreUnavailable,
    "503": Throttled,
}


def client_error(code: str, status: int = 400) -> ClientError:
    answer = {
        "Error": {"Code": code, "Message": "as it is"},
        "ResponseMetadata": {"HTTPStatusCode": status},
    }
    return ClientError(answer, "GetObject")


@pytest.mark.parametrize(("code", "kind"), CODES.items())
def test_every_code_of_the_store_becomes_one_of_our_errors(code, kind):
    translated = translate(client_error(code), "s3://b/k")
    assert type(translated) is kind
    assert str(translated).startswith("s3://b/k: ")


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
def test_an_unknown_code_with_a_status_of_overload_is_worth_trying_again(status):
    kind = Throttled if status in (429, 503) else StoreUnavailable
    assert type(translate(client_error("Odd", status), "x")) is kind


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (NoCredentialsError(), UserError),
        (EndpointConnectionError(endpoint_url="http://x"), StoreUnavailable),
        (ConnectTimeoutError(endpoint_url="http://x"), StoreUnavailable),
        (ReadTimeoutError(endpoint_url="http://x"), StoreUnavailable),
        (ParamValidationError(report="bad name"), PermanentError),
    ],
)
def test_every_error_of_botocore_becomes_one_of_ours(error, kind):
    assert type(translate(error, "x")) is kind


@pytest.mark.parametrize(
    ("ahead_s", "kind"), [(-1000, UserError), (1000, UserError), (0, AccessDenied)]
)
def test_a_refusal_without_a_code_by_a_store_with_another_time_is_the_clocks(ahead_s, kind):
    error = client_error("403", 403)  # a HEAD has no body to say RequestTimeTooSkewed in
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=ahead_s))
    error.response["ResponseMetadata"]["HTTPHeaders"] = {"date": date}
    translated = translate(error, "x")
    assert type(translated) is kind
    assert ("set the clock" in str(translated)) == (kind is UserError)


@pytest.mark.parametrize("date", [None, "", "yesterday"])
def test_a_refusal_with_no_time_to_go_by_is_a_refusal(date):
    error = client_error("403", 403)
    error.response["ResponseMetadata"]["HTTPHeaders"] = {"date": date}
    assert type(translate(error, "x")) is AccessDenied
