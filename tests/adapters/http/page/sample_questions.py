"""Questions for tests of the page, places in them, and texts that try to become markup."""

import copy
from collections.abc import Iterator
from typing import Any

from weftwork.protocol.workflow.orchestration import ratification_schema

CANARY = "http://127.0.0.1:9/canary"

_SCRIPTS = """
<script>alert(1)</script>
<ScRiPt>alert(1)</sCrIpT>
</textarea><script>alert(1)</script>
</title><script>alert(1)</script>
</style><script>alert(1)</script>
</pre></section></main><script>alert(1)</script>
</option></select><script>alert(1)</script>
</legend></fieldset></form><script>alert(1)</script>
"><script>alert(1)</script>
'><script>alert(1)</script>
`><script>alert(1)</script>
--><script>alert(1)</script>
]]><script>alert(1)</script>
<script src=CANARY></script>
<script type=module>import 'CANARY'</script>
<script>fetch('CANARY')</script>
<<script>alert(1)//<</script>
<script/x>alert(1)</script>
<scr<script>ipt>alert(1)</scr</script>ipt>
<script>new Image().src='CANARY'</script>
<noscript><p title="</noscript><img src=x onerror=alert(1)>">
<xmp><script>alert(1)</script></xmp>
<plaintext>
<![CDATA[<script>alert(1)</script>]]>
<!--<script>alert(1)</script>-->
<?xml version="1.0"?><script>alert(1)</script>
<!doctype html><script>alert(1)</script>
"""

_HANDLERS = """
<img src=x onerror=alert(1)>
<img src=CANARY>
<img srcset="CANARY 1x">
<svg onload=alert(1)>
<svg><script>alert(1)</script></svg>
<svg><image href="CANARY"/></svg>
<svg><animate onbegin=alert(1) attributeName=x dur=1s>
<svg><use href="CANARY#x"></use></svg>
<body onload=alert(1)>
<input autofocus onfocus=alert(1)>
<select autofocus onfocus=alert(1)>
<textarea autofocus onfocus=alert(1)>
<details open ontoggle=alert(1)>
<video src=CANARY onerror=alert(1)>
<video poster=CANARY></video>
<audio src=CANARY onerror=alert(1)>
<source src=CANARY onerror=alert(1)>
<track src=CANARY default>
<marquee onstart=alert(1)>
<div onpointerover=alert(1) style=position:fixed;inset:0>x</div>
<a href=javascript:alert(1)>click</a>
<a href=CANARY ping=CANARY>click</a>
<math href=javascript:alert(1)>x</math>
" onfocus=alert(1) autofocus x="
' onfocus=alert(1) autofocus x='
` onfocus=alert(1) autofocus x=`
x onfocus=alert(1) autofocus
" onclick="alert(1)
"/onmouseover=alert(1)//
" style="background:url(CANARY)
" autofocus onfocus="alert(1)" value="
" formaction="CANARY
" type="image" src="CANARY
" name="action" value="accept
"""

_LOADS = """
<link rel=stylesheet href=CANARY>
<link rel=icon href=CANARY>
<link rel=preload href=CANARY as=script>
<link rel=prefetch href=CANARY>
<link rel=dns-prefetch href=CANARY>
<link rel=preconnect href=CANARY>
<link rel=manifest href=CANARY>
<meta http-equiv=refresh content="0;url=CANARY">
<meta http-equiv=Content-Security-Policy content="default-src *">
<base href=CANARY>
<style>@import 'CANARY';</style>
<style>body{background:url(CANARY)}</style>
<style>@font-face{font-family:x;src:url(CANARY)}*{font-family:x}</style>
<div style="background:url(CANARY)">x</div>
<iframe src=CANARY></iframe>
<iframe srcdoc="<script>alert(1)</script>"></iframe>
<iframe src="javascript:alert(1)"></iframe>
<frameset><frame src=CANARY></frameset>
<object data=CANARY></object>
<embed src=CANARY>
<applet code=CANARY></applet>
<portal src=CANARY></portal>
<form action=CANARY><button>Approve</button></form>
<form id=x></form><button form=x formaction=CANARY>Approve</button>
</form><form action=CANARY method=post>
<button name=action value=accept>Approve</button>
<input type=hidden name=action value=accept>
<input type=image src=CANARY>
<isindex action=CANARY>
<template><script>alert(1)</script></template>
<dialog open><h1>Your approval is needed</h1></dialog>
<table background=CANARY><tr><td>x</table>
<bgsound src=CANARY>
<image src=CANARY>
<picture><source srcset=CANARY><img></picture>
<fencedframe src=CANARY></fencedframe>
<slot onslotchange=alert(1)>
<html manifest=CANARY>
"""

_TEXTS = """
javascript:alert(1)
JaVaScRiPt:alert(1)
data:text/html,<script>alert(1)</script>
CANARY
//127.0.0.1:9/canary
&lt;script&gt;alert(1)&lt;/script&gt;
&#60;script&#62;alert(1)&#60;/script&#62;
&#x3c;img src=x onerror=alert(1)&#x3e;
&lt
&
&amp;amp;
&quot; onfocus=alert(1) autofocus x=&quot;
%3Cscript%3Ealert(1)%3C/script%3E
\\u003cscript\\u003ealert(1)\\u003c/script\\u003e
{{constructor.constructor('alert(1)')()}}
${alert(1)}
<%= 7*7 %>
#{7*7}
{0.__class__}
%s%s%n
<
>
"
'
`
</
<!
<!--
-->
<a
=
/>
*/}body{background:url(CANARY)}/*
;alert(1)//
__proto__
"""

_HIDDEN = [
    "\u202etpircs\u202c",
    "a\u2066b\u2067c\u2068d\u2069",
    "\u200e\u200f\u061c",
    "null\x00byte<script>alert(1)</script>",
    "\x1b[31mred\x1b]0;title\x07",
    "\ufeff<script>alert(1)</script>",
    "+ADw-script+AD4-alert(1)+ADw-/script+AD4-",
    "\u2028alert(1)\u2029",
    "zero\u200bwidth\u2060",
    "tag\U000e0041\U000e0042",
    "<\x0cimg\x0csrc=x\x0conerror=alert(1)>",
    "<img\x0bsrc=x onerror=alert(1)>",
    "\x7f\x80\x9f",
    "a" + "\u0301" * 80,
    "\u3164\uffa0\u115f",
    "\ud800 lone",
    "\uffff\ufffe",
    "\uff1cscript\uff1ealert(1)\uff1c/script\uff1e",
    "\u017fcript <\u017fcript>",
    "<\u212a>",
]

PAYLOADS = [
    line.replace("CANARY", CANARY)
    for text in (_SCRIPTS, _HANDLERS, _LOADS, _TEXTS)
    for line in text.strip().splitlines()
] + _HIDDEN

POLYGLOTS = [
    "jaVasCript:/*-/*`/*\\`/*'/*\"/**/(/* */onerror=alert(1) )//</stYle/</titLe/</teXtarEa/</scRipt/--!>"
    "<sVg/<sVg/oNloAd=alert(1)//>",
    f"'\"--></style></title></textarea></option></select></fieldset></section></form></main>"
    f"<script src={CANARY}></script><img src={CANARY} onerror=alert(1)><base href={CANARY}>",
    f"\u202e\x00\"' autofocus onfocus=alert(1) style=background:url({CANARY}) formaction={CANARY} `&lt;&#60;",
]


ACTIONS = ["accept", "reject", "refine", "edit-accept", "ask"]


def interrupt_document(kind: str, data: Any, **more: Any) -> dict[str, Any]:
    return {
        "kind": kind,
        "key": "run:node:0",
        "data": data,
        "requestedAt": "2026-03-02T09:30:00.000Z",
        "expiresAt": "2026-03-09T09:30:00.000Z",
        "runId": "01m7f5zzhp2z8y1fpzhf93nsbb",
        "workflowId": "sales",
        "nodeId": "ask",
        "interruptId": "ask.0",
        "intent": "resolve",
        **more,
    }


def approval(actions: list[str] | None = None, **more: Any) -> dict[str, Any]:
    data = {
        "artifactId": "offer-17",
        "artifactType": "offer",
        "title": "Offer for the Harbour Café",
        "description": "The price is 4 % below the list.\nIt holds for thirty days.\n\nPlease see the delivery date.",
        "artifactData": {
            "customer": "Harbour Café",
            "lines": [
                {"item": "Espresso machine", "count": 1, "price": 2380.5},
                {"item": "Grinder", "count": 2, "price": 410},
            ],
            "delivery": "2026-04-01",
            "note": "Mounting is included.\nTraining is not.",
        },
        "actions": ACTIONS if actions is None else actions,
    }
    return interrupt_document("approval", {**data, **more})


def quorum() -> dict[str, Any]:
    question = approval(["accept", "reject"], requiredApprovals=3, approversList=["ann", "ben", "cleo", "dan"])
    question["data"]["rejectionPolicy"] = "majority"
    votes = [{"voter": "ann", "action": "accept"}, {"voter": "ben", "action": "reject"}]
    return {**question, "votes": votes, "dueAt": "2026-03-05T18:00:00.000Z"}


def clarification(*questions: tuple[str, str, dict[str, Any] | None]) -> dict[str, Any]:
    listed = [
        {"id": name, "question": text, **({} if schema is None else {"schema": schema})}
        for name, text, schema in questions
    ]
    return interrupt_document("clarification", {"questions": listed, "contextType": "travel booking"})


CLARIFICATION = clarification(
    ("why", "What is the journey for?", None),
    ("day", "When do you leave?", {"type": "string", "format": "date"}),
    ("mail", "Where should the tickets go?", {"type": "string", "format": "email"}),
    ("class", "Which class?", {"enum": ["first", "second"]}),
    ("seats", "How many seats?", {"type": "integer", "minimum": 1, "maximum": 9}),
    ("extras", "What else?", {"type": "array", "items": {"enum": ["bicycle", "meal", "quiet zone"]}}),
    ("insured", "Shall we insure the journey?", {"type": "boolean"}),
    ("city", "From which city?", {"enum": [f"City {number}" for number in range(12)]}),
    ("code", "Your cost centre?", {"type": "string", "pattern": "^[A-Z]{2}-[0-9]{3}$", "maxLength": 6}),
    ("weight", "Weight of the luggage, in kg?", {"type": "number", "minimum": 0.5, "exclusiveMaximum": 60}),
    ("rest", "Anything in the form of your system?", {"type": "object"}),
)

REPORT_SCHEMA = {
    "type": "object",
    "required": ["outcome", "count"],
    "properties": {
        "outcome": {"oneOf": [{"const": "ok", "title": "All is well"}, {"const": "bad", "title": "Something broke"}]},
        "count": {"$ref": "#/$defs/count"},
        "remark": {"type": "string", "title": "A remark", "description": "Whatever helps.", "maxLength": 40},
        "key": {"const": "k-1"},
        "more": {},
    },
    "additionalProperties": False,
    "$defs": {"count": {"type": "integer", "minimum": 0}},
}

KINDS: dict[str, dict[str, Any]] = {
    "approval": approval(),
    "approval of a text": approval(artifactData="Dear Ms Wu,\n\n  your order is on its way.\n"),
    "approval of hidden characters": approval(artifactData="safe\u202egnp.exe\u200b"),
    "approval of nothing": approval(["refine", "ask"], artifactData=None),
    "quorum": quorum(),
    "clarification": CLARIFICATION,
    "one question": clarification(("q", "Blue or red?", None)),
    "external event": interrupt_document(
        "external-event", {"eventType": "payment.settled", "correlation": {"order": "A-17"}}
    ),
    "external event with a schema": interrupt_document(
        "external-event",
        {"eventType": "payment.settled", "correlation": {"order": "A-17"}},
        resumeSchema={
            "type": "object",
            "properties": {"order": {"type": "string"}, "amount": {"type": "number"}},
            "required": ["order", "amount"],
        },
    ),
    "custom": interrupt_document("custom", {"customKind": "supplier", "payload": ["north", "south"]}),
    "custom with a schema": interrupt_document("custom", {"customKind": "report"}, resumeSchema=REPORT_SCHEMA),
    "custom with one value": interrupt_document(
        "custom", {"customKind": "n"}, resumeSchema={"type": "integer", "maximum": 5}
    ),
    "exchange": interrupt_document(
        "conversation.exchange", {"conversationId": "c", "prompt": "Hello.\nWhat can we do for you?"}
    ),
    "exchange with a schema": interrupt_document(
        "conversation.exchange", {"conversationId": "c", "prompt": "How was it?", "outcomeSchema": REPORT_SCHEMA}
    ),
    "low confidence": interrupt_document(
        "low-confidence",
        {
            "agentId": "agent.triage",
            "threshold": 0.8,
            "observed": 0.42,
            "decision": {"queue": "refunds", "priority": 2},
        },
    ),
    "low confidence without a decision": interrupt_document(
        "low-confidence", {"agentId": "agent.triage", "threshold": 0.8, "observed": 0.42}
    ),
    "decision of a supervisor": interrupt_document(
        "low-confidence",
        {"agentId": "host:lead", "threshold": 0.7, "observed": 0.5, "decision": {"kind": "terminate"}},
        resumeSchema=ratification_schema(),
    ),
    "odd": interrupt_document("riddle", {"answer": [1, 2, {"deep": None}]}),
    "odd data": interrupt_document("approval", ["no", "object"]),
}


FIXED = {
    "actions",
    "rejectionPolicy",
    "type",
    "format",
    "pattern",
    "required",
    "$ref",
    "$defs",
    "intent",
    "kind",
    "action",
}
"""Members whose texts are words of the protocol or of JSON Schema: others would make it another question."""
TextPath = tuple[str | int, ...]


def text_paths(question: dict[str, Any]) -> list[TextPath]:
    """The paths of all texts, and of all objects whose members somebody has named."""
    return list(_texts(question, ()))


def _texts(value: Any, path: TextPath) -> Iterator[TextPath]:
    if isinstance(value, str):
        yield path
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from _texts(inner, (*path, place))
    elif isinstance(value, dict):
        if path and path[-1] in ("artifactData", "properties", "correlation", "decision", "payload"):
            yield (*path, "*")
        for name, inner in value.items():
            if name not in FIXED or (path and path[-1] == "properties"):
                yield from _texts(inner, (*path, name))


def with_text(question: dict[str, Any], place: TextPath, text: str) -> dict[str, Any]:
    """The question with another text there; `*` renames the first member."""
    changed = copy.deepcopy(question)
    holder: Any = changed
    for step in place[:-1]:
        holder = holder[step]
    if place[-1] == "*":
        first = next(iter(holder))
        members = {text if name == first else name: inner for name, inner in holder.items()}
        holder.clear()
        holder.update(members)
    else:
        holder[place[-1]] = text
    return changed


def with_text_everywhere(question: dict[str, Any], text: str) -> dict[str, Any]:
    """The question with that text and a number in all its places; names last, since they lead to others."""
    changed = question
    found = sorted(text_paths(question), key=lambda path: (path[-1] == "*", -len(path)))
    for number, place in enumerate(found):
        changed = with_text(changed, place, f"{text} {number}")
    return changed
