import { mock } from 'node:test'
import { pino } from 'pino'
import t from 'tap'
import { type Answer, judgeAnswer } from '../../src/party/answer.ts'
import { createCircuit } from '../../src/party/circuit.ts'

const BAD = judgeAnswer(500, [], '', () => null)
const GOOD = judgeAnswer(404, [], '', () => null)
const ABOUT_ONE_PARTY = judgeAnswer(400, [], '', () => null)

t.beforeEach(() => mock.timers.enable({ apis: ['setTimeout'] }))
t.afterEach(() => mock.timers.reset())

type Circuit = ReturnType<typeof createCircuit>

function circuitOf(probe: (earlierCount: number) => Promise<Answer>) {
  const levels: number[] = []
  const log = pino({ level: 'debug' }, { write: (line: string) => void levels.push(JSON.parse(line).level) })
  let atMs = 0
  let verdictCount = 0
  const onVerdict = () => void verdictCount++
  const circuit = createCircuit({ probe, onVerdict, nowMs: () => atMs, log })
  const pass = async (durationMs: number) => {
    atMs += durationMs
    mock.timers.tick(durationMs)
    await settled()
  }
  return { circuit, levels, pass, verdictCount: () => verdictCount }
}

function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

async function fail(circuit: Circuit, count: number, first = 0): Promise<void> {
  for (let i = first; i < first + count; i++) circuit.note(`PTY-${i}`, BAD)
  await settled()
}

t.test(
  '20 distinct parties in a row make it suspect, and a probe that fails for a second opens it',
  async (t) => {
    const { circuit, pass, verdictCount } = circuitOf(async () => BAD)
    await fail(circuit, 19)
    await fail(circuit, 19)
    t.notOk(circuit.isSuspect(), '19 parties, however often')
    await fail(circuit, 1, 19)
    t.ok(circuit.isSuspect())
    t.equal(circuit.down(), null, 'the first probe failed at once, which may be a restart')
    await pass(999)
    t.equal(circuit.down(), null)
    t.equal(verdictCount(), 0)
    await pass(1)
    t.strictSame(circuit.down(), {
      state: 'unresolved',
      error: 'policy administration is down (circuit open: policy administration answered 500)',
      unasked: true,
    })
    t.notOk(circuit.isSuspect())
    t.equal(verdictCount(), 1)
  },
)

t.test('however many parties one producer breaks, a probe that is answered keeps it closed', async (t) => {
  let probeCount = 0
  const { circuit, levels, verdictCount } = circuitOf(async () => {
    probeCount++
    return GOOD
  })
  for (let round = 1; round <= 5; round++) {
    await fail(circuit, 20, round * 20)
    t.equal(circuit.down(), null)
    t.notOk(circuit.isSuspect())
    t.equal(probeCount, round)
    t.equal(verdictCount(), round, 'who waits for the verdict goes on')
  }
  t.strictSame(levels, [], 'nothing happened')
})

t.test('an answer between failures starts the count anew, also one that refuses its party', async (t) => {
  const { circuit } = circuitOf(async () => BAD)
  for (const answer of [GOOD, ABOUT_ONE_PARTY]) {
    await fail(circuit, 19)
    circuit.note('a', answer)
    await fail(circuit, 19)
    t.notOk(circuit.isSuspect())
    circuit.note('a', answer)
  }
})

t.test('somebody who is answered while a probe fails clears the suspicion', async (t) => {
  const { promise, resolve } = Promise.withResolvers<Answer>()
  const { circuit, pass } = circuitOf(() => promise)
  await fail(circuit, 20)
  circuit.note('a', GOOD)
  t.ok(circuit.isSuspect(), 'until the probe is over')
  resolve(BAD)
  await pass(5_000)
  t.notOk(circuit.isSuspect())
  t.equal(circuit.down(), null)
})

t.test('a probe that waited for its deadline opens it by itself', async (t) => {
  const { promise, resolve } = Promise.withResolvers<Answer>()
  const { circuit, pass } = circuitOf(() => promise)
  await fail(circuit, 20)
  await pass(5_000)
  resolve(BAD)
  await settled()
  t.not(circuit.down(), null)
})

t.test('it stays down until a probe succeeds, every five seconds, and says so once', async (t) => {
  let answer: Answer = BAD
  const earlierCounts: number[] = []
  const { circuit, levels, pass } = circuitOf(async (earlierCount) => {
    earlierCounts.push(earlierCount)
    return answer
  })
  for (let opening = 0; opening < 2; opening++) {
    answer = BAD
    earlierCounts.length = 0
    levels.length = 0
    await fail(circuit, 40)
    await pass(1_000)
    t.strictSame(earlierCounts, [0, 1])
    circuit.note('asked before', GOOD)
    t.not(circuit.down(), null, 'an answer to what was asked before overrules no probe')
    for (const expected of [3, 4]) {
      await pass(4_999)
      t.equal(earlierCounts.length, expected - 1)
      await pass(1)
      t.equal(earlierCounts.length, expected)
      t.not(circuit.down(), null)
    }
    answer = GOOD
    await pass(5_000)
    t.equal(circuit.down(), null)
    t.strictSame(earlierCounts, [0, 1, 2, 3, 4])
    t.strictSame(levels, [40, 20, 20, 30])
    await pass(60_000)
    t.equal(earlierCounts.length, 5, 'a closed circuit is not probed')
  }
})

t.test('the next probe waits for the one under way', async (t) => {
  let probeCount = 0
  const { circuit, pass } = circuitOf(() => {
    probeCount++
    return new Promise(() => {})
  })
  await fail(circuit, 20)
  await pass(60_000)
  t.equal(probeCount, 1)
})

for (const [moment, isUnderWay] of [
  ['between probes', false],
  ['while a probe is under way', true],
] as const) {
  t.test(`stopped ${moment}, it probes no more`, async (t) => {
    let probeCount = 0
    const { promise, resolve } = Promise.withResolvers<Answer>()
    const { circuit, pass } = circuitOf(() => {
      probeCount++
      return isUnderWay ? promise : Promise.resolve(BAD)
    })
    await fail(circuit, 20)
    circuit.stop()
    resolve(BAD)
    await pass(60_000)
    t.equal(probeCount, 1)
  })
}
