"""AWS signatures (SigV4) by botocore's own signer, for an upstream that has keys of AWS and no bearer key.

botocore is loaded with the first signature. It is given every value: no environment, no file and no network is asked for one. What is
signed is the method, the URL, the body, and the few headers that nobody on the way has a reason to change.
"""

import logging
from collections.abc import Mapping

from app.config.upstreams import AwsKeys

SERVICE = "bedrock"
"""The name under which Bedrock's runtime is signed for, whatever its host is called."""

SIGNATURE_HEADERS = frozenset({"authorization", "x-amz-content-sha256", "x-amz-date", "x-amz-security-token"})
"""What a signature brings, and an operator's header may not replace."""


def signature(keys: AwsKeys, url: str, body: bytes) -> Mapping[str, str]:
    """The headers that sign a `POST` of this JSON body, secrets revealed: never to be logged or kept. Costs a hash of the body."""
    from botocore.auth import SigV4Auth
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import Credentials

    # At debug level it writes what it signs, a session's token among it.
    logging.getLogger("botocore.auth").setLevel(logging.INFO)
    token = None if keys.session_token is None else keys.session_token.reveal()
    credentials = Credentials(keys.access_key_id.reveal(), keys.secret_access_key.reveal(), token)
    request = AWSRequest(method="POST", url=url, data=body, headers={"content-type": "application/json"})
    SigV4Auth(credentials, SERVICE, keys.region).add_auth(request)
    return {name.lower(): value for name, value in request.headers.items() if name.lower() in SIGNATURE_HEADERS}
