"""Instruction-like text: sentences that try to take the agent over.

Pure rule of `lint`. Patterns for what attacks on memory look like, chosen so that the
rules that people give an agent ("never write to the billing database") pass. What they
miss is not thereby safe: nothing here claims to stop injection by meaning.

A pattern is tried only around the literals that announce it.
"""

import re
import unicodedata
from collections.abc import Iterator
from typing import Final, NamedTuple

from openhands_memory.sanitize import show_hidden
from openhands_memory.upkeep.document import Document
from openhands_memory.upkeep.findings import Finding, finding

__all__ = ["find_injection"]

#: Characters around a literal in which its pattern may match.
_BEFORE, _AFTER = 160, 320

_MESSAGES: Final = {
    "OM131": "orders the agent to ignore its instructions; remove it",
    "OM132": "gives the agent a new role or lifts its limits; remove it",
    "OM133": "orders the agent to keep something from the user; remove it",
    "OM134": "orders the agent to always recommend or trust somebody; state a fact instead",
    "OM135": "orders the agent to send private data somewhere; remove it",
    "OM136": "holds encoded text and the order to follow it; remove it",
    "OM137": "is a control token of a chat template; remove it or spell it out",
}


class _Pattern(NamedTuple):
    code: str
    literals: tuple[str, ...]
    source: str


# A gap between words: blanks, emphasis, a line end with its indentation.
_ = r"[\s*_>~\"'\u2018\u2019\u201c\u201d,-]{1,12}"
_EARLIER = "(?:previous|prior|earlier|preceding|foregoing|former|above)"
_ORDERS = (
    "(?:instructions?|prompts?|guidelines|directions|directives|commands|messages)"
)
_QUIET = "(?:tell|inform|alert|notify|warn)"
_USER = "(?:the |your |any )?(?:users?|humans?|operators?|developers?)"
_PRIVATE = (
    "(?:(?:the |this |your |all |any |every |user'?s? |entire |whole |full |current ){0,4}"
    "(?:conversations?|chat (?:history|logs?)|system prompt|memory(?: files?| contents?)?"
    r"|environment variables?|env(?:ironment)? vars?|\.env(?: files?)?|ssh keys?"
    "|private keys?|credentials|secrets|passwords|api keys|access tokens"
    r"|(?:user|personal|private|confidential) (?:data|info\w*|files?)))"
)
_SOMEWHERE = r"(?:https?://|\bwebhook|[\w.+-]+@[\w-]+\.\w|\b[\w-]+\.(?:com|net|org|io|ru|cn|xyz|top|site)\b)"
_NAME = (
    r"(?:https?://|(?-i:[A-Z])[\w&-]*(?-i:[a-z])\w*"
    r"|[\w-]+\.(?:com|net|org|io|ai|app|dev|co|example)\b"
    rf"|[\w'\u2019-]+{_}(?:products?|services|brand|shop|store)\b)"
)

_PATTERNS: Final = (
    _Pattern(
        "OM131",
        ("ignore", "disregard", "forget"),
        rf"\b(?:ignore|disregard|forget){_}(?:(?:about|all|any|of|the|your|my|every|these"
        rf"|those|each|completely){_}){{0,4}}{_EARLIER}{_}(?:\w+{_}){{0,2}}?{_ORDERS}\b",
    ),
    _Pattern(
        "OM131",
        ("ignore", "disregard", "forget", "override", "bypass"),
        rf"\b(?:ignore|disregard|forget|override|bypass){_}(?:(?:all|any|of){_}){{0,2}}"
        rf"(?:(?:your|my|the){_})?(?:(?:system|developer|safety|security){_}"
        rf"(?:instructions?|prompts?|guidelines|messages?|restrictions)\b"
        rf"|(?<=your ){_ORDERS}\b)",
    ),
    _Pattern(
        "OM131",
        ("ignore", "disregard", "forget"),
        rf"\b(?:ignore|disregard|forget){_}(?:everything|anything|all){_}(?:that{_})?"
        rf"(?:you{_}(?:were|are|have{_}been|'ve{_}been){_}(?:told|taught|instructed|given)"
        r"|(?:(?:written|said|stated)\s+)?(?:above|before(?: this)?|earlier|previously)"
        r"(?=\s*(?:[.,!;:]|\band\b|$)))",
    ),
    _Pattern(
        "OM131",
        ("overrid", "supersede", "precedence over"),
        rf"\b(?:this|these|the{_}following){_}(?:\w+{_}){{0,3}}(?:overrides?|supersedes?"
        rf"|takes?{_}precedence{_}over){_}(?:(?:all|any|your|the|other){_}){{0,3}}"
        rf"(?:system|developer|safety|previous|prior|earlier){_}(?:prompts?|instructions?"
        r"|rules|messages?|guidelines|policy|policies)\b",
    ),
    _Pattern(
        "OM131",
        ("ignor", "vergiss", "missachte", "vergesse"),
        rf"\b(?:ignoriere?n?|vergiss|vergesse|missachte){_}(?:\w+{_}){{0,3}}"
        r"(?:vorherigen|vorigen|bisherigen|obigen|früheren|vorangegangenen|vorhergehenden)\s+"
        r"(?:\w+\s+)?(?:anweisungen|instruktionen|regeln|befehle|vorgaben)",
    ),
    _Pattern(
        "OM131",
        ("ignore", "oublie"),
        rf"\b(?:ignore[rsz]?|oublie[rsz]?){_}(?:toutes{_})?(?:les|tes|vos){_}"
        r"(?:instructions|consignes|directives)\s+(?:précédentes|antérieures|ci-dessus)",
    ),
    _Pattern(
        "OM131",
        ("ignor", "olvid", "esque", "dimentica"),
        rf"\b(?:ignor[aei]\w?|olvid[ae]\w?|esque(?:ça|ce)\w?|dimentica\w?){_}"
        rf"(?:tod[ao]s|tutte)?{_}?(?:(?:las|tus|sus|os|as|suas|le){_})?(?:instrucciones"
        r"|instruções|istruzioni)\s+(?:anteriores|previas|prévias|acima|precedenti)",
    ),
    _Pattern(
        "OM131",
        ("игнорируй", "забудь"),
        r"(?:игнорируй(?:те)?|забудь(?:те)?)\s+(?:все\s+|про\s+)*(?:предыдущие|прежние"
        r"|вышеуказанные|прошлые)\s+(?:инструкции|указания|команды|правила)",
    ),
    _Pattern(
        "OM131",
        ("忽略", "无视", "忘记", "忽視", "無視", "忘记", "무시"),
        r"(?:忽略|无视|忘记|忽視)[^。\n]{0,8}(?:之前|以上|先前|前面|上述|此前)[^。\n]{0,8}"
        r"(?:指令|指示|说明|提示|规则|要求)|(?:以前|これまで|上記|前)の[^。\n]{0,8}"
        r"(?:指示|命令|プロンプト)[^。\n]{0,4}無視|(?:이전|위의?|앞선)\s*(?:모든\s*)?"
        r"(?:지시|명령|지침)[^.\n]{0,6}무시",
    ),
    _Pattern(
        "OM132",
        ("you are now", "you're now"),
        rf"\byou(?:{_}are|'re|\u2019re){_}now{_}(?:dan\b|jailbroken|unrestricted|uncensored"
        rf"|free{_}(?:of|from)|no{_}longer{_}(?:bound|restricted|limited|an?{_}(?:ai|assistant))"
        rf"|in{_}(?:developer|god|admin|jailbreak|debug|unrestricted){_}mode"
        r"|(?:an?|the|my)\s+(?!member\b|contributor|maintainer|owner\b|few\b|bit\b|part\b"
        r"|proud\b|step\b)\w)",
    ),
    _Pattern(
        "OM132",
        ("pretend", "act as", "no restrictions", "no limits", "without restrictions"),
        rf"\bpretend{_}(?:that{_})?you(?:{_}are|'re|\u2019re)\b"
        rf"|\bact{_}as{_}(?:if{_}you{_}(?:have|had){_}no|an?{_}(?:unrestricted|uncensored|jailbroken))"
        rf"|\byou{_}(?:now{_})?have{_}no{_}(?:restrictions|limits|limitations|guidelines|rules)\b"
        rf"|\b(?:answer|respond|operate|act){_}without{_}(?:any{_})?restrictions\b",
    ),
    _Pattern(
        "OM133",
        ("tell", "inform", "alert", "notify", "warn"),
        rf"\b(?:do{_}not|don't|don\u2019t|never|must{_}not){_}(?:ever{_})?{_QUIET}{_}{_USER}"
        rf"(?:{_}(?:about|of){_}(?:this|these|it|them|that|any)\b|{_}(?:this|these|anything)\b"
        rf"|{_}(?:that{_})?you{_}(?:did|sent|copied|uploaded|read|wrote){_}(?:this|it|so|that)\b"
        r"|(?=\s*(?:[.!;]|$|\n)))",
    ),
    _Pattern(
        "OM133",
        ("mention", "reveal", "disclose"),
        rf"\b(?:do{_}not|don't|don\u2019t|never|must{_}not){_}(?:ever{_})?(?:mention|reveal|disclose){_}"
        rf"(?:this|these|it|that)(?:{_}\w+){{0,2}}?{_}to{_}{_USER}\b",
    ),
    _Pattern(
        "OM133",
        (
            "secret",
            "hidden",
            "hide",
            "conceal",
        ),
        rf"\bkeep{_}(?:this|these|it){_}(?:\w+{_}){{0,3}}?(?:secret|hidden|confidential){_}from{_}"
        rf"{_USER}|\b(?:hide|conceal){_}(?:this|these|it)(?:{_}\w+)?{_}from{_}{_USER}",
    ),
    _Pattern(
        "OM134",
        ("recommend", "promote", "endorse", "advertise", "suggest"),
        rf"\balways{_}(?:recommend|promote|endorse|advertise|suggest(?=\s+(?:buying|using|purchasing)))"
        rf"{_}(?:(?:the|buying|using|purchasing|products|services){_})*(?:from{_}|by{_})?{_NAME}",
    ),
    _Pattern(
        "OM134",
        ("trust",),
        rf"\balways{_}trust{_}(?:(?:all|any|the|every|every{_}\w+){_})*(?:(?:packages|downloads|links"
        rf"|content|instructions|code|scripts|sites?|websites?|emails?|messages?|anything|everything)"
        rf"{_}(?:from|by|on|at|in){_}|{_NAME})"
        rf"|\b(?:remember|treat|regard|consider|cite){_}\S{{2,60}}(?:{_}\w+)?{_}as{_}(?:an?|the|your){_}"
        rf"(?:most{_})?(?:trusted|authoritative|reliable){_}source\b",
    ),
    _Pattern(
        "OM135",
        (
            "send",
            "post",
            "upload",
            "forward",
            "transmit",
            "exfiltrate",
            "leak",
            "submit",
            "email",
            "mail",
        ),
        rf"(?<!never )(?<!not )(?<!n't )\b(?:send|post|upload|forward|transmit|exfiltrate|leak"
        rf"|submit|e-?mail){_}(?:\w+{_}){{0,4}}?(?:(?:contents?|copy|copies|values?){_}of{_})?{_PRIVATE}"
        rf"[^.!?\n]{{0,60}}?{_}(?:to|at|via){_}[^.!?\n]{{0,40}}?{_SOMEWHERE}",
    ),
    _Pattern(
        "OM135",
        ("](http", "](<http"),
        r"!\[[^\]\n]{0,80}\]\(\s*<?https?://[^)\s]{1,200}[?&/=](?:\{|<|\$\{|%7b|\[)[^)\n]{0,80}",
    ),
    _Pattern(
        "OM135",
        ("curl", "wget", "nc "),
        r"\b(?:curl|wget|nc)\s[^\n]{0,160}?(?:@|\$\(\s*cat\s+|--post-file[= ]|<\s*)[\"']?"
        r"(?:~|\$HOME|/home/\w+|/root|\.)?/?(?:\.ssh/|\.aws/|\.env\b|\.netrc|\.git-credentials|id_rsa|id_ed25519)",
    ),
    _Pattern(
        "OM137",
        ("<|", "[inst]", "[/inst]", "<<sys>>", "<</sys>>", "_of_turn>"),
        r"<\|(?:im_start|im_end|im_sep|endoftext|endofprompt|system|user|assistant|end|eot_id|eom_id"
        r"|start_header_id|end_header_id|begin_of_text|end_of_text|channel|message|start|return"
        r"|fim_prefix|fim_suffix|fim_middle)\|>|\[/?INST\]|<</?SYS>>|<(?:start|end)_of_turn>",
    ),
)


def find_injection(document: Document) -> Iterator[Finding]:
    """Each place where the text tries to take the agent over, one a line and code."""
    text = document.body
    reported: set[tuple[int, str]] = set()
    for code, at in _hits(text):
        line = text.count("\n", 0, at) + 1
        if (line, code) not in reported:
            reported.add((line, code))
            column = at - text.rfind("\n", 0, at)
            yield finding(code, _MESSAGES[code], line=line, column=column)
    # Spelled with hidden or compatible characters it reads the same to a model.
    for number, plain in _unmasked(document):
        for code, _at in _hits(plain):
            if (number, code) not in reported:
                reported.add((number, code))
                yield finding(code, _MESSAGES[code], line=number)


def _unmasked(document: Document) -> Iterator[tuple[int, str]]:
    if document.body.isascii():
        return
    for number, line in enumerate(document.lines, 1):
        if line.isascii():
            continue
        plain = re.sub(r"\[U\+[0-9A-F]+\]", "", show_hidden(line))
        plain = unicodedata.normalize("NFKC", plain)
        if plain != line:
            yield number, plain


def _hits(text: str) -> Iterator[tuple[str, int]]:
    lowered = text.lower()
    if len(lowered) != len(text):  # a few letters have longer lower-case forms
        lowered = "".join(low if len(low := c.lower()) == 1 else c for c in text)
    for pattern in _PATTERNS:
        for start, end in _windows(lowered, pattern.literals):
            found = re.compile(pattern.source, re.IGNORECASE | re.MULTILINE)
            for hit in found.finditer(text, start, end):
                yield pattern.code, hit.start()
    yield from _encoded(text, lowered)


def _windows(lowered: str, literals: tuple[str, ...]) -> Iterator[tuple[int, int]]:
    """Where one of *literals* is near, as spans that do not overlap."""
    found: list[int] = []
    for literal in literals:
        at = lowered.find(literal)
        while at >= 0:
            found.append(at)
            at = lowered.find(literal, at + len(literal))
    start, end = 0, -1
    for at in sorted(found):
        if at - _BEFORE > end:
            if end >= 0:
                yield start, end
            start = max(0, at - _BEFORE)
        end = at + _AFTER
    if end >= 0:
        yield start, end


# --- Encoded orders ---------------------------------------------------------------------

_CODED: Final = r"(?<![\w+/=.-])[A-Za-z0-9+/]{28,4096}={0,2}(?![\w+/])"
_DECODE: Final = ("base64", "decod", "atob(")
_OBEY: Final = r"\b(?:follow|obey|execute|eval|exec|run)\b|\|\s*(?:ba|z)?sh\b"


def _encoded(text: str, lowered: str) -> Iterator[tuple[str, int]]:
    """Base64 between the words to decode it and the words to follow it."""
    for start, end in _windows(lowered, _DECODE):
        for run in re.finditer(_CODED, text[start:end]):
            if (
                run[0].islower()
                or run[0].isupper()
                or re.fullmatch("[0-9a-fA-F]+", run[0])
            ):
                continue  # a word, a hash
            at = start + run.start()
            near = lowered[max(0, at - _BEFORE) : start + run.end() + _BEFORE]
            if any(word in near for word in _DECODE) and re.search(_OBEY, near):
                yield "OM136", at
