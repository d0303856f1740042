import t from 'tap'
import { until } from './until.ts'

t.test('hands back the first truthy value', async (t) => {
  let calls = 0
  const value = await until(() => (++calls === 3 ? 'third' : undefined), {
    what: 'three calls',
    intervalMs: 1,
  })
  t.equal(value, 'third')
  t.equal(calls, 3)
})

t.test('says what it waited for, with the last error as the cause', async (t) => {
  const failing = async () => {
    throw new Error('connection refused')
  }
  await t.rejects(
    until(failing, {
      what: 'the server to answer',
      timeoutMs: 20,
      intervalMs: 1,
    }),
    {
      message: 'waited 20 ms for the server to answer',
      cause: { message: 'connection refused' },
    },
  )
})

t.test('a condition that hangs does not outlast the time-out', async (t) => {
  const hanging = () => new Promise<never>(() => {})
  await t.rejects(until(hanging, { what: 'an answer', timeoutMs: 20, intervalMs: 1 }), {
    cause: { message: 'the condition itself did not answer in time' },
  })
})
