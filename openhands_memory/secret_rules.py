"""What secrets look like: the table of named kinds, and how a value is judged.

Deliberately no search and no masking here (`secrets` does both), no check whether a
token is live, and no dictionary of leaked passwords. Sources: the providers' public
documentation of their token formats; prefixes are theirs, the patterns are ours.

Every quantifier is bounded, and every pattern starts at, or lies around, one of the
rule's literals, which `str.find` looks for first.
"""

import base64
import binascii
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Final

__all__ = [
    "KEYWORDS",
    "KINDS",
    "MASK",
    "RULES",
    "Assignment",
    "Rule",
    "decoded_text",
    "find_assignments",
    "hits",
    "is_placeholder",
    "judge_assignment",
    "looks_random",
]

MASK: Final = re.compile(r"\[secret: [A-Za-z][\w.-]{0,63}\]")


@dataclass(frozen=True, slots=True)
class Rule:
    """One kind of secret: literals that announce it, the pattern, and a last check.

    *pattern* starts at a literal, or, when *lead* is not 0, at most *lead* characters
    before one. *fold* looks for the literals in lower-cased text. The group `s`, where
    there is one, is the secret; *check* sees the match and may still say no.
    """

    kind: str
    literals: tuple[str, ...]
    source: str
    check: Callable[[re.Match[str]], bool]
    lead: int = 0
    fold: bool = False

    @property
    def pattern(self) -> re.Pattern[str]:
        """The pattern, compiled when a literal was met: most never are."""
        # ASCII: no Kelvin sign is a `k` to the pattern but not to the literal.
        return _compiled(self.source, re.IGNORECASE | re.ASCII if self.fold else 0)

    @property
    def group(self) -> int | str:
        return "s" if "(?P<s>" in self.source else 0


@cache
def _compiled(source: str, flags: int = 0) -> re.Pattern[str]:
    return re.compile(source, flags)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# --- Judging values -------------------------------------------------------------------

_ALPHA: Final = re.compile(r"[^\W\d_]+")
_PARTS: Final = re.compile(r"[-_.:/+@ ]+")
# Words of a name or of prose; camelCase is two words, `v2` and `1234` are no secret.
_PLAIN_PART: Final = re.compile(
    r"[A-Z]?[a-z\u00df-\u00ff]{1,30}(?:[A-Z][a-z]{2,20})*|[A-Z]{1,24}|[0-9]{1,8}"
    r"|[A-Z]{2,6}[a-z]{2,20}(?:[A-Z][a-z]{1,20})*|[vV][0-9]{1,4}"
    r"|[A-Za-z]{2,12}[0-9]{1,2}|[0-9]{1,3}[a-z]{1,2}"
)
_ONE_CHARACTER: Final = re.compile(r"(.)\1*", re.DOTALL)
_FILLERS: Final = frozenset("xX*.•·…#?-_=~0")

_PLACEHOLDER_WORDS: Final = _words(
    """
    your yours example examples placeholder changeme dummy fake redacted redact todo
    tbd insert replace replaceme sample masked hidden removed omitted fixme foobar
    mock notasecret yourpassword yourtoken yourapikey
    """
)
_REFERENCE: Final = re.compile(
    r"\$[{(]|\$[A-Z_][A-Z0-9_]*(?:$|[^a-z0-9])|\$[A-Za-z_]+(?::[A-Za-z_]+|->\w+)?$"
    r"|<[^<>]*>?|\{\{?|%[({]|%[A-Za-z_]+%|#\{|@[A-Za-z_.]+@?$|@Microsoft\.KeyVault"
    r"|!(?:vault|Ref|Sub|GetAtt|secret|env|ENV|ImportValue)\b|&[A-Za-z_]+$|\*[A-Za-z_]+$"
    r"|(?:op|vault|ssm|awssm|gcpsm|gcp-sm|keyring|keychain|secretref|env|file|arn"
    r"|sops|bws|akv|doppler|infisical|secretsmanager|kv|azkv|pass|gopass|ref)"
    r"(?::|://|\+)[\w/@:]|ENC\[|ENC\(|projects/[\w-]+/secrets/|__\w+__$|%s|%r|%d"
    r"|\[(?:secret|redacted|hidden|masked|removed|omitted|filtered|your|insert)"
    r"|secret-hidden|\\?u003[cC]|&lt;|%3[cC]|\\[SwWd][+*{]|\.[*+]|\[\^"
)


def is_placeholder(value: str) -> bool:
    """Say whether *value* stands for a secret instead of being one."""
    bare = value.strip("\"'`")
    if len(bare) < 2 or _REFERENCE.match(bare):
        return True
    if not any(c.isalnum() and c not in _FILLERS for c in bare):
        return True
    if bare.endswith(("...", "…", "***", "xxxx", "XXXX")):
        return True
    if bare.endswith(("EXAMPLE", "EXAMPLEKEY")):  # AWS documentation
        return True
    words = {word.lower() for word in _ALPHA.findall(bare[:200])}
    if words & _PLACEHOLDER_WORDS:
        return True
    return "change" in words and "me" in words


def _is_wordy(value: str) -> bool:
    """Say whether *value* is made of words and small numbers, as names are."""
    parts = [part for part in _PARTS.split(value) if part]
    return all(_PLAIN_PART.fullmatch(part) for part in parts)


def _variety(value: str) -> int:
    return (
        any(c.isdigit() for c in value)
        + any(c.islower() for c in value)
        + any(c.isupper() for c in value)
        + any(not c.isalnum() for c in value)
    )


def looks_random(value: str, length: int = 8) -> bool:
    """Say whether *value* is too irregular to be a name, a number or words."""
    if len(value) < length or is_placeholder(value):
        return False
    if len(set(value)) < min(5, length) or value.isdigit() or _is_wordy(value):
        return False
    return _variety(value) >= 2


def decoded_text(coded: str) -> str:
    """Return what base64 *coded* says if that is printable text, otherwise nothing."""
    padded = coded.rstrip("=").replace("-", "+").replace("_", "/")
    if len(padded) % 4 == 1:
        return ""
    try:
        head = base64.b64decode(padded[:24] + "=" * (-len(padded[:24]) % 4))
        if not _is_printable(head):
            return ""
        raw = base64.b64decode(padded + "=" * (-len(padded) % 4))
    except (binascii.Error, ValueError):
        return ""
    return raw.decode("ascii") if _is_printable(raw) else ""


def _is_printable(raw: bytes) -> bool:
    return bool(raw) and all(32 <= byte < 127 or byte in b"\n\r\t" for byte in raw)


# --- Checks of matches ----------------------------------------------------------------


def _always(_match: re.Match[str]) -> bool:
    return True


def _secret_of(match: re.Match[str]) -> str:
    found: str = match["s"] if "s" in match.re.groupindex else match[0]
    return found


def _body_is_random(match: re.Match[str]) -> bool:
    """A token's body is neither a filler nor words after an unlucky prefix."""
    body = match["b"] if "b" in match.re.groupindex else _secret_of(match)
    if _ONE_CHARACTER.fullmatch(body):
        return body[0] not in _FILLERS
    return not is_placeholder(body) and not _is_wordy(body)


def _body_is_no_filler(match: re.Match[str]) -> bool:
    """For prefixes that nothing else has: letters alone are enough."""
    body = match["b"] if "b" in match.re.groupindex else _secret_of(match)
    if _ONE_CHARACTER.fullmatch(body):
        return body[0] not in _FILLERS
    if is_placeholder(body):
        return False
    return not (body == body.lower() and _is_wordy(body) and not re.search(r"\d", body))


def _is_random(match: re.Match[str]) -> bool:
    return looks_random(_secret_of(match))


def _is_basic_pair(match: re.Match[str]) -> bool:
    text = decoded_text(match["s"])
    user, colon, password = text.partition(":")
    return bool(colon) and bool(user or password)


def _is_url_password(match: re.Match[str]) -> bool:
    value = match["s"]
    if value.lower() in {"password", "pass", "passwd", "pw", "pwd", "secret", "token"}:
        return False
    return not is_placeholder(value) and not _REFERENCE.match(match["u"])


def _is_login(match: re.Match[str]) -> bool:
    value = match["s"].rstrip(".,;)")
    return len(value) >= 3 and not is_placeholder(value) and value.lower() not in _STOP


def _has_digit(match: re.Match[str]) -> bool:
    return _is_login(match) and bool(re.search(r"\d", match["s"]))


def _is_login_word(match: re.Match[str]) -> bool:
    """After `login:` a pair is enough if the second half has a digit, and no path."""
    value = match["s"].rstrip(".,;)")
    return (
        _has_digit(match)
        and bool(re.search(r"[A-Za-z]", value))
        and "//" not in match[0]
    )


def _is_login_symbols(match: re.Match[str]) -> bool:
    """Without `login:` it must look like nothing but a password."""
    return _has_digit(match) and bool(re.search(r"[!$#%&*^+?]", match["s"]))


def _is_archive_password(match: re.Match[str]) -> bool:
    """`-P`, not `-p`: the pattern ignores case, zip does not."""
    return "-P" in match[0] and _is_login(match)


# --- The table ------------------------------------------------------------------------

# A token starts at the edge of a word, or after an escape (`\n`, `%3D`, ANSI colour).
_EDGE: Final = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt])|(?<=%[0-9A-F]{2})|(?<=\[[0-9]m))"
_U: Final = "[A-Za-z0-9_-]"  # base64url
_A: Final = "[A-Za-z0-9]"
_H: Final = "[0-9a-fA-F]"
_UUID: Final = rf"{_H}{{8}}-{_H}{{4}}-{_H}{{4}}-{_H}{{4}}-{_H}{{12}}"


def _token(
    kind: str,
    literals: str,
    body: str,
    check: Callable[[re.Match[str]], bool] = _body_is_random,
) -> Rule:
    """Make the rule of a token that starts with one of *literals* (split at spaces)."""
    names = tuple(literals.split())
    heads = "|".join(re.escape(name) for name in names)
    return Rule(kind, names, f"{_EDGE}(?:{heads})(?P<b>{body})", check)


def _around(
    kind: str,
    literals: str,
    pattern: str,
    lead: int,
    check: Callable[[re.Match[str]], bool] = _body_is_random,
) -> Rule:
    """Make the rule of a token that has its literal inside."""
    return Rule(kind, tuple(literals.split()), pattern, check, lead)


def _folded(
    kind: str,
    literals: tuple[str, ...],
    pattern: str,
    check: Callable[[re.Match[str]], bool] = _always,
) -> Rule:
    return Rule(kind, literals, pattern, check, fold=True)


_SURE: Final = _body_is_no_filler

_TOKENS: Final[tuple[Rule, ...]] = (
    _token("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", rf"{_A}{{30,255}}", _SURE),
    _token("github-token", "github_pat_", r"\w{40,255}", _SURE),
    _token(
        "gitlab-token",
        "glpat- gldt- glrt- glcbt- glptt- glft- glimt- glagent- gloas- glsoat- glffct-",
        rf"{_U}{{20,255}}(?:\.[0-9a-z]{{2}}\.[0-9a-z]{{7,9}})?",
    ),
    _token("gitlab-token", "GR1348941", rf"{_U}{{20,50}}"),
    _token(
        "aws-access-key-id",
        "AKIA ASIA ABIA ACCA",
        r"[A-Z0-9]{16}(?![A-Za-z0-9])",
        _SURE,
    ),
    _token("aws-bedrock-key", "ABSK", r"[A-Za-z0-9+/]{100,300}={0,2}"),
    _token(
        "slack-token",
        "xoxb- xoxp- xoxa- xoxo- xoxs- xoxr- xoxe- xoxc- xoxd-",
        r"[A-Za-z0-9%.+/-]{10,400}",
    ),
    _token("slack-token", "xoxe.xoxb- xoxe.xoxp-", r"[A-Za-z0-9-]{20,400}"),
    _token(
        "slack-token", "xapp-", r"[0-9]-[A-Z0-9]{6,20}-[0-9]{6,20}-[a-zA-Z0-9]{20,100}"
    ),
    _token(
        "slack-webhook",
        "hooks.slack.com/",
        r"(?:services|workflows|triggers)/[A-Za-z0-9/]{20,200}",
        _always,
    ),
    _token(
        "stripe-key",
        "sk_live_ sk_test_ rk_live_ rk_test_ sk_prod_ rk_prod_",
        rf"{_A}{{10,255}}",
    ),
    _token("stripe-key", "whsec_", r"[A-Za-z0-9+/=]{24,100}"),
    _token("google-api-key", "AIza", rf"{_U}{{30,60}}", _SURE),
    _token("google-oauth", "GOCSPX-", rf"{_U}{{20,60}}"),
    _token("google-oauth", "ya29.", r"[A-Za-z0-9_.-]{20,2048}"),
    _token("google-oauth", "1//0", rf"{_U}{{30,200}}"),
    _token("anthropic-key", "sk-ant-", rf"{_U}{{20,300}}"),
    _token("openrouter-key", "sk-or-", rf"{_U}{{20,200}}"),
    _token("openai-key", "sk-proj- sk-svcacct- sk-admin- sk-None-", rf"{_U}{{20,300}}"),
    _token("openai-key", "sk-", rf"{_A}{{20,200}}"),
    _token("openai-key", "sess-", rf"{_A}{{40}}"),
    _token("npm-token", "npm_", rf"{_A}{{36,255}}"),
    _token("pypi-token", "pypi-", rf"{_U}{{40,1024}}"),
    _token("sendgrid-key", "SG.", rf"{_U}{{16,32}}\.{_U}{{32,64}}"),
    _token("twilio-key", "SK", r"[0-9a-f]{32}(?![A-Za-z0-9])"),
    _token(
        "discord-webhook",
        "discord.com/api/webhooks/ discordapp.com/api/webhooks/",
        rf"[0-9]{{15,22}}/{_U}{{40,100}}",
        _always,
    ),
    _token(
        "discord-token", "M N O", rf"{_U}{{22,28}}\.{_U}{{6}}\.{_U}{{27,45}}(?![\w-])"
    ),
    _around(
        "telegram-bot-token", ":AA", rf"(?<![0-9])[0-9]{{7,12}}:AA{_U}{{31,36}}", 12
    ),
    _token("huggingface-token", "hf_ api_org_", r"[A-Za-z0-9]{30,60}"),
    _token("digitalocean-token", "dop_v1_ doo_v1_ dor_v1_", rf"{_H}{{40,80}}"),
    _token("shopify-token", "shpat_ shpss_ shpca_ shppa_ shptka_", rf"{_H}{{32,64}}"),
    _token("heroku-key", "HRKU-", rf"{_U}{{30,100}}"),
    _token("databricks-token", "dapi", r"[0-9a-f]{32}(?:-[0-9])?"),
    _token("databricks-token", "dose", r"[0-9a-f]{32}(?:-[0-9])?(?![A-Za-z0-9])"),
    _token("docker-token", "dckr_pat_ dckr_oat_", rf"{_U}{{20,100}}"),
    _token("vault-token", "hvs. hvb. hvr.", rf"{_U}{{20,300}}"),
    _token("age-key", "AGE-SECRET-KEY-1 AGE-PLUGIN-", r"[0-9A-Z-]{40,200}"),
    _token("linear-key", "lin_api_ lin_oauth_", rf"{_A}{{30,80}}"),
    _token("notion-token", "ntn_", rf"{_A}{{40,60}}"),
    _token("notion-token", "secret_", rf"{_A}{{43}}(?![A-Za-z0-9])"),
    _token("sentry-token", "sntryu_", rf"{_H}{{64}}"),
    _token("sentry-token", "sntrys_", r"[A-Za-z0-9+/=_-]{40,500}"),
    _token("grafana-token", "glsa_ glc_", r"[A-Za-z0-9+/=_]{30,400}"),
    _token("newrelic-key", "NRAK- NRII- NRJS- NRRA- NRAA-", r"[A-Za-z0-9-]{19,42}"),
    _token("postman-key", "PMAK-", rf"{_H}{{24}}-{_H}{{34}}"),
    _token(
        "doppler-token",
        "dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit.",
        r"[A-Za-z0-9._-]{20,100}",
    ),
    _token("pulumi-token", "pul-", rf"{_H}{{40}}(?![A-Za-z0-9])"),
    _around(
        "terraform-token",
        ".atlasv1.",
        rf"{_EDGE}{_A}{{14}}\.atlasv1\.{_U}{{60,80}}",
        16,
    ),
    _token("rubygems-key", "rubygems_", rf"{_H}{{48}}"),
    _token("crates-token", "cio", rf"{_A}{{32}}(?![A-Za-z0-9])"),
    _token("nuget-key", "oy2", r"[a-z0-9]{43}(?![A-Za-z0-9])"),
    _token("atlassian-token", "ATATT3 ATCTT3 ATSTT3", r"[A-Za-z0-9_=-]{60,300}"),
    _token("bitbucket-token", "ATBB", rf"{_A}{{24,60}}"),
    _token("mailgun-key", "key-", r"[0-9a-f]{32}(?![A-Za-z0-9])"),
    _around(
        "mailchimp-key",
        "-us",
        r"(?<![A-Za-z0-9])[0-9a-f]{32}-us[0-9]{1,2}(?!\w)",
        33,
    ),
    _token("square-token", "sq0atp- sq0csp- sq0idp-", rf"{_U}{{20,60}}"),
    _token("square-token", "EAAA", rf"{_U}{{60}}(?![\w-])"),
    _token("facebook-token", "EAAC EAAG EAAB", rf"{_A}{{80,400}}"),
    _token(
        "planetscale-token", "pscale_tkn_ pscale_pw_ pscale_oauth_", r"[\w.=-]{30,100}"
    ),
    _token("tailscale-key", "tskey-", r"[a-z]{2,12}-[A-Za-z0-9-]{20,100}"),
    _token("figma-token", "figd_ figo_ figr_", rf"{_U}{{30,80}}"),
    _token("groq-key", "gsk_", rf"{_A}{{40,80}}"),
    _token("replicate-token", "r8_", rf"{_A}{{37,40}}(?!\w)"),
    _token("supabase-key", "sbp_", rf"(?:oauth_|v0_)?{_H}{{40}}"),
    _token("supabase-key", "sb_secret_", rf"{_U}{{20,80}}"),
    _token("airtable-token", "pat", rf"{_A}{{14}}\.{_H}{{64}}"),
    _token(
        "hubspot-token", "pat-na1- pat-na2- pat-na3- pat-eu1- pat-ap1-", _UUID, _always
    ),
    _token(
        "dynatrace-token",
        "dt0c01. dt0s01. dt0s02. dt0s06. dt0s08. dt0s16.",
        r"[A-Z0-9]{8,24}\.[A-Z0-9]{40,64}",
    ),
    _around(
        "azure-client-secret",
        "8Q~ 7Q~",
        r"(?:(?<![\w~.-])|(?<=\\[nrt]))[\w~.-]{3}[78]Q~[\w~.-]{31,36}",
        3,
    ),
    _token(
        "jwt", "eyJ", rf"{_U}{{8,2000}}\.{_U}{{8,4000}}(?:\.{_U}{{8,2000}})?", _always
    ),
    _token(
        "jwt",
        "eyJ",
        rf"{_U}{{8,2000}}\.{_U}{{0,1000}}(?:\.{_U}{{8,4000}}){{3}}",
        _always,
    ),
    _token("perplexity-key", "pplx-", rf"{_A}{{40,80}}"),
    _token("xai-key", "xai-", rf"{_A}{{60,100}}"),
    _token("sonar-token", "sqp_ squ_ sqa_", rf"{_H}{{40}}"),
    _token("netlify-token", "nfp_ nfc_ nfo_ nfu_", rf"{_A}{{36,60}}"),
    _token("render-key", "rnd_", rf"{_A}{{28,60}}(?!\w)"),
    _token("fly-token", "fo1_", rf"{_U}{{40,60}}"),
    _token("fly-token", "fm1r_ fm1a_ fm2_", r"[A-Za-z0-9+/=,_-]{60,2000}"),
    _token("onepassword-token", "ops_eyJ", rf"{_U}{{100,2000}}", _always),
    _token(
        "onepassword-key",
        "A3-",
        r"[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}",
    ),
    _token("launchdarkly-key", "sdk- api- mob-", rf"{_UUID}(?![\w-])", _always),
    _token("alibaba-key-id", "LTAI", rf"{_A}{{17,26}}(?![A-Za-z0-9])"),
    _token("buildkite-token", "bkua_ bkat_ bkct_", rf"{_A}{{36,64}}"),
    _token("circleci-token", "CCIPAT_ CCIPRJ_", rf"{_A}{{20,24}}_{_H}{{40}}"),
    _token("contentful-token", "CFPAT-", rf"{_U}{{40,50}}"),
    _token("prefect-key", "pnu_ pnb_", r"[a-zA-Z0-9]{36}(?!\w)"),
    _token("readme-key", "rdme_", r"[a-z0-9]{60,80}"),
    _token("sendinblue-key", "xkeysib- xsmtpsib-", r"[0-9a-f]{64}-[A-Za-z0-9]{16}"),
    _token("easypost-key", "EZAK EZTK", rf"{_A}{{54}}"),
    _token("adafruit-key", "aio_", rf"{_A}{{28}}(?!\w)"),
    _token("duffel-token", "duffel_live_ duffel_test_", r"[\w=-]{43}"),
    _token("frameio-token", "fio-u-", r"[\w=-]{64}"),
    _token("clojars-token", "CLOJARS_", r"[0-9a-z]{60}"),
    _token("typeform-token", "tfp_", r"[\w.=-]{40,70}"),
    _token("jfrog-token", "AKCp", rf"{_A}{{60,80}}"),
    _token("jfrog-token", "cmVmdGtu", rf"{_A}{{50,60}}"),
    _token("langchain-key", "lsv2_pt_ lsv2_sk_", r"[0-9a-f]{32}_[0-9a-f]{10}"),
    _token("voyage-key", "pa-", rf"{_U}{{43}}(?![\w-])"),
    _token("tavily-key", "tvly-", r"[A-Za-z0-9-]{20,80}"),
    _token("firecrawl-key", "fc-", r"[0-9a-f]{32}(?![\w-])"),
    _token("nvidia-key", "nvapi-", rf"{_U}{{40,100}}"),
    _token("fireworks-key", "fw_", rf"{_A}{{22,24}}(?!\w)"),
    _token("cerebras-key", "csk-", r"[a-z0-9]{48}"),
    _token("cloudflare-key", "v1.0-", r"[0-9a-f]{24}-[0-9a-f]{146}"),
    _token("cloudflare-key", "cfut_ cfat_ cfk_", rf"{_A}{{40,64}}"),
    _token("vercel-token", "vcp_ vci_ vca_ vcr_ vck_", rf"{_A}{{24,64}}"),
    _token("neon-key", "napi_", r"[a-z0-9]{60,70}"),
    _token("infracost-key", "ico-", rf"{_A}{{32}}(?!\w)"),
    _token("scalingo-token", "tk-us-", rf"{_U}{{48}}"),
    _token(
        "sumo-webhook",
        "endpoint.collection.sumologic.com/receiver/v1/http/",
        r"[\w=-]{40,200}",
    ),
    _token(
        "zapier-webhook",
        "hooks.zapier.com/hooks/catch/",
        r"[0-9]{3,12}/[a-z0-9]{4,12}",
        _always,
    ),
    _around(
        "teams-webhook",
        ".webhook.office.com/ .logic.azure.com/",
        r"https://[\w-]{1,64}(?:\.[\w-]{1,64}){0,3}\.(?:webhook\.office|logic\.azure)\.com"
        r"(?::443)?/[\w@/?&=%.-]{40,400}",
        80,
        _always,
    ),
    _token("azure-storage-key", "AccountKey=", r"[A-Za-z0-9+/]{40,100}={0,2}", _SURE),
)

_CONTEXTS: Final[tuple[Rule, ...]] = (
    _folded(
        "azure-sas", ("sig=",), r"sig=(?P<s>[A-Za-z0-9%+/_-]{40,120}={0,2})", _is_random
    ),
    _folded(
        "basic-auth",
        ("basic ",),
        r"basic[ ]{1,4}(?P<s>[A-Za-z0-9+/_-]{4,512}={0,2})",
        _is_basic_pair,
    ),
    _folded(
        "bearer-token",
        ("bearer",),
        r"bearer(?:[ ]{1,4}|[\"']?[ ]?[:=][ ]?)[\"'`]?"
        r"(?P<s>[A-Za-z0-9._~+/=-]{8,4096})",
        _is_random,
    ),
    _folded(
        "url-password",
        ("//",),
        r"//(?P<u>[^\s/?#@:\"'`<>\\]{0,128}):(?P<s>[^\s/\"'`<>\\]{1,256})"
        r"@(?=[\w\[$%{])",
        _is_url_password,
    ),
    _folded(
        "url-token",
        ("://",),
        r"://(?P<s>[A-Za-z0-9._~-]{16,256})(?::[xX]?|:x-oauth-basic)?@(?=\w)(?!o[0-9]{3,})",
        _is_random,
    ),
    _folded(
        "htpasswd",
        ("$apr1$", "$2y$", "$2b$", "$2a$", "$6$", "$5$", "$1$", "$y$", "$argon2"),
        r"(?P<s>\$(?:apr1|2[aby]|[156y]|argon2(?:id|i|d))\$[A-Za-z0-9./$=,+]{20,300})",
    ),
    _folded(
        "htpasswd",
        ("{sha}", "{ssha}", "{ssha512}"),
        r"\{(?:sha|ssha|ssha512)\}(?P<s>[A-Za-z0-9+/]{27,200}={0,2})",
    ),
    _folded(
        "login",
        (":5432:", ":5433:", ":*:"),
        r":(?:543[23]|\*):[\w*-]{1,64}:[\w*-]{1,64}:(?P<s>[^\s:\"'`]{4,128})(?![:/])",
        _is_login,
    ),
    _folded(
        "login",
        ("jdbc:oracle:",),
        r"jdbc:oracle:\w{2,6}:[\w.-]{1,64}/(?P<s>[^\s/@\"'`]{2,128})@",
        _is_login,
    ),
    _folded(
        "login",
        (
            *("login", "log in", "credentials", "creds", "zugangsdaten"),
            *("identifiants", "/password", "/pass", "/pw"),
        ),
        r"(?:login|log in|credentials|creds|zugangsdaten|identifiants"
        r"|/(?:password|passwd|pass|pw)(?=[ :*_]))"
        r"(?:[ ](?:is|are|was|with|as|for[ ][\w.-]{1,24}|via|sind|lauten))?:?"
        r"[*_]{0,2}[ ]?=?[ ]{0,3}[(`\"']?[\w.@-]{1,40}[`\"']?[ ]?[/:|][ ]?[`\"']?"
        r"(?P<s>[^\s`,;/\"'()]{5,64})",
        _is_login_word,
    ),
    _folded(
        "login",
        ("admin", "root", "user"),
        r"(?:admin|root|user)[ ]?[/:][ ]?`?(?P<s>[^\s`,;/\"'():=@]{6,64})",
        _is_login_symbols,
    ),
    _folded(
        "login",
        ("-u ", "-u\t", '-u"', "-u'", "--user", "--proxy-user"),
        r"(?:-u|--user|--proxy-user)[ \t=]{0,2}[\"']?[\w.@+-]{1,64}:"
        r"(?P<s>[^\s\"'`]{3,128})",
        _is_login,
    ),
    _folded(
        "login",
        ("mysql", "mariadb"),
        r"(?:mysql|mariadb)\w{0,10}[ ][^\n|;]{0,120}?(?<=[ ])-p(?!ort|rotocol|lugin)"
        r"[\"']?(?P<s>[^\s\"'-][^\s\"']{2,128})",
        _is_login,
    ),
    _folded(
        "login",
        ("redis-cli",),
        r"redis-cli[ ][^\n|;]{0,80}?-a[ ][\"']?(?P<s>[^\s\"']{4,128})",
        _is_login,
    ),
    _folded(
        "login",
        ("sshpass",),
        r"sshpass -p[ ]?[\"']?(?P<s>[^\s\"']{3,128})",
        _is_login,
    ),
    _folded(
        "login",
        (" login ",),
        r" login [^\n|;]{0,120}?(?<=[ ])-p[ ]?[\"']?(?P<s>[^\s\"'-][^\s\"']{3,128})",
        _is_login,
    ),
    _folded(
        "login",
        ("-u ", "user="),
        r"(?:-u[ ]|user=)[\"']?[\w.\\@-]{1,64}%(?P<s>[^\s\"'`]{3,64})",
        _is_login,
    ),
    _folded(
        "login",
        ("zip ",),
        r"zip [^\n|;]{0,80}?-P[ ]?[\"']?(?P<s>[^\s\"']{4,64})",
        _is_archive_password,
    ),
    _folded(
        "login",
        ("7z ",),
        r"7z [^\n|;]{0,80}?-p[\"']?(?P<s>[^\s\"']{4,64})",
        _is_login,
    ),
    _folded(
        "login",
        ("openssl",),
        r"openssl [^\n|;]{0,160}?(?:[ ]-k[ ]|[ ]pass:)[\"']?(?P<s>[^\s\"']{4,128})",
        _is_login,
    ),
    _folded(
        "login",
        ("htpasswd -",),
        r"htpasswd -\w{0,4}b\w{0,4}[ ]\S{1,80}[ ]\S{1,40}[ ][\"']?"
        r"(?P<s>[^\s\"']{4,128})",
        _is_login,
    ),
    _folded(
        "login",
        ("net user ",),
        r"net user [\w.-]{1,40}[ ](?P<s>[^\s/][^\s]{3,64})",
        _is_login,
    ),
    _folded(
        "login",
        ("echo ", "printf "),
        r"(?:echo|printf)[ ](?:-n[ ])?[\"']?(?:[\w.-]{1,32}:)?(?P<s>[^\s\"'|:]{4,128})"
        r"[\"']?[ ]?\|[^\n]{0,80}?(?:sudo[ ]-S|--password-stdin|passwd --stdin|chpasswd"
        r"|with-token)",
        _is_login,
    ),
    _folded(
        "password",
        ("identified by", "convertto-securestring", "identified with"),
        r"(?:identified (?:with \w{2,40} )?by|convertto-securestring)[ ]"
        r"(?:password[ ]|-string[ ])?[\"'](?P<s>[^\"'\n]{3,128})[\"']",
        _is_login,
    ),
    _folded(
        "password",
        ("wifi", "wi-fi", "wlan", "ssid"),
        r"(?:wifi|wi-fi|wlan|ssid)\b[^\n]{0,60}?\b(?:key|code|psk|schlüssel)\b"
        r"[*_]{0,2}(?:[ ]is)?[ :=]{1,4}[`\"']?(?P<s>[^\s`\"',]{6,63})",
        _has_digit,
    ),
    _folded(
        "api-key",
        ("?key=", "&key="),
        r"[?&]key=(?P<s>[A-Za-z0-9_-]{16,128})",
        _is_random,
    ),
)
RULES: Final = _TOKENS + _CONTEXTS


# --- Assignments: a word for a secret, a separator, a value ---------------------------


@dataclass(frozen=True, slots=True)
class Assignment:
    """A key that names a secret and the value beside it, not judged yet.

    *link* is how they are joined: `assign` (`=`, `:`), `prose` (is, was, set to) or
    `space`. *quoted*: in quotes or backticks. *ends*: nothing else follows in the
    clause. *tight*: no space around the separator.
    """

    key: str
    value: str
    link: str
    quoted: bool = True
    ends: bool = True
    tight: bool = True
    flag: bool = False


KEYWORDS: Final = tuple(
    sorted(
        _words(
            """
    pass pwd pw kennwort mdp contrase clave senha wachtwoord lösenord salasana hasło
    \u043f\u0430\u0440\u043e\u043b\u044c \u5bc6\u7801 \u5bc6\u78bc
    \u30d1\u30b9\u30ef\u30fc\u30c9 secret token key schlüssel jeton auth cred cookie
    geheimnis pin psk clé
    """
        )
    )
)

_WORD: Final = re.compile(r"[A-Z]+(?![a-z\u00df-\u00ff])|[^\W\d_][^\W\d_A-Z]*|[0-9]+")

_PASSWORD: Final = _words(
    """
    password passwd passwort passphrase passcode passwrd kennwort contraseña
    contrasena senha wachtwoord lösenord salasana hasło mdp motdepasse
    \u043f\u0430\u0440\u043e\u043b\u044c \u5bc6\u7801 \u5bc6\u78bc
    \u30d1\u30b9\u30ef\u30fc\u30c9 requirepass masterauth passwordd
    """
)
_SHORT: Final = _words(
    """
    pass pw pwd passe pin psk clave
    """
)
_SHORT_ENDS: Final = ("pass", "pwd", "pw")
_NOT_SHORT: Final = _words(
    """
    bypass compass trespass surpass encompass underpass overpass onepass lowpass
    highpass bandpass multipass allpass lastpass keepass backpass
    """
)
_SECRET: Final = _words(
    """
    secret token apikey authkey secretkey privatekey accesskey apitoken jeton
    geheimnis credential credentials cred creds schlüssel
    """
)
_LOOSE: Final = _words(
    """
    auth authorization cookie sessionid tokens secrets keys passwords apikeys
    authtoken
    """
)
_KEY_BEFORE: Final = _words(
    """
    api access secret private signing sign encryption encrypt decryption master
    license licence ssh auth client account shared service admin consumer
    application app deploy subscription storage hmac jwt session cookie crypto root
    user write read host integration ingest ingestion webhook stripe sendgrid openai
    anthropic datadog gpg pgp tls ssl project server personal function publishing
    instrumentation django fernet mapbox flask rails laravel aes hub google aws
    azure gcp github gitlab slack heroku twilio mailgun algolia live test prod
    staging deploykey clé dd
    """
)
_KEY_OK: Final = _words(
    """
    value val string str text plain plaintext prod production dev development
    staging stage test live old new current previous next default root admin user db
    database ops eu us primary secondary main backup master read write rw ro base
    b64 base64 hex raw data key keys secret token pass password auth access private
    api hash salt id1 a b c d one two env1 header pw phrase code for of local remote
    internal external ci e n word phrase wort orig original temp tmp initial account
    """
)
_KEY_BAD: Final = _words(
    """
    name names file files path paths url uri urls endpoint id ids type types length
    len size min max count limit budget expiry expires expire expiration expired ttl
    timeout lifetime age ref refs env var field fields input hash hashes hashed
    algorithm algo policy reset rotation rotate label hint help placeholder title
    description error errors message prompt manager store provider backend source
    scope scopes bucket usage rate cost price per enabled disabled required optional
    valid invalid validation validator strength confirm confirmation changed updated
    created at date time format prefix suffix pattern regex encoding encoder encoded
    digest fingerprint checksum sha version index list array map dict class object
    generator factory handler service servicename arn template permissions
    permission scanning push protection mode method methods strategy server host
    domain issuer audience user username location dir directory folder column table
    attribute param parameter arg argument option less cache request response is has
    can should to in from mapping status state flow page screen form view model
    schema guard middleware require uses left right start end position pos char
    chars character ring board word words frame frames point points press up down
    code codes event events owner availability ized ised ation enticate enticated
    enticator ority or
    """
)
_BEFORE_BAD: Final = _words(
    """
    palabra palabras public
    pub max min num total count eos bos pad unk mask sep cls stop special
    page next prev pagination cancellation cancel continuation primary foreign sort
    partition cache unique composite index group hot no non not without avg mean
    input output prompt completion unexpected host's idempotency translation issue
    sync design refresh-rate kms lookup dict join natural surrogate row event
    routing grouping shard range lsp ast lexer bad invalid remaining
    """
)

_STOP: Final = _words(
    """
    none null nil true false yes no on off undefined empty blank unset required
    optional missing invalid valid wrong incorrect correct expired enabled disabled
    default defaults unknown mandatory secret secrets password passwords passwd pass
    token tokens key keys str string bytes int integer float number bool boolean
    object any text varchar char unicode void self this cls request response req res
    args kwargs see ask get use set stored kept saved hashed salted encrypted
    rotated generated same different unchanged changed hidden masked below above
    here there elsewhere short long weak strong too not never always only also still
    just now soon in on at by for from with without to of and or the a an is are was
    were be been it its my our their his her this that these those which who what
    where when how why if then must should may can cannot will would could has have
    had do does did needs need requires require contains contain include includes
    allow allows deny denied granted success successful fail failed failure error ok
    okay pass passed warning info debug bearer basic digest oauth oauth2 jwt saml
    ldap oidc kerberos ntlm mtls basic-auth bcrypt scrypt argon2 argon2i argon2id
    pbkdf2 sha1 sha224 sha256 sha384 sha512 md5 hs256 rs256 es256 hmac aes aes128
    aes256 rsa ed25519 base64 base32 hex utf8 utf-8 plaintext plain cleartext
    encoded 1password onepassword bitwarden keepass keepassxc lastpass dashlane
    vault keychain keyring sops doppler infisical env environment siehe frag steht
    liegt wird ist nicht abgelaufen falsch gesetzt erforderlich pflicht voir doit
    obligatoire requis incorrecte ver debe obligatoria requerida obrigatória
    obrigatorio deve expirada expiré vencida n/a na tbd tba todo test testing tests
    strict lax medium high low hard soft inherit include omit same-origin write-only
    read-only write read admin-only case-sensitive short-lived long-lived auto
    auto-generated automatic automatically manual manually one-time single-use
    per-user user-specific base64-encoded url-encoded url-safe end-to-end
    server-side client-side in-memory out-of-date up-to-date write-protected
    read-write minimum maximum min max min. max. at least exactly between up length
    characters chars digits symbols letters words number field form page input
    prompt reset policy manager store storage file path name url uri id type value
    values data list map var variable variables local remote global public private
    shared internal external user users username login logout account accounts
    admin's someone somebody another something anything nothing everything enter
    please your type choose pick create forgot forgotten remember confirm verify
    check update change rotate revoke expire expires leaked exposed compromised lost
    reused redacted removed deleted
    """
)
# Of these, what a passphrase is as likely to be made of.
_COMMON: Final = _words(
    """
    correct short long weak strong hidden hard soft high low test letters number page
    pick key keys secret private public lost word words pass never always still
    """
)
# Endings of participles and adjectives: what prose says *about* a password.
_PROSE_END: Final = re.compile(
    r"(?:ed|ing|able|ible|ive|ous|ary|ory|ful|less|ent|ant|ly|al|ic|only|free|based"
    r"|sensitive|specific|safe|side|wide|level|bound|like|friendly|proof|compatible|lived"
    r"|time|date|use|long|dependent|agnostic|aware|scoped|independent|wise|encoded|term"
    r"|character|characters|char|chars|digit|digits|day|days|hour|hours|byte|bytes|bit"
    r"|bits|letter|letters|minute|minutes|word|words)"
)
_MEASURE: Final = re.compile(
    r"[~<>\u2248]?[0-9]{1,5}(?:[-\u2013.,x/][0-9]{1,5})?[-+]?(?:%|[a-z]{1,2}|[-_]?(?:chars?|characters?"
    r"|days?|hours?|minutes?|seconds?|bytes?|bits?|digits?|words?|letters?|times?|min|sec"
    r"|tokens?|th|st|nd|rd|zeichen|jours|días|tage))?"
)
_DATE: Final = re.compile(
    r"[0-9]{4}-[0-9]{2}(?:-[0-9]{2})?(?:[T_ ][0-9:.]*Z?)?|v?[0-9]+(?:\.[0-9]+){1,3}"
)
_DOTTED: Final = re.compile(
    r"!?[A-Za-z_$][\w$]*(?:(?:\?|!)?\.[A-Za-z_$][\w$]*|->\w+|::\w+)+[?!]?"
)
_SNAKE: Final = re.compile(r"_?[A-Za-z]+(?:_[A-Za-z]+)+_?|_[A-Za-z]+|[A-Za-z]+_")
_CAMEL: Final = re.compile(r"[a-z]+(?:[A-Z][a-z]+)+|[A-Z][a-z]+(?:[A-Z][a-z]+)+")
_PATH: Final = re.compile(
    r"(?:~|\.{1,2})?/[\w.@%+~-]*(?:/[\w.@%+~-]*)*|[A-Za-z]:\\.*|~"
)
_FILE: Final = re.compile(
    r"[\w./-]+\.(?:txt|pem|key|crt|ya?ml|json|env|md|py|ts|js|go|rb|toml|ini|cfg|conf|sh|enc|gpg|age|kdbx|html?|java|rs|example)"
)
_EMAIL: Final = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")


# Links that say little: the value must look like nothing but a secret.
_WEAK: Final = ("space", "newline", "call")
_STRONG: Final = ("assign", "pair")


def key_words(key: str) -> list[str]:
    """Split an identifier or a phrase: `dbPassword`, `DB_PASSWORD`, `db password`."""
    return [word.lower() for word in _WORD.findall(key)]


def key_class(key: str) -> str:
    """Say what *key* promises: password, short, secret, loose, or nothing.

    `short` words (pass, pw) mean other things as well; `loose` keys need a value that
    could be nothing but a secret.
    """
    words = key_words(key)
    for at in range(len(words) - 1, -1, -1):
        found = _word_class(words, at)
        if found:
            return _after_suffix(found, words[at + 1 :], words[:at])
    return ""


def _word_class(words: list[str], at: int) -> str:
    word = words[at]
    if word in _PASSWORD or word.endswith(("password", "passwd", "passwort")):
        return "password"
    if word in _SHORT or (word.endswith(_SHORT_ENDS) and word not in _NOT_SHORT):
        return "short"
    if word in _LOOSE:
        return "loose"
    if word in _SECRET or word.endswith(("secret", "token", "apikey", "schlüssel")):
        return "secret"
    if word == "key":
        return "secret" if at and words[at - 1] in _KEY_BEFORE else "loose"
    return ""


def _after_suffix(found: str, suffix: list[str], before: list[str]) -> str:
    if before and before[-1] in _BEFORE_BAD:
        return ""
    if any(word in _KEY_BAD for word in suffix):
        return ""
    known = all(word in _KEY_OK or word.isdigit() for word in suffix)
    return found if known else "loose"


def judge_assignment(found: Assignment) -> str:
    """Return the kind of secret in *found*, or nothing if it holds none."""
    promised = key_class(found.key)
    if not promised or _is_innocent(found):
        return ""
    accept = {
        "password": _accept_password,
        "short": _accept_short,
        "secret": _accept_secret,
        "loose": _accept_loose,
    }[promised]
    return _kind_of(found.key, promised) if accept(found) else ""


def _is_innocent(found: Assignment) -> bool:
    value = found.value
    lower = value.lower().rstrip(".!?")
    if is_placeholder(value) or MASK.search(value) or lower in _STOP:
        return True
    if _DATE.fullmatch(value) or _EMAIL.fullmatch(value) or "://" in value:
        return True
    if key_words(value) == key_words(found.key):
        return True
    if _PATH.fullmatch(value) and (value[0] in "~." or _is_wordy(value)):
        return True
    if _FILE.fullmatch(value) or re.match(
        r"/(?:etc|run|home|usr|var|opt|tmp|mnt)/", value
    ):
        return True
    if value.startswith(("--", "//")) or (
        _DOTTED.fullmatch(value) and _is_wordy(value)
    ):
        return True
    if found.link != "assign" and re.match(r"[A-Za-z_]{2,40}=", value):
        return True
    if found.link == "pair" and _SNAKE.fullmatch(value):
        return True
    if found.link not in _STRONG and re.match(r":|\w{2,40}[<>]=?\w", value):
        return True
    if re.search(r"\\[sSwWdD][+*{]|\(\?[:P<=!]|\[\^", value):  # a pattern
        return True
    return not found.quoted and _is_expression(value)


def _is_expression(value: str) -> bool:
    """Say whether an unquoted *value* is code: a call, an index, a name."""
    if re.search(
        r"^[\w.$]+[\[(]|^[a-z_]{2,20}=[A-Za-z_.]*\d{0,4}$|[\w)]\(\)|^\(|^\[|^&|^\|",
        value,
    ):
        return True
    if _DOTTED.fullmatch(value) and _is_wordy(value.strip("!?$")):
        return True
    return bool(_SNAKE.fullmatch(value))


def _accept_password(found: Assignment) -> bool:
    value = found.value
    if " " in value:
        return _is_passphrase(value)
    if len(value) < 3:
        return False
    if value.isdigit():
        return len(value) >= 4 and found.link not in _WEAK
    if _MEASURE.fullmatch(value.lower()):
        return False
    if found.link in _STRONG or found.flag:
        return _accept_assigned_word(found)
    return _accept_prose_word(found)


def _accept_assigned_word(found: Assignment) -> bool:
    value = found.value
    if found.flag and value.isupper() and value.isalpha():
        return False
    if value.isalpha():
        if _CAMEL.fullmatch(value) and not found.quoted and not found.tight:
            return False
        return found.quoted or found.tight or found.ends
    return not _is_about(value)


def _is_about(value: str) -> bool:
    """Say whether *value* is a hyphenated adjective, as in `case-sensitive`."""
    parts = value.lower().split("-")
    if len(parts) < 2 or not all(part.isalpha() for part in parts[1:]):
        return False
    return bool(_PROSE_END.fullmatch(parts[-1]) or _adjective(parts[-1]))


def _adjective(word: str) -> bool:
    return any(_PROSE_END.fullmatch(word[-size:]) for size in (2, 3, 4))


def _accept_prose_word(found: Assignment) -> bool:
    value = found.value
    has_digit = any(c.isdigit() for c in value)
    symbols = [c for c in value if not c.isalnum() and c not in "-_'\u2019"]
    if found.link in _WEAK:
        if found.link == "newline" and not found.ends:
            return False
        letters = any(c.isalpha() for c in value)
        return len(value) >= 6 and has_digit and letters and not _is_about(value)
    if value.isalpha():
        mixed = value != value.lower() and not value.istitle() and not value.isupper()
        return found.quoted or (mixed and len(value) >= 6)
    if _is_about(value):
        return False
    if has_digit or symbols:
        return len(value) >= 4
    return "-" in value and found.ends and len(value) >= 6


def _is_passphrase(value: str) -> bool:
    words = value.split()
    if any(
        re.fullmatch(r"\S*\d\S*[^\s\w]\S*|\S*[a-z]\d\S*", word) for word in words[:1]
    ):
        return len(words) <= 2
    plain = all(word.isalpha() and word.islower() and len(word) >= 3 for word in words)
    told = any(word in _STOP and word not in _COMMON for word in words)
    return plain and 4 <= len(words) <= 8 and not told


def _accept_short(found: Assignment) -> bool:
    value = found.value
    if found.link in _STRONG and not found.flag:
        if value.isalpha() and not (found.tight or found.quoted):
            return False
        if value.isdigit() and len(value) < 4:
            return False
        if "/" in value and _is_wordy(value) and not any(c.isdigit() for c in value):
            return False
        if key_words(found.key)[-1:] == ["pin"] and not value.isdigit():
            return False
        if value.lower() in {"fail", "skip", "warn"} or value.startswith(("/", "~")):
            return False
    return _accept_password(found)


def _accept_secret(found: Assignment) -> bool:
    value = found.value
    if " " in value:
        return False
    if found.link == "newline" and not found.ends:
        return False
    if found.link in _WEAK and not found.flag:
        return looks_random(value, 12 if found.quoted else 16)
    if value.isalpha() and not found.quoted and not (found.tight and len(value) >= 16):
        return found.key.isupper() and found.tight and len(value) >= 8
    if looks_random(value):
        return found.link in _STRONG or any(c.isdigit() for c in value)
    if found.link not in _STRONG or len(value) < 6:
        return False
    mixed = any(c.isdigit() for c in value) and any(c.isalpha() for c in value)
    if mixed and not re.search(r"[-_.:/]", value) and not _MEASURE.fullmatch(value):
        return True
    if value.isdigit():
        return False
    return found.key.isupper() and value.isalpha() and len(value) >= 8 and found.tight


def _accept_loose(found: Assignment) -> bool:
    value = found.value
    if len(value) >= 8 and decoded_text(value).count(":") == 1:  # docker's `auth`
        return True
    if found.link not in _STRONG or not any(c.isdigit() for c in value):
        return False
    if " " in value:
        return False
    if not looks_random(value, 16) or key_words(found.key)[-1:] == ["key"]:
        return _accept_bare_key(found)
    return True


def _accept_bare_key(found: Assignment) -> bool:
    """`key` alone is mostly a name: only a mixture that no digest has will do."""
    if not looks_random(found.value, 24) or re.search(r"[-_.:]", found.value):
        return False
    hexed = re.fullmatch(r"[0-9a-f]+|[0-9A-F]+", found.value)
    named = found.key.isupper() and "_" in found.key
    return named if hexed else _variety(found.value) >= 3


_KIND_BY_KEY: Final = (
    (re.compile(r"aws.*secret|secret.?access.?key"), "aws-secret-key"),
    (re.compile(r"client.?key.?data"), "kubeconfig-key"),
    (re.compile(r"shared.?access.?key"), "azure-shared-key"),
    (re.compile(r"account.?key|azure.*(?:storage|key)"), "azure-storage-key"),
    (re.compile(r"heroku"), "heroku-key"),
    (re.compile(r"twilio"), "twilio-key"),
    (re.compile(r"npm|_authtoken"), "npm-token"),
    (re.compile(r"datadog|^dd_"), "datadog-key"),
    (re.compile(r"cloudflare|^cf_"), "cloudflare-key"),
    (re.compile(r"private.?key"), "private-key"),
    (re.compile(r"api.?key|app.?key|apikey"), "api-key"),
    (re.compile(r"cookie|session"), "session-token"),
    (re.compile(r"token|jeton"), "token"),
    (re.compile(r"key|schlüssel"), "key"),
    (re.compile(r"auth"), "auth-header"),
    (re.compile(r"cred"), "credentials"),
)


def _kind_of(key: str, promised: str) -> str:
    if promised in ("password", "short"):
        return "password"
    lower = key.lower()
    return next((kind for found, kind in _KIND_BY_KEY if found.search(lower)), "secret")


# --- Finding assignments --------------------------------------------------------------

_TAIL: Final = re.compile(r"[\w-]{0,48}(?:\.\w[\w-]{0,40}){0,3}")
_QUOTE: Final = r"(?:\\{0,7}[\"'`]|&quot;|&\#3[49];|&apos;)"
_CLOSE: Final = rf"(?:{_QUOTE}|[\u201d\u2019\u00bb]){{0,1}}[\]\"']{{0,2}}[*_]{{0,3}}"
_NOTE: Final = r"(?:[ ]?[(\[][^()\[\]\n]{0,40}[)\]])?"
_FOR: Final = (
    r"(?:[ ](?:for|of|on|in|at|from|to|für|vom|von|zum|de|del|du|pour|para|da|do)"
    r"(?:[ ][\w./@'-]{1,24}){1,4}?)"
)
_SET: Final = (
    r"(?:now|currently|still|re)?[ -]?(?:set|changed|reset|rotated|updated)[ ]to"
)
_BE: Final = (
    r"is|was|are|remains|to|as|ist|war|lautet|heißt|auf|est|es|era|é|[-\u2013\u2014]"
)
_ADVERB: Final = (
    r"now|currently|still|just|jetzt|nun|noch|maintenant|ahora|literally|simply"
)
_LINKS: Final = (
    (
        "assign",
        rf"""{_CLOSE}{_NOTE}{_CLOSE}(?P<more>(?:[ ][\w-]{{1,16}}){{0,2}}?)(?:{_FOR})?
            [ \t]{{0,12}}
            (?::[ ]?&?[A-Za-z]{{2,12}}(?:[ ]\|[ ]None)?[ \t]{{0,4}}=(?!=)
            |=>|:=|={{1,3}}(?![=>~])|:(?!:)|\u2192|->|\uff1a)
            [ \t]{{0,12}}[*_]{{0,2}}[ \t]{{0,2}}""",
    ),
    (
        "assign",
        rf"""(?:{_QUOTE},?\s{{0,40}}|\s{{1,40}}-?\s?)\\{{0,2}}["']?[Vv]alue
            \\{{0,2}}["']?\s?[:=]\s?""",
    ),
    ("pair", rf"""{_CLOSE},[ ]?(?=\\{{0,7}}[\"'])"""),
    ("call", rf"""{_CLOSE}[ \t]{{0,3}}\([ ]?(?={_QUOTE})"""),
    ("assign", r"""(?P<xml>>)(?:\s{0,4}</t[dh]>\s{0,20}<t[dh][^<>\n]{0,40}>)?"""),
    ("assign", r"""(?P<xml></t[dh]>)\s{0,20}<t[dh][^<>\n]{0,40}>"""),
    ("assign", r"""[*_`]{0,2}[ \t]{1,20}\|[ \t]{1,20}"""),
    ("assign", r"""(?:%2[02]){0,2}%3[dDaA](?:%2[02]){0,2}"""),
    (
        "prose",
        rf"""{_CLOSE}{_NOTE}(?:{_FOR})?,?[ ]
            (?:(?:is|was|are|has[ ]been|got|will[ ]be)[ ])?
            (?:{_SET}|{_BE})(?:[ ](?:{_ADVERB}))?:?[ ]{{1,3}}[*_]{{0,2}}""",
    ),
    ("space", rf"""{_CLOSE}(?:{_FOR})?(?:[ ]\(|,?[ \t]{{1,4}})[*_]{{0,2}}"""),
    ("newline", r"""[*_]{0,2}:?[*_]{0,2}[ ]?(?:[|>][+-]?)?\r?\n[ \t]{0,12}"""),
)
_OPEN: Final = re.compile(
    rf"[fFbBrRuU@$]{{0,2}}(?P<q>{_QUOTE}|[\u201c\u201e\u00ab\u2018\u201a])"
)
_CLOSERS: Final = {
    "\u201c": "\u201d",
    "\u201e": "\u201c",
    "\u00ab": "\u00bb",
    "\u2018": "\u2019",
    "\u201a": "\u2018",
}
_BARE: Final = re.compile(r"<[^<>\n]{0,60}>?|[^\s\"'`\u201c\u201d\u00ab\u00bb]{1,512}")
_BARE_REST: Final = re.compile(r"[^\s\"'`]{0,65536}")
# What ends a bare value before the next space: the next pair, a tag, a bracket, a stop.
_BARE_END: Final = re.compile(
    r"&(?:amp;)?[\w.\[\]-]{1,40}=|&(?:quot|apos|\#[0-9]{2});|%2[26]|;(?=$|[\w ]{1,40}=)"
    r"|;$|,(?=$|[\w.-]{1,40}[=:])|</|<br|\\[nrt](?![a-z]?[0-9])|\\{1,3}$|\|\|?$"
    r"|\)[.,;:]?$|\]\]?[.,;]?$|\}\}?[.,;]?$|[.,:]$|\*\*"
)
_CLAUSE_END: Final = re.compile(
    r"[\"'`*_]{0,3}[.!?]?\s{0,4}(?:$|[,;.)|#(\n<\\}&]|//|--|\u2013|\u2014)"
)
_ENDS_LINE: Final = re.compile(r"[ \t]{0,8}(?:$|\r?\n)")
_AS: Final = re.compile(
    r"(?P<s>[^\s\"'`(]{6,64})[\"'`]? as (?:the |a |my |its )?(?:\w{1,12} )?$"
)


def hits(literals: Iterable[str], text: str) -> list[int]:
    """Return where any of *literals* stands in *text*, in order."""
    found: list[int] = []
    for literal in literals:
        at = text.find(literal)
        while at >= 0:
            found.append(at)
            at = text.find(literal, at + 1)
    return sorted(found)


def find_assignments(text: str, lowered: str) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and kind of the values that stand beside a word for a secret."""
    end = 0
    for at in hits(KEYWORDS, lowered):
        tail = _TAIL.match(text, at) if at >= end else None
        if not tail:
            continue
        end = tail.end()  # `secret_token` has two words, but is one key
        found = _assignment_at(text, at, tail)
        if found:
            end = max(end, found[1])
            yield found


def _assignment_at(
    text: str, at: int, tail: re.Match[str]
) -> tuple[int, int, str] | None:
    start = _head(text, at)
    if text[start - 1 : start] == ":" and text[tail.end() : tail.end() + 1] == ":":
        return None  # inside `arn:...:secret:name` and its like
    if (
        text[max(0, start - 2) : start] == "${"
        and text[tail.end() : tail.end() + 1] not in ":-"
    ):
        return None
    if text.startswith((":?", ":+"), tail.end()):
        return None  # `${API_KEY:?missing}`
    key = _phrase(text, start) + text[start : tail.end()]
    for name, pattern in _LINKS:
        if name == "pair" and text[max(0, start - 2) : start - 1] != "(":
            continue  # a list of names, not `define("DB_PASSWORD", "x")`
        link = _compiled(pattern, re.VERBOSE).match(text, tail.end())
        value = _value_at(text, link) if link else None
        if link and value:
            found = _described(text, key, start, name, link, value)
            kind = judge_assignment(found)
            if kind:
                return value[0], value[1], kind
    return _value_before(text, start, key)


def _value_before(text: str, start: int, key: str) -> tuple[int, int, str] | None:
    """Know `use hunter22 as the password`."""
    low = max(0, start - 90)
    before = _AS.search(text[low:start])
    if not before:
        return None
    found = Assignment(key, before["s"], "space", quoted=False)
    kind = judge_assignment(found)
    return (low + before.start("s"), low + before.end("s"), kind) if kind else None


def _head(text: str, at: int) -> int:
    """Return where the identifier around *at* begins."""
    start = at
    while (
        start > 0
        and at - start < 64
        and (text[start - 1].isalnum() or text[start - 1] in "_.-")
    ):
        start -= 1
    return start


def _phrase(text: str, start: int) -> str:
    """Return up to two words before the key in prose: `deploy `key, `mot de `passe."""
    before = text[max(0, start - 50) : start]
    found = re.search(r"(?:[^\W\d][\w-]{0,23} ){1,2}$", before)
    return found[0] if found else ""


def _described(
    text: str,
    key: str,
    start: int,
    name: str,
    link: re.Match[str],
    value: tuple[int, int, bool],
) -> Assignment:
    low, high, quoted = value
    more = link["more"] if "more" in link.re.groupindex else ""
    ends = bool(_CLAUSE_END.match(text, high))
    if name == "newline":
        ends = bool(_ENDS_LINE.match(text, high))
    return Assignment(
        key=key + more,
        value=text[low:high],
        link=name,
        quoted=quoted,
        ends=ends,
        tight=not link[0][-1:].isspace() and " " not in link[0],
        flag=name == "space" and _is_flag(text, start, quoted),
    )


def _is_flag(text: str, start: int, quoted: bool) -> bool:
    """Know `--password x`, netrc (`login x password y`), redis and SQL."""
    if text[start : start + 2] == "--":
        return True
    if text.startswith(("requirepass ", "masterauth "), start):
        return True
    before = text[max(0, start - 90) : start]
    if quoted and re.search(r"(?i)\b(?:user|role|login)\s+[^;\n]{1,60}$", before):
        return True
    return bool(re.search(r"login\s{1,8}\S{1,64}\s{1,8}$", before))


def _value_at(text: str, link: re.Match[str]) -> tuple[int, int, bool] | None:
    at = link.end()
    opened = _OPEN.match(text, at)
    if opened:
        closer = _CLOSERS.get(opened["q"], opened["q"])
        end = _closing(text, opened.end(), closer)
        if end >= opened.end():
            return (opened.end(), end, True) if end > opened.end() else None
        at = opened.end()
    if "==" in link[0]:
        return None  # a comparison with a name, not with a literal
    bare = _BARE.match(text, at)
    if not bare:
        return None
    if bare[0].endswith(("...", "\u2026")):
        return None
    xml = "xml" in link.re.groupindex
    cut = _bare_end(bare[0])
    if cut == 512:
        rest = _BARE_REST.match(text, at + cut)
        cut += len(rest[0]) if rest else 0
    if xml and not text.startswith("</", at + cut):
        return None
    return (at, at + cut, xml) if cut > 0 else None


def _closing(text: str, start: int, closer: str) -> int:
    """Return where the quoted value ends, or -1; the line bounds it."""
    stop = min(len(text), start + 4096)
    end = text.find(closer, start, stop)
    while end > start and closer in ('"', "'") and text[end - 1] == "\\":
        end = text.find(closer, end + 1, stop)
    return -1 if end < 0 or "\n" in text[start:end] else end


def _bare_end(value: str) -> int:
    if value.startswith("<"):
        return len(value)
    end = len(value)
    bracket = re.search(r"\)(?=[.,;:)\]}]|$)", value)
    if bracket and "(" not in value[: bracket.start()]:
        value = value[: bracket.start()]
        end = len(value)
    found = _BARE_END.search(value)
    while found and found.start() < end:
        end = found.start()
        found = _BARE_END.search(value[:end])
    return end


KINDS: Final = frozenset(
    {rule.kind for rule in RULES}
    | {kind for _, kind in _KIND_BY_KEY}
    | {"password", "secret", "private-key", "login", "known-secret"}
)
