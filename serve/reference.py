"""The page at ``/docs``: the OpenAPI schema in plain HTML, since the usual page fetches its scripts from outside."""

from __future__ import annotations

import json
from html import escape
from typing import Any
from urllib.parse import urlsplit

Json = dict[str, Any]

_STYLE = """
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { max-width: 56rem; margin: 2rem auto; padding: 0 1rem; }
section { border-top: 1px solid color-mix(in srgb, currentColor 25%, transparent); padding: .5rem 0 1rem; }
h2 { font-size: 1.05rem; margin: .8rem 0 .2rem; } h2 b { font-family: ui-monospace, monospace; color: light-dark(#0f766e, #5eead4); }
code, pre { font: .85rem/1.45 ui-monospace, monospace; }
pre { overflow-x: auto; padding: .7rem; border-radius: .4rem; background: color-mix(in srgb, currentColor 7%, transparent); }
table { border-collapse: collapse; } td { padding: .15rem 1rem .15rem 0; vertical-align: top; }
"""


def reference_html(schema: Json, address: str) -> str:
    """A page that lists every operation of ``schema`` with its fields, bounds and an example; runs no script. ``address`` is
    the server's, without a slash at its end."""
    parts = schema.get("components", {}).get("schemas", {})
    sections = [
        _operation(method, address + path, operation, parts)
        for path, operations in schema["paths"].items()
        for method, operation in operations.items()
    ]
    title = escape(schema["info"]["title"])
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title} for programs</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head><body><main>'
        f"<h1>{title} for programs</h1><p>{escape(schema['info'].get('summary', ''))} "
        'The schema itself is at <a href="/openapi.json"><code>/openapi.json</code></a>. Faults are one line: '
        f'<code>{{"error": "…"}}</code>.</p>{"".join(sections)}</main></body></html>'
    )


def _operation(method: str, url: str, operation: Json, parts: Json) -> str:
    fields = [_field(p["name"], p["schema"], p.get("required", False), parts) for p in operation.get("parameters", [])]
    example = f"curl -s '{url}'"
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
    if body is not None:
        whole = _resolved(body, parts)
        required = whole.get("required", [])
        fields += [_field(name, value, name in required, parts) for name, value in whole["properties"].items()]
        sample = {name: _sample(value, parts) for name, value in whole["properties"].items() if name in required}
        example += f" \\\n  -H 'Content-Type: application/json' \\\n  -d '{json.dumps(sample, ensure_ascii=False)}'"
    return (
        f"<section><h2><b>{method.upper()}</b> <code>{escape(urlsplit(url).path)}</code></h2><p>{escape(operation['summary'])}</p>"
        + (f"<table>{''.join(fields)}</table>" if fields else "")
        + f"<pre>{escape(example)}</pre></section>"
    )


def _field(name: str, schema: Json, required: bool, parts: Json) -> str:
    schema = _resolved(schema, parts)
    kinds = [_kind(_resolved(s, parts), parts) for s in schema.get("anyOf", [schema])]
    bounds = [
        f"{words} {schema[key]:,}"
        for key, words in (
            ("minimum", "from"),
            ("maximum", "to"),
            ("maxLength", "at most, characters:"),
            ("maxItems", "at most, items:"),
        )
        if key in schema
    ]
    if required:
        bounds.insert(0, "required")
    elif schema.get("default") not in (None, []):
        bounds.insert(0, f"default {json.dumps(schema['default'])}")
    told = "; ".join(filter(None, [" or ".join(kinds), *bounds, schema.get("description", "")]))
    return f"<tr><td><code>{escape(name)}</code></td><td>{escape(told)}</td></tr>"


def _kind(schema: Json, parts: Json) -> str:
    if schema.get("type") == "array":
        return f"list of {_kind(_resolved(schema['items'], parts), parts)}"
    if "properties" in schema:
        return "{" + ", ".join(schema["properties"]) + "}"
    if "enum" in schema:
        return " | ".join(map(json.dumps, schema["enum"]))
    return str(schema.get("type", "any"))


def _sample(schema: Json, parts: Json) -> Any:
    schema = _resolved(schema, parts)
    if schema.get("examples"):
        return schema["examples"][0]
    if schema.get("type") == "array":
        return [_sample(schema["items"], parts)]
    if "properties" in schema:
        return {name: _sample(schema["properties"][name], parts) for name in schema.get("required", [])}
    if "anyOf" in schema:
        return _sample(schema["anyOf"][0], parts)
    return schema["enum"][-2] if "enum" in schema else "…"


def _resolved(schema: Json, parts: Json) -> Json:
    """The schema that a reference stands for."""
    return parts[schema["$ref"].rsplit("/", 1)[1]] if "$ref" in schema else schema
