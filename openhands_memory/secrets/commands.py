"""Passwords on the command line: where each command expects them."""

import re
from collections.abc import Callable
from typing import Final

from openhands_memory.secrets.rules import Rule, is_login, is_option_value

_VALUE: Final = r"[\"']?(?P<s>[^\s\"'|;-][^\s\"'|;]{2,128})"


def _command(
    names: str,
    option: str,
    check: Callable[[re.Match[str]], bool] = is_option_value,
    value: str = _VALUE,
) -> Rule:
    """Make the rule of what follows *option* after one of *names* (split at spaces; `~` is one)."""
    words = tuple(word.replace("~", " ") for word in names.split())
    heads = "|".join(map(re.escape, words))
    pattern = rf"(?<![a-z0-9])(?:{heads})(?![a-z0-9])[^\n|;]{{0,160}}?{option}{value}"
    return Rule("login", words, pattern, check, fold=True)


COMMANDS: Final[tuple[Rule, ...]] = (
    _command(
        "mysql mysqldump mysqladmin mysqlimport mysqlshow mariadb mariadb-dump",
        r"(?<=[ ])(?-i:-p)(?!ort|rotocol|lugin)",
    ),
    _command("redis-cli valkey-cli keydb-cli", r"[ ]-a[ ]"),
    _command("sshpass", r"[ ](?-i:-p)[ ]?"),
    _command(
        "login mongo mongosh mongodump mongorestore mongoexport mongoimport cqlsh"
        " twine evil-winrm netexec crackmapexec unlock-keychain",
        r"[ ](?-i:-p)[ ]",
    ),
    _command(
        "ldapsearch ldapmodify ldapadd ldapdelete ldapwhoami ldappasswd"
        " add-generic-password add-internet-password",
        r"[ ](?-i:-w)[ ]?",
    ),
    _command("mosquitto_pub mosquitto_sub mosquitto_rr ipmitool", r"[ ](?-i:-P)[ ]"),
    _command("sqlcmd bcp tsql", r"[ ](?-i:-P)[ ]?"),
    _command("plink pscp psftp putty", r"[ ]-pw[ ]"),
    _command("ssh-keygen", r"[ ](?-i:-[NP])[ ]"),
    _command("xfreerdp xfreerdp3 wfreerdp sdl-freerdp cmdkey", r"[ ]/p(?:ass)?:"),
    _command("rabbitmqctl", r"(?:add_user|change_password)[ ][\w.@-]{1,64}[ ]"),
    _command("wpa_passphrase", r"[ ][\"']?[\w.-]{1,32}[\"']?[ ]"),
    _command("lftp", r"[ ]-u[ ][\w.@-]{1,64},"),
    _command("zip unzip zipcloak", r"[ ](?-i:-P)[ ]?"),
    _command("7z 7za 7zz 7zr rar unrar", r"[ ](?-i:-h?p)"),
    _command("openssl", r"(?:[ ](?-i:-k)[ ]|[ ]pass:)"),
    _command("htpasswd", r"[ ]-\w{0,4}b\w{0,4}[ ]\S{1,80}[ ]\S{1,40}[ ]"),
    _command(
        "net~user", r"[ ][\w.-]{1,40}[ ]", value=r"(?P<s>[^\s/\"'][^\s\"']{3,64})"
    ),
    _command("net~use", r"/user:[^\s]{1,64}[ ]"),
    _command(
        "net~use",
        r"\\\\[\w.$-]{1,64}\\+[\w.$-]{1,64}[ ]",
        value=r"[\"']?(?P<s>[^\s\"'/|;-][^\s\"'|;]{3,64})[\"']?[ ]/user:",
    ),
    _command(
        "sqlplus expdp impdp rman sqlldr",
        r"[ ][\"']?\w{1,40}/",
        value=r"[\"']?(?P<s>[^\s\"'/@|;-][^\s\"'/@|;]{2,64})(?=[\"']?(?:@|\s|$))",
    ),
    Rule(
        "login",
        ("-u ", "user="),
        r"(?:-u[ ]|user=)[\"']?[\w.\\@-]{1,64}%(?P<s>[^\s\"'`]{3,64})",
        is_login,
        fold=True,
    ),
    Rule(
        "login",
        ("<<<",),
        r"(?:sudo[ ]-S|-stdin|--with-token|cryptsetup|kinit)[^\n|;]{0,60}?<<<[ ]?"
        r"[\"']?(?P<s>[^\s\"'|;]{4,128})",
        is_login,
        lead=90,
    ),
    Rule(
        "login",
        ("echo ", "printf "),
        r"(?:echo|printf)[ ](?:-n[ ])?[\"']?(?:[\w.-]{1,32}:)?(?P<s>[^\s\"'|:]{4,128})"
        r"[\"']?[ ]?\|[^\n]{0,80}?(?:sudo[ ]-S|--password-stdin|passwd --stdin|chpasswd"
        r"|with-token)",
        is_login,
        fold=True,
    ),
)
