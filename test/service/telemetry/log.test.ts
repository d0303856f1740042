import { mock } from 'node:test'
import t from 'tap'
import { ADDRESSES } from '../../../src/service/decide/party/channel.ts'
import { createLog } from '../../../src/service/telemetry/log.ts'

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
  t.strictSame(last().filters, filters)
})

t.test('lines below the level are not written', async (t) => {
  const { log, lines } = recorded('info')
  log.debug('quiet')
  t.strictSame(lines, [])
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
  t.strictSame(Object.keys(err.cause as object).sort(), ['code', 'message', 'stack', 'type'])
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

t.test('the same warning is written at most once a second, with the number of those left out', async (t) => {
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  const { log, lines } = recorded()
  const took = () => lines.splice(0).map((line) => JSON.parse(line))
  const refused = Object.assign(new Error('refused'), { code: 'ECONNREFUSED' })
  const child = log.child({ reqId: 1 })
  for (let partition = 0; partition < 1_500; partition++) log.error({ partition, err: refused }, 'blocked')
  t.match(took(), [{ partition: 0 }])
  child.error({ err: refused }, 'blocked')
  log.error({ err: new Error('of another kind') }, 'blocked')
  log.warn({ err: refused }, 'blocked')
  log.error(refused)
  t.match(took(), [{ err: { type: 'Error' } }, { level: 'warn' }, { msg: 'refused' }])
  mock.timers.tick(999)
  t.strictSame(took(), [])
  mock.timers.tick(1)
  const [last, ...others] = took()
  t.match(last, { level: 'error', reqId: 1, msg: 'blocked', repeatedCount: 1_500 })
  t.strictSame(others, [])
  log.error({ partition: 7, err: refused }, 'blocked')
  t.strictSame(took(), [], 'a second after the last one')
  mock.timers.tick(1_000)
  const [alone] = took()
  t.match(alone, { partition: 7 })
  t.notOk('repeatedCount' in alone, 'it stands for itself')
  mock.timers.tick(1_000)
  log.error({ partition: 8, err: refused }, 'blocked')
  t.match(took(), [{ partition: 8 }])
})

t.test('lines for auditors, and the last one of a process, are never left out', async (t) => {
  const { log, lines } = recorded()
  for (const level of ['debug', 'info', 'fatal'] as const)
    for (let i = 0; i < 3; i++) log[level]({ i }, 'read')
  t.equal(lines.length, 9)
})

t.test('whatever a caller wrote, a line stays short', async (t) => {
  const { log, lines, last } = recorded()
  const long = 'x'.repeat(100_000)
  const deep = JSON.parse(`${'['.repeat(1_000)}1${']'.repeat(1_000)}`)
  const many = Array.from({ length: 1_000 }, () => long)
  log.warn({ partyLocator: 'party-1', eventTypes: many, deep, text: long, of: { ...many } }, long)
  log.info({ err: new Error(long) })
  for (const line of lines) t.ok(line.length < 60_000, `${line.length} characters`)
  t.match(last(), { msg: /^x{1000}$/ })
  const [first] = lines.map((line) => JSON.parse(line))
  t.match(first, { partyLocator: 'party-1', text: /^x{1000}… 99000 more$/ })
  t.equal(first.eventTypes.length, 21)
  t.equal(first.eventTypes.at(-1), '… 980 more')
})
