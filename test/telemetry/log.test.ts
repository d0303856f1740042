import t from 'tap'
import { ADDRESSES } from '../../src/core/party/channel.ts'
import { createLog } from '../../src/telemetry/log.ts'

function recorded(level = 'trace') {
  const lines: string[] = []
  const log = createLog(level, { write: (line) => void lines.push(line) })
  return { log, lines, last: () => JSON.parse(lines.at(-1) ?? '') as Record<string, never> }
}

t.test('a line is JSON with ISO time, the level as a word, and the name of the service', async (t) => {
  const { log, last } = recorded()
  log.warn({ topic: 'claims' }, 'hello')
  t.match(last(), { level: 'warn', name: 'notifications-service', topic: 'claims', msg: 'hello' })
  t.match(last().time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
})

t.test('characters that some readers treat as the end of a line are escaped', async (t) => {
  const { log, lines, last } = recorded()
  const filters = ['a\u0085b', 'c\u2028d', 'e\u2029f', 'g\nh']
  log.info({ filters }, 'read')
  t.notMatch(lines[0]?.trimEnd(), /[\n\u0085\u2028\u2029]/)
  t.same(last().filters, filters)
})

t.test('lines below the level are not written', async (t) => {
  const { log, lines } = recorded('info')
  log.debug('quiet')
  t.same(lines, [])
})

const SECRETIVE: readonly (readonly [string, string])[] = [
  ['a database URL', 'connect postgres://user:hunter2@db:5432/x?sslmode=require failed'],
  ['a database URL with odd characters in its password', 'connect postgresql://user:p@hunter2/x@db/x failed'],
  ['credentials in another URL', 'GET https://user:hunter2@policy-admin/ failed'],
  ['a connection string', 'host=db user=x password=hunter2 failed'],
]
for (const [what, message] of SECRETIVE) {
  t.test(`${what} in an error is never printed, wherever the error is logged`, async (t) => {
    const { log, lines } = recorded()
    const error = Object.assign(new Error(message), { code: 'ECONNREFUSED', connectionString: message })
    log.error(error)
    log.error({ err: error }, 'start')
    log.error({ err: new Error('outer', { cause: error }) })
    log.error({ err: new AggregateError([error], 'all') })
    log.error({ err: message })
    log.error(message)
    t.equal(lines.length, 6)
    for (const line of lines) {
      t.notMatch(line, 'hunter2')
      t.doesNotThrow(() => JSON.parse(line))
      t.match(line, /failed/)
    }
  })
}

t.test('an error is printed with type, code, stack and causes only', async (t) => {
  const { log, last } = recorded()
  const cause = Object.assign(new TypeError('inner'), {
    code: '23505',
    detail: 'Key (email)=(a@b.c)',
    sql: 'SELECT',
  })
  log.error({ err: new Error('outer', { cause }) }, 'failed')
  const { err } = last() as unknown as { err: Record<string, unknown> }
  t.match(err, {
    type: 'Error',
    message: 'outer',
    stack: /outer/,
    cause: { type: 'TypeError', code: '23505' },
  })
  t.same(Object.keys(err.cause as object).sort(), ['code', 'message', 'stack', 'type'])
})

t.test('an endless chain of causes is cut', async (t) => {
  const { log, lines } = recorded()
  const error = new Error('loop')
  error.cause = error
  log.error({ err: error })
  t.equal(lines.length, 1)
})

for (const key of [...ADDRESSES, 'subject', 'body', 'password', 'authorization']) {
  t.test(`${key} is censored down to the third level`, async (t) => {
    const { log, last, lines } = recorded()
    log.info({ [key]: 'hunter2', a: { [key]: 'hunter2', b: { [key]: 'hunter2' } } }, 'careless')
    t.notMatch(lines[0], 'hunter2')
    t.match(last(), { [key]: '[censored]', a: { [key]: '[censored]', b: { [key]: '[censored]' } } })
  })
}
