import kafkajs from 'kafkajs'
import errors from 'kafkajs/src/protocol/error.js'
import pg from 'pg'
import t from 'tap'
import { CHECKS } from '../../../src/operations/doctor/checks.ts'
import { judgeClocks } from '../../../src/operations/doctor/clocks.ts'
import { chooseRemedy } from '../../../src/operations/doctor/remedies.ts'
import { LogInError } from '../../../src/service/consume/log-in.ts'
import { CodedError } from '../../../src/service/text/error-codes.ts'

const coded = (code: string) => new CodedError(code, 'the words do not count')
const named = (name: string) => Object.assign(new Error('x'), { name })
const because = (cause: Error, error = new Error('wrapped')) => Object.assign(error, { cause })

/** An error of PostgreSQL or PgBouncer, which gives many of its own the state 08P01. */
function ofServer(message: string, state = '08P01'): Error {
  return Object.assign(new pg.DatabaseError(message, message.length, 'error'), { code: state })
}
const ofHosts = (...errors: Error[]) => because(new AggregateError(errors))

/** An error of the brokers, as kafkajs gives it up. */
function ofBroker(code?: string): Error {
  const error = new kafkajs.KafkaJSConnectionError('Connection error', { broker: 'b' })
  return because(code === undefined ? error : Object.assign(error, { code }))
}
const ofEndpoint = (code: string) => because(because(coded(code), new TypeError()), coded('TOKEN_ENDPOINT'))

t.test('clocks that differ by more than 30 s are a warning, by more than 5 minutes a failure', async (t) => {
  t.equal(
    judgeClocks([
      ['database', 900],
      ['identity provider', -29_000],
    ]),
    'database: the same time, identity provider: 29 s behind this machine',
  )
  t.match(
    judgeClocks([
      ['database', 0],
      ['identity provider', 31_000],
    ]),
    { warning: /31 s ahead of this machine/ },
  )
  t.throws(() => judgeClocks([['database', -900_000]]), {
    message: 'database: 900 s behind this machine',
    remedy: /time service/,
  })
})

/** By check, errors and a part of their remedy. */
const ALL: Readonly<Record<string, readonly (readonly [error: Error, remedy: string])[]>> = {
  database: [
    [ofHosts(coded('READ_ONLY'), coded('READ_ONLY')), 'primary'],
    [
      ofHosts(ofServer('password authentication failed', '28P01'), coded('ECONNREFUSED')),
      'the password there or in the file of DATABASE_PASSWORD_FILE',
    ],
    [ofHosts(coded('ECONNREFUSED'), coded('ECONNREFUSED')), 'host and port'],
    [ofServer('role "x" does not exist', '28000'), 'the user in DATABASE_URL'],
    [ofServer('no such user: x'), 'the user in DATABASE_URL'],
    [ofServer('database "x" does not exist', '3D000'), 'create the database'],
    [ofServer('no such database: x'), 'create the database'],
    [ofServer('sorry, too many clients already', '53300'), 'DATABASE_POOL_MAX'],
    [ofServer('no more connections allowed (max_client_conn)'), 'DATABASE_POOL_MAX'],
    [ofServer('query_wait_timeout'), 'DATABASE_POOL_MAX'],
    [ofServer('server login has been failing, cached error: …'), "pooler's log"],
    [ofServer('permission denied for database "x"', '42501'), 'GRANT CONNECT'],
    [ofServer('no pg_hba.conf entry for host "10.0.0.1", user "x", no encryption', '28000'), 'sslmode'],
    [ofServer('no pg_hba.conf entry for host "10.0.0.1", user "x", SSL encryption', '28000'), 'pg_hba'],
    [new Error('The server does not support SSL connections'), 'sslmode'],
    [new CodedError('SETTINGS_LOST', 'x: not allowed in statement pooling mode'), 'pool_mode'],
    [coded('ERR_TLS_CERT_ALTNAME_INVALID'), 'name the host in DATABASE_URL'],
    [coded('CERT_HAS_EXPIRED'), 'renew the certificate'],
    [coded('SELF_SIGNED_CERT_IN_CHAIN'), 'sslrootcert'],
  ],
  rules: [[new Error('the envelope map has 1 fault'), 'the file that it names']],
  'identity provider': [
    [coded('UNABLE_TO_GET_ISSUER_CERT_LOCALLY'), 'NODE_EXTRA_CA_CERTS'],
    [coded('SELF_SIGNED_CERT_IN_CHAIN'), 'NODE_EXTRA_CA_CERTS'],
    [coded('UNABLE_TO_VERIFY_LEAF_SIGNATURE'), 'NODE_EXTRA_CA_CERTS'],
    [coded('CERT_HAS_EXPIRED'), 'renew the certificate'],
    [coded('ERR_TLS_CERT_ALTNAME_INVALID'), 'name the host in IDP_JWKS_URI'],
    [coded('ECONNREFUSED'), 'host and port'],
    [new DOMException('x', 'TimeoutError'), 'host and port'],
    [new Error('the identity provider responded with status 302'), 'without redirects'],
  ],
  'policy administration': [
    [ofEndpoint('UNABLE_TO_GET_ISSUER_CERT_LOCALLY'), 'NODE_EXTRA_CA_CERTS'],
    [ofEndpoint('ERR_TLS_CERT_ALTNAME_INVALID'), 'host in POLICY_ADMIN_TOKEN_URL'],
    [ofEndpoint('CERT_HAS_EXPIRED'), 'certificate of the host in POLICY_ADMIN_TOKEN_URL'],
    [ofEndpoint('ECONNREFUSED'), 'check POLICY_ADMIN_TOKEN_URL'],
    [coded('TOKEN_REFUSED'), 'POLICY_ADMIN_CLIENT_SECRET'],
    [coded('SECRET_FILE'), 'the file and its permissions'],
    [because(coded('ENOENT'), coded('TLS_FILES')), 'the file and its permissions'],
    [because(coded('ERR_OSSL_X509_KEY_VALUES_MISMATCH'), coded('TLS_FILES')), 'compare the key'],
    [coded('CERT_HAS_EXPIRED'), 'its owners to renew its certificate'],
    [coded('SELF_SIGNED_CERT_IN_CHAIN'), 'POLICY_ADMIN_CA_FILE'],
    [coded('ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED'), 'POLICY_ADMIN_CERT_FILE'],
    [coded('ECONNRESET'), 'POLICY_ADMIN_URL to its https'],
    [coded('UND_ERR_SOCKET'), 'look into its log'],
    [coded('HTTP_401'), 'POLICY_ADMIN_HEADER and its file, or POLICY_ADMIN_TOKEN_URL'],
    [coded('HTTP_403'), 'POLICY_ADMIN_SCOPE'],
  ],
  broker: [
    [
      because(because(ofEndpoint('SELF_SIGNED_CERT_IN_CHAIN'), new LogInError('LOG_IN_FAILED', 'x'))),
      'NODE_EXTRA_CA',
    ],
    [
      because(because(coded('SECRET_FILE'), new LogInError('LOG_IN_FAILED', 'x'))),
      'the file and its permissions',
    ],
    [because(new LogInError('TOKEN_NOT_ACCEPTED', 'x')), 'MQ_SASL_EXTENSIONS'],
    [because(named('KafkaJSSASLAuthenticationError')), 'MQ_SASL_USERNAME'],
    [because(errors.createErrorFromCode(33)), 'MQ_SASL_MECHANISM, '],
    [because(errors.createErrorFromCode(34)), 'unset MQ_SASL_MECHANISM'],
    [ofBroker('CERT_HAS_EXPIRED'), 'renew the certificates of the brokers'],
    [ofBroker('SELF_SIGNED_CERT_IN_CHAIN'), 'MQ_SSL_CA_FILE'],
    [ofBroker('ECONNREFUSED'), 'check MQ_BROKERS'],
    [ofBroker(), 'check MQ_BROKERS'],
    [coded('ETIMEDOUT'), 'check MQ_BROKERS'],
    [ofBroker('EPROTO'), 'its TLS or its login'],
    [because(named('KafkaJSConnectionClosedError')), 'its TLS or its login'],
  ],
  'consumer group': [
    [because(errors.createErrorFromCode(30)), 'READ and DESCRIBE'],
    [new Error('x'), 'log of the brokers'],
  ],
}
for (const [name, cases] of Object.entries(ALL)) {
  t.test(`the ${name} check has a remedy by the code of an error`, async (t) => {
    const check = CHECKS.find((one) => one.name === name)
    for (const [error, remedy] of cases) t.match(check && chooseRemedy(check, error), remedy, remedy)
  })
}
