import type { LookupAddress } from 'node:dns'
import { mock } from 'node:test'
import t from 'tap'
import { createLookup } from '../../../src/service/app/resolve-names.ts'

t.beforeEach(() => mock.timers.enable({ apis: ['setTimeout'] }))
t.afterEach(() => mock.timers.reset())

const A: LookupAddress = { address: '10.0.0.1', family: 4 }
const B: LookupAddress = { address: '10.0.0.2', family: 4 }
const NO_SUCH_NAME = Object.assign(new Error('getaddrinfo ENOTFOUND'), { code: 'ENOTFOUND' })
const TRY_AGAIN = Object.assign(new Error('getaddrinfo EAI_AGAIN'), { code: 'EAI_AGAIN' })

/** A resolver whose name servers answer when the test says so. */
function world() {
  let nowMs = 0
  const running: { host: string; answer: (...answer: [Error | null, LookupAddress[]]) => void }[] = []
  const lookup = createLookup(
    (host, _, answer) => void running.push({ host, answer }),
    () => nowMs,
  )
  const results: string[] = []
  return {
    lookup,
    results,
    ask: (host = 'a') =>
      lookup(host, { all: true }, (error, found) =>
        results.push(error === null ? JSON.stringify(found) : `${host}: ${error.message}`),
      ),
    hosts: () => running.map(({ host }) => host),
    answer: async (...answer: [Error | null, LookupAddress[]]) => {
      running.shift()?.answer(...answer)
      await settled()
    },
    pass: async (durationMs: number) => {
      nowMs += durationMs
      mock.timers.tick(durationMs)
      await settled()
    },
    /** The results since the last call. */
    took: () => results.splice(0),
  }
}

const settled = () => new Promise((resolve) => setImmediate(resolve))
const found = (...addresses: LookupAddress[]) => JSON.stringify(addresses)

t.test(
  'a name occupies one look-up, however many connections want it, and no other waits for it',
  async (t) => {
    const { ask, hosts, answer, pass, took } = world()
    for (let i = 0; i < 32; i++) ask('silent')
    ask('other')
    t.strictSame(hosts(), ['silent', 'other'])
    await pass(2_499)
    t.strictSame(took(), [])
    await pass(1)
    t.strictSame(took(), [
      ...Array(32).fill('silent: no name server answers for silent'),
      'other: no name server answers for other',
    ])
    ask('silent')
    await settled()
    t.strictSame(took(), ['silent: no name server answers for silent'], 'who comes later is told at once')
    t.strictSame(hosts(), ['silent', 'other'], 'while the same look-up runs')
    await answer(null, [A])
    ask('silent')
    await settled()
    t.strictSame(took(), [found(A)], 'its answer counts, however late')
  },
)

t.test('an answer is used for a second', async (t) => {
  const { ask, hosts, answer, pass, took } = world()
  ask()
  ask()
  await answer(null, [A, B])
  await pass(999)
  ask()
  await settled()
  t.strictSame(took(), Array(3).fill(found(A, B)))
  await pass(1)
  ask()
  t.strictSame(hosts(), ['a'])
  await answer(null, [B])
  t.strictSame(took(), [found(B)], 'then the new one')
})

t.test('the last answer stands for one that does not come, for a day', async (t) => {
  const { ask, hosts, answer, pass, took } = world()
  ask()
  await answer(null, [A])
  took()
  await pass(1_000)
  ask()
  ask()
  await pass(499)
  t.strictSame(took(), [])
  await pass(1)
  ask()
  await settled()
  t.strictSame(took(), Array(3).fill(found(A)))
  t.strictSame(hosts(), ['a'])
  await answer(TRY_AGAIN, [])
  ask()
  await answer(TRY_AGAIN, [])
  t.strictSame(took(), [found(A)], 'nor for one that fails for now')
  await pass(24 * 60 * 60_000)
  ask()
  await answer(TRY_AGAIN, [])
  t.strictSame(took(), ['a: getaddrinfo EAI_AGAIN'])
})

t.test('a name that does not exist any more is not resolved by its last answer', async (t) => {
  const { ask, answer, pass, took } = world()
  ask()
  await answer(null, [A])
  await pass(1_000)
  for (const error of [NO_SUCH_NAME, TRY_AGAIN]) {
    ask()
    await answer(error, [])
  }
  t.strictSame(took(), [found(A), 'a: getaddrinfo ENOTFOUND', 'a: getaddrinfo EAI_AGAIN'])
})

t.test('it is called in all the ways of dns.lookup', async (t) => {
  const { lookup, answer } = world()
  const results: unknown[] = []
  const note = (...result: unknown[]) => void results.push(result)
  lookup('a', note)
  await answer(null, [A, B])
  lookup('a', 6, note)
  await answer(null, [{ address: '::1', family: 6 }])
  lookup('b', {}, note)
  await answer(NO_SUCH_NAME, [])
  t.strictSame(results, [
    [null, A.address, 4],
    [null, '::1', 6],
    [NO_SUCH_NAME, []],
  ])
})
