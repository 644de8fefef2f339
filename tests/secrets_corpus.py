"""A labelled corpus for the secret scanner: what must be masked, what must survive.

Every value is made at run time from a fixed seed, so that no token of a real
provider's shape stands in the repository. The shapes follow the providers' public
documentation. The corpus is split by template, never by value: what one half is tuned
on says something about the other.
"""

import base64
import hashlib
import json
import random
import string
import urllib.parse
import uuid
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

ALNUM = string.ascii_letters + string.digits
LOWNUM = string.ascii_lowercase + string.digits
UPNUM = string.ascii_uppercase + string.digits
HEX = "0123456789abcdef"
B64 = ALNUM + "+/"
B32 = string.ascii_uppercase + "234567"
B64URL = ALNUM + "-_"


@dataclass(frozen=True, slots=True)
class Sample:
    """One text, the secret in it (or none), and the template that made it."""

    template: str
    kind: str
    text: str
    secret: str | None

    @property
    def held_out(self) -> bool:
        """Say which half the template belongs to; values play no part.

        The spoken shapes were all looked at while the rules were made.
        """
        if self.template.startswith("spoken/"):
            return False
        return zlib.crc32(self.template.encode()) % 2 == 1


class Maker:
    """Random values of one shape, from one seed."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)  # noqa: S311  (test data, not keys)

    def run(self, alphabet: str, length: int) -> str:
        return "".join(self.rng.choice(alphabet) for _ in range(length))

    def mixed(self, alphabet: str, length: int) -> str:
        """Like *run*, with at least two digits and both cases where it can."""
        while True:
            found = self.run(alphabet, length)
            if sum(c.isdigit() for c in found) >= 2 and (
                found.lower() != found or alphabet == alphabet.lower()
            ):
                return found

    def b64(self, size: int) -> str:
        return base64.b64encode(self.rng.randbytes(size)).decode()

    def uuid(self) -> str:
        return str(uuid.UUID(bytes=self.rng.randbytes(16), version=4))

    def password(self) -> str:
        return self.rng.choice(
            [
                "Sword" + "fish" + self.run(string.digits, 2),
                "Tr0ub" + "4dor&" + self.run(string.digits, 1),
                "hunter" + self.run(string.digits, 2),
                self.mixed(ALNUM, 12),
                self.mixed(ALNUM + "!#%*+-_.?", 16),
                "Winter" + "20" + self.run(string.digits, 2) + "!",
                "correct-" + "horse-" + "battery-" + "staple" + self.run(HEX, 2),
            ]
        )

    def pem(self, label: str, newline: str = "\n") -> str:
        body = [self.b64(48) for _ in range(6)] + [self.b64(20)]
        dashes = "-" * 5
        return newline.join(
            [f"{dashes}BEGIN {label}{dashes}", *body, f"{dashes}END {label}{dashes}"]
        )

    def jwt(self) -> str:
        parts = [
            json.dumps({"alg": "HS256", "typ": "JWT"}),
            json.dumps({"sub": self.run(string.digits, 10), "iat": 1516239022}),
        ]
        coded = [
            base64.urlsafe_b64encode(p.encode()).decode().rstrip("=") for p in parts
        ]
        return ".".join([*coded, self.run(B64URL, 43)])


def tokens() -> dict[str, Callable[[Maker], str]]:
    """Self-announcing tokens: the value alone says what it is."""
    return {
        "github-token": lambda m: (
            m.rng.choice(["ghp", "gho", "ghu", "ghs", "ghr"]) + "_" + m.run(ALNUM, 36)
        ),
        "github-token/fine": lambda m: (
            "github_" + "pat_" + m.run(ALNUM, 22) + "_" + m.run(ALNUM, 59)
        ),
        "gitlab-token": lambda m: "glpat" + "-" + m.run(B64URL, 20),
        "gitlab-token/routable": lambda m: (
            "glpat" + "-" + m.run(B64URL, 27) + ".01." + m.run(LOWNUM, 9)
        ),
        "gitlab-token/runner": lambda m: "glrt" + "-" + m.run(B64URL, 20),
        "aws-access-key-id": lambda m: (
            m.rng.choice(["AKIA", "ASIA"])
            + m.run(string.ascii_uppercase + "234567", 16)
        ),
        "slack-token": lambda m: (
            "xox"
            + "b-"
            + m.run(string.digits, 12)
            + "-"
            + m.run(string.digits, 12)
            + "-"
            + m.run(ALNUM, 24)
        ),
        "slack-token/user": lambda m: (
            "xox"
            + "p-"
            + m.run(string.digits, 11)
            + "-"
            + m.run(string.digits, 11)
            + "-"
            + m.run(string.digits, 12)
            + "-"
            + m.run(HEX, 32)
        ),
        "slack-token/app": lambda m: (
            "xa"
            + "pp-1-A"
            + m.run(UPNUM, 10)
            + "-"
            + m.run(string.digits, 13)
            + "-"
            + m.run(HEX, 64)
        ),
        "slack-webhook": lambda m: (
            "https://hooks.slack"
            + ".com/services/T"
            + m.run(UPNUM, 8)
            + "/B"
            + m.run(UPNUM, 10)
            + "/"
            + m.run(ALNUM, 24)
        ),
        "stripe-key": lambda m: (
            m.rng.choice(["sk", "rk"]) + "_live_" + m.run(ALNUM, 24)
        ),
        "stripe-key/long": lambda m: "sk" + "_test_51" + m.run(ALNUM, 97),
        "stripe-key/webhook": lambda m: "wh" + "sec_" + m.run(ALNUM, 32),
        "google-api-key": lambda m: "AI" + "za" + m.run(B64URL, 35),
        "google-oauth": lambda m: "GOC" + "SPX-" + m.run(B64URL, 28),
        "google-oauth/access": lambda m: "ya" + "29." + "a0Af" + m.run(B64URL, 120),
        "openai-key": lambda m: (
            "sk-" + "proj-" + m.run(B64URL, 74) + "T3Blbk" + "FJ" + m.run(B64URL, 74)
        ),
        "openai-key/old": lambda m: (
            "sk-" + m.run(ALNUM, 20) + "T3Blbk" + "FJ" + m.run(ALNUM, 20)
        ),
        "openai-key/svc": lambda m: "sk-" + "svcacct-" + m.run(B64URL, 60),
        "anthropic-key": lambda m: "sk-" + "ant-api03-" + m.run(B64URL, 93) + "AA",
        "openrouter-key": lambda m: "sk-" + "or-v1-" + m.run(HEX, 64),
        "npm-token": lambda m: "np" + "m_" + m.run(ALNUM, 36),
        "pypi-token": lambda m: "py" + "pi-AgEIcHlwaS5vcmc" + m.run(B64URL, 150),
        "sendgrid-key": lambda m: (
            "S" + "G." + m.run(B64URL, 22) + "." + m.run(B64URL, 43)
        ),
        "twilio-key": lambda m: "S" + "K" + m.run(HEX, 32),
        "discord-webhook": lambda m: (
            "https://discord"
            + ".com/api/webhooks/"
            + m.run("123456789", 18)
            + "/"
            + m.run(B64URL, 68)
        ),
        "discord-token": lambda m: (
            "MT"
            + base64.b64encode(m.run(string.digits, 17).encode())
            .decode()[2:24]
            .rstrip("=")
            .ljust(24, "0")
            + "."
            + "G"
            + m.run(ALNUM, 5)
            + "."
            + m.run(B64URL, 38)
        ),
        "telegram-bot-token": lambda m: (
            m.run("123456789", 10) + ":AA" + m.run(B64URL, 33)
        ),
        "huggingface-token": lambda m: "hf" + "_" + m.run(string.ascii_letters, 34),
        "digitalocean-token": lambda m: "dop" + "_v1_" + m.run(HEX, 64),
        "shopify-token": lambda m: (
            m.rng.choice(["shpat", "shpss", "shpca"]) + "_" + m.run(HEX, 32)
        ),
        "heroku-key": lambda m: "HRKU" + "-" + "AA" + m.run(B64URL, 58),
        "databricks-token": lambda m: "da" + "pi" + m.run(HEX, 32),
        "docker-token": lambda m: "dckr" + "_pat_" + m.run(B64URL, 27),
        "vault-token": lambda m: "hv" + "s." + "CAES" + m.run(B64URL, 91),
        "age-key": lambda m: (
            "AGE-" + "SECRET-KEY-1" + m.run("QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58)
        ),
        "linear-key": lambda m: "lin" + "_api_" + m.run(ALNUM, 40),
        "notion-token": lambda m: (
            "nt" + "n_" + m.run(string.digits, 11) + m.run(ALNUM, 35)
        ),
        "sentry-token": lambda m: "sntry" + "u_" + m.run(HEX, 64),
        "grafana-token": lambda m: (
            "gl" + "sa_" + m.run(ALNUM, 32) + "_" + m.run(HEX, 8)
        ),
        "newrelic-key": lambda m: "NR" + "AK-" + m.run(UPNUM, 27),
        "postman-key": lambda m: "PM" + "AK-" + m.run(HEX, 24) + "-" + m.run(HEX, 34),
        "doppler-token": lambda m: "dp." + "pt." + m.run(ALNUM, 43),
        "pulumi-token": lambda m: "pul" + "-" + m.run(HEX, 40),
        "terraform-token": lambda m: (
            m.run(ALNUM, 14) + ".atlas" + "v1." + m.run(ALNUM, 67)
        ),
        "rubygems-key": lambda m: "ruby" + "gems_" + m.run(HEX, 48),
        "atlassian-token": lambda m: (
            "ATA"
            + "TT3xFfGF0"
            + m.run(B64URL, 160)
            + "="
            + m.run("0123456789ABCDEF", 8)
        ),
        "mailgun-key": lambda m: "ke" + "y-" + m.run(HEX, 32),
        "mailchimp-key": lambda m: m.run(HEX, 32) + "-us" + "14",
        "square-token": lambda m: "sq0" + "atp-" + m.run(B64URL, 22),
        "planetscale-token": lambda m: "ps" + "cale_tkn_" + m.run(B64URL, 43),
        "tailscale-key": lambda m: (
            "ts" + "key-auth-k" + m.run(ALNUM, 11) + "CNTRL-" + m.run(ALNUM, 32)
        ),
        "figma-token": lambda m: "fig" + "d_" + m.run(B64URL, 40),
        "groq-key": lambda m: "gs" + "k_" + m.run(ALNUM, 52),
        "replicate-token": lambda m: "r" + "8_" + m.run(ALNUM, 37),
        "supabase-key": lambda m: "sb" + "p_" + m.run(HEX, 40),
        "airtable-token": lambda m: "pat" + m.run(ALNUM, 14) + "." + m.run(HEX, 64),
        "hubspot-token": lambda m: "pat-" + "na1-" + m.uuid(),
        "dynatrace-token": lambda m: (
            "dt0" + "c01." + m.run(UPNUM, 24) + "." + m.run(UPNUM, 64)
        ),
        "azure-client-secret": lambda m: m.run(ALNUM, 3) + "8Q~" + m.run(B64URL, 34),
        "jwt": lambda m: m.jwt(),
        "perplexity-key": lambda m: "pp" + "lx-" + m.run(ALNUM, 48),
        "xai-key": lambda m: "xa" + "i-" + m.run(ALNUM, 80),
        "sonar-token": lambda m: "sq" + "p_" + m.run(HEX, 40),
        "netlify-token": lambda m: "nf" + "p_" + m.run(ALNUM, 36),
        "fly-token": lambda m: "fo" + "1_" + m.run(B64URL, 43),
        "azure-sas": lambda m: (
            "sv=2022-11-02&ss=b&srt=sco&sp=rl&se=2026-01-01T00:00:00Z&sig="
            + urllib.parse.quote(m.b64(32), safe="")
        ),
    }


TOKEN_CONTEXTS: dict[str, str] = {
    "bare": "{v}",
    "env": "DEBUG=1\nSERVICE_CRED={v}\nPORT=8080",
    "env-quoted": 'SERVICE_CRED="{v}"',
    "yaml": "service:\n  cred: {v}\n  retries: 3",
    "json": '{{"service": "billing", "cred": "{v}"}}',
    "json-escaped": '{{"output": "{{\\"cred\\": \\"{v}\\"}}"}}',
    "python": "client = Client('{v}', timeout=3)",
    "export": "export SERVICE_CRED={v}",
    "header": "curl -H 'X-Service: {v}' https://api.example.com/v1/me",
    "bearer": 'curl -H "Authorization: Bearer {v}" https://api.example.com',
    "bullet": "- The staging deploy uses {v} until March.",
    "backticks": "- CI posts with `{v}` (ask Dana)",
    "log": "2026-01-14T09:31:02Z WARN worker-3 retrying with {v} after 401",
    "query": "GET https://api.example.com/v1/items?auth={v}&page=2",
    "ini": "[service]\ncred = {v}\n",
    "terraform": 'variable "cred" {{\n  default = "{v}"\n}}',
    "docker": "docker run -e SERVICE_CRED={v} -p 80:80 app:1.2",
    "table": "| staging | {v} | Dana |",
    "parens": "Rotated the old one ({v}), done.",
    "end": "We used to log in with {v}.",
    "xml": "<add key='cred' value='{v}'/>",
    "literal-newline": "line one\\n{v}\\nline three",
    "diff": "+  cred: '{v}'",
}

PASSWORD_CONTEXTS: dict[str, str] = {
    "env": "DB_HOST=db1\nDB_PASSWORD={v}\n",
    "env-short": "DB_PASS={v}",
    "env-quoted": "SMTP_PASSWD='{v}'",
    "export": "export PGPASSWORD={v}; psql -h db1",
    "yaml": "database:\n  user: ops\n  password: {v}\n",
    "yaml-quoted": 'redis:\n  auth_password: "{v}"',
    "json": '{{"user": "ops", "password": "{v}"}}',
    "json-tight": '{{"user":"ops","passwd":"{v}","port":5432}}',
    "json-escaped": '{{"out": "{{\\"password\\": \\"{v}\\"}}"}}',
    "python": 'connect(host="db1", user="ops", password="{v}")',
    "python-dict": "config = {{'host': 'db1', 'pwd': '{v}'}}",
    "python-const": 'ADMIN_PASSWORD: str = "{v}"',
    "ini": "[client]\nuser = root\npassword = {v}\n",
    "toml": '[db]\npassword = "{v}"',
    "properties": "spring.datasource.password={v}",
    "terraform": 'resource "x" "y" {{\n  master_password = "{v}"\n}}',
    "docker": "docker run -e POSTGRES_PASSWORD={v} postgres:16",
    "flag": "mysqladmin --user=root --password={v} status",
    "flag-space": "mytool login --username ops --password {v}",
    "sshpass": "sshpass -p '{v}' ssh ops@nas.local",
    "curl-user": "curl -u ops:{v} https://nas.local/api",
    "query": "https://nas.local/login?user=ops&password={v}&next=/",
    "xml": "<connection><password>{v}</password></connection>",
    "netrc": "machine nas.local login ops password {v}",
    "bullet-pass": "- nas login: user ops, pass={v}",
    "bullet-pw": "- admin pw is {v}",
    "bullet-colon": "- NAS password: {v}",
    "bullet-bold": "- **Password:** {v}",
    "bullet-tick": "- The wifi password is `{v}`",
    "prose-is": "The root password is {v} on every lab machine.",
    "prose-was": "Jonas said that the password was {v}, but it may have changed.",
    "prose-set": "I set the admin password to {v} for now.",
    "prose-with": "Log in as ops with password {v} and run the migration.",
    "prose-now": "the new db password is now {v}",
    "prose-quoted": 'Their VPN password is "{v}".',
    "german": "- Das Passwort lautet {v}",
    "german-colon": "Kennwort: {v}",
    "french": "Le mot de passe est {v}",
    "french-colon": "Mot de passe : {v}",
    "spanish": "La contraseña es {v}",
    "spanish-colon": "Contraseña: {v}",
    "portuguese": "senha: {v}",
    "ruby": ":password => '{v}',",
    "go": 'password := "{v}"',
    "js": "const dbPassword = '{v}';",
    "csharp": "Server=db1;Database=app;User Id=ops;Password={v};",
    "php": "define('DB_PASSWORD', '{v}');",
    "passphrase": "key passphrase: {v}",
    "credentials": "Credentials: ops / {v}",
    "slash": "staging login is ops/{v} (basic auth)",
    "log": "2026-01-14 09:31:02 ERROR login failed user=ops password={v} from 10.0.0.3",
    "heading": "## NAS\nuser: ops\npw: {v}\n",
    "requirepass": "requirepass {v}",
    "windows": "net use Z: \\\\nas\\share /user:ops /password:{v}",
    "powershell": '$env:DB_PASSWORD = "{v}"',
    "set": "set DB_PASSWORD={v}",
    "yaml-env": "    - name: DB_PASSWORD\n      value: {v}",
    "table": "| password | {v} |",
    "zero-width": "password: {zw}",
}

KEY_CONTEXTS: dict[str, str] = {
    "env": "APP_ENV=prod\nAPI_KEY={v}",
    "env-secret": "JWT_SECRET={v}",
    "env-quoted": 'CLIENT_SECRET="{v}"',
    "django": "SECRET_KEY = '{v}'",
    "yaml": "auth:\n  token: {v}\n",
    "yaml-key": "access_key: '{v}'",
    "json": '{{"apiKey": "{v}"}}',
    "json-secret": '{{"client_id": "web", "client_secret": "{v}"}}',
    "json-escaped": '"body": "{{\\"access_token\\":\\"{v}\\"}}"',
    "python": 'client = Api(api_key="{v}")',
    "header-key": "curl -H 'X-Api-Key: {v}' https://api.example.com",
    "header-private": "curl --header 'PRIVATE-TOKEN: {v}' https://git.example.com",
    "header-bearer": "Authorization: Bearer {v}",
    "header-token": "Authorization: token {v}",
    "python-header": 'headers = {{"Authorization": f"Bearer {v}"}}',
    "query": "https://api.example.com/v1?api_key={v}&format=json",
    "query-token": "GET /hook?access_token={v} HTTP/1.1",
    "bullet": "- The Datadog api key is {v}",
    "bullet-colon": "- CircleCI token: {v}",
    "bullet-tick": "- refresh token `{v}` is for staging",
    "prose": "Use the token {v} for the read replica.",
    "prose-secret": "The webhook secret is {v}, keep it.",
    "toml": '[api]\nsecret = "{v}"',
    "terraform": 'secret_key = "{v}"',
    "docker": "docker run -e API_TOKEN={v} app",
    "export": "export AUTH_TOKEN='{v}'",
    "npmrc": "//registry.npmjs.org/:_authToken={v}",
    "properties": "app.security.jwt.secret={v}",
    "js": "const apiKey = '{v}';",
    "camel": "accessToken: '{v}',",
    "flag": "deploy --token {v} --region eu",
    "flag-eq": "deploy --api-key={v}",
    "log": "INFO refreshed session, new token={v} expires_in=3600",
    "encryption": "ENCRYPTION_KEY={v}",
    "cookie": "Cookie: session_token={v}; theme=dark",
    "german": "- Der API-Schlüssel lautet {v}",
    "xml": "<apiKey>{v}</apiKey>",
    "yaml-env": "  - name: API_TOKEN\n    value: {v}",
    "k8s": "data:\n  api-token: {v}\n",
    "powershell": "$env:API_KEY = '{v}'",
}


def special(m: Maker) -> Iterator[tuple[str, str, str, str]]:
    """Secrets whose shape and context come together: kind, context, text, secret."""
    for label in (
        "RSA PRIVATE KEY",
        "OPENSSH PRIVATE KEY",
        "PRIVATE KEY",
        "EC PRIVATE KEY",
        "ENCRYPTED PRIVATE KEY",
    ):
        pem = m.pem(label)
        body = pem.split("\n")[2]
        yield "private-key", label, f"key:\n{pem}\nafter", body
        yield (
            "private-key",
            label + "/json",
            json.dumps({"private_key": pem + "\n"}),
            body,
        )
        yield "private-key", label + "/env", "KEY='" + m_literal(pem) + "'", body
        indented = "\n".join("    " + line for line in pem.split("\n"))
        yield "private-key", label + "/yaml", f"tls.key: |\n{indented}\nnext: 1", body
        yield "private-key", label + "/crlf", pem.replace("\n", "\r\n"), body
        yield (
            "private-key",
            label + "/quote",
            "\n".join("> " + line for line in pem.split("\n")),
            body,
        )
        cut = "\n".join(pem.split("\n")[:4])
        yield (
            "private-key",
            label + "/cut",
            f"{cut}\n[output truncated]\nnext step",
            body,
        )
    pgp = m.pem("PGP PRIVATE KEY BLOCK")
    yield "private-key", "pgp", pgp, pgp.split("\n")[2]
    aws = m.run(B64, 39) + "9"
    for name, text in {
        "env": "AWS_SECRET_ACCESS_KEY={v}",
        "ini": "[default]\naws_secret_access_key = {v}",
        "json": '"SecretAccessKey": "{v}"',
        "yaml": "secretAccessKey: {v}",
        "prose": "AWS secret key is {v}",
        "python": 'boto3.client("s3", aws_secret_access_key="{v}")',
        "tf": 'secret_key = "{v}"',
        "export": "export AWS_SECRET_ACCESS_KEY='{v}'",
    }.items():
        yield "aws-secret-key", name, text.format(v=aws), aws
    for scheme in (
        "postgres",
        "postgresql+asyncpg",
        "mysql",
        "mongodb+srv",
        "redis",
        "amqp",
        "https",
        "ftp",
        "smtp",
        "mssql",
    ):
        pw = m.mixed(ALNUM, 10)
        yield (
            "url-password",
            scheme,
            f"DATABASE_URL={scheme}://svc:{pw}@db.internal:5432/app",
            pw,
        )
        pw = m.mixed(ALNUM, 8)
        yield (
            "url-password",
            scheme + "/prose",
            f"- The db is at {scheme}://ops:{pw}@db1/x now.",
            pw,
        )
        yield (
            "url-password",
            scheme + "/nouser",
            f"url: '{scheme}://:{pw}@cache:6379/0'",
            pw,
        )
    yield "url-password", "word", "postgres://svc:notreal@db/x", "notreal"
    yield (
        "url-password",
        "encoded",
        "postgres://svc:p%40ss%2Fw0rd@db/x",
        "p%40ss%2Fw0rd",
    )
    yield (
        "url-password",
        "git",
        f"git clone https://ops:{(word := m.run(HEX, 20))}@git.example.com/a/b.git",
        word,
    )
    pair = base64.b64encode(f"ops:{m.mixed(ALNUM, 12)}".encode()).decode()
    yield "basic-auth", "header", f"Authorization: Basic {pair}", pair
    yield (
        "basic-auth",
        "curl",
        f'curl -H "Authorization: Basic {pair}" https://x.example',
        pair,
    )
    yield "basic-auth", "json", json.dumps({"Authorization": f"Basic {pair}"}), pair
    yield (
        "basic-auth",
        "docker",
        json.dumps({"auths": {"r.example": {"auth": pair}}}),
        pair,
    )
    store = m.b64(64)
    yield (
        "azure-storage-key",
        "conn",
        f"DefaultEndpointsProtocol=https;AccountName=acme;AccountKey={store};EndpointSuffix=core.windows.net",
        store,
    )
    yield "azure-storage-key", "env", f"AZURE_STORAGE_KEY={store}", store
    yield "azure-storage-key", "json", json.dumps({"accountKey": store}), store
    shared = m.b64(32)
    yield (
        "azure-shared-key",
        "bus",
        f"Endpoint=sb://acme.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey={shared}",
        shared,
    )
    kube = m.b64(400)
    yield (
        "kubeconfig-key",
        "yaml",
        f"users:\n- name: a\n  user:\n    client-key-data: {kube}",
        kube,
    )
    yield "kubeconfig-key", "json", json.dumps({"client-key-data": kube}), kube
    for prefix, rest in (
        ("$apr1$", m.run(ALNUM, 8) + "$" + m.run(ALNUM + "./", 22)),
        ("$2y$10$", m.run(ALNUM + "./", 53)),
        ("$6$", m.run(ALNUM, 16) + "$" + m.run(ALNUM + "./", 86)),
        ("{SHA}", m.b64(20)),
    ):
        yield "htpasswd", prefix, f"ops:{prefix}{rest}", rest
    yield (
        "htpasswd",
        "bullet",
        f"- htpasswd line: admin:$apr1${m.run(ALNUM, 8)}${(word := m.run(ALNUM, 22))}",
        word,
    )
    yield (
        "private-key",
        "ppk",
        "PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\nPrivate-Lines: 1\n"
        + (pp := m.b64(36))
        + "\nPrivate-MAC: "
        + m.run(HEX, 64),
        pp,
    )
    wg = m.b64(32)
    yield (
        "private-key",
        "wireguard",
        f"[Interface]\nPrivateKey = {wg}\nAddress = 10.0.0.2/32",
        wg,
    )
    teams = (
        "https://acme.webhook.office"
        + f".com/webhookb2/{m.uuid()}@{m.uuid()}/IncomingWebhook/"
        + f"{m.run(HEX, 32)}/{m.uuid()}"
    )
    yield "teams-webhook", "bare", teams, teams
    heroku = m.uuid()
    yield "heroku-key", "env", f"HEROKU_API_KEY={heroku}", heroku
    twilio = m.run(HEX, 32)
    yield (
        "twilio",
        "env",
        f"TWILIO_ACCOUNT_SID=AC{m.run(HEX, 32)}\nTWILIO_AUTH_TOKEN={twilio}",
        twilio,
    )
    for word in ("key", "secret", "token"):
        hexed = m.run(HEX, 40)
        yield "entropy", word, f"the deploy {word} for eu is {hexed}", hexed
    for shape, token in (
        ("github", "gh" + "p_" + m.run(ALNUM, 36)),
        ("openai", "sk-" + "proj-" + m.run(ALNUM, 60)),
    ):
        coded = base64.b64encode(token.encode()).decode()
        yield "encoded", shape, f"data: {coded}", coded
        yield (
            "encoded",
            shape + "/pair",
            "blob " + (pair := base64.b64encode(f"user:{token}".encode()).decode()),
            pair,
        )
        for name, hidden in (
            ("zwsp", "\u200b"),
            ("soft", "\u00ad"),
            ("bidi", "\u202e"),
            ("wj", "\u2060"),
        ):
            spread = hidden.join(token[i : i + 5] for i in range(0, len(token), 5))
            yield "zero-width", f"{shape}/{name}", f"use {spread} here", token


def m_literal(text: str) -> str:
    return text.replace("\n", "\\n")


# Looser shapes, from notes, shells and code: the text, and what is secret in it.
SPOKEN: tuple[tuple[str, str], ...] = (
    ("Root pw for the lab box: {v}", "Gr8$Gatsby!"),
    ("the sudo password for jenkins@ci is {v}", "Gr8$Gatsby!"),
    ("password → {v}", "Gr8$Gatsby!"),
    ("PW={v}", "tiger-lily-42"),
    ("- Grafana: admin / {v}", "Gr8$Gatsby!"),
    ("Grafana (admin:{v})", "Gr8$Gatsby!"),
    ("user=admin pass={v} host=db", "tiger-lily-42"),
    ("username: admin, password: {v}, port 22", "tiger-lily-42"),
    ("login with admin/{v} on the staging box", "Gr8$Gatsby!"),
    ("ssh root@10.0.0.4 (password {v})", "tiger-lily-42"),
    ("- WiFi `Office5G`, key `{v}`", "Gr8$Gatsby!"),
    ("wifi psk={v}", "sunshine99"),
    ("wpa_passphrase={v}", "blueberry77"),
    ('psk="{v}"', "sunshine99"),
    ("PGPASSWORD='{v}' pg_dump app", "Gr8$Gatsby!"),
    ("mysql -u root -p{v} app", "hunter22"),
    ("mysql -uroot -p'{v}' app", "hunter22"),
    ("redis-cli -a {v} ping", "{an32}"),
    ("redis-cli --pass {v} ping", "{an32}"),
    ("curl --user 'ops:{v}' https://x", "Gr8$Gatsby!"),
    ("wget --http-password={v} https://x", "tiger-lily-42"),
    ("smbclient //nas/x -U ops%{v}", "hunter22"),
    ('{{"auth":{{"user":"x","pass":"{v}"}}}}', "tiger-lily-42"),
    ("auth: {{ username: 'x', password: '{v}' }}", "Gr8$Gatsby!"),
    ("--db-password '{v}'", "Gr8$Gatsby!"),
    ("-Ddb.password={v}", "tiger-lily-42"),
    ("ENV API_TOKEN {v}", "{an32}"),
    ("ARG NPM_TOKEN={v}", "{an32}"),
    ("ENV DB_PASSWORD={v}", "tiger-lily-42"),
    ("helm upgrade --set auth.password={v}", "tiger-lily-42"),
    ("kubectl create secret generic x --from-literal=password={v}", "tiger-lily-42"),
    ("kubectl create secret generic x --from-literal=api-key={v}", "{an32}"),
    ("x-api-key: {v}", "{an32}"),
    ("X-Auth-Token: {v}", "{hex32}"),
    ("-H 'apikey: {v}'", "{an32}"),
    ("X-Vault-Token: {v}", "{an32}"),
    ("Authorization: ApiKey {v}", "{an32}"),
    ("Authorization: {v}", "{hex32}"),
    ("Proxy-Authorization: Basic {v}", "{pair}"),
    ("Set-Cookie: sessionid={v}; Path=/; HttpOnly", "{hex32}"),
    ("Cookie: PHPSESSID={v}", "{low26}"),
    ("The API key ({v}) is in use by the cron job", "{an32}"),
    ("API key for staging: {v}", "{an32}"),
    ("Our Mapbox token, {v}, expires in June", "{an32}"),
    ("key={v}&cx=1", "{an32}"),
    ("?apikey={v}", "{hex32}"),
    ("&token={v}", "{hex32}"),
    ("?sig={v}", "{hex64}"),
    ("&access_token={v}#x", "{an32}"),
    ("LDAP bind password {v} works for readonly", "tiger-lily-42"),
    ("bind_pw: {v}", "Gr8$Gatsby!"),
    ("bindpw {v}", "Gr8$Gatsby!"),
    ('ldap_bind_password = "{v}"', "Gr8$Gatsby!"),
    ("MINIO_ROOT_PASSWORD: {v}", "tiger-lily-42"),
    ("RABBITMQ_DEFAULT_PASS: {v}", "guestguest1"),
    ("KEYCLOAK_ADMIN_PASSWORD={v}", "admin"),
    ("POSTGRES_PASSWORD: {v}", "postgres"),
    ('"password": "{v}"', "letmein"),
    ("password = {v}", "swordfish"),
    ("mot de passe admin : {v}", "tiger-lily-42"),
    ("mdp: {v}", "tiger-lily-42"),
    ("le mdp est {v}", "tiger-lily-42"),
    ("Das Admin-Passwort ist {v}", "tiger-lily-42"),
    ("Passwort für den NAS: {v}", "tiger-lily-42"),
    ("PIN: {v}", "483920"),
    ("Die PIN lautet {v}", "483920"),
    ("clave: {v}", "tiger-lily-42"),
    ("la clave es {v}", "tiger-lily-42"),
    ("a senha é {v}", "tiger-lily-42"),
    ("wachtwoord: {v}", "tiger-lily-42"),
    ("Passwort={v}", "tiger-lily-42"),
    ("WLAN-Passwort: {v}", "tiger-lily-42"),
    ("Zugangsdaten: ops / {v}", "hunter22"),
    ("temporary password: {v} (change on first login)", "tiger-lily-42"),
    ("Default password is still '{v}'", "letmein"),
    ("the password, {v}, was mailed", "tiger-lily-42"),
    ("password (prod): {v}", "tiger-lily-42"),
    ("password [prod]: {v}", "tiger-lily-42"),
    ("**password**: `{v}`", "tiger-lily-42"),
    ("| DB | ops | password: {v} |", "tiger-lily-42"),
    ("<td>password</td><td>{v}</td>", "tiger-lily-42"),
    ('private static final String PASSWORD = "{v}";', "Gr8$Gatsby!"),
    ('String apiSecret = "{v}";', "{an32}"),
    ("$password = '{v}';", "tiger-lily-42"),
    ("@password = '{v}'", "tiger-lily-42"),
    ('let token: String = "{v}".into();', "{an32}"),
    ('let api_key: &str = "{v}";', "{an32}"),
    ("const API_KEY: string = '{v}';", "{an32}"),
    ("os.environ['API_KEY'] = '{v}'", "{an32}"),
    ('os.environ["DB_PASSWORD"] = "{v}"', "tiger-lily-42"),
    ("process.env.TOKEN = '{v}'", "{an32}"),
    ("os.getenv('DB_PASSWORD', '{v}')", "tiger-lily-42"),
    ("config.set('password', '{v}')", "tiger-lily-42"),
    ("localStorage.setItem('token', '{v}')", "{an32}"),
    ("headers['X-Api-Key'] = '{v}'", "{an32}"),
    ("setx API_KEY {v}", "{an32}"),
    ("$Env:TOKEN='{v}'", "{an32}"),
    ("(ConvertTo-SecureString '{v}' -AsPlainText -Force)", "Gr8$Gatsby!"),
    ("conda config --set token {v}", "{an32}"),
    ("git config --global user.password {v}", "tiger-lily-42"),
    ("npm config set //r/:_authToken {v}", "{an32}"),
    ("//npm.pkg.github.com/:_authToken={v}", "{an32}"),
    ("_auth={v}", "{pair}"),
    ("aws configure set aws_secret_access_key {v}", "{b6440}"),
    ("AWS_SESSION_TOKEN={v}", "{b64300}"),
    ("aws_secret: {v}", "{b6440}"),
    ("Secret access key: {v}", "{b6440}"),
    ("client secret {v}", "{an32}"),
    ("client_secret={v}&grant_type=client_credentials", "{an32}"),
    ("OAuth secret → {v}", "{an32}"),
    ("consumer_secret: {v}", "{an32}"),
    ('"refresh_token" : "{v}"', "{an32}"),
    ("id_token={v}", "{an32}"),
    ("webhook secret: {v}", "{hex32}"),
    ("signing secret `{v}`", "{hex32}"),
    ("JWT signing key: {v}", "{b6443}="),
    ("SESSION_SECRET={v}", "keyboardcat9"),
    ("encryption key is {v}", "{b6443}="),
    ("FERNET_KEY={v}", "{b6443}="),
    ("APP_KEY=base64:{v}", "{b6443}="),
    ("RAILS_MASTER_KEY={v}", "{hex32}"),
    ("secret_key_base: {v}", "{hex128}"),
    ("TWILIO_AUTH_TOKEN={v}", "{hex32}"),
    ("DATADOG_API_KEY={v}", "{hex32}"),
    ("DD_APP_KEY={v}", "{hex40}"),
    ("algolia admin key: {v}", "{hex32}"),
    ("CLOUDFLARE_API_TOKEN={v}", "{an40}"),
    ("CF_API_KEY: {v}", "{hex37}"),
    ("HEROKU_API_KEY: {v}", "{uuid}"),
    ("client_secret: {v}", "{uuid}"),
    ("api-key: {v}", "{uuid}"),
    ("token: {v}", "{uuid}"),
    ("machine api.heroku.com\n  login me@x.io\n  password {v}", "{uuid}"),
    ("db.internal:5432:app:ops:{v}", "hunter22x"),
    ("jdbc:postgresql://db/app?user=ops&password={v}", "tiger-lily-42"),
    ("jdbc:oracle:thin:ops/{v}@db:1521/x", "hunter22"),
    ("Server=x;Uid=ops;Pwd={v};", "tiger-lily-42"),
    ("mongodb://ops:{v}@a,b/c?x=1", "hunter22"),
    ("amqps://u:{v}@h", "a1b2c3d4"),
    ("ftp://ops:{v}@nas", "hunter22"),
    ("//ops:{v}@registry.x/", "hunter22"),
    ("2FA secret: {v}", "{b3232}"),
    ("otpauth://totp/x?secret={v}&issuer=y", "{b3232}"),
    ("password is: {v}", "tiger-lily-42"),
    ('Password is "{v}"', "swordfish"),
    ("pass is {v}", "tiger-lily-42"),
    ("pw {v}", "tiger-lily-42"),
    ("pwd {v}", "tiger-lily-42"),
    ("PASS {v}", "tiger-lily-42"),
    ("pass phrase: {v}", "blue-monkey-9"),
    ("The password to the admin panel is {v}", "tiger-lily-42"),
    ("The password of user ops is {v}", "tiger-lily-42"),
    ("password to the vpn: {v}", "tiger-lily-42"),
    ("user 'ops' identified by '{v}'", "tiger-lily-42"),
    ("CREATE USER ops WITH PASSWORD '{v}';", "Gr8$Gatsby!"),
    ("ALTER USER ops PASSWORD '{v}'", "swordfish"),
    ("IDENTIFIED BY '{v}'", "swordfish"),
    ("docker login -u ops -p {v} r.io", "hunter22"),
    ("az login -u ops -p {v}", "hunter22"),
    ("sshpass -p{v} ssh x", "hunter22"),
    ("openssl x -passin pass:{v}", "hunter22"),
    ("gpg --passphrase {v}", "hunter22"),
    ('\\"token\\": \\"{v}\\"', "{an32}"),
    ('\\\\\\"password\\\\\\": \\\\\\"{v}\\\\\\"', "tiger-lily-42"),
    ("'password': b'{v}'", "tiger-lily-42"),
    ("password=u'{v}'", "tiger-lily-42"),
    ("password%3D{v}", "tiger-lily-42"),
    ("password: &quot;{v}&quot;", "tiger-lily-42"),
    ("- token = {v}", "{hex32}"),
    ("Token: {v}", "{hex32}"),
    ("TOKEN {v}", "{hex32}"),
    ("bearer {v}", "{an32}"),
    ("Bearer: {v}", "{an32}"),
    ("bearer={v}", "{an32}"),
    ("auth token is {v}", "{an32}"),
    ("access token ({v})", "{an32}"),
    ("The token was `{v}`", "{an32}"),
    ('token "{v}"', "{an32}"),
    ("the license key is {v}", "ABCD1-EFG2H-IJK3L-MN4OP"),
    ("UPDATE users SET password='{v}' WHERE id=1", "tiger-lily-42"),
    ("password:{v}", "tiger-lily-42"),
    ("pass:{v}", "tiger-lily-42"),
    ("pw:{v}", "tiger-lily-42"),
    ("Pw: {v}", "tiger-lily-42"),
    ("passwd {v}", "tiger-lily-42"),
    ("creds: ops:{v}", "hunter22"),
    ("login: ops pass: {v}", "hunter22"),
)

SPOKEN_INNOCENT: tuple[str, ...] = (
    "The password policy lives in docs/policy.md",
    "We use password hashing (argon2id, m=64MB)",
    "password hashing: argon2id",
    "password: argon2id with pepper",
    "- Passwords must rotate every 90 days",
    "The token bucket refills 10/s",
    "Tokenizer splits on whitespace",
    "token_budget = 4096",
    "context_tokens: 8192",
    "max_new_tokens=512",
    '"total_tokens": 18234',
    "prompt_tokens=100, completion_tokens=50",
    "secrets are mounted at /run/secrets",
    "secret_path: kv/data/app",
    "aws_access_key_id and aws_secret_access_key come from the profile",
    "AWS_PROFILE=prod",
    "AWS_SECRET_ACCESS_KEY is set in CI",
    "unset GITHUB_TOKEN",
    "echo $GITHUB_TOKEN",
    "printenv | grep TOKEN",
    'if [ -z "$API_KEY" ]; then exit 1; fi',
    'API_KEY="${{API_KEY:?missing}}"',
    "API_KEY=$(op read op://ops/key)",
    "token=$(gh auth token)",
    "TOKEN=`cat token.txt`",
    "password: ${{DB_PASSWORD:-}}",
    "password=${{DB_PASSWORD:-changeme}}",
    "gh secret set API_KEY < key.txt",
    "kubectl get secret db -o jsonpath='{{.data.password}}'",
    "kubectl create secret generic db --from-literal=password=$DB_PASSWORD",
    "The login page has user and password inputs",
    "login: POST /api/login",
    "login: see README",
    "Login with SSO",
    "login as root is disabled",
    "admin/users.py",
    "admin/2024/report",
    "root/project-2024",
    "user/42",
    "user: dana42",
    "username: dana42",
    "user_id: 12345678",
    "key: user_id",
    "- key takeaways: test early",
    "keystore: /etc/ssl/keystore.jks",
    "keystore.type=PKCS12",
    "sort key is created_at",
    "api-key header is X-Api-Key",
    "api key auth is deprecated since v2.3",
    "The API key lives in AWS Secrets Manager",
    "API key: stored in 1Password",
    "Token: stored in GitHub Actions secrets",
    "- token is injected by the pipeline",
    "- token is refreshed by middleware/auth2.ts",
    "- secret is rotated by job rotate-v2",
    "Access token expires after 3600s",
    "Access tokens are JWTs signed with RS256",
    "JWT secret is loaded from config/jwt.json",
    "password reset tokens expire in 24h",
    "Password strength meter: zxcvbn",
    "password field name: user_password",
    "password_confirmation must match",
    "password: params[:password]",
    "password: @password",
    "password = user.password",
    "password = args.password or getpass()",
    "password=settings.DB_PASSWORD",
    'password=config["db"]["password"]',
    "password=cfg.db.password,",
    '"password": process.env.DB_PASS',
    '"password": "${{env:DB_PASS}}"',
    '"password": "{{{{ db_password }}}}"',
    '"password": ""',
    '"password": null',
    '"password": false',
    '"token": "string"',
    '"secret": "string"',
    '"apiKey": "<API_KEY>"',
    '"apiKey": "your-api-key-here"',
    "api_key: 'sk-...'",
    'api_key="sk-..."',
    "OPENAI_API_KEY=sk-...",
    "OPENAI_API_KEY=sk-your-key-here",
    "ANTHROPIC_API_KEY=sk-ant-xxxxx",
    "GITHUB_TOKEN=ghp_your_token_here",
    "GITHUB_TOKEN=ghp_xxxxxxxxxxxx",
    "xoxb-your-token",
    "token: xoxb-***",
    "Bearer ***",
    "Authorization: Bearer {{{{token}}}}",
    "Authorization: Bearer ${{API_TOKEN}}",
    "Authorization: Bearer eyJ...",
    "Authorization: Basic ***",
    "Authorization: Basic $(echo -n u:p | base64)",
    "postgres://user:${{PW}}@db/app",
    "postgres://app:<password>@db/app",
    "postgres://app:PASSWORD@db/app",
    "mysql://root@localhost/app",
    "https://example.com/reset?token=<token>",
    "https://example.com/?token=TOKEN",
    "http://localhost:8080/auth/token",
    "https://github.com/acme/app/blob/main/src/token.ts#L10-L20",
    "https://example.com/a:b@c",
    "see foo:bar@baz notation",
    "- meeting notes 2026-01-14: password discussion",
    "Passwortregeln: mindestens 12 Zeichen",
    "Passwort vergessen? Link per Mail",
    "Das Passwort steht im Tresor.",
    "Le mot de passe est dans Bitwarden",
    "mot de passe : voir coffre",
    "La contraseña está en 1Password",
    "contraseña: ver gestor",
    "clave primaria: id",
    "palabra clave: rendimiento",
    "clave: valor",
    "senha: ver cofre",
    "pass criteria: 95% coverage",
    "2nd pass: optimise",
    "pass/fail: 12/3",
    "pass: 98%, fail: 2%",
    "tests pass = 412",
    "passes in 3.2s",
    "mountain pass: closed",
    "boarding pass: mobile",
    "pw: puppeteer wrapper",
    "pwd: /home/ops/app",
    "PWD is the working directory",
    "pin: numpy<2",
    "pin version to 1.26.4",
    "PIN entry screen: fixed in 2.4",
    "GPIO pin 17",
    "keyboard shortcut: Ctrl+Shift+P",
    "key=value",
    "key: value",
    "fingerprint: SHA256:nThbg6kXUpJWGl7E1IGOCspRomTxdCARLviKw6E5SY8",
    "commit hash: 9fceb02d0ae598e95dc970b74767f19372d61af8",
    'etag = "33a64df551425fcc55e4d42a148795d9f25f89d4"',
    "sha256 = 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "deploy key added to repo acme/app",
    "session: tmux attach -t main",
    "session timeout: 30m",
    "cookie consent: v2",
    "cookie: SameSite=Lax",
    "auth: handled by oauth2-proxy",
    "auth=none",
    "auth_backend: django.contrib.auth",
    "auth provider is auth0",
    "credential rotation: monthly",
    "credentials file: ~/.aws/credentials",
    "creds: from vault",
    "git config credential.helper cache",
    "token ring network",
    "a token of appreciation",
    "the secret ingredient is caching",
    "open secret: it is slow",
    "no secrets here",
    "the key is to test early",
    "the key is in Bitwarden",
    "the key to success",
    "Pass the `--token` flag",
    "use --password-stdin instead",
    "`--password` is deprecated",
    "-p/--password PASSWORD",
    "PASSWORD (required)",
    "password (string): the password",
    "token (str): API token",
    "api_key (Optional[str], default None)",
    ":param token: the API token",
    "@param password the user's password",
    "* password - user password",
    "password -- the password to hash",
    "assert login('dana', 'wrong-password') is False",
    "expect(password).toBeHidden()",
    "page.fill('#password', password)",
    '<PasswordField name="password" />',
    'label="Password"',
    'placeholder="Password"',
    "error.password.too_short=Password is too short",
    "password.reset.title=Reset your password",
    '"errors.token.expired": "Token expired"',
    "invalid_token: The token is invalid",
    '{{"error":"invalid_token","error_description":"The access token expired"}}',
    "HTTP 401: invalid token",
    "TOKEN_EXPIRED = 'token_expired'",
    "SECRET_NAME = 'db-password'",
    "KEY_PREFIX = 'session:'",
    "PASSWORD_RE = re.compile(r'^.{{8,}}$')",
    "TOKEN_RE = r'\\w+'",
    "CACHE_KEY = 'v1:users:list'",
    "REDIS_KEY='queue:jobs'",
    "API_KEY_HEADER = 'X-Api-Key'",
    "password_input = driver.find_element(By.ID, 'password')",
    "token, _ = Token.objects.get_or_create(user=user)",
    "token = jwt.encode(payload, key, algorithm='HS256')",
    "secret = Secret.from_name('openai-secret')",
    "secret = client.get_secret('db-password')",
    "Depends(get_token)",
    "fn token(&self) -> &Token",
    "let token = lexer.next_token();",
    "case token.PLUS:",
    "type: Secret",
    "kind: Secret",
    "name: db-secret",
    "secretName: app-tls-2024",
    "password.txt",
    ".env has API_KEY and DB_PASSWORD",
    "rotate API_KEY, DB_PASSWORD",
    "ACCESS_TOKEN, REFRESH_TOKEN",
    "- DB_PASSWORD: from Vault path kv/app",
    "- DB_PASSWORD (set in GitLab CI)",
    "- STRIPE_SECRET_KEY: test mode only",
    "- API_TOKEN → read from keychain",
    "valid_token: UserAPIKeyAuth",
    "cosign verify --key https://raw.example.com/acme/{hex40}/cosign.pub",
    'namedtuple("BasicAuth", ["login", "password", "encoding"])',
    'keyring.get_password("system", "username")',
    "Command line arguments to pass to :py:func:`run`",
    "# Second pass: sanitize/disambiguate",
    "raises if the element is not found. Pass timeout>0 to wait.",
    "`first_pass`, `second_pass` and `last_pass` are removed",
    'key_material = b"usually at least 32 random bytes"',
    'ACCESS_KEY = "AWSAccessKeyId"',
    "a freshness pass is ~350 ms",
    "the fallback token (allow_requests_on_db_unavailable=True)",
    "https://example.com/search?q=hello&apikey=%3Credacted%3E",
    "password_digest: string",
    "The token endpoint returns a JWT",
    "- use `token` not `key`",
    "api_key: string; // required",
    "apiKey?: string",
    "token: TokenType.Access",
    "type Token = {{ kind: string }}",
    "token = tokens[i]",
    "for token in tokens:",
    "token := scanner.Token()",
    "tok, err := jwt.Parse(token)",
    "password=request.form['password']",
    "password = input('Password: ')",
    "password: process.env.DB_PASSWORD || ''",
    "passwordHash: await hash(pw)",
    "const password = faker.internet.password()",
    "pass the token as a header",
    "pass: the build is green",
    "Test pass 3 of 5",
    "pass --verbose to see more",
    "password rotation: quarterly",
    "password manager: Bitwarden",
    "token limit: 128k",
    "token budget is 6000",
    "context tokens = 200000",
    "secret sauce: caching",
    "secret: false",
    "secrets: none in repo",
    "The key insight is caching",
    "key: string",
    "keys: a, b, c",
    "primary key is (tenant_id, id)",
    "hot key: Ctrl+K",
    "shortcut key: cmd+shift+p",
    "key = f'{{tenant}}:{{user_id}}'",
    "key='abc'",
    "cache key is user:{{id}}:profile",
    "dedupe key: sha256(body)",
    "access_key_id: see vault",
    "SSH key: ~/.ssh/deploy_ed25519",
    "ssh key fingerprint SHA256:{an43}",
    "SHA256:{b6443}",
    "- key rotation every 30d",
    "auth: OAuth2 with PKCE",
    "auth_url: https://id.example.com",
    "authenticator: LDAP",
    "author: Dana <dana@example.com>",
    "authors = ['Dana']",
    "authority: https://login.microsoftonline.com/common",
    "Authorization header is required",
    "Authorization: required",
    "cookie: none",
    "session: 2026-01-14",
    "sessions/5f1d9c",
    "session_id is a UUID",
    "session id: generated at login",
    "cookie_name = sessionid",
    "cookies: disabled",
    "credential helper: osxkeychain",
    "credential.helper=store",
    "creds live in ~/.aws/credentials",
    "PIN 13 is the LED",
    "pin: 13",
    "pinned: numpy==1.26.4",
    "pins numpy to 1.26",
    "spinning up",
    "opinion: 4821",
    "pwd: prints folder",
    "passport number",
    "passive: true",
    "pass-through: yes",
    "passthrough=1",
    "compass: 4821",
    "password_strength: 3",
    "min_password_length: 12",
    "PASSWORD_MAX_AGE=90",
    "password_expires_at: 2026-01-01",
    "token_ttl=3600s",
    "token_lifetime: 15m",
    "token expires 2026-01-14",
    "the token is valid for 15m",
    "The token is 32 bytes long",
    "secret length is 64 hex chars",
    "The secret is base64 of 32 bytes",
    "password is at least 8 chars",
    "The password is 12-character minimum",
    "password has 3 parts",
    "password v2 flow",
    "passwords2 table",
    "token2id mapping",
    "bpe token 50256",
    "token_id=50256",
    "token ids: [1, 2, 3]",
    "pad_token_id=50256",
    "password: min_length=8",
    "password: {{type: string, minLength: 8}}",
    "password: {{ type: 'string' }}",
    '"password": {{"type": "string"}}',
    "password: Schema.String",
    "password: z.string().min(8)",
    "password: yup.string().required()",
    "password: Joi.string()",
    "password = forms.CharField(widget=forms.PasswordInput)",
    "password = Column(String(128))",
    "password VARCHAR(255) NOT NULL",
    "password TEXT",
    "token CHAR(64) PRIMARY KEY",
    "secret_id uuid",
    "password_hash = bcrypt.hashpw(pw, salt)",
    "pw_hash: TEXT",
    "Password reset for user 4821",
    "Password must contain A-Z and 0-9",
    "GET /v1/token 200 12ms",
    "POST /oauth/token",
    "POST /api/password/reset",
    "grant_type=password&username=ops",
    "grant_type: password",
    "response_type=token",
    "scope=token:read",
    "feature: secret-scanning-v2",
    "ticket OPS-4821: rotate secret",
    "- PR #4821 removes the password field",
    "see docs/password.md",
    "see docs/token-auth.md",
    "tests/test_password.py::test_reset",
    "password.py:42",
    "lib/token.rs",
    "secrets.yaml",
    "secrets.enc.yaml is sops-encrypted",
    "token: ENC[AES256_GCM,data:abc,iv:def]",
    "vault kv get secret/app",
    "vault write auth/approle/login",
    "secret/data/prod/db",
    "aws secretsmanager get-secret-value --secret-id prod/db",
    "SECRET_ARN=arn:aws:secretsmanager:eu-west-1:123456789012:secret:prod/db-AbCdEf",
    "gcloud secrets versions access latest --secret=db",
    "--secret id=npmrc,src=.npmrc",
    "RUN --mount=type=secret,id=npm_token",
    "imagePullSecrets:\n- name: regcred",
    "secretName: tls-cert",
    "valueFrom:\n  secretKeyRef:\n    name: db",
    "envFrom: secretRef",
    "token: str | None = None",
    "def f(token: str = '') -> None:",
    "if token.startswith('ghp_'):",
    "re.compile(r'ghp_[A-Za-z0-9]{{36}}')",
    "pattern: sk-[a-zA-Z0-9]{{48}}",
    "regex: AKIA[0-9A-Z]{{16}}",
    "prefix 'xoxb-'",
    'eyJ is the base64 of {{"',
    "starts with eyJhbGciOi",
    "commit {hex40}",
    "image@sha256:{hex64}",
    'etag: "{hex32}"',
    "md5: {hex32}",
    "checksum = {hex64}",
    '"integrity": "sha512-{b6486}=="',
    "x-request-id: {uuid}",
    "trace_id={hex32}",
    "span {hex16}",
    "run id {uuid}",
    "nonce: {hex16}",
    "build 20260114.4",
    "cache-{hex40}.tar",
    "uuid: {uuid}",
    "id: 01HZX3Q4M5N6P7R8S9T0V1W2X3",
    "tag v1.2.3-{hex7}",
    "AC00000000000000000000000000000000",
    "sk_sp_language_pack",
    "sk-SK locale",
    "ask-me-anything-session-2026-01",
    "disk-usage-report-2026-01-14-final",
    "task-20260114-093102-worker-3-retry",
    "mask-rcnn-resnet50-fpn-coco-v1-weights",
    "risk-score-model-v20260114-prod-eu",
    "pat-na1-region",
    "pypi-server",
    "npm_config_cache",
    "hf_dataset_viewer",
    "gsk_plc",
    "key-value-store-for-session-data-v2",
    "key-0123",
    "SG.1",
    "dapi",
    "I love passwords :)",
    "token/secret handling: see SECURITY.md",
    "password, token and secret are redacted",
    "(password|token|secret)=",
    "password=.*",
    "password=\\S+",
    "password=%s",
    "password=?",
    "user=%s password=%s",
    "password='%s'",
    "--password=<pw>",
    "--token=$(cat t)",
    "-p <password>",
    "-p 8080:80",
    "docker run -p 5432:5432 -e POSTGRES_PASSWORD db",
    "mysql -u root -p app",
    "psql -U ops -W",
    "http://localhost:3000",
    "redis://cache:6379",
    "postgres://localhost/app",
    "https://user:pass@example.com",
    "http://user:pw@host/",
    "postgres://user:***@db",
    "postgres://user:xxxx@db",
    "https://x-access-token:${{TOKEN}}@github.com",
    "https://oauth2:$GITLAB_TOKEN@gitlab.com",
    "git+ssh://git@github.com/a/b.git@{hex40}",
    "pip install git+https://github.com/a/b@v1.2.3",
    "docker.io/library/postgres:16@sha256:{hex64}",
    "s3://bucket/key/secret.txt",
    "The password hint is 'first pet'",
    "password_hint: first pet",
    "The passphrase should be four words",
    "- Passwords: never in chat",
    "Token = Union[str, bytes]",
    "secret = 42",
    "key pass rate 98%",
    "pass@1 = 0.42",
    "pass@10: 71.3",
    "bypass_token_check = False",
    "is_secret: true",
    "has_password=1",
    "use_token: yes",
    "show_password: false",
    "password_required=true",
    "login: dana",
    "login: dana / role: admin2",
    "account: 123456789012",
    "account is ops/prod2",
    "creds: see ops/vault2024",
    "credentials/profile: default",
    "- admin login at https://x.example/admin",
    "user: dana, team: infra2",
    "basic-auth: enabled",
    "Basic dGVzdA",
    "Bearer authentication",
    "Bearer token required",
    "bearer of bad news",
    "The session key is derived via HKDF-SHA256",
    "Encryption key: AES-256-GCM, KMS-managed",
    "encryption_key: alias/app-prod",
    "signing key: RS256",
    "key algorithm: ECDSA-P256",
    "API key auth: header X-Api-Key",
    "api key: required for POST",
    "API key prefix is sk-",
    "license: Apache-2.0",
    "license key: none needed",
    "the license key is checked at start-up",
)


def filled(shape: str, m: Maker, value: str = "") -> str:
    """Fill `{hex40}`, `{b64 43}`, `{uuid}` and the like with made-up values."""
    pair = base64.b64encode(("ops:" + m.mixed(ALNUM, 9)).encode()).decode()
    names = {"v": value, "uuid": m.uuid(), "pair": pair}
    alphabets = {"hex": HEX, "b64": B64, "an": ALNUM, "low": LOWNUM, "b32": B32}
    for name, alphabet in alphabets.items():
        for size in (10, 16, 26, 32, 37, 40, 43, 64, 86, 128, 300):
            names[f"{name}{size}"] = m.run(alphabet, size)
        names[f"{name}7"] = m.run(alphabet, 7)
    return shape.format(**names)


def positives(seed: int = 1) -> list[Sample]:
    """Return texts with one secret each."""
    found: list[Sample] = []
    for name, make in tokens().items():
        m = Maker(zlib.crc32(f"{seed}{name}".encode()))
        order = m.rng.sample(sorted(TOKEN_CONTEXTS), 7)
        for context in order:
            value = make(m)
            shown = TOKEN_CONTEXTS[context].format(v=value)
            secret = value.rsplit("sig=")[-1]
            found.append(Sample(f"{name}/{context}", name.split("/")[0], shown, secret))
    m = Maker(seed)
    for context, shape in PASSWORD_CONTEXTS.items():
        for turn in range(3):
            value = m.password()
            shown = shape.format(v=value, zw=value[:3] + "\u200b" + value[3:])
            found.append(
                Sample(f"password/{context}", f"password/{turn}", shown, value)
            )
    for context, shape in KEY_CONTEXTS.items():
        for make in (
            lambda: m.run(HEX, 32),
            lambda: m.mixed(ALNUM, 40),
            lambda: m.mixed(B64URL, 24),
        ):
            value = make()
            found.append(Sample(f"key/{context}", "key", shape.format(v=value), value))
    for shape, value_shape in SPOKEN:
        value = filled(value_shape, m)
        text = filled(shape, m, value)
        found.append(Sample(f"spoken/{shape}", "spoken", text, value))
    for kind, context, text, secret in special(m):
        found.append(Sample(f"{kind}/{context}", kind, text, secret))
    return found


# Innocent values, each shown in several of the contexts below.
def innocent_values(m: Maker) -> dict[str, str]:
    digest = hashlib.sha512(m.rng.randbytes(8)).digest()
    return {
        "sha1": m.run(HEX, 40),
        "sha256": m.run(HEX, 64),
        "md5": m.run(HEX, 32),
        "sha512": digest.hex(),
        "short-sha": m.run(HEX, 7),
        "uuid": m.uuid(),
        "integrity": "sha512-" + base64.b64encode(digest).decode(),
        "ulid": "01" + m.run("0123456789ABCDEFGHJKMNPQRSTVWXYZ", 24),
        "digest-ref": "sha256:" + m.run(HEX, 64),
        "hyphenated": "risk-based-approach-for-deployments",
        "sk-word": "sk-learn-compatible-estimator-pipeline-for-tabular-models",
        "snake": "test_token_refresh_is_idempotent_under_load",
        "path": "/usr/lib/python3.12/site-packages/openhands/sdk/context/memory.py",
        "url": "https://docs.example.com/en/latest/guides/authentication-tokens.html?page=2",
        "version": "v2.14.0-rc.3+build.20260114",
        "email": "dana.fields@example.com",
        "phone": "+49 30 901820",
        "ssh-pub": "ssh-ed25519 AAAA"
        + "C3NzaC1lZDI1NTE5"
        + "AAAAI"
        + m.run(B64, 43)
        + " ops@nas",
        "ssh-rsa-pub": "ssh-rsa AAAA"
        + "B3NzaC1yc2EAAAADAQAB"
        + m.run(B64, 200)
        + " ops@nas",
        "image": "data:image/png;base64," + m.b64(120),
        "camel": "AbstractSingletonProxyFactoryBeanConfigurationResolver",
        "ip": "2001:db8:85a3:8d3:1319:8a2e:370:7348",
        "arn": "arn:aws:iam::123456789012:role/deploy-prod",
        "iso": "2026-01-14T09:31:02.123456+00:00",
        "package": "@types/node@20.11.30",
        "docker-image": "ghcr.io/acme/app:1.4.2-alpine3.19",
        "public-stripe": "price_" + m.run(ALNUM, 24),
        "go-sum": "h1:" + m.b64(32),
        "number": m.run("123456789", 18),
        "placeholder": "sk-" + "x" * 32,
        "placeholder-gh": "ghp_" + "x" * 36,
    }


INNOCENT_CONTEXTS: dict[str, str] = {
    "bare": "{v}",
    "bullet": "- See {v} for the details.",
    "ticks": "- fixed in `{v}` last week",
    "yaml": "ref: {v}",
    "json": '{{"ref": "{v}", "count": 3}}',
    "log": "2026-01-14T09:31:02Z INFO worker-3 finished {v} in 20 ms",
    "python": "assert result == '{v}'",
}


INNOCENT_LINES: tuple[str, ...] = (
    "The password field is required.",
    "- Rotate the token every 90 days.",
    "password: see 1Password",
    "- Passwords live in 1Password, vault `ops`.",
    "API_KEY=<your-api-key>",
    "API_KEY=your_api_key_here",
    'api_key = "YOUR_API_KEY"',
    "GITHUB_TOKEN=$TOKEN",
    "GITHUB_TOKEN=${GITHUB_TOKEN}",
    "token: ${{ secrets.GITHUB_TOKEN }}",
    "GH_TOKEN: ${{ github.token }}",
    'api_key = os.environ["API_KEY"]',
    'api_key=os.getenv("API_KEY")',
    "token = get_token()",
    "const token = await fetchToken(userId);",
    "password = getpass.getpass()",
    "password: ********",
    "password: xxxxxxxx",
    "password = None",
    "password: str",
    "password: Optional[str] = None",
    "def login(user: str, password: str) -> Token:",
    "def verify(token: str, secret: bytes) -> bool:",
    "password: string;",
    "self.password = password",
    "token = self.token",
    "token=token",
    "auth=(user, password)",
    "max_tokens=4096",
    "max_tokens: 200000",
    "tokens: 1234567",
    "- total tokens: 48210 in, 1200 out",
    "token count: 4096",
    "num_tokens = 512",
    "tokenizer: cl100k_base",
    "eos_token: </s>",
    "pad_token = '<|endoftext|>'",
    "token_type: bearer",
    '{"token_type": "Bearer", "expires_in": 3600}',
    "password_min_length = 12",
    "password_file: /run/secrets/db_password",
    "POSTGRES_PASSWORD_FILE=/run/secrets/pg",
    "secretName: prod-db-creds",
    "secret_name: prod/db/main",
    "secretKeyRef:\n  name: app-secrets\n  key: db-password",
    "api_key_env: OPENAI_API_KEY",
    "TOKEN_URL=https://auth.example.com/oauth/token",
    "token_url: https://auth.example.com/oauth2/token",
    "PASSWORD_RESET_TIMEOUT=3600",
    "password_hash_algorithm: argon2id",
    "passed=12 failed=0",
    "- pass rate: 98.4%",
    "bypass = true",
    "compass: north-east",
    "passenger: Dana",
    "author = Jane",
    "authentication: oauth2",
    "auth: none",
    "cache_key = user:1234",
    "primary_key: id",
    "sort_key=created_at",
    "partition_key: tenant_id",
    "foreign key: orders.user_id",
    "keyboard: us-intl",
    "- Key: value pairs are sorted.",
    "key = lambda item: item.score",
    "sorted(items, key=lambda x: x[1])",
    "The secret to fast tests is isolation.",
    "- Secret santa is on Friday.",
    "The token is short-lived.",
    "The token is read-only and expires after one hour.",
    "The password is case-sensitive.",
    "The password is stored hashed with bcrypt.",
    "The password is wrong.",
    "the password was changed on Monday",
    "The password must be at least 12 characters.",
    "password is base64-encoded in the manifest",
    "- The API key is read from the environment.",
    "- The api key is stored in the keychain.",
    "- API keys are rotated by `scripts/rotate.sh`.",
    "Set the password to something long.",
    "I set the password to expire after 90 days.",
    "Use the token from the vault.",
    "Use the token bucket algorithm for rate limits.",
    "The token `Bearer` is matched case-insensitively.",
    "Ask Dana for the password.",
    "Password reset: send the link by mail.",
    "- Password policy: 14 characters, one symbol",
    "Password: ask Jonas",
    "Passwort: siehe Tresor",
    "Das Passwort ist abgelaufen.",
    "Das Passwort wird alle 90 Tage geändert.",
    "Le mot de passe est obligatoire.",
    "Le mot de passe doit contenir 12 caractères.",
    "La contraseña es obligatoria.",
    "La contraseña debe tener 12 caracteres.",
    "A senha é obrigatória.",
    "token: required",
    "secret: optional",
    "password: required, min 8",
    "password: {{ vault_db_password }}",
    "password: {{ .Values.db.password }}",
    "password: !vault |",
    "db_password: !Ref DbPassword",
    "password = var.db_password",
    "password = random_password.db.result",
    "password = data.aws_ssm_parameter.db.value",
    "api_key: op://ops/datadog/key",
    "password: vault:secret/data/db#password",
    "PASSWORD=%DB_PASSWORD%",
    "password=$(cat /run/secrets/db)",
    "password=`pass show db`",
    "echo $PASSWORD | docker login --password-stdin",
    "docker login -u ops --password-stdin < token.txt",
    "mysql -u root -p",
    "curl -u $USER:$PASS https://x.example",
    'curl -H "Authorization: Bearer $TOKEN" https://api.example.com',
    "Authorization: Bearer <token>",
    "Authorization: Bearer YOUR_TOKEN",
    "Authorization: Basic <credentials>",
    "- Bearer tokens are checked by the gateway.",
    "Basic authentication is disabled.",
    "postgres://user:password@localhost:5432/db",
    "postgres://$USER:$PASS@db/x",
    "postgresql://${DB_USER}:${DB_PASSWORD}@db/app",
    "https://<user>:<password>@example.com",
    "postgres://db.internal:5432/app",
    "https://example.com:8080/@dana/post",
    "git@github.com:acme/app.git",
    "ssh://git@github.com:22/acme/app.git",
    "redis://localhost:6379/0",
    "mailto:ops@example.com",
    "see https://user@example.com/path",
    "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
    "-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----",
    "The file starts with -----BEGIN RSA PRIVATE KEY----- and must not be committed.",
    "grep -r 'BEGIN RSA PRIVATE KEY' .",
    "- AWS keys start with AKIA and are 20 characters long.",
    "- GitHub tokens start with `ghp_` or `github_pat_`.",
    "OpenAI keys look like sk-...",
    "Slack tokens: xoxb-..., xoxp-...",
    "- The `sk_live_` prefix means production.",
    "risk_live_migration_of_customers_table_to_new_cluster",
    "task-based-scheduler-with-priorities-and-preemption-v2",
    "desk-reservation-service-integration-tests-for-berlin",
    "npm_config_registry=https://registry.npmjs.org",
    "npm_package_version_from_environment_variables_in_script",
    "hf_transfer is faster than the default downloader",
    "hf_hub_download_with_retries_and_exponential_backoff",
    "lin_api_client_for_the_linear_issue_tracker_module",
    "r8_optimizer_settings_for_release_builds",
    "r8_shrinking_configuration_for_release_builds_only",
    "Use passlib 1.7.4 with bcrypt 4.0.1.",
    "ruff S105 hardcoded-password-string is disabled in tests.",
    "`password` and `token` are reserved words.",
    '"password" | "token" | "secret"',
    "if password != confirm_password:",
    "if token == expected: return True",
    "assert token is not None",
    "if not password: raise ValueError('password is empty')",
    "raise AuthError('invalid password: too short')",
    'error: password authentication failed for user "ops"',
    "FATAL: password authentication failed",
    "SyntaxError: Unexpected token '<' at position 0",
    "Unexpected token: punc (})",
    "JSON parse error: unexpected token: end of input",
    "| field | type | meaning |\n| password | string | the login password |",
    "- `--token TOKEN`: the API token",
    "--password PASSWORD  password for the database",
    "usage: tool [--api-key KEY] [--token TOKEN]",
    "tool --password-file pw.txt",
    "- keyring backend: SecretService",
    "SECRET_BACKEND=vault",
    "secret_manager: gcp",
    "SecretStr",
    "password = Field(min_length=8)",
    "password = serializers.CharField(write_only=True)",
    "token = models.ForeignKey(Token, on_delete=models.CASCADE)",
    "token: Annotated[str, Depends(oauth2_scheme)]",
    "api_key: SecretStr | None = None",
    'parser.add_argument("--password", help="the password")',
    '<input type="password" name="password" id="password">',
    "<label for='password'>Password:</label>",
    "label: Password",
    "placeholder: Enter your password",
    "type: password",
    "name: password",
    "t('login.password')",
    "password_label: Password",
    "forgot_password: Forgot your password?",
    "passwordless: true",
    "password_policy: strict",
    "The CSRF token is set in middleware.ts",
    "csrf_token = request.cookies.get('csrftoken')",
    "{% csrf_token %}",
    "next_page_token: null",
    "tokens per second: 41.7",
    "- Token budget is 6000 characters.",
    "pass = 0; fail = 0",
    "pw = page.width",
    "pwd = Path.cwd()",
    "pwd",
    "cd $(pwd)/src",
    "PWD=/home/ops/project",
    "OLDPWD=/tmp",
    "- Test plan: pass: 12, fail: 1, skip: 3",
    "  pass: true",
    "    pass  # nothing to do",
    "all tests pass: yes",
    "passes: 3",
    "`pass` is a no-op: use it in empty blocks.",
    "first pass: lexing; second pass: parsing",
    "credentials: include",
    "credentials: same-origin",
    "Credentials: see the team vault",
    "withCredentials: true",
    "- Login: https://login.example.com/ops",
    "login: required",
    "key: db-password",
    "- ssh key: ~/.ssh/id_ed25519",
    "identity_file = ~/.ssh/id_ed25519",
    "private_key_path: /etc/ssl/private/site.key",
    "ssl_certificate_key /etc/nginx/tls/site.key;",
    "signing_key_id: 4A1B2C3D",
    "key_id: alias/prod",
    'kms_key_id = "arn:aws:kms:eu-west-1:123456789012:key/abcd"',
    "GPG key fingerprint: 4AEE 18F8 3AFD EB23",
    "idempotency_key: order-1234-attempt-2",
    "cache-key: node-modules-v3-linux",
    "key: ${{ runner.os }}-pip-${{ hashFiles('**/requirements.txt') }}",
    "issue key: OPS-1234",
    "translation key: login.password.help",
    "- secret scanning: enabled",
    "secret_scanning_push_protection: enabled",
    "permissions:\n  id-token: write",
    "id-token: write",
    "token-permissions: read-all",
    "secrets: inherit",
    "secrets:\n  - db_password",
    "- decided against: secrets in git, even encrypted",
    "x = token[0:8]",
    "prefix = token.split('.')[0]",
    "print(f'token: {token[:4]}...')",
    "logger.info('token=%s', mask(token))",
    "password=<redacted>",
    "password: [REDACTED]",
    "token=[secret: github-token]",
    "password: '<secret-hidden>'",
    "password: TODO",
    "password: TBD",
    "password: n/a",
    "password: -",
    "password: ''",
    'password: ""',
    "password:",
    "SECRET_KEY=",
    "token: ''  # filled by CI",
    "SECRET_KEY=change-me",
    "password: changeme",
    "password=example",
    'password = "test"',
    "api_key = 'dummy'",
    "api_key: fake-key-for-tests",
    "token: abc123...",
    "token: …",
    "sk-learn is spelled scikit-learn",
    "- The base image is python:3.12-slim",
    "- commit 3f2a9b1c fixed the token refresh",
    "base64: the alphabet is A-Za-z0-9+/",
    "lorem-ipsum-dolor-sit-amet-consectetur-adipiscing-elit",
    "glpat- is the GitLab prefix",
    "hvs. tokens are Vault service tokens",
    "The AccountKey= part of the connection string is secret.",
    "- sig= in a SAS URL is the signature",
    "client-key-data: REDACTED",
    "machine example.com login ops",
    "user: ops, role: admin",
    "ops:x:1000:1000::/home/ops:/bin/bash",
    "webhook: https://hooks.slack.com/services/...",
    "- Discord webhooks start with https://discord.com/api/webhooks/",
    "12345678:AAA is too short for a bot token",
    "ratio 16:9, 4:3",
    "time 10:15:30",
    "deadbeef deadc0de cafebabe",
    "- the pwd command prints the folder",
    "wifi password is on the whiteboard",
    "- the admin password is in Bitwarden",
    "the pw is the same as for staging",
    "our password is never logged",
    "passphrase is optional",
    "- passport.js: local strategy",
    "secret = secrets.token_urlsafe(32)",
    "token = secrets.token_hex(16)",
    "SECRET_KEY = env('SECRET_KEY')",
    "SECRET_KEY = config.get('SECRET_KEY')",
    "API_KEY = settings.API_KEY",
    "apiKey: process.env.API_KEY,",
    "apiKey: import.meta.env.VITE_API_KEY",
    "const { token, secret } = req.body",
    "password: req.body.password,",
    "password => bcrypt.hash(password, 10)",
    'token: "{{token}}"',
    "token: '{token}'",
    'f"Bearer {token}"',
    "`Bearer ${token}`",
    "'Authorization': 'Bearer ' + token",
    "Authorization: `token ${process.env.GITHUB_TOKEN}`",
)


def negatives(seed: int = 1) -> list[Sample]:
    """Return texts that look like secrets and hold none."""
    found: list[Sample] = []
    for context, shape in INNOCENT_CONTEXTS.items():
        for name, value in innocent_values(
            Maker(seed + zlib.crc32(context.encode()))
        ).items():
            found.append(Sample(f"{name}/{context}", name, shape.format(v=value), None))
    for line in INNOCENT_LINES:
        found.append(Sample(f"line/{line}", "line", line, None))
    m = Maker(seed)
    for shape in SPOKEN_INNOCENT:
        found.append(Sample(f"spoken/{shape}", "line", filled(shape, m), None))
    return found
