"""The frame of every page: document, stylesheet, security headers, and the region that holds the workflow's text.

The one stylesheet stands in the page. The Content-Security-Policy names it by its hash, so that no other style and no
script can get in, whatever a question contains.
"""

import hashlib
from base64 import b64encode
from datetime import UTC, datetime
from typing import Any, Final

from weftwork.adapters.http.asgi import Headers
from weftwork.adapters.http.page.markup import Child, Markup, element

STYLESHEET: Final = """
:root{color-scheme:light dark;--ground:#f3f4f6;--card:#fff;--ink:#14181f;--soft:#4a5361;--line:#d3d8df;--edge:#6b7482;
--accent:#1749b8;--go:#0f6b39;--go-ink:#fff;--stop:#ad1f17;--said:#fffaf0;--said-edge:#8a5a00;--wrong:#fdecea}
@media (prefers-color-scheme:dark){:root{--ground:#101318;--card:#191d24;--ink:#eceff4;--soft:#b0b8c5;--line:#363d49;
--edge:#8b95a5;--accent:#9dbcff;--go:#6fd69a;--go-ink:#06210f;--stop:#ff9d94;--said:#211d14;--said-edge:#e0b45c;
--wrong:#381b19}}
*,*::before,*::after{box-sizing:border-box}
html{-webkit-text-size-adjust:100%;text-size-adjust:100%}
body{margin:0;background:var(--ground);color:var(--ink);font:1rem/1.55 system-ui,-apple-system,"Segoe UI",Roboto,
"Noto Sans",sans-serif;overflow-wrap:anywhere}
main,header,footer{max-width:44rem;margin:0 auto;padding:0 1rem}
header{padding-top:1rem;color:var(--soft);font-size:.875rem}
header strong{color:var(--ink);letter-spacing:.02em}
main{padding-bottom:1.5rem}
footer{padding-bottom:2.5rem;color:var(--soft);font-size:.875rem}
h1{font-size:1.625rem;line-height:1.25;margin:.75rem 0 .25rem;letter-spacing:-.01em}
h2{font-size:1.25rem;line-height:1.3;margin:0 0 .5rem}
p{margin:.5rem 0}
.card,.said{background:var(--card);border:1px solid var(--line);border-radius:.75rem;padding:1.125rem;margin:1rem 0}
.said{background:var(--said);border:2px solid var(--said-edge);border-left-width:.5rem}
.words{overflow:hidden;contain:paint;margin:0 -.5rem;padding:.375rem .5rem}
.tag{color:var(--said-edge);font-size:.8125rem;font-weight:600;margin:0 0 .5rem;padding-bottom:.5rem;
border-bottom:1px solid var(--said-edge)}
.end{border-bottom:0;border-top:1px solid var(--said-edge);margin:.5rem 0 0;padding:.5rem 0 0}
.text{white-space:pre-wrap;unicode-bidi:plaintext;margin:.5rem 0}
pre{white-space:pre-wrap;font:.875rem/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;margin:.5rem 0}
code{font:.9375em ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
dl{margin:.5rem 0}dt{font-weight:600}dd{margin:0;min-width:0}
.pair{display:flex;flex-wrap:wrap;gap:0 .75rem;margin:.25rem 0}.nest{margin:.5rem 0}.nest>dd{padding-left:1rem}
dd>:first-child,li>:first-child{margin-top:0}dd>:last-child,li>:last-child{margin-bottom:0}
dd code,li code{font:inherit;font-variant-numeric:tabular-nums}
.facts{font-size:.9375rem;margin:.25rem 0 1rem}.facts dt{font-weight:400;color:var(--soft)}.card .facts{margin:0}
ul{margin:.5rem 0;padding-left:1.25rem}li{margin:.25rem 0}li+li:has(dl){margin-top:.75rem}
li::marker{color:var(--said-edge)}
.kind{color:var(--soft);font-size:.875rem;margin:0 0 .5rem}
.cut,.note{border-left:.25rem solid var(--said-edge);padding:.25rem 0 .25rem .75rem;font-weight:600}
.wrong{background:var(--wrong);border:2px solid var(--stop);border-radius:.75rem;padding:1rem 1.125rem;margin:1rem 0}
.wrong a{color:inherit}
.field{margin:0 0 1.375rem;padding:0;border:0;min-width:0}
.field>label:not(.pick),legend{display:block;font-weight:600;padding:0;margin:0 0 .25rem;white-space:pre-wrap;
unicode-bidi:plaintext;max-width:100%}
.must{font-weight:400;color:var(--soft);font-size:.875rem}
.hint{color:var(--soft);font-size:.875rem;margin:0 0 .375rem}
.bad{color:var(--stop);font-weight:600;font-size:.9375rem;margin:0 0 .375rem}
input,select,textarea{font:inherit;color:var(--ink);background:var(--card);border:1px solid var(--edge);
border-radius:.5rem;max-width:100%}
input:not([type=radio]):not([type=checkbox]),select,textarea{width:100%;min-height:2.75rem;padding:.5rem .75rem}
textarea{display:block;resize:vertical}
.json{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;font-size:1rem}
:disabled{opacity:.65;background:transparent;cursor:default}
[aria-invalid=true]{border:2px solid var(--stop)}
input[type=radio],input[type=checkbox]{width:1.375rem;height:1.375rem;margin:0;flex:none;accent-color:var(--accent)}
.pick{display:flex;align-items:center;gap:.75rem;min-height:2.75rem;padding:.25rem 0;cursor:pointer}
.pick span{min-width:0;unicode-bidi:plaintext}
.buttons{display:flex;flex-wrap:wrap;gap:.75rem;margin:1rem 0 0}.buttons:first-child{margin-top:0}
button{font:inherit;font-weight:600;min-height:3rem;min-width:8rem;padding:.5rem 1.25rem;border-radius:.625rem;
border:2px solid var(--accent);background:transparent;color:var(--accent);cursor:pointer;flex:0 1 auto}
.go{background:var(--go);border-color:var(--go);color:var(--go-ink)}
.stop{border-color:var(--stop);color:var(--stop)}
details{border-top:1px solid var(--line);margin-top:1rem}details+details{margin-top:0}
details[open]{padding-bottom:1.125rem}details:last-of-type{margin-bottom:-.5rem}
summary{min-height:2.75rem;padding:.625rem 0;font-weight:600;color:var(--accent);cursor:pointer}
:focus-visible{outline:3px solid var(--accent);outline-offset:2px}
button:hover{filter:brightness(1.08)}
@media (max-width:30rem){button{flex:1 1 100%}.nest>dd{padding-left:.5rem}}
@media (prefers-reduced-motion:reduce){*{transition:none;animation:none;scroll-behavior:auto}}
@media (forced-colors:active){button{border-color:ButtonText}}
@media print{.buttons,details{display:none}}
""".strip()
_HASH: Final = b64encode(hashlib.sha256(STYLESHEET.encode()).digest()).decode()
CONTENT_SECURITY_POLICY: Final = (
    f"default-src 'none'; style-src 'sha256-{_HASH}'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
HEADERS: Final[Headers] = [
    (b"content-security-policy", CONTENT_SECURITY_POLICY.encode()),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"x-robots-tag", b"noindex"),
]
CONTENT_TYPE: Final = b"text/html; charset=utf-8"
_REGION_START = "From the workflow. This host passes it on and has not checked it."
_REGION_END = "End of what the workflow says."


def render_document(title: str, *content: Child) -> bytes:
    """A whole page. Its title is the host's: what a question says never leaves its region."""
    head = element(
        "head",
        {},
        element("meta", {"charset": "utf-8"}),
        element("meta", {"name": "viewport", "content": "width=device-width, initial-scale=1"}),
        element("meta", {"name": "color-scheme", "content": "light dark"}),
        element("title", {}, f"{title} · weftwork"),
        element("style", {}, Markup(STYLESHEET)),
    )
    top = element("header", {}, element("strong", {}, "weftwork"), " · workflow host")
    end = element("footer", {}, element("p", {}, "This page needs no account and loads nothing from elsewhere."))
    main = element("main", {}, element("h1", {}, title), *content)
    body = element("body", {}, top, main, end)
    page = Markup(f"<!doctype html>\n{element('html', {'lang': 'en', 'dir': 'ltr'}, head, body)}\n")
    return page.encode()


def workflow_region(*content: Child) -> Markup:
    """The region of what comes from the workflow: bounded on every side, and named at both ends.

    Nothing inside is drawn over the host's own words, however high its letters are piled.
    """
    label = element("p", {"class": "tag"}, _REGION_START)
    end = element("p", {"class": "tag end"}, _REGION_END)
    return element(
        "section",
        {"class": "said", "aria-label": "From the workflow"},
        label,
        element("div", {"class": "words"}, *content),
        end,
    )


def fact_list(rows: list[tuple[str, Child]]) -> Child:
    """Short facts, each with its name; those without a value are left out."""
    cells: list[Child] = []
    for name, value in rows:
        if value:
            cells.append(element("div", {"class": "pair"}, element("dt", {}, name), element("dd", {}, value)))
    return element("dl", {"class": "facts"}, *cells) if cells else None


def format_time(text: Any) -> Child:
    """An instant of the wire in words, always UTC; None for what is none."""
    try:
        at = datetime.fromisoformat(text)
        at = at.astimezone(UTC) if at.tzinfo is not None else at.replace(tzinfo=UTC)
    except (TypeError, ValueError, OverflowError):
        return None
    return element("time", {"datetime": f"{at:%Y-%m-%dT%H:%MZ}"}, f"{at.day} {at:%B %Y, %H:%M} UTC")
