"""Signs the requests that stand on standard input as botocore does, and prints each header.

Each is an object with `url`, `body`, `service`, `region`, `access_key_id`, `secret_access_key`,
`session_token` (or null) and `at`, the time in seconds since the epoch.
"""

import datetime
import json
import sys
import unittest.mock

import botocore.auth
import botocore.awsrequest
import botocore.credentials


def authorization(request):
    credentials = botocore.credentials.Credentials(
        request["access_key_id"], request["secret_access_key"], request["session_token"]
    )
    signed = botocore.awsrequest.AWSRequest("POST", request["url"], data=request["body"].encode())
    signer = botocore.auth.SigV4Auth(credentials, request["service"], request["region"])
    at = datetime.datetime.fromtimestamp(request["at"], datetime.timezone.utc)
    with unittest.mock.patch.object(botocore.auth, "get_current_datetime", return_value=at):
        signer.add_auth(signed)
    return signed.headers["Authorization"]


json.dump([authorization(request) for request in json.load(sys.stdin)], sys.stdout)
