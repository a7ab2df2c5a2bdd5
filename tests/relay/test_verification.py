"""Verification, by what the providers publish themselves where they do, and by what their rules say where not."""

from __future__ import annotations

import base64
import hmac

import pytest

from entrepot.relay.errors import Rejected
from entrepot.relay.verification import Request, Scheme, verify

NOW = 1_700_000_000


def mac(key: bytes, message: bytes, algorithm: str = "sha256") -> bytes:
    return hmac.new(key, message, algorithm).digest()


def refused(
    provider: str, secret: str, request: Request, now: int = NOW, scheme: Scheme | None = None
) -> str | None:
    try:
        verify(provider, secret, request, now, scheme)
    except Rejected as rejected:
        return rejected.cause
    return None


def test_github_signs_as_its_documentation_says() -> None:
    # docs.github.com: "Testing the webhook payload validation".
    signature = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
    secret, body = "It's a Secret to Everybody", b"Hello, World!"
    request = Request({"x-hub-signature-256": signature}, body, "")
    assert refused("github", secret, request) is None
    assert refused("github", secret, Request(request.headers, b"Hello, World?", "")) == "signature_mismatch"
    assert refused("github", "another", request) == "signature_mismatch"
    assert refused("github", secret, Request({}, body, "")) == "signature_missing"


def test_slack_signs_as_its_documentation_says() -> None:
    # docs.slack.dev: "Verifying requests from Slack".
    body = (
        b"token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V"
        b"&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text="
        b"&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN"
        b"&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c"
    )
    headers = {
        "x-slack-signature": "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503",
        "x-slack-request-timestamp": "1531420618",
    }
    secret, at = "8f742231b10e8888abcd99yyyzzz85a5", 1531420618
    request = Request(headers, body, "")
    assert refused("slack", secret, request, at + 300) is None
    assert refused("slack", secret, request, at + 301) == "timestamp_out_of_tolerance"
    assert refused("slack", secret, Request(headers, body + b"&", ""), at) == "signature_mismatch"


def test_standard_webhooks_sign_as_their_reference_says() -> None:
    # github.com/standard-webhooks: the vector of the reference libraries' tests.
    headers = {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,AAAA v2,BBBB v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }
    request = Request(headers, b'{"test": 2432232314}', "")
    for secret in ("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"):
        assert refused("standard", secret, request, 1614265330) is None
    assert refused("standard", secret, request, 1614265330 - 301) == "timestamp_out_of_tolerance"
    other = Request({**headers, "webhook-id": "msg_other"}, request.body, "")
    assert refused("standard", secret, other, 1614265330) == "signature_mismatch"


TWILIO_URL = "https://mycompany.com/myapp.php?foo=1&bar=2"
TWILIO_FORM = {"content-type": "application/x-www-form-urlencoded"}


def test_twilio_signs_as_its_documentation_says() -> None:
    # twilio.com/docs/usage/security, with the token 12345.
    body = (
        b"Digits=1234&To=%2B18005551212&From=%2B12349013030&Caller=%2B12349013030&CallSid=CA1234567890ABCDE"
    )
    headers = {**TWILIO_FORM, "x-twilio-signature": "0/KCTR6DLpKmkAf8muzZqo1nDgQ="}
    assert refused("twilio", "12345", Request(headers, body, TWILIO_URL)) is None
    assert refused("twilio", "12345", Request(headers, body + b"&x=1", TWILIO_URL)) == "signature_mismatch"
    elsewhere = Request(headers, body, TWILIO_URL.replace("https", "http"))
    assert refused("twilio", "12345", elsewhere) == "signature_mismatch"


def test_twilio_signs_json_by_the_digest_in_the_address() -> None:
    # The vector of Twilio's own libraries' tests.
    body = b'{"property": "value", "boolean": true}'
    digest = "0a1ff7634d9ab3b95db5c9a2dfe9416e41502b283a80c7cf19632632f96e6620"
    headers = {"content-type": "application/json", "x-twilio-signature": "a9nBmqA0ju/hNViExpshrM61xv4="}
    url, query = f"{TWILIO_URL}&bodySHA256={digest}", {"bodySHA256": digest}
    assert refused("twilio", "12345", Request(headers, body, url, query)) is None
    assert refused("twilio", "12345", Request(headers, body + b" ", url, query)) == "signature_mismatch"
    # Without the digest nothing would vouch for the body.
    bare = {
        **headers,
        "x-twilio-signature": base64.b64encode(mac(b"12345", TWILIO_URL.encode(), "sha1")).decode(),
    }
    assert refused("twilio", "12345", Request(bare, body, TWILIO_URL)) == "signature_missing"


def test_stripe_signs_time_and_body_and_any_v1_counts() -> None:
    secret, body = "whsec_test", b'{"id":"evt_1"}'
    right = mac(secret.encode(), f"{NOW}.".encode() + body).hex()
    request = Request({"stripe-signature": f"t={NOW},v1={'0' * 64},v1={right},v0=x"}, body, "")
    assert refused("stripe", secret, request) is None
    assert refused("stripe", secret, request, NOW + 300) is None
    assert refused("stripe", secret, request, NOW + 301) == "timestamp_out_of_tolerance"
    assert refused("stripe", secret, request, NOW - 301) == "timestamp_out_of_tolerance"
    moved = Request({"stripe-signature": f"t={NOW + 1},v1={right}"}, body, "")
    assert refused("stripe", secret, moved) == "signature_mismatch"
    old_scheme = Request({"stripe-signature": f"t={NOW},v0={right}"}, body, "")
    assert refused("stripe", secret, old_scheme) == "signature_mismatch"
    for header in ("", "nonsense", "t=,v1=", f"t=-{NOW},v1={right}", "t=١٢٣,v1=x"):
        assert refused("stripe", secret, Request({"stripe-signature": header}, body, "")) is not None


def test_shopify_signs_in_base64() -> None:
    body = b'{"id":1}'
    signature = base64.b64encode(mac(b"shpss", body)).decode()
    assert refused("shopify", "shpss", Request({"x-shopify-hmac-sha256": signature}, body, "")) is None
    hexadecimal = Request({"x-shopify-hmac-sha256": mac(b"shpss", body).hex()}, body, "")
    assert refused("shopify", "shpss", hexadecimal) == "signature_mismatch"


@pytest.mark.parametrize("algorithm", ["sha256", "sha512"])
@pytest.mark.parametrize("encoding", ["hex", "base64"])
def test_a_sender_of_ones_own_signs_as_it_was_declared(algorithm: str, encoding: str) -> None:
    body = b"\xff\x00"
    signature = mac(b"s", body, algorithm)
    text = signature.hex() if encoding == "hex" else base64.b64encode(signature).decode()
    scheme = Scheme(
        header="X-My-Signature",
        algorithm="hmac-sha512" if algorithm == "sha512" else "hmac-sha256",
        encoding="hex" if encoding == "hex" else "base64",
        prefix="v1=",
    )
    assert refused("custom", "s", Request({"x-my-signature": f"v1={text}"}, body, ""), scheme=scheme) is None
    assert (
        refused("custom", "s", Request({"x-my-signature": text}, body, ""), scheme=scheme)
        == "signature_malformed"
    )
    assert (
        refused("custom", "s", Request({"x-my-signature": "v1="}, body, ""), scheme=scheme)
        == "signature_mismatch"
    )


def test_a_signature_that_is_no_ascii_is_only_wrong() -> None:
    assert (
        refused("github", "s", Request({"x-hub-signature-256": "sha256=é"}, b"", "")) == "signature_mismatch"
    )
