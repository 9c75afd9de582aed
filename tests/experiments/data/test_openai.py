"""OpenAI's interface through a local stand-in that also fails, hangs and limits the rate."""

import json

import numpy as np
import pytest

from duelist.experiments.data import OpenAIEmbedding, Retries, default_cache, embedding

TEXTS = ["noodle soup", "cheese pizza", "coffee cake"]


@pytest.fixture
def server(embedding_server):
    return embedding_server()


@pytest.fixture
def waits():
    return []


@pytest.fixture
def openai(tmp_path, waits):
    def make(*, timeout=30.0, **settings):
        retries = Retries(attempts=4, timeout=timeout, sleep=waits.append)
        return OpenAIEmbedding(**{"cache": tmp_path / "cache", "retries": retries, **settings})

    return make


@pytest.fixture
def expected(server):
    def points(texts, dimensions=32):
        return np.array([server.vector(text, dimensions) for text in texts])

    return points


def test_what_is_sent_and_what_comes_back(server, openai, expected):
    points = openai()(TEXTS)
    np.testing.assert_allclose(points, expected(TEXTS), rtol=1e-12)
    path, body = server.requests[0]
    assert path == "/v1/embeddings"
    assert body == {
        "model": "text-embedding-3-large",
        "input": TEXTS,
        "dimensions": 32,
        "encoding_format": "float",
    }
    assert server.headers[0]["Authorization"] == f"Bearer {server.key}"
    assert len(server.requests) == 1


def test_by_name(server, tmp_path, expected):
    points = embedding("openai:other-model", dimensions=5, cache=tmp_path)(TEXTS)
    np.testing.assert_allclose(points, expected(TEXTS, 5), rtol=1e-12)
    assert server.requests[0][1]["model"] == "other-model"


@pytest.mark.parametrize(
    ("settings", "batches"),
    [
        ({"batch_texts": 2}, [["aa", "bb"], ["cc", "dd"], ["ee"]]),
        ({"batch_characters": 6}, [["aa", "bb", "cc"], ["dd", "ee"]]),
        ({"batch_characters": 1}, [["aa"], ["bb"], ["cc"], ["dd"], ["ee"]]),
    ],
)
def test_batches(server, openai, settings, batches, expected):
    texts = ["aa", "bb", "cc", "dd", "ee"]
    np.testing.assert_allclose(openai(**settings)(texts), expected(texts), rtol=1e-12)
    assert server.texts == batches


def test_equal_texts_are_asked_once(server, openai):
    points = openai()(["soup", "cake", "soup"])
    assert server.texts == [["soup", "cake"]]
    np.testing.assert_array_equal(points[0], points[2])


def test_cached_texts_are_not_asked_again(server, openai, monkeypatch):
    first = openai()(TEXTS)
    second = openai()([*TEXTS, "apple pie"])
    np.testing.assert_array_equal(second[:3], first)
    assert server.texts == [TEXTS, ["apple pie"]]
    monkeypatch.delenv("OPENAI_API_KEY")  # what is known needs no key
    np.testing.assert_array_equal(openai()(TEXTS), first)


@pytest.mark.parametrize("change", [{"model": "other"}, {"dimensions": 8}])
def test_the_cache_tells_settings_apart(server, openai, change):
    openai()(TEXTS)
    openai(**change)(TEXTS)
    assert len(server.requests) == 2


def test_the_cache_tells_servers_apart(server, openai, monkeypatch):
    openai()(TEXTS)
    monkeypatch.setenv("OPENAI_BASE_URL", server.url.replace("/v1", "/v2"))
    openai()(TEXTS)
    assert [path for path, _ in server.requests] == ["/v1/embeddings", "/v2/embeddings"]


def test_an_interrupted_run_keeps_what_it_paid_for(server, openai, tmp_path):
    settings = {"batch_texts": 1}
    server.script = [lambda document: document, 400]
    with pytest.raises(RuntimeError, match="HTTP 400"):
        openai(**settings)(TEXTS)
    server.requests.clear()
    openai(**settings)(TEXTS)
    assert server.texts == [["cheese pizza"], ["coffee cake"]]
    assert all(path.suffix == ".json" for path in (tmp_path / "cache").iterdir())


@pytest.mark.parametrize("damage", ["[0.1, 0.2", "[0.1, 0.2]", '"soup"', "", "[null]"])
def test_damaged_cache_entries_are_asked_again(server, openai, tmp_path, damage, expected):
    openai()(["soup"])
    (entry,) = (tmp_path / "cache").iterdir()
    entry.write_text(damage)
    np.testing.assert_allclose(openai()(["soup"]), expected(["soup"]), rtol=1e-12)
    assert len(server.requests) == 2
    assert len(json.loads(entry.read_text())) == 32


def test_a_failed_write_leaves_nothing_behind(server, openai, tmp_path, monkeypatch):
    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("json.dump", full)
    with pytest.raises(OSError, match="No space left"):
        openai()(["soup"])
    assert list((tmp_path / "cache").iterdir()) == []


@pytest.mark.parametrize("failure", [429, 500, 502, 503, "hang", "drop"])
def test_passing_failures_are_tried_again(server, openai, waits, failure, expected):
    server.script = [failure, failure]
    # The last answer comes in time even where the tests share a busy machine.
    points = openai(timeout=1.0 if failure == "hang" else 30.0)(TEXTS)
    np.testing.assert_allclose(points, expected(TEXTS), rtol=1e-12)
    assert len(server.requests) == 3
    assert waits == [1.0, 2.0]


def test_backoff_doubles_up_to_the_longest_delay(server, openai, waits):
    server.script = [500] * 7
    retries = Retries(attempts=7, first_delay=0.5, longest_delay=5.0, sleep=waits.append)
    with pytest.raises(RuntimeError, match=r"failed 7 times, at last: HTTP 500: .*on order"):
        openai(retries=retries)(TEXTS)
    assert waits == [0.5, 1.0, 2.0, 4.0, 5.0, 5.0]


@pytest.mark.parametrize(
    ("header", "wait"),
    [
        ("7", 7.0),
        ("0.5", 1.0),
        ("9999", 60.0),
        ("Wed, 21 Oct 2026 07:28:00 GMT", 1.0),
        ("nan", 1.0),
    ],
)
def test_retry_after_is_respected(server, openai, waits, header, wait):
    server.script = [(429, {"Retry-After": header}, b"slow down")]
    openai()(TEXTS)
    assert waits == [wait]


@pytest.mark.parametrize("status", [400, 401, 403, 404])
def test_refusals_are_final(server, openai, waits, status):
    server.script = [status]
    with pytest.raises(RuntimeError, match=f"refused the request: HTTP {status}: .*on order"):
        openai()(TEXTS)
    assert (len(server.requests), waits) == (1, [])


def test_a_used_up_budget_is_final(server, openai, waits):
    server.script = [(429, {}, b'{"error": {"code": "insufficient_quota"}}')]
    with pytest.raises(RuntimeError, match="insufficient_quota"):
        openai()(TEXTS)
    assert waits == []


def test_the_key_is_shown_nowhere(server, openai, tmp_path, capfd, caplog):
    server.script = [(401, {}, f"wrong key {server.key}".encode())]
    with pytest.raises(RuntimeError, match=r"wrong key \[key\].* \(is the key right\?\)") as caught:
        openai()(TEXTS)
    assert server.key not in "".join(map(str, [caught.value, caught.value.__cause__, openai()]))
    openai()(TEXTS)
    written = "".join(path.name + path.read_text() for path in (tmp_path / "cache").iterdir())
    assert server.key not in written + "".join(capfd.readouterr()) + caplog.text


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_do_not_carry_the_key_away(embedding_server, openai, status):
    other, server = embedding_server(), embedding_server()
    server.script = [(status, {"Location": f"{other.url}/embeddings"}, b"over there")]
    with pytest.raises(RuntimeError, match=f"HTTP {status}"):
        openai()(TEXTS)
    assert len(server.requests) == 1
    assert other.headers == []


def test_no_server(embedding_server, openai, waits):
    embedding_server().close()
    with pytest.raises(RuntimeError, match="failed 4 times, at last: URLError"):
        openai()(TEXTS)
    assert waits == [1.0, 2.0, 4.0]


def without_last(document):
    return {"data": document["data"][1:]}


def shorter(document):
    return {"data": [{**entry, "embedding": entry["embedding"][1:]} for entry in document["data"]]}


def not_finite(document):
    return {"data": [{**entry, "embedding": [float("nan")] * 32} for entry in document["data"]]}


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (without_last, "does not hold one embedding per text"),
        (lambda _: [], "does not hold one embedding per text"),
        (lambda _: {"data": None}, "does not hold one embedding per text"),
        (shorter, "are not 32 finite numbers each"),
        (not_finite, "are not 32 finite numbers each"),
        ((200, {}, b"<html>"), "did not answer with JSON"),
    ],
)
def test_wrong_answers_are_refused_and_not_cached(server, openai, tmp_path, reply, message):
    server.script = [reply]
    with pytest.raises(ValueError, match=message):
        openai()(TEXTS)
    assert not (tmp_path / "cache").exists()


def test_long_texts_are_cut_with_a_warning(server, openai):
    with pytest.warns(UserWarning, match="1 of 2 texts were cut at 10 characters"):
        openai(max_characters=10)(["short", "x" * 11])
    assert server.texts == [["short", "x" * 10]]


def test_the_key_is_needed(server, openai, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(RuntimeError, match="needs the environment variable OPENAI_API_KEY"):
        openai()(TEXTS)
    assert server.requests == []


def test_other_addresses_are_refused(server, openai, monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "file:///etc")
    with pytest.raises(ValueError, match="must start with http:// or https://"):
        openai()(TEXTS)


def test_blank_texts_are_refused_before_anything_is_sent(server, openai):
    with pytest.raises(ValueError, match="texts must not be blank, but 1 are, the first is 1"):
        openai()(["soup", "\n"])
    assert server.requests == []


@pytest.mark.parametrize("label", ["max_characters", "batch_texts", "batch_characters"])
def test_settings_must_be_positive(openai, label):
    with pytest.raises(ValueError, match=f"{label} must be at least 1, got 0"):
        openai(**{label: 0})


def test_retries_must_make_sense():
    with pytest.raises(ValueError, match="attempts must be at least 1, got 0"):
        Retries(attempts=0)
    with pytest.raises(ValueError, match="timeout must be positive"):
        Retries(timeout=0.0)


def test_default_cache_is_the_users(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_cache() == tmp_path / "duelist" / "embeddings"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_cache() == tmp_path / ".cache" / "duelist" / "embeddings"
