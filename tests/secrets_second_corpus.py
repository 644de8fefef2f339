"""A second labelled corpus for the secret scanner, written without reading its rules.

Each item is a piece of text as it stands in memory files, daily logs, recorded tool
output and environment dumps. Every value is made at run time from a seed, so that no
token of a real provider's shape stands in the repository. `«v»` in a text is where the
value goes, `«N»` and `«n»` are the name of it in capitals and in lower case.

Left out because honest people would disagree: a plain dictionary word as a password,
PINs, one-time codes, password hashes, and the "changeme" of an example.
"""

import base64
import json
import random
import re
import string
import urllib.parse
import uuid
from collections.abc import Callable, Iterator
from typing import NamedTuple

LETTERS = string.ascii_letters
ALNUM = string.ascii_letters + string.digits
UPPER = string.ascii_uppercase + string.digits
LOWER = string.ascii_lowercase + string.digits
HEX = "0123456789abcdef"
B64 = ALNUM + "+/"
URL64 = ALNUM + "-_"
WORDS = """amber anchor badger basil beacon birch canyon cedar cobalt comet copper coral
dolphin ember falcon fern flint garnet ginger glacier harbor hazel heron indigo juniper
kestrel lantern lemon lotus magnet maple marble meadow nectar nutmeg onyx orbit otter
pebble pepper pigeon plum quartz raven river saffron salmon silver sparrow thistle timber
tulip velvet walnut willow winter zephyr""".split()


class Item(NamedTuple):
    """A text; the parts of it that are secret, none in a look-alike."""

    kind: str
    text: str
    secrets: tuple[str, ...] = ()


def survives(item: Item, masked: str) -> bool:
    """Say whether eight characters in a row of a secret still stand in `masked`.

    The masks are left out: `[secret: rubygems-key]` says `rubygems`, as does the token.
    """
    masked = re.sub(r"\[secret: [\w.-]+\]", "\0", masked)
    for secret in item.secrets:
        width = min(8, len(secret))
        for start in range(len(secret) - width + 1):
            if secret[start : start + width] in masked:
                return True
    return False


class Maker:
    """Makes values from a seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)  # noqa: S311  reproducible

    def of(self, letters: str, length: int) -> str:
        return "".join(self.random.choices(letters, k=length))

    def hex(self, length: int) -> str:
        return self.of(HEX, length)

    def alnum(self, length: int) -> str:
        return self.of(ALNUM, length)

    def b64(self, size: int) -> str:
        return base64.b64encode(self.random.randbytes(size)).decode()

    def url64(self, size: int) -> str:
        return (
            base64.urlsafe_b64encode(self.random.randbytes(size)).decode().rstrip("=")
        )

    def uuid(self) -> str:
        return str(uuid.UUID(int=self.random.getrandbits(128), version=4))

    def word(self) -> str:
        return self.random.choice(WORDS)

    def digits(self, length: int) -> str:
        return self.of("123456789", 1) + self.of(string.digits, length - 1)

    def json64(self, value: object) -> str:
        text = json.dumps(value, separators=(",", ":")).encode()
        return base64.urlsafe_b64encode(text).decode().rstrip("=")

    def jwt(self) -> str:
        head = self.json64({"alg": "HS256", "typ": "JWT"})
        body = self.json64(
            {"sub": self.digits(8), "name": self.word(), "iat": 1735689600}
        )
        return f"{head}.{body}.{self.url64(32)}"

    def password(self) -> str:
        """Return a password as people make them."""
        pick, word = self.random.choice, self.word
        shapes: list[Callable[[], str]] = [
            lambda: word().title() + self.digits(2),
            lambda: word().title() + self.digits(4) + pick("!?#*"),
            lambda: word().title() + pick("#_@") + word() + self.digits(2),
            lambda: f"{word()}-{word()}-{self.digits(2)}",
            lambda: f"{word()}-{word()}-{word()}-{word()}",
            lambda: (
                word().replace("e", "3").replace("a", "4").title()
                + "0x"
                + self.digits(1)
            ),
            lambda: self.alnum(5) + pick("!$%&") + self.alnum(5),
            lambda: self.alnum(14),
            lambda: word() + word() + self.digits(3),
        ]
        return pick(shapes)()

    def plain(self) -> str:
        """Return a password that needs no quoting anywhere."""
        pick = self.random.choice
        return pick(
            [
                self.word().title() + self.digits(3),
                self.alnum(7) + self.digits(2) + self.alnum(6),
                f"{self.word()}_{self.word()}{self.digits(2)}",
                self.word() + self.word().title() + self.digits(2),
            ]
        )

    def pem(self, label: str, lines: int = 6) -> tuple[str, list[str]]:
        body = [self.b64(48) for _ in range(lines)]
        block = [f"-----BEGIN {label}-----", *body, f"-----END {label}-----"]
        return "\n".join(block), body


# --- Values that say by their own shape what they are -----------------------------------


def tokens(m: Maker) -> dict[str, tuple[str, str]]:
    """Return kind -> (name of the variable, value)."""
    crc = m.alnum(6)
    return {
        "github-classic": ("GITHUB_TOKEN", "ghp_" + m.alnum(36)),
        "github-oauth": ("GH_OAUTH", "gho_" + m.alnum(36)),
        "github-user": ("GH_USER_TOKEN", "ghu_" + m.alnum(36)),
        "github-app": ("GH_TOKEN", "ghs_" + m.alnum(36)),
        "github-refresh": ("GH_REFRESH", "ghr_" + m.alnum(36)),
        "github-fine": ("GITHUB_PAT", f"github_pat_{m.alnum(22)}_{m.alnum(59)}"),
        "gitlab": ("GITLAB_TOKEN", "glpat-" + m.url64(15)),
        "gitlab-runner": ("RUNNER_TOKEN", "glrt-" + m.url64(15)),
        "gitlab-deploy": ("CI_DEPLOY_TOKEN", "gldt-" + m.url64(15)),
        "gitlab-trigger": ("TRIGGER", "glptt-" + m.hex(40)),
        "bitbucket": (
            "BITBUCKET_APP_PASSWORD",
            "ATBB" + m.alnum(24) + m.hex(8).upper(),
        ),
        "atlassian": (
            "JIRA_API_TOKEN",
            "ATATT3xFfGF0" + m.url64(129) + "=" + m.hex(8).upper(),
        ),
        "npm": ("NPM_TOKEN", "npm_" + m.alnum(36)),
        "pypi": ("TWINE_PASSWORD", "pypi-AgEIcHlwaS5vcmc" + m.url64(110)),
        "rubygems": ("GEM_HOST_API_KEY", "rubygems_" + m.hex(48)),
        "crates": ("CARGO_REGISTRY_TOKEN", "cio" + m.alnum(32)),
        "dockerhub": ("DOCKERHUB_TOKEN", "dckr_pat_" + m.url64(20)),
        "terraform-cloud": ("TFE_TOKEN", f"{m.alnum(14)}.atlasv1.{m.alnum(67)}"),
        "vault": ("VAULT_TOKEN", "hvs." + m.url64(69)),
        "vault-batch": ("VAULT_TOKEN", "hvb." + m.url64(105)),
        "sentry-org": (
            "SENTRY_AUTH_TOKEN",
            f"sntrys_{m.json64({'iat': 1735689600.1, 'org': m.word()})}_{m.url64(32)}",
        ),
        "sentry-user": ("SENTRY_AUTH_TOKEN", "sntryu_" + m.hex(64)),
        "newrelic": ("NEW_RELIC_API_KEY", "NRAK-" + m.of(UPPER, 27)),
        "newrelic-license": ("NEW_RELIC_LICENSE_KEY", m.hex(36) + "NRAL"),
        "grafana-service": ("GRAFANA_TOKEN", f"glsa_{m.alnum(32)}_{m.hex(8)}"),
        "grafana-cloud": (
            "GRAFANA_CLOUD_KEY",
            "glc_" + m.json64({"o": m.digits(6), "n": m.word(), "k": m.alnum(24)}),
        ),
        "linear": ("LINEAR_API_KEY", "lin_api_" + m.alnum(40)),
        "notion": ("NOTION_TOKEN", "ntn_" + m.digits(11) + m.alnum(35)),
        "notion-old": ("NOTION_API_KEY", "secret_" + m.alnum(43)),
        "figma": ("FIGMA_TOKEN", "figd_" + m.url64(30)),
        "postman": ("POSTMAN_API_KEY", f"PMAK-{m.hex(24)}-{m.hex(34)}"),
        "shopify": ("SHOPIFY_ACCESS_TOKEN", "shpat_" + m.hex(32)),
        "shopify-shared": ("SHOPIFY_API_SECRET", "shpss_" + m.hex(32)),
        "sendgrid": ("SENDGRID_API_KEY", f"SG.{m.url64(16)}.{m.url64(32)}"),
        "mailgun": ("MAILGUN_API_KEY", "key-" + m.hex(32)),
        "mailchimp": ("MAILCHIMP_API_KEY", f"{m.hex(32)}-us{m.digits(2)}"),
        "brevo": ("BREVO_API_KEY", f"xkeysib-{m.hex(64)}-{m.alnum(16)}"),
        "resend": ("RESEND_API_KEY", f"re_{m.alnum(8)}_{m.alnum(24)}"),
        "twilio-key": ("TWILIO_API_KEY", "SK" + m.hex(32)),
        "stripe-live": ("STRIPE_SECRET_KEY", "sk_live_" + m.alnum(24)),
        "stripe-long": ("STRIPE_SECRET_KEY", "sk_test_51" + m.alnum(97)),
        "stripe-restricted": ("STRIPE_RK", "rk_live_" + m.alnum(24)),
        "stripe-webhook": ("STRIPE_WEBHOOK_SECRET", "whsec_" + m.alnum(32)),
        "square": ("SQUARE_ACCESS_TOKEN", "EAAA" + m.url64(45)),
        "square-secret": ("SQUARE_SECRET", "sq0csp-" + m.url64(32)),
        "braintree": (
            "BRAINTREE_TOKEN",
            f"access_token$production${m.of(LOWER, 16)}${m.hex(32)}",
        ),
        "openai-old": ("OPENAI_API_KEY", f"sk-{m.alnum(20)}T3BlbkFJ{m.alnum(20)}"),
        "openai-project": (
            "OPENAI_API_KEY",
            f"sk-proj-{m.url64(55)}T3BlbkFJ{m.url64(55)}",
        ),
        "openai-service": (
            "OPENAI_KEY",
            f"sk-svcacct-{m.url64(55)}T3BlbkFJ{m.url64(55)}",
        ),
        "openai-admin": (
            "OPENAI_ADMIN_KEY",
            f"sk-admin-{m.url64(44)}T3BlbkFJ{m.url64(44)}",
        ),
        "anthropic": ("ANTHROPIC_API_KEY", f"sk-ant-api03-{m.url64(69)}-{crc}AA"),
        "anthropic-admin": (
            "ANTHROPIC_ADMIN_KEY",
            f"sk-ant-admin01-{m.url64(69)}-{crc}AA",
        ),
        "anthropic-oauth": (
            "CLAUDE_CODE_OAUTH_TOKEN",
            f"sk-ant-oat01-{m.url64(69)}-{crc}AA",
        ),
        "google-api": ("GOOGLE_API_KEY", "AIzaSy" + m.of(URL64, 33)),
        "google-oauth-secret": ("GOOGLE_CLIENT_SECRET", "GOCSPX-" + m.url64(21)),
        "google-access": ("GCLOUD_ACCESS", "ya29.a0" + m.url64(120)),
        "google-refresh": ("GOOGLE_REFRESH", "1//0" + m.of(LOWER, 1) + m.url64(72)),
        "huggingface": ("HF_TOKEN", "hf_" + m.of(LETTERS, 34)),
        "groq": ("GROQ_API_KEY", "gsk_" + m.alnum(52)),
        "replicate": ("REPLICATE_API_TOKEN", "r8_" + m.alnum(37)),
        "openrouter": ("OPENROUTER_API_KEY", "sk-or-v1-" + m.hex(64)),
        "xai": ("XAI_API_KEY", "xai-" + m.alnum(80)),
        "perplexity": ("PPLX_KEY", "pplx-" + m.alnum(48)),
        "deepseek": ("DEEPSEEK_API_KEY", "sk-" + m.hex(32)),
        "fireworks": ("FIREWORKS_API_KEY", "fw_" + m.alnum(24)),
        "cerebras": ("CEREBRAS_API_KEY", "csk-" + m.of(LOWER, 48)),
        "nvidia": ("NVIDIA_API_KEY", "nvapi-" + m.url64(48)),
        "elevenlabs": ("ELEVENLABS_API_KEY", "sk_" + m.hex(48)),
        "tavily": ("TAVILY_API_KEY", "tvly-dev-" + m.alnum(32)),
        "langsmith": ("LANGSMITH_API_KEY", f"lsv2_pt_{m.hex(32)}_{m.hex(10)}"),
        "langfuse": ("LANGFUSE_SECRET_KEY", "sk-lf-" + m.uuid()),
        "pinecone": ("PINECONE_API_KEY", f"pcsk_{m.alnum(6)}_{m.alnum(63)}"),
        "firecrawl": ("FIRECRAWL_API_KEY", "fc-" + m.hex(32)),
        "e2b": ("E2B_API_KEY", "e2b_" + m.hex(40)),
        "supabase": ("SUPABASE_ACCESS_TOKEN", "sbp_" + m.hex(40)),
        "digitalocean": ("DO_TOKEN", "dop_v1_" + m.hex(64)),
        "digitalocean-oauth": ("DO_OAUTH", "doo_v1_" + m.hex(64)),
        "cloudflare-new": ("CLOUDFLARE_API_TOKEN", "cfut_" + m.alnum(40) + m.hex(8)),
        "cloudflare-origin": ("CF_ORIGIN_CA_KEY", f"v1.0-{m.hex(24)}-{m.hex(146)}"),
        "heroku": ("HEROKU_API_KEY", "HRKU-AA" + m.url64(44)),
        "vercel-blob": (
            "BLOB_READ_WRITE_TOKEN",
            f"vercel_blob_rw_{m.alnum(16)}_{m.alnum(30)}",
        ),
        "netlify": ("NETLIFY_AUTH_TOKEN", "nfp_" + m.alnum(36)),
        "fly": ("FLY_API_TOKEN", "FlyV1 fm2_" + m.b64(120)),
        "fly-old": ("FLY_ACCESS", "fo1_" + m.url64(32)),
        "render": ("RENDER_API_KEY", "rnd_" + m.alnum(32)),
        "planetscale": ("PLANETSCALE_PASSWORD", "pscale_pw_" + m.url64(32)),
        "doppler": ("DOPPLER_TOKEN", "dp.pt." + m.alnum(43)),
        "databricks": ("DATABRICKS_TOKEN", "dapi" + m.hex(32)),
        "pulumi": ("PULUMI_ACCESS_TOKEN", "pul-" + m.hex(40)),
        "circleci": ("CIRCLE_TOKEN", f"CCIPAT_{m.alnum(22)}_{m.hex(40)}"),
        "buildkite": ("BUILDKITE_TOKEN", "bkua_" + m.hex(40)),
        "sonar": ("SONAR_TOKEN", "squ_" + m.hex(40)),
        "artifactory": ("ARTIFACTORY_KEY", "AKCp" + m.alnum(69)),
        "tailscale": ("TS_AUTHKEY", f"tskey-auth-{m.alnum(12)}CNTRL-{m.alnum(32)}"),
        "airtable": ("AIRTABLE_TOKEN", f"pat{m.alnum(14)}.{m.hex(64)}"),
        "hubspot": ("HUBSPOT_TOKEN", "pat-na1-" + m.uuid()),
        "asana": ("ASANA_PAT", f"2/{m.digits(16)}/{m.digits(16)}:{m.hex(32)}"),
        "contentful": ("CONTENTFUL_TOKEN", "CFPAT-" + m.url64(32)),
        "mapbox": (
            "MAPBOX_TOKEN",
            f"sk.{m.json64({'u': m.word(), 'a': m.of(LOWER, 25)})}.{m.url64(16)}",
        ),
        "dropbox": ("DROPBOX_TOKEN", "sl.B" + m.url64(100)),
        "facebook": ("FB_PAGE_TOKEN", "EAA" + m.alnum(170)),
        "slack-bot": (
            "SLACK_BOT_TOKEN",
            f"xoxb-{m.digits(12)}-{m.digits(13)}-{m.alnum(24)}",
        ),
        "slack-user": (
            "SLACK_TOKEN",
            f"xoxp-{m.digits(12)}-{m.digits(12)}-{m.digits(13)}-{m.hex(32)}",
        ),
        "slack-app": (
            "SLACK_APP_TOKEN",
            f"xapp-1-A{m.of(UPPER, 10)}-{m.digits(13)}-{m.hex(64)}",
        ),
        "telegram": ("TELEGRAM_BOT_TOKEN", f"{m.digits(10)}:AA{m.of(URL64, 33)}"),
        "discord-bot": (
            "DISCORD_TOKEN",
            f"MT{m.alnum(24)}.G{m.of(URL64, 5)}.{m.of(URL64, 38)}",
        ),
        "aws-id": (
            "AWS_ACCESS_KEY_ID",
            "AKIA" + m.of(string.ascii_uppercase + "234567", 16),
        ),
        "aws-temporary-id": (
            "AWS_ACCESS_KEY_ID",
            "ASIA" + m.of(string.ascii_uppercase + "234567", 16),
        ),
        "azure-client-secret": (
            "AZURE_CLIENT_SECRET",
            f"{m.alnum(3)}8Q~{m.of(URL64, 34)}",
        ),
        "azure-devops": ("AZURE_DEVOPS_EXT_PAT", f"{m.alnum(76)}AZDO{m.alnum(4)}"),
        "age": ("AGE_KEY", "AGE-SECRET-KEY-1" + m.of(UPPER, 58)),
        "1password": (
            "OP_SERVICE_ACCOUNT_TOKEN",
            "ops_"
            + m.json64({"email": "x@1passwordserviceaccounts.com", "key": m.alnum(90)}),
        ),
        "jwt": ("ACCESS_JWT", m.jwt()),
        "okta": ("OKTA_API_TOKEN", "00" + m.of(URL64, 40)),
    }


# Values that only their name gives away.
NAMED: dict[str, tuple[str, Callable[[Maker], str]]] = {
    "aws-secret": ("AWS_SECRET_ACCESS_KEY", lambda m: m.of(B64, 40)),
    "aws-session": ("AWS_SESSION_TOKEN", lambda m: "IQoJb3JpZ2luX2Vj" + m.b64(240)),
    "datadog-api": ("DD_API_KEY", lambda m: m.hex(32)),
    "datadog-app": ("DATADOG_APP_KEY", lambda m: m.hex(40)),
    "cloudflare": ("CF_API_TOKEN", lambda m: m.of(URL64, 40)),
    "cloudflare-global": ("CLOUDFLARE_API_KEY", lambda m: m.hex(37)),
    "heroku-uuid": ("HEROKU_API_KEY", lambda m: m.uuid()),
    "vercel": ("VERCEL_TOKEN", lambda m: m.alnum(24)),
    "railway": ("RAILWAY_TOKEN", lambda m: m.uuid()),
    "mistral": ("MISTRAL_API_KEY", lambda m: m.alnum(32)),
    "cohere": ("COHERE_API_KEY", lambda m: m.alnum(40)),
    "together": ("TOGETHER_API_KEY", lambda m: m.hex(64)),
    "wandb": ("WANDB_API_KEY", lambda m: m.hex(40)),
    "azure-openai": ("AZURE_OPENAI_API_KEY", lambda m: m.hex(32)),
    "twilio-auth": ("TWILIO_AUTH_TOKEN", lambda m: m.hex(32)),
    "paypal": ("PAYPAL_CLIENT_SECRET", lambda m: "E" + m.of(URL64, 79)),
    "auth0": ("AUTH0_CLIENT_SECRET", lambda m: m.of(URL64, 64)),
    "algolia": ("ALGOLIA_ADMIN_KEY", lambda m: m.hex(32)),
    "snyk": ("SNYK_TOKEN", lambda m: m.uuid()),
    "codecov": ("CODECOV_TOKEN", lambda m: m.uuid()),
    "django": (
        "DJANGO_SECRET_KEY",
        lambda m: "django-insecure-" + m.of(LOWER + "!@%^&*(-_=+)", 50),
    ),
    "flask": ("SECRET_KEY", lambda m: m.hex(48)),
    "rails": ("SECRET_KEY_BASE", lambda m: m.hex(128)),
    "rails-master": ("RAILS_MASTER_KEY", lambda m: m.hex(32)),
    "laravel": ("APP_KEY", lambda m: "base64:" + m.b64(32)),
    "jwt-secret": ("JWT_SECRET", lambda m: m.b64(48)),
    "nextauth": ("NEXTAUTH_SECRET", lambda m: m.b64(32)),
    "encryption": ("ENCRYPTION_KEY", lambda m: m.hex(64)),
    "fernet": (
        "FERNET_KEY",
        lambda m: base64.urlsafe_b64encode(m.random.randbytes(32)).decode(),
    ),
    "db-password": ("DB_PASSWORD", lambda m: m.plain()),
    "postgres": ("POSTGRES_PASSWORD", lambda m: m.plain()),
    "mysql": ("MYSQL_ROOT_PASSWORD", lambda m: m.plain()),
    "redis": ("REDIS_PASSWORD", lambda m: m.plain()),
    "smtp": ("SMTP_PASS", lambda m: m.plain()),
    "ldap": ("LDAP_BIND_PASSWORD", lambda m: m.plain()),
    "keystore": ("KEYSTORE_PASSPHRASE", lambda m: m.plain()),
    "admin-pw": ("ADMIN_PW", lambda m: m.plain()),
    "root-pwd": ("MINIO_ROOT_PWD", lambda m: m.plain()),
    "minio": ("MINIO_SECRET_KEY", lambda m: m.alnum(40)),
    "webhook": ("GITHUB_WEBHOOK_SECRET", lambda m: m.hex(40)),
    "session": ("SESSION_SECRET", lambda m: m.alnum(32)),
    "oauth": ("OAUTH_CLIENT_SECRET", lambda m: m.alnum(32)),
    "refresh": ("REFRESH_TOKEN", lambda m: m.url64(45)),
    "signing": ("SIGNING_KEY", lambda m: m.b64(32)),
    "private-hex": ("DEPLOYER_PRIVATE_KEY", lambda m: "0x" + m.hex(64)),
    "alchemy": ("ALCHEMY_API_KEY", lambda m: m.url64(24)),
    "weather": ("OPENWEATHER_APIKEY", lambda m: m.hex(32)),
    "internal": ("INTERNAL_SERVICE_TOKEN", lambda m: m.alnum(40)),
    "unseal": ("VAULT_UNSEAL_KEY", lambda m: m.b64(33)),
    "storage": ("AZURE_STORAGE_KEY", lambda m: m.b64(64)),
}

# Where a value that gives itself away may stand.
ANYWHERE = [
    "- The CI bot uses «v» for pushes; rotate before the release.",
    "* 2025-03-04 (Anna): temporary key `«v»` for the demo, works until Friday.",
    "User pasted «v» in the chat and asked to store it.",
    "Use this one: **«v»**",
    "- Schlüssel für den Build: «v» (läuft im Mai ab)",
    "- Der Agent soll für Uploads `«v»` benutzen.",
    "- la clé de l'intégration est «v», valable jusqu'en juin",
    "- Para publicar hay que usar «v».",
    "- 部署时使用 «v» 即可。",
    "令牌:«v»,请勿外传。",
    '{"type": "tool_result", "output": "«v»\\n"}',
    '{"args": {"command": "gh auth login --with-token <<< «v»"}}',
    "$ echo «v» | cat\n«v»",
    '"content": "{\\"auth\\": \\"«v»\\", \\"ttl\\": 3600}"',
    "[2025-02-11 09:14:22] DEBUG request headers={'Authorization': 'Bearer «v»'}",
    "curl -s -H 'Authorization: Bearer «v»' https://api.example.com/v1/me | jq .",
    'curl -H "Authorization: token «v»" https://git.example.com/api/repos',
    "curl -XPOST -H 'X-Api-Key: «v»' -d @body.json https://api.example.com/jobs",
    "GET /v1/models?key=«v» HTTP/1.1",
    "https://api.example.com/hook?access_token=«v»&page=2",
    'client = Client("«v»")',
    "const client = new Client('«v»');",
    'client := api.New("«v»", nil)',
    "requests.get(url, headers={'x-auth': '«v»'})",
    'Traceback (most recent call last):\n  File "a.py", line 3, in <module>\nAuthError: key «v» was rejected',
    "-  auth: old\n+  auth: «v»",
    "| ci | «v» | expires 2026 |",
    "<key>«v»</key>",
    "> quoted mail: my key is «v», tell nobody",
    "1. open the console\n2. paste «v»\n3. press save",
    "(«v»)",
    "Remember: «v».",
    'key ending? no, whole thing: "«v»"!',
]

# Where a name stands beside it. Both kinds of values stand here.
ASSIGNED = [
    "export «N»=«v»",
    "$ export «N»='«v»' && make deploy",
    "«N»=«v»\nDEBUG=1",
    '«N»="«v»"',
    "PATH=/usr/bin:/bin\n«N»=«v»\nSHLVL=1\nHOME=/root",
    "docker run --rm -e «N»=«v» -p 80:80 app:latest",
    "docker run -e '«N»=«v»' app",
    'env:\n  - name: «N»\n    value: "«v»"',
    "environment:\n  «N»: «v»\n  LOG_LEVEL: info",
    "services:\n  app:\n    environment:\n      - «N»=«v»",
    '{"«n»": "«v»", "region": "eu-west-1"}',
    '{"level":"info","msg":"boot","env":{"«N»":"«v»"}}',
    '"output": "{\\"«n»\\": \\"«v»\\"}"',
    '{"stdout": "«N»=«v»\\nLANG=C\\n", "exit_code": 0}',
    '[service]\n«n» = "«v»"\ntimeout = 30',
    "[default]\n«n» = «v»\nregion = us-east-1",
    "«n» = '«v»'",
    'os.environ["«N»"] = "«v»"',
    "const «n» = '«v»';",
    'process.env.«N» = "«v»"',
    '«n» := "«v»"',
    'public static final String «N» = "«v»";',
    '  «n»: "«v>>"'.replace(">>", "»"),
    'resource "x" "y" {\n  «n» = "«v»"\n}',
    'variable "«n»" {\n  default = "«v»"\n}',
    "setx «N» «v»",
    '$env:«N» = "«v»"',
    "ENV «N» «v»",
    "ENV «N»=«v»",
    "- `«N»` is `«v»` on staging",
    "- «N»: «v» (from the old server)",
    "| `«N»` | `«v»` | staging |",
    "set -x «N» «v»",
    "gh secret set «N» --body «v»",
    "heroku config:set «N»=«v» --app shop",
    "kubectl create secret generic app --from-literal=«N»=«v»",
    '<add key="«N»" value="«v»" />',
    "app.«n»=«v»",
    "+«N»=«v»",
    "«N» = os.getenv('«N»', '«v»')",
    "Found «N»=«v» in the old .env, still valid.",
    "- In der .env steht «N»=«v», so lassen.",
    "- 环境变量 «N»=«v» 不要改",
]

# --- Passwords of people ----------------------------------------------------------------

PROSE = [
    "- nas login: user ops, pass=«v»",
    "- admin pw is «v»",
    "- the wifi password is `«v»`",
    "pwd: «v»",
    "- Password: «v»",
    "- **Password:** `«v»`",
    "- **Username:** `admin`\n- **Password:** `«v»`",
    "Staging login is qa@example.com / «v»",
    "- Grafana: user admin, password «v», change after the audit",
    "user: deploy\npassword: «v»\nhost: 10.0.0.5",
    "Credentials for the demo shop: username `demo`, password `«v»`.",
    "He told me the sudo password for the build box: «v»",
    "- use «v» as the password for the zip files",
    "The archive is encrypted, passphrase «v»",
    "password for the vpn = «v»",
    'My password is "«v»", please remember it.',
    "My password is «v». Please remember it.",
    "- set the postgres password to «v» on the test box",
    "- root password on db-3 changed to `«v»` (2025-02-01)",
    "- db pass «v» (user app, host db.internal)",
    "- SSH to 10.1.2.3 as ops, pw «v»",
    "- jenkins creds: admin / «v»",
    "- jenkins credentials: admin:«v»",
    "login with user `root` and password «v»",
    "| host | user | password |\n|---|---|---|\n| nas | ops | «v» |",
    "| Service | Username | Password | Notes |\n|---------|----------|----------|-------|\n| Gitea | `admin` | `«v»` | first run |",
    "The default password (`«v»`) still works on the printer.",
    "- guest wifi: SSID `office-guest`, key `«v»`",
    "- WPA2 key of the lab network is «v»",
    "- Passwords: nas=«v», router: see vault",
    "- Keycloak admin password → «v»",
    "- mail account: info@example.com, PW: «v»",
    "- the password's «v» for everyone in the test team",
    "- the password was «v» before the reset",
    "- the new password will be «v»",
    "- ftp://files.example.com user=web password=«v»",
    "Q: password for the test user?\nA: «v»",
    "- passcode for the meeting room tablet: «v»",
    "- backup passphrase: `«v»`",
    "- unlock the keychain with «v» (password)",
    "- Bitlocker password «v» for the field laptop",
    "- log in as admin with password '«v»'",
    "- das WLAN-Passwort lautet «v»",
    "- Kennwort: «v»",
    "- Passwort für den Fileserver ist «v»",
    "- Zugangsdaten: Benutzer ops, Passwort «v»",
    "- Das Admin-Kennwort ist `«v»`, bitte nicht ändern.",
    "- Le mot de passe du serveur est «v»",
    "- mot de passe : «v»",
    "- mdp = «v»",
    "- identifiant : admin, mot de passe : `«v»`",
    "- La contraseña del router es «v»",
    "- contraseña: «v»",
    "- usuario: admin, clave: «v»",
    "- 密码:«v»",
    "- 服务器密码是 «v»",
    "- 用户名 admin 密码 «v»",
    "- 数据库口令:«v»",
    "- WiFi密码为`«v»`",
    "- senha do banco: «v»",
    "- la password di staging è «v»",
    "The client's portal: https://portal.example.com, login ops@example.com, password «v»",
    "login: ops\npw: «v»",
    "login=ops;pwd=«v»;",
    "- secret for the internal API is «v»",
    "- shared secret: «v»",
    "- API password (not key!): «v»",
    "Remember that the database password is «v» and the port is 5433.",
    "- sudo pw on vm2 = «v»",
    "- He said: 'the password is «v»'.",
    "<password>«v»</password>",
    '<user name="ops" password="«v»"/>',
    '{"username": "ops", "password": "«v»"}',
    '"body": "{\\"user\\":\\"ops\\",\\"password\\":\\"«v»\\"}"',
    "auth:\n  username: ops\n  password: «v»",
    "  password: '«v»'  # do not commit",
    "conn = psycopg2.connect(host='db', user='app', password='«v»')",
    "const pool = mysql.createPool({ host: 'db', user: 'app', password: '«v»' });",
    'db.Config{User: "app", Password: "«v»"}',
    'login(username="ops", passwd="«v»")',
    "if user == 'ops' and password == '«v»':",
    "ALTER USER app WITH PASSWORD '«v»';",
    "CREATE USER 'app'@'%' IDENTIFIED BY '«v»';",
    "CREATE ROLE app LOGIN PASSWORD '«v»';",
]

# Commands: nothing in these values needs quotes.
SHELL = [
    "echo '«v»' | sudo -S apt-get update",
    "sshpass -p '«v»' ssh ops@10.0.0.5",
    "sshpass -p «v» scp dump.sql ops@10.0.0.5:",
    "mysql -u root -p«v» shop < dump.sql",
    "mysqldump --user=root --password=«v» shop > dump.sql",
    "PGPASSWORD=«v» psql -h db.internal -U app shop",
    "curl -u admin:«v» https://nexus.example.com/repository/",
    "curl --user 'admin:«v»' -T build.tgz https://files.example.com/",
    "wget --user=ops --password=«v» https://files.example.com/a.zip",
    "docker login -u bot -p «v» registry.example.com",
    "docker login registry.example.com --username bot --password «v»",
    "redis-cli -h cache -a «v» ping",
    "mongosh --host db --username app --password «v»",
    "openssl rsa -in key.pem -passin pass:«v» -out plain.pem",
    "ldapsearch -x -D cn=admin,dc=example,dc=com -w «v» -b dc=example",
    "smbclient //nas/share -U ops%«v»",
    "htpasswd -b .htpasswd ops «v»",
    'psql "host=db user=app password=«v» dbname=shop"',
    "vault kv put secret/db username=app password=«v»",
    "unzip -P «v» export.zip",
    "7z x -p«v» export.7z",
    "nmcli dev wifi connect office password «v»",
    "nmcli dev wifi connect office password '«v»' ifname wlan0",
    "helm upgrade app ./chart --set db.password=«v» --wait",
    "ansible-playbook site.yml -e ansible_become_pass=«v»",
    "keytool -importkeystore -srcstorepass «v» -destkeystore a.p12",
    "az login --service-principal -u app -p «v» --tenant example",
    "mosquitto_pub -h mq -u ops -P «v» -t a/b -m hi",
    "rabbitmqctl add_user ops «v»",
    "echo 'ops:«v»' | chpasswd",
    "net use Z: \\\\nas\\share /user:ops «v»",
    "machine api.example.com\n  login ops\n  password «v»",
    "machine api.example.com login ops password «v»",
    "db.internal:5432:shop:app:«v»  # .pgpass",
    "Host: db\nUser: app\nPassword: «v»\nDatabase: shop",
    'network={\n  ssid="office"\n  psk="«v»"\n}',
    "[client]\nuser=root\npassword=«v»",
    "requirepass «v»",
    "spring.datasource.password=«v»",
    "ansible_ssh_pass=«v» ansible_user=ops",
    "jdbc.password = «v»",
    "git clone https://ops:«v»@git.example.com/team/app.git",
    "pip install --index-url https://ops:«v»@pypi.example.com/simple app",
    "xfreerdp /u:ops /p:«v» /v:10.0.0.7",
    "sqlcmd -S db -U sa -P «v» -Q 'select 1'",
    "sqlplus app/«v»@//db:1521/ORCL",
    "gpg --batch --passphrase «v» -d backup.gpg",
    "restic_password=«v» restic snapshots",
    "RESTIC_PASSWORD=«v» restic snapshots",
    "http -a ops:«v» GET https://api.example.com/me",
]

# Addresses with a password in them.
ADDRESSES = [
    "postgres://app:«v»@db.internal:5432/shop",
    "postgresql+asyncpg://app:«v»@db/shop?sslmode=require",
    "mysql://root:«v»@127.0.0.1:3306/shop",
    "mysql+pymysql://app:«v»@db/shop",
    "mariadb://app:«v»@db:3306/shop",
    "mongodb://app:«v»@db1,db2/shop?replicaSet=rs0",
    "mongodb+srv://app:«v»@cluster0.ab1cd.mongodb.net/shop",
    "redis://:«v»@cache:6379/0",
    "rediss://default:«v»@cache.example.com:6380",
    "amqp://ops:«v»@mq:5672/%2F",
    "amqps://ops:«v»@mq.example.com/vhost",
    "smtp://mailer%40example.com:«v»@smtp.example.com:587",
    "ftp://web:«v»@ftp.example.com/pub",
    "sftp://web:«v»@files.example.com:22/in",
    "ssh://ops:«v»@git.example.com/app.git",
    "http://admin:«v»@192.168.1.1/setup",
    "https://ops:«v»@jenkins.example.com/job/app/",
    "ldap://cn=admin:«v»@ldap.example.com",
    "nats://ops:«v»@nats:4222",
    "mqtt://ops:«v»@mq:1883",
    "clickhouse://default:«v»@ch:9000/logs",
    "elasticsearch://elastic:«v»@es:9200",
    "https://elastic:«v»@es.example.com:9243",
    "rtsp://admin:«v»@10.0.0.40:554/stream1",
    "socks5://u:«v»@proxy.example.com:1080",
    "HTTPS_PROXY=http://u:«v»@proxy.example.com:3128",
    "jdbc:postgresql://db:5432/shop?user=app&password=«v»",
    "jdbc:mysql://db/shop?user=app&password=«v»&useSSL=false",
    "jdbc:sqlserver://db:1433;databaseName=shop;user=sa;password=«v»;",
    "jdbc:oracle:thin:app/«v»@//db:1521/ORCL",
    "Server=tcp:db,1433;Database=shop;User ID=sa;Password=«v»;Encrypt=true",
    "Data Source=db;Initial Catalog=shop;User Id=sa;Pwd=«v»;",
    "Driver={ODBC Driver 18 for SQL Server};Server=db;UID=sa;PWD=«v»",
    "Host=db;Username=app;Password=«v»;Database=shop",
    "host=db port=5432 dbname=shop user=app password=«v» sslmode=disable",
    "app:«v»@tcp(db:3306)/shop?parseTime=true",
    "snowflake://app:«v»@account/db/schema",
    "sqlserver://sa:«v»@db:1433?database=shop",
    "cockroachdb://root:«v»@crdb:26257/defaultdb",
    "imaps://info%40example.com:«v»@imap.example.com",
]

ADDRESS_PLACES = [
    "DATABASE_URL=«v»",
    "- staging connects to «v»",
    'engine = create_engine("«v»")',
    '{"url": "«v»"}',
    '"stdout": "{\\"dsn\\": \\"«v»\\"}"',
    "url: «v»",
    "`«v»`",
    "ERROR could not connect to «v>>: timeout".replace(">>", "»"),
    "$ echo $URL\n«v»",
    "Die Adresse ist «v» (nur intern).",
]


def special(m: Maker) -> Iterator[Item]:
    """Yield what has a structure of its own."""
    for label in (
        "RSA PRIVATE KEY",
        "PRIVATE KEY",
        "EC PRIVATE KEY",
        "OPENSSH PRIVATE KEY",
        "DSA PRIVATE KEY",
        "ENCRYPTED PRIVATE KEY",
    ):
        block, body = m.pem(label)
        secrets = tuple(body)
        yield Item("pem", f"$ cat key.pem\n{block}\n$ ls", secrets)
        yield Item(
            "pem-one-line", f'KEY="{block.replace(chr(10), chr(92) + "n")}"', secrets
        )
        yield Item("pem-json", json.dumps({"output": block + "\n"}), secrets)
        yield Item(
            "pem-json-twice", json.dumps({"o": json.dumps({"key": block})}), secrets
        )
        indented = block.replace("\n", "\n    ")
        yield Item("pem-yaml", f"tls:\n  key: |\n    {indented}\n  other: 1", secrets)
        yield Item(
            "pem-cut",
            "head -4 key.pem\n" + "\n".join(block.split("\n")[:5]),
            tuple(body[:4]),
        )
        yield Item("pem-quoted", "> " + block.replace("\n", "\n> "), secrets)
    body = [m.b64(48) for _ in range(8)]
    block = "\n".join(
        [
            "-----BEGIN PGP PRIVATE KEY BLOCK-----",
            "Version: GnuPG v2",
            "",
            *body,
            "=aB3d",
            "-----END PGP PRIVATE KEY BLOCK-----",
        ]
    )
    yield Item("pgp", block, tuple(body))
    yield Item("pgp-json", json.dumps({"k": block}), tuple(body))
    for putty in range(2):
        body = [m.b64(48) for _ in range(4)]
        yield Item(
            "putty",
            "PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\nComment: ops\nPublic-Lines: 1\n"
            f"AAAAC3NzaC1lZDI1NTE5{putty}\nPrivate-Lines: 4\n"
            + "\n".join(body)
            + "\nPrivate-MAC: "
            + m.hex(64),
            tuple(body),
        )
    for _ in range(3):
        block, body = m.pem("PRIVATE KEY", 8)
        account = {
            "type": "service_account",
            "project_id": "shop-staging",
            "private_key_id": m.hex(40),
            "private_key": block + "\n",
            "client_email": "bot@shop-staging.iam.gserviceaccount.com",
        }
        yield Item("gcp-account", json.dumps(account, indent=2), tuple(body))
        yield Item(
            "gcp-account-escaped",
            json.dumps({"stdout": json.dumps(account)}),
            tuple(body),
        )
    # Azure.
    for _ in range(2):
        key = m.b64(64)
        storage = f"DefaultEndpointsProtocol=https;AccountName=shop;AccountKey={key};EndpointSuffix=core.windows.net"
        yield Item(
            "azure-storage", f"AZURE_STORAGE_CONNECTION_STRING={storage}", (key,)
        )
        yield Item("azure-storage", f'- use "{storage}" for uploads', (key,))
        bus = m.b64(32)
        yield Item(
            "azure-bus",
            f"Endpoint=sb://shop.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey={bus}",
            (bus,),
        )
        cosmos = m.b64(64)
        yield Item(
            "cosmos",
            f"AccountEndpoint=https://x.documents.azure.com:443/;AccountKey={cosmos};",
            (cosmos,),
        )
        sig = urllib.parse.quote(m.b64(32), safe="")
        yield Item(
            "azure-sas",
            f"https://shop.blob.core.windows.net/a/b.zip?sv=2023-01-03&st=2025-01-01&se=2026-01-01&sr=b&sp=r&sig={sig}",
            (sig,),
        )
    # Web hooks: who has the address may post.
    for _ in range(2):
        path = f"T{m.of(UPPER, 8)}/B{m.of(UPPER, 10)}/{m.alnum(24)}"
        tail = path.rpartition("/")[2]
        yield Item(
            "slack-hook",
            f"- alerts go to https://hooks.slack.com/services/{path}",
            (tail,),
        )
        yield Item(
            "slack-hook",
            f'{{"webhook":"https:\\/\\/hooks.slack.com\\/services\\/{path.replace("/", chr(92) + "/")}"}}',
            (tail,),
        )
        tail = m.of(URL64, 68)
        yield Item(
            "discord-hook",
            f"curl https://discord.com/api/webhooks/{m.digits(18)}/{tail} -d @m",
            (tail,),
        )
        yield Item(
            "discord-hook",
            f"hook: https://discordapp.com/api/webhooks/{m.digits(19)}/{tail}",
            (tail,),
        )
        tail = m.of(URL64, 33)
        yield Item(
            "telegram-url",
            f"https://api.telegram.org/bot{m.digits(10)}:AA{tail}/sendMessage?chat_id=1",
            (tail,),
        )
        tail = m.hex(32)
        yield Item(
            "teams-hook",
            f"https://shop.webhook.office.com/webhookb2/{m.uuid()}@{m.uuid()}/IncomingWebhook/{tail}/{m.uuid()}",
            (tail,),
        )
        sig = m.url64(32)
        yield Item(
            "logic-app",
            f"https://prod-12.westeurope.logic.azure.com:443/workflows/{m.hex(32)}/triggers/manual/paths/invoke?api-version=2016-06-01&sp=%2Ftriggers&sv=1.0&sig={sig}",
            (sig,),
        )
    # AWS.
    for _ in range(2):
        key, secret = "AKIA" + m.of(UPPER, 16), m.of(B64, 40)
        yield Item(
            "aws-file",
            f"[default]\naws_access_key_id = {key}\naws_secret_access_key = {secret}\nregion=eu-central-1",
            (key, secret),
        )
        secret = m.of(B64, 40)
        yield Item(
            "aws-configure",
            f"$ aws configure\nAWS Access Key ID [None]: {key}\nAWS Secret Access Key [None]: {secret}\nDefault region name [None]: eu-west-1",
            (key, secret),
        )
        secret, session = m.of(B64, 40), "FwoGZXIvYXdzE" + m.b64(180)
        yield Item(
            "aws-sts",
            json.dumps(
                {
                    "Credentials": {
                        "AccessKeyId": key,
                        "SecretAccessKey": secret,
                        "SessionToken": session,
                    }
                },
                indent=4,
            ),
            (secret, session),
        )
        secret = m.of(B64, 40)
        yield Item(
            "aws-configure-set",
            f"aws configure set aws_secret_access_key {secret} --profile ci",
            (secret,),
        )
        secret = m.of(B64, 40)
        yield Item(
            "aws-boto",
            f"boto3.client('s3', aws_access_key_id='{key}', aws_secret_access_key='{secret}')",
            (secret,),
        )
        secret = m.of(B64, 40)
        yield Item(
            "aws-prose", f"- AWS keys for the CI: {key} / {secret}", (key, secret)
        )
        sig, cred = m.hex(64), m.b64(150)
        yield Item(
            "aws-presigned",
            f"https://shop.s3.amazonaws.com/a.zip?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Security-Token={urllib.parse.quote(cred, safe='')}&X-Amz-Signature={sig}",
            (sig,),
        )
    # Headers and cookies.
    for _ in range(2):
        basic = base64.b64encode(f"ops:{m.plain()}".encode()).decode()
        yield Item(
            "basic",
            f"curl -H 'Authorization: Basic {basic}' https://api.example.com",
            (basic,),
        )
        yield Item(
            "basic",
            f"> GET /me HTTP/1.1\n> Host: api.example.com\n> Authorization: Basic {basic}\n> Accept: */*",
            (basic,),
        )
        opaque = m.alnum(32)
        yield Item("bearer", f"Authorization: Bearer {opaque}", (opaque,))
        yield Item(
            "bearer", f'headers = {{"Authorization": "Bearer {opaque}"}}', (opaque,)
        )
        yield Item(
            "bearer",
            f'"command": "curl -H \\"Authorization: Bearer {opaque}\\" https://api.example.com"',
            (opaque,),
        )
        opaque = m.hex(40)
        yield Item(
            "header",
            f"curl -H 'X-API-Key: {opaque}' https://api.example.com/v2/items",
            (opaque,),
        )
        yield Item(
            "header",
            f"< X-Auth-Token: {opaque}\n< Content-Type: application/json",
            (opaque,),
        )
        yield Item("header", f"PRIVATE-TOKEN: {opaque}", (opaque,))
        yield Item(
            "header",
            f"curl -H 'DD-API-KEY: {opaque}' https://api.datadoghq.com/api/v1/validate",
            (opaque,),
        )
        yield Item(
            "cookie", f"Cookie: theme=dark; sessionid={opaque}; lang=en", (opaque,)
        )
        yield Item(
            "cookie",
            f"Set-Cookie: session={opaque}; Path=/; HttpOnly; Secure",
            (opaque,),
        )
        yield Item(
            "cookie",
            f"curl -b 'JSESSIONID={opaque.upper()}' https://app.example.com/",
            (opaque.upper(),),
        )
        yield Item(
            "cookie",
            f"Cookie: csrftoken={m.alnum(32)}; connect.sid=s%3A{m.of(URL64, 32)}.{opaque}",
            (opaque,),
        )
        query = m.alnum(32)
        yield Item(
            "query",
            f"GET https://maps.example.com/geo?q=Berlin&api_key={query}",
            (query,),
        )
        yield Item(
            "query",
            f"https://app.example.com/cb?code=ok&client_secret={query}&x=1",
            (query,),
        )
        yield Item(
            "query", f"POST /login body: user=ops&password={query}&next=%2F", (query,)
        )
        yield Item("query", f"wss://stream.example.com/?token={query}", (query,))
    # Configurations.
    for _ in range(2):
        value = m.jwt()
        yield Item(
            "kubeconfig", f"users:\n- name: ci\n  user:\n    token: {value}", (value,)
        )
        value = m.b64(600)
        yield Item(
            "kubeconfig",
            f"users:\n- name: ci\n  user:\n    client-certificate-data: LS0tLS1CRUdJTiBDRVJU\n    client-key-data: {value}",
            (value,),
        )
        value = base64.b64encode(m.plain().encode()).decode()
        yield Item(
            "k8s-secret",
            f"apiVersion: v1\nkind: Secret\nmetadata:\n  name: db\ntype: Opaque\ndata:\n  password: {value}",
            (value,),
        )
        value = m.plain()
        yield Item(
            "k8s-secret",
            f"kind: Secret\nstringData:\n  username: app\n  password: {value}",
            (value,),
        )
        value = f"{m.of(LOWER, 6)}.{m.of(LOWER, 16)}"
        yield Item(
            "kubeadm",
            f"kubeadm join 10.0.0.1:6443 --token {value} --discovery-token-ca-cert-hash sha256:{m.hex(64)}",
            (value,),
        )
        value = base64.b64encode(f"bot:{m.plain()}".encode()).decode()
        yield Item(
            "docker-config",
            json.dumps({"auths": {"registry.example.com": {"auth": value}}}),
            (value,),
        )
        value = "npm_" + m.alnum(36)
        yield Item("npmrc", f"//registry.npmjs.org/:_authToken={value}", (value,))
        value = m.uuid()
        yield Item(
            "npmrc",
            f"//npm.example.com/:_authToken={value}\nalways-auth=true",
            (value,),
        )
        value = base64.b64encode(f"bot:{m.plain()}".encode()).decode()
        yield Item(
            "npmrc", f"registry=https://npm.example.com\n_auth={value}", (value,)
        )
        value = m.plain()
        yield Item("pypirc", f"[pypi]\nusername = bot\npassword = {value}", (value,))
        value = m.plain()
        yield Item(
            "maven",
            f"<server>\n  <id>nexus</id>\n  <username>bot</username>\n  <password>{value}</password>\n</server>",
            (value,),
        )
        value = m.b64(32)
        yield Item(
            "wireguard",
            f"[Interface]\nPrivateKey = {value}\nAddress = 10.8.0.2/24",
            (value,),
        )
        value = m.b64(32)
        yield Item(
            "wireguard",
            f"[Peer]\nPublicKey = {m.b64(32)}\nPresharedKey = {value}",
            (value,),
        )
        value = m.hex(32)
        yield Item(
            "sentry-dsn",
            f"SENTRY_DSN=https://{m.hex(32)}:{value}@o{m.digits(6)}.ingest.sentry.io/{m.digits(7)}",
            (value,),
        )
        value = m.of("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 32)
        yield Item(
            "otp",
            f"otpauth://totp/Example:ops@example.com?secret={value}&issuer=Example",
            (value,),
        )
        yield Item("otp", f"- 2FA secret: {value}", (value,))
        value = m.alnum(40)
        yield Item(
            "tfvars", f'db_password = "{value}"\ninstance_type = "t3.small"', (value,)
        )
        value = m.alnum(30)
        yield Item(
            "tfstate",
            f'"attributes": {{"id": "db-1", "master_password": "{value}", "port": 5432}}',
            (value,),
        )
        value = m.alnum(64)
        yield Item(
            "okta",
            f"curl -H 'Authorization: SSWS {value}' https://x.okta.com/api/v1/users",
            (value,),
        )
        value = m.hex(64)
        yield Item(
            "ecosystem",
            f"module.exports = {{ apps: [{{ env: {{ JWT_SECRET: '{value}', PORT: 3000 }} }}] }}",
            (value,),
        )
        value = m.alnum(24)
        yield Item(
            "appsettings",
            json.dumps({"Jwt": {"Key": m.alnum(4), "SigningSecret": value}}),
            (value,),
        )
        yield Item(
            "twilio-pair",
            f"curl https://api.twilio.com/x -u AC{m.hex(32)}:{(pw := m.hex(32))}",
            (pw,),
        )
        value = f"EAA{m.alnum(150)}"
        yield Item(
            "facebook",
            f"curl 'https://graph.facebook.com/me?access_token={value}'",
            (value,),
        )
        yield Item(
            "eth", f"- deployer wallet private key: 0x{(pk := m.hex(64))}", (pk,)
        )
        yield Item(
            "printenv",
            f"$ printenv | sort\nHOME=/root\nLANG=C.UTF-8\nMAIL_PASS={(a := m.plain())}\nPORT=8080\nS3_SECRET={(b := m.alnum(40))}\n",
            (a, b),
        )


def placed(kind: str, name: str, value: str, place: str) -> Item:
    """Put a value and its name into a text."""
    text = place.replace("«N»", name).replace("«n»", name.lower()).replace("«v»", value)
    for public in ("FlyV1 ", "access_token$production$"):
        value = value.removeprefix(public)
    return Item(kind, text, (value,))


def positives(seed: int = 11) -> list[Item]:
    """Return texts that hold a secret."""
    m = Maker(seed)
    items: list[Item] = []
    both = [*ANYWHERE, *ASSIGNED]
    m.random.shuffle(both)
    turn = 0
    for _ in range(2):
        for kind, (name, value) in tokens(m).items():
            items.append(placed(kind, name, value, both[turn % len(both)]))
            turn += 1
    turn = 0
    for _ in range(2):
        for kind, (name, make) in NAMED.items():
            items.append(placed(kind, name, make(m), ASSIGNED[turn % len(ASSIGNED)]))
            turn += 1
    items.extend(placed("prose", "", m.password(), place) for place in PROSE)
    items.extend(placed("command", "", m.plain(), place) for place in SHELL)
    for number, address in enumerate(ADDRESSES):
        value = m.plain()
        place = ADDRESS_PLACES[number % len(ADDRESS_PLACES)]
        items.append(
            Item(
                "address", place.replace("«v»", address.replace("«v»", value)), (value,)
            )
        )
    items.extend(special(m))
    return items


# --- Look-alikes ------------------------------------------------------------------------

INNOCENT = r"""
- The password policy asks for 12 characters and one digit.
- Passwords are hashed with argon2id; never log them.
- The admin password is stored in 1Password, vault "Ops".
- Ask Maria for the wifi password.
- password: see vault
- password: (not set)
- Password: required
- password must not be empty
- the password is rotated every 90 days by the cron job
- the password is the same as on staging
- the password was wrong, so the login failed
- the password will be sent by mail
- Password reset mails come from no-reply@example.com.
- forgot password link is broken in Safari
- pass: 14, fail: 2, skip: 1
- pass=12 fail=0
- Pass the config as the second argument.
- First pass: lint. Second pass: types.
- tests pass on 3.12 and 3.13
- pwd: /home/ops/projects/shop
PWD=/home/ops/projects/shop
OLDPWD=/home/ops/projects
- `pwd` prints the working directory
- passwd: all authentication tokens updated successfully.
- root:x:0:0:root:/root:/bin/bash
- ops:x:1000:1000:Ops,,,:/home/ops:/bin/zsh
- keep the secret in Vault and read it with `vault kv get`
- the secret is to rest the dough overnight
- No secrets in the repository: use the CI variables.
- secret scanning is on for all repositories
- Kubernetes secret `db-credentials` holds the password
- secretKeyRef:\n    name: db-credentials\n    key: password
- secretName: tls-shop-example-com
- valueFrom: secretKeyRef
- existingSecret: shop-postgresql
- The token endpoint is https://auth.example.com/oauth/token
- token: str
- token: str | None = None
- token = 5
- max_tokens: 4096
- max_tokens=128000
- token_count = 1523
- total_tokens: 18234, prompt_tokens: 17000, completion_tokens: 1234
- "usage": {"input_tokens": 1200, "output_tokens": 310, "cache_read_tokens": 800}
- tokens per second: 84.2
- The tokenizer is cl100k_base.
- tokenizer: sentencepiece
- token_type: bearer
- token_type_hint=refresh_token
- grant_type=client_credentials
- pad_token: <|endoftext|>
- eos_token_id: 50256
- Unexpected token '<' in JSON at position 0
- SyntaxError: Unexpected token 'export'
- next_page_token: null
- token expired at 2025-03-01T10:00:00Z
- tokens are short-lived (15 minutes)
- The refresh token lives 30 days.
- primary key: customer_id
- PRIMARY KEY (order_id, line_no)
- key: value
- keys: name, version, dependencies
- Key takeaways: keep functions small
- key = lambda item: item.name
- sorted(items, key=len, reverse=True)
- for key, value in mapping.items():
- keyboard shortcut: Ctrl+Shift+P
- press any key to continue
- cache key: user:1234:profile:v2
- cache_key = f"{user_id}:{page}"
- cache-key: linux-node20-pnpm-v9-a1b2c3
- key: ${{ runner.os }}-pip-${{ hashFiles('requirements.txt') }}
- redis key `session:index:by-user` has no ttl
- partition_key: tenant_id
- sort key = created_at
- foreign key fk_orders_customers
- i18n key: checkout.summary.total_price
- key_name: shop-staging-2025
- S3 key: backups/2025/03/01/shop-db-full.sql.gz
- s3://shop-backups-eu-central-1/daily/2025-03-01/orders.parquet
- arn:aws:iam::123456789012:role/shop-ci-deploy
- arn:aws:secretsmanager:eu-west-1:123456789012:secret:shop/db-AbCdEf
- projects/123456/secrets/db-password/versions/latest
- op://Ops/shop-db/password
- vault path: secret/data/shop/prod/db
- DB_PASSWORD=${DB_PASSWORD}
- DB_PASSWORD=$DB_PASSWORD
- DB_PASSWORD: ${{ secrets.DB_PASSWORD }}
- password: "{{ vault_db_password }}"
- password: !vault shop_db_password
- password = var.db_password
- password = data.aws_secretsmanager_secret_version.db.secret_string
- password = os.environ["DB_PASSWORD"]
- password = os.getenv("DB_PASSWORD")
- password = getpass.getpass("Password: ")
- password = input("Enter password: ")
- password = settings.DATABASE_PASSWORD
- password = config.get("db", "password")
- password = request.form["password"]
- password=self.password,
- password := os.Getenv("DB_PASSWORD")
- const password = process.env.DB_PASSWORD;
- const { password } = req.body;
- const token = await getToken({ audience });
- const token = localStorage.getItem('token')
- let apiKey = import.meta.env.VITE_API_KEY
- api_key = st.secrets["openai_api_key"]
- api_key: str = Field(default=..., description="Key of the service")
- apiKey: process.env.OPENAI_API_KEY!,
- OPENAI_API_KEY=your-api-key-here
- OPENAI_API_KEY=<your key>
- OPENAI_API_KEY=sk-...
- OPENAI_API_KEY=sk-xxxxxxxxxxxxxxxxxxxxxxxx
- OPENAI_API_KEY="YOUR_OPENAI_API_KEY"
- export GITHUB_TOKEN=$(gh auth token)
- export TOKEN=`cat /run/secrets/token`
- GITHUB_TOKEN=ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
- STRIPE_SECRET_KEY=sk_test_...
- STRIPE_SECRET_KEY=sk_live_XXXXXXXX
- password: ********
- password: [REDACTED]
- password=<redacted>
- password: ••••••••
- password: xxxxxxxx
- "password": "***"
- "password": null
- "password": ""
- "password": {"type": "string", "minLength": 12}
- password: string
- password: String!
- password VARCHAR(255) NOT NULL
- password_hash TEXT NOT NULL
- password_file: /run/secrets/db_password
- POSTGRES_PASSWORD_FILE=/run/secrets/postgres_password
- --password-stdin
- docker login -u bot --password-stdin registry.example.com
- curl -u "$USER:$PASS" https://api.example.com
- curl -H "Authorization: Bearer $TOKEN" https://api.example.com
- curl -H "Authorization: Bearer ${ACCESS_TOKEN}" https://api.example.com
- curl -H 'Authorization: Bearer <token>' https://api.example.com
- Authorization: Bearer YOUR_TOKEN
- Authorization: Basic <base64 of user:password>
- postgres://user:password@localhost:5432/db is the form of the address
- postgres://$DB_USER:$DB_PASS@db:5432/shop
- postgres://app:${DB_PASSWORD}@db/shop
- postgresql://<user>:<password>@<host>:<port>/<database>
- mongodb+srv://<username>:<password>@cluster0.mongodb.net/
- redis://localhost:6379/0
- redis://cache:6379
- https://example.com:8443/path@v2
- https://github.com/org/repo/blob/main/src/app.ts#L10-L20
- git@github.com:org/repo.git
- ssh://git@github.com/org/repo.git
- npm i @scope/package@1.2.3
- https://cdn.example.com/npm/react@18.2.0/umd/react.production.min.js
- mailto:ops@example.com?subject=hello
- https://user@example.com/
- http://localhost:3000/api?page=2&sort=name
- https://example.com/?utm_source=newsletter&utm_campaign=spring-sale-2025
- data-testid="password-input"
- <input type="password" name="password" autocomplete="current-password">
- <label for="password">Password</label>
- input[type=password] { border: 1px solid #aabbcc; }
- .token.keyword { color: #07a; }
- --color-primary: #1a2b3c; --color-secret: #ffcc00;
- class PasswordField(forms.CharField):
- def check_password(self, raw_password: str) -> bool:
- def test_password_is_masked():
- raise InvalidPasswordError("password too short")
- validate_password_strength(password, min_length=12)
- from django.contrib.auth.hashers import make_password
- import secrets; secrets.token_hex(16)
- secrets.token_urlsafe(32)
- openssl rand -hex 32
- ssh-keygen -t ed25519 -C "ops@example.com"
- passwordless sudo is enabled for the ci user
- password-protected PDFs are skipped
- risk-based-approach-for-deployments
- task-management-and-scheduling-service
- the sk-learn pipeline lives in models/
- ask-for-help-before-you-rewrite-the-parser
- disk-usage-report-generator-for-the-team
- desk_live_preview_component
- pk_live is public, sk_live is not
- the prefix ghp_ marks classic tokens of GitHub
- tokens begin with xoxb- or xapp-
- AKIA is the prefix of long-term access keys
- AKIAIOSFODNN7EXAMPLE
- wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY
- author: Jane Doe; authority: high; authenticated: true
- auth: none
- auth: required
- auth_method: oidc
- authentication: basic
- authorization_endpoint: https://auth.example.com/authorize
- credential helper: osxkeychain
- credentials: include
- credentials are requested from the user at start
- credentials: same-origin
- monkey: capuchin-brown
- turkey = sandwich2025
- hockey: team-blue-42
- compass=northwest12
- bypass: enabled
- bypass = maintenance-window-3
- passenger: Smith123
- passing: 120 tests
- surpass: level42
- Schlüsselwörter: Parser, Lexer, Token
- Das Passwort muss mindestens 12 Zeichen haben.
- Das Passwort liegt im Tresor, Fach 3.
- Kennwort vergessen? Über das Portal zurücksetzen.
- Das Passwort ist abgelaufen.
- Le mot de passe doit contenir douze caractères.
- Le mot de passe est dans le coffre.
- mot de passe oublié : cliquer sur le lien
- La contraseña debe tener 12 caracteres.
- La contraseña está guardada en el gestor.
- palabra clave: búsqueda
- la clave es probar pronto
- 密码必须至少 12 位。
- 密码保存在保险库里。
- 忘记密码请联系管理员
- 关键字:解析器
- 令牌过期时间为十五分钟
- call me at +49 30 1234567 or +1 (555) 010-9999
- ISBN 978-3-16-148410-0
- IBAN DE89370400440532013000
- coordinates 52.520008, 13.404954
- #1a2b3c #ffcc00 #c0ffee
- locale de_DE.UTF-8, zh_Hans_CN
- version 2.0.0-rc.1+build.20250301
- Python 3.12.4 (main, Jun 6 2024, 18:26:44) [GCC 13.2.0]
- node:20.11.1-alpine3.19
- ubuntu-24.04.1-live-server-amd64.iso
- shop-api-7d9f8b6c5d-x2x7k 1/1 Running 0 3d
- nginx-ingress-controller-5c8d66c76d-wxl8p
- i-0a1b2c3d4e5f67890 is the old instance
- vpc-0123456789abcdef0 subnet-0fedcba9876543210
- sg-0a1b2c3d4e5f60718 opens port 443
- ami-0c55b159cbfafe1f0
- MIT License. Permission is hereby granted, free of charge, to any person obtaining a copy
- SPDX-License-Identifier: Apache-2.0
- The quick brown fox jumps over the lazy dog 1234567890
- getElementsByClassNameAndAttributeValue
- AbstractSingletonProxyFactoryBeanConfigurationResolver
- com.example.shop.authentication.PasswordAuthenticationProvider
- org.springframework.security.crypto.password.PasswordEncoder
- java.lang.IllegalStateException: Failed to load ApplicationContext for [WebMergedContextConfiguration@5f2050f6]
- at com.example.auth.TokenService.refreshToken(TokenService.java:142)
- File "/usr/lib/python3.12/site-packages/keyring/backends/SecretService.py", line 78, in get_password
- panic: runtime error: invalid memory address or nil pointer dereference
- goroutine 1 [running]: main.main() /app/main.go:42 +0x1d
- E       AssertionError: assert 'password' in {'user': 'ops'}
- PASSED tests/test_auth.py::test_token_refresh[expired-token]
- tests/test_password_reset.py::test_reset_with_wrong_token PASSED
- The user asked what a JWT is: three parts, header.payload.signature.
- a JWT starts with eyJ because it is base64 of {"
- session id is kept in the cookie named `sid`
- cookie: secure, httponly, samesite=lax
- Set-Cookie: theme=dark; Path=/; Max-Age=31536000
- Cookie: lang=en; theme=dark
- session: 2025-03-01-standup
- session timeout = 1800
- access_key is the name of the field, not its value
- "required": ["username", "password"]
- required_scopes: read:token write:token
- API key rotation: every quarter
- API keys are created under Settings > Developer
- api_key is missing
- api-key header is case-insensitive
- api_key_header = APIKeyHeader(name="X-API-Key")
- X-API-Key: {{api_key}}
- api_keys:\n  enabled: true
- apiVersion: v1
- key_size: 2048
- key_algorithm: ed25519
- key_id: 2025-rotation-a
- keyVaultName: shop-kv-staging
- keystore: config/keystore.jks
- private_key_path: ~/.ssh/id_ed25519
- private key: never leaves the HSM
- private_key_file = /etc/ssl/private/shop.key
- IdentityFile ~/.ssh/id_ed25519
- ssl_certificate_key /etc/nginx/ssl/shop.key;
- public key pinned in the app
- encryption: AES-256-GCM with a key from KMS
- encryption_key_id = alias/shop-prod
- signing key rotates monthly
- secret_name = "shop/db"
- secret_id: shop-staging-db
- secret: true
- secret: false
- is_secret = True
- client_secret_basic is the auth method
- client_secret: <set in the portal>
- client_secret = "TODO"
- client_id: shop-frontend
- clientId: 8f14e45f-ceea-467f-a9e6-1b3d2c4e5f60
- tenant_id: 72f988bf-86f1-41af-91ab-2d7cd011db47
- The user name is ops and the host is nas.
- login: ops
- login: see README
- login page is slow
- username: ops, role: admin
- user/pass auth is disabled, keys only
- admin/admin-dashboard/src/index.tsx
- ops/runbooks/restore-2025.md
- test / production
- PIN the dependency to 1.4.2
- pinned: lodash@4.17.21
- wifi: office-guest, 5 GHz, channel 44
- SSID: office-guest
- passphrase-less keys are forbidden
- passphrase: prompt
- use a passphrase of five words
- enter the passphrase when asked
- password manager: Bitwarden
- password field has the id `pw`
- pw: playwright
- pw = playwright.chromium.launch()
- import pwd; pwd.getpwnam("ops")
- with sync_playwright() as pw:
- passwords.txt is ignored by git
- password_reset_token_ttl = 3600
- PASSWORD_MIN_LENGTH=12
- PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher"]
- AUTH_PASSWORD_VALIDATORS = []
- TOKEN_EXPIRY=3600
- TOKEN_URL=https://auth.example.com/token
- ACCESS_TOKEN_EXPIRE_MINUTES = 30
- SECRET_ROTATION_DAYS=90
- SECRETS_BACKEND=vault
- KEY_PREFIX=shop:prod:
- API_KEY_HEADER=X-Api-Key
- AUTH_TOKEN_STORAGE=keychain
- USE_TOKENIZER=1
- TOKENIZERS_PARALLELISM=false
- SSH_AUTH_SOCK=/tmp/ssh-XXXXXXabc123/agent.4242
- GPG_KEY=A035C8C19219BA821ECEA86B64E628F8D684696D
- XDG_SESSION_ID=42
- TERM_SESSION_ID=w0t0p0:0F0D9C5B-1B1F-4C63-9A83-1A2B3C4D5E6F
- `git commit -S` signs with key 3AA5C34371567BD2
- The cookie banner is in components/CookieBanner.vue.
- decided: hide the token field behind a feature flag
- decided: no password login, passkeys only
- lesson: pass --no-cache to get a clean image
- lesson: the pass/fail column is wrong for flaky tests
- trap: `pass` in Python does nothing
- try:\n    run()\nexcept OSError:\n    pass
- def f(): pass  # todo
- mysql -u root -p shop < dump.sql
- mysql -p
- redis-cli -a "$REDIS_PASSWORD" ping
- sshpass -e ssh ops@10.0.0.5
- sshpass -f /run/secrets/ssh ssh ops@10.0.0.5
- unzip -p export.zip data.csv
- docker run -p 8080:80 nginx
- mkdir -p build/output
- ssh -p 2222 ops@10.0.0.5
- cp -p notes.md backup.md
- pytest -p no:cacheprovider
- psql -U app -h db.internal -W
- gpg --passphrase-file /run/secrets/gpg
- curl -u ops https://api.example.com
- curl -o ops:out.txt https://example.com
- helm upgrade app ./chart --set image.tag=1.4.2
- kubectl get secret db -o jsonpath='{.data.password}' | base64 -d
- aws secretsmanager get-secret-value --secret-id shop/db
- az keyvault secret show --name db-password --vault-name shop
- gcloud secrets versions access latest --secret=db-password
- gh secret list
- gh secret set DB_PASSWORD < pw.txt
- ALTER USER app WITH PASSWORD :'pw';
- GRANT SELECT ON ALL TABLES IN SCHEMA public TO app;
- CREATE USER app IDENTIFIED BY ?;
"""


def generated(m: Maker) -> Iterator[Item]:
    """Yield look-alikes of random letters."""
    sha256, sha1, md5 = m.hex(64), m.hex(40), m.hex(32)
    yield Item("git-sha", f"- fixed in {m.hex(40)} (main)")
    yield Item(
        "git-sha",
        f"commit {m.hex(40)}\nAuthor: Ana <ana@example.com>\n\n    fix token refresh",
    )
    yield Item("git-sha", f"- revert {m.hex(7)}, keep {m.hex(12)}")
    yield Item(
        "git-sha", f"index {m.hex(7)}..{m.hex(7)} 100644\n--- a/auth.py\n+++ b/auth.py"
    )
    yield Item("git-sha", f"uses: actions/checkout@{m.hex(40)}  # v4")
    yield Item("hash", f"sha256:{sha256}  shop.tar.gz")
    yield Item("hash", f"{md5}  dump.sql")
    yield Item("hash", f"{sha1} *release.zip")
    yield Item("hash", f"image: nginx@sha256:{m.hex(64)}")
    yield Item("hash", f'ETag: "{m.hex(32)}"')
    yield Item("hash", f'checksum = "{m.hex(64)}"')
    yield Item("hash", f"--hash=sha256:{m.hex(64)} \\")
    yield Item("hash", f"h1:{m.b64(32)}")
    yield Item("hash", f"github.com/spf13/cobra v1.8.0 h1:{m.b64(32)}")
    yield Item("hash", f"build-{m.hex(8)}.js, chunk-{m.hex(16)}.css")
    yield Item("hash", f"main.{m.alnum(8)}.js main.{m.hex(20)}.css")
    yield Item("hash", f"file_hash: {m.hex(64)}")
    yield Item("hash", f"- sha512: {m.hex(128)}")
    yield Item("hash", f"md5sum={m.hex(32)}")
    yield Item("integrity", f'"integrity": "sha512-{m.b64(64)}"')
    yield Item(
        "integrity",
        f'<script src="a.js" integrity="sha384-{m.b64(48)}" crossorigin="anonymous">',
    )
    yield Item(
        "integrity",
        f'resolved "https://registry.yarnpkg.com/a/-/a-1.0.0.tgz#{m.hex(40)}"\n  integrity sha512-{m.b64(64)}',
    )
    yield Item(
        "integrity",
        f'[[package]]\nname = "serde"\nversion = "1.0.203"\nsource = "registry+https://github.com/rust-lang/crates.io-index"\nchecksum = "{m.hex(64)}"',
    )
    yield Item(
        "integrity",
        f'{{ url = "https://files.pythonhosted.org/packages/{m.hex(2)}/{m.hex(2)}/{m.hex(60)}/a-1.0-py3-none-any.whl", hash = "sha256:{m.hex(64)}" }}',
    )
    yield Item("uuid", f"- order {m.uuid()} was paid twice")
    yield Item(
        "uuid", f"request_id={m.uuid()} trace_id={m.hex(32)} span_id={m.hex(16)}"
    )
    yield Item("uuid", f'{{"id": "{m.uuid()}", "parent": "{m.uuid()}"}}')
    yield Item("uuid", f"session {m.uuid()} ended")
    yield Item("uuid", f"conversation_id: {m.uuid()}")
    yield Item("ulid", f"- event 01J{m.of('0123456789ABCDEFGHJKMNPQRSTVWXYZ', 23)}")
    yield Item("ulid", f"cus_{m.alnum(14)}, pi_3{m.alnum(23)}, evt_1{m.alnum(23)}")
    yield Item("ulid", f"req_{m.alnum(24)} failed with 429")
    yield Item("ulid", f'"id": "chatcmpl-{m.alnum(29)}"')
    yield Item("ulid", f'"tool_call_id": "call_{m.alnum(24)}"')
    yield Item("ulid", f'"id": "toolu_01{m.alnum(22)}"')
    yield Item("ulid", f"msg_{m.alnum(24)}")
    yield Item("ulid", f'mongo _id ObjectId("{m.hex(24)}")')
    yield Item("ulid", f"snowflake {m.digits(18)}")
    yield Item("ulid", f"https://docs.google.com/document/d/{m.of(URL64, 44)}/edit")
    yield Item("ulid", f"https://www.youtube.com/watch?v={m.of(URL64, 11)}")
    yield Item("ulid", f"https://www.figma.com/file/{m.alnum(22)}/Shop")
    yield Item(
        "ulid", f"https://example.slack.com/archives/C{m.of(UPPER, 10)}/p{m.digits(16)}"
    )
    yield Item("ulid", f"https://notion.so/team/Road-map-{m.hex(32)}")
    yield Item("public", f"pk_live_{m.alnum(24)}")
    yield Item("public", f"STRIPE_PUBLISHABLE_KEY=pk_test_{m.alnum(24)}")
    yield Item(
        "public",
        f"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{m.b64(33)[:43]} ops@example.com",
    )
    yield Item("public", f"ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABAQ{m.b64(258)} ops@nas")
    yield Item("public", m.pem("PUBLIC KEY")[0])
    yield Item("public", m.pem("CERTIFICATE", 12)[0])
    yield Item("public", json.dumps({"cert": m.pem("CERTIFICATE", 12)[0]}))
    yield Item("public", m.pem("CERTIFICATE REQUEST")[0])
    yield Item(
        "public",
        "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\n"
        + m.b64(48)
        + "\n=aB3d\n-----END PGP PUBLIC KEY BLOCK-----",
    )
    yield Item(
        "public",
        "-----BEGIN PGP SIGNATURE-----\n\n"
        + m.b64(48)
        + "\n"
        + m.b64(48)
        + "\n-----END PGP SIGNATURE-----",
    )
    yield Item("public", f"[Peer]\nPublicKey = {m.b64(32)}\nAllowedIPs = 10.8.0.0/24")
    yield Item("public", f"age1{m.of(LOWER, 58)}")
    yield Item(
        "public",
        f"certificate-authority-data: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t{m.b64(200)}",
    )
    yield Item("public", f"fingerprint SHA256:{m.b64(32).rstrip('=')} (ED25519)")
    yield Item("public", "MD5:" + ":".join(m.hex(2) for _ in range(16)))
    yield Item(
        "public", f"known_hosts: nas.example.com ecdsa-sha2-nistp256 {m.b64(104)}"
    )
    yield Item(
        "public", f"Key fingerprint = {' '.join(m.hex(4).upper() for _ in range(10))}"
    )
    yield Item("public", f"sub   rsa4096/{m.hex(16).upper()} 2025-01-01")
    yield Item("public", f"account 0x{m.hex(40)} holds the funds")
    yield Item("public", f"tx 0x{m.hex(64)} was mined")
    yield Item("public", f"TWILIO_ACCOUNT_SID=AC{m.hex(32)}")
    yield Item(
        "public",
        f"client_id={m.digits(12)}-{m.of(LOWER, 32)}.apps.googleusercontent.com",
    )
    yield Item("public", f"kid: {m.url64(20)}")
    yield Item(
        "public",
        f'{{"kty":"RSA","use":"sig","kid":"{m.hex(20)}","n":"{m.url64(256)}","e":"AQAB"}}',
    )
    yield Item(
        "image", f"![x](data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAA{m.b64(120)})"
    )
    yield Item(
        "image",
        f"src: url(data:font/woff2;base64,d09GMgABAAAA{m.b64(160)}) format('woff2')",
    )
    yield Item(
        "image",
        f'"image_url": {{"url": "data:image/jpeg;base64,/9j/4AAQSkZJRg{m.b64(160)}"}}',
    )
    yield Item(
        "image", f"//# sourceMappingURL=data:application/json;base64,{m.b64(90)}"
    )
    yield Item("path", f"/nix/store/{m.of(LOWER, 32)}-python3-3.12.4/bin/python3")
    yield Item("path", f"/var/lib/docker/overlay2/{m.hex(64)}/merged")
    yield Item("path", f"~/.cache/pre-commit/repo{m.of(LOWER, 8)}/py_env-python3")
    yield Item("path", f"/tmp/tmp{m.of(LOWER, 8)}/dump.sql")
    yield Item("path", f"s3://shop-artifacts/{m.hex(32)}/{m.uuid()}/model.safetensors")
    yield Item("path", f"models--org--name/snapshots/{m.hex(40)}/config.json")
    yield Item("path", f"https://github.com/org/repo/commit/{m.hex(40)}")
    yield Item("path", f"https://gist.github.com/ops/{m.hex(32)}")
    yield Item("path", f"docker.io/library/postgres:16@sha256:{m.hex(64)}")
    yield Item("path", f"containerd://{m.hex(64)}")
    yield Item(
        "minified",
        '!function(e,t){"object"==typeof exports?module.exports=t():e.key=t(e.token)}(this,function(){var r=1e3,n="ab";return r+n});',
    )
    yield Item(
        "minified",
        'var a=e.password,b=e.token;if(!a||!b)throw new Error("password and token needed");',
    )
    yield Item(
        "minified",
        "function t(n){return n.secret?n.secret.key:null}var u={pass:function(){},key:1}",
    )
    yield Item("etag", f'if-none-match: W/"{m.hex(12)}-{m.alnum(27)}"')
    yield Item("nonce", f'<style nonce="{m.b64(16)}">')
    yield Item("mac", ":".join(m.hex(2) for _ in range(6)) + " is the NAS")
    yield Item("ipv6", ":".join(m.hex(4) for _ in range(8)))
    yield Item("cache", f"cache-key: v1-deps-{m.hex(64)}")
    yield Item("cache", f"Cache restored from key: linux-pip-{m.hex(64)}")
    yield Item("cache", f"TURBO_HASH={m.hex(16)}")
    yield Item("cache", f"GITHUB_SHA={m.hex(40)}\nGITHUB_RUN_ID={m.digits(11)}")
    yield Item("cache", f"CI_COMMIT_SHA={m.hex(40)}")
    yield Item("cache", f"git_sha: {m.hex(40)}, lock_hash: {m.hex(64)}")
    yield Item("cache", f'revision = "{m.hex(12)}"\ndown_revision = "{m.hex(12)}"')
    yield Item("cache", f"terraform_lock: zh:{m.hex(64)}")
    yield Item("cache", f"Nonce {m.digits(10)}, block {m.digits(8)}")
    yield Item(
        "hexdump",
        "00000000  " + " ".join(m.hex(2) for _ in range(16)) + "  |................|",
    )
    yield Item("sbom", f"purl: pkg:npm/lodash@4.17.21 checksum {m.hex(40)}")
    yield Item(
        "resource",
        f"/subscriptions/{m.uuid()}/resourceGroups/shop/providers/Microsoft.KeyVault/vaults/kv",
    )
    yield Item("resource", f"arn:aws:kms:eu-west-1:{m.digits(12)}:key/{m.uuid()}")
    yield Item("resource", f'kms_key_id = "{m.uuid()}"')
    yield Item("resource", f"projectId: {m.alnum(20)}, orgId: org-{m.alnum(24)}")
    yield Item("resource", f"vault_id {m.of(LOWER, 26)}")
    yield Item(
        "resource",
        f'"assistant_id": "asst_{m.alnum(24)}", "thread_id": "thread_{m.alnum(24)}"',
    )
    yield Item(
        "resource",
        f"price_1{m.alnum(23)} is the yearly plan, prod_{m.alnum(14)} the product",
    )
    yield Item(
        "resource",
        f"measurement id G-{m.of(UPPER, 10)}, container GTM-{m.of(UPPER, 7)}",
    )


def negatives(seed: int = 12) -> list[Item]:
    """Return texts that only look as if they held a secret."""
    m = Maker(seed)
    lines = [line for line in INNOCENT.splitlines() if line]
    items: list[Item] = []
    for number, line in enumerate(lines):
        text = line.replace("\\n", "\n")
        if number % 3 == 1:  # as recorded output: no bullet, in JSON
            text = json.dumps(
                {"output": text.removeprefix("- ") + "\n"}, ensure_ascii=False
            )
        elif number % 3 == 2:
            text = text.removeprefix("- ")
        items.append(Item("text", text))
    items.extend(generated(m))
    return items
