import t from 'tap'
import { CHECKS, remedyOf } from '../../../src/commands/doctor/checks.ts'

/** Words of servers, poolers and libraries, and the remedy. */
const DATABASE: readonly (readonly [string, RegExp])[] = [
  ['PostgreSQL 18.1 is read-only: a standby', /primary/],
  ['PostgreSQL 18.1 is read-only: by the setting default_transaction_read_only', /to off/],
  ['no host of DATABASE_URL accepts writes (a:5432 is read-only; b:5432 is read-only)', /primary/],
  [
    'no host of DATABASE_URL accepts writes (a:5432: password authentication failed for user "x"; b:5432: password …)',
    /the password there or in the file of DATABASE_PASSWORD_FILE/,
  ],
  [
    'no host of DATABASE_URL accepts writes (a:5432: connect ECONNREFUSED; b:5432: connect ECONNREFUSED)',
    /host and port/,
  ],
  ['no such user: x', /the user in DATABASE_URL/],
  ['no such database: x', /create the database/],
  ['no more connections allowed (max_client_conn)', /DATABASE_POOL_MAX/],
  ['query_wait_timeout', /DATABASE_POOL_MAX/],
  ['server login has been failing, cached error: …', /pooler's log/],
  ["Hostname/IP does not match certificate's altnames: Host: b. is not in the cert's altnames", /the host/],
  ['certificate has expired', /renew the certificate/],
  ['permission denied for database "x"', /GRANT CONNECT/],
  ['no pg_hba.conf entry for host "10.0.0.1", user "x", database "y", no encryption', /sslmode/],
  ['no pg_hba.conf entry for host "10.0.0.1", user "x", database "y", SSL encryption', /pg_hba/],
]

const IDENTITY_PROVIDER: readonly (readonly [string, RegExp])[] = [
  ['unable to get local issuer certificate', /NODE_EXTRA_CA_CERTS/],
  ['self-signed certificate in certificate chain', /NODE_EXTRA_CA_CERTS/],
  ['certificate has expired', /renew the certificate/],
  ["Hostname/IP does not match certificate's altnames: Host: c.", /name the host in IDP_JWKS_URI/],
  ['connect ECONNREFUSED 127.0.0.1:1', /host and port/],
  ['The operation was aborted due to timeout', /host and port/],
  ['the identity provider responded with status 302', /without redirects/],
]

const TOKEN_ENDPOINT: readonly (readonly [string, RegExp])[] = [
  ['unable to get local issuer certificate', /NODE_EXTRA_CA_CERTS/],
  ['self-signed certificate in certificate chain', /NODE_EXTRA_CA_CERTS/],
  ["Hostname/IP does not match certificate's altnames: Host: a. is not in the cert's altnames", /host in/],
  ['certificate has expired', /renew the certificate/],
  ['connect ECONNREFUSED 127.0.0.1:1', /check \w+TOKEN_URL/],
].map(
  ([words, remedy]) =>
    [`the token endpoint of X_TOKEN_URL cannot be used (${words})`, remedy] as [string, RegExp],
)

const BROKER: readonly (readonly [string, RegExp])[] = [
  ['Connection error: certificate has expired', /renew the certificates of the brokers/],
  ['Closed connection', /MQ_SASL_MECHANISM/],
]

const LOOK_UPS: readonly (readonly [string, RegExp])[] = [
  ['policy administration has a certificate that is not trusted (CERT_HAS_EXPIRED)', /renew its certificate/],
]

const ALL = {
  broker: [...TOKEN_ENDPOINT, ...BROKER],
  database: DATABASE,
  'policy administration': [...TOKEN_ENDPOINT, ...LOOK_UPS],
  'identity provider': IDENTITY_PROVIDER,
}
for (const [name, cases] of Object.entries(ALL)) {
  const { remedies = {} } = CHECKS.find((check) => check.name === name) ?? {}
  for (const [detail, remedy] of cases) {
    t.test(`the ${name} check has a specific remedy for: ${detail}`, async (t) => {
      t.match(remedyOf({ remedies }, detail), remedy)
    })
  }
}
