"""Secrets that the words around them give away: headers, addresses, commands."""

import re
from collections.abc import Callable
from typing import Final

from openhands_memory.secrets.commands import COMMANDS
from openhands_memory.secrets.outputs import OUTPUTS
from openhands_memory.secrets.rules import (
    Rule,
    always,
    has_digit,
    is_basic_pair,
    is_cookie,
    is_database_password,
    is_login,
    is_login_symbols,
    is_login_word,
    is_old_password,
    is_pair_password,
    is_random,
    is_spoken,
    is_url_password,
    is_wifi_key,
)
from openhands_memory.secrets.tokens import TOKENS


def _folded(
    kind: str,
    literals: tuple[str, ...],
    pattern: str,
    check: Callable[[re.Match[str]], bool] = always,
) -> Rule:
    return Rule(kind, literals, pattern, check, fold=True)


CONTEXTS: Final[tuple[Rule, ...]] = (
    _folded(
        "azure-sas", ("sig=",), r"sig=(?P<s>[A-Za-z0-9%+/_-]{40,120}={0,2})", is_random
    ),
    _folded(
        "signed-url",
        ("x-amz-signature=", "x-goog-signature=", "x-oss-signature="),
        r"x-\w{3,4}-signature=(?P<s>[0-9a-z]{40,1024})",
        is_random,
    ),
    _folded(
        "basic-auth",
        ("basic ",),
        r"basic[ ]{1,4}(?P<s>[A-Za-z0-9+/_-]{4,512}={0,2})",
        is_basic_pair,
    ),
    _folded(
        "bearer-token",
        ("bearer",),
        r"bearer(?:[ ]{1,4}|[\"']?[ ]?[:=][ ]?)[\"'`]?"
        r"(?P<s>[A-Za-z0-9._~+/=-]{8,4096})",
        is_random,
    ),
    _folded(
        "auth-header",
        ("ssws ", "genericapikey ", "geniekey ", "bot mt", "bot nz", "bot od"),
        r"(?:ssws|genericapikey|geniekey|bot)[ ](?P<s>[A-Za-z0-9._~+/=-]{20,200})",
        is_random,
    ),
    _folded(
        "aws-secret-key",
        ("akia", "asia"),
        r"a[ks]ia[a-z0-9]{16}[ \t/:,;|\"'`]{1,8}(?P<s>[A-Za-z0-9/+]{40})(?![\w/+])",
        is_random,
    ),
    _folded(
        "session-token",
        ("sess", "sid=", "auth", "_at=", "jwt", "remember"),
        r"(?P<n>(?:sess|auth|jwt|remember)\w{0,16}(?:[_.-]\w{1,12}){0,3}|sid|_at)"
        r"=[\"']?(?:s%3a)?(?P<s>[^\s;,&\"'`\\]{16,4096})",
        is_cookie,
    ),
    _folded(
        "session-token",
        ("phpsessid=", "jsessionid=", "connect.sid=", "laravel_session="),
        r"(?P<n>phpsessid|jsessionid|connect\.sid|laravel_session)="
        r"(?:s%3a)?(?P<s>[^\s;,&\"'`\\]{16,512})",
        is_cookie,
    ),
    Rule(
        "url-password",
        ("@tcp(", "@unix("),
        r"(?<![\w:/])[\w.-]{1,32}:(?P<s>[^\s:/@\"'`]{1,64})@(?:tcp|unix)\(",
        is_login,
        lead=98,
    ),
    _folded(
        "url-password",
        ("postgres", "mysql", "mariadb", "mongodb", "redis", "amqp"),
        r"(?:postgres(?:ql)?|mysql|mariadb|mongodb|rediss?|amqps?)(?:\+\w{1,12})?"
        r"://(?P<u>[^\s:/@\"'`<>]{0,64}):(?P<s>[^\s\"'`<>@\\]{1,128})@(?=[\w\[$%{])",
        is_database_password,
    ),
    _folded(
        "url-password",
        ("//",),
        r"//(?P<u>[^\s/?#@:\"'`<>\\]{0,128}):(?P<s>[^\s/\"'`<>\\]{1,256})"
        r"@(?=[\w\[$%{])",
        is_url_password,
    ),
    _folded(
        "url-token",
        ("://",),
        r"://(?P<s>[A-Za-z0-9._~-]{16,256})(?::[xX]?|:x-oauth-basic)?@(?=\w)(?!o[0-9]{3,})",
        is_random,
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
        is_login,
    ),
    _folded(
        "login",
        ("jdbc:oracle:",),
        r"jdbc:oracle:\w{2,6}:[\w.-]{1,64}/(?P<s>[^\s/@\"'`]{2,128})@",
        is_login,
    ),
    _folded(
        "login",
        (
            *("login", "log in", "credentials", "creds", "zugang", "anmeldedaten"),
            *("identifiants", "acceso", "/password", "/pass", "/pw"),
        ),
        r"(?:(?:login|zugang|zugangs)(?:[ -]?(?:data|daten|details|info))?|log in"
        r"|credentials|creds|anmeldedaten|identifiants|acceso"
        r"|/(?:password|passwd|pass|pw)(?=[ :*_]))"
        r"(?:[ ](?:is|are|was|with|as|for[ ][\w.-]{1,24}|via|sind|lauten))?:?"
        r"[*_]{0,2}[ ]?(?:=|→|->)?[ ]{0,3}[(`\"']?[\w.@-]{1,40}[`\"']?"
        r"[ ]?(?:/{1,2}|[:|])[ ]?[`\"']?"
        r"(?P<s>[^\s`,;/\"'()]{5,64})",
        is_login_word,
    ),
    _folded(
        "login",
        ("admin", "root", "user"),
        r"(?<![a-z])(?:admin|root|user)[ ]?[/:][ ]?`?(?P<s>[^\s`,;/\"'():=@]{6,64})",
        is_login_symbols,
    ),
    _folded(
        "login",
        (*("-u ", "-u\t", '-u"', "-u'", "--user", "--proxy-user"), " -a ", "--auth"),
        r"(?:-u|--user|--proxy-user| -a|--auth)[ \t=]{0,2}[\"']?(?P<u>[\w.@+-]{1,64}):"
        r"(?P<s>[^\s\"'`]{3,128})",
        is_pair_password,
    ),
    _folded(
        "login",
        ("login", "access", "cred", "ssh", "ftp", "zugang", "scp "),
        r"(?:login|access|creds?|credentials|ssh|s?ftp|zugang|scp)\b[^\n/]{0,30}?[ `]"
        r"(?!mailto)[\w.-]{2,32}:(?P<s>[^\s:/@\"'`]{5,64})@[\w-]{2,}(?:\.[\w-]+|:)",
        has_digit,
    ),
    _folded(
        "login",
        ("login", "cred", "account", "access"),
        r"(?:login|creds?|credentials|account|access)[ ]?\([`\"']?[\w.@+-]{1,48}[`\"']?"
        r"(?:,|[ ]?/)[ ]?[`\"']?(?P<s>[^\s`\"',;()]{5,64})[`\"']?\)",
        has_digit,
    ),
    Rule(
        "login",
        ("p: ", "p:", "p="),
        r"(?i)(?<!\w)u(?:ser)?[:=][ ]?`?[\w.@-]{1,40}`?[ ,;/|]{1,3}p[:=][ ]?"
        r"[`\"']?(?P<s>[^\s`\"',;]{4,64})",
        is_login,
        lead=52,
    ),
    _folded(
        "login",
        ("auth", "credential", "login"),
        r"(?:auth\w{0,20}|credentials?|login)[ ]?=?[ ]?\("
        r"[ ]?\\{0,3}[\"'][^\"'\n\\]{1,64}\\{0,3}[\"'],[ ]?(?:some\()?"
        r"\\{0,3}[\"'](?P<s>[^\s\"'\\]{6,128})\\{0,3}[\"']",
        has_digit,
    ),
    _folded(
        "bearer-token",
        ("bearer",),
        r"bearer\w{0,12}\([ ]?\\{0,3}[\"'](?P<s>[^\s\"'\\]{12,2048})\\{0,3}[\"']",
        is_random,
    ),
    _folded(
        "password",
        (
            *(
                "access code",
                "code d'acc",
                "zugangscode",
                "door code",
                "código de acceso",
            ),
            *("访问码", "提取码"),
        ),
        r"(?:access code|code d'acc[eè]s|zugangscode|door code|código de acceso|访问码"
        r"|提取码)(?:[ ](?:is|ist|est|es))?[ ]?[:：=]?[ ]?[`\"']?(?P<s>[^\s`\"',;]{4,64})",
        has_digit,
    ),
    _folded(
        "login",
        ("community ", "community6 ", "nickserv identify ", "snmpwalk", "snmpget"),
        r"(?:(?:snmp-server |r[ow])?community6?|nickserv identify"
        r"|snmp(?:walk|get)[^\n|;]{0,60}?[ ]-c)[ ](?P<s>[^\s\"'`]{5,64})",
        has_digit,
    ),
    _folded(
        "password",
        ("identified by", "convertto-securestring", "identified with"),
        r"(?:identified (?:with \w{2,40} )?by|convertto-securestring)[ ]"
        r"(?:password[ ]|-string[ ])?[\"'](?P<s>[^\"'\n]{3,128})[\"']",
        is_login,
    ),
    _folded(
        "password",
        ("wifi", "wi-fi", "wlan", "ssid", "wpa", "wep "),
        r"(?:wifi|wi-fi|wlan|ssid|wpa[23]?|wep)\b[^\n]{0,60}?"
        r"\b(?:key|code|psk|schlüssel|clé|clave|密钥)\b[*_]{0,2}"
        r"(?:[ ](?:of|for|in|at|on|für|vom|del?|du|pour)(?:[ ][\w.'-]{1,20}){1,4}?"
        r"(?:[ ](?:is|was|ist|lautet|est|es)|[ ]?[:=])|[ ](?:is|was|ist|lautet|est|es))?"
        r"[ :=]{1,4}(?P<q>[`\"']?)"
        r"(?P<s>[^\s`\"',]{6,63})",
        is_wifi_key,
    ),
    _folded(
        "password",
        ("密码", "密碼", "口令", "令牌", "密钥", "密鑰", "パスワード", "비밀번호"),
        r"(?:密[码碼钥鑰]|口令|令牌|パスワード|비밀번호)(?:[(（][^()（）\n]{1,30}[)）])?[ ]?"
        r"(?:是|为|為|就是|改为|改成|设为|设置为|は|는|:|\uff1a|=|→)[ ]?"
        r"[*_]{0,2}[`\"'「『“]?(?P<s>[!#-&(-+\--~]{4,128})",
        is_spoken,
    ),
    _folded(
        "password",
        ("passw", " pw ", "secret", "token", " key "),
        r"(?:passw\w{1,5}|[ ]pw|secret|token|[ ]key)(?:[ ][\w'.-]{1,20}){0,4}?"
        r"[ ]from [`\"']?(?P<s>[^\s`\"']{5,64})[`\"']? (?:to|->|→) [`\"']?\S{4,64}",
        is_old_password,
    ),
    _folded(
        "seed-phrase",
        ("mnemonic", "seed phrase", "seed words", "recovery phrase", "secret phrase"),
        r"(?:mnemonic|(?:seed|recovery|secret)[ ](?:phrase|words))"
        r"(?:[ ][\w-]{1,16}){0,3}?(?:[ ]is)?[\"'`*_]{0,3}[ ]?[:=]?[ ]?[\"'`*_]{0,3}"
        r"(?P<s>(?:[a-z]{3,8}[ ]){11,23}[a-z]{3,8})\b",
    ),
    _folded(
        "api-key",
        ("?key=", "&key="),
        r"[?&]key=(?P<s>[A-Za-z0-9_-]{16,128})",
        is_random,
    ),
)

RULES: Final = TOKENS + CONTEXTS + COMMANDS + OUTPUTS
