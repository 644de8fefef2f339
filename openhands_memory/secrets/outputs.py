"""What a command printed that exists to print a secret: `pass show`, `openssl rand`.

The value is the line after the command, or the `output` beside it in a record.
"""

from typing import Final

from openhands_memory.secrets.rules import Rule, is_printed

_VALUE: Final = (
    r"(?:[ \t]{0,4}(?:\r?\n|\\{1,3}n)"
    r"|\\{0,3}\"[^\n\"]{0,8}\\{0,3}\"(?:output|stdout|content|result|text)\\{0,3}\"[ ]?:[ ]?)"
    r"\\{0,3}[\"']?(?P<s>[^\s\"'\\<>{}|$]{6,512})(?=\\{0,3}[\"']?(?:[ \t]{0,8}(?:$|\n|\r|#)|\\{0,3}[\"n]))"
)
_NAMED: Final = r"(?:passw|pwd|secret|token|api_?key|credential|private)"


def _output(literals: str, command: str) -> Rule:
    """Make the rule of what *command* prints; literals are split, `~` is a space."""
    words = tuple(word.replace("~", " ") for word in literals.split())
    pattern = rf"(?<![a-z0-9])(?:{command})[^\n]{{0,160}}?{_VALUE}"
    return Rule("printed-secret", words, pattern, is_printed, fold=True)


OUTPUTS: Final[tuple[Rule, ...]] = (
    _output(
        "pass~show gopass~show op~read secret-tool~lookup bw~get~password",
        r"pass show|gopass show|op read|secret-tool lookup|bw get password",
    ),
    _output("cat~", rf"cat [^\n]{{0,80}}?(?:/run/secrets/|{_NAMED})"),
    _output(
        "kubectl~get~secret", r"kubectl get secret[^\n]{0,120}?base64 (?:-d|--decode)"
    ),
    _output(
        "terraform~output tofu~output",
        rf"(?:terraform|tofu) output[^\n]{{0,60}}?{_NAMED}",
    ),
    _output("vault~kv~get vault~read", r"vault (?:kv get|read)[^\n]{0,20}? -field"),
    _output("secretsmanager~get-secret-value", r"secretsmanager get-secret-value"),
    _output("ssm~get-parameter", r"ssm get-parameters?[^\n]{0,80}?--with-decryption"),
    _output("keyvault~secret~show", r"keyvault secret show"),
    _output("gcloud~secrets~versions", r"gcloud secrets versions access"),
    _output(
        "print-access-token print-identity-token get-access-token get-login-password"
        " initial-password auth:token auth~token",
        r"print-(?:access|identity)-token|get-access-token|get-login-password"
        r"|initial-password|auth[: ]token",
    ),
    _output("openssl~rand pwgen", r"openssl rand|pwgen"),
    _output("token_hex token_urlsafe", r"token_(?:hex|urlsafe)"),
    _output(
        "find-generic-password find-internet-password",
        r"find-(?:generic|internet)-password",
    ),
    _output(
        "echo~ printenv~",
        rf"(?:echo|printenv)[ ][\"']?\$?\{{?\w{{0,30}}{_NAMED}\w{{0,20}}\}}?(?!\w)",
    ),
)
