"""POST a JSON document and try again when that may help."""

import http.client
import json
import math
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from duelist.experiments.data._checks import check_positive


@dataclass(frozen=True)
class Retries:
    """How often and how patiently to repeat a request.

    Attributes:
        attempts: requests in all, the first included.
        first_delay: seconds before the second attempt; doubled for each attempt after it.
        longest_delay: no wait is longer, whatever the server's Retry-After header asks for.
        timeout: seconds to wait for an answer.
        sleep: how to wait.
    """

    attempts: int = 6
    first_delay: float = 1.0
    longest_delay: float = 60.0
    timeout: float = 60.0
    sleep: Callable[[float], None] = time.sleep

    def __post_init__(self) -> None:
        check_positive("attempts", self.attempts)
        if self.first_delay < 0 or self.longest_delay < 0 or not self.timeout > 0:
            raise ValueError("delays must not be negative and timeout must be positive")

    def delay(self, attempt: int, asked: float) -> float:
        """Return the seconds to wait after the given attempt (counted from 0)."""
        return min(self.longest_delay, max(asked, self.first_delay * 2.0**attempt))


class _TryAgainError(Exception):
    """A failure that may pass: rate limit, server error, time-out or broken connection."""

    def __init__(self, reason: str, asked: float = 0.0) -> None:
        super().__init__(reason)
        self.asked = asked


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Following a redirect would hand the key to whatever host it names."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


def post_json(url: str, document: Any, *, key: str, retries: Retries) -> Any:
    """POST a document with a bearer key and return the JSON of the answer.

    Repeats on 429, 5xx, time-outs and broken connections, with exponential backoff. The key is in
    no message.

    Raises:
        ValueError: if the address is not HTTP(S) or the answer is not JSON.
        RuntimeError: if the server refuses, or still fails after the last attempt.
    """
    if urllib.parse.urlsplit(url).scheme not in ("http", "https"):
        raise ValueError(f"the address must start with http:// or https://, got {url!r}")
    body = json.dumps(document).encode()
    reason = ""
    for attempt in range(retries.attempts):
        try:
            return _decoded(_post(url, body, key, retries.timeout), url)
        except _TryAgainError as failure:
            reason = str(failure)
            if attempt + 1 < retries.attempts:
                retries.sleep(retries.delay(attempt, failure.asked))
    raise RuntimeError(f"{url} failed {retries.attempts} times, at last: {reason}")


def _post(url: str, body: bytes, key: str, timeout: float) -> bytes:
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {key}"}
    request = urllib.request.Request(url, body, headers)  # noqa: S310 - the scheme is checked
    opener = urllib.request.build_opener(_NoRedirect)
    try:
        with opener.open(request, timeout=timeout) as response:
            return response.read()
    except urllib.error.HTTPError as error:
        raise _judged(error, url, key) from None
    except (OSError, http.client.HTTPException) as error:
        raise _TryAgainError(f"{type(error).__name__}: {error}") from None


def _judged(error: urllib.error.HTTPError, url: str, key: str) -> Exception:
    """Return what to raise for an HTTP error: worth another attempt or final."""
    with error:
        detail = error.read(2000).decode(errors="replace").replace(key, "[key]")
    reason = f"HTTP {error.code}: {detail}"
    may_pass = error.code == 429 or error.code >= 500
    # A used-up budget comes as 429 too, but waiting does not fill it.
    if may_pass and "insufficient_quota" not in detail:
        return _TryAgainError(reason, _retry_after(error.headers.get("Retry-After")))
    if error.code == 401:
        reason += " (is the key right?)"
    return RuntimeError(f"{url} refused the request: {reason}")


def _retry_after(header: str | None) -> float:
    """Return the seconds a Retry-After header asks for; 0 for none, or for a date."""
    try:
        seconds = float(header or 0)
    except ValueError:
        return 0.0
    return seconds if math.isfinite(seconds) and seconds > 0 else 0.0


def _decoded(answer: bytes, url: str) -> Any:
    try:
        return json.loads(answer)
    except ValueError as error:
        raise ValueError(f"{url} did not answer with JSON: {error}") from error
