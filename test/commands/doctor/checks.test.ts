import t from 'tap'
import { CHECKS } from '../../../src/commands/doctor/checks.ts'

const { remedies = [] } = CHECKS.find(({ name }) => name === 'database') ?? {}

/** What servers and poolers say, and what is to be done about it. */
const CASES: readonly (readonly [string, RegExp])[] = [
  ['PostgreSQL 18.1 is read-only: a standby', /primary/],
  ['PostgreSQL 18.1 is read-only: by the setting default_transaction_read_only', /to off/],
  ['no host of DATABASE_URL accepts writes (a:5432 is read-only; b:5432 is read-only)', /primary/],
  [
    'no host of DATABASE_URL accepts writes (a:5432: password authentication failed for user "x"; b:5432: password …)',
    /user and password/,
  ],
  [
    'no host of DATABASE_URL accepts writes (a:5432: connect ECONNREFUSED; b:5432: connect ECONNREFUSED)',
    /host and port/,
  ],
  ['no such user: x', /user and password/],
  ['no such database: x', /create the database/],
  ['no more connections allowed (max_client_conn)', /DATABASE_POOL_MAX/],
  ['query_wait_timeout', /DATABASE_POOL_MAX/],
  ['server login has been failing, cached error: …', /pooler's log/],
  ['permission denied for database "x"', /GRANT CONNECT/],
  ['no pg_hba.conf entry for host "10.0.0.1", user "x", database "y", no encryption', /sslmode/],
  ['no pg_hba.conf entry for host "10.0.0.1", user "x", database "y", SSL encryption', /pg_hba/],
]

for (const [detail, remedy] of CASES) {
  t.test(`the database check has a remedy of its own for: ${detail}`, async (t) => {
    t.match(remedies.find(([words]) => words.test(detail))?.[1], remedy)
  })
}
