"""A third, small corpus for the secret scanner: shapes that the other two do not have.

Written in two parts, each before the rules were made to know it. Frameworks' own ways to set a password, transcripts, output of tools, and providers of
the second rank. `«a40»` makes 40 letters and digits, `«h32»` hexadecimal ones, `«l43»`
base64url, `«b32»` base64 of 32 bytes, `«U20»` capitals and digits, `«s30»` small letters
and digits, `«w»` a password that needs no quotes, `«u»` a UUID: all of them secret.
`«d9»` makes digits, and is not.
"""

import base64
import json
import re

from secrets_second_corpus import LOWER, UPPER, URL64, Item, Maker

SECRET = r"""
transcript | $ git push\nPassword for 'https://ops@git.example.com': «w»\nTo https://git.example.com/a.git
transcript | Enter passphrase for key '/home/ops/.ssh/id_ed25519': «w»
transcript | [sudo] password for ops: «w»
transcript | login: ops  password: «w»  (console of the NAS)
transcript | ftp> user web «w»
transcript | $ gh auth token\ngho_«a36»
transcript | $ vault read database/creds/app\nKey                Value\n---                -----\nlease_duration     1h\npassword           «w»\nusername           v-app
transcript | $ heroku config\n=== shop Config Vars\nSTRIPE_SECRET:   sk_live_«a24»\nTZ: UTC
transcript | $ cat .git-credentials\nhttps://ops:«w»@git.example.com
transcript | origin  https://«a40»@github.com/org/repo.git (fetch)
transcript | origin  https://oauth2:«l20»@gitlab.example.com/a/b.git (push)
transcript | $ kubectl get secret db -o yaml\ndata:\n  token: «b24»\nkind: Secret
transcript | > /msg NickServ IDENTIFY «w»
pair | user/pass: ops/«w»
pair | u: ops p: «w»
pair | - NAS access: ops:«w»@nas.local
pair | - temp creds → ops // «w»
pair | - credentials (ops / «w») expire in May
pair | - Login-Daten: ops / «w»
pair | - account ops, password is still «w»
config | db = { user = "app", password = "«w»" }
config | - { name: API_TOKEN, value: «a32» }
config | TOKEN ?= «a32»
config | echo "DEPLOY_TOKEN=«a32»" >> $GITHUB_ENV
config | proxy_set_header Authorization "Bearer «a32»";
config | Environment="API_TOKEN=«h40»"
config | */5 * * * * API_KEY=«h32» /usr/local/bin/sync
config | args:\n  - --port=80\n  - --token=«a32»
config | "Env": ["PATH=/usr/bin", "APP_SECRET=«a32»"]
config | command: redis-server --requirepass «w» --appendonly yes
config | auth:\n  enabled: true\n  rootPassword: «w»
config |   + password      = "«w»"\n  + port          = 5432
config |   ~ token = "«a24»" -> "«a24»"
config | ansible_become_password: «w»
config | storePassword '«w»'\nkeyAlias 'upload'\nkeyPassword '«w»'
config | spring.mail.password = «w»
config | userPassword: «w»
config | olcRootPW: «w»
config | : PSK "«w»"
config | ops * «w» *   # chap-secrets
config | "mcpServers": {"gh": {"env": {"GITHUB_PERSONAL_ACCESS_TOKEN": "github_pat_«a22»_«a59»"}}}
config | "args": ["-y", "server", "--api-key", "«a32»"]
config | {"key": "auth_token", "value": "«a32»", "type": "string"}
config | extraheader = AUTHORIZATION: basic «basic»
config | rocommunity «w» 10.0.0.0/8
code | define('DB_PASSWORD', '«w»');
code | 'password' => '«w»',
code | config.secret_key = '«h64»'
code | .basic_auth("ops", Some("«w»"))
code | .bearer_auth("«a32»")
code | new NetworkCredential("ops", "«w»")
code | ds.setPassword("«w»");
code | DataSourceBuilder.create().username("app").password("«w»").build();
code | req.SetBasicAuth("ops", "«w»")
code | requests.get(url, auth=("ops", "«w»"))
code | r = s.post(u, auth=HTTPBasicAuth('ops', '«w»'))
code | openai.api_key = "sk-proj-«l64»T3BlbkFJ«l64»"
code | genai.configure(api_key="AIza«l35»")
code | axios.defaults.headers.common['Authorization'] = 'Bearer «a32»';
code | new S3({ accessKeyId: 'AKIA«U16»', secretAccessKey: '«a40»' })
code | [Environment]::SetEnvironmentVariable("API_TOKEN", "«a32»", "User")
code | Invoke-Command -Password «w» -UserName ops
code | set API_TOKEN=«a32»
code | INSERT INTO users (name, password) VALUES ('ops', '«w»');
code | UPDATE users SET password = '«w»' WHERE name = 'ops';
code | "os.environ['MISTRAL_API_KEY'] = '«a32»'\\n",
code | <property name="password" value="«w»"/>
code | <string name="maps_api_key">«a39»</string>
code | <key>Password</key>\n<string>«w»</string>
code | <wsse:Password Type="PasswordText">«w»</wsse:Password>
code | const PASSWORD: &str = "«w»";
code | Cypress.env('adminPassword', '«w»')
code | await page.fill('#password', '«w»');
log | level=debug msg=login user=ops password=«w» ip=10.0.0.9
log | Parameters: {"user"=>"ops", "password"=>"«w»"}
log | POST /token grant_type=password&username=ops&password=«w»
log | curl -d 'user=ops&password=«w»' https://app.example.com/login
log | curl -F token=«a32» https://up.example.com
log | redirect to https://app.example.com/#access_token=«a32»&token_type=bearer
log | auth failed for ops with password "«w»"
log | X-Vault-Token: «a26»
prose | - Zugang NAS: Benutzer ops, Kennwort «w»
prose | - PW für die NAS: «w»
prose | - le mdp du NAS c'est «w»
prose | - code d'accès : «w»
prose | - la clave del wifi es «w»
prose | - usuario: ops / contraseña: «w»
prose | - 账号 admin,密码 «w»
prose | - 管理员密码为 «w»
prose | - _password_: «w»
prose | - password (temporary): «w»
prose | - pass → «w»
prose | - the pw for ops@example.com: «w»
prose | - We agreed on «w» as the admin password.
prose | ## Passwords\n- nas: «w»\n- router: `«w»`
prose | **Passwörter**\n\n* Drucker – «w»
prose | <tr><td>Password</td><td>«w»</td></tr>
prose | name,login,password\nnas,ops,«w»\n
prose |  user | password \n------+----------\n ops  | «w»\n(1 row)
provider | plaid: access-production-«u»
provider | SHIPPO=shippo_live_«h40»
provider | - FCM server key AAAA«l7»:APA91b«l134»
provider | - Tencent: SecretId AKID«a32», SecretKey «a32»
provider | AVNS_«l19» is the Aiven password
provider | CLOUDINARY_URL=cloudinary://«d15»:«l27»@shop
provider | twitch oauth:«s30»
provider | dbt token dbtc_«l44»
provider | postgresql://neondb_owner:npg_«a12»@ep-cool-1.eu-central-1.aws.neon.tech/neondb
provider | PostHog personal key phx_«a43»
provider | AXIOM_TOKEN=xaat-«u»
provider | DEEPL_AUTH_KEY=«u»:fx
provider | runpod rpa_«U41»
provider | NGROK_AUTHTOKEN=2«a26»_«a21»
provider | - Statsig: secret-«a43»
provider | cloudflared tunnel run --token eyJhIjoi«a120»
provider | Salesforce session 00D«a12»!«a96»
provider | api.telegram.org/bot«d10»:AA«l33»/getMe
provider | https://outlook.webhook.office.com/webhook/«u»@«u»/IncomingWebhook/«h32»/«u»
provider | https://chat.googleapis.com/v1/spaces/AAAA/messages?key=AIza«l35»&token=«l43»
second | - 2025-04-02: Jonas gave me the Grafana admin login (admin, «w»).
second | - For the demo: go to /login, type demo@example.com and «w»
second | - The Jira bot authenticates with jira-bot@example.com and token ATATT3xFfGF0«l170»=«U8»
second | - Note: registry pull secret is robot$ci:«a32»
second | - Passwort vom Router (steht auch hinten drauf): «w»
second | - Der API-Key für OpenWeather ist «h32».
second | - API-Schlüssel OpenWeather: «h32»
second | - token d'accès GitLab : glpat-«l20»
second | - clé API Mistral : «a32»
second | - Clave de API: «a32»
second | - API密钥:«a32»
second | - 阿里云 AccessKey ID: LTAI«a20» AccessKey Secret: «a30»
second | - my key for weather: «h32»
second | - Sentry: https://public:«h32»@sentry.example.com/4
second | - OpenAI: sk-«a48»
second | The service account's password has been changed to «w».
second | Use the following credentials:\n\nUsername: ops\nPassword: «w»
second | > Username: ops\n> Password: «w»
second | Your temporary password is: «w»
second | Initial root password: «w»
second | A temporary password is generated for root@localhost: «w»
second | [INFO] Generated admin password: «w»
second | Admin credentials: username=admin password=«w»
second | time="2025-01-01" level=info msg="Argo admin" password=«w»
second | $ argocd admin initial-password -n argocd\n«w»
second | $ pass show nas/ops\n«w»
second | $ op read op://Ops/nas/password\n«w»
second | $ kubectl get secret db -o jsonpath='{.data.password}' | base64 -d\n«w»
second | $ cat /run/secrets/db_password\n«w»
second | $ aws ecr get-login-password\neyJwYXlsb2FkIjoi«b120»
second | $ terraform output db_password\n"«w»"
second | $ python -c "import secrets; print(secrets.token_hex(32))"\n«h64»
second | $ openssl rand -hex 32\n«h64»   # is the JWT secret now
second | export AWS_ACCESS_KEY_ID=AKIA«U16» AWS_SECRET_ACCESS_KEY=«a40»
second | AWS_SECRET=«a40» aws s3 ls
second | {"aws":{"key":"AKIA«U16»","secret":"«a40»"}}
second | creds = {"user": "ops", "pw": "«w»"}
second | {"auth": {"type": "basic", "user": "ops", "pass": "«w»"}}
second | {"login":"ops","pwd":"«w»"}
second | smtp: {host: mx, user: info, pass: «w»}
second | mail.password: «w»
second | MAIL_URL=smtps://info%40example.com:«w»@mx.example.com:465
second | - git remote: https://ops:ghp_«a36»@github.com/org/repo
second | helm repo add x https://charts.example.com --username ops --password «w»
second | curl -sSf "https://api.example.com/v1?apikey=«a32»"
second | curl -H "apikey: «a32»" -H "Accept: */*" https://x.example.com
second | curl -H "X-Gitlab-Token: «a24»" https://ci.example.com/hook
second | fetch(url, { headers: { 'x-api-key': '«a40»' } })
second | Authorization: Token «h40»
second | Authorization: ApiKey «b40»
second | {"headers":{"authorization":"Bearer «l40»","cookie":"sid=s%3A«l32».«b32»"}}
second | set-cookie: __Secure-session=«l60»; Path=/; Secure
second | ?X-Amz-Credential=AKIA«U16»%2F20250101%2Feu%2Fs3%2Faws4_request&X-Amz-Signature=«h64»
second | telegram bot token is «d10»:AA«l33»
second | "webhook_url": "https://discord.com/api/webhooks/«d18»/«l68»"
"""

PLAIN = r"""
- Decision: tokens are rotated by the platform team every Monday.
- The login form posts user and password to /session.
- Passkeys replaced passwords in March 2025.
- The team calls the staging cluster "secret garden".
- Key decision (2025-03-02): keep SQLite for the cache.
- key insight: the parser is quadratic in nested quotes
- Password hashing: argon2id, 64 MiB, 3 rounds.
- Token budget per request: 8k input, 2k output.
- token bucket: capacity 100, refill 10/s
- API: GET /users/{id}/tokens lists tokens
- keys() order is insertion order
- The primary key is (tenant_id, user_id).
- user: prefers short answers, pass long logs as files
- user ops / group www-data own the directory
- CI user: github-actions[bot]
- login shell: /bin/zsh
- Access: ask Dana, then VPN, then bastion.
- Account 1234-5678 is the sandbox.
- pass rate 98.2% on main, 97.9% on the branch
- First pass over 1234 files took 12s.
- pwd is /srv/app2 in the container
- pw-test: npx playwright test --project=chromium
- auth: OAuth2 with PKCE, scopes openid profile email
- auth flow: code -> token -> refresh
- Credentials live in 1Password under "Shop / staging".
- credentials: see .env.example
- secret manager: gcp, project shop-prod-1234
- secrets: inherit
- cookie: SameSite=Lax; Secure
- Unlock the tablet with your fingerprint.
- The passphrase must be typed twice.
- The wifi is slow in room 204; use channel 44.
- WPA3 is required for the new access points.
- Le mot de passe est réinitialisé chaque lundi.
- Le mdp est dans Bitwarden.
- Das Passwort ist im Passwortmanager unter "NAS".
- Kennwörter laufen nach 90 Tagen ab.
- La contraseña caduca cada 90 días.
- la clave primaria es id_cliente
- 密码在保险柜中
- 密码长度至少 12 位
- 密钥轮换周期:90天
- senha: ver cofre
## Passwords\n- minimum length: 14 characters\n- hashing: argon2id\n- rotation: never
## Credentials\n- AWS: via SSO (`aws sso login`)\n- GCP: workload identity
## Passwords\n- stored in: 1Password\n- policy: NIST 800-63B
**Passwords:** managed by IT, ext. 4711
| Field | Type | Notes |\n|---|---|---|\n| password | string | write-only, 8-72 chars |
| Setting | Default |\n|---|---|\n| token_ttl | 3600 |\n| password_min_length | 12 |
| Test | Pass | Fail |\n|---|---|---|\n| unit | 1523 | 2 |\n| e2e | 88 | 0 |
| Model | Tokens | Cost |\n|---|---|---|\n| small | 12k | $0.04 |
| Key | Action |\n|---|---|\n| Ctrl+K | palette |\n| F12 | devtools |
| Variable | Secret |\n|---|---|\n| DB_PASSWORD | yes |\n| PORT | no |
| Token | Meaning |\n|---|---|\n| IDENT_1 | a name |\n| NUMBER | digits |
name,password_hash_algorithm,created\nops,argon2id,2025-01-02\n
 rolname | rolcanlogin | rolpassword \n---------+-------------+-------------\n app     | t           | ********\n(1 row)
docker run -u 1000:1000 -v $PWD:/app node:20
docker run --user node:node app
docker exec -u www-data:www-data app php artisan
curl -u "${USER}:${TOKEN}" https://api.example.com
mysql -uroot -p"$MYSQL_ROOT_PASSWORD" shop
mysql --user=root --password shop
PGPASSWORD="$(cat /run/secrets/pg)" psql -h db
sshpass -p "$SSHPASS" ssh ops@host
ldapsearch -x -W -D cn=admin -b dc=example
7z x -pPROMPT_ME archive.7z
openssl rand -base64 32 > key.bin
openssl req -newkey rsa:4096 -nodes -keyout server.key -out server.csr
ssh-keygen -t ed25519 -f ~/.ssh/deploy -N ''
gpg --full-generate-key && gpg --armor --export ops@example.com
kubectl create secret generic db --from-literal=password="$DB_PASSWORD"
kubectl create secret tls shop --cert=tls.crt --key=tls.key
helm install shop ./chart --set auth.existingSecret=shop-auth
gh secret set NPM_TOKEN --body "$NPM_TOKEN"
aws ssm get-parameter --name /shop/db_password --with-decryption
aws secretsmanager create-secret --name shop/db --secret-string file://secret.json
vault kv get -field=password secret/shop/db
terraform output -raw db_password
password = random_password.db.result
variable "db_password" {\n  type      = string\n  sensitive = true\n}
variable "token_ttl" {\n  default = "3600"\n}
password = "${random_password.db.result}"
token = data.vault_generic_secret.shop.data["token"]
resource "random_password" "db" {\n  length = 32\n}
DB_PASSWORD=op://shop/db/password
password: ENC[AES256_GCM,data:abc123,iv:def456,tag:ghi789,type:str]
password: !vault |\n  $ANSIBLE_VAULT;1.1;AES256\n  6162636465
password: "%env(DB_PASSWORD)%"
password: ${{ steps.login.outputs.password }}
password: {{ .Values.auth.password | quote }}
'password' => env('DB_PASSWORD', ''),
'password' => $request->input('password'),
password: process.env.DB_PASSWORD || '',
setPassword(user.getPassword());
if (password.length < 12) throw new Error('password too short');
const hashedPassword = await bcrypt.hash(password, 10);
assert user.check_password(new_password)
auth=(user, password)
auth = HTTPBasicAuth(username, password)
headers = {"Authorization": f"Bearer {token}"}
headers: { Authorization: `Bearer ${session.accessToken}` }
os.environ["OPENAI_API_KEY"] = getpass("key: ")
INSERT INTO users (name, password) VALUES ($1, crypt($2, gen_salt('bf')));
UPDATE users SET password = ? WHERE id = ?
SELECT password FROM users WHERE name = 'ops';
await page.fill('#password', process.env.E2E_PASSWORD);
await page.getByLabel('Password').fill(password)
<input name="password" type="password" placeholder="Your password">
<property name="password" value="${db.password}"/>
<password>${env.NEXUS_PASSWORD}</password>
enum TokenKind { Ident, Number, LParen, RParen }
match token { Token::Ident(name) => name, _ => continue }
let key = format!("{}:{}", tenant, id);
lexer.next_token() returned Token(kind=NUMBER, value=42, pos=17)
tokens = tokenizer.encode(text, add_special_tokens=False)
the prompt has 1532 tokens, the answer 310 tokens
changed the timeout from 30s to 90s
renamed the token from access_token to session_token
moved the password check from views.py to forms.py
migrated auth from passport-local2 to lucia-v3
bumped python3.11 from debian11 to debian12
git diff --stat main..feature/token-refresh-2025
ERR_BAD_TOKEN (1042): token has expired
401 Unauthorized: invalid api key provided
npm ERR! code ENEEDAUTH need auth This command requires you to be logged in
Permission denied (publickey,password).
Host key verification failed.
Set-Cookie: locale=en-GB; Path=/
"authType": "oauth2", "tokenUrl": "https://auth.example.com/token"
rate limit key: ip+route
snapshot key `button-primary--hover-2`
feature flag key: new-checkout-2025
translation key auth.login.password_label
encryption at rest: KMS key alias/shop
SSH host key is pinned in known_hosts
keyboard: Keychron K2 v2
- 2025-04-02: Jonas has the Grafana admin login, ask him.
- For the demo: go to /login, type demo@example.com and the code from the mail
- Der API-Key für OpenWeather liegt im Vault.
- API-Schlüssel werden quartalsweise erneuert
- clé API : voir le coffre
- API密钥:见保险库
Username: ops\nHost: nas
Your password will expire in 14 days.
Initial root password: see /var/lib/app/initial_password
[INFO] Generated admin password, see secret argocd-initial-admin-secret
$ op read op://Ops/nas/password > /dev/null
$ cat /run/secrets/db_password | wc -c\n33
$ terraform output db_password\n<sensitive>
$ git rev-parse HEAD\n0a1b2c3d4e5f60718293a4b5c6d7e8f901234567
$ sha256sum a.tgz\n9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08  a.tgz
- session notes: 2025-04-02-standup.md
- tokens/s: 84.2 (p50), 61.0 (p95)
- retry token bucket refills 5/s
- The keyring backend is SecretService on Linux, Keychain on macOS.
- Keyboard layout: us-intl
- key=lambda row: row["created"]
- pass --token-file=/run/secrets/token
- --secret id=npmrc,src=$HOME/.npmrc
- RUN --mount=type=secret,id=npm_token npm ci
- imagePullSecrets:\n  - name: regcred
- tokenFile: /var/run/secrets/kubernetes.io/serviceaccount/token
- serviceAccountToken:\n    path: token\n    expirationSeconds: 3600
- secretRef: {name: shop-env}
- data.kubernetes_secret.db.data["password"]
- password_policy {\n  minimum_length = 14\n}
- Cookie consent: CookieYes v3.2.1
- auth_backends: ["ldap", "local"]
- "auth": {"type": "oauth2", "flow": "authorizationCode"}
- authorization: required for /admin/*
- access_token lifetime 15m, refresh_token lifetime 30d
- JWT_ALGORITHM=RS256
- JWT_AUDIENCE=https://api.example.com
- SESSION_COOKIE_NAME=shop_session
- CSRF_COOKIE_SECURE=True
- SECRET_KEY_FALLBACKS=[]
- PASSWORD_RESET_TIMEOUT=259200
- AWS_PROFILE=shop-staging-2
- AWS_REGION=eu-central-1
- DATABASE_URL=sqlite:///./test.db
- REDIS_URL=redis://redis:6379/1
- npm_config_cache=/tmp/.npm
- The commit 4f2a9c1 broke the token refresh (see #1234).
- SSH: `ssh -i ~/.ssh/shop_ed25519 deploy@10.0.0.12`
- Wifi in the office: SSID shop-office (5 GHz), ask reception for the key.
- unlock: press the side key for 3 seconds
- passport number field is validated by regex ^[A-Z0-9]{9}$
- the compass plugin needs bypass-cors2 enabled
- bcrypt cost 12, pepper in KMS
- user story 42: reset password by mail
- ticket SEC-1042: rotate all tokens by 2025-06-30
"""


def filled(text: str, m: Maker) -> Item:
    """Make the values of a text."""
    secrets: list[str] = []

    def value(found: re.Match[str]) -> str:
        name, length = found[1], int(found[2] or 0)
        if name == "d":
            return m.digits(length)
        if name == "basic":
            made = base64.b64encode(f"ops:{m.plain()}".encode()).decode()
        else:
            made = {
                "a": lambda: m.alnum(length),
                "h": lambda: m.hex(length),
                "l": lambda: m.of(URL64, length),
                "b": lambda: m.b64(length),
                "U": lambda: m.of(UPPER, length),
                "s": lambda: m.of(LOWER, length),
                "w": m.plain,
                "u": m.uuid,
            }[name]()
        secrets.append(made)
        return made

    text = re.sub(r"«(basic|[a-zA-Z])([0-9]*)»", value, text.replace("\\n", "\n"))
    return Item("", text, tuple(secrets))


def positives(seed: int = 21) -> list[Item]:
    """Return texts that hold a secret; of two in one text, both count."""
    m = Maker(seed)
    items: list[Item] = []
    for line in SECRET.strip("\n").splitlines():
        kind, _, text = line.partition(" | ")
        items.append(filled(text, m)._replace(kind=kind))
    return items


def negatives(seed: int = 22) -> list[Item]:
    """Return texts that hold none; every fourth is wrapped as recorded output."""
    items: list[Item] = []
    for number, line in enumerate(PLAIN.strip("\n").splitlines()):
        text = line.replace("\\n", "\n")
        if number % 4 == seed % 4:
            text = json.dumps({"stdout": text, "exit_code": 0}, ensure_ascii=False)
        items.append(Item("text", text))
    return items
