"""What boto3 makes of Bedrock Converse: a stream, a document, failures. Bytes are shown in hex."""

import json
import sys

import boto3
import botocore.config
import botocore.exceptions

client = boto3.client(
    "bedrock-runtime",
    endpoint_url=sys.argv[1],
    region_name="eu-west-1",
    aws_access_key_id="AKIDEXAMPLE",
    aws_secret_access_key="secret",
    config=botocore.config.Config(retries={"total_max_attempts": 1}),
)
question = {
    "modelId": "anthropic.claude-v1:0",
    "messages": [{"role": "user", "content": [{"text": "What time is it?"}]}],
}


def streamed():
    return list(client.converse_stream(**question)["stream"])


def whole():
    answer = client.converse(**question)
    return {name: answer[name] for name in ("output", "stopReason", "usage")}


def refused():
    try:
        whole()
    except botocore.exceptions.ClientError as error:
        return [type(error).__name__, error.response["Error"]]


def broken():
    events = []
    try:
        for event in client.converse_stream(**question)["stream"]:
            events.append(event)
    except botocore.exceptions.EventStreamError as error:
        return {"before": events, "error": error.response["Error"]}


json.dump(
    {"stream": streamed(), "whole": whole(), "refused": refused(), "broken": broken()},
    sys.stdout,
    default=lambda value: value.hex(),
)
