"""Tables of words: which name a secret, which speak about one, which stand for one.

Only words here; `keys` reads those of names, `judging` those of values.
"""

from typing import Final


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


PLACEHOLDER_WORDS: Final = _words(
    """
    your yours example examples placeholder changeme dummy fake redacted redact todo
    tbd insert replace replaceme sample masked hidden removed omitted fixme foobar
    mock notasecret yourpassword yourtoken yourapikey
    """
)
KEYWORDS: Final = tuple(
    sorted(
        _words(
            """
    pass pwd pw _pat -pat kennwort mdp contrase clave senha wachtwoord lösenord salasana hasło
    \u043f\u0430\u0440\u043e\u043b\u044c \u5bc6\u7801 \u5bc6\u78bc
    \u30d1\u30b9\u30ef\u30fc\u30c9 secret token key schlüssel jeton auth cred cookie
    geheimnis pin psk clé heslo jelszó şifre
    """
        )
    )
)
PASSWORD: Final = _words(
    """
    password passwd passwort passphrase passcode passwrd kennwort contraseña
    contrasena senha wachtwoord lösenord salasana hasło mdp motdepasse
    \u043f\u0430\u0440\u043e\u043b\u044c \u5bc6\u7801 \u5bc6\u78bc
    \u30d1\u30b9\u30ef\u30fc\u30c9 passord heslo jelszó şifre requirepass masterauth passwordd
    """
)
SHORT: Final = _words(
    """
    pass pw pwd passe pin psk clave
    """
)
SHORT_ENDS: Final = ("pass", "pwd", "pw")
NOT_SHORT: Final = _words(
    """
    bypass compass trespass surpass encompass underpass overpass onepass lowpass
    highpass bandpass multipass allpass lastpass keepass backpass
    """
)
SECRET: Final = _words(
    """
    secret token pat apikey authkey secretkey privatekey accesskey apitoken jeton
    geheimnis credential credentials cred creds schlüssel
    """
)
LOOSE: Final = _words(
    """
    auth authorization cookie sessionid tokens secrets keys passwords apikeys
    authtoken
    """
)
KEY_BEFORE: Final = _words(
    """
    api access secret private signing sign encryption encrypt decryption master
    license licence ssh auth client account shared service admin consumer
    application app deploy subscription storage hmac jwt session cookie crypto root
    user write read host integration ingest ingestion webhook stripe sendgrid openai
    anthropic datadog gpg pgp tls ssl project server personal function publishing
    instrumentation django fernet mapbox flask rails laravel aes hub google aws
    azure gcp github gitlab slack heroku twilio mailgun algolia live test prod
    staging deploykey clé dd recovery unseal wallet my our
    """
)
KEY_OK: Final = _words(
    """
    value val string str text plain plaintext prod production dev development
    staging stage test live old new current previous next default root admin user db
    database ops eu us primary secondary main backup master read write rw ro base
    b64 base64 hex raw data key keys secret token pass password auth access private
    api hash salt id1 a b c d one two env1 header pw phrase code for of local remote
    internal external ci e n word phrase wort orig original temp tmp initial account
    """
)
KEY_BAD: Final = _words(
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
BEFORE_BAD: Final = _words(
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
STOP: Final = _words(
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
COMMON: Final = _words(
    """
    correct short long weak strong hidden hard soft high low test letters number page
    pick key keys secret private public lost word words pass never always still
    """
)
# Before `pass`, these make a verb of it.
VERB_BEFORE: Final = _words(
    """
    to can must should we you they also then and or not please could will may just
    instead need when if by i do don't let always never
    """
)
# What prose says *about* a password: `case-sensitive`, `auto-generated`.
PROSE_WORDS: Final = _words(
    """
    only free based sensitive specific safe side wide level bound like friendly proof
    compatible lived time date use long dependent agnostic aware scoped independent wise
    encoded term character characters char chars digit digits day days hour hours byte
    bytes bit bits letter letters minute minutes word words
    """
)
PROSE_ENDS: Final = (
    *("ed", "ing", "able", "ible", "ive", "ous", "ary", "ory", "ful", "less", "ent"),
    *("ant", "ly", "al", "ic", "only", "free", "based", "safe", "wide", "like"),
)
