import { mock } from 'node:test'
import t from 'tap'
import { ProblemError } from '../../../../src/service/http/problems/problem.ts'
import { buildApp } from '../../../../src/service/http/public.ts'
import { dependencies, OUTAGE } from '../fixture.ts'

/** The timeout of src/service/http/server/base.ts. */
const HANDLER_TIMEOUT_MS = 10_000

const settled = () => new Promise((resolve) => setImmediate(resolve))

for (const [what, end] of [
  ['finds nothing', () => null],
  ['finds preferences', () => ({ email: null, phone: null, preferredChannel: 'EMAIL', optedOutEvents: [] })],
  ['fails', () => Promise.reject(OUTAGE)],
  ['refuses', () => Promise.reject(new ProblemError('invalid-request'))],
] as const)
  t.test(`a handler that ${what} after its request was answered neither answers nor warns`, async (t) => {
    const goOn = Promise.withResolvers<void>()
    const { all, logged } = dependencies()
    const get = async () => {
      await goOn.promise
      return (await end()) as never
    }
    const app = buildApp({ ...all, preferences: { ...all.preferences, get } })
    await app.ready()
    mock.timers.enable({ apis: ['setTimeout'] })
    t.teardown(() => mock.timers.reset())
    const response = app.inject('/preferences/PTY-1')
    await settled()
    mock.timers.tick(HANDLER_TIMEOUT_MS)
    t.ok((await response).statusCode > 400)
    logged.length = 0
    goOn.resolve()
    await settled()
    t.strictSame(
      logged.map((line) => JSON.parse(line)).filter(({ level }) => level !== 'debug'),
      [],
    )
  })

t.test('a request that was answered for its time keeps its turn until its handler ends', async (t) => {
  const goOn = Promise.withResolvers<void>()
  let begunCount = 0
  const { all } = dependencies()
  const get = async () => {
    begunCount++
    await goOn.promise
    return null
  }
  const app = buildApp({ ...all, preferences: { ...all.preferences, get } })
  await app.ready()
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  const first = app.inject('/preferences/PTY-1')
  await settled()
  mock.timers.tick(HANDLER_TIMEOUT_MS)
  t.ok((await first).statusCode > 400)
  const second = app.inject('/preferences/PTY-1')
  await settled()
  t.equal(begunCount, 1)
  goOn.resolve()
  t.equal((await second).statusCode, 404)
  t.equal(begunCount, 2)
})
