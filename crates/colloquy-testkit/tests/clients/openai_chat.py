"""What the official OpenAI client makes of chat completions: a stream, a document, failures."""

import json
import sys

import openai

client = openai.OpenAI(base_url=sys.argv[1] + "/v1", api_key="k", max_retries=0)
question = {
    "model": "scripted-model",
    "messages": [{"role": "user", "content": "What time is it?"}],
    "tools": [{"type": "function", "function": {"name": "clock", "parameters": {"type": "object"}}}],
}


def streamed():
    pieces, calls, finish_reason, usage = [], {}, None, None
    stream = client.chat.completions.create(**question, stream=True, stream_options={"include_usage": True})
    for chunk in stream:
        usage = chunk.usage or usage
        for choice in chunk.choices:
            finish_reason = choice.finish_reason or finish_reason
            reasoning = getattr(choice.delta, "reasoning_content", None)
            if reasoning:
                pieces.append(["reasoning", reasoning])
            if choice.delta.content:
                pieces.append(["text", choice.delta.content])
            for piece in choice.delta.tool_calls or []:
                call = calls.setdefault(piece.index, {"id": piece.id, "name": piece.function.name, "input": ""})
                call["input"] += piece.function.arguments
                pieces.append(["call", piece.index, piece.function.arguments])
    return {
        "pieces": pieces,
        "calls": [calls[index] for index in sorted(calls)],
        "finish_reason": finish_reason,
        "usage": [usage.prompt_tokens, usage.prompt_tokens_details.cached_tokens, usage.completion_tokens],
    }


def whole():
    completion = client.chat.completions.create(**question)
    message = completion.choices[0].message
    return {
        "text": message.content,
        "calls": [[call.id, call.function.name, call.function.arguments] for call in message.tool_calls],
        "finish_reason": completion.choices[0].finish_reason,
    }


def refused():
    try:
        whole()
    except openai.APIStatusError as error:
        return [type(error).__name__, error.status_code, error.code, error.body["message"]]


def broken():
    try:
        streamed()
    except openai.APIError as error:
        return [type(error).__name__, error.code, error.message]


json.dump({"stream": streamed(), "whole": whole(), "refused": refused(), "broken": broken()}, sys.stdout)
