"""What the official Anthropic client makes of the Messages API: a stream, a document, failures."""

import json
import sys

import anthropic

client = anthropic.Anthropic(base_url=sys.argv[1], api_key="k", max_retries=0)
question = {
    "model": "scripted-model",
    "max_tokens": 100,
    "messages": [{"role": "user", "content": "What time is it?"}],
    "tools": [{"name": "clock", "input_schema": {"type": "object"}}],
}


def block(block):
    if block.type == "thinking":
        return ["thinking", block.thinking, block.signature]
    if block.type == "redacted_thinking":
        return ["redacted_thinking", block.data]
    if block.type == "text":
        return ["text", block.text]
    return [block.type, block.id, block.name, block.input]


def message(message):
    usage = message.usage
    return {
        "content": [block(each) for each in message.content],
        "stop_reason": message.stop_reason,
        "usage": [
            usage.input_tokens,
            usage.cache_creation_input_tokens,
            usage.cache_read_input_tokens,
            usage.output_tokens,
        ],
    }


def streamed():
    pieces = []
    with client.messages.stream(**question) as stream:
        for event in stream:
            if event.type == "text":
                pieces.append(["text", event.text])
            elif event.type == "thinking":
                pieces.append(["thinking", event.thinking])
            elif event.type == "signature":
                pieces.append(["signature", event.signature])
            elif event.type == "input_json":
                pieces.append(["input", event.partial_json])
            elif event.type == "content_block_stop":
                pieces.append(["stop", event.index, event.content_block.type])
        return {"pieces": pieces, "final": message(stream.get_final_message())}


def whole():
    return message(client.messages.create(**question))


def refused():
    try:
        whole()
    except anthropic.APIStatusError as error:
        return [type(error).__name__, error.status_code, error.body["error"]["message"]]


def broken():
    try:
        streamed()
    except anthropic.APIStatusError as error:
        return [error.body["error"]["type"], error.body["error"]["message"]]


json.dump({"stream": streamed(), "whole": whole(), "refused": refused(), "broken": broken()}, sys.stdout)
