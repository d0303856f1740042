import t from 'tap'
import { CHECKS, findRemedy } from '../../../src/commands/doctor/checks.ts'

/** By check, words of servers, poolers and libraries, and the remedy. */
const ALL = {
  database: `
PostgreSQL 18.1 is read-only: a standby → primary
PostgreSQL 18.1 is read-only: by the setting default_transaction_read_only → to off
no host of DATABASE_URL accepts writes (a:5432 is read-only; b:5432 is read-only) → primary
no host of DATABASE_URL accepts writes (a:5432: password authentication failed for user "x"; b:5432: password …) → the password there or in the file of DATABASE_PASSWORD_FILE
no host of DATABASE_URL accepts writes (a:5432: connect ECONNREFUSED; b:5432: connect ECONNREFUSED) → host and port
no such user: x → the user in DATABASE_URL
no such database: x → create the database
no more connections allowed (max_client_conn) → DATABASE_POOL_MAX
query_wait_timeout → DATABASE_POOL_MAX
server login has been failing, cached error: … → pooler's log
Hostname/IP does not match certificate's altnames: Host: b. is not in the cert's altnames → the host
certificate has expired → renew the certificate
permission denied for database "x" → GRANT CONNECT
no pg_hba.conf entry for host "10.0.0.1", user "x", database "y", no encryption → sslmode
no pg_hba.conf entry for host "10.0.0.1", user "x", database "y", SSL encryption → pg_hba`,
  'identity provider': `
unable to get local issuer certificate → NODE_EXTRA_CA_CERTS
self-signed certificate in certificate chain → NODE_EXTRA_CA_CERTS
certificate has expired → renew the certificate
Hostname/IP does not match certificate's altnames: Host: c. → name the host in IDP_JWKS_URI
connect ECONNREFUSED 127.0.0.1:1 → host and port
The operation was aborted due to timeout → host and port
the identity provider responded with status 302 → without redirects`,
  'policy administration': `
the token endpoint of X_TOKEN_URL cannot be used (unable to get local issuer certificate) → NODE_EXTRA_CA_CERTS
the token endpoint of X_TOKEN_URL cannot be used (Hostname/IP does not match certificate's altnames: Host: a.) → host in
the token endpoint of X_TOKEN_URL cannot be used (certificate has expired) → renew the certificate
the token endpoint of X_TOKEN_URL cannot be used (connect ECONNREFUSED 127.0.0.1:1) → check \\w+TOKEN_URL
POLICY_ADMIN_HEADER_FILE contains more than one line of printable ASCII → the file and its permissions
policy administration has a certificate that is not trusted (CERT_HAS_EXPIRED) → renew its certificate`,
  broker: `
the token endpoint of X_TOKEN_URL cannot be used (self-signed certificate in certificate chain) → NODE_EXTRA_CA_CERTS
Connection error: certificate has expired → renew the certificates of the brokers
no response within 15 s → MQ_BROKERS
Connection timeout → MQ_BROKERS
Closed connection → MQ_SASL_MECHANISM`,
}
for (const [name, cases] of Object.entries(ALL)) {
  const { remedies = {} } = CHECKS.find((check) => check.name === name) ?? {}
  for (const line of cases.trim().split('\n')) {
    t.test(`the ${name} check has a specific remedy for: ${line}`, async (t) => {
      const [detail = '', remedy = ''] = line.split(' → ')
      t.match(findRemedy({ remedies }, detail), new RegExp(remedy))
    })
  }
}

t.test('every check has a remedy for anything else', async (t) => {
  for (const check of CHECKS) t.ok(findRemedy(check, 'something else'), check.name)
})
