"""Tokens that say by their own shape what they are.

Sources: the providers' public documentation of their formats. The prefixes are theirs,
the patterns are ours.
"""

import re
from collections.abc import Callable
from typing import Final

from openhands_memory.secrets.rules import (
    Rule,
    always,
    body_is_no_filler,
    body_is_random,
    is_mixed_body,
    is_mixed_run,
)

# A token starts at the edge of a word, or after an escape (`\n`, `%3D`, ANSI colour).
_EDGE: Final = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt])|(?<=%[0-9A-F]{2})|(?<=\[[0-9]m))"
_U: Final = "[A-Za-z0-9_-]"  # base64url
_A: Final = "[A-Za-z0-9]"
_H: Final = "[0-9a-fA-F]"
_UUID: Final = rf"{_H}{{8}}-{_H}{{4}}-{_H}{{4}}-{_H}{{4}}-{_H}{{12}}"


_SURE: Final = body_is_no_filler


def _token(
    kind: str,
    literals: str,
    body: str,
    check: Callable[[re.Match[str]], bool] | None = None,
) -> Rule:
    """Make the rule of a token that starts with one of *literals* (split at spaces).

    A long prefix is nobody else's: then anything but a filler is a token.
    """
    names = tuple(literals.split())
    if check is None:
        check = _SURE if min(map(len, names)) >= 5 else body_is_random
    heads = "|".join(re.escape(name) for name in names)
    return Rule(kind, names, f"{_EDGE}(?:{heads})(?P<b>{body})", check)


def _around(
    kind: str,
    literals: str,
    pattern: str,
    lead: int,
    check: Callable[[re.Match[str]], bool] = body_is_random,
) -> Rule:
    """Make the rule of a token that has its literal inside."""
    return Rule(kind, tuple(literals.split()), pattern, check, lead)


TOKENS: Final[tuple[Rule, ...]] = (
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
        always,
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
        always,
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
    _around(
        "newrelic-key", "NRAL", rf"(?<![A-Za-z0-9]){_H}{{36}}NRAL(?![A-Za-z0-9])", 37
    ),
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
    _token(
        "plaid-token", "access-sandbox- access-development- access-production-", _UUID
    ),
    _token("tencent-key-id", "AKID", rf"{_A}{{32}}(?!\w)"),
    _token("runpod-key", "rpa_", r"[A-Z0-9]{40,50}(?!\w)"),
    _token("twitch-token", "oauth:", r"[a-z0-9]{30}(?!\w)"),
    _token("salesforce-session", "00D", rf"{_A}{{12,15}}![A-Za-z0-9._]{{80,200}}"),
    _token("bitbucket-token", "ATBB", rf"{_A}{{24,60}}"),
    _around(
        "azure-devops-token", "AZDO", rf"{_EDGE}{_A}{{70,80}}AZDO{_A}{{4}}(?!\w)", 81
    ),
    _around("azure-key", "JQQJ99", rf"{_EDGE}{_A}{{40,60}}JQQJ99{_A}{{20,40}}", 61),
    _around(
        "azure-key",
        "AzSe AzCa AzFu AIoT APIM +ACR +ASt +AMC +ARm ACDb",
        r"(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{32,76}"
        r"(?:Az(?:Se|Ca|Fu)|AIoT|APIM|\+A(?:CR|St|MC|Rm)|ACDb)[A-Za-z0-9+/]{5,8}"
        r"(?:={1,2}|(?![A-Za-z0-9+/=]))",
        77,
        is_mixed_run,
    ),
    _token("mailgun-key", "key-", r"[0-9a-f]{32}(?![A-Za-z0-9])"),
    _around(
        "mailchimp-key",
        "-us",
        r"(?<![A-Za-z0-9])[0-9a-f]{32}-us[0-9]{1,2}(?!\w)",
        33,
    ),
    _token("square-token", "sq0atp- sq0csp- sq0idp-", rf"{_U}{{20,60}}"),
    _token("square-token", "EAAA", rf"{_U}{{60}}(?![\w-])"),
    _token("facebook-token", "EAA", rf"{_A}{{80,400}}"),
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
        "hubspot-token", "pat-na1- pat-na2- pat-na3- pat-eu1- pat-ap1-", _UUID, always
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
        "jwt", "eyJ", rf"{_U}{{8,2000}}\.{_U}{{8,4000}}(?:\.{_U}{{8,2000}})?", always
    ),
    _token(
        "jwt",
        "eyJ",
        rf"{_U}{{8,2000}}\.{_U}{{0,1000}}(?:\.{_U}{{8,4000}}){{3}}",
        always,
    ),
    _token("perplexity-key", "pplx-", rf"{_A}{{40,80}}"),
    _token("xai-key", "xai-", rf"{_A}{{60,100}}"),
    _token("sonar-token", "sqp_ squ_ sqa_", rf"{_H}{{40}}"),
    _token("netlify-token", "nfp_ nfc_ nfo_ nfu_", rf"{_A}{{36,60}}"),
    _token("render-key", "rnd_", rf"{_A}{{28,60}}(?!\w)"),
    _token("fly-token", "fo1_", rf"{_U}{{40,60}}"),
    _token("resend-key", "re_", rf"{_A}{{8}}_{_A}{{20,30}}(?!\w)"),
    _token("elevenlabs-key", "sk_", r"[0-9a-f]{48}(?!\w)"),
    _token("pinecone-key", "pcsk_", rf"{_A}{{4,8}}_{_A}{{40,80}}"),
    _token("e2b-key", "e2b_", rf"{_H}{{40}}(?!\w)"),
    _token("vercel-token", "vercel_blob_rw_", r"\w{30,80}"),
    _token("langfuse-key", "sk-lf-", _UUID, always),
    _token("dropbox-token", "sl.", rf"(?:u\.)?{_U}{{100,1500}}"),
    _token(
        "asana-token", "1/ 2/", r"[0-9]{13,20}(?:/[0-9]{13,20})?:[0-9a-f]{32}(?!\w)"
    ),
    _token(
        "braintree-token",
        "access_token$production$ access_token$sandbox$",
        r"[a-z0-9]{16}\$[0-9a-f]{32}",
    ),
    _token("okta-token", "00", rf"{_U}{{40}}(?![\w-])", is_mixed_body),
    _token("stripe-client-secret", "pi_ seti_", rf"{_A}{{24}}_secret_{_A}{{20,40}}"),
    _token("fly-token", "fm1r_ fm1a_ fm2_", r"[A-Za-z0-9+/=,_-]{60,2000}"),
    _token("onepassword-token", "ops_eyJ", rf"{_U}{{100,2000}}", always),
    _token(
        "onepassword-key",
        "A3-",
        r"[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}",
    ),
    _token("launchdarkly-key", "sdk- api- mob-", rf"{_UUID}(?![\w-])", always),
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
        always,
    ),
    _around(
        "teams-webhook",
        ".webhook.office.com/ .logic.azure.com/",
        r"https://[\w-]{1,64}(?:\.[\w-]{1,64}){0,3}\.(?:webhook\.office|logic\.azure)\.com"
        r"(?::443)?/[\w@/?&=%.-]{40,400}",
        80,
        always,
    ),
    _token("azure-storage-key", "AccountKey=", r"[A-Za-z0-9+/]{40,100}={0,2}", _SURE),
)
