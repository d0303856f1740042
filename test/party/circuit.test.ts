import { mock } from 'node:test'
import { pino } from 'pino'
import t from 'tap'
import type { Answer } from '../../src/party/answer.ts'
import { type Circuit, createCircuit } from '../../src/party/circuit.ts'

const BAD: Answer = { contact: { state: 'unresolved', error: 'bad', unasked: false }, outage: true }
const GOOD: Answer = { contact: { state: 'not found' }, outage: false }

t.beforeEach(() => mock.timers.enable({ apis: ['setTimeout'] }))
t.afterEach(() => mock.timers.reset())

function circuitOf(probe: (earlierCount: number) => Promise<Answer>) {
  const levels: number[] = []
  const log = pino({ level: 'debug' }, { write: (line: string) => void levels.push(JSON.parse(line).level) })
  return { circuit: createCircuit(probe, log), levels }
}

function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

async function run(circuit: Circuit, ask: () => Promise<Answer>): Promise<void> {
  const count = circuit.begin()
  count(await ask())
  await settled()
}

t.test('19 outages in a row leave it closed, the 20th opens it', async (t) => {
  const { circuit } = circuitOf(async () => BAD)
  const runs = Array.from({ length: 19 }, () => run(circuit, async () => BAD))
  await Promise.all(runs)
  t.equal(circuit.down(), null)
  await run(circuit, async () => BAD)
  t.strictSame(circuit.down(), {
    state: 'unresolved',
    error: 'policy administration is down (circuit open: bad)',
    unasked: true,
  })
})

t.test('an answer that is no evidence counts neither way', async (t) => {
  const { circuit } = circuitOf(async () => BAD)
  for (let count = 0; count < 19; count++) await run(circuit, async () => BAD)
  for (let count = 0; count < 20; count++) await run(circuit, async () => ({ ...BAD, outage: null }))
  t.equal(circuit.down(), null)
  await run(circuit, async () => BAD)
  t.not(circuit.down(), null)
})

t.test(
  'answers to what was asked before it opened leave the probe alone, and what comes after it',
  async (t) => {
    const { promise, resolve } = Promise.withResolvers<Answer>()
    const late = Promise.withResolvers<Answer>()
    const { circuit } = circuitOf(() => promise)
    const lateRuns = Array.from({ length: 40 }, (_, i) =>
      run(circuit, () => (i < 20 ? late.promise : promise)),
    )
    await Promise.all(Array.from({ length: 20 }, () => run(circuit, async () => BAD)))
    mock.timers.tick(1)
    late.resolve(BAD)
    await settled()
    resolve(GOOD)
    await settled()
    t.equal(circuit.down(), null)
    await Promise.all(lateRuns)
    t.equal(circuit.down(), null)
  },
)

t.test('each opening counts its probes anew', async (t) => {
  const earlierCounts: number[] = []
  const { circuit } = circuitOf(async (earlierCount) => {
    earlierCounts.push(earlierCount)
    return earlierCount === 2 ? GOOD : BAD
  })
  for (let opening = 0; opening < 2; opening++) {
    await Promise.all(Array.from({ length: 20 }, () => run(circuit, async () => BAD)))
    for (const delayMs of [1, 5_000, 5_000]) {
      mock.timers.tick(delayMs)
      await settled()
    }
    t.equal(circuit.down(), null)
  }
  t.strictSame(earlierCounts, [0, 1, 2, 0, 1, 2])
})

t.test('it stays down until a probe succeeds, and says so once', async (t) => {
  let answer = BAD
  let probeCount = 0
  const { circuit, levels } = circuitOf(async () => {
    probeCount++
    return answer
  })
  await Promise.all(Array.from({ length: 64 }, () => run(circuit, async () => BAD)))
  mock.timers.tick(1)
  await settled()
  t.equal(probeCount, 1, 'the first probe asks at once')
  t.not(circuit.down(), null)
  for (const expected of [2, 3]) {
    mock.timers.tick(4_999)
    await settled()
    t.equal(probeCount, expected - 1)
    mock.timers.tick(1)
    await settled()
    t.equal(probeCount, expected)
    t.not(circuit.down(), null)
  }
  answer = GOOD
  mock.timers.tick(5_000)
  await settled()
  t.equal(circuit.down(), null)
  t.strictSame(levels, [40, 20, 20, 20, 30])
  mock.timers.tick(60_000)
  await settled()
  t.equal(probeCount, 4, 'a closed circuit is not probed')
})

t.test('a wall clock that is set back does not keep it down', async (t) => {
  const { circuit } = circuitOf(async () => GOOD)
  await Promise.all(Array.from({ length: 20 }, () => run(circuit, async () => BAD)))
  t.not(circuit.down(), null)
  t.intercept(Date, 'now', { value: () => 0 })
  mock.timers.tick(1)
  await settled()
  t.equal(circuit.down(), null)
})

t.test('it is down while its probe is under way, and the next one waits for that', async (t) => {
  let probeCount = 0
  const { promise, resolve } = Promise.withResolvers<Answer>()
  const { circuit } = circuitOf(() => {
    probeCount++
    return promise
  })
  await Promise.all(Array.from({ length: 20 }, () => run(circuit, async () => BAD)))
  mock.timers.tick(1)
  await settled()
  mock.timers.tick(60_000)
  await settled()
  t.equal(probeCount, 1)
  t.not(circuit.down(), null)
  resolve(GOOD)
  await settled()
  t.equal(circuit.down(), null)
})

t.test('once closed it probes no more', async (t) => {
  let probeCount = 0
  const { circuit } = circuitOf(async () => {
    probeCount++
    return BAD
  })
  await Promise.all(Array.from({ length: 20 }, () => run(circuit, async () => BAD)))
  circuit.close()
  mock.timers.tick(60_000)
  await settled()
  t.equal(probeCount, 0)
})

t.test('closed while its probe is under way, it probes no more', async (t) => {
  let probeCount = 0
  const { promise, resolve } = Promise.withResolvers<Answer>()
  const { circuit } = circuitOf(() => {
    probeCount++
    return promise
  })
  await Promise.all(Array.from({ length: 20 }, () => run(circuit, async () => BAD)))
  mock.timers.tick(1)
  circuit.close()
  resolve(BAD)
  await settled()
  mock.timers.tick(60_000)
  await settled()
  t.equal(probeCount, 1)
})
