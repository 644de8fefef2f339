"""What attacks on memory look like, as patterns.

Pure data for `lint_injection`. Each pattern was tried on public instructions for agents
and on the rules that people write: those must pass.
"""

from typing import Final, NamedTuple

__all__ = ["PATTERNS", "Pattern"]


class Pattern(NamedTuple):
    """A regular expression, tried without case around the *literals* that announce it."""

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
    "(?:(?:the |this |your |all |any |every |user(?:['\u2019]?s)? |entire |whole |full "
    "|current |contents? of ){0,5}"
    "(?:conversations?|chat (?:history|logs?)|system prompt|memory(?: files?| contents?)?"
    r"|environment variables?|env(?:ironment)? vars?|\.env(?: files?)?|ssh keys?"
    "|private keys?|credentials|secrets|passwords|api keys?|access tokens"
    r"|(?:memory|agents|claude)\.md|/etc/(?:passwd|shadow)"
    r"|~?/?\.(?:ssh|aws|netrc|git-credentials)\b[\w./-]*"
    r"|\$\{?\w*(?:token|key|secret|password)\w*\}?"
    "|(?:user(?:['\u2019]?s)?|personal|private|confidential) (?:data|info\\w*|files?)))"
)
_SOMEWHERE = r"(?:https?://|\bwebhook|[\w.+-]+@[\w-]+\.\w|\b[\w-]+\.(?:com|net|org|io|ru|cn|xyz|top|site)\b)"
_NAME = (
    r"(?:https?://|(?-i:[A-Z])[\w&-]*(?-i:[a-z])\w*"
    r"|[\w-]+\.(?:com|net|org|io|ai|app|dev|co|example)\b"
    rf"|[\w'\u2019-]+{_}(?:products?|services|brand|shop|store)\b)"
)

PATTERNS: Final = (
    Pattern(
        "OM131",
        ("ignore", "disregard", "forget"),
        rf"\b(?:ignore|disregard|forget){_}(?:(?:about|all|any|of|the|your|my|every|these"
        rf"|those|each|completely){_}){{0,4}}{_EARLIER}{_}(?:\w+{_}){{0,2}}?{_ORDERS}\b",
    ),
    Pattern(
        "OM131",
        ("ignore", "disregard", "forget", "override", "bypass"),
        rf"\b(?:ignore|disregard|forget|override|bypass){_}(?:(?:all|any|of){_}){{0,2}}"
        rf"(?:(?:your|my|the){_})?(?:(?:system|developer|safety|security){_}"
        rf"(?:instructions?|prompts?|guidelines|messages?|restrictions)\b"
        rf"|(?<=your ){_ORDERS}\b)",
    ),
    Pattern(
        "OM131",
        ("ignore", "disregard", "forget"),
        rf"\b(?:ignore|disregard|forget){_}(?:everything|anything|all){_}(?:that{_})?"
        rf"(?:you{_}(?:were|are|have{_}been|'ve{_}been){_}(?:told|taught|instructed|given)\b"
        rf"|you{_}(?:have{_}|'ve{_})?(?:learned|learnt)\b"
        r"|(?:(?:written|said|stated)\s+)?(?:above|before(?: this)?|earlier|previously)"
        r"(?=\s*(?:[.,!;:]|\band\b|$)))",
    ),
    Pattern(
        "OM131",
        ("ignore", "disregard", "forget"),
        rf"\b(?:ignore|disregard|forget){_}all{_}(?:(?:of|the|your|my){_}){{0,2}}"
        r"(?:instructions|directives)(?=\s*(?:[.,;:!]|\byou\b|\band\b|\bbefore\b"
        r"|\babove\b|$))",
    ),
    Pattern(
        "OM131",
        ("ignore", "disregard", "forget", "new instructions"),
        rf"\b(?:ignore|disregard|forget){_}(?:all|any){_}(?:(?:of{_})?(?:the|your|my){_})?"
        rf"(?:(?:previous|prior|earlier){_}rules|other{_}instructions)\b"
        rf"|\b(?:ignore|disregard|forget){_}(?:(?:all|everything|of|the){_}){{0,3}}above"
        rf"{_}and{_}(?:instead|do|follow|print|reply|respond|answer|say|output)\b"
        rf"|\byour{_}new{_}instructions{_}are\b"
        rf"|\b(?:obey|follow){_}(?:(?:the|these|following|my){_}){{0,3}}new{_}instructions\b",
    ),
    Pattern(
        "OM131",
        ("overrid", "supersede", "precedence over"),
        rf"\b(?:this|these|the{_}following){_}(?:\w+{_}){{0,3}}(?:overrides?|supersedes?"
        rf"|takes?{_}precedence{_}over){_}(?:(?:all|any|your|the){_}){{0,2}}"
        rf"(?:(?:system|developer|safety){_}(?:prompts?|instructions?|rules|messages?"
        rf"|guidelines|policy|policies)|(?<=all )(?:previous|prior|earlier|other){_}"
        r"(?:instructions|prompts))\b",
    ),
    Pattern(
        "OM131",
        ("ignor", "vergiss", "missachte", "vergesse"),
        rf"\b(?:ignoriere?n?|vergiss|vergesse|missachte){_}(?:\w+{_}){{0,3}}"
        r"(?:vorherigen|vorigen|bisherigen|obigen|früheren|vorangegangenen|vorhergehenden)\s+"
        r"(?:\w+\s+)?(?:anweisungen|instruktionen|regeln|befehle|vorgaben)",
    ),
    Pattern(
        "OM131",
        ("ignore", "oublie"),
        rf"\b(?:ignore[rsz]?|oublie[rsz]?){_}(?:toutes{_})?(?:les|tes|vos){_}"
        r"(?:instructions|consignes|directives)\s+(?:précédentes|antérieures|ci-dessus)",
    ),
    Pattern(
        "OM131",
        ("ignor", "olvid", "esque", "dimentica"),
        rf"\b(?:ignor[aei]\w?|olvid[ae]\w?|esque(?:ça|ce)\w?|dimentica\w?){_}"
        rf"(?:(?:tod[ao]s|tutte){_})?(?:(?:las|tus|sus|os|as|suas|le){_})?(?:instrucciones"
        r"|instruções|istruzioni)\s+(?:anteriores|previas|prévias|acima|precedenti)",
    ),
    Pattern(
        "OM131",
        ("игнорируй", "забудь"),
        r"(?:игнорируй(?:те)?|забудь(?:те)?)\s+(?:все\s+|про\s+)*(?:предыдущие|прежние"
        r"|вышеуказанные|прошлые)\s+(?:инструкции|указания|команды|правила)",
    ),
    Pattern(
        "OM131",
        ("忽略", "无视", "忘记", "忽視", "無視", "忘记", "무시"),
        r"(?:忽略|无视|忘记|忽視)[^。\n]{0,8}(?:之前|以上|先前|前面|上述|此前)[^。\n]{0,8}"
        r"(?:指令|指示|说明|提示|规则|要求)|(?:以前|これまで|上記|前)の[^。\n]{0,8}"
        r"(?:指示|命令|プロンプト)[^。\n]{0,4}無視|(?:이전|위의?|앞선)\s*(?:모든\s*)?"
        r"(?:지시|명령|지침)[^.\n]{0,6}무시",
    ),
    Pattern(
        "OM132",
        ("you are now", "you're now"),
        rf"\byou(?:{_}are|'re|\u2019re){_}now{_}(?:dan\b|jailbroken|unrestricted|uncensored"
        rf"|free{_}(?:of|from)|no{_}longer{_}(?:bound|restricted|limited|an?{_}(?:ai|assistant))"
        rf"|in{_}(?:developer|god|admin|jailbreak|debug|unrestricted){_}mode"
        r"|(?:an?|the|my)\s+(?!member\b|contributor|maintainer|owner\b|few\b|bit\b|part\b"
        r"|proud\b|step\b)\w)",
    ),
    Pattern(
        "OM132",
        ("pretend", "act as", "no restrictions", "no limits", "without restrictions"),
        rf"\bpretend{_}(?:that{_})?you(?:{_}are|'re|\u2019re)\b"
        rf"|\bact{_}as{_}(?:if{_}you{_}(?:have|had){_}no|an?{_}(?:unrestricted|uncensored|jailbroken))"
        rf"|\byou{_}(?:now{_})?have{_}no{_}(?:restrictions|limits|limitations|guidelines|rules)\b"
        rf"|\b(?:answer|respond|operate|act){_}without{_}(?:any{_})?restrictions\b",
    ),
    Pattern(
        "OM132",
        ("from now on", "henceforth", "going to", "i want you to"),
        rf"\b(?:from{_}now{_}on|henceforth){_}you(?:{_}are|'re|\u2019re|{_}will{_}be){_}"
        rf"(?:an?|my|called|named|in{_}the{_}role)\b"
        rf"|\b(?:from{_}now{_}on|henceforth){_}you{_}(?:will|must|shall|should){_}"
        rf"(?:act|answer|respond|behave){_}as\b"
        rf"|\byou(?:{_}are|'re|\u2019re){_}going{_}to{_}(?:act{_}as|pretend|role-?play"
        rf"|play{_}the{_}role|immerse)\b"
        rf"|\bi{_}want{_}you{_}to{_}(?:act{_}as|pretend|role-?play)\b",
    ),
    Pattern(
        "OM132",
        (
            "do anything now",
            "restrictions",
            "filters",
            "confines of ai",
            "unfiltered",
            "uncensored",
        ),
        rf"\bdo{_}anything{_}now\b|\bconfines{_}of{_}ai\b"
        rf"|\bfree{_}(?:of|from){_}(?:all|any){_}(?:restrictions|filters|limitations)\b"
        rf"|\b(?:without|no){_}(?:any{_})?(?:ethical|moral|content|safety){_}"
        rf"(?:restrictions|filters|guidelines|limits)\b"
        r"|\b(?:unfiltered|uncensored|unrestricted|amoral)\b[^.\n]{0,30}"
        r"\b(?:chatbot|assistant|responses?|answers?)\b",
    ),
    Pattern(
        "OM133",
        ("tell", "inform", "alert", "notify", "warn"),
        rf"\b(?:do{_}not|don't|don\u2019t|never|must{_}not){_}(?:ever{_})?{_QUIET}{_}{_USER}"
        rf"(?:{_}(?:about|of){_}(?:this|these|it|them|that|any)\b|{_}(?:this|these|anything)\b"
        rf"|{_}(?:that{_})?you{_}(?:did|sent|copied|uploaded|read|wrote){_}(?:this|it|so|that)\b"
        r"|(?=\s*(?:[.!;]|$|\n)))",
    ),
    Pattern(
        "OM133",
        ("mention", "reveal", "disclose"),
        rf"\b(?:do{_}not|don't|don\u2019t|never|must{_}not){_}(?:ever{_})?(?:mention|reveal|disclose){_}"
        rf"(?:this|these|it|that)(?:{_}\w+){{0,2}}?{_}to{_}{_USER}\b",
    ),
    Pattern(
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
    Pattern(
        "OM134",
        ("recommend", "promote", "endorse", "advertise", "suggest"),
        rf"\balways{_}(?:recommend|promote|endorse|advertise|suggest(?=\s+(?:buying|using|purchasing)))"
        rf"{_}(?:(?:the|buying|using|purchasing|products|services){_})*(?:from{_}|by{_})?{_NAME}",
    ),
    Pattern(
        "OM134",
        ("trust",),
        rf"\balways{_}trust{_}(?:(?:all|any|the|every|every{_}\w+){_})*(?:(?:packages|downloads|links"
        rf"|content|instructions|code|scripts|sites?|websites?|emails?|messages?|anything|everything)"
        rf"{_}(?:from|by|on|at|in){_}|{_NAME})"
        rf"|\b(?:remember|treat|regard|consider|cite){_}\S{{2,60}}(?:{_}\w+)?{_}as{_}(?:an?|the|your){_}"
        rf"(?:most{_})?(?:trusted|authoritative|reliable){_}source\b",
    ),
    Pattern(
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
        rf"\b(?:send|post|upload|forward|transmit|exfiltrate|leak"
        rf"|submit|e-?mail){_}(?:\w+{_}){{0,4}}?(?:(?:contents?|copy|copies|values?){_}of{_})?{_PRIVATE}"
        rf"[^.!?\n]{{0,60}}?{_}(?:to|at|via){_}[^.!?\n]{{0,40}}?{_SOMEWHERE}",
    ),
    Pattern(
        "OM135",
        ("secretly", "covertly", "silently", "quietly"),
        rf"\b(?:secretly|covertly|silently|quietly){_}(?:send|post|upload|forward|transmit"
        rf"|copy|e-?mail)\b[^.!?\n]{{1,80}}?{_}(?:to|at|via){_}[^.!?\n]{{0,40}}?{_SOMEWHERE}",
    ),
    Pattern(
        "OM135",
        ("](http", "](<http"),
        r"!\[[^\]\n]{0,80}\]\(\s*<?https?://[^)\s]{1,200}[?&/=](?:\{|<|\$\{|%7b|\[)[^)\n]{0,80}",
    ),
    Pattern(
        "OM135",
        ("curl", "wget", "nc "),
        r"\b(?:curl|wget|nc)\s[^\n]{0,160}?(?:@|\$\(\s*cat\s+|--post-file[= ]|<\s*)[\"']?"
        r"(?:~|\$HOME|/home/\w+|/root|\.)?/?(?:\.ssh/|\.aws/|\.env\b|\.netrc|\.git-credentials|id_rsa|id_ed25519)",
    ),
    Pattern(
        "OM137",
        ("<|", "[inst]", "[/inst]", "<<sys>>", "<</sys>>", "_of_turn>"),
        r"<\|(?:im_start|im_end|im_sep|endoftext|endofprompt|system|user|assistant|end|eot_id|eom_id"
        r"|start_header_id|end_header_id|begin_of_text|end_of_text|channel|message|start|return"
        r"|fim_prefix|fim_suffix|fim_middle)\|>|\[/?INST\]|<</?SYS>>|<(?:start|end)_of_turn>",
    ),
)
