import { mock } from 'node:test'
import { pino } from 'pino'
import t from 'tap'
import { judgeAnswer, type LookUpResult, parsePlaces } from '../../../src/service/contacts/answer.ts'
import { createCircuit } from '../../../src/service/contacts/circuit.ts'
import { mapAddresses } from '../../../src/service/decide/party/channel.ts'
import { ADDRESS_PLACES } from '../build.ts'

const PLACES = parsePlaces({ echo: [], addresses: mapAddresses(() => []) })
const [BAD, GOOD, ABOUT_ONE_PARTY] = [500, 404, 400].map((status) =>
  judgeAnswer({ status, encoding: '', body: Buffer.alloc(0), isPlain: true }, '', PLACES),
) as [LookUpResult, LookUpResult, LookUpResult]

t.beforeEach(() => mock.timers.enable({ apis: ['setTimeout'] }))
t.afterEach(() => mock.timers.reset())

function circuitOf(ask: (locator: string) => Promise<LookUpResult>) {
  const levels: number[] = []
  const remedies: unknown[] = []
  const write = (line: string) => {
    const { level, remedy } = JSON.parse(line)
    levels.push(level)
    remedies.push(remedy)
  }
  const log = pino({ level: 'debug' }, { write })
  const asked: string[] = []
  let verdictCount = 0
  const probe = (locator: string) => {
    asked.push(locator)
    return ask(locator)
  }
  const circuit = createCircuit(probe, () => void verdictCount++, log)
  const fail = async (count: number, first = 0) => {
    for (let i = first; i < first + count; i++) circuit.note(`PTY-${i}`, BAD)
    await pass(0)
  }
  return { circuit, levels, remedies, asked, fail, verdictCount: () => verdictCount }
}

async function pass(durationMs: number): Promise<void> {
  // A timer set in a promise callback needs one turn of the event loop.
  for (const ms of [0, durationMs]) {
    await settled()
    mock.timers.tick(ms)
    await settled()
  }
}

function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

t.test('the line about an outage names a remedy for what was answered', async (t) => {
  const remedyFor = async (status: number, body: string) => {
    const places = parsePlaces({ echo: [], addresses: ADDRESS_PLACES })
    const answer = { status, encoding: '', body: Buffer.from(body), isPlain: false }
    const { fail, remedies } = circuitOf(async () => judgeAnswer(answer, 'PTY-1', places))
    await fail(20)
    await pass(1_000)
    return remedies.join()
  }
  t.match(await remedyFor(200, '<html>Log in'), /POLICY_ADMIN_URL.*a login page/)
  t.match(await remedyFor(200, '{"mail": "a@b"}'), /^set POLICY_ADMIN_EMAIL and POLICY_ADMIN_PHONE/)
  t.match(await remedyFor(200, '{"email": {"value": "a@b"}}'), /^set POLICY_ADMIN_EMAIL and/)
  t.match(await remedyFor(401, ''), /POLICY_ADMIN_HEADER/)
  t.match(await remedyFor(500, ''), /^run `doctor`/)
})

t.test('20 failed parties in a row and two failed probes open the circuit', async (t) => {
  const { circuit, asked, fail, verdictCount } = circuitOf(async () => BAD)
  await circuit.whenDecided()
  await fail(19)
  await fail(19)
  t.notOk(circuit.isUndecided(), '19 parties, however often')
  circuit.note('PTY-19', BAD)
  t.ok(circuit.isUndecided(), 'at once')
  let downWhenDecided: object | null = null
  void circuit.whenDecided().then(() => {
    downWhenDecided = circuit.contactWhileDown()
  })
  await pass(999)
  t.equal(asked.length, 1)
  t.equal(circuit.contactWhileDown(), null, 'the first probe failed at once, which may be a restart')
  t.ok(circuit.isUndecided())
  t.equal(verdictCount(), 0)
  await pass(1)
  t.strictSame(circuit.contactWhileDown(), {
    state: 'unresolved',
    error: 'the party was not looked up during an outage: policy administration had an error (HTTP 500)',
    codes: ['HTTP_500'],
    costsNoAttempt: true,
  })
  t.notOk(circuit.isUndecided())
  t.equal(downWhenDecided, circuit.contactWhileDown(), 'who waits for the verdict learns it')
  t.equal(verdictCount(), 1)
})

t.test('an answered probe keeps the circuit closed, however many parties of one producer fail', async (t) => {
  const { circuit, levels, asked, fail, verdictCount } = circuitOf(async () => GOOD)
  circuit.note('good', GOOD)
  for (let round = 1; round <= 5; round++) {
    await fail(20, round * 20)
    await circuit.whenDecided()
    t.equal(circuit.contactWhileDown(), null)
    t.notOk(circuit.isUndecided())
    t.equal(verdictCount(), round, 'calls that wait go on')
  }
  t.strictSame(asked, Array(5).fill('good'))
  t.strictSame(levels, [], 'nothing happened')
})

t.test('an answer between failures resets the count, even a refusal', async (t) => {
  const { circuit, asked, fail } = circuitOf(async () => BAD)
  for (const answer of [GOOD, ABOUT_ONE_PARTY]) {
    await fail(19)
    circuit.note('a', answer)
    await fail(19)
    t.notOk(circuit.isUndecided())
    circuit.note('a', answer)
  }
  t.strictSame(asked, [])
})

t.test('an answer for a party during a failing probe keeps the circuit closed', async (t) => {
  const { promise, resolve } = Promise.withResolvers<LookUpResult>()
  const { circuit, fail } = circuitOf(() => promise)
  await fail(20)
  circuit.note('a', GOOD)
  t.ok(circuit.isUndecided(), 'until the probe is over')
  resolve(BAD)
  await pass(5_000)
  t.notOk(circuit.isUndecided())
  t.equal(circuit.contactWhileDown(), null)
})

t.test('probes alternate between a party that was answered and a requested one', async (t) => {
  const { circuit, asked, fail } = circuitOf(async () => BAD)
  circuit.note('answered', GOOD)
  circuit.noteWanted(['wanted'])
  circuit.noteWanted([])
  await fail(20)
  await pass(1_000)
  await pass(5_000)
  t.strictSame(asked, ['answered', 'wanted', 'answered'])
})

t.test('an open circuit probes every five seconds until one succeeds', async (t) => {
  // The wall clock is set back.
  let wallMs = Date.now()
  const now = mock.method(Date, 'now', () => {
    wallMs -= 60_000
    return wallMs
  })
  t.teardown(() => now.mock.restore())
  let answer = BAD
  const { circuit, levels, asked, fail } = circuitOf(async () => answer)
  for (let opening = 0; opening < 2; opening++) {
    answer = BAD
    asked.length = 0
    levels.length = 0
    await fail(40)
    await pass(1_000)
    t.equal(asked.length, 2)
    circuit.note('asked before', GOOD)
    t.not(circuit.contactWhileDown(), null, 'an answer to an earlier request overrules no probe')
    for (const count of [3, 4]) {
      await pass(4_999)
      t.equal(asked.length, count - 1)
      await pass(1)
      t.equal(asked.length, count)
      t.not(circuit.contactWhileDown(), null)
    }
    answer = GOOD
    await pass(5_000)
    t.equal(circuit.contactWhileDown(), null)
    t.strictSame(levels, [40, 30])
    await pass(60_000)
    t.equal(asked.length, 5, 'a closed circuit is not probed')
  }
})

t.test('a stopped circuit sends no more probes', async (t) => {
  const { circuit, asked, fail } = circuitOf(async () => BAD)
  await fail(20)
  const decided = circuit.whenDecided()
  circuit.stop()
  await decided
  await pass(60_000)
  t.equal(asked.length, 1)
})
