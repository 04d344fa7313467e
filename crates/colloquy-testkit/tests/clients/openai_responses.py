"""What the official OpenAI client makes of the Responses API: a stream, a document, failures."""

import json
import sys

import openai

client = openai.OpenAI(base_url=sys.argv[1] + "/v1", api_key="k", max_retries=0)
question = {
    "model": "scripted-model",
    "input": "What time is it?",
    "tools": [{"type": "function", "name": "clock", "parameters": {"type": "object"}, "strict": False}],
}


def item(item):
    if item.type == "reasoning":
        return ["reasoning", "".join(part.text for part in item.summary), item.encrypted_content]
    if item.type == "message":
        return ["text", "".join(part.text for part in item.content)]
    return [item.type, item.call_id, item.name, item.arguments]


def response(response):
    usage = response.usage
    details = response.incomplete_details
    return {
        "status": response.status,
        "incomplete": details and details.reason,
        "output": [item(each) for each in response.output],
        "usage": [usage.input_tokens, usage.input_tokens_details.cached_tokens, usage.output_tokens],
    }


def streamed():
    pieces, numbers = [], []
    with client.responses.stream(**question) as stream:
        for event in stream:
            numbers.append(event.sequence_number)
            if event.type in (
                "response.output_text.delta",
                "response.reasoning_summary_text.delta",
                "response.function_call_arguments.delta",
            ):
                pieces.append([event.type.split(".")[1], event.output_index, event.delta])
        final = response(stream.get_final_response())
    # The client gathers the items from their pieces; the last event holds them once more.
    return {"pieces": pieces, "is_in_order": numbers == sorted(numbers), "final": final}


def cut():
    for event in client.responses.create(**question, stream=True):
        last = event
    return [last.type, response(last.response)]


def whole():
    return response(client.responses.create(**question))


def refused():
    try:
        whole()
    except openai.APIStatusError as error:
        return [type(error).__name__, error.status_code, error.code, error.body["message"]]


def broken():
    for event in client.responses.create(**question, stream=True):
        last = event
    return [last.type, last.response.error.code, last.response.error.message]


json.dump(
    {"stream": streamed(), "cut": cut(), "whole": whole(), "refused": refused(), "broken": broken()}, sys.stdout
)
